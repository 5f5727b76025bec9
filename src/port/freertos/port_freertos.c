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

uint64_t rti_freertos_clock_ns(struct rti_freertos_clock *clock)
{
    TickType_t ticks = xTaskGetTickCount();
    if (ticks < clock->last) {
        clock->high += (uint64_t)portMAX_DELAY + 1;
    }
    clock->last = ticks;
    return (clock->high + ticks) * NS_PER_TICK;
}

TickType_t rti_freertos_ticks_until(uint64_t now_ns, uint64_t time_ns)
{
    if (time_ns <= now_ns) {
        return 0;
    }
    uint64_t ticks = (time_ns - now_ns - 1) / NS_PER_TICK + 1;
    return ticks >= portMAX_DELAY / 4 ? portMAX_DELAY / 4 : (TickType_t)ticks;
}

static uint64_t freertos_clock_ns(struct rti_port *port)
{
    return rti_freertos_clock_ns(&freertos_of(port)->clock);
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
    /* Release pairs with the scheduler's exchange in its look. */
    rti_u32_store_release(&port->attention, 1);
    rti_freertos_give(freertos_of(port)->news);
}

/* The servant of files: one work after the other, whatever time each takes. */
static void freertos_serve_files(void *arg)
{
    struct rti_port_freertos *freertos = arg;
    for (;;) {
        uintptr_t entry;
        while (!rti_servant_next(&freertos->file, &entry)) {
            rti_servant_sleep(&freertos->file, portMAX_DELAY);
        }
        struct rti_op *op = (struct rti_op *)entry;
        op->work(op);
        rti_servant_answer(&freertos->file, entry);
    }
}

/* The servant of time: each entry is a tick at which it rings, and is answered then or when a newer
 * one takes its place. */
static void freertos_serve_time(void *arg)
{
    struct rti_port_freertos *freertos = arg;
    uintptr_t target = 0;
    bool is_aimed = false;
    for (;;) {
        uintptr_t entry;
        while (rti_servant_next(&freertos->timer, &entry)) {
            if (is_aimed) {
                rti_servant_answer(&freertos->timer, target);
            }
            target = entry;
            is_aimed = true;
        }
        int32_t left = (int32_t)((uint32_t)target - (uint32_t)xTaskGetTickCount());
        if (is_aimed && left <= 0) {
            is_aimed = false;
            rti_servant_answer(&freertos->timer, target);
        }
        rti_servant_sleep(&freertos->timer, is_aimed ? (TickType_t)left : portMAX_DELAY);
    }
}

/* Sees to a ring at the deadline. False: the timer has not even seen the last ones; try again. */
static bool freertos_aim(struct rti_port_freertos *freertos, uint64_t deadline_ns)
{
    if (deadline_ns == RTI_TIME_NEVER) {
        return true;
    }
    uint64_t now_ns = rti_freertos_clock_ns(&freertos->clock);
    TickType_t target = freertos->clock.last + rti_freertos_ticks_until(now_ns, deadline_ns);
    if (freertos->is_aimed && freertos->aimed == target) {
        return true;
    }
    freertos->is_aimed = rti_servant_ask(&freertos->timer, target);
    freertos->aimed = target;
    return freertos->is_aimed;
}

/* Sends as much of the waiting work as the servant has room for. */
static void freertos_send(struct rti_port_freertos *freertos)
{
    struct rti_link *link;
    while ((link = rti_list_peek(&freertos->waiting)) != NULL) {
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        /* Out of the list first: from the ask on it is the servant's. */
        rti_list_remove(link);
        if (!rti_servant_ask(&freertos->file, (uintptr_t)op)) {
            rti_list_push_head(&freertos->waiting, link);
            return;
        }
    }
}

static void freertos_finish(struct rti_port_freertos *freertos, struct rti_op *op)
{
    rti_op_to_idle(op);
    rti_port_count(&freertos->port.counts.events);
    op->done(op);
}

/* Gives back what was answered before this call: files, then the network. True if there was
 * anything. What the timer says needs no answer. */
static bool freertos_deliver(struct rti_port_freertos *freertos)
{
    struct rti_list batch;
    struct rti_link *link;
    struct rti_op *op;
    uintptr_t entry;
    rti_list_init(&batch);
    size_t count = freertos->file.with_it;
    while (count > 0 && rti_servant_take(&freertos->file, &entry)) {
        count--;
        rti_list_push_tail(&batch, &((struct rti_op *)entry)->link);
    }
    while (freertos->net != NULL && (op = rti_freertos_net_take(freertos->net)) != NULL) {
        rti_list_push_tail(&batch, &op->link);
    }
    while (rti_servant_take(&freertos->timer, &entry)) {
        freertos->is_aimed = freertos->is_aimed && (TickType_t)entry != freertos->aimed;
    }
    rti_list_splice_tail(&batch, &freertos->answered_here);
    bool is_any = !rti_list_is_empty(&batch);
    while ((link = rti_list_pop(&batch)) != NULL) {
        freertos_finish(freertos, RTI_CONTAINER_OF(link, struct rti_op, link));
    }
    freertos_send(freertos);
    return is_any;
}

static enum rti_wait_end freertos_wait(struct rti_port *port, uint64_t deadline_ns)
{
    struct rti_port_freertos *freertos = freertos_of(port);
    for (;;) {
        if (freertos_deliver(freertos)) {
            return RTI_WAIT_WOKEN;
        }
        if (rti_freertos_clock_ns(&freertos->clock) >= deadline_ns) {
            return RTI_WAIT_DEADLINE;
        }
        bool is_aimed = freertos_aim(freertos, deadline_ns);
        if (xSemaphoreTake(freertos->news, is_aimed ? portMAX_DELAY : 1) == pdTRUE) {
            (void)freertos_deliver(freertos);
            bool is_time = rti_freertos_clock_ns(&freertos->clock) >= deadline_ns;
            return is_time ? RTI_WAIT_DEADLINE : RTI_WAIT_WOKEN;
        }
    }
}

static bool op_is_of_descriptor(const struct rti_op *op)
{
    return op->code != RTI_OP_NOP && !rti_op_is_work(op);
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
    if (freertos->net != NULL && op_is_of_descriptor(op)) {
        rti_freertos_net_submit(freertos->net, op);
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
    if (freertos->net != NULL && op_is_of_descriptor(op)) {
        rti_freertos_net_cancel(freertos->net, op);
        return;
    }
    op->is_cancelled = true;
    if (rti_op_is_work(op) && rti_link_is_linked(&op->link)) {
        /* The servant has not seen it. */
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
    struct rti_port_freertos *freertos = freertos_of(port);
    if (!op_is_of_descriptor(op)) {
        return false;
    }
    if (freertos->net != NULL) {
        return rti_freertos_net_attempt(freertos->net, op);
    }
    rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    return true;
}

static rt_status freertos_close_fd(struct rti_port *port, int fd)
{
    struct rti_port_freertos *freertos = freertos_of(port);
    if (freertos->net == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there are no descriptors here")};
    }
    return rti_freertos_net_close(freertos->net, fd);
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
    /* Acquire pairs with whoever changes the word. */
    while (rti_u32_load_acquire(word) == expected) {
        if (freertos_clock_ns(port) >= deadline_ns) {
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
    freertos->clock = (struct rti_freertos_clock){.last = xTaskGetTickCount()};
    freertos->random = seed;
    freertos->is_aimed = false;
    freertos->net = NULL;
    rti_list_init(&freertos->waiting);
    rti_list_init(&freertos->answered_here);
    freertos->news = xSemaphoreCreateBinaryStatic(&freertos->news_memory);
    RT_ASSERT(freertos->news != NULL);
    const struct rti_servant_config file = {.name = "orrery file",
                                            .serve = freertos_serve_files,
                                            .arg = freertos,
                                            .priority = RT_FREERTOS_HELPER_PRIORITY,
                                            .stack = freertos->file_stack,
                                            .stack_words = RT_FREERTOS_HELPER_STACK,
                                            .port = &freertos->port,
                                            .news = freertos->news};
    const struct rti_servant_config timer = {.name = "orrery timer",
                                             .serve = freertos_serve_time,
                                             .arg = freertos,
                                             .priority = RT_FREERTOS_HELPER_PRIORITY,
                                             .stack = freertos->timer_stack,
                                             .stack_words = RTI_FREERTOS_TIMER_STACK,
                                             .port = &freertos->port,
                                             .news = freertos->news};
    rti_servant_start(&freertos->file, &file);
    rti_servant_start(&freertos->timer, &timer);
}

void rti_port_freertos_deinit(struct rti_port_freertos *freertos)
{
    uintptr_t entry;
    RT_ASSERT(rti_list_is_empty(&freertos->waiting) && freertos->net == NULL);
    /* A last ring makes the timer answer for all that it was told. */
    while (!rti_servant_ask(&freertos->timer, xTaskGetTickCount())) {
        vTaskDelay(1);
        (void)rti_servant_take(&freertos->timer, &entry);
    }
    while (freertos->timer.with_it > 0) {
        if (!rti_servant_take(&freertos->timer, &entry)) {
            vTaskDelay(1);
        }
    }
    rti_servant_stop(&freertos->timer);
    rti_servant_stop(&freertos->file);
    vSemaphoreDelete(freertos->news);
}
