/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "Network API" and what "Actor Blocking Semantics" says of the network,
 * on the whole runtime and through the public headers alone: on the machine, and in the simulator
 * with its own network. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

static int listener;
static uint16_t port;
static int pair[2]; /* a connection: [0] is the server's end */

static actor_id spawn(actor_fn fn, void *arg)
{
    const actor_config config = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    actor_id id = rt_spawn_ex(fn, arg, &config);
    CHECK(id != ACTOR_ID_INVALID);
    return id;
}

/* Runs a program of which `first` is the first actor, to its end. */
static void run(actor_fn first)
{
    world_io_run(first, NULL);
}

static void open_pair(void)
{
    CHECK_OK(rt_net_listen(0, &listener));
    CHECK_OK(rt_net_local_port(listener, &port));
    CHECK_OK(rt_net_connect("127.0.0.1", port, &pair[1], -1));
    CHECK_OK(rt_net_accept(listener, &pair[0], -1));
}

static void close_pair(void)
{
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
    CHECK_OK(rt_net_close(listener));
}

static uint64_t now_ns(void)
{
    return rt_clock();
}

static rt_actor_state state_of(actor_id id)
{
    struct rt_actor_stats stats;
    CHECK_OK(rt_actor_stats(id, &stats));
    return stats.state;
}

/* ---- the six functions ---- */

static void talk(void *arg)
{
    char buf[8];
    size_t sent = 0;
    size_t received = 0;
    (void)arg;
    open_pair();
    CHECK(pair[0] >= 0 && pair[1] >= 0 && pair[0] != pair[1]);
    CHECK_OK(rt_net_send(pair[0], "to client", 9, &sent, -1));
    CHECK_EQ(sent, 9);
    CHECK_OK(rt_net_recv(pair[1], buf, sizeof(buf), &received, -1));
    CHECK(received == 8 && memcmp(buf, "to clien", 8) == 0);
    CHECK_OK(rt_net_recv(pair[1], buf, sizeof(buf), &received, 3600000));
    CHECK(received == 1 && buf[0] == 't');
    CHECK_OK(rt_net_send(pair[1], "to server", 9, &sent, 0));
    CHECK_OK(rt_net_recv(pair[0], buf, 2, &received, -1));
    CHECK(received == 2 && memcmp(buf, "to", 2) == 0);
    close_pair();
    rt_exit();
}

TEST(net_listen_accept_connect_send_recv_and_close_work_together)
{
    run(talk);
}

static void by_name(void *arg)
{
    (void)arg;
    CHECK_OK(rt_net_listen(0, &listener));
    CHECK_OK(rt_net_local_port(listener, &port));
    CHECK_OK(rt_net_connect("localhost", port, &pair[1], -1));
    CHECK_OK(rt_net_accept(listener, &pair[0], -1));
    close_pair();
    rt_exit();
}

TEST(net_connect_takes_the_name_of_a_host)
{
    run(by_name);
}

static void after_close(void *arg)
{
    char byte;
    size_t count;
    (void)arg;
    open_pair();
    int closed = pair[0];
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_STATUS(rt_net_recv(closed, &byte, 1, &count, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_close(closed), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_recv(pair[1], &byte, 1, &count, -1), RT_ERR_CLOSED);
    CHECK_OK(rt_net_close(pair[1]));
    CHECK_OK(rt_net_close(listener));
    rt_exit();
}

TEST(net_close_ends_the_descriptor_and_tells_the_peer)
{
    run(after_close);
}

/* ---- timeout_ms ---- */

static void without_waiting(void *arg)
{
    static char much[1 << 20];
    char byte = 'k';
    size_t count = 99;
    int fd = -7;
    (void)arg;
    open_pair();
    CHECK_STATUS(rt_net_accept(listener, &fd, 0), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, &count, 0), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_net_connect("localhost", port, &fd, 0), RT_ERR_WOULDBLOCK);
    CHECK(byte == 'k' && count == 99 && fd == -7);
    rt_status status = RT_SUCCESS;
    while (!RT_FAILED(status)) {
        status = rt_net_send(pair[0], much, sizeof(much), &count, 0);
    }
    CHECK_STATUS(status, RT_ERR_WOULDBLOCK);
    close_pair();
    rt_exit();
}

TEST(net_timeout_0_never_waits_and_says_wouldblock)
{
    run(without_waiting);
}

static void with_a_limit(void *arg)
{
    static char much[1 << 20];
    char byte;
    size_t count;
    int fd;
    (void)arg;
    open_pair();
    /* Until it stays full: what was sent moves on to the other end for a while, and makes room. */
    while (!RT_FAILED(rt_net_send(pair[0], much, sizeof(much), &count, 100))) {
    }
    for (int call = 0; call < 3; call++) {
        uint64_t before_ns = now_ns();
        rt_status status = call == 0   ? rt_net_accept(listener, &fd, 7)
                           : call == 1 ? rt_net_recv(pair[0], &byte, 1, &count, 7)
                                       : rt_net_send(pair[0], "x", 1, &count, 7);
        CHECK_STATUS(status, RT_ERR_TIMEOUT);
        CHECK(now_ns() - before_ns >= 7 * RT_NS_PER_MS);
    }
    close_pair();
    rt_exit();
}

TEST(net_positive_timeout_waits_so_long_and_not_less)
{
    run(with_a_limit);
}

static void wait_for_ever(void *arg)
{
    char byte;
    size_t count;
    (void)arg;
    CHECK_OK(rt_net_recv(pair[0], &byte, 1, &count, -1));
    rt_exit();
}

static void let_it_wait(void *arg)
{
    rt_message msg;
    size_t count;
    (void)arg;
    open_pair();
    actor_id waiting = spawn(wait_for_ever, NULL);
    CHECK_STATUS(rt_ipc_recv(&msg, 30), RT_ERR_TIMEOUT);
    CHECK(rt_actor_alive(waiting));
    CHECK_OK(rt_net_send(pair[1], "x", 1, &count, -1));
    CHECK_STATUS(rt_ipc_recv(&msg, 30), RT_ERR_TIMEOUT);
    CHECK(!rt_actor_alive(waiting));
    close_pair();
    rt_exit();
}

TEST(net_negative_timeout_waits_for_ever)
{
    run(let_it_wait);
}

/* ---- blocking ---- */

static unsigned turns_of_others;

static void take_turns(void *arg)
{
    size_t count;
    actor_id *waiting = arg;
    /* The other is in its call: blocked, and not scheduled however often we yield. */
    for (turns_of_others = 0; turns_of_others < 1000; turns_of_others++) {
        CHECK_EQ(state_of(*waiting), ACTOR_STATE_BLOCKED);
        rt_yield();
    }
    CHECK_OK(rt_net_send(pair[1], "x", 1, &count, -1));
    rt_exit();
}

static void block_in_recv(void *arg)
{
    static actor_id self;
    char byte;
    size_t count;
    (void)arg;
    open_pair();
    self = rt_self();
    spawn(take_turns, &self);
    CHECK_OK(rt_net_recv(pair[0], &byte, 1, &count, -1));
    CHECK_EQ(turns_of_others, 1000);
    close_pair();
    rt_exit();
}

TEST(net_blocked_actor_is_not_scheduled_and_the_others_run)
{
    run(block_in_recv);
}

static void send_mail_then_byte(void *arg)
{
    size_t count;
    actor_id to = (actor_id)(uintptr_t)arg;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_send(to, &i, sizeof(i), IPC_ASYNC));
        rt_yield();
        CHECK_EQ(state_of(to), ACTOR_STATE_BLOCKED);
    }
    CHECK_OK(rt_net_send(pair[1], "x", 1, &count, -1));
    rt_exit();
}

static void block_and_get_mail(void *arg)
{
    char byte = 0;
    size_t count;
    rt_message msg;
    (void)arg;
    open_pair();
    spawn(send_mail_then_byte, (void *)(uintptr_t)rt_self());
    CHECK_OK(rt_net_recv(pair[0], &byte, 1, &count, -1));
    CHECK_EQ(byte, 'x');
    /* The mail did not end the wait and is here now, in its order. */
    CHECK_EQ(rt_ipc_count(), 3);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_recv(&msg, 0));
        CHECK_EQ(*(const int *)msg.data, i);
    }
    close_pair();
    rt_exit();
}

TEST(net_mail_is_delivered_to_an_actor_in_recv_and_does_not_wake_it)
{
    run(block_and_get_mail);
}

/* A request that timed out and one that follows at once: what comes answers the second. */
static void time_out_then_ask(void *arg)
{
    (void)arg;
    open_pair();
    for (int i = 0; i < 20; i++) {
        char byte = 0;
        char second = 0;
        size_t count = 99;
        CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, &count, 1), RT_ERR_TIMEOUT);
        CHECK(byte == 0 && count == 99);
        char sent = (char)('a' + i);
        CHECK_OK(rt_net_send(pair[1], &sent, 1, &count, -1));
        CHECK_OK(rt_net_recv(pair[0], &second, 1, &count, -1));
        CHECK(second == sent && byte == 0);
    }
    close_pair();
    rt_exit();
}

TEST(net_request_after_a_timeout_gets_its_own_answer)
{
    run(time_out_then_ask);
}

/* Whoever is ready first in one look runs first. */
static int order_fds[4][2];
static char order_said[8];
static size_t order_count;

static void say_when_readable(void *arg)
{
    size_t index = (size_t)(uintptr_t)arg;
    char byte;
    size_t count;
    CHECK_OK(rt_net_recv(order_fds[index][0], &byte, 1, &count, -1));
    order_said[order_count++] = (char)('0' + index);
    rt_exit();
}

/* Two ends between which nothing on the machine can change the order. */
static void open_order_pair(int fds[2])
{
    if (!world_io_is_simulated()) {
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        return;
    }
    open_pair();
    CHECK_OK(rt_net_close(listener));
    fds[0] = pair[0];
    fds[1] = pair[1];
}

static void make_ready_in_order(void *arg)
{
    const size_t order[4] = {2, 0, 3, 1};
    (void)arg;
    for (size_t i = 0; i < 4; i++) {
        open_order_pair(order_fds[i]);
        spawn(say_when_readable, (void *)(uintptr_t)i);
    }
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 2), RT_ERR_TIMEOUT); /* all wait now */
    for (size_t i = 0; i < 4; i++) {
        size_t sent;
        CHECK_OK(rt_net_send(order_fds[order[i]][1], "x", 1, &sent, -1));
    }
    CHECK_STATUS(rt_ipc_recv(&msg, 2), RT_ERR_TIMEOUT);
    for (size_t i = 0; i < 4; i++) {
        CHECK_OK(rt_net_close(order_fds[i][0]));
        CHECK_OK(rt_net_close(order_fds[i][1]));
    }
    rt_exit();
}

TEST(net_completions_of_one_look_wake_in_the_order_they_came)
{
    run(make_ready_in_order);
    CHECK_STR(order_said, "2031");
}

/* ---- threads ---- */

static void *external_producer(void *arg)
{
    const char *text = "from outside";
    CHECK_EQ(write(*(int *)arg, text, 12), 12);
    return NULL;
}

static char forwarded[16];

static void worker_actor(void *arg)
{
    rt_message msg;
    (void)arg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    memcpy(forwarded, msg.data, msg.len);
    rt_exit();
}

/* The pattern that the specification gives for threads outside of the runtime. */
static void socket_reader_actor(void *arg)
{
    int sock[2];
    char buf[16];
    size_t received;
    pthread_t thread;
    (void)arg;
    actor_id worker = spawn(worker_actor, NULL);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
    CHECK_EQ(pthread_create(&thread, NULL, external_producer, &sock[1]), 0);
    CHECK_OK(rt_net_recv(sock[0], buf, sizeof(buf), &received, -1));
    CHECK_OK(rt_ipc_send(worker, buf, received, IPC_ASYNC));
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_OK(rt_net_close(sock[0]));
    close(sock[1]);
    rt_exit();
}

TEST(net_external_thread_reaches_actors_over_a_socket)
{
    world_needs_machine("no thread reaches into a simulated world");
    run(socket_reader_actor);
    CHECK_STR(forwarded, "from outside");
}

/* ---- running out ---- */

static size_t refused;
static size_t served;

static void wait_or_be_refused(void *arg)
{
    char byte;
    size_t count;
    (void)arg;
    rt_status status = rt_net_recv(pair[0], &byte, 1, &count, -1);
    if (status.code == RT_ERR_CLOSED) {
        served++;
    } else {
        CHECK_STATUS(status, RT_ERR_NOMEM);
        refused++;
    }
    rt_exit();
}

static void fill(void *arg)
{
    const actor_config config = {.stack_size = 8192, .priority = RT_PRIO_NORMAL};
    rt_message msg;
    (void)arg;
    open_pair();
    size_t spawned = 0;
    while (rt_spawn_ex(wait_or_be_refused, NULL, &config) != ACTOR_ID_INVALID) {
        spawned++;
    }
    CHECK_STATUS(rt_ipc_recv(&msg, 2), RT_ERR_TIMEOUT);
    /* All wait; closing wakes them all, at once. */
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_STATUS(rt_ipc_recv(&msg, 2), RT_ERR_TIMEOUT);
    CHECK_EQ(served + refused, spawned);
    CHECK(served >= RT_MAX_ACTORS - 1 || served == RT_COMPLETION_QUEUE_SIZE);
    CHECK_OK(rt_net_close(pair[1]));
    CHECK_OK(rt_net_close(listener));
    rt_exit();
}

TEST(net_every_actor_can_wait_and_close_wakes_them_all)
{
    run(fill);
}

/* ---- death ---- */

static void kill_in_call(void *arg)
{
    rt_message msg;
    (void)arg;
    open_pair();
    actor_id victim = spawn(wait_for_ever, NULL);
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_link(victim));
    CHECK_OK(rt_actor_kill(victim));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_exit_msg notice;
    CHECK(rt_is_exit_msg(&msg));
    CHECK_OK(rt_decode_exit(&msg, &notice));
    CHECK(notice.actor == victim && notice.reason == RT_EXIT_KILLED);
    /* The socket outlives the actor, and works. */
    char byte = 0;
    size_t count;
    CHECK_OK(rt_net_send(pair[1], "x", 1, &count, -1));
    CHECK_OK(rt_net_recv(pair[0], &byte, 1, &count, -1));
    CHECK_EQ(byte, 'x');
    close_pair();
    rt_exit();
}

TEST(net_actor_killed_in_a_call_leaves_the_socket_usable)
{
    run(kill_in_call);
}
