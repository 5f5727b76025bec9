/* SPDX-License-Identifier: Apache-2.0 */
/* The end of machines: cancel all, drain completions, free; children first, the platform last. */
#define RTI_MODULE "machine_close_test"
#include "support/machines.h"

#define APP(i) (&world.apps[i])

enum { ASK = RT_OP_USER };

static struct puppet child;
static struct puppet grandchild;

static void ask(rt_op *op, struct puppet *from, struct puppet *to)
{
    rt_op_init(op, ASK);
    op->destination = to->machine.id;
    CHECK_OK(rt_op_submit(&from->machine, op));
}

TEST(machine_close_cancels_what_it_submitted_and_waits_for_the_answers)
{
    rt_op ops[2];
    world_start(2);
    puppet_child(APP(0), &child);
    ask(&ops[0], &child, APP(0));
    ask(&ops[1], &child, APP(1));
    world_settle();
    rt_machine_close(&child.machine);
    rt_machine_close(&child.machine);
    world_settle();
    CHECK(rt_machine_is_closing(&child.machine));
    CHECK(!child.is_closed);
    CHECK_EQ(APP(0)->count[RT_QUEUE_CANCELLATIONS], 1);
    CHECK_EQ(APP(1)->count[RT_QUEUE_CANCELLATIONS], 1);
    rt_op_complete(&APP(0)->machine, &ops[0], RT_ERR_CANCELLED, 0);
    world_settle();
    CHECK(!child.is_closed);
    rt_op_complete(&APP(1)->machine, &ops[1], RT_ERR_CANCELLED, 0);
    world_settle();
    CHECK(child.is_closed);
    CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 2);
    world_finish();
}

TEST(machine_close_answers_what_it_holds_and_what_still_comes)
{
    rt_op held;
    rt_op queued;
    rt_op late;
    rt_op stale;
    rt_op own;
    world_start(2);
    puppet_child(APP(0), &child);
    rt_machine_ref name = child.machine.id;
    ask(&own, &child, APP(1)); /* keeps it closing for a while */
    ask(&held, APP(1), &child);
    world_settle();
    child.is_passive = true;
    ask(&queued, APP(1), &child);
    world_settle();
    child.is_passive = false;
    rt_machine_close(&child.machine);
    ask(&late, APP(1), &child);
    world_settle();
    CHECK(!child.is_closed);
    CHECK_EQ(held.status, RT_ERR_CLOSED);
    CHECK_EQ(queued.status, RT_ERR_CLOSED);
    CHECK_EQ(late.status, RT_ERR_CLOSED);
    CHECK_EQ(APP(1)->count[RT_QUEUE_COMPLETIONS], 3);
    rt_op_complete(&APP(1)->machine, &own, RT_OK, 0);
    world_settle();
    CHECK(child.is_closed);
    /* Its name is nobody's, also when the place has a new machine. */
    puppet_child(APP(0), &grandchild);
    CHECK(grandchild.machine.id.machine_id != name.machine_id);
    rt_op_init(&stale, ASK);
    stale.destination = name;
    CHECK_OK(rt_op_submit(&APP(1)->machine, &stale));
    world_settle();
    CHECK_EQ(stale.status, RT_ERR_NOT_FOUND);
    CHECK_EQ(grandchild.count[RT_QUEUE_SUBMISSIONS], 0);
    world_finish();
}

TEST(machine_parent_closes_after_its_children)
{
    rt_op op;
    world_start(2);
    puppet_child(APP(0), &child);
    puppet_child(&child, &grandchild);
    ask(&op, &grandchild, APP(1));
    world_settle();
    rt_machine_close(&child.machine);
    world_settle();
    CHECK(rt_machine_is_closing(&grandchild.machine));
    CHECK(!child.is_closed && !grandchild.is_closed);
    rt_op_complete(&APP(1)->machine, &op, RT_ERR_CANCELLED, 0);
    world_settle();
    CHECK(child.is_closed && grandchild.is_closed);
    CHECK(grandchild.closed_turn < child.closed_turn);
    world_finish();
}

TEST(machine_closing_submits_nothing_more)
{
    rt_op op;
    rt_op next;
    world_start(2);
    ask(&op, APP(0), APP(1));
    world_settle();
    rt_loop_close(&world.loops[0]);
    world_settle();
    rt_op_init(&next, ASK);
    CHECK_STATUS(rt_op_submit(&APP(0)->machine, &next), RT_ERR_CLOSED);
    CHECK(!rt_op_is_submitted(&next));
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 0);
    world_finish();
}

TEST(machine_close_drops_completions_that_nobody_takes)
{
    rt_op op;
    world_start(2);
    puppet_child(APP(0), &child);
    child.is_passive = true;
    ask(&op, &child, APP(1));
    world_settle();
    rt_op_ring(&APP(1)->machine, &op);
    rt_machine_close(&child.machine);
    world_settle();
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 0);
    world_settle();
    CHECK(child.is_closed);
    CHECK(!rt_op_is_submitted(&op));
    world_finish();
}

TEST(machine_answer_that_waits_keeps_its_holder)
{
    rt_op op;
    world_start(2);
    ask(&op, APP(0), APP(1));
    world_settle();
    CHECK(rt_op_cancel(&APP(0)->machine, &op));
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 1);
    /* The wish is not on its way yet: the holder closes meanwhile. */
    rt_loop_close(&world.loops[1]);
    for (unsigned i = 0; i < 5; i++) {
        (void)rt_loop_turn(&world.loops[1], 0);
    }
    CHECK(!APP(1)->is_closed);
    world_settle();
    CHECK(APP(1)->is_closed);
    CHECK_EQ(op.result, 1);
    world_finish();
}

static void close_self(struct puppet *puppet, rt_time now)
{
    (void)now;
    rt_machine_close(&puppet->machine);
}

TEST(machine_may_close_itself_in_its_tick)
{
    world_start(1);
    puppet_child(APP(0), &child);
    child.script = close_self;
    world_settle();
    CHECK(child.is_closed);
    CHECK_EQ(world_loop(0)->stats.machines, 2);
    world_finish();
}

TEST(machine_loop_answers_until_all_loops_of_the_group_are_closed)
{
    rt_op op;
    world_start(3);
    rt_loop_close(&world.loops[1]);
    world_settle();
    CHECK(APP(1)->is_closed);
    CHECK(world_loop(1)->is_closed);
    CHECK(!rti_loop_is_over(world_loop(1)));
    ask(&op, APP(0), APP(1));
    world_settle();
    CHECK_EQ(op.status, RT_ERR_NOT_FOUND);
    CHECK(!rt_op_is_submitted(&op));
    world_finish();
}

static void deinit_open(void *arg)
{
    (void)arg;
    rt_loop_deinit(&world.loops[0]);
}

TEST(machine_loop_that_is_not_closed_cannot_be_ended)
{
    world_start(1);
    CHECK_PANICS("loop", deinit_open, NULL);
    world_finish();
}

static void close_platform_first(void *arg)
{
    (void)arg;
    rt_machine_close(world_loop(0)->platform);
    world_settle();
}

TEST(machine_platform_outlives_the_app)
{
    world_start(1);
    CHECK_PANICS("loop", close_platform_first, NULL);
    world_finish();
    CHECK_EQ(APP(0)->closed_turn, 1);
}
