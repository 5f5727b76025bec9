/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_STACKS_SLOTTED_H
#define RTI_STACKS_SLOTTED_H

/* sched/stacks.h for a small product (RT_STACK_SLOTS): each actor has a slot of one size for good
 * (sched/stack_slots.h). What is larger than a slot, or of the heap, there is not. It takes the
 * place of stacks.c, has its interface and keeps its promises. */

#include "sched/stack_slots.h"

#if !RTI_ONE_WORKER || RT_HAS_TASKS
#error "RT_STACK_SLOTS is for actors alone, on a machine without guard pages and without a heap"
#endif

#define RTI_STACKS_SLOT RTI_STACK_SLOT_SIZE(RT_DEFAULT_STACK_SIZE)

_Static_assert(RTI_STACKS_SLOT >= RTI_STACK_SIZE_MIN, "a stack that no fiber can run on");

struct rti_stack_block {
    bool is_possible; /* what was asked for fits a slot */
};

struct rti_stacks {
    struct rti_sched *sched;
    struct rti_stack_slots slots;
    _Alignas(RTI_STACK_SLOT_UNIT) unsigned char memory[RT_MAX_ACTORS * RTI_STACKS_SLOT];
};

static inline void rti_stacks_init(struct rti_stacks *stacks, struct rti_sched *sched)
{
    RTI_ASSERT_MADE(sched->modules[RTI_MODULE_STACKS] == NULL);
    stacks->sched = sched;
    rti_stack_slots_init(&stacks->slots, stacks->memory, RTI_STACKS_SLOT, RT_MAX_ACTORS);
    sched->modules[RTI_MODULE_STACKS] = stacks;
}

static inline void rti_stacks_deinit(struct rti_stacks *stacks)
{
    stacks->sched->modules[RTI_MODULE_STACKS] = NULL;
}

static inline size_t rti_stacks_audit(const struct rti_stacks *stacks)
{
    return rti_stack_slots_audit(&stacks->slots);
}

static inline void rti_stack_block_ask(struct rti_stack_block *memory, size_t size, bool is_heap)
{
    memory->is_possible = !is_heap && size <= RTI_STACKS_SLOT;
}

static inline bool rti_stack_block_is_heap(const struct rti_stack_block *memory)
{
    (void)memory;
    return false;
}

static inline bool rti_stacks_take_as(struct rti_stacks *stacks, struct rti_stack_block *memory,
                                      struct rti_stack *stack, bool is_local)
{
    (void)is_local;
    return memory->is_possible && rti_stack_slots_take(&stacks->slots, stack);
}

/* The fiber's slot keeps its stack. */
static inline void rti_stacks_give_as(struct rti_stacks *stacks, struct rti_stack_block *memory,
                                      const struct rti_stack *stack, bool is_local)
{
    (void)stacks, (void)memory, (void)is_local;
    RT_DCHECK(rti_stack_is_intact(stack));
}

#endif
