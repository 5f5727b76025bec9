/* SPDX-License-Identifier: Apache-2.0 */
/* Regions; the essay is in region.h, the manual in <orrery/rt/region.h>. */
#define RTI_MODULE "region"
#include "sync/region.h"

_Static_assert(sizeof(struct rti_region) <= sizeof(rt_region), "rt_region is too small");

static const rt_status region_unknown = {RT_ERR_INVALID, "this is no open region"};
static const rt_status region_not_open = {RT_ERR_STATE, "the region takes no new members"};

static rt_region_state region_state(const struct rti_region *region)
{
    return (rt_region_state)rti_u32_load_relaxed(&region->state);
}

static rt_outcome region_outcome(const struct rti_region *region)
{
    return (rt_outcome)rti_u32_load_relaxed(&region->outcome);
}

static void region_to(struct rti_region *region, rt_region_state state)
{
    RT_ASSERT(state == region_state(region) + 1);
    rti_u32_store_relaxed(&region->state, state);
}

struct rti_region *rti_region_of(rt_region *storage)
{
    struct rti_region *region = (struct rti_region *)(void *)storage;
    bool is_one = region != NULL && region->magic == RTI_REGION_MAGIC;
    return is_one && region_state(region) != RT_REGION_CLOSED ? region : NULL;
}

static void region_to_closing(struct rti_region *region)
{
    if (region_state(region) == RT_REGION_OPEN) {
        region_to(region, RT_REGION_CLOSING);
    }
}

static void region_to_draining(struct rti_region *region)
{
    region_to_closing(region);
    if (region_state(region) == RT_REGION_CLOSING) {
        region_to(region, RT_REGION_DRAINING);
    }
}

static void region_to_finalizing(struct rti_region *region)
{
    RT_ASSERT(region_state(region) == RT_REGION_DRAINING && region->live == 0);
    region_to(region, RT_REGION_FINALIZING);
}

static void region_to_closed(struct rti_region *region)
{
    RT_ASSERT(region_state(region) == RT_REGION_FINALIZING);
    RT_ASSERT(rti_list_is_empty(&region->runnables) && rti_list_is_empty(&region->resources));
    region_to(region, RT_REGION_CLOSED);
}

/* Takes a member in; the lock is held. */
static void region_take(struct rti_region *region, struct rti_region_member *member)
{
    RT_ASSERT(member->region == NULL);
    member->region = region;
    rti_list_push_tail(member->ops->is_runnable ? &region->runnables : &region->resources,
                       &member->link);
    region->live += member->ops->is_runnable;
    RT_AUDIT(rti_region_audit(region));
}

rt_status rti_region_join_locked(struct rti_region *region, struct rti_region_member *member)
{
    if (region_state(region) != RT_REGION_OPEN) {
        return region_not_open;
    }
    region_take(region, member);
    return RT_SUCCESS;
}

rt_status rti_region_join(struct rti_region *region, struct rti_region_member *member)
{
    rti_contexts_lock(region->sched);
    rt_status status = rti_region_join_locked(region, member);
    rti_contexts_unlock(region->sched);
    return status;
}

rt_status rti_region_join_by(struct rti_region *region, struct rti_region_member *member)
{
    rti_contexts_lock(region->sched);
    RT_ASSERT(member->ops->is_runnable && region->live > 0);
    RT_ASSERT(region_state(region) <= RT_REGION_DRAINING);
    bool is_open = !region->is_cancelled;
    if (is_open) {
        region_take(region, member);
    }
    rti_contexts_unlock(region->sched);
    return is_open ? RT_SUCCESS : region_not_open;
}

bool rti_region_is_open(struct rti_region *region)
{
    rti_contexts_lock(region->sched);
    bool is_open = region_state(region) == RT_REGION_OPEN;
    rti_contexts_unlock(region->sched);
    return is_open;
}

/* Claims those who wait for the close, for the caller to wake when the lock is given back. */
static void region_claim_closers(struct rti_region *region, struct rti_list *claimed)
{
    struct rti_waiter *waiter;
    while ((waiter = rti_waitlist_claim(&region->closers)) != NULL) {
        rti_list_push_tail(claimed, &waiter->link);
    }
}

void rti_region_drop(struct rti_region_member *member)
{
    RT_ASSERT(!member->ops->is_runnable && member->region != NULL);
    member->region = NULL;
    rti_list_remove(&member->link);
}

/* Lets a member go; the lock is held. */
static void region_let_go(struct rti_region_member *member, rt_outcome outcome,
                          struct rti_list *claimed)
{
    struct rti_region *region = member->region;
    if (region == NULL) {
        return;
    }
    if (!member->ops->is_runnable) {
        rti_region_drop(member);
        return;
    }
    member->region = NULL;
    rti_list_remove(&member->link);
    RT_ASSERT(region->live > 0);
    region->live--;
    rti_u32_store_relaxed(&region->outcome, rt_outcome_join(region_outcome(region), outcome));
    if (region->live == 0) {
        region_claim_closers(region, claimed);
    }
}

void rti_region_leave(struct rti_region_member *member, struct rti_sched *sched, rt_outcome outcome)
{
    struct rti_list claimed;
    rti_list_init(&claimed);
    rti_contexts_lock(sched);
    region_let_go(member, outcome, &claimed);
    rti_contexts_unlock(sched);
    rti_cancel_wake_all(&claimed);
}

/* Asks every runnable to stop; the lock is held. Nothing ends here: those whose waits were claimed
 * are woken later. */
static void region_cancel(struct rti_region *region, struct rti_list *claimed)
{
    if (region->is_cancelled) {
        return;
    }
    region->is_cancelled = true;
    region_to_closing(region);
    for (struct rti_link *at = rti_list_peek(&region->runnables); at != NULL;
         at = rti_list_next(&region->runnables, at)) {
        struct rti_region_member *member = RTI_CONTAINER_OF(at, struct rti_region_member, link);
        member->ops->cancel(member, claimed);
    }
}

static void region_member_cancel(struct rti_region_member *member, struct rti_list *claimed)
{
    region_cancel(RTI_CONTAINER_OF(member, struct rti_region, member), claimed);
}

static const struct rti_region_member_ops region_member_ops = {.is_runnable = true,
                                                               .cancel = region_member_cancel};

rt_status rt_region_open(rt_region *storage, rt_region *parent_storage, const rt_budget *budget)
{
    (void)rti_worker_enter();
    struct rti_sched *sched = rti_sched_current();
    if (sched == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    struct rti_region *parent = rti_region_of(parent_storage);
    if (storage == NULL || (parent == NULL && parent_storage != NULL)) {
        return region_unknown;
    }
    if (parent != NULL && !rti_region_is_open(parent)) {
        return region_not_open;
    }
    struct rti_region *region = (struct rti_region *)(void *)storage;
    *region = (struct rti_region){
        .magic = RTI_REGION_MAGIC, .budget = RT_BUDGET_UNLIMITED, .sched = sched};
    rti_u32_init(&region->state, RT_REGION_OPEN);
    rti_u32_init(&region->outcome, RT_OUTCOME_OK);
    rti_list_init(&region->runnables);
    rti_list_init(&region->resources);
    rti_waitlist_init(&region->closers);
    rti_region_member_init(&region->member, &region_member_ops);
    if (budget != NULL) {
        region->budget = *budget;
    }
    if (parent != NULL) {
        region->budget = rt_budget_meet(region->budget, parent->budget);
        return rti_region_join(parent, &region->member);
    }
    return RT_SUCCESS;
}

rt_status rt_region_enter(rt_region *storage, rt_cx *given)
{
    struct rti_region *region = rti_region_of(storage);
    struct rti_worker *worker = rti_worker_enter();
    struct rti_cx *cx = NULL;
    if (region == NULL || worker == NULL || RT_FAILED(rti_cx_resolve(worker, given, &cx))) {
        return region_unknown;
    }
    if (cx == NULL || rti_cx_region(cx) != NULL) {
        return (rt_status){RT_ERR_STATE, "the caller has no context, or it has a region"};
    }
    if (RTI_UNLIKELY(rti_cx_is_passing(cx))) {
        return RTI_CX_PASSING_FAIL;
    }
    rt_status status = rti_region_join(region, &rti_cx_open_rest(cx)->member);
    if (!RT_FAILED(status)) {
        rti_cx_tighten(cx, region->budget);
    }
    return status;
}

rt_status rt_region_cancel(rt_region *storage)
{
    (void)rti_worker_enter();
    struct rti_region *region = rti_region_of(storage);
    if (region == NULL) {
        return region_unknown;
    }
    struct rti_sched *sched = region->sched;
    struct rti_list claimed;
    rti_list_init(&claimed);
    rti_contexts_lock(sched);
    region_cancel(region, &claimed);
    rti_contexts_unlock(sched);
    rti_cancel_wake_all(&claimed);
    return RT_SUCCESS;
}

rt_status rt_region_begin_close(rt_region *storage)
{
    (void)rti_worker_enter();
    struct rti_region *region = rti_region_of(storage);
    if (region == NULL) {
        return rt_region_get_state(storage) == RT_REGION_CLOSED && storage != NULL
                   ? (rt_status){RT_ERR_STATE, "the region is closed"}
                   : region_unknown;
    }
    rti_contexts_lock(region->sched);
    region_to_closing(region);
    rti_contexts_unlock(region->sched);
    return RT_SUCCESS;
}

/* Takes the next resource out, held; NULL if none is left. The storage of one that was held may be
 * its owner's from then on, so what it is, `*ops`, is read before. */
static struct rti_region_member *region_next_resource(struct rti_region *region,
                                                      const struct rti_region_member_ops **ops)
{
    for (;;) {
        rti_contexts_lock(region->sched);
        struct rti_link *link = rti_list_peek(&region->resources);
        struct rti_region_member *member =
            link == NULL ? NULL : RTI_CONTAINER_OF(link, struct rti_region_member, link);
        *ops = member == NULL ? NULL : member->ops;
        bool is_held = member != NULL && (*ops)->hold(member, region->sched);
        if (is_held) {
            rti_list_remove(link);
            member->region = NULL;
        }
        rti_contexts_unlock(region->sched);
        if (is_held || member == NULL) {
            return member;
        }
        /* Another worker is ending it and needs the lock to make it leave. */
        RT_ASSERT(!rti_sched_is_local(region->sched));
        rti_spin_hint();
    }
}

/* Ends what is left; the caller has made the step to FINALIZING. */
static void region_finalize(struct rti_region *region)
{
    struct rti_sched *sched = region->sched;
    struct rti_region_member *member;
    const struct rti_region_member_ops *ops;
    struct rti_list claimed;
    rti_list_init(&claimed);
    while ((member = region_next_resource(region, &ops)) != NULL) {
        ops->finalize(member, sched);
    }
    rti_region_timer_await_region(sched, region);
    rti_contexts_lock(sched);
    region_to_closed(region);
    region_let_go(&region->member, region_outcome(region), &claimed);
    /* Others may wait for the same close. */
    region_claim_closers(region, &claimed);
    rti_contexts_unlock(sched);
    rti_cancel_wake_all(&claimed);
}

/* The unlink of one who waits for the close. */
static void region_unlink(struct rti_waiter *waiter)
{
    struct rti_sched *sched = rti_sched_current();
    rti_contexts_lock(sched);
    rti_waitlist_unlink(waiter);
    rti_contexts_unlock(sched);
}

/* Must a close wait? The lock is held. */
static bool region_is_busy(const struct rti_region *region)
{
    return region->live > 0 ||
           (region_state(region) == RT_REGION_FINALIZING && !rti_sched_is_local(region->sched));
}

/* Puts a waiter in line for the close, or ends its wait if there is nothing to wait for any more.
 */
static void region_line_up(struct rti_region *region, struct rti_waiter *waiter)
{
    rti_contexts_lock(region->sched);
    bool is_busy = region_is_busy(region);
    if (is_busy) {
        rti_waitlist_add(&region->closers, waiter);
    }
    rti_contexts_unlock(region->sched);
    if (!is_busy && rti_wait_claim(waiter->wait, waiter->event)) {
        rti_waiter_wake(waiter);
    }
}

/* One wait for the last runnable. RT_OK: look again. */
static rt_status region_park(struct rti_worker *worker, struct rti_region *region,
                             struct rti_cx *cx)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_cx_events events;
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_REGION;
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, region_unlink);
    rti_cx_events_add(&events, cx, worker->sched, &wait, RT_TIME_NEVER);
    region_line_up(region, &waiter);
    uint32_t event = rti_fiber_park(worker, &wait);
    return event == RTI_EVENT_SOURCE ? RT_SUCCESS : rti_cx_events_status(&events, cx, event);
}

static struct rti_cx_op region_close_op(const struct rti_region *region)
{
    return (struct rti_cx_op){.what = &region_member_ops, .on = (uintptr_t)region};
}

/* The same for a poll context: it is in line, or joins it. */
static rt_status region_poll(struct rti_region *region, struct rti_cx *cx)
{
    struct rti_cx_op op = region_close_op(region);
    if (!rti_cx_poll_is_for(cx, op) || rti_cx_poll_event(cx) != RTI_EVENT_NONE) {
        struct rti_poll_cx *poll = rti_cx_poll(cx);
        rti_cx_poll_end(cx);
        rti_cx_poll_begin(cx, op);
        rti_wait_add(&poll->wait, &poll->waiter.waiter, RTI_EVENT_SOURCE, region_unlink);
        rti_cx_events_add(&poll->events, cx, rti_cx_sched(cx), &poll->wait, RT_TIME_NEVER);
        region_line_up(region, &poll->waiter.waiter);
    }
    return (rt_status){RT_ERR_WOULDBLOCK, "members are left"};
}

static rt_status region_await(struct rti_region *region, struct rti_cx *cx)
{
    struct rti_worker *worker = rti_worker_current();
    if (cx != NULL && cx->kind == RTI_CX_POLL) {
        return region_poll(region, cx);
    }
    if (worker->fiber == NULL) {
        return (rt_status){RT_ERR_WOULDBLOCK, "members are left and the caller cannot wait"};
    }
    return region_park(worker, region, cx);
}

/* True if nobody is left to wait for; `is_last` if it is the caller's to finalize. */
static bool region_drain(struct rti_region *region, bool *is_last)
{
    rti_contexts_lock(region->sched);
    region_to_draining(region);
    bool is_busy = region_is_busy(region);
    *is_last = !is_busy && region_state(region) == RT_REGION_DRAINING;
    if (*is_last) {
        region_to_finalizing(region);
    }
    rti_contexts_unlock(region->sched);
    return !is_busy;
}

rt_status rt_region_close(rt_region *storage, rt_cx *given)
{
    struct rti_region *region = rti_region_of(storage);
    struct rti_worker *worker = rti_worker_enter();
    struct rti_cx *cx = NULL;
    if (region == NULL || worker == NULL || RT_FAILED(rti_cx_resolve(worker, given, &cx))) {
        return region_unknown;
    }
    if (cx != NULL && rti_cx_region(cx) == region) {
        return (rt_status){RT_ERR_STATE, "a member would wait for itself"};
    }
    rt_status status = RT_SUCCESS;
    bool is_last = false;
    bool is_drained;
    while (!(is_drained = region_drain(region, &is_last)) && !RT_FAILED(status)) {
        status = cx == NULL ? RT_SUCCESS : rti_cx_checkpoint(cx);
        if (!RT_FAILED(status)) {
            status = region_await(region, cx);
        }
    }
    bool is_poll = cx != NULL && cx->kind == RTI_CX_POLL;
    if (is_poll && status.code != RT_ERR_WOULDBLOCK &&
        rti_cx_poll_is_for(cx, region_close_op(region))) {
        rti_cx_poll_end(cx);
    }
    if (is_last) {
        region_finalize(region);
    }
    /* The last one may have left while the wait for it was given up. */
    return is_drained ? RT_SUCCESS : status;
}

rt_region_state rt_region_get_state(const rt_region *storage)
{
    const struct rti_region *region = rti_region_of((rt_region *)(uintptr_t)storage);
    return region == NULL ? RT_REGION_CLOSED : region_state(region);
}

rt_outcome rt_region_outcome(const rt_region *storage)
{
    const struct rti_region *region = (const struct rti_region *)(const void *)storage;
    bool is_one = region != NULL && region->magic == RTI_REGION_MAGIC;
    return is_one ? region_outcome(region) : RT_OUTCOME_OK;
}

void rti_region_audit(const struct rti_region *region)
{
    RT_ASSERT(region->magic == RTI_REGION_MAGIC && region_state(region) <= RT_REGION_CLOSED);
    RT_ASSERT(rti_list_audit(&region->runnables) <= region->live);
    rti_list_audit(&region->resources);
    RT_ASSERT(!region->is_cancelled || region_state(region) != RT_REGION_OPEN);
}
