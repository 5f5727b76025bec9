/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_UCONTEXT_H
#define RTI_UCONTEXT_H

/* What a signal handler reads and changes of an interrupted x86-64. */

#include <ucontext.h>

#include "port/backtrace.h"
#include "port/fault.h"

/* Flags that a function may not find set: direction, single step, alignment checks. */
#define UCONTEXT_FLAGS_CLEARED ((greg_t)(0x400 | 0x100 | 0x40000))

static inline void ucontext_read(const ucontext_t *context, struct rti_fault *fault)
{
    fault->pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    fault->sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    fault->link = 0;
    fault->is_return_at_sp = true;
}

/* The registers as the kernel saves them, and where they are from the stack pointer with which a
 * handler has returned. */
struct ucontext_registers {
    gregset_t numbered;
};

#define UCONTEXT_REGISTERS offsetof(ucontext_t, uc_mcontext.gregs)

/* mov $15, %rax; syscall */
#define UCONTEXT_SIGRETURN                                                                         \
    {                                                                                              \
        0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05                                       \
    }

static inline void ucontext_frame_of(const struct ucontext_registers *registers,
                                     struct rti_frame *frame)
{
    *frame = (struct rti_frame){.pc = (uintptr_t)registers->numbered[REG_RIP],
                                .sp = (uintptr_t)registers->numbered[REG_RSP],
                                .fp = (uintptr_t)registers->numbered[REG_RBP],
                                .base = (uintptr_t)registers->numbered[REG_RBX],
                                .is_exact = true};
}

static inline void ucontext_read_frame(const ucontext_t *context, struct rti_frame *frame)
{
    const void *registers = context->uc_mcontext.gregs;
    ucontext_frame_of(registers, frame);
}

/* Makes the return from the handler a call of land(land_arg). */
static inline void ucontext_land(ucontext_t *context, const struct rti_fault *fault)
{
    greg_t *registers = context->uc_mcontext.gregs;
    /* At the first instruction of a function the stack is 8 off a multiple of 16. */
    registers[REG_RSP] = (greg_t)((fault->land_stack & ~(uintptr_t)15) - 8);
    registers[REG_RBP] = 0;
    registers[REG_RDI] = (greg_t)(uintptr_t)fault->land_arg;
    registers[REG_RIP] = (greg_t)(uintptr_t)fault->land;
    registers[REG_EFL] &= ~UCONTEXT_FLAGS_CLEARED;
    /* Values left on the x87 stack, or an exception that waits there, would hit the next one who
     * uses it; the control word is the business of the switch. */
    if (context->uc_mcontext.fpregs != NULL) {
        context->uc_mcontext.fpregs->swd = 0;
        context->uc_mcontext.fpregs->ftw = 0;
    }
}

#endif
