/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_BUDGET_H
#define ORRERY_RT_BUDGET_H

#include <stdbool.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* What a task may use up. A scope inside another gets the meet of both: the tighter limit wins, in
 * every component. A deadline arms no timer by itself; waits look at it. */
typedef struct {
    rt_time deadline;    /* RT_TIME_NEVER: none */
    uint32_t poll_quota; /* check points left; UINT32_MAX: no limit */
    uint64_t cost_quota; /* units of the program's own cost left; UINT64_MAX: no limit */
} rt_budget;

/* The neutral element of the meet. */
#define RT_BUDGET_UNLIMITED                                                                        \
    {                                                                                              \
        RT_TIME_NEVER, UINT32_MAX, UINT64_MAX                                                      \
    }

/* Gives the budget of a scope inside a scope: the minimum of each component.
 * Callable from any thread, interrupt and signal handler.
 * Never suspends.
 * Owns nothing: both are copied.
 * Returns the meet.
 * Nothing is lost on cancel. */
RT_API rt_budget rt_budget_meet(rt_budget a, rt_budget b);

/* Tells whether any component is used up at the time `now`.
 * Callable from any thread.
 * Never suspends.
 * The budget stays the caller's.
 * Returns true also for NULL: no budget is no permission.
 * Nothing is lost on cancel. */
RT_API bool rt_budget_is_exhausted(const rt_budget *budget, rt_time now);

/* Takes one check point from the quota.
 * Callable by the budget's owner.
 * Never suspends.
 * The budget stays the caller's.
 * Returns RT_OK; RT_ERR_BUDGET_EXHAUSTED if none was left, nothing taken; RT_ERR_INVALID for NULL.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_budget_take_poll(rt_budget *budget);

/* Takes `cost` units from the quota, all or nothing.
 * Callable by the budget's owner.
 * Never suspends.
 * The budget stays the caller's.
 * Returns RT_OK; RT_ERR_BUDGET_EXHAUSTED if fewer were left, nothing taken; RT_ERR_INVALID for
 * NULL. Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_budget_take_cost(rt_budget *budget, uint64_t cost);

/* Gives the earlier of a requested point in time and the budget's deadline.
 * Callable from any thread.
 * Never suspends.
 * The budget stays the caller's; NULL has no deadline.
 * Returns the effective deadline.
 * Nothing is lost on cancel. */
RT_API rt_time rt_budget_deadline(const rt_budget *budget, rt_time requested);

RT_EXTERN_C_END

#endif
