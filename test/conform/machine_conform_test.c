/* SPDX-License-Identifier: Apache-2.0 */
/* The properties and invariants of the machine specification that no other file shows. */
#define _GNU_SOURCE
#define RTI_MODULE "machine_conform_test"
#include "support/machines.h"

#include "port/linux/port_linux.h"
#include "support/heap_watch.h"

#define APP(i) (&world.apps[i])

enum { ASK = RT_OP_USER };

static void ask(rt_op *op, struct puppet *from, struct puppet *to)
{
    rt_op_init(op, ASK);
    op->destination = to->machine.id;
    CHECK_OK(rt_op_submit(&from->machine, op));
}

TEST(machine_types_have_the_fields_of_the_specification)
{
    rt_op op;
    rt_machine machine;
    rt_machine_config config;
    _Static_assert(sizeof(op.id) == 8 && sizeof(op.trace_id) == 8, "u64");
    _Static_assert(sizeof(op.parent_id) == 8 && sizeof(op.code) == 4, "u64, u32");
    _Static_assert(sizeof(op.result) >= 4, "room for an i32");
    _Static_assert(sizeof(op.destination) == 8 && sizeof(op.source) == 8, "two references");
    _Static_assert(sizeof(op.source.thread_id) == 4 && sizeof(op.source.machine_id) == 4, "u32");
    _Static_assert(sizeof(machine.state) == sizeof(void *), "a pointer");
    _Static_assert(sizeof(config.state_size) == sizeof(size_t), "usz");
    _Static_assert(sizeof(config.state_align) == 1, "u8");
    _Static_assert(RT_QUEUE_COUNT == 4, "four queues");
    rt_op_init(&op, ASK);
    CHECK_EQ(op.code, ASK);
    CHECK_EQ(op.parent_id, 0);
    CHECK_EQ(op.destination.machine_id, 0);
    CHECK(!rt_op_is_submitted(&op));
}

TEST(machine_state_and_memory_belong_to_who_made_the_machine)
{
    static struct puppet child;
    uint64_t state = 5;
    rt_machine_config config = puppet_config();
    config.state = &state;
    config.state_size = sizeof(state);
    config.state_align = 3;
    world_start(1);
    CHECK_OK(rt_machine_init_child(&APP(0)->machine, &child.machine, &config));
    world_settle();
    CHECK(child.machine.state == &state);
    CHECK(child.machine.parent == &APP(0)->machine);
    rt_machine_close(&child.machine);
    world_settle();
    CHECK(child.is_closed);
    memset(&child.machine, 0xA5, sizeof(child.machine)); /* ours again */
    world_settle();
    CHECK_EQ(state, 5);
    world_finish();
}

static uint64_t phase_now[4];
static unsigned phase_count;

static void note_phase(struct puppet *puppet, rt_time now)
{
    CHECK(phase_count < 4);
    /* Timers, inbox and routing of this turn have come before the tick. */
    CHECK_EQ(puppet->count[RT_QUEUE_COMPLETIONS], phase_count == 0 ? 0 : 1);
    phase_now[phase_count++] = now;
}

TEST(machine_turn_completes_timers_takes_the_inbox_and_routes_before_it_ticks)
{
    rt_timer_op timer;
    rt_op remote;
    world_start(2);
    world_settle();
    rt_op_init(&timer.base, RT_OP_TIMER);
    timer.deadline = world.sim.now_ns + 50;
    CHECK_OK(rt_op_submit(&APP(0)->machine, &timer.base));
    (void)rt_loop_turn(&world.loops[0], 0);
    ask(&remote, APP(1), APP(0));
    (void)rt_loop_turn(&world.loops[1], 0);
    world.sim.now_ns += 50;
    phase_count = 1;
    APP(0)->script = note_phase;
    (void)rt_loop_turn(&world.loops[0], 0);
    CHECK_EQ(phase_count, 2); /* one tick for both */
    CHECK_EQ(APP(0)->count[RT_QUEUE_SUBMISSIONS], 1);
    CHECK_EQ(phase_now[1], world.sim.now_ns);
    APP(0)->script = NULL;
    world_finish();
}

TEST(machine_op_memory_is_the_initiators_again_with_the_completion)
{
    rt_op op;
    world_start(2);
    for (unsigned i = 0; i < 4; i++) {
        ask(&op, APP(0), APP(1));
        world_settle();
        rt_op_ring(&APP(1)->machine, &op);
        if (i % 2 == 0) {
            CHECK(rt_op_cancel(&APP(0)->machine, &op));
        }
        if (i < 2) {
            world_settle();
        }
        rt_op_complete(&APP(1)->machine, &op, RT_OK, 0);
        CHECK(rt_op_is_submitted(&op));
        world_settle();
        CHECK(!rt_op_is_submitted(&op));
        memset(&op, 0xA5, sizeof(op));
        world_settle();
    }
    world_finish();
}

/* Everything at once, in memory that is all there from the start. */
TEST(machine_loops_allocate_nothing)
{
    static struct rti_port_linux port;
    static rt_loop loop;
    static struct puppet app;
    static struct puppet child;
    static rt_machine_slot slots[4];
    static rt_io_op io;
    static rt_timer_op timer;
    heap_watch();
    CHECK_OK(rti_port_linux_init(&port, NULL));
    heap_watch();
    const rt_loop_config config = {.port = &port.port,
                                   .app = &app.machine,
                                   .app_config = puppet_config(),
                                   .slots = slots,
                                   .slots_count = 4};
    CHECK_OK(rt_loop_init(&loop, &config));
    puppet_child(&app, &child);
    rt_op_init(&timer.base, RT_OP_TIMER);
    timer.deadline = 0;
    CHECK_OK(rt_op_submit(&child.machine, &timer.base));
    rt_op_init(&io.base, RT_OP_UDP_OPEN);
    io.address = (rt_net_address){.ip = {127, 0, 0, 1}};
    CHECK_OK(rt_op_submit(&app.machine, &io.base));
    while (app.count[RT_QUEUE_COMPLETIONS] + child.count[RT_QUEUE_COMPLETIONS] < 2) {
        (void)rt_loop_turn(&loop, RT_TIME_NEVER);
    }
    CHECK_EQ(io.base.status, RT_OK);
    io.fd = (int)io.base.result;
    rt_op_init(&io.base, RT_OP_FD_CLOSE);
    CHECK_OK(rt_op_submit(&app.machine, &io.base));
    rt_loop_close(&loop);
    CHECK_OK(rt_loop_run(&loop));
    rt_loop_deinit(&loop);
    CHECK_EQ(heap_calls(), 0);
    rti_port_linux_deinit(&port);
}
