/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving under the lock; the essay is in channel_short.h. */
#define RTI_MODULE "channel_short"
#include "sync/channel_short.h"

#if !RTI_ONE_WORKER

#include "sched/crew.h"

/* Values of this size are put and taken without a call. */
#define WORD 8

/* Nothing to write down, to cancel or to count. The flag of a cancellation is raised by other
 * workers. */
static RTI_ALWAYSINLINE bool short_is_plain(const struct rti_worker *worker, const rt_cx *cx)
{
    const struct rti_fiber *fiber = worker->fiber;
    if (RTI_UNLIKELY(rti_sched_journal(worker->sched) != NULL)) {
        return false;
    }
    if (RTI_UNLIKELY(fiber == NULL)) {
        return cx == NULL;
    }
    return !fiber->is_hindered &&
           (RTI_LIKELY(cx == NULL) ||
            (const struct rti_cx *)(const void *)cx == rti_fiber_cx(fiber)) &&
           (fiber->cancel == NULL || !rti_cancel_is_requested(fiber->cancel));
}

/* Serves the lone one, which is of this kind because the gate says so, leaves the channel and wakes
 * it. */
static RTI_ALWAYSINLINE void short_meet(struct rti_worker *worker, struct rti_channel *channel,
                                        struct rti_channel_lock *beside,
                                        enum rti_channel_waiter_kind kind, void *value)
{
    struct rti_channel_waiter *waiter = channel->lone;
    struct rti_channel_berth *berth = rti_channel_berth_around(waiter);
    struct rti_fiber *fiber = rti_channel_berth_fiber(berth);
    RT_DCHECK(waiter->kind == kind && waiter->waiter.wait == &berth->wait);
    RT_DCHECK(rti_wait_event(&berth->wait) == RTI_EVENT_NONE && channel->waits > 0);
    rti_u32_store_relaxed(&berth->wait.claimed, RTI_EVENT_SOURCE);
    waiter->is_handed = true;
    rti_channel_copy(kind == RTI_CHANNEL_RECV ? waiter->waiter.slot : value,
                     kind == RTI_CHANNEL_RECV ? value : waiter->waiter.slot, channel->elem_size);
    channel->lone = NULL;
    channel->gates = channel->rest;
    channel->handed++;
    channel->waits--;
    rti_fiber_take_alone(fiber);
    rti_channel_changed(channel);
    rti_lock_release_shared(&beside->lock);
    RTI_PROBE1(ready, fiber->run.id);
    rti_worker_note(worker, RTI_NOTE_WAKE, 0, fiber->run.id);
    struct rti_station *station = worker->station;
    if (RTI_UNLIKELY(station == NULL || !rti_station_put_next(station, &fiber->run))) {
        rti_crew_queue_next(worker->sched->crew, &fiber->run);
    }
}

/* May the caller wait as the lone one of a channel that is at rest? */
static RTI_ALWAYSINLINE bool short_may_park(const struct rti_worker *worker,
                                            const struct rti_channel *channel,
                                            struct rti_channel_lock *beside)
{
    struct rti_fiber *fiber = worker->fiber;
    return RTI_LIKELY(fiber != NULL && channel->destroy == NULL &&
                      rti_fiber_may_pass(worker, fiber) && rti_fiber_settle_at(fiber, beside));
}

/* The gate is shut: the core decides, for a newcomer, and the channel is left. */
static bool short_put(struct rti_channels *channels, struct rti_channel *channel, const void *value)
{
    struct rti_list wakes;
    rti_list_init(&wakes);
    bool is_done = rti_channel_put(channel, value, &wakes) == RTI_CHANNEL_DONE;
    rti_channel_left(channels, channel, &wakes);
    return is_done;
}

static bool short_take(struct rti_channels *channels, struct rti_channel *channel, void *out_value)
{
    struct rti_list wakes;
    rti_list_init(&wakes);
    bool is_done = rti_channel_take(channel, out_value, &wakes) == RTI_CHANNEL_DONE;
    rti_channel_left(channels, channel, &wakes);
    return is_done;
}

/* What a call does first, in line: finds the channel of its handle and enters it if nobody is
 * there. NULL: it could not. */
static RTI_ALWAYSINLINE struct rti_channel *
short_try_enter(struct rti_channels *channels, const struct rti_channel_end *end, uintptr_t id)
{
    struct rti_channel *channel = rti_channel_end_channel(end);
    struct rti_channel_lock *beside = rti_channels_lock_of(channels, channel);
    if (RTI_UNLIKELY(beside == NULL) || RTI_UNLIKELY(!rti_lock_try(&beside->lock))) {
        return NULL;
    }
    if (RTI_UNLIKELY(rti_channel_end_id(end) != id || rti_channel_end_channel(end) != channel)) {
        rti_lock_release_shared(&beside->lock);
        return NULL;
    }
    return channel;
}

/* A send whose channel is entered, and which is more than a word into a queue. */
static RTI_NOINLINE rt_status short_send_entered(struct rti_worker *worker,
                                                 struct rti_channel_end *end, const void *value)
{
    struct rti_channels *channels = rti_channels_of(worker);
    struct rti_channel *channel = rti_channel_end_channel(end);
    struct rti_channel_lock *beside = rti_channels_lock_of(channels, channel);
    if (channel->gates.send == RTI_GATE_MEET) {
        short_meet(worker, channel, beside, RTI_CHANNEL_RECV, (void *)(uintptr_t)value);
        return RT_SUCCESS;
    }
    if (channel->gates.send == RTI_GATE_ALONE && short_may_park(worker, channel, beside)) {
        return rti_jump_parking(worker, end, (uintptr_t)value, rti_channel_park_send_passing);
    }
    if (rti_channel_put_any(channel, value)) {
        rti_lock_release_shared(&beside->lock);
        return RT_SUCCESS;
    }
    uintptr_t id = rti_channel_end_id(end);
    return short_put(channels, channel, value)
               ? RT_SUCCESS
               : rti_channel_send_long((rt_channel_sender *)id, NULL, value);
}

/* A receive, likewise. */
static RTI_NOINLINE rt_status short_recv_entered(struct rti_worker *worker,
                                                 struct rti_channel_end *end, void *out_value)
{
    struct rti_channels *channels = rti_channels_of(worker);
    struct rti_channel *channel = rti_channel_end_channel(end);
    struct rti_channel_lock *beside = rti_channels_lock_of(channels, channel);
    uint32_t gate = channel->gates.recv;
    if (gate == RTI_GATE_MEET) {
        short_meet(worker, channel, beside, RTI_CHANNEL_SEND, out_value);
        return RT_SUCCESS;
    }
    if (rti_channel_take_any(channel, out_value)) {
        rti_lock_release_shared(&beside->lock);
        return RT_SUCCESS;
    }
    /* A rendezvous at rest, or a queue that is empty; if a permit is outstanding, or no sender is
     * left, the other gate says so. */
    uint32_t size = channel->elem_size;
    if ((gate == RTI_GATE_ALONE ||
         (rti_gate_is_open(gate, size) && rti_gate_is_open(channel->gates.send, size))) &&
        short_may_park(worker, channel, beside)) {
        return rti_jump_parking(worker, end, (uintptr_t)out_value, rti_channel_park_recv_passing);
    }
    uintptr_t id = rti_channel_end_id(end);
    return short_take(channels, channel, out_value)
               ? RT_SUCCESS
               : rti_channel_recv_long((rt_channel_receiver *)id, NULL, out_value);
}

/* Somebody is in the channel, or the handle is no good: waits for the one and refuses the other. */
static RTI_NOINLINE rt_status short_send_waiting(struct rti_worker *worker, rt_channel_sender *tx,
                                                 const void *value)
{
    struct rti_channels *channels = rti_channels_of(worker);
    struct rti_channel_end *end = rti_channels_sender(channels, tx);
    return end == NULL || rti_channels_enter_shared(channels, end, (uintptr_t)tx) == NULL
               ? rti_channel_send_long(tx, NULL, value)
               : short_send_entered(worker, end, value);
}

static RTI_NOINLINE rt_status short_recv_waiting(struct rti_worker *worker, rt_channel_receiver *rx,
                                                 void *out_value)
{
    struct rti_channels *channels = rti_channels_of(worker);
    struct rti_channel_end *end = rti_channels_receiver(channels, rx);
    return end == NULL || rti_channels_enter_shared(channels, end, (uintptr_t)rx) == NULL
               ? rti_channel_recv_long(rx, NULL, out_value)
               : short_recv_entered(worker, end, out_value);
}

rt_status rti_channel_send_short(rt_channel_sender *tx, rt_cx *cx, const void *value)
{
    struct rti_worker *worker = rti_worker_here();
    struct rti_channels *channels = rti_channels_of(worker);
    if (RTI_UNLIKELY(channels == NULL) || RTI_UNLIKELY(value == NULL) ||
        RTI_UNLIKELY(!short_is_plain(worker, cx))) {
        return rti_channel_send_long(tx, cx, value);
    }
    rti_station_count_call(worker->station);
    /* Before the channel is entered. */
    rti_worker_check_stack(worker);
    struct rti_channel_end *end = rti_channel_ends_find(&channels->senders, tx);
    struct rti_channel *channel =
        RTI_UNLIKELY(end == NULL) ? NULL : short_try_enter(channels, end, (uintptr_t)tx);
    if (RTI_UNLIKELY(channel == NULL)) {
        return short_send_waiting(worker, tx, value);
    }
    if (RTI_LIKELY(rti_channel_put_fast(channel, value, WORD))) {
        rti_lock_release_shared(channel->lock);
        return RT_SUCCESS;
    }
    return short_send_entered(worker, end, value);
}

rt_status rti_channel_recv_short(rt_channel_receiver *rx, rt_cx *cx, void *out_value)
{
    struct rti_worker *worker = rti_worker_here();
    struct rti_channels *channels = rti_channels_of(worker);
    if (RTI_UNLIKELY(channels == NULL) || RTI_UNLIKELY(out_value == NULL) ||
        RTI_UNLIKELY(!short_is_plain(worker, cx))) {
        return rti_channel_recv_long(rx, cx, out_value);
    }
    rti_station_count_call(worker->station);
    /* Before the channel is entered. */
    rti_worker_check_stack(worker);
    struct rti_channel_end *end = rti_channel_ends_find(&channels->receivers, rx);
    struct rti_channel *channel =
        RTI_UNLIKELY(end == NULL) ? NULL : short_try_enter(channels, end, (uintptr_t)rx);
    if (RTI_UNLIKELY(channel == NULL)) {
        return short_recv_waiting(worker, rx, out_value);
    }
    if (RTI_LIKELY(rti_channel_take_fast(channel, out_value, WORD))) {
        rti_lock_release_shared(channel->lock);
        return RT_SUCCESS;
    }
    return short_recv_entered(worker, end, out_value);
}

/* Is the waiter in this line? */
static bool short_is_in(const struct rti_waitlist *line, const struct rti_waiter *waiter)
{
    for (struct rti_link *at = rti_list_peek(&line->list); at != NULL;
         at = rti_list_next(&line->list, at)) {
        if (at == &waiter->link) {
            return true;
        }
    }
    return false;
}

/* Puts the fiber into the line where it waits alone, if it does, and leaves the channel entered if
 * it is in a line there now, alone before or not. Its berth is looked at by nobody but who finds it
 * in a channel that is entered: elsewhere it may be written at this moment. */
static struct rti_channel *short_unfold(struct rti_sched *sched, struct rti_fiber *fiber)
{
    struct rti_channel_lock *beside = rti_ptr_load_relaxed(&fiber->alone_at);
    if (beside == NULL) {
        return NULL;
    }
    rti_lock_acquire(&beside->lock, sched);
    struct rti_channel *channel = beside->channel;
    /* Again, now that it is entered. A fiber that has ended said so before it gave away its stack,
     * where another may wait here by now. */
    if (channel != NULL && rti_fiber_is_settled_at(fiber, beside)) {
        const struct rti_channel_waiter *waiter = &rti_channel_berth_of(fiber, NULL)->waiter;
        if (channel->lone == waiter) {
            rti_channel_unfold(channel);
        }
        if (short_is_in(&channel->receiver_line, &waiter->waiter) ||
            short_is_in(&channel->sender_line, &waiter->waiter)) {
            return channel;
        }
    }
    rti_lock_release(&beside->lock);
    return NULL;
}

void rti_channel_unfold_fiber(struct rti_sched *sched, struct rti_fiber *fiber)
{
    struct rti_channel *channel = short_unfold(sched, fiber);
    if (channel != NULL) {
        rti_lock_release(channel->lock);
    }
}

bool rti_channel_cancel_alone(struct rti_sched *sched, struct rti_fiber *fiber,
                              struct rti_waiter **out_waiter)
{
    struct rti_channel *channel = short_unfold(sched, fiber);
    if (channel == NULL) {
        return false;
    }
    struct rti_channel_berth *berth = rti_channel_berth_of(fiber, NULL);
    bool is_claimed = rti_wait_claim(&berth->wait, RTI_EVENT_CANCEL);
    *out_waiter = &berth->cancel;
    rti_lock_release(channel->lock);
    return is_claimed;
}

#endif
