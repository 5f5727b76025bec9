/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_HANDLE_H
#define RTI_HANDLE_H

/* Ids for objects that live in an array: 32 bits, made of the object's index and the generation of
 * its slot. The id of a dead object never names a later one.
 *
 *     id = generation << index_bits | index        generation >= 1, so 0 is never an id
 *
 * Each issue of a slot has the next generation. A slot that has used its last generation is retired
 * for good when it is freed, instead of starting anew: a table can wear out, it cannot lie. With 16
 * bits for each half, 64 slots wear out after four million issues; choose few index bits.
 *
 * Where ids are short-lived and availability counts for more, as with timers, a table may wrap
 * instead (rti_handle_let_wrap): behind the last generation of a slot its first comes again, so an
 * id is given out anew only after all others of its slot. A table that retires cannot lie but wears
 * out: with one of 64 slots in use a thousand times a second and 63 that stay, after 19 hours.
 *
 * Free slots queue: the one freed first is issued first. That spreads the wear evenly, so the first
 * slot retires as late as possible, and keeps a stale id's slot empty for as long as possible. The
 * order depends on the calls only. LIFO, which pools use to stay warm, would wear out one slot.
 *
 * The two highest ids are never issued: the actor specification gives them to the senders "system"
 * and "timer". The slots they would fall to have one generation less.
 *
 * I1  A slot's `id` is the last id it issued, with generation 0 before the first.       (audit)
 * I2  A slot is in use iff its `next` is RTI_HANDLE_IN_USE, and only then its id resolves.(audit)
 * I3  used + retired + length of the free queue = count.                                (audit)
 * I4  No issued id is 0 or above `id_max`.                               (rti_handle_alloc, audit)
 *
 * A table belongs to one thread or one lock. Costs: 8 bytes per slot; all constant time but init
 * and audit. */

#include <stdbool.h>

#include "base/assert.h"

#define RTI_HANDLE_NONE   UINT32_C(0)
#define RTI_HANDLE_ID_MAX UINT32_C(0xfffffffd)
#if RTI_ONE_WORKER
typedef uint16_t rti_handle_number;
#define RTI_HANDLE_IN_USE UINT32_C(0xffff)
#else
typedef uint32_t rti_handle_number;
#define RTI_HANDLE_IN_USE UINT32_MAX
#endif
#define RTI_HANDLE_RETIRED  (RTI_HANDLE_IN_USE - 1)
#define RTI_HANDLE_END      (RTI_HANDLE_IN_USE - 2)
#define RTI_HANDLE_BITS_MAX 31

struct rti_handle_slot {
    uint32_t id;            /* the last id issued for this slot */
    rti_handle_number next; /* the next free slot, or one of the marks above */
};

struct rti_handle_table {
    struct rti_handle_slot *slots; /* the caller's memory */
    uint32_t step;                 /* from one id of a slot to its next: 1 << index_bits */
    uint32_t id_max;               /* no id above it is issued */
    rti_handle_number count;
    rti_handle_number free_head; /* freed first, issued next; RTI_HANDLE_END if none */
    rti_handle_number free_tail;
    rti_handle_number used_count;
    rti_handle_number retired_count;
    uint8_t index_bits;
    bool is_wrapping; /* no slot retires */
};

/* Makes a table of `count` slots in the caller's `slots`, which must outlive it. `index_bits` is 1
 * to 31 and large enough for `count`; the other bits are the generation. */
void rti_handle_init(struct rti_handle_table *table, struct rti_handle_slot *slots, size_t count,
                     unsigned index_bits);

/* From here on the generations begin anew instead of retiring their slot. Right after init. */
void rti_handle_let_wrap(struct rti_handle_table *table);

/* From here on no id above `id_max`, which is at most RTI_HANDLE_ID_MAX and leaves each slot a
 * generation, is issued. Right after init. */
void rti_handle_let_end(struct rti_handle_table *table, uint32_t id_max);

/* The slot whose id is issued next; RTI_HANDLE_END if every slot is in use or retired. */
static inline uint32_t rti_handle_next_index(const struct rti_handle_table *table)
{
    return table->free_head;
}

/* The id after `id` for the same slot; RTI_HANDLE_NONE if there is none and the table retires. */
static inline uint32_t rti_handle_successor(const struct rti_handle_table *table, uint32_t id)
{
    uint32_t step = table->step;
    if (RTI_UNLIKELY(id > table->id_max - step)) {
        return table->is_wrapping ? (id & (step - 1)) | step : RTI_HANDLE_NONE;
    }
    return id + step;
}

/* Puts a free slot at the end of the queue, or retires it if it has no further id to give. */
static inline void rti_handle_enqueue(struct rti_handle_table *table, uint32_t index)
{
    if (RTI_UNLIKELY(rti_handle_successor(table, table->slots[index].id) == RTI_HANDLE_NONE)) {
        table->slots[index].next = RTI_HANDLE_RETIRED;
        table->retired_count++;
        return;
    }
    table->slots[index].next = RTI_HANDLE_END;
    if (table->free_head == RTI_HANDLE_END) {
        table->free_head = (rti_handle_number)index;
    } else {
        table->slots[table->free_tail].next = (rti_handle_number)index;
    }
    table->free_tail = (rti_handle_number)index;
}

/* Panics: the table is not what it must be, or an id that does not resolve was to be freed. */
_Noreturn RTI_COLD void rti_handle_refuse(void);

/* Issues an id; RTI_HANDLE_NONE if every slot is in use or retired. Where flash is scarce this and
 * rti_handle_free are there once. */
#if RTI_ONE_WORKER
uint32_t rti_handle_alloc(struct rti_handle_table *table);
#else
static inline uint32_t rti_handle_alloc(struct rti_handle_table *table)
{
    uint32_t index = table->free_head;
    if (index == RTI_HANDLE_END) {
        return RTI_HANDLE_NONE;
    }
    struct rti_handle_slot *slot = &table->slots[index];
    /* A slot without a further id is not in the queue. */
    uint32_t id = rti_handle_successor(table, slot->id);
    if (RTI_UNLIKELY(id == RTI_HANDLE_NONE)) {
        rti_handle_refuse();
    }
    RT_DCHECK(id <= table->id_max);
    table->free_head = slot->next;
    slot->id = id;
    slot->next = RTI_HANDLE_IN_USE;
    table->used_count++;
    return id;
}
#endif

/* The slot of an id that is in use, or -1 for every other number. Any number is a fair question. */
static inline int32_t rti_handle_lookup(const struct rti_handle_table *table, uint32_t id)
{
    uint32_t index = id & (table->step - 1);
    if (index >= table->count || table->slots[index].id != id ||
        table->slots[index].next != RTI_HANDLE_IN_USE) {
        return -1;
    }
    return (int32_t)index;
}

/* The slot of an id that this table has issued at some time; no check whether it still resolves. */
static inline uint32_t rti_handle_index(const struct rti_handle_table *table, uint32_t id)
{
    uint32_t index = id & (table->step - 1);
    RT_DCHECK(index < table->count);
    return index;
}

/* Ends an id: it resolves no more, ever. Panics if it does not resolve now. */
#if RTI_ONE_WORKER
void rti_handle_free(struct rti_handle_table *table, uint32_t id);
#else
static inline void rti_handle_free(struct rti_handle_table *table, uint32_t id)
{
    uint32_t index = id & (table->step - 1);
    if (RTI_UNLIKELY(index >= table->count) || RTI_UNLIKELY(table->slots[index].id != id) ||
        RTI_UNLIKELY(table->slots[index].next != RTI_HANDLE_IN_USE)) {
        rti_handle_refuse();
    }
    table->used_count--;
    rti_handle_enqueue(table, index);
}
#endif

/* Checks I1 to I4, one step per slot, and returns the number of ids in use. */
size_t rti_handle_audit(const struct rti_handle_table *table);

#endif
