/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_DESK_H
#define RTI_TASK_DESK_H

/* What the holder of a station has of the task module for itself: a desk, with its share of the
 * counts, and a rack of free slots. Starting and joining a task takes no lock that way, and the one
 * word that others write as well is the number of the last task.
 *
 * A desk and its rack belong to who holds the station and change hands with it: plain loads and
 * stores, but atomic, because others read the counts. The counts of a module are the sums over all
 * desks and what was counted by who has none; they are exact for who sees that nothing happens.
 *
 * A rack is filled from the pile that all share and spills onto it, half a rack at a time, the
 * slots that lay there longest. Only a table that rt_task_reserve has made longer has racks, and it
 * is then longer by what fits into all of them: what lies in other racks is missing to nobody (I2
 * in tasks.h).
 *
 * I1  Only the holder of its station changes a desk or a rack. */

#include <orrery/rt_static_config.h>

#include "base/atomic.h"
#include "base/compiler.h"

struct rti_task;

/* Desks, one for each station; none where there is one worker. */
#define RTI_TASK_DESKS (RT_MAX_WORKERS > 1 ? RT_MAX_WORKERS : 0)

/* Slots in a rack, and how many of them come and go at a time. */
#define RTI_TASK_RACK_MAX 64
#define RTI_TASK_RACK_ROW (RTI_TASK_RACK_MAX / 2)

/* What is counted of tasks. */
enum rti_task_count {
    RTI_TASKS_SPAWNED,
    RTI_TASKS_COMPLETED,
    RTI_TASKS_JOINED,
    RTI_TASKS_DETACHED,
    RTI_TASKS_CANCELLED,
    RTI_TASKS_PANICKED,
    RTI_TASKS_COUNTS,
};

struct rti_task_rack {
    RTI_ALIGNED(RTI_CACHE_LINE) rti_atomic_u32 count;
    struct rti_task *slots[RTI_TASK_RACK_MAX]; /* `count` of them; the last one goes first */
};

struct rti_task_desk {
    RTI_ALIGNED(RTI_CACHE_LINE)
    rti_atomic_ptr rack; /* struct rti_task_rack; NULL: there are none. Written once */
    rti_atomic_u64 counts[RTI_TASKS_COUNTS];
};

/* Adds to a count that only the caller writes. Release pairs with the acquire of who adds up: who
 * sees that a task has ended sees that it was started. */
static RTI_ALWAYSINLINE void rti_task_count_own(rti_atomic_u64 *count)
{
    rti_u64_store_release(count, rti_u64_load_relaxed(count) + 1);
}

/* The rack of a desk; NULL if there is none. */
static RTI_ALWAYSINLINE struct rti_task_rack *rti_task_desk_rack(const struct rti_task_desk *desk)
{
    /* Acquire pairs with the release of who has made the racks. */
    return (struct rti_task_rack *)rti_ptr_load_acquire(&desk->rack);
}

/* Takes the slot that was put there last; NULL if there is none. */
static RTI_ALWAYSINLINE struct rti_task *rti_task_rack_take(struct rti_task_rack *rack)
{
    uint32_t count = rti_u32_load_relaxed(&rack->count);
    if (RTI_UNLIKELY(count == 0)) {
        return NULL;
    }
    /* Relaxed: others add up how many lie there, and look at none of them. */
    rti_u32_store_relaxed(&rack->count, count - 1);
    return rack->slots[count - 1];
}

/* The one that will be taken next, if nothing is put there before; NULL if there is none. */
static RTI_ALWAYSINLINE struct rti_task *rti_task_rack_next(const struct rti_task_rack *rack)
{
    uint32_t count = rti_u32_load_relaxed(&rack->count);
    return RTI_LIKELY(count > 0) ? rack->slots[count - 1] : NULL;
}

/* Takes that one. */
static RTI_ALWAYSINLINE void rti_task_rack_drop(struct rti_task_rack *rack)
{
    uint32_t count = rti_u32_load_relaxed(&rack->count);
    RT_DCHECK(count > 0);
    rti_u32_store_relaxed(&rack->count, count - 1);
}

static RTI_ALWAYSINLINE bool rti_task_rack_is_full(const struct rti_task_rack *rack)
{
    return rti_u32_load_relaxed(&rack->count) == RTI_TASK_RACK_MAX;
}

/* Puts a free slot there, for which there is room. */
static RTI_ALWAYSINLINE void rti_task_rack_add(struct rti_task_rack *rack, struct rti_task *task)
{
    uint32_t count = rti_u32_load_relaxed(&rack->count);
    RT_DCHECK(count < RTI_TASK_RACK_MAX);
    rack->slots[count] = task;
    rti_u32_store_relaxed(&rack->count, count + 1);
}

/* The same; false if it is full. */
static RTI_ALWAYSINLINE bool rti_task_rack_put(struct rti_task_rack *rack, struct rti_task *task)
{
    if (RTI_UNLIKELY(rti_task_rack_is_full(rack))) {
        return false;
    }
    rti_task_rack_add(rack, task);
    return true;
}

#endif
