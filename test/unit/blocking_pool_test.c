/* SPDX-License-Identifier: Apache-2.0 */
/* Work that may block: it runs elsewhere, in bounded number, in two lanes, and is told once. */
#define _GNU_SOURCE
#define RTI_MODULE "blocking_pool_test"
#include "support/port_fixture.h"

#include <pthread.h>

static rti_atomic_u32 gate;        /* 0: work blocks in front of it */
static rti_atomic_u32 running;     /* works that have begun */
static rti_atomic_u32 running_now; /* works between begin and end */
static rti_atomic_u32 running_peak;
static pthread_t scheduler_thread;

static void gate_open(void)
{
    rti_u32_store_release(&gate, 1);
    port->ops->futex_wake(port, &gate, UINT32_MAX);
}

/* Begins, waits for the gate, ends with 7. */
static void work_at_the_gate(struct rti_op *op)
{
    CHECK(!pthread_equal(pthread_self(), scheduler_thread));
    uint32_t now = rti_u32_add_acqrel(&running_now, 1) + 1;
    uint32_t peak = rti_u32_load_relaxed(&running_peak);
    while (peak < now && !rti_u32_cas_relaxed(&running_peak, &peak, now)) {
    }
    rti_u32_add_acqrel(&running, 1);
    port->ops->futex_wake(port, &running, UINT32_MAX);
    while (rti_u32_load_acquire(&gate) == 0) {
        port->ops->futex_wait(port, &gate, 0, RTI_TIME_NEVER);
    }
    rti_u32_sub_acqrel(&running_now, 1);
    op->result = 7;
}

static void work_quick(struct rti_op *op)
{
    op->result = (int64_t)op->length * 2;
}

static void work_failing(struct rti_op *op)
{
    op->status = RT_ERR_IO;
    op->error = EIO;
}

static void work_submit(struct probe *probe, enum rti_op_code code, void (*work)(struct rti_op *op))
{
    probe_init(probe, code, -1, NULL, 21);
    probe->op.work = work;
    port->ops->submit(port, &probe->op);
}

static void pool_open(const struct rti_port_linux_config *config)
{
    scheduler_thread = pthread_self();
    fixture_open(config);
}

/* Until `count` works have begun; without the port's wait, so that nothing is told meanwhile. */
static void wait_running(uint32_t count)
{
    uint32_t seen;
    while ((seen = rti_u32_load_acquire(&running)) < count) {
        port->ops->futex_wait(port, &running, seen, RTI_TIME_NEVER);
    }
}

static struct rti_blocking_lane *file_lane(void)
{
    return &fixture.pool.lanes[RTI_LANE_FILE];
}

TEST(pool_work_runs_on_another_thread_and_is_told_by_wait)
{
    struct probe good;
    struct probe bad;
    pool_open(NULL);
    work_submit(&good, RTI_OP_WORK, work_quick);
    work_submit(&bad, RTI_OP_WORK, work_failing);
    fixture_wait_for(&good, 1);
    fixture_wait_for(&bad, 1);
    CHECK_ANSWER(&good, RT_OK, 42);
    CHECK_ANSWER(&bad, RT_ERR_IO, 0);
    CHECK_EQ(bad.op.error, EIO);
    fixture_close();
}

TEST(pool_threads_start_when_first_needed)
{
    struct probe probe;
    size_t before = threads_outside();
    pool_open(NULL);
    CHECK_EQ(file_lane()->threads_started, 0);
    for (unsigned i = 0; i < 10; i++) {
        work_submit(&probe, RTI_OP_WORK, work_quick);
        fixture_wait_for(&probe, 1);
    }
    CHECK_EQ(file_lane()->threads_started, 1);
    threads_await(before + 1);
    fixture_close();
}

TEST(pool_threads_all_start_in_init_if_told_so)
{
    pool_open(&(struct rti_port_linux_config){.pool_threads = 3, .is_pool_eager = true});
    CHECK_EQ(file_lane()->threads_started, 3);
    CHECK_EQ(fixture.pool.lanes[RTI_LANE_DNS].threads_started, 1);
    fixture_close();
}

TEST(pool_is_bounded_and_the_rest_queues_in_order)
{
    struct probe probes[6];
    pool_open(&(struct rti_port_linux_config){.pool_threads = 2});
    for (size_t i = 0; i < 6; i++) {
        work_submit(&probes[i], RTI_OP_WORK, work_at_the_gate);
    }
    wait_running(2);
    CHECK_EQ(file_lane()->busy_count, 2);
    CHECK_EQ(file_lane()->backlog_count, 4);
    CHECK_EQ(file_lane()->backlog_peak, 4);
    fixture_poll();
    CHECK_EQ(answers_told, 0);
    gate_open();
    for (size_t i = 0; i < 6; i++) {
        while (probes[i].answers == 0) {
            port->ops->wait(port, RTI_TIME_NEVER);
        }
        CHECK_ANSWER(&probes[i], RT_OK, 7);
    }
    CHECK_EQ(rti_u32_load_relaxed(&running_peak), 2);
    CHECK_EQ(rti_u32_load_relaxed(&running), 6);
    CHECK_EQ(file_lane()->completed_count, 6);
    fixture_close();
}

TEST(pool_names_never_queue_behind_files)
{
    struct probe files[3];
    struct probe name;
    pool_open(&(struct rti_port_linux_config){.pool_threads = 1});
    for (size_t i = 0; i < 3; i++) {
        work_submit(&files[i], RTI_OP_WORK, work_at_the_gate);
    }
    work_submit(&name, RTI_OP_WORK_DNS, work_quick);
    fixture_wait_for(&name, 1);
    CHECK_ANSWER(&name, RT_OK, 42);
    CHECK_EQ(files[0].answers, 0);
    gate_open();
    fixture_wait_for(&files[2], 1);
    fixture_close();
}

TEST(pool_cancel_of_queued_work_keeps_it_from_running)
{
    struct probe first;
    struct probe queued;
    pool_open(&(struct rti_port_linux_config){.pool_threads = 1});
    work_submit(&first, RTI_OP_WORK, work_at_the_gate);
    work_submit(&queued, RTI_OP_WORK, work_at_the_gate);
    port->ops->cancel(port, &queued.op);
    port->ops->cancel(port, &queued.op);
    fixture_wait_for(&queued, 1);
    CHECK_ANSWER(&queued, RT_ERR_CANCELLED, 0);
    gate_open();
    fixture_wait_for(&first, 1);
    fixture_poll();
    CHECK_EQ(rti_u32_load_relaxed(&running), 1);
    CHECK_EQ(file_lane()->withdrawn_count, 1);
    fixture_close();
}

TEST(pool_cancel_of_running_work_lets_it_end_and_tells_its_result)
{
    struct probe probe;
    pool_open(NULL);
    work_submit(&probe, RTI_OP_WORK, work_at_the_gate);
    wait_running(1);
    port->ops->cancel(port, &probe.op);
    fixture_poll();
    CHECK_EQ(probe.answers, 0);
    CHECK(!rti_op_is_idle(&probe.op));
    gate_open();
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 7);
    CHECK(probe.op.is_cancelled);
    fixture_close();
}

TEST(pool_cancel_after_the_work_ended_keeps_its_result)
{
    struct probe probe;
    pool_open(NULL);
    work_submit(&probe, RTI_OP_WORK, work_at_the_gate);
    gate_open();
    while (rti_u32_load_acquire(&running) == 0 || rti_u32_load_acquire(&running_now) != 0) {
        rti_spin_hint();
    }
    port->ops->cancel(port, &probe.op);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 7);
    fixture_close();
}

TEST(pool_completions_are_told_before_those_of_descriptors)
{
    int fds[2];
    char byte;
    struct probe net;
    struct probe file;
    pool_open(NULL);
    socket_pair(fds);
    CHECK_EQ(write(fds[1], "x", 1), 1);
    probe_submit(&net, RTI_OP_READ, fds[0], &byte, 1);
    work_submit(&file, RTI_OP_WORK, work_quick);
    /* The work is over when its thread wakes the port. */
    while (rti_u32_load_acquire(&fixture.poller.wake.word) != RTI_WAKE_CALLED) {
        rti_spin_hint();
    }
    port->ops->wait(port, RTI_TIME_NEVER);
    CHECK_ANSWER(&net, RT_OK, 1);
    CHECK_ANSWER(&file, RT_OK, 42);
    CHECK(file.turn < net.turn);
    fixture_close();
}

static unsigned chain_left;

static void chain_next(struct probe *probe)
{
    CHECK_EQ(probe->op.result, 42);
    if (chain_left > 0) {
        chain_left--;
        port->ops->submit(port, &probe->op);
    }
}

TEST(pool_ten_thousand_works_are_each_told_once)
{
    struct probe probes[16];
    pool_open(NULL);
    chain_left = 10000 - 16;
    for (size_t i = 0; i < 16; i++) {
        work_submit(&probes[i], RTI_OP_WORK, work_quick);
        probes[i].then = chain_next;
    }
    while (fixture.in_flight_count > 0) {
        port->ops->wait(port, RTI_TIME_NEVER);
    }
    CHECK_EQ(answers_told, 10000);
    CHECK_EQ(file_lane()->completed_count, 10000);
    fixture_close();
}

/* Opens the gate when the pool is being stopped: after a moment on another thread. */
static void open_later(void *arg)
{
    (void)arg;
    wait_running(1);
    usleep(2000);
    gate_open();
}

TEST(pool_shutdown_waits_for_what_runs_and_leaves_no_thread_and_no_descriptor)
{
    struct probe ran;
    struct probe queued;
    struct rti_port_thread opener;
    size_t threads_before = threads_outside();
    size_t fds_before = count_fds();
    pool_open(&(struct rti_port_linux_config){.pool_threads = 1});
    work_submit(&ran, RTI_OP_WORK, work_at_the_gate);
    work_submit(&queued, RTI_OP_WORK, work_at_the_gate);
    CHECK_OK(port->ops->thread_start(port, &opener, open_later, NULL));
    wait_running(1);
    rti_port_linux_deinit(&fixture);
    CHECK_ANSWER(&ran, RT_OK, 7);
    CHECK_ANSWER(&queued, RT_ERR_CANCELLED, 0);
    rti_linux_thread_join(port, &opener);
    CHECK_EQ(count_fds(), fds_before);
    threads_await(threads_before);
}

TEST(pool_port_can_be_made_again_after_its_end)
{
    struct probe probe;
    for (int i = 0; i < 20; i++) {
        pool_open(NULL);
        work_submit(&probe, RTI_OP_WORK, work_quick);
        fixture_wait_for(&probe, 1);
        CHECK_ANSWER(&probe, RT_OK, 42);
        fixture_close();
    }
}

TEST(pool_of_too_many_threads_is_refused)
{
    struct rti_port_linux_config config = {.pool_threads = RTI_BLOCKING_THREADS_MAX + 1};
    CHECK_STATUS(rti_port_linux_init(&fixture, &config), RT_ERR_INVALID);
    config.pool_threads = RTI_BLOCKING_THREADS_MAX;
    pool_open(&config);
    fixture_close();
}

static unsigned threads_allowed;

static rt_status thread_start_limited(struct rti_port *unused, struct rti_port_thread *thread,
                                      void (*main)(void *arg), void *arg)
{
    if (threads_allowed == 0) {
        return (rt_status){RT_ERR_NOMEM, "no thread, says the test"};
    }
    threads_allowed--;
    return rti_linux_thread_start(unused, thread, main, arg);
}

TEST(pool_without_a_thread_answers_nomem_and_with_one_queues)
{
    struct probe probes[3];
    pool_open(NULL);
    struct rti_port_ops ops = *port->ops;
    ops.thread_start = thread_start_limited;
    port->ops = &ops;
    work_submit(&probes[0], RTI_OP_WORK, work_at_the_gate);
    fixture_wait_for(&probes[0], 1);
    CHECK_ANSWER(&probes[0], RT_ERR_NOMEM, 0);
    threads_allowed = 1;
    for (size_t i = 0; i < 3; i++) {
        work_submit(&probes[i], RTI_OP_WORK, work_at_the_gate);
    }
    rti_port_linux_audit(&fixture);
    CHECK_EQ(file_lane()->busy_count, 1);
    CHECK_EQ(file_lane()->backlog_count, 2);
    gate_open();
    fixture_wait_for(&probes[2], 1);
    CHECK_EQ(rti_u32_load_relaxed(&running_peak), 1);
    fixture_close();
}

static rti_atomic_u32 is_pushed;

/* Sleeps on its bell only when the request is pushed and rung: the worst moment for it. */
static bool futex_wait_late(struct rti_port *unused, rti_atomic_u32 *word, uint32_t expected,
                            uint64_t deadline_ns)
{
    if (word == &fixture.pool.file_threads[0].bell) {
        while (rti_u32_load_acquire(&is_pushed) == 0) {
            rti_spin_hint();
        }
    }
    return rti_linux_futex_wait(unused, word, expected, deadline_ns);
}

TEST(pool_request_between_the_look_and_the_sleep_is_not_lost)
{
    struct probe probe;
    pool_open(NULL);
    struct rti_port_ops ops = *port->ops;
    ops.futex_wait = futex_wait_late;
    port->ops = &ops;
    CHECK_OK(rti_blocking_pool_start_all(&fixture.pool));
    usleep(2000);
    work_submit(&probe, RTI_OP_WORK, work_quick);
    rti_u32_store_release(&is_pushed, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 42);
    fixture_close();
}
