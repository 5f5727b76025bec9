/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_INTERVAL_H
#define ORRERY_RT_INTERVAL_H

/* Intervals: ticks of a clock, received like the values of a channel.
 *
 *     rt_interval interval;
 *     rt_interval_open(&interval, 100 * RT_NS_PER_MS, RT_MISSED_SKIP);
 *     while (rt_interval_recv(&interval, NULL, NULL).code == RT_OK) { ... }
 *
 * A tick is due one interval after the last one was due, not after it was received: ticks do not
 * drift. When the receiver is late, ticks are missed, and the policy says what becomes of them.
 * rt_after makes one with a single tick. Nothing runs and no timer is armed while nobody waits.
 *
 * Several may wait for the same interval: each tick goes to one of them. */

#include <orrery/rt/api.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/select.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* Storage of an interval. Not to be moved nor copied between open and close. */
typedef struct rt_interval {
    uint64_t opaque[12];
} rt_interval;

/* What becomes of ticks that were due before anybody asked. */
typedef enum {
    RT_MISSED_BURST = 0, /* each is received, at once, until all are: none is lost */
    RT_MISSED_SKIP = 1,  /* one is received for all of them; the next is due on the old beat */
    RT_MISSED_DELAY = 2, /* one is received for all; the next is due one interval from now */
} rt_missed;

/* Makes an interval with a single tick, `duration` from now. Once it was received, whoever asks
 * gets RT_ERR_DISCONNECTED.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `interval` is the caller's, who leaves it in place until rt_interval_close.
 * Returns RT_OK; RT_ERR_INVALID if `interval` is NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_after(rt_interval *interval, rt_time duration);

/* Makes an interval whose first tick is due `period` from now, the next one `period` later, and so
 * on.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `interval` is the caller's, who leaves it in place until rt_interval_close.
 * Returns RT_OK; RT_ERR_INVALID if `interval` is NULL, `period` is 0 or the policy is none;
 * RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_interval_open(rt_interval *interval, rt_time period,
                                                rt_missed missed);

/* Ends an interval. Who waits for it gets RT_ERR_CLOSED.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `interval` is the caller's again when those who waited have returned; at once if nobody did.
 * Returns RT_OK; RT_ERR_INVALID if it is no interval; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_interval_close(rt_interval *interval);

/* Waits for the next tick; see rt_interval_recv_until.
 * Callable from a task, an actor or, with its context, a poll context.
 * Suspends until a tick is due: a poll context registers and gets RT_ERR_WOULDBLOCK.
 * The interval stays its maker's. `out_ticks`, unless NULL, gets how many ticks this one stands
 * for: 1, and with RT_MISSED_SKIP and RT_MISSED_DELAY those that were missed too.
 * Returns RT_OK; RT_ERR_DISCONNECTED if no tick will come; RT_ERR_CLOSED if it is closed while the
 * caller waits; RT_ERR_CANCELLED or RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, also while it waits;
 * RT_ERR_WOULDBLOCK to a poll context, and outside of any task instead of waiting; RT_ERR_INVALID
 * if it is no interval; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel: the tick stays due. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_interval_recv(rt_interval *interval, rt_cx *cx,
                                                            uint64_t *out_ticks);

/* Waits for the next tick until `deadline` at most, or until the budget's, if that is earlier.
 * Callable as rt_interval_recv.
 * Suspends as rt_interval_recv.
 * Ownership as with rt_interval_recv.
 * Returns what rt_interval_recv returns, and RT_ERR_TIMEOUT if `deadline` comes first.
 * Nothing is lost on cancel or timeout: the tick stays due. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_interval_recv_until(rt_interval *interval, rt_cx *cx,
                                                                  uint64_t *out_ticks,
                                                                  rt_time deadline);

/* Takes a tick if one is due.
 * Callable on a thread of the runtime.
 * Never suspends and is no check point.
 * Ownership as with rt_interval_recv.
 * Returns RT_OK; RT_ERR_EMPTY if none is due yet; RT_ERR_DISCONNECTED if none will come;
 * RT_ERR_INVALID if it is no interval; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_interval_try_recv(rt_interval *interval, uint64_t *out_ticks);

/* Makes an arm of a select that receives a tick. Its status is what rt_interval_recv returns.
 * Callable from any thread.
 * Never suspends.
 * The arm is the caller's; interval and `out_ticks` are kept until the select returns. `interval`
 * may be NULL: then the arm is never ready.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_arm_tick(rt_select_arm *arm, rt_interval *interval, uint64_t *out_ticks);

RT_EXTERN_C_END

#endif
