/* SPDX-License-Identifier: Apache-2.0 */
/* Parents and children: pass-through, interception, transformation, aggregation. */
#define RTI_MODULE "machine_tree_test"
#include "support/machines.h"

#define APP(i) (&world.apps[i])

enum { ASK = RT_OP_USER, OTHER };

static struct puppet child;
static struct puppet grandchild;

static void ask(rt_op *op, struct puppet *from, struct puppet *to, uint32_t code)
{
    rt_op_init(op, code);
    op->destination = to->machine.id;
    CHECK_OK(rt_op_submit(&from->machine, op));
}

TEST(machine_child_speaks_through_its_parents_and_hears_directly)
{
    rt_op op;
    world_start(2);
    puppet_child(APP(0), &child);
    puppet_child(&child, &grandchild);
    world_settle();
    unsigned parent_ticks = APP(0)->ticks;
    unsigned child_ticks = child.ticks;
    ask(&op, &grandchild, APP(1), ASK);
    world_settle();
    /* Each of them was ticked for it, and passed it on without knowing anything. */
    CHECK(APP(0)->ticks > parent_ticks && child.ticks > child_ticks);
    CHECK(puppet_last(APP(1), RT_QUEUE_SUBMISSIONS) == &op);
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 3);
    world_settle();
    CHECK(puppet_last(&grandchild, RT_QUEUE_COMPLETIONS) == &op);
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS] + child.count[RT_QUEUE_COMPLETIONS], 0);
    world_finish();
    CHECK(grandchild.is_closed && child.is_closed);
}

TEST(machine_child_can_be_a_target_and_answers_through_its_parents)
{
    rt_op op;
    world_start(2);
    puppet_child(APP(0), &child);
    puppet_child(&child, &grandchild);
    ask(&op, APP(1), &grandchild, ASK);
    world_settle();
    CHECK(puppet_last(&grandchild, RT_QUEUE_SUBMISSIONS) == &op);
    rt_op_ring(&grandchild.machine, &op);
    world_settle();
    CHECK_EQ(APP(1)->count[RT_QUEUE_NOTIFICATIONS], 1);
    rt_op_ring(&grandchild.machine, &op);
    rt_op_complete(&grandchild.machine, &op, RT_OK, 3);
    world_settle();
    CHECK_EQ(APP(1)->count[RT_QUEUE_NOTIFICATIONS], 1);
    CHECK(puppet_last(APP(1), RT_QUEUE_COMPLETIONS) == &op);
    world_finish();
}

TEST(machine_default_destination_of_a_child_is_that_of_its_root)
{
    rt_op op;
    world_start(1);
    puppet_child(APP(0), &child);
    rt_op_init(&op, ASK);
    CHECK_OK(rt_op_submit(&child.machine, &op));
    world_settle();
    CHECK(puppet_last(&child, RT_QUEUE_COMPLETIONS) == &op);
    CHECK_EQ(op.status, RT_ERR_UNSUPPORTED);
    world_finish();
}

/* Takes ASK for itself and lets the rest pass. */
static void intercept_ask(struct puppet *puppet, rt_time now)
{
    rt_machine *from;
    (void)now;
    while ((from = rt_machine_next_child(&puppet->machine)) != NULL) {
        rt_op *op;
        while ((op = rt_machine_intercept(&puppet->machine, from)) != NULL) {
            if (op->code == ASK) {
                puppet->data = op;
            } else {
                rt_machine_forward(&puppet->machine, op);
            }
        }
    }
}

TEST(machine_parent_intercepts_and_forwards)
{
    rt_op mine;
    rt_op other;
    world_start(2);
    puppet_child(APP(0), &child);
    APP(0)->script = intercept_ask;
    ask(&mine, &child, APP(1), ASK);
    ask(&other, &child, APP(1), OTHER);
    world_settle();
    CHECK_EQ(APP(1)->count[RT_QUEUE_SUBMISSIONS], 1);
    CHECK(puppet_last(APP(1), RT_QUEUE_SUBMISSIONS) == &other);
    CHECK(APP(0)->data == &mine);
    rt_op_complete(&APP(1)->machine, &other, RT_OK, 1);
    rt_op_complete(&APP(0)->machine, &mine, RT_OK, 2);
    world_settle();
    CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 2);
    CHECK_EQ(mine.result, 2);
    CHECK_EQ(other.result, 1);
    world_finish();
}

TEST(machine_cancel_of_an_intercepted_op_comes_to_the_parent)
{
    rt_op mine;
    rt_op other;
    world_start(2);
    puppet_child(APP(0), &child);
    APP(0)->script = intercept_ask;
    ask(&mine, &child, APP(1), ASK);
    ask(&other, &child, APP(1), OTHER);
    world_settle();
    CHECK(rt_op_cancel(&child.machine, &mine));
    CHECK(rt_op_cancel(&child.machine, &other));
    world_settle();
    CHECK(puppet_last(APP(0), RT_QUEUE_CANCELLATIONS) == &mine);
    CHECK(puppet_last(APP(1), RT_QUEUE_CANCELLATIONS) == &other);
    CHECK_EQ(APP(0)->count[RT_QUEUE_CANCELLATIONS], 1);
    rt_op_complete(&APP(1)->machine, &other, RT_ERR_CANCELLED, 0);
    /* To forward it now would leave it behind its own wish: it is answered. */
    rt_machine_forward(&APP(0)->machine, &mine);
    world_settle();
    CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 2);
    CHECK_EQ(mine.status, RT_ERR_CANCELLED);
    CHECK_EQ(APP(1)->count[RT_QUEUE_SUBMISSIONS], 1);
    world_finish();
}

TEST(machine_parent_answers_while_the_childs_cancel_lies_with_it)
{
    rt_op mine;
    world_start(1);
    puppet_child(APP(0), &child);
    APP(0)->script = intercept_ask;
    ask(&mine, &child, APP(0), ASK);
    world_settle();
    CHECK(rt_op_cancel(&child.machine, &mine));
    /* The wish is in the child's output, not seen by anybody. */
    rt_op_complete(&APP(0)->machine, &mine, RT_OK, 9);
    CHECK(rt_op_is_submitted(&mine));
    world_settle();
    CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 1);
    CHECK_EQ(mine.result, 9);
    CHECK_EQ(APP(0)->count[RT_QUEUE_CANCELLATIONS], 0);
    world_finish();
}

static rt_op translated;

/* Turns ASK of a child into OTHER for the second app, and doubles the result on the way back. */
static void translate(struct puppet *puppet, rt_time now)
{
    rt_machine *from;
    (void)now;
    while ((from = rt_machine_next_child(&puppet->machine)) != NULL) {
        rt_op *op;
        while ((op = rt_machine_intercept(&puppet->machine, from)) != NULL) {
            rt_op_init(&translated, OTHER);
            translated.destination = APP(1)->machine.id;
            CHECK_OK(rt_op_translate(&puppet->machine, op, &translated));
        }
    }
    for (unsigned i = 0; i < puppet->count[RT_QUEUE_CANCELLATIONS]; i++) {
        rt_op *held = puppet->got[RT_QUEUE_CANCELLATIONS][i];
        CHECK(rt_op_cancel(&puppet->machine, held->target_data));
    }
    puppet->count[RT_QUEUE_CANCELLATIONS] = 0;
    for (unsigned i = 0; i < puppet->count[RT_QUEUE_COMPLETIONS]; i++) {
        translated.result *= 2;
        puppet->data = puppet->got[RT_QUEUE_COMPLETIONS][i];
        (void)rt_op_answer_origin(&puppet->machine, &translated);
    }
    puppet->count[RT_QUEUE_COMPLETIONS] = 0;
}

TEST(machine_parent_transforms_an_op_and_its_answer)
{
    rt_op op;
    world_start(2);
    puppet_child(APP(0), &child);
    APP(0)->script = translate;
    ask(&op, &child, APP(0), ASK);
    world_settle();
    rt_op *other = puppet_last(APP(1), RT_QUEUE_SUBMISSIONS);
    CHECK_EQ(other->code, OTHER);
    CHECK_EQ(other->parent_id, op.id);
    CHECK_EQ(other->trace_id, op.trace_id);
    rt_op_complete(&APP(1)->machine, other, RT_OK, 21);
    world_settle();
    CHECK(puppet_last(&child, RT_QUEUE_COMPLETIONS) == &op);
    CHECK_EQ(op.result, 42);
    world_finish();
}

TEST(machine_cancel_passes_through_a_transformation)
{
    rt_op op;
    world_start(2);
    puppet_child(APP(0), &child);
    APP(0)->script = translate;
    ask(&op, &child, APP(0), ASK);
    world_settle();
    CHECK(rt_op_cancel(&child.machine, &op));
    world_settle();
    CHECK(puppet_last(APP(1), RT_QUEUE_CANCELLATIONS) == &translated);
    rt_op_complete(&APP(1)->machine, &translated, RT_ERR_CANCELLED, 0);
    world_settle();
    CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 1);
    CHECK_EQ(op.status, RT_ERR_CANCELLED);
    world_finish();
}

static rt_op parts[3];
static rt_gather gather;

/* Makes three ops of each one. */
static void aggregate(struct puppet *puppet, rt_time now)
{
    rt_machine *from;
    (void)now;
    while ((from = rt_machine_next_child(&puppet->machine)) != NULL) {
        rt_op *op = rt_machine_intercept(&puppet->machine, from);
        if (op == NULL) {
            continue;
        }
        rt_gather_begin(&gather, op);
        for (unsigned i = 0; i < 3; i++) {
            rt_op_init(&parts[i], OTHER);
            parts[i].destination = APP(1)->machine.id;
            CHECK_OK(rt_gather_add(&puppet->machine, &gather, &parts[i]));
        }
        CHECK(!rt_gather_end(&puppet->machine, &gather));
    }
    for (unsigned i = 0; i < puppet->count[RT_QUEUE_COMPLETIONS]; i++) {
        (void)rt_gather_part(&puppet->machine, &gather, puppet->got[RT_QUEUE_COMPLETIONS][i]);
    }
    puppet->count[RT_QUEUE_COMPLETIONS] = 0;
}

TEST(machine_parent_makes_one_answer_of_several)
{
    for (unsigned failing = 0; failing < 2; failing++) {
        rt_op op;
        world_start(2);
        puppet_child(APP(0), &child);
        APP(0)->script = aggregate;
        ask(&op, &child, APP(0), ASK);
        world_settle();
        CHECK_EQ(APP(1)->count[RT_QUEUE_SUBMISSIONS], 3);
        for (unsigned i = 0; i < 3; i++) {
            CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 0);
            bool fails = failing == 1 && i == 1;
            rt_op_complete(&APP(1)->machine, &parts[i], fails ? RT_ERR_IO : RT_OK, 10 + i);
            world_settle();
        }
        CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 1);
        CHECK_EQ(op.status, failing == 1 ? RT_ERR_IO : RT_OK);
        CHECK_EQ(op.result, failing == 1 ? 22 : 33);
        world_finish();
    }
}

TEST(machine_close_of_a_parent_that_translates_and_gathers_answers_once)
{
    for (unsigned way = 0; way < 2; way++) {
        rt_op op;
        world_start(2);
        puppet_child(APP(0), &child);
        APP(0)->script = way == 0 ? translate : aggregate;
        ask(&op, &child, APP(0), ASK);
        world_settle();
        rt_loop_close(&world.loops[0]);
        world_settle();
        CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 1);
        CHECK_EQ(op.status, RT_ERR_CLOSED);
        CHECK(!APP(0)->is_closed); /* its own ops are with the other app, which takes its time */
        for (unsigned i = 0; i < APP(1)->count[RT_QUEUE_SUBMISSIONS]; i++) {
            rt_op_complete(&APP(1)->machine, APP(1)->got[RT_QUEUE_SUBMISSIONS][i], RT_OK, 1);
        }
        world_settle();
        CHECK(APP(0)->is_closed && child.is_closed);
        world_finish();
    }
}

TEST(machine_children_that_talk_are_shown_in_the_order_they_did)
{
    static struct puppet many[5];
    rt_op ops[5];
    world_start(2);
    for (unsigned i = 0; i < 5; i++) {
        puppet_child(APP(0), &many[i]);
    }
    world_settle();
    for (unsigned i = 5; i-- > 0;) {
        ask(&ops[i], &many[i], APP(1), ASK);
    }
    world_settle();
    for (unsigned i = 0; i < 5; i++) {
        CHECK(APP(1)->got[RT_QUEUE_SUBMISSIONS][i] == &ops[4 - i]);
        rt_op_complete(&APP(1)->machine, &ops[4 - i], RT_OK, 0);
    }
    world_finish();
}

static void forward_foreign(void *arg)
{
    rt_op op;
    (void)arg;
    ask(&op, &child, APP(0), ASK);
    world_settle();
    rt_machine_forward(&APP(0)->machine, &op);
}

static void intercept_of_another(void *arg)
{
    (void)arg;
    (void)rt_machine_intercept(&APP(1)->machine, &child.machine);
}

TEST(machine_tree_misuse_is_refused_or_panics)
{
    rt_machine_config config = puppet_config();
    world_start(2);
    puppet_child(APP(0), &child);
    CHECK_STATUS(rt_machine_init_child(NULL, &grandchild.machine, &config), RT_ERR_INVALID);
    CHECK_STATUS(rt_machine_init_child(&child.machine, NULL, &config), RT_ERR_INVALID);
    CHECK_STATUS(rt_machine_init_child(&child.machine, &grandchild.machine, NULL), RT_ERR_INVALID);
    config.tick = NULL;
    CHECK_STATUS(rt_machine_init_child(&child.machine, &grandchild.machine, &config),
                 RT_ERR_INVALID);
    config = puppet_config();
    config.state = (void *)(uintptr_t)0x1004;
    config.state_align = 3;
    CHECK_STATUS(rt_machine_init_child(&child.machine, &grandchild.machine, &config),
                 RT_ERR_INVALID);
    CHECK_PANICS("hierarchy", forward_foreign, NULL);
    CHECK_PANICS("hierarchy", intercept_of_another, NULL);
    rt_machine_close(&child.machine);
    config = puppet_config();
    CHECK_STATUS(rt_machine_init_child(&child.machine, &grandchild.machine, &config),
                 RT_ERR_CLOSED);
    world_finish();
}
