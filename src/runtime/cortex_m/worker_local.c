/* SPDX-License-Identifier: Apache-2.0 */
/* The current worker where there is one thread: a variable. sched/worker_local.h has the essay. */
#include "sched/worker_local.h"

#include <errno.h>
#include <stddef.h>

struct rti_worker *rti_arch_worker;
void *rti_arch_clear;

struct rti_worker *rti_worker_current(void)
{
    return rti_arch_worker;
}

void rti_worker_set_current(struct rti_worker *worker)
{
    rti_arch_worker = worker;
    rti_arch_clear = NULL;
}

void *rti_clear_current(void)
{
    return rti_arch_clear;
}

void rti_clear_set(void *module)
{
    rti_arch_clear = module;
}

int *rti_errno_address(void)
{
    return &errno;
}
