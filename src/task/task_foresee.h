/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_FORESEE_H
#define RTI_TASK_FORESEE_H

/* What is asked of the memory before it is used: slots of tasks, of which a thousand are more than
 * the nearest cache has room for. For src/task only. */

#include "base/compiler.h"
#include "base/ring.h"
#include "sched/station.h"
#include "task/tasks.h"

/* Asks for a slot that is about to be used, all of it: among a thousand that are started together,
 * or have been, each has left the nearest cache. */
static RTI_ALWAYSINLINE void rti_task_foresee(const void *slot)
{
    const char *line = slot;
    _Pragma("GCC unroll 16") for (size_t at = 0; at < sizeof(struct rti_task); at += RTI_CACHE_LINE)
    {
        RTI_PREFETCH(line + at);
    }
}

/* The next in the queue of the worker, which may be a task, or may be gone. NULL: there is none. */
static RTI_ALWAYSINLINE const void *task_next_queued(const struct rti_task *task)
{
    const void *next = task->fiber.sched->processor.levels[RT_PRIO_NORMAL].head;
#if !RTI_ONE_WORKER
    if (RTI_UNLIKELY(next == NULL) && !task->life.is_local) {
        /* With several workers nobody ever lies there. */
        const struct rti_station *station = rti_worker_here()->station;
        next = station == NULL ? NULL : rti_ring_peek(&station->levels[RT_PRIO_NORMAL]);
    }
#endif
    return next;
}

/* The same for that one. Without a slab all tasks have room in the nearest cache. */
static RTI_ALWAYSINLINE void rti_task_foresee_next(const struct rti_task *task)
{
#if RTI_HAS_SLABS
    if (rti_fiber_has_slab(&task->fiber)) {
        const void *next = task_next_queued(task);
        if (RTI_LIKELY(next != NULL)) {
            rti_task_foresee(next);
        }
    }
#else
    (void)task;
#endif
}

#endif
