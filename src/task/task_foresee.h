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

/* The next in the queue of the one worker that there is, which may be a task. NULL: there is none,
 * or there are several, whose queues are elsewhere. */
static RTI_ALWAYSINLINE const void *task_next_queued(const struct rti_task *task)
{
    return task->fiber.sched->processor.levels[RT_PRIO_NORMAL].head;
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

#if !RTI_ONE_WORKER
/* With several workers, for who ends in a section and has the oldest of this station follow him:
 * the one behind that, which may be no task, or gone. */
static RTI_ALWAYSINLINE void rti_task_foresee_second(const struct rti_station *station)
{
    rti_task_foresee(rti_ring_peek_second(&station->levels[RT_PRIO_NORMAL]));
}
#endif

#endif
