/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_ONCE_H
#define ORRERY_RT_ONCE_H

/* Something that is done once, by whoever comes first; the others wait until it is done.
 *
 * What is done may suspend. If the one who does it ends before it is done, the next in line does it
 * instead: what was begun may be half-done then, and the function begins anew. */

#include <stdbool.h>

#include <orrery/rt/api.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* Storage of a once. Not to be moved nor copied between init and deinit. */
typedef struct rt_once {
    uint64_t opaque[12];
} rt_once;

/* Makes a once of something that is not done.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `once` is the caller's, who leaves it in place until rt_once_deinit.
 * Returns RT_OK; RT_ERR_INVALID if `once` is NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_once_init(rt_once *once);

/* Ends a once.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `once` is the caller's again.
 * Returns RT_OK; RT_ERR_STATE, nothing changed, if somebody is doing it or waits; RT_ERR_INVALID if
 * it is no once; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_once_deinit(rt_once *once);

/* Calls `fn(arg)` if nobody has, and waits until it is done if somebody does; see
 * rt_once_run_until.
 * Callable from a task, an actor or, with its context, a poll context; `fn` runs as part of it.
 * Suspends while another does it: a poll context registers and gets RT_ERR_WOULDBLOCK.
 * The once stays its maker's; `fn` must not run the same once.
 * Returns RT_OK if it is done; RT_ERR_CANCELLED or RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, also
 * while it waits; RT_ERR_STATE if the caller is doing it; RT_ERR_WOULDBLOCK to a poll context, and
 * outside of any task instead of waiting; RT_ERR_INVALID if it is no once or `fn` is NULL;
 * RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_once_run(rt_once *once, rt_cx *cx,
                                                       void (*fn)(void *arg), void *arg);

/* The same, waiting for another until `deadline` at most, or until the budget's, if that is
 * earlier. `fn` itself is not bounded by it.
 * Callable as rt_once_run.
 * Suspends as rt_once_run.
 * Ownership as with rt_once_run.
 * Returns what rt_once_run returns, and RT_ERR_TIMEOUT if `deadline` comes first.
 * Nothing is lost on cancel or timeout. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_once_run_until(rt_once *once, rt_cx *cx,
                                                             void (*fn)(void *arg), void *arg,
                                                             rt_time deadline);

/* Tells whether it is done.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The once stays its maker's.
 * Returns false also for what is no once, and on another thread.
 * Nothing is lost on cancel. */
RT_API bool rt_once_is_done(rt_once *once);

RT_EXTERN_C_END

#endif
