/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHANNEL_WAIT_H
#define RTI_CHANNEL_WAIT_H

/* How one waits in a line of a channel: the caller's context decides.
 *
 * A fiber parks with everything on its stack and comes back served, or not. A poll context links
 * what lies in its storage and returns; it is served when it polls again. Outside of both there is
 * nothing to wait with.
 *
 * With one worker the attempt that found nothing and the joining of the line are one step: nothing
 * runs between them. With several, the channel is left in between, because the locks of contexts
 * come before those of channels; whoever joins is served at once if it has become possible
 * meanwhile (rti_channel_join), through the very claim and wake that any other waiter gets.
 *
 * Nothing here is called with the channel entered, and what is served is collected: a waiter of a
 * fiber that never got so far is abandoned, and what it was given passes on. */

#include "sched/parking.h"
#include "sync/channels.h"
#include "sync/cx.h"

/* Who calls, resolved. */
struct rti_channel_call {
    struct rti_worker *worker;
    struct rti_channels *channels;
    struct rti_channel_end *end;
    struct rti_channel *channel; /* with several workers: what the handle named a moment ago */
    uintptr_t id;                /* the handle */
    struct rti_cx *cx;           /* NULL: none */
};

static inline bool rti_channel_call_is_poll(const struct rti_channel_call *call)
{
    return call->cx != NULL && call->cx->kind == RTI_CX_POLL;
}

/* What a caller waits for. */
struct rti_channel_want {
    enum rti_channel_waiter_kind kind;
    void *slot;                /* SEND: the value; RECV: the buffer */
    struct rti_permit *permit; /* RESERVE */
    rt_time deadline;          /* of the caller; RT_TIME_NEVER: none */
};

/* Parks the calling fiber in line. RT_OK: served; for RESERVE the permit is armed. */
rt_status rti_channel_park(const struct rti_channel_call *call,
                           const struct rti_channel_want *want);

/* The same without context and deadline, with one worker, for a caller whose joining serves nobody
 * else: a sender of a channel that is full, or the lone one. Writes the journal. For
 * rti_call_parking: the worker, the end and the address of the value. */
rt_status rti_channel_park_send(void *worker, void *end, uintptr_t value);

/* The lone ones, for rti_jump_parking; `_noted` while the worker records. */
rt_status rti_channel_park_send_alone(void *worker, void *end, uintptr_t value);
rt_status rti_channel_park_recv_alone(void *worker, void *end, uintptr_t out_value);
#if RTI_RECORDS
rt_status rti_channel_park_send_alone_noted(void *worker, void *end, uintptr_t value);
rt_status rti_channel_park_recv_alone_noted(void *worker, void *end, uintptr_t out_value);
#else
#define rti_channel_park_send_alone_noted rti_channel_park_send_alone
#define rti_channel_park_recv_alone_noted rti_channel_park_recv_alone
#endif

#if !RTI_ONE_WORKER
/* The lone ones with several workers, whose channel is entered and stays so until they are parked:
 * the running fiber waits at fiber->alone_at (rti_fiber_settle_at). For rti_jump_parking. */
rt_status rti_channel_park_send_passing(void *worker, void *end, uintptr_t value);
rt_status rti_channel_park_recv_passing(void *worker, void *end, uintptr_t out_value);
#endif

/* Puts a poll context in line, for the operation `op`. */
void rti_channel_poll_join(const struct rti_channel_call *call, const struct rti_channel_want *want,
                           struct rti_cx_op op);

/* Looks at what a poll context waits for. RT_OK, not served: it does not wait for `op`, which may
 * be tried. RT_OK, served: its channel is entered; the caller fetches what it was given, leaves and
 * ends the wait.
 * RT_ERR_WOULDBLOCK: it is in line. Else the status that the wait ended with. */
rt_status rti_channel_poll_continue(struct rti_cx *cx, struct rti_cx_op op, bool *is_served);

/* Resolves thread, handle and context. */
rt_status rti_channel_call_resolve(struct rti_channel_call *call, const void *handle,
                                   bool is_sender, rt_cx *cx);

/* The same, and makes the check point that every call that may wait begins with. A context that is
 * cancelled gives up what it waits for. */
rt_status rti_channel_call_init(struct rti_channel_call *call, const void *handle, bool is_sender,
                                rt_cx *cx);

/* Gets an armed record: at once, by parking, or from a poll context that was served. `op` names the
 * operation for the latter. */
rt_status rti_permit_acquire(const struct rti_channel_call *call, rt_time deadline,
                             struct rti_cx_op op, struct rti_permit **out_record);

/* Sends through an armed record and ends it. False if no receiver is left. */
bool rti_permit_commit(struct rti_channels *channels, struct rti_permit *record, const void *value);

/* The sentence for a result that the channel gave. */
rt_status rti_channel_result(rt_status_code code);

/* Leaves the channel, wakes those gathered, and gives its memory back if it has become free. */
void rti_channel_left(struct rti_channels *channels, struct rti_channel *channel,
                      struct rti_list *wakes);

/* The three steps of a wait that is not one of the above: a select's. */

/* Joins the line of the channel of waiter->end and wakes whom that serves: it may be oneself. `id`
 * is the handle; if it was closed meanwhile, or waiter->end is NULL, the wait is ended with
 * RT_ERR_CLOSED. */
void rti_channel_wait_join(struct rti_channels *channels, struct rti_channel_waiter *waiter,
                           enum rti_channel_waiter_kind kind, uintptr_t id);

/* Takes a waiter out for good, when its wait ends. `is_abandoned`: nobody will look at what it was
 * given, which passes on. */
void rti_channel_wait_leave(struct rti_channels *channels, struct rti_channel_waiter *waiter,
                            bool is_abandoned);

/* The end of the wait of one who was served and woken: the channel has it in no list any more. */
void rti_channel_wait_served(struct rti_channels *channels, struct rti_channel_waiter *waiter);

/* Does this waiter, of a fiber that waits for nothing else or of a poll context, stand in a line of
 * a channel? Then it lies in a struct rti_channel_waiter. For tools. */
bool rti_waiter_is_of_channel(const struct rti_waiter *waiter);

#endif
