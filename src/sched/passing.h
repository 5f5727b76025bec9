/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PASSING_H
#define RTI_PASSING_H

/* Going straight from fiber to fiber, and parking with a lock that is passed on, on the engine with
 * several workers.
 *
 * A fiber that suspends must not be visible to others, in a ring or as PARKED, while somebody is on
 * its stack: another worker could go on with it before its registers are saved. So it leaves that
 * to whoever comes next on this thread, and says in worker->leaving and is_parking who was left and
 * what it wants. The member's own stack is always good for that; but a fiber that finds the next
 * one itself, in its own station, switches straight to it, and that one, standing on its own stack,
 * does it first of all (rti_worker_arrive): one switch instead of two, and nothing is searched for.
 *
 * What the way over the member's stack does besides is not left out. Each of these is asked before,
 * and if one of them is wanted the fiber goes that way (passing_is_look_due): a look at the clock,
 * the timers and the port; the injector's every 61st turn; attention; a pin; a word for a recording
 * or a journal; a stack whose guard words are not in place. The next one is set aside for the
 * member (member->first) if it is no fiber, or one that has not begun, is pinned, or was killed.
 * Turns are counted as there, for the warden and for the looks. Only whether the run is over is
 * left to the next look: up to 64 turns later (decision 102).
 *
 * A yield lets those of its own level and of more urgent ones go first. If there is nobody, and
 * nothing that another worker could do either, the turn is its own again, and no switch is made.
 *
 * Parking with a lock.
 *
 * The general way to park (sched/wait.h) makes a wait that anybody may end at any moment, also
 * while its fiber is still on its way: the claim of the wait, the wake and the end of the way are
 * compare-exchanges, and what others may see of the fiber happens on the worker's own stack. That
 * is three locked instructions and two switches.
 *
 * A fiber that waits for one thing only, known to nobody but through one source, needs none of
 * that. It parks with the source's lock in its hand: it picks the next fiber, switches straight to
 * it, and that one, standing on its own stack, marks the first one PARKED and gives the lock back.
 * So who takes the lock and finds the fiber waiting there finds it parked for good, and is the only
 * one who may end its wait: READY is a plain store, and no wait is claimed.
 *
 *     who parks                               who runs next on that thread
 *       has the lock, links its wait            (rti_worker_arrive)
 *       picks, switches                         state = PARKED
 *                                               lock = free
 *
 * Kills and cancellations come from elsewhere. They ask the fiber where it waits (`alone_at`), take
 * that lock, and make the wait one that is claimed in the general way (sched->unfold):
 *
 *     who kills or cancels                    who parks
 *       raises its flag                         alone_at = here, unless it is already; then a fence
 *       fence                                   has the lock of `here`
 *       reads alone_at, takes the lock there    looks at the flags: raised: does not park
 *         finds it waiting: unfolds it
 *
 * Who reads an old alone_at has raised the flag before the fiber looks. Who reads the right one
 * takes the lock before the fiber, which then sees the flag, or after it, and finds it parked. The
 * lock needs no fence of its own where alone_at does not change: that is the common case.
 *
 * I1  A fiber that waits alone is PARKED whenever the lock is free.          (explored: passing)
 * I2  Nobody but the holder of the lock changes the state of such a fiber.   (explored: passing)
 * I3  One who was left is visible to others only when its registers are saved, and is shown once:
 *     worker->leaving is NULL when the one that was switched to goes on.     (explored: straight)
 * I4  Who finds a fiber settled at a place whose lock it has finds its berth there or nobody's.
 *                                                                      (explored: passing_berth)
 *
 * Memory order: what the switch has saved is released with the push into the ring, the mark PARKED
 * or the lock, by the same thread; who takes the fiber there acquires it.
 *
 * Costs: one locked instruction to take what is next; none for the rest of a yield or of a park
 * with a lock, one for PARKED in any other park. A yield that finds nobody has none.
 *
 * Rejected: to give the lock back in the switch itself (assembly, on every processor, for what one
 * load and two stores do); to mark the fiber PARKED before the switch (it could be taken up
 * elsewhere before its registers are saved). */

#include "sched/fiber.h"
#include "sched/lock.h"

#if !RTI_ONE_WORKER

/* Makes a fiber whose stack nobody is on any more visible to others: PARKED, or in a queue, as
 * worker->is_parking says. The worker's thread. */
void rti_crew_show(struct rti_worker *worker, struct rti_fiber *left);

/* Who was left is parked, and its lock free. */
static RTI_ALWAYSINLINE void rti_fiber_passed(struct rti_fiber *left, struct rti_lock *lock)
{
    rti_u32_store_relaxed(&left->run.state, RTI_RUNNABLE_PARKED);
    rti_lock_give(lock);
}

/* What a fiber does first when it goes on after a switch to it: who was left for it is made visible
 * to others. Who comes from the member's stack finds nobody. */
static RTI_ALWAYSINLINE void rti_worker_arrive(struct rti_worker *worker)
{
    struct rti_fiber *left = worker->leaving;
    if (left == NULL) {
        return;
    }
    worker->leaving = NULL;
    struct rti_lock *lock = worker->passed;
    if (lock != NULL) {
        worker->passed = NULL;
        rti_fiber_passed(left, lock);
        return;
    }
    rti_crew_show(worker, left);
}

/* May the running fiber park like this? It has a worker with a station, and a stack that is whole.
 */
static RTI_ALWAYSINLINE bool rti_fiber_may_pass(const struct rti_worker *worker,
                                                const struct rti_fiber *self)
{
    return worker->station != NULL && rti_stack_is_intact(&self->stack);
}

/* Says that the fiber is about to wait alone at `place`, whose lock it holds. False if it is killed
 * or cancelled, and must not. */
static RTI_ALWAYSINLINE bool rti_fiber_settle_at(struct rti_fiber *self, void *place)
{
    if (RTI_UNLIKELY(rti_ptr_load_relaxed(&self->alone_at) != place)) {
        rti_ptr_store_relaxed(&self->alone_at, place);
        /* Said, then fence, then the flags: pairs with who raises one and looks here. */
        rti_fence_seqcst();
    }
    return !rti_fiber_is_killed(self) &&
           (self->cancel == NULL || !rti_cancel_is_requested(self->cancel));
}

/* Is it here that the fiber waits alone, or has done so last? Who holds the lock of `place`. Then
 * its stack, and the berth on it, is the one that it said so with, under this lock, and is not
 * another's yet: who has it next comes here with the lock, after this one has said that it is
 * nowhere (rti_fiber_settle_nowhere). */
static inline bool rti_fiber_is_settled_at(const struct rti_fiber *fiber, const void *place)
{
    return rti_ptr_load_relaxed(&fiber->alone_at) == place;
}

/* Parks the running fiber, whose `wait` can be found only by who holds `lock`, which is the
 * caller's until then. It goes on, perhaps on another worker, when it was made READY; whether it
 * was killed meanwhile is for the caller to ask (rti_fiber_park_end). */
void rti_fiber_park_passing(struct rti_worker *worker, struct rti_wait *wait,
                            struct rti_lock *lock);

/* Makes a fiber that waits alone ready to run. The holder of the lock, who then queues it with
 * rti_crew_queue_ready when the lock is free. */
static RTI_ALWAYSINLINE void rti_fiber_take_alone(struct rti_fiber *fiber)
{
    RT_DCHECK(rti_runnable_state(&fiber->run) == RTI_RUNNABLE_PARKED);
    rti_u32_store_relaxed(&fiber->run.state, RTI_RUNNABLE_READY);
}

#endif

#endif
