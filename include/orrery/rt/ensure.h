/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_ENSURE_H
#define ORRERY_RT_ENSURE_H

/* Ensure hooks: what must be done for a task whichever way it ends.
 *
 *     int fd = open_something();
 *     RT_ENSURE(close_it, &fd);          runs when this block is left, or the task ends inside it
 *
 * Each task has a stack of hooks; the latest runs first. They run when the task returns, was
 * cancelled, panics, is killed or faults. A hook may wait. It is shielded from the cancellation of
 * its task, and all hooks of a task together have RT_ENSURE_TIME_NS: what they
 * wait for then gives RT_ERR_BUDGET_EXHAUSTED, and RT_ERR_CANCELLED from there on. A hook that
 * fails is told in a line with its place, and the others run. */

#include <orrery/rt/task.h>

RT_EXTERN_C_BEGIN

/* What a hook does; a status that is not RT_OK is told in a line. */
typedef rt_status (*rt_ensure_fn)(void *arg);

/* Puts a hook on the stack of the calling task; the macro rt_ensure calls it with the place it
 * stands in.
 * Callable from a task.
 * Never suspends.
 * `arg` stays the caller's; what it points to must be there when the hook runs. For a task that is
 * killed or faults, its own stack still is.
 * Returns RT_OK; RT_ERR_NOMEM if the task has RT_MAX_HOOKS; RT_ERR_INVALID if `fn` is NULL;
 * RT_ERR_THREAD outside of a task.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_ensure_at(const rt_site *site, rt_ensure_fn fn, void *arg);

#define rt_ensure(fn, arg) rt_ensure_at(RT_SITE(#fn), fn, arg)

/* Takes the latest hook of the calling task and runs it now.
 * Callable from a task.
 * May suspend, if the hook does.
 * There is no pointer to own.
 * Returns what the hook does; RT_ERR_EMPTY if there is none; RT_ERR_THREAD outside of a task.
 * Nothing is lost on cancel: the hook is shielded. */
RT_API RT_SUSPENDS rt_status rt_ensure_run(void);

/* Takes the latest hook of the calling task away without running it.
 * Callable from a task.
 * Never suspends.
 * What the hook was for is the caller's again.
 * Returns RT_OK; RT_ERR_EMPTY if there is none; RT_ERR_THREAD outside of a task.
 * Nothing is lost on cancel. */
RT_API rt_status rt_ensure_drop(void);

/* How deep the calling task's stack of hooks is.
 * Callable from anywhere.
 * Never suspends.
 * There is no pointer to own.
 * Returns the number; 0 outside of a task.
 * Nothing is lost on cancel. */
RT_API uint32_t rt_ensure_depth(void);

/* A hook that belongs to a block of code; made by RT_ENSURE. */
typedef struct {
    uint32_t depth; /* of the stack below the hook */
} rt_ensure_block;

/* Begins a block with a hook: rt_ensure_at; if there is no room the hook runs and the task panics.
 * Callable from a task.
 * May suspend, if it fails and the hook does.
 * `arg` stays the caller's.
 * Returns the block.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_ensure_block rt_ensure_enter(const rt_site *site, rt_ensure_fn fn, void *arg);

/* Ends a block: runs the hooks down to its own.
 * Callable from the task that began it.
 * May suspend, if a hook does.
 * `block` stays the caller's.
 * Returns nothing: a failure is told in a line.
 * Nothing is lost on cancel: hooks are shielded. */
RT_API RT_SUSPENDS void rt_ensure_leave(rt_ensure_block *block);

#define RT_ENSURE_NAME_2(line) rt_ensure_block_##line
#define RT_ENSURE_NAME(line)   RT_ENSURE_NAME_2(line)

/* From here to the end of the block: fn(arg) is done when it is left, or the task ends in it. */
#define RT_ENSURE(fn, arg)                                                                         \
    rt_ensure_block RT_ENSURE_NAME(__LINE__) __attribute__((cleanup(rt_ensure_leave), unused)) =   \
        rt_ensure_enter(RT_SITE(#fn), fn, arg)

RT_EXTERN_C_END

#endif
