/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "select_test"
#include "support/lines.h"

TEST(select_takes_the_one_arm_that_is_ready)
{
    lines_open(2);
    rt_select_arm arms[LINES];
    rt_selected chosen;
    lines_recv_arms(arms);
    for (size_t i = 0; i < LINES; i++) {
        lines_put(i, (int)(10 + i));
        CHECK_OK(rt_select(arms, LINES, NULL, &chosen));
        CHECK_EQ(chosen.index, i);
        CHECK_OK(chosen.status);
        CHECK_EQ(lines.values[i], 10 + (int)i);
    }
    lines_send_arms(arms);
    for (size_t i = 0; i < LINES; i++) {
        lines_put(i, 1);
        lines_put(i, 2);
    }
    CHECK_EQ(lines_take(2), 1);
    CHECK_OK(rt_select(arms, LINES, NULL, &chosen));
    CHECK_EQ(chosen.index, 2);
    CHECK_EQ(lines_take(2), 2);
    CHECK_EQ(lines_take(2), 102);
    lines_close();
}

TEST(select_without_a_ready_arm_takes_the_default)
{
    lines_open(1);
    rt_select_arm arms[LINES + 1];
    rt_selected chosen;
    lines_recv_arms(arms);
    rt_arm_default(&arms[LINES]);
    CHECK_OK(rt_select(arms, LINES + 1, NULL, &chosen));
    CHECK_EQ(chosen.index, LINES);
    CHECK_OK(chosen.status);
    lines_put(1, 5);
    CHECK_OK(rt_select(arms, LINES + 1, NULL, &chosen));
    CHECK_EQ(chosen.index, 1);
    lines_check_nobody_waits();
    lines_close();
}

TEST(select_outside_of_a_task_does_not_wait)
{
    lines_open(1);
    rt_select_arm arms[LINES];
    rt_selected chosen = {.index = 77};
    lines_recv_arms(arms);
    CHECK_STATUS(rt_select(arms, LINES, NULL, &chosen), RT_ERR_WOULDBLOCK);
    CHECK_EQ(chosen.index, 77);
    lines_close();
}

TEST(select_refuses_what_is_no_select)
{
    lines_open(0);
    rt_select_arm arms[RT_SELECT_ARMS_MAX + 1] = {0};
    rt_selected chosen;
    CHECK_STATUS(rt_select(NULL, 1, NULL, &chosen), RT_ERR_INVALID);
    CHECK_STATUS(rt_select(arms, 1, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_select(arms, RT_SELECT_ARMS_MAX + 1, NULL, &chosen), RT_ERR_INVALID);
    rt_arm_default(&arms[RT_SELECT_ARMS_MAX - 1]);
    CHECK_OK(rt_select(arms, RT_SELECT_ARMS_MAX, NULL, &chosen));
    CHECK_EQ(chosen.index, RT_SELECT_ARMS_MAX - 1);
    CHECK_STATUS(rt_select(NULL, 0, NULL, &chosen), RT_ERR_WOULDBLOCK);
    lines_close();
}

/* Each of the arms that are ready has the same chance, also if others lie between them. */
TEST(select_is_fair_among_those_that_are_ready)
{
    lines_open(1);
    rt_select_arm arms[LINES];
    rt_selected chosen;
    int hits[LINES] = {0};
    enum { ROUNDS = 30000 };
    lines_recv_arms(arms);
    lines_put(0, 1);
    lines_put(2, 1);
    lines_put(3, 1);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(rt_select(arms, LINES, NULL, &chosen));
        hits[chosen.index]++;
        lines_put(chosen.index, 1);
    }
    CHECK_EQ(hits[1], 0);
    CHECK(hits[0] > ROUNDS / 3 - 600 && hits[0] < ROUNDS / 3 + 600);
    CHECK(hits[2] > ROUNDS / 3 - 600 && hits[2] < ROUNDS / 3 + 600);
    CHECK(hits[3] > ROUNDS / 3 - 600 && hits[3] < ROUNDS / 3 + 600);
    lines_close();
}

TEST(select_leaves_out_an_arm_of_nothing)
{
    lines_open(1);
    rt_select_arm arms[LINES];
    rt_selected chosen;
    lines_recv_arms(arms);
    lines_put(0, 1);
    rt_arm_recv(&arms[0], NULL, &lines.values[0]);
    rt_arm_none(&arms[1]);
    rt_arm_send(&arms[2], NULL, &lines.values[2]);
    CHECK_STATUS(rt_select(arms, LINES, NULL, &chosen), RT_ERR_WOULDBLOCK);
    rt_arm_recv(&arms[0], lines.rx[0], &lines.values[0]);
    CHECK_OK(rt_select(arms, LINES, NULL, &chosen));
    CHECK_EQ(chosen.index, 0);
    lines_close();
}

static void put_to_two(void *arg)
{
    (void)arg;
    CHECK_EQ(lines_waiting(2), 1);
    lines_put(2, 7);
    /* The select is decided: this value is for somebody else. */
    lines_put(1, 3);
    kernel_say('s');
}

TEST(select_parks_until_the_first_arm_is_ready)
{
    lines_open(1);
    kernel_go(lines_recv_any, NULL);
    kernel_go(put_to_two, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "s2h");
    lines_check_nobody_waits();
    CHECK_EQ(lines_take(1), 3);
    lines_close();
}

static void wait_a_while(void *arg)
{
    rt_select_arm arms[LINES];
    rt_selected chosen = {.index = 77};
    (void)arg;
    lines_recv_arms(arms);
    rt_time deadline = kernel.fibers.port.now_ns + RT_NS_PER_MS;
    CHECK_STATUS(rt_select_until(arms, LINES, NULL, deadline, &chosen), RT_ERR_TIMEOUT);
    CHECK_EQ(kernel.fibers.port.now_ns, deadline);
    CHECK_STATUS(rt_select_until(arms, LINES, NULL, 0, &chosen), RT_ERR_TIMEOUT);
    CHECK_EQ(chosen.index, 77);
    lines_check_nobody_waits();
    CHECK_STATUS(rt_select_until(NULL, 0, NULL, deadline + 1, &chosen), RT_ERR_TIMEOUT);
}

TEST(select_ends_at_its_deadline)
{
    lines_open(1);
    kernel_go(wait_a_while, NULL);
    kernel_run();
    lines_close();
}

static void wait_to_be_cancelled(void *arg)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    (void)arg;
    CHECK_OK(rt_cx_init(&lines.cx));
    lines_recv_arms(arms);
    CHECK_STATUS(rt_select(arms, LINES, NULL, &chosen), RT_ERR_CANCELLED);
    lines_check_nobody_waits();
    int value = 1;
    CHECK_OK(rt_channel_try_send(lines.tx[0], &value));
    /* A check point comes before everything. */
    CHECK_STATUS(rt_select(arms, LINES, NULL, &chosen), RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_deinit(&lines.cx));
}

static void cancel_it(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_cancel(&lines.cx));
}

TEST(select_ends_when_it_is_cancelled)
{
    lines_open(1);
    kernel_go(wait_to_be_cancelled, NULL);
    kernel_go(cancel_it, NULL);
    kernel_run();
    CHECK_EQ(lines_take(0), 1);
    lines_close();
}

static void wait_within_a_budget(void *arg)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    rt_budget_scope scope;
    (void)arg;
    CHECK_OK(rt_cx_init(&lines.cx));
    budget.deadline = kernel.fibers.port.now_ns + 5;
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    lines_recv_arms(arms);
    CHECK_STATUS(rt_select(arms, LINES, NULL, &chosen), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    CHECK_OK(rt_cx_deinit(&lines.cx));
}

TEST(select_ends_with_the_budget)
{
    lines_open(1);
    kernel_go(wait_within_a_budget, NULL);
    kernel_run();
    lines_close();
}

static void kill_it(void *arg)
{
    (void)arg;
    CHECK(rti_fiber_kill(&kernel.fibers.sched, lines.fiber));
}

TEST(select_that_is_killed_leaves_nothing_behind)
{
    lines_open(1);
    lines.fiber = kernel_go(lines_recv_any, NULL);
    kernel_go(kill_it, NULL);
    kernel_run();
    lines_check_nobody_waits();
    lines_close();
}

TEST(select_of_a_poll_context_registers_and_comes_back)
{
    lines_open(1);
    struct poller poller;
    rt_select_arm arms[LINES];
    rt_selected chosen = {.index = 77};
    poller_init(&poller);
    lines_recv_arms(arms);
    CHECK_STATUS(rt_select(arms, LINES, &poller.cx, &chosen), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_select(arms, LINES, &poller.cx, &chosen), RT_ERR_WOULDBLOCK);
    CHECK_EQ(lines_waiting(0), 1);
    lines_put(3, 6);
    CHECK_EQ(poller.woken, 1);
    lines_put(2, 5);
    CHECK_EQ(poller.woken, 1);
    CHECK_OK(rt_select(arms, LINES, &poller.cx, &chosen));
    CHECK_EQ(chosen.index, 3);
    CHECK_EQ(lines.values[3], 6);
    lines_check_nobody_waits();
    CHECK_OK(rt_select(arms, LINES, &poller.cx, &chosen));
    CHECK_EQ(chosen.index, 2);
    poller_deinit(&poller);
    lines_close();
}

TEST(select_of_a_poll_context_that_gives_up_leaves_nothing_behind)
{
    lines_open(1);
    struct poller poller;
    rt_select_arm arms[LINES];
    rt_selected chosen;
    int value = 0;
    poller_init(&poller);
    lines_recv_arms(arms);
    CHECK_STATUS(rt_select(arms, LINES, &poller.cx, &chosen), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_cx_abandon(&poller.cx));
    lines_check_nobody_waits();
    /* Given up with a value in hand: it goes back. */
    CHECK_STATUS(rt_select(arms, LINES, &poller.cx, &chosen), RT_ERR_WOULDBLOCK);
    lines_put(1, 9);
    CHECK_STATUS(rt_channel_recv(lines.rx[0], &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_EQ(lines_take(1), 9);
    poller_deinit(&poller);
    lines_check_nobody_waits();
    lines_close();
}

TEST(select_of_a_poll_context_keeps_what_it_did_before_it_was_cancelled)
{
    lines_open(1);
    struct poller poller;
    rt_select_arm arms[LINES];
    rt_selected chosen;
    poller_init(&poller);
    for (size_t i = 0; i < LINES; i++) {
        lines_put(i, 1);
    }
    lines_send_arms(arms);
    CHECK_STATUS(rt_select(arms, LINES, &poller.cx, &chosen), RT_ERR_WOULDBLOCK);
    CHECK_EQ(lines_take(1), 1);
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_OK(rt_select(arms, LINES, &poller.cx, &chosen));
    CHECK_EQ(chosen.index, 1);
    CHECK_EQ(lines_take(1), 101);
    CHECK_STATUS(rt_select(arms, LINES, &poller.cx, &chosen), RT_ERR_CANCELLED);
    lines_check_nobody_waits();
    poller_deinit(&poller);
    lines_close();
}

TEST(select_of_a_poll_context_ends_by_cancellation)
{
    lines_open(1);
    struct poller poller;
    rt_select_arm arms[LINES];
    rt_selected chosen;
    poller_init(&poller);
    lines_recv_arms(arms);
    CHECK_STATUS(rt_select(arms, LINES, &poller.cx, &chosen), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_EQ(poller.woken, 1);
    CHECK_STATUS(rt_select(arms, LINES, &poller.cx, &chosen), RT_ERR_CANCELLED);
    lines_check_nobody_waits();
    poller_deinit(&poller);
    lines_close();
}
