/* SPDX-License-Identifier: Apache-2.0 */
/* The port of a virtual world: the calls of port.h on virtual threads; the essay is in virtual.h.
 *
 * What the port keeps is behind a lock on a real machine. Here no point lies between two lines of
 * it, and the sanitizer is told of the order that the lock would make (port_enter, port_leave).
 * Work of ops runs on two virtual threads of its own; there are no descriptors and no files. */
#define RTI_MODULE "port_virtual"
#define _GNU_SOURCE
/* Nothing in here is a point but what says so. */
#undef RTI_VIRTUAL
#define RTI_VIRTUAL 0
#include <sys/mman.h>

#include "base/assert.h"
#include "base/list.h"
#include "port/fault.h"
#include "port/op.h"
#include "port/virtual/point.h"
#include "port/virtual/virtual.h"

#define POOL_THREADS 2

static struct {
    struct rti_port port;
    struct rti_list answered; /* `done` is due at the next wait */
    struct rti_list work;     /* for the pool */
    bool is_woken;            /* a wake that no wait has consumed */
    bool is_closing;
    bool is_open;
    uint64_t random;
    struct rti_port_thread pool[POOL_THREADS];
} world;

static void port_enter(void)
{
    rti_virtual_point();
    rti_virtual_acquire(&world);
}

static void port_leave(void)
{
    rti_virtual_release(&world);
}

static uint64_t virtual_clock_ns(struct rti_port *port)
{
    (void)port;
    return rti_virtual_clock();
}

static uint64_t virtual_random(struct rti_port *port)
{
    (void)port;
    world.random += UINT64_C(0x9e3779b97f4a7c15);
    return (world.random ^ (world.random >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
}

static void virtual_wake(struct rti_port *port)
{
    rti_virtual_point();
    /* Release pairs with the scheduler's exchange. */
    rti_virtual_release(&port->attention);
    rti_u32_store_release(&port->attention, 1);
    rti_virtual_point();
    world.is_woken = true;
    rti_virtual_signal(&world.is_woken, 1);
}

/* Gives back what was answered before this call. */
static bool port_deliver(void)
{
    struct rti_list batch;
    rti_list_init(&batch);
    port_enter();
    rti_list_splice_tail(&batch, &world.answered);
    bool is_any = !rti_list_is_empty(&batch);
    struct rti_link *link;
    while ((link = rti_list_pop(&batch)) != NULL) {
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        rti_op_to_idle(op);
        port_leave();
        op->done(op);
        port_enter();
    }
    port_leave();
    return is_any;
}

static enum rti_wait_end virtual_wait(struct rti_port *port, uint64_t deadline_ns)
{
    (void)port;
    rti_virtual_point();
    bool is_late = false;
    if (!world.is_woken && rti_list_is_empty(&world.answered) &&
        deadline_ns > rti_virtual_clock() && !world.is_woken &&
        rti_list_is_empty(&world.answered)) {
        is_late = !rti_virtual_await(&world.is_woken, deadline_ns);
    }
    world.is_woken = false;
    bool is_any = port_deliver();
    return is_any || !is_late ? RTI_WAIT_WOKEN : RTI_WAIT_DEADLINE;
}

static void pool_main(void *arg)
{
    (void)arg;
    for (;;) {
        struct rti_link *link;
        while ((link = rti_list_pop(&world.work)) == NULL) {
            if (world.is_closing) {
                return;
            }
            (void)rti_virtual_await(&world.work, RTI_TIME_NEVER);
        }
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        port_enter();
        op->work(op);
        port_enter();
        rti_list_push_tail(&world.answered, &op->link);
        port_leave();
        virtual_wake(&world.port);
    }
}

static void virtual_submit(struct rti_port *port, struct rti_op *op)
{
    port_enter();
    rti_op_to_in_flight(op);
    if (rti_op_is_work(op)) {
        rti_list_push_tail(&world.work, &op->link);
        port_leave();
        rti_virtual_signal(&world.work, 1);
        return;
    }
    if (op->code != RTI_OP_NOP) {
        rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    }
    rti_list_push_tail(&world.answered, &op->link);
    port_leave();
    virtual_wake(port);
}

static void virtual_cancel(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    port_enter();
    if (!rti_op_is_idle(op) && !op->is_cancelled) {
        op->is_cancelled = true;
        if (op->code == RTI_OP_NOP) {
            rti_op_answer(op, RT_ERR_CANCELLED, 0, 0);
        }
    }
    port_leave();
}

static bool virtual_attempt(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    if (op->code == RTI_OP_NOP || rti_op_is_work(op)) {
        return false;
    }
    rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    return true;
}

static rt_status virtual_close_fd(struct rti_port *port, int fd)
{
    (void)port;
    (void)fd;
    return (rt_status){RT_ERR_INVALID, "a virtual world has no descriptors"};
}

static rt_status virtual_thread_start(struct rti_port *port, struct rti_port_thread *thread,
                                      void (*main)(void *arg), void *arg)
{
    (void)port;
    rti_virtual_point();
    return rti_virtual_thread_start(thread, main, arg);
}

static void virtual_thread_join(struct rti_port *port, struct rti_port_thread *thread)
{
    (void)port;
    rti_virtual_thread_join(thread);
}

static bool virtual_futex_wait(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                               uint64_t deadline_ns)
{
    (void)port;
    rti_virtual_point();
    if (rti_u32_load_relaxed(word) != expected) {
        return true;
    }
    return rti_virtual_await(word, deadline_ns);
}

static void virtual_futex_wake(struct rti_port *port, rti_atomic_u32 *word, uint32_t count)
{
    (void)port;
    rti_virtual_point();
    rti_virtual_signal(word, count);
}

static void *virtual_memory_map(struct rti_port *port, size_t size)
{
    (void)port;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void virtual_memory_unmap(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    int error = munmap(memory, size);
    RT_ASSERT(error == 0);
}

/* Guards are made and taken away as on a machine, so that stacks are kept; nobody runs into one. */
static rt_status virtual_memory_guard(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    (void)memory;
    (void)size;
    return RT_SUCCESS;
}

static void virtual_memory_unguard(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    (void)memory;
    (void)size;
}

static size_t virtual_memory_page_size(struct rti_port *port)
{
    (void)port;
    return 4096;
}

/* Faults are not caught; but threads that may be interrupted are those that attend to them. */
static rt_status virtual_faults_open(struct rti_port *port, const struct rti_fault_policy *policy)
{
    (void)port;
    (void)policy;
    return RT_SUCCESS;
}

static void virtual_faults_attend(struct rti_port *port, void *stack, size_t size)
{
    (void)port;
    (void)stack;
    (void)size;
}

static void virtual_faults_close(struct rti_port *port)
{
    (void)port;
}

static rt_status virtual_interrupts_open(struct rti_port *port,
                                         void (*handler)(const struct rti_frame *frame))
{
    (void)port;
    rti_virtual_set_handler(handler);
    return RT_SUCCESS;
}

static void virtual_interrupts_close(struct rti_port *port)
{
    (void)port;
    rti_virtual_set_handler(NULL);
}

static uintptr_t virtual_interrupts_attend(struct rti_port *port)
{
    (void)port;
    return rti_virtual_self();
}

static void virtual_interrupt(struct rti_port *port, uintptr_t thread)
{
    (void)port;
    rti_virtual_point();
    rti_virtual_interrupt(thread);
}

/* One virtual thread runs at a time, and its stores are seen at once. */
static bool virtual_fence_all(struct rti_port *port)
{
    (void)port;
    rti_virtual_point();
    return true;
}

static const struct rti_port_ops virtual_ops = {
    .name = "virtual",
    .clock_ns = virtual_clock_ns,
    .random = virtual_random,
    .wait = virtual_wait,
    .wake = virtual_wake,
    .submit = virtual_submit,
    .cancel = virtual_cancel,
    .attempt = virtual_attempt,
    .close_fd = virtual_close_fd,
    .thread_start = virtual_thread_start,
    .thread_join = virtual_thread_join,
    .futex_wait = virtual_futex_wait,
    .futex_wake = virtual_futex_wake,
    .fence_all = virtual_fence_all,
    .memory_map = virtual_memory_map,
    .memory_unmap = virtual_memory_unmap,
    .memory_guard = virtual_memory_guard,
    .memory_unguard = virtual_memory_unguard,
    .memory_page_size = virtual_memory_page_size,
    .faults_open = virtual_faults_open,
    .faults_attend = virtual_faults_attend,
    .faults_close = virtual_faults_close,
    .interrupts_open = virtual_interrupts_open,
    .interrupts_close = virtual_interrupts_close,
    .interrupts_attend = virtual_interrupts_attend,
    .interrupt = virtual_interrupt,
};

struct rti_port *rti_virtual_port_open(uint64_t seed)
{
    RT_ASSERT(!world.is_open);
    world.is_open = true;
    world.is_closing = false;
    world.is_woken = false;
    world.random = seed;
    world.port = (struct rti_port){.ops = &virtual_ops};
    rti_list_init(&world.answered);
    rti_list_init(&world.work);
    for (size_t i = 0; i < POOL_THREADS; i++) {
        rt_status status = rti_virtual_thread_start(&world.pool[i], pool_main, NULL);
        RT_ASSERT(!RT_FAILED(status));
    }
    return &world.port;
}

void rti_virtual_port_close(void)
{
    RT_ASSERT(world.is_open && rti_list_is_empty(&world.work));
    world.is_closing = true;
    rti_virtual_signal(&world.work, UINT32_MAX);
    for (size_t i = 0; i < POOL_THREADS; i++) {
        rti_virtual_thread_join(&world.pool[i]);
    }
    world.is_open = false;
}
