/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_ASYNC_H
#define ORRERY_RT_ASYNC_H

/* Poll tasks: state machines that run beside each other without a stack of their own.
 *
 * A poll task is a function and the caller's state. The function is called when there may be
 * something to do. It goes as far as it can; where it would have to wait it returns
 * RT_ERR_WOULDBLOCK, and is called again when what it waits for has come. Any other status ends the
 * task. Its context is the way to wait: every call that takes one registers the task and gives
 * RT_ERR_WOULDBLOCK. The macros below let it read like straight code:
 *
 *     struct echo {
 *         rt_async_frame frame;
 *         rt_channel_receiver *rx;
 *         rt_channel_sender *tx;
 *         int value;
 *     };
 *
 *     static rt_status echo(void *state, rt_cx *cx)
 *     {
 *         struct echo *self = state;
 *         RT_ASYNC_BEGIN(&self->frame);
 *         for (;;) {
 *             RT_AWAIT(rt_channel_recv(self->rx, cx, &self->value));
 *             if (RT_FAILED(rt_awaited)) {
 *                 break;
 *             }
 *             RT_AWAIT(rt_channel_send(self->tx, cx, &self->value));
 *         }
 *         RT_ASYNC_END(RT_SUCCESS);
 *     }
 *
 * What must survive a wait lies in the state, not in local variables: the function is left and
 * entered again. A task waits for one thing at a time; for the first of several it uses rt_select,
 * with the arms in its state, which is also how it waits for sockets and for tasks of rt_go. It may
 * be called without cause, and then what it waits for says so.
 *
 * The handle is consumed by rt_async_join or rt_async_detach. A task that waits with its context
 * needs one of RT_MAX_ASYNC_CONTEXTS, which are about 600 bytes each; one that naps, pauses or
 * joins another poll task without a deadline does not, unless it holds something with it or has
 * changed it: by a region, a budget, a timer. When none is left a task is called with one that ends
 * with the call, and again and again until another is free. With that one nothing is begun that
 * would last: a mutex is not locked and no place in a channel reserved, RT_ERR_WOULDBLOCK; what
 * cannot wait, the try of either, a budget, a region or its timer, gives RT_ERR_RESOURCE_EXHAUSTED.
 */

#include <stdbool.h>
#include <stddef.h>

#include <orrery/rt/api.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* A handle: to be passed on, compared with NULL and consumed; it points to nothing. */
typedef struct rt_async_task rt_async_task;

/* What a poll task runs. */
typedef rt_status (*rt_poll_fn)(void *state, rt_cx *cx);

/* Where a task goes on. All zero: at its beginning. */
typedef struct {
    uint32_t at;
} rt_async_frame;

#if defined(__cplusplus) && __cplusplus >= 201703L
#define RT_ASYNC_FALLS [[fallthrough]]
#elif defined(__GNUC__) || defined(__clang__)
#define RT_ASYNC_FALLS __attribute__((fallthrough))
#else
#define RT_ASYNC_FALLS ((void)0)
#endif

/* The body of a poll function stands between these two. No other `switch` may stand around an
 * RT_AWAIT, and no two of those in one line. */
#define RT_ASYNC_BEGIN(frame)                                                                      \
    rt_async_frame *rt_frame_here = (frame);                                                       \
    rt_status rt_awaited = RT_SUCCESS;                                                             \
    (void)rt_awaited;                                                                              \
    switch (rt_frame_here->at) {                                                                   \
    case 0:

#define RT_ASYNC_END(status)                                                                       \
    default:                                                                                       \
        break;                                                                                     \
        }                                                                                          \
        rt_frame_here->at = UINT32_MAX;                                                            \
        return (status)

/* Makes a call that may have to wait; `rt_awaited` is what it came to. */
#define RT_AWAIT(call)                                                                             \
    do {                                                                                           \
        rt_frame_here->at = __LINE__;                                                              \
        RT_ASYNC_FALLS;                                                                            \
    case __LINE__:                                                                                 \
        rt_awaited = (call);                                                                       \
        if (rt_awaited.code == RT_ERR_WOULDBLOCK) {                                                \
            return rt_awaited;                                                                     \
        }                                                                                          \
    } while (0)

/* Storage of a nap. All zero is a nap that has not begun. */
typedef struct rt_nap {
    uint64_t opaque[9];
} rt_nap;

/* What rt_async_reserve makes room for; without it there is room for RT_MAX_ASYNC tasks and
 * RT_MAX_ASYNC_CONTEXTS contexts, in static memory. With one worker as many tasks as were asked for
 * can exist at a time; with several at least as many, and up to 64 more for each worker.
 *
 * Tasks begin in the order in which they were started. A tree of tasks that start tasks is alive as
 * a whole then before its first leaf ends. With `is_last_first` the one that was started last
 * begins first, before others that are ready, and a poll task whose join has come goes on before
 * them: the tree is gone through branch by branch, in little memory. After 1,024 of those one takes
 * its turn in the order of the others, so that these have theirs too. With several workers each of
 * them takes those that it has started in this way and idle ones take the oldest of them; the order
 * of starts is not promised there either way. */
typedef struct {
    size_t tasks;       /* that exist at a time, at least */
    size_t contexts;    /* of those that wait with their context at a time; 0: as many as tasks */
    bool is_last_first; /* who is started last begins first */
} rt_async_config;

/* Starts a poll task: `poll(state, cx)` is called soon, and again whenever there may be something
 * to do.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `state` stays the caller's and in place until the task has ended; the handle is the caller's to
 * consume.
 * Returns the handle; NULL if `poll` is NULL, as many tasks exist as there is room for (at least as
 * many as were asked for), or the thread has no runtime.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_async_task *rt_async(rt_poll_fn poll, void *state);

/* Waits until a poll task has ended.
 * Callable from a task, an actor or, with its context, a poll context; one at a time.
 * Suspends until the task ends: a poll context registers and gets RT_ERR_WOULDBLOCK.
 * With RT_OK the handle is consumed, *task becomes NULL and `out`, unless NULL, gets the status
 * that the task ended with; else the handle stays the caller's. Returns RT_OK; RT_ERR_CANCELLED or
 * RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, also while it waits; RT_ERR_WOULDBLOCK to a poll
 * context, and outside of any task instead of waiting; RT_ERR_INVALID if there is no such task, it
 * is consumed, or a task or an actor waits with the handle, whose it stays; RT_ERR_THREAD on
 * another thread. Of several that come in the same moment one gets the result, the others
 * RT_ERR_INVALID. A poll context that waits is not asked: who comes after it takes its place, and
 * it learns nothing. Nothing is lost on cancel. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_async_join(rt_async_task **task, rt_cx *cx,
                                                         rt_status *out);

/* Waits until a poll task has ended or `deadline` comes, or the budget's, if that is earlier.
 * Callable as rt_async_join.
 * Suspends as rt_async_join.
 * Ownership as with rt_async_join.
 * Returns what rt_async_join returns, and RT_ERR_TIMEOUT if `deadline` comes first.
 * Nothing is lost on cancel or timeout. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_async_join_until(rt_async_task **task, rt_cx *cx,
                                                               rt_status *out, rt_time deadline);

/* Gives up the handle of a poll task, which goes on.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `task` is consumed.
 * Returns RT_OK; RT_ERR_INVALID if there is no such task, it is consumed, or a task or an actor
 * waits with the handle; RT_ERR_THREAD on another thread. Nothing is lost on cancel. */
RT_API rt_status rt_async_detach(rt_async_task *task);

/* Asks a poll task to stop: its context is cancelled, and what it waits for ends with
 * RT_ERR_CANCELLED. It ends when its function returns.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The handle stays the caller's.
 * Returns RT_OK, also if it has ended or was asked before; RT_ERR_INVALID if there is no such task
 * or it is consumed; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_async_cancel(rt_async_task *task);

/* Has a poll task called again: the end of a pause. One that comes while the function runs is
 * answered by another call, also if the function is about to pause.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The handle stays the caller's.
 * Returns RT_OK, also if it has ended; RT_ERR_INVALID if there is no such task or it is consumed;
 * RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_async_wake(rt_async_task *task);

/* Waits for rt_async_wake: RT_AWAIT(rt_async_pause(cx)).
 * Callable in a poll task, with its context.
 * Never suspends: the first call registers and gives RT_ERR_WOULDBLOCK.
 * Keeps nothing.
 * Returns RT_OK if it was woken since it began to pause; RT_ERR_WOULDBLOCK if not, whatever else
 * the task was called for; RT_ERR_CANCELLED if the task was asked to stop, and RT_ERR_CANCELLED or
 * RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, also while it waits; RT_ERR_INVALID if `cx` is no poll
 * task's.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_async_pause(rt_cx *cx);

/* Waits for a time, with memory of the task's own state and without one of the contexts:
 * RT_AWAIT(rt_async_sleep(&self->nap, cx, duration)).
 * Callable in a poll task, with its context.
 * Never suspends: the first call registers and gives RT_ERR_WOULDBLOCK.
 * `nap` lies in the task's state and is kept until the call gives something else, or the task ends.
 * Returns RT_OK when `duration` has passed since the first call; RT_ERR_WOULDBLOCK before;
 * RT_ERR_CANCELLED if the task was asked to stop, and RT_ERR_CANCELLED or RT_ERR_BUDGET_EXHAUSTED
 * as rt_checkpoint, also while it waits; RT_ERR_STATE if the task has another nap under way;
 * RT_ERR_INVALID if `nap` is NULL or `cx` is no poll task's.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_async_sleep(rt_nap *nap, rt_cx *cx, rt_time duration);

/* Makes room for more poll tasks than RT_MAX_ASYNC, in memory of the system, which is used only as
 * far as it is needed, until the runtime ends.
 * Callable on the thread of rt_init, before rt_run or while no poll task exists.
 * Never suspends.
 * `config` is read during the call.
 * Returns RT_OK; RT_ERR_NOMEM if the system has no memory, nothing changed; RT_ERR_STATE if poll
 * tasks exist or room was made already; RT_ERR_INVALID if `config` is NULL or asks for none or more
 * than 2^30; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_async_reserve(const rt_async_config *config);

RT_EXTERN_C_END

#endif
