/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking pool: work that may block runs on threads, a bounded number, in two lanes.
 *
 * Name resolution has a lane of its own with one thread: a slow name server never holds up a file,
 * nor a slow disk a name.
 *
 * The scheduler keeps the backlog, a plain list of its own, and gives an op to a thread only if
 * that thread has none. So an op in the backlog is cancelled by unlinking it; no op waits behind a
 * slow one while another thread is free; and each thread needs only two SPSC queues, one there, one
 * back. Threads start when they are first needed, or all in init (is_pool_eager).
 *
 * The way of one op:
 *     scheduler  backlog -> requests, bell + 1, futex_wake
 *     thread     requests -> work(op) -> completions, wake of the port
 *     scheduler  in wait: completions -> answered; the thread gets the next of the backlog
 *
 * No request is lost: the thread reads the bell, looks into its queue, and sleeps only while the
 * bell has not changed; the scheduler pushes first and changes the bell then. No completion is
 * lost: the thread pushes first and wakes the port then, and every wait looks into the queues.
 *
 * An op that runs is not interrupted. It works in memory that it owns (op.h), so its initiator may
 * go away; it is answered with its own result when the thread is done, and is_cancelled says that
 * nobody may want it. A file it opened can so be closed by its done.
 *
 * I1  A thread has at most one op out with it, and is_busy says so.       (RT_ASSERT, push, audit)
 * I2  The backlog is empty or every thread of the lane is busy, unless the system refused to make a
 *     thread; then at least one is busy.                                  (rti_blocking_pool_audit)
 * I3  Ops in backlog and threads are counted.                             (rti_blocking_pool_audit)
 *
 * Memory order: requests and completions publish the op (the SPSC's release and acquire). The
 * bell's add pairs with its load in thread_main. is_cancelled is the only field the scheduler
 * writes while the op runs, and the thread never reads it.
 *
 * Costs: two system calls per op to wake the thread and the scheduler, none of them if the
 * scheduler is awake. Between two ops of a thread lies a turn of the scheduler. Rejected: a shared
 * queue under a lock (the scheduler would wait for a preempted thread); deeper queues per thread
 * (an op stuck behind a slow one, and no synchronous cancel). */
#define RTI_MODULE "blocking_pool"
#include "port/linux/blocking_pool.h"

static void thread_init(struct rti_blocking_thread *thread, struct rti_port *port)
{
    thread->port = port;
    rti_u32_init(&thread->bell, 0);
    rti_u32_init(&thread->is_stopping, 0);
    rt_status status = rt_spsc_init(&thread->requests, thread->requests_buffer,
                                    sizeof(struct rti_op *), RTI_BLOCKING_QUEUE_ENTRIES);
    RT_ASSERT(status.code == RT_OK);
    status = rt_spsc_init(&thread->completions, thread->completions_buffer, sizeof(struct rti_op *),
                          RTI_BLOCKING_QUEUE_ENTRIES);
    RT_ASSERT(status.code == RT_OK);
}

static void lane_init(struct rti_blocking_lane *lane, struct rti_blocking_thread *threads,
                      uint32_t threads_max)
{
    *lane = (struct rti_blocking_lane){.threads = threads, .threads_max = threads_max};
    rti_list_init(&lane->backlog);
}

void rti_blocking_pool_init(struct rti_blocking_pool *pool, struct rti_port *port,
                            uint32_t file_threads_max, struct rti_list *answered)
{
    RT_ASSERT(file_threads_max > 0 && file_threads_max <= RTI_BLOCKING_THREADS_MAX);
    pool->port = port;
    pool->answered = answered;
    for (uint32_t i = 0; i < file_threads_max; i++) {
        thread_init(&pool->file_threads[i], port);
    }
    thread_init(&pool->dns_thread, port);
    lane_init(&pool->lanes[RTI_LANE_FILE], pool->file_threads, file_threads_max);
    lane_init(&pool->lanes[RTI_LANE_DNS], &pool->dns_thread, 1);
}

static void thread_main(void *arg)
{
    struct rti_blocking_thread *thread = arg;
    struct rti_port *port = thread->port;
    for (;;) {
        /* Read before the look into the queue: pairs with the add in thread_ring. */
        uint32_t heard = rti_u32_load_acquire(&thread->bell);
        struct rti_op *op = NULL;
        if (rt_spsc_pop(&thread->requests, &op)) {
            op->work(op);
            bool is_pushed = rt_spsc_push(&thread->completions, &op);
            RT_ASSERT(is_pushed);
            port->ops->wake(port);
            continue;
        }
        /* Pairs with the release in rti_blocking_pool_stop. */
        if (rti_u32_load_acquire(&thread->is_stopping) != 0) {
            return;
        }
        port->ops->futex_wait(port, &thread->bell, heard, RTI_TIME_NEVER);
    }
}

static void thread_ring(struct rti_blocking_thread *thread)
{
    /* After the push or the stop it tells of; pairs with the acquire in thread_main. */
    rti_u32_add_acqrel(&thread->bell, 1);
    thread->port->ops->futex_wake(thread->port, &thread->bell, 1);
}

static rt_status lane_start_thread(struct rti_blocking_lane *lane)
{
    RT_ASSERT(lane->threads_started < lane->threads_max);
    struct rti_blocking_thread *thread = &lane->threads[lane->threads_started];
    struct rti_port *port = thread->port;
    rt_status status = port->ops->thread_start(port, &thread->thread, thread_main, thread);
    if (status.code == RT_OK) {
        thread->is_started = true;
        lane->threads_started++;
    }
    return status;
}

rt_status rti_blocking_pool_start_all(struct rti_blocking_pool *pool)
{
    for (int i = 0; i < RTI_LANE_COUNT; i++) {
        struct rti_blocking_lane *lane = &pool->lanes[i];
        while (lane->threads_started < lane->threads_max) {
            rt_status status = lane_start_thread(lane);
            if (status.code != RT_OK) {
                return status;
            }
        }
    }
    return RT_SUCCESS;
}

void rti_blocking_pool_stop(struct rti_blocking_pool *pool)
{
    for (int i = 0; i < RTI_LANE_COUNT; i++) {
        struct rti_blocking_lane *lane = &pool->lanes[i];
        for (uint32_t k = 0; k < lane->threads_started; k++) {
            /* Pairs with the acquire in thread_main. */
            rti_u32_store_release(&lane->threads[k].is_stopping, 1);
            thread_ring(&lane->threads[k]);
        }
    }
    for (int i = 0; i < RTI_LANE_COUNT; i++) {
        struct rti_blocking_lane *lane = &pool->lanes[i];
        for (uint32_t k = 0; k < lane->threads_started; k++) {
            pool->port->ops->thread_join(pool->port, &lane->threads[k].thread);
            lane->threads[k].is_started = false;
        }
        lane->threads_started = 0;
    }
}

/* A thread without an op, started if need be; NULL if there is none. */
static struct rti_blocking_thread *lane_free_thread(struct rti_blocking_lane *lane)
{
    if (lane->busy_count < lane->threads_started) {
        for (uint32_t i = 0; i < lane->threads_started; i++) {
            if (!lane->threads[i].is_busy) {
                return &lane->threads[i];
            }
        }
    }
    if (lane->threads_started == lane->threads_max || lane_start_thread(lane).code != RT_OK) {
        return NULL;
    }
    return &lane->threads[lane->threads_started - 1];
}

static void thread_give(struct rti_blocking_lane *lane, struct rti_blocking_thread *thread)
{
    RT_ASSERT(!thread->is_busy && lane->backlog_count > 0);
    struct rti_op *op = rti_op_of_link(rti_list_pop(&lane->backlog));
    lane->backlog_count--;
    rti_stage_to_running(op);
    thread->is_busy = true;
    lane->busy_count++;
    bool is_pushed = rt_spsc_push(&thread->requests, &op);
    RT_ASSERT(is_pushed);
    thread_ring(thread);
}

/* Gives the backlog to the threads that have nothing. */
static void lane_dispatch(struct rti_blocking_pool *pool, struct rti_blocking_lane *lane)
{
    while (!rti_list_is_empty(&lane->backlog)) {
        struct rti_blocking_thread *thread = lane_free_thread(lane);
        if (thread == NULL) {
            break;
        }
        thread_give(lane, thread);
    }
    /* The system makes no thread and there is none that could take it later. */
    while (lane->threads_started == 0 && !rti_list_is_empty(&lane->backlog)) {
        struct rti_op *op = rti_op_of_link(rti_list_pop(&lane->backlog));
        lane->backlog_count--;
        rti_op_answer(op, RT_ERR_NOMEM, 0, 0);
        rti_stage_to_answered(op, pool->answered);
    }
}

static struct rti_blocking_lane *pool_lane(struct rti_blocking_pool *pool, const struct rti_op *op)
{
    RT_ASSERT(rti_op_is_work(op));
    return &pool->lanes[op->code == RTI_OP_WORK_DNS ? RTI_LANE_DNS : RTI_LANE_FILE];
}

void rti_blocking_pool_submit(struct rti_blocking_pool *pool, struct rti_op *op)
{
    RT_ASSERT(op->work != NULL);
    struct rti_blocking_lane *lane = pool_lane(pool, op);
    rti_stage_to_backlog(op, &lane->backlog);
    lane->backlog_count++;
    lane_dispatch(pool, lane);
    if (lane->backlog_peak < lane->backlog_count) {
        lane->backlog_peak = lane->backlog_count;
    }
}

void rti_blocking_pool_withdraw(struct rti_blocking_pool *pool, struct rti_op *op)
{
    RT_ASSERT(op->stage == RTI_STAGE_BACKLOG);
    struct rti_blocking_lane *lane = pool_lane(pool, op);
    rti_list_remove(&op->link);
    lane->backlog_count--;
    lane->withdrawn_count++;
}

void rti_blocking_pool_answer_backlog(struct rti_blocking_pool *pool, rt_status_code status)
{
    for (int i = 0; i < RTI_LANE_COUNT; i++) {
        struct rti_link *link;
        while ((link = rti_list_peek(&pool->lanes[i].backlog)) != NULL) {
            struct rti_op *op = rti_op_of_link(link);
            rti_blocking_pool_withdraw(pool, op);
            rti_op_answer(op, status, 0, 0);
            rti_stage_to_answered(op, pool->answered);
        }
    }
}

static void thread_collect(struct rti_blocking_lane *lane, struct rti_blocking_thread *thread,
                           struct rti_list *into)
{
    struct rti_op *op = NULL;
    if (thread->is_busy && rt_spsc_pop(&thread->completions, &op)) {
        RT_ASSERT(op->stage == RTI_STAGE_RUNNING);
        thread->is_busy = false;
        lane->busy_count--;
        lane->completed_count++;
        rti_stage_to_answered(op, into);
    }
}

void rti_blocking_pool_collect(struct rti_blocking_pool *pool, struct rti_list *into)
{
    for (int i = 0; i < RTI_LANE_COUNT; i++) {
        struct rti_blocking_lane *lane = &pool->lanes[i];
        if (lane->busy_count == 0) {
            continue;
        }
        for (uint32_t k = 0; k < lane->threads_max; k++) {
            thread_collect(lane, &lane->threads[k], into);
        }
        lane_dispatch(pool, lane);
    }
}

size_t rti_blocking_pool_audit(const struct rti_blocking_pool *pool)
{
    size_t count = 0;
    for (int i = 0; i < RTI_LANE_COUNT; i++) {
        const struct rti_blocking_lane *lane = &pool->lanes[i];
        uint32_t busy_count = 0;
        for (uint32_t k = 0; k < lane->threads_max; k++) {
            RT_ASSERT(lane->threads[k].is_started || !lane->threads[k].is_busy);
            busy_count += lane->threads[k].is_busy ? 1U : 0U;
        }
        RT_ASSERT(busy_count == lane->busy_count && lane->threads_started <= lane->threads_max);
        RT_ASSERT(rti_list_audit(&lane->backlog) == lane->backlog_count);
        RT_ASSERT(lane->backlog_count == 0 || busy_count == lane->threads_started);
        count += busy_count + lane->backlog_count;
    }
    return count;
}
