/* SPDX-License-Identifier: Apache-2.0 */
/* Hosted loops that talk over sockets, on the machine itself, also with several workers: the
 * answers of the port come on whichever thread is in the poller, and each reaches its loop once. */
#define _GNU_SOURCE
#define RTI_MODULE "loop_host_sockets_test"
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
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
