/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_VISIT_H
#define RTI_VISIT_H

/* A visit: one wait of a thread that is no worker, at a source of a runtime with several workers.
 *
 * Such a thread has no fiber to park and no context: it blocks. Its wait is the one of everybody,
 * with a wake that puts a token into a parker, so it stands in the same lines, first come, first
 * served. Its deadline is the parker's own, not the wheel's.
 *
 *     rti_visitor_enter              the runtime stays until rti_visitor_leave
 *     rti_visit_begin(&visit, ...)
 *     rti_wait_add(&visit.wait, ...)      and link the waiter at its source
 *     event = rti_visit_park(&visit, deadline)
 *
 * Those that wait are in a list. Before the runtime ends it evicts them: it ends the wait of each
 * and lets no other begin, so that taking the runtime apart never waits for a thread that waits for
 * the runtime.
 *
 * I1  After rti_visits_evict no visitor waits and none will.                  (rti_visit_begin)
 * I2  A visit is in the list iff its wait has begun and is not over. (rti_visit_begin, _park)
 *
 * With one worker there are no visits: the calls are refused with RT_ERR_THREAD. */

#include "sched/lock.h"
#include "sched/parker.h"
#include "sched/wait.h"

/* Everybody who visits; a module of the runtime. */
struct rti_visits {
    struct rti_sched *sched;
    struct rti_lock lock; /* over what follows */
    struct rti_list list;
    bool is_evicting; /* the runtime ends: nobody may begin to wait */
};

/* On the stack of the thread that waits. */
struct rti_visit {
    struct rti_wait wait;
    struct rti_parker parker;
    struct rti_visits *visits;
    struct rti_link link; /* in visits->list */
};

/* Makes the module and hangs it at the scheduler. */
void rti_visits_init(struct rti_visits *visits, struct rti_sched *sched);

/* Begins a wait at a source of `sched`. False if the runtime ends: then nothing has begun. */
bool rti_visit_begin(struct rti_visit *visit, struct rti_sched *sched, enum rti_wait_reason reason);

/* Blocks until one of the waiters, the deadline or the end of the runtime claims the wait; it is
 * finished then. Returns the event: RTI_EVENT_KILL is the end of the runtime. */
uint32_t rti_visit_park(struct rti_visit *visit, uint64_t deadline_ns);

/* Ends a wait without a park: its source has what was wanted, and nobody else has claimed it. False
 * if somebody has; then it must be parked. */
bool rti_visit_end(struct rti_visit *visit, uint32_t event);

/* Ends the waits of all, and lets none begin. */
void rti_visits_evict(struct rti_visits *visits);

/* What a visitor is told that may not wait, or not any longer. */
static inline rt_status rti_visit_evicted(void)
{
    return (rt_status){RT_ERR_STATE, RTI_SENTENCE("the runtime ends")};
}

#endif
