/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_DEADLINE_H
#define RTI_DEADLINE_H

/* A deadline is a waiter whose source is the timer wheel: how every wait gets its timeout.
 *
 * It lies beside the other waiters of the wait, on the stack of who waits, and is disarmed with
 * them by rti_wait_finish. A completion and a deadline that come in the same look: the one drained
 * first claims the wait, and completions are drained before timers. */

#include "sched/fiber.h"
#include "time/clockwork.h"

struct rti_deadline {
    struct rti_waiter waiter;
    struct rti_timer timer;
    struct rti_clockwork *clockwork; /* where it is armed */
};

/* The wheel of a scheduler with one worker. */
static inline struct rti_wheel *rti_sched_wheel(struct rti_sched *sched)
{
    struct rti_clockwork *clockwork = sched->timers.context;
    RT_ASSERT(rti_sched_is_local(sched));
    return &clockwork->wheel;
}

/* The point in time `duration_ns` from now, read from the clock; RTI_TIME_NEVER if it overflows. */
uint64_t rti_deadline_after(struct rti_sched *sched, uint64_t duration_ns);

/* Adds the event RTI_EVENT_TIMEOUT to a wait. RTI_TIME_NEVER adds nothing. */
void rti_deadline_add(struct rti_deadline *deadline, struct rti_sched *sched, struct rti_wait *wait,
                      uint64_t deadline_ns);

/* Arms the timer of a deadline whose waiter was added by hand, with an event of the caller's own.
 */
void rti_deadline_arm(struct rti_deadline *deadline, struct rti_sched *sched, uint64_t deadline_ns);

/* The `unlink` of its waiter, or a part of it: disarms the timer. */
void rti_deadline_unlink(struct rti_waiter *waiter);

/* Parks the current fiber until the deadline; false if it is or was cancelled first. */
bool rti_fiber_sleep_until(struct rti_worker *worker, uint64_t deadline_ns);

#endif
