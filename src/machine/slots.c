/* SPDX-License-Identifier: Apache-2.0 */
/* Names of machines: an index into the loop's slots, and a generation that tells an old name from a
 * new one. Generation in the upper half of the id, index + 1 in the lower: no name is 0. */
#define RTI_MODULE "slots"
#include "machine/loop.h"

void rti_slots_init(struct rti_loop *loop, rt_machine_slot *slots, size_t count)
{
    RT_ASSERT(count > 0 && count <= UINT16_MAX);
    loop->slots_count = count;
    loop->slots = (struct rti_slot *)slots;
    for (size_t i = 0; i < count; i++) {
        uint16_t next = (uint16_t)(i + 1 < count ? i + 2 : 0);
        loop->slots[i] = (struct rti_slot){.generation = 1, .next_free = next};
    }
    loop->first_free = 1;
}

rt_status rti_slots_take(struct rti_loop *loop, rt_machine *machine)
{
    if (loop->first_free == 0) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "the loop has no free slot for a machine"};
    }
    uint16_t place = loop->first_free;
    struct rti_slot *slot = &loop->slots[place - 1];
    RT_ASSERT(slot->machine == NULL);
    loop->first_free = slot->next_free;
    slot->machine = machine;
    machine->id = (rt_machine_ref){.thread_id = loop->thread_id,
                                   .machine_id = (uint32_t)slot->generation << 16 | place};
    loop->stats.machines++;
    return RT_SUCCESS;
}

/* A slot goes to the head of the free ones: the same name comes again only after its generation has
 * wrapped. */
void rti_slots_give(struct rti_loop *loop, rt_machine *machine)
{
    RT_ASSERT(rti_slots_find(loop, machine->id.machine_id) == machine);
    struct rti_slot *slot = &loop->slots[(machine->id.machine_id & UINT16_MAX) - 1];
    slot->machine = NULL;
    slot->generation = slot->generation == UINT16_MAX ? 1 : (uint16_t)(slot->generation + 1);
    slot->next_free = loop->first_free;
    loop->first_free = (uint16_t)(slot - loop->slots + 1);
    loop->stats.machines--;
}

size_t rti_slots_audit(const struct rti_loop *loop)
{
    size_t used = 0;
    size_t unused = 0;
    for (size_t i = 0; i < loop->slots_count; i++) {
        rt_machine *machine = loop->slots[i].machine;
        RT_ASSERT(loop->slots[i].generation != 0);
        used += machine != NULL;
        RT_ASSERT(machine == NULL || rti_slots_find(loop, machine->id.machine_id) == machine);
    }
    for (uint16_t at = loop->first_free; at != 0; at = loop->slots[at - 1].next_free) {
        RT_ASSERT(unused < loop->slots_count && loop->slots[at - 1].machine == NULL);
        unused++;
    }
    RT_ASSERT(used + unused == loop->slots_count && used == loop->stats.machines);
    return used;
}
