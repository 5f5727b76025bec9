/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of regions; the essay is in region_timer.h, the manual in <orrery/rt/region.h>. */
#define RTI_MODULE "region_timer"
#include "sync/region_timer.h"

#include "base/marks.h"
#include "sched/crew.h"
#include "sync/channels.h"
#include "sync/region.h"

#define TIMER_MAGIC UINT32_C(0x72746d4f)

/* Wakers called in one turn; the rest wait for the next, so that others get theirs. */
#define DUES_BATCH_MAX 64

/* As whom they are called, in traces: no actor, task or loop has such an id. */
#define DUES_ID       UINT32_MAX
#define DUES_PRIORITY 0

/* How long who waits for a waker naps when it takes its time. */
#define CALLING_NAP_NS 50000

enum timer_state { TIMER_ACTIVE, TIMER_FIRED, TIMER_CANCELLED, TIMER_CANCELLED_BY_OWNER };

struct region_timer {
    uint32_t magic;
    uint8_t state; /* enum timer_state */
    struct rti_region_member member;
    struct rti_link due; /* in rti_region_dues; dues' lock */
    struct rti_sched *sched;
    struct rti_cx *cx; /* it is cancelled with this one; NULL: with none */
    struct rti_wait wait;
    struct rti_cx_events events;
    rt_waker waker;
};

_Static_assert(sizeof(struct region_timer) <= sizeof(rt_region_timer), "storage is too small");

/* Ends an active timer that the caller has, which then belongs to its owner. The lock of contexts
 * is held. */
static void timer_end(struct region_timer *timer, enum timer_state state)
{
    RT_ASSERT(timer->state == TIMER_ACTIVE && state != TIMER_ACTIVE);
    RT_ASSERT(!rti_link_is_linked(&timer->due));
    rti_wait_finish(&timer->wait);
    rti_region_drop(&timer->member);
    timer->state = (uint8_t)state;
}

static void timer_call(rt_waker waker)
{
    if (waker.fn != NULL) {
        waker.fn(waker.arg);
    }
}

#if !RTI_ONE_WORKER

static struct rti_region_dues *dues_of(struct rti_sched *sched)
{
    struct rti_channels *channels = sched->modules[RTI_MODULE_CHANNEL];
    return &channels->dues;
}

/* Says whose waker is about to be called. The lock of contexts is held: who ends a timer, a region
 * or a context afterwards sees it. */
static void calling_begin(struct rti_region_calling *calling, struct region_timer *timer)
{
    rti_ptr_store_relaxed(&calling->worker, rti_worker_current());
    rti_ptr_store_relaxed(&calling->timer, timer);
    rti_ptr_store_relaxed(&calling->region, timer->member.region);
    rti_ptr_store_relaxed(&calling->cx, timer->cx);
    rti_u32_store_relaxed(&calling->is_on, 1);
}

static void calling_end(struct rti_region_calling *calling)
{
    /* Release pairs with the acquire in calling_await: what the waker did is done. */
    rti_u32_store_release(&calling->is_on, 0);
    rti_ptr_store_release(&calling->timer, NULL);
    rti_ptr_store_release(&calling->region, NULL);
    rti_ptr_store_release(&calling->cx, NULL);
}

/* Waits until the waker of something is over that `whose` may say, unless the caller is that waker.
 */
static void calling_await(struct rti_sched *sched, const rti_atomic_ptr *whose, const void *mine)
{
    struct rti_region_calling *calling = &dues_of(sched)->calling;
    struct rti_port *port = sched->port;
    /* Acquire pairs with the release in calling_end. */
    for (uint32_t spins = 0; rti_ptr_load_acquire(whose) == mine &&
                             rti_ptr_load_relaxed(&calling->worker) != rti_worker_current();
         spins++) {
        RT_SOMETIMES(true, "region_timer_waits_for_its_waker");
        if (spins < RTI_LOCK_SPINS_MAX) {
            rti_spin_hint();
        } else {
            /* It has lost its processor. */
            (void)port->ops->futex_wait(port, &calling->is_on, 1,
                                        port->ops->clock_ns(port) + CALLING_NAP_NS);
        }
    }
}

/* Ends the timer that has been due for longest: true, and its waker. Without one the runnable of
 * the dues ends. */
static bool dues_take(struct rti_region_dues *dues, rt_waker *waker)
{
    struct rti_sched *sched = dues->sched;
    rti_contexts_lock(sched);
    rti_lock_acquire(&dues->lock, sched);
    struct rti_link *link = rti_list_pop(&dues->list);
    if (link == NULL) {
        rti_sched_end(sched, &dues->run);
        dues->is_running = false;
    }
    rti_lock_release(&dues->lock);
    if (link != NULL) {
        struct region_timer *timer = RTI_CONTAINER_OF(link, struct region_timer, due);
        *waker = timer->waker;
        calling_begin(&dues->calling, timer);
        timer_end(timer, TIMER_FIRED);
    }
    rti_contexts_unlock(sched);
    return link != NULL;
}

static void dues_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct rti_region_dues *dues = RTI_CONTAINER_OF(runnable, struct rti_region_dues, run);
    (void)worker;
    for (int i = 0; i < DUES_BATCH_MAX; i++) {
        rt_waker waker;
        if (!dues_take(dues, &waker)) {
            return;
        }
        timer_call(waker);
        calling_end(&dues->calling);
    }
    rti_runnable_to_yielding(runnable);
    if (rti_sched_is_local(dues->sched)) {
        rti_processor_queue(&dues->sched->processor, runnable);
    } else {
        rti_crew_queue(rti_sched_crew(dues->sched), runnable);
    }
}

/* Its deadline has come; under the lock of the wheel. */
static void dues_add(struct region_timer *timer)
{
    struct rti_region_dues *dues = dues_of(timer->sched);
    rti_lock_acquire(&dues->lock, dues->sched);
    rti_list_push_tail(&dues->list, &timer->due);
    bool was_running = dues->is_running;
    dues->is_running = true;
    rti_lock_release(&dues->lock);
    /* The timer may be gone from here on. */
    if (!was_running) {
        rti_runnable_init(&dues->run, DUES_ID, DUES_PRIORITY, dues_step);
        rti_sched_start(dues->sched, &dues->run);
    }
}

void rti_region_dues_init(struct rti_region_dues *dues, struct rti_sched *sched)
{
    rti_lock_init(&dues->lock, sched, RTI_LOCK_DUE);
    rti_list_init(&dues->list);
    dues->is_running = false;
    dues->sched = sched;
    rti_ptr_init(&dues->calling.timer, NULL);
    rti_ptr_init(&dues->calling.region, NULL);
    rti_ptr_init(&dues->calling.cx, NULL);
    rti_ptr_init(&dues->calling.worker, NULL);
    rti_u32_init(&dues->calling.is_on, 0);
}

/* Takes a timer that its deadline has claimed from those that are due. The lock of contexts is
 * held, so nobody else takes it. */
static void timer_take_back(struct region_timer *timer)
{
    struct rti_region_dues *dues = dues_of(timer->sched);
    /* After this the deadline's callback is over. */
    bool was_armed =
        rti_clockwork_disarm(timer->events.deadline.clockwork, &timer->events.deadline.timer);
    rti_lock_acquire(&dues->lock, timer->sched);
    RT_ASSERT(!was_armed && rti_link_is_linked(&timer->due));
    rti_list_remove(&timer->due);
    rti_lock_release(&dues->lock);
}

#endif

/* Makes an active timer the caller's to end. False: its context has claimed it on another worker,
 * which is about to end it. The lock of contexts is held. */
static bool timer_seize(struct region_timer *timer)
{
    RT_ASSERT(timer->state == TIMER_ACTIVE);
    if (rti_wait_claim(&timer->wait, RTI_EVENT_KILL)) {
        return true;
    }
#if !RTI_ONE_WORKER
    RT_ASSERT(!rti_sched_is_local(timer->sched));
    if (rti_wait_event(&timer->wait) == RTI_EVENT_TIMEOUT) {
        timer_take_back(timer);
        return true;
    }
#endif
    return false;
}

/* Its context's line has let go of the timer, and the context may be gone: nobody goes back to it.
 */
static void timer_untie(struct region_timer *timer)
{
    RT_ASSERT(!rti_link_is_linked(&timer->events.cancel.link));
    timer->events.cancel.unlink = rti_waitlist_unlink;
}

void rti_region_timer_end_with_context(struct rti_waiter *waiter)
{
    struct region_timer *timer = waiter->wait->target;
    timer_untie(timer);
    bool is_seized = timer_seize(timer);
    RT_ASSERT(is_seized);
    timer_end(timer, TIMER_CANCELLED);
}

/* The deadline has come, or the context was cancelled or has ended. */
static void timer_wake(struct rti_wait *wait)
{
    struct region_timer *timer = wait->target;
    struct rti_sched *sched = timer->sched;
    if (rti_wait_event(wait) != RTI_EVENT_TIMEOUT) {
        rti_contexts_lock(sched);
        timer_untie(timer);
        timer_end(timer, TIMER_CANCELLED);
        rti_contexts_unlock(sched);
        return;
    }
#if !RTI_ONE_WORKER
    if (!rti_sched_is_local(sched)) {
        dues_add(timer);
        return;
    }
#endif
    rt_waker waker = timer->waker;
    timer_end(timer, TIMER_FIRED);
    /* The storage is the caller's from here on. */
    timer_call(waker);
}

static bool timer_hold(struct rti_region_member *member, struct rti_sched *sched)
{
    struct region_timer *timer = RTI_CONTAINER_OF(member, struct region_timer, member);
    (void)sched;
    if (!timer_seize(timer)) {
        return false;
    }
    rti_wait_finish(&timer->wait);
    timer->state = TIMER_CANCELLED;
    return true;
}

/* All was done when it was held; the storage may be its owner's already. */
static void timer_finalize(struct rti_region_member *member, struct rti_sched *sched)
{
    (void)member, (void)sched;
}

static const struct rti_region_member_ops timer_member_ops = {
    .is_runnable = false, .hold = timer_hold, .finalize = timer_finalize};

/* Starts a timer that is filled in; the lock of contexts is held. */
static rt_status timer_begin(struct region_timer *timer, struct rti_region *region,
                             struct rti_cx *cx, rt_time deadline)
{
    if (cx != NULL && rti_cancel_is_requested(&cx->cancel)) {
        return (rt_status){RT_ERR_CANCELLED, "the context is cancelled"};
    }
    rt_status status = rti_region_join_locked(region, &timer->member);
    if (RT_FAILED(status)) {
        return status;
    }
    timer->magic = TIMER_MAGIC;
    timer->state = TIMER_ACTIVE;
    /* A flag is raised under the lock of contexts: this one is not, and nobody is woken here. */
    rti_cx_events_add(&timer->events, cx, timer->sched, &timer->wait,
                      rt_budget_deadline(&region->budget, deadline));
    return RT_SUCCESS;
}

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
    if (RTI_UNLIKELY(rti_cx_is_passing(cx))) {
        return RTI_CX_PASSING_FAIL;
    }
    struct rti_sched *sched = worker->sched;
    struct region_timer *timer = (struct region_timer *)(void *)storage;
    rti_region_member_init(&timer->member, &timer_member_ops);
    rti_link_init(&timer->due);
    timer->sched = sched;
    timer->cx = cx;
    timer->waker = waker;
    rti_wait_begin(&timer->wait, timer_wake, timer, rti_sched_is_local(sched));
    if (cx != NULL) {
        cx->has_timers = true;
        cx->is_touched = true;
    }
    rti_contexts_lock(sched);
    rt_status status = timer_begin(timer, region, cx, deadline);
    rti_contexts_unlock(sched);
    return status;
}

/* Waits until the waker of the timer is over, if it is being called. */
static void timer_await(struct region_timer *timer)
{
#if !RTI_ONE_WORKER
    if (RTI_UNLIKELY(!rti_sched_is_local(timer->sched))) {
        calling_await(timer->sched, &dues_of(timer->sched)->calling.timer, timer);
    }
#else
    (void)timer;
#endif
}

void rti_region_timer_await_region(struct rti_sched *sched, const struct rti_region *region)
{
#if !RTI_ONE_WORKER
    if (RTI_UNLIKELY(!rti_sched_is_local(sched))) {
        calling_await(sched, &dues_of(sched)->calling.region, region);
    }
#else
    (void)sched, (void)region;
#endif
}

void rti_region_timer_await_context(struct rti_sched *sched, const struct rti_cx *cx)
{
#if !RTI_ONE_WORKER
    if (RTI_UNLIKELY(!rti_sched_is_local(sched))) {
        calling_await(sched, &dues_of(sched)->calling.cx, cx);
    }
#else
    (void)sched, (void)cx;
#endif
}

/* Ends the timer if it is active. False: another worker is about to; look again. */
static bool timer_cancel(struct region_timer *timer, enum timer_state *was)
{
    rti_contexts_lock(timer->sched);
    *was = (enum timer_state)timer->state;
    bool is_seized = *was == TIMER_ACTIVE && timer_seize(timer);
    if (is_seized) {
        timer_end(timer, TIMER_CANCELLED_BY_OWNER);
    }
    rti_contexts_unlock(timer->sched);
    return is_seized || *was != TIMER_ACTIVE;
}

bool rt_region_timer_cancel(rt_region_timer *storage)
{
    (void)rti_worker_enter();
    struct region_timer *timer = (struct region_timer *)(void *)storage;
    enum timer_state was = TIMER_FIRED;
    if (timer == NULL || timer->magic != TIMER_MAGIC) {
        return false;
    }
    while (!timer_cancel(timer, &was)) {
        RT_SOMETIMES(true, "region_timer_cancel_meets_that_of_its_context");
        rti_spin_hint();
    }
    timer_await(timer);
    struct rti_channels *channels = rti_channels_of(rti_worker_current());
    if (channels != NULL && was == TIMER_CANCELLED_BY_OWNER) {
        RTI_GHOST(&channels->ghost, RTI_GHOST_TIMER_CANCELLED_TWICE);
    }
    return was == TIMER_ACTIVE;
}
