/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_CX_H
#define ORRERY_RT_CX_H

/* A context: for whom an operation is done. It knows whether its work is cancelled, what budget is
 * left, what is held and must be given back, and how it waits: a fiber parks, a poll context is
 * told by its waker to look again.
 *
 * Every operation that takes an `rt_cx *` takes NULL for the running task or actor: its current
 * context if it has one, else a context without cancellation and without limit.
 *
 * Cancellation is a request, once made never taken back. A context that waits is woken with
 * RT_ERR_CANCELLED and has lost nothing; one that runs learns it at its next check point, which
 * every operation that may wait begins with.
 *
 * A poll context waits for one operation at a time. An operation that would have to wait registers
 * the waker and gives RT_ERR_WOULDBLOCK; after the waker was called, the same call is made again.
 * In between, what the operation waits for is kept for it. Another operation on the same context
 * gives up the first, and what was kept for it passes on to the next in line.
 *
 *     rt_cx cx;
 *     rt_cx_init_poll(&cx, (rt_waker){look_again, task});
 *     status = rt_channel_recv(rx, &cx, &value);        RT_ERR_WOULDBLOCK, later RT_OK
 *     rt_cx_deinit(&cx); */

#include <stdbool.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/budget.h>
#include <orrery/rt/outcome.h>
#include <orrery/rt/status.h>
#include <orrery/rt/waker.h>

RT_EXTERN_C_BEGIN

#define RT_CX_WORDS 80

/* Storage of a context. Not to be moved nor copied between init and deinit. */
typedef struct rt_cx {
    uint64_t opaque[RT_CX_WORDS];
} rt_cx;

/* Storage of a budget scope: what rt_cx_pop_budget puts back. */
typedef struct rt_budget_scope {
    uint64_t opaque[8];
} rt_budget_scope;

/* Gives the current context of the running task or actor.
 * Callable from any thread.
 * Never suspends.
 * The context is its maker's.
 * Returns NULL if the caller has none, which is a context without cancellation and without limit.
 * Nothing is lost on cancel. */
RT_API rt_cx *rt_cx_current(void);

/* Makes a context for the running task or actor, inside its present one, and makes it the current
 * one: it starts with the budget that is left there and is cancelled if that is.
 * Callable from a task or an actor.
 * Never suspends.
 * `cx` is the caller's, who leaves it in place until rt_cx_deinit; if the caller is killed it is
 * taken apart by itself. A function must not return with a context of its own frame in place.
 * Returns RT_OK; RT_ERR_INVALID if `cx` is NULL; RT_ERR_THREAD outside of a task or actor.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_cx_init(rt_cx *cx);

/* Makes a context that waits by registering: for state machines and loops without a stack.
 * Callable on a thread of the runtime, in main before it runs as well.
 * Never suspends.
 * `cx` is the caller's, who leaves it in place until rt_cx_deinit; `waker` is copied.
 * Returns RT_OK; RT_ERR_INVALID if `cx` is NULL; RT_ERR_THREAD on a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_cx_init_poll(rt_cx *cx, rt_waker waker);

/* Replaces the waker of a poll context, also while it waits.
 * Callable by who polls the context.
 * Never suspends.
 * `waker` is copied.
 * Returns RT_OK; RT_ERR_INVALID if `cx` is no poll context.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_cx_set_waker(rt_cx *cx, rt_waker waker);

/* Gives up the operation that a poll context waits for: its waker is not called for it any more,
 * and what was kept for it passes on to the next in line. Does nothing if it waits for none.
 * Callable by who polls the context.
 * Never suspends.
 * The context stays the caller's.
 * Returns RT_OK; RT_ERR_INVALID if `cx` is no poll context.
 * Nothing is lost on cancel. */
RT_API rt_status rt_cx_abandon(rt_cx *cx);

/* Ends a context. A poll context gives up what it waits for and gives back what it holds: its
 * permits are aborted, the latest first. The context around it becomes the current one of a task or
 * actor. The context's outcome counts for its region.
 * Callable by the context's owner; for rt_cx_init by the same task or actor, innermost first.
 * Never suspends.
 * `cx` is the caller's again.
 * Returns RT_OK; RT_ERR_INVALID if `cx` is no context; RT_ERR_STATE, nothing changed, if it is not
 * the caller's current context, or is the one that a task was started with or that its ensure hooks
 * run in.
 * Nothing is lost on cancel. */
RT_API rt_status rt_cx_deinit(rt_cx *cx);

/* Asks a context, and those inside it, to stop. A second request changes nothing.
 * Callable from the runtime's thread.
 * Never suspends.
 * The context stays its owner's. NULL is the caller's own.
 * Returns RT_OK; RT_ERR_INVALID if `cx` is no context; RT_ERR_STATE for NULL if the caller has
 * none.
 * Nothing is lost on cancel: what the context waits for stays where it is or passes on. */
RT_API rt_status rt_cx_cancel(rt_cx *cx);

/* Tells whether a context is cancelled, without taking a check point from its budget.
 * Callable from the runtime's thread.
 * Never suspends.
 * The context stays its owner's. NULL is the caller's own.
 * Returns false for NULL if the caller has none, and for what is no context.
 * Nothing is lost on cancel. */
RT_API bool rt_cx_is_cancelled(const rt_cx *cx);

/* Makes a check point: looks for cancellation and takes one from the poll quota.
 * Callable from the runtime's thread.
 * Never suspends.
 * The context stays its owner's. NULL is the caller's own.
 * Returns RT_OK; RT_ERR_CANCELLED if the context is cancelled; RT_ERR_BUDGET_EXHAUSTED if its
 * deadline has come or a quota is used up, and then it is cancelled from here on; RT_ERR_INVALID if
 * `cx` is no context.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_checkpoint(rt_cx *cx);

/* Takes `cost` units of the program's own measure from the budget, all or nothing.
 * Callable from the runtime's thread.
 * Never suspends.
 * The context stays its owner's. NULL is the caller's own.
 * Returns RT_OK; RT_ERR_BUDGET_EXHAUSTED if fewer are left, and then the context is cancelled;
 * RT_ERR_CANCELLED if it was before, nothing taken; RT_ERR_INVALID if `cx` is no context.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_cx_spend(rt_cx *cx, uint64_t cost);

/* Gives the budget that is left.
 * Callable from the runtime's thread.
 * Never suspends.
 * The context stays its owner's. NULL is the caller's own.
 * Returns the budget; RT_BUDGET_UNLIMITED for NULL if the caller has none, and for what is no
 * context.
 * Nothing is lost on cancel. */
RT_API rt_budget rt_cx_budget(const rt_cx *cx);

/* Begins a scope with a tighter budget: from here on the meet of `budget` and what is left holds.
 * Callable by the context's owner.
 * Never suspends.
 * `scope` is the caller's and kept until rt_cx_pop_budget; scopes end innermost first.
 * Returns RT_OK; RT_ERR_INVALID if `cx` is no context or `scope` is NULL; RT_ERR_STATE for a NULL
 * `cx` if the caller has none.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_cx_push_budget(rt_cx *cx, rt_budget budget,
                                                 rt_budget_scope *scope);

/* Ends a scope: the budget of before, less what was used inside, holds again. A cancellation that
 * came inside stays.
 * Callable by the context's owner.
 * Never suspends.
 * `scope` is the caller's again.
 * Returns RT_OK; RT_ERR_INVALID if `cx` is no context or `scope` is NULL; RT_ERR_STATE, nothing
 * changed, if `scope` is not the innermost of this context.
 * Nothing is lost on cancel. */
RT_API rt_status rt_cx_pop_budget(rt_cx *cx, rt_budget_scope *scope);

/* Tells how the work of a context comes out if it ends now with this status: the worse of what the
 * status means and RT_OUTCOME_CANCELLED if a cancellation was seen.
 * Callable from the runtime's thread.
 * Never suspends.
 * The context stays its owner's. NULL is the caller's own.
 * Returns the outcome; a status that is no end counts as RT_OUTCOME_OK.
 * Nothing is lost on cancel. */
RT_API rt_outcome rt_cx_outcome(const rt_cx *cx, rt_status_code status);

RT_EXTERN_C_END

#endif
