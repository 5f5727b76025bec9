/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "port_cortex_m"
#include "port/cortex_m/port_cortex_m.h"

#include "base/assert.h"
#include "port/op.h"

static struct rti_port_cortex_m *cortex_m_of(struct rti_port *port)
{
    return RTI_CONTAINER_OF(port, struct rti_port_cortex_m, port);
}

static uint64_t cortex_m_clock_ns(struct rti_port *port)
{
    return rti_systick_now(&cortex_m_of(port)->systick);
}

static uint64_t cortex_m_random(struct rti_port *port)
{
    /* A counter with a constant step, mixed: as much as a program without secrets needs. */
    uint64_t state = cortex_m_of(port)->random += UINT64_C(0x9E3779B97F4A7C15);
    state = (state ^ (state >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    state = (state ^ (state >> 27)) * UINT64_C(0x94D049BB133111EB);
    return state ^ (state >> 31);
}

/* Gives back what was answered before this call; what `done` submits is for the next one. */
static bool cortex_m_deliver(struct rti_port_cortex_m *cortex_m)
{
    struct rti_list batch;
    rti_list_init(&batch);
    rti_list_splice_tail(&batch, &cortex_m->answered);
    bool is_any = !rti_list_is_empty(&batch);
    struct rti_link *link;
    while ((link = rti_list_pop(&batch)) != NULL) {
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        rti_op_to_idle(op);
        rti_port_count(&cortex_m->port.counts.events);
        op->done(op);
    }
    return is_any;
}

/* One look and, if there is no news, one sleep; what is pending then runs. True: `*end` is why the
 * wait is over. */
static bool cortex_m_look(struct rti_port_cortex_m *cortex_m, uint64_t deadline_ns,
                          enum rti_wait_end *end)
{
    bool is_over = true;
    uint32_t mask = rti_irq_mask();
    if (rti_u32_load_relaxed(&cortex_m->is_woken) != 0) {
        rti_u32_store_relaxed(&cortex_m->is_woken, 0);
        *end = RTI_WAIT_WOKEN;
    } else if (rti_systick_now(&cortex_m->systick) >= deadline_ns) {
        *end = RTI_WAIT_DEADLINE;
    } else {
        rti_systick_aim(&cortex_m->systick, deadline_ns);
        rti_irq_await();
        is_over = false;
    }
    rti_irq_restore(mask);
    rti_irq_let_run();
    return is_over;
}

static enum rti_wait_end cortex_m_wait(struct rti_port *port, uint64_t deadline_ns)
{
    struct rti_port_cortex_m *cortex_m = cortex_m_of(port);
    enum rti_wait_end end = RTI_WAIT_WOKEN;
    if (cortex_m_deliver(cortex_m)) {
        return end;
    }
    while (!cortex_m_look(cortex_m, deadline_ns, &end)) {
    }
    return end;
}

static void cortex_m_wake(struct rti_port *port)
{
    rti_u32_store_relaxed(&cortex_m_of(port)->is_woken, 1);
    /* Release pairs with the scheduler's exchange in its look. */
    rti_u32_store_release(&port->attention, 1);
}

static void cortex_m_submit(struct rti_port *port, struct rti_op *op)
{
    rti_op_to_in_flight(op);
    if (op->code != RTI_OP_NOP) {
        rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    }
    rti_list_push_tail(&cortex_m_of(port)->answered, &op->link);
    cortex_m_wake(port);
}

static void cortex_m_cancel(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    if (!rti_op_is_idle(op) && !op->is_cancelled) {
        op->is_cancelled = true;
        if (op->code == RTI_OP_NOP) {
            rti_op_answer(op, RT_ERR_CANCELLED, 0, 0);
        }
    }
}

static bool cortex_m_attempt(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    if (op->code == RTI_OP_NOP || rti_op_is_work(op)) {
        return false;
    }
    rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    return true;
}

static rt_status cortex_m_close_fd(struct rti_port *port, int fd)
{
    (void)port;
    (void)fd;
    return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there are no descriptors here")};
}

static rt_status cortex_m_thread_start(struct rti_port *port, struct rti_port_thread *thread,
                                       void (*main)(void *arg), void *arg)
{
    (void)port;
    (void)thread;
    (void)main;
    (void)arg;
    return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("there is one thread here")};
}

static void cortex_m_thread_join(struct rti_port *port, struct rti_port_thread *thread)
{
    (void)port;
    (void)thread;
    rti_panic(RTI_MODULE, __LINE__, "join of a thread that cannot exist");
}

static bool cortex_m_futex_wait(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                                uint64_t deadline_ns)
{
    struct rti_port_cortex_m *cortex_m = cortex_m_of(port);
    bool is_in_time = true;
    while (is_in_time && rti_u32_load_relaxed(word) == expected) {
        uint32_t mask = rti_irq_mask();
        is_in_time = rti_systick_now(&cortex_m->systick) < deadline_ns;
        if (is_in_time && rti_u32_load_relaxed(word) == expected) {
            rti_systick_aim(&cortex_m->systick, deadline_ns);
            rti_irq_await();
        }
        rti_irq_restore(mask);
        rti_irq_let_run();
    }
    return is_in_time;
}

static void cortex_m_futex_wake(struct rti_port *port, rti_atomic_u32 *word, uint32_t count)
{
    /* The interrupt that changed the word has ended the sleep already. */
    (void)port;
    (void)word;
    (void)count;
}

static void *cortex_m_memory_map(struct rti_port *port, size_t size)
{
    (void)port;
    (void)size;
    return NULL;
}

static void cortex_m_memory_unmap(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    (void)memory;
    (void)size;
    rti_panic(RTI_MODULE, __LINE__, "return of memory that cannot exist");
}

static rt_status cortex_m_memory_guard(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    (void)memory;
    (void)size;
    return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("there are no pages here")};
}

const struct rti_port_ops rti_port_cortex_m_ops = {
    .name = "cortex_m",
    .clock_ns = cortex_m_clock_ns,
    .random = cortex_m_random,
    .wait = cortex_m_wait,
    .wake = cortex_m_wake,
    .submit = cortex_m_submit,
    .cancel = cortex_m_cancel,
    .attempt = cortex_m_attempt,
    .close_fd = cortex_m_close_fd,
    .thread_start = cortex_m_thread_start,
    .thread_join = cortex_m_thread_join,
    .futex_wait = cortex_m_futex_wait,
    .futex_wake = cortex_m_futex_wake,
    .memory_map = cortex_m_memory_map,
    .memory_unmap = cortex_m_memory_unmap,
    .memory_guard = cortex_m_memory_guard,
};

void rti_port_cortex_m_init(struct rti_port_cortex_m *cortex_m, uint64_t seed)
{
    *cortex_m = (struct rti_port_cortex_m){.port.ops = &rti_port_cortex_m_ops, .random = seed};
    rti_list_init(&cortex_m->answered);
    rti_systick_start(&cortex_m->systick);
}

void rti_port_cortex_m_deinit(struct rti_port_cortex_m *cortex_m)
{
    rti_systick_stop();
    RT_ASSERT(rti_list_is_empty(&cortex_m->answered));
}
