/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "handle"
#include "base/handle.h"

void rti_handle_init(struct rti_handle_table *table, struct rti_handle_slot *slots, size_t count,
                     unsigned index_bits)
{
    RTI_ASSERT_MADE(slots != NULL || count == 0);
    RTI_ASSERT_MADE(index_bits >= 1 && index_bits <= RTI_HANDLE_BITS_MAX);
    RTI_ASSERT_MADE(count <= (size_t)1 << index_bits);
    RTI_ASSERT_MADE(count < RTI_HANDLE_END);
    table->slots = slots;
    table->count = (rti_handle_number)count;
    table->index_bits = (uint8_t)index_bits;
    table->step = UINT32_C(1) << index_bits;
    table->free_head = count > 0 ? 0 : RTI_HANDLE_END;
    table->free_tail = (rti_handle_number)(table->count - 1);
    table->used_count = 0;
    table->retired_count = 0;
    table->id_max = RTI_HANDLE_ID_MAX;
    table->is_wrapping = false;
    for (uint32_t index = 0; index < table->count; index++) {
        slots[index].id = index;
        slots[index].next = (rti_handle_number)(index + 1);
    }
    if (count > 0) {
        slots[count - 1].next = RTI_HANDLE_END;
    }
    RT_AUDIT(rti_handle_audit(table));
}

void rti_handle_let_wrap(struct rti_handle_table *table)
{
    RTI_ASSERT_MADE(table->used_count == 0 && table->retired_count == 0);
    table->is_wrapping = true;
}

void rti_handle_refuse(void)
{
    rti_panic(RTI_MODULE, __LINE__, "an id that does not resolve");
}

#if RTI_ONE_WORKER

uint32_t rti_handle_alloc(struct rti_handle_table *table)
{
    uint32_t index = table->free_head;
    if (index == RTI_HANDLE_END) {
        return RTI_HANDLE_NONE;
    }
    struct rti_handle_slot *slot = &table->slots[index];
    uint32_t id = rti_handle_successor(table, slot->id);
    if (RTI_UNLIKELY(id == RTI_HANDLE_NONE || id > table->id_max)) {
        rti_handle_refuse();
    }
    table->free_head = slot->next;
    slot->id = id;
    slot->next = RTI_HANDLE_IN_USE;
    table->used_count++;
    return id;
}

void rti_handle_free(struct rti_handle_table *table, uint32_t id)
{
    int32_t index = rti_handle_lookup(table, id);
    if (RTI_UNLIKELY(index < 0)) {
        rti_handle_refuse();
    }
    table->used_count--;
    rti_handle_enqueue(table, (uint32_t)index);
}

#endif

void rti_handle_let_end(struct rti_handle_table *table, uint32_t id_max)
{
    RTI_ASSERT_MADE(table->used_count == 0 && table->retired_count == 0);
    RTI_ASSERT_MADE(id_max <= RTI_HANDLE_ID_MAX && id_max >> table->index_bits >= 2);
    table->id_max = id_max;
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
        RT_ASSERT(slot->id <= table->id_max);
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
