/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_HOOKS_H
#define RTI_TASK_HOOKS_H

/* The last duties of a task: its ensure hooks and the destructors of its locals.
 *
 * A task that returns or panics does them itself, on its own stack, above the frames that are still
 * there. One that was killed, faulted or overflowed cannot: none of its frames runs again. Its
 * stack stays as it is, since hooks may point into it, and the undertaker does them: a fiber of the
 * module with a stack of its own, started when there is work. It takes one task at a time, the
 * youngest first, and concludes it when the duties are done: a task that waits in a block of its
 * own (rt_using) has the duty to wait for the tasks in it, and those are younger. When tasks are
 * killed it lets all of them come to its line before it begins.
 *
 * A hook that the destructor of a local has put there is the undertaker's as well. Such a task has
 * returned, but is settled on the worker's stack (sched/fiber_life.c): its own may be given back,
 * and be another's, as soon as it is in the line.
 *
 * A hook that panics or faults there ends the undertaker's fiber; a new one goes on with the next
 * hook. So each hook is begun exactly once, and the rest always run.
 *
 * Shield. Hooks run in a context of their own, which a cancellation of the task does not reach, and
 * whose budget ends RT_ENSURE_TIME_NS after the first hook began (sync/cx.h).
 *
 * A kill that comes while a hook runs waits for its end.
 *
 * I1  Each hook is begun once: it is out of the stack before it is called.     (task_hook_next)
 * I2  A task in the undertaker's line has duties, and with several workers nobody stands on its
 *     stack.                                                                   (rti_task_bury)
 *
 * Rejected: hooks on the worker's stack (they may wait); hooks on the dead task's stack below its
 * frames (an overflow has left no room there). */

#include "task/task.h"

static inline bool rti_task_has_duties(const struct rti_task *task)
{
    return (task->hook_count | task->locals_set) != 0;
}

/* Does the duties of the calling task. */
void rti_task_run_hooks(struct rti_task *task);

/* Gives a task whose fiber is over, and which has duties, to the undertaker. Worker's own stack. */
void rti_task_bury(struct rti_task *task);

/* A panic on the undertaker's fiber: the hook that runs there is over. Returns if the caller is not
 * on that fiber. */
void rti_undertaker_panic(struct rti_worker *worker, const rt_site *site, const char *message);

/* Runs the destructors of the locals; task_local.c. */
void rti_task_drop_locals(struct rti_task *task);

#endif
