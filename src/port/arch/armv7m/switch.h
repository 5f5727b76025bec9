/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARCH_SWITCH_H
#define RTI_ARCH_SWITCH_H

/* The switch on Cortex-M: ARMv7-M (M3, M4, M7) and ARMv8-M mainline (M33), AAPCS.
 *
 * Unlike on the large processors the switch is a function, and every switch is a call of it
 * (switch.S): push what a function must keep, exchange the stack pointers, pop. The inline form
 * with every register a clobber would make the compiler push the same registers in the prologue
 * around it, and there is no predictor of returns to be kind to, so it gains nothing and each of
 * its places costs flash. A parked context is its stack pointer, the frame that lies there, and
 * one word for the guard of its stack.
 *
 *     sp -> | fpscr s16..s31 |  only with a floating-point unit
 *           | r4..r11 lr     |
 *
 * `transfer` travels in r0, which is also the first argument of an entry function.
 *
 * The guard. With each switch the guard of the stack that continues is put in force. On ARMv7-M it
 * is region RTI_ARCH_GUARD_REGION of the memory protection unit, which the port has made small and
 * forbidden: one store moves it. The hardware pushes up to 104 bytes at an interrupt when the
 * floating-point unit was used, which would step over a region of 32, so the guard is larger there.
 * No barrier follows the store: the guard may come in force some instructions late, and those are
 * the switch's own. On ARMv8-M it is the limit register of the stack pointer. Both are without
 * effect until the port turns them on; the scheduler's own stack has no guard.
 *
 * The floating-point controls lie in the frame, sticky flags included.
 *
 * No interrupt is masked: at each instruction the stack pointer has a whole stack below it.
 *
 * I1  At the return from a switch r4-r11, s16-s31 and fpscr are those at its call.
 *                                                       (context_test: values_survive_*) */

#include <orrery/rt_static_config.h>

#include "base/assert.h"

/* Without the mark of those that run a switch is three instructions shorter, and one to a context
 * that runs goes unnoticed (rt_static_config.h). */
#if RT_SWITCH_MARK
struct rti_arch_context {
    void *sp;
    void *pc;       /* where the switch returns to, for people; NULL while it runs */
    uint32_t guard; /* v7-M: MPU_RBAR, v8-M: PSPLIM, while this context runs */
};
_Static_assert(offsetof(struct rti_arch_context, pc) == 4, "the assembly says 4");
_Static_assert(offsetof(struct rti_arch_context, guard) == 8, "the assembly says 8");

/* Is it known to be about to begin, or parked? And it is not. */
static RTI_ALWAYSINLINE bool rti_arch_is_marked(const struct rti_arch_context *context)
{
    return context->pc != NULL;
}

static inline void rti_arch_unmark(struct rti_arch_context *context)
{
    context->pc = NULL;
}

#else
struct rti_arch_context {
    void *sp;
    uint32_t guard;
};
_Static_assert(offsetof(struct rti_arch_context, guard) == 4, "the assembly says 4");
#endif
_Static_assert(offsetof(struct rti_arch_context, sp) == 0, "the assembly says 0");

#if defined(__ARM_FP)
#define RTI_ARCH_FP_WORDS    17u
#define RTI_ARCH_GUARD_BYTES 128u
#else
#define RTI_ARCH_FP_WORDS    0u
#define RTI_ARCH_GUARD_BYTES 32u
#endif

/* The region of the memory protection unit that guards the stack: the last, which wins. */
#define RTI_ARCH_GUARD_REGION 7u

/* Saves here, continues there, and the way on without saving; switch.S. */
void *rti_arch_switch_called(void *transfer, struct rti_arch_context *from,
                             struct rti_arch_context *to);
_Noreturn void rti_arch_leave_called(void *transfer, struct rti_arch_context *to);

/* Where a new context begins, switch.S: expects the entry function in r4, its argument in r5 and
 * `transfer` in r0. */
void rti_arch_entry(void);

static inline void rti_arch_fp_control_save(struct rti_arch_context *into)
{
    (void)into;
}

static inline void rti_arch_fp_control_inherit(struct rti_arch_context *into,
                                               const struct rti_arch_context *starter)
{
    (void)into;
    (void)starter;
}

static inline void rti_arch_fp_control_keep(struct rti_arch_context *context)
{
    (void)context;
}

static inline void rti_arch_fp_control_switch(struct rti_arch_context *from,
                                              struct rti_arch_context *to)
{
    (void)from;
    (void)to;
}

/* Where the stack is now. */
static RTI_ALWAYSINLINE char *rti_arch_stack_pointer(void)
{
    char *sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
}

static RTI_ALWAYSINLINE void *rti_arch_switch(struct rti_arch_context *from,
                                              struct rti_arch_context *to, void *transfer)
{
    return rti_arch_switch_called(transfer, from, to);
}

static RTI_ALWAYSINLINE void *rti_arch_switch_tail(struct rti_arch_context *from,
                                                   struct rti_arch_context *to, void *transfer)
{
    return rti_arch_switch_called(transfer, from, to);
}

_Noreturn static RTI_ALWAYSINLINE void rti_arch_leave(struct rti_arch_context *to, void *transfer)
{
    rti_arch_leave_called(transfer, to);
}

/* Where the guard of a stack that begins at `stack_low` begins and ends; what lies above is for
 * use. On ARMv8-M the limit itself is usable. */
static inline uintptr_t rti_arch_guard_low(const void *stack_low)
{
#if defined(__ARM_ARCH_8M_MAIN__)
    return ((uintptr_t)stack_low + 7) & ~(uintptr_t)7;
#else
    return ((uintptr_t)stack_low + RTI_ARCH_GUARD_BYTES - 1) &
           ~(uintptr_t)(RTI_ARCH_GUARD_BYTES - 1);
#endif
}

/* Gives a context the guard of its stack; NULL: it has none. */
static inline void rti_arch_set_guard(struct rti_arch_context *context, const void *stack_low)
{
    uint32_t guard = stack_low == NULL ? 0 : (uint32_t)rti_arch_guard_low(stack_low);
#if !defined(__ARM_ARCH_8M_MAIN__)
    /* The base, "this write names its region", the region. Without a stack it guards address 0. */
    guard |= 0x10u | RTI_ARCH_GUARD_REGION;
#endif
    context->guard = guard;
}

/* Makes the first switch to `context` call entry(transfer, argument) on the stack that ends at
 * `stack_high`, which is a multiple of 16. */
static inline void rti_arch_prepare(struct rti_arch_context *context, void *stack_high,
                                    void (*entry)(void), void *argument)
{
    uint32_t *frame = (uint32_t *)stack_high - 9 - RTI_ARCH_FP_WORDS;
    for (uint32_t i = 0; i < 9 + RTI_ARCH_FP_WORDS; i++) {
        frame[i] = 0;
    }
#if defined(__ARM_FP)
    __asm__ volatile("vmrs %0, fpscr" : "=r"(frame[0]));
#endif
    frame[RTI_ARCH_FP_WORDS] = (uint32_t)(uintptr_t)entry;
    frame[RTI_ARCH_FP_WORDS + 1] = (uint32_t)(uintptr_t)argument;
    frame[RTI_ARCH_FP_WORDS + 8] = (uint32_t)(uintptr_t)rti_arch_entry;
    context->sp = frame;
#if RT_SWITCH_MARK
    context->pc = (void *)(uintptr_t)rti_arch_entry;
#endif
}

static inline int rti_arch_shadow_stack_is_on(void)
{
    return 0;
}

#endif
