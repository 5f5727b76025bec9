/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "udp_test"
#include <orrery/rt/net.h>

#include "support/io_world.h"
#include "support/test.h"

static int fds[2];
static rt_net_address ends[2]; /* where each can be reached */

static void run_alone(void (*main)(void *arg))
{
    io_world_start(0);
    io_world_go(main, NULL);
    io_world_finish();
}

static void open_both(const char *address, const char *host)
{
    for (int i = 0; i < 2; i++) {
        uint16_t port = 0;
        CHECK_OK(rt_udp_open(address, 0, &fds[i]));
        CHECK_OK(rt_net_local_port(fds[i], &port));
        CHECK_OK(rt_net_resolve(host, port, &ends[i], 0));
    }
}

static void close_both(void)
{
    CHECK_OK(rt_net_close(fds[0]));
    CHECK_OK(rt_net_close(fds[1]));
}

static void exchange(void *arg)
{
    char buf[8];
    size_t received = 99;
    rt_net_address from;
    (void)arg;
    open_both("127.0.0.1", "127.0.0.1");
    CHECK_STATUS(rt_udp_recv(fds[1], buf, sizeof(buf), &received, &from, 0), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_udp_recv(fds[1], buf, sizeof(buf), &received, &from, 3), RT_ERR_TIMEOUT);
    CHECK_EQ(received, 99);
    CHECK_OK(rt_udp_send(fds[0], "one", 3, &ends[1], -1));
    CHECK_OK(rt_udp_send(fds[0], NULL, 0, &ends[1], 0));
    CHECK_OK(rt_udp_send(fds[0], "twotwotwo", 9, &ends[1], 10));
    CHECK_OK(rt_udp_recv(fds[1], buf, sizeof(buf), &received, &from, -1));
    CHECK(received == 3 && memcmp(buf, "one", 3) == 0);
    CHECK_EQ(memcmp(&from, &ends[0], sizeof(from)), 0);
    /* An empty datagram is a datagram. */
    CHECK_OK(rt_udp_recv(fds[1], buf, sizeof(buf), &received, &from, -1));
    CHECK_EQ(received, 0);
    /* One that does not fit is cut, and never reported longer than the buffer. */
    CHECK_OK(rt_udp_recv(fds[1], buf, 4, &received, NULL, -1));
    CHECK(received == 4 && memcmp(buf, "twot", 4) == 0);
    CHECK_STATUS(rt_udp_recv(fds[1], buf, sizeof(buf), &received, &from, 0), RT_ERR_WOULDBLOCK);
    close_both();
}

TEST(udp_keeps_datagrams_whole_in_order_and_tells_their_sender)
{
    run_alone(exchange);
}

static void answer_sender(void *arg)
{
    char buf[8];
    size_t received;
    rt_net_address from;
    (void)arg;
    open_both(NULL, "127.0.0.1");
    CHECK_OK(rt_udp_send(fds[0], "ping", 4, &ends[1], -1));
    CHECK_OK(rt_udp_recv(fds[1], buf, sizeof(buf), &received, &from, -1));
    /* An IPv4 peer is IPv4, whatever kind of socket it came to, and can be answered. */
    CHECK(from.is_ipv6 == 0 && from.port == ends[0].port);
    CHECK_OK(rt_udp_send(fds[1], "pong", 4, &from, -1));
    CHECK_OK(rt_udp_recv(fds[0], buf, sizeof(buf), &received, NULL, -1));
    CHECK_EQ(memcmp(buf, "pong", 4), 0);
    close_both();
}

TEST(udp_socket_on_every_address_answers_its_sender)
{
    run_alone(answer_sender);
}

static void over_v6(void *arg)
{
    char buf[8];
    size_t received;
    rt_net_address from;
    (void)arg;
    open_both("::1", "::1");
    CHECK_OK(rt_udp_send(fds[0], "six", 3, &ends[1], -1));
    CHECK_OK(rt_udp_recv(fds[1], buf, sizeof(buf), &received, &from, -1));
    CHECK_EQ(from.is_ipv6, 1);
    CHECK_EQ(memcmp(&from, &ends[0], sizeof(from)), 0);
    close_both();
}

TEST(udp_speaks_ipv6)
{
    io_world_start(0);
    int fd = -1;
    if (RT_FAILED(rt_udp_open("::1", 0, &fd))) {
        test_skip("this machine has no IPv6");
    }
    CHECK_OK(rt_net_close(fd));
    io_world_go(over_v6, NULL);
    io_world_finish();
}

static void refusals(void *arg)
{
    static char big[70000];
    char byte = 'k';
    size_t received = 99;
    int fd = -7;
    (void)arg;
    open_both("127.0.0.1", "127.0.0.1");
    rt_net_address nowhere = {.port = 0};
    CHECK_STATUS(rt_udp_open("127.0.0.1", 0, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_udp_open("localhost", 0, &fd), RT_ERR_INVALID);
    CHECK_STATUS(rt_udp_open("127.0.0.1", ends[0].port, &fd), RT_ERR_IO);
    CHECK_STATUS(rt_udp_send(fds[0], NULL, 1, &ends[1], -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_udp_send(fds[0], "x", 1, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_udp_send(fds[0], "x", 1, &nowhere, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_udp_send(-1, "x", 1, &ends[1], -1), RT_ERR_INVALID);
    rt_status status = rt_udp_send(fds[0], big, sizeof(big), &ends[1], -1);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the datagram is too long");
    CHECK_STATUS(rt_udp_recv(fds[0], NULL, 1, &received, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_udp_recv(fds[0], &byte, 1, NULL, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_udp_recv(-1, &byte, 1, &received, NULL, -1), RT_ERR_INVALID);
    CHECK(byte == 'k' && received == 99 && fd == -7);
    close_both();
}

TEST(udp_bad_input_is_refused_and_changes_nothing)
{
    run_alone(refusals);
}

static void drop_one(void *arg)
{
    size_t received = 99;
    char byte = 0;
    (void)arg;
    open_both("127.0.0.1", "127.0.0.1");
    CHECK_OK(rt_udp_send(fds[0], "gone", 4, &ends[1], -1));
    CHECK_OK(rt_udp_send(fds[0], "k", 1, &ends[1], -1));
    CHECK_OK(rt_udp_recv(fds[1], NULL, 0, &received, NULL, -1));
    CHECK_EQ(received, 0);
    CHECK_OK(rt_udp_recv(fds[1], &byte, 1, &received, NULL, -1));
    CHECK(byte == 'k' && received == 1);
    close_both();
}

TEST(udp_length_zero_takes_one_datagram)
{
    run_alone(drop_one);
}

static void streams(void *arg)
{
    static char big[8 * 1024 * 1024];
    int pair[2];
    (void)arg;
    open_both("127.0.0.1", "127.0.0.1");
    io_world_tcp_pair(pair);
    io_world_shrink(pair[0]);
    /* A stream takes a part of what no datagram could carry. */
    CHECK_STATUS(rt_udp_send(pair[0], big, sizeof(big), &ends[1], 0), RT_ERR_INVALID);
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
    close_both();
}

TEST(udp_send_on_a_stream_that_takes_a_part_is_invalid)
{
    run_alone(streams);
}
