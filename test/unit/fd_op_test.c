/* SPDX-License-Identifier: Apache-2.0 */
/* What each op on a descriptor does, and how it is answered. */
#define _GNU_SOURCE
#define RTI_MODULE "fd_op_test"
#include "support/port_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

TEST(port_read_of_data_that_is_there_is_told_by_the_next_wait)
{
    int fds[2];
    char buffer[8] = {0};
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    CHECK_EQ(write(fds[1], "abc", 3), 3);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    CHECK_EQ(probe.answers, 0);
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
    CHECK_ANSWER(&probe, RT_OK, 3);
    CHECK_STR(buffer, "abc");
    fixture_close();
}

TEST(port_read_waits_for_data)
{
    int fds[2];
    char buffer[8] = {0};
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    fixture_poll();
    CHECK_EQ(probe.answers, 0);
    CHECK_EQ(write(fds[1], "late", 4), 4);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 4);
    CHECK_STR(buffer, "late");
    fixture_close();
}

TEST(port_read_at_the_end_of_the_stream_is_ok_with_no_bytes)
{
    int fds[2];
    char buffer[8];
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    fixture_poll();
    close(fds[1]);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 0);
    CHECK_EQ(probe.op.error, 0);
    fixture_close();
}

TEST(port_read_after_a_reset_says_closed_and_why)
{
    struct sockaddr_in address;
    char buffer[8];
    struct probe probe;
    fixture_open(NULL);
    int listener = listener_open(&address, 4);
    int client = client_open(&address);
    int server = accept(listener, NULL, NULL);
    probe_submit(&probe, RTI_OP_READ, client, buffer, sizeof(buffer));
    fixture_poll();
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    CHECK_EQ(setsockopt(server, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    close(server);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_CLOSED, 0);
    CHECK_EQ(probe.op.error, ECONNRESET);
    fixture_close();
}

TEST(port_write_to_a_gone_peer_says_closed_without_a_signal)
{
    int fds[2];
    struct probe probe;
    fixture_open(NULL);
    signal(SIGPIPE, SIG_DFL);
    socket_pair(fds);
    close(fds[1]);
    probe_submit(&probe, RTI_OP_WRITE, fds[0], "x", 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_CLOSED, 0);
    CHECK_EQ(probe.op.error, EPIPE);

    CHECK_EQ(pipe(fds), 0);
    close(fds[0]);
    probe_submit(&probe, RTI_OP_WRITE, fds[1], "x", 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_CLOSED, 0);
    CHECK_EQ(probe.op.error, EPIPE);
    sigset_t now;
    sigpending(&now);
    CHECK(!sigismember(&now, SIGPIPE));
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    CHECK(!sigismember(&now, SIGPIPE));
    fixture_close();
}

/* A megabyte from one end to the other, in pieces of many sizes, both ends waiting in turn. */
#define STREAM_BYTES (1U << 20)

static unsigned char stream_out[STREAM_BYTES];
static unsigned char stream_in[STREAM_BYTES + 1];
static size_t stream_sent;
static size_t stream_received;
static bool stream_ended;

static size_t piece_of(size_t position, size_t left)
{
    size_t piece = 1 + position * 2654435761U % 7001;
    return piece < left ? piece : left;
}

static void stream_write_next(struct probe *probe)
{
    CHECK_EQ(probe->op.status, RT_OK);
    CHECK(probe->op.result >= 0 && (size_t)probe->op.result <= probe->op.length);
    stream_sent += (size_t)probe->op.result;
    if (stream_sent == STREAM_BYTES) {
        CHECK_OK(port->ops->close_fd(port, probe->op.fd));
        return;
    }
    probe->op.buffer = stream_out + stream_sent;
    probe->op.length = piece_of(stream_sent, STREAM_BYTES - stream_sent);
    port->ops->submit(port, &probe->op);
}

static void stream_read_next(struct probe *probe)
{
    CHECK_EQ(probe->op.status, RT_OK);
    stream_received += (size_t)probe->op.result;
    if (probe->op.result == 0 && probe->op.length > 0) {
        stream_ended = true;
        return;
    }
    CHECK(stream_received <= STREAM_BYTES);
    probe->op.buffer = stream_in + stream_received;
    probe->op.length = 1 + piece_of(stream_received, STREAM_BYTES - stream_received);
    port->ops->submit(port, &probe->op);
}

static void stream_run(int from, int to)
{
    static struct probe writer;
    static struct probe reader;
    for (size_t i = 0; i < STREAM_BYTES; i++) {
        stream_out[i] = (unsigned char)(i * 31 + (i >> 8));
    }
    memset(stream_in, 0, sizeof(stream_in));
    stream_sent = stream_received = 0;
    stream_ended = false;
    probe_init(&reader, RTI_OP_READ, to, stream_in, 1);
    probe_init(&writer, RTI_OP_WRITE, from, stream_out, 1);
    reader.then = stream_read_next;
    writer.then = stream_write_next;
    port->ops->submit(port, &reader.op);
    port->ops->submit(port, &writer.op);
    while (!stream_ended) {
        port->ops->wait(port, RTI_TIME_NEVER);
    }
    CHECK_EQ(stream_received, STREAM_BYTES);
    CHECK(memcmp(stream_in, stream_out, STREAM_BYTES) == 0);
}

TEST(port_stream_over_a_socket_with_a_tiny_buffer_is_exact)
{
    int fds[2];
    int size = 1;
    fixture_open(NULL);
    socket_pair(fds);
    CHECK_EQ(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    stream_run(fds[0], fds[1]);
    fixture_close();
}

TEST(port_stream_over_a_pipe_is_exact)
{
    int fds[2];
    fixture_open(NULL);
    CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
    CHECK(fcntl(fds[1], F_SETPIPE_SZ, 4096) >= 0);
    stream_run(fds[1], fds[0]);
    fixture_close();
}

TEST(port_stream_over_loopback_tcp_is_exact)
{
    struct sockaddr_in address;
    fixture_open(NULL);
    int listener = listener_open(&address, 4);
    int client = client_open(&address);
    stream_run(client, accept(listener, NULL, NULL));
    fixture_close();
}

TEST(port_accept_gives_a_descriptor_that_neither_blocks_nor_is_inherited)
{
    struct sockaddr_in address;
    struct sockaddr_in peer;
    struct probe probe;
    fixture_open(NULL);
    int listener = listener_open(&address, 4);
    probe_init(&probe, RTI_OP_ACCEPT, listener, NULL, 0);
    probe.op.address = &peer;
    probe.op.address_length = sizeof(peer);
    port->ops->submit(port, &probe.op);
    fixture_poll();
    CHECK_EQ(probe.answers, 0);
    int client = client_open(&address);
    fixture_wait_for(&probe, 1);
    CHECK_EQ(probe.op.status, RT_OK);
    int server = (int)probe.op.result;
    CHECK((fcntl(server, F_GETFL) & O_NONBLOCK) != 0);
    CHECK((fcntl(server, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK_EQ(probe.op.address_length, sizeof(peer));
    struct sockaddr_in own;
    socklen_t length = sizeof(own);
    CHECK_EQ(getsockname(client, (struct sockaddr *)&own, &length), 0);
    CHECK_EQ(peer.sin_port, own.sin_port);
    CHECK_OK(port->ops->close_fd(port, server));
    fixture_close();
}

TEST(port_connect_reaches_a_listener)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(NULL);
    listener_open(&address, 4);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    probe_submit(&probe, RTI_OP_CONNECT, fd, &address, sizeof(address));
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 0);
    struct sockaddr_in peer;
    socklen_t length = sizeof(peer);
    CHECK_EQ(getpeername(fd, (struct sockaddr *)&peer, &length), 0);
    CHECK_EQ(peer.sin_port, address.sin_port);
    fixture_close();
}

TEST(port_connect_to_nobody_is_an_error_that_says_why)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(NULL);
    close(listener_open(&address, 4));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    probe_submit(&probe, RTI_OP_CONNECT, fd, &address, sizeof(address));
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_IO, 0);
    CHECK_EQ(probe.op.error, ECONNREFUSED);
    fixture_close();
}

TEST(port_connect_in_progress_is_answered_by_close)
{
    struct sockaddr_in address;
    struct probe probes[8];
    int fds[8];
    unsigned pending = 0;
    fixture_open(NULL);
    listener_open(&address, 0);
    /* The backlog takes one or two; the others stay in progress. */
    for (size_t i = 0; i < 8; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        probe_submit(&probes[i], RTI_OP_CONNECT, fds[i], &address, sizeof(address));
    }
    fixture_poll();
    for (size_t i = 0; i < 8; i++) {
        if (probes[i].answers == 0) {
            pending++;
            CHECK_OK(port->ops->close_fd(port, fds[i]));
            fixture_poll();
            CHECK_ANSWER(&probes[i], RT_ERR_CLOSED, 0);
        }
    }
    CHECK(pending >= 4);
    fixture_close();
}

TEST(port_datagrams_carry_their_addresses)
{
    struct sockaddr_in to = loopback(0);
    struct sockaddr_in from = {0};
    struct sockaddr_in sender = loopback(0);
    socklen_t length = sizeof(to);
    char buffer[8] = {0};
    struct probe receive;
    struct probe send;
    fixture_open(NULL);
    int a = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int b = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(a, (struct sockaddr *)&to, sizeof(to)), 0);
    CHECK_EQ(getsockname(a, (struct sockaddr *)&to, &length), 0);
    CHECK_EQ(bind(b, (struct sockaddr *)&sender, sizeof(sender)), 0);
    CHECK_EQ(getsockname(b, (struct sockaddr *)&sender, &length), 0);
    probe_init(&receive, RTI_OP_RECVFROM, a, buffer, 4);
    receive.op.address = &from;
    receive.op.address_length = sizeof(from);
    port->ops->submit(port, &receive.op);
    fixture_poll();
    probe_init(&send, RTI_OP_SENDTO, b, "hey", 3);
    send.op.address = &to;
    send.op.address_length = sizeof(to);
    port->ops->submit(port, &send.op);
    fixture_wait_for(&receive, 1);
    CHECK_ANSWER(&send, RT_OK, 3);
    CHECK_ANSWER(&receive, RT_OK, 3);
    CHECK(!receive.op.is_truncated);
    CHECK_EQ(receive.op.address_length, sizeof(from));
    CHECK_EQ(from.sin_port, sender.sin_port);

    /* A datagram longer than the buffer: the buffer's worth, and the mark. */
    probe_init(&send, RTI_OP_SENDTO, b, "longer", 6);
    send.op.address = &to;
    send.op.address_length = sizeof(to);
    port->ops->submit(port, &send.op);
    probe_submit(&receive, RTI_OP_RECVFROM, a, buffer, 4);
    fixture_wait_for(&receive, 1);
    CHECK_ANSWER(&receive, RT_OK, 4);
    CHECK(receive.op.is_truncated);
    CHECK_STR(buffer, "long");
    fixture_close();
}

TEST(port_poll_ops_tell_readiness_and_take_nothing)
{
    int fds[2];
    struct probe in;
    struct probe out;
    char byte = 0;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&in, RTI_OP_POLL_IN, fds[0], NULL, 0);
    probe_submit(&out, RTI_OP_POLL_OUT, fds[0], NULL, 0);
    fixture_poll();
    CHECK_EQ(in.answers, 0);
    CHECK_ANSWER(&out, RT_OK, POLLOUT);
    CHECK_EQ(write(fds[1], "x", 1), 1);
    fixture_wait_for(&in, 1);
    CHECK_ANSWER(&in, RT_OK, POLLIN);
    CHECK_EQ(read(fds[0], &byte, 1), 1);
    fixture_close();
}
