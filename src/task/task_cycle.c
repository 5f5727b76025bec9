/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_cycle"
#include "task/task_cycle.h"

#include "task/task_report.h"
#include "task/tasks.h"

static RTI_COLD void cycle_tell(const struct rti_task *waiter, const struct rti_task *target)
{
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "deadlock: task ");
    rti_task_remark_name(&line, waiter);
    rti_task_remark_chain(&line, waiter);
    for (const struct rti_task *at = target; at != waiter; at = rti_task_joined(at)) {
        rti_port_log(line.text);
        rti_remark_init(&line);
        rti_remark_add(&line, "deadlock:   waits for task ");
        rti_task_remark_name(&line, at);
        rti_task_remark_chain(&line, at);
    }
    rti_remark_add(&line, "; which waits for the first");
    rti_port_log(line.text);
}

/* Do the notes lead from `target` to `waiter`? */
static bool cycle_closes(const struct rti_task *waiter, const struct rti_task *target)
{
    const struct rti_task *at = target;
    for (size_t steps = 0; at != NULL && steps <= rti_tasks_with(waiter)->capacity; steps++) {
        if (at == waiter) {
            return true;
        }
        at = rti_task_joined(at);
    }
    return false;
}

static bool cycle_is_noted(const struct rti_task *waiter)
{
    return waiter != NULL && (RT_CHECKS || rti_tasks_with(waiter)->sched->is_local);
}

rt_status rti_task_join_begin(struct rti_task *waiter, struct rti_task *target, rt_time deadline)
{
    if (!cycle_is_noted(waiter) || deadline != RT_TIME_NEVER) {
        return RT_SUCCESS;
    }
    struct rti_tasks *tasks = rti_tasks_with(waiter);
    RT_ASSERT(waiter->joins == 0);
    rti_lock_acquire(&tasks->lock, tasks->sched);
    bool is_circle = target->joins != 0 && cycle_closes(waiter, target);
    is_circle = is_circle || target == waiter;
    if (!is_circle) {
        waiter->joins = rti_task_index(target) + 1;
    }
    rti_lock_release(&tasks->lock);
    if (RTI_LIKELY(!is_circle)) {
        return RT_SUCCESS;
    }
    cycle_tell(waiter, target);
    return (rt_status){RT_ERR_DEADLOCK, "the task waits, perhaps through others, for the caller"};
}

void rti_task_join_end(struct rti_task *waiter)
{
    if (cycle_is_noted(waiter)) {
        rti_lock_acquire(&rti_tasks_with(waiter)->lock, rti_tasks_with(waiter)->sched);
        waiter->joins = 0;
        rti_lock_release(&rti_tasks_with(waiter)->lock);
    }
}
