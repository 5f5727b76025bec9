/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CREW_START_H
#define RTI_CREW_START_H

/* The start of a runnable by the holder of a station, without a call: for what is started by the
 * million. Who makes work queues it, then fences, then looks for sleepers; the essay is in crew.h.
 *
 * Who works alone (sched/solo.h) does both in one section, and needs no fence if no station may be
 * taken. The fence is for who gives a station back, or lets more of them be used, and then looks
 * for work. While the mark is there nobody else has a station to give back: there is but one; or
 * somebody has just taken the last one, who waits for the end of the section before it looks; or
 * the others may not be used (sched/width.h), and who allows it waits for that end as well. If one
 * may be taken the fence stays: its last holder may not yet have said that it spins no longer. */

#include "sched/crew_search.h"
#include "sched/solo.h"

#if !RTI_ONE_WORKER

/* Queues a new one of the worker's own station that is of level `level`, and sees that somebody
 * runs. Holder. */
static RTI_ALWAYSINLINE void rti_crew_queue_new(struct rti_crew *crew, struct rti_worker *worker,
                                                struct rti_runnable *runnable, uint32_t level)
{
    struct rti_station *station = worker->station;
    if (RTI_LIKELY(rti_solo_enter(worker))) {
        station->levels_hint |= 1U << level;
        bool is_queued = rti_ring_push(&station->levels[level], runnable);
        uint32_t idle = rti_u32_load_relaxed(&crew->idle_count);
        rti_solo_leave(worker);
        if (RTI_LIKELY(is_queued) && RTI_LIKELY(idle == 0)) {
            return;
        }
        if (is_queued) {
            /* As below. */
            rti_fence_seqcst();
            rti_crew_rouse_one(crew);
            return;
        }
    }
    rti_station_queue_at(station, runnable, level, &crew->injector);
    /* Queued; fence; then idle stations: pairs with who gives its station back, then looks. */
    rti_fence_seqcst();
    if (RTI_UNLIKELY(rti_u32_load_relaxed(&crew->idle_count) != 0)) {
        rti_crew_rouse_one(crew);
    }
}

/* rti_crew_start of one that the caller has made READY, of level `level`, at the caller's own
 * station. Holder. */
static RTI_ALWAYSINLINE void rti_crew_start_at(struct rti_crew *crew, struct rti_worker *worker,
                                               struct rti_runnable *runnable, uint32_t level)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_READY && runnable->priority == level);
    runnable->is_shared = true;
    runnable->is_fresh = true;
    rti_station_count(&worker->station->live, 1);
    rti_crew_queue_new(crew, worker, runnable, level);
}

#endif

#endif
