/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CREW_START_H
#define RTI_CREW_START_H

/* The start of a runnable by the holder of a station, without a call: for what is started by the
 * million. Who makes work queues it, then fences, then looks for sleepers; the essay is in crew.h.
 */

#include "sched/crew_search.h"

#if !RTI_ONE_WORKER

/* rti_crew_start of one that the caller has made READY, of level `level`, at the caller's own
 * station. Holder. */
static RTI_ALWAYSINLINE void rti_crew_start_at(struct rti_crew *crew, struct rti_station *station,
                                               struct rti_runnable *runnable, uint32_t level)
{
    runnable->is_shared = true;
    runnable->is_fresh = true;
    rti_station_count(&station->live, 1);
    rti_station_queue_at(station, runnable, level, &crew->injector);
    /* Queued; fence; then idle stations: pairs with who gives its station back, then looks. */
    rti_fence_seqcst();
    if (RTI_UNLIKELY(rti_u32_load_relaxed(&crew->idle_count) != 0)) {
        rti_crew_rouse_one(crew);
    }
}

#endif

#endif
