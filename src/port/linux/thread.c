/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the system, in the caller's struct rti_port_thread.
 *
 * A thread starts with every asynchronous signal blocked, so that the program's handlers run on the
 * program's threads; faults (SIGSEGV and its kind) stay open, for they belong to who causes them. A
 * worker runs the program's code, and whatever that starts, a thread or a process, inherits its
 * mask: it adopts the one of the thread that made the port. The
 * stack is bounded by the port's config and not committed before it is used.
 *
 * I1  The storage is untouched between start and join: the new thread reads it once, and start does
 *     not wait for that.                                        (RT_ASSERT on its mark, join) */
#define _GNU_SOURCE
#define RTI_MODULE "thread"
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "port/linux/port_linux.h"

/* What the opaque words hold. */
struct thread_storage {
    pthread_t id;
    void (*main)(void *arg);
    void *arg;
    uintptr_t mark;
};

_Static_assert(sizeof(sigset_t) >= sizeof(uint64_t), "the first word of a mask has the signals");
_Static_assert(sizeof(struct thread_storage) <= sizeof(struct rti_port_thread),
               "the storage of port.h is too small");

#define THREAD_STARTED ((uintptr_t)0x7468u)

static void *thread_main(void *arg)
{
    struct thread_storage *storage = arg;
    storage->main(storage->arg);
    return NULL;
}

/* Blocks all but the faults; `old` is what to go back to. */
static void signals_block(sigset_t *old)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < RTI_COUNT_OF(faults); i++) {
        sigdelset(&set, faults[i]);
    }
    int error = pthread_sigmask(SIG_SETMASK, &set, old);
    RT_ASSERT(error == 0);
}

rt_status rti_linux_thread_start(struct rti_port *port, struct rti_port_thread *thread,
                                 void (*main)(void *arg), void *arg)
{
    RT_ASSERT(main != NULL);
    struct thread_storage *storage = (struct thread_storage *)thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return (rt_status){RT_ERR_NOMEM, "no memory for a thread's attributes"};
    }
    bool is_sized =
        pthread_attr_setstacksize(&attributes, rti_port_linux_of(port)->stack_size) == 0;
    bool is_started = false;
    if (is_sized) {
        sigset_t old;
        *storage = (struct thread_storage){.main = main, .arg = arg, .mark = THREAD_STARTED};
        signals_block(&old);
        is_started = pthread_create(&storage->id, &attributes, thread_main, storage) == 0;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (is_started) {
        return RT_SUCCESS;
    }
    storage->mark = 0;
    return is_sized ? (rt_status){RT_ERR_NOMEM, "the system has no more threads"}
                    : (rt_status){RT_ERR_INVALID, "the stack size is not possible"};
}

uint64_t rti_linux_thread_mask(void)
{
    sigset_t set;
    uint64_t mask;
    int error = pthread_sigmask(SIG_SETMASK, NULL, &set);
    RT_ASSERT(error == 0);
    memcpy(&mask, &set, sizeof(mask));
    return mask;
}

void rti_linux_thread_adopt(struct rti_port *port)
{
    sigset_t set;
    sigemptyset(&set);
    memcpy(&set, &rti_port_linux_of(port)->signal_mask, sizeof(uint64_t));
    int error = pthread_sigmask(SIG_SETMASK, &set, NULL);
    RT_ASSERT(error == 0);
}

void rti_linux_thread_join(struct rti_port *port, struct rti_port_thread *thread)
{
    (void)port;
    struct thread_storage *storage = (struct thread_storage *)thread;
    RT_ASSERT(storage->mark == THREAD_STARTED);
    int error = pthread_join(storage->id, NULL);
    RT_ASSERT(error == 0);
    storage->mark = 0;
}
