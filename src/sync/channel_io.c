/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving values.
 *
 * Each call has a straight path, for a caller without a context on a channel that has what it
 * needs: resolve the handle, look at two words, copy. Everything else (contexts, lines, closing,
 * polling) is behind one call that is kept out of the way.
 *
 * Memory: a fiber that waits to send keeps its value where it is; whoever makes a place copies it
 * there and the fiber comes back when all is done. The same for a fiber that waits to receive. */
#define RTI_MODULE "channel_io"
#include "sched/parking.h"
#include "sched/visitor.h"
#include "sync/channel_short.h"
#include "sync/channel_visitor.h"

static const rt_status io_null = {RT_ERR_INVALID, "there is no value and values have a size"};

static const char io_send_tag;
static const char io_recv_tag;

/* Values of this size go the straight path without a call. */
#define WORD 8

/* The module, for a call that may go straight; else NULL. */
static inline struct rti_channels *io_straight_channels(const struct rti_worker *worker)
{
    return RTI_UNLIKELY(worker == NULL) ? NULL : worker->straight[RTI_MODULE_CHANNEL];
}

/* The same for the twins of those calls, while the worker records. */
static inline struct rti_channels *io_noted_channels(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : rti_worker_noted(worker, RTI_MODULE_CHANNEL);
}

/* Is it the calling fiber's own context? Then a call with it is the same as one without. */
static inline bool io_is_own(const struct rti_fiber *fiber, const rt_cx *cx)
{
    return fiber != NULL && (const struct rti_cx *)(const void *)cx == rti_fiber_cx(fiber);
}

/* Nothing to cancel, nothing to count: the caller has no context, or one that sets no limits. */
static inline bool io_is_plain(const struct rti_worker *worker, const rt_cx *cx)
{
    const struct rti_fiber *fiber = worker->fiber;
    return (cx == NULL || io_is_own(fiber, cx)) && (fiber == NULL || !fiber->is_hindered);
}

/* The module, for a call of a plain caller that goes straight, or its twin; else NULL. */
static inline struct rti_channels *io_plain_channels(const struct rti_worker *worker,
                                                     const rt_cx *cx)
{
    struct rti_channels *channels = io_straight_channels(worker);
    if (channels == NULL) {
        channels = io_noted_channels(worker);
    }
    return channels != NULL && io_is_plain(worker, cx) ? channels : NULL;
}

static rt_status io_refuse_wait(void)
{
    return (rt_status){RT_ERR_WOULDBLOCK, "the caller would have to wait and cannot"};
}

/* The caller is no worker. It has no context either: one that is given is another's. */
static RTI_COLD rt_status io_visit(const struct rti_channel_errand *errand, const rt_cx *cx)
{
    return cx == NULL
               ? rti_channel_visit(errand)
               : (rt_status){RT_ERR_THREAD, "a thread outside of the runtime has no context"};
}

/* Sends if a newcomer may: one visit of the channel. *status says what came of it, unless the
 * caller must wait. */
static enum rti_channel_try io_put(const struct rti_channel_call *call, const void *value,
                                   rt_status *status)
{
    struct rti_list wakes;
    struct rti_channel *channel = rti_channels_enter(call->channels, call->end, call->id);
    if (RTI_UNLIKELY(channel == NULL)) {
        *status = rti_channels_refuse(call->channels, &call->channels->senders, call->id);
        return RTI_CHANNEL_GONE;
    }
    rti_list_init(&wakes);
    enum rti_channel_try attempt = rti_channel_put(channel, value, &wakes);
    if (attempt == RTI_CHANNEL_DONE) {
        *status = RT_SUCCESS;
        rti_channels_record(call->channels, RTI_JOURNAL_SEND, channel, rti_channel_sent(channel));
        rti_channel_left(call->channels, channel, &wakes);
        return attempt;
    }
    rti_lock_release(channel->lock);
    *status = rti_channel_result(RT_ERR_DISCONNECTED);
    return attempt;
}

/* Receives likewise. */
static enum rti_channel_try io_take(const struct rti_channel_call *call, void *out_value,
                                    rt_status *status)
{
    struct rti_list wakes;
    struct rti_channel *channel = rti_channels_enter(call->channels, call->end, call->id);
    if (RTI_UNLIKELY(channel == NULL)) {
        *status = rti_channels_refuse(call->channels, &call->channels->receivers, call->id);
        return RTI_CHANNEL_GONE;
    }
    rti_list_init(&wakes);
    enum rti_channel_try attempt = rti_channel_take(channel, out_value, &wakes);
    if (attempt == RTI_CHANNEL_DONE) {
        *status = RT_SUCCESS;
        rti_channels_record(call->channels, RTI_JOURNAL_RECV, channel,
                            rti_channel_received(channel));
        rti_channel_left(call->channels, channel, &wakes);
        return attempt;
    }
    rti_lock_release(channel->lock);
    *status = rti_channel_result(RT_ERR_DISCONNECTED);
    return attempt;
}

/* A poll context sends by getting a permit, now or when it is granted, and filling it. */
static rt_status io_send_poll(const struct rti_channel_call *call, const void *value,
                              rt_time deadline)
{
    struct rti_permit *record = NULL;
    struct rti_cx_op op = {.what = &io_send_tag, .on = call->id};
    rt_status status = rti_permit_acquire(call, deadline, op, &record);
    if (RT_FAILED(status)) {
        return status;
    }
    record->waiter = NULL;
    return rti_permit_commit(call->channels, record, value)
               ? RT_SUCCESS
               : rti_channel_result(RT_ERR_DISCONNECTED);
}

static rt_status io_send_await(const struct rti_channel_call *call, const void *value,
                               rt_time deadline)
{
    if (call->worker->fiber == NULL) {
        return io_refuse_wait();
    }
    if (call->cx == NULL && deadline == RT_TIME_NEVER && rti_sched_is_local(call->worker->sched)) {
        return rti_channel_park_send(call->worker, call->end, (uintptr_t)value);
    }
    uint32_t number = call->channel->number;
    struct rti_sched *sched = call->worker->sched;
    rt_status status =
        rti_channel_park(call, &(struct rti_channel_want){.kind = RTI_CHANNEL_SEND,
                                                          .slot = (void *)(uintptr_t)value,
                                                          .deadline = deadline});
    if (!RT_FAILED(status) && rti_sched_journal(sched) != NULL) {
        /* The channel may be gone by now. */
        rti_channels_write(sched, RTI_JOURNAL_SEND, number, 0);
    }
    return status;
}

static RTI_NOINLINE rt_status io_send(rt_channel_sender *tx, rt_cx *cx, const void *value,
                                      rt_time deadline)
{
    struct rti_channel_call call;
    if (RTI_UNLIKELY(rti_worker_enter() == NULL)) {
        return io_visit(&(struct rti_channel_errand){.handle = tx,
                                                     .is_sender = true,
                                                     .may_wait = true,
                                                     .value = (void *)(uintptr_t)value,
                                                     .deadline = deadline},
                        cx);
    }
    rt_status status = rti_channel_call_init(&call, tx, true, cx);
    if (RT_FAILED(status)) {
        return status;
    }
    if (value == NULL && call.channel->elem_size != 0) {
        return io_null;
    }
    if (rti_channel_call_is_poll(&call)) {
        return io_send_poll(&call, value, deadline);
    }
    switch (io_put(&call, value, &status)) {
    case RTI_CHANNEL_MUST_WAIT:
        return io_send_await(&call, value, deadline);
    default:
        return status;
    }
}

/* What is left to do for a call that found no straight path. */
enum io_way {
    IO_DONE,  /* nothing: the value went from hand to hand */
    IO_ALONE, /* park as the lone one */
    IO_LINE,  /* park in line */
    IO_LONG,  /* go the long way */
};

/* For values of `size` bytes: a constant, or the channel's own. */
static RTI_ALWAYSINLINE enum io_way io_send_way(struct rti_worker *worker,
                                                struct rti_channel *channel, const void *value,
                                                uint32_t size, bool is_noted)
{
    uint32_t gate = channel->gates.send;
    if (gate == RTI_GATE_MEET) {
        struct rti_fiber *fiber =
            rti_channel_serve_lone(channel, RTI_CHANNEL_RECV, (void *)(uintptr_t)value, size);
        if (RTI_UNLIKELY(fiber == NULL)) {
            return IO_LONG;
        }
        rti_fiber_wake_straight(worker, fiber, RTI_NOTE_WAKE, is_noted);
        return IO_DONE;
    }
    if (RTI_UNLIKELY(worker->fiber == NULL)) {
        return IO_LONG;
    }
    if (gate == RTI_GATE_ALONE) {
        return IO_ALONE;
    }
    return rti_gate_is_open(gate, size) && worker->fiber->cancel == NULL ? IO_LINE : IO_LONG;
}

/* Everything that is plain: for values that are not a word, for calls that are noted, and for a
 * queue that is full. */
static RTI_NOINLINE rt_status io_send_any(struct rti_worker *worker, struct rti_channel_end *end,
                                          const void *value)
{
    struct rti_channel *channel = rti_channel_end_channel(end);
    bool is_noted = rti_worker_records(worker);
    rti_worker_check_stack(worker);
    if (rti_channel_put_any(channel, value)) {
        return RT_SUCCESS;
    }
    switch (io_send_way(worker, channel, value, channel->elem_size, is_noted)) {
    case IO_DONE:
        return RT_SUCCESS;
    case IO_ALONE:
        if (is_noted) {
            return rti_jump_parking(worker, end, (uintptr_t)value,
                                    rti_channel_park_send_alone_noted);
        }
        return rti_jump_parking(worker, end, (uintptr_t)value, rti_channel_park_send_alone);
    case IO_LINE:
        return rti_call_parking(worker, end, (uintptr_t)value, rti_channel_park_send);
    default:
        return io_send((rt_channel_sender *)rti_channel_end_id(end), NULL, value, RT_TIME_NEVER);
    }
}

rt_status rti_channel_send_long(rt_channel_sender *tx, rt_cx *cx, const void *value)
{
    return io_send(tx, cx, value, RT_TIME_NEVER);
}

/* A call that could not even begin to go straight: it is one of several workers', it is noted, or
 * others are hindered and it must ask for itself, or it goes the long way. Cold, so that the
 * branches to it are laid out of the way. */
static RTI_COLD rt_status io_send_long(rt_channel_sender *tx, rt_cx *cx, const void *value)
{
    struct rti_worker *worker = rti_worker_here();
#if !RTI_ONE_WORKER
    if (worker != NULL && worker->member != NULL) {
        return rti_channel_send_short(tx, cx, value);
    }
#endif
    struct rti_channels *channels = io_plain_channels(worker, cx);
    if (channels != NULL && value != NULL) {
        struct rti_channel_end *end = rti_channel_ends_find(&channels->senders, tx);
        if (end != NULL) {
            return io_send_any(worker, end, value);
        }
    }
    return io_send(tx, cx, value, RT_TIME_NEVER);
}

RTI_FRONT rt_status rt_channel_send(rt_channel_sender *tx, rt_cx *cx, const void *value)
{
    struct rti_channels *channels = rti_clear_here();
    if (RTI_UNLIKELY(channels == NULL) || RTI_UNLIKELY(value == NULL) ||
        RTI_UNLIKELY(cx != NULL && !io_is_own(rti_worker_here()->fiber, cx))) {
        return io_send_long(tx, cx, value);
    }
    struct rti_channel_end *end = rti_channel_ends_find(&channels->senders, tx);
    if (RTI_UNLIKELY(end == NULL)) {
        return io_send_long(tx, cx, value);
    }
    struct rti_channel *channel = rti_channel_end_channel(end);
    if (rti_channel_put_fast(channel, value, WORD)) {
        return RT_SUCCESS;
    }
    struct rti_worker *worker = rti_worker_here();
    if (RTI_OFTEN(channel->gates.send == RTI_GATE_ALONE) && RTI_LIKELY(worker->fiber != NULL)) {
        return rti_jump_parking(worker, end, (uintptr_t)value, rti_channel_park_send_alone);
    }
    if (RTI_LIKELY(channel->gates.send == RTI_GATE_MEET && channel->elem_size == WORD)) {
        struct rti_fiber *fiber =
            rti_channel_serve_lone(channel, RTI_CHANNEL_RECV, (void *)(uintptr_t)value, WORD);
        if (RTI_LIKELY(fiber != NULL)) {
            rti_fiber_wake_straight(worker, fiber, RTI_NOTE_WAKE, false);
            return RT_SUCCESS;
        }
    }
    return io_send_any(worker, end, value);
}

rt_status rt_channel_send_until(rt_channel_sender *tx, rt_cx *cx, const void *value,
                                rt_time deadline)
{
    return io_send(tx, cx, value, deadline);
}

/* The point in time `duration` from now; without a runtime, whatever: the call is refused. */
static rt_time io_deadline(rt_time duration)
{
    struct rti_sched *sched = rti_sched_current();
    if (RTI_LIKELY(sched != NULL)) {
        return rti_deadline_after(sched, duration);
    }
    sched = rti_visitor_enter();
    rt_time deadline = sched == NULL ? 0 : rti_deadline_after(sched, duration);
    if (sched != NULL) {
        rti_visitor_leave();
    }
    return deadline;
}

rt_status rt_channel_send_timeout(rt_channel_sender *tx, rt_cx *cx, const void *value,
                                  rt_time duration)
{
    return io_send(tx, cx, value, io_deadline(duration));
}

static RTI_NOINLINE rt_status io_try_send(rt_channel_sender *tx, const void *value)
{
    struct rti_channel_call call;
    if (RTI_UNLIKELY(rti_worker_enter() == NULL)) {
        return io_visit(&(struct rti_channel_errand){.handle = tx,
                                                     .is_sender = true,
                                                     .value = (void *)(uintptr_t)value},
                        NULL);
    }
    rt_status status = rti_channel_call_resolve(&call, tx, true, NULL);
    if (RT_FAILED(status)) {
        return status;
    }
    if (value == NULL && call.channel->elem_size != 0) {
        return io_null;
    }
    switch (io_put(&call, value, &status)) {
    case RTI_CHANNEL_MUST_WAIT:
        return (rt_status){RT_ERR_FULL, "no place is free"};
    default:
        return status;
    }
}

rt_status rt_channel_try_send(rt_channel_sender *tx, const void *value)
{
    struct rti_worker *worker = rti_worker_here();
    struct rti_channels *channels = io_straight_channels(worker);
    if (RTI_LIKELY(channels != NULL) && RTI_LIKELY(value != NULL)) {
        struct rti_channel_end *end = rti_channel_ends_find(&channels->senders, tx);
        if (RTI_LIKELY(end != NULL &&
                       rti_channel_put_fast(rti_channel_end_channel(end), value, WORD))) {
            return RT_SUCCESS;
        }
    }
    return io_try_send(tx, value);
}

/* A poll context that was served takes what was promised to it; its channel is entered. */
static rt_status io_recv_promised(const struct rti_channel_call *call, void *out_value)
{
    struct rti_channel_waiter *waiter = &rti_cx_poll(call->cx)->waiter;
    struct rti_channel *channel = waiter->channel;
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_channel_take_promised(channel, waiter, out_value, &wakes);
    rti_channels_record(call->channels, RTI_JOURNAL_RECV, channel, rti_channel_received(channel));
    rti_channel_left(call->channels, channel, &wakes);
    rti_cx_poll_end(call->cx);
    return RT_SUCCESS;
}

/* A poll context receives what was promised to it, or joins the line. */
static rt_status io_recv_poll(const struct rti_channel_call *call, void *out_value,
                              rt_time deadline)
{
    struct rti_cx_op op = {.what = &io_recv_tag, .on = call->id};
    bool is_served = false;
    rt_status status = rti_channel_poll_continue(call->cx, op, &is_served);
    if (RT_FAILED(status)) {
        return status;
    }
    if (is_served) {
        return io_recv_promised(call, out_value);
    }
    if (io_take(call, out_value, &status) == RTI_CHANNEL_MUST_WAIT) {
        rti_channel_poll_join(
            call, &(struct rti_channel_want){.kind = RTI_CHANNEL_POLL, .deadline = deadline}, op);
        return (rt_status){RT_ERR_WOULDBLOCK, "nothing is there: in line for the next value"};
    }
    return status;
}

static rt_status io_recv_await(const struct rti_channel_call *call, void *out_value,
                               rt_time deadline)
{
    if (call->worker->fiber == NULL) {
        return io_refuse_wait();
    }
    uint32_t number = call->channel->number;
    struct rti_sched *sched = call->worker->sched;
    rt_status status = rti_channel_park(call, &(struct rti_channel_want){.kind = RTI_CHANNEL_RECV,
                                                                         .slot = out_value,
                                                                         .deadline = deadline});
    if (!RT_FAILED(status) && RTI_UNLIKELY(rti_sched_journal(sched) != NULL)) {
        /* The channel may be gone by now. */
        rti_channels_write(sched, RTI_JOURNAL_RECV, number, 0);
    }
    return status;
}

static RTI_NOINLINE rt_status io_recv(rt_channel_receiver *rx, rt_cx *cx, void *out_value,
                                      rt_time deadline)
{
    struct rti_channel_call call;
    if (RTI_UNLIKELY(rti_worker_enter() == NULL)) {
        return io_visit(
            &(struct rti_channel_errand){
                .handle = rx, .may_wait = true, .value = out_value, .deadline = deadline},
            cx);
    }
    rt_status status = rti_channel_call_init(&call, rx, false, cx);
    if (RT_FAILED(status)) {
        return status;
    }
    if (out_value == NULL && call.channel->elem_size != 0) {
        return io_null;
    }
    if (rti_channel_call_is_poll(&call)) {
        return io_recv_poll(&call, out_value, deadline);
    }
    switch (io_take(&call, out_value, &status)) {
    case RTI_CHANNEL_MUST_WAIT:
        return io_recv_await(&call, out_value, deadline);
    default:
        return status;
    }
}

static RTI_ALWAYSINLINE enum io_way io_recv_way(struct rti_worker *worker,
                                                struct rti_channel *channel, void *out_value,
                                                uint32_t size, bool is_noted)
{
    uint32_t gate = channel->gates.recv;
    if (gate == RTI_GATE_MEET) {
        struct rti_fiber *fiber =
            rti_channel_serve_lone(channel, RTI_CHANNEL_SEND, out_value, size);
        if (RTI_UNLIKELY(fiber == NULL)) {
            return IO_LONG;
        }
        rti_fiber_wake_straight(worker, fiber, RTI_NOTE_WAKE, is_noted);
        return IO_DONE;
    }
    if (RTI_UNLIKELY(worker->fiber == NULL)) {
        return IO_LONG;
    }
    /* A buffered channel whose gates are at rest: it is empty. */
    return gate == RTI_GATE_ALONE ||
                   (rti_gate_is_open(gate, size) && rti_gate_is_open(channel->gates.send, size))
               ? IO_ALONE
               : IO_LONG;
}

/* Likewise, and for a queue that is empty. */
static RTI_NOINLINE rt_status io_recv_any(struct rti_worker *worker, struct rti_channel_end *end,
                                          void *out_value)
{
    struct rti_channel *channel = rti_channel_end_channel(end);
    bool is_noted = rti_worker_records(worker);
    rti_worker_check_stack(worker);
    if (rti_channel_take_any(channel, out_value)) {
        return RT_SUCCESS;
    }
    switch (io_recv_way(worker, channel, out_value, channel->elem_size, is_noted)) {
    case IO_DONE:
        return RT_SUCCESS;
    case IO_ALONE:
        if (is_noted) {
            return rti_jump_parking(worker, end, (uintptr_t)out_value,
                                    rti_channel_park_recv_alone_noted);
        }
        return rti_jump_parking(worker, end, (uintptr_t)out_value, rti_channel_park_recv_alone);
    default:
        return io_recv((rt_channel_receiver *)rti_channel_end_id(end), NULL, out_value,
                       RT_TIME_NEVER);
    }
}

rt_status rti_channel_recv_long(rt_channel_receiver *rx, rt_cx *cx, void *out_value)
{
    return io_recv(rx, cx, out_value, RT_TIME_NEVER);
}

static RTI_COLD rt_status io_recv_long(rt_channel_receiver *rx, rt_cx *cx, void *out_value)
{
    struct rti_worker *worker = rti_worker_here();
#if !RTI_ONE_WORKER
    if (worker != NULL && worker->member != NULL) {
        return rti_channel_recv_short(rx, cx, out_value);
    }
#endif
    struct rti_channels *channels = io_plain_channels(worker, cx);
    if (channels != NULL && out_value != NULL) {
        struct rti_channel_end *end = rti_channel_ends_find(&channels->receivers, rx);
        if (end != NULL) {
            return io_recv_any(worker, end, out_value);
        }
    }
    return io_recv(rx, cx, out_value, RT_TIME_NEVER);
}

RTI_FRONT rt_status rt_channel_recv(rt_channel_receiver *rx, rt_cx *cx, void *out_value)
{
    struct rti_channels *channels = rti_clear_here();
    if (RTI_UNLIKELY(channels == NULL) || RTI_UNLIKELY(out_value == NULL) ||
        RTI_UNLIKELY(cx != NULL && !io_is_own(rti_worker_here()->fiber, cx))) {
        return io_recv_long(rx, cx, out_value);
    }
    struct rti_channel_end *end = rti_channel_ends_find(&channels->receivers, rx);
    if (RTI_UNLIKELY(end == NULL)) {
        return io_recv_long(rx, cx, out_value);
    }
    struct rti_channel *channel = rti_channel_end_channel(end);
    if (rti_channel_take_fast(channel, out_value, WORD)) {
        return RT_SUCCESS;
    }
    struct rti_worker *worker = rti_worker_here();
    if (RTI_OFTEN(channel->gates.recv == RTI_GATE_ALONE) && RTI_LIKELY(worker->fiber != NULL)) {
        return rti_jump_parking(worker, end, (uintptr_t)out_value, rti_channel_park_recv_alone);
    }
    if (RTI_LIKELY(channel->gates.recv == RTI_GATE_MEET && channel->elem_size == WORD)) {
        struct rti_fiber *fiber =
            rti_channel_serve_lone(channel, RTI_CHANNEL_SEND, out_value, WORD);
        if (RTI_LIKELY(fiber != NULL)) {
            rti_fiber_wake_straight(worker, fiber, RTI_NOTE_WAKE, false);
            return RT_SUCCESS;
        }
    }
    return io_recv_any(worker, end, out_value);
}

rt_status rt_channel_recv_until(rt_channel_receiver *rx, rt_cx *cx, void *out_value,
                                rt_time deadline)
{
    return io_recv(rx, cx, out_value, deadline);
}

rt_status rt_channel_recv_timeout(rt_channel_receiver *rx, rt_cx *cx, void *out_value,
                                  rt_time duration)
{
    return io_recv(rx, cx, out_value, io_deadline(duration));
}

static RTI_NOINLINE rt_status io_try_recv(rt_channel_receiver *rx, void *out_value)
{
    struct rti_channel_call call;
    if (RTI_UNLIKELY(rti_worker_enter() == NULL)) {
        return io_visit(&(struct rti_channel_errand){.handle = rx, .value = out_value}, NULL);
    }
    rt_status status = rti_channel_call_resolve(&call, rx, false, NULL);
    if (RT_FAILED(status)) {
        return status;
    }
    if (out_value == NULL && call.channel->elem_size != 0) {
        return io_null;
    }
    switch (io_take(&call, out_value, &status)) {
    case RTI_CHANNEL_MUST_WAIT:
        return (rt_status){RT_ERR_EMPTY, "nothing is there now"};
    default:
        return status;
    }
}

rt_status rt_channel_try_recv(rt_channel_receiver *rx, void *out_value)
{
    struct rti_worker *worker = rti_worker_here();
    struct rti_channels *channels = io_straight_channels(worker);
    if (RTI_LIKELY(channels != NULL) && RTI_LIKELY(out_value != NULL)) {
        struct rti_channel_end *end = rti_channel_ends_find(&channels->receivers, rx);
        if (RTI_LIKELY(end != NULL &&
                       rti_channel_take_fast(rti_channel_end_channel(end), out_value, WORD))) {
            return RT_SUCCESS;
        }
    }
    return io_try_recv(rx, out_value);
}
