/* SPDX-License-Identifier: Apache-2.0 */
/* What the holder of a handle does; the manual is <orrery/rt/task.h>, the race is in task_life.h.
 */
#define RTI_MODULE "task_join"
#include "task/task.h"

#include <string.h>

#include "task/task_cycle.h"
#include "task/task_report.h"
#include "task/task_state.h"
#include "task/task_visitor.h"
#include "task/tasks.h"

static const rt_status join_no_handle = {RT_ERR_INVALID, "this is no handle, or it is consumed"};

bool rti_task_watch(struct rti_task *task, struct rti_waiter *waiter)
{
    struct rti_sched *sched = rti_tasks_with(task)->sched;
    waiter->slot = task;
    task->watcher = waiter;
    /* Its end may be that of who works alone. */
    bool is_guest = !rti_sched_is_local(sched) && rti_solo_knock(sched);
    bool is_watched = rti_task_to_watched(&task->life);
    rti_solo_go(sched, is_guest);
    return is_watched;
}

void rti_task_unwatch(struct rti_waiter *waiter)
{
    struct rti_task *task = waiter->slot;
    if (task == NULL) {
        return;
    }
    rti_task_to_unwatched(&task->life);
    if (RTI_LIKELY(!task->is_staked)) {
        rti_task_handle_lay_down(&task->handle);
        return;
    }
    task->is_staked = false;
    rti_task_consume(task);
    rti_task_release(task);
}

rt_status rti_task_status(const struct rti_task *task)
{
    switch ((rt_outcome)task->outcome) {
    case RT_OUTCOME_OK:
    case RT_OUTCOME_ERR:
        return RT_SUCCESS;
    case RT_OUTCOME_CANCELLED:
        return (rt_status){RT_ERR_CANCELLED, "the task was cancelled"};
    case RT_OUTCOME_PANICKED:
        break;
    }
    return (rt_status){RT_ERR_PANICKED, "the task panicked: rt_join_result tells more"};
}

static void join_fill(const struct rti_task *task, rt_task_result *result)
{
    const struct rti_task_annex *annex = task->has_message ? rti_task_annex(task) : NULL;
    const rt_site *site =
        annex != NULL && annex->panic_site != NULL ? annex->panic_site : rti_task_site(task);
    *result = (rt_task_result){.outcome = (rt_outcome)task->outcome,
                               .has_ended = true,
                               .value = task->fiber.arg,
                               .site = *site};
    _Static_assert(sizeof(result->message) == sizeof(annex->message), "a message fits");
    if (annex != NULL) {
        memcpy(result->message, annex->message, sizeof(result->message));
    }
}

rt_status rti_task_take(struct rti_task *task, rt_task_result *result)
{
    RT_ASSERT(rti_task_is_complete(task));
    rt_status status =
        RTI_LIKELY(task->outcome == RT_OUTCOME_OK) ? RT_SUCCESS : rti_task_status(task);
    if (result != NULL) {
        join_fill(task, result);
    }
    rti_task_consume(task);
    rti_task_to_free(&task->life);
    rti_tasks_give(rti_tasks_with(task), task);
    return status;
}

void rti_task_release(struct rti_task *task)
{
    struct rti_tasks *tasks = rti_tasks_with(task);
    RT_ASSERT(rti_size_load_relaxed(&task->handle) == 0);
    /* Its end may be that of who works alone. */
    bool is_guest = !rti_sched_is_local(tasks->sched) && rti_solo_knock(tasks->sched);
    bool is_released = rti_task_to_released(&task->life);
    rti_solo_go(tasks->sched, is_guest);
    if (!is_released) {
        rti_task_report_unheard(task);
        rti_task_to_free(&task->life);
        rti_tasks_give(tasks, task);
    }
}

/* What a join comes with. */
struct join {
    rt_time deadline;
    bool is_for_good; /* the handle is consumed, whatever becomes of the caller */
};

static const struct join join_for_good = {.deadline = RT_TIME_NEVER, .is_for_good = true};

/* The wait is over and its owner goes on, with the handle in use: its waiter has nothing to undo.
 */
static inline void join_keep(struct rti_task *task, struct rti_waiter *waiter)
{
    task->is_staked = false;
    waiter->slot = NULL;
}

/* One wait for the end. RT_OK: it has come. */
static rt_status join_park(struct rti_worker *worker, struct rti_task *task, struct join join)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_cx_events events;
    struct rti_cx *cx = rti_fiber_cx(worker->fiber);
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_JOIN;
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_task_unwatch);
    rti_cx_events_add(&events, cx, worker->sched, &wait, join.deadline);
    task->is_staked = join.is_for_good;
    if (!rti_task_watch(task, &waiter)) {
        if (!rti_wait_claim(&wait, RTI_EVENT_SOURCE)) {
            /* Somebody else ends the wait, and a wake is on its way: it must find the wait. */
            (void)rti_fiber_park_open(worker, &wait);
        }
        join_keep(task, &waiter);
        rti_wait_finish(&wait);
        return RT_SUCCESS;
    }
    uint32_t event = rti_fiber_park_open(worker, &wait);
    rti_task_to_unwatched(&task->life);
    join_keep(task, &waiter);
    rti_wait_finish(&wait);
    return event == RTI_EVENT_SOURCE ? RT_SUCCESS : rti_cx_events_status(&events, cx, event);
}

/* Waits for the end as long as the caller may. RT_OK: it has come. */
static rt_status join_await(struct rti_worker *worker, struct rti_task *task, struct join join)
{
    if (rti_task_is_complete(task)) {
        return RT_SUCCESS;
    }
    if (worker->fiber == NULL) {
        return (rt_status){RT_ERR_WOULDBLOCK, "the task has not ended and the caller cannot wait"};
    }
    struct rti_cx *cx = rti_fiber_cx(worker->fiber);
    rt_status status = cx == NULL ? RT_SUCCESS : rti_cx_checkpoint(cx);
    if (!RT_FAILED(status)) {
        status = rti_task_join_begin(rti_task_of(worker), task, join.deadline);
    }
    if (RT_FAILED(status)) {
        return status;
    }
    status = join_park(worker, task, join);
    rti_task_join_end(rti_task_of(rti_worker_current()));
    return status;
}

/* The wait for the task ended with `why` before the task did, and nobody takes the result: it goes
 * on alone, and is asked to stop if that is what became of the caller. */
static rt_status join_abandon(struct rti_task *task, rt_status why)
{
    if (why.code != RT_ERR_WOULDBLOCK && why.code != RT_ERR_DEADLOCK) {
        rti_task_to_cancelled(task);
    }
    rti_task_consume(task);
    rti_task_release(task);
    return why;
}

/* The calling thread has no tasks of its own: it is no worker, or its runtime has none. */
static RTI_COLD rt_status join_visit(const struct rti_task_errand *errand)
{
    return rti_task_visit(errand, NULL);
}

static RTI_COLD rt_status join_visit_until(rt_task **handle, void **value, rt_time deadline)
{
    bool is_consumed = false;
    const struct rti_task_errand errand = {.verb = RTI_TASK_VERB_JOIN_UNTIL,
                                           .handle = handle == NULL ? NULL : *handle,
                                           .value = value,
                                           .deadline = deadline};
    rt_status status = rti_task_visit(&errand, &is_consumed);
    if (is_consumed) {
        *handle = NULL;
    }
    return status;
}

rt_status rt_join_result(rt_task *handle, rt_task_result *result)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_tasks *tasks = rti_tasks_of(worker);
    if (tasks == NULL) {
        return join_visit(&(struct rti_task_errand){
            .verb = RTI_TASK_VERB_JOIN, .handle = handle, .result = result});
    }
    rt_status status;
    struct rti_task *task = rti_tasks_use(tasks, handle, &status);
    if (task == NULL) {
        return status;
    }
    rti_tasks_count(tasks, RTI_TASKS_JOINED);
    status = join_await(worker, task, join_for_good);
    if (RTI_LIKELY(!RT_FAILED(status))) {
        return rti_task_take(task, result);
    }
    if (result != NULL) {
        *result = (rt_task_result){.outcome = RT_OUTCOME_CANCELLED, .has_ended = false};
    }
    return join_abandon(task, status);
}

/* The part of a join that may wait. */
static rt_status join_wait(struct rti_worker *worker, struct rti_task *task, void **value)
{
    rt_status status = join_await(worker, task, join_for_good);
    if (RTI_UNLIKELY(RT_FAILED(status))) {
        return join_abandon(task, status);
    }
    if (value != NULL) {
        *value = task->fiber.arg;
    }
    return rti_task_take(task, NULL);
}

/* Consumes the handle of a task that has ended, which is the caller's then. False: it has not
 * ended, or this is not the handle, or another has it in use. Holder of a station. */
static RTI_ALWAYSINLINE bool join_consume(struct rti_worker *worker, struct rti_task *task,
                                          uintptr_t number)
{
    bool is_solo = rti_solo_begin(worker);
    bool is_taken = rti_task_handle_is(&task->handle, number) && rti_task_is_complete(task) &&
                    (is_solo ? rti_task_handle_take_alone(&task->handle, number)
                             : rti_task_handle_take(&task->handle, number));
    rti_solo_finish(worker, is_solo);
    return is_taken;
}

/* Joins a task that has ended, with several workers. False: it has not, or this is not the handle,
 * or another has it in use, or the caller holds no station. */
static RTI_ALWAYSINLINE bool join_ended(struct rti_worker *worker, struct rti_tasks *tasks,
                                        rt_task *handle, void **value, rt_status *status)
{
    struct rti_task *task = rti_tasks_place(tasks, handle);
    struct rti_task_desk *desk = rti_tasks_desk(tasks, worker);
    if (RTI_UNLIKELY(task == NULL) || RTI_UNLIKELY(task->life.is_local) ||
        RTI_UNLIKELY(desk == NULL) ||
        RTI_UNLIKELY(!join_consume(worker, task, (uintptr_t)handle))) {
        return false;
    }
    rti_tasks_count_at(tasks, desk, RTI_TASKS_JOINED, false);
    *status = RTI_LIKELY(task->outcome == RT_OUTCOME_OK) ? RT_SUCCESS : rti_task_status(task);
    if (value != NULL) {
        *value = task->fiber.arg;
    }
    rti_task_to_free(&task->life);
    rti_tasks_give_at(tasks, desk, task);
    return true;
}

/* The same of one that has not ended, or did not end well with one worker, or is none. */
static RTI_NOINLINE rt_status join_going(struct rti_worker *worker, struct rti_tasks *tasks,
                                         rt_task *handle, void **value)
{
    if (RTI_UNLIKELY(tasks == NULL)) {
        return join_visit(&(struct rti_task_errand){
            .verb = RTI_TASK_VERB_JOIN, .handle = handle, .value = value});
    }
    rt_status status;
    struct rti_task *task = rti_tasks_use(tasks, handle, &status);
    if (RTI_UNLIKELY(task == NULL)) {
        return status;
    }
    rti_tasks_count(tasks, RTI_TASKS_JOINED);
    return join_wait(worker, task, value);
}

/* rt_join in every way. */
static RTI_NOINLINE rt_status join_any(rt_task *handle, void **value)
{
    struct rti_worker *worker = rti_worker_here();
    struct rti_tasks *tasks = rti_tasks_of(worker);
    rt_status status;
    if (RTI_LIKELY(tasks != NULL) && join_ended(worker, tasks, handle, value, &status)) {
        return status;
    }
    return join_going(worker, tasks, handle, value);
}

#if RT_MAX_WORKERS > 1
/* Consumes the handle of a task that has ended well, in a section. False: it is any other case. */
static RTI_ALWAYSINLINE bool join_consume_alone(struct rti_task *task, uintptr_t number)
{
    return RTI_LIKELY(rti_task_is_complete(task)) && RTI_LIKELY(task->outcome == RT_OUTCOME_OK) &&
           RTI_LIKELY(rti_task_handle_take_alone(&task->handle, number));
}

/* The common case with several workers: the caller works alone, the task has ended well, and there
 * is room for its slot in the rack. Whatever else it is, nothing has changed. Nothing is called
 * that comes back: no register has to be saved. */
static RTI_NOINLINE rt_status join_alone(rt_task *handle, void **value, struct rti_worker *worker)
{
    if (RTI_UNLIKELY(worker == NULL) || RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return join_any(handle, value);
    }
    struct rti_tasks *tasks = rti_tasks_of(worker);
    struct rti_task_desk *desk = rti_tasks_desk_at(worker->station);
    struct rti_task_rack *rack = rti_tasks_rack(tasks, desk);
    struct rti_task *task = rti_tasks_place(tasks, handle);
    if (RTI_UNLIKELY(task == NULL) || RTI_UNLIKELY(rack == NULL) ||
        RTI_UNLIKELY(rti_task_rack_is_full(rack)) ||
        RTI_UNLIKELY(!join_consume_alone(task, (uintptr_t)handle))) {
        rti_solo_leave(worker);
        return join_any(handle, value);
    }
    /* Who asks with a copy is a guest, and there is none (task_asker.h). */
    RT_DCHECK(!rti_task_asker_is_at(&tasks->asker, task));
    void *result = task->fiber.arg;
    rti_task_to_free_here(&task->life);
    RT_DCHECK(!task->has_message);
    rti_task_rack_add(rack, task);
    rti_task_count_own(&desk->counts[RTI_TASKS_JOINED]);
    rti_solo_leave(worker);
    if (value != NULL) {
        *value = result;
    }
    return RT_SUCCESS;
}
#endif

rt_status rt_join(rt_task *handle, void **value)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_tasks *tasks = worker == NULL ? NULL : worker->straight[RTI_MODULE_TASK];
#if RT_MAX_WORKERS > 1
    if (RTI_UNLIKELY(tasks == NULL)) {
        return join_alone(handle, value, worker);
    }
#endif
    struct rti_task *task = rti_tasks_place(tasks, handle);
    /* The common case: it has ended well, and nobody has the handle in use. */
    if (RTI_UNLIKELY(task == NULL) ||
        RTI_UNLIKELY(rti_size_load_relaxed(&task->handle) != (uintptr_t)handle) ||
        RTI_UNLIKELY(!rti_task_is_complete(task)) || RTI_UNLIKELY(task->outcome != RT_OUTCOME_OK)) {
        return join_any(handle, value);
    }
    rti_tasks_count_at(tasks, NULL, RTI_TASKS_JOINED, true);
    if (value != NULL) {
        *value = task->fiber.arg;
    }
    rti_size_store_relaxed(&task->handle, 0);
    rti_task_to_free_here(&task->life);
    RT_DCHECK(!task->has_message);
    rti_tasks_push(tasks, task);
    return RT_SUCCESS;
}

rt_status rt_join_until(rt_task **handle, void **value, rt_time deadline)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_tasks *tasks = rti_tasks_of(worker);
    if (tasks == NULL) {
        return join_visit_until(handle, value, deadline);
    }
    rt_status status;
    struct rti_task *task = rti_tasks_use(tasks, handle == NULL ? NULL : *handle, &status);
    if (task == NULL) {
        return status;
    }
    status = join_await(worker, task, (struct join){.deadline = deadline});
    if (RT_FAILED(status)) {
        rti_task_handle_lay_down(&task->handle);
        return status;
    }
    if (value != NULL) {
        *value = task->fiber.arg;
    }
    *handle = NULL;
    rti_tasks_count(tasks, RTI_TASKS_JOINED);
    return rti_task_take(task, NULL);
}

rt_status rt_detach(rt_task *handle)
{
    struct rti_tasks *tasks = rti_tasks_of(rti_worker_enter());
    if (tasks == NULL) {
        return join_visit(
            &(struct rti_task_errand){.verb = RTI_TASK_VERB_DETACH, .handle = handle});
    }
    rt_status status;
    struct rti_task *task = rti_tasks_use(tasks, handle, &status);
    if (task == NULL) {
        return status;
    }
    rti_tasks_count(tasks, RTI_TASKS_DETACHED);
    rti_task_consume(task);
    rti_task_release(task);
    return RT_SUCCESS;
}

rt_status rt_cancel(rt_task *handle, void **value)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_tasks *tasks = rti_tasks_of(worker);
    if (tasks == NULL) {
        return join_visit(&(struct rti_task_errand){
            .verb = RTI_TASK_VERB_CANCEL, .handle = handle, .value = value});
    }
    rt_status status;
    struct rti_task *task = rti_tasks_use(tasks, handle, &status);
    if (task == NULL) {
        return status;
    }
    rti_tasks_count(tasks, RTI_TASKS_CANCELLED);
    rti_task_to_cancelled(task);
    status = join_await(worker, task, join_for_good);
    if (RT_FAILED(status)) {
        rti_task_consume(task);
        rti_task_release(task);
        return status;
    }
    if (value != NULL) {
        *value = task->fiber.arg;
    }
    return rti_task_take(task, NULL);
}

bool rt_task_has_ended(const rt_task *handle)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL) {
        return rti_task_visit_has_ended(handle);
    }
    const struct rti_task *task = rti_task_lookup(worker, handle);
    return task != NULL && rti_task_is_complete(task);
}

rt_status rt_task_ask_cancel(const rt_task *handle)
{
    struct rti_tasks *tasks = rti_tasks_of(rti_worker_enter());
    if (tasks == NULL) {
        return join_visit(
            &(struct rti_task_errand){.verb = RTI_TASK_VERB_ASK_CANCEL, .handle = handle});
    }
    return rti_tasks_ask_cancel(tasks, handle) ? RT_SUCCESS : join_no_handle;
}

bool rt_cancelled(void)
{
    struct rti_fiber *fiber = rti_fiber_enter();
    struct rti_cx *cx = fiber == NULL ? NULL : rti_fiber_cx(fiber);
    if (cx == NULL || !rti_cancel_is_requested(&cx->cancel)) {
        return false;
    }
    (void)rti_cx_see_cancel(cx);
    return true;
}
