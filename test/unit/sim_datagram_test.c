/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams of the simulated network: whole, lost, doubled, overtaken. */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include "support/sim_nets.h"

#define PORT 4000

static int udp[2];
static rt_net_address udp_address;

static void open_udp(void)
{
    uint16_t port;
    CHECK_OK(rt_udp_open(NULL, 0, &udp[0]));
    CHECK_OK(rt_udp_open("127.0.0.1", 0, &udp[1]));
    CHECK_OK(rt_net_local_port(udp[0], &port));
    CHECK_OK(rt_net_resolve("127.0.0.1", port, &udp_address, -1));
}

static void close_udp(void)
{
    CHECK_OK(rt_net_close(udp[0]));
    CHECK_OK(rt_net_close(udp[1]));
}

static void send_datagrams(void *arg)
{
    static char large[4096];
    char text[16];
    size_t count;
    rt_net_address from;
    (void)arg;
    open_udp();
    CHECK_OK(rt_udp_send(udp[1], "whole", 5, &udp_address, -1));
    CHECK_OK(rt_udp_send(udp[1], NULL, 0, &udp_address, -1));
    CHECK_STATUS(rt_udp_send(udp[1], large, sizeof(large), &udp_address, -1), RT_ERR_IO);
    CHECK_STATUS(rt_udp_recv(udp[0], text, 3, &count, &from, 0), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_udp_recv(udp[0], text, 3, &count, &from, -1));
    CHECK(count == 3 && memcmp(text, "who", 3) == 0);
    CHECK_OK(rt_udp_recv(udp[0], text, 3, &count, NULL, -1));
    CHECK_EQ(count, 0);
    CHECK_OK(rt_udp_send(udp[0], "back", 4, &from, -1));
    CHECK_OK(rt_udp_recv(udp[1], text, sizeof(text), &count, &from, -1));
    CHECK(count == 4 && from.port == udp_address.port);
    /* To nobody: lost, and nobody is told. */
    from.port = 9;
    CHECK_OK(rt_udp_send(udp[0], "lost", 4, &from, -1));
    close_udp();
    rt_exit();
}

TEST(sim_net_datagrams_are_whole_and_tell_their_sender)
{
    run(send_datagrams);
}

static unsigned datagrams_seen;
static bool is_out_of_order;

static void count_datagrams(void *arg)
{
    uint32_t number;
    uint32_t last = 0;
    size_t count;
    (void)arg;
    datagrams_seen = 0;
    is_out_of_order = false;
    open_udp();
    for (uint32_t i = 0; i < 60; i++) {
        CHECK_OK(rt_udp_send(udp[1], &i, sizeof(i), &udp_address, -1));
    }
    while (!RT_FAILED(rt_udp_recv(udp[0], &number, sizeof(number), &count, NULL, 100))) {
        CHECK(count == sizeof(number) && number < 60);
        datagrams_seen++;
        is_out_of_order = is_out_of_order || number < last;
        last = number;
    }
    close_udp();
    rt_exit();
}

TEST(sim_net_datagrams_are_lost_doubled_and_overtaken_when_asked)
{
    run(count_datagrams);
    CHECK(datagrams_seen == 60 && !is_out_of_order);
    run_with(&(rt_sim_network){.loss = 1000}, 1, count_datagrams);
    CHECK_EQ(datagrams_seen, 0);
    run_with(&(rt_sim_network){.loss = 500}, 1, count_datagrams);
    CHECK(datagrams_seen > 10 && datagrams_seen < 50);
    run_with(&(rt_sim_network){.duplicate = 1000}, 1, count_datagrams);
    CHECK_EQ(datagrams_seen, 120);
    run_with(&(rt_sim_network){.latency_max = RT_NS_PER_MS}, 1, count_datagrams);
    CHECK(datagrams_seen == 60 && is_out_of_order);
}

static void flood(void *arg)
{
    char byte;
    size_t count;
    unsigned heard = 0;
    (void)arg;
    open_udp();
    for (int i = 0; i < 500; i++) {
        CHECK_OK(rt_udp_send(udp[1], "x", 1, &udp_address, -1));
    }
    while (!RT_FAILED(rt_udp_recv(udp[0], &byte, 1, &count, NULL, 100))) {
        heard++;
    }
    CHECK(heard >= 64 && heard < 500);
    /* What was taken makes room. */
    CHECK_OK(rt_udp_send(udp[1], "x", 1, &udp_address, -1));
    CHECK_OK(rt_udp_recv(udp[0], &byte, 1, &count, NULL, 100));
    close_udp();
    rt_exit();
}

TEST(sim_net_datagrams_too_many_are_lost)
{
    run(flood);
}
