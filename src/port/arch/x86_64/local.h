/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARCH_LOCAL_H
#define RTI_ARCH_LOCAL_H

/* The calling thread's worker, loaded where it is needed: two instructions instead of a call.
 *
 * The processor is asked anew each time, for the thread that runs it, by an instruction that the
 * compiler can neither look into nor keep the result of: what sched/worker_local.h demands. The
 * thread-local is of the initial-exec model, so its distance from the thread pointer is a word of
 * the global offset table; in a program linked statically the linker makes it a constant. */

#include "base/compiler.h"

static RTI_ALWAYSINLINE void *rti_arch_local_load(void)
{
    void *value;
    __asm__ volatile("movq rti_worker_local@gottpoff(%%rip), %0\n\t"
                     "movq %%fs:(%0), %0"
                     : "=r"(value)
                     :
                     : "memory");
    return value;
}

/* The word for calls that go straight, likewise. */
static RTI_ALWAYSINLINE void *rti_arch_clear_load(void)
{
    void *value;
    __asm__ volatile("movq rti_clear_local@gottpoff(%%rip), %0\n\t"
                     "movq %%fs:(%0), %0"
                     : "=r"(value)
                     :
                     : "memory");
    return value;
}

#endif
