/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "deque"
#include "base/deque.h"

void rti_deque_init(struct rti_deque *deque)
{
    rti_u32_init(&deque->top, 0);
    rti_u32_init(&deque->bottom, 0);
    for (uint32_t i = 0; i < RTI_DEQUE_CAPACITY; i++) {
        rti_ptr_init(&deque->slots[i], NULL);
    }
    RT_AUDIT(rti_deque_audit(deque));
}

void *rti_deque_steal(struct rti_deque *deque)
{
    for (;;) {
        /* Pairs with the release of who moved it here: then its bottom is not older than that. */
        uint32_t top = rti_u32_load_acquire(&deque->top);
        /* The top; fence; then the bottom: pairs with the fence in pop. */
        rti_fence_seqcst();
        /* Pairs with the release in push: the slot, and what it points to, is complete. */
        uint32_t bottom = rti_u32_load_acquire(&deque->bottom);
        if ((int32_t)(bottom - top) <= 0) {
            return NULL;
        }
        void *item = rti_ptr_load_relaxed(rti_deque_slot(deque, top));
        /* Release: the slot is read before it is free. Pairs with the acquire of top in push. */
        if (rti_u32_cas_seqcst(&deque->top, &top, top + 1)) {
            RT_DCHECK(item != NULL);
            return item;
        }
    }
}

size_t rti_deque_take_half(struct rti_deque *deque, void **out)
{
    uint32_t bottom = rti_u32_load_relaxed(&deque->bottom);
    uint32_t top = rti_u32_load_relaxed(&deque->top);
    for (;;) {
        /* Thieves take from this end only, and the owner is here: no fence. */
        uint32_t count = bottom - top;
        RT_ASSERT(count <= RTI_DEQUE_CAPACITY);
        count -= count / 2;
        if (count == 0) {
            return 0;
        }
        for (uint32_t i = 0; i < count; i++) {
            out[i] = rti_ptr_load_relaxed(rti_deque_slot(deque, top + i));
        }
        if (rti_u32_cas_seqcst(&deque->top, &top, top + count)) {
            return count;
        }
    }
}

size_t rti_deque_audit(const struct rti_deque *deque)
{
    uint32_t top = rti_u32_load_relaxed(&deque->top);
    uint32_t count = rti_u32_load_relaxed(&deque->bottom) - top;
    RT_ASSERT(count <= RTI_DEQUE_CAPACITY);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = (top + i) & (RTI_DEQUE_CAPACITY - 1);
        RT_ASSERT(rti_ptr_load_relaxed(&deque->slots[slot]) != NULL);
    }
    return count;
}
