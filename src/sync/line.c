/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in line; the essay is in line.h. */
#define RTI_MODULE "line"
#include "sync/line.h"

#include "base/marks.h"

void rti_line_init(struct rti_line *line, struct rti_sched *sched)
{
    rti_lock_init(&line->lock, sched, RTI_LOCK_CHANNEL);
    rti_waitlist_init(&line->list);
    line->sched = sched;
}

static struct rti_line_waiter *line_waiter_of(struct rti_waiter *waiter)
{
    return RTI_CONTAINER_OF(waiter, struct rti_line_waiter, waiter);
}

void rti_line_leave(struct rti_line *line, struct rti_list *wakes)
{
    struct rti_link *link;
    rti_lock_release(&line->lock);
    while ((link = rti_list_pop(wakes)) != NULL) {
        rti_waiter_wake(&RTI_CONTAINER_OF(link, struct rti_line_waiter, wake_link)->waiter);
    }
}

struct rti_line_waiter *rti_line_claim(struct rti_line *line)
{
    RTI_PLAIN_WRITE(&line->list, sizeof(line->list));
    struct rti_waiter *waiter = rti_waitlist_claim(&line->list);
    return waiter == NULL ? NULL : line_waiter_of(waiter);
}

struct rti_line_waiter *rti_line_first(struct rti_line *line)
{
    struct rti_link *link;
    while ((link = rti_list_peek(&line->list.list)) != NULL) {
        struct rti_waiter *waiter = RTI_CONTAINER_OF(link, struct rti_waiter, link);
        if (rti_wait_event(waiter->wait) == RTI_EVENT_NONE) {
            return line_waiter_of(waiter);
        }
        /* Another event has it; its owner comes to take it out and finds it gone. */
        rti_list_remove(link);
    }
    return NULL;
}

void rti_line_serve_all(struct rti_line *line, rt_status_code result, struct rti_list *wakes)
{
    struct rti_line_waiter *waiter;
    while ((waiter = rti_line_claim(line)) != NULL) {
        rti_line_serve(waiter, result, wakes);
    }
}

static void line_unlink(struct rti_waiter *base)
{
    struct rti_line_waiter *waiter = line_waiter_of(base);
    struct rti_line *line = waiter->line;
    if (rti_link_is_linked(&waiter->wake_link)) {
        /* On the thread that is about to wake it: who was woken before it ends this one. */
        RT_SOMETIMES(true, "line: a waiter ended before its wake");
        rti_list_remove(&waiter->wake_link);
    }
    if (waiter->is_collected) {
        /* Served: the line does not know it any more, and may be gone. */
        RT_ASSERT(waiter->result != RT_ERR_WOULDBLOCK && !rti_link_is_linked(&base->link));
        return;
    }
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_line_enter(line);
    RTI_PLAIN_WRITE(&line->list, sizeof(line->list));
    if (rti_link_is_linked(&base->link)) {
        rti_list_remove(&base->link);
    }
    if (waiter->left != NULL) {
        RT_SOMETIMES(waiter->result == RT_OK, "line: what a waiter was given passed on");
        waiter->left(line, waiter, &wakes);
    }
    rti_line_leave(line, &wakes);
}

static rt_status line_result(rt_status_code code)
{
    RT_ASSERT(code != RT_ERR_WOULDBLOCK);
    return code == RT_OK ? RT_SUCCESS : (rt_status){code, rt_status_text(code)};
}

rt_status rti_line_begin(struct rti_line_call *call, rt_cx *given)
{
    call->is_served = false;
    rt_status status = rti_cx_resolve(rti_worker_current(), given, &call->cx);
    struct rti_cx *cx = call->cx;
    if (RT_FAILED(status) || cx == NULL) {
        return status;
    }
    if (cx->kind != RTI_CX_POLL || !rti_cx_poll_is_for(cx, call->op)) {
        return rti_cx_checkpoint(cx);
    }
    uint32_t event = rti_cx_poll_event(cx);
    if (event == RTI_EVENT_NONE) {
        return (rt_status){RT_ERR_WOULDBLOCK, "the context is in line"};
    }
    struct rti_poll_cx *poll = rti_cx_poll(cx);
    rt_status_code result = poll->line.result;
    poll->line.is_collected = event == RTI_EVENT_SOURCE;
    rti_cx_poll_end(cx);
    if (event != RTI_EVENT_SOURCE) {
        return rti_cx_events_status(&poll->events, cx, event);
    }
    call->is_served = result == RT_OK;
    return line_result(result);
}

/* Adds the waiter to a wait that has begun, links it and leaves the line. */
static void line_link(struct rti_line_call *call, struct rti_wait *wait,
                      struct rti_line_waiter *waiter)
{
    struct rti_line *line = call->line;
    rti_wait_add(wait, &waiter->waiter, RTI_EVENT_SOURCE, line_unlink);
    waiter->waiter.slot = call->who;
    waiter->line = line;
    waiter->left = call->left;
    rti_link_init(&waiter->wake_link);
    waiter->want = call->want;
    waiter->result = RT_ERR_WOULDBLOCK;
    waiter->is_collected = false;
    RTI_PLAIN_WRITE(&line->list, sizeof(line->list));
    rti_waitlist_add(&line->list, &waiter->waiter);
    rti_line_leave_quietly(line);
    if (call->linked != NULL) {
        call->linked(call);
    }
}

/* The events beside being served. */
static void line_add_events(const struct rti_line_call *call, struct rti_cx_events *events,
                            struct rti_wait *wait)
{
    if (!call->is_shielded) {
        rti_cx_events_add(events, call->cx, call->line->sched, wait, call->deadline);
    }
}

static rt_status line_park(struct rti_line_call *call)
{
    struct rti_wait wait;
    struct rti_line_waiter waiter;
    struct rti_cx_events events;
    struct rti_worker *worker = rti_worker_current();
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_LOCK;
    line_link(call, &wait, &waiter);
    line_add_events(call, &events, &wait);
    uint32_t event = rti_fiber_park_open(worker, &wait);
    waiter.is_collected = event == RTI_EVENT_SOURCE;
    rti_wait_finish(&wait);
    return event == RTI_EVENT_SOURCE ? line_result(waiter.result)
                                     : rti_cx_events_status(&events, call->cx, event);
}

rt_status rti_line_wait(struct rti_line_call *call)
{
    struct rti_cx *cx = call->cx;
    if (cx != NULL && cx->kind == RTI_CX_POLL) {
        struct rti_poll_cx *poll = rti_cx_poll(cx);
        rti_cx_poll_begin(cx, call->op);
        line_link(call, &poll->wait, &poll->line);
        line_add_events(call, &poll->events, &poll->wait);
        return (rt_status){RT_ERR_WOULDBLOCK, "the context is in line"};
    }
    if (rti_fiber_current() == NULL) {
        rti_line_leave_quietly(call->line);
        return (rt_status){RT_ERR_WOULDBLOCK, "the caller would have to wait and cannot"};
    }
    return line_park(call);
}

bool rti_waiter_is_of_line(const struct rti_waiter *waiter)
{
    return waiter->unlink == line_unlink;
}

void rti_line_audit(const struct rti_line *line)
{
    const struct rti_list *list = &line->list.list;
    uint64_t last_id = 0;
    (void)rti_list_audit(list);
    for (struct rti_link *at = rti_list_peek(list); at != NULL; at = rti_list_next(list, at)) {
        struct rti_waiter *waiter = RTI_CONTAINER_OF(at, struct rti_waiter, link);
        RT_ASSERT(line_waiter_of(waiter)->line == line);
        RT_ASSERT(line_waiter_of(waiter)->result == RT_ERR_WOULDBLOCK);
        rti_waitlist_audit(&line->list, waiter, &last_id);
    }
}
