/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_DEQUE_H
#define RTI_DEQUE_H

/* A deque of pointers: one owner pushes and pops at the bottom, last in, first out, and any thread
 * may steal the oldest at the top. Of a tree of tasks the owner has so what it has just made, and a
 * thief the largest part that is left. The way is that of Chase and Lev, with the fences that Lê,
 * Pop, Cohen and Zappa Nardelli have shown to be enough, in an array that does not grow.
 *
 *     top counts the items ever taken there, bottom is top plus how many there are; both are 32
 *     bits and wrap. The items are in slots[top % N] .. slots[(bottom - 1) % N].
 *
 * The owner pops without asking as long as two are left: it says first that the last one is not
 * there any more, and then looks where the top is. Only for the very last one it competes with the
 * thieves, at the top.
 *
 * I1  bottom - top <= RTI_DEQUE_CAPACITY, modulo 2^32, but while a pop finds it empty.
 *                                                                          (rti_deque_audit)
 * I2  Every slot from top to bottom - 1 holds an item, never NULL.         (rti_deque_audit)
 * I3  An item is taken once: by whoever moves the top over it, or by the owner, if no thief that
 *     takes the one at the top can still believe that it is the same.      (explored, with mutants)
 *
 * Who writes: `bottom` and the slots the owner; `top` the owner and thieves, by compare-exchange.
 * Pairs: the release of bottom in push and pop with the acquire of bottom in steal: what the slots
 * below it point to is complete before it is seen. The release of top by who takes with the acquire
 * of top in push: a slot is read before the owner writes it anew. The fence in pop, between bottom
 * and top, with that in steal, between top and bottom: either the owner sees the top that the thief
 * starts from, or the thief sees the bottom that the owner has left it. The compare-exchanges of
 * top are sequentially consistent, as in the paper: by the letter of C11 the fences say less about
 * weaker ones. They cost the same. Slots are atomic but
 * relaxed: a thief whose snapshot is stale may read a slot while the owner writes it; its
 * compare-exchange then fails and the value is dropped.
 *
 * A thief must not stand still between snapshot and claim for exactly a multiple of 2^32 takes from
 * the top, as with a ring (base/ring.h).
 *
 * Costs: push no locked instruction; pop one fence, and for the last item a compare-exchange;
 * steal a fence and a compare-exchange. Lock-free, and push and pop wait-free.
 *
 * Rejected: an array that grows (its old one is a thief's for as long as that likes); a steal of
 * half (the owner pops from the half that was counted, without moving the top); a lock (two locked
 * instructions for each item, and a thief that loses its processor stops the owner). */

#include <stdbool.h>

#include "base/assert.h"
#include "base/atomic.h"

/* A power of two. The explorer builds with 4. */
#ifndef RTI_DEQUE_CAPACITY
#define RTI_DEQUE_CAPACITY 128
#endif

_Static_assert((RTI_DEQUE_CAPACITY & (RTI_DEQUE_CAPACITY - 1)) == 0 && RTI_DEQUE_CAPACITY >= 4,
               "the capacity of a deque is a power of two");

struct rti_deque {
    rti_atomic_u32 top;    /* items ever taken at the top: owner and thieves */
    rti_atomic_u32 bottom; /* behind the last one: owner only */
    rti_atomic_ptr slots[RTI_DEQUE_CAPACITY];
};

/* Makes an empty one. Before it is shared. */
void rti_deque_init(struct rti_deque *deque);

static inline rti_atomic_ptr *rti_deque_slot(struct rti_deque *deque, uint32_t position)
{
    return &deque->slots[position & (RTI_DEQUE_CAPACITY - 1)];
}

/* Adds `item`, which is not NULL, at the bottom. Owner only. False if there is no room. */
static inline bool rti_deque_push(struct rti_deque *deque, void *item)
{
    RT_DCHECK(item != NULL);
    uint32_t bottom = rti_u32_load_relaxed(&deque->bottom);
    /* Pairs with the compare-exchange of those who take: the slot has been read before. */
    uint32_t top = rti_u32_load_acquire(&deque->top);
    RT_DCHECK(bottom - top <= RTI_DEQUE_CAPACITY);
    if (RTI_UNLIKELY(bottom - top >= RTI_DEQUE_CAPACITY)) {
        return false;
    }
    rti_ptr_store_relaxed(rti_deque_slot(deque, bottom), item);
    /* Pairs with the acquire of bottom in steal. */
    rti_u32_store_release(&deque->bottom, bottom + 1);
    return true;
}

/* Takes the item that was pushed last, or NULL if there is none. Owner only. */
static inline void *rti_deque_pop(struct rti_deque *deque)
{
    uint32_t bottom = rti_u32_load_relaxed(&deque->bottom);
    if (bottom == rti_u32_load_relaxed(&deque->top)) {
        /* Only the owner adds any: it stays so. */
        return NULL;
    }
    uint32_t last = bottom - 1;
    /* Release, as in push: a thief that finds this bottom finds the items below it. */
    rti_u32_store_release(&deque->bottom, last);
    /* Less by one; fence; then the top: pairs with the fence in steal. */
    rti_fence_seqcst();
    uint32_t top = rti_u32_load_relaxed(&deque->top);
    void *item = rti_ptr_load_relaxed(rti_deque_slot(deque, last));
    if (RTI_LIKELY((int32_t)(last - top) > 0)) {
        RT_DCHECK(item != NULL);
        return item;
    }
    /* It is the last one, for the owner or for a thief, or a thief has it. */
    bool is_won = top == last && rti_u32_cas_seqcst(&deque->top, &top, last + 1);
    /* It is empty, wherever the one has gone; release for a thief that comes with an old top. */
    rti_u32_store_release(&deque->bottom, bottom);
    return is_won ? item : NULL;
}

/* About how many there are, for who only tells it: both ends are read one after the other. What the
 * owner is about to pop may be counted out already. Any thread. */
static inline size_t rti_deque_count(const struct rti_deque *deque)
{
    uint32_t top = rti_u32_load_relaxed(&deque->top);
    int32_t count = (int32_t)(rti_u32_load_relaxed(&deque->bottom) - top);
    return count <= 0 ? 0 : (size_t)count;
}

/* Is there no item? True at some moment during the call, but for what the owner is about to pop.
 * Any thread. */
static inline bool rti_deque_is_empty(const struct rti_deque *deque)
{
    return rti_deque_count(deque) == 0;
}

/* Takes the oldest item; NULL if there is none. Any thread. */
void *rti_deque_steal(struct rti_deque *deque);

/* Takes the older half of the items, rounded up, into `out`, the oldest first, and returns how
 * many: at most half of the capacity. Owner only. */
size_t rti_deque_take_half(struct rti_deque *deque, void **out);

/* Checks I1 and I2 and returns the number of items. Owner only, while no thief is active. */
size_t rti_deque_audit(const struct rti_deque *deque);

#endif
