/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tasks; the essay is in tasks.h. */
#define RTI_MODULE "tasks"
#include "task/tasks.h"

#include "task/task_report.h"
#include "task/task_state.h"

/* Bits of a handle that hold the index and one more. */
#define TASK_INDEX_BITS 20
#define TASK_INDEX_MASK (((uintptr_t)1 << TASK_INDEX_BITS) - 1)

/* The number that names this issue of the slot: never 0, because the index is counted from 1. */
static uintptr_t tasks_handle(const struct rti_task *task)
{
    return ((uintptr_t)task->generation << TASK_INDEX_BITS) | ((uintptr_t)task->index + 1);
}

static struct rt_trace *tasks_trace_of(struct rti_fiber *fiber)
{
    struct rti_task *task = rti_task_of_fiber(fiber);
    return task == NULL ? NULL : &task->trace;
}

rt_status rti_tasks_init(struct rti_tasks *tasks, struct rti_sched *sched, uint64_t handles_lost)
{
    RT_ASSERT(tasks != NULL && sched != NULL);
    if (sched->modules[RTI_MODULE_TASK] != NULL) {
        return (rt_status){RT_ERR_STATE, "this runtime has its tasks already"};
    }
    tasks->sched = sched;
    sched->tracers[RTI_TRACER_TASK] = tasks_trace_of;
    tasks->stacks = rti_stacks_of(sched);
    RT_ASSERT(tasks->stacks != NULL);
    rti_lock_init(&tasks->lock, sched, RTI_LOCK_TASK);
    tasks->free_head = NULL;
    rti_u32_init(&tasks->fresh, 0);
    rti_u32_init(&tasks->serial, 0);
    rti_u64_init(&tasks->spawned, 0);
    rti_u64_init(&tasks->joined, 0);
    rti_u64_init(&tasks->detached, 0);
    rti_u64_init(&tasks->cancelled, 0);
    rti_u64_init(&tasks->completed, 0);
    rti_u64_init(&tasks->panicked, 0);
    tasks->handles_lost = handles_lost;
    tasks->is_cut_short = false;
    tasks->undertaker.is_running = false;
    tasks->undertaker.task = NULL;
    tasks->undertaker.line = NULL;
    for (size_t i = 0; i < RT_MAX_LOCALS; i++) {
        tasks->keys[i] = (struct rti_local_key){.is_used = false};
    }
    sched->modules[RTI_MODULE_TASK] = tasks;
    return RT_SUCCESS;
}

struct rti_task *rti_tasks_take(struct rti_tasks *tasks)
{
    rti_lock_acquire(&tasks->lock, tasks->sched);
    struct rti_task *task = tasks->free_head;
    if (task != NULL) {
        tasks->free_head = task->next;
        task->generation++;
    } else if (rti_tasks_fresh(tasks) < RT_MAX_TASKS) {
        task = &tasks->slots[rti_tasks_fresh(tasks)];
        task->index = rti_tasks_fresh(tasks);
        /* Relaxed: who looks up the new one has its handle from who made it. */
        rti_u32_store_relaxed(&tasks->fresh, task->index + 1);
        task->generation = 1;
        task->joins = NULL;
        task->tasks = tasks;
        rti_task_life_init(&task->life, tasks->sched->is_local);
    }
    rti_lock_release(&tasks->lock);
    if (task != NULL) {
        task->next = NULL;
        rti_size_store_relaxed(&task->handle, tasks_handle(task));
    }
    return task;
}

void rti_tasks_give(struct rti_tasks *tasks, struct rti_task *task)
{
    RT_ASSERT(rti_task_life(&task->life) == RTI_TASK_FREE && task->stack.block == NULL);
    rti_size_store_relaxed(&task->handle, 0);
    rti_lock_acquire(&tasks->lock, tasks->sched);
    task->next = tasks->free_head;
    tasks->free_head = task;
    rti_lock_release(&tasks->lock);
}

struct rti_task *rti_tasks_find(struct rti_tasks *tasks, const rt_task *handle)
{
    uintptr_t number = (uintptr_t)handle;
    uintptr_t index = number & TASK_INDEX_MASK;
    if (tasks == NULL || index == 0 || index > rti_tasks_fresh(tasks)) {
        return NULL;
    }
    struct rti_task *task = &tasks->slots[index - 1];
    /* Relaxed: who has the handle has it from who made it; a stale one is compared only. */
    return rti_size_load_relaxed(&task->handle) == number ? task : NULL;
}

struct rti_task *rti_task_lookup(const struct rti_worker *worker, const rt_task *handle)
{
    return rti_tasks_find(rti_tasks_of(worker), handle);
}

/* Does it run, or wait to? */
static bool tasks_is_alive(const struct rti_task *task)
{
    enum rti_task_life life = rti_task_life(&task->life);
    return life == RTI_TASK_HELD || life == RTI_TASK_WATCHED || life == RTI_TASK_RELEASED;
}

size_t rti_tasks_live(const struct rti_tasks *tasks)
{
    return (size_t)(rti_u64_load_relaxed(&tasks->spawned) -
                    rti_u64_load_relaxed(&tasks->completed));
}

void rti_tasks_cancel_all(struct rti_tasks *tasks)
{
    for (uint32_t i = 0; i < rti_tasks_fresh(tasks); i++) {
        if (tasks_is_alive(&tasks->slots[i])) {
            rti_task_to_cancelled(&tasks->slots[i]);
        }
    }
}

void rti_tasks_kill_all(struct rti_tasks *tasks)
{
    RT_ASSERT(rti_fiber_current() == NULL);
    for (uint32_t i = 0; i < rti_tasks_fresh(tasks); i++) {
        if (tasks_is_alive(&tasks->slots[i])) {
            rti_task_kill(&tasks->slots[i]);
        }
    }
}

uint64_t rti_tasks_deinit(struct rti_tasks *tasks)
{
    RT_ASSERT(tasks->sched->modules[RTI_MODULE_TASK] == tasks);
    RT_ASSERT(rti_tasks_live(tasks) == 0 && !tasks->undertaker.is_running);
    RT_AUDIT(rti_tasks_audit(tasks));
    uint64_t lost = tasks->handles_lost;
    for (uint32_t i = 0; i < rti_tasks_fresh(tasks); i++) {
        struct rti_task *task = &tasks->slots[i];
        if (rti_task_life(&task->life) == RTI_TASK_COMPLETE && !tasks->is_cut_short) {
            lost++;
            rti_task_report_lost(task);
        }
    }
    tasks->sched->modules[RTI_MODULE_TASK] = NULL;
    return lost;
}

void rti_tasks_audit(const struct rti_tasks *tasks)
{
    size_t free_count = 0;
    size_t alive = 0;
    RT_ASSERT(rti_tasks_fresh(tasks) <= RT_MAX_TASKS);
    for (const struct rti_task *at = tasks->free_head; at != NULL; at = at->next) {
        RT_ASSERT(rti_task_life(&at->life) == RTI_TASK_FREE &&
                  rti_size_load_relaxed(&at->handle) == 0);
        free_count++;
        RT_ASSERT(free_count <= rti_tasks_fresh(tasks));
    }
    for (uint32_t i = 0; i < rti_tasks_fresh(tasks); i++) {
        const struct rti_task *task = &tasks->slots[i];
        enum rti_task_life life = rti_task_life(&task->life);
        RT_ASSERT(task->index == i);
        free_count -= life == RTI_TASK_FREE;
        alive += tasks_is_alive(task);
        RT_ASSERT(life != RTI_TASK_RELEASED || rti_size_load_relaxed(&task->handle) == 0);
        RT_ASSERT(life != RTI_TASK_WATCHED || task->watcher != NULL);
    }
    RT_ASSERT(free_count == 0);
    RT_ASSERT(alive == rti_tasks_live(tasks));
}
