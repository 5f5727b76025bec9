/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHAIN_H
#define RTI_CHAIN_H

/* Turns that follow each other on the engine with several workers, without the search.
 *
 * A runnable whose turns are on the member's own stack, and that wakes another of its kind and
 * rests, is in the common case followed by that one: it lies in `next` of the station, and nothing
 * that waits elsewhere is due. Its step may then go on with it at once. Everything else that the
 * search and the dispatch do is done here too: the turn is counted where they count it, and a look
 * that is due, a tick, a call for attention, the end of the run or somebody who watches ends the
 * chain, and the search does what is to be done. A chain has so less than RTI_STATION_TICKS turns.
 *
 * Each of those is asked, although the tick alone would end every chain: it would let a timer that
 * is due, a post and the end of the run wait for up to 60 turns, however long they are.
 * chain_sim_test has a world for each.
 *
 * Not asked: who has no stack of its own cannot be pinned, nor let go of the station in a blocking
 * call, nor be made to by an interrupt. Its member is pinned to nobody else either, or the search
 * would have sent it elsewhere.
 *
 * I1  Who is taken and is not run here is the first that the search gives.   (chain_sim_test)
 * I2  In a step of these the worker has its station, and nobody is pinned.   (RT_DCHECK)
 *
 * Poll tasks, of which many are ready at a time, go on with what the search would take next from
 * the station, whatever it is (rti_chain_oldest). What comes into the rings by that from elsewhere,
 * and whoever is of another kind, is the search's: it wakes others for what is there.
 *
 * Who works alone (sched/solo.h) asks less: the mark says that nobody is told and the run is not
 * over, and looks and ticks are counted in advance where the turns are of one kind
 * (rti_chain_length). A poll task that ends takes the next one in the section in which it says so
 * (rti_chain_oldest_alone); what is not the common case stays in the ring. */

#include "sched/solo.h"

#if !RTI_ONE_WORKER

/* Does anybody call for the search? In a section, where the run is not over. */
static RTI_ALWAYSINLINE bool rti_chain_is_called_alone(const struct rti_worker *worker)
{
    const struct rti_member *member = worker->member;
    RT_DCHECK(worker->station != NULL && worker->lent == NULL && member->pin == 0);
    return RTI_UNLIKELY(rti_u32_load_relaxed(&member->attention) != 0) ||
           RTI_UNLIKELY(rti_u32_load_relaxed(&worker->sched->port->attention) != 0);
}

/* The same anywhere, or is the run over? */
static RTI_ALWAYSINLINE bool rti_chain_is_called(const struct rti_worker *worker)
{
    const struct rti_member *member = worker->member;
    return RTI_UNLIKELY(rti_u32_load_relaxed(&member->crew->is_over) != 0) ||
           rti_chain_is_called_alone(worker);
}

/* Must the search come before the next turn? */
static RTI_ALWAYSINLINE bool rti_chain_is_cut(const struct rti_worker *worker)
{
    return RTI_UNLIKELY(worker->member->turns_until_look <= 0) || rti_chain_is_called(worker) ||
           RTI_UNLIKELY(rti_station_is_tick_due(worker->station)) || rti_worker_records(worker) ||
           RTI_UNLIKELY(rti_sched_journal(worker->sched) != NULL);
}

/* How many turns may follow this one, as far as looks and ticks are concerned. */
static inline int32_t rti_chain_length(const struct rti_worker *worker)
{
    int32_t until_look = worker->member->turns_until_look;
    bool is_due = rti_station_is_tick_due(worker->station);
    int32_t until_tick = is_due ? 0 : rti_station_until_tick(worker->station);
    return until_look < until_tick ? until_look : until_tick;
}

/* Begins the turn of one that was taken, or leaves it to the search if it `is_others`. `is_fresh`:
 * it may not have had one yet. */
static RTI_ALWAYSINLINE struct rti_runnable *rti_chain_begin(struct rti_worker *worker,
                                                             struct rti_station *station,
                                                             struct rti_runnable *next,
                                                             bool is_others, bool is_fresh)
{
    struct rti_member *member = worker->member;
    if (RTI_UNLIKELY(is_others)) {
        RT_DCHECK(member->first == NULL);
        member->first = next;
        return NULL;
    }
    RT_DCHECK(next->pin == 0);
    rti_runnable_to_running(next);
    if (is_fresh) {
        next->is_fresh = false;
    }
    member->turns_until_look--;
    rti_station_count(&station->turns, 1);
    return next;
}

/* The same of one that was taken from `next` or a ring, to go on with if it is one of `step` and
 * nobody is to be told of what else lies there. */
static RTI_ALWAYSINLINE struct rti_runnable *
rti_chain_begin_oldest(struct rti_worker *worker, struct rti_station *station,
                       struct rti_runnable *next,
                       void (*step)(struct rti_runnable *runnable, struct rti_worker *worker))
{
    bool is_others = next->step != step || station->is_stocked;
    return rti_chain_begin(worker, station, next, is_others, true);
}

/* The same of one that was taken from `next`, to go on with if it is one of `step`. */
static RTI_ALWAYSINLINE struct rti_runnable *
rti_chain_begin_woken(struct rti_worker *worker, struct rti_station *station,
                      struct rti_runnable *next,
                      void (*step)(struct rti_runnable *runnable, struct rti_worker *worker))
{
    bool is_others = next->step != step || next->is_fresh;
    return rti_chain_begin(worker, station, next, is_others, false);
}

/* The next one, which is RUNNING and to be given its turn, if it is one of `step`; NULL: the caller
 * returns. In the step of a runnable that is parked or queued again. */
static RTI_ALWAYSINLINE struct rti_runnable *
rti_chain_next(struct rti_worker *worker,
               void (*step)(struct rti_runnable *runnable, struct rti_worker *worker))
{
    if (rti_chain_is_cut(worker)) {
        return NULL;
    }
    struct rti_runnable *next = rti_solo_pick_next(worker);
    return RTI_LIKELY(next != NULL) ? rti_chain_begin_woken(worker, worker->station, next, step)
                                    : NULL;
}

/* What the search would take next from the station, whoever it is; NULL if there is nobody. What
 * came into the rings by that from elsewhere is for the search to tell of (is_stocked). */
static RTI_ALWAYSINLINE struct rti_runnable *rti_chain_pick(struct rti_worker *worker)
{
    struct rti_station *station = worker->station;
    if (RTI_UNLIKELY(!rti_station_is_plain(station))) {
        return rti_station_pick(station);
    }
    /* rti_station_pick, where that is all there is to it. */
    struct rti_runnable *next = rti_solo_pop(worker, RTI_PRIORITY_LEVELS);
    station->tick += next != NULL;
    station->streak = 0;
    return next;
}

/* The same with whoever is next at the station, and may not have had a turn yet. In the step of a
 * runnable that is parked, queued again or gone. */
static RTI_ALWAYSINLINE struct rti_runnable *
rti_chain_oldest(struct rti_worker *worker,
                 void (*step)(struct rti_runnable *runnable, struct rti_worker *worker))
{
    if (rti_chain_is_cut(worker)) {
        return NULL;
    }
    struct rti_runnable *next = rti_chain_pick(worker);
    if (RTI_UNLIKELY(next == NULL)) {
        return NULL;
    }
    return rti_chain_begin_oldest(worker, worker->station, next, step);
}

/* Must the search come before the next turn? In a section, where nobody is told of it. */
static RTI_ALWAYSINLINE bool rti_chain_is_cut_alone(const struct rti_worker *worker)
{
    return RTI_UNLIKELY(worker->member->turns_until_look <= 0) ||
           rti_chain_is_called_alone(worker) ||
           RTI_UNLIKELY(rti_station_is_tick_due(worker->station));
}

/* rti_chain_oldest in a section, for the oldest of the ring of this level where that is next, and
 * is one of `step`; it has begun when this returns. `left`: turns that may follow. NULL: it is any
 * other case, and nothing has changed. */
static RTI_ALWAYSINLINE struct rti_runnable *
rti_chain_oldest_alone(struct rti_worker *worker, uint32_t level, int32_t left,
                       void (*step)(struct rti_runnable *runnable, struct rti_worker *worker))
{
    struct rti_station *station = worker->station;
    /* Nobody at a more urgent level. */
    uint32_t urgent = station->levels_hint & ((UINT32_C(2) << level) - 1);
    if (RTI_UNLIKELY(left <= 0) || rti_chain_is_called_alone(worker) ||
        RTI_UNLIKELY(urgent != UINT32_C(1) << level) ||
        RTI_UNLIKELY(!rti_station_is_plain(station)) || RTI_UNLIKELY(station->is_stocked)) {
        return NULL;
    }
    struct rti_ring *ring = &station->levels[level];
    struct rti_runnable *next = rti_ring_peek(ring);
    if (RTI_UNLIKELY(next == NULL) || RTI_UNLIKELY(next->step != step)) {
        return NULL;
    }
    RT_DCHECK(next->pin == 0);
    rti_ring_drop_alone(ring);
    station->tick++;
    station->streak = 0;
    rti_runnable_to_switched(next);
    next->is_fresh = false;
    worker->member->turns_until_look--;
    rti_station_count(&station->turns, 1);
    return next;
}

#endif

#endif
