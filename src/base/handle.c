/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "handle"
#include "base/handle.h"

void rti_handle_init(struct rti_handle_table *table, struct rti_handle_slot *slots, size_t count,
                     unsigned index_bits)
{
    RT_ASSERT(slots != NULL || count == 0);
    RT_ASSERT(index_bits >= 1 && index_bits <= RTI_HANDLE_BITS_MAX);
    RT_ASSERT(count <= (size_t)1 << index_bits);
    table->slots = slots;
    table->count = (uint32_t)count;
    table->index_bits = index_bits;
    table->step = UINT32_C(1) << index_bits;
    table->free_head = RTI_HANDLE_END;
    table->free_tail = RTI_HANDLE_END;
    table->used_count = 0;
    table->retired_count = 0;
    table->id_max = RTI_HANDLE_ID_MAX;
    table->is_wrapping = false;
    for (uint32_t index = 0; index < table->count; index++) {
        slots[index].id = index;
        rti_handle_enqueue(table, index);
    }
    RT_AUDIT(rti_handle_audit(table));
}

void rti_handle_let_wrap(struct rti_handle_table *table)
{
    RT_ASSERT(table->used_count == 0 && table->retired_count == 0);
    table->is_wrapping = true;
}

void rti_handle_refuse(void)
{
    rti_panic(RTI_MODULE, __LINE__, "an id that does not resolve");
}

void rti_handle_let_end(struct rti_handle_table *table, uint32_t id_max)
{
    RT_ASSERT(table->used_count == 0 && table->retired_count == 0);
    RT_ASSERT(id_max <= RTI_HANDLE_ID_MAX && id_max >> table->index_bits >= 2);
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
