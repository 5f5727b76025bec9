/* SPDX-License-Identifier: Apache-2.0 */
/* The pause of a poll task, and what ends a pause or a nap before its time; the essay is in
 * async.h, the manual in <orrery/rt/async.h>.
 *
 * A pause begins at the first call and forgets what woke the task before. The step that answers
 * rt_async_wake says so (`is_called`), and ends it; a step for any other reason does not.
 *
 * A context that nothing can cancel and that has no budget is not waited with: it is not the
 * task's after the call. Any other is, for nothing but its own events. */
#define RTI_MODULE "pause"
#include "task/asyncs.h"

static const char pause_tag;
static const struct rti_cx_op pause_op = {.what = &pause_tag};

rt_status rti_async_wait_beside_any(struct rti_async *async, struct rti_cx *cx, struct rti_cx_op op)
{
    struct rti_poll_cx *poll = rti_cx_poll(cx);
    if (rti_async_is_cancelled(async)) {
        rti_cx_poll_end(cx);
        return rti_cx_see_cancel(cx);
    }
    if (poll->is_waiting) {
        uint32_t event = rti_cx_poll_event(cx);
        if (event == RTI_EVENT_NONE) {
            return RT_SUCCESS; /* if it is for something else, the same events end that */
        }
        bool is_for_it = poll->op.what == op.what;
        rti_cx_poll_end(cx);
        if (is_for_it) {
            return rti_cx_events_status(&poll->events, cx, event);
        }
    }
    if (rti_asyncs_context_is_clean(cx)) {
        return RT_SUCCESS;
    }
    rt_status status = rti_cx_checkpoint(cx);
    if (!RT_FAILED(status)) {
        rti_cx_poll_begin(cx, op);
        rti_cx_events_add(&poll->events, cx, rti_cx_sched(cx), &poll->wait, RT_TIME_NEVER);
    }
    return status;
}

rt_status rt_async_pause(rt_cx *given)
{
    (void)rti_worker_enter();
    struct rti_async *async = rti_async_of_cx(given);
    if (async == NULL) {
        return (rt_status){RT_ERR_INVALID, "this is no context of a poll task"};
    }
    struct rti_cx *cx = rti_cx_of(given);
    rt_status status = rti_async_wait_beside(async, cx, pause_op);
    if (RT_FAILED(status)) {
        async->is_pausing = false;
        return status;
    }
    if (!async->is_pausing) {
        async->is_pausing = true;
        async->is_called = false;
    } else if (async->is_called) {
        async->is_pausing = false;
        rti_async_end_beside(cx, pause_op);
        return RT_SUCCESS;
    }
    return (rt_status){RT_ERR_WOULDBLOCK, "until it is woken"};
}
