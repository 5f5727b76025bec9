/* SPDX-License-Identifier: Apache-2.0 */
/* The Linux body of the seam: the table of functions, and the way of an op through the port.
 *
 * An op comes by submit, goes to the poller (poller.c: descriptors) or to the blocking pool
 * (blocking_pool.c: work), is answered there, and is told to its initiator by `done`, from wait and
 * from nowhere else. Submit, cancel and close never call back, so an initiator needs no reentrancy.
 *
 *     submit ----> poller queue --(event)----------> answered --(wait)--> done
 *        |  \----> backlog -> thread --(collect)--> file batch --(wait)-----^
 *        \-------> answered: NOP, refused, or done at once by its first try
 *
 * One wait tells what was answered when it began to tell: first what the pool completed, then what
 * descriptors gave, each in its order. What done makes complete is told by the next wait, which
 * then does not block. So a wait ends, however fast the world answers, and timers get their turn.
 *
 * Cancel decides at once: an op that waits on a descriptor or in the backlog is taken out and
 * answered RT_ERR_CANCELLED. One that is answered keeps its answer: no byte that was read is lost.
 * Work that runs goes on.
 *
 * A port belongs to one thread at a time (the scheduler); only clock_ns, random, wake, threads,
 * futexes and memory are for any thread. After fork the child must not use its parent's port, both
 * would hear each other's events: a wait there is stopped (fork.h).
 *
 * I1  An op in flight is in a queue of the poller, in the pool, or in `answered`, and
 *     in_flight_count counts them.                                     (rti_port_linux_audit)
 * I2  done is called once per submit.                          (RT_ASSERT in rti_op_to_idle)
 * I3  wait is not entered from done.                                              (RT_ASSERT) */
#define _GNU_SOURCE
#define RTI_MODULE "port_linux"
#include "port/linux/port_linux.h"

#include "port/linux/fork.h"
#include "port/linux/interrupt.h"
#include "port/linux/signal_catch.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000U

uint64_t rti_linux_clock_now(void)
{
    struct timespec now;
    int rc = clock_gettime(CLOCK_MONOTONIC, &now);
    RT_ASSERT(rc == 0);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t port_clock_ns(struct rti_port *port)
{
    (void)port;
    return rti_linux_clock_now();
}

static uint64_t port_random(struct rti_port *port)
{
    (void)port;
    uint64_t bits;
    ssize_t got;
    do {
        got = getrandom(&bits, sizeof(bits), 0);
    } while (got < 0 && errno == EINTR);
    RT_ASSERT(got == (ssize_t)sizeof(bits));
    return bits;
}

static void ledger_lock(struct rti_port_linux *self)
{
    rti_spin_acquire(&self->ledger, self->is_shared);
}

static void ledger_unlock(struct rti_port_linux *self)
{
    rti_spin_release(&self->ledger, self->is_shared);
}

/* Calls done for all of `batch`, one after another. Returns how many. */
static size_t port_tell(struct rti_port_linux *self, struct rti_list *batch)
{
    size_t count = 0;
    struct rti_link *link;
    while ((link = rti_list_pop(batch)) != NULL) {
        struct rti_op *op = rti_op_of_link(link);
        ledger_lock(self);
        RT_ASSERT(op->stage == RTI_STAGE_ANSWERED && self->in_flight_count > 0);
        self->in_flight_count--;
        rti_op_to_idle(op);
        rti_port_count(&self->port.counts.events);
        ledger_unlock(self);
        op->done(op);
        count++;
    }
    return count;
}

/* Tells what is answered now: the pool's first. */
static size_t port_tell_answered(struct rti_port_linux *self)
{
    struct rti_list batch;
    rti_list_init(&batch);
    ledger_lock(self);
    rti_blocking_pool_collect(&self->pool, &batch);
    rti_list_splice_tail(&batch, &self->answered);
    ledger_unlock(self);
    return port_tell(self, &batch);
}

/* The two ends need no look at the clock: a scheduler's quick look at the port asks with 0. */
static bool deadline_has_passed(uint64_t deadline_ns)
{
    return deadline_ns == 0 ||
           (deadline_ns != RTI_TIME_NEVER && rti_linux_clock_now() >= deadline_ns);
}

static enum rti_wait_end port_wait(struct rti_port *port, uint64_t deadline_ns)
{
    struct rti_port_linux *self = rti_port_linux_of(port);
    RT_ASSERT(!self->is_waiting && !self->is_closing);
    rti_linux_fork_check(self->fork_generation);
    self->is_waiting = true;
    enum rti_wait_end end;
    rti_port_count(&port->counts.polls);
    bool is_passed = deadline_has_passed(deadline_ns);
    for (;;) {
        bool is_called = rti_poller_wait(&self->poller, !is_passed, deadline_ns);
        if (port_tell_answered(self) > 0 || is_called) {
            end = RTI_WAIT_WOKEN;
            break;
        }
        /* Else a signal, an event nobody waited for, a look at a starved accept: not the caller's
         * concern. */
        is_passed = is_passed || deadline_has_passed(deadline_ns);
        if (is_passed) {
            rti_port_count(&port->counts.timeouts);
            end = RTI_WAIT_DEADLINE;
            break;
        }
    }
    self->is_waiting = false;
    return end;
}

/* Tells the scheduler that a wait is worth its while. Any thread: before the wake that follows.
 * Release pairs with the scheduler's exchange in its look: what was queued before is seen by the
 * drain that follows. Of two that raise it the exchange meets only the later one; what the earlier
 * one queued is then seen at the latest when its wake is answered, by the wake word's own order. */
static void port_attend(struct rti_port *port)
{
    rti_u32_store_release(&port->attention, 1);
}

/* Some ops are decided where they are submitted, cancelled or closed: told soon, not at idle. */
static RTI_NOINLINE void port_attend_answered(struct rti_port_linux *self)
{
    ledger_lock(self);
    bool is_answered = !rti_list_is_empty(&self->answered);
    ledger_unlock(self);
    if (is_answered) {
        port_attend(&self->port);
    }
    if (is_answered && self->is_shared) {
        /* Another worker may be blocked in wait, and only that one tells. */
        rti_poller_wake(&self->poller);
    }
}

static void port_wake(struct rti_port *port)
{
    port_attend(port);
    rti_poller_wake(&rti_port_linux_of(port)->poller);
}

static void port_answer(struct rti_port_linux *self, struct rti_op *op, rt_status_code status)
{
    rti_op_answer(op, status, 0, 0);
    rti_stage_to_answered(op, &self->answered);
}

/* What does not go to the poller: work, and what is decided here. With the ledger locked. */
static RTI_NOINLINE void port_submit_other(struct rti_port_linux *self, struct rti_op *op)
{
    if (self->is_closing) {
        port_answer(self, op, RT_ERR_CLOSED);
    } else if ((unsigned)op->code >= RTI_OP_CODE_COUNT) {
        port_answer(self, op, RT_ERR_UNSUPPORTED);
    } else if (op->code == RTI_OP_NOP) {
        port_answer(self, op, RT_OK);
    } else {
        rti_blocking_pool_submit(&self->pool, op);
    }
}

/* What is not seen at once to wait. In flight and counted. */
static RTI_NOINLINE void port_submit_on(struct rti_port_linux *self, struct rti_op *op)
{
    /* What waits for its descriptor has nothing to tell. */
    if (rti_poller_submit(&self->poller, op)) {
        port_attend_answered(self);
    }
}

static RTI_NOINLINE void port_submit_any(struct rti_port_linux *self, struct rti_op *op)
{
    bool is_polled = rti_op_has_descriptor(op) && !self->is_closing;
    ledger_lock(self);
    rti_op_to_in_flight(op);
    self->in_flight_count++;
    if (!is_polled) {
        port_submit_other(self, op);
    }
    ledger_unlock(self);
    if (is_polled) {
        port_submit_on(self, op);
    } else {
        port_attend_answered(self);
    }
}

static void port_submit(struct rti_port *port, struct rti_op *op)
{
    struct rti_port_linux *self = rti_port_linux_of(port);
    if (RTI_UNLIKELY(self->is_shared || self->is_closing || !rti_op_has_descriptor(op))) {
        port_submit_any(self, op);
        return;
    }
    rti_op_to_in_flight(op);
    self->in_flight_count++;
    if (RTI_UNLIKELY(!rti_poller_submit_dry(&self->poller, op))) {
        port_submit_on(self, op);
    }
}

static void port_cancel(struct rti_port *port, struct rti_op *op)
{
    struct rti_port_linux *self = rti_port_linux_of(port);
    int fd = op->fd; /* work has none: -1, or one that nobody waits on because of it */
    rti_poller_lock_entry(&self->poller, fd);
    ledger_lock(self);
    bool is_in_flight = !rti_op_is_idle(op);
    if (is_in_flight) {
        op->is_cancelled = true;
        if (op->stage == RTI_STAGE_WAITING) {
            rti_poller_withdraw(&self->poller, op);
            port_answer(self, op, RT_ERR_CANCELLED);
        } else if (op->stage == RTI_STAGE_BACKLOG) {
            rti_blocking_pool_withdraw(&self->pool, op);
            port_answer(self, op, RT_ERR_CANCELLED);
        }
    }
    ledger_unlock(self);
    rti_poller_unlock_entry(&self->poller, fd);
    if (is_in_flight) {
        port_attend_answered(self);
    }
}

/* An accept, and what no descriptor is asked for. */
static RTI_NOINLINE bool port_attempt_other(struct rti_port_linux *self, struct rti_op *op)
{
    if (op->code == RTI_OP_ACCEPT) {
        bool is_done = rti_poller_attempt(&self->poller, op);
        if (is_done) {
            /* What waited on the number that it was given is answered: it was closed unseen. */
            port_attend_answered(self);
        }
        return is_done;
    }
    bool is_unknown = (unsigned)op->code >= RTI_OP_CODE_COUNT;
    if (is_unknown) {
        rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    }
    return is_unknown;
}

static bool port_attempt(struct rti_port *port, struct rti_op *op)
{
    struct rti_port_linux *self = rti_port_linux_of(port);
    RT_ASSERT(rti_op_is_idle(op));
    op->stage = RTI_STAGE_NEW;
    op->is_cancelled = false;
    op->is_truncated = false;
    if (RTI_LIKELY(rti_op_has_descriptor(op) && op->code != RTI_OP_ACCEPT)) {
        return rti_poller_attempt(&self->poller, op);
    }
    return port_attempt_other(self, op);
}

static bool port_is_dry(struct rti_port *port, int fd)
{
    const struct rti_port_linux *self = rti_port_linux_of(port);
    const struct rti_poller *poller = &self->poller;
    /* What several workers share is looked at with its lock, and that is the attempt's. */
    return !self->is_shared && (unsigned)fd < poller->fds_count &&
           (poller->fds[fd].dry & 1U << RTI_INWARD) != 0;
}

static rt_status port_close_fd(struct rti_port *port, int fd)
{
    struct rti_port_linux *self = rti_port_linux_of(port);
    rt_status status = rti_poller_close(&self->poller, fd);
    port_attend_answered(self);
    return status;
}

static const struct rti_port_ops port_linux_ops = {
    .name = "linux",
    .clock_ns = port_clock_ns,
    .random = port_random,
    .wait = port_wait,
    .wake = port_wake,
    .submit = port_submit,
    .cancel = port_cancel,
    .attempt = port_attempt,
    .is_dry = port_is_dry,
    .close_fd = port_close_fd,
    .thread_start = rti_linux_thread_start,
    .thread_adopt = rti_linux_thread_adopt,
    .thread_join = rti_linux_thread_join,
    .futex_wait = rti_linux_futex_wait,
    .futex_wake = rti_linux_futex_wake,
    .fence_all = rti_linux_fence_all,
    .memory_map = rti_linux_memory_map,
    .memory_unmap = rti_linux_memory_unmap,
    .memory_expect_dense = rti_linux_memory_expect_dense,
    .memory_advance = rti_linux_memory_advance,
    .memory_guard = rti_linux_memory_guard,
    .memory_unguard = rti_linux_memory_unguard,
    .memory_page_size = rti_linux_memory_page_size,
    .faults_open = rti_linux_faults_open,
    .faults_attend = rti_linux_faults_attend,
    .faults_close = rti_linux_faults_close,
    .interrupts_open = rti_linux_interrupts_open,
    .interrupts_close = rti_linux_interrupts_close,
    .interrupts_attend = rti_linux_interrupts_attend,
    .interrupt = rti_linux_interrupt,
    .signal_catch = rti_linux_signal_catch,
    .signal_release = rti_linux_signal_release,
    .signal_raise = rti_linux_signal_raise,
};

static rt_status config_check(const struct rti_port_linux_config *config)
{
    if (config->pool_threads > RTI_BLOCKING_THREADS_MAX) {
        return (rt_status){RT_ERR_INVALID, "pool_threads is above RTI_BLOCKING_THREADS_MAX"};
    }
    if ((config->fds == NULL) != (config->fds_count == 0)) {
        return (rt_status){RT_ERR_INVALID, "fds and fds_count come together"};
    }
    long stack_min = sysconf(_SC_THREAD_STACK_MIN);
    if (config->stack_size != 0 && stack_min > 0 && config->stack_size < (size_t)stack_min) {
        return (rt_status){RT_ERR_INVALID, "stack_size is below what the system needs"};
    }
    return RT_SUCCESS;
}

void rti_port_linux_init_bare(struct rti_port_linux *self)
{
    memset(self, 0, sizeof(*self));
    self->port.ops = &port_linux_ops;
    self->port.file = &rti_linux_file;
    self->port.net = &rti_linux_net;
    rti_list_init(&self->answered);
    self->stack_size = RTI_PORT_STACK_SIZE;
    self->page_size = (size_t)sysconf(_SC_PAGESIZE);
    self->huge_max_ns = RTI_PORT_HUGE_MAX_NS;
    self->has_guard_install = rti_linux_memory_guard_install_works(self->page_size);
}

rt_status rti_port_linux_init(struct rti_port_linux *self,
                              const struct rti_port_linux_config *config)
{
    static const struct rti_port_linux_config defaults = {0};
    config = config != NULL ? config : &defaults;
    rt_status status = config_check(config);
    if (status.code != RT_OK) {
        return status;
    }
    status = rti_linux_fork_watch(NULL);
    if (status.code != RT_OK) {
        return status;
    }
    rti_port_linux_init_bare(self);
    self->fork_generation = rti_linux_fork_generation();
    self->signal_mask = rti_linux_thread_mask();
    self->has_guard_install = self->has_guard_install && !config->is_guard_by_mprotect;
    if (config->stack_size != 0) {
        self->stack_size = config->stack_size;
    }
    self->is_shared = config->is_shared;
    if (config->is_shared) {
        rti_linux_fence_announce();
    }
    status = rti_poller_init(&self->poller, config, &self->answered, &self->ledger);
    if (status.code != RT_OK) {
        return status;
    }
    rti_blocking_pool_init(&self->pool, &self->port,
                           config->pool_threads != 0 ? config->pool_threads : RTI_BLOCKING_THREADS,
                           &self->answered);
    if (config->is_pool_eager) {
        status = rti_blocking_pool_start_all(&self->pool);
        if (status.code != RT_OK) {
            rti_port_linux_deinit(self);
            return status;
        }
    }
    return RT_SUCCESS;
}

void rti_port_linux_deinit(struct rti_port_linux *self)
{
    RT_ASSERT(!self->is_waiting && !self->is_closing);
    self->is_closing = true;
    rti_poller_answer_all(&self->poller, RT_ERR_CANCELLED);
    rti_blocking_pool_answer_backlog(&self->pool, RT_ERR_CANCELLED);
    rti_blocking_pool_stop(&self->pool);
    while (self->in_flight_count > 0) {
        size_t told = port_tell_answered(self);
        RT_ASSERT(told > 0);
    }
    rti_poller_deinit(&self->poller);
}

void rti_port_linux_audit(const struct rti_port_linux *self)
{
    size_t count = rti_list_audit(&self->answered);
    for (struct rti_link *link = rti_list_peek(&self->answered); link != NULL;
         link = rti_list_next(&self->answered, link)) {
        const struct rti_op *op = rti_op_of_link(link);
        RT_ASSERT(op->state == RTI_OP_IN_FLIGHT && op->stage == RTI_STAGE_ANSWERED);
    }
    count += rti_poller_audit(&self->poller);
    count += rti_blocking_pool_audit(&self->pool);
    RT_ASSERT(count == self->in_flight_count);
}
