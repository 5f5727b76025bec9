/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_FIBER_PARK_H
#define RTI_FIBER_PARK_H

/* The way of a fiber from running to suspended and back, for fiber.c, and for the one or two
 * functions of the library in which a park is most of what they do.
 *
 * rti_fiber_park_here is rti_fiber_park_open without the call. The call itself is not what it
 * saves: how well the processor guesses where a resumed fiber returns to depends on how few jumps
 * lie between the program's own code and the switch (sched/parking.h). */

#include "sched/fiber.h"

/* The answer to rti_fiber_is_scheduler_due, once it was a maybe. */
RTI_NOINLINE bool rti_fiber_is_scheduler_needed(struct rti_worker *worker, struct rti_fiber *self);

/* Leaves the processor to the worker's stack, which looks, then steps `handoff` or picks anew. */
RTI_NOINLINE void rti_fiber_suspend_to_scheduler(struct rti_worker *worker, struct rti_fiber *self,
                                                 struct rti_runnable *handoff);

/* With several workers: leaves, and what others may see of it happens on the worker's stack. */
RTI_NOINLINE void rti_fiber_leave_shared(struct rti_worker *worker, struct rti_fiber *self,
                                         bool is_parking);

/* With several workers: the ways of a yield and of a park, straight to the next fiber if there is
 * one to go to, else as above (sched/passing.h). */
void rti_fiber_yield_shared(struct rti_worker *worker, struct rti_fiber *self);
void rti_fiber_park_shared(struct rti_worker *worker, struct rti_fiber *self);

/* The way out of a killed fiber: what its wait has linked anywhere, and what it holds, may lie on
 * its stack and goes first. */
_Noreturn RTI_COLD void rti_fiber_die(struct rti_worker *worker);

/* Might the worker's own stack need a word before the next fiber runs? */
static RTI_ALWAYSINLINE bool rti_fiber_is_scheduler_due(struct rti_worker *worker,
                                                        struct rti_fiber *self)
{
    /* Each is one comparison with memory and a branch that is never taken: fewer instructions than
     * to gather the answers, and their number is what a yield costs. */
    return RTI_UNLIKELY(!rti_stack_is_intact(&self->stack)) ||
           RTI_UNLIKELY(rti_u32_load_relaxed(worker->attention) != 0) ||
           RTI_UNLIKELY(!rti_worker_take_turn(worker));
}

/* The errno of the fiber that leaves this worker, and of the one that comes. */
static inline void rti_fiber_keep_errno(const struct rti_worker *worker, struct rti_fiber *fiber)
{
#if RT_KEEP_ERRNO
    fiber->saved_errno = *worker->errno_address;
#else
    (void)worker, (void)fiber;
#endif
}

static inline void rti_fiber_bring_errno(const struct rti_worker *worker,
                                         const struct rti_fiber *fiber)
{
#if RT_KEEP_ERRNO
    *worker->errno_address = fiber->saved_errno;
#else
    (void)worker, (void)fiber;
#endif
}

/* Both at once. The address is read once; the compiler cannot know that a worker holds no errno. */
static inline void rti_fiber_exchange_errno(const struct rti_worker *worker, struct rti_fiber *from,
                                            const struct rti_fiber *to)
{
#if RT_KEEP_ERRNO
    int *address = worker->errno_address;
    from->saved_errno = *address;
    *address = to->saved_errno;
#else
    (void)worker, (void)from, (void)to;
#endif
}

/* The same from fiber to fiber; the caller tells the recorder. */
static inline struct rti_context *
rti_fiber_replace(struct rti_worker *worker, struct rti_fiber *self, struct rti_runnable *next)
{
    struct rti_fiber *fiber = rti_fiber_of(next);
    RTI_PROBE1(start, next->id);
    rti_runnable_to_switched(next);
    worker->fiber = fiber;
    rti_fiber_exchange_errno(worker, self, fiber);
    return &fiber->context;
}

/* The way of a parked fiber, to whoever is next, and back, when the worker's own stack is not
 * needed before. `may_be_woken`: on its way to park, so that it may be next itself. Where flash is
 * scarce this is a call of what yields have. */
#if RTI_ONE_WORKER
void rti_fiber_suspend_to_next(struct rti_worker *worker, struct rti_fiber *self,
                               bool may_be_woken);
#else
static RTI_ALWAYSINLINE void rti_fiber_suspend_to_next(struct rti_worker *worker,
                                                       struct rti_fiber *self, bool may_be_woken)
{
    struct rti_runnable *next = rti_processor_pick(rti_worker_processor(worker));
    if (may_be_woken && RTI_UNLIKELY(next == &self->run)) {
        /* Woken on its way to park, and nobody else is ready. */
        rti_runnable_to_running(next);
        return;
    }
    if (RTI_UNLIKELY(next == NULL || !next->is_direct)) {
        rti_fiber_suspend_to_scheduler(worker, self, next);
        return;
    }
    rti_worker_note(worker, RTI_NOTE_RUN, 0, next->id);
    struct rti_context *to = rti_fiber_replace(worker, self, next);
    rti_context_switch(&self->context, to, worker);
}
#endif

/* The park of a call that goes straight (worker->straight), or its twin: nothing has claimed its
 * wait yet. In three steps, so that a function can make the switch its last act but one. The first;
 */
static RTI_ALWAYSINLINE void rti_fiber_park_begin(struct rti_worker *worker, struct rti_fiber *self,
                                                  struct rti_wait *wait)
{
    RT_DCHECK(worker->fiber == self && self->wait == NULL);
    RT_DCHECK(rti_worker_is_straight(worker));
    self->wait = wait;
    RTI_PROBE2(park, self->run.id, wait->reason);
    rti_fiber_note_parked(self, worker->sched->now_ns);
    rti_runnable_to_parked_here(&self->run);
}

/* the second, which may be tried first in a way that calls nothing: the one to switch to, taken
 * from its queue, or NULL, and then everything is as it was. Not if a look is due, nor for a worker
 * that records; */
static RTI_ALWAYSINLINE struct rti_fiber *rti_fiber_next_direct(struct rti_worker *worker,
                                                                struct rti_fiber *self)
{
    struct rti_processor *processor = rti_worker_processor(worker);
    struct rti_runqueue *level = rti_processor_urgent(processor);
    if (RTI_UNLIKELY(level == NULL) || RTI_UNLIKELY(!level->head->is_direct)) {
        return NULL;
    }
    struct rti_fiber *fiber = rti_fiber_of(level->head);
    if (RTI_UNLIKELY(rti_context_is_dear(&self->context, &fiber->context))) {
        return NULL;
    }
    (void)rti_processor_take(processor, level);
    return fiber;
}

/* or in every way; */
static RTI_ALWAYSINLINE void rti_fiber_park_go(struct rti_worker *worker, struct rti_fiber *self,
                                               bool is_due)
{
    if (is_due && rti_fiber_is_scheduler_needed(worker, self)) {
        rti_fiber_suspend_to_scheduler(worker, self, NULL);
    } else {
        rti_fiber_suspend_to_next(worker, self, false);
    }
}

/* and the third, when it goes on. */
static RTI_ALWAYSINLINE void rti_fiber_park_end(struct rti_fiber *self)
{
    if (RTI_UNLIKELY(rti_fiber_is_killed(self))) {
        rti_fiber_die(rti_worker_current());
    }
    self->wait = NULL;
}

/* All three. */
static RTI_ALWAYSINLINE void rti_fiber_park_straight(struct rti_worker *worker,
                                                     struct rti_fiber *self, struct rti_wait *wait)
{
    rti_fiber_park_begin(worker, self, wait);
    rti_fiber_park_go(worker, self, rti_fiber_is_scheduler_due(worker, self));
    rti_fiber_park_end(self);
}

/* Parks the current fiber until the wait is claimed; rti_fiber_park_open says the rest. */
static RTI_ALWAYSINLINE uint32_t rti_fiber_park_here(struct rti_worker *worker,
                                                     struct rti_wait *wait)
{
    struct rti_fiber *self = worker->fiber;
    RT_ASSERT(self != NULL && self->wait == NULL);
    self->wait = wait;
    RTI_PROBE2(park, self->run.id, wait->reason);
    if (RTI_UNLIKELY(rti_runnable_is_shared(&self->run))) {
        rti_fiber_note_parked(self, rti_worker_looked_at(worker));
        rti_fiber_park_shared(worker, self);
    } else {
        rti_fiber_note_parked(self, worker->sched->now_ns);
        if (!rti_runnable_to_parked(&self->run)) {
            rti_processor_queue(rti_worker_processor(worker), &self->run);
        }
        if (rti_fiber_is_scheduler_due(worker, self) &&
            rti_fiber_is_scheduler_needed(worker, self)) {
            rti_fiber_suspend_to_scheduler(worker, self, NULL);
        } else {
            rti_fiber_suspend_to_next(worker, self, true);
        }
    }
    if (RTI_UNLIKELY(rti_fiber_is_killed(self))) {
        rti_fiber_die(rti_worker_current());
    }
    self->wait = NULL;
    uint32_t event = rti_wait_event(wait);
    RT_ASSERT(event != RTI_EVENT_NONE);
    return event;
}

#endif
