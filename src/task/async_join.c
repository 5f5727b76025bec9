/* SPDX-License-Identifier: Apache-2.0 */
/* The join of a poll task; the essay is in async.h, the manual in <orrery/rt/async.h>.
 *
 * Who joins finds the end there, or becomes the watcher: a fiber with a waiter on its stack, a poll
 * context with the one it has, a poll task by itself (rti_asyncs_watch). Whichever it is, it looks
 * at the life word when it goes on, and takes the result if that says COMPLETE. */
#define RTI_MODULE "async_join"
#include "task/asyncs.h"

static const char async_join_tag;

static const rt_status join_no_runtime = {RT_ERR_THREAD, "this thread has no runtime"};
static const rt_status join_no_handle = {RT_ERR_INVALID, "this is no handle, or it is consumed"};
static const rt_status join_not_yet = {RT_ERR_WOULDBLOCK, "the task has not ended"};

/* One join. */
struct async_join {
    struct rti_asyncs *asyncs;
    rt_async_task **task; /* the caller's handle */
    rt_status *out;       /* or NULL */
    rt_time deadline;
};

/* What a context waits for with it. */
static struct rti_cx_op join_op(const struct async_join *join)
{
    return (struct rti_cx_op){.what = &async_join_tag, .on = (uintptr_t)*join->task};
}

/* Takes the result of a task that has ended, and its slot, with one worker. */
static RTI_ALWAYSINLINE rt_status join_take_here(struct rti_asyncs *asyncs, struct rti_async *async,
                                                 rt_async_task **task, rt_status *out)
{
    uint32_t index = (uint32_t)((uintptr_t)*task & RTI_ASYNC_INDEX_MASK);
    if (out != NULL) {
        *out = (rt_status){(rt_status_code)async->result, async->result_msg};
    }
    *task = NULL;
    rti_asyncs_consume(async);
    rti_task_to_free_here(&async->life);
    rti_asyncs_free_at(asyncs, async, index);
    return RT_SUCCESS;
}

/* The same in every way, if it has ended and the handle is still good: the wait may have been long.
 */
static rt_status join_collect(const struct async_join *join)
{
    switch (rti_asyncs_collect(join->asyncs, rti_worker_current(), *join->task, join->out)) {
    case RTI_ASYNC_FOUND_ENDED:
        *join->task = NULL;
        return RT_SUCCESS;
    case RTI_ASYNC_FOUND_LIVE:
        return join_not_yet;
    default:
        return join_no_handle;
    }
}

/* The `unlink` of a waiter. Its slot is the handle that it waits for the end of. */
static void join_unlink(struct rti_waiter *waiter)
{
    struct rti_asyncs *asyncs = rti_asyncs_of(rti_worker_current());
    if (waiter->slot != NULL && asyncs != NULL) {
        rti_asyncs_unwatch(asyncs, waiter->slot, (uintptr_t)waiter);
    }
}

/* The same of a fiber's. */
static void join_unlink_fiber(struct rti_waiter *waiter)
{
    struct rti_asyncs *asyncs = rti_asyncs_of(rti_worker_current());
    if (waiter->slot != NULL && asyncs != NULL) {
        rti_asyncs_unwatch(asyncs, waiter->slot, (uintptr_t)waiter | RTI_ASYNC_IS_FIBER);
    }
}

/* Adds the end to the events of a wait. LIVE; else nothing is added. */
static enum rti_async_found join_watch(const struct async_join *join, struct rti_wait *wait,
                                       struct rti_waiter *waiter, bool is_fiber)
{
    rti_wait_add(wait, waiter, RTI_EVENT_SOURCE, is_fiber ? join_unlink_fiber : join_unlink);
    waiter->slot = *join->task;
    uintptr_t watcher = (uintptr_t)waiter | (is_fiber ? RTI_ASYNC_IS_FIBER : 0);
    enum rti_async_found found = rti_asyncs_watch(join->asyncs, *join->task, watcher);
    if (found != RTI_ASYNC_FOUND_LIVE) {
        waiter->slot = NULL;
    }
    return found;
}

/* A fiber waits. RT_OK: the end has come. */
static rt_status join_park(const struct async_join *join, struct rti_worker *worker)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_cx_events events;
    struct rti_cx *cx = rti_fiber_cx(worker->fiber);
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_JOIN;
    rti_cx_events_add(&events, cx, worker->sched, &wait, join->deadline);
    enum rti_async_found found = join_watch(join, &wait, &waiter, true);
    if (found != RTI_ASYNC_FOUND_LIVE) {
        if (rti_wait_claim(&wait, RTI_EVENT_SOURCE)) {
            rti_wait_finish(&wait);
        } else {
            /* Somebody else ends the wait, and a wake is on its way: it must find the wait. */
            (void)rti_fiber_park(worker, &wait);
        }
        return found == RTI_ASYNC_FOUND_AWAITED ? rti_asyncs_awaited : RT_SUCCESS;
    }
    uint32_t event = rti_fiber_park(worker, &wait);
    return event == RTI_EVENT_SOURCE ? RT_SUCCESS : rti_cx_events_status(&events, cx, event);
}

/* The end has not come yet. */
static rt_status join_wait_of_fiber(const struct async_join *join, struct rti_worker *worker)
{
    rt_status status = join_not_yet;
    /* At most twice: once it is the watcher, it stays that until the end. */
    while (status.code == RT_ERR_WOULDBLOCK && worker->fiber != NULL) {
        status = join_park(join, worker);
        worker = rti_worker_current();
        if (!RT_FAILED(status)) {
            status = join_collect(join);
        }
    }
    return status;
}

static rt_status join_of_fiber(const struct async_join *join, struct rti_worker *worker)
{
    struct rti_cx *cx = worker->fiber == NULL ? NULL : rti_fiber_cx(worker->fiber);
    rt_status status = cx == NULL ? RT_SUCCESS : rti_cx_checkpoint(cx);
    if (!RT_FAILED(status)) {
        status = join_collect(join);
        if (status.code == RT_ERR_WOULDBLOCK) {
            status = join_wait_of_fiber(join, worker);
        }
    }
    return status;
}

/* Registers a poll context, which waits for nothing. */
static rt_status join_register(const struct async_join *join, struct rti_cx *cx,
                               struct rti_cx_op op)
{
    struct rti_poll_cx *poll = rti_cx_poll(cx);
    rti_cx_poll_begin(cx, op);
    enum rti_async_found found = join_watch(join, &poll->wait, &poll->waiter.waiter, false);
    if (found != RTI_ASYNC_FOUND_LIVE) {
        rti_cx_poll_end(cx);
        return found == RTI_ASYNC_FOUND_AWAITED ? rti_asyncs_awaited : join_collect(join);
    }
    rti_cx_events_add(&poll->events, cx, join->asyncs->sched, &poll->wait, join->deadline);
    return join_not_yet;
}

/* Is there nothing that could end this task's wait but the end it waits for, and its own? */
static bool join_is_plain(const struct async_join *join, const struct rti_async *self,
                          struct rti_cx *cx)
{
    return self != NULL && self->cx == NULL && join->deadline == RT_TIME_NEVER &&
           rti_cleanups_are_none(&rti_cx_poll(cx)->cleanups) && rti_asyncs_context_is_clean(cx);
}

static void join_end_plain(struct rti_async *self)
{
    self->is_joining = false;
    self->joins = NULL;
}

/* A poll task that waits without its context asks again. */
static rt_status join_again(const struct async_join *join, struct rti_async *self,
                            struct rti_cx *cx)
{
    rt_status status = join_collect(join);
    if (status.code == RT_ERR_WOULDBLOCK && !rti_async_is_cancelled(self)) {
        return status;
    }
    if (status.code == RT_ERR_WOULDBLOCK) {
        rti_asyncs_unwatch(join->asyncs, self->joins, (uintptr_t)self | RTI_ASYNC_IS_TASK);
        status = rti_cx_see_cancel(cx);
    }
    join_end_plain(self);
    return status;
}

/* The end has not come yet; the context waits for nothing. */
static rt_status join_wait_of_context(const struct async_join *join, struct rti_async *self,
                                      struct rti_cx *cx)
{
    if (!join_is_plain(join, self, cx)) {
        return join_register(join, cx, join_op(join));
    }
    enum rti_async_found found =
        rti_asyncs_watch(join->asyncs, *join->task, (uintptr_t)self | RTI_ASYNC_IS_TASK);
    if (found != RTI_ASYNC_FOUND_LIVE) {
        return found == RTI_ASYNC_FOUND_AWAITED ? rti_asyncs_awaited : join_collect(join);
    }
    self->joins = *join->task;
    self->is_joining = true;
    return join_not_yet;
}

static rt_status join_of_context(const struct async_join *join, struct rti_cx *cx)
{
    struct rti_async *self = rti_async_of_cx((rt_cx *)(void *)cx);
    if (self != NULL && self->is_joining) {
        if (self->joins == *join->task) {
            return join_again(join, self, cx);
        }
        rti_asyncs_unwatch(join->asyncs, self->joins, (uintptr_t)self | RTI_ASYNC_IS_TASK);
        join_end_plain(self);
    }
    if (rti_cx_poll_is_for(cx, join_op(join))) {
        uint32_t event = rti_cx_poll_event(cx);
        if (event == RTI_EVENT_NONE) {
            return join_not_yet;
        }
        rti_cx_poll_end(cx);
        if (event != RTI_EVENT_SOURCE) {
            return rti_cx_events_status(&rti_cx_poll(cx)->events, cx, event);
        }
        return join_collect(join);
    }
    rt_status status = rti_cx_checkpoint(cx);
    if (!RT_FAILED(status)) {
        status = join_collect(join);
    }
    return status.code == RT_ERR_WOULDBLOCK ? join_wait_of_context(join, self, cx) : status;
}

rt_status rt_async_join_until(rt_async_task **task, rt_cx *given, rt_status *out, rt_time deadline)
{
    struct rti_worker *worker = rti_worker_enter();
    const struct async_join join = {
        .asyncs = rti_asyncs_of(worker), .task = task, .out = out, .deadline = deadline};
    if (join.asyncs == NULL) {
        return join_no_runtime;
    }
    if (task == NULL || !rti_asyncs_is_good(join.asyncs, *task)) {
        return join_no_handle;
    }
    struct rti_cx *cx;
    rt_status status = rti_cx_resolve(worker, given, &cx);
    if (RT_FAILED(status)) {
        return status;
    }
    return cx != NULL && cx->kind == RTI_CX_POLL ? join_of_context(&join, cx)
                                                 : join_of_fiber(&join, worker);
}

/* Does nothing hinder this fiber? The flag of a cancellation is raised by others, and is no
 * hindrance where there are several workers. */
static bool join_is_fiber_free(const struct rti_fiber *fiber)
{
    if (fiber == NULL || fiber->is_hindered) {
        return false;
    }
    const struct rti_cancel *cancel = rti_fiber_cancel(fiber);
    return cancel == NULL || !rti_cancel_is_requested(cancel);
}

/* Is this the context of a poll task that was lent to it for this step, and nothing else? */
static bool join_is_context_free(rt_cx *given)
{
    const struct rti_async *self = rti_async_of_cx(given);
    const struct rti_cx *cx = rti_cx_of(given);
    return self != NULL && self->cx == NULL && !rti_async_is_cancelled(self) && !cx->is_touched &&
           !rti_cancel_is_requested(&cx->cancel);
}

/* The end has not come yet, to a caller whom nothing hinders. */
static RTI_NOINLINE rt_status join_wait(struct rti_asyncs *asyncs, struct rti_worker *worker,
                                        rt_async_task **task, rt_cx *given, rt_status *out)
{
    const struct async_join join = {
        .asyncs = asyncs, .task = task, .out = out, .deadline = RT_TIME_NEVER};
    return given == NULL ? join_wait_of_fiber(&join, worker)
                         : join_wait_of_context(&join, rti_async_of_cx(given), rti_cx_of(given));
}

/* rt_async_join in every way. With several workers, too, most who come find the end there: one
 * section under the guard is all that it takes then. */
static RTI_NOINLINE rt_status join_any(struct rti_worker *worker, rt_async_task **task,
                                       rt_cx *given, rt_status *out)
{
    struct rti_asyncs *asyncs = rti_asyncs_of(worker);
    if (RTI_UNLIKELY(
            asyncs == NULL || task == NULL ||
            !(given == NULL ? join_is_fiber_free(worker->fiber) : join_is_context_free(given)))) {
        return rt_async_join_until(task, given, out, RT_TIME_NEVER);
    }
#if RTI_ONE_WORKER
    enum rti_async_found found = rti_asyncs_collect(asyncs, worker, *task, out);
#else
    enum rti_async_found found = rti_asyncs_collect_ended(asyncs, worker, *task, out);
#endif
    if (RTI_LIKELY(found == RTI_ASYNC_FOUND_ENDED)) {
        *task = NULL;
        return RT_SUCCESS;
    }
    return found == RTI_ASYNC_FOUND_LIVE ? join_wait(asyncs, worker, task, given, out)
                                         : join_no_handle;
}

#if RT_MAX_WORKERS > 1
/* The common case with several workers: a fiber that nothing hinders works alone and finds the end
 * there, and the desk has room for the slot. Whatever else it is, nothing has changed. Nothing is
 * called that comes back: no register has to be saved. */
static RTI_NOINLINE rt_status join_alone(rt_async_task **task, rt_cx *given, rt_status *out,
                                         struct rti_worker *worker)
{
    if (RTI_UNLIKELY(worker == NULL) || RTI_UNLIKELY(task == NULL) || RTI_UNLIKELY(given != NULL) ||
        RTI_UNLIKELY(!join_is_fiber_free(worker->fiber))) {
        return join_any(worker, task, given, out);
    }
    /* The program's memory is touched before and after. */
    const rt_async_task *handle = *task;
    if (RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return join_any(worker, task, given, out);
    }
    struct rti_asyncs *asyncs = rti_asyncs_of(worker);
    struct rti_async_desk *desk = rti_asyncs_desk_at(worker->station);
    uint32_t index = (uint32_t)((uintptr_t)handle & RTI_ASYNC_INDEX_MASK);
    if (RTI_UNLIKELY(asyncs == NULL) || RTI_UNLIKELY(rti_asyncs_desk_is_full(desk)) ||
        RTI_UNLIKELY(index >= rti_u32_load_relaxed(&asyncs->fresh))) {
        rti_solo_leave(worker);
        return join_any(worker, task, given, out);
    }
    struct rti_async *async = &asyncs->slots[index];
    if (RTI_UNLIKELY(!rti_asyncs_is_of(async, handle)) ||
        RTI_UNLIKELY(!rti_async_has_ended(async))) {
        rti_solo_leave(worker);
        return join_any(worker, task, given, out);
    }
    RT_DCHECK(async->poll != NULL);
    rti_asyncs_take_ended(async);
    rt_status result = {(rt_status_code)async->result, async->result_msg};
    rti_asyncs_desk_add(asyncs, desk, async, index);
    rti_solo_leave(worker);
    if (out != NULL) {
        *out = result;
    }
    *task = NULL;
    return RT_SUCCESS;
}
#endif

rt_status rt_async_join(rt_async_task **task, rt_cx *given, rt_status *out)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_asyncs *asyncs = worker == NULL ? NULL : worker->straight[RTI_MODULE_ASYNC];
#if RT_MAX_WORKERS > 1
    if (RTI_UNLIKELY(asyncs == NULL)) {
        return join_alone(task, given, out, worker);
    }
#endif
    /* The common case: a fiber that nothing hinders finds the end there. */
    if (RTI_UNLIKELY(asyncs == NULL) || RTI_UNLIKELY(task == NULL)) {
        return join_any(worker, task, given, out);
    }
    struct rti_async *async = rti_asyncs_lookup(asyncs, *task);
    const struct rti_fiber *fiber = worker->fiber;
    if (RTI_UNLIKELY(given != NULL) || RTI_UNLIKELY(async == NULL) ||
        RTI_UNLIKELY(!rti_async_has_ended(async)) || RTI_UNLIKELY(fiber == NULL) ||
        RTI_UNLIKELY(fiber->is_hindered)) {
        return rt_async_join_until(task, given, out, RT_TIME_NEVER);
    }
    return join_take_here(asyncs, async, task, out);
}
