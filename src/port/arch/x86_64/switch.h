/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARCH_SWITCH_H
#define RTI_ARCH_SWITCH_H

/* The switch on x86-64, System V.
 *
 * The switch is inline: it writes the stack pointer, the frame pointer and the address of its own
 * last label into one context, takes the same three from the other and jumps. Nothing is pushed,
 * no call and no ret is made. Every other register is a clobber, so the compiler saves what the
 * surrounding function needs, in its own prologue and with its own unwind tables. A debugger that
 * is given the three saved values therefore stands in an ordinary function.
 *
 * `transfer` travels in rdi: the label's side finds it there, and so does the entry function of a
 * new context, whose first argument rdi is.
 *
 * rbp is saved by hand because gcc refuses it as a clobber where it is the frame pointer.
 *
 * The control bits of MXCSR and the x87 control word belong to a context. The side that leaves
 * stores its own and loads the other's only if they differ: storing is cheap, loading drains the
 * pipeline. The sticky exception flags of MXCSR do not belong to a context, as no function call
 * preserves them either; they stay with the thread.
 *
 * I1  At the resume label the stack pointer and the frame pointer are those stored at the switch.
 *     (context_test: values_survive_*)
 * I2  The function that contains a switch does not use rbx as a base pointer. clang does that where
 *     a function has both a variable-length array and an over-aligned local, and says so
 *     (-Winline-asm); address sanitizing makes such functions, so annotated builds switch in one
 *     function of their own (sched/context.c). */

#include "base/compiler.h"

struct rti_arch_context {
    void *sp;
    void *fp;
    void *pc;
    uint32_t mxcsr;
    uint16_t x87_control;
};

_Static_assert(offsetof(struct rti_arch_context, sp) == 0, "the assembly below says 0");
_Static_assert(offsetof(struct rti_arch_context, fp) == 8, "the assembly below says 8");
_Static_assert(offsetof(struct rti_arch_context, pc) == 16, "the assembly below says 16");

/* Where a new context begins: entry.S. Not a function of C: it expects {entry, context} on top of
 * the stack and `transfer` in rdi. */
extern const char rti_arch_entry[];

/* All but the sticky exception flags, bits 0 to 5. */
#define RTI_ARCH_MXCSR_CONTROL 0xffc0u

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

static RTI_ALWAYSINLINE void rti_arch_fp_control_save(struct rti_arch_context *into)
{
    __asm__ volatile("stmxcsr %0\n\t"
                     "fnstcw %1"
                     : "=m"(into->mxcsr), "=m"(into->x87_control));
}

static RTI_ALWAYSINLINE void rti_arch_fp_control_switch(struct rti_arch_context *from,
                                                        struct rti_arch_context *to)
{
    rti_arch_fp_control_save(from);
    if (RTI_UNLIKELY(((from->mxcsr ^ to->mxcsr) & RTI_ARCH_MXCSR_CONTROL) != 0)) {
        to->mxcsr = (to->mxcsr & RTI_ARCH_MXCSR_CONTROL) | (from->mxcsr & ~RTI_ARCH_MXCSR_CONTROL);
        __asm__ volatile("ldmxcsr %0" : : "m"(to->mxcsr));
    }
    if (RTI_UNLIKELY(from->x87_control != to->x87_control)) {
        __asm__ volatile("fldcw %0" : : "m"(to->x87_control));
    }
}

/* Saves here, continues there. The pc of the context that continues is NULL while it runs. */
static RTI_ALWAYSINLINE void *rti_arch_switch(struct rti_arch_context *from,
                                              struct rti_arch_context *to, void *transfer)
{
    void *pc = to->pc;
    to->pc = NULL;
    rti_arch_fp_control_switch(from, to);
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rsp, 0(%%rsi)\n\t"
                     "movq %%rbp, 8(%%rsi)\n\t"
                     "movq %%rax, 16(%%rsi)\n\t"
                     "movq 0(%%rdx), %%rsp\n\t"
                     "movq 8(%%rdx), %%rbp\n\t"
                     "jmpq *%%rcx\n"
                     "1:\n\t" RTI_ARCH_LANDING
                     : "+D"(transfer), "+S"(from), "+d"(to), "+c"(pc)
                     :
                     : "rax", "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)",
                       "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "mm0", "mm1", "mm2", "mm3",
                       "mm4", "mm5", "mm6", "mm7" RTI_ARCH_CLOBBER_AVX512, "cc", "memory");
    return transfer;
}

/* Continues there and forgets here. */
_Noreturn static RTI_ALWAYSINLINE void rti_arch_leave(struct rti_arch_context *from,
                                                      struct rti_arch_context *to, void *transfer)
{
    void *pc = to->pc;
    to->pc = NULL;
    rti_arch_fp_control_switch(from, to);
    __asm__ volatile("movq 0(%%rdx), %%rsp\n\t"
                     "movq 8(%%rdx), %%rbp\n\t"
                     "jmpq *%%rcx"
                     :
                     : "D"(transfer), "d"(to), "c"(pc)
                     : "memory");
    __builtin_unreachable();
}

/* Makes the first switch to `context` call entry(transfer, argument) on the stack that ends at
 * `stack_high`, which is a multiple of 16. */
static inline void rti_arch_prepare(struct rti_arch_context *context, void *stack_high,
                                    void (*entry)(void), void *argument)
{
    uintptr_t *top = (uintptr_t *)stack_high - 2;
    top[0] = (uintptr_t)entry;
    top[1] = (uintptr_t)argument;
    context->sp = top;
    context->fp = NULL; /* ends the chain of frame pointers */
    context->pc = (void *)(uintptr_t)rti_arch_entry;
    rti_arch_fp_control_save(context);
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
