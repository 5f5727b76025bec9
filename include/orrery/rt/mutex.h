/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_MUTEX_H
#define ORRERY_RT_MUTEX_H

/* A mutex for tasks, actors and poll contexts: one holder at a time, the others wait in line.
 *
 * An unlock gives the mutex to the first in line before anybody else can see it, so that nobody
 * who comes later overtakes. The holder may suspend; waiting suspends the caller, not its thread.
 *
 *     rt_mutex mutex;
 *     rt_mutex_init(&mutex);
 *     status = rt_mutex_lock(&mutex, NULL);
 *     ...
 *     rt_mutex_unlock(&mutex, NULL);
 *
 * If the holder ends while it holds the mutex, however it ends, what the mutex guards may be
 * half-changed. From then on everybody gets RT_ERR_OWNER_DIED, those in line too, until somebody
 * takes it with rt_mutex_recover, repairs what it guards and unlocks it. */

#include <orrery/rt/api.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* Storage of a mutex. Not to be moved nor copied between init and deinit. */
typedef struct rt_mutex {
    uint64_t opaque[12];
} rt_mutex;

/* Makes a mutex that nobody holds.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `mutex` is the caller's, who leaves it in place until rt_mutex_deinit.
 * Returns RT_OK; RT_ERR_INVALID if `mutex` is NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_mutex_init(rt_mutex *mutex);

/* Ends a mutex.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `mutex` is the caller's again.
 * Returns RT_OK; RT_ERR_STATE, nothing changed, if somebody holds it or waits for it;
 * RT_ERR_INVALID if it is no mutex; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_mutex_deinit(rt_mutex *mutex);

/* Takes the mutex; see rt_mutex_lock_until.
 * Callable from a task, an actor or, with its context, a poll context.
 * Suspends while another holds it: a poll context registers and gets RT_ERR_WOULDBLOCK.
 * The mutex stays its maker's; with RT_OK the caller holds it until rt_mutex_unlock.
 * Returns RT_OK; RT_ERR_OWNER_DIED if a holder has ended, and the mutex is not taken;
 * RT_ERR_STATE if the caller holds it already; RT_ERR_CANCELLED or RT_ERR_BUDGET_EXHAUSTED as
 * rt_checkpoint, also while it waits; RT_ERR_WOULDBLOCK to a poll context; RT_ERR_INVALID if it is
 * no mutex; RT_ERR_THREAD outside of tasks, actors and poll contexts.
 * Nothing is lost on cancel: the mutex is not taken. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_mutex_lock(rt_mutex *mutex, rt_cx *cx);

/* Takes the mutex, waiting until `deadline` at most, or until the budget's, if that is earlier.
 * Callable as rt_mutex_lock.
 * Suspends as rt_mutex_lock.
 * Ownership as with rt_mutex_lock.
 * Returns what rt_mutex_lock returns, and RT_ERR_TIMEOUT if `deadline` comes first.
 * Nothing is lost on cancel or timeout: the mutex is not taken. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_mutex_lock_until(rt_mutex *mutex, rt_cx *cx,
                                                               rt_time deadline);

/* Takes the mutex if nobody holds it.
 * Callable as rt_mutex_lock.
 * Never suspends and is no check point.
 * Ownership as with rt_mutex_lock.
 * Returns RT_OK; RT_ERR_WOULDBLOCK if another holds it; RT_ERR_OWNER_DIED, RT_ERR_STATE,
 * RT_ERR_INVALID and RT_ERR_THREAD as rt_mutex_lock.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_mutex_try_lock(rt_mutex *mutex, rt_cx *cx);

/* Gives the mutex to the first in line.
 * Callable by the holder; a poll context gives its context.
 * Never suspends.
 * Ownership as with rt_mutex_lock.
 * Returns RT_OK; RT_ERR_STATE, nothing changed, if the caller does not hold it; RT_ERR_INVALID if
 * it is no mutex; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel: this is no check point. */
RT_API rt_status rt_mutex_unlock(rt_mutex *mutex, rt_cx *cx);

/* Takes a mutex whose holder has ended, so that what it guards can be repaired. From here on it is
 * a mutex like every other: held by the caller.
 * Callable as rt_mutex_lock.
 * Never suspends and is no check point.
 * Ownership as with rt_mutex_lock.
 * Returns RT_OK; RT_ERR_STATE, nothing changed, if no holder has ended or somebody recovered it
 * already; RT_ERR_INVALID if it is no mutex; RT_ERR_THREAD as rt_mutex_lock.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_mutex_recover(rt_mutex *mutex, rt_cx *cx);

RT_EXTERN_C_END

#endif
