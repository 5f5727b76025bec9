/* SPDX-License-Identifier: Apache-2.0 */
/* The nap of a poll task: a timer in the task's own state; the manual is <orrery/rt/async.h>.
 *
 * The timer's callback says that the time has come and wakes the task, whose next call sees it. A
 * task has one nap at a time and knows it, so that its end disarms it: the state is the program's
 * again then.
 *
 * I1  A timer is armed only in a nap that its task names.                    (rti_nap_end) */
#define RTI_MODULE "nap"
#include "task/asyncs.h"
#include "time/clockwork.h"
#include "time/deadline.h"

static const char nap_tag;
static const struct rti_cx_op nap_op = {.what = &nap_tag};

struct rti_nap {
    struct rti_timer timer;
    struct rti_clockwork *clockwork;
    struct rti_async *async; /* NULL: not begun */
};

_Static_assert(sizeof(struct rti_nap) <= sizeof(rt_nap), "rt_nap is too small");
_Static_assert(_Alignof(struct rti_nap) <= _Alignof(rt_nap), "rt_nap is aligned too weakly");

static void nap_fire(struct rti_timer *timer)
{
    rti_async_wake(RTI_CONTAINER_OF(timer, struct rti_nap, timer)->async);
}

void rti_nap_end(struct rti_async *async)
{
    struct rti_nap *nap = async->nap;
    if (nap != NULL) {
        async->nap = NULL;
        (void)rti_clockwork_disarm(nap->clockwork, &nap->timer);
        nap->async = NULL;
    }
}

const struct rti_timer *rti_nap_timer(const struct rti_nap *nap)
{
    return nap == NULL ? NULL : &nap->timer;
}

static void nap_begin(struct rti_nap *nap, struct rti_async *async, rt_time duration)
{
    struct rti_sched *sched = async->asyncs->sched;
    uint64_t deadline_ns = rti_deadline_after(sched, duration);
    nap->async = async;
    nap->clockwork = rti_clockwork_here(sched);
    async->nap = nap;
    rti_timer_init(&nap->timer, nap_fire);
    rti_timer_aim(&nap->timer, &nap->async);
    rti_clockwork_arm(nap->clockwork, &nap->timer, deadline_ns);
    if (!rti_sched_is_local(sched) || deadline_ns <= sched->now_ns) {
        rti_sched_attend(sched);
    }
}

rt_status rt_async_sleep(rt_nap *storage, rt_cx *given, rt_time duration)
{
    (void)rti_worker_enter();
    struct rti_async *async = rti_async_of_cx(given);
    struct rti_nap *nap = (struct rti_nap *)(void *)storage;
    if (async == NULL || nap == NULL) {
        return (rt_status){RT_ERR_INVALID, "no nap, or no context of a poll task"};
    }
    if (async->nap != NULL && async->nap != nap) {
        return (rt_status){RT_ERR_STATE, "the task has another nap under way"};
    }
    struct rti_cx *cx = rti_cx_of(given);
    rt_status status = rti_async_wait_beside(async, cx, nap_op);
    if (RT_FAILED(status)) {
        rti_nap_end(async);
        return status;
    }
    if (async->nap == NULL) {
        nap_begin(nap, async, duration);
        return (rt_status){RT_ERR_WOULDBLOCK, "until its time has come"};
    }
    /* Whoever takes the timer out knows that it has not fired; then it goes on. */
    uint64_t deadline_ns = nap->timer.deadline_ns;
    if (rti_clockwork_disarm(nap->clockwork, &nap->timer)) {
        rti_clockwork_arm(nap->clockwork, &nap->timer, deadline_ns);
        return (rt_status){RT_ERR_WOULDBLOCK, "until its time has come"};
    }
    async->nap = NULL;
    nap->async = NULL;
    rti_async_end_beside(cx, nap_op);
    return RT_SUCCESS;
}
