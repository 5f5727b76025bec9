/* SPDX-License-Identifier: Apache-2.0 */
/* Parking and polling in a line of a channel; the essay is in channel_wait.h. */
#define RTI_MODULE "channel_wait"
#include "sync/channel_wait.h"

#include "sched/fiber_park.h"
#include "sched/passing.h"
#include "sched/station.h"

rt_status rti_channel_result(rt_status_code code)
{
    switch (code) {
    case RT_OK:
        return RT_SUCCESS;
    case RT_ERR_DISCONNECTED:
        return (rt_status){code, "the other side of the channel is gone"};
    default:
        RT_ASSERT(code == RT_ERR_CLOSED);
        return (rt_status){code, "the handle was closed while somebody waited with it"};
    }
}

void rti_channel_left(struct rti_channels *channels, struct rti_channel *channel,
                      struct rti_list *wakes)
{
    rti_channel_changed(channel);
    /* Those who are woken still count as waits: while there are any it is not gone, and a waker may
     * end it. */
    bool is_gone = rti_channel_is_gone(channel);
    rti_lock_release(channel->lock);
    rti_channel_wake_all(wakes);
    if (RTI_UNLIKELY(is_gone)) {
        rti_channels_free(channels, channel);
    }
}

void rti_channel_wait_leave(struct rti_channels *channels, struct rti_channel_waiter *waiter,
                            bool is_abandoned)
{
    struct rti_channel *channel = waiter->channel;
    if (RTI_UNLIKELY(channel == NULL)) {
        return;
    }
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_lock_acquire(channel->lock, channels->sched);
    bool is_lost = rti_channel_leave(channel, waiter, is_abandoned, &wakes);
    if (is_lost && channel->destroy != NULL) {
        channel->pins++;
        rti_lock_release(channel->lock);
        channel->destroy(waiter->waiter.slot, channel->destroy_arg);
        rti_lock_acquire(channel->lock, channels->sched);
        channel->pins--;
    }
    rti_channel_left(channels, channel, &wakes);
}

void rti_channel_wait_served(struct rti_channels *channels, struct rti_channel_waiter *waiter)
{
    struct rti_channel *channel = waiter->channel;
    if (RTI_UNLIKELY(channel == NULL)) {
        return;
    }
    rti_lock_acquire(channel->lock, channels->sched);
    channel->waits--;
    if (waiter->permit != NULL) {
        waiter->permit->waiter = NULL;
    }
    rti_channels_reclaim(channels, channel);
}

#if !RTI_ONE_WORKER
/* With several workers a lone one that was served does not count at its channel any more. If it
 * dies before it has looked at what it was given, that goes back, unless the channel has come to
 * its end: then there is nobody to receive it, and nothing to destroy it with. */
static RTI_COLD void channel_alone_return(struct rti_channels *channels,
                                          struct rti_channel_waiter *waiter,
                                          const struct rti_fiber *fiber)
{
    struct rti_channel_lock *beside = rti_ptr_load_relaxed(&fiber->alone_at);
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_lock_acquire(&beside->lock, channels->sched);
    struct rti_channel *channel = beside->channel;
    if (beside->serial != rti_channel_berth_around(waiter)->serial || channel == NULL ||
        rti_channel_is_gone(channel)) {
        rti_lock_release(&beside->lock);
        return;
    }
    channel->waits++;
    (void)rti_channel_leave(channel, waiter, true, &wakes);
    rti_channel_left(channels, channel, &wakes);
}
#endif

/* The unlink of a fiber's waiter. A fiber that ends will not look at what it was given. */
static void channel_fiber_unlink(struct rti_waiter *base)
{
    struct rti_channel_waiter *waiter = rti_channel_waiter_of(base);
    struct rti_channels *channels = rti_channels_of(rti_worker_current());
    struct rti_fiber *fiber = base->wait->target;
    rti_channel_berth_set_ready(fiber, false); /* the waiter may be the one that lies there */
    if (fiber->cancel != NULL && fiber->cancel->lone != NULL) {
        fiber->cancel->lone = NULL;
    }
#if !RTI_ONE_WORKER
    if (waiter->is_handed && !rti_sched_is_local(channels->sched)) {
        channel_alone_return(channels, waiter, fiber);
        return;
    }
#endif
    if (waiter->is_collected && waiter->result != RTI_CHANNEL_NOT_SERVED) {
        rti_channel_wait_served(channels, waiter);
        return;
    }
    struct rti_permit *permit = waiter->permit;
    rti_channel_wait_leave(channels, waiter, !waiter->is_collected);
    if (!waiter->is_collected && permit != NULL) {
        rti_permit_free(channels, permit);
    }
}

static void channel_waiter_init(struct rti_channel_waiter *waiter,
                                const struct rti_channel_call *call,
                                const struct rti_channel_want *want)
{
    waiter->waiter.slot = want->slot;
    waiter->end = call->end;
    waiter->permit = want->permit;
    if (want->permit != NULL) {
        want->permit->waiter = waiter;
    }
}

/* The handle was closed before the waiter could join: its wait ends all the same. */
static RTI_COLD void channel_wait_refuse(struct rti_channel_waiter *waiter)
{
    waiter->channel = NULL;
    rti_link_init(&waiter->wake_link);
    waiter->result = RT_ERR_CLOSED;
    waiter->is_promised = false;
    waiter->is_collected = false;
    waiter->is_handed = false;
    if (rti_wait_claim(waiter->waiter.wait, waiter->waiter.event)) {
        rti_waiter_wake(&waiter->waiter);
    }
}

void rti_channel_wait_join(struct rti_channels *channels, struct rti_channel_waiter *waiter,
                           enum rti_channel_waiter_kind kind, uintptr_t id)
{
    struct rti_list wakes;
    struct rti_channel *channel =
        waiter->end == NULL ? NULL : rti_channels_enter(channels, waiter->end, id);
    if (RTI_UNLIKELY(channel == NULL)) {
        channel_wait_refuse(waiter);
        return;
    }
    rti_list_init(&wakes);
    rti_channel_join(channel, waiter, kind, &wakes);
    rti_channel_changed(channel);
    rti_lock_release(channel->lock);
    rti_channel_wake_all(&wakes);
}

/* The rarer ends of a plain park: cancelled, closed, the last one out, or somebody watches. The
 * channel may be gone when the wait is finished. */
static RTI_NOINLINE rt_status channel_park_ended(struct rti_channel_waiter *waiter)
{
    struct rti_wait *wait = waiter->waiter.wait;
    struct rti_fiber *fiber = wait->target;
    struct rti_sched *sched = fiber->sched;
    uint32_t number = waiter->channel->number;
    if (waiter->is_handed) {
        waiter->result = RT_OK;
    }
    waiter->is_collected = true;
    rti_wait_finish(wait);
    if (rti_wait_event(wait) != RTI_EVENT_SOURCE) {
        RT_ASSERT(rti_wait_event(wait) == RTI_EVENT_CANCEL);
        return rti_cx_see_cancel(rti_fiber_cx(fiber));
    }
    if (waiter->result == RT_OK && rti_sched_journal(sched) != NULL) {
        bool is_sender = waiter->kind == RTI_CHANNEL_SEND;
        rti_channels_write(sched, is_sender ? RTI_JOURNAL_SEND : RTI_JOURNAL_RECV, number, 0);
    }
    return rti_channel_result(waiter->result);
}

/* Fills in what is the same each time that a fiber waits in a line, or alone, for a channel only.
 */
static void channel_plain_prepare(struct rti_channel_waiter *waiter, struct rti_wait *wait,
                                  struct rti_fiber *fiber)
{
    rti_wait_begin(wait, rti_fiber_wake, fiber, rti_sched_is_local(fiber->sched));
    wait->reason = RTI_REASON_CHANNEL;
    rti_wait_add(wait, &waiter->waiter, RTI_EVENT_SOURCE, channel_fiber_unlink);
    waiter->permit = NULL;
    rti_link_init(&waiter->wake_link);
}

/* And what is not. */
static RTI_ALWAYSINLINE void channel_plain_begin(struct rti_channel_waiter *waiter,
                                                 struct rti_channel *channel,
                                                 const struct rti_channel_end *end,
                                                 enum rti_channel_waiter_kind kind, void *slot)
{
    waiter->waiter.slot = slot;
    waiter->channel = channel;
    waiter->end = end;
    waiter->result = RTI_CHANNEL_NOT_SERVED;
    waiter->kind = (uint8_t)kind;
    waiter->is_promised = false;
    waiter->is_collected = false;
    waiter->is_handed = false;
    channel->waits++;
}

static RTI_COLD void channel_berth_prepare(struct rti_channel_berth *berth, struct rti_fiber *fiber)
{
    channel_plain_prepare(&berth->waiter, &berth->wait, fiber);
#if !RTI_ONE_WORKER
    berth->cancel.wait = &berth->wait;
    rti_link_init(&berth->cancel.link);
#endif
    rti_channel_berth_set_ready(fiber, true);
}

/* A lone one goes on. */
static RTI_ALWAYSINLINE rt_status channel_alone_over(struct rti_fiber *self)
{
    struct rti_channel_berth *berth = RTI_CONTAINER_OF(self->wait, struct rti_channel_berth, wait);
    struct rti_channel *channel = berth->waiter.channel;
    rti_fiber_park_end(self);
    if (RTI_UNLIKELY(!berth->waiter.is_handed || (channel->senders | channel->receivers) == 0)) {
        return channel_park_ended(&berth->waiter);
    }
    channel->waits--;
    if (self->cancel != NULL && RTI_UNLIKELY(!rti_cancel_remove_lone(self->cancel))) {
        /* It was cancelled after it was served: the berth's waiter was in that line. */
        rti_waitlist_unlink(&berth->cancel);
        rti_channel_berth_set_ready(self, false);
    }
    rti_parking_tell(self->run.id);
    return RT_SUCCESS;
}

/* Suspends a lone one whose park has begun, when that is not just a switch. */
static RTI_JUMPS_BACK rt_status channel_alone_go(struct rti_worker *worker, bool is_due)
{
    struct rti_fiber *self = worker->fiber;
    rti_fiber_park_go(worker, self, is_due);
    return channel_alone_over(self);
}

static RTI_ALWAYSINLINE void channel_alone_begin(struct rti_worker *worker,
                                                 struct rti_channel_berth *berth,
                                                 const struct rti_channel_end *end,
                                                 enum rti_channel_waiter_kind kind, void *slot)
{
    struct rti_fiber *self = worker->fiber;
    struct rti_channel *channel = rti_channel_end_channel(end);
    rti_wait_rearm(&berth->wait);
    channel_plain_begin(&berth->waiter, channel, end, kind, slot);
    channel->lone = &berth->waiter;
    channel->gates = kind == RTI_CHANNEL_RECV
                         ? (struct rti_channel_gates){.send = RTI_GATE_MEET, .recv = RTI_GATE_SHUT}
                         : (struct rti_channel_gates){.send = RTI_GATE_SHUT, .recv = RTI_GATE_MEET};
    if (self->cancel != NULL) {
        rti_cancel_add_lone(self->cancel, &berth->wait, &berth->cancel);
    }
    rti_channel_changed(channel);
    rti_fiber_park_begin(worker, self, &berth->wait);
}

/* Parks as the lone one of a channel, in all cases. */
static rt_status channel_park_alone_any(struct rti_worker *worker,
                                        const struct rti_channel_end *end,
                                        enum rti_channel_waiter_kind kind, void *slot)
{
    struct rti_fiber *self = worker->fiber;
    struct rti_channel_berth on_stack;
    struct rti_channel_berth *berth = rti_channel_berth_of(self, &on_stack);
    if (!rti_channel_berth_is_ready(self)) {
        channel_berth_prepare(berth, self);
    }
    channel_alone_begin(worker, berth, end, kind, slot);
    return channel_alone_go(worker, rti_fiber_is_scheduler_due(worker, self));
}

static RTI_JUMPS_BACK RTI_COLD rt_status
channel_park_alone_slowly(struct rti_worker *worker, const struct rti_channel_end *end,
                          enum rti_channel_waiter_kind kind, void *slot)
{
    return channel_park_alone_any(worker, end, kind, slot);
}

/* The same in the common case: the berth is ready, and so is another fiber. Most of a rendezvous is
 * this function. It calls nothing but what it ends with, and keeps nothing across the switch but
 * what it gets back from there. */
static RTI_ALWAYSINLINE rt_status channel_park_alone(struct rti_worker *worker,
                                                     const struct rti_channel_end *end,
                                                     enum rti_channel_waiter_kind kind, void *slot)
{
    struct rti_fiber *self = worker->fiber;
    rti_worker_check_stack(worker);
    if (!RTI_HAS_BERTH || RTI_UNLIKELY(!rti_channel_berth_is_ready(self))) {
        return channel_park_alone_slowly(worker, end, kind, slot);
    }
    channel_alone_begin(worker, rti_channel_berth_of(self, NULL), end, kind, slot);
    if (rti_fiber_is_scheduler_due(worker, self)) {
        return channel_alone_go(worker, true);
    }
    struct rti_fiber *next = rti_fiber_next_direct(worker, self);
    if (RTI_UNLIKELY(next == NULL)) {
        return channel_alone_go(worker, false);
    }
    struct rti_context *to = rti_fiber_replace(worker, self, &next->run);
    worker = rti_context_switch_plainly(&self->context, to, worker);
    return channel_alone_over(worker->fiber);
}

RTI_JUMPS_BACK rt_status rti_channel_park_send_alone(void *worker, void *end, uintptr_t value)
{
    return channel_park_alone(worker, end, RTI_CHANNEL_SEND, (void *)value);
}

RTI_JUMPS_BACK rt_status rti_channel_park_recv_alone(void *worker, void *end, uintptr_t out_value)
{
    return channel_park_alone(worker, end, RTI_CHANNEL_RECV, (void *)out_value);
}

#if RTI_RECORDS

RTI_JUMPS_BACK rt_status rti_channel_park_send_alone_noted(void *worker, void *end, uintptr_t value)
{
    return channel_park_alone_any(worker, end, RTI_CHANNEL_SEND, (void *)value);
}

RTI_JUMPS_BACK rt_status rti_channel_park_recv_alone_noted(void *worker, void *end,
                                                           uintptr_t out_value)
{
    return channel_park_alone_any(worker, end, RTI_CHANNEL_RECV, (void *)out_value);
}

#endif

#if !RTI_ONE_WORKER

/* Parks as the lone one of a channel that is entered, with several workers. */
static RTI_ALWAYSINLINE rt_status channel_park_passing(struct rti_worker *worker,
                                                       const struct rti_channel_end *end,
                                                       enum rti_channel_waiter_kind kind,
                                                       void *slot)
{
    struct rti_fiber *self = worker->fiber;
    struct rti_channel_lock *beside = rti_ptr_load_relaxed(&self->alone_at);
    struct rti_channel *channel = beside->channel;
    struct rti_channel_berth *berth = rti_channel_berth_of(self, NULL);
    if (RTI_UNLIKELY(!rti_channel_berth_is_ready(self))) {
        channel_berth_prepare(berth, self);
    }
    rti_wait_rearm(&berth->wait);
    channel_plain_begin(&berth->waiter, channel, end, kind, slot);
    berth->serial = beside->serial;
    channel->lone = &berth->waiter;
    channel->gates = kind == RTI_CHANNEL_RECV
                         ? (struct rti_channel_gates){.send = RTI_GATE_MEET, .recv = RTI_GATE_SHUT}
                         : (struct rti_channel_gates){.send = RTI_GATE_SHUT, .recv = RTI_GATE_MEET};
    rti_channel_changed(channel);
    rti_fiber_park_passing(worker, &berth->wait, &beside->lock);
    rti_fiber_park_end(self);
    if (RTI_UNLIKELY(!berth->waiter.is_handed)) {
        return channel_park_ended(&berth->waiter);
    }
    rti_parking_tell(self->run.id);
    return RT_SUCCESS;
}

RTI_JUMPS_BACK rt_status rti_channel_park_send_passing(void *worker, void *end, uintptr_t value)
{
    return channel_park_passing(worker, end, RTI_CHANNEL_SEND, (void *)value);
}

RTI_JUMPS_BACK rt_status rti_channel_park_recv_passing(void *worker, void *end, uintptr_t out_value)
{
    return channel_park_passing(worker, end, RTI_CHANNEL_RECV, (void *)out_value);
}

#endif

RTI_NOINLINE rt_status rti_channel_park_send(void *worker, void *end, uintptr_t value)
{
    struct rti_wait wait;
    struct rti_channel_waiter waiter;
    struct rti_worker *own = worker;
    channel_plain_prepare(&waiter, &wait, own->fiber);
    channel_plain_begin(&waiter, rti_channel_end_channel(end), end, RTI_CHANNEL_SEND,
                        (void *)value);
    rti_channel_link(waiter.channel, &waiter);
    rti_channel_changed(waiter.channel);
    (void)rti_fiber_park_here(own, &wait);
    return channel_park_ended(&waiter);
}

rt_status rti_channel_park(const struct rti_channel_call *call, const struct rti_channel_want *want)
{
    RT_ASSERT(call->worker->fiber != NULL);
    struct rti_wait wait;
    struct rti_channel_waiter waiter;
    struct rti_cx_events events;
    rti_fiber_wait_begin(call->worker, &wait);
    wait.reason = RTI_REASON_CHANNEL;
    rti_wait_add(&wait, &waiter.waiter, RTI_EVENT_SOURCE, channel_fiber_unlink);
    channel_waiter_init(&waiter, call, want);
    rti_cx_events_add(&events, call->cx, call->worker->sched, &wait, want->deadline);
    rti_channel_wait_join(call->channels, &waiter, want->kind, call->id);
    uint32_t event = rti_fiber_park_open(call->worker, &wait);
    waiter.is_collected = true;
    rti_wait_finish(&wait);
    /* The result is final only now: a close may take back what was granted. */
    return event == RTI_EVENT_SOURCE ? rti_channel_result(waiter.result)
                                     : rti_cx_events_status(&events, call->cx, event);
}

/* The unlink of a poll context's waiter: what it still has passes on. */
static void channel_poll_unlink(struct rti_waiter *base)
{
    struct rti_channels *channels = rti_channels_of(rti_worker_current());
    struct rti_channel_waiter *waiter = rti_channel_waiter_of(base);
    struct rti_permit *permit = waiter->permit;
    rti_channel_wait_leave(channels, waiter, true);
    if (permit != NULL) {
        rti_permit_free(channels, permit);
    }
}

void rti_channel_poll_join(const struct rti_channel_call *call, const struct rti_channel_want *want,
                           struct rti_cx_op op)
{
    struct rti_cx *cx = call->cx;
    struct rti_poll_cx *poll = rti_cx_poll(cx);
    rti_cx_poll_begin(cx, op);
    rti_wait_add(&poll->wait, &poll->waiter.waiter, RTI_EVENT_SOURCE, channel_poll_unlink);
    channel_waiter_init(&poll->waiter, call, want);
    rti_cx_events_add(&poll->events, cx, rti_cx_sched(cx), &poll->wait, want->deadline);
    rti_channel_wait_join(call->channels, &poll->waiter, want->kind, call->id);
}

rt_status rti_channel_poll_continue(struct rti_cx *cx, struct rti_cx_op op, bool *is_served)
{
    *is_served = false;
    if (!rti_cx_poll_is_for(cx, op)) {
        return RT_SUCCESS;
    }
    uint32_t event = rti_cx_poll_event(cx);
    if (event == RTI_EVENT_NONE) {
        return (rt_status){RT_ERR_WOULDBLOCK, "the context is in line"};
    }
    const struct rti_poll_cx *poll = rti_cx_poll(cx);
    struct rti_channel *channel = poll->waiter.channel;
    if (event == RTI_EVENT_SOURCE && channel != NULL) {
        rti_lock_acquire(channel->lock, rti_cx_sched(cx));
        if (poll->waiter.result == RT_OK) {
            *is_served = true;
            return RT_SUCCESS;
        }
        rti_lock_release(channel->lock);
    }
    rt_status_code result = poll->waiter.result;
    rti_cx_poll_end(cx);
    return event == RTI_EVENT_SOURCE ? rti_channel_result(result)
                                     : rti_cx_events_status(&poll->events, cx, event);
}

rt_status rti_channel_call_resolve(struct rti_channel_call *call, const void *handle,
                                   bool is_sender, rt_cx *cx)
{
    call->worker = rti_worker_enter();
    call->channels = rti_channels_of(call->worker);
    if (call->channels == NULL) {
        return rti_channels_refuse_thread(call->worker);
    }
    struct rti_channel_ends *ends =
        is_sender ? &call->channels->senders : &call->channels->receivers;
    call->end = rti_channels_lookup(call->channels, ends, handle);
    if (call->end == NULL) {
        return rti_channels_refuse(call->channels, ends, (uintptr_t)handle);
    }
    call->channel = rti_channel_end_channel(call->end);
    call->id = (uintptr_t)handle;
    rti_station_count_call(rti_worker_station(call->worker));
    return rti_cx_resolve(call->worker, cx, &call->cx);
}

rt_status rti_channel_call_init(struct rti_channel_call *call, const void *handle, bool is_sender,
                                rt_cx *cx)
{
    rt_status status = rti_channel_call_resolve(call, handle, is_sender, cx);
    if (RT_FAILED(status) || call->cx == NULL) {
        return status;
    }
    status = rti_cx_checkpoint(call->cx);
    if (RT_FAILED(status) && call->cx->kind == RTI_CX_POLL) {
        rti_cx_poll_end(call->cx);
    }
    return status;
}

bool rti_waiter_is_of_channel(const struct rti_waiter *waiter)
{
    return waiter->unlink == channel_fiber_unlink || waiter->unlink == channel_poll_unlink;
}
