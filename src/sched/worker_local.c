/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/worker_local.h"

#include <errno.h>
#include <stddef.h>

#include "base/compiler.h"

/* Initial-exec: one instruction relative to the thread pointer instead of a call into the dynamic
 * loader, and safe in a signal handler. */
static _Thread_local struct rti_worker *current __attribute__((tls_model("initial-exec"))) = NULL;

RTI_OPAQUE struct rti_worker *rti_worker_current(void)
{
    return current;
}

RTI_OPAQUE void rti_worker_set_current(struct rti_worker *worker)
{
    current = worker;
}

RTI_OPAQUE int *rti_errno_address(void)
{
    return &errno;
}
