/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REGION_TIMER_H
#define RTI_REGION_TIMER_H

/* Timers that regions own: a wait without a waiter, that a deadline, a cancellation, the region's
 * end or the owner may claim. What claims it decides whether the waker is called.
 *
 * With one worker the deadline calls the waker on the spot. With several it fires under the lock of
 * its wheel, where neither a region nor the program may be entered: there the timer only joins
 * those that are due, and a runnable, one for all of them, ends them and calls their wakers with no
 * lock held. It is started when the first one is due and ends when none is left. Until then a timer
 * is active: whoever cancels it takes it out again, and it has not fired.
 *
 *     active --- deadline ---> due --- turn ---> fired, waker called
 *       |                       |
 *       +--- owner, region -----+--------------> cancelled
 *       +--- its context ----------------------> cancelled
 *
 * Nothing outlives its owner: when a cancel, the close of the region or the end of the context has
 * returned, the waker of a timer of theirs is not called any more. For that the one that is being
 * called is named (`calling`), and who ends something of it waits until it is over; a waker may not
 * wait, so that is short. A waker itself waits for nobody.
 *
 * I1  The timer is ACTIVE iff it is a member of a region.                (timer_end, timer_hold)
 * I2  An ACTIVE timer whose deadline has claimed it is due, once the wheel's lock can be had.
 *                                                                        (timer_take_back)
 * I3  A timer that is not ACTIVE is touched by nobody but its owner.
 *
 * Who writes: the state, the membership and what ties a timer to its context are written under the
 * lock of contexts. The list of those that are due has a lock of its own, above that of the wheels.
 * `calling` belongs to the runnable. A context that claims its timers wakes them when it has given
 * back the lock; for those few instructions an owner who cancels waits.
 *
 * Rejected: a post per timer (the storage is the owner's as soon as a cancel has returned, and a
 * post cannot be taken back); a post for all (posts may be called by the warden, on whose thread no
 * code of the program has any business); firing under the lock with a waker that may only make
 * something ready (a region's timer is then another thing on each engine). */

#include "sched/lock.h"
#include "sched/wait.h"

struct rti_cx;
struct rti_region;

#if !RTI_ONE_WORKER

/* Whose waker is being called; NULL: nobody's. */
struct rti_region_calling {
    rti_atomic_ptr timer;
    rti_atomic_ptr region;
    rti_atomic_ptr cx;
    rti_atomic_ptr worker; /* who calls it */
    rti_atomic_u32 is_on;
};

/* The timers of a runtime that are due. */
struct rti_region_dues {
    struct rti_lock lock;
    struct rti_list list;
    bool is_running; /* `run` is started and has not ended */
    struct rti_sched *sched;
    struct rti_region_calling calling;
    struct rti_runnable run;
};

void rti_region_dues_init(struct rti_region_dues *dues, struct rti_sched *sched);

#endif

/* Ends a timer of a context that ends, and that its deadline has claimed. The context's line has
 * let go of `waiter`. The lock of contexts is held. */
void rti_region_timer_end_with_context(struct rti_waiter *waiter);

/* Waits until no waker of a timer of this region, or of this context, is being called. Both have
 * ended their timers. No lock is held. */
void rti_region_timer_await_region(struct rti_sched *sched, const struct rti_region *region);
void rti_region_timer_await_context(struct rti_sched *sched, const struct rti_cx *cx);

#endif
