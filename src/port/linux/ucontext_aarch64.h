/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_UCONTEXT_H
#define RTI_UCONTEXT_H

/* What a signal handler reads and changes of an interrupted 64-bit ARM. */

#include <ucontext.h>

#include "port/fault.h"

/* The kind of the last branch, which branch target identification compares with the landing. */
#define UCONTEXT_PSTATE_BTYPE (UINT64_C(3) << 10)

static inline void ucontext_read(const ucontext_t *context, struct rti_fault *fault)
{
    fault->pc = (uintptr_t)context->uc_mcontext.pc;
    fault->sp = (uintptr_t)context->uc_mcontext.sp;
    fault->link = (uintptr_t)context->uc_mcontext.regs[30];
    fault->is_return_at_sp = false;
}

/* Makes the return from the handler a call of land(land_arg). */
static inline void ucontext_land(ucontext_t *context, const struct rti_fault *fault)
{
    context->uc_mcontext.sp = fault->land_stack & ~(uintptr_t)15;
    context->uc_mcontext.regs[29] = 0;
    context->uc_mcontext.regs[30] = 0;
    context->uc_mcontext.regs[0] = (uintptr_t)fault->land_arg;
    context->uc_mcontext.pc = (uintptr_t)fault->land;
    context->uc_mcontext.pstate &= ~UCONTEXT_PSTATE_BTYPE;
}

#endif
