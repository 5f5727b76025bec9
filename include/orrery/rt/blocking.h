/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_BLOCKING_H
#define ORRERY_RT_BLOCKING_H

/* Calls that block the thread: of a library that knows nothing of this runtime, of the system.
 *
 *     rt_blocking         runs a function on a thread that is there for that; the caller waits
 *     rt_blocking_enter   or says that the calling thread itself is about to block,
 *     rt_blocking_exit    and that it has come back
 *
 * On the parallel engine a worker that stays away for longer than some 20 microseconds gives its
 * place to another one. On the fixed engine there is one worker, and what blocks it blocks all:
 * there rt_blocking is the way. */

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

/* Runs fn(arg) on a thread of the pool for blocking work and waits for its end. The function must
 * not call the runtime. The pool is bounded: what finds no thread free waits in line. A thread that
 * may block runs the function itself.
 * Callable from an actor, a task or a thread that may block (<orrery/rt/net.h>).
 * May suspend.
 * Owns nothing; `arg` and what it leads to must live until the function has returned, also if the
 * caller is killed meanwhile: then the function runs to its end all the same.
 * Returns RT_OK; RT_ERR_INVALID if `fn` is NULL; RT_ERR_THREAD elsewhere;
 * RT_ERR_RESOURCE_EXHAUSTED if RT_COMPLETION_QUEUE_SIZE calls wait already; RT_ERR_CANCELLED if the
 * caller is cancelled, before or while it waits.
 * What is lost on cancel: that the caller hears of its end. */
RT_API RT_SUSPENDS rt_status rt_blocking(void (*fn)(void *arg), void *arg);

/* Says that the calling actor or task is about to make a call that may block its thread. Until
 * rt_blocking_exit it should call nothing of the runtime. May be nested: the outermost pair counts.
 * Callable from actors and tasks.
 * Never suspends.
 * Owns nothing.
 * Returns RT_OK; RT_ERR_THREAD outside of actors and tasks.
 * Nothing is lost on cancel. */
RT_API rt_status rt_blocking_enter(void);

/* Says that it has come back. If its place was given to another one meanwhile, and no other is
 * free, the caller queues like everybody else.
 * Callable from actors and tasks, after rt_blocking_enter.
 * May suspend.
 * Owns nothing.
 * Returns RT_OK; RT_ERR_THREAD outside of actors and tasks; RT_ERR_STATE without rt_blocking_enter.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_blocking_exit(void);

RT_EXTERN_C_END

#endif
