/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that suspends; the essay is in fiber.h. Birth and end are in fiber_life.c. */
#define RTI_MODULE "fiber"
#include "sched/fiber.h"

#include "sched/fiber_park.h"
#include "sched/passing.h"

bool rti_fiber_is_scheduler_needed(struct rti_worker *worker, struct rti_fiber *self)
{
    bool is_intact = rti_stack_is_intact(&self->stack);
    worker->departed = is_intact ? NULL : self;
    return !is_intact || rti_u32_load_relaxed(worker->attention) != 0 ||
           rti_sched_glance(worker->sched);
}

#if !RTI_ONE_WORKER
void rti_fiber_leave_shared(struct rti_worker *worker, struct rti_fiber *self, bool is_parking)
{
    RT_DCHECK(worker->locks_held == 0);
    worker->turns_until_look = 0;
    rti_fiber_keep_errno(worker, self);
    worker->leaving = self;
    worker->is_parking = is_parking;
    worker->fiber = NULL;
    worker = rti_context_switch(&self->context, &worker->context, worker);
#if !RTI_ONE_WORKER
    rti_worker_arrive(worker);
#endif
}
#endif

void rti_fiber_suspend_to_scheduler(struct rti_worker *worker, struct rti_fiber *self,
                                    struct rti_runnable *handoff)
{
    rti_fiber_keep_errno(worker, self);
    worker->handoff = handoff;
    worker->fiber = NULL;
    rti_context_switch(&self->context, &worker->context, worker);
}

#if RTI_ONE_WORKER
struct rti_worker *rti_worker_enter(void)
{
    return rti_worker_enter_inline();
}
#endif

struct rti_fiber *rti_fiber_current(void)
{
    struct rti_worker *worker = rti_worker_current();
    return worker == NULL ? NULL : worker->fiber;
}

/* The same for a worker that records: apart, so that who does not needs no frame for it. */
static RTI_NOINLINE void fiber_yield_recorded(struct rti_worker *worker, struct rti_fiber *self,
                                              struct rti_runnable *next)
{
    rti_worker_note(worker, RTI_NOTE_RUN, 0, next->id);
    struct rti_context *to = rti_fiber_replace(worker, self, next);
    rti_context_switch_tail(&self->context, to, worker);
}

/* The last act of a yield: to another one, which was taken from the processor. */
static RTI_ALWAYSINLINE void fiber_yield_to(struct rti_worker *worker, struct rti_fiber *self,
                                            struct rti_runnable *next)
{
    if (RTI_UNLIKELY(!next->is_direct)) {
        rti_fiber_suspend_to_scheduler(worker, self, next);
        return;
    }
    if (rti_worker_records(worker)) {
        fiber_yield_recorded(worker, self, next);
        return;
    }
    struct rti_context *to = rti_fiber_replace(worker, self, next);
    rti_context_switch_tail(&self->context, to, worker);
}

/* The last act of one that may be next itself. */
static RTI_ALWAYSINLINE void fiber_yield_to_next(struct rti_worker *worker, struct rti_fiber *self)
{
    struct rti_runnable *next = rti_processor_pick(rti_worker_processor(worker));
    if (next == &self->run) {
        rti_runnable_to_running(next);
        return;
    }
    if (RTI_ONE_WORKER && next == NULL) {
        rti_fiber_suspend_to_scheduler(worker, self, NULL);
        return;
    }
    fiber_yield_to(worker, self, next);
}

#if RTI_ONE_WORKER
RTI_NOINLINE void rti_fiber_suspend_to_next(struct rti_worker *worker, struct rti_fiber *self,
                                            bool may_be_woken)
{
    (void)may_be_woken;
    fiber_yield_to_next(worker, self);
}
#endif

/* The yield's rarer ways are apart, so that the common one keeps nothing across a call and needs no
 * frame. This one: nobody of the same level is ready, or somebody more urgent is. */
static RTI_NOINLINE void fiber_yield_by_queue(struct rti_worker *worker, struct rti_fiber *self)
{
    rti_processor_queue(rti_worker_processor(worker), &self->run);
#if RTI_ONE_WORKER
    rti_fiber_suspend_to_next(worker, self, true);
#else
    fiber_yield_to_next(worker, self);
#endif
}

/* And this one: a look may be due. */
static RTI_NOINLINE void fiber_yield_at_a_look(struct rti_worker *worker, struct rti_fiber *self)
{
    if (rti_runnable_is_shared(&self->run)) {
        /* It is READY when nothing runs on its stack any more, not before. */
        rti_u32_store_relaxed(&self->run.state, RTI_RUNNABLE_RUNNING);
        rti_fiber_yield_shared(worker, self);
        return;
    }
    if (!rti_fiber_is_scheduler_needed(worker, self)) {
        fiber_yield_by_queue(worker, self);
        return;
    }
    rti_processor_queue(rti_worker_processor(worker), &self->run);
    rti_fiber_suspend_to_scheduler(worker, self, NULL);
}

RTI_FLAT void rti_fiber_yield(struct rti_worker *worker)
{
    struct rti_fiber *self = worker->fiber;
    RT_DCHECK(self != NULL);
    rti_runnable_to_yielding(&self->run);
    if (rti_fiber_is_scheduler_due(worker, self)) {
        fiber_yield_at_a_look(worker, self);
        return;
    }
    struct rti_runnable *next = rti_processor_rotate(rti_worker_processor(worker), &self->run);
    if (RTI_UNLIKELY(next == NULL)) {
        fiber_yield_by_queue(worker, self);
        return;
    }
    fiber_yield_to(worker, self, next);
}

void rti_fiber_wake(struct rti_wait *wait)
{
    struct rti_fiber *fiber = wait->target;
    /* The wait's memory may be gone as soon as the fiber is queued. */
    rti_sched_wake(fiber->sched, &fiber->run);
}

RTI_FLAT uint32_t rti_fiber_park_open(struct rti_worker *worker, struct rti_wait *wait)
{
    return rti_fiber_park_here(worker, wait);
}

uint32_t rti_fiber_park(struct rti_worker *worker, struct rti_wait *wait)
{
    uint32_t event = rti_fiber_park_open(worker, wait);
    rti_wait_finish(wait);
    return event;
}

/* With several workers. Whoever turns PARKED into HELD may look at the wait, which lies on the
 * fiber's stack: no wake can let the fiber go on meanwhile. */
void rti_fiber_kill_parked(struct rti_sched *sched, struct rti_fiber *fiber)
{
    uint32_t state = RTI_RUNNABLE_PARKED;
    /* Acquire pairs with the release of the park: `wait` and what it links are complete. */
    if (!rti_u32_cas_acqrel(&fiber->run.state, &state, RTI_RUNNABLE_HELD)) {
        return;
    }
    bool is_claimed = rti_wait_claim(fiber->wait, RTI_EVENT_KILL);
    /* Release pairs with who wakes it, or holds it, next. */
    rti_u32_store_release(&fiber->run.state, RTI_RUNNABLE_PARKED);
    if (is_claimed) {
        rti_sched_wake(sched, &fiber->run);
    }
}

static bool fiber_kill_shared(struct rti_sched *sched, struct rti_fiber *fiber)
{
    if (rti_u32_exchange_acqrel(&fiber->killed, 1) != 0) {
        return false;
    }
    struct rti_worker *worker = rti_worker_current();
    if (worker != NULL && worker->fiber == fiber) {
        rti_fiber_die(worker);
    }
    /* Marked, then fence, then the state; a fiber on its way to park stores its state, then looks
     * at the mark: one of the two sees the other. */
    rti_fence_after_rmw();
#if !RTI_ONE_WORKER
    if (sched->unfold != NULL) {
        sched->unfold(sched, fiber);
    }
#endif
    rti_fiber_kill_parked(sched, fiber);
    return true;
}

bool rti_fiber_kill(struct rti_sched *sched, struct rti_fiber *fiber)
{
    if (rti_runnable_state(&fiber->run) == RTI_RUNNABLE_DONE) {
        return false;
    }
    if (!rti_sched_is_local(sched)) {
        return fiber_kill_shared(sched, fiber);
    }
    if (rti_fiber_is_killed(fiber)) {
        return false;
    }
    rti_u32_store_relaxed(&fiber->killed, 1);
    fiber->run.is_direct = false;
    if (fiber == sched->worker.fiber) {
        rti_fiber_die(&sched->worker);
    }
    if (fiber->wait != NULL && rti_wait_claim(fiber->wait, RTI_EVENT_KILL)) {
        rti_sched_wake(sched, &fiber->run);
    }
    return true;
}
