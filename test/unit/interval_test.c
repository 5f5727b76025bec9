/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "interval_test"
#include <orrery/rt/interval.h>

#include "support/lines.h"

static rt_interval interval;
static rt_cx cx;
static struct rti_fiber *victim;

static rt_time now(void)
{
    return kernel.fibers.port.now_ns;
}

static void nap(rt_time duration)
{
    rti_fiber_sleep_until(rti_worker_current(), now() + duration);
}

static void run(void (*main)(void *arg))
{
    kernel_start();
    kernel_go(main, NULL);
    kernel_run();
    kernel_stop();
}

static void beat(void *arg)
{
    (void)arg;
    rt_time start = now();
    CHECK_OK(rt_interval_open(&interval, 100, RT_MISSED_SKIP));
    CHECK_STATUS(rt_interval_try_recv(&interval, NULL), RT_ERR_EMPTY);
    for (uint64_t i = 1; i < 10; i++) {
        uint64_t ticks = 0;
        CHECK_OK(rt_interval_recv(&interval, NULL, &ticks));
        CHECK_EQ(ticks, 1);
        CHECK_EQ(now(), start + 100 * i);
        /* Being busy for a while does not shift the beat. */
        nap(10 * i);
    }
    CHECK_OK(rt_interval_close(&interval));
    CHECK_STATUS(rt_interval_recv(&interval, NULL, NULL), RT_ERR_INVALID);
}

TEST(interval_ticks_do_not_drift)
{
    run(beat);
}

/* Late for three ticks and a half. */
static void miss(rt_missed policy, uint64_t *ticks, rt_time *at)
{
    rt_time start = now();
    CHECK_OK(rt_interval_open(&interval, 100, policy));
    nap(350);
    for (int i = 0; i < 5; i++) {
        ticks[i] = 0;
        CHECK_OK(rt_interval_recv(&interval, NULL, &ticks[i]));
        at[i] = now() - start;
    }
    CHECK_OK(rt_interval_close(&interval));
}

static void miss_in_three_ways(void *arg)
{
    uint64_t ticks[5];
    rt_time at[5];
    (void)arg;
    miss(RT_MISSED_BURST, ticks, at);
    CHECK(at[0] == 350 && at[1] == 350 && at[2] == 350 && at[3] == 400 && at[4] == 500);
    CHECK(ticks[0] == 1 && ticks[2] == 1 && ticks[3] == 1);
    miss(RT_MISSED_SKIP, ticks, at);
    CHECK(at[0] == 350 && at[1] == 400 && at[2] == 500 && at[3] == 600 && at[4] == 700);
    CHECK(ticks[0] == 3 && ticks[1] == 1);
    miss(RT_MISSED_DELAY, ticks, at);
    CHECK(at[0] == 350 && at[1] == 450 && at[2] == 550 && at[3] == 650 && at[4] == 750);
    CHECK(ticks[0] == 3 && ticks[1] == 1);
}

TEST(interval_ticks_that_were_missed_follow_the_policy)
{
    run(miss_in_three_ways);
}

static void once(void *arg)
{
    (void)arg;
    rt_time start = now();
    CHECK_OK(rt_after(&interval, 50));
    CHECK_OK(rt_interval_recv(&interval, NULL, NULL));
    CHECK_EQ(now(), start + 50);
    CHECK_STATUS(rt_interval_recv(&interval, NULL, NULL), RT_ERR_DISCONNECTED);
    CHECK_STATUS(rt_interval_try_recv(&interval, NULL), RT_ERR_DISCONNECTED);
    CHECK_OK(rt_interval_close(&interval));
    CHECK_OK(rt_after(&interval, 0));
    CHECK_OK(rt_interval_recv(&interval, NULL, NULL));
    CHECK_OK(rt_interval_close(&interval));
    /* One that never comes. */
    CHECK_OK(rt_after(&interval, RT_TIME_NEVER));
    CHECK_STATUS(rt_interval_try_recv(&interval, NULL), RT_ERR_DISCONNECTED);
    CHECK_OK(rt_interval_close(&interval));
}

TEST(interval_of_rt_after_has_one_tick)
{
    run(once);
}

static void until(void *arg)
{
    (void)arg;
    rt_time start = now();
    CHECK_OK(rt_interval_open(&interval, 100, RT_MISSED_BURST));
    CHECK_STATUS(rt_interval_recv_until(&interval, NULL, NULL, start + 40), RT_ERR_TIMEOUT);
    CHECK_EQ(now(), start + 40);
    CHECK_OK(rt_interval_recv_until(&interval, NULL, NULL, start + 100));
    CHECK_OK(rt_interval_recv_until(&interval, NULL, NULL, start + 1000));
    CHECK_EQ(now(), start + 200);
    CHECK_OK(rt_interval_close(&interval));
}

TEST(interval_wait_ends_at_its_deadline)
{
    run(until);
}

static void take_ticks(void *arg)
{
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_interval_recv(&interval, NULL, NULL));
        kernel_say((char)(uintptr_t)arg);
    }
}

TEST(interval_gives_each_tick_to_one_of_those_who_wait)
{
    kernel_start();
    rt_time start = now();
    CHECK_OK(rt_interval_open(&interval, 100, RT_MISSED_BURST));
    kernel_go(take_ticks, (void *)'a');
    kernel_go(take_ticks, (void *)'b');
    kernel_run();
    CHECK_EQ(now(), start + 400);
    CHECK_EQ(strlen(kernel.order), 4);
    CHECK_OK(rt_interval_close(&interval));
    kernel_stop();
}

static void cancelled(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_STATUS(rt_interval_recv(&interval, NULL, NULL), RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_deinit(&cx));
}

static void closed(void *arg)
{
    rt_select_arm arm;
    rt_selected chosen;
    (void)arg;
    CHECK_STATUS(rt_interval_recv(&interval, NULL, NULL), RT_ERR_CLOSED);
    CHECK_OK(rt_interval_open(&interval, RT_NS_PER_S, RT_MISSED_BURST));
    rt_arm_tick(&arm, &interval, NULL);
    kernel_say('s');
    CHECK_OK(rt_select(&arm, 1, NULL, &chosen));
    CHECK_STATUS(chosen.status, RT_ERR_CLOSED);
    kernel_say('c');
}

static void close_twice(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_cancel(&cx));
    CHECK(rti_fiber_kill(&kernel.fibers.sched, victim));
    CHECK_OK(rt_interval_close(&interval));
    CHECK_STATUS(rt_interval_close(&interval), RT_ERR_INVALID);
    nap(10);
    CHECK_STR(kernel.order, "s");
    CHECK_OK(rt_interval_close(&interval));
}

static void is_killed(void *arg)
{
    (void)arg;
    (void)rt_interval_recv(&interval, NULL, NULL).code;
    kernel_say('!');
}

TEST(interval_wait_ends_by_cancel_kill_and_close)
{
    kernel_start();
    CHECK_OK(rt_interval_open(&interval, RT_NS_PER_S, RT_MISSED_BURST));
    kernel_go(cancelled, NULL);
    victim = kernel_go(is_killed, NULL);
    kernel_go(closed, NULL);
    kernel_go(close_twice, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "sc");
    kernel_stop();
}

static void poll_it(void *arg)
{
    struct poller poller;
    uint64_t ticks = 0;
    (void)arg;
    poller_init(&poller);
    CHECK_OK(rt_interval_open(&interval, 100, RT_MISSED_SKIP));
    CHECK_STATUS(rt_interval_recv(&interval, &poller.cx, &ticks), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_interval_recv(&interval, &poller.cx, &ticks), RT_ERR_WOULDBLOCK);
    nap(250);
    CHECK_EQ(poller.woken, 1);
    CHECK_OK(rt_interval_recv(&interval, &poller.cx, &ticks));
    CHECK_EQ(ticks, 2);
    CHECK_STATUS(rt_interval_recv_until(&interval, &poller.cx, NULL, now() + 10),
                 RT_ERR_WOULDBLOCK);
    nap(20);
    CHECK_EQ(poller.woken, 2);
    CHECK_STATUS(rt_interval_recv_until(&interval, &poller.cx, NULL, now()), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_interval_recv(&interval, &poller.cx, NULL), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_interval_close(&interval));
    CHECK_EQ(poller.woken, 3);
    poller_deinit(&poller);
}

TEST(interval_serves_poll_contexts)
{
    run(poll_it);
}

static void select_ticks(void *arg)
{
    rt_select_arm arms[LINES + 1];
    rt_selected chosen;
    uint64_t ticks = 0;
    (void)arg;
    rt_time start = now();
    CHECK_OK(rt_interval_open(&interval, 100, RT_MISSED_SKIP));
    lines_recv_arms(arms);
    rt_arm_tick(&arms[LINES], &interval, &ticks);
    CHECK_OK(rt_select(arms, LINES + 1, NULL, &chosen));
    CHECK_EQ(chosen.index, LINES);
    CHECK_EQ(now(), start + 100);
    lines_check_nobody_waits();
    nap(250);
    CHECK_OK(rt_select(arms, LINES + 1, NULL, &chosen));
    CHECK_EQ(ticks, 2);
    lines_put(1, 3);
    CHECK_OK(rt_select(arms, LINES + 1, NULL, &chosen));
    CHECK_EQ(chosen.index, 1);
    CHECK_EQ(rti_wheel_count(rti_sched_wheel(&kernel.fibers.sched)), 0);
    rt_arm_tick(&arms[LINES], NULL, &ticks);
    CHECK_STATUS(rt_select_until(arms, LINES + 1, NULL, now() + 1000, &chosen), RT_ERR_TIMEOUT);
    CHECK_OK(rt_interval_close(&interval));
}

TEST(interval_is_an_arm_of_a_select)
{
    lines_open(1);
    kernel_go(select_ticks, NULL);
    kernel_run();
    lines_close();
}

static void steal_the_tick(void *arg)
{
    (void)arg;
    CHECK_OK(rt_interval_recv(&interval, NULL, NULL));
    kernel_say('r');
}

static void select_the_tick(void *arg)
{
    rt_select_arm arm;
    rt_selected chosen;
    (void)arg;
    rt_arm_tick(&arm, &interval, NULL);
    CHECK_OK(rt_select(&arm, 1, NULL, &chosen));
    kernel_say('s');
}

/* Both timers fire; the receiver runs first and takes the tick; the select waits for the next. */
TEST(interval_select_whose_tick_was_taken_waits_again)
{
    kernel_start();
    rt_time start = now();
    CHECK_OK(rt_interval_open(&interval, 100, RT_MISSED_BURST));
    kernel_go(steal_the_tick, NULL);
    kernel_go(select_the_tick, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "rs");
    CHECK_EQ(now(), start + 200);
    CHECK_OK(rt_interval_close(&interval));
    kernel_stop();
}

TEST(interval_refuses_what_is_none)
{
    rt_interval none = {{0}};
    kernel_start();
    CHECK_STATUS(rt_interval_open(NULL, 1, RT_MISSED_BURST), RT_ERR_INVALID);
    CHECK_STATUS(rt_interval_open(&interval, 0, RT_MISSED_BURST), RT_ERR_INVALID);
    CHECK_STATUS(rt_interval_open(&interval, 1, (rt_missed)7), RT_ERR_INVALID);
    CHECK_STATUS(rt_after(NULL, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_interval_recv(&none, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_interval_close(&none), RT_ERR_INVALID);
    CHECK_OK(rt_after(&interval, 1));
    CHECK_STATUS(rt_interval_recv(&interval, NULL, NULL), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_interval_close(&interval));
    kernel_stop();
}
