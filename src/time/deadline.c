/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "deadline"
#include "time/deadline.h"

#include "base/marks.h"

/* Timers fired in one look. The rest stay due and the next turn looks again, so that a burst of
 * expiries cannot keep what they made ready from running. */
#define EXPIRE_BATCH_MAX 256

static uint64_t wheel_source_next(void *context)
{
    return rti_wheel_next_deadline(context);
}

static size_t wheel_source_expire(void *context, uint64_t now_ns)
{
    size_t fired_max = RT_BUGGIFY("timers_expire_one_by_one") ? 1 : EXPIRE_BATCH_MAX;
    size_t fired = rti_wheel_expire_max(context, now_ns, fired_max);
    if (fired == fired_max) {
        rti_sched_attend(rti_sched_current());
    }
    return fired;
}

struct rti_timer_source rti_wheel_source(struct rti_wheel *wheel)
{
    return (struct rti_timer_source){
        .next_deadline = wheel_source_next, .expire = wheel_source_expire, .context = wheel};
}

uint64_t rti_deadline_after(struct rti_sched *sched, uint64_t duration_ns)
{
    uint64_t now_ns = rti_sched_clock(sched);
    return duration_ns > RTI_TIME_NEVER - now_ns ? RTI_TIME_NEVER : now_ns + duration_ns;
}

static void deadline_fire(struct rti_timer *timer)
{
    struct rti_deadline *deadline = RTI_CONTAINER_OF(timer, struct rti_deadline, timer);
    if (rti_wait_claim(deadline->waiter.wait, RTI_EVENT_TIMEOUT)) {
        rti_waiter_wake(&deadline->waiter);
    }
}

static void deadline_unlink(struct rti_waiter *waiter)
{
    struct rti_deadline *deadline = RTI_CONTAINER_OF(waiter, struct rti_deadline, waiter);
    rti_wheel_disarm(deadline->wheel, &deadline->timer);
}

void rti_deadline_add(struct rti_deadline *deadline, struct rti_sched *sched, struct rti_wait *wait,
                      uint64_t deadline_ns)
{
    if (deadline_ns == RTI_TIME_NEVER) {
        return;
    }
    deadline->wheel = rti_sched_wheel(sched);
    rti_wait_add(wait, &deadline->waiter, RTI_EVENT_TIMEOUT, deadline_unlink);
    rti_timer_init(&deadline->timer, deadline_fire);
    rti_wheel_arm(deadline->wheel, &deadline->timer, deadline_ns);
    if (deadline_ns <= sched->now_ns) {
        rti_sched_attend(sched);
    }
}

void rti_fiber_sleep_until(struct rti_worker *worker, uint64_t deadline_ns)
{
    struct rti_wait wait;
    struct rti_deadline deadline;
    rti_fiber_wait_begin(worker, &wait);
    rti_deadline_add(&deadline, worker->sched, &wait, deadline_ns);
    uint32_t event = rti_fiber_park(worker, &wait);
    RT_ASSERT(event == RTI_EVENT_TIMEOUT);
}
