/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_CONDITION_H
#define ORRERY_RT_CONDITION_H

/* A condition: waiting, without the mutex, until somebody says that what it guards has changed.
 *
 *     rt_mutex_lock(&mutex, NULL);
 *     while (!what_is_wanted) {
 *         status = rt_condition_wait(&changed, &mutex, NULL);
 *     }
 *     ...
 *     rt_mutex_unlock(&mutex, NULL);
 *
 * Letting go of the mutex and waiting are one step: a signal that comes afterwards is not missed.
 * Signals go to those who wait in the order in which they came; one that finds nobody is lost. The
 * mutex is the caller's again whatever the wait returns, with the exceptions named below. */

#include <orrery/rt/api.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/mutex.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* Storage of a condition. Not to be moved nor copied between init and deinit. */
typedef struct rt_condition {
    uint64_t opaque[8];
} rt_condition;

/* Makes a condition that nobody waits for.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `condition` is the caller's, who leaves it in place until rt_condition_deinit.
 * Returns RT_OK; RT_ERR_INVALID if `condition` is NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_condition_init(rt_condition *condition);

/* Ends a condition.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `condition` is the caller's again.
 * Returns RT_OK; RT_ERR_STATE, nothing changed, if somebody waits for it; RT_ERR_INVALID if it is
 * no condition; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_condition_deinit(rt_condition *condition);

/* Lets go of the mutex, waits for a signal and takes the mutex again; see rt_condition_wait_until.
 * Callable from a task, an actor or, with its context, a poll context that holds the mutex.
 * Suspends: a poll context registers and gets RT_ERR_WOULDBLOCK, and calls again with the same
 * arguments until it gets something else.
 * Condition and mutex stay their makers'.
 * Returns RT_OK after a signal; RT_ERR_CANCELLED or RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, at
 * once or while it waits for the signal, and the mutex is the caller's all the same;
 * RT_ERR_OWNER_DIED, and the mutex is not the caller's, if another has ended with it meanwhile;
 * RT_ERR_WOULDBLOCK to a poll context; RT_ERR_STATE, nothing changed, if the caller does not hold
 * the mutex; RT_ERR_INVALID if one of them is none; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel: a signal that came for it passes on. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_condition_wait(rt_condition *condition,
                                                             rt_mutex *mutex, rt_cx *cx);

/* The same, waiting for the signal until `deadline` at most, or until the budget's, if that is
 * earlier. Taking the mutex again is not bounded by it.
 * Callable as rt_condition_wait.
 * Suspends as rt_condition_wait.
 * Ownership as with rt_condition_wait.
 * Returns what rt_condition_wait returns, and RT_ERR_TIMEOUT, the mutex taken, if `deadline` comes
 * first.
 * Nothing is lost on cancel or timeout. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_condition_wait_until(rt_condition *condition,
                                                                   rt_mutex *mutex, rt_cx *cx,
                                                                   rt_time deadline);

/* Wakes the first who waits, if anybody does.
 * Callable on a thread of the runtime; holding the mutex is usual and not needed.
 * Never suspends.
 * The condition stays its maker's.
 * Returns RT_OK; RT_ERR_INVALID if it is no condition; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_condition_signal(rt_condition *condition);

/* Wakes everybody who waits.
 * Callable as rt_condition_signal.
 * Never suspends.
 * The condition stays its maker's.
 * Returns what rt_condition_signal returns.
 * Nothing is lost on cancel. */
RT_API rt_status rt_condition_broadcast(rt_condition *condition);

RT_EXTERN_C_END

#endif
