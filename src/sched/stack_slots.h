/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_STACK_SLOTS_H
#define RTI_STACK_SLOTS_H

/* Stacks of one size, for a program that gives all its actors the same (RT_STACK_SLOTS).
 *
 * There are as many as there are fibers to have one. So none is ever given back: whoever takes a
 * stack for the first time gets the next slot and has it for good, and takes the same one again in
 * its next life. Nothing has to be searched, and no list of free ones kept.
 *
 * I1  given <= count: the slots below `given` are somebody's.     (rti_stack_slots_audit)
 *
 * Costs: a comparison. The arena of sched/stacks.h takes 0.8 kB of flash more, and fits stacks of
 * different sizes into each other's gaps. */

#include "sched/stack.h"

struct rti_stack_slots {
    unsigned char *memory; /* the caller's */
    size_t slot_size;
    uint16_t count;
    uint16_t given;
};

/* Every slot is of whole units of this, so that each is as aligned as the first. */
#define RTI_STACK_SLOT_UNIT 32

/* The size of a slot that has room for a stack of `size` bytes. */
#define RTI_STACK_SLOT_SIZE(size)                                                                  \
    (((size_t)(size) + RTI_STACK_SLOT_UNIT - 1) / RTI_STACK_SLOT_UNIT * RTI_STACK_SLOT_UNIT)

/* Cuts `memory`, aligned to a unit, into `count` slots of `slot_size` bytes. It stays the caller's
 * and outlives them. */
void rti_stack_slots_init(struct rti_stack_slots *slots, void *memory, size_t slot_size,
                          size_t count);

/* Makes `stack` ready: the slot that it has, or, if its `low` is NULL, the next one. False, and
 * nothing has changed, if all are given. */
bool rti_stack_slots_take(struct rti_stack_slots *slots, struct rti_stack *stack);

/* Checks I1 and returns how many are somebody's. */
size_t rti_stack_slots_audit(const struct rti_stack_slots *slots);

#endif
