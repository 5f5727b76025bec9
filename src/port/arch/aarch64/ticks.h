/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARCH_TICKS_H
#define RTI_ARCH_TICKS_H

/* The processor's own count of time; see the same file for x86-64. */

#include "base/compiler.h"

static RTI_ALWAYSINLINE uint64_t rti_arch_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

#endif
