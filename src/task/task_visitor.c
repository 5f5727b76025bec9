/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_visitor"
#include "task/task_visitor.h"

#include "sched/visit.h"
#include "sched/visitor.h"
#include "task/task_state.h"
#include "task/tasks.h"

/* The `unlink` of a visitor's waiter: the handle stays in use. */
static void visitor_unlink(struct rti_waiter *waiter)
{
    struct rti_task *task = waiter->slot;
    if (task != NULL) {
        rti_task_to_unwatched(&task->life);
    }
}

/* Blocks until the task has ended: RT_OK. */
static rt_status visitor_await(struct rti_task *task, rt_time deadline)
{
    struct rti_visit visit;
    struct rti_waiter waiter;
    if (rti_task_is_complete(task)) {
        return RT_SUCCESS;
    }
    if (!rti_visit_begin(&visit, rti_tasks_with(task)->sched, RTI_REASON_JOIN)) {
        return rti_visit_evicted();
    }
    rti_wait_add(&visit.wait, &waiter, RTI_EVENT_SOURCE, visitor_unlink);
    if (!rti_task_watch(task, &waiter)) {
        waiter.slot = NULL;
        if (!rti_visit_end(&visit, RTI_EVENT_SOURCE)) {
            (void)rti_visit_park(&visit, RT_TIME_NEVER);
        }
        return RT_SUCCESS;
    }
    switch (rti_visit_park(&visit, deadline)) {
    case RTI_EVENT_SOURCE:
        return RT_SUCCESS;
    case RTI_EVENT_TIMEOUT:
        return (rt_status){RT_ERR_TIMEOUT, "the deadline came first"};
    default:
        return rti_visit_evicted();
    }
}

/* The handle is given up: nobody will hear how the task ends. */
static void visitor_release(struct rti_task *task)
{
    rti_task_consume(task);
    rti_task_release(task);
}

/* A join of any kind. Returns whether the handle was consumed. */
static bool visitor_join(struct rti_task *task, const struct rti_task_errand *errand,
                         rt_status *status)
{
    struct rti_tasks *tasks = rti_tasks_with(task);
    bool is_tentative = errand->verb == RTI_TASK_VERB_JOIN_UNTIL;
    *status = visitor_await(task, is_tentative ? errand->deadline : RT_TIME_NEVER);
    if (RT_FAILED(*status) && is_tentative) {
        rti_task_handle_lay_down(&task->handle);
        return false;
    }
    rti_tasks_count(tasks,
                    errand->verb == RTI_TASK_VERB_CANCEL ? RTI_TASKS_CANCELLED : RTI_TASKS_JOINED);
    if (RT_FAILED(*status)) {
        if (errand->result != NULL) {
            *errand->result = (rt_task_result){.outcome = RT_OUTCOME_CANCELLED, .has_ended = false};
        }
        visitor_release(task);
        return true;
    }
    if (errand->value != NULL) {
        *errand->value = task->fiber.arg;
    }
    *status = rti_task_take(task, errand->result);
    return true;
}

/* Does the errand with the handle in use; returns whether it was consumed. */
static bool visitor_run(struct rti_task *task, const struct rti_task_errand *errand,
                        rt_status *status)
{
    *status = RT_SUCCESS;
    switch (errand->verb) {
    case RTI_TASK_VERB_DETACH:
        rti_tasks_count(rti_tasks_with(task), RTI_TASKS_DETACHED);
        visitor_release(task);
        return true;
    case RTI_TASK_VERB_CANCEL:
        rti_task_to_cancelled(task);
        return visitor_join(task, errand, status);
    case RTI_TASK_VERB_ASK_CANCEL: /* does not use it */
    case RTI_TASK_VERB_JOIN:
    case RTI_TASK_VERB_JOIN_UNTIL:
        break;
    }
    return visitor_join(task, errand, status);
}

rt_status rti_task_visit(const struct rti_task_errand *errand, bool *is_consumed)
{
    struct rti_sched *sched = rti_visitor_enter();
    if (sched == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    struct rti_tasks *tasks = sched->modules[RTI_MODULE_TASK];
    rt_status status = RT_SUCCESS;
    bool is_over = false;
    if (errand->verb == RTI_TASK_VERB_ASK_CANCEL) {
        if (tasks == NULL || !rti_tasks_ask_cancel(tasks, errand->handle)) {
            status = (rt_status){RT_ERR_INVALID, "this is no handle, or it is consumed"};
        }
    } else {
        struct rti_task *task = rti_tasks_use(tasks, errand->handle, &status);
        is_over = task != NULL && visitor_run(task, errand, &status);
    }
    if (is_consumed != NULL) {
        *is_consumed = is_over;
    }
    rti_visitor_leave();
    return status;
}

bool rti_task_visit_has_ended(const rt_task *handle)
{
    struct rti_sched *sched = rti_visitor_enter();
    if (sched == NULL) {
        return false;
    }
    const struct rti_task *task = rti_tasks_find(sched->modules[RTI_MODULE_TASK], handle);
    bool has_ended = task != NULL && rti_task_is_complete(task);
    rti_visitor_leave();
    return has_ended;
}
