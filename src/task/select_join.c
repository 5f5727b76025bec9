/* SPDX-License-Identifier: Apache-2.0 */
/* The arm of a select that joins a task; the manual is <orrery/rt/arm.h>.
 *
 * The holder of a handle is one at a time, and so is the watcher of a task: two arms of one select
 * cannot wait for the same one. An arm that is chosen has taken the task, whose slot may be
 * another's when the waiters are unlinked: so its waiter forgets the task then. */
#define RTI_MODULE "select_join"
#include <orrery/rt/arm.h>

#include "sync/select.h"
#include "task/tasks.h"

/* The task that the arm's handle names now. */
static struct rti_task *join_arm_task(const struct rti_arm *arm)
{
    rt_task *const *handle = arm->on;
    return *handle == NULL ? NULL : rti_task_lookup(rti_worker_current(), *handle);
}

/* Takes the result of a task that has ended. */
static rt_status join_arm_take(struct rti_arm *arm, struct rti_task *task)
{
    rt_task **handle = arm->on;
    void **out_value = arm->value;
    rti_tasks_count(task->tasks, &task->tasks->joined);
    if (out_value != NULL) {
        *out_value = task->value;
    }
    *handle = NULL;
    return rti_task_take(task, NULL);
}

static rt_status join_attempt(struct rti_arm *arm, struct rti_sched *sched)
{
    rt_task *const *handle = arm->on;
    (void)sched;
    if (*handle == NULL) {
        return (rt_status){RT_ERR_WOULDBLOCK, NULL};
    }
    struct rti_task *task = join_arm_task(arm);
    if (task == NULL) {
        return (rt_status){RT_ERR_INVALID, "this is no handle, or it is consumed"};
    }
    if (rti_task_is_awaited(task)) {
        return (rt_status){RT_ERR_INVALID, "another waits for the task with this handle"};
    }
    return rti_task_is_complete(task) ? join_arm_take(arm, task)
                                      : (rt_status){RT_ERR_WOULDBLOCK, NULL};
}

static enum rti_arm_join join_join(struct rti_arm *arm, struct rti_select *select)
{
    struct rti_task *task = join_arm_task(arm);
    if (task == NULL) {
        return RTI_ARM_LINKED;
    }
    rti_wait_add(select->wait, &arm->waiter, rti_arm_event(arm, select), rti_task_unwatch);
    if (rti_task_watch(task, &arm->waiter)) {
        return RTI_ARM_LINKED;
    }
    /* It has ended since the first round. */
    arm->waiter.slot = NULL;
    return rti_wait_claim(select->wait, arm->waiter.event) ? RTI_ARM_CHOSEN : RTI_ARM_LINKED;
}

static bool join_collect(struct rti_arm *arm, struct rti_sched *sched, rt_status *status)
{
    (void)sched;
    struct rti_task *task = join_arm_task(arm);
    RT_ASSERT(task != NULL && rti_task_is_complete(task));
    arm->waiter.slot = NULL;
    rti_u8_store_relaxed(&task->awaited, 0);
    *status = join_arm_take(arm, task);
    return true;
}

static const void *join_own(const struct rti_arm *arm, struct rti_sched *sched)
{
    (void)sched;
    return join_arm_task(arm);
}

static const struct rti_arm_ops join_ops = {
    .attempt = join_attempt, .join = join_join, .collect = join_collect, .own = join_own};

void rt_arm_join(rt_select_arm *arm, rt_task **task, void **out_value)
{
    rti_arm_init(rti_arm_of(arm), task == NULL ? NULL : &join_ops, task, out_value);
}
