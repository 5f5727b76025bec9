/* SPDX-License-Identifier: Apache-2.0 */
/* Hosted loops that talk over sockets, on the machine itself, also with several workers: the
 * answers of the port come on whichever thread is in the poller, and each reaches its loop once. */
#define _GNU_SOURCE
#define RTI_MODULE "loop_host_sockets_test"
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
#include "machine/loop.h"
#include "port/op.h"
#include "sched/scheduler.h"
#include "support/engines.h"
#include "support/test.h"

TEST_TIMEOUT(60);

#define LOOPS  6 /* two of them are a pair */
#define ROUNDS 200

struct player {
    rt_machine machine; /* first */
    unsigned index;
    int fd;
    bool has_begun;
    bool is_inside; /* plain: two workers in one loop are a race */
    bool is_sending;
    bool is_to_send;
    bool is_closed;
    rt_io_op recv;
    rt_io_op send;
    rt_io_op close;
    unsigned char in;
    unsigned char out;
    unsigned rounds; /* bytes that came */
};

static struct player players[LOOPS];
static rt_loop loops[LOOPS];
static rt_machine_slot slots[LOOPS][4];
static rti_atomic_u32 turns; /* of the task beside them */

static void ask(struct player *player, rt_io_op *op, uint32_t code, unsigned char *byte)
{
    rt_op_init(&op->base, code);
    op->fd = player->fd;
    op->buffer = byte;
    op->length = 1;
    CHECK_OK(rt_op_submit(&player->machine, &op->base));
}

/* Sends what is to be sent, unless the last one is still on its way. */
static void send_next(struct player *player)
{
    if (player->is_to_send && !player->is_sending) {
        player->is_to_send = false;
        player->is_sending = true;
        ask(player, &player->send, RT_OP_SEND, &player->out);
    }
}

static void hear_byte(struct player *player)
{
    bool is_first = player->index % 2 == 0;
    CHECK_EQ(player->recv.base.result, 1);
    CHECK_EQ(player->in, player->rounds % 256);
    player->rounds++;
    /* The first of a pair counts, the other says the same again. */
    player->out = (unsigned char)(is_first ? player->rounds : player->rounds - 1);
    player->is_to_send = !is_first || player->rounds < ROUNDS;
    if (player->rounds < ROUNDS) {
        ask(player, &player->recv, RT_OP_RECV, &player->in);
    }
}

static void hear(struct player *player, const rt_op *op)
{
    if (op == &player->close.base) {
        CHECK_EQ(op->status, RT_OK);
        player->is_closed = true;
        rt_loop_close(&loops[player->index]);
    } else if (rt_machine_is_closing(&player->machine)) {
        CHECK(op->status == RT_OK || op->status == RT_ERR_CANCELLED);
    } else if (op == &player->recv.base) {
        CHECK_EQ(op->status, RT_OK);
        hear_byte(player);
    } else {
        CHECK(op->status == RT_OK && op->result == 1);
        player->is_sending = false;
    }
}

static void player_tick(rt_machine *machine, rt_time now)
{
    struct player *player = (struct player *)machine;
    const rt_op *op;
    (void)now;
    CHECK(!player->is_inside);
    player->is_inside = true;
    if (!player->has_begun && !rt_machine_is_closing(machine)) {
        player->has_begun = true;
        player->is_to_send = player->index % 2 == 0;
        ask(player, &player->recv, RT_OP_RECV, &player->in);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        hear(player, op);
    }
    if (!rt_machine_is_closing(machine)) {
        send_next(player);
        if (player->rounds == ROUNDS && !player->is_sending && player->fd >= 0) {
            ask(player, &player->close, RT_OP_FD_CLOSE, NULL);
            player->fd = -1;
        }
    }
    player->is_inside = false;
}

static void host_all(void)
{
    rti_u32_store_relaxed(&turns, 0);
    for (unsigned i = 0; i < LOOPS; i += 2) {
        int fds[2];
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
        players[i] = (struct player){.index = i, .fd = fds[0]};
        players[i + 1] = (struct player){.index = i + 1, .fd = fds[1]};
    }
    for (unsigned i = 0; i < LOOPS; i++) {
        const rt_loop_config config = {.app = &players[i].machine,
                                       .app_config = {.tick = player_tick},
                                       .slots = slots[i],
                                       .slots_count = 4};
        CHECK_OK(rt_loop_host(&loops[i], &config, RT_PRIO_NORMAL));
    }
}

static void *yield_main(void *arg)
{
    for (int i = 0; i < 50; i++) {
        rt_yield();
        rti_u32_add_relaxed(&turns, 1);
    }
    return arg;
}

static void check_played(void)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(players[i].rounds, ROUNDS);
        CHECK(players[i].is_closed && !players[i].is_sending);
        rt_loop_deinit(&loops[i]);
    }
    CHECK_EQ(rti_u32_load_relaxed(&turns), 50);
}

TEST(loop_host_speaks_over_sockets_beside_tasks_on_one_worker_and_on_several)
{
    const struct engines_program program = {
        .main = yield_main, .before = host_all, .after = check_played};
    engines_run_on(ENGINE_FIXED, &program);
    engines_run_on(ENGINE_PARALLEL, &program);
}

/* ---- loops that are closed while bytes come ---- */

static void *close_main(void *arg)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        for (unsigned k = 0; k < i; k++) {
            rt_yield();
        }
        rt_loop_close(&loops[i]);
    }
    return arg;
}

/* What a player asked for is answered, and its buffer its own, when the loop has ended. */
static void check_closed(void)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK(!players[i].has_begun || !rt_op_is_submitted(&players[i].recv.base));
        CHECK(players[i].rounds <= ROUNDS);
        rt_loop_deinit(&loops[i]);
        if (players[i].fd >= 0) {
            CHECK_OK(rt_net_close(players[i].fd));
        }
    }
}

TEST(loop_host_that_is_closed_under_its_sockets_ends_on_one_worker_and_on_several)
{
    const struct engines_program program = {
        .main = close_main, .before = host_all, .after = check_closed};
    for (int i = 0; i < 10; i++) {
        engines_run_on(ENGINE_FIXED, &program);
        engines_run_on(ENGINE_PARALLEL, &program);
    }
}

/* ---- several workers: the port answers faster than the loop listens ---- */

#define FLOOD_RINGS     10
#define FLOOD_READS_MAX 100

static struct {
    rt_machine machine; /* first */
    rt_io_op receiving;
    rt_recv_ring ring;
    unsigned char memory[4 * FLOOD_READS_MAX];
    unsigned rings;
    unsigned reads; /* since the last tick */
    int fds[2];
} flood;

/* The loop's own port, before that of the runtime, which other threads look at. */
static struct rti_port *quiet;

/* A byte is always there, and another worker has told it before the submit returns. */
static void flood_submit(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    if (op->code != RTI_OP_READ) {
        quiet->ops->submit(quiet, op);
        return;
    }
    CHECK(++flood.reads < FLOOD_READS_MAX);
    rti_op_to_in_flight(op);
    *(unsigned char *)op->buffer = 'x';
    rti_op_answer(op, RT_OK, 1, 0);
    rti_op_to_idle(op);
    op->done(op);
}

static void flood_cancel(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    quiet->ops->cancel(quiet, op);
}

static bool flood_attempt(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    return quiet->ops->attempt(quiet, op);
}

static uint64_t flood_clock_ns(struct rti_port *port)
{
    (void)port;
    return quiet->ops->clock_ns(quiet);
}

static const struct rti_port_ops flood_ops = {.submit = flood_submit,
                                              .cancel = flood_cancel,
                                              .attempt = flood_attempt,
                                              .clock_ns = flood_clock_ns};
static struct rti_port flood_port = {.ops = &flood_ops};

static void flood_tick(rt_machine *machine, rt_time now)
{
    unsigned char bytes[sizeof(flood.memory)];
    (void)now;
    flood.reads = 0;
    if (flood.rings == 0 && !rt_op_is_submitted(&flood.receiving.base)) {
        rti_loop_of(rt_machine_loop(machine))->port = &flood_port;
        rt_op_init(&flood.receiving.base, RT_OP_RECV_RING);
        CHECK_OK(rt_op_submit(machine, &flood.receiving.base));
    }
    while (rt_machine_next(machine, RT_QUEUE_NOTIFICATIONS) != NULL) {
        CHECK(rt_recv_ring_read(&flood.ring, bytes, sizeof(bytes)) > 0);
        if (++flood.rings == FLOOD_RINGS) {
            CHECK(rt_op_cancel(machine, &flood.receiving.base));
        }
    }
    if (rt_machine_next(machine, RT_QUEUE_COMPLETIONS) != NULL) {
        rt_loop_close(rt_machine_loop(machine));
    }
}

static void *flood_main(void *arg)
{
    quiet = rti_worker_current()->sched->port;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, flood.fds), 0);
    CHECK_OK(
        rt_recv_ring_init(&flood.ring, flood.memory, sizeof(flood.memory), RT_RECV_DROP_NEWEST));
    flood.receiving.fd = flood.fds[0];
    flood.receiving.ring = &flood.ring;
    const rt_loop_config config = {.app = &flood.machine,
                                   .app_config = {.tick = flood_tick},
                                   .slots = slots[0],
                                   .slots_count = 4};
    CHECK_OK(rt_loop_host(&loops[0], &config, RT_PRIO_NORMAL));
    return arg;
}

TEST(loop_host_of_several_workers_ticks_its_machines_while_answers_keep_coming)
{
    static const rt_config parallel = {.workers = 1};
    CHECK_OK(rt_run_main(&(rt_main_config){.parallel = &parallel}, flood_main, NULL));
    CHECK(flood.rings >= FLOOD_RINGS);
    CHECK_EQ(flood.receiving.base.status, RT_ERR_CANCELLED);
    rt_loop_deinit(&loops[0]);
}
