/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "port_sim_test"
#include "port/sim/port_sim.h"

#include "port/op.h"
#include "support/test.h"

static struct rti_port_sim sim;
static struct rti_port *port = &sim.port;
static int answers;

static void start(void)
{
    rti_port_sim_init(&sim, 5, 100, NULL);
    answers = 0;
}

TEST(sim_clock_stands_still_and_jumps_to_the_deadline)
{
    start();
    CHECK_EQ(port->ops->clock_ns(port), 100);
    CHECK_EQ(port->ops->clock_ns(port), 100);
    CHECK_EQ(port->ops->wait(port, 5000), RTI_WAIT_DEADLINE);
    CHECK_EQ(port->ops->clock_ns(port), 5000);
    CHECK_EQ(port->ops->wait(port, 4000), RTI_WAIT_DEADLINE);
    CHECK_EQ(port->ops->clock_ns(port), 5000);
}

TEST(sim_wait_without_a_deadline_is_stuck_unless_somebody_woke_it)
{
    start();
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_STUCK);
    port->ops->wake(port);
    port->ops->wake(port);
    CHECK_EQ(rti_u32_load_relaxed(&port->attention), 1);
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_STUCK);
    CHECK_EQ(port->ops->clock_ns(port), 100);
}

TEST(sim_random_is_the_stream_of_its_seed)
{
    uint64_t first[4];
    start();
    for (size_t i = 0; i < 4; i++) {
        first[i] = port->ops->random(port);
    }
    start();
    for (size_t i = 0; i < 4; i++) {
        CHECK(port->ops->random(port) == first[i]);
    }
    rti_port_sim_init(&sim, 6, 100, NULL);
    CHECK(port->ops->random(port) != first[0]);
}

static void count_answer(struct rti_op *op)
{
    CHECK(rti_op_is_idle(op));
    answers++;
}

static void submit_again(struct rti_op *op)
{
    answers++;
    if (answers < 3) {
        port->ops->submit(port, op);
    }
}

static void work_forty_two(struct rti_op *op)
{
    rti_op_answer(op, RT_OK, 42, 0);
}

TEST(sim_op_is_answered_once_at_the_next_wait)
{
    struct rti_op op;
    start();
    rti_op_init(&op, RTI_OP_NOP, count_answer);
    port->ops->submit(port, &op);
    CHECK_EQ(answers, 0);
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
    CHECK_EQ(answers, 1);
    CHECK_EQ(op.status, RT_OK);
    CHECK_EQ(port->ops->wait(port, 200), RTI_WAIT_DEADLINE);
    CHECK_EQ(answers, 1);
}

TEST(sim_op_submitted_from_its_answer_is_for_the_next_wait)
{
    struct rti_op op;
    start();
    rti_op_init(&op, RTI_OP_NOP, submit_again);
    port->ops->submit(port, &op);
    for (int i = 1; i <= 3; i++) {
        CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
        CHECK_EQ(answers, i);
    }
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_STUCK);
}

TEST(sim_work_runs_and_keeps_its_result_when_cancelled)
{
    struct rti_op op;
    start();
    rti_op_init(&op, RTI_OP_WORK, count_answer);
    op.work = work_forty_two;
    CHECK(!port->ops->attempt(port, &op));
    port->ops->submit(port, &op);
    port->ops->cancel(port, &op);
    port->ops->wait(port, 0);
    CHECK_EQ(answers, 1);
    CHECK_EQ(op.status, RT_OK);
    CHECK_EQ(op.result, 42);
}

TEST(sim_cancelled_nop_is_answered_cancelled_once)
{
    struct rti_op op;
    start();
    rti_op_init(&op, RTI_OP_NOP, count_answer);
    port->ops->cancel(port, &op);
    port->ops->submit(port, &op);
    port->ops->cancel(port, &op);
    port->ops->cancel(port, &op);
    port->ops->wait(port, 0);
    CHECK_EQ(answers, 1);
    CHECK_EQ(op.status, RT_ERR_CANCELLED);
}

TEST(sim_op_without_a_simulated_device_is_unsupported)
{
    struct rti_op op;
    start();
    rti_op_init(&op, RTI_OP_READ, count_answer);
    CHECK(port->ops->attempt(port, &op));
    CHECK_EQ(op.status, RT_ERR_UNSUPPORTED);
    port->ops->submit(port, &op);
    port->ops->wait(port, 0);
    CHECK_EQ(answers, 1);
    CHECK_EQ(op.status, RT_ERR_UNSUPPORTED);
    CHECK_STATUS(port->ops->close_fd(port, 3), RT_ERR_INVALID);
}

TEST(sim_futex_wait_returns_at_once_or_jumps_to_its_deadline)
{
    rti_atomic_u32 word;
    start();
    rti_u32_init(&word, 1);
    CHECK(port->ops->futex_wait(port, &word, 2, RTI_TIME_NEVER));
    CHECK(!port->ops->futex_wait(port, &word, 1, 900));
    CHECK_EQ(port->ops->clock_ns(port), 900);
    port->ops->futex_wake(port, &word, 1);
}

static void sleep_for_ever(void *arg)
{
    rti_atomic_u32 word;
    (void)arg;
    start();
    rti_u32_init(&word, 1);
    port->ops->futex_wait(port, &word, 1, RTI_TIME_NEVER);
}

TEST(sim_futex_wait_for_ever_panics_because_nobody_could_end_it)
{
    CHECK_PANICS("port_sim", sleep_for_ever, NULL);
}

TEST(sim_has_no_threads_and_no_memory_without_a_host)
{
    struct rti_port_thread thread;
    start();
    CHECK_STATUS(port->ops->thread_start(port, &thread, sleep_for_ever, NULL), RT_ERR_UNSUPPORTED);
    CHECK(port->ops->memory_map(port, 4096) == NULL);
}
