/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stack_slots"
#include "sched/stack_slots.h"

void rti_stack_slots_init(struct rti_stack_slots *slots, void *memory, size_t slot_size,
                          size_t count)
{
    RTI_ASSERT_MADE(memory != NULL && (uintptr_t)memory % RTI_STACK_SLOT_UNIT == 0);
    RTI_ASSERT_MADE(slot_size >= RTI_STACK_SIZE_MIN && slot_size % RTI_STACK_SLOT_UNIT == 0);
    RTI_ASSERT_MADE(count <= UINT16_MAX);
    slots->memory = memory;
    slots->slot_size = slot_size;
    slots->count = (uint16_t)count;
    slots->given = 0;
}

bool rti_stack_slots_take(struct rti_stack_slots *slots, struct rti_stack *stack)
{
    if (rti_stack_is_none(stack)) {
        if (slots->given == slots->count) {
            return false;
        }
        rti_stack_init(stack, slots->memory + slots->given * slots->slot_size, slots->slot_size);
        slots->given++;
    }
    RT_DCHECK((size_t)(rti_stack_low(stack) - (char *)slots->memory) <
              slots->given * slots->slot_size);
    return true;
}

size_t rti_stack_slots_audit(const struct rti_stack_slots *slots)
{
    RT_ASSERT(slots->given <= slots->count);
    return slots->given;
}
