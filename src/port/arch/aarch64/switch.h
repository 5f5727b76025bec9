/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARCH_SWITCH_H
#define RTI_ARCH_SWITCH_H

/* The switch on 64-bit ARM, AAPCS64.
 *
 * As on x86-64, whose header tells the idea: four values out, four values in, one branch, and every
 * register a clobber but x29, the frame pointer, and x19, which clang makes the base of a frame
 * without constant size. `transfer` travels in x0, which is also the first argument of an entry
 * function.
 *
 * FPCR belongs to a context; reading it is cheap, so the switch compares it each time and writes it
 * only if it differs. The sticky flags of FPSR stay with the thread.
 *
 * I1  At the resume label sp, x29 and x19 are those stored at the switch.
 *     (context_test: values_survive_*) */

#include "base/assert.h"

struct rti_arch_context {
    void *sp;
    void *fp;
    void *pc;   /* NULL while it runs */
    void *base; /* x19 */
    uint64_t fpcr;
};

_Static_assert(offsetof(struct rti_arch_context, sp) == 0, "the assembly says 0");
_Static_assert(offsetof(struct rti_arch_context, fp) == 8, "the assembly says 8");
_Static_assert(offsetof(struct rti_arch_context, pc) == 16, "the assembly says 16");
_Static_assert(offsetof(struct rti_arch_context, base) == 24, "the assembly says 24");

/* The registers of a context that does not run: they lie in it. */
#define rti_arch_kept rti_arch_context

/* Is it known to be about to begin, or parked? And it is not. */
static RTI_ALWAYSINLINE bool rti_arch_is_marked(const struct rti_arch_context *context)
{
    return context->pc != NULL;
}

static inline void rti_arch_unmark(struct rti_arch_context *context)
{
    context->pc = NULL;
}

/* Where its registers are; NULL while it runs. */
static inline const struct rti_arch_context *
rti_arch_kept_of(const struct rti_arch_context *context)
{
    return context->pc == NULL ? NULL : context;
}

/* Where a new context begins, entry.S. Not a function of C: it expects {entry, argument} on top of
 * the stack and `transfer` in x0. */
extern const char rti_arch_entry[];
#define RTI_ARCH_ENTRY_BYTES 64 /* it has no more */

/* The switch as a function that comes back by a branch instead of a return, switch.S. */
void *rti_arch_switch_called(void *transfer, struct rti_arch_context *from,
                             struct rti_arch_context *to);

/* An indirect branch lands here; with branch target identification the processor demands the mark.
 */
#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define RTI_ARCH_LANDING "hint #36\n\t"
#else
#define RTI_ARCH_LANDING ""
#endif

#if defined(__ARM_FEATURE_SVE)
#define RTI_ARCH_CLOBBER_SVE                                                                       \
    , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13",      \
        "p14", "p15"
#else
#define RTI_ARCH_CLOBBER_SVE
#endif

static RTI_ALWAYSINLINE uint64_t rti_arch_fpcr(void)
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
}

static RTI_ALWAYSINLINE void rti_arch_fp_control_save(struct rti_arch_context *into)
{
    into->fpcr = rti_arch_fpcr();
}

/* Gives `into` the saved controls of `from`. */
static inline void rti_arch_fp_control_copy(struct rti_arch_context *into,
                                            const struct rti_arch_context *from)
{
    into->fpcr = from->fpcr;
}

/* Notes what a switch away from `from`, which runs, asks of it. */
static inline void rti_arch_fp_control_remember(struct rti_arch_context *into,
                                                const struct rti_arch_context *from)
{
    rti_arch_fp_control_copy(into, from);
}

/* Gives `into`, which has not begun, the controls of `starter`, which runs. */
static RTI_ALWAYSINLINE void rti_arch_fp_control_inherit(struct rti_arch_context *into,
                                                         const struct rti_arch_context *starter)
{
    (void)starter;
    rti_arch_fp_control_save(into);
}

/* Every switch compares all controls already. */
static inline void rti_arch_fp_control_keep(struct rti_arch_context *context)
{
    (void)context;
}

static RTI_ALWAYSINLINE void rti_arch_fp_control_switch(struct rti_arch_context *from,
                                                        struct rti_arch_context *to)
{
    from->fpcr = rti_arch_fpcr();
    if (RTI_UNLIKELY(from->fpcr != to->fpcr)) {
        __asm__ volatile("msr fpcr, %0" : : "r"(to->fpcr));
    }
}

/* The switch as the last act of a function, controls included. */
static RTI_ALWAYSINLINE void *rti_arch_switch_tail(struct rti_arch_context *from,
                                                   struct rti_arch_context *to, void *transfer)
{
    rti_arch_fp_control_switch(from, to);
    return rti_arch_switch_called(transfer, from, to);
}

/* Saves here, continues there. The pc of the context that continues is NULL while it runs. */
static RTI_ALWAYSINLINE void *rti_arch_switch(struct rti_arch_context *from,
                                              struct rti_arch_context *to, void *transfer)
{
    void *pc = to->pc;
    to->pc = NULL;
    register void *x0 __asm__("x0") = transfer;
    register struct rti_arch_context *x1 __asm__("x1") = from;
    register struct rti_arch_context *x2 __asm__("x2") = to;
    register void *x16 __asm__("x16") = pc;
    __asm__ volatile("adr x9, 1f\n\t"
                     "mov x10, sp\n\t"
                     "stp x10, x29, [x1]\n\t"
                     "stp x9, x19, [x1, #16]\n\t"
                     "ldr x19, [x2, #24]\n\t"
                     "ldp x10, x29, [x2]\n\t"
                     "mov sp, x10\n\t"
                     "br x16\n"
                     "1:\n\t" RTI_ARCH_LANDING
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x16)
                     :
                     : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                       "x15", "x17", "x18", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
                       "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",
                       "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
                       "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
                       "v31" RTI_ARCH_CLOBBER_SVE, "cc", "memory");
    return x0;
}

/* Continues there and forgets here. */
_Noreturn static RTI_ALWAYSINLINE void rti_arch_leave(struct rti_arch_context *to, void *transfer)
{
    void *pc = to->pc;
    to->pc = NULL;
    register void *x0 __asm__("x0") = transfer;
    register struct rti_arch_context *x2 __asm__("x2") = to;
    register void *x16 __asm__("x16") = pc;
    __asm__ volatile("ldr x19, [x2, #24]\n\t"
                     "ldp x10, x29, [x2]\n\t"
                     "mov sp, x10\n\t"
                     "br x16"
                     :
                     : "r"(x0), "r"(x2), "r"(x16)
                     : "x10", "memory");
    __builtin_unreachable();
}

/* The guard of a stack is the memory's business here, not the switch's. */
static inline void rti_arch_set_guard(struct rti_arch_context *context, const void *stack_low)
{
    (void)context;
    (void)stack_low;
}

/* Makes the first switch to `context` call entry(transfer, argument) on the stack that ends at
 * `stack_high`, which is a multiple of 16. The controls are set apart from it. */
static inline void rti_arch_prepare(struct rti_arch_context *context, void *stack_high,
                                    void (*entry)(void), void *argument)
{
    uintptr_t *top = (uintptr_t *)stack_high - 2;
    top[0] = (uintptr_t)entry;
    top[1] = (uintptr_t)argument;
    context->sp = top;
    context->base = NULL;
    context->fp = NULL; /* ends the chain of frame records */
    context->pc = (void *)(uintptr_t)rti_arch_entry;
}

/* Where the stack is now. */
static RTI_ALWAYSINLINE char *rti_arch_stack_pointer(void)
{
    char *sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
}

/* Calls rti_preempt_at_limit for the function that this is in, and comes back with every register
 * as it was but x16 and x17: for the compiler nothing is called, so that nothing has to be saved
 * where this is not needed. */
static RTI_ALWAYSINLINE void rti_arch_at_limit(void)
{
    __asm__ volatile("sub sp, sp, #32\n\t"
                     "stp %0, %1, [sp]\n\t"
                     "adr x16, 1f\n\t"
                     "b rti_arch_at_limit_called\n"
                     "1:\n\t"
                     "hint #36\n\t" /* bti j */
                     "add sp, sp, #32"
                     :
                     : "r"(__builtin_dwarf_cfa()), "r"(__builtin_return_address(0))
                     : "memory", "cc", "x16", "x17");
}

/* Where the caller is, as if it were about to be left: for a walk over its stack. Gives the stack
 * pointer. */
static RTI_ALWAYSINLINE void *rti_arch_look(struct rti_arch_context *here)
{
    __asm__ volatile("adr x9, .\n\t"
                     "mov x10, sp\n\t"
                     "stp x10, x29, [%0]\n\t"
                     "stp x9, x19, [%0, #16]"
                     :
                     : "r"(here)
                     : "x9", "x10", "memory");
    return here->sp;
}

/* chkfeat clears the bits of x16 whose feature is on, bit 0 the guarded control stack; on a
 * processor that does not know it, it is a nop. Written as a hint for assemblers that do not. */
static inline int rti_arch_shadow_stack_is_on(void)
{
    register uintptr_t x16 __asm__("x16") = 1;
    __asm__ volatile("hint #40" : "+r"(x16));
    return x16 == 0;
}

#endif
