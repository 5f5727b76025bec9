/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stack"
#include "sched/stack.h"

#include "base/assert.h"

#define STACK_ALIGNMENT 16
#define STACK_PAINT     UINT64_C(0x5AFE57AC5AFE57AC)

/* The guards take a whole alignment unit at each end, so that what lies between stays aligned. */
#define STACK_GUARD_ROOM STACK_ALIGNMENT

void rti_stack_init(struct rti_stack *stack, void *memory, size_t size)
{
    uintptr_t start = (uintptr_t)memory;
    uintptr_t aligned = (start + STACK_ALIGNMENT - 1) & ~(uintptr_t)(STACK_ALIGNMENT - 1);
    RT_ASSERT(memory != NULL);
    RT_ASSERT(size >= RTI_STACK_SIZE_MIN);
    size_t usable = (size - (size_t)(aligned - start)) & ~(size_t)(STACK_ALIGNMENT - 1);
    stack->low = (char *)memory + (aligned - start);
    stack->high_guard = stack->low + usable - sizeof(uint64_t);
    stack->limit =
        RTI_STACK_FORBIDDEN != 0 ? stack->low + STACK_GUARD_ROOM + RTI_STACK_RESERVE : NULL;
    stack->guard = NULL;
    *(uint64_t *)(void *)stack->low = RTI_STACK_GUARD;
    *(uint64_t *)(void *)stack->high_guard = RTI_STACK_GUARD;
}

void *rti_stack_usable(const struct rti_stack *stack)
{
    return stack->low + STACK_GUARD_ROOM;
}

size_t rti_stack_usable_size(const struct rti_stack *stack)
{
    size_t size = (size_t)(stack->high_guard - stack->low) + sizeof(uint64_t);
    return size - 2 * (size_t)STACK_GUARD_ROOM;
}

void rti_stack_protect(struct rti_stack *stack, void *guard)
{
    RT_ASSERT(guard != NULL && (char *)guard < stack->low);
    RT_ASSERT(rti_stack_usable_size(stack) >= RTI_STACK_RESERVE + (size_t)RTI_STACK_SIZE_MIN / 2);
    stack->guard = guard;
    stack->limit = stack->low + STACK_GUARD_ROOM + RTI_STACK_RESERVE;
}

size_t rti_stack_own_size(const struct rti_stack *stack)
{
    size_t usable = rti_stack_usable_size(stack);
    return stack->limit != NULL ? usable - RTI_STACK_RESERVE : usable;
}

void rti_stack_paint(struct rti_stack *stack)
{
    uint64_t *word = rti_stack_usable(stack);
    size_t count = rti_stack_usable_size(stack) / sizeof(uint64_t);
    for (size_t i = 0; i < count; i++) {
        word[i] = STACK_PAINT;
    }
}

size_t rti_stack_high_water(const struct rti_stack *stack)
{
    const uint64_t *word = rti_stack_usable(stack);
    size_t count = rti_stack_usable_size(stack) / sizeof(uint64_t);
    size_t untouched = RTI_STACK_FORBIDDEN / sizeof(uint64_t);
    while (untouched < count && word[untouched] == STACK_PAINT) {
        untouched++;
    }
    return (count - untouched) * sizeof(uint64_t);
}
