/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASKS_H
#define RTI_TASKS_H

/* All the memory of the task module: the table, the undertaker, the counts. One struct, sized by
 * rt_static_config.h, that the runtime places and hangs at sched->modules[RTI_MODULE_TASK].
 *
 * rt_task_reserve makes the table longer: the slots from RT_MAX_TASKS on lie in a mapping, whose
 * pages the system gives when they are first used, and from then on the tasks that name no size of
 * their own have their stacks from a slab, which has one for every slot.
 *
 * Behind each table of slots lie one of sides and one of annexes, for what not all tasks have and
 * for what few have. In a mapping their pages are not given until a task with that index needs one.
 *
 * Slots are recycled last in, first out: the one that was used last is still in the caches. Slots
 * that were never used are not in the list but counted by `fresh`, so that a large table costs
 * nothing until it is needed.
 *
 * With several workers each station has a desk, and in a longer table a rack of free slots
 * (task_desk.h). In the place of the list there is a pile then: rows of slots move to and from it
 * without being touched. `out` counts the slots that are in use or lie in racks, and as long as it
 * is below `capacity` nobody has to ask how many of them are in use. At `capacity` the table is
 * scarce: the racks are emptied, each by its holder when that comes next, all slots come from the
 * pile and go there, and whether one is left is found by subtracting what lies in racks that nobody
 * came to empty. In their place there are `spare` slots more. So a start is refused iff `capacity`
 * tasks exist; only one that races with the start that found the table scarce may still take a slot
 * of its rack.
 *
 * I1  A slot below `fresh` is in the list, the pile or a rack iff its life is FREE, but for those
 *     that are just being made or given back.                                (rti_tasks_audit)
 * I2  out <= capacity + spare, and spare is what fits into all racks.        (rti_tasks_audit)
 * I3  spawned = completed + those that live.                                 (rti_tasks_audit)
 *
 * `lock` is over the list, the pile, `fresh`, `out`, the undertaker's line and the keys of the
 * locals; the counts are added to without it.
 *
 * Rejected: racks that others may take from (the holder would need a fence for every slot); a table
 * no longer than promised (a start would fail for want of a slot that lies in a rack). */

#include "sched/fiber_life.h"
#include "sched/lock.h"
#include "sched/solo.h"
#include "sched/stack_slab.h"
#include "sched/station.h"
#include "task/task.h"
#include "task/task_asker.h"
#include "task/task_desk.h"

/* The undertaker's stack: hooks are the program's, so it is as large as a task's. */
#define RTI_UNDERTAKER_STACK_SIZE RT_TASK_STACK_SIZE

/* Runs the hooks of tasks that cannot do it themselves, one task at a time. */
struct rti_undertaker {
    struct rti_fiber fiber;
    struct rti_task *task; /* whose duties it does now; NULL: nobody's */
    struct rti_task *line; /* who waits for it, in any order */
    bool is_running;
    _Alignas(16) unsigned char stack[RTI_UNDERTAKER_STACK_SIZE];
};

struct rti_local_key {
    void (*destroy)(void *value); /* NULL: nothing to do */
    uint32_t generation;          /* of the key that has this place now */
    bool is_used;
};

struct rti_tasks {
    struct rti_sched *sched;
    struct rti_stacks *stacks;
    uint64_t handles_lost;            /* of runtimes before this one */
    bool is_cut_short;                /* tasks were killed: who should have joined them could not */
    uint32_t capacity;                /* tasks that there may be */
    struct rti_task *more;            /* those from RT_MAX_TASKS on; NULL: there are none */
    uintptr_t origins[2];             /* where both parts would have the slot 0 */
    struct rti_dense dense;           /* the slots of `more` */
    struct rti_task_side *more_sides; /* of `more` */
    struct rti_task_annex *more_annexes; /* likewise */
#if RT_MAX_WORKERS > 1
    uint32_t desks_count;        /* 0: there is one worker */
    uint32_t spare;              /* slots that there are beyond `capacity` */
    struct rti_task_rack *racks; /* one for each desk; NULL: there are none. Under the lock */
    rti_atomic_u32 is_scarce;    /* bool; written under the lock */
    struct rti_task_asker asker;
    struct rti_task **pile;     /* free slots, once there are racks; the last one goes first */
    RTI_ALIGNED(RTI_CACHE_LINE) /* what is above is read by all, and what follows is written */
    uint32_t out;               /* slots in use or in racks, once there are racks */
    uint32_t pile_count;
#endif
    struct rti_lock lock;
    rti_atomic_u32 fresh; /* slots that were ever used; written under the lock */
    struct rti_task *free_head;
    rti_atomic_u32 serial;
    rti_atomic_u64 counts[RTI_TASKS_COUNTS]; /* of those who have no desk */
    struct rti_stack_slab slab;              /* stacks, for who names no size; or none */
    struct rti_local_key keys[RT_MAX_LOCALS];
    struct rti_undertaker undertaker;
    struct rti_task slots[RT_MAX_TASKS];
    struct rti_task_side sides[RT_MAX_TASKS];
    struct rti_task_annex annexes[RT_MAX_TASKS];
#if RT_MAX_WORKERS > 1
    struct rti_task_desk desks[RTI_TASK_DESKS];
#endif
};

/* The slot with this index, below rti_tasks_fresh. */
static inline struct rti_task *rti_tasks_slot(const struct rti_tasks *tasks, uint32_t index)
{
    /* A choice of where to count from, and no branch. */
    uintptr_t origin = tasks->origins[index >= RT_MAX_TASKS];
    return (struct rti_task *)(origin + (uintptr_t)index * sizeof(struct rti_task));
}

/* The module that a task is of. */
static inline struct rti_tasks *rti_tasks_with(const struct rti_task *task)
{
    return task->fiber.sched->modules[RTI_MODULE_TASK];
}

/* Where the task keeps what not all have. */
static inline struct rti_task_side *rti_task_side(const struct rti_task *task)
{
    return RTI_CONTAINER_OF(rti_cx_rest_of(&task->cx), struct rti_task_side, rest);
}

/* Has it a stack that is not of the slab? */
static inline bool rti_task_has_block(const struct rti_task *task)
{
    return !rti_fiber_has_slab(&task->fiber) && rti_task_side(task)->stack.block != NULL;
}

/* Where the task keeps what few have. */
static inline struct rti_task_annex *rti_task_annex(const struct rti_task *task)
{
    struct rti_tasks *tasks = rti_tasks_with(task);
    uint32_t index = rti_task_index(task);
    return index < RT_MAX_TASKS ? &tasks->annexes[index]
                                : &tasks->more_annexes[index - RT_MAX_TASKS];
}

/* Whom it waits for in a join; NULL: nobody. Under the lock, or where nothing moves. */
static inline struct rti_task *rti_task_joined(const struct rti_task *task)
{
    return task->joins == 0 ? NULL : rti_tasks_slot(rti_tasks_with(task), task->joins - 1);
}

/* How many slots were ever used. Any thread; with several workers it may have grown since. */
static inline uint32_t rti_tasks_fresh(const struct rti_tasks *tasks)
{
    return rti_u32_load_relaxed(&tasks->fresh);
}

/* Makes an empty module and hangs it at the scheduler, which has its stacks. `handles_lost` is what
 * rti_tasks_deinit has returned so far. RT_OK; RT_ERR_STATE if there is one. */
rt_status rti_tasks_init(struct rti_tasks *tasks, struct rti_sched *sched, uint64_t handles_lost);

/* Takes the module away. No task lives. Returns `handles_lost` and those of this runtime; a checked
 * build stops at the first of them. */
uint64_t rti_tasks_deinit(struct rti_tasks *tasks);

/* Ends every task that lives. On the worker's own stack; the next turns of the scheduler run their
 * hooks and take them apart. */
void rti_tasks_kill_all(struct rti_tasks *tasks);

/* Asks the task that a handle names to stop, whoever has the handle in use. False: it names none.
 */
bool rti_tasks_ask_cancel(struct rti_tasks *tasks, const rt_task *handle);

/* Asks every task that lives to stop. One worker: with several a slot may be another task's. */
void rti_tasks_cancel_all(struct rti_tasks *tasks);

/* Takes a slot that was never used, under the lock; NULL if there is none. */
struct rti_task *rti_tasks_take_fresh(struct rti_tasks *tasks);

/* Tasks that live: started and not yet concluded. */
size_t rti_tasks_live(const struct rti_tasks *tasks);

void rti_tasks_audit(const struct rti_tasks *tasks);

/* The module of a worker's runtime; NULL if the worker is, or if it has no tasks. */
static inline struct rti_tasks *rti_tasks_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : worker->sched->modules[RTI_MODULE_TASK];
}

/* Makes a slot that was taken one with a handle, and gives that. */
static RTI_ALWAYSINLINE uintptr_t rti_task_give_handle(struct rti_task *task)
{
    uintptr_t handle = task->next_handle;
    task->next_handle = handle + RTI_TASK_HANDLE_STEP;
    rti_size_store_relaxed(&task->handle, handle);
    return handle;
}

/* Takes a slot from the list, or one that was never used, under the lock or with one worker. */
static RTI_ALWAYSINLINE struct rti_task *rti_tasks_pop(struct rti_tasks *tasks)
{
    struct rti_task *task = tasks->free_head;
    if (RTI_UNLIKELY(task == NULL)) {
        return rti_tasks_take_fresh(tasks);
    }
    tasks->free_head = task->fiber.next_slot;
    return task;
}

/* The desk of a worker of this runtime; NULL if it has none: there is one worker, or it holds no
 * station. */
static RTI_ALWAYSINLINE struct rti_task_desk *rti_tasks_desk(struct rti_tasks *tasks,
                                                             const struct rti_worker *worker)
{
#if RT_MAX_WORKERS > 1
    const struct rti_station *station = worker->station;
    RT_DCHECK(worker->sched == tasks->sched);
    RT_DCHECK(station == NULL || station->index < tasks->desks_count);
    return station == NULL ? NULL : &tasks->desks[station->index];
#else
    (void)tasks, (void)worker;
    return NULL;
#endif
}

/* The desk at a station of who works alone, in a section. */
static RTI_ALWAYSINLINE struct rti_task_desk *rti_tasks_desk_at(const struct rti_station *station)
{
    return station->desks[RTI_DESK_TASK];
}

/* The same for the calling thread, which may be of another runtime, or of none. */
static inline struct rti_task_desk *rti_tasks_desk_here(struct rti_tasks *tasks)
{
    const struct rti_worker *worker = rti_worker_here();
    bool is_ours = worker != NULL && worker->sched == tasks->sched;
    return is_ours ? rti_tasks_desk(tasks, worker) : NULL;
}

/* The rack of a desk, unless slots are scarce. NULL: they come from the pile, or the list. */
static RTI_ALWAYSINLINE struct rti_task_rack *rti_tasks_rack(const struct rti_tasks *tasks,
                                                             const struct rti_task_desk *desk)
{
#if RT_MAX_WORKERS > 1
    /* Relaxed: who comes after the one that found the table scarce sees it. */
    if (RTI_LIKELY(desk != NULL) && RTI_LIKELY(rti_u32_load_relaxed(&tasks->is_scarce) == 0)) {
        return rti_task_desk_rack(desk);
    }
#else
    (void)tasks, (void)desk;
#endif
    return NULL;
}

#if RT_MAX_WORKERS > 1
/* Both with several workers, from the pile and to it, or from the list. */
struct rti_task *rti_tasks_take_shared(struct rti_tasks *tasks, struct rti_task_desk *desk);
void rti_tasks_give_shared(struct rti_tasks *tasks, struct rti_task_desk *desk,
                           struct rti_task *task);
#endif

/* Takes a slot, the one that was given back last, for a worker with this desk; NULL if as many
 * tasks exist as there is room for. */
static RTI_ALWAYSINLINE struct rti_task *rti_tasks_take_at(struct rti_tasks *tasks,
                                                           struct rti_task_desk *desk)
{
    struct rti_task *task;
#if RT_MAX_WORKERS > 1
    if (RTI_UNLIKELY(rti_lock_is_shared(&tasks->lock))) {
        struct rti_task_rack *rack = rti_tasks_rack(tasks, desk);
        task = rack == NULL ? NULL : rti_task_rack_take(rack);
        task = RTI_LIKELY(task != NULL) ? task : rti_tasks_take_shared(tasks, desk);
    } else
#endif
    {
        (void)desk;
        task = rti_tasks_pop(tasks);
    }
    if (RTI_LIKELY(task != NULL)) {
        (void)rti_task_give_handle(task);
    }
    return task;
}

static inline struct rti_task *rti_tasks_take(struct rti_tasks *tasks)
{
    return rti_tasks_take_at(tasks, rti_tasks_desk_here(tasks));
}

/* Gives it back to the list, under the lock or with one worker; its life is FREE, its handle
 * consumed. */
static RTI_ALWAYSINLINE void rti_tasks_push(struct rti_tasks *tasks, struct rti_task *task)
{
    RT_DCHECK(!rti_task_has_block(task));
    task->fiber.next_slot = tasks->free_head;
    tasks->free_head = task;
}

/* The same for who has not the lock, and a worker with this desk. If the handle was ever told, the
 * caller has made a read-modify-write since it ended. */
static RTI_ALWAYSINLINE void rti_tasks_give_at(struct rti_tasks *tasks, struct rti_task_desk *desk,
                                               struct rti_task *task)
{
    RT_ASSERT(rti_task_life(&task->life) == RTI_TASK_FREE && !rti_task_has_block(task));
    rti_size_store_relaxed(&task->handle, 0);
    task->has_message = false;
    if (RTI_LIKELY(!rti_lock_is_shared(&tasks->lock))) {
        (void)desk;
        rti_tasks_push(tasks, task);
        return;
    }
#if RT_MAX_WORKERS > 1
    struct rti_task_rack *rack = rti_tasks_rack(tasks, desk);
    if (RTI_UNLIKELY(rack == NULL) || RTI_UNLIKELY(rti_task_asker_is_at(&tasks->asker, task)) ||
        RTI_UNLIKELY(!rti_task_rack_put(rack, task))) {
        /* With the lock, under which whoever asks is at the slot. */
        rti_tasks_give_shared(tasks, desk, task);
    }
#endif
}

static inline void rti_tasks_give(struct rti_tasks *tasks, struct rti_task *task)
{
    rti_tasks_give_at(tasks, rti_tasks_desk_here(tasks), task);
}

/* The slot that a handle speaks of, whoever's it is; NULL if there is none, or `tasks` is NULL. */
static RTI_ALWAYSINLINE struct rti_task *rti_tasks_place(const struct rti_tasks *tasks,
                                                         const rt_task *handle)
{
    /* Of no handle: the greatest. */
    uint32_t index = (uint32_t)((uintptr_t)handle & RTI_TASK_INDEX_MASK) - 1;
    if (RTI_UNLIKELY(tasks == NULL) || RTI_UNLIKELY(index >= rti_tasks_fresh(tasks))) {
        return NULL;
    }
    return rti_tasks_slot(tasks, index);
}

/* The task that a handle names; NULL if it is none, or consumed, or `tasks` is NULL. */
static inline struct rti_task *rti_tasks_find(const struct rti_tasks *tasks, const rt_task *handle)
{
    struct rti_task *task = rti_tasks_place(tasks, handle);
    bool is_it = task != NULL && RTI_LIKELY(rti_task_handle_is(&task->handle, (uintptr_t)handle));
    return is_it ? task : NULL;
}

/* The task that a handle names, for who is about to use the handle up: nobody else can until it is
 * consumed or laid down. NULL: *why says why not. */
struct rti_task *rti_tasks_use(const struct rti_tasks *tasks, const rt_task *handle,
                               rt_status *why);

/* Gives back the stack of a task that has ended, or did not come to begin. */
static RTI_ALWAYSINLINE void rti_task_give_stack(struct rti_task *task, bool is_local)
{
    if (RTI_LIKELY(rti_fiber_has_slab(&task->fiber))) {
        rti_fiber_leave_slab(&task->fiber, is_local);
    } else {
        rti_stacks_give(rti_tasks_with(task)->stacks, &rti_task_side(task)->stack,
                        &task->fiber.stack);
    }
}

/* Counts something that happened at a worker with this desk, or with one worker (`is_local`). */
static RTI_ALWAYSINLINE void rti_tasks_count_at(struct rti_tasks *tasks, struct rti_task_desk *desk,
                                                enum rti_task_count what, bool is_local)
{
    if (RTI_LIKELY(is_local)) {
        rti_atomic_u64 *count = &tasks->counts[what];
        rti_u64_store_relaxed(count, rti_u64_load_relaxed(count) + 1);
    } else if (RTI_LIKELY(desk != NULL)) {
        rti_task_count_own(&desk->counts[what]);
    } else {
        /* Release, as in rti_task_count_own. */
        (void)rti_u64_add_acqrel(&tasks->counts[what], 1);
    }
}

/* The same for who may be anybody. */
static inline void rti_tasks_count(struct rti_tasks *tasks, enum rti_task_count what)
{
    bool is_local = rti_sched_is_local(tasks->sched);
    rti_tasks_count_at(tasks, is_local ? NULL : rti_tasks_desk_here(tasks), what, is_local);
}

/* How often it has happened. Any thread, also in a signal handler. */
uint64_t rti_tasks_counted(const struct rti_tasks *tasks, enum rti_task_count what);

#endif
