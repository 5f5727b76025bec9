/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime on Linux: every part, over the port of port/linux/. */
#define RTI_MODULE "host"
#include "port/linux/fork.h"
#include "port/linux/port_linux.h"
#include "port/linux/signal_catch.h"
#include "port/linux/watch.h"
#include "runtime/runtime.h"
#include "runtime/runtime_deadlock.h"

/* Threads that wait for files. Started in rt_init: starting a thread allocates inside the C
 * library. */
#define FILE_THREADS 2

/* How long stop sleeps between two looks at visitors that are still there. */
#define NAP_NS UINT64_C(1000000)

static struct rti_port_linux linux_port;

/* Nothing of it is ever written. */
static struct rti_port outside_port = {
    .ops = &rti_linux_outside_ops, .net = &rti_linux_net, .file = &rti_linux_file};

const struct rti_runtime_part *const rti_host_parts[RTI_HOST_PARTS_MAX] = {
    &rti_part_io,        &rti_part_channel,    &rti_part_bus,    &rti_part_task,    &rti_part_async,
    &rti_part_behaviour, &rti_part_supervisor, &rti_part_signal, &rti_part_observe,
};

/* In the child of a fork, on its only thread. */
static void host_forked(void)
{
    rti_linux_signal_release_all();
    if (rti_runtime_forked()) {
        rti_linux_fork_poison(rti_runtime.sched.port);
    }
}

rt_status rti_host_open(struct rti_port **port, const rt_config *config)
{
    rt_status status = rti_linux_fork_watch(host_forked);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_port_linux_config inside = {.pool_threads = FILE_THREADS,
                                           .is_pool_eager = true,
                                           .is_shared = config != NULL,
                                           .poller =
                                               config != NULL ? config->poller : RT_POLLER_AUTO};
    *port = &linux_port.port;
    return rti_port_linux_init(&linux_port, &inside);
}

void rti_host_close(void)
{
    rti_port_linux_deinit(&linux_port);
}

void rti_host_nap(rti_atomic_u32 *word, uint32_t expected)
{
    (void)rti_linux_futex_wait(&linux_port.port, word, expected, rti_linux_clock_now() + NAP_NS);
}

void rti_host_watch_deadlocks(rt_time after)
{
    rt_time usual = RT_DEADLOCK_AFTER_MS == 0 ? RT_TIME_NEVER : RT_DEADLOCK_AFTER_MS * RT_NS_PER_MS;
    rti_runtime_watch_deadlocks(after == 0 ? usual : after, rti_watch_peek);
}

void rti_host_forget_deadlocks(void)
{
    rti_runtime_forget_deadlocks();
}

rt_status rt_watch_deadlocks(rt_time after)
{
    const struct rti_worker *worker = rti_worker_current();
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    if (worker->fiber != NULL || worker->sched->is_running || worker->sched != &rti_runtime.sched) {
        return (rt_status){RT_ERR_STATE, "only outside of rt_run"};
    }
    rti_host_watch_deadlocks(after);
    return RT_SUCCESS;
}

struct rti_port *rti_host_outside(void)
{
    return &outside_port;
}

struct rti_port *rti_host_machine(void)
{
    /* Without a hook a fork in a simulated program is not noticed: no reason to refuse the run. */
    (void)rti_linux_fork_watch(host_forked);
    rti_port_linux_init_bare(&linux_port);
    return &linux_port.port;
}
