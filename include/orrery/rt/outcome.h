/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_OUTCOME_H
#define ORRERY_RT_OUTCOME_H

#include <stdbool.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

/* How a task or a region came out, from best to worst. The order is the lattice: join is the worst.
 */
typedef enum {
    RT_OUTCOME_OK = 0,
    RT_OUTCOME_ERR = 1,
    RT_OUTCOME_CANCELLED = 2,
    RT_OUTCOME_PANICKED = 3,
} rt_outcome;

/* Joins two outcomes: the worse of the two. Associative, commutative, idempotent; RT_OUTCOME_OK is
 * neutral.
 * Callable from any thread, interrupt and signal handler.
 * Never suspends.
 * Owns nothing.
 * Returns the join; a value that is no outcome counts as RT_OUTCOME_PANICKED.
 * Nothing is lost on cancel. */
RT_API rt_outcome rt_outcome_join(rt_outcome a, rt_outcome b);

/* Tells which outcome a task has that ends with this status.
 * Callable from any thread, interrupt and signal handler.
 * Never suspends.
 * `out` stays the caller's.
 * Returns true and writes `out`; false, and leaves `out`, for a status that is no end but a reason
 * to try again (RT_ERR_FULL, RT_ERR_EMPTY, RT_ERR_WOULDBLOCK), for a number that is no status and
 * for NULL. Nothing is lost on cancel. */
RT_API bool rt_outcome_of(rt_status_code code, rt_outcome *out);

/* Gives the constant's name of an outcome, "RT_OUTCOME_OK".
 * Callable from any thread, interrupt and signal handler.
 * Never suspends.
 * The string is a literal: never freed.
 * Returns the name, or "RT_OUTCOME_UNKNOWN".
 * Nothing is lost on cancel. */
RT_API const char *rt_outcome_name(rt_outcome outcome);

RT_EXTERN_C_END

#endif
