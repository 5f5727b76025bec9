/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "port_freertos"
#include "port/freertos/port_freertos.h"

#include "base/assert.h"
#include "port/op.h"

#define NS_PER_TICK (RTI_NS_PER_S / configTICK_RATE_HZ)

static struct rti_port_freertos *freertos_of(struct rti_port *port)
{
    return RTI_CONTAINER_OF(port, struct rti_port_freertos, port);
}

/* The runtime's task only: it extends the kernel's 32 bits. It asks at least once in their period,
 * because no wait is longer. */
static uint64_t freertos_ticks(struct rti_port_freertos *freertos)
{
    TickType_t ticks = xTaskGetTickCount();
    if (ticks < freertos->ticks_last) {
        freertos->ticks_high += (uint64_t)portMAX_DELAY + 1;
    }
    freertos->ticks_last = ticks;
    return freertos->ticks_high + ticks;
}

static uint64_t freertos_clock_ns(struct rti_port *port)
{
    return freertos_ticks(freertos_of(port)) * NS_PER_TICK;
}

static uint64_t freertos_random(struct rti_port *port)
{
    uint64_t state = freertos_of(port)->random += UINT64_C(0x9E3779B97F4A7C15);
    state = (state ^ (state >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    state = (state ^ (state >> 27)) * UINT64_C(0x94D049BB133111EB);
    return state ^ (state >> 31);
}

static void freertos_wake(struct rti_port *port)
{
    struct rti_port_freertos *freertos = freertos_of(port);
    /* Release pairs with the scheduler's exchange in its look. */
    rti_u32_store_release(&port->attention, 1);
    if (xPortIsInsideInterrupt() != pdFALSE) {
        BaseType_t is_switch_due = pdFALSE;
        (void)xSemaphoreGiveFromISR(freertos->news, &is_switch_due);
        portYIELD_FROM_ISR(is_switch_due);
    } else {
        (void)xSemaphoreGive(freertos->news);
    }
}

/* The helper: one op after the other, whatever time each takes. */
static void freertos_help(void *arg)
{
    struct rti_port_freertos *freertos = arg;
    for (;;) {
        struct rti_op *op;
        while (!rt_spsc_pop(&freertos->asked, &op)) {
            (void)xSemaphoreTake(freertos->work, portMAX_DELAY);
        }
        op->work(op);
        bool is_pushed = rt_spsc_push(&freertos->answered, &op);
        RT_ASSERT(is_pushed);
        freertos_wake(&freertos->port);
    }
}

/* Sends as much of the waiting work to the helper as may be there. */
static void freertos_send(struct rti_port_freertos *freertos)
{
    while (freertos->with_helper < RTI_FREERTOS_WORK_MAX &&
           !rti_list_is_empty(&freertos->waiting)) {
        struct rti_link *link = rti_list_pop(&freertos->waiting);
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        bool is_pushed = rt_spsc_push(&freertos->asked, &op);
        RT_ASSERT(is_pushed);
        freertos->with_helper++;
        (void)xSemaphoreGive(freertos->work);
    }
}

static void freertos_finish(struct rti_op *op)
{
    rti_op_to_idle(op);
    op->done(op);
}

/* Gives back what was answered before this call. True if there was anything. */
static bool freertos_deliver(struct rti_port_freertos *freertos)
{
    struct rti_list batch;
    struct rti_link *link;
    struct rti_op *op;
    bool is_any = false;
    size_t count = freertos->with_helper;
    while (count > 0 && rt_spsc_pop(&freertos->answered, &op)) {
        count--;
        freertos->with_helper--;
        is_any = true;
        freertos_finish(op);
    }
    rti_list_init(&batch);
    rti_list_splice_tail(&batch, &freertos->answered_here);
    while ((link = rti_list_pop(&batch)) != NULL) {
        is_any = true;
        freertos_finish(RTI_CONTAINER_OF(link, struct rti_op, link));
    }
    freertos_send(freertos);
    return is_any;
}

/* Ticks until the deadline, rounded up; the longest wait if it is further away. */
static TickType_t freertos_ticks_until(struct rti_port_freertos *freertos, uint64_t deadline_ns)
{
    uint64_t now_ns = freertos_ticks(freertos) * NS_PER_TICK;
    if (deadline_ns <= now_ns) {
        return 0;
    }
    uint64_t ticks = (deadline_ns - now_ns - 1) / NS_PER_TICK + 1;
    return ticks >= portMAX_DELAY ? portMAX_DELAY - 1 : (TickType_t)ticks;
}

static enum rti_wait_end freertos_wait(struct rti_port *port, uint64_t deadline_ns)
{
    struct rti_port_freertos *freertos = freertos_of(port);
    for (;;) {
        if (freertos_deliver(freertos)) {
            return RTI_WAIT_WOKEN;
        }
        TickType_t ticks = freertos_ticks_until(freertos, deadline_ns);
        if (xSemaphoreTake(freertos->news, ticks) == pdTRUE) {
            (void)freertos_deliver(freertos);
            return RTI_WAIT_WOKEN;
        }
        if (freertos_ticks(freertos) * NS_PER_TICK >= deadline_ns) {
            return RTI_WAIT_DEADLINE;
        }
    }
}

static void freertos_submit(struct rti_port *port, struct rti_op *op)
{
    struct rti_port_freertos *freertos = freertos_of(port);
    rti_op_to_in_flight(op);
    if (rti_op_is_work(op)) {
        rti_list_push_tail(&freertos->waiting, &op->link);
        freertos_send(freertos);
        return;
    }
    if (op->code != RTI_OP_NOP) {
        rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    }
    rti_list_push_tail(&freertos->answered_here, &op->link);
    freertos_wake(port);
}

static void freertos_cancel(struct rti_port *port, struct rti_op *op)
{
    struct rti_port_freertos *freertos = freertos_of(port);
    if (rti_op_is_idle(op) || op->is_cancelled) {
        return;
    }
    op->is_cancelled = true;
    if (rti_op_is_work(op) && rti_link_is_linked(&op->link)) {
        /* The helper has not seen it. */
        rti_list_remove(&op->link);
        rti_op_answer(op, RT_ERR_CANCELLED, 0, 0);
        rti_list_push_tail(&freertos->answered_here, &op->link);
        freertos_wake(port);
    } else if (op->code == RTI_OP_NOP) {
        rti_op_answer(op, RT_ERR_CANCELLED, 0, 0);
    }
}

static bool freertos_attempt(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    if (op->code == RTI_OP_NOP || rti_op_is_work(op)) {
        return false;
    }
    rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    return true;
}

static rt_status freertos_close_fd(struct rti_port *port, int fd)
{
    (void)port;
    (void)fd;
    return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there are no descriptors here")};
}

static rt_status freertos_thread_start(struct rti_port *port, struct rti_port_thread *thread,
                                       void (*main)(void *arg), void *arg)
{
    (void)port;
    (void)thread;
    (void)main;
    (void)arg;
    return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("the runtime is one task")};
}

static void freertos_thread_join(struct rti_port *port, struct rti_port_thread *thread)
{
    (void)port;
    (void)thread;
    rti_panic(RTI_MODULE, __LINE__, "join of a thread that cannot exist");
}

static void *freertos_memory_map(struct rti_port *port, size_t size)
{
    (void)port;
    (void)size;
    return NULL;
}

static void freertos_memory_unmap(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    (void)memory;
    (void)size;
    rti_panic(RTI_MODULE, __LINE__, "return of memory that cannot exist");
}

static rt_status freertos_memory_guard(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    (void)memory;
    (void)size;
    return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("there are no pages here")};
}

/* A tick is the least that a task can sleep. */
static bool freertos_futex_wait(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                                uint64_t deadline_ns)
{
    struct rti_port_freertos *freertos = freertos_of(port);
    /* Acquire pairs with whoever changes the word. */
    while (rti_u32_load_acquire(word) == expected) {
        if (freertos_ticks(freertos) * NS_PER_TICK >= deadline_ns) {
            return false;
        }
        vTaskDelay(1);
    }
    return true;
}

static void freertos_futex_wake(struct rti_port *port, rti_atomic_u32 *word, uint32_t count)
{
    (void)port;
    (void)word;
    (void)count;
}

static const struct rti_port_ops freertos_ops = {
    .name = "freertos",
    .clock_ns = freertos_clock_ns,
    .random = freertos_random,
    .wait = freertos_wait,
    .wake = freertos_wake,
    .submit = freertos_submit,
    .cancel = freertos_cancel,
    .attempt = freertos_attempt,
    .close_fd = freertos_close_fd,
    .thread_start = freertos_thread_start,
    .thread_join = freertos_thread_join,
    .futex_wait = freertos_futex_wait,
    .futex_wake = freertos_futex_wake,
    .memory_map = freertos_memory_map,
    .memory_unmap = freertos_memory_unmap,
    .memory_guard = freertos_memory_guard,
};

void rti_port_freertos_init(struct rti_port_freertos *freertos, uint64_t seed)
{
    freertos->port = (struct rti_port){.ops = &freertos_ops};
    freertos->ticks_high = 0;
    freertos->ticks_last = xTaskGetTickCount();
    freertos->random = seed;
    freertos->with_helper = 0;
    rti_list_init(&freertos->waiting);
    rti_list_init(&freertos->answered_here);
    rt_status status = rt_spsc_init(&freertos->asked, freertos->asked_slots,
                                    sizeof(struct rti_op *), RTI_FREERTOS_WORK_MAX);
    RT_ASSERT(!RT_FAILED(status));
    status = rt_spsc_init(&freertos->answered, freertos->answered_slots, sizeof(struct rti_op *),
                          RTI_FREERTOS_WORK_MAX);
    RT_ASSERT(!RT_FAILED(status));
    freertos->news = xSemaphoreCreateBinaryStatic(&freertos->news_memory);
    freertos->work = xSemaphoreCreateBinaryStatic(&freertos->work_memory);
    freertos->helper = xTaskCreateStatic(freertos_help, "orrery", RT_FREERTOS_HELPER_STACK,
                                         freertos, RT_FREERTOS_HELPER_PRIORITY,
                                         freertos->helper_stack, &freertos->helper_memory);
    RT_ASSERT(freertos->news != NULL && freertos->work != NULL && freertos->helper != NULL);
}

void rti_port_freertos_deinit(struct rti_port_freertos *freertos)
{
    RT_ASSERT(freertos->with_helper == 0 && rti_list_is_empty(&freertos->waiting));
    vTaskDelete(freertos->helper);
    vSemaphoreDelete(freertos->work);
    vSemaphoreDelete(freertos->news);
    rt_spsc_destroy(&freertos->asked);
    rt_spsc_destroy(&freertos->answered);
}
