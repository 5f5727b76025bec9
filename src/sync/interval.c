/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals: when the next tick is due, and those who wait for it. The manual is
 * <orrery/rt/interval.h>.
 *
 * An interval has no timer of its own: it is a number, the time of the next tick. Who waits brings
 * a timer for that time, and takes the tick when it runs again, under the lock; if another was
 * quicker it waits for the next one. So an interval that nobody looks at costs nothing, and a timer
 * that fires touches nothing but the wait it belongs to.
 *
 * Those who wait stand in a line as well, to be told of the end: in `line` those of
 * rt_interval_recv, whose deadline is the tick or the caller's, whichever is earlier; in `arms`
 * those of selects.
 *
 * I1  next_ns is RT_TIME_NEVER iff there was a single tick and it is taken, or the clock has come
 * to its end.                                                      (interval_take) */
#define RTI_MODULE "interval"
#include <orrery/rt/interval.h>

#include "base/marks.h"
#include "sync/line.h"
#include "sync/select.h"

struct rti_interval {
    uint32_t magic;
    uint8_t missed;     /* rt_missed */
    uint64_t next_ns;   /* when the next tick is due; RT_TIME_NEVER: none will be */
    uint64_t period_ns; /* 0: a single tick */
    struct rti_line line;
    struct rti_list arms; /* waiters of selects; under the lock of the line */
};

_Static_assert(sizeof(struct rti_interval) <= sizeof(rt_interval), "rt_interval is too small");
_Static_assert(_Alignof(struct rti_interval) <= _Alignof(rt_interval), "aligned too weakly");

#define INTERVAL_MAGIC UINT32_C(0x6b636974)

static const char interval_tag;

static const rt_status interval_over = {RT_ERR_DISCONNECTED, "no tick will come any more"};
static const rt_status interval_closed = {RT_ERR_CLOSED, "the interval was closed meanwhile"};

static struct rti_interval *interval_of(rt_interval *storage)
{
    struct rti_interval *interval = (struct rti_interval *)(void *)storage;
    return interval != NULL && interval->magic == INTERVAL_MAGIC ? interval : NULL;
}

/* RT_OK if there is a runtime and an interval. */
static RTI_ENTERING rt_status interval_check(rt_interval *storage)
{
    if (rti_worker_enter() == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    return interval_of(storage) != NULL ? RT_SUCCESS
                                        : (rt_status){RT_ERR_INVALID, "this is no interval"};
}

static uint64_t time_plus(uint64_t at, uint64_t more)
{
    return more > RT_TIME_NEVER - at ? RT_TIME_NEVER : at + more;
}

static rt_status interval_init(rt_interval *storage, uint64_t first, uint64_t period,
                               rt_missed missed)
{
    struct rti_worker *worker = rti_worker_enter();
    if (storage == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no storage"};
    }
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    struct rti_interval *interval = (struct rti_interval *)(void *)storage;
    *interval = (struct rti_interval){.magic = INTERVAL_MAGIC,
                                      .missed = (uint8_t)missed,
                                      .next_ns = rti_deadline_after(worker->sched, first),
                                      .period_ns = period};
    rti_line_init(&interval->line, worker->sched);
    rti_list_init(&interval->arms);
    return RT_SUCCESS;
}

rt_status rt_after(rt_interval *storage, rt_time duration)
{
    return interval_init(storage, duration, 0, RT_MISSED_BURST);
}

rt_status rt_interval_open(rt_interval *storage, rt_time period, rt_missed missed)
{
    if (period == 0 || (unsigned)missed > RT_MISSED_DELAY) {
        (void)rti_worker_enter();
        return (rt_status){RT_ERR_INVALID, "the period is 0, or there is no such policy"};
    }
    return interval_init(storage, period, period, missed);
}

/* Moves on from a tick that is taken at `now_ns`; returns how many ticks that is. */
static uint64_t interval_advance(struct rti_interval *interval, uint64_t now_ns)
{
    uint64_t period_ns = interval->period_ns;
    if (period_ns == 0) {
        interval->next_ns = RT_TIME_NEVER;
        return 1;
    }
    if (interval->missed == RT_MISSED_BURST) {
        interval->next_ns = time_plus(interval->next_ns, period_ns);
        return 1;
    }
    uint64_t ticks = (now_ns - interval->next_ns) / period_ns + 1;
    RT_SOMETIMES(ticks > 1, "interval: ticks were missed");
    if (interval->missed == RT_MISSED_SKIP) {
        /* The last one that is due; it lies before now, so nothing overflows yet. */
        uint64_t last_ns = interval->next_ns + (ticks - 1) * period_ns;
        interval->next_ns = time_plus(last_ns, period_ns);
    } else {
        interval->next_ns = time_plus(now_ns, period_ns);
    }
    return ticks;
}

/* Takes a tick: RT_OK, RT_ERR_EMPTY or that none will come. */
static rt_status interval_take(struct rti_interval *interval, uint64_t *out_ticks)
{
    rt_status status = RT_SUCCESS;
    uint64_t now_ns = rti_sched_clock(interval->line.sched);
    rti_line_enter(&interval->line);
    if (interval->next_ns == RT_TIME_NEVER) {
        status = interval_over;
    } else if (now_ns < interval->next_ns) {
        status = (rt_status){RT_ERR_EMPTY, "no tick is due yet"};
    } else {
        uint64_t ticks = interval_advance(interval, now_ns);
        if (out_ticks != NULL) {
            *out_ticks = ticks;
        }
    }
    rti_line_leave_quietly(&interval->line);
    return status;
}

rt_status rt_interval_try_recv(rt_interval *storage, uint64_t *out_ticks)
{
    rt_status status = interval_check(storage);
    return RT_FAILED(status) ? status : interval_take(interval_of(storage), out_ticks);
}

/* Takes a tick, or waits until one is due. RT_ERR_TIMEOUT: a tick may be due now. */
static rt_status interval_take_or_wait(struct rti_interval *interval, struct rti_line_call *call,
                                       rt_time deadline, uint64_t *out_ticks)
{
    rt_status status = interval_take(interval, out_ticks);
    if (status.code != RT_ERR_EMPTY) {
        return status;
    }
    rti_line_enter(&interval->line);
    call->deadline = interval->next_ns < deadline ? interval->next_ns : deadline;
    return rti_line_wait(call);
}

rt_status rt_interval_recv_until(rt_interval *storage, rt_cx *given, uint64_t *out_ticks,
                                 rt_time deadline)
{
    rt_status status = interval_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_interval *interval = interval_of(storage);
    struct rti_sched *sched = interval->line.sched;
    struct rti_line_call call = {.line = &interval->line,
                                 .op = {.what = &interval_tag, .on = (uintptr_t)interval}};
    status = rti_line_begin(&call, given);
    while (!RT_FAILED(status) || status.code == RT_ERR_TIMEOUT) {
        bool is_late = status.code == RT_ERR_TIMEOUT && rti_sched_clock(sched) >= deadline;
        rt_status timeout = status;
        if (is_late) {
            status = interval_take(interval, out_ticks);
            return status.code == RT_ERR_EMPTY ? timeout : status;
        }
        status = interval_take_or_wait(interval, &call, deadline, out_ticks);
        if (!RT_FAILED(status)) {
            break;
        }
    }
    return status;
}

rt_status rt_interval_recv(rt_interval *storage, rt_cx *given, uint64_t *out_ticks)
{
    return rt_interval_recv_until(storage, given, out_ticks, RT_TIME_NEVER);
}

rt_status rt_interval_close(rt_interval *storage)
{
    rt_status status = interval_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_interval *interval = interval_of(storage);
    struct rti_list wakes;
    struct rti_list arms;
    struct rti_link *link;
    rti_list_init(&wakes);
    rti_list_init(&arms);
    rti_line_enter(&interval->line);
    interval->magic = 0;
    interval->next_ns = RT_TIME_NEVER;
    rti_line_serve_all(&interval->line, RT_ERR_CLOSED, &wakes);
    while ((link = rti_list_pop(&interval->arms)) != NULL) {
        struct rti_waiter *waiter = RTI_CONTAINER_OF(link, struct rti_waiter, link);
        if (rti_wait_claim(waiter->wait, waiter->event)) {
            rti_list_push_tail(&arms, link);
        }
    }
    rti_line_leave(&interval->line, &wakes);
    while ((link = rti_list_pop(&arms)) != NULL) {
        rti_waiter_wake(RTI_CONTAINER_OF(link, struct rti_waiter, link));
    }
    return RT_SUCCESS;
}

/* The arm of a select. */

static rt_status tick_attempt(struct rti_arm *arm, struct rti_sched *sched)
{
    (void)sched;
    rt_status status = rt_interval_try_recv(arm->on, arm->value);
    status.code = status.code == RT_ERR_EMPTY ? RT_ERR_WOULDBLOCK : status.code;
    return status;
}

static struct rti_arm *tick_arm_of(struct rti_waiter *waiter)
{
    struct rti_deadline *deadline = RTI_CONTAINER_OF(waiter, struct rti_deadline, waiter);
    return RTI_CONTAINER_OF(deadline, struct rti_arm, tick);
}

static void tick_unlink(struct rti_waiter *waiter)
{
    struct rti_interval *interval = tick_arm_of(waiter)->on;
    rti_deadline_unlink(waiter);
    rti_line_enter(&interval->line);
    rti_waitlist_unlink(waiter);
    rti_line_leave_quietly(&interval->line);
}

static enum rti_arm_join tick_join(struct rti_arm *arm, struct rti_select *select)
{
    struct rti_interval *interval = arm->on;
    rti_wait_add(select->wait, &arm->tick.waiter, rti_arm_event(arm, select), tick_unlink);
    rti_line_enter(&interval->line);
    uint64_t next_ns = interval->next_ns;
    rti_list_push_tail(&interval->arms, &arm->tick.waiter.link);
    rti_line_leave_quietly(&interval->line);
    /* What has become ready since is a timer that fires at once. */
    rti_deadline_arm(&arm->tick, select->sched, next_ns == RT_TIME_NEVER ? 0 : next_ns);
    return RTI_ARM_LINKED;
}

static bool tick_collect(struct rti_arm *arm, struct rti_sched *sched, rt_status *status)
{
    (void)sched;
    struct rti_interval *interval = arm->on;
    *status = interval_take(interval, arm->value);
    if (interval->magic != INTERVAL_MAGIC && RT_FAILED(*status)) {
        *status = interval_closed;
    }
    return status->code != RT_ERR_EMPTY;
}

static const struct rti_arm_ops tick_ops = {
    .attempt = tick_attempt, .join = tick_join, .collect = tick_collect};

void rt_arm_tick(rt_select_arm *arm, rt_interval *interval, uint64_t *out_ticks)
{
    rti_arm_init(rti_arm_of(arm), interval == NULL ? NULL : &tick_ops, interval, out_ticks);
}
