/* SPDX-License-Identifier: Apache-2.0 */
/* The turn: the one wait, timers, the bounded inbox, fairness, names. */
#define RTI_MODULE "machine_loop_test"
#include "support/machines.h"

#define APP(i) (&world.apps[i])

enum { ASK = RT_OP_USER };

static void start_timer(rt_timer_op *timer, struct puppet *puppet, rt_time deadline)
{
    rt_op_init(&timer->base, RT_OP_TIMER);
    timer->deadline = deadline;
    CHECK_OK(rt_op_submit(&puppet->machine, &timer->base));
}

TEST(machine_timers_fire_in_order_and_never_early)
{
    rt_timer_op timers[4];
    const uint64_t after[4] = {300, 100, 200, 100};
    const unsigned order[4] = {1, 3, 2, 0};
    world_start(1);
    uint64_t start = world.sim.now_ns;
    for (unsigned i = 0; i < 4; i++) {
        start_timer(&timers[i], APP(0), start + after[i]);
    }
    world_settle();
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 0);
    CHECK_EQ(rt_loop_next_deadline(&world.loops[0]), start + 100);
    world_advance(99);
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 0);
    world_advance(1);
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 2);
    world_advance(500);
    for (unsigned i = 0; i < 4; i++) {
        CHECK(APP(0)->got[RT_QUEUE_COMPLETIONS][i] == &timers[order[i]].base);
        CHECK_EQ(timers[i].base.status, RT_OK);
    }
    world_finish();
}

TEST(machine_timer_is_cancelled_once_and_says_so)
{
    rt_timer_op timers[3];
    world_start(1);
    uint64_t start = world.sim.now_ns;
    start_timer(&timers[0], APP(0), start + 100);
    start_timer(&timers[1], APP(0), RT_TIME_NEVER);
    world_settle();
    CHECK(rt_op_cancel(&APP(0)->machine, &timers[0].base));
    CHECK(rt_op_cancel(&APP(0)->machine, &timers[1].base));
    start_timer(&timers[2], APP(0), start + 100);
    CHECK(rt_op_cancel(&APP(0)->machine, &timers[2].base)); /* not even routed yet */
    world_settle();
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(timers[i].base.status, RT_ERR_CANCELLED);
    }
    world_advance(1000);
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 3);
    world_finish();
}

TEST(machine_timer_that_fires_while_its_cancel_is_on_its_way_is_answered_once)
{
    rt_timer_op timer;
    world_start(1);
    start_timer(&timer, APP(0), world.sim.now_ns + 100);
    world_settle();
    CHECK(rt_op_cancel(&APP(0)->machine, &timer.base));
    world.sim.now_ns += 100; /* the turn that routes the wish fires it first */
    world_settle();
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 1);
    CHECK_EQ(timer.base.status, RT_OK);
    world_finish();
}

TEST(machine_loop_runs_until_it_is_closed_and_waits_for_timers)
{
    rt_timer_op timer;
    world_start(1);
    start_timer(&timer, APP(0), world.sim.now_ns + 5 * RT_NS_PER_S);
    rt_loop_turn(&world.loops[0], 0);
    /* It waits for the timer, then finds that nothing can ever come. */
    CHECK_STATUS(rt_loop_run(&world.loops[0]), RT_ERR_DEADLOCK);
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 1);
    rt_loop_close(&world.loops[0]);
    CHECK_OK(rt_loop_run(&world.loops[0]));
    CHECK(APP(0)->is_closed);
    rt_loop_deinit(&world.loops[0]);
}

static uint64_t waited_until[32];
static unsigned waits_count;
static struct rti_port_ops watched_ops;
static enum rti_wait_end (*real_wait)(struct rti_port *port, uint64_t deadline_ns);

static enum rti_wait_end watched_wait(struct rti_port *port, uint64_t deadline_ns)
{
    CHECK(waits_count < 32);
    waited_until[waits_count++] = deadline_ns;
    return real_wait(port, deadline_ns);
}

static void watch_waits(void)
{
    watched_ops = *world.sim.port.ops;
    real_wait = watched_ops.wait;
    watched_ops.wait = watched_wait;
    world.sim.port.ops = &watched_ops;
    waits_count = 0;
}

TEST(machine_loop_blocks_only_if_nothing_is_left_to_do)
{
    rt_op op;
    rt_op remote;
    world_start(2);
    world_settle();
    watch_waits();
    rt_loop_turn(&world.loops[0], 5000);
    CHECK_EQ(waited_until[0], 5000);
    /* Something to route. */
    rt_op_init(&op, ASK);
    CHECK_OK(rt_op_submit(&APP(0)->machine, &op));
    rt_loop_turn(&world.loops[0], 9000);
    CHECK_EQ(waited_until[1], 0);
    /* Something to tick. */
    rt_machine_wake(&APP(0)->machine);
    rt_loop_turn(&world.loops[0], 9000);
    CHECK_EQ(waited_until[2], 0);
    /* Something in the inbox, whose sender has to wake it. */
    rti_u32_store_relaxed(&world.sim.is_woken, 0);
    rt_op_init(&remote, ASK);
    remote.destination = APP(0)->machine.id;
    CHECK_OK(rt_op_submit(&APP(1)->machine, &remote));
    rt_loop_turn(&world.loops[1], 0);
    CHECK_EQ(rti_u32_load_relaxed(&world.sim.is_woken), 1);
    rt_loop_turn(&world.loops[0], 9000);
    CHECK_EQ(APP(0)->count[RT_QUEUE_SUBMISSIONS], 1);
    rt_op_complete(&APP(0)->machine, &remote, RT_OK, 0);
    world_settle();
    world_finish();
}

TEST(machine_inbox_visit_takes_what_was_there_when_it_began)
{
    struct rti_inbox inbox;
    rt_op ops[6];
    rti_inbox_init(&inbox);
    for (unsigned i = 0; i < 6; i++) {
        rt_op_init(&ops[i], ASK);
    }
    CHECK(rti_inbox_push(&inbox, rti_leg_of(&ops[0], RTI_LEG_OP)));
    CHECK(!rti_inbox_push(&inbox, rti_leg_of(&ops[1], RTI_LEG_CANCEL)));
    CHECK(rti_inbox_next(&inbox) == rti_leg_of(&ops[0], RTI_LEG_OP));
    /* Two that come during the visit wait for the next one. */
    CHECK(!rti_inbox_push(&inbox, rti_leg_of(&ops[2], RTI_LEG_BELL)));
    CHECK(!rti_inbox_push(&inbox, rti_leg_of(&ops[3], RTI_LEG_OP)));
    CHECK(rti_inbox_next(&inbox) == rti_leg_of(&ops[1], RTI_LEG_CANCEL));
    CHECK(!rti_inbox_try_idle(&inbox));
    CHECK(rti_inbox_next(&inbox) == NULL);
    CHECK(!rti_inbox_try_idle(&inbox));
    CHECK_EQ(rti_inbox_audit(&inbox), 2);
    CHECK(rti_leg_op(rti_inbox_next(&inbox)) == &ops[2]);
    CHECK(rti_leg_op(rti_inbox_next(&inbox)) == &ops[3]);
    CHECK(rti_inbox_next(&inbox) == NULL);
    CHECK(rti_inbox_next(&inbox) == NULL);
    CHECK(rti_inbox_try_idle(&inbox));
    CHECK(rti_inbox_try_idle(&inbox));
    CHECK(rti_inbox_push(&inbox, rti_leg_of(&ops[4], RTI_LEG_OP)));
    CHECK(!rti_inbox_push(&inbox, rti_leg_of(&ops[5], RTI_LEG_OP)));
    CHECK_EQ(rti_inbox_audit(&inbox), 2);
}

static unsigned tick_order[64];
static unsigned tick_order_count;

/* Wakes itself for ever. */
static void greedy(struct puppet *puppet, rt_time now)
{
    (void)now;
    if (tick_order_count < 60) {
        tick_order[tick_order_count++] = (unsigned)(uintptr_t)puppet->data;
        rt_machine_wake(&puppet->machine);
    }
}

TEST(machine_loop_is_fair_among_machines_that_are_always_ready)
{
    static struct puppet children[3];
    world_start(1);
    for (uintptr_t i = 0; i < 3; i++) {
        puppet_child(APP(0), &children[i]);
        children[i].data = (void *)i;
        children[i].script = greedy;
    }
    world_settle();
    CHECK_EQ(tick_order_count, 60);
    for (unsigned i = 0; i < 60; i++) {
        CHECK_EQ(tick_order[i], i % 3);
    }
    world_finish();
}

/* Asks itself as soon as it is answered. */
static void chatter(struct puppet *puppet, rt_time now)
{
    (void)now;
    if (puppet->count[RT_QUEUE_SUBMISSIONS] > 0) {
        puppet->count[RT_QUEUE_SUBMISSIONS] = 0;
        rt_op_complete(&puppet->machine, rt_machine_held(&puppet->machine, NULL), RT_OK, 0);
    }
    if (puppet->count[RT_QUEUE_COMPLETIONS] > 0 && !rt_machine_is_closing(&puppet->machine)) {
        puppet->count[RT_QUEUE_COMPLETIONS] = 0;
        CHECK_OK(rt_op_submit(&puppet->machine, puppet->data));
    }
}

TEST(machine_that_talks_to_itself_does_not_hold_up_timers)
{
    rt_op op;
    rt_timer_op timer;
    static struct puppet child;
    world_start(1);
    puppet_child(APP(0), &child);
    APP(0)->script = chatter;
    APP(0)->data = &op;
    rt_op_init(&op, ASK);
    op.destination = APP(0)->machine.id;
    CHECK_OK(rt_op_submit(&APP(0)->machine, &op));
    start_timer(&timer, &child, world.sim.now_ns);
    for (unsigned i = 0; i < 4; i++) {
        rt_loop_turn(&world.loops[0], 0);
    }
    CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 1);
    world_finish();
}

TEST(machine_names_run_out_and_come_back)
{
    static struct puppet children[WORLD_SLOTS];
    rt_machine_config config = puppet_config();
    world_start(1);
    for (unsigned i = 0; i < WORLD_SLOTS - 2; i++) {
        puppet_child(APP(0), &children[i]);
    }
    CHECK_STATUS(rt_machine_init_child(&APP(0)->machine, &children[15].machine, &config),
                 RT_ERR_RESOURCE_EXHAUSTED);
    rt_machine_close(&children[3].machine);
    world_settle();
    CHECK(children[3].is_closed);
    puppet_child(APP(0), &children[3]);
    world_finish();
}

TEST(machine_names_wrap_without_zero)
{
    static struct puppet child;
    world_start(1);
    uint32_t first = 0;
    for (uint32_t i = 0; i < 70000; i++) {
        puppet_child(APP(0), &child);
        CHECK(child.machine.id.machine_id != 0);
        CHECK(child.machine.id.machine_id >> 16 != 0);
        first = i == 0 ? child.machine.id.machine_id : first;
        CHECK(i % 65535 == 0 || child.machine.id.machine_id != first);
        rti_slots_give(world_loop(0), &child.machine);
        rti_list_remove(&rti_machine_of(&child.machine)->sibling);
        rti_list_remove(&rti_machine_of(&child.machine)->input_link);
    }
    world_finish();
}

TEST(machine_loop_init_refuses_what_is_no_loop)
{
    static rt_loop loop;
    static struct puppet app;
    static rt_machine_slot slots[2];
    struct rti_port_sim sim;
    rti_port_sim_init(&sim, 1, 0, NULL);
    const rt_loop_config good = {.port = &sim.port,
                                 .app = &app.machine,
                                 .app_config = puppet_config(),
                                 .slots = slots,
                                 .slots_count = 2};
    rt_loop_config bad[9];
    for (unsigned i = 0; i < 9; i++) {
        bad[i] = good;
    }
    rt_loop *others[1] = {NULL};
    rt_loop_group group;
    rt_loop_group_init(&group, others, 1);
    bad[0].port = NULL;
    bad[1].app = NULL;
    bad[2].slots = NULL;
    bad[3].slots_count = 1;
    bad[4].slots_count = 65536;
    bad[5].app_config.tick = NULL;
    bad[6].thread_id = 1;
    bad[7].group = &group;
    bad[8].group = &group;
    bad[8].thread_id = 1;
    for (unsigned i = 0; i < 9; i++) {
        CHECK_STATUS(rt_loop_init(&loop, &bad[i]), RT_ERR_INVALID);
    }
    CHECK_STATUS(rt_loop_init(NULL, &good), RT_ERR_INVALID);
    CHECK_STATUS(rt_loop_init(&loop, NULL), RT_ERR_INVALID);
    CHECK_OK(rt_loop_init(&loop, &good));
    rt_loop_close(&loop);
    CHECK_OK(rt_loop_run(&loop));
    rt_loop_deinit(&loop);
}

TEST(machine_loop_counts_what_it_does)
{
    rt_op op;
    rt_loop_stats stats;
    world_start(2);
    rt_op_init(&op, ASK);
    op.destination = APP(1)->machine.id;
    CHECK_OK(rt_op_submit(&APP(0)->machine, &op));
    CHECK(rt_op_cancel(&APP(0)->machine, &op));
    world_settle();
    rt_loop_get_stats(&world.loops[0], &stats);
    CHECK_EQ(stats.submitted, 1);
    CHECK_EQ(stats.completed, 1);
    CHECK_EQ(stats.cancels, 1);
    CHECK_EQ(stats.received, 1);
    CHECK_EQ(stats.routed, 2);
    CHECK_EQ(stats.machines, 2);
    CHECK(stats.turns > 0 && stats.waits == stats.turns && stats.ticks >= 2);
    rt_loop_get_stats(&world.loops[1], &stats);
    CHECK_EQ(stats.received, 2);
    CHECK(rt_machine_loop(&APP(1)->machine) == &world.loops[1]);
    CHECK_EQ(rt_loop_platform(&world.loops[1]).thread_id, 1);
    world_finish();
}

TEST(machine_journal_shows_the_tree_of_ops)
{
    struct rti_journal journal;
    struct rti_journal_record ring[64];
    rt_op outer;
    rt_op inner;
    world_start(2);
    world_settle();
    rti_journal_init(&journal, ring, 64);
    world_loop(0)->journal = &journal;
    world_loop(1)->journal = &journal;
    rt_op_init(&outer, ASK);
    outer.destination = APP(1)->machine.id;
    CHECK_OK(rt_op_submit(&APP(0)->machine, &outer));
    world_settle();
    rt_op_init(&inner, ASK);
    rt_op_derive(&inner, &outer);
    CHECK_OK(rt_op_submit(&APP(1)->machine, &inner));
    world_settle();
    rt_op_complete(&APP(1)->machine, &outer, RT_OK, 0);
    world_settle();
    const uint32_t wanted[] = {RTI_JOURNAL_OP_SUBMIT, RTI_JOURNAL_OP_TRACE,  RTI_JOURNAL_OP_HOP,
                               RTI_JOURNAL_OP_TRACE,  RTI_JOURNAL_OP_TAKE,   RTI_JOURNAL_OP_SUBMIT,
                               RTI_JOURNAL_OP_TRACE,  RTI_JOURNAL_OP_TAKE,   RTI_JOURNAL_OP_ANSWER,
                               RTI_JOURNAL_OP_DONE,   RTI_JOURNAL_OP_ANSWER, RTI_JOURNAL_OP_HOP,
                               RTI_JOURNAL_OP_TRACE,  RTI_JOURNAL_OP_DONE};
    CHECK_EQ(rti_journal_count(&journal), RTI_COUNT_OF(wanted));
    for (size_t i = 0; i < RTI_COUNT_OF(wanted); i++) {
        CHECK_STR(rti_journal_kind_name(rti_journal_at(&journal, i)->kind),
                  rti_journal_kind_name(wanted[i]));
    }
    CHECK_EQ(rti_journal_at(&journal, 5)->timer, outer.id); /* the parent */
    CHECK_EQ(rti_journal_at(&journal, 5)->value, inner.id);
    CHECK_EQ(rti_journal_at(&journal, 6)->timer, outer.id); /* the trace */
    CHECK_EQ(rti_journal_at(&journal, 3)->timer, outer.trace_id);
    world_finish();
}
