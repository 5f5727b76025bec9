/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that end while somebody uses them: closed by the peer, closed here, their waiter killed.
 */
#define _GNU_SOURCE
#define RTI_MODULE "net_close_test"
#include <orrery/rt/net.h>

#include <sys/socket.h>

#include "support/io_world.h"
#include "support/test.h"

static int pair[2];

/* Runs one fiber to its end, with everything given back. */
static void run_alone(void (*main)(void *arg))
{
    io_world_start(0);
    io_world_go(main, NULL);
    io_world_finish();
}

static void close_pair_writer(void *arg)
{
    size_t sent;
    (void)arg;
    CHECK_OK(rt_net_send(pair[1], "bye", 3, &sent, -1));
    CHECK_OK(rt_net_close(pair[1]));
}

static void read_to_the_end(void *arg)
{
    char buf[8];
    size_t received = 42;
    size_t total = 0;
    (void)arg;
    io_world_tcp_pair(pair);
    io_world_go(close_pair_writer, NULL);
    while (total < 3) {
        CHECK_OK(rt_net_recv(pair[0], buf, sizeof(buf), &received, -1));
        total += received;
    }
    received = 42;
    CHECK_STATUS(rt_net_recv(pair[0], buf, sizeof(buf), &received, -1), RT_ERR_CLOSED);
    CHECK_STATUS(rt_net_recv(pair[0], buf, sizeof(buf), &received, 0), RT_ERR_CLOSED);
    CHECK_EQ(received, 42);
    CHECK_OK(rt_net_close(pair[0]));
}

TEST(net_recv_after_the_peer_closed_gives_all_data_then_closed)
{
    run_alone(read_to_the_end);
}

static void send_to_gone_peer(void *arg)
{
    size_t sent = 42;
    rt_status status = RT_SUCCESS;
    (void)arg;
    io_world_tcp_pair(pair);
    CHECK_OK(rt_net_close(pair[1]));
    for (int i = 0; i < 100 && !RT_FAILED(status); i++) {
        status = rt_net_send(pair[0], "x", 1, &sent, -1);
        io_world_sleep_ms(1);
    }
    CHECK_STATUS(status, RT_ERR_CLOSED);
    CHECK_OK(rt_net_close(pair[0]));
}

TEST(net_send_to_a_gone_peer_is_closed_and_raises_no_signal)
{
    run_alone(send_to_gone_peer);
}

static void reset_pair(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    CHECK_OK(rt_net_close(fd));
}

static void recv_from_resetting_peer(void *arg)
{
    char byte = 0;
    size_t received = 42;
    (void)arg;
    io_world_tcp_pair(pair);
    reset_pair(pair[1]);
    CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, &received, -1), RT_ERR_CLOSED);
    CHECK_EQ(received, 42);
    CHECK_OK(rt_net_close(pair[0]));
}

TEST(net_reset_by_the_peer_is_closed)
{
    run_alone(recv_from_resetting_peer);
}

/* Each blocking function, blocked for ever on `fds`. */
struct blocked {
    const char *name;
    void (*prepare)(struct blocked *self); /* in a fiber */
    rt_status (*call)(struct blocked *self);
    int fds[2];
    int out;
    rt_status_code code;
};

static void prepare_listener(struct blocked *self)
{
    uint16_t port;
    self->fds[0] = io_world_listen(&port);
    self->fds[1] = -1;
}

static rt_status call_accept(struct blocked *self)
{
    return rt_net_accept(self->fds[0], &self->out, -1);
}

static void prepare_pair(struct blocked *self)
{
    io_world_tcp_pair(self->fds);
}

static rt_status call_recv(struct blocked *self)
{
    char byte;
    size_t received;
    return rt_net_recv(self->fds[0], &byte, 1, &received, -1);
}

static void prepare_full_pair(struct blocked *self)
{
    static char big[65536];
    size_t sent;
    io_world_tcp_pair(self->fds);
    while (!RT_FAILED(rt_net_send(self->fds[0], big, sizeof(big), &sent, 0))) {
    }
}

static rt_status call_send(struct blocked *self)
{
    size_t sent;
    return rt_net_send(self->fds[0], "x", 1, &sent, -1);
}

static void prepare_udp(struct blocked *self)
{
    CHECK_OK(rt_udp_open("127.0.0.1", 0, &self->fds[0]));
    self->fds[1] = -1;
}

static rt_status call_udp_recv(struct blocked *self)
{
    char byte;
    size_t received;
    return rt_udp_recv(self->fds[0], &byte, 1, &received, NULL, -1);
}

/* Connecting to a listener whose backlog is full: the system neither accepts nor refuses. */
static void prepare_deaf_listener(struct blocked *self)
{
    const rt_net_listen_config config = {.address = "127.0.0.1", .backlog = 1};
    CHECK_OK(rt_net_listen_ex(&config, &self->fds[0]));
    self->fds[1] = -1;
}

static int fillers[8];
static size_t fillers_count;
static bool is_connecting;

static rt_status call_connect(struct blocked *self)
{
    uint16_t port;
    CHECK_OK(rt_net_local_port(self->fds[0], &port));
    fillers_count = 0;
    while (fillers_count < 8 &&
           !RT_FAILED(rt_net_connect("127.0.0.1", port, &fillers[fillers_count], 20))) {
        fillers_count++;
    }
    CHECK(fillers_count >= 1 && fillers_count < 8);
    is_connecting = true;
    return rt_net_connect("127.0.0.1", port, &self->out, -1);
}

static struct blocked blocked_calls[] = {
    {.name = "accept", .prepare = prepare_listener, .call = call_accept},
    {.name = "recv", .prepare = prepare_pair, .call = call_recv},
    {.name = "send", .prepare = prepare_full_pair, .call = call_send},
    {.name = "udp_recv", .prepare = prepare_udp, .call = call_udp_recv},
};

static struct blocked connecting = {
    .name = "connect", .prepare = prepare_deaf_listener, .call = call_connect};

static void blocked_main(void *arg)
{
    struct blocked *self = arg;
    self->code = self->call(self).code;
}

static void blocked_close(struct blocked *self)
{
    for (int i = 0; i < 2; i++) {
        if (self->fds[i] >= 0) {
            CHECK_OK(rt_net_close(self->fds[i]));
        }
    }
}

static void close_under_each(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < RTI_COUNT_OF(blocked_calls); i++) {
        struct blocked *self = &blocked_calls[i];
        self->code = RT_STATUS_COUNT;
        self->prepare(self);
        io_world_go(blocked_main, self);
        io_world_await_requests(1);
        CHECK_OK(rt_net_close(self->fds[0]));
        self->fds[0] = -1;
        io_world_await_requests(0);
        if (self->code != RT_ERR_CLOSED) {
            test_fail(__FILE__, __LINE__, "%s gave %s", self->name, rt_status_name(self->code));
        }
        blocked_close(self);
    }
}

TEST(net_close_wakes_blocked_accept_recv_send_and_udp_recv_with_closed)
{
    run_alone(close_under_each);
}

static void kill_under_each(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < RTI_COUNT_OF(blocked_calls); i++) {
        struct blocked *self = &blocked_calls[i];
        self->code = RT_STATUS_COUNT;
        self->prepare(self);
        struct rti_fiber *fiber = io_world_go(blocked_main, self);
        io_world_await_requests(1);
        io_world_kill(fiber);
        io_world_await_requests(0);
        CHECK_EQ(self->code, RT_STATUS_COUNT);
        blocked_close(self);
    }
}

TEST(net_kill_under_each_blocked_call_leaves_no_request_and_no_descriptor)
{
    run_alone(kill_under_each);
    CHECK_EQ(io_world.ends[1], RTI_FIBER_KILLED);
}

/* Starts a connect that nobody answers. */
static struct rti_fiber *start_connecting(void)
{
    connecting.code = RT_STATUS_COUNT;
    is_connecting = false;
    connecting.prepare(&connecting);
    struct rti_fiber *fiber = io_world_go(blocked_main, &connecting);
    while (!is_connecting) {
        io_world_sleep_ms(1);
    }
    io_world_await_requests(1);
    return fiber;
}

static void finish_connecting(void)
{
    io_world_await_requests(0);
    for (size_t i = 0; i < fillers_count; i++) {
        CHECK_OK(rt_net_close(fillers[i]));
    }
    blocked_close(&connecting);
}

static void kill_under_connect(void *arg)
{
    (void)arg;
    io_world_kill(start_connecting());
    finish_connecting();
    CHECK_EQ(connecting.code, RT_STATUS_COUNT);
}

TEST(net_kill_under_a_blocked_connect_closes_its_socket)
{
    run_alone(kill_under_connect);
}

static void close_under_connect(void *arg)
{
    (void)arg;
    start_connecting();
    const struct rti_request *request = rti_pool_block(&io_world.io.net, 0);
    CHECK(request->op.code == RTI_OP_CONNECT && request->waiter != NULL);
    int fd = request->op.fd;
    CHECK_OK(rt_net_close(fd));
    /* The number belongs to somebody else at once, and stays his. */
    int other = -1;
    CHECK_OK(rt_udp_open("127.0.0.1", 0, &other));
    CHECK_EQ(other, fd);
    finish_connecting();
    CHECK_EQ(connecting.code, RT_ERR_CLOSED);
    CHECK_OK(rt_net_close(other));
}

TEST(net_close_under_a_blocked_connect_is_closed_and_closes_once)
{
    run_alone(close_under_connect);
}

/* The answer has come and the fiber is queued when the kill comes: the connection has no owner. */
static int race_listener;
static uint16_t race_port;

static void accept_forever(void *arg)
{
    int fd;
    (void)arg;
    (void)rt_net_accept(race_listener, &fd, -1);
    CHECK(false);
}

static void accept_victim_and_killer(void *arg)
{
    struct rti_fiber *victim = io_world_go(accept_forever, NULL);
    (void)arg;
    io_world_await_requests(1);
    int client = -1;
    CHECK_OK(rt_net_connect("127.0.0.1", race_port, &client, -1));
    /* Tells the answer without letting the victim run. */
    struct rti_request *request = rti_pool_block(&io_world.io.net, 0);
    struct rti_port *port = &io_world.port.port;
    while (request->state != RTI_REQUEST_ANSWERED) {
        port->ops->wait(port, io_world_now_ns() + RTI_NS_PER_MS);
    }
    io_world_kill(victim);
    io_world_yield();
    io_world_await_requests(0);
    /* The end of the connection is heard: it was closed. */
    char byte;
    size_t received;
    CHECK_STATUS(rt_net_recv(client, &byte, 1, &received, -1), RT_ERR_CLOSED);
    CHECK_OK(rt_net_close(client));
    CHECK_OK(rt_net_close(race_listener));
}

TEST(net_connection_accepted_for_a_killed_fiber_is_closed)
{
    io_world_start(0);
    race_listener = io_world_listen(&race_port);
    io_world_go(accept_victim_and_killer, NULL);
    io_world_finish();
}
