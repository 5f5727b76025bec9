/* SPDX-License-Identifier: Apache-2.0 */
/* A timer that a region owns: a wait without a waiter, that a deadline, a cancellation or the
 * region's end may claim. What claims it decides whether the waker is called.
 *
 * I1  The timer is ACTIVE iff it is a member of a region and its wait is unclaimed. */
#define RTI_MODULE "region_timer"
#include "sync/channels.h"
#include "sync/region.h"

#define TIMER_MAGIC UINT32_C(0x72746d4f)

enum timer_state { TIMER_ACTIVE, TIMER_FIRED, TIMER_CANCELLED, TIMER_CANCELLED_BY_OWNER };

struct region_timer {
    uint32_t magic;
    uint8_t state; /* enum timer_state */
    struct rti_region_member member;
    struct rti_sched *sched;
    struct rti_wait wait;
    struct rti_cx_events events;
    rt_waker waker;
};

_Static_assert(sizeof(struct region_timer) <= sizeof(rt_region_timer), "storage is too small");

static void timer_end(struct region_timer *timer, enum timer_state state)
{
    RT_ASSERT(timer->state == TIMER_ACTIVE && state != TIMER_ACTIVE);
    timer->state = (uint8_t)state;
    rti_wait_finish(&timer->wait);
    rti_region_leave(&timer->member, timer->sched, RT_OUTCOME_OK);
}

/* The deadline has come, or the context was cancelled. */
static void timer_wake(struct rti_wait *wait)
{
    struct region_timer *timer = wait->target;
    if (rti_wait_event(wait) != RTI_EVENT_TIMEOUT) {
        timer_end(timer, TIMER_CANCELLED);
        return;
    }
    rt_waker waker = timer->waker;
    timer_end(timer, TIMER_FIRED);
    /* The storage is the caller's from here on. */
    if (waker.fn != NULL) {
        waker.fn(waker.arg);
    }
}

static bool timer_hold(struct rti_region_member *member, struct rti_sched *sched)
{
    (void)sched;
    return rti_wait_claim(&RTI_CONTAINER_OF(member, struct region_timer, member)->wait,
                          RTI_EVENT_KILL);
}

static void timer_finalize(struct rti_region_member *member, struct rti_sched *sched)
{
    (void)sched;
    timer_end(RTI_CONTAINER_OF(member, struct region_timer, member), TIMER_CANCELLED);
}

static const struct rti_region_member_ops timer_member_ops = {
    .is_runnable = false, .hold = timer_hold, .finalize = timer_finalize};

rt_status rt_region_timer_start(rt_region *region_storage, rt_cx *given, rt_region_timer *storage,
                                rt_time deadline, rt_waker waker)
{
    struct rti_region *region = rti_region_of(region_storage);
    struct rti_worker *worker = rti_worker_enter();
    struct rti_cx *cx = NULL;
    if (region == NULL || worker == NULL || storage == NULL ||
        (given != NULL && RT_FAILED(rti_cx_resolve(worker, given, &cx)))) {
        return (rt_status){RT_ERR_INVALID, "there is no region, no timer or no such context"};
    }
    if (!rti_sched_is_local(worker->sched)) {
        return (rt_status){RT_ERR_UNSUPPORTED, "timers of regions are for engines with one worker"};
    }
    if (cx != NULL && rti_cancel_is_requested(&cx->cancel)) {
        return (rt_status){RT_ERR_CANCELLED, "the context is cancelled"};
    }
    struct region_timer *timer = (struct region_timer *)(void *)storage;
    rti_region_member_init(&timer->member, &timer_member_ops);
    rt_status status = rti_region_join(region, &timer->member);
    if (RT_FAILED(status)) {
        return status;
    }
    timer->sched = worker->sched;
    timer->magic = TIMER_MAGIC;
    timer->state = TIMER_ACTIVE;
    timer->waker = waker;
    rti_wait_begin(&timer->wait, timer_wake, timer, rti_sched_is_local(worker->sched));
    rti_cx_events_add(&timer->events, cx, worker->sched, &timer->wait,
                      rt_budget_deadline(&region->budget, deadline));
    return RT_SUCCESS;
}

bool rt_region_timer_cancel(rt_region_timer *storage)
{
    (void)rti_worker_enter();
    struct region_timer *timer = (struct region_timer *)(void *)storage;
    if (timer == NULL || timer->magic != TIMER_MAGIC) {
        return false;
    }
    if (timer->state != TIMER_ACTIVE) {
        struct rti_channels *channels = rti_channels_of(rti_worker_current());
        if (channels != NULL && timer->state == TIMER_CANCELLED_BY_OWNER) {
            RTI_GHOST(&channels->ghost, RTI_GHOST_TIMER_CANCELLED_TWICE);
        }
        return false;
    }
    bool is_claimed = rti_wait_claim(&timer->wait, RTI_EVENT_CANCEL);
    RT_ASSERT(is_claimed);
    timer_end(timer, TIMER_CANCELLED_BY_OWNER);
    return true;
}
