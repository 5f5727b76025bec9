/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARCH_LOCAL_H
#define RTI_ARCH_LOCAL_H

/* The current worker where there is one thread: a variable, which runtime/cortex_m/worker_local.c
 * has. Nothing moves to another thread here, so it may be read in the open. */

#include "base/compiler.h"

struct rti_worker;

extern struct rti_worker *rti_arch_worker;
extern void *rti_arch_clear;

static RTI_ALWAYSINLINE struct rti_worker *rti_arch_local_load(void)
{
    return rti_arch_worker;
}

static RTI_ALWAYSINLINE void *rti_arch_clear_load(void)
{
    return rti_arch_clear;
}

#endif
