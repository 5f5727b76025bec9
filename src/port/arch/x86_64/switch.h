/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARCH_SWITCH_H
#define RTI_ARCH_SWITCH_H

/* The switch on x86-64, System V.
 *
 * The switch is inline: it writes the frame pointer, the base register and the address of its own
 * last label just below its own stack, where they are in nobody's way, and the stack pointer into
 * one context; takes the same four from the other, and jumps. Nothing is pushed, no call and no ret
 * is made. Every other register is a clobber, so the compiler saves what the surrounding function
 * needs, in its own prologue and with its own unwind tables. A debugger that is given the four
 * saved values therefore stands in an ordinary function.
 *
 * What lies below the stack pointer is safe from the handlers of signals, which keep off the red
 * zone of 128 bytes, and from everybody else: nobody runs on a stack that is parked, and who comes
 * back has taken the three before it uses the stack. But the red zone is also where a compiler puts
 * the variables of a function that calls nothing. So a function with a switch in it calls
 * something, on a way that is never taken (rti_arch_switch).
 *
 * `transfer` travels in rdi: the label's side finds it there, and so does the entry function of a
 * new context, whose first argument rdi is.
 *
 * rbp is saved by hand because gcc refuses it as a clobber where it is the frame pointer; rbx,
 * because clang accepts it as a clobber even where it is the base of a frame without constant size,
 * and then goes on using it.
 *
 * The controls of the floating-point units, that is the x87 control word and all of MXCSR but its
 * sticky exception flags, belong to a context. (The flags stay with the thread, as no function call
 * preserves them either.) Reading the x87 word is nearly free, reading MXCSR costs several times
 * the rest of the switch on some processors. <fenv.h> always changes both words together, so the
 * switch looks at the x87 word only, and exchanges both when it is not what it was when this
 * context arrived or not what the other side wants. Code that writes MXCSR alone, through
 * intrinsics, and parks before it puts it back must say so (rti_arch_fp_control_keep); in a checked
 * build the switch reads MXCSR each time and panics if such code has not. docs/decisions has the
 * measurements.
 *
 * I1  At the resume label rsp, rbp and rbx are those stored at the switch, and the variables of the
 *     function are what they were.                  (context_test: values_survive_*)
 * I2  A context's saved x87 word is the one it left with or carries ALWAYS_DIFFERS; its saved MXCSR
 *     is the one it left with, unless that has changed without the x87 word.
 *                                                    (rti_arch_fp_control_exchange, checked) */

#include <stdbool.h>

#include "base/assert.h"

/* The registers of a context that does not run, just below its stack pointer. */
struct rti_arch_kept {
    void *fp;
    void *pc;
    void *base; /* rbx */
};

struct rti_arch_context {
    void *sp; /* NULL while it runs */
    uint32_t mxcsr;
    uint16_t x87_control;
    uint16_t x87_now; /* scratch of the switch away: the word as the processor has it */
};

_Static_assert(offsetof(struct rti_arch_context, sp) == 0, "the assembly says 0");
_Static_assert(sizeof(struct rti_arch_kept) == 24, "the assembly says 24");
_Static_assert(offsetof(struct rti_arch_kept, fp) == 0, "the assembly says 24 less");
_Static_assert(offsetof(struct rti_arch_kept, pc) == 8, "the assembly says 16 less");
_Static_assert(offsetof(struct rti_arch_kept, base) == 16, "the assembly says 8 less");

/* Is it known to be about to begin, or parked? And it is not. */
static RTI_ALWAYSINLINE bool rti_arch_is_marked(const struct rti_arch_context *context)
{
    return context->sp != NULL;
}

static inline void rti_arch_unmark(struct rti_arch_context *context)
{
    context->sp = NULL;
}

/* Where its registers are; NULL while it runs. On its stack: who is not its owner peeks. */
static inline const struct rti_arch_kept *rti_arch_kept_of(const struct rti_arch_context *context)
{
    return context->sp == NULL ? NULL : (const struct rti_arch_kept *)context->sp - 1;
}

/* Where a new context begins, entry.S. Not a function of C: it expects {entry, argument} on top of
 * the stack and `transfer` in rdi. */
extern const char rti_arch_entry[];
#define RTI_ARCH_ENTRY_BYTES 32 /* it has no more */

/* The switch as a function that comes back by a jump instead of a return, switch.S; to the context
 * that has parked with this stack pointer. */
void *rti_arch_switch_called(void *transfer, struct rti_arch_context *from, void *sp);

/* An indirect jump lands here; with -fcf-protection the processor demands the mark. */
#if defined(__CET__) && (__CET__ & 1)
#define RTI_ARCH_LANDING "endbr64\n\t"
#else
#define RTI_ARCH_LANDING ""
#endif

#if defined(__AVX512F__)
#define RTI_ARCH_CLOBBER_AVX512                                                                    \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",    \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",  \
        "k7"
#else
#define RTI_ARCH_CLOBBER_AVX512
#endif

/* A bit that no processor sets in the x87 word: a saved word that carries it equals none. */
#define RTI_ARCH_X87_ALWAYS_DIFFERS 0x8000u

/* Stores the controls of the processor. */
void rti_arch_fp_control_save(struct rti_arch_context *into);
/* Stores the controls into `from` and loads those of `to`. */
RTI_NOINLINE void rti_arch_fp_control_exchange(struct rti_arch_context *from,
                                               struct rti_arch_context *to);

/* From the next switch on, both words are exchanged whenever `context` is left or entered. */
static inline void rti_arch_fp_control_keep(struct rti_arch_context *context)
{
    context->x87_control |= RTI_ARCH_X87_ALWAYS_DIFFERS;
}

/* Gives `into` the saved controls of `from`. */
static inline void rti_arch_fp_control_copy(struct rti_arch_context *into,
                                            const struct rti_arch_context *from)
{
    into->mxcsr = from->mxcsr;
    into->x87_control = from->x87_control;
}

/* Notes what a switch away from `from`, which runs, asks of it: MXCSR for a check only. */
static inline void rti_arch_fp_control_remember(struct rti_arch_context *into,
                                                const struct rti_arch_context *from)
{
    into->x87_control = from->x87_control;
    if (RT_CHECKS) {
        into->mxcsr = from->mxcsr;
    }
}

/* Gives `into`, which has not begun, the controls of `starter`, which runs: as the processor has
 * them, but MXCSR is read only if the x87 word has changed since the starter arrived. */
static RTI_ALWAYSINLINE void rti_arch_fp_control_inherit(struct rti_arch_context *into,
                                                         const struct rti_arch_context *starter)
{
    __asm__ volatile("fnstcw %0" : "=m"(into->x87_control));
    if (RT_CHECKS || RTI_UNLIKELY(into->x87_control != starter->x87_control)) {
        __asm__ volatile("stmxcsr %0" : "=m"(into->mxcsr));
    } else {
        into->mxcsr = starter->mxcsr;
    }
}

/* Is the processor's x87 word another than the one `from` came with, or the one `to` wants? */
static RTI_ALWAYSINLINE bool rti_arch_fp_control_differs(struct rti_arch_context *from,
                                                         const struct rti_arch_context *to)
{
    __asm__ volatile("fnstcw %0" : "=m"(from->x87_now));
    uint16_t now = from->x87_now;
    return RTI_UNLIKELY(now != from->x87_control) || RTI_UNLIKELY(now != to->x87_control);
}

static RTI_ALWAYSINLINE void rti_arch_fp_control_switch(struct rti_arch_context *from,
                                                        struct rti_arch_context *to)
{
    if (rti_arch_fp_control_differs(from, to) || RT_CHECKS) {
        rti_arch_fp_control_exchange(from, to);
    }
}

/* The switch as a function, after an exchange of the controls: out of the way of the common path,
 * which then needs no register of its own. */
void *rti_arch_switch_exchanging(void *transfer, struct rti_arch_context *from,
                                 struct rti_arch_context *to);

/* The switch as the last act of a function, controls included. */
static RTI_ALWAYSINLINE void *rti_arch_switch_tail(struct rti_arch_context *from,
                                                   struct rti_arch_context *to, void *transfer)
{
    if (rti_arch_fp_control_differs(from, to) || RT_CHECKS) {
        return rti_arch_switch_exchanging(transfer, from, to);
    }
    void *sp = to->sp;
    to->sp = NULL;
    return rti_arch_switch_called(transfer, from, sp);
}

/* Saves here, continues there. The stack pointer of the context that continues is NULL while it
 * runs. */
static RTI_ALWAYSINLINE void *rti_arch_switch(struct rti_arch_context *from,
                                              struct rti_arch_context *to, void *transfer)
{
    /* No instruction, and no jump: but a function that may call this uses no red zone. */
    __asm__ goto("" : : : : lost);
    void *sp = to->sp;
    to->sp = NULL;
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rsp, 0(%%rsi)\n\t"
                     "movq %%rbp, -24(%%rsp)\n\t"
                     "movq %%rax, -16(%%rsp)\n\t"
                     "movq %%rbx, -8(%%rsp)\n\t"
                     "movq %%rdx, %%rsp\n\t"
                     "movq -24(%%rdx), %%rbp\n\t"
                     "movq -8(%%rdx), %%rbx\n\t"
                     "jmpq *-16(%%rdx)\n"
                     "1:\n\t" RTI_ARCH_LANDING
                     : "+D"(transfer), "+S"(from), "+d"(sp)
                     :
                     : "rax", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)",
                       "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "mm0", "mm1", "mm2", "mm3",
                       "mm4", "mm5", "mm6", "mm7" RTI_ARCH_CLOBBER_AVX512, "cc", "memory");
    return transfer;
lost:
    rti_panic(RTI_MODULE, __LINE__, "a switch went where none goes");
}

/* Continues there and forgets here. */
_Noreturn static RTI_ALWAYSINLINE void rti_arch_leave(struct rti_arch_context *to, void *transfer)
{
    void *sp = to->sp;
    to->sp = NULL;
    __asm__ volatile("movq %%rdx, %%rsp\n\t"
                     "movq -24(%%rdx), %%rbp\n\t"
                     "movq -8(%%rdx), %%rbx\n\t"
                     "jmpq *-16(%%rdx)"
                     :
                     : "D"(transfer), "d"(sp)
                     : "memory");
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
    struct rti_arch_kept *kept = (struct rti_arch_kept *)(void *)top - 1;
    top[0] = (uintptr_t)entry;
    top[1] = (uintptr_t)argument;
    kept->base = NULL;
    kept->fp = NULL; /* ends the chain of frame pointers */
    kept->pc = (void *)(uintptr_t)rti_arch_entry;
    /* The word below is the one in the first frame that nobody writes: what lay there before shall
     * not be taken for a call (sched/preempt.h). */
    ((uintptr_t *)(void *)kept)[-1] = 0;
    context->sp = top;
}

/* Where the stack is now. */
static RTI_ALWAYSINLINE char *rti_arch_stack_pointer(void)
{
    char *sp;
    __asm__ volatile("movq %%rsp, %0" : "=r"(sp));
    return sp;
}

/* Calls rti_preempt_at_limit for the function that this is in, and comes back with every register
 * as it was: for the compiler nothing is called, so that nothing has to be saved where this is not
 * needed. It keeps off the red zone. */
static RTI_ALWAYSINLINE void rti_arch_at_limit(void)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "pushq %1\n\t"
                     "pushq %0\n\t"
                     "callq rti_arch_at_limit_called\n\t"
                     "leaq 144(%%rsp), %%rsp"
                     :
                     : "r"(__builtin_dwarf_cfa()), "r"(__builtin_return_address(0))
                     : "memory", "cc");
}

/* Where the caller is, as if it were about to be left: for a walk over its stack. Gives the stack
 * pointer. */
static RTI_ALWAYSINLINE void *rti_arch_look(struct rti_arch_kept *here)
{
    void *sp;
    __asm__ volatile("leaq 0(%%rip), %%rax\n\t"
                     "movq %%rsp, %0\n\t"
                     "movq %%rbp, 0(%1)\n\t"
                     "movq %%rax, 8(%1)\n\t"
                     "movq %%rbx, 16(%1)"
                     : "=&r"(sp)
                     : "d"(here)
                     : "rax", "memory");
    return sp;
}

/* rdsspq leaves the register alone where shadow stacks are off, and is a nop on a processor that
 * has none; it is written in bytes for assemblers that do not know it. */
static inline int rti_arch_shadow_stack_is_on(void)
{
    uintptr_t shadow_sp = 0;
    __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(shadow_sp));
    return shadow_sp != 0;
}

#endif
