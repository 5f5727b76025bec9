/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/worker_local.h"

#include <errno.h>
#include <stddef.h>

#include "base/compiler.h"

/* Initial-exec: one instruction relative to the thread pointer instead of a call into the dynamic
 * loader, and safe in a signal handler. Assembly names it (port/arch/<cpu>/local.h), so it keeps
 * its name when everything is optimized at link time. */
#if defined(__clang__)
#define NAMED_BY_ASSEMBLY __attribute__((used))
#else
#define NAMED_BY_ASSEMBLY __attribute__((used, externally_visible))
#endif
extern _Thread_local struct rti_worker *rti_worker_local;
NAMED_BY_ASSEMBLY _Thread_local struct rti_worker *rti_worker_local
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = NULL;
extern _Thread_local void *rti_clear_local;
NAMED_BY_ASSEMBLY _Thread_local void *rti_clear_local
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = NULL;

/* What belongs to one thread cannot race, but virtual threads share one (port/virtual/). */
#if defined(__clang__)
#define UNSANITIZED __attribute__((no_sanitize("thread")))
#else
#define UNSANITIZED __attribute__((no_sanitize_thread))
#endif

RTI_OPAQUE UNSANITIZED struct rti_worker *rti_worker_current(void)
{
    return rti_worker_local;
}

RTI_OPAQUE UNSANITIZED void rti_worker_set_current(struct rti_worker *worker)
{
    rti_worker_local = worker;
    rti_clear_local = NULL;
}

RTI_OPAQUE UNSANITIZED void *rti_clear_current(void)
{
    return rti_clear_local;
}

RTI_OPAQUE UNSANITIZED void rti_clear_set(void *module)
{
    rti_clear_local = module;
}

/* Virtual threads have their own each: port/virtual/virtual.c. */
#if !defined(RTI_VIRTUAL) || !RTI_VIRTUAL
RTI_OPAQUE int *rti_errno_address(void)
{
    return &errno;
}
#endif
