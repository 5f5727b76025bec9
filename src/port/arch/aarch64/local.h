/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARCH_LOCAL_H
#define RTI_ARCH_LOCAL_H

/* The calling thread's worker, loaded where it is needed; see the same file for x86-64. */

#include "base/compiler.h"

static RTI_ALWAYSINLINE void *rti_arch_local_load(void)
{
    void *value;
    uintptr_t distance;
    __asm__ volatile("mrs %0, tpidr_el0\n\t"
                     "adrp %1, :gottprel:rti_worker_local\n\t"
                     "ldr %1, [%1, #:gottprel_lo12:rti_worker_local]\n\t"
                     "ldr %0, [%0, %1]"
                     : "=&r"(value), "=&r"(distance)
                     :
                     : "memory");
    return value;
}

/* The word for calls that go straight, likewise. */
static RTI_ALWAYSINLINE void *rti_arch_clear_load(void)
{
    void *value;
    uintptr_t distance;
    __asm__ volatile("mrs %0, tpidr_el0\n\t"
                     "adrp %1, :gottprel:rti_clear_local\n\t"
                     "ldr %1, [%1, #:gottprel_lo12:rti_clear_local]\n\t"
                     "ldr %0, [%0, %1]"
                     : "=&r"(value), "=&r"(distance)
                     :
                     : "memory");
    return value;
}

#endif
