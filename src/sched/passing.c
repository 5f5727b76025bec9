/* SPDX-License-Identifier: Apache-2.0 */
/* Parking with a lock that is passed on; the essay is in passing.h. */
#define RTI_MODULE "passing"
#include "sched/passing.h"

#if !RTI_ONE_WORKER

#include "sched/crew.h"
#include "sched/crew_search.h"
#include "sched/fiber_park.h"

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

/* The next one, if it is a fiber that has run before and may run on any thread. What it is not is
 * left to the member's own stack. */
static RTI_ALWAYSINLINE struct rti_fiber *passing_pick(struct rti_worker *worker)
{
    struct rti_runnable *next = rti_station_pick_next(worker->station);
    if (RTI_UNLIKELY(next == NULL)) {
        next = rti_station_pick(worker->station);
    }
    if (RTI_UNLIKELY(next == NULL)) {
        return NULL;
    }
    if (RTI_UNLIKELY(!next->is_direct || next->is_fresh || next->pin != 0 ||
                     rti_fiber_is_killed(rti_fiber_of(next)))) {
        RT_DCHECK(worker->member->first == NULL);
        worker->member->first = next;
        return NULL;
    }
    return rti_fiber_of(next);
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
        worker->member->turns_until_look--;
        worker->lent = NULL;
        rti_station_count(&worker->station->turns, 1);
        struct rti_context *to = rti_fiber_replace(worker, self, &next->run);
        worker = rti_context_switch(&self->context, to, worker);
    }
    rti_worker_arrive(worker);
}

#endif
