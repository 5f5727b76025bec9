/* SPDX-License-Identifier: Apache-2.0 */
/* The arm of a select that joins a task; the manual is <orrery/rt/arm.h>.
 *
 * The holder of a handle is one at a time, and so is the watcher of a task: two arms of one select
 * cannot wait for the same one. An arm has its handle in use from when it is linked until it is
 * unlinked, or taken: what an arm that is chosen has taken may be another's when the waiters are
 * unlinked, so its waiter forgets the task then. */
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

/* The same, with its handle in use; NULL: *why says why not. */
static struct rti_task *join_arm_use(const struct rti_arm *arm, rt_status *why)
{
    rt_task *const *handle = arm->on;
    return rti_tasks_use(rti_tasks_of(rti_worker_current()), *handle, why);
}

/* Takes the result of a task that has ended, with the handle in use. */
static rt_status join_arm_take(struct rti_arm *arm, struct rti_task *task)
{
    rt_task **handle = arm->on;
    void **out_value = arm->value;
    rti_tasks_count(rti_tasks_with(task), RTI_TASKS_JOINED);
    if (out_value != NULL) {
        *out_value = task->fiber.arg;
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
    rt_status status;
    struct rti_task *task = join_arm_use(arm, &status);
    if (task == NULL) {
        return status;
    }
    if (rti_task_is_complete(task)) {
        return join_arm_take(arm, task);
    }
    rti_task_handle_lay_down(&task->handle);
    return (rt_status){RT_ERR_WOULDBLOCK, NULL};
}

static enum rti_arm_join join_join(struct rti_arm *arm, struct rti_select *select)
{
    rt_task *const *handle = arm->on;
    rt_status why;
    if (*handle == NULL) {
        return RTI_ARM_LINKED;
    }
    struct rti_task *task = join_arm_use(arm, &why);
    rti_wait_add(select->wait, &arm->waiter, rti_arm_event(arm, select), rti_task_unwatch);
    if (task != NULL && rti_task_watch(task, &arm->waiter)) {
        return RTI_ARM_LINKED;
    }
    /* It has ended since the first round, or another has come with the handle. */
    arm->waiter.slot = NULL;
    if (task != NULL) {
        rti_task_handle_lay_down(&task->handle);
    }
    return rti_wait_claim(select->wait, arm->waiter.event) ? RTI_ARM_CHOSEN : RTI_ARM_LINKED;
}

static bool join_collect(struct rti_arm *arm, struct rti_sched *sched, rt_status *status)
{
    /* Told of the end, it has the handle in use; chosen before it could wait, it has not. */
    struct rti_task *task = arm->waiter.slot;
    if (task == NULL) {
        *status = join_attempt(arm, sched);
        return status->code != RT_ERR_WOULDBLOCK;
    }
    RT_ASSERT(rti_task_is_complete(task));
    arm->waiter.slot = NULL;
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
