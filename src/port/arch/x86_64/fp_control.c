/* SPDX-License-Identifier: Apache-2.0 */
/* The rare half of the switch: the floating-point controls of the two sides differ, or may. */
#define RTI_MODULE "fp_control"
#include "port/arch/x86_64/switch.h"

/* All of MXCSR but the sticky exception flags, bits 0 to 5. */
#define MXCSR_CONTROL 0xffc0u

void rti_arch_fp_control_save(struct rti_arch_context *into)
{
    __asm__ volatile("stmxcsr %0\n\t"
                     "fnstcw %1"
                     : "=m"(into->mxcsr), "=m"(into->x87_control));
    RT_ASSERT((into->x87_control & RTI_ARCH_X87_ALWAYS_DIFFERS) == 0);
}

void rti_arch_fp_control_exchange(struct rti_arch_context *from, struct rti_arch_context *to)
{
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    if (RT_CHECKS && from->x87_control == from->x87_now &&
        ((from->mxcsr ^ mxcsr) & MXCSR_CONTROL) != 0) {
        rti_panic(RTI_MODULE, __LINE__,
                  "a fiber changed MXCSR alone and parked: it must keep its own, or use <fenv.h>");
    }
    from->mxcsr = mxcsr;
    from->x87_control =
        (uint16_t)(from->x87_now | (from->x87_control & RTI_ARCH_X87_ALWAYS_DIFFERS));
    if (((to->mxcsr ^ mxcsr) & MXCSR_CONTROL) != 0) {
        mxcsr = (to->mxcsr & MXCSR_CONTROL) | (mxcsr & ~MXCSR_CONTROL);
        __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    }
    uint16_t x87_control = (uint16_t)(to->x87_control & ~RTI_ARCH_X87_ALWAYS_DIFFERS);
    if (x87_control != from->x87_now) {
        __asm__ volatile("fldcw %0" : : "m"(x87_control));
    }
}

void *rti_arch_switch_exchanging(void *transfer, struct rti_arch_context *from,
                                 struct rti_arch_context *to)
{
    rti_arch_fp_control_exchange(from, to);
    void *sp = to->sp;
    to->sp = NULL;
    return rti_arch_switch_called(transfer, from, sp);
}
