/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_UCONTEXT_H
#define RTI_UCONTEXT_H

/* What a signal handler reads and changes of an interrupted x86-64. */

#include <ucontext.h>

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
