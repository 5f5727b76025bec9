/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "select_channel_test"
#include "support/lines.h"

static void take_from_three(void *arg)
{
    (void)arg;
    CHECK_EQ(lines_take(3), 1);
    CHECK_EQ(lines_take(3), 103);
}

TEST(select_parks_until_there_is_a_place)
{
    lines_open(1);
    for (size_t i = 0; i < LINES; i++) {
        lines_put(i, 1);
    }
    kernel_go(lines_send_any, NULL);
    kernel_go(take_from_three, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "3+");
    lines_check_nobody_waits();
    lines_close();
}

/* Two selects that can only meet each other. */
TEST(select_meets_a_select_at_a_rendezvous)
{
    for (int order = 0; order < 2; order++) {
        lines_open(0);
        kernel_go(order == 0 ? lines_recv_any : lines_send_any, NULL);
        kernel_go(order == 0 ? lines_send_any : lines_recv_any, NULL);
        kernel_run();
        /* The one that came second says first; both name the same line. */
        CHECK_EQ(strlen(kernel.order), 4);
        CHECK_EQ(kernel.order[0], kernel.order[2]);
        lines_check_nobody_waits();
        lines_close();
    }
}

static void cross_one(void *arg)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    size_t self = (size_t)(uintptr_t)arg;
    int mine = (int)self;
    int theirs = -1;
    rt_arm_send(&arms[0], lines.tx[self], &mine);
    rt_arm_recv(&arms[1], lines.rx[1 - self], &theirs);
    CHECK_OK(rt_select(arms, 2, NULL, &chosen));
    CHECK_OK(chosen.status);
    CHECK_EQ(theirs, chosen.index == 0 ? -1 : 1 - (int)self);
    kernel_say((char)('a' + chosen.index));
}

/* Each offers the other what it wants, both ways: one way is taken. */
TEST(select_that_crosses_a_select_does_one_of_the_two)
{
    lines_open(0);
    kernel_go(cross_one, (void *)0);
    kernel_go(cross_one, (void *)1);
    kernel_run();
    CHECK(strcmp(kernel.order, "ab") == 0 || strcmp(kernel.order, "ba") == 0);
    lines_check_nobody_waits();
    lines_close();
}

static void one_rendezvous_twice(void *arg)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    (void)arg;
    rt_arm_send(&arms[0], lines.tx[0], &lines.values[0]);
    rt_arm_recv(&arms[1], lines.rx[0], &lines.values[1]);
    CHECK_STATUS(rt_select(arms, 2, NULL, &chosen), RT_ERR_INVALID);
    rt_arm_recv(&arms[0], lines.rx[0], &lines.values[0]);
    CHECK_STATUS(rt_select(arms, 2, NULL, &chosen), RT_ERR_INVALID);
    lines_check_nobody_waits();
}

TEST(select_refuses_to_wait_twice_at_one_rendezvous)
{
    lines_open(0);
    kernel_go(one_rendezvous_twice, NULL);
    kernel_run();
    lines_close();
}

static void one_channel_twice(void *arg)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    int value = 5;
    (void)arg;
    /* There is a place: it is sent. Then there is a value: it is received. */
    rt_arm_send(&arms[0], lines.tx[0], &value);
    rt_arm_recv(&arms[1], lines.rx[0], &lines.values[1]);
    for (size_t i = 0; i < 8; i++) {
        CHECK_OK(rt_select(arms, 2, NULL, &chosen));
        CHECK_EQ(chosen.index, i % 2);
    }
    CHECK_EQ(lines.values[1], 5);
}

TEST(select_sends_to_and_receives_from_one_channel_in_turn)
{
    lines_open(1);
    kernel_go(one_channel_twice, NULL);
    kernel_run();
    lines_close();
}

static void recv_twice_from_one(void *arg)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    (void)arg;
    rt_arm_recv(&arms[0], lines.rx[0], &lines.values[0]);
    rt_arm_recv(&arms[1], lines.rx[0], &lines.values[1]);
    CHECK_OK(rt_select(arms, 2, NULL, &chosen));
    CHECK_EQ(lines.values[chosen.index], 8);
    CHECK_EQ(lines.values[1 - chosen.index], 0);
}

static void put_two(void *arg)
{
    (void)arg;
    lines_put(0, 8);
    lines_put(0, 9);
}

TEST(select_with_two_arms_of_one_channel_takes_one_value)
{
    lines_open(2);
    kernel_go(recv_twice_from_one, NULL);
    kernel_go(put_two, NULL);
    kernel_run();
    CHECK_EQ(lines_take(0), 9);
    lines_check_nobody_waits();
    lines_close();
}

static void close_the_senders_of_one(void *arg)
{
    (void)arg;
    CHECK_OK(rt_channel_close_sender(lines.tx[1]));
}

TEST(select_wakes_with_the_end_of_a_side)
{
    lines_open(1);
    kernel_go(lines_recv_any, NULL);
    kernel_go(close_the_senders_of_one, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "1!");
    lines_check_nobody_waits();
    lines_close();
}

static void close_the_handle_of_three(void *arg)
{
    (void)arg;
    CHECK_OK(rt_channel_close_receiver(lines.rx[3]));
}

TEST(select_wakes_when_its_handle_is_closed)
{
    lines_open(1);
    kernel_go(lines_recv_any, NULL);
    kernel_go(close_the_handle_of_three, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "3!");
    lines_close();
}

TEST(select_finds_a_side_that_is_gone_and_a_handle_that_is_closed)
{
    lines_open(1);
    rt_select_arm arms[LINES];
    rt_selected chosen;
    lines_recv_arms(arms);
    CHECK_OK(rt_channel_close_sender(lines.tx[2]));
    CHECK_OK(rt_select(arms, LINES, NULL, &chosen));
    CHECK_EQ(chosen.index, 2);
    CHECK_STATUS(chosen.status, RT_ERR_DISCONNECTED);
    CHECK_OK(rt_channel_close_receiver(lines.rx[2]));
    CHECK_OK(rt_select(arms, LINES, NULL, &chosen));
    CHECK_EQ(chosen.index, 2);
    CHECK_STATUS(chosen.status, RT_ERR_INVALID);
    lines_close();
}

static void give_and_kill(void *arg)
{
    (void)arg;
    lines_put(1, 4);
    CHECK(rti_fiber_kill(&kernel.fibers.sched, lines.fiber));
}

TEST(select_that_is_killed_with_its_value_gives_it_back)
{
    lines_open(1);
    lines.fiber = kernel_go(lines_recv_any, NULL);
    kernel_go(give_and_kill, NULL);
    kernel_run();
    CHECK_EQ(lines_take(1), 4);
    CHECK_EQ(lines.destroyed, 0);
    lines_close();
}

static void give_kill_and_fill(void *arg)
{
    give_and_kill(arg);
    lines_put(1, 5);
}

TEST(select_that_is_killed_with_its_value_destroys_what_has_no_room)
{
    lines_open(1);
    lines.fiber = kernel_go(lines_recv_any, NULL);
    kernel_go(give_kill_and_fill, NULL);
    kernel_run();
    CHECK_EQ(lines_take(1), 5);
    CHECK_EQ(lines.destroyed, 1);
    lines_close();
}

/* A sender in line when the select joins, behind a permit: joining serves others, or itself. */
static void hold_a_permit(void *arg)
{
    rt_send_permit permit;
    (void)arg;
    CHECK_OK(rt_channel_reserve(lines.tx[0], NULL, &permit));
    kernel_say('p');
    *(int *)rt_send_permit_slot(&permit) = 2;
    CHECK_OK(rt_send_permit_send(&permit, NULL));
}

TEST(select_that_joins_a_rendezvous_makes_a_place)
{
    lines_open(0);
    kernel_go(hold_a_permit, NULL);
    kernel_go(lines_recv_any, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "p0c");
    lines_check_nobody_waits();
    lines_close();
}
