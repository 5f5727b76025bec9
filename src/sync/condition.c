/* SPDX-License-Identifier: Apache-2.0 */
/* The condition: a line of those who wait for a signal. The manual is <orrery/rt/condition.h>.
 *
 * A wait has two parts, for the signal and for the mutex. The first can be cancelled and has a
 * deadline; the second has neither, because its caller must come out with the mutex. A fiber does
 * one after the other. A poll context comes back between them: the second part has a name of its
 * own, and what the first one came to lies in its waiter until it ends (`want`).
 *
 * The caller is linked before the mutex is let go: who takes the mutex next finds it in line. Only
 * one of the two locks is held at a time.
 *
 * A signal that was given to one who never comes to know passes on to the next. */
#define RTI_MODULE "condition"
#include <orrery/rt/condition.h>

#include "base/marks.h"
#include "sync/line.h"
#include "sync/mutex.h"

struct rti_condition {
    uint32_t magic;
    struct rti_line line;
};

_Static_assert(sizeof(struct rti_condition) <= sizeof(rt_condition), "rt_condition is too small");
_Static_assert(_Alignof(struct rti_condition) <= _Alignof(rt_condition), "aligned too weakly");

#define CONDITION_MAGIC UINT32_C(0x646e6f63)

static const char condition_tag;
static const char condition_relock_tag;

static struct rti_condition *condition_of(rt_condition *storage)
{
    struct rti_condition *condition = (struct rti_condition *)(void *)storage;
    return condition != NULL && condition->magic == CONDITION_MAGIC ? condition : NULL;
}

/* RT_OK if there is a runtime and a condition. */
static RTI_ENTERING rt_status condition_check(rt_condition *storage)
{
    if (rti_worker_enter() == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    return condition_of(storage) != NULL ? RT_SUCCESS
                                         : (rt_status){RT_ERR_INVALID, "this is no condition"};
}

static void condition_left(struct rti_line *line, struct rti_line_waiter *waiter,
                           struct rti_list *wakes)
{
    if (waiter->result == RT_OK) {
        struct rti_line_waiter *next = rti_line_claim(line);
        if (next != NULL) {
            RT_SOMETIMES(true, "condition: a signal passed on");
            rti_line_serve(next, RT_OK, wakes);
        }
    }
}

rt_status rt_condition_init(rt_condition *storage)
{
    struct rti_worker *worker = rti_worker_enter();
    if (storage == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no storage"};
    }
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    struct rti_condition *condition = (struct rti_condition *)(void *)storage;
    *condition = (struct rti_condition){.magic = CONDITION_MAGIC};
    rti_line_init(&condition->line, worker->sched);
    return RT_SUCCESS;
}

rt_status rt_condition_deinit(rt_condition *storage)
{
    rt_status status = condition_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_condition *condition = condition_of(storage);
    rti_line_enter(&condition->line);
    bool is_idle = rti_line_first(&condition->line) == NULL;
    condition->magic = is_idle ? 0 : CONDITION_MAGIC;
    rti_line_leave_quietly(&condition->line);
    return is_idle ? RT_SUCCESS : (rt_status){RT_ERR_STATE, "somebody waits for it"};
}

/* The caller is in line: from here on a signal finds it. */
static void condition_let_go(struct rti_line_call *call)
{
    rti_mutex_release(call->linked_arg);
}

/* The second part: takes the mutex again, whatever `first` says, which is the result of it all. */
static rt_status condition_relock(struct rti_condition *condition, struct rti_mutex *mutex,
                                  struct rti_cx *cx, rt_status first)
{
    struct rti_line_call call;
    struct rti_cx_op op = {.what = &condition_relock_tag, .on = (uintptr_t)condition};
    rti_mutex_call(mutex, &call, op, RT_TIME_NEVER);
    call.cx = cx;
    call.want = (uint32_t)first.code;
    call.is_shielded = true;
    rt_status status = rti_mutex_take(mutex, &call);
    return RT_FAILED(status) ? status : first;
}

/* Is the poll context in this part of its wait? */
static bool condition_is_polling(const struct rti_condition *condition, struct rti_cx *cx,
                                 const void *tag)
{
    if (cx == NULL || cx->kind != RTI_CX_POLL) {
        return false;
    }
    const struct rti_poll_cx *poll = rti_cx_poll(cx);
    return poll->is_waiting && poll->op.what == tag && poll->op.on == (uintptr_t)condition;
}

/* A poll context that waits for the mutex again. */
static rt_status condition_poll_relock(struct rti_mutex *mutex, struct rti_cx *cx)
{
    const struct rti_poll_cx *poll = rti_cx_poll(cx);
    rt_status_code code = (rt_status_code)poll->line.want;
    rt_status first = {code, code == RT_OK ? NULL : rt_status_text(code)};
    struct rti_line_call call;
    rti_mutex_call(mutex, &call, poll->op, RT_TIME_NEVER);
    rt_status status = rti_line_begin(&call, (rt_cx *)(void *)cx);
    if (RT_FAILED(status)) {
        return status;
    }
    RT_ASSERT(call.is_served);
    status = rti_mutex_take(mutex, &call);
    return RT_FAILED(status) ? status : first;
}

/* Begins the first part; the caller holds the mutex. */
static rt_status condition_sleep(struct rti_condition *condition, struct rti_mutex *mutex,
                                 struct rti_line_call *call)
{
    if (!rti_mutex_is_held(mutex, call->cx, rti_worker_current())) {
        return (rt_status){RT_ERR_STATE, "the caller does not hold the mutex"};
    }
    rti_line_enter(&condition->line);
    rt_status status = rti_line_wait(call);
    return status.code == RT_ERR_WOULDBLOCK ? status
                                            : condition_relock(condition, mutex, call->cx, status);
}

rt_status rt_condition_wait_until(rt_condition *storage, rt_mutex *guard, rt_cx *given,
                                  rt_time deadline)
{
    rt_status status = condition_check(storage);
    struct rti_condition *condition = condition_of(storage);
    struct rti_mutex *mutex = rti_mutex_of(guard);
    struct rti_cx *cx = NULL;
    if (!RT_FAILED(status) && mutex == NULL) {
        status = (rt_status){RT_ERR_INVALID, "this is no mutex"};
    }
    if (!RT_FAILED(status)) {
        status = rti_cx_resolve(rti_worker_current(), given, &cx);
    }
    if (RT_FAILED(status)) {
        return status;
    }
    if (condition_is_polling(condition, cx, &condition_relock_tag)) {
        return condition_poll_relock(mutex, cx);
    }
    struct rti_line_call call = {.line = &condition->line,
                                 .op = {.what = &condition_tag, .on = (uintptr_t)condition},
                                 .deadline = deadline,
                                 .left = condition_left,
                                 .linked = condition_let_go,
                                 .linked_arg = mutex};
    bool is_back = condition_is_polling(condition, cx, &condition_tag);
    status = rti_line_begin(&call, given);
    if (is_back) {
        return status.code == RT_ERR_WOULDBLOCK ? status
                                                : condition_relock(condition, mutex, cx, status);
    }
    return RT_FAILED(status) ? status : condition_sleep(condition, mutex, &call);
}

rt_status rt_condition_wait(rt_condition *storage, rt_mutex *guard, rt_cx *given)
{
    return rt_condition_wait_until(storage, guard, given, RT_TIME_NEVER);
}

rt_status rt_condition_signal(rt_condition *storage)
{
    rt_status status = condition_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_condition *condition = condition_of(storage);
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_line_enter(&condition->line);
    struct rti_line_waiter *first = rti_line_claim(&condition->line);
    if (first != NULL) {
        rti_line_serve(first, RT_OK, &wakes);
    }
    rti_line_leave(&condition->line, &wakes);
    return RT_SUCCESS;
}

rt_status rt_condition_broadcast(rt_condition *storage)
{
    rt_status status = condition_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_condition *condition = condition_of(storage);
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_line_enter(&condition->line);
    rti_line_serve_all(&condition->line, RT_OK, &wakes);
    rti_line_leave(&condition->line, &wakes);
    return RT_SUCCESS;
}
