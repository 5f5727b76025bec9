/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RING_H
#define RTI_RING_H

/* A run ring: a bounded FIFO of pointers that one owner fills and empties and any thread may steal
 * from, half at a time. Each worker of the parallel engine has one per priority level. The way of
 * stealing, copy first and claim by one compare-exchange of the head, is that of Go's scheduler.
 *
 *     head counts the items ever taken, tail those ever pushed; both are 32 bits and wrap.
 *     tail - head items are in slots[head % N] .. slots[(tail - 1) % N].
 *
 * I1  tail - head <= RTI_RING_CAPACITY, modulo 2^32.                          (rti_ring_audit)
 * I2  Every slot from head to tail - 1 holds an item, never NULL.             (rti_ring_audit)
 * I3  An item is taken by whoever moves the head over it, and by nobody else. (compare-exchange;
 *     ring_test.c and the explorer)
 *
 * Who writes: `tail` and the slots the owner; `head` the owner and thieves, by compare-exchange.
 * Pairs: the release of `tail` in push and steal (into the thief's own ring) with the acquire of
 * `tail` in those who take, so that a slot and what it points to is complete before it is seen. The
 * release of `head` by those who take with the acquire of `head` in push and steal, so that a slot
 * is read before the owner writes it anew. Slots are atomic but relaxed: a thief whose snapshot is
 * stale may read a slot while the owner writes it; its compare-exchange then fails and the value is
 * dropped.
 *
 * The owner pops with a compare-exchange too. A FIFO ring cannot do without: the owner and a thief
 * want the same end. LIFO pops (Chase-Lev) save it while the ring is long, but break the order in
 * which woken runnables run, which is promised.
 *
 * A thief must not stand still between snapshot and claim for exactly a multiple of 2^32 takes from
 * the same ring: at 10 ns each that is 43 s to the item. A 64-bit head would remove that, and the
 * ring from 32-bit processors.
 *
 * Costs: push no locked instruction; pop one, and none while it is certain that nobody steals
 * (sched/solo.h); a steal of n items one, plus n copies. All lock-free:
 * a failed claim means that another one succeeded. A thief whose claim fails tries for half as
 * many: an owner with short work would outrun a long copy for ever, and the thief, who is the one
 * that is to rouse the others, would keep them all asleep.
 *
 * Rejected: one item per steal (a thief comes back for each); publishing the item that the thief
 * runs at once (it would be taken twice); head and tail on lines of their own (the owner, by far
 * the most frequent visitor, would touch two lines for each operation). */

#include <stdbool.h>

#include "base/assert.h"
#include "base/atomic.h"

/* A power of two. The explorer builds with 4. */
#ifndef RTI_RING_CAPACITY
#define RTI_RING_CAPACITY 256
#endif

_Static_assert((RTI_RING_CAPACITY & (RTI_RING_CAPACITY - 1)) == 0 && RTI_RING_CAPACITY >= 4,
               "the capacity of a ring is a power of two");

struct rti_ring {
    rti_atomic_u32 head; /* items ever taken: owner and thieves */
    rti_atomic_u32 tail; /* items ever pushed: owner only */
    rti_atomic_ptr slots[RTI_RING_CAPACITY];
};

/* Makes an empty ring. Before it is shared. */
void rti_ring_init(struct rti_ring *ring);

static inline rti_atomic_ptr *rti_ring_slot(struct rti_ring *ring, uint32_t position)
{
    return &ring->slots[position & (RTI_RING_CAPACITY - 1)];
}

/* Is there room for another item? Owner only. */
static inline bool rti_ring_has_room(const struct rti_ring *ring)
{
    uint32_t tail = rti_u32_load_relaxed(&ring->tail);
    /* Pairs with the compare-exchange of those who take: the slot has been read before. */
    uint32_t head = rti_u32_load_acquire(&ring->head);
    RT_DCHECK(tail - head <= RTI_RING_CAPACITY);
    return RTI_LIKELY(tail - head < RTI_RING_CAPACITY);
}

/* Appends `item`, which is not NULL and for which there is room. Owner only. */
static inline void rti_ring_put(struct rti_ring *ring, void *item)
{
    RT_DCHECK(item != NULL && rti_ring_has_room(ring));
    uint32_t tail = rti_u32_load_relaxed(&ring->tail);
    rti_ptr_store_relaxed(rti_ring_slot(ring, tail), item);
    /* Pairs with the acquire of tail in those who take. */
    rti_u32_store_release(&ring->tail, tail + 1);
}

/* The same; false if there is no room. */
static inline bool rti_ring_push(struct rti_ring *ring, void *item)
{
    if (RTI_UNLIKELY(!rti_ring_has_room(ring))) {
        return false;
    }
    rti_ring_put(ring, item);
    return true;
}

/* Appends in two steps: an item is put at a place of its own behind the last one, `tail` counted,
 * where there is room; and all up to there are seen at once. Owner only. */
static RTI_ALWAYSINLINE void rti_ring_lay(struct rti_ring *ring, uint32_t tail, void *item)
{
    RT_DCHECK(item != NULL);
    rti_ptr_store_relaxed(rti_ring_slot(ring, tail), item);
}

static RTI_ALWAYSINLINE void rti_ring_publish(struct rti_ring *ring, uint32_t tail)
{
    /* Pairs with the acquire of tail in those who take: all of them are seen at once. */
    rti_u32_store_release(&ring->tail, tail);
}

/* How many more there is room for. Owner only. */
static inline uint32_t rti_ring_room(const struct rti_ring *ring)
{
    /* As in rti_ring_has_room. */
    uint32_t head = rti_u32_load_acquire(&ring->head);
    uint32_t queued = rti_u32_load_relaxed(&ring->tail) - head;
    RT_ASSERT(queued <= RTI_RING_CAPACITY);
    return RTI_RING_CAPACITY - queued;
}

/* Takes the oldest item, or NULL if the ring is empty. Owner only. */
static inline void *rti_ring_pop(struct rti_ring *ring)
{
    uint32_t tail = rti_u32_load_relaxed(&ring->tail);
    uint32_t head = rti_u32_load_relaxed(&ring->head);
    while (head != tail) {
        void *item = rti_ptr_load_relaxed(rti_ring_slot(ring, head));
        /* Release: the slot is read before it is free. Pairs with the acquire of head in push and
         * steal. Failure loads the head that a thief has left. */
        if (RTI_LIKELY(rti_u32_cas_acqrel(&ring->head, &head, head + 1))) {
            RT_DCHECK(item != NULL);
            return item;
        }
    }
    return NULL;
}

/* Takes the oldest item, of a ring that has one, while nobody else takes anything, nor is about to.
 * Owner only. */
static inline void rti_ring_drop_alone(struct rti_ring *ring)
{
    uint32_t head = rti_u32_load_relaxed(&ring->head);
    RT_DCHECK(head != rti_u32_load_relaxed(&ring->tail));
    /* Release: as in rti_ring_pop, for who looks how many there are. */
    rti_u32_store_release(&ring->head, head + 1);
}

/* rti_ring_pop at such a time. Owner only. */
static inline void *rti_ring_pop_alone(struct rti_ring *ring)
{
    uint32_t head = rti_u32_load_relaxed(&ring->head);
    if (RTI_UNLIKELY(head == rti_u32_load_relaxed(&ring->tail))) {
        return NULL;
    }
    void *item = rti_ptr_load_relaxed(rti_ring_slot(ring, head));
    RT_DCHECK(item != NULL);
    rti_ring_drop_alone(ring);
    return item;
}

/* The oldest item, which a thief may take meanwhile: what it points to may be gone. NULL if there
 * may be none. Owner only. */
static inline void *rti_ring_peek(const struct rti_ring *ring)
{
    uint32_t head = rti_u32_load_relaxed(&ring->head);
    bool is_empty = head == rti_u32_load_relaxed(&ring->tail);
    return is_empty ? NULL : rti_ptr_load_relaxed(&ring->slots[head & (RTI_RING_CAPACITY - 1)]);
}

/* What lies behind the oldest item: the next one, if there are two; else one that was taken, or
 * NULL. Owner only, for hints. */
static inline const void *rti_ring_peek_second(const struct rti_ring *ring)
{
    uint32_t head = rti_u32_load_relaxed(&ring->head);
    return rti_ptr_load_relaxed(&ring->slots[(head + 1) & (RTI_RING_CAPACITY - 1)]);
}

/* The number of items. Exact for the owner while no thief is active; for others a number that was
 * true at some moment, at most the capacity. Any thread. */
size_t rti_ring_count(const struct rti_ring *ring);

/* Takes the older half of `victim`'s items, rounded up: returns the oldest, to be run at once, and
 * appends the others, in order, to `thief`, as many as it has room for. NULL if `victim` is empty.
 * Any thread that owns `thief`; the two rings differ. */
void *rti_ring_steal(struct rti_ring *victim, struct rti_ring *thief);

/* Takes the older half of the items, rounded up, but at most `max`, into `out`, and returns how
 * many. Any thread: the owner makes room with it when a push finds the ring full. */
size_t rti_ring_take_half(struct rti_ring *ring, void **out, size_t max);

/* Checks I1 and I2 and returns the number of items. Owner only, while no thief is active. */
size_t rti_ring_audit(const struct rti_ring *ring);

#endif
