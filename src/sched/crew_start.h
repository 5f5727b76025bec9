/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CREW_START_H
#define RTI_CREW_START_H

/* The start of a runnable by the holder of a station, without a call: for what is started by the
 * million. Who makes work queues it, then fences, then looks for sleepers; the essay is in crew.h.
 *
 * Who works alone (sched/solo.h) asks first, in the section in which it queues, whether a station
 * may be taken, and needs no fence if none may. The fence is for who gives a station back, or lets
 * more of them be used, and then looks for work. While the mark is there nobody else has a station
 * to give back: there is but one; or somebody has just taken the last one, who waits for the end of
 * the section before it looks; or the others may not be used (sched/width.h), and who allows it
 * waits for that end as well. If one may be taken the fence stays: its last holder may not yet have
 * said that it spins no longer. */

#include "sched/crew_search.h"
#include "sched/solo.h"

#if !RTI_ONE_WORKER

/* In a section: is there room in the ring of this level, and no station that may be taken? Then to
 * queue one there before the section is over is all that a start has to do. */
static RTI_ALWAYSINLINE bool rti_crew_is_quiet(const struct rti_crew *crew,
                                               const struct rti_station *station, uint32_t level)
{
    return RTI_LIKELY(rti_u32_load_relaxed(&crew->idle_count) == 0) &&
           RTI_LIKELY(rti_ring_has_room(&station->levels[level]));
}

/* Does that. */
static RTI_ALWAYSINLINE void rti_crew_queue_alone(struct rti_station *station,
                                                  struct rti_runnable *runnable, uint32_t level)
{
    station->levels_hint |= 1U << level;
    rti_ring_put(&station->levels[level], runnable);
}

/* Puts a READY one that was woken into `next` of the worker's own station, and who is there into
 * its ring, if the worker works alone and that is all there is to it. False if it is any other
 * case, and nothing has happened. Holder. */
static RTI_ALWAYSINLINE bool rti_crew_wake_alone(const struct rti_crew *crew,
                                                 struct rti_worker *worker,
                                                 struct rti_runnable *runnable)
{
    struct rti_station *station = worker->station;
    if (RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return false;
    }
    void *old = rti_ptr_load_relaxed(&station->next);
    bool is_quiet =
        RTI_LIKELY(old != NULL) && rti_crew_is_quiet(crew, station, rti_next_priority(old));
    if (RTI_LIKELY(is_quiet)) {
        rti_ptr_store_relaxed(&station->next, rti_next_of(runnable));
        rti_crew_queue_alone(station, rti_next_runnable(old), rti_next_priority(old));
    }
    rti_solo_leave(worker);
    return is_quiet;
}

/* Queues a new one of the worker's own station that is of level `level`, and sees that somebody
 * runs. Holder. */
static RTI_ALWAYSINLINE void rti_crew_queue_new(struct rti_crew *crew, struct rti_worker *worker,
                                                struct rti_runnable *runnable, uint32_t level)
{
    struct rti_station *station = worker->station;
    if (RTI_LIKELY(rti_solo_enter(worker))) {
        bool is_quiet = rti_crew_is_quiet(crew, station, level);
        if (is_quiet) {
            rti_crew_queue_alone(station, runnable, level);
        }
        rti_solo_leave(worker);
        if (RTI_LIKELY(is_quiet)) {
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

/* The first half of a start at this station, of one that the caller has made READY and that is of
 * level `level`. Holder. */
static RTI_ALWAYSINLINE void rti_crew_note_start(struct rti_station *station,
                                                 struct rti_runnable *runnable, uint32_t level)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_READY && runnable->priority == level);
    (void)level;
    runnable->is_shared = true;
    runnable->is_fresh = true;
    rti_station_count(&station->live, 1);
}

/* rti_crew_start of such a one at the caller's own station. Holder. */
static RTI_ALWAYSINLINE void rti_crew_start_at(struct rti_crew *crew, struct rti_worker *worker,
                                               struct rti_runnable *runnable, uint32_t level)
{
    rti_crew_note_start(worker->station, runnable, level);
    rti_crew_queue_new(crew, worker, runnable, level);
}

/* The same in a section in which rti_crew_is_quiet. */
static RTI_ALWAYSINLINE void rti_crew_start_alone(struct rti_station *station,
                                                  struct rti_runnable *runnable, uint32_t level)
{
    rti_crew_note_start(station, runnable, level);
    rti_crew_queue_alone(station, runnable, level);
}

#endif

#endif
