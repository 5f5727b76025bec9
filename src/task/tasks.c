/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tasks; the essay is in tasks.h. */
#define RTI_MODULE "tasks"
#include "task/tasks.h"

#include <string.h>

#include "base/marks.h"
#include "sched/crew.h"
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

static void tasks_init_counts(struct rti_tasks *tasks)
{
    for (size_t i = 0; i < RTI_TASKS_COUNTS; i++) {
        rti_u64_init(&tasks->counts[i], 0);
    }
#if RT_MAX_WORKERS > 1
    const struct rti_sched *sched = tasks->sched;
    tasks->desks_count = rti_sched_is_local(sched) ? 0 : rti_sched_crew(sched)->stations_count;
    RT_ASSERT(tasks->desks_count <= RTI_TASK_DESKS);
    for (uint32_t i = 0; i < tasks->desks_count; i++) {
        memset(&tasks->desks[i], 0, sizeof(tasks->desks[i]));
        rti_sched_crew(sched)->stations[i].desks[RTI_DESK_TASK] = &tasks->desks[i];
    }
    rti_u32_init(&tasks->is_scarce, 0);
    rti_task_asker_init(&tasks->asker);
    tasks->racks = NULL;
    tasks->pile = NULL;
    tasks->pile_count = 0;
    tasks->spare = 0;
    tasks->out = 0;
#endif
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
    tasks->more_sides = NULL;
    rti_sched_set_slab(sched, NULL);
    tasks->more_annexes = NULL;
    rti_port_expect_dense(sched->port, &tasks->dense, NULL, 0);
    rti_stack_slab_init(&tasks->slab, sched);
    rti_u32_init(&tasks->serial, 0);
    tasks_init_counts(tasks);
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

/* How many slots there are. */
static uint32_t tasks_slots(const struct rti_tasks *tasks)
{
#if RT_MAX_WORKERS > 1
    return tasks->capacity + tasks->spare;
#else
    return tasks->capacity;
#endif
}

struct rti_task *rti_tasks_take_fresh(struct rti_tasks *tasks)
{
    uint32_t index = rti_tasks_fresh(tasks);
    if (index == tasks_slots(tasks)) {
        return NULL;
    }
    struct rti_task *task = rti_tasks_slot(tasks, index);
    if (index >= RT_MAX_TASKS) {
        rti_port_use_dense(tasks->sched->port, &tasks->dense, task + 1);
    }
    /* Relaxed: who looks up the new one has its handle from who made it. */
    rti_u32_store_relaxed(&tasks->fresh, index + 1);
    /* Never 0, because the index is counted from 1. */
    task->next_handle = RTI_TASK_HANDLE_STEP + index + 1;
    task->joins = 0;
    task->watcher = NULL;
    task->is_staked = false;
    task->hook_count = 0;
    task->hook_depth = 0;
    task->locals_set = 0;
    task->has_message = false;
    task->has_trace = false;
    task->has_name = false;
    task->cx.magic = 0;
    rti_task_life_init(&task->life, tasks->sched->is_local);
    rti_fiber_init_slot(&task->fiber, tasks->sched, &rti_task_kind);
    struct rti_task_side *side =
        index < RT_MAX_TASKS ? &tasks->sides[index] : &tasks->more_sides[index - RT_MAX_TASKS];
    rti_cx_place_rest(&task->cx, &side->rest);
    rti_cx_place_fiber(&task->cx, &task->fiber);
    if (index < RT_MAX_TASKS) {
        side->stack.block = NULL; /* a mapping is empty, and not to be touched */
    }
    return task;
}

#if RT_MAX_WORKERS > 1

/* How many slots lie in racks. */
static uint32_t racks_count(const struct rti_tasks *tasks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; tasks->racks != NULL && i < tasks->desks_count; i++) {
        count += rti_u32_load_relaxed(&tasks->racks[i].count);
    }
    return count;
}

/* Takes `count` slots, those that lay there longest, out of the holder's rack. Locked. */
static void rack_spill(struct rti_tasks *tasks, struct rti_task_rack *rack, uint32_t count)
{
    uint32_t left = rti_u32_load_relaxed(&rack->count) - count;
    memcpy(tasks->pile + tasks->pile_count, rack->slots, count * sizeof(rack->slots[0]));
    memmove(rack->slots, rack->slots + count, left * sizeof(rack->slots[0]));
    rti_u32_store_relaxed(&rack->count, left);
    tasks->pile_count += count;
    tasks->out -= count;
}

/* Fills the holder's rack from the pile if it is empty. Slots that were never used stay where they
 * are: they cost nothing there. Locked. */
static void rack_fill(struct rti_tasks *tasks, struct rti_task_rack *rack)
{
    if (rti_u32_load_relaxed(&rack->count) > 0) {
        /* Slots were scarce when the caller came here, and are no more. */
        RT_SOMETIMES(true, "tasks: a rack is used again");
        return;
    }
    RT_ASSERT(tasks->out <= tasks->capacity);
    uint32_t left = tasks->capacity - tasks->out;
    uint32_t count = tasks->pile_count < RTI_TASK_RACK_ROW ? tasks->pile_count : RTI_TASK_RACK_ROW;
    count = count < left ? count : left;
    tasks->pile_count -= count;
    tasks->out += count;
    memcpy(rack->slots, tasks->pile + tasks->pile_count, count * sizeof(rack->slots[0]));
    rti_u32_store_relaxed(&rack->count, count);
}

/* Does a task more fit, although as many slots are out as tasks may be? Locked. */
static bool tasks_has_room(struct rti_tasks *tasks)
{
    RT_SOMETIMES(rti_u32_load_relaxed(&tasks->is_scarce) == 0, "tasks: slots become scarce");
    rti_u32_store_relaxed(&tasks->is_scarce, 1);
    return tasks->out - racks_count(tasks) < tasks->capacity;
}

/* The rack of the caller, if there are any. Locked: it is seen at once. */
static struct rti_task_rack *tasks_own_rack(struct rti_tasks *tasks,
                                            const struct rti_task_desk *desk)
{
    return tasks->racks == NULL || desk == NULL ? NULL : &tasks->racks[desk - tasks->desks];
}

struct rti_task *rti_tasks_take_shared(struct rti_tasks *tasks, struct rti_task_desk *desk)
{
    struct rti_task *task = NULL;
    rti_lock_acquire(&tasks->lock, tasks->sched);
    struct rti_task_rack *rack = tasks_own_rack(tasks, desk);
    if (rack != NULL && rti_u32_load_relaxed(&tasks->is_scarce) != 0) {
        rack_spill(tasks, rack, rti_u32_load_relaxed(&rack->count));
    }
    if (tasks->racks == NULL) {
        task = rti_tasks_pop(tasks);
    } else if (RTI_LIKELY(tasks->out < tasks->capacity) || tasks_has_room(tasks)) {
        task =
            tasks->pile_count > 0 ? tasks->pile[--tasks->pile_count] : rti_tasks_take_fresh(tasks);
        RT_ASSERT(task != NULL);
        tasks->out++;
    }
    if (rack != NULL && rti_u32_load_relaxed(&tasks->is_scarce) == 0) {
        rack_fill(tasks, rack);
    }
    rti_lock_release(&tasks->lock);
    return task;
}

/* Ends the scarcity when the racks can be filled again, or half of the table is free. Locked. */
static void tasks_relax(struct rti_tasks *tasks)
{
    uint32_t half = tasks->capacity / 2;
    uint32_t used = tasks->out - racks_count(tasks); /* some racks may be nobody's for long */
    if (tasks->out <= tasks->capacity &&
        used <= tasks->capacity - (tasks->spare < half ? tasks->spare : half)) {
        rti_u32_store_relaxed(&tasks->is_scarce, 0);
    }
}

void rti_tasks_give_shared(struct rti_tasks *tasks, struct rti_task_desk *desk,
                           struct rti_task *task)
{
    rti_lock_acquire(&tasks->lock, tasks->sched);
    struct rti_task_rack *rack = tasks_own_rack(tasks, desk);
    if (tasks->racks == NULL) {
        rti_tasks_push(tasks, task);
    } else {
        tasks->pile[tasks->pile_count++] = task;
        tasks->out--;
    }
    if (rack != NULL) {
        uint32_t count = rti_u32_load_relaxed(&rack->count);
        bool is_scarce = rti_u32_load_relaxed(&tasks->is_scarce) != 0;
        if (is_scarce || count == RTI_TASK_RACK_MAX) {
            rack_spill(tasks, rack, is_scarce ? count : RTI_TASK_RACK_ROW);
        }
    }
    if (RTI_UNLIKELY(rti_u32_load_relaxed(&tasks->is_scarce) != 0)) {
        tasks_relax(tasks);
    }
    rti_lock_release(&tasks->lock);
}

/* Makes the racks and the pile, in memory that is 0. Locked. */
static void racks_make(struct rti_tasks *tasks, struct rti_task_rack *racks, struct rti_task **pile)
{
    tasks->pile = pile;
    while (tasks->free_head != NULL) {
        pile[tasks->pile_count++] = rti_tasks_pop(tasks);
    }
    tasks->out = rti_tasks_fresh(tasks) - tasks->pile_count;
    tasks->racks = racks;
    for (uint32_t i = 0; i < tasks->desks_count; i++) {
        /* Release pairs with the acquire in rti_task_desk_rack. */
        rti_ptr_store_release(&tasks->desks[i].rack, &racks[i]);
    }
}

#endif

struct rti_task *rti_task_lookup(const struct rti_worker *worker, const rt_task *handle)
{
    return rti_tasks_find(rti_tasks_of(worker), handle);
}

/* The most slots that a handle can name. */
#define TASKS_MAX (RTI_TASK_INDEX_MASK - 1 - RTI_TASK_DESKS * RTI_TASK_RACK_MAX)

/* Slots that fit into the racks. */
static size_t tasks_spare(const struct rti_tasks *tasks)
{
#if RT_MAX_WORKERS > 1
    return (size_t)tasks->desks_count * RTI_TASK_RACK_MAX;
#else
    (void)tasks;
    return 0;
#endif
}

/* Where the sides, the annexes, the racks and the pile are in a mapping for so many tasks, which
 * begins with the slots; and its size. */
struct tasks_mapping {
    size_t slots; /* `count` of them, and those that fit into racks */
    size_t sides_at;
    size_t annexes_at;
    size_t racks_at;
    size_t pile_at;
    size_t size;
};

static struct tasks_mapping tasks_mapping(const struct rti_tasks *tasks, size_t count)
{
    struct tasks_mapping mapping = {.slots = count + tasks_spare(tasks)};
    mapping.sides_at = mapping.slots * sizeof(struct rti_task);
    mapping.annexes_at = mapping.sides_at + mapping.slots * sizeof(struct rti_task_side);
    mapping.racks_at = mapping.annexes_at + mapping.slots * sizeof(struct rti_task_annex);
    mapping.racks_at = (mapping.racks_at + RTI_CACHE_LINE - 1) / RTI_CACHE_LINE * RTI_CACHE_LINE;
    mapping.size = mapping.racks_at;
#if RT_MAX_WORKERS > 1
    if (tasks->desks_count > 0) {
        mapping.pile_at = mapping.racks_at + tasks->desks_count * sizeof(struct rti_task_rack);
        mapping.size = mapping.pile_at + (RT_MAX_TASKS + mapping.slots) * sizeof(struct rti_task *);
    }
#endif
    return mapping;
}

rt_status rt_task_reserve(const rt_task_room *room)
{
    struct rti_tasks *tasks = rti_tasks_of(rti_worker_enter());
    if (tasks == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    if (room == NULL || room->tasks == 0 || room->tasks > TASKS_MAX - RT_MAX_TASKS ||
        (room->stack_size != 0 && room->stack_size < RTI_STACK_SIZE_MIN) ||
        room->stack_size > RT_STACK_SIZE_MAX) {
        return (rt_status){RT_ERR_INVALID, "so many tasks, or such stacks, there cannot be"};
    }
    if (tasks->more != NULL) {
        return (rt_status){RT_ERR_STATE, "room was made already"};
    }
    struct rti_port *port = tasks->sched->port;
    if (port->ops->memory_map == NULL) {
        return (rt_status){RT_ERR_UNSUPPORTED, "this port cannot map memory"};
    }
    struct tasks_mapping mapping = tasks_mapping(tasks, room->tasks);
    /* No side is farther from its slot than the table of slots is long. */
    bool is_near = mapping.sides_at <= RTI_CX_REST_FAR;
    char *more = is_near ? port->ops->memory_map(port, mapping.size) : NULL;
    if (more == NULL) {
        return (rt_status){RT_ERR_NOMEM, "the system has no memory for so many tasks"};
    }
    uint32_t capacity = RT_MAX_TASKS + (uint32_t)room->tasks;
    size_t size = room->stack_size != 0 ? room->stack_size : RT_TASK_STACK_SIZE;
    /* A stack for each slot: for a moment tasks may be more than `capacity` (tasks.h). */
    rt_status status =
        rti_stack_slab_map(&tasks->slab, capacity + (uint32_t)tasks_spare(tasks), size);
    if (RT_FAILED(status)) {
        port->ops->memory_unmap(port, more, mapping.size);
        return status;
    }
    rti_lock_acquire(&tasks->lock, tasks->sched);
    rti_port_expect_dense(port, &tasks->dense, more, mapping.sides_at);
    tasks->more = (struct rti_task *)(void *)more;
    tasks->origins[1] = (uintptr_t)more - RT_MAX_TASKS * sizeof(struct rti_task);
    tasks->more_sides = (struct rti_task_side *)(void *)(more + mapping.sides_at);
    tasks->more_annexes = (struct rti_task_annex *)(void *)(more + mapping.annexes_at);
    tasks->capacity = capacity;
#if RT_MAX_WORKERS > 1
    tasks->spare = (uint32_t)tasks_spare(tasks);
    if (tasks->desks_count > 0) {
        racks_make(tasks, (struct rti_task_rack *)(void *)(more + mapping.racks_at),
                   (struct rti_task **)(void *)(more + mapping.pile_at));
    }
#endif
    rti_sched_set_slab(tasks->sched, &tasks->slab);
    rti_lock_release(&tasks->lock);
    return RT_SUCCESS;
}

/* Takes back what rt_task_reserve has made. */
static void tasks_unmap(struct rti_tasks *tasks)
{
    struct rti_port *port = tasks->sched->port;
    rti_stack_slab_deinit(&tasks->slab);
    if (tasks->more != NULL) {
        struct tasks_mapping mapping = tasks_mapping(tasks, tasks->capacity - RT_MAX_TASKS);
        port->ops->memory_unmap(port, tasks->more, mapping.size);
    }
}

/* Does it run, or wait to? */
static bool tasks_is_alive(const struct rti_task *task)
{
    enum rti_task_life life = rti_task_life(&task->life);
    return life == RTI_TASK_HELD || life == RTI_TASK_WATCHED || life == RTI_TASK_RELEASED;
}

uint64_t rti_tasks_counted(const struct rti_tasks *tasks, enum rti_task_count what)
{
    /* Acquire pairs with the release of who counts: see rti_task_count_own. */
    uint64_t sum = rti_u64_load_acquire(&tasks->counts[what]);
#if RT_MAX_WORKERS > 1
    for (uint32_t i = 0; i < tasks->desks_count; i++) {
        sum += rti_u64_load_acquire(&tasks->desks[i].counts[what]);
    }
#endif
    return sum;
}

size_t rti_tasks_live(const struct rti_tasks *tasks)
{
    /* In this order: of whoever is seen to have ended the start is seen too. */
    uint64_t completed = rti_tasks_counted(tasks, RTI_TASKS_COMPLETED);
    return (size_t)(rti_tasks_counted(tasks, RTI_TASKS_SPAWNED) - completed);
}

/* Comes to the slot that a handle speaks of, if there is one, and goes again. Locked. */
static void asker_come(struct rti_tasks *tasks, const rt_task *handle)
{
#if RT_MAX_WORKERS > 1
    if (!rti_sched_is_local(tasks->sched)) {
        rti_task_asker_come(&tasks->asker, rti_tasks_place(tasks, handle));
    }
#else
    (void)tasks, (void)handle;
#endif
}

static void asker_go(struct rti_tasks *tasks)
{
#if RT_MAX_WORKERS > 1
    if (!rti_sched_is_local(tasks->sched)) {
        rti_task_asker_go(&tasks->asker);
    }
#else
    (void)tasks;
#endif
}

struct rti_task *rti_tasks_use(const struct rti_tasks *tasks, const rt_task *handle, rt_status *why)
{
    struct rti_task *task = rti_tasks_find(tasks, handle);
    if (RTI_LIKELY(task != NULL)) {
        bool is_local = task->life.is_local;
        /* Who works alone may be about to take it. */
        bool is_guest = !is_local && rti_solo_knock(tasks->sched);
        bool is_used = rti_task_handle_use(&task->handle, (uintptr_t)handle, is_local);
        rti_solo_go(tasks->sched, is_guest);
        if (RTI_LIKELY(is_used)) {
            *why = RT_SUCCESS;
            return task;
        }
    }
    bool is_in_use = task != NULL && rti_task_handle_is(&task->handle, (uintptr_t)handle);
    why->code = RT_ERR_INVALID;
    why->msg = is_in_use ? "another waits for the task with this handle"
                         : "this is no handle, or it is consumed";
    return NULL;
}

bool rti_tasks_ask_cancel(struct rti_tasks *tasks, const rt_task *handle)
{
    struct rti_list claimed;
    rti_list_init(&claimed);
    /* Who works alone ends a handle without the fence that pairs with the asker's. */
    bool is_guest = !rti_sched_is_local(tasks->sched) && rti_solo_knock(tasks->sched);
    rti_lock_acquire(&tasks->lock, tasks->sched);
    asker_come(tasks, handle);
    /* From here on the slot is no other task's, whoever takes this one meanwhile. */
    struct rti_task *task = rti_tasks_find(tasks, handle);
    if (task != NULL && !rti_task_is_complete(task)) {
        rti_cx_cancel_claim(&task->cx, &claimed);
    }
    asker_go(tasks);
    rti_lock_release(&tasks->lock);
    rti_solo_go(tasks->sched, is_guest);
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
#if RT_MAX_WORKERS > 1
    for (uint32_t i = 0; i < tasks->desks_count; i++) {
        rti_sched_crew(tasks->sched)->stations[i].desks[RTI_DESK_TASK] = NULL;
    }
#endif
    tasks_unmap(tasks);
    return lost;
}

/* Checks a slot that nobody uses. */
static void tasks_audit_free(const struct rti_task *task)
{
    RT_ASSERT(rti_task_life(&task->life) == RTI_TASK_FREE &&
              rti_size_load_relaxed(&task->handle) == 0);
}

/* Checks the racks, the pile and `out`. Returns how many slots lie there. */
static size_t tasks_audit_racks(const struct rti_tasks *tasks)
{
    size_t idle = 0;
#if RT_MAX_WORKERS > 1
    for (uint32_t i = 0; tasks->racks != NULL && i < tasks->desks_count; i++) {
        const struct rti_task_rack *rack = &tasks->racks[i];
        uint32_t count = rti_u32_load_relaxed(&rack->count);
        RT_ASSERT(count <= RTI_TASK_RACK_MAX);
        for (uint32_t at = 0; at < count; at++) {
            tasks_audit_free(rack->slots[at]);
        }
        idle += count;
    }
    for (uint32_t i = 0; i < tasks->pile_count; i++) {
        tasks_audit_free(tasks->pile[i]);
    }
    idle += tasks->pile_count;
    RT_ASSERT(tasks->racks == NULL || (tasks->free_head == NULL &&
                                       tasks->out + tasks->pile_count == rti_tasks_fresh(tasks)));
    RT_ASSERT(tasks->out <= tasks_slots(tasks));
#else
    (void)tasks;
#endif
    return idle;
}

void rti_tasks_audit(const struct rti_tasks *tasks)
{
    size_t free_count = 0;
    size_t alive = 0;
    RT_ASSERT(rti_tasks_fresh(tasks) <= tasks_slots(tasks));
    for (const struct rti_task *at = tasks->free_head; at != NULL; at = at->fiber.next_slot) {
        tasks_audit_free(at);
        free_count++;
        RT_ASSERT(free_count <= rti_tasks_fresh(tasks));
    }
    free_count += tasks_audit_racks(tasks);
    for (uint32_t i = 0; i < rti_tasks_fresh(tasks); i++) {
        const struct rti_task *task = rti_tasks_slot(tasks, i);
        enum rti_task_life life = rti_task_life(&task->life);
        RT_ASSERT(rti_task_index(task) == i);
        free_count -= life == RTI_TASK_FREE;
        alive += tasks_is_alive(task);
        RT_ASSERT(life != RTI_TASK_RELEASED || rti_size_load_relaxed(&task->handle) == 0);
        RT_ASSERT(life != RTI_TASK_WATCHED || task->watcher != NULL);
    }
    RT_ASSERT(free_count == 0);
    RT_ASSERT(alive == rti_tasks_live(tasks));
}
