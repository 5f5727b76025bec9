/* SPDX-License-Identifier: Apache-2.0 */
/* Ops between machines: one-shot and standing, cancels that cross, what is refused. */
#define RTI_MODULE "machine_test"
#include "support/machines.h"

#define APP(i) (&world.apps[i])

enum { ASK = RT_OP_USER, STAND };

/* Submits from loop `from` to the app of loop `to`. */
static void ask(rt_op *op, unsigned from, unsigned to)
{
    rt_op_init(op, ASK);
    op->destination = APP(to)->machine.id;
    CHECK_OK(rt_op_submit(&APP(from)->machine, op));
}

static void check_answer(struct puppet *puppet, unsigned count, rt_op *op, rt_status_code status)
{
    CHECK_EQ(puppet->count[RT_QUEUE_COMPLETIONS], count);
    CHECK(puppet_last(puppet, RT_QUEUE_COMPLETIONS) == op);
    CHECK_STR(rt_status_name(op->status), rt_status_name(status));
    CHECK(!rt_op_is_submitted(op));
}

/* Both ways of every test below: within one loop and across two. */
static void one_shot(unsigned from, unsigned to)
{
    rt_op op;
    ask(&op, from, to);
    CHECK(rt_op_is_submitted(&op));
    CHECK(op.id != 0 && op.trace_id == op.id && op.parent_id == 0);
    CHECK_EQ(op.source.machine_id, APP(from)->machine.id.machine_id);
    world_settle();
    CHECK(puppet_last(APP(to), RT_QUEUE_SUBMISSIONS) == &op);
    CHECK(rt_machine_held(&APP(to)->machine, NULL) == &op);
    CHECK(rt_machine_held(&APP(to)->machine, &op) == NULL);
    CHECK_EQ(APP(from)->count[RT_QUEUE_COMPLETIONS], 0);
    rt_op_complete(&APP(to)->machine, &op, RT_OK, -7);
    world_settle();
    check_answer(APP(from), 1, &op, RT_OK);
    CHECK_EQ(op.result, -7);
    CHECK(rt_machine_held(&APP(to)->machine, NULL) == NULL);
}

TEST(machine_op_goes_to_its_target_and_comes_back_with_the_result)
{
    world_start(1);
    one_shot(0, 0);
    world_finish();
    world_start(2);
    one_shot(0, 1);
    world_finish();
}

TEST(machine_op_may_be_submitted_again_once_it_is_back)
{
    world_start(2);
    rt_op op;
    uint64_t last_id = 0;
    rt_op_init(&op, ASK);
    for (unsigned i = 0; i < 5; i++) {
        op.destination = APP(i % 2)->machine.id;
        CHECK_OK(rt_op_submit(&APP(0)->machine, &op));
        CHECK(op.id > last_id);
        last_id = op.id;
        world_settle();
        rt_op_complete(&APP(i % 2)->machine, &op, RT_OK, i);
        world_settle();
        check_answer(APP(0), i + 1, &op, RT_OK);
        CHECK_EQ(op.result, i);
    }
    world_finish();
}

TEST(machine_keeps_the_order_of_ops_both_ways)
{
    for (unsigned loops = 1; loops <= 2; loops++) {
        rt_op ops[20];
        world_start(loops);
        for (unsigned i = 0; i < 20; i++) {
            ask(&ops[i], 0, loops - 1);
        }
        world_settle();
        for (unsigned i = 0; i < 20; i++) {
            CHECK(APP(loops - 1)->got[RT_QUEUE_SUBMISSIONS][i] == &ops[i]);
            rt_op_complete(&APP(loops - 1)->machine, &ops[i], RT_OK, 0);
        }
        world_settle();
        for (unsigned i = 0; i < 20; i++) {
            CHECK(APP(0)->got[RT_QUEUE_COMPLETIONS][i] == &ops[i]);
        }
        world_finish();
    }
}

static void ring_twice_and_end(unsigned from, unsigned to)
{
    rt_op op;
    ask(&op, from, to);
    world_settle();
    for (unsigned round = 1; round <= 3; round++) {
        rt_op_ring(&APP(to)->machine, &op);
        rt_op_ring(&APP(to)->machine, &op);
        world_settle();
        CHECK_EQ(APP(from)->count[RT_QUEUE_NOTIFICATIONS], round);
        CHECK(puppet_last(APP(from), RT_QUEUE_NOTIFICATIONS) == &op);
        CHECK(rt_op_is_submitted(&op));
    }
    /* A ring that nobody has taken is part of the completion. */
    APP(from)->is_passive = true;
    rt_op_ring(&APP(to)->machine, &op);
    world_settle();
    rt_op_complete(&APP(to)->machine, &op, RT_ERR_IO, 0);
    world_settle();
    APP(from)->is_passive = false;
    rt_machine_wake(&APP(from)->machine);
    world_settle();
    CHECK_EQ(APP(from)->count[RT_QUEUE_NOTIFICATIONS], 3);
    check_answer(APP(from), 1, &op, RT_ERR_IO);
}

TEST(machine_doorbell_is_idempotent_and_ends_with_the_op)
{
    world_start(1);
    ring_twice_and_end(0, 0);
    world_finish();
    world_start(2);
    ring_twice_and_end(0, 1);
    world_finish();
}

TEST(machine_ring_and_completion_in_one_tick_give_the_completion)
{
    for (unsigned loops = 1; loops <= 2; loops++) {
        rt_op op;
        world_start(loops);
        ask(&op, 0, loops - 1);
        world_settle();
        rt_op_ring(&APP(loops - 1)->machine, &op);
        rt_op_complete(&APP(loops - 1)->machine, &op, RT_OK, 1);
        world_settle();
        CHECK_EQ(APP(0)->count[RT_QUEUE_NOTIFICATIONS], 0);
        check_answer(APP(0), 1, &op, RT_OK);
        world_finish();
    }
}

static void cancel_held(unsigned from, unsigned to)
{
    rt_op op;
    ask(&op, from, to);
    world_settle();
    CHECK(rt_op_cancel(&APP(from)->machine, &op));
    CHECK(rt_op_cancel(&APP(from)->machine, &op));
    world_settle();
    CHECK_EQ(APP(to)->count[RT_QUEUE_CANCELLATIONS], 1);
    CHECK_EQ(APP(from)->count[RT_QUEUE_COMPLETIONS], 0);
    rt_op_complete(&APP(to)->machine, &op, RT_ERR_CANCELLED, 0);
    world_settle();
    check_answer(APP(from), 1, &op, RT_ERR_CANCELLED);
    CHECK(!rt_op_cancel(&APP(from)->machine, &op));
}

TEST(machine_cancel_reaches_the_target_and_its_answer_is_the_one)
{
    world_start(1);
    cancel_held(0, 0);
    world_finish();
    world_start(2);
    cancel_held(0, 1);
    world_finish();
}

TEST(machine_cancel_of_an_op_nobody_has_taken_is_answered_by_the_loop)
{
    for (unsigned loops = 1; loops <= 2; loops++) {
        rt_op ops[2];
        struct puppet *target;
        world_start(loops);
        target = APP(loops - 1);
        target->is_passive = true;
        ask(&ops[0], 0, loops - 1);
        world_settle();
        CHECK(rt_op_cancel(&APP(0)->machine, &ops[0]));
        APP(0)->is_passive = false;
        world_settle();
        CHECK(!rt_op_is_submitted(&ops[0]) || loops == 1);
        target->is_passive = false;
        /* One that is cancelled before it was even routed. */
        ask(&ops[1], 0, loops - 1);
        CHECK(rt_op_cancel(&APP(0)->machine, &ops[1]));
        rt_machine_wake(&APP(0)->machine);
        world_settle();
        CHECK_EQ(target->count[RT_QUEUE_SUBMISSIONS], 0);
        CHECK_EQ(target->count[RT_QUEUE_CANCELLATIONS], 0);
        CHECK_EQ(ops[0].status, RT_ERR_CANCELLED);
        check_answer(APP(0), 2, &ops[1], RT_ERR_CANCELLED);
        world_finish();
    }
}

/* The target answers while the wish to cancel is on its way: the answer waits for the wish, so that
 * nothing of the op is on its way when its initiator frees it. */
TEST(machine_answer_that_crosses_a_cancel_is_the_one_answer)
{
    rt_op op;
    world_start(2);
    ask(&op, 0, 1);
    world_settle();
    CHECK(rt_op_cancel(&APP(0)->machine, &op));
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 5);
    /* Routed by its own loop, the wish lies in the other's inbox; the answer stays. */
    (void)rt_loop_turn(&world.loops[0], 0);
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 0);
    CHECK_EQ(rti_inbox_audit(&world_loop(1)->inbox), 1);
    world_settle();
    CHECK_EQ(APP(1)->count[RT_QUEUE_CANCELLATIONS], 0);
    check_answer(APP(0), 1, &op, RT_OK);
    CHECK_EQ(op.result, 5);
    memset(&op, 0xA5, sizeof(op));
    world_settle();
    world_finish();
}

TEST(machine_cancel_after_the_answer_is_on_its_way_is_not_sent)
{
    rt_op op;
    world_start(2);
    ask(&op, 0, 1);
    world_settle();
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 5);
    (void)rt_loop_turn(&world.loops[1], 0);
    CHECK(!rt_op_cancel(&APP(0)->machine, &op));
    world_settle();
    check_answer(APP(0), 1, &op, RT_OK);
    CHECK_EQ(rti_inbox_audit(&world_loop(1)->inbox), 0);
    CHECK_EQ(APP(1)->count[RT_QUEUE_CANCELLATIONS], 0);
    world_finish();
}

TEST(machine_answer_takes_a_cancel_that_lies_in_the_queue_with_it)
{
    rt_op op;
    world_start(1);
    ask(&op, 0, 0);
    world_settle();
    APP(0)->is_passive = true;
    CHECK(rt_op_cancel(&APP(0)->machine, &op));
    world_settle();
    rt_op_complete(&APP(0)->machine, &op, RT_OK, 1);
    APP(0)->is_passive = false;
    world_settle();
    CHECK_EQ(APP(0)->count[RT_QUEUE_CANCELLATIONS], 0);
    check_answer(APP(0), 1, &op, RT_OK);
    world_finish();
}

TEST(machine_op_for_nobody_is_answered)
{
    rt_op op;
    world_start(2);
    for (unsigned i = 0; i < 4; i++) {
        const rt_machine_ref nobody[] = {{0, 77}, {1, 99 << 16 | 1}, {2, 1}, {UINT32_MAX, 1}};
        rt_op_init(&op, ASK);
        op.destination = nobody[i];
        CHECK_OK(rt_op_submit(&APP(0)->machine, &op));
        if (i % 2 == 1) {
            CHECK(rt_op_cancel(&APP(0)->machine, &op));
        }
        world_settle();
        check_answer(APP(0), i + 1, &op, RT_ERR_NOT_FOUND);
    }
    world_finish();
}

TEST(machine_unknown_op_is_completed_with_an_error_by_the_platform)
{
    const uint32_t codes[] = {0, RT_OP_CHANNEL, RT_OP_KNOWN_COUNT, RT_OP_USER, UINT32_MAX};
    rt_op op;
    world_start(1);
    for (unsigned i = 0; i < RTI_COUNT_OF(codes); i++) {
        rt_op_init(&op, codes[i]);
        CHECK_OK(rt_op_submit(&APP(0)->machine, &op));
        world_settle();
        check_answer(APP(0), i + 1, &op, RT_ERR_UNSUPPORTED);
    }
    world_finish();
}

TEST(machine_trace_and_parent_flow_through_every_hop)
{
    rt_op ops[3];
    world_start(3);
    ask(&ops[0], 0, 1);
    world_settle();
    for (unsigned i = 1; i < 3; i++) {
        rt_op_init(&ops[i], ASK);
        rt_op_derive(&ops[i], puppet_last(APP(i), RT_QUEUE_SUBMISSIONS));
        ops[i].destination = APP((i + 1) % 3)->machine.id;
        CHECK_OK(rt_op_submit(&APP(i)->machine, &ops[i]));
        world_settle();
        CHECK_EQ(ops[i].trace_id, ops[0].id);
        CHECK_EQ(ops[i].parent_id, ops[i - 1].id);
        CHECK(ops[i].id != ops[i - 1].id);
    }
    for (unsigned i = 3; i-- > 0;) {
        rt_op_complete(&APP((i + 1) % 3)->machine, &ops[i], RT_OK, 0);
    }
    world_settle();
    world_finish();
}

static void submit_twice(void *arg)
{
    rt_op op;
    (void)arg;
    ask(&op, 0, 0);
    (void)rt_op_submit(&APP(0)->machine, &op).code;
}

static void complete_not_held(void *arg)
{
    rt_op op;
    (void)arg;
    ask(&op, 0, 0);
    rt_op_complete(&APP(0)->machine, &op, RT_OK, 0);
}

static void complete_twice(void *arg)
{
    rt_op op;
    (void)arg;
    ask(&op, 0, 1);
    world_settle();
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 0);
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 0);
}

static void complete_by_another(void *arg)
{
    rt_op op;
    (void)arg;
    ask(&op, 0, 1);
    world_settle();
    rt_op_complete(&APP(0)->machine, &op, RT_OK, 0);
}

static void ring_not_held(void *arg)
{
    rt_op op;
    (void)arg;
    ask(&op, 0, 1);
    rt_op_ring(&APP(1)->machine, &op);
}

static void cancel_of_another(void *arg)
{
    rt_op op;
    (void)arg;
    struct puppet child;
    puppet_child(APP(0), &child);
    ask(&op, 0, 1);
    (void)rt_op_cancel(&child.machine, &op);
}

TEST(machine_misuse_panics)
{
    world_start(2);
    CHECK_PANICS("machine", submit_twice, NULL);
    CHECK_PANICS("machine", complete_not_held, NULL);
    CHECK_PANICS("machine", complete_twice, NULL);
    CHECK_PANICS("machine", complete_by_another, NULL);
    CHECK_PANICS("machine", ring_not_held, NULL);
    CHECK_PANICS("machine", cancel_of_another, NULL);
    world_finish();
}
