/* SPDX-License-Identifier: Apache-2.0 */
/* The port to FreeRTOS over kernel_on_threads.c: one task for the runtime, servants over queues,
 * one semaphore that ends every wait. The thread of the test is the runtime's task. */
#include "port/freertos/port_freertos.h"

#include <pthread.h>

#include "base/time.h"
#include "freertos/kernel_on_threads.h"
#include "port/op.h"
#include "support/test.h"

#define WORKS 20

static struct rti_port_freertos freertos;
static struct rti_port *const port = &freertos.port;

static void start(void)
{
    rti_port_freertos_init(&freertos, 1);
}

static void stop(void)
{
    rti_port_freertos_deinit(&freertos);
    CHECK_EQ(kernel_task_count(), 0);
}

static enum rti_wait_end wait_until(uint64_t deadline_ns)
{
    return port->ops->wait(port, deadline_ns);
}

static uint64_t now(void)
{
    return port->ops->clock_ns(port);
}

TEST(freertos_runtime_is_one_task_and_what_blocks_is_done_by_tasks_below_it)
{
    start();
    CHECK_EQ(kernel_task_count(),
             2); /* files and time; the network is the third, if there is one */
    CHECK_EQ(kernel_priority_max(), RT_FREERTOS_HELPER_PRIORITY);
    CHECK(!kernel_is_in_a_task());
    struct rti_port_thread thread;
    CHECK_STATUS(port->ops->thread_start(port, &thread, NULL, NULL), RT_ERR_UNSUPPORTED);
    stop();
}

struct job {
    struct rti_op op;
    bool was_in_a_task;
    bool was_done_in_a_task;
    bool is_done;
};

static size_t done_count;
static const struct job *done_order[WORKS + 1];

static void job_work(struct rti_op *op)
{
    struct job *job = RTI_CONTAINER_OF(op, struct job, op);
    job->was_in_a_task = kernel_is_in_a_task();
    rti_op_answer(op, RT_OK, 7, 0);
}

static void job_done(struct rti_op *op)
{
    struct job *job = RTI_CONTAINER_OF(op, struct job, op);
    job->was_done_in_a_task = kernel_is_in_a_task();
    job->is_done = true;
    done_order[done_count++] = job;
}

static void submit_work(struct job *job)
{
    rti_op_init(&job->op, RTI_OP_WORK, job_done);
    job->op.work = job_work;
    port->ops->submit(port, &job->op);
}

TEST(freertos_work_is_done_by_the_task_of_files_and_answered_in_the_runtime_s)
{
    static struct job job;
    start();
    submit_work(&job);
    while (!job.is_done) {
        CHECK(wait_until(RTI_TIME_NEVER) == RTI_WAIT_WOKEN);
    }
    CHECK(job.was_in_a_task && !job.was_done_in_a_task);
    CHECK(job.op.status == RT_OK && job.op.result == 7);
    stop();
}

TEST(freertos_more_work_than_the_queue_holds_is_all_done_in_order)
{
    static struct job jobs[WORKS];
    _Static_assert(WORKS > 2 * RTI_FREERTOS_ASKED_MAX, "more than the queue holds");
    start();
    for (size_t i = 0; i < WORKS; i++) {
        submit_work(&jobs[i]);
    }
    while (done_count < WORKS) {
        CHECK(wait_until(RTI_TIME_NEVER) == RTI_WAIT_WOKEN);
    }
    for (size_t i = 0; i < WORKS; i++) {
        CHECK(done_order[i] == &jobs[i]);
    }
    stop();
}

/* Work that lasts until it is let go, so that what is behind it is known to wait. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void gated_work(struct rti_op *op)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    job_work(op);
}

TEST(freertos_signals_that_fall_together_lose_no_answer)
{
    static struct job jobs[3];
    static struct job nop;
    start();
    pthread_mutex_lock(&gate);
    for (size_t i = 0; i < 3; i++) {
        rti_op_init(&jobs[i].op, RTI_OP_WORK, job_done);
        jobs[i].op.work = gated_work;
        port->ops->submit(port, &jobs[i].op);
    }
    pthread_mutex_unlock(&gate);
    kernel_let_others_finish(); /* all three are answered before the runtime looks */
    rti_op_init(&nop.op, RTI_OP_NOP, job_done);
    port->ops->submit(port, &nop.op);
    CHECK(wait_until(RTI_TIME_NEVER) == RTI_WAIT_WOKEN);
    CHECK_EQ(done_count, 4);
    /* Files before what the port itself answers, each in its order. */
    CHECK(done_order[0] == &jobs[0] && done_order[2] == &jobs[2] && done_order[3] == &nop);
    stop();
}

TEST(freertos_deadline_is_met_at_the_tick_that_follows_it_and_not_before)
{
    static const uint64_t delays[] = {1, 1500 * RTI_NS_PER_US, 2 * RTI_NS_PER_MS,
                                      10 * RTI_NS_PER_MS + 1};
    static const uint64_t ticks[] = {1, 2, 2, 11};
    start();
    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        uint64_t begin = now();
        enum rti_wait_end end;
        while ((end = wait_until(begin + delays[i])) != RTI_WAIT_DEADLINE) {
            CHECK(end == RTI_WAIT_WOKEN);
        }
        CHECK_EQ(now() - begin, ticks[i] * RTI_NS_PER_MS);
    }
    stop();
}

TEST(freertos_nearer_deadline_takes_the_place_of_a_farther_one)
{
    start();
    uint64_t begin = now();
    port->ops->wake(port);
    CHECK(wait_until(begin + 1000 * RTI_NS_PER_MS) == RTI_WAIT_WOKEN);
    while (wait_until(begin + 5 * RTI_NS_PER_MS) != RTI_WAIT_DEADLINE) {
    }
    CHECK_EQ(now() - begin, 5 * RTI_NS_PER_MS);
    stop();
}

TEST(freertos_wake_before_the_wait_ends_it_and_two_end_one)
{
    start();
    port->ops->wake(port);
    port->ops->wake(port);
    uint64_t begin = now();
    CHECK(wait_until(begin + RTI_NS_PER_MS) == RTI_WAIT_WOKEN);
    CHECK_EQ(now(), begin);
    enum rti_wait_end end;
    while ((end = wait_until(begin + RTI_NS_PER_MS)) == RTI_WAIT_WOKEN) {
    }
    CHECK(end == RTI_WAIT_DEADLINE && now() == begin + RTI_NS_PER_MS);
    stop();
}

static void wake_port(void *arg)
{
    (void)arg;
    port->ops->wake(port);
}

TEST(freertos_wake_from_an_interrupt_gives_the_same_semaphore_as_an_interrupt_must)
{
    start();
    kernel_interrupt(wake_port, NULL);
    CHECK_EQ(kernel_gives_from_interrupts(), 1);
    CHECK(rti_u32_load_relaxed(&port->attention) == 1);
    CHECK(wait_until(RTI_TIME_NEVER) == RTI_WAIT_WOKEN);
    stop();
}

TEST(freertos_clock_goes_on_where_the_ticks_of_the_kernel_wrap)
{
    kernel_set_ticks(portMAX_DELAY - 3);
    start();
    uint64_t begin = now();
    while (wait_until(begin + 10 * RTI_NS_PER_MS) != RTI_WAIT_DEADLINE) {
    }
    CHECK_EQ(now() - begin, 10 * RTI_NS_PER_MS);
    stop();
}

TEST(freertos_cancel_reaches_work_that_the_task_of_files_has_not_seen)
{
    static struct job jobs[RTI_FREERTOS_ASKED_MAX + 1];
    start();
    pthread_mutex_lock(&gate);
    for (size_t i = 0; i <= RTI_FREERTOS_ASKED_MAX; i++) {
        rti_op_init(&jobs[i].op, RTI_OP_WORK, job_done);
        jobs[i].op.work = gated_work;
        port->ops->submit(port, &jobs[i].op);
    }
    struct job *last = &jobs[RTI_FREERTOS_ASKED_MAX];
    port->ops->cancel(port, &last->op);
    while (!last->is_done) {
        CHECK(wait_until(RTI_TIME_NEVER) == RTI_WAIT_WOKEN);
    }
    CHECK(last->op.status == RT_ERR_CANCELLED && done_count == 1);
    pthread_mutex_unlock(&gate);
    while (done_count <= RTI_FREERTOS_ASKED_MAX) {
        CHECK(wait_until(RTI_TIME_NEVER) == RTI_WAIT_WOKEN);
    }
    stop();
}
