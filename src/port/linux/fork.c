/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "fork"
#include "port/linux/fork.h"

#include <pthread.h>

#include "base/assert.h"

static struct {
    rti_atomic_u32 is_watched;
    rti_atomic_u32 generation;
    rti_atomic_ptr hook;          /* void (*)(void), as its address */
    struct rti_port_ops poisoned; /* of the port that rti_linux_fork_poison was given */
} forks;

static _Noreturn void forked_stop(void)
{
    rti_panic(RTI_MODULE, __LINE__,
              "this process was forked, and its runtime stayed in the parent: call exec or _exit");
}

static void forked_child(void)
{
    rti_u32_add_relaxed(&forks.generation, 1);
    void (*hook)(void);
    *(void **)&hook = rti_ptr_load_relaxed(&forks.hook);
    if (hook != NULL) {
        hook();
    }
}

rt_status rti_linux_fork_watch(void (*hook)(void))
{
    if (hook != NULL) {
        rti_ptr_store_relaxed(&forks.hook, *(void **)&hook);
    }
    if (rti_u32_exchange_acqrel(&forks.is_watched, 1) == 0 &&
        pthread_atfork(NULL, NULL, forked_child) != 0) {
        rti_u32_store_relaxed(&forks.is_watched, 0);
        return (rt_status){RT_ERR_NOMEM, "the system cannot watch for forks"};
    }
    return RT_SUCCESS;
}

uint32_t rti_linux_fork_generation(void)
{
    return rti_u32_load_relaxed(&forks.generation);
}

void rti_linux_fork_check(uint32_t generation)
{
    if (RTI_UNLIKELY(generation != rti_linux_fork_generation())) {
        forked_stop();
    }
}

static uint64_t stop_number(struct rti_port *port)
{
    (void)port;
    forked_stop();
}

static enum rti_wait_end stop_wait(struct rti_port *port, uint64_t deadline_ns)
{
    (void)port;
    (void)deadline_ns;
    forked_stop();
}

static void stop_wake(struct rti_port *port)
{
    (void)port;
    forked_stop();
}

static void stop_op(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    (void)op;
    forked_stop();
}

static bool stop_attempt(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    (void)op;
    forked_stop();
}

static rt_status stop_thread_start(struct rti_port *port, struct rti_port_thread *thread,
                                   void (*main)(void *arg), void *arg)
{
    (void)port;
    (void)thread;
    (void)main;
    (void)arg;
    forked_stop();
}

static bool stop_futex_wait(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                            uint64_t deadline_ns)
{
    (void)port;
    (void)word;
    (void)expected;
    (void)deadline_ns;
    forked_stop();
}

static void stop_futex_wake(struct rti_port *port, rti_atomic_u32 *word, uint32_t count)
{
    (void)port;
    (void)word;
    (void)count;
    forked_stop();
}

void rti_linux_fork_poison(struct rti_port *port)
{
    forks.poisoned = *port->ops;
    forks.poisoned.clock_ns = stop_number;
    forks.poisoned.random = stop_number;
    forks.poisoned.wait = stop_wait;
    forks.poisoned.wake = stop_wake;
    forks.poisoned.submit = stop_op;
    forks.poisoned.cancel = stop_op;
    forks.poisoned.attempt = stop_attempt;
    forks.poisoned.thread_start = stop_thread_start;
    forks.poisoned.futex_wait = stop_futex_wait;
    forks.poisoned.futex_wake = stop_futex_wake;
    port->ops = &forks.poisoned;
}
