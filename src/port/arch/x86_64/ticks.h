/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARCH_TICKS_H
#define RTI_ARCH_TICKS_H

/* The processor's own count of time: steady, the same on all cores, in a unit that only a
 * comparison with a clock tells. A third of what reading that clock costs. */

#include "base/compiler.h"

static RTI_ALWAYSINLINE uint64_t rti_arch_ticks(void)
{
    uint32_t low;
    uint32_t high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

#endif
