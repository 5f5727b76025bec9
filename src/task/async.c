/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a poll task; the essay is in async.h, the manual in <orrery/rt/async.h>. */
#define RTI_MODULE "async"
#include "task/async.h"

#include "base/marks.h"
#include "task/asyncs.h"

/* The ids of poll tasks in traces are apart from those of actors and tasks. */
#define ASYNC_TRACE_ID UINT32_C(0x40000000)

static const char async_join_tag;

static const rt_status async_no_runtime = {RT_ERR_THREAD, "this thread has no runtime"};
static const rt_status async_no_handle = {RT_ERR_INVALID, "this is no handle, or it is consumed"};

/* Moves the word and gives what it was. */
static uint32_t async_move(struct rti_async *async, enum rti_async_word to)
{
    if (RTI_LIKELY(!rti_runnable_is_shared(&async->run))) {
        uint32_t before = rti_u32_load_relaxed(&async->word);
        rti_u32_store_relaxed(&async->word, to);
        return before;
    }
    /* Acquire-release: a wake and the step that answers it pair, whoever comes first. */
    return rti_u32_exchange_acqrel(&async->word, to);
}

void rti_async_wake(struct rti_async *async)
{
    if (async_move(async, RTI_ASYNC_NOTIFIED) == RTI_ASYNC_PARKED) {
        rti_sched_wake(async->line.sched, &async->run);
    }
}

void rti_async_waker(void *arg)
{
    rti_async_wake(arg);
}

struct rti_async *rti_async_of_cx(rt_cx *cx)
{
    struct rti_cx *inside = rti_cx_of(cx);
    bool is_it = inside != NULL && inside->magic == RTI_CX_MAGIC && inside->kind == RTI_CX_POLL &&
                 inside->waker.fn == rti_async_waker;
    return is_it ? inside->waker.arg : NULL;
}

/* Tells who joins; from here on the slot is the holder's, or free. */
static void async_tell(struct rti_async *async)
{
    struct rti_list wakes;
    struct rti_asyncs *asyncs = async->asyncs;
    rti_list_init(&wakes);
    rti_line_enter(&async->line);
    async->has_ended = true;
    bool is_detached = async->is_detached;
    rti_line_serve_all(&async->line, RT_OK, &wakes);
    rti_line_leave(&async->line, &wakes);
    if (is_detached) {
        rti_asyncs_give(asyncs, async);
    }
}

/* The function has returned something, or will not be called any more. */
static void async_end(struct rti_async *async, struct rti_cx *cx, rt_status status)
{
    async->result = (uint8_t)status.code;
    async->result_msg = status.msg;
    rti_nap_end(async);
    if (cx != NULL) {
        rti_cx_poll_end(cx);
        rti_cleanup_run_all(&cx->cleanups);
    }
    if (async->cx != NULL) {
        rti_asyncs_context_give(async->asyncs, async->cx);
        async->cx = NULL;
    } else if (cx != NULL) {
        (void)rt_cx_deinit((rt_cx *)(void *)cx);
    }
    rti_sched_end(async->line.sched, &async->run);
    async_tell(async);
}

/* After a call that has to wait: parks the task unless it was woken meanwhile. The task may be run
 * by another worker before this returns. */
static void async_settle(struct rti_async *async)
{
    struct rti_sched *sched = async->line.sched;
    bool is_parked = rti_runnable_to_parked(&async->run);
    RT_ASSERT(is_parked);
    uint32_t running = RTI_ASYNC_RUNNING;
    bool was_quiet;
    if (RTI_LIKELY(!rti_runnable_is_shared(&async->run))) {
        was_quiet = rti_u32_load_relaxed(&async->word) == running;
        if (was_quiet) {
            rti_u32_store_relaxed(&async->word, RTI_ASYNC_PARKED);
        }
    } else {
        /* Acquire-release: pairs with the wake that finds it PARKED. */
        was_quiet = rti_u32_cas_acqrel(&async->word, &running, RTI_ASYNC_PARKED);
    }
    if (!was_quiet) {
        RT_SOMETIMES(true, "async: woken while its step ran");
        rti_sched_wake(sched, &async->run);
    }
}

/* The context stays with the task if it waits or holds something. */
static bool async_needs_context(const struct rti_cx *cx)
{
    return cx->is_waiting || !rti_list_is_empty(&cx->cleanups);
}

/* No context is left: one for the time of the call. What it registers is given up, so the task is
 * called again in any case. */
static RTI_NOINLINE void async_step_without(struct rti_async *async)
{
    struct rti_cx cx;
    rt_status status =
        rt_cx_init_poll((rt_cx *)(void *)&cx, (rt_waker){.fn = rti_async_waker, .arg = async});
    RT_ASSERT(!RT_FAILED(status));
    if (rti_async_is_cancelled(async)) {
        rti_cx_cancel(&cx);
    }
    status = async->poll(async->state, (rt_cx *)(void *)&cx);
    RT_SOMETIMES(true, "async: no context was left");
    if (status.code != RT_ERR_WOULDBLOCK) {
        async_end(async, &cx, status);
        return;
    }
    if (async_needs_context(&cx)) {
        (void)async_move(async, RTI_ASYNC_NOTIFIED);
    }
    (void)rt_cx_deinit((rt_cx *)(void *)&cx);
    async_settle(async);
}

static void async_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct rti_async *async = RTI_CONTAINER_OF(runnable, struct rti_async, run);
    (void)worker;
    (void)async_move(async, RTI_ASYNC_RUNNING);
    if (RTI_UNLIKELY(async->is_killed)) {
        async_end(async, async->cx, (rt_status){RT_ERR_CANCELLED, "the runtime ended"});
        return;
    }
    struct rti_cx *cx = async->cx;
    if (cx == NULL) {
        cx = rti_asyncs_context_take(async->asyncs, async);
        if (cx == NULL) {
            async_step_without(async);
            return;
        }
        async->cx = cx;
    }
    if (RTI_UNLIKELY(rti_async_is_cancelled(async)) && !rti_cancel_is_requested(&cx->cancel)) {
        rti_cx_cancel(cx);
    }
    rt_status status = async->poll(async->state, (rt_cx *)(void *)cx);
    if (status.code != RT_ERR_WOULDBLOCK) {
        async_end(async, cx, status);
        return;
    }
    if (!async_needs_context(cx)) {
        async->cx = NULL;
        rti_asyncs_context_give(async->asyncs, cx);
    }
    async_settle(async);
}

rt_async_task *rt_async(rt_poll_fn poll, void *state)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_asyncs *asyncs = rti_asyncs_of(worker);
    struct rti_async *async = asyncs == NULL || poll == NULL ? NULL : rti_asyncs_take(asyncs);
    if (async == NULL) {
        return NULL;
    }
    uint32_t serial = rti_u32_add_relaxed(&asyncs->serial, 1) + 1;
    rti_runnable_init(&async->run, serial | ASYNC_TRACE_ID, RTI_ASYNC_PRIORITY, async_step);
    rti_u32_init(&async->cancelled, 0);
    async->poll = poll;
    async->state = state;
    async->cx = NULL;
    async->nap = NULL;
    rti_line_init(&async->line, worker->sched);
    async->asyncs = asyncs;
    async->result = RT_OK;
    async->result_msg = NULL;
    async->has_ended = false;
    async->is_detached = false;
    async->is_killed = false;
    async->is_pausing = false;
    rt_async_task *handle = rti_asyncs_handle(asyncs, async);
    rti_sched_start(worker->sched, &async->run);
    return handle;
}

/* The module and the task that a handle names. */
static rt_status async_find(const rt_async_task *handle, struct rti_async **out)
{
    struct rti_asyncs *asyncs = rti_asyncs_of(rti_worker_enter());
    if (asyncs == NULL) {
        return async_no_runtime;
    }
    *out = rti_asyncs_lookup(asyncs, handle);
    return *out == NULL ? async_no_handle : RT_SUCCESS;
}

rt_status rt_async_join_until(rt_async_task **task, rt_cx *given, rt_status *out, rt_time deadline)
{
    struct rti_async *async = NULL;
    rt_status status = async_find(task == NULL ? NULL : *task, &async);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_line_call call = {.line = &async->line,
                                 .op = {.what = &async_join_tag, .on = (uintptr_t)*task},
                                 .deadline = deadline};
    status = rti_line_begin(&call, given);
    if (!RT_FAILED(status) && !call.is_served) {
        rti_line_enter(&async->line);
        if (async->has_ended) {
            rti_line_leave_quietly(&async->line);
        } else {
            status = rti_line_wait(&call);
        }
    }
    if (RT_FAILED(status)) {
        return status;
    }
    if (out != NULL) {
        *out = (rt_status){(rt_status_code)async->result, async->result_msg};
    }
    *task = NULL;
    rti_asyncs_give(async->asyncs, async);
    return RT_SUCCESS;
}

rt_status rt_async_join(rt_async_task **task, rt_cx *given, rt_status *out)
{
    return rt_async_join_until(task, given, out, RT_TIME_NEVER);
}

rt_status rt_async_detach(rt_async_task *task)
{
    struct rti_async *async = NULL;
    rt_status status = async_find(task, &async);
    if (RT_FAILED(status)) {
        return status;
    }
    rti_line_enter(&async->line);
    bool has_ended = async->has_ended;
    async->is_detached = true;
    rti_line_leave_quietly(&async->line);
    if (has_ended) {
        rti_asyncs_give(async->asyncs, async);
    }
    return RT_SUCCESS;
}

rt_status rt_async_cancel(rt_async_task *task)
{
    struct rti_async *async = NULL;
    rt_status status = async_find(task, &async);
    if (!RT_FAILED(status) && !async->has_ended) {
        /* Its own step raises the flag of its context: nobody else touches that. */
        rti_u32_store_relaxed(&async->cancelled, 1);
        rti_async_wake(async);
    }
    return status;
}

rt_status rt_async_wake(rt_async_task *task)
{
    struct rti_async *async = NULL;
    rt_status status = async_find(task, &async);
    if (!RT_FAILED(status) && !async->has_ended) {
        rti_async_wake(async);
    }
    return status;
}

rt_status rt_async_pause(rt_cx *cx)
{
    (void)rti_worker_enter();
    struct rti_async *async = rti_async_of_cx(cx);
    if (async == NULL) {
        return (rt_status){RT_ERR_INVALID, "this is no context of a poll task"};
    }
    if (rti_async_is_cancelled(async)) {
        async->is_pausing = false;
        return rti_cx_see_cancel(rti_cx_of(cx));
    }
    async->is_pausing = !async->is_pausing;
    return async->is_pausing ? (rt_status){RT_ERR_WOULDBLOCK, "until it is woken"} : RT_SUCCESS;
}
