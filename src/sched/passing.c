/* SPDX-License-Identifier: Apache-2.0 */
/* From fiber to fiber, with or without a lock; the essay is in passing.h. */
#define RTI_MODULE "passing"
#include "sched/passing.h"

#if !RTI_ONE_WORKER

#include "sched/crew.h"
#include "sched/crew_search.h"
#include "sched/fiber_park.h"
#include "sched/parking.h"
#include "sched/solo.h"

/* Is the member's own stack needed before the next turn? */
static RTI_ALWAYSINLINE bool passing_is_look_due(const struct rti_worker *worker)
{
    const struct rti_member *member = worker->member;
    return RTI_UNLIKELY(member->turns_until_look <= 0) || RTI_UNLIKELY(member->pin != 0) ||
           RTI_UNLIKELY(rti_u32_load_relaxed(&member->attention) != 0) ||
           RTI_UNLIKELY(rti_u32_load_relaxed(&worker->sched->port->attention) != 0) ||
           RTI_UNLIKELY(rti_station_is_tick_due(worker->station)) || rti_worker_records(worker) ||
           RTI_UNLIKELY(rti_sched_journal(worker->sched) != NULL);
}

/* Is this one, which was taken, a fiber that has run before and may run on any thread? */
static RTI_ALWAYSINLINE bool passing_is_direct(struct rti_runnable *next)
{
    return next->is_direct && !next->is_fresh && next->pin == 0 &&
           !rti_fiber_is_killed(rti_fiber_of(next));
}

/* What is not is left to the member's own stack. */
static void passing_set_aside(struct rti_worker *worker, struct rti_runnable *next)
{
    RT_DCHECK(worker->member->first == NULL);
    worker->member->first = next;
}

/* The next one, if it is a fiber that has run before and may run on any thread. What it is not is
 * left to the member's own stack. */
static RTI_ALWAYSINLINE struct rti_fiber *passing_pick(struct rti_worker *worker)
{
    struct rti_runnable *next = rti_solo_pick_next(worker);
    if (RTI_UNLIKELY(next == NULL)) {
        next = rti_station_pick(worker->station);
    }
    if (RTI_UNLIKELY(next == NULL)) {
        return NULL;
    }
    if (RTI_UNLIKELY(!passing_is_direct(next))) {
        passing_set_aside(worker, next);
        return NULL;
    }
    return rti_fiber_of(next);
}

/* The last step of those who go straight: makes `next`, which was taken, the one that runs. Returns
 * when `self` goes on, with its worker then. */
static RTI_ALWAYSINLINE struct rti_worker *
passing_switch(struct rti_worker *worker, struct rti_fiber *self, struct rti_fiber *next)
{
    worker->member->turns_until_look--;
    worker->lent = NULL;
    rti_station_count(&worker->station->turns, 1);
    struct rti_context *to = rti_fiber_replace(worker, self, &next->run);
    return rti_context_switch(&self->context, to, worker);
}

void rti_fiber_park_shared(struct rti_worker *worker, struct rti_fiber *self)
{
    RT_DCHECK(worker->locks_held == 0);
    struct rti_fiber *next = NULL;
    if (RTI_LIKELY(rti_fiber_may_pass(worker, self)) && !passing_is_look_due(worker)) {
        next = passing_pick(worker);
    }
    if (next == NULL) {
        rti_fiber_leave_shared(worker, self, true);
        return;
    }
    worker->leaving = self;
    worker->is_parking = true;
    rti_worker_arrive(passing_switch(worker, self, next));
}

/* The last act of a yield that goes straight. */
static RTI_JUMPS_BACK void passing_yield_to(struct rti_worker *worker, struct rti_fiber *self,
                                            struct rti_fiber *next)
{
    worker->leaving = self;
    worker->is_parking = false;
    worker = passing_switch(worker, self, next);
    struct rti_fiber *left = worker->leaving;
    if (RTI_LIKELY(left != NULL && worker->passed == NULL && !worker->is_parking)) {
        /* rti_worker_arrive without a call: who was left has yielded, too. */
        RT_DCHECK(worker->member->pin == 0);
        worker->leaving = NULL;
        rti_crew_show_yielded(worker->member->crew, worker->station, &left->run);
    } else {
        rti_worker_arrive(worker);
    }
    rti_parking_tell(self->run.id);
}

/* Nobody of its level is ready, nor anybody who would be of use to another worker: the turn is its
 * own again. */
static RTI_ALWAYSINLINE void passing_go_on(struct rti_worker *worker, struct rti_fiber *self)
{
    (void)self; /* for the probe only */
    RTI_PROBE1(start, self->run.id);
    worker->member->turns_until_look--;
    worker->lent = NULL;
    worker->station->tick++;
    worker->station->streak = 0;
    rti_station_count(&worker->station->turns, 1);
}

void rti_fiber_yield_shared(struct rti_worker *worker, struct rti_fiber *self)
{
    struct rti_station *station = worker->station;
    worker->turns_until_look = 0;
    if (RTI_LIKELY(rti_fiber_may_pass(worker, self)) && !passing_is_look_due(worker) &&
        RTI_LIKELY(rti_station_is_plain(station))) {
        /* Those of its own level and of more urgent ones: others have to wait for it. */
        struct rti_runnable *next = rti_solo_pop(worker, self->run.priority + 1U);
        if (RTI_LIKELY(next != NULL)) {
            station->tick++;
            station->streak = 0;
            if (RTI_LIKELY(passing_is_direct(next))) {
                passing_yield_to(worker, self, rti_fiber_of(next));
                return;
            }
            passing_set_aside(worker, next);
        } else if (station->levels_hint == 0 && rti_backlog_is_empty(&station->backlog) &&
                   RTI_LIKELY(!rti_fiber_is_killed(self))) {
            passing_go_on(worker, self);
            return;
        }
    }
    rti_fiber_leave_shared(worker, self, false);
}

void rti_fiber_park_passing(struct rti_worker *worker, struct rti_wait *wait, struct rti_lock *lock)
{
    struct rti_fiber *self = worker->fiber;
    RT_DCHECK(self->wait == NULL && rti_fiber_may_pass(worker, self));
    self->wait = wait;
    RTI_PROBE2(park, self->run.id, wait->reason);
    rti_fiber_note_parked(self, worker->now_ns);
    rti_lock_pass(lock);
    RT_DCHECK(worker->locks_held == 0);
    worker->leaving = self;
    worker->passed = lock;
    struct rti_fiber *next = passing_is_look_due(worker) ? NULL : passing_pick(worker);
    if (RTI_UNLIKELY(next == NULL)) {
        rti_fiber_keep_errno(worker, self);
        worker->fiber = NULL;
        worker = rti_context_switch(&self->context, &worker->context, worker);
    } else {
        worker = passing_switch(worker, self, next);
    }
    rti_worker_arrive(worker);
}

#endif
