/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "select_socket_test"
#include <orrery/rt/arm.h>
#include <orrery/rt/net.h>

#include <sys/socket.h>
#include <unistd.h>

#include "support/io_world.h"
#include "support/test.h"

static int left[2];
static int right[2];
static struct rti_fiber *victim;

static void open_pairs(void)
{
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, left), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, right), 0);
}

static void close_pairs(void)
{
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_net_close(left[i]));
        CHECK_OK(rt_net_close(right[i]));
    }
}

static void say(int fd)
{
    size_t sent = 0;
    CHECK_OK(rt_net_send(fd, "x", 1, &sent, -1));
}

static void hear(int fd)
{
    char byte = 0;
    size_t received = 0;
    CHECK_OK(rt_net_recv(fd, &byte, 1, &received, 0));
    CHECK_EQ(byte, 'x');
}

static void say_later(void *arg)
{
    (void)arg;
    io_world_yield();
    io_world_yield();
    say(right[1]);
}

static void await_two(void *arg)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    (void)arg;
    open_pairs();
    rt_arm_readable(&arms[0], left[0]);
    rt_arm_readable(&arms[1], right[0]);
    io_world_go(say_later, NULL);
    CHECK_OK(rt_select(arms, 2, NULL, &chosen));
    CHECK_EQ(chosen.index, 1);
    CHECK_OK(chosen.status);
    hear(right[0]);
    say(left[1]);
    CHECK_OK(rt_select(arms, 2, NULL, &chosen));
    CHECK_EQ(chosen.index, 0);
    hear(left[0]);
    CHECK_STATUS(rt_select_until(arms, 2, NULL, io_world_now_ns() + RT_NS_PER_MS, &chosen),
                 RT_ERR_TIMEOUT);
    rt_arm_writable(&arms[0], left[0]);
    CHECK_OK(rt_select(arms, 2, NULL, &chosen));
    CHECK_EQ(chosen.index, 0);
    rt_arm_readable(&arms[0], -1);
    rt_arm_writable(&arms[1], -1);
    CHECK_STATUS(rt_select_until(arms, 2, NULL, io_world_now_ns(), &chosen), RT_ERR_TIMEOUT);
    close_pairs();
}

TEST(select_socket_waits_for_the_first_that_can_be_read)
{
    io_world_start(0);
    io_world_go(await_two, NULL);
    io_world_finish();
}

static void close_it(void *arg)
{
    (void)arg;
    CHECK_OK(rt_net_close(left[0]));
}

static void await_close(void *arg)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    (void)arg;
    open_pairs();
    rt_arm_readable(&arms[0], left[0]);
    rt_arm_readable(&arms[1], right[0]);
    io_world_go(close_it, NULL);
    CHECK_OK(rt_select(arms, 2, NULL, &chosen));
    CHECK_EQ(chosen.index, 0);
    CHECK_STATUS(chosen.status, RT_ERR_CLOSED);
    /* The peer of the other one goes: readable, with nothing to read. */
    CHECK_OK(rt_net_close(right[1]));
    rt_arm_none(&arms[0]);
    CHECK_OK(rt_select(arms, 2, NULL, &chosen));
    CHECK_OK(chosen.status);
    CHECK_OK(rt_net_close(left[1]));
    CHECK_OK(rt_net_close(right[0]));
}

TEST(select_socket_wakes_when_it_is_closed_here_or_there)
{
    io_world_start(0);
    io_world_go(await_close, NULL);
    io_world_finish();
}

static void await_for_ever(void *arg)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    (void)arg;
    rt_arm_readable(&arms[0], left[0]);
    rt_arm_readable(&arms[1], right[0]);
    (void)rt_select(arms, 2, NULL, &chosen).code;
    test_fail(__FILE__, __LINE__, "the dead went on");
}

static void kill_it(void *arg)
{
    (void)arg;
    open_pairs();
    victim = io_world_go(await_for_ever, NULL);
    io_world_yield();
    io_world_await_requests(2);
    io_world_kill(victim);
    io_world_yield();
    close_pairs();
}

TEST(select_socket_that_is_killed_takes_its_ops_back)
{
    io_world_start(0);
    io_world_go(kill_it, NULL);
    io_world_finish();
}

static void use_up_all_records(void *arg)
{
    rt_select_arm arms[RT_SELECT_ARMS_MAX];
    rt_selected chosen;
    (void)arg;
    open_pairs();
    CHECK(RT_SELECT_ARMS_MAX <= RT_COMPLETION_QUEUE_SIZE);
    struct rti_request *taken[RT_COMPLETION_QUEUE_SIZE];
    size_t taken_count = 0;
    while (taken_count < RT_COMPLETION_QUEUE_SIZE - 1) {
        taken[taken_count] = rti_net_request_new(&io_world.io, RTI_OP_POLL_IN, left[0]);
        CHECK(taken[taken_count] != NULL);
        taken_count++;
    }
    for (size_t i = 0; i < 2; i++) {
        rt_arm_readable(&arms[i], left[i]);
    }
    /* One record for two arms: nothing is left behind, and the select says so. */
    CHECK_STATUS(rt_select(arms, 2, NULL, &chosen), RT_ERR_RESOURCE_EXHAUSTED);
    io_world_sleep_ms(1);
    CHECK_STATUS(rt_select_until(arms, 1, NULL, io_world_now_ns(), &chosen), RT_ERR_TIMEOUT);
    while (taken_count > 0) {
        rti_request_end(taken[--taken_count], false);
    }
    close_pairs();
}

TEST(select_socket_without_a_record_is_refused)
{
    io_world_start(0);
    io_world_go(use_up_all_records, NULL);
    io_world_finish();
}
