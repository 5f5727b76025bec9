/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_WAIT_GROUP_H
#define ORRERY_RT_WAIT_GROUP_H

/* A wait group: a number of things that are still to be done, and those who wait until none is.
 *
 *     rt_wait_group_add(&group, 3);
 *     ... three tasks, each ends with rt_wait_group_done(&group) ...
 *     status = rt_wait_group_wait(&group, NULL);
 *
 * The number may rise again from zero: those who waited before have been let go, the next ones wait
 * anew. A task that ends without rt_wait_group_done is not counted as done: let an ensure hook do
 * it. */

#include <orrery/rt/api.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* Storage of a wait group. Not to be moved nor copied between init and deinit. */
typedef struct rt_wait_group {
    uint64_t opaque[8];
} rt_wait_group;

/* Makes a wait group with nothing to be done.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `group` is the caller's, who leaves it in place until rt_wait_group_deinit.
 * Returns RT_OK; RT_ERR_INVALID if `group` is NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_wait_group_init(rt_wait_group *group);

/* Ends a wait group.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `group` is the caller's again.
 * Returns RT_OK; RT_ERR_STATE, nothing changed, if something is still to be done or somebody waits;
 * RT_ERR_INVALID if it is no wait group; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_wait_group_deinit(rt_wait_group *group);

/* Says that `count` more things are to be done.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The group stays its maker's.
 * Returns RT_OK; RT_ERR_LIMIT, nothing changed, if there would be more than 2^32 - 1;
 * RT_ERR_INVALID if it is no wait group; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_wait_group_add(rt_wait_group *group, uint32_t count);

/* Says that one thing is done; with the last one those who wait are let go.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The group stays its maker's.
 * Returns RT_OK; RT_ERR_STATE, nothing changed, if nothing was to be done; RT_ERR_INVALID if it is
 * no wait group; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_wait_group_done(rt_wait_group *group);

/* Waits until nothing is to be done; see rt_wait_group_wait_until.
 * Callable from a task, an actor or, with its context, a poll context.
 * Suspends while something is to be done: a poll context registers and gets RT_ERR_WOULDBLOCK.
 * The group stays its maker's.
 * Returns RT_OK; RT_ERR_CANCELLED or RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, also while it waits;
 * RT_ERR_WOULDBLOCK to a poll context, and outside of any task instead of waiting; RT_ERR_INVALID
 * if it is no wait group; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_wait_group_wait(rt_wait_group *group, rt_cx *cx);

/* Waits until nothing is to be done, or until `deadline`, or until the budget's, if that is
 * earlier.
 * Callable as rt_wait_group_wait.
 * Suspends as rt_wait_group_wait.
 * The group stays its maker's.
 * Returns what rt_wait_group_wait returns, and RT_ERR_TIMEOUT if `deadline` comes first.
 * Nothing is lost on cancel or timeout. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_wait_group_wait_until(rt_wait_group *group, rt_cx *cx,
                                                                    rt_time deadline);

RT_EXTERN_C_END

#endif
