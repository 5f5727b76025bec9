/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "deadline"
#include "time/deadline.h"

uint64_t rti_deadline_after(struct rti_sched *sched, uint64_t duration_ns)
{
    uint64_t now_ns = rti_sched_clock(sched);
    return duration_ns > RTI_TIME_NEVER - now_ns ? RTI_TIME_NEVER : now_ns + duration_ns;
}

static void deadline_fire(struct rti_timer *timer)
{
    struct rti_deadline *deadline = RTI_CONTAINER_OF(timer, struct rti_deadline, timer);
    RTI_PLAIN_READ(deadline, sizeof(*deadline));
    if (rti_wait_claim(deadline->waiter.wait, deadline->waiter.event)) {
        rti_waiter_wake(&deadline->waiter);
    }
}

void rti_deadline_unlink(struct rti_waiter *waiter)
{
    struct rti_deadline *deadline = RTI_CONTAINER_OF(waiter, struct rti_deadline, waiter);
    (void)rti_clockwork_disarm(deadline->clockwork, &deadline->timer);
}

void rti_deadline_add(struct rti_deadline *deadline, struct rti_sched *sched, struct rti_wait *wait,
                      uint64_t deadline_ns)
{
    if (deadline_ns == RTI_TIME_NEVER) {
        return;
    }
    rti_wait_add(wait, &deadline->waiter, RTI_EVENT_TIMEOUT, rti_deadline_unlink);
    rti_deadline_arm(deadline, sched, deadline_ns);
}

void rti_deadline_arm(struct rti_deadline *deadline, struct rti_sched *sched, uint64_t deadline_ns)
{
    deadline->clockwork = rti_clockwork_here(sched);
    rti_timer_init(&deadline->timer, deadline_fire);
    rti_clockwork_arm(deadline->clockwork, &deadline->timer, deadline_ns);
    if (!rti_sched_is_local(sched) || deadline_ns <= sched->now_ns) {
        rti_sched_attend(sched);
    }
}

bool rti_fiber_sleep_until(struct rti_worker *worker, uint64_t deadline_ns)
{
    struct rti_wait wait;
    struct rti_deadline deadline;
    struct rti_waiter cancel_waiter;
    struct rti_cancel *cancel = rti_fiber_cancel(worker->fiber);
    if (cancel != NULL && rti_cancel_is_requested(cancel)) {
        return false;
    }
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_TIME;
    if (cancel != NULL) {
        rti_cancel_add(cancel, &wait, &cancel_waiter);
    }
    rti_deadline_add(&deadline, worker->sched, &wait, deadline_ns);
    uint32_t event = rti_fiber_park(worker, &wait);
    RT_ASSERT(event == RTI_EVENT_TIMEOUT || event == RTI_EVENT_CANCEL);
    return event == RTI_EVENT_TIMEOUT;
}
