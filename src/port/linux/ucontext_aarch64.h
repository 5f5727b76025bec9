/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_UCONTEXT_H
#define RTI_UCONTEXT_H

/* What a signal handler reads and changes of an interrupted 64-bit ARM. */

#include <signal.h>
#include <ucontext.h>

#include "port/backtrace.h"
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

/* The registers as the kernel saves them, and where they are from the stack pointer with which a
 * handler has returned: behind what is said of the signal. */
struct ucontext_registers {
    unsigned long long numbered[31];
    unsigned long long sp;
    unsigned long long pc;
};

#define UCONTEXT_REGISTERS (sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs))

/* mov x8, #139; svc #0 */
#define UCONTEXT_SIGRETURN                                                                         \
    {                                                                                              \
        0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4                                             \
    }

static inline void ucontext_frame_of(const struct ucontext_registers *registers,
                                     struct rti_frame *frame)
{
    *frame = (struct rti_frame){.pc = (uintptr_t)registers->pc,
                                .sp = (uintptr_t)registers->sp,
                                .fp = (uintptr_t)registers->numbered[29],
                                .base = (uintptr_t)registers->numbered[19],
                                .link = (uintptr_t)registers->numbered[30],
                                .is_exact = true};
}

static inline void ucontext_read_frame(const ucontext_t *context, struct rti_frame *frame)
{
    const void *registers = context->uc_mcontext.regs;
    ucontext_frame_of(registers, frame);
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
