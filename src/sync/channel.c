/* SPDX-License-Identifier: Apache-2.0 */
/* Places, values and lines; the essay is in channel.h. */
#define RTI_MODULE "channel"
#include "sync/channel.h"

#include "base/marks.h"
#include "sync/permit.h"

/* Opens and shuts the gates (I5). */
static void channel_refresh(struct rti_channel *channel)
{
    bool is_nobody_sending = rti_waitlist_is_empty(&channel->sender_line);
    bool is_nobody_receiving = rti_waitlist_is_empty(&channel->receiver_line);
    bool may_send = channel->senders > 0 && channel->receivers > 0 && channel->reserved == 0 &&
                    is_nobody_receiving;
    bool may_recv = channel->receivers > 0 && channel->promised == 0 && is_nobody_sending;
    RT_DCHECK(channel->lone == NULL);
    if (channel->is_rendezvous) {
        may_send = may_recv = may_send && may_recv && channel->tail == channel->head;
    }
    channel->gates.send = may_send ? channel->rest.send : RTI_GATE_SHUT;
    channel->gates.recv = may_recv ? channel->rest.recv : RTI_GATE_SHUT;
}

void rti_channel_unfold_lone(struct rti_channel *channel)
{
    struct rti_channel_waiter *waiter = channel->lone;
    RT_SOMETIMES(true, "channel: somebody came to one who waited alone");
    channel->lone = NULL;
    rti_channel_link(channel, waiter);
    channel_refresh(channel);
}

void rti_channel_init(struct rti_channel *channel, const rt_channel_config *config, void *memory,
                      bool is_rendezvous)
{
    RT_ASSERT(config->capacity > 0 && config->elem_size < RTI_GATE_MIXED && memory != NULL);
    uint32_t elem_size = (uint32_t)config->elem_size;
    uint32_t length = (uint32_t)RT_CHANNEL_ROUND(config->capacity);
    /* The offsets lie behind the slots, aligned. */
    size_t slots_size = ((size_t)elem_size * length + 3) / 4 * 4;
    *channel = (struct rti_channel){
        .slots = memory,
        .order = (uint32_t *)(void *)((unsigned char *)memory + slots_size),
        .mask = length - 1,
        .elem_size = elem_size,
        .rest = {.send = is_rendezvous ? RTI_GATE_ALONE : elem_size,
                 .recv = is_rendezvous ? RTI_GATE_ALONE : elem_size},
        .capacity = (uint32_t)config->capacity,
        .senders = 1,
        .receivers = 1,
        .is_rendezvous = is_rendezvous,
        .destroy = config->destroy,
        .destroy_arg = config->destroy_arg,
    };
    for (uint32_t i = 0; i < length; i++) {
        channel->order[i] = i * elem_size;
    }
    rti_waitlist_init(&channel->receiver_line);
    rti_waitlist_init(&channel->sender_line);
    rti_list_init(&channel->promises);
    rti_list_init(&channel->permits);
    channel_refresh(channel);
}

void rti_channel_share(struct rti_channel *channel)
{
    channel->is_shared = true;
}

/* The sizes of numbers and small structs are copied without a call. */
void rti_channel_copy_any(void *to, const void *from, uint32_t size)
{
    switch (size) {
    case 0:
        return;
    case 1:
        memcpy(to, from, 1);
        return;
    case 2:
        memcpy(to, from, 2);
        return;
    case 4:
        memcpy(to, from, 4);
        return;
    case 16:
        memcpy(to, from, 16);
        return;
    default:
        memcpy(to, from, size);
    }
}

rt_channel_state rti_channel_state(const struct rti_channel *channel)
{
    bool is_sender_side_gone = rti_channel_is_sender_side_gone(channel);
    if (channel->receivers == 0) {
        return is_sender_side_gone ? RT_CHANNEL_FULLY_CLOSED : RT_CHANNEL_RECEIVER_CLOSED;
    }
    return is_sender_side_gone ? RT_CHANNEL_SENDER_CLOSED : RT_CHANNEL_OPEN;
}

/* Are there more than `count` receivers in line that nothing has claimed? */
static bool channel_has_receivers_beyond(const struct rti_channel *channel, uint32_t count)
{
    const struct rti_list *list = &channel->receiver_line.list;
    for (struct rti_link *at = rti_list_peek(list); at != NULL; at = rti_list_next(list, at)) {
        struct rti_waiter *waiter = RTI_CONTAINER_OF(at, struct rti_waiter, link);
        if (rti_wait_event(waiter->wait) == RTI_EVENT_NONE && count-- == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t channel_free_count(const struct rti_channel *channel)
{
    return channel->capacity - rti_channel_queued(channel) - channel->reserved;
}

/* Could the first sender in line be given a place? */
static bool channel_can_grant(const struct rti_channel *channel)
{
    if (channel->receivers == 0 || channel_free_count(channel) == 0) {
        return false;
    }
    return !channel->is_rendezvous || channel_has_receivers_beyond(channel, channel->reserved);
}

/* The first in line that nothing has claimed, left where it is; those claimed by another event are
 * taken out and left to their owners. NULL if there is none. */
static struct rti_channel_waiter *channel_first(struct rti_waitlist *line)
{
    struct rti_link *link;
    while ((link = rti_list_peek(&line->list)) != NULL) {
        struct rti_waiter *waiter = RTI_CONTAINER_OF(link, struct rti_waiter, link);
        if (rti_wait_event(waiter->wait) == RTI_EVENT_NONE) {
            return rti_channel_waiter_of(waiter);
        }
        RT_SOMETIMES(true, "channel: a waiter was passed over");
        rti_list_remove(link);
    }
    return NULL;
}

/* Takes the first in line whose wait could be claimed. */
static inline struct rti_channel_waiter *channel_claim(struct rti_waitlist *line)
{
    struct rti_waiter *waiter = rti_waitlist_claim(line);
    return waiter == NULL ? NULL : rti_channel_waiter_of(waiter);
}

/* Tells a claimed waiter how it was served; it is woken when the channel is left. */
static inline void channel_serve(struct rti_channel_waiter *waiter, rt_status_code result,
                                 struct rti_list *wakes)
{
    waiter->result = result;
    rti_list_push_tail(wakes, &waiter->wake_link);
}

static void channel_serve_all(struct rti_waitlist *line, rt_status_code result,
                              struct rti_list *wakes)
{
    struct rti_channel_waiter *waiter;
    while ((waiter = channel_claim(line)) != NULL) {
        channel_serve(waiter, result, wakes);
    }
}

/* Keeps one queued value for a claimed poll receiver. */
static void channel_promise(struct rti_channel *channel, struct rti_channel_waiter *waiter)
{
    RT_ASSERT(channel->promised < rti_channel_queued(channel));
    channel->promised++;
    waiter->is_promised = true;
    rti_list_push_tail(&channel->promises, &waiter->waiter.link);
}

static void channel_unpromise(struct rti_channel *channel, struct rti_channel_waiter *waiter)
{
    RT_ASSERT(waiter->is_promised && channel->promised > 0);
    channel->promised--;
    waiter->is_promised = false;
    rti_list_remove(&waiter->waiter.link);
}

/* Gives the first free slot to a permit. */
static void channel_arm(struct rti_channel *channel, struct rti_permit *permit)
{
    RT_ASSERT(rti_permit_channel(permit) == NULL && channel_free_count(channel) > 0);
    rti_ptr_store_relaxed(&permit->channel, channel);
    permit->offset = channel->order[(channel->tail + channel->reserved) & channel->mask];
    channel->reserved++;
    rti_list_push_tail(&channel->permits, &permit->link);
}

/* Takes the slot away from a permit; its offset is not in the ring until the caller puts it to
 * `tail`, for a value, or to tail + reserved, where the free ones begin. */
static void channel_disarm(struct rti_channel *channel, struct rti_permit *permit)
{
    RT_ASSERT(rti_permit_channel(permit) == channel && channel->reserved > 0);
    rti_list_remove(&permit->link);
    rti_ptr_store_relaxed(&permit->channel, NULL);
    channel->reserved--;
}

/* Enters a slot at a position of the ring. If it is not the one that lies there by its number the
 * straight path has to look into `order` from now on. */
static void channel_enter_slot(struct rti_channel *channel, uint64_t position, uint32_t offset)
{
    uint32_t at = (uint32_t)position & channel->mask;
    channel->order[at] = offset;
    if (RTI_UNLIKELY(offset != at * channel->elem_size)) {
        channel->rest.send |= RTI_GATE_MIXED;
        channel->rest.recv |= RTI_GATE_MIXED;
    }
}

static void channel_return_slot(struct rti_channel *channel, uint32_t offset)
{
    channel_enter_slot(channel, channel->tail + channel->reserved, offset);
}

/* Appends a value; there is a free slot. With permits outstanding the first free slot does not
 * stand at `tail`: its offset moves there. */
static void channel_push(struct rti_channel *channel, const void *value)
{
    uint32_t offset = channel->order[(channel->tail + channel->reserved) & channel->mask];
    RT_DCHECK(channel_free_count(channel) > 0);
    rti_channel_copy(channel->slots + offset, value, channel->elem_size);
    channel_enter_slot(channel, channel->tail, offset);
    channel->tail++;
}

/* Takes the oldest value out; there is one. */
static void channel_pop(struct rti_channel *channel, void *out_value)
{
    RT_DCHECK(rti_channel_queued(channel) > 0);
    rti_channel_copy(out_value, rti_channel_slot(channel, channel->head), channel->elem_size);
    channel->head++;
}

/* Serves a claimed receiver; there is a value that is promised to nobody. A fiber gets the oldest
 * value, also if a promise was made when that one came: promises are for any value, so that values
 * are received in their order. */
static void channel_give(struct rti_channel *channel, struct rti_channel_waiter *waiter)
{
    if (waiter->kind == RTI_CHANNEL_POLL) {
        channel_promise(channel, waiter);
    } else {
        channel_pop(channel, waiter->waiter.slot);
    }
}

/* Gives a place to a claimed sender; a fiber's value is put there at once. */
static void channel_grant(struct rti_channel *channel, struct rti_channel_waiter *waiter)
{
    if (waiter->kind == RTI_CHANNEL_SEND) {
        channel_push(channel, waiter->waiter.slot);
    } else {
        channel_arm(channel, waiter->permit);
    }
}

/* The first in line of both sides of a rendezvous meet, if both have their value in their hands and
 * no permit has a better right: both are served, or none. False if this is not the case; then both
 * lines are as they were, but for those that another event had claimed. */
static bool channel_meet_in_line(struct rti_channel *channel, struct rti_list *wakes)
{
    RT_DCHECK(channel->is_rendezvous);
    if (channel->reserved != 0 || channel->tail != channel->head) {
        return false;
    }
    for (;;) {
        struct rti_channel_waiter *sender = channel_first(&channel->sender_line);
        struct rti_channel_waiter *receiver = channel_first(&channel->receiver_line);
        if (sender == NULL || receiver == NULL || sender->kind != RTI_CHANNEL_SEND ||
            receiver->kind != RTI_CHANNEL_RECV || sender->waiter.wait == receiver->waiter.wait) {
            return false;
        }
        if (rti_wait_claim_pair(sender->waiter.wait, sender->waiter.event, receiver->waiter.wait,
                                receiver->waiter.event) == RTI_PAIR_CLAIMED) {
            rti_list_remove(&sender->waiter.link);
            rti_list_remove(&receiver->waiter.link);
            rti_channel_copy(receiver->waiter.slot, sender->waiter.slot, channel->elem_size);
            channel->handed++;
            channel_serve(sender, RT_OK, wakes);
            channel_serve(receiver, RT_OK, wakes);
            return true;
        }
    }
}

void rti_channel_settle(struct rti_channel *channel, struct rti_list *wakes)
{
    rti_channel_unfold(channel);
    for (;;) {
        struct rti_channel_waiter *waiter = NULL;
        if (channel->is_rendezvous && channel_meet_in_line(channel, wakes)) {
            continue;
        }
        if (rti_channel_queued(channel) > channel->promised) {
            waiter = channel_claim(&channel->receiver_line);
        }
        if (waiter != NULL) {
            channel_give(channel, waiter);
        } else {
            if (!rti_waitlist_is_empty(&channel->sender_line) && channel_can_grant(channel)) {
                waiter = channel_claim(&channel->sender_line);
            }
            if (waiter == NULL) {
                break;
            }
            channel_grant(channel, waiter);
        }
        channel_serve(waiter, RT_OK, wakes);
    }
    channel_refresh(channel);
}

/* May somebody who is not in line take a place? On a buffered channel with a free place nobody is
 * in line (I4). */
static bool channel_newcomer_may_send(struct rti_channel *channel)
{
    if (!channel->is_rendezvous) {
        return channel_free_count(channel) > 0;
    }
    bool is_first = channel_first(&channel->sender_line) == NULL;
    channel_refresh(channel); /* one that was claimed may have left the line just now */
    return is_first && channel_can_grant(channel);
}

enum rti_channel_try rti_channel_put(struct rti_channel *channel, const void *value,
                                     struct rti_list *wakes)
{
    rti_channel_unfold(channel);
    if (channel->receivers == 0) {
        return RTI_CHANNEL_GONE;
    }
    if (!channel_newcomer_may_send(channel)) {
        return RTI_CHANNEL_MUST_WAIT;
    }
    struct rti_channel_waiter *waiter = channel_claim(&channel->receiver_line);
    if (RTI_UNLIKELY(waiter == NULL && channel->is_rendezvous)) {
        /* Those who were in line a moment ago have been claimed by other events. */
        channel_refresh(channel);
        return RTI_CHANNEL_MUST_WAIT;
    }
    if (waiter != NULL && waiter->kind == RTI_CHANNEL_RECV && channel->tail == channel->head) {
        /* From hand to hand: the place is taken and free again at once. */
        rti_channel_copy(waiter->waiter.slot, value, channel->elem_size);
        channel->handed++;
    } else {
        channel_push(channel, value);
        if (waiter != NULL) {
            channel_give(channel, waiter);
        }
    }
    if (waiter != NULL) {
        channel_serve(waiter, RT_OK, wakes);
    }
    channel_refresh(channel);
    return RTI_CHANNEL_DONE;
}

enum rti_channel_try rti_channel_take(struct rti_channel *channel, void *out_value,
                                      struct rti_list *wakes)
{
    rti_channel_unfold(channel);
    if (rti_channel_queued(channel) > channel->promised) {
        channel_pop(channel, out_value);
        rti_channel_settle(channel, wakes);
        return RTI_CHANNEL_DONE;
    }
    (void)channel_first(&channel->receiver_line);
    (void)channel_first(&channel->sender_line);
    struct rti_channel_waiter *sender =
        rti_waitlist_is_empty(&channel->sender_line)
            ? NULL
            : rti_channel_meet(channel, out_value, channel->elem_size);
    channel_refresh(channel);
    if (sender != NULL) {
        channel_serve(sender, RT_OK, wakes);
        return RTI_CHANNEL_DONE;
    }
    return rti_channel_is_sender_side_gone(channel) ? RTI_CHANNEL_GONE : RTI_CHANNEL_MUST_WAIT;
}

enum rti_channel_try rti_channel_reserve(struct rti_channel *channel, struct rti_permit *permit)
{
    rti_channel_unfold(channel);
    if (channel->receivers == 0) {
        return RTI_CHANNEL_GONE;
    }
    if (!channel_newcomer_may_send(channel)) {
        return RTI_CHANNEL_MUST_WAIT;
    }
    channel_arm(channel, permit);
    channel_refresh(channel);
    return RTI_CHANNEL_DONE;
}

/* Receivers in line learn that nothing more will come, once. */
static void channel_tell_if_sender_side_gone(struct rti_channel *channel, struct rti_list *wakes)
{
    if (rti_channel_is_sender_side_gone(channel) && !channel->is_sender_side_told) {
        channel->is_sender_side_told = true;
        channel_serve_all(&channel->receiver_line, RT_ERR_DISCONNECTED, wakes);
        channel_refresh(channel);
    }
}

bool rti_channel_commit(struct rti_channel *channel, struct rti_permit *permit, const void *value,
                        struct rti_list *wakes)
{
    if (channel->receivers == 0) {
        rti_channel_abort(channel, permit, wakes);
        return false;
    }
    channel_disarm(channel, permit);
    if (value != NULL) {
        rti_channel_copy(channel->slots + permit->offset, value, channel->elem_size);
    }
    channel_enter_slot(channel, channel->tail, permit->offset);
    channel->tail++;
    rti_channel_settle(channel, wakes);
    RT_SOMETIMES(channel->is_rendezvous && rti_channel_queued(channel) > channel->promised,
                 "channel: a permit outlived its receiver");
    channel_tell_if_sender_side_gone(channel, wakes);
    return true;
}

void rti_channel_abort(struct rti_channel *channel, struct rti_permit *permit,
                       struct rti_list *wakes)
{
    channel_disarm(channel, permit);
    channel_return_slot(channel, permit->offset);
    rti_channel_settle(channel, wakes);
    channel_tell_if_sender_side_gone(channel, wakes);
}

void rti_channel_join(struct rti_channel *channel, struct rti_channel_waiter *waiter,
                      enum rti_channel_waiter_kind kind, struct rti_list *wakes)
{
    rti_channel_line_up(channel, waiter, kind);
    if (channel->is_rendezvous || channel->is_shared) {
        /* One more receiver in line is one more place. */
        rti_channel_settle(channel, wakes);
    }
    if (!channel->is_shared) {
        return;
    }
    /* Whoever joins after the other side was told must be told too. */
    if (channel->receivers == 0) {
        channel_serve_all(&channel->sender_line, RT_ERR_DISCONNECTED, wakes);
    }
    if (rti_channel_is_sender_side_gone(channel)) {
        channel_serve_all(&channel->receiver_line, RT_ERR_DISCONNECTED, wakes);
    }
    channel_refresh(channel);
}

/* Puts a value that its receiver will never look at back to the front. False if there is no room,
 * or nobody to receive it. */
static bool channel_unreceive(struct rti_channel *channel, const void *value,
                              struct rti_list *wakes)
{
    if (channel->receivers == 0 || channel_free_count(channel) == 0) {
        return false;
    }
    RT_SOMETIMES(true, "channel: a value of a dead receiver came back");
    /* The slot at the position before the head is the last of the free ones. */
    channel->head--;
    rti_channel_copy(rti_channel_slot(channel, channel->head), value, channel->elem_size);
    rti_channel_settle(channel, wakes);
    return true;
}

bool rti_channel_leave(struct rti_channel *channel, struct rti_channel_waiter *waiter,
                       bool is_abandoned, struct rti_list *wakes)
{
    RT_ASSERT(waiter->channel == channel && channel->waits > 0);
    RT_SOMETIMES(rti_link_is_linked(&waiter->wake_link), "channel: a waiter ended before its wake");
    bool is_lost = false;
    rti_channel_unfold(channel);
    channel->waits--;
    if (rti_link_is_linked(&waiter->wake_link)) {
        rti_list_remove(&waiter->wake_link);
    }
    if (waiter->is_promised) {
        RT_SOMETIMES(!rti_waitlist_is_empty(&channel->receiver_line),
                     "channel: a promise passed on");
        channel_unpromise(channel, waiter);
        rti_channel_settle(channel, wakes);
    } else if (rti_link_is_linked(&waiter->waiter.link)) {
        rti_list_remove(&waiter->waiter.link);
        channel_refresh(channel);
    } else if (RTI_UNLIKELY(is_abandoned) && (waiter->result == RT_OK || waiter->is_handed)) {
        if (waiter->permit != NULL && rti_permit_channel(waiter->permit) != NULL) {
            RT_SOMETIMES(!rti_waitlist_is_empty(&channel->sender_line),
                         "channel: a grant passed on");
            rti_channel_abort(channel, waiter->permit, wakes);
        } else if (waiter->kind == RTI_CHANNEL_RECV) {
            is_lost = !channel_unreceive(channel, waiter->waiter.slot, wakes);
            channel->destroyed += is_lost;
            RT_SOMETIMES(is_lost, "channel: a value of a dead receiver is lost");
        }
    }
    return is_lost;
}

void rti_channel_take_promised(struct rti_channel *channel, struct rti_channel_waiter *waiter,
                               void *out_value, struct rti_list *wakes)
{
    channel_unpromise(channel, waiter);
    channel_pop(channel, out_value);
    rti_channel_settle(channel, wakes);
}

/* Ends the waits that came with a handle. */
static void channel_dismiss(struct rti_waitlist *line, const struct rti_channel_end *end,
                            struct rti_list *wakes)
{
    struct rti_link *next;
    for (struct rti_link *at = rti_list_peek(&line->list); at != NULL; at = next) {
        next = rti_list_next(&line->list, at);
        struct rti_waiter *waiter = RTI_CONTAINER_OF(at, struct rti_waiter, link);
        struct rti_channel_waiter *own = rti_channel_waiter_of(waiter);
        if (own->end == end) {
            rti_list_remove(at);
            if (rti_wait_claim(waiter->wait, waiter->event)) {
                channel_serve(own, RT_ERR_CLOSED, wakes);
            }
        }
    }
}

void rti_channel_close_sender(struct rti_channel *channel, const struct rti_channel_end *end,
                              struct rti_list *wakes)
{
    RT_ASSERT(channel->senders > 0);
    rti_channel_unfold(channel);
    channel_dismiss(&channel->sender_line, end, wakes);
    struct rti_link *next;
    for (struct rti_link *at = rti_list_peek(&channel->permits); at != NULL; at = next) {
        next = rti_list_next(&channel->permits, at);
        struct rti_permit *permit = RTI_CONTAINER_OF(at, struct rti_permit, link);
        if (permit->waiter != NULL && permit->waiter->end == end) {
            /* Granted to one who has not come back for it. */
            RT_SOMETIMES(true, "channel: a close took a grant back");
            permit->waiter->result = RT_ERR_CLOSED;
            channel_disarm(channel, permit);
            channel_return_slot(channel, permit->offset);
        }
    }
    channel->senders--;
    rti_channel_settle(channel, wakes);
    channel_tell_if_sender_side_gone(channel, wakes);
}

void rti_channel_close_receiver(struct rti_channel *channel, const struct rti_channel_end *end,
                                struct rti_list *wakes)
{
    RT_ASSERT(channel->receivers > 0);
    rti_channel_unfold(channel);
    channel_dismiss(&channel->receiver_line, end, wakes);
    struct rti_link *next;
    for (struct rti_link *at = rti_list_peek(&channel->promises); at != NULL; at = next) {
        next = rti_list_next(&channel->promises, at);
        struct rti_waiter *waiter = RTI_CONTAINER_OF(at, struct rti_waiter, link);
        if (rti_channel_waiter_of(waiter)->end == end) {
            RT_SOMETIMES(true, "channel: a close took a promise back");
            channel_unpromise(channel, rti_channel_waiter_of(waiter));
            rti_channel_waiter_of(waiter)->result = RT_ERR_CLOSED;
        }
    }
    channel->receivers--;
    if (channel->receivers == 0) {
        RT_ASSERT(channel->promised == 0);
        channel_serve_all(&channel->sender_line, RT_ERR_DISCONNECTED, wakes);
    }
    rti_channel_settle(channel, wakes);
}

void *rti_channel_discard(struct rti_channel *channel)
{
    RT_ASSERT(channel->receivers == 0 && channel->lone == NULL);
    if (rti_channel_queued(channel) == 0) {
        return NULL;
    }
    void *value = rti_channel_slot(channel, channel->head);
    channel->head++;
    channel->destroyed++;
    channel_refresh(channel);
    return value;
}

void rti_channel_wake_all(struct rti_list *wakes)
{
    struct rti_link *link;
    while ((link = rti_list_pop(wakes)) != NULL) {
        struct rti_channel_waiter *waiter =
            RTI_CONTAINER_OF(link, struct rti_channel_waiter, wake_link);
        rti_waiter_wake(&waiter->waiter);
    }
}

size_t rti_channel_waiting(const struct rti_channel *channel, bool is_sender)
{
    const struct rti_waitlist *line = is_sender ? &channel->sender_line : &channel->receiver_line;
    const struct rti_channel_waiter *lone = channel->lone;
    size_t count = lone != NULL && rti_channel_waiter_is_receiver(lone) != is_sender &&
                   rti_wait_event(lone->waiter.wait) == RTI_EVENT_NONE;
    for (struct rti_link *at = rti_list_peek(&line->list); at != NULL;
         at = rti_list_next(&line->list, at)) {
        const struct rti_waiter *waiter = RTI_CONTAINER_OF(at, struct rti_waiter, link);
        count += rti_wait_event(waiter->wait) == RTI_EVENT_NONE;
    }
    return count;
}

/* The sum of the offsets from a position of the ring to another, each of which is in its place
 * unless the gates say otherwise (I8). */
static uint64_t channel_audit_range(const struct rti_channel *channel, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    for (uint64_t at = from; at != to; at++) {
        uint32_t offset = channel->order[at & channel->mask];
        RT_ASSERT((channel->rest.send & RTI_GATE_MIXED) != 0 ||
                  offset == (at & channel->mask) * channel->elem_size);
        sum += offset;
    }
    return sum;
}

/* I2: the ring and the permits hold each offset once, as far as a sum can tell. */
static void channel_audit_slots(const struct rti_channel *channel)
{
    uint64_t length = (uint64_t)channel->mask + 1;
    uint64_t sum =
        channel_audit_range(channel, channel->head, channel->tail) +
        channel_audit_range(channel, channel->tail + channel->reserved, channel->head + length);
    for (struct rti_link *at = rti_list_peek(&channel->permits); at != NULL;
         at = rti_list_next(&channel->permits, at)) {
        const struct rti_permit *permit = RTI_CONTAINER_OF(at, struct rti_permit, link);
        RT_ASSERT(rti_permit_channel(permit) == channel);
        sum += permit->offset;
    }
    RT_ASSERT(sum == length * (length - 1) / 2 * channel->elem_size);
}

/* I5. */
static void channel_audit_gates(const struct rti_channel *channel)
{
    const struct rti_channel_waiter *lone = channel->lone;
    struct rti_channel copy = *channel;
    /* An empty list is one that points to itself, and the copy lies elsewhere. */
    struct rti_link somebody;
    copy.receiver_line.list.head.next =
        rti_waitlist_is_empty(&channel->receiver_line) ? &copy.receiver_line.list.head : &somebody;
    copy.sender_line.list.head.next =
        rti_waitlist_is_empty(&channel->sender_line) ? &copy.sender_line.list.head : &somebody;
    copy.lone = NULL;
    channel_refresh(&copy);
    if (lone == NULL) {
        RT_ASSERT(copy.gates.send == channel->gates.send);
        RT_ASSERT(copy.gates.recv == channel->gates.recv);
        return;
    }
    bool is_receiver = lone->kind == RTI_CHANNEL_RECV;
    RT_ASSERT(is_receiver || (lone->kind == RTI_CHANNEL_SEND && channel->is_rendezvous));
    RT_ASSERT(copy.gates.send == channel->rest.send && copy.gates.recv == channel->rest.recv);
    RT_ASSERT(channel->gates.send == (is_receiver ? RTI_GATE_MEET : RTI_GATE_SHUT));
    RT_ASSERT(channel->gates.recv == (is_receiver ? RTI_GATE_SHUT : RTI_GATE_MEET));
    RT_ASSERT(lone->channel == channel && channel->tail == channel->head && channel->waits > 0);
}

static void channel_audit_line(const struct rti_channel *channel, const struct rti_waitlist *line)
{
    uint64_t last_id = 0;
    rti_list_audit(&line->list);
    for (struct rti_link *at = rti_list_peek(&line->list); at != NULL;
         at = rti_list_next(&line->list, at)) {
        struct rti_waiter *waiter = RTI_CONTAINER_OF(at, struct rti_waiter, link);
        rti_waitlist_audit(line, waiter, &last_id);
        RT_ASSERT(rti_channel_waiter_of(waiter)->channel == channel);
    }
}

void rti_channel_audit(const struct rti_channel *channel)
{
    uint32_t queued = rti_channel_queued(channel);
    RT_ASSERT(channel->capacity <= channel->mask + 1 && (channel->mask & (channel->mask + 1)) == 0);
    RT_ASSERT(queued + channel->reserved <= channel->capacity);
    RT_ASSERT(channel->promised == rti_list_audit(&channel->promises));
    RT_ASSERT(channel->promised <= queued);
    RT_ASSERT(channel->reserved == rti_list_audit(&channel->permits));
    RT_ASSERT(rti_channel_sent(channel) >= queued + channel->destroyed);
    channel_audit_slots(channel);
    channel_audit_line(channel, &channel->receiver_line);
    channel_audit_line(channel, &channel->sender_line);
    channel_audit_gates(channel);
    size_t waiting_receivers = rti_channel_waiting(channel, false);
    size_t waiting_senders = rti_channel_waiting(channel, true);
    RT_ASSERT(waiting_receivers + waiting_senders + channel->promised <= channel->waits);
    RT_ASSERT(waiting_receivers == 0 || queued == channel->promised);
    RT_ASSERT(waiting_receivers == 0 || !rti_channel_is_sender_side_gone(channel));
    RT_ASSERT(waiting_senders == 0 || (channel->receivers > 0 && !channel_can_grant(channel)));
}
