/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "handle"
#include "base/handle.h"

/* The id after `id` for the same slot; RTI_HANDLE_NONE if there is none and the table retires. */
static uint32_t handle_successor(const struct rti_handle_table *table, uint32_t id)
{
    uint32_t step = UINT32_C(1) << table->index_bits;
    if (id > RTI_HANDLE_ID_MAX - step) {
        return table->is_wrapping ? (id & (step - 1)) | step : RTI_HANDLE_NONE;
    }
    return id + step;
}

/* Puts a free slot at the end of the queue, or retires it if it has no further id to give. */
static void handle_enqueue(struct rti_handle_table *table, uint32_t index)
{
    if (handle_successor(table, table->slots[index].id) == RTI_HANDLE_NONE) {
        table->slots[index].next = RTI_HANDLE_RETIRED;
        table->retired_count++;
        return;
    }
    table->slots[index].next = RTI_HANDLE_END;
    if (table->free_head == RTI_HANDLE_END) {
        table->free_head = index;
    } else {
        table->slots[table->free_tail].next = index;
    }
    table->free_tail = index;
}

void rti_handle_init(struct rti_handle_table *table, struct rti_handle_slot *slots, size_t count,
                     unsigned index_bits)
{
    RT_ASSERT(slots != NULL || count == 0);
    RT_ASSERT(index_bits >= 1 && index_bits <= RTI_HANDLE_BITS_MAX);
    RT_ASSERT(count <= (size_t)1 << index_bits);
    table->slots = slots;
    table->count = (uint32_t)count;
    table->index_bits = index_bits;
    table->free_head = RTI_HANDLE_END;
    table->free_tail = RTI_HANDLE_END;
    table->used_count = 0;
    table->retired_count = 0;
    table->is_wrapping = false;
    for (uint32_t index = 0; index < table->count; index++) {
        slots[index].id = index;
        handle_enqueue(table, index);
    }
    RT_AUDIT(rti_handle_audit(table));
}

void rti_handle_let_wrap(struct rti_handle_table *table)
{
    RT_ASSERT(table->used_count == 0 && table->retired_count == 0);
    table->is_wrapping = true;
}

uint32_t rti_handle_alloc(struct rti_handle_table *table)
{
    uint32_t index = table->free_head;
    if (index == RTI_HANDLE_END) {
        return RTI_HANDLE_NONE;
    }
    struct rti_handle_slot *slot = &table->slots[index];
    uint32_t id = handle_successor(table, slot->id);
    RT_ASSERT(id != RTI_HANDLE_NONE && id <= RTI_HANDLE_ID_MAX);
    table->free_head = slot->next;
    slot->id = id;
    slot->next = RTI_HANDLE_IN_USE;
    table->used_count++;
    return id;
}

void rti_handle_free(struct rti_handle_table *table, uint32_t id)
{
    int32_t index = rti_handle_lookup(table, id);
    RT_ASSERT(index >= 0);
    table->used_count--;
    handle_enqueue(table, (uint32_t)index);
}

size_t rti_handle_audit(const struct rti_handle_table *table)
{
    uint32_t used = 0;
    uint32_t retired = 0;
    uint32_t mask = (UINT32_C(1) << table->index_bits) - 1;
    for (uint32_t index = 0; index < table->count; index++) {
        const struct rti_handle_slot *slot = &table->slots[index];
        bool is_in_use = slot->next == RTI_HANDLE_IN_USE;
        RT_ASSERT((slot->id & mask) == index);
        RT_ASSERT(slot->id <= RTI_HANDLE_ID_MAX);
        RT_ASSERT(!is_in_use || slot->id > mask);
        RT_ASSERT((rti_handle_lookup(table, slot->id) >= 0) == is_in_use);
        used += is_in_use;
        retired += slot->next == RTI_HANDLE_RETIRED;
    }
    RT_ASSERT(used == table->used_count && retired == table->retired_count);
    uint32_t queued = 0;
    uint32_t last = RTI_HANDLE_END;
    for (uint32_t at = table->free_head; at != RTI_HANDLE_END; at = table->slots[at].next) {
        RT_ASSERT(at < table->count);
        /* Also ends the walk of a queue that has become a ring. */
        RT_ASSERT(++queued <= table->count);
        last = at;
    }
    RT_ASSERT(queued == 0 || last == table->free_tail);
    RT_ASSERT(used + retired + queued == table->count);
    return used;
}
