/* SPDX-License-Identifier: Apache-2.0 */
/* End of tasks; the essay is in task.h. Their birth is in task.c. */
#define RTI_MODULE "task_end"
#include "task/task.h"

#include "base/marks.h"
#include "sched/fault.h"
#include "sched/fiber_life.h"
#include "sync/region.h"
#include "task/task_cycle.h"
#include "task/task_foresee.h"
#include "task/task_hooks.h"
#include "task/task_report.h"
#include "task/tasks.h"

/* Says how it ends; `site` is NULL if it did not say so itself. */
static void task_set_message(struct rti_task *task, const rt_site *site, const char *message)
{
    struct rti_task_annex *annex = rti_task_annex(task);
    size_t length = 0;
    task->has_message = true;
    annex->panic_site = site;
    while (message != NULL && length < RTI_TASK_MESSAGE_MAX && message[length] != '\0') {
        annex->message[length] = message[length];
        length++;
    }
    annex->message[length] = '\0';
}

_Noreturn void rt_panic_task_at(const rt_site *site, const char *message)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_task *task = rti_task_of(worker);
    if (task == NULL) {
        rti_undertaker_panic(worker, site, message);
        rti_panic(RTI_MODULE, __LINE__, "rt_panic_task outside of a task");
    }
    if (!task->is_panicking) {
        task->is_panicking = true;
        task_set_message(task, site, message);
    } else {
        rti_task_report_hook(task, site, message);
    }
    /* If a hook panics it is over, and the rest of them run. */
    if (rti_task_has_duties(task)) {
        rti_task_run_hooks(task);
    }
    rti_fiber_exit(rti_worker_current());
}

/* How the task came out, from how its fiber did, if its function has not returned. */
static rt_outcome task_outcome(struct rti_task *task)
{
    switch ((enum rti_fiber_end)task->fiber.end) {
    case RTI_FIBER_RETURNED:
        return rti_cx_outcome(&task->cx);
    case RTI_FIBER_EXITED:
        return RT_OUTCOME_PANICKED;
    case RTI_FIBER_KILLED:
        if (task->is_panicking || task->has_value) {
            break;
        }
        task_set_message(task, NULL, "killed");
        return RT_OUTCOME_CANCELLED;
    case RTI_FIBER_OVERFLOWED:
        task_set_message(task, NULL, "stack overflow");
        return RT_OUTCOME_PANICKED;
    case RTI_FIBER_FAULTED:
        task_set_message(task, NULL, rti_fault_name((enum rti_fault_kind)task->fiber.fault));
        return RT_OUTCOME_PANICKED;
    }
    return task->is_panicking ? RT_OUTCOME_PANICKED : rti_cx_outcome(&task->cx);
}

/* The same, for a task whose function has not come to its end, or whose last hook has not. */
static RTI_NOINLINE rt_outcome task_outcome_of_break(struct rti_task *task)
{
    task->hook_depth = 0;
    if (!task->has_value) {
        task->fiber.arg = NULL; /* that of the slot's last life may still be there */
    }
    return task_outcome(task);
}

/* The end tells who waits for it. The task is the holder's from rti_task_to_told on, the waiter
 * until it is woken. */
static RTI_NOINLINE void task_tell(struct rti_task *task)
{
    struct rti_waiter *watcher = task->watcher;
    RT_ASSERT(watcher != NULL && watcher->slot == task);
    bool is_won = rti_wait_claim(watcher->wait, watcher->event);
    RT_SOMETIMES(!is_won, "task: the watcher was woken by something else first");
    bool is_behind = !task->life.is_local && watcher->wait->wake == rti_fiber_wake;
    rti_task_to_told(&task->life);
    if (is_won && is_behind) {
        /* Those that are ready here are likely to be who it joins next. */
        rti_fiber_wake_behind(watcher->wait);
    } else if (is_won) {
        rti_waiter_wake(watcher);
    }
}

/* The end of one that is held and nobody waits for, by who works alone: false if it is any other
 * case, and nothing has changed. */
static RTI_ALWAYSINLINE bool task_complete_shared(struct rti_worker *worker, struct rti_task *task)
{
    bool is_solo = rti_solo_begin(worker);
    bool is_complete = is_solo && rti_task_to_complete_alone(&task->life);
    rti_solo_finish(worker, is_solo);
    return is_complete;
}

static RTI_ALWAYSINLINE void task_conclude(struct rti_task *task, rt_outcome outcome, bool is_local)
{
    struct rti_tasks *tasks = rti_tasks_with(task);
    RT_DCHECK(!rti_task_has_duties(task) && (rt_outcome)task->outcome == outcome);
    /* Counted before it leaves its region: who waits for the last of that sees the count. */
    struct rti_worker *worker = is_local ? NULL : rti_worker_here();
    struct rti_task_desk *desk = is_local ? NULL : rti_tasks_desk(tasks, worker);
    rti_tasks_count_at(tasks, desk, RTI_TASKS_COMPLETED, is_local);
    if (outcome == RT_OUTCOME_PANICKED) {
        rti_tasks_count(tasks, RTI_TASKS_PANICKED);
    }
    rti_cx_end_fiber(&task->cx, &task->fiber, outcome, is_local);
    rti_task_give_stack(task, is_local);
    if (is_local && RTI_LIKELY(rti_task_life(&task->life) == RTI_TASK_HELD)) {
        rti_task_to_complete_here(&task->life);
        return;
    }
    if (!is_local && RTI_LIKELY(task_complete_shared(worker, task))) {
        return;
    }
    switch (rti_task_to_ended(&task->life)) {
    case RTI_TASK_END_LEAVE:
        break;
    case RTI_TASK_END_TELL:
        task_tell(task);
        break;
    case RTI_TASK_END_FREE:
        rti_task_report_unheard(task);
        rti_tasks_give(tasks, task);
        break;
    }
}

void rti_task_conclude(struct rti_task *task)
{
    RT_ASSERT(!rti_task_has_duties(task));
    task_conclude(task, (rt_outcome)task->outcome, false);
}

/* The end of a task in every way. */
static RTI_NOINLINE void task_on_done_any(struct rti_task *task)
{
    struct rti_fiber *fiber = &task->fiber;
    rt_outcome outcome =
        fiber->end == RTI_FIBER_RETURNED ? rti_cx_outcome(&task->cx) : task_outcome_of_break(task);
    task->outcome = (uint8_t)outcome;
    fiber->cancel = NULL;
    if (RTI_UNLIKELY(task->joins != 0)) {
        rti_task_join_end(task);
    }
    if (RTI_UNLIKELY(rti_task_has_duties(task))) {
        rti_task_bury(task);
        return;
    }
    task_conclude(task, outcome, task->life.is_local);
}

/* The end of a task that has returned and has no duties, with several workers. */
static RTI_NOINLINE void task_on_done_shared(struct rti_task *task)
{
    if (RTI_UNLIKELY(rti_cx_outcome(&task->cx) != RT_OUTCOME_OK)) {
        task_on_done_any(task);
        return;
    }
    RT_DCHECK(task->joins == 0);
    task->fiber.cancel = NULL;
    task_conclude(task, RT_OUTCOME_OK, false);
}

static void task_on_done(struct rti_fiber *fiber)
{
    struct rti_task *task = RTI_CONTAINER_OF(fiber, struct rti_task, fiber);
    /* The common case: it has returned, was not cancelled and has no duties. */
    bool is_plain = fiber->end == RTI_FIBER_RETURNED && RTI_LIKELY(!fiber->is_hindered) &&
                    RTI_LIKELY(task->cx.outcome == RT_OUTCOME_OK) &&
                    RTI_LIKELY(!rti_task_has_duties(task));
    if (RTI_UNLIKELY(!is_plain)) {
        task_on_done_any(task);
    } else if (RTI_LIKELY(task->life.is_local)) {
        /* Who is not hindered was not cancelled; who joins and returns has left the join. */
        RT_DCHECK(rti_cx_outcome(&task->cx) == RT_OUTCOME_OK && task->joins == 0);
        fiber->cancel = NULL;
        task_conclude(task, RT_OUTCOME_OK, true);
    } else {
        task_on_done_shared(task);
    }
}

#if !RTI_ONE_WORKER
/* Does nobody wait for its end, and is there nothing to do at it but to say so? */
static RTI_ALWAYSINLINE bool task_ends_simply(const struct rti_task *task)
{
    return RTI_LIKELY(rti_cx_outcome(&task->cx) == RT_OUTCOME_OK) &&
           RTI_LIKELY(!rti_task_has_duties(task)) &&
           rti_cx_ends_simply(&task->cx, &task->fiber, false) &&
           RTI_LIKELY(rti_task_life(&task->life) == RTI_TASK_HELD);
}

/* The end of a task with several workers, in the common case and by who works alone. */
static bool task_end_alone(struct rti_fiber *fiber, struct rti_worker *worker)
{
    struct rti_task *task = RTI_CONTAINER_OF(fiber, struct rti_task, fiber);
    if (RTI_UNLIKELY(!task_ends_simply(task))) {
        return false;
    }
    RT_DCHECK(fiber->end == RTI_FIBER_RETURNED && task->outcome == RT_OUTCOME_OK);
    RT_DCHECK(task->joins == 0);
    rti_task_foresee_second(worker->station);
    rti_fiber_depart_alone(fiber);
    fiber->cancel = NULL;
    rti_cx_end_simply(&task->cx);
    rti_task_count_own(&rti_tasks_desk_at(worker->station)->counts[RTI_TASKS_COMPLETED]);
    rti_task_to_complete_seen(&task->life);
    return true;
}

#endif

const struct rti_fiber_kind rti_task_kind = {
    .main = rti_task_main,
    .on_done = task_on_done,
#if !RTI_ONE_WORKER
    .end_alone = task_end_alone,
#endif
};

void rti_task_kill(struct rti_task *task)
{
    /* Whoever it should have joined could not be: no handle counts as lost any more. */
    rti_tasks_with(task)->is_cut_short = true;
    if (task->hook_depth > 0) {
        task->is_doomed = true;
        return;
    }
    (void)rti_fiber_kill(rti_tasks_with(task)->sched, &task->fiber);
}
