/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of sockets: by number and by name, both families, ports and options of listening. */
#define _GNU_SOURCE
#define RTI_MODULE "net_address_test"
#include <orrery/rt/net.h>

#include <sys/socket.h>
#include <unistd.h>

#include "support/io_world.h"
#include "support/test.h"

/* Runs one fiber to its end, with everything given back. */
static void run_alone(void (*main)(void *arg))
{
    io_world_start(0);
    io_world_go(main, NULL);
    io_world_finish();
}

static void loop_back(const char *address, const char *host, bool is_v6_only)
{
    int listener = -1;
    int fds[2];
    uint16_t port = 0;
    size_t count;
    char byte = 0;
    const rt_net_listen_config config = {.address = address, .ipv6_only = is_v6_only};
    CHECK_OK(rt_net_listen_ex(&config, &listener));
    CHECK_OK(rt_net_local_port(listener, &port));
    CHECK_OK(rt_net_connect(host, port, &fds[0], -1));
    CHECK_OK(rt_net_accept(listener, &fds[1], -1));
    CHECK_OK(rt_net_send(fds[0], "z", 1, &count, -1));
    CHECK_OK(rt_net_recv(fds[1], &byte, 1, &count, -1));
    CHECK_EQ(byte, 'z');
    CHECK_OK(rt_net_close(fds[0]));
    CHECK_OK(rt_net_close(fds[1]));
    CHECK_OK(rt_net_close(listener));
}

static void addresses(void *arg)
{
    (void)arg;
    loop_back("127.0.0.1", "127.0.0.1", false);
    loop_back("0.0.0.0", "127.0.0.1", false);
    loop_back("127.0.0.1", "localhost", false);
    loop_back(NULL, "127.0.0.1", false);
}

TEST(net_listens_on_an_address_and_connects_by_number_and_by_name)
{
    run_alone(addresses);
}

static bool has_ipv6(void)
{
    int fd = -1;
    rt_status status = rt_net_listen_ex(&(rt_net_listen_config){.address = "::1"}, &fd);
    return !RT_FAILED(status) && !RT_FAILED(rt_net_close(fd));
}

static void addresses_v6(void *arg)
{
    (void)arg;
    loop_back("::1", "::1", false);
    loop_back("::", "127.0.0.1", false);
    loop_back(NULL, "::1", false);
    loop_back("::", "::1", true);
    /* IPv6 only: no IPv4 connection comes in. */
    int listener = -1;
    int fd = -1;
    uint16_t port = 0;
    const rt_net_listen_config config = {.address = "::", .ipv6_only = true};
    CHECK_OK(rt_net_listen_ex(&config, &listener));
    CHECK_OK(rt_net_local_port(listener, &port));
    CHECK_STATUS(rt_net_connect("127.0.0.1", port, &fd, -1), RT_ERR_IO);
    CHECK_OK(rt_net_close(listener));
}

TEST(net_speaks_ipv6_and_serves_both_kinds_on_one_socket)
{
    io_world_start(0);
    if (!has_ipv6()) {
        test_skip("this machine has no IPv6");
    }
    io_world_go(addresses_v6, NULL);
    io_world_finish();
}

static void shared_port(void *arg)
{
    int first = -1;
    int second = -1;
    uint16_t port = 0;
    (void)arg;
    rt_net_listen_config config = {.address = "127.0.0.1", .reuse_port = true};
    CHECK_OK(rt_net_listen_ex(&config, &first));
    CHECK_OK(rt_net_local_port(first, &port));
    config.port = port;
    CHECK_OK(rt_net_listen_ex(&config, &second));
    config.reuse_port = false;
    int third = -7;
    CHECK_STATUS(rt_net_listen_ex(&config, &third), RT_ERR_IO);
    CHECK_EQ(third, -7);
    CHECK_OK(rt_net_close(first));
    CHECK_OK(rt_net_close(second));
}

TEST(net_two_listeners_share_a_port_only_if_both_ask)
{
    run_alone(shared_port);
}

static void connect_without_waiting(void *arg)
{
    uint16_t port;
    int fd = -7;
    size_t sent;
    (void)arg;
    int listener = io_world_listen(&port);
    rt_status status = rt_net_connect("127.0.0.1", port, &fd, 0);
    if (RT_FAILED(status)) {
        CHECK_STATUS(status, RT_ERR_WOULDBLOCK);
        CHECK_EQ(fd, -7);
    } else {
        CHECK_OK(rt_net_send(fd, "x", 1, &sent, 0));
        CHECK_OK(rt_net_close(fd));
    }
    fd = -7;
    CHECK_STATUS(rt_net_connect("localhost", port, &fd, 0), RT_ERR_WOULDBLOCK);
    CHECK_EQ(fd, -7);
    CHECK_OK(rt_net_close(listener));
}

TEST(net_connect_without_waiting_looks_up_no_name)
{
    run_alone(connect_without_waiting);
}

static void connect_to_the_deaf(void *arg)
{
    uint16_t port;
    int fds[8];
    int fd = -7;
    size_t count = 0;
    (void)arg;
    int listener = -1;
    CHECK_OK(
        rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1", .backlog = 1}, &listener));
    CHECK_OK(rt_net_local_port(listener, &port));
    rt_status status = RT_SUCCESS;
    uint64_t before_ns = 0;
    while (count < 8 && !RT_FAILED(status)) {
        before_ns = io_world_now_ns();
        status = rt_net_connect("127.0.0.1", port, &fd, 20);
        if (!RT_FAILED(status)) {
            fds[count++] = fd;
            fd = -7;
        }
    }
    CHECK_STATUS(status, RT_ERR_TIMEOUT);
    CHECK(io_world_now_ns() - before_ns >= 20 * RTI_NS_PER_MS);
    CHECK_EQ(fd, -7);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(rt_net_close(fds[i]));
    }
    CHECK_OK(rt_net_close(listener));
}

TEST(net_connect_that_nobody_answers_times_out_and_closes_its_socket)
{
    run_alone(connect_to_the_deaf);
}
