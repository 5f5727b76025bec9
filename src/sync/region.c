/* SPDX-License-Identifier: Apache-2.0 */
/* Regions; the essay is in region.h, the manual in <orrery/rt/region.h>. */
#define RTI_MODULE "region"
#include "sync/region.h"

_Static_assert(sizeof(struct rti_region) <= sizeof(rt_region), "rt_region is too small");

static const rt_status region_unknown = {RT_ERR_INVALID, "this is no open region"};
static const rt_status region_not_open = {RT_ERR_STATE, "the region takes no new members"};

struct rti_region *rti_region_of(rt_region *storage)
{
    struct rti_region *region = (struct rti_region *)(void *)storage;
    bool is_one = region != NULL && region->magic == RTI_REGION_MAGIC;
    return is_one && region->state != RT_REGION_CLOSED ? region : NULL;
}

static void region_to_closing(struct rti_region *region)
{
    if (region->state == RT_REGION_OPEN) {
        region->state = RT_REGION_CLOSING;
    }
}

static void region_to_draining(struct rti_region *region)
{
    region_to_closing(region);
    if (region->state == RT_REGION_CLOSING) {
        region->state = RT_REGION_DRAINING;
    }
}

static void region_to_finalizing(struct rti_region *region)
{
    RT_ASSERT(region->state == RT_REGION_DRAINING && region->live == 0);
    region->state = RT_REGION_FINALIZING;
}

static void region_to_closed(struct rti_region *region)
{
    RT_ASSERT(region->state == RT_REGION_FINALIZING);
    RT_ASSERT(rti_list_is_empty(&region->runnables) && rti_list_is_empty(&region->resources));
    region->state = RT_REGION_CLOSED;
}

static void region_take(struct rti_region *region, struct rti_member *member)
{
    RT_ASSERT(member->region == NULL);
    member->region = region;
    if (member->ops->is_runnable) {
        rti_list_push_tail(&region->runnables, &member->link);
        region->live++;
    } else {
        rti_list_push_tail(&region->resources, &member->link);
    }
    RT_AUDIT(rti_region_audit(region));
}

rt_status rti_region_join(struct rti_region *region, struct rti_member *member)
{
    if (region->state != RT_REGION_OPEN) {
        return region_not_open;
    }
    region_take(region, member);
    return RT_SUCCESS;
}

rt_status rti_region_join_by(struct rti_region *region, struct rti_member *member)
{
    RT_ASSERT(member->ops->is_runnable && region->live > 0);
    RT_ASSERT(region->state <= RT_REGION_DRAINING);
    if (region->is_cancelled) {
        return region_not_open;
    }
    region_take(region, member);
    return RT_SUCCESS;
}

void rti_region_leave(struct rti_member *member, rt_outcome outcome)
{
    struct rti_region *region = member->region;
    RT_ASSERT(region != NULL);
    member->region = NULL;
    rti_list_remove(&member->link);
    if (!member->ops->is_runnable) {
        return;
    }
    RT_ASSERT(region->live > 0);
    region->live--;
    region->outcome = (uint8_t)rt_outcome_join((rt_outcome)region->outcome, outcome);
    if (region->live == 0) {
        rti_waitlist_wake_all(&region->closers);
    }
}

static void region_cancel(struct rti_region *region)
{
    if (region->is_cancelled) {
        return;
    }
    region->is_cancelled = true;
    region_to_closing(region);
    /* A cancellation may end members, this one or another: each goes back to its list before it is
     * asked, and whoever leaves is taken out of the list that it is in. */
    struct rti_list asked;
    struct rti_link *link;
    rti_list_init(&asked);
    rti_list_splice_tail(&asked, &region->runnables);
    while ((link = rti_list_pop(&asked)) != NULL) {
        struct rti_member *member = RTI_CONTAINER_OF(link, struct rti_member, link);
        rti_list_push_tail(&region->runnables, link);
        member->ops->cancel(member);
    }
}

static void region_member_cancel(struct rti_member *member)
{
    region_cancel(RTI_CONTAINER_OF(member, struct rti_region, member));
}

static const struct rti_member_ops region_member_ops = {.is_runnable = true,
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
    if (parent != NULL && parent->state != RT_REGION_OPEN) {
        return region_not_open;
    }
    struct rti_region *region = (struct rti_region *)(void *)storage;
    *region = (struct rti_region){.magic = RTI_REGION_MAGIC,
                                  .state = RT_REGION_OPEN,
                                  .outcome = RT_OUTCOME_OK,
                                  .budget = RT_BUDGET_UNLIMITED,
                                  .sched = sched};
    rti_list_init(&region->runnables);
    rti_list_init(&region->resources);
    rti_waitlist_init(&region->closers);
    rti_member_init(&region->member, &region_member_ops);
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
    if (cx == NULL || cx->member.region != NULL) {
        return (rt_status){RT_ERR_STATE, "the caller has no context, or it has a region"};
    }
    rt_status status = rti_region_join(region, &cx->member);
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
    region_cancel(region);
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
    region_to_closing(region);
    return RT_SUCCESS;
}

static void region_finalize(struct rti_region *region)
{
    region_to_finalizing(region);
    struct rti_link *link;
    while ((link = rti_list_pop(&region->resources)) != NULL) {
        struct rti_member *member = RTI_CONTAINER_OF(link, struct rti_member, link);
        member->region = NULL;
        member->ops->finalize(member);
    }
    region_to_closed(region);
    if (region->member.region != NULL) {
        rti_region_leave(&region->member, (rt_outcome)region->outcome);
    }
    /* Others may wait for the same close. */
    rti_waitlist_wake_all(&region->closers);
}

/* One wait for the last runnable. RT_OK: look again. */
static rt_status region_park(struct rti_worker *worker, struct rti_region *region,
                             struct rti_cx *cx)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_cx_events events;
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_waitlist_unlink);
    rti_waitlist_add(&region->closers, &waiter);
    rti_cx_events_add(&events, cx, worker->sched, &wait, RT_TIME_NEVER);
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
    if (!rti_cx_poll_is_for(cx, op) || rti_wait_event(&cx->wait) != RTI_EVENT_NONE) {
        rti_cx_poll_end(cx);
        rti_cx_poll_begin(cx, op);
        rti_wait_add(&cx->wait, &cx->waiter.waiter, RTI_EVENT_SOURCE, rti_waitlist_unlink);
        rti_waitlist_add(&region->closers, &cx->waiter.waiter);
        rti_cx_events_add(&cx->events, cx, cx->sched, &cx->wait, RT_TIME_NEVER);
    }
    return (rt_status){RT_ERR_WOULDBLOCK, "members are left"};
}

static rt_status region_await(struct rti_worker *worker, struct rti_region *region,
                              struct rti_cx *cx)
{
    if (cx != NULL && cx->kind == RTI_CX_POLL) {
        return region_poll(region, cx);
    }
    if (worker->fiber == NULL) {
        return (rt_status){RT_ERR_WOULDBLOCK, "members are left and the caller cannot wait"};
    }
    return region_park(worker, region, cx);
}

rt_status rt_region_close(rt_region *storage, rt_cx *given)
{
    struct rti_region *region = rti_region_of(storage);
    struct rti_worker *worker = rti_worker_enter();
    struct rti_cx *cx = NULL;
    if (region == NULL || worker == NULL || RT_FAILED(rti_cx_resolve(worker, given, &cx))) {
        return region_unknown;
    }
    if (cx != NULL && cx->member.region == region) {
        return (rt_status){RT_ERR_STATE, "a member would wait for itself"};
    }
    region_to_draining(region);
    rt_status status = RT_SUCCESS;
    while (region->live > 0 && !RT_FAILED(status)) {
        status = cx == NULL ? RT_SUCCESS : rti_cx_checkpoint(cx);
        if (!RT_FAILED(status)) {
            status = region_await(worker, region, cx);
        }
    }
    bool is_poll = cx != NULL && cx->kind == RTI_CX_POLL;
    if (is_poll && status.code != RT_ERR_WOULDBLOCK &&
        rti_cx_poll_is_for(cx, region_close_op(region))) {
        rti_cx_poll_end(cx);
    }
    if (RT_FAILED(status)) {
        return status;
    }
    if (region->state == RT_REGION_DRAINING) {
        region_finalize(region);
    }
    return RT_SUCCESS;
}

rt_region_state rt_region_get_state(const rt_region *storage)
{
    const struct rti_region *region = rti_region_of((rt_region *)(uintptr_t)storage);
    return region == NULL ? RT_REGION_CLOSED : (rt_region_state)region->state;
}

rt_outcome rt_region_outcome(const rt_region *storage)
{
    const struct rti_region *region = (const struct rti_region *)(const void *)storage;
    bool is_one = region != NULL && region->magic == RTI_REGION_MAGIC;
    return is_one ? (rt_outcome)region->outcome : RT_OUTCOME_OK;
}

void rti_region_audit(const struct rti_region *region)
{
    RT_ASSERT(region->magic == RTI_REGION_MAGIC && region->state <= RT_REGION_CLOSED);
    RT_ASSERT(rti_list_audit(&region->runnables) <= region->live);
    rti_list_audit(&region->resources);
    RT_ASSERT(!region->is_cancelled || region->state != RT_REGION_OPEN);
}
