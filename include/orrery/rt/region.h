/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_REGION_H
#define ORRERY_RT_REGION_H

/* A region owns what runs and what that uses: contexts, other regions, channels, timers. It closes
 * only when they are gone.
 *
 *     Open        members join
 *     Closing     nothing new, but for tasks that tasks of the region start; what is there goes on
 *     Draining    rt_region_close waits until the last context and the last child region have left;
 *                 meanwhile they send, receive and get their timers as before
 *     Finalizing  nothing runs any more: permits are aborted, queues destroyed, timers cancelled
 *     Closed      the storage is the caller's again
 *
 * A state is only ever left for the next one. */

#include <stdbool.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>
#include <orrery/rt/waker.h>

RT_EXTERN_C_BEGIN

/* Storage of a region. Not to be moved nor copied between open and the end of close. */
typedef struct rt_region {
    uint64_t opaque[32];
} rt_region;

/* Storage of a timer that a region owns. Not to be moved nor copied while it is active. */
typedef struct rt_region_timer {
    uint64_t opaque[48];
} rt_region_timer;

typedef enum {
    RT_REGION_OPEN = 0,
    RT_REGION_CLOSING = 1,
    RT_REGION_DRAINING = 2,
    RT_REGION_FINALIZING = 3,
    RT_REGION_CLOSED = 4,
} rt_region_state;

/* Opens a region, inside `parent` if that is not NULL: then the parent's cancellation reaches it
 * and the parent closes only after it. Its budget is the meet of the parent's and `budget`.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `region` is the caller's, who leaves it in place until it is closed; `budget` is copied and may
 * be NULL. Returns RT_OK; RT_ERR_INVALID if `region` is NULL or `parent` is no region; RT_ERR_STATE
 * if the parent is not open; RT_ERR_THREAD on a thread without a runtime. Nothing is lost on
 * cancel. */
RT_API RT_MUST_CHECK rt_status rt_region_open(rt_region *region, rt_region *parent,
                                              const rt_budget *budget);

/* Makes a context a member: it gets the meet of both budgets, is cancelled with the region, and the
 * region closes only after rt_cx_deinit. Its outcome then counts for the region's.
 * Callable by the context's owner.
 * Never suspends.
 * Both stay the caller's. NULL for `cx` is the caller's own.
 * Returns RT_OK; RT_ERR_INVALID if one is none; RT_ERR_STATE if the region is not open or the
 * context has a region, or for NULL if the caller has no context.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_region_enter(rt_region *region, rt_cx *cx);

/* Starts a timer that calls `waker` once, at `deadline` or at the budget's, if that is earlier. It
 * is cancelled with `cx`, if that is not NULL, and with the region's end. The waker is called on
 * the stack of a worker, of any of them if there are several, with nothing held: it may call all
 * that does not wait, and start the timer anew. It is over when rt_region_timer_cancel,
 * rt_region_close or rt_cx_deinit of `cx` has returned, unless it is the waker that calls them.
 * With one worker timers of one deadline fire in the order in which they were started.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `timer` is the caller's and stays in place while the timer is active; `waker` is copied.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL or no region or context; RT_ERR_STATE if the
 * region is not open; RT_ERR_CANCELLED if the context is cancelled already.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_region_timer_start(rt_region *region, rt_cx *cx,
                                                     rt_region_timer *timer, rt_time deadline,
                                                     rt_waker waker);

/* Cancels a timer.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `timer` is the caller's again.
 * Returns true if it was active, and will not fire; false if it has fired, was cancelled before or
 * is NULL.
 * Nothing is lost on cancel. */
RT_API bool rt_region_timer_cancel(rt_region_timer *timer);

/* Cancels every context of the region and of the regions inside it. Nothing new joins afterwards. A
 * second request changes nothing.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The region stays its owner's.
 * Returns RT_OK; RT_ERR_INVALID if it is no region.
 * Nothing is lost on cancel: channels and timers go on until the region is finalized. */
RT_API rt_status rt_region_cancel(rt_region *region);

/* Begins to close: from here on nothing new joins.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The region stays its owner's.
 * Returns RT_OK, also if it was closing already; RT_ERR_INVALID if it is no region; RT_ERR_STATE if
 * it is closed.
 * Nothing is lost on cancel. */
RT_API rt_status rt_region_begin_close(rt_region *region);

/* Closes a region: waits until its contexts and child regions have left, then ends its channels and
 * timers. It does not cancel: rt_region_cancel does.
 * Callable from a task, an actor or, with its context, a poll context, but not by a member.
 * Suspends while members are left: a poll context registers and gets RT_ERR_WOULDBLOCK.
 * The region's storage is the caller's again after RT_OK.
 * Returns RT_OK; RT_ERR_INVALID if it is no region; RT_ERR_STATE if `cx` is a member of it;
 * RT_ERR_WOULDBLOCK to a poll context, and outside of any task instead of waiting;
 * RT_ERR_CANCELLED, RT_ERR_BUDGET_EXHAUSTED: the region is draining and can be closed again.
 * On cancel nothing is lost but what the region destroys. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_region_close(rt_region *region, rt_cx *cx);

/* Gives the state of a region.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The region stays its owner's.
 * Returns the state; RT_REGION_CLOSED also for what is no region.
 * Nothing is lost on cancel. */
RT_API rt_region_state rt_region_get_state(const rt_region *region);

/* Gives the join of the outcomes of the contexts and child regions that have left, as the worst of
 * them.
 * Callable on a thread of the runtime, also after the region is closed.
 * Never suspends.
 * The region stays its owner's.
 * Returns the outcome; RT_OUTCOME_OK if none has left.
 * Nothing is lost on cancel. */
RT_API rt_outcome rt_region_outcome(const rt_region *region);

RT_EXTERN_C_END

#endif
