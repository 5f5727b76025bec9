/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_HANDLE_H
#define RTI_HANDLE_H

/* Ids for objects that live in an array: 32 bits, made of the object's index and the generation of
 * its slot. The id of a dead object names no later one for as long as its generation is away.
 *
 *     id = generation << index_bits | index        generation >= 1, so 0 is never an id
 *
 * Each issue of a slot has the next generation; behind the last one the first comes again. So an id
 * is given out anew after all other generations of its slot: with 6 index bits after 67 million
 * uses of that one slot, with 16 after 65,535; choose few index bits. Who keeps an id for that long
 * may find another object behind it. The specification accepts that of timers, and the other way is
 * worse: a slot that retires instead leaves a table that shrinks, and a program that has run well
 * for days and can start no timer any more, for ever. With 63 of 64 timers in steady use and one
 * that is started a thousand times a second that day is the first.
 *
 * Free slots queue: the one freed first is issued first. That spreads the use evenly, so an id
 * comes again as late as possible, and keeps a stale id's slot empty for as long as possible. The
 * order depends on the calls only. LIFO, which pools use to stay warm, would use up one slot.
 *
 * The two highest ids are never issued: the actor specification gives them to the senders "system"
 * and "timer". The slots they would fall to have one generation less.
 *
 * I1  A slot's `id` is the last id it issued, with generation 0 before the first.       (audit)
 * I2  A slot is in use iff its `next` is RTI_HANDLE_IN_USE, and only then its id resolves.(audit)
 * I3  used + length of the free queue = count.                                          (audit)
 * I4  No issued id is 0 or above RTI_HANDLE_ID_MAX.                    (rti_handle_alloc, audit)
 *
 * A table belongs to one thread or one lock. Costs: 8 bytes per slot; all constant time but init
 * and audit. */

#include <stdbool.h>

#include "base/assert.h"

#define RTI_HANDLE_NONE     UINT32_C(0)
#define RTI_HANDLE_ID_MAX   UINT32_C(0xfffffffd)
#define RTI_HANDLE_IN_USE   UINT32_MAX
#define RTI_HANDLE_END      (UINT32_MAX - 2)
#define RTI_HANDLE_BITS_MAX 31

struct rti_handle_slot {
    uint32_t id;   /* the last id issued for this slot */
    uint32_t next; /* the next free slot, or one of the marks above */
};

struct rti_handle_table {
    struct rti_handle_slot *slots; /* the caller's memory */
    uint32_t count;
    uint32_t index_bits;
    uint32_t free_head; /* freed first, issued next; RTI_HANDLE_END if none */
    uint32_t free_tail;
    uint32_t used_count;
};

/* Makes a table of `count` slots in the caller's `slots`, which must outlive it. `index_bits` is 1
 * to 31 and large enough for `count`; the other bits are the generation. */
void rti_handle_init(struct rti_handle_table *table, struct rti_handle_slot *slots, size_t count,
                     unsigned index_bits);

/* Issues an id; RTI_HANDLE_NONE if every slot is in use. */
uint32_t rti_handle_alloc(struct rti_handle_table *table);

/* The slot of an id that is in use, or -1 for every other number. Any number is a fair question. */
static inline int32_t rti_handle_lookup(const struct rti_handle_table *table, uint32_t id)
{
    uint32_t index = id & ((UINT32_C(1) << table->index_bits) - 1);
    if (index >= table->count || table->slots[index].id != id ||
        table->slots[index].next != RTI_HANDLE_IN_USE) {
        return -1;
    }
    return (int32_t)index;
}

/* The slot of an id that this table has issued at some time; no check whether it still resolves. */
static inline uint32_t rti_handle_index(const struct rti_handle_table *table, uint32_t id)
{
    uint32_t index = id & ((UINT32_C(1) << table->index_bits) - 1);
    RT_DCHECK(index < table->count);
    return index;
}

/* Ends an id: it resolves no more. Panics if it does not resolve now. */
void rti_handle_free(struct rti_handle_table *table, uint32_t id);

/* Checks I1 to I4, one step per slot, and returns the number of ids in use. */
size_t rti_handle_audit(const struct rti_handle_table *table);

#endif
