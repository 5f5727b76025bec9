/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_SELECT_H
#define ORRERY_RT_SELECT_H

/* Select: waiting for the first of several operations, and doing that one alone.
 *
 * Each operation is an arm. An arm is ready when its operation would not wait, be it that it
 * succeeds or that it fails. Of the arms that are ready one is chosen, each with the same chance,
 * and its operation is done; the others are as if they had never been asked.
 *
 *     rt_select_arm arms[3] = {0};
 *     rt_selected chosen;
 *     rt_arm_recv(&arms[0], requests, &request);
 *     rt_arm_send(&arms[1], answers, &answer);
 *     rt_arm_tick(&arms[2], &interval, NULL);
 *     status = rt_select(arms, 3, NULL, &chosen);
 *     if (status.code == RT_OK) switch (chosen.index) { case 0: ... chosen.status ... }
 *
 * An arm that is made once can be used for any number of selects, one at a time. An arm of zeros is
 * never ready: so is one for a NULL handle, which is how an arm is left out for a while. The arm
 * itself that is to be made is never NULL.
 *
 * While a select waits, its arms, and the values they point to, belong to it and stay where they
 * are; for a poll context that is from RT_ERR_WOULDBLOCK until another result, or until the context
 * gives it up. */

#include <stddef.h>

#include <orrery/rt/api.h>
#include <orrery/rt/channel.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

#define RT_SELECT_ARM_WORDS 20

/* The most arms of one select. */
#define RT_SELECT_ARMS_MAX 64

/* One operation. All zero is an arm that is never ready. */
typedef struct rt_select_arm {
    uint64_t opaque[RT_SELECT_ARM_WORDS];
} rt_select_arm;

/* What a select came to. */
typedef struct {
    size_t index;     /* the arm whose operation was done */
    rt_status status; /* what its operation returned */
} rt_selected;

/* Makes an arm that is never ready.
 * Callable from any thread.
 * Never suspends.
 * The arm is the caller's.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_arm_none(rt_select_arm *arm);

/* Makes the arm that is chosen, with RT_OK, if no other one is ready: the select does not wait
 * then. Of several the first counts.
 * Callable from any thread.
 * Never suspends.
 * The arm is the caller's.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_arm_default(rt_select_arm *arm);

/* Makes an arm that receives a value from a channel. Its status is what rt_channel_recv returns.
 * Callable from any thread.
 * Never suspends.
 * The arm is the caller's; `out_value` is as for rt_channel_recv and kept until the select returns.
 * `rx` may be NULL: then the arm is never ready.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_arm_recv(rt_select_arm *arm, rt_channel_receiver *rx, void *out_value);

/* Makes an arm that sends a value to a channel. Its status is what rt_channel_send returns.
 * Callable from any thread.
 * Never suspends.
 * The arm is the caller's; `value` is as for rt_channel_send and kept until the select returns.
 * `tx` may be NULL: then the arm is never ready.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_arm_send(rt_select_arm *arm, rt_channel_sender *tx, const void *value);

/* Waits until an arm is ready and does its operation; see rt_select_until.
 * Callable from a task, an actor or, with its context, a poll context.
 * Suspends while no arm is ready and there is no default arm: a poll context registers and gets
 * RT_ERR_WOULDBLOCK.
 * `arms` and what they point to stay the caller's, in place until the select is over; `out` is
 * written only on success.
 * Returns RT_OK if an operation was done, be its own status an error; RT_ERR_CANCELLED or
 * RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, the latter also when the budget's deadline comes while
 * it waits; RT_ERR_WOULDBLOCK to a poll context, and outside of any task instead of waiting;
 * RT_ERR_RESOURCE_EXHAUSTED if an arm needs a record to wait with and there is none;
 * RT_ERR_INVALID if a pointer is NULL, there are more than RT_SELECT_ARMS_MAX arms, or two arms
 * that would wait are of one rendezvous channel or one task; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel: no operation was done. A poll context that gives the select up after
 * its waker was called: a value that was received goes back, one that was sent is sent. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_select(rt_select_arm *arms, size_t count, rt_cx *cx,
                                                     rt_selected *out);

/* Waits until an arm is ready, or until `deadline`, or until the budget's, if that is earlier.
 * Callable as rt_select.
 * Suspends as rt_select.
 * Ownership as with rt_select.
 * Returns what rt_select returns, and RT_ERR_TIMEOUT if `deadline` comes first.
 * Nothing is lost on cancel or timeout: no operation was done. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_select_until(rt_select_arm *arms, size_t count,
                                                           rt_cx *cx, rt_time deadline,
                                                           rt_selected *out);

RT_EXTERN_C_END

#endif
