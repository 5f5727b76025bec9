/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_STACK_H
#define RTI_STACK_H

/* A fiber's stack: caller-given memory with a guard word at each end, outside of what the fiber may
 * use. The scheduler looks at the guards whenever the fiber leaves the processor; a word that has
 * changed ends the fiber.
 *
 *     low                                                       low + size
 *      | guard 8 B | usable, grows downwards ................ | guard 8 B |
 *
 * I1  The guards hold RTI_STACK_GUARD from init until the stack is given back.
 * (rti_stack_is_intact)
 *
 * Guard words are best effort: a frame that jumps over the word without touching it goes unseen.
 * Ports with memory protection put a page or an MPU region below. */

#include <stdbool.h>

#include "base/compiler.h"

#define RTI_STACK_GUARD UINT64_C(0xDEADBEEFCAFEBABE)

/* Below this a fiber could not even enter the scheduler. */
#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 4
#define RTI_STACK_SIZE_MIN 512
#else
#define RTI_STACK_SIZE_MIN 4096
#endif

struct rti_stack {
    char *low;        /* the memory's start, where the low guard lies; 16-byte aligned */
    char *high_guard; /* where the high guard lies, in the last eight bytes */
};

/* Takes memory of at least RTI_STACK_SIZE_MIN bytes, cut to 16-byte alignment, and sets the guards.
 */
void rti_stack_init(struct rti_stack *stack, void *memory, size_t size);

/* The part a context may use. */
void *rti_stack_usable(const struct rti_stack *stack);
size_t rti_stack_usable_size(const struct rti_stack *stack);

/* The bits in which the guards differ from what they were: 0 if the stack is whole. */
static inline uint64_t rti_stack_damage(const struct rti_stack *stack)
{
    uint64_t low = *(const volatile uint64_t *)(const void *)stack->low;
    uint64_t high = *(const volatile uint64_t *)(const void *)stack->high_guard;
    return (low ^ RTI_STACK_GUARD) | (high ^ RTI_STACK_GUARD);
}

static inline bool rti_stack_is_intact(const struct rti_stack *stack)
{
    return RTI_LIKELY(rti_stack_damage(stack) == 0);
}

/* Fills the usable part with a pattern, before the first run, so that rti_stack_high_water can tell
 * how deep it went. Touches all of it: on demand only. */
void rti_stack_paint(struct rti_stack *stack);

/* How many bytes were ever used of a painted stack: exact up to a word that happens to hold the
 * pattern. O(unused part). */
size_t rti_stack_high_water(const struct rti_stack *stack);

#endif
