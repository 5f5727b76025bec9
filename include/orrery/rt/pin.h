/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_PIN_H
#define ORRERY_RT_PIN_H

/* Tasks and actors that must stay on one thread: for libraries that keep something per thread, such
 * as a graphics context, a namespace or a database handle.
 *
 * From rt_pin on the caller runs on the thread that it is on now, and nobody else does. After as
 * many rt_unpin it may go on anywhere again.
 *
 * A pinned task takes its thread out of the workers: while it waits the thread sleeps, and another
 * one takes its place. So each of its suspensions that finds something else to run costs two
 * switches between threads. A task that only wants to block wants rt_blocking_enter instead. */

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

/* Pins the calling task or actor to its thread. It is never stolen and never handed over, neither
 * at a suspension nor in rt_blocking_exit; what rt_blocking runs, runs on a thread of the pool all
 * the same. May be nested, up to 255 deep: the outermost pair counts. The pin ends with the task
 * that has it, however that ends, and the thread then serves others again, with whatever libraries
 * have left in it. rt_shutdown ends all threads but that of rt_run: a pinned task that goes on in
 * a later rt_run gets a new thread of its own. On engines with one worker there is
 * one thread, and the calls are counted and nothing else.
 * Callable from tasks and actors that have a stack.
 * Never suspends.
 * Owns nothing.
 * Returns RT_OK; RT_ERR_THREAD elsewhere (threads of the program, behaviours, poll tasks, timers);
 * RT_ERR_LIMIT if it is nested too deep; RT_ERR_RESOURCE_EXHAUSTED if `threads_max` less those that
 * are pinned already would leave fewer threads than workers, or if the system has no thread to take
 * the place of this one. Then the caller is not pinned.
 * Nothing is lost on cancel. */
RT_API rt_status rt_pin(void);

/* Undoes one rt_pin. After the outermost the caller may go on on any thread, from its next
 * suspension on.
 * Callable from tasks and actors that have a stack.
 * Never suspends.
 * Owns nothing.
 * Returns RT_OK; RT_ERR_THREAD as above; RT_ERR_STATE if the caller is not pinned.
 * Nothing is lost on cancel. */
RT_API rt_status rt_unpin(void);

RT_EXTERN_C_END

#endif
