/* SPDX-License-Identifier: Apache-2.0 */
/* Task-local values; the manual is <orrery/rt/local.h>.
 *
 * A key is the place of an array that every task has, and the generation of that place. A task's
 * value counts only if its bit in `locals_set` is up, so that a new task has nothing to clear. When
 * a key ends, tasks may still have its bit: a value counts only under the key that
 * it was set under, and only while that one is in use. */
#define RTI_MODULE "task_local"
#include <orrery/rt/local.h>

#include "task/task_hooks.h"
#include "task/tasks.h"

_Static_assert(RT_MAX_LOCALS > 0 && RT_MAX_LOCALS <= 32, "a bit per key");

#define LOCAL_INDEX_BITS 5
#define LOCAL_INDEX_MASK ((UINT32_C(1) << LOCAL_INDEX_BITS) - 1)

static const rt_status local_no_key = {RT_ERR_INVALID, "this is no key"};

/* The place of a key; RT_MAX_LOCALS if it is none. */
static uint32_t local_find(const struct rti_tasks *tasks, rt_local key)
{
    uint32_t index = key & LOCAL_INDEX_MASK;
    bool is_one = index < RT_MAX_LOCALS && tasks->keys[index].is_used &&
                  tasks->keys[index].generation == key >> LOCAL_INDEX_BITS;
    return is_one ? index : RT_MAX_LOCALS;
}

rt_status rt_local_open(rt_local *key, void (*destroy)(void *value))
{
    struct rti_tasks *tasks = rti_tasks_of(rti_worker_enter());
    if (tasks == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    if (key == NULL) {
        return local_no_key;
    }
    rt_status status = {RT_ERR_NOMEM, "RT_MAX_LOCALS keys exist"};
    rti_lock_acquire(&tasks->lock, tasks->sched);
    for (uint32_t i = 0; i < RT_MAX_LOCALS && RT_FAILED(status); i++) {
        struct rti_local_key *place = &tasks->keys[i];
        if (!place->is_used) {
            place->is_used = true;
            place->destroy = destroy;
            place->generation = (place->generation + 1) & (UINT32_MAX >> LOCAL_INDEX_BITS);
            place->generation += place->generation == 0;
            *key = place->generation << LOCAL_INDEX_BITS | i;
            status = RT_SUCCESS;
        }
    }
    rti_lock_release(&tasks->lock);
    return status;
}

rt_status rt_local_close(rt_local key)
{
    struct rti_tasks *tasks = rti_tasks_of(rti_worker_enter());
    if (tasks == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    rti_lock_acquire(&tasks->lock, tasks->sched);
    uint32_t index = local_find(tasks, key);
    if (index < RT_MAX_LOCALS) {
        tasks->keys[index].is_used = false;
    }
    rti_lock_release(&tasks->lock);
    return index < RT_MAX_LOCALS ? RT_SUCCESS : local_no_key;
}

rt_status rt_local_set(rt_local key, void *value)
{
    struct rti_task *task = rti_task_of(rti_worker_enter());
    if (task == NULL) {
        return (rt_status){RT_ERR_THREAD, "only a task has local values"};
    }
    uint32_t index = local_find(rti_tasks_with(task), key);
    if (index == RT_MAX_LOCALS) {
        return local_no_key;
    }
    rti_task_annex(task)->locals[index] = (struct rti_local){.value = value, .key = key};
    if (value != NULL) {
        task->locals_set = (rti_local_bits)(task->locals_set | UINT32_C(1) << index);
    } else {
        task->locals_set = (rti_local_bits)(task->locals_set & ~(UINT32_C(1) << index));
    }
    return RT_SUCCESS;
}

void *rt_local_get(rt_local key)
{
    const struct rti_task *task = rti_task_of(rti_worker_enter());
    uint32_t index = key & LOCAL_INDEX_MASK;
    if (task == NULL || index >= RT_MAX_LOCALS || (task->locals_set >> index & 1) == 0) {
        return NULL;
    }
    const struct rti_local *local = &rti_task_annex(task)->locals[index];
    return local->key == key && local_find(rti_tasks_with(task), key) == index ? local->value
                                                                               : NULL;
}

/* The program's function returns to here, and it may fault before it has a frame. */
static RTI_OUTSIDE void local_destroy(void (*destroy)(void *value), void *value)
{
    destroy(value);
}

void rti_task_drop_locals(struct rti_task *task)
{
    /* A destructor may set values again: each key is looked at once. */
    for (uint32_t i = 0; i < RT_MAX_LOCALS; i++) {
        if ((task->locals_set >> i & 1) == 0) {
            continue;
        }
        struct rti_local local = rti_task_annex(task)->locals[i];
        task->locals_set = (rti_local_bits)(task->locals_set & ~(UINT32_C(1) << i));
        if (local_find(rti_tasks_with(task), local.key) == i &&
            rti_tasks_with(task)->keys[i].destroy != NULL) {
            local_destroy(rti_tasks_with(task)->keys[i].destroy, local.value);
        }
    }
    task->locals_set = 0;
}
