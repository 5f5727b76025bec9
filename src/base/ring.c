/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "ring"
#include "base/ring.h"

void rti_ring_init(struct rti_ring *ring)
{
    rti_u32_init(&ring->head, 0);
    rti_u32_init(&ring->tail, 0);
    for (uint32_t i = 0; i < RTI_RING_CAPACITY; i++) {
        rti_ptr_init(&ring->slots[i], NULL);
    }
    RT_AUDIT(rti_ring_audit(ring));
}

/* A look at a ring that others change: the head, and how many items stand behind it. */
struct ring_view {
    uint32_t head;
    uint32_t count;
};

static struct ring_view ring_look(const struct rti_ring *ring)
{
    for (;;) {
        /* Pairs with the compare-exchange of those who take: with an older tail than this head
         * knows of, the count would come out negative. */
        uint32_t head = rti_u32_load_acquire(&ring->head);
        /* Pairs with the release of tail in push and steal: the slots up to it are complete. */
        uint32_t tail = rti_u32_load_acquire(&ring->tail);
        uint32_t count = tail - head;
        /* More than fit: the head has moved since, look again. */
        if (RTI_LIKELY(count <= RTI_RING_CAPACITY)) {
            return (struct ring_view){head, count};
        }
    }
}

size_t rti_ring_count(const struct rti_ring *ring)
{
    return ring_look(ring).count;
}

/* Claims the items from `head` on; on success they are the caller's alone. */
static bool ring_claim(struct rti_ring *ring, uint32_t head, uint32_t count)
{
    /* Release: the slots are read before they are free. Pairs with the acquire of head in push. */
    return rti_u32_cas_acqrel(&ring->head, &head, head + count);
}

static uint32_t ring_half(uint32_t count)
{
    return count - count / 2;
}

void *rti_ring_steal(struct rti_ring *victim, struct rti_ring *thief)
{
    RT_ASSERT(victim != thief);
    uint32_t tail = rti_u32_load_relaxed(&thief->tail);
    /* Pairs with the compare-exchange of those who steal from the thief: its free slots have been
     * read. The room can only grow meanwhile. */
    uint32_t room = RTI_RING_CAPACITY - (tail - rti_u32_load_acquire(&thief->head));
    RT_ASSERT(room <= RTI_RING_CAPACITY);
    uint32_t count_max = RTI_RING_CAPACITY;
    for (;;) {
        struct ring_view view = ring_look(victim);
        if (view.count == 0) {
            return NULL;
        }
        uint32_t count = ring_half(view.count);
        count = count > room + 1 ? room + 1 : count;
        count = count > count_max ? count_max : count;
        void *oldest = rti_ptr_load_relaxed(rti_ring_slot(victim, view.head));
        for (uint32_t i = 1; i < count; i++) {
            void *item = rti_ptr_load_relaxed(rti_ring_slot(victim, view.head + i));
            rti_ptr_store_relaxed(rti_ring_slot(thief, tail + i - 1), item);
        }
        if (ring_claim(victim, view.head, count)) {
            RT_DCHECK(oldest != NULL);
            if (count > 1) {
                /* Pairs with the acquire of tail in those who take from the thief. */
                rti_u32_store_release(&thief->tail, tail + count - 1);
            }
            return oldest;
        }
        /* The longer the copy, the likelier an owner with short work has moved the head before it
         * is claimed: the next try takes less, so that it comes to an end. */
        count_max = ring_half(count);
    }
}

size_t rti_ring_take_half(struct rti_ring *ring, void **out, size_t max)
{
    RT_ASSERT(out != NULL || max == 0);
    for (;;) {
        struct ring_view view = ring_look(ring);
        uint32_t count = ring_half(view.count);
        count = count > max ? (uint32_t)max : count;
        if (count == 0) {
            return 0;
        }
        for (uint32_t i = 0; i < count; i++) {
            out[i] = rti_ptr_load_relaxed(rti_ring_slot(ring, view.head + i));
        }
        if (ring_claim(ring, view.head, count)) {
            RT_DCHECK(out[0] != NULL);
            return count;
        }
    }
}

size_t rti_ring_audit(const struct rti_ring *ring)
{
    uint32_t head = rti_u32_load_relaxed(&ring->head);
    uint32_t count = rti_u32_load_relaxed(&ring->tail) - head;
    RT_ASSERT(count <= RTI_RING_CAPACITY);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = (head + i) & (RTI_RING_CAPACITY - 1);
        RT_ASSERT(rti_ptr_load_relaxed(&ring->slots[slot]) != NULL);
    }
    return count;
}
