/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WORKER_LOCAL_H
#define RTI_WORKER_LOCAL_H

/* The thread-locals of the library: the worker that this thread is, and a word for those calls that
 * go straight (sched/scheduler.h): the module that they belong to, or NULL if they may not. The
 * second says nothing that the first could not, but in one load.
 *
 * A compiler takes the address of a thread-local object for constant within a function, and keeps
 * it in a register. A fiber that is parked in that function and continues on another thread would
 * go on using the first thread's object. Hence no code of the library names a thread-local object,
 * errno included: it calls one of these functions, into which the optimizer cannot look, not even
 * at link time, and it never keeps what they return across a switch.
 *
 * The scheduler keeps errno per fiber: before a switch it stores the value of
 * *rti_errno_address() in the fiber, after it, perhaps on another thread, it calls the function
 * again and puts the value there. A worker may keep its own thread's address: a worker does not
 * move.
 *
 * What is called for every value or message loads the worker with rti_worker_here, whose
 * instructions the optimizer cannot look into either.
 *
 * I1  An address from here is used on the thread that asked for it.  (moved_fiber tests) */

#include "base/compiler.h"

#if defined(__x86_64__)
#include "port/arch/x86_64/local.h"
#elif defined(__aarch64__)
#include "port/arch/aarch64/local.h"
#elif RTI_ONE_WORKER
#include "port/arch/armv7m/local.h"
#endif

struct rti_worker;

/* The worker of the calling thread; NULL on a thread that is none. Any thread. */
struct rti_worker *rti_worker_current(void);

/* The same without a call, where the processor has a way. */
static RTI_ALWAYSINLINE struct rti_worker *rti_worker_here(void)
{
#if defined(RTI_ARCH_LOCAL_H)
    return rti_arch_local_load();
#else
    return rti_worker_current();
#endif
}

/* What the word for calls that go straight holds. */
void *rti_clear_current(void);

/* The same without a call, where the processor has a way. */
static RTI_ALWAYSINLINE void *rti_clear_here(void)
{
#if defined(RTI_ARCH_LOCAL_H)
    return rti_arch_clear_load();
#else
    return rti_clear_current();
#endif
}

/* Sets that word for the calling thread. */
void rti_clear_set(void *module);

/* Makes the calling thread `worker`, or none with NULL. Its calls do not go straight from then on,
 * until rti_clear_set. */
void rti_worker_set_current(struct rti_worker *worker);

/* Where the calling thread keeps errno. Any thread. */
int *rti_errno_address(void);

#endif
