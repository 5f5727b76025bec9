/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHANNEL_H
#define RTI_CHANNEL_H

/* The channel itself: places, values, lines. It knows nothing of handles' numbers, contexts, fibers
 * or time; those are channels.h, channel_wait.h and channel_io.c.
 *
 * Places. A value lies in a slot, and `order` is a ring that holds the offset of each slot once.
 * Its length is a power of two, at least the capacity; positions count up for ever and are masked:
 *
 *     order:   | queued, oldest first | (reserved: held by permits) | free |
 *              head                   tail                   tail + reserved
 *
 * Reserve takes the slot at tail + reserved; commit puts it at `tail`; receive takes the one at
 * `head`, which thereby becomes the last of the free ones without being written. Abort steps back.
 * So a permit's memory is the slot's own, values are received in the order of their commits,
 * whatever the order of the reserves, and with no permit outstanding the ring is never rearranged.
 * The entries of the reserved positions mean nothing. As long as permits are resolved in the order
 * in which they were given the offset at each position is that of the slot with the same number,
 * and the straight path need not look it up; afterwards the gates say that it must.
 *
 * Gates. What a call meets first is the gate of its side. It holds the size of a value: then a send
 * that finds the queue not full writes and moves `tail`, a receive that finds it not empty reads
 * and moves `head`, and neither looks at anything else. That is the straight path. Or it holds a
 * word that is no size and says what else there is to do. RTI_GATE_SHUT: go the long way; somebody
 * is in line, a permit is outstanding (sends), a value is promised (receives), a side is gone, or a
 * rendezvous is not at rest.
 *
 * The lone one. A fiber that has to wait where nothing else goes on, that is, at a channel whose
 * gates are at rest and whose queue is empty, does not join a line. It is `lone`: to receive, or at
 * a rendezvous to send. The gate of the other side says so (RTI_GATE_MEET), and whoever comes
 * through it serves the lone one with a few stores. Everybody who comes with anything else first
 * puts it into its line (rti_channel_unfold) and finds a channel as if there were no such thing. At
 * a rendezvous at rest both gates say that the next one may be it (RTI_GATE_ALONE).
 *
 * Lines. Who cannot go on joins a line. rti_channel_settle, called after every change that could
 * serve somebody, gives values to the first receivers and places to the first senders until one
 * side has nobody or nothing. Because it always does, a line with somebody in it means that there
 * is nothing to take, and a newcomer who finds something takes it without jumping a queue.
 *
 * Promises. A value for a poll receiver stays in the queue until it polls: one value is promised,
 * not a certain one. Whoever receives meanwhile takes the oldest, so values leave in the order in
 * which they came in, even if a promise is given up later.
 *
 * Rendezvous. There are slots, as many as permits may exist at a time, but a place is granted only
 * against a receiver that waits: reserved < receivers in line. If that receiver goes away before
 * the permit is resolved, the value waits in its slot for the next one.
 *
 * The end of a side. A live permit keeps the sender side open as a handle does: a value that was
 * promised a place is not lost to a receiver that was told "disconnected" too early.
 *
 * Every function here is a section that the channel's lock surrounds, on an engine with several
 * workers. None calls out: those to be woken are gathered in `wakes`, values to be destroyed are
 * left in the queue, and both are dealt with by the caller when it has left. There (`is_shared`)
 * the gates are looked at under the lock only, and a lone one is ended by who has the lock
 * (sync/channel_short.h).
 *
 * With several workers a waiter may be claimed by another event at any moment, also while the lock
 * is held. So a value is given only after a claim that was won, and where two meet that both wait,
 * both are claimed or none (rti_wait_claim_pair).
 *
 * I1  queued + reserved <= capacity; promised <= queued.                       (rti_channel_audit)
 * I2  order holds each slot's offset once, counting those that permits hold.   (audit, by sum)
 * I3  If an unclaimed receiver is in line, queued == promised.                 (audit)
 * I4  If an unclaimed sender is in line, no place can be granted.              (audit)
 * I5  The gates are what channel_refresh would make them. But while there is a lone one the channel
 *     is at rest, its queue empty, and its gates are MEET and SHUT.            (audit)
 * I6  The four states change only forward: no handle is added to a side that has none, and
 *     rti_channel_state is derived, not stored.                                (RT_ASSERT)
 * I7  `waits` counts the waiters that point here, linked or not; the memory goes when it, both
 *     counts of handles, reserved and pins are 0. (rti_channel_is_gone)
 * I8  Unless the gates at rest say RTI_GATE_MIXED, each entry of `order` that means something is
 *     its own place times the size of a value.                                 (audit)
 *
 * Costs: a send or receive on the straight path is about 15 instructions beside the copy, without a
 * locked instruction and without a call. Four bytes per slot for `order`.
 *
 * Rejected: a plain ring of slots (then a value waits behind an earlier reserve that is not
 * committed); swapping slots at commit (the permit's memory would move); a ring of exactly the
 * capacity (three comparisons to wrap, in the shortest path there is); waking the first sender and
 * letting it compete (a newcomer wins, or a whole line wakes for one place). */

#include <string.h>

#include <orrery/rt/channel.h>

#include "base/compiler.h"
#include "sync/channel_berth.h"
#include "sync/region_member.h"

struct rti_lock;

/* What a gate holds that is not a size: no value is as large. */
#define RTI_GATE_SHUT  UINT32_MAX       /* go the long way */
#define RTI_GATE_MEET  (UINT32_MAX - 1) /* serve the lone one */
#define RTI_GATE_ALONE (UINT32_MAX - 2) /* wait as the lone one */

/* Beside a size: the slots do not lie in the order of the ring. Words that are no size have it. */
#define RTI_GATE_MIXED (UINT32_C(1) << 30)

struct rti_channel_gates {
    uint32_t send;
    uint32_t recv;
};

struct rti_channel {
    /* What the straight path reads: one cache line. */
    unsigned char *slots; /* mask + 1 places of elem_size bytes */
    uint32_t *order;      /* mask + 1 offsets into `slots` */
    uint64_t tail;        /* values ever put into the queue */
    uint64_t head;        /* values ever taken out of the queue */
    uint32_t mask;
    uint32_t capacity;
    struct rti_channel_gates gates;
    struct rti_channel_waiter *lone; /* the one that waits, if there is no more to know */
    uint32_t waits;
    uint32_t elem_size;

    struct rti_channel_gates rest; /* the gates at rest; they change when the slots get mixed */
    uint64_t handed;               /* values that went from hand to hand, past the queue */
    uint32_t senders;              /* open handles */
    uint32_t receivers;
    bool is_rendezvous;
    bool is_shared;           /* several workers; never changes */
    bool is_sender_side_told; /* waiting receivers have been told that it is gone */
    uint32_t promised;        /* of those queued, kept for waiters in `promises` */
    uint32_t reserved;        /* permits and grants */
    struct rti_waitlist receiver_line;
    struct rti_waitlist sender_line;
    uint64_t destroyed;       /* values that nobody received */
    struct rti_list promises; /* poll receivers that a value is kept for */
    struct rti_list permits;  /* struct rti_permit, armed: as many as `reserved` */
    uint32_t pins;            /* calls of `destroy` and of wakers under way */
    uint32_t number;          /* in the journal: the how-manieth channel of the runtime */
#if RT_CHECKS
    uint32_t unaudited; /* waiters that the changes since the last audit have paid for */
#endif
    struct rti_lock *lock; /* outlives the channel; NULL: it has none */
    void *memory;          /* to give back to the arena; NULL: the caller's */
    void (*destroy)(void *value, void *arg);
    void *destroy_arg;
    struct rti_region_member member; /* of the region that owns it, if one does */
};

_Static_assert(offsetof(struct rti_channel, rest) <= RTI_CACHE_LINE,
               "the straight path reads one cache line");

static inline uint32_t rti_channel_queued(const struct rti_channel *channel)
{
    return (uint32_t)(channel->tail - channel->head);
}

static inline uint64_t rti_channel_sent(const struct rti_channel *channel)
{
    return channel->tail + channel->handed;
}

static inline uint64_t rti_channel_received(const struct rti_channel *channel)
{
    return channel->head + channel->handed - channel->destroyed;
}

/* What an attempt to put or take comes to. */
enum rti_channel_try {
    RTI_CHANNEL_DONE,
    RTI_CHANNEL_MUST_WAIT,
    RTI_CHANNEL_GONE, /* the other side is */
};

/* Makes an open channel with one handle on each side. `memory` has RT_CHANNEL_BYTES, zero capacity
 * is the caller's error. */
void rti_channel_init(struct rti_channel *channel, const rt_channel_config *config, void *memory,
                      bool is_rendezvous);

/* Says that several workers will use a channel that is new: everything happens under its lock. */
void rti_channel_share(struct rti_channel *channel);

rt_channel_state rti_channel_state(const struct rti_channel *channel);

/* Nothing refers to the channel any more: its memory may go. */
static inline bool rti_channel_is_gone(const struct rti_channel *channel)
{
    return (channel->senders | channel->receivers | channel->reserved | channel->waits |
            channel->pins) == 0;
}

/* No handle and no permit can bring another value. */
static inline bool rti_channel_is_sender_side_gone(const struct rti_channel *channel)
{
    return channel->senders == 0 && channel->reserved == 0;
}

/* Sends `value` if a newcomer may. */
enum rti_channel_try rti_channel_put(struct rti_channel *channel, const void *value,
                                     struct rti_list *wakes);

/* Receives a value if a newcomer may. */
enum rti_channel_try rti_channel_take(struct rti_channel *channel, void *out_value,
                                      struct rti_list *wakes);

/* Reserves a place for `permit`, which is not armed, if a newcomer may. */
enum rti_channel_try rti_channel_reserve(struct rti_channel *channel, struct rti_permit *permit);

/* Fills the permit's place, with `value` unless that is NULL, and ends the permit. False if no
 * receiver is left: then the value is not sent. */
bool rti_channel_commit(struct rti_channel *channel, struct rti_permit *permit, const void *value,
                        struct rti_list *wakes);

/* Ends the permit and gives its place to the next. */
void rti_channel_abort(struct rti_channel *channel, struct rti_permit *permit,
                       struct rti_list *wakes);

/* Puts a waiter, whose wait has begun, at the end of its line. With several workers the channel may
 * have changed since the caller looked: then the waiter may be served at once. */
void rti_channel_join(struct rti_channel *channel, struct rti_channel_waiter *waiter,
                      enum rti_channel_waiter_kind kind, struct rti_list *wakes);

/* Takes a waiter out of whatever holds it. With `is_abandoned` it will not look at what it was
 * given: a promise or a grant passes on, and a value that was copied to it goes back to the front
 * of the queue, or to nobody if there is no room; then it is true that `lost`, the waiter's buffer,
 * holds a value to destroy. */
bool rti_channel_leave(struct rti_channel *channel, struct rti_channel_waiter *waiter,
                       bool is_abandoned, struct rti_list *wakes);

/* Takes the value that was promised to a poll receiver. */
void rti_channel_take_promised(struct rti_channel *channel, struct rti_channel_waiter *waiter,
                               void *out_value, struct rti_list *wakes);

/* Closes a handle. Those who wait with it get RT_ERR_CLOSED; the end of a side wakes the other. */
void rti_channel_close_sender(struct rti_channel *channel, const struct rti_channel_end *end,
                              struct rti_list *wakes);
void rti_channel_close_receiver(struct rti_channel *channel, const struct rti_channel_end *end,
                                struct rti_list *wakes);

/* Takes the oldest value out of a channel without a receiver; NULL if none is left. It lies where
 * it was until the next change of the channel. */
void *rti_channel_discard(struct rti_channel *channel);

/* Restores I3 and I4. */
void rti_channel_settle(struct rti_channel *channel, struct rti_list *wakes);

/* Senders, or receivers, that wait and that nothing has claimed. */
size_t rti_channel_waiting(const struct rti_channel *channel, bool is_sender);

void rti_channel_audit(const struct rti_channel *channel);

/* The audit after a change, in a checked build. It walks those who wait, so it comes less often the
 * more of them there are, and a change costs some 64 of them at most: who gathers ten thousand
 * waiters would otherwise walk fifty million. */
#if RT_CHECKS
#define RTI_CHANNEL_AUDIT_SHARE 64
static inline void rti_channel_changed(struct rti_channel *channel)
{
    channel->unaudited += RTI_CHANNEL_AUDIT_SHARE;
    if (channel->unaudited >= channel->waits) {
        channel->unaudited = 0;
        rti_channel_audit(channel);
    }
}
#else
static inline void rti_channel_changed(struct rti_channel *channel)
{
    (void)channel;
}
#endif

/* Wakes those gathered, in the order in which they were served. */
void rti_channel_wake_all(struct rti_list *wakes);

/* Copies a value of any size. */
void rti_channel_copy_any(void *to, const void *from, uint32_t size);

static inline struct rti_channel_waiter *rti_channel_waiter_of(struct rti_waiter *waiter)
{
    return RTI_CONTAINER_OF(waiter, struct rti_channel_waiter, waiter);
}

static inline bool rti_channel_waiter_is_receiver(const struct rti_channel_waiter *waiter)
{
    return waiter->kind == RTI_CHANNEL_RECV || waiter->kind == RTI_CHANNEL_POLL;
}

/* Puts a waiter that is filled in and counted at the end of its line. Nobody is lone. */
static inline void rti_channel_link(struct rti_channel *channel, struct rti_channel_waiter *waiter)
{
    bool is_receiver = rti_channel_waiter_is_receiver(waiter);
    if (is_receiver || channel->is_rendezvous) {
        channel->gates.send = RTI_GATE_SHUT;
    }
    if (!is_receiver || channel->is_rendezvous) {
        channel->gates.recv = RTI_GATE_SHUT;
    }
    rti_waitlist_add(is_receiver ? &channel->receiver_line : &channel->sender_line,
                     &waiter->waiter);
}

/* Puts the lone one into its line. */
RTI_COLD void rti_channel_unfold_lone(struct rti_channel *channel);

static inline void rti_channel_unfold(struct rti_channel *channel)
{
    if (channel->lone != NULL) {
        rti_channel_unfold_lone(channel);
    }
}

/* Puts a waiter, whose wait has begun, at the end of its line. Part of rti_channel_join. */
static inline void rti_channel_line_up(struct rti_channel *channel,
                                       struct rti_channel_waiter *waiter,
                                       enum rti_channel_waiter_kind kind)
{
    waiter->channel = channel;
    rti_link_init(&waiter->wake_link);
    waiter->result = RTI_CHANNEL_NOT_SERVED;
    waiter->kind = (uint8_t)kind;
    waiter->is_promised = false;
    waiter->is_collected = false;
    waiter->is_handed = false;
    channel->waits++;
    rti_channel_unfold(channel);
    rti_channel_link(channel, waiter);
}

/* Copies a value. A word needs no call and no table. */
static inline void rti_channel_copy(void *to, const void *from, uint32_t size)
{
    RTI_PLAIN_READ(from, size);
    RTI_PLAIN_WRITE(to, size);
    if (RTI_LIKELY(size == 8)) {
        memcpy(to, from, 8);
    } else {
        rti_channel_copy_any(to, from, size);
    }
}

/* The slot whose offset stands at a position of the ring. */
static inline unsigned char *rti_channel_slot(const struct rti_channel *channel, uint64_t position)
{
    return channel->slots + channel->order[position & channel->mask];
}

/* Is it open, and for values of this size, wherever their slots lie? */
static inline bool rti_gate_is_open(uint32_t gate, uint32_t size)
{
    return (gate & ~RTI_GATE_MIXED) == size;
}

/* The straight path of rti_channel_put, for a channel whose values have `size` bytes, a constant,
 * and whose slots lie in order: the copy is not a call and the caller needs no frame. */
static RTI_ALWAYSINLINE bool rti_channel_put_fast(struct rti_channel *channel, const void *value,
                                                  uint32_t size)
{
    uint64_t tail = channel->tail;
    if (!RTI_OFTEN(channel->gates.send == size) ||
        RTI_UNLIKELY((uint32_t)tail - (uint32_t)channel->head == channel->capacity)) {
        return false;
    }
    RT_DCHECK(channel->reserved == 0 && channel->lone == NULL);
    RT_DCHECK(rti_waitlist_is_empty(&channel->receiver_line));
    RT_DCHECK(channel->order[tail & channel->mask] == (tail & channel->mask) * size);
    rti_channel_copy(channel->slots + (tail & channel->mask) * size, value, size);
    channel->tail = tail + 1;
    return true;
}

/* The straight path of rti_channel_take, likewise. */
static RTI_ALWAYSINLINE bool rti_channel_take_fast(struct rti_channel *channel, void *out_value,
                                                   uint32_t size)
{
    uint64_t head = channel->head;
    if (!RTI_OFTEN(channel->gates.recv == size) || RTI_UNLIKELY(head == channel->tail)) {
        return false;
    }
    RT_DCHECK(channel->promised == 0 && rti_waitlist_is_empty(&channel->sender_line));
    RT_DCHECK(channel->order[head & channel->mask] == (head & channel->mask) * size);
    rti_channel_copy(out_value, channel->slots + (head & channel->mask) * size, size);
    channel->head = head + 1;
    return true;
}

/* The same for values of any size in slots of any order. */
static inline bool rti_channel_put_any(struct rti_channel *channel, const void *value)
{
    if (!rti_gate_is_open(channel->gates.send, channel->elem_size) ||
        rti_channel_queued(channel) == channel->capacity) {
        return false;
    }
    RT_DCHECK(channel->reserved == 0 && channel->lone == NULL);
    rti_channel_copy(rti_channel_slot(channel, channel->tail), value, channel->elem_size);
    channel->tail++;
    return true;
}

static inline bool rti_channel_take_any(struct rti_channel *channel, void *out_value)
{
    if (!rti_gate_is_open(channel->gates.recv, channel->elem_size) ||
        channel->head == channel->tail) {
        return false;
    }
    RT_DCHECK(channel->promised == 0);
    rti_channel_copy(out_value, rti_channel_slot(channel, channel->head), channel->elem_size);
    channel->head++;
    return true;
}

/* Serves the lone one, which is of this kind because the gate says MEET, unless something has
 * claimed it: a value of the channel's `size` goes from hand to hand. Its fiber, to be woken; NULL
 * if it was claimed. */
static RTI_ALWAYSINLINE struct rti_fiber *rti_channel_serve_lone(struct rti_channel *channel,
                                                                 enum rti_channel_waiter_kind kind,
                                                                 void *value, uint32_t size)
{
    struct rti_channel_waiter *waiter = channel->lone;
    struct rti_channel_berth *berth = rti_channel_berth_around(waiter);
    RT_DCHECK(waiter->kind == kind && waiter->waiter.wait == &berth->wait);
    if (RTI_UNLIKELY(!rti_wait_claim_here(&berth->wait, RTI_EVENT_SOURCE))) {
        return NULL;
    }
    waiter->is_handed = true;
    rti_channel_copy(kind == RTI_CHANNEL_RECV ? waiter->waiter.slot : value,
                     kind == RTI_CHANNEL_RECV ? value : waiter->waiter.slot, size);
    channel->lone = NULL;
    channel->gates = channel->rest;
    channel->handed++;
    return rti_channel_berth_fiber(berth);
}

/* The other way to meet at a rendezvous: the first sender in line, there is one, is a fiber and has
 * its value taken from its hand. Only if no permit and no earlier receiver has a better right to
 * the meeting. The sender, to be woken when the channel is left, or NULL if it is any other case.
 */
static inline struct rti_channel_waiter *rti_channel_meet(struct rti_channel *channel,
                                                          void *out_value, uint32_t size)
{
    if (!channel->is_rendezvous || channel->reserved != 0 || channel->tail != channel->head ||
        !rti_waitlist_is_empty(&channel->receiver_line)) {
        return NULL;
    }
    struct rti_link *link = channel->sender_line.list.head.next;
    struct rti_channel_waiter *waiter =
        rti_channel_waiter_of(RTI_CONTAINER_OF(link, struct rti_waiter, link));
    if (waiter->kind != RTI_CHANNEL_SEND ||
        !rti_wait_claim(waiter->waiter.wait, waiter->waiter.event)) {
        return NULL;
    }
    rti_list_remove(link);
    rti_channel_copy(out_value, waiter->waiter.slot, size);
    channel->handed++;
    waiter->result = RT_OK;
    return waiter;
}

/* There is no place, and nobody in line of the receivers for whom one could be made. */
static inline bool rti_channel_is_full(const struct rti_channel *channel)
{
    return channel->receivers > 0 && channel->lone == NULL &&
           rti_waitlist_is_empty(&channel->receiver_line) &&
           (channel->is_rendezvous ||
            rti_channel_queued(channel) + channel->reserved == channel->capacity);
}

/* Nothing to take, nobody to take it from, and senders that may bring something: whoever wants to
 * receive joins the line, and that serves nobody else. */
static inline bool rti_channel_is_idle(const struct rti_channel *channel)
{
    return rti_channel_queued(channel) == channel->promised && channel->senders > 0 &&
           channel->lone == NULL && rti_waitlist_is_empty(&channel->sender_line);
}

#endif
