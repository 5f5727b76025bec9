/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_SEMAPHORE_H
#define ORRERY_RT_SEMAPHORE_H

/* A counting semaphore for tasks, actors and poll contexts.
 *
 * Units are taken and given back; who gives back need not be who took. Those who wait are served in
 * the order in which they came, also if the first wants many and the next only one: nobody starves.
 * Units belong to nobody: those of a task that ends are not given back for it. */

#include <orrery/rt/api.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* Storage of a semaphore. Not to be moved nor copied between init and deinit. */
typedef struct rt_semaphore {
    uint64_t opaque[8];
} rt_semaphore;

/* Makes a semaphore with `count` units.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `semaphore` is the caller's, who leaves it in place until rt_semaphore_deinit.
 * Returns RT_OK; RT_ERR_INVALID if `semaphore` is NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_semaphore_init(rt_semaphore *semaphore, uint32_t count);

/* Ends a semaphore.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `semaphore` is the caller's again.
 * Returns RT_OK; RT_ERR_STATE, nothing changed, if somebody waits for it; RT_ERR_INVALID if it is
 * no semaphore; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_semaphore_deinit(rt_semaphore *semaphore);

/* Takes `count` units, all at once; see rt_semaphore_acquire_until.
 * Callable from a task, an actor or, with its context, a poll context.
 * Suspends while there are too few, or others wait: a poll context registers and gets
 * RT_ERR_WOULDBLOCK.
 * The semaphore stays its maker's.
 * Returns RT_OK; RT_ERR_CANCELLED or RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, also while it waits;
 * RT_ERR_WOULDBLOCK to a poll context, and outside of any task instead of waiting; RT_ERR_INVALID
 * if it is no semaphore; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel: nothing was taken. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_semaphore_acquire(rt_semaphore *semaphore,
                                                                uint32_t count, rt_cx *cx);

/* Takes `count` units, waiting until `deadline` at most, or until the budget's, if that is earlier.
 * Callable as rt_semaphore_acquire.
 * Suspends as rt_semaphore_acquire.
 * The semaphore stays its maker's.
 * Returns what rt_semaphore_acquire returns, and RT_ERR_TIMEOUT if `deadline` comes first.
 * Nothing is lost on cancel or timeout: nothing was taken. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_semaphore_acquire_until(rt_semaphore *semaphore,
                                                                      uint32_t count, rt_cx *cx,
                                                                      rt_time deadline);

/* Takes `count` units if they are there and nobody waits.
 * Callable on a thread of the runtime.
 * Never suspends and is no check point.
 * The semaphore stays its maker's.
 * Returns RT_OK; RT_ERR_WOULDBLOCK; RT_ERR_INVALID if it is no semaphore; RT_ERR_THREAD on another
 * thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_semaphore_try_acquire(rt_semaphore *semaphore, uint32_t count);

/* Gives back `count` units: to those in line first.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The semaphore stays its maker's.
 * Returns RT_OK; RT_ERR_LIMIT, nothing changed, if there would be more than 2^32 - 1;
 * RT_ERR_INVALID if it is no semaphore; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_semaphore_release(rt_semaphore *semaphore, uint32_t count);

/* Tells how many units are there.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The semaphore stays its maker's.
 * Returns the number; 0 for what is no semaphore, and on another thread.
 * Nothing is lost on cancel. */
RT_API uint32_t rt_semaphore_count(rt_semaphore *semaphore);

RT_EXTERN_C_END

#endif
