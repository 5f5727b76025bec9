/* SPDX-License-Identifier: Apache-2.0 */
/* The properties and invariants of the machine specification that no other file shows. */
#define _GNU_SOURCE
#define RTI_MODULE "machine_conform_test"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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

/* ---- no allocation ---- */

static struct rti_port_linux heap_port;
static rt_loop heap_loop;
static struct puppet heap_app;
static struct puppet heap_child;
static rt_machine_slot heap_slots[4];

/* Has the platform do one thing and turns until it is done. */
static int64_t heap_do(rt_io_op *io, uint32_t code)
{
    rt_op_init(&io->base, code);
    CHECK_OK(rt_op_submit(&heap_child.machine, &io->base));
    while (rt_op_is_submitted(&io->base)) {
        (void)rt_loop_turn(&heap_loop, RT_TIME_NEVER);
    }
    heap_child.count[RT_QUEUE_COMPLETIONS] = 0;
    CHECK_EQ(io->base.status, RT_OK);
    return io->base.result;
}

static void heap_close(int fd, uint32_t code)
{
    rt_io_op io = {.fd = fd};
    (void)heap_do(&io, code);
}

static rt_net_address heap_address(int fd)
{
    rt_io_op io = {.fd = fd};
    (void)heap_do(&io, RT_OP_LOCAL_ADDRESS);
    return io.address;
}

/* A connection, and a receive that stands on it. */
static void heap_tcp(void)
{
    static unsigned char memory[64];
    rt_recv_ring ring;
    rt_io_op io = {.address = {.ip = {127, 0, 0, 1}}};
    int listener = (int)heap_do(&io, RT_OP_LISTEN);
    io.address = heap_address(listener);
    int client = (int)heap_do(&io, RT_OP_CONNECT);
    io.fd = listener;
    int server = (int)heap_do(&io, RT_OP_ACCEPT);
    CHECK_OK(rt_recv_ring_init(&ring, memory, sizeof(memory), RT_RECV_OVERWRITE_OLDEST));
    rt_io_op standing = {.fd = server, .ring = &ring};
    rt_op_init(&standing.base, RT_OP_RECV_RING);
    CHECK_OK(rt_op_submit(&heap_app.machine, &standing.base));
    io = (rt_io_op){.fd = client, .buffer = memory, .length = 5};
    CHECK_EQ(heap_do(&io, RT_OP_SEND), 5);
    while (heap_app.count[RT_QUEUE_NOTIFICATIONS] == 0) {
        (void)rt_loop_turn(&heap_loop, RT_TIME_NEVER);
    }
    heap_close(client, RT_OP_FD_CLOSE);
    while (rt_op_is_submitted(&standing.base)) {
        (void)rt_loop_turn(&heap_loop, RT_TIME_NEVER);
    }
    heap_close(server, RT_OP_FD_CLOSE);
    heap_close(listener, RT_OP_FD_CLOSE);
}

static void heap_udp(void)
{
    char bytes[8] = "ping";
    rt_io_op io = {.address = {.ip = {127, 0, 0, 1}}};
    io.fd = (int)heap_do(&io, RT_OP_UDP_OPEN);
    io.address = heap_address(io.fd);
    io.buffer = bytes;
    io.length = 4;
    CHECK_EQ(heap_do(&io, RT_OP_UDP_SEND), 4);
    io.length = sizeof(bytes);
    CHECK_EQ(heap_do(&io, RT_OP_UDP_RECV), 4);
    heap_close(io.fd, RT_OP_FD_CLOSE);
}

static int64_t heap_work(void *arg)
{
    return *(const int *)arg;
}

static void heap_files(char *path)
{
    char bytes[8] = "1234567";
    int value = 7;
    rt_io_op io = {.buffer = path, .flags = O_RDWR};
    io.fd = (int)heap_do(&io, RT_OP_FILE_OPEN);
    io.buffer = bytes;
    io.length = 7;
    CHECK_EQ(heap_do(&io, RT_OP_FILE_WRITE), 7);
    (void)heap_do(&io, RT_OP_FILE_SYNC);
    io.offset = 0;
    CHECK_EQ(heap_do(&io, RT_OP_FILE_READ), 7);
    io.work = heap_work;
    io.arg = &value;
    CHECK_EQ(heap_do(&io, RT_OP_WORK), 7);
    heap_close(io.fd, RT_OP_FILE_CLOSE);
}

/* A channel from the child to the app, and a timer. */
static void heap_machines(void)
{
    static rt_timer_op timer;
    static rt_channel_op channel;
    static rt_spsc_queue queue;
    static uint32_t entries[4];
    uint32_t entry = 1;
    CHECK_OK(rt_spsc_init(&queue, entries, sizeof(entries[0]), 4));
    rt_op_init(&channel.base, RT_OP_CHANNEL);
    channel.queue = &queue;
    channel.base.destination = heap_child.machine.id;
    CHECK_OK(rt_op_submit(&heap_app.machine, &channel.base));
    rt_op_init(&timer.base, RT_OP_TIMER);
    timer.deadline = 0;
    CHECK_OK(rt_op_submit(&heap_child.machine, &timer.base));
    while (heap_child.count[RT_QUEUE_SUBMISSIONS] == 0 || rt_op_is_submitted(&timer.base)) {
        (void)rt_loop_turn(&heap_loop, RT_TIME_NEVER);
    }
    CHECK(rt_channel_op_push(&heap_child.machine, &channel, &entry));
    rt_op_complete(&heap_child.machine, &channel.base, RT_OK, 0);
}

/* Each op that the platform knows, in memory that is all there from the start. */
TEST(machine_loops_allocate_nothing)
{
    const struct rti_port_linux_config eager = {.is_pool_eager = true};
    char path[] = "/tmp/orrery_machine_XXXXXX";
    heap_watch();
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    CHECK_OK(rti_port_linux_init(&heap_port, &eager)); /* threads: the C library allocates */
    heap_watch();
    const rt_loop_config config = {.port = &heap_port.port,
                                   .app = &heap_app.machine,
                                   .app_config = puppet_config(),
                                   .slots = heap_slots,
                                   .slots_count = 4};
    CHECK_OK(rt_loop_init(&heap_loop, &config));
    puppet_child(&heap_app, &heap_child);
    heap_tcp();
    heap_udp();
    heap_files(path);
    heap_machines();
    rt_loop_close(&heap_loop);
    CHECK_OK(rt_loop_run(&heap_loop));
    rt_loop_deinit(&heap_loop);
    CHECK_EQ(heap_calls(), 0);
    rti_port_linux_deinit(&heap_port);
    unlink(path);
}
