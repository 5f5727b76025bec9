/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tasks; the essay is in tasks.h. */
#define RTI_MODULE "tasks"
#include "task/tasks.h"

#include "sched/fiber_life.h"
#include "task/task_report.h"
#include "task/task_state.h"

/* The trace context of a task that asks for its own. */
static struct rt_trace *tasks_trace_of(struct rti_fiber *fiber)
{
    struct rti_task *task = rti_task_of_fiber(fiber);
    if (task == NULL) {
        return NULL;
    }
    struct rt_trace *trace = &rti_task_annex(task)->trace;
    if (!task->has_trace) {
        task->has_trace = true;
        *trace = (struct rt_trace){.flags = 0};
    }
    return trace;
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
    tasks->capacity = RT_MAX_TASKS;
    tasks->more = NULL;
    tasks->origins[0] = (uintptr_t)tasks->slots;
    tasks->origins[1] = 0;
    tasks->more_annexes = NULL;
    rti_port_expect_dense(sched->port, &tasks->dense, NULL, 0);
    rti_stack_slab_init(&tasks->slab, sched);
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

struct rti_task *rti_tasks_take_fresh(struct rti_tasks *tasks)
{
    uint32_t index = rti_tasks_fresh(tasks);
    if (index == tasks->capacity) {
        return NULL;
    }
    struct rti_task *task = rti_tasks_slot(tasks, index);
    if (index >= RT_MAX_TASKS) {
        rti_port_use_dense(tasks->sched->port, &tasks->dense, task + 1);
    }
    task->index = index;
    /* Relaxed: who looks up the new one has its handle from who made it. */
    rti_u32_store_relaxed(&tasks->fresh, index + 1);
    /* Never 0, because the index is counted from 1. */
    task->next_handle = RTI_TASK_HANDLE_STEP + index + 1;
    task->joins = NULL;
    task->watcher = NULL;
    task->is_staked = false;
    task->hook_count = 0;
    task->hook_depth = 0;
    task->locals_set = 0;
    task->has_message = false;
    task->has_trace = false;
    task->cx.magic = 0;
    task->stack.block = NULL;
    rti_task_life_init(&task->life, tasks->sched->is_local);
    rti_fiber_init_slot(&task->fiber, tasks->sched, rti_task_on_done);
    rti_fiber_set_main(&task->fiber, rti_task_main, task);
    return task;
}

struct rti_task *rti_task_lookup(const struct rti_worker *worker, const rt_task *handle)
{
    return rti_tasks_find(rti_tasks_of(worker), handle);
}

/* The most slots that a handle can name. */
#define TASKS_MAX (RTI_TASK_INDEX_MASK - 1)

/* A mapping for so many tasks: their slots, then their annexes. */
static size_t tasks_mapping_size(size_t count)
{
    return count * (sizeof(struct rti_task) + sizeof(struct rti_task_annex));
}

rt_status rt_task_reserve(const rt_task_room *room)
{
    struct rti_tasks *tasks = rti_tasks_of(rti_worker_enter());
    if (tasks == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    if (room == NULL || room->tasks == 0 || room->tasks > TASKS_MAX - RT_MAX_TASKS ||
        (room->stack_size != 0 && room->stack_size < RTI_STACK_SIZE_MIN) ||
        room->stack_size > PTRDIFF_MAX / 4) {
        return (rt_status){RT_ERR_INVALID, "so many tasks, or such stacks, there cannot be"};
    }
    if (tasks->more != NULL) {
        return (rt_status){RT_ERR_STATE, "room was made already"};
    }
    struct rti_port *port = tasks->sched->port;
    if (port->ops->memory_map == NULL) {
        return (rt_status){RT_ERR_UNSUPPORTED, "this port cannot map memory"};
    }
    struct rti_task *more = port->ops->memory_map(port, tasks_mapping_size(room->tasks));
    if (more == NULL) {
        return (rt_status){RT_ERR_NOMEM, "the system has no memory for so many tasks"};
    }
    uint32_t capacity = RT_MAX_TASKS + (uint32_t)room->tasks;
    size_t size = room->stack_size != 0 ? room->stack_size : RT_TASK_STACK_SIZE;
    rt_status status = rti_stack_slab_map(&tasks->slab, capacity, size);
    if (RT_FAILED(status)) {
        port->ops->memory_unmap(port, more, tasks_mapping_size(room->tasks));
        return status;
    }
    rti_lock_acquire(&tasks->lock, tasks->sched);
    rti_port_expect_dense(port, &tasks->dense, more, room->tasks * sizeof(struct rti_task));
    tasks->more = more;
    tasks->origins[1] = (uintptr_t)more - RT_MAX_TASKS * sizeof(struct rti_task);
    tasks->more_annexes = (struct rti_task_annex *)(void *)(more + room->tasks);
    tasks->capacity = capacity;
    rti_lock_release(&tasks->lock);
    return RT_SUCCESS;
}

/* Takes back what rt_task_reserve has made. */
static void tasks_unmap(struct rti_tasks *tasks)
{
    struct rti_port *port = tasks->sched->port;
    rti_stack_slab_deinit(&tasks->slab);
    if (tasks->more != NULL) {
        size_t count = tasks->capacity - RT_MAX_TASKS;
        port->ops->memory_unmap(port, tasks->more, tasks_mapping_size(count));
    }
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

bool rti_tasks_ask_cancel(struct rti_tasks *tasks, const rt_task *handle)
{
    struct rti_list claimed;
    rti_list_init(&claimed);
    /* As long as the lock is held the slot is no other task's, whoever takes this one meanwhile. */
    rti_lock_acquire(&tasks->lock, tasks->sched);
    struct rti_task *task = rti_tasks_find(tasks, handle);
    if (task != NULL && !rti_task_is_complete(task)) {
        rti_cx_cancel_claim(&task->cx, &claimed);
    }
    rti_lock_release(&tasks->lock);
    rti_cancel_wake_all(&claimed);
    return task != NULL;
}

void rti_tasks_cancel_all(struct rti_tasks *tasks)
{
    for (uint32_t i = 0; i < rti_tasks_fresh(tasks); i++) {
        if (tasks_is_alive(rti_tasks_slot(tasks, i))) {
            rti_task_to_cancelled(rti_tasks_slot(tasks, i));
        }
    }
}

void rti_tasks_kill_all(struct rti_tasks *tasks)
{
    RT_ASSERT(rti_fiber_current() == NULL);
    for (uint32_t i = 0; i < rti_tasks_fresh(tasks); i++) {
        if (tasks_is_alive(rti_tasks_slot(tasks, i))) {
            rti_task_kill(rti_tasks_slot(tasks, i));
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
        struct rti_task *task = rti_tasks_slot(tasks, i);
        if (rti_task_life(&task->life) == RTI_TASK_COMPLETE && !tasks->is_cut_short) {
            lost++;
            rti_task_report_lost(task);
        }
    }
    tasks->sched->modules[RTI_MODULE_TASK] = NULL;
    tasks_unmap(tasks);
    return lost;
}

void rti_tasks_audit(const struct rti_tasks *tasks)
{
    size_t free_count = 0;
    size_t alive = 0;
    RT_ASSERT(rti_tasks_fresh(tasks) <= tasks->capacity);
    for (const struct rti_task *at = tasks->free_head; at != NULL; at = at->next) {
        RT_ASSERT(rti_task_life(&at->life) == RTI_TASK_FREE &&
                  rti_size_load_relaxed(&at->handle) == 0);
        free_count++;
        RT_ASSERT(free_count <= rti_tasks_fresh(tasks));
    }
    for (uint32_t i = 0; i < rti_tasks_fresh(tasks); i++) {
        const struct rti_task *task = rti_tasks_slot(tasks, i);
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
