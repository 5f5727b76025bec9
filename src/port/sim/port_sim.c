/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "port_sim"
#include "port/sim/port_sim.h"

#include <errno.h>

#include "base/assert.h"
#include "base/marks.h"
#include "port/op.h"
#include "port/sim/sim_disk.h"
#include "port/sim/sim_net.h"

static struct rti_port_sim *sim_of(struct rti_port *port)
{
    return RTI_CONTAINER_OF(port, struct rti_port_sim, port);
}

static uint64_t sim_clock_ns(struct rti_port *port)
{
    return sim_of(port)->now_ns;
}

static uint64_t sim_random(struct rti_port *port)
{
    return rti_rng_next(&sim_of(port)->rng);
}

static void sim_jump(struct rti_port_sim *sim, uint64_t deadline_ns)
{
    RT_ASSERT(deadline_ns != RTI_TIME_NEVER && deadline_ns >= sim->now_ns);
    sim->now_ns = deadline_ns;
}

/* Gives back what was answered before this call; what `done` submits is for the next one. */
static bool sim_deliver(struct rti_port_sim *sim)
{
    struct rti_list batch;
    rti_list_init(&batch);
    rti_list_splice_tail(&batch, &sim->answered);
    bool is_any = !rti_list_is_empty(&batch);
    struct rti_link *link;
    while ((link = rti_list_pop(&batch)) != NULL) {
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        rti_op_to_idle(op);
        rti_port_count(&sim->port.counts.events);
        op->done(op);
    }
    return is_any;
}

/* When the world does something by itself; RTI_TIME_NEVER: it does not. */
static uint64_t sim_next(const struct rti_port_sim *sim)
{
    uint64_t net_ns = sim->net == NULL ? RTI_TIME_NEVER : rti_sim_net_next(sim->net);
    uint64_t disk_ns = sim->disk == NULL ? RTI_TIME_NEVER : rti_agenda_next(&sim->disk->agenda);
    return net_ns < disk_ns ? net_ns : disk_ns;
}

/* Lets happen what is due by now. */
static void sim_happen(struct rti_port_sim *sim)
{
    sim->is_waiting = true;
    if (sim->disk != NULL) {
        rti_agenda_run(&sim->disk->agenda, sim->now_ns);
    }
    if (sim->net != NULL) {
        rti_sim_net_run(sim->net, sim->now_ns);
    }
    sim->is_waiting = false;
}

/* Lets time pass until somebody is answered, which gives true, or the deadline. */
static bool sim_pass(struct rti_port_sim *sim, uint64_t deadline_ns)
{
    uint64_t next_ns;
    while ((next_ns = sim_next(sim)) <= deadline_ns && next_ns != RTI_TIME_NEVER) {
        sim_jump(sim, next_ns);
        sim_happen(sim);
        if (sim_deliver(sim)) {
            return true;
        }
    }
    return false;
}

static enum rti_wait_end sim_wait(struct rti_port *port, uint64_t deadline_ns)
{
    struct rti_port_sim *sim = sim_of(port);
    rti_port_count(&port->counts.polls);
    /* Acquire pairs with the release in sim_wake: what the waker wrote is seen. */
    bool is_woken = rti_u32_exchange_acqrel(&sim->is_woken, 0) != 0;
    sim_happen(sim);
    if (sim_deliver(sim) || is_woken) {
        return RTI_WAIT_WOKEN;
    }
    if (deadline_ns > sim->now_ns) {
        if (RT_BUGGIFY("sim_wait_returns_for_nothing") || sim_pass(sim, deadline_ns)) {
            return RTI_WAIT_WOKEN;
        }
        if (deadline_ns == RTI_TIME_NEVER) {
            return RTI_WAIT_STUCK;
        }
        sim_jump(sim, deadline_ns);
    }
    rti_port_count(&port->counts.timeouts);
    return RTI_WAIT_DEADLINE;
}

static void sim_wake(struct rti_port *port)
{
    struct rti_port_sim *sim = sim_of(port);
    /* Pairs with the exchange in sim_wait. */
    rti_u32_store_release(&sim->is_woken, 1);
    /* Release pairs with the scheduler's exchange in its look. */
    rti_u32_store_release(&port->attention, 1);
}

void rti_port_sim_answer(struct rti_port_sim *sim, struct rti_op *op)
{
    rti_list_push_tail(&sim->answered, &op->link);
    if (!sim->is_waiting) {
        sim_wake(&sim->port);
    }
}

/* What waits for descriptors is not for files, as it is nowhere: the op is answered then. */
static bool sim_is_of_file(const struct rti_port_sim *sim, struct rti_op *op)
{
    if (sim->disk == NULL || !rti_sim_disk_has(sim->disk, op->fd)) {
        return false;
    }
    rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, EPERM);
    return true;
}

static void sim_submit(struct rti_port *port, struct rti_op *op)
{
    struct rti_port_sim *sim = sim_of(port);
    rti_op_to_in_flight(op);
    if (rti_op_is_work(op)) {
        if (sim->disk != NULL && rti_sim_disk_submit(sim->disk, op)) {
            return;
        }
        op->work(op);
    } else if (op->code != RTI_OP_NOP) {
        if (sim->net != NULL && !sim_is_of_file(sim, op)) {
            rti_sim_net_submit(sim->net, op);
            return;
        }
        rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, sim->net != NULL ? EPERM : 0);
    }
    rti_port_sim_answer(sim, op);
}

static void sim_cancel(struct rti_port *port, struct rti_op *op)
{
    if (rti_op_is_idle(op) || op->is_cancelled) {
        return;
    }
    op->is_cancelled = true;
    /* Work has run already and keeps its result; a NOP has done nothing yet. */
    if (op->code == RTI_OP_NOP) {
        rti_op_answer(op, RT_ERR_CANCELLED, 0, 0);
    } else if (!rti_op_is_work(op) && sim_of(port)->net != NULL) {
        rti_sim_net_cancel(op);
    }
}

static bool sim_attempt(struct rti_port *port, struct rti_op *op)
{
    struct rti_sim_net *net = sim_of(port)->net;
    if (op->code == RTI_OP_NOP || rti_op_is_work(op)) {
        return false;
    }
    if (net != NULL) {
        return sim_is_of_file(sim_of(port), op) || rti_sim_net_attempt(net, op);
    }
    rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    return true;
}

static rt_status sim_close_fd(struct rti_port *port, int fd)
{
    struct rti_sim_net *net = sim_of(port)->net;
    if (net != NULL) {
        return rti_sim_net_close_fd(net, fd);
    }
    return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the simulator has no such descriptor")};
}

static rt_status sim_thread_start(struct rti_port *port, struct rti_port_thread *thread,
                                  void (*main)(void *arg), void *arg)
{
    (void)port;
    (void)thread;
    (void)main;
    (void)arg;
    return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("the simulator runs on one thread")};
}

static void sim_thread_join(struct rti_port *port, struct rti_port_thread *thread)
{
    (void)port;
    (void)thread;
    rti_panic(RTI_MODULE, __LINE__, "join of a thread that cannot exist");
}

static bool sim_futex_wait(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                           uint64_t deadline_ns)
{
    struct rti_port_sim *sim = sim_of(port);
    if (rti_u32_load_relaxed(word) != expected) {
        return true;
    }
    if (deadline_ns == RTI_TIME_NEVER) {
        rti_panic(RTI_MODULE, __LINE__, "the only thread would sleep for ever");
    }
    if (deadline_ns > sim->now_ns) {
        sim_jump(sim, deadline_ns);
    }
    return false;
}

static void sim_futex_wake(struct rti_port *port, rti_atomic_u32 *word, uint32_t count)
{
    /* Nobody sleeps while the only thread runs. */
    (void)port;
    (void)word;
    (void)count;
}

static void *sim_memory_map(struct rti_port *port, size_t size)
{
    struct rti_port *host = sim_of(port)->host;
    return host == NULL ? NULL : host->ops->memory_map(host, size);
}

static void sim_memory_unmap(struct rti_port *port, void *memory, size_t size)
{
    struct rti_port *host = sim_of(port)->host;
    RT_ASSERT(host != NULL);
    host->ops->memory_unmap(host, memory, size);
}

static rt_status sim_memory_guard(struct rti_port *port, void *memory, size_t size)
{
    struct rti_port *host = sim_of(port)->host;
    if (host == NULL) {
        return (rt_status){RT_ERR_UNSUPPORTED,
                           RTI_SENTENCE("no machine that could protect memory")};
    }
    return host->ops->memory_guard(host, memory, size);
}

static void sim_memory_unguard(struct rti_port *port, void *memory, size_t size)
{
    struct rti_port *host = sim_of(port)->host;
    RT_ASSERT(host != NULL);
    host->ops->memory_unguard(host, memory, size);
}

static size_t sim_memory_page_size(struct rti_port *port)
{
    struct rti_port *host = sim_of(port)->host;
    return host == NULL ? 0 : host->ops->memory_page_size(host);
}

static rt_status sim_faults_open(struct rti_port *port, const struct rti_fault_policy *policy)
{
    struct rti_port *host = sim_of(port)->host;
    if (host == NULL) {
        return (rt_status){RT_ERR_UNSUPPORTED,
                           RTI_SENTENCE("no machine whose faults could be caught")};
    }
    return host->ops->faults_open(host, policy);
}

static void sim_faults_close(struct rti_port *port)
{
    struct rti_port *host = sim_of(port)->host;
    RT_ASSERT(host != NULL);
    host->ops->faults_close(host);
}

static bool sim_is_signal(int number)
{
    return number > 0 && number < RTI_SIM_SIGNALS;
}

static rt_status sim_signal_catch(struct rti_port *port, int number, void (*caught)(int number))
{
    if (!sim_is_signal(number)) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no signal has this number")};
    }
    RT_ASSERT(sim_of(port)->caught[number] == NULL);
    sim_of(port)->caught[number] = caught;
    return RT_SUCCESS;
}

static void sim_signal_release(struct rti_port *port, int number)
{
    RT_ASSERT(sim_is_signal(number) && sim_of(port)->caught[number] != NULL);
    sim_of(port)->caught[number] = NULL;
}

static rt_status sim_signal_raise(struct rti_port *port, int number)
{
    if (!sim_is_signal(number) || sim_of(port)->caught[number] == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("nobody waits for this signal")};
    }
    sim_of(port)->caught[number](number);
    return RT_SUCCESS;
}

static const struct rti_port_ops sim_ops = {
    .name = "sim",
    .clock_ns = sim_clock_ns,
    .random = sim_random,
    .wait = sim_wait,
    .wake = sim_wake,
    .submit = sim_submit,
    .cancel = sim_cancel,
    .attempt = sim_attempt,
    .close_fd = sim_close_fd,
    .thread_start = sim_thread_start,
    .thread_join = sim_thread_join,
    .futex_wait = sim_futex_wait,
    .futex_wake = sim_futex_wake,
    .memory_map = sim_memory_map,
    .memory_unmap = sim_memory_unmap,
    .memory_guard = sim_memory_guard,
    .memory_unguard = sim_memory_unguard,
    .memory_page_size = sim_memory_page_size,
    .faults_open = sim_faults_open,
    .faults_close = sim_faults_close,
    .signal_catch = sim_signal_catch,
    .signal_release = sim_signal_release,
    .signal_raise = sim_signal_raise,
};

void rti_port_sim_init(struct rti_port_sim *sim, uint64_t seed, uint64_t start_ns,
                       struct rti_port *host)
{
    *sim = (struct rti_port_sim){.now_ns = start_ns, .host = host};
    sim->port.ops = &sim_ops;
    sim->port.file = host == NULL ? NULL : host->file;
    rti_rng_init(&sim->rng, seed);
    rti_list_init(&sim->answered);
}
