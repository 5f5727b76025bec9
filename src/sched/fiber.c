/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that suspends; the essay is in fiber.h. */
#define RTI_MODULE "fiber"
#include "sched/fiber.h"

#include "sched/fiber_park.h"

/* Makes the fiber that runs on `worker` one that has departed. What is left is to leave it. */
static struct rti_fiber *fiber_depart(struct rti_worker *worker, enum rti_fiber_end end)
{
    struct rti_fiber *self = worker->fiber;
    RT_ASSERT(self != NULL && self->wait == NULL);
    self->end = (uint8_t)end;
    rti_runnable_to_done(&self->run);
    worker->fiber = NULL;
    worker->departed = self;
    return self;
}

/* Ends the fiber that runs on `worker`: it goes to the worker's stack and is settled there. */
static _Noreturn void fiber_finish(struct rti_worker *worker, enum rti_fiber_end end)
{
    struct rti_fiber *self = fiber_depart(worker, end);
    rti_context_leave(&self->context, &worker->context, worker);
    rti_panic(RTI_MODULE, __LINE__, "a fiber that ended was resumed");
}

void rti_fiber_abandon(void *arg)
{
    struct rti_worker *worker = arg;
    struct rti_fiber *self = worker->fiber;
    /* Its floating-point controls may be in any state. */
    rti_context_keep_fp_control(&self->context);
    rti_cleanup_run_all(&self->cleanups);
    (void)fiber_depart(worker, (enum rti_fiber_end)self->end);
    rti_context_abandon(&self->context, &worker->context, worker);
}

_Noreturn void rti_fiber_overflow(struct rti_worker *worker)
{
    struct rti_fiber *self = worker->fiber;
    if (worker->sched->catches_faults) {
        /* There may be no room for another call: go the way of those who went too far. */
        *(volatile char *)self->stack.guard = 0;
    }
    fiber_finish(worker, RTI_FIBER_OVERFLOWED);
}

_Noreturn void rti_fiber_die(struct rti_worker *worker)
{
    struct rti_fiber *self = worker->fiber;
    if (self->wait != NULL) {
        struct rti_wait *wait = self->wait;
        self->wait = NULL;
        rti_wait_finish(wait);
    }
    rti_cleanup_run_all(&self->cleanups);
    fiber_finish(worker, RTI_FIBER_KILLED);
}

void rti_fiber_forked(void)
{
    rti_panic(RTI_MODULE, __LINE__,
              RTI_SENTENCE("a task or actor came to its end in a forked process, and its runtime "
                           "stayed in the parent: call exec or _exit"));
}

/* The program's function returns to here, and it may fault before it has a frame. */
static RTI_OUTSIDE void fiber_entry(void *transfer)
{
    struct rti_worker *worker = transfer;
    struct rti_fiber *self = worker->fiber;
    if (RT_KEEP_ERRNO) {
        *worker->errno_address = 0;
    }
    struct rti_cx *cx = self->cx;
    self->main(self->arg);
    /* A context that lay in a frame of main is garbage now: going on would corrupt what it was
     * linked to. */
    RT_ASSERT(self->cx == cx);
    fiber_finish(rti_fiber_worker(), RTI_FIBER_RETURNED);
}

bool rti_fiber_is_scheduler_needed(struct rti_worker *worker, struct rti_fiber *self)
{
    bool is_intact = rti_stack_is_intact(&self->stack);
    worker->departed = is_intact ? NULL : self;
    return !is_intact || rti_u32_load_relaxed(worker->attention) != 0 ||
           rti_sched_glance(worker->sched);
}

/* Puts `fiber` in the place of whatever ran on this worker. What is left is the switch itself. */
static inline struct rti_context *fiber_enter(struct rti_worker *worker, struct rti_fiber *fiber)
{
    RTI_PROBE1(start, fiber->run.id);
    worker->fiber = fiber;
    rti_fiber_bring_errno(worker, fiber);
    return &fiber->context;
}

void rti_fiber_leave_shared(struct rti_worker *worker, struct rti_fiber *self, bool is_parking)
{
    RT_DCHECK(worker->locks_held == 0);
    worker->turns_until_look = 0;
    rti_fiber_keep_errno(worker, self);
    worker->leaving = self;
    worker->is_parking = is_parking;
    worker->fiber = NULL;
    rti_context_switch(&self->context, &worker->context, worker);
}

void rti_fiber_suspend_to_scheduler(struct rti_worker *worker, struct rti_fiber *self,
                                    struct rti_runnable *handoff)
{
    rti_fiber_keep_errno(worker, self);
    worker->handoff = handoff;
    worker->fiber = NULL;
    rti_context_switch(&self->context, &worker->context, worker);
}

static void fiber_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct rti_fiber *fiber = rti_fiber_of(runnable);
    if (RTI_UNLIKELY(rti_fiber_is_killed(fiber) && fiber->wait == NULL)) {
        fiber->end = RTI_FIBER_KILLED;
        rti_runnable_to_done(runnable);
        worker->departed = fiber;
        return;
    }
    struct rti_context *to = fiber_enter(worker, fiber);
    /* The last act: a return from here would be guessed to go where the fiber made its last call.
     */
    rti_context_switch_tail(&worker->context, to, worker);
}

/* Notes who starts the fiber: the one that runs here now, if any does. */
static inline void fiber_init_origin(struct rti_fiber *fiber, const void *site)
{
    const struct rti_worker *worker = rti_worker_here();
    const struct rti_fiber *starter = worker == NULL ? NULL : worker->fiber;
    rti_origin_init(&fiber->origin, site, starter == NULL ? NULL : &starter->origin,
                    starter == NULL ? 0 : starter->run.id);
}

void rti_fiber_init(struct rti_fiber *fiber, const struct rti_fiber_options *options)
{
    RT_ASSERT(options->main != NULL && options->on_done != NULL);
    if (options->stack.low != NULL) {
        fiber->stack = options->stack;
    }
    RT_ASSERT(rti_stack_is_intact(&fiber->stack));
    rti_runnable_init(&fiber->run, options->id, options->priority, fiber_step);
    fiber->run.is_fiber = true;
    fiber->run.is_direct = true;
    fiber->sched = NULL;
    rti_u32_init(&fiber->killed, 0);
    fiber->end = RTI_FIBER_RETURNED;
    fiber->saved_errno = 0;
    fiber->blocking_depth = 0;
    fiber->pin_depth = 0;
    fiber->wait = NULL;
    fiber->main = options->main;
    fiber->arg = options->arg;
    fiber->on_done = options->on_done;
    fiber->cx = NULL;
    fiber->cancel = NULL;
    fiber->parked_ns = 0;
    fiber_init_origin(fiber, options->site);
    rti_list_init(&fiber->cleanups);
    rti_context_init(&fiber->context, rti_stack_usable(&fiber->stack),
                     rti_stack_usable_size(&fiber->stack), fiber_entry);
}

void rti_fiber_start(struct rti_sched *sched, struct rti_fiber *fiber)
{
    fiber->sched = sched;
    rti_sched_start(sched, &fiber->run);
}

struct rti_fiber *rti_fiber_current(void)
{
    struct rti_worker *worker = rti_worker_current();
    return worker == NULL ? NULL : worker->fiber;
}

/* The last act of a yield: to another one, which was taken from the processor. */
static RTI_ALWAYSINLINE void fiber_yield_to(struct rti_worker *worker, struct rti_fiber *self,
                                            struct rti_runnable *next)
{
    if (RTI_UNLIKELY(!next->is_direct)) {
        rti_fiber_suspend_to_scheduler(worker, self, next);
        return;
    }
    struct rti_context *to = rti_fiber_replace(worker, self, next);
    rti_context_switch_tail(&self->context, to, worker);
}

/* The yield's rarer ways are apart, so that the common one keeps nothing across a call and needs no
 * frame. This one: nobody of the same level is ready, or somebody more urgent is. */
static RTI_NOINLINE void fiber_yield_by_queue(struct rti_worker *worker, struct rti_fiber *self)
{
    rti_processor_queue(worker->processor, &self->run);
    struct rti_runnable *next = rti_processor_pick(worker->processor);
    if (next == &self->run) {
        rti_runnable_to_running(next);
        return;
    }
    fiber_yield_to(worker, self, next);
}

/* And this one: a look may be due. */
static RTI_NOINLINE void fiber_yield_at_a_look(struct rti_worker *worker, struct rti_fiber *self)
{
    if (rti_runnable_is_shared(&self->run)) {
        /* It is READY when nothing runs on its stack any more, not before. */
        rti_u32_store_relaxed(&self->run.state, RTI_RUNNABLE_RUNNING);
        rti_fiber_leave_shared(worker, self, false);
        return;
    }
    if (!rti_fiber_is_scheduler_needed(worker, self)) {
        fiber_yield_by_queue(worker, self);
        return;
    }
    rti_processor_queue(worker->processor, &self->run);
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
    struct rti_runnable *next = rti_processor_rotate(worker->processor, &self->run);
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

_Noreturn void rti_fiber_exit(struct rti_worker *worker)
{
    rti_cleanup_run_all(&worker->fiber->cleanups);
    fiber_finish(worker, RTI_FIBER_EXITED);
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

void rti_fiber_settle(struct rti_sched *sched, struct rti_fiber *fiber)
{
    enum rti_runnable_state state = rti_runnable_state(&fiber->run);
    if (state != RTI_RUNNABLE_DONE) {
        /* The stack overflowed. Its frames are still as it left them, nobody has run since: unlink
         * what they hold, and never go back to them. */
        if (fiber->wait != NULL) {
            struct rti_wait *wait = fiber->wait;
            fiber->wait = NULL;
            (void)rti_wait_claim(wait, RTI_EVENT_KILL);
            rti_u32_store_relaxed(&fiber->killed,
                                  1); /* it will not look at what its wait was given */
            rti_wait_finish(wait);
        }
        if (state == RTI_RUNNABLE_READY) {
            rti_processor_remove(&sched->processor, &fiber->run);
        }
        rti_u32_store_relaxed(&fiber->run.state, RTI_RUNNABLE_DONE);
    }
    if (!rti_stack_is_intact(&fiber->stack)) {
        fiber->end = RTI_FIBER_OVERFLOWED;
    }
    rti_sched_settled(sched);
    RTI_PROBE2(exit, fiber->run.id, fiber->end);
    rti_sched_record(sched, &(struct rti_journal_event){.kind = RTI_JOURNAL_END,
                                                        .task = fiber->run.id,
                                                        .value = fiber->end});
    rti_cleanup_run_all(&fiber->cleanups);
    rti_context_deinit(&fiber->context);
    fiber->on_done(fiber);
}
