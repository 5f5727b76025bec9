/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "clockwork"
#include "time/clockwork.h"

#include "base/marks.h"
#include "sched/crew.h"

/* Timers fired in one look. The rest stay due and the next turn looks again, so that a burst of
 * expiries cannot keep what they made ready from running. */
#define EXPIRE_BATCH_MAX 256

void rti_clockwork_init(struct rti_clockwork *clockwork, uint64_t now_ns)
{
    clockwork->sched = NULL;
    rti_u64_init(&clockwork->next_ns, RTI_TIME_NEVER);
#if !RTI_ONE_WORKER
    rti_u32_init(&clockwork->lock.is_taken, 0);
#endif
    clockwork->lock.rank = RTI_LOCK_TIME;
    clockwork->lock.is_shared = false;
    rti_wheel_init(&clockwork->wheel, now_ns);
}

void rti_clockwork_share(struct rti_clockwork *clockwork, struct rti_sched *sched)
{
    RT_ASSERT(rti_wheel_count(&clockwork->wheel) == 0);
    clockwork->sched = sched;
    clockwork->lock.is_shared = true;
}

/* Tells the others what the wheel knows. Lock held. */
static void clockwork_publish(struct rti_clockwork *clockwork)
{
    /* Release pairs with the acquire of who sleeps until then. */
    rti_u64_store_release(&clockwork->next_ns, rti_wheel_next_deadline(&clockwork->wheel));
}

static uint64_t source_next(void *context)
{
    struct rti_clockwork *clockwork = context;
    if (!rti_lock_is_shared(&clockwork->lock)) {
        return rti_wheel_next_deadline(&clockwork->wheel);
    }
    /* Acquire pairs with clockwork_publish. */
    return rti_u64_load_acquire(&clockwork->next_ns);
}

static size_t source_expire(void *context, uint64_t now_ns)
{
    struct rti_clockwork *clockwork = context;
    size_t fired_max = RT_BUGGIFY("timers_expire_one_by_one") ? 1 : EXPIRE_BATCH_MAX;
    rti_lock_acquire(&clockwork->lock, clockwork->sched);
    size_t fired = rti_wheel_expire_max(&clockwork->wheel, now_ns, fired_max);
    if (rti_lock_is_shared(&clockwork->lock)) {
        clockwork_publish(clockwork);
    }
    rti_lock_release(&clockwork->lock);
    if (fired == fired_max) {
        rti_sched_attend(rti_sched_current());
    }
    return fired;
}

struct rti_timer_source rti_clockwork_source(struct rti_clockwork *clockwork)
{
    return (struct rti_timer_source){
        .next_deadline = source_next, .expire = source_expire, .context = clockwork};
}

struct rti_clockwork *rti_clockwork_here(struct rti_sched *sched)
{
    if (RTI_LIKELY(rti_sched_is_local(sched))) {
        return sched->timers.context;
    }
    const struct rti_worker *worker = rti_worker_current();
    const struct rti_station *station =
        worker != NULL && worker->sched == sched ? rti_worker_station(worker) : NULL;
    return station != NULL ? station->timers.context : sched->timers.context;
}

void rti_clockwork_arm(struct rti_clockwork *clockwork, struct rti_timer *timer,
                       uint64_t deadline_ns)
{
    if (RTI_LIKELY(!rti_lock_is_shared(&clockwork->lock))) {
        rti_wheel_arm(&clockwork->wheel, timer, deadline_ns);
        return;
    }
    rti_lock_acquire(&clockwork->lock, clockwork->sched);
    bool is_earliest = deadline_ns < rti_u64_load_relaxed(&clockwork->next_ns);
    rti_wheel_arm(&clockwork->wheel, timer, deadline_ns);
    if (is_earliest) {
        /* Release pairs with the acquire of who sleeps until then. */
        rti_u64_store_release(&clockwork->next_ns, deadline_ns);
    }
    rti_lock_release(&clockwork->lock);
    if (is_earliest) {
        rti_crew_armed(rti_sched_crew(clockwork->sched), deadline_ns);
    }
}

bool rti_clockwork_disarm(struct rti_clockwork *clockwork, struct rti_timer *timer)
{
    rti_lock_acquire(&clockwork->lock, clockwork->sched);
    bool was_armed = rti_wheel_disarm(&clockwork->wheel, timer);
    /* `next_ns` may now be earlier than any timer: a look too many, which puts it right. */
    rti_lock_release(&clockwork->lock);
    return was_armed;
}
