/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "region_timer_test"
#include <orrery/rt/region.h>

#include "support/kernel.h"

static rt_region region;
static char fired[16];

static void fire(void *arg)
{
    size_t length = strlen(fired);
    CHECK(length < sizeof(fired) - 1);
    fired[length] = *(const char *)arg;
}

static rt_waker waker_of(const char *name)
{
    return (rt_waker){fire, (void *)(uintptr_t)name};
}

static void expire(rt_time now)
{
    kernel.fibers.port.now_ns = now;
    rti_wheel_expire(&kernel.fibers.clockwork.wheel, now);
}

static void start(void)
{
    kernel_start();
    CHECK_OK(rt_region_open(&region, NULL, NULL));
}

static void stop(void)
{
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_stop();
}

TEST(region_timers_fire_once_at_their_deadlines_equal_ones_in_order)
{
    rt_region_timer timers[3];
    start();
    CHECK_OK(rt_region_timer_start(&region, NULL, &timers[0], 20, waker_of("a")));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timers[1], 10, waker_of("b")));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timers[2], 20, waker_of("c")));
    expire(9);
    CHECK_STR(fired, "");
    expire(10);
    CHECK_STR(fired, "b");
    expire(100);
    CHECK_STR(fired, "bac");
    for (int i = 0; i < 3; i++) {
        CHECK(!rt_region_timer_cancel(&timers[i]));
    }
    stop();
}

TEST(region_timer_that_is_cancelled_does_not_fire)
{
    rt_region_timer timer;
    start();
    CHECK_OK(rt_region_timer_start(&region, NULL, &timer, 20, waker_of("a")));
    CHECK(rt_region_timer_cancel(&timer));
    expire(100);
    CHECK_STR(fired, "");
    CHECK_OK(rt_region_timer_start(&region, NULL, &timer, 120, waker_of("b")));
    expire(120);
    CHECK_STR(fired, "b");
    CHECK(!rt_region_timer_cancel(NULL));
    stop();
}

TEST(region_timer_is_cancelled_with_its_context)
{
    rt_region_timer timers[2];
    struct poller poller;
    start();
    poller_init(&poller);
    CHECK_OK(rt_region_timer_start(&region, &poller.cx, &timers[0], 20, waker_of("a")));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timers[1], 20, waker_of("b")));
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_EQ(rti_wheel_count(&kernel.fibers.clockwork.wheel), 1);
    CHECK(!rt_region_timer_cancel(&timers[0]));
    expire(30);
    CHECK_STR(fired, "b");
    CHECK_STATUS(rt_region_timer_start(&region, &poller.cx, &timers[0], 50, waker_of("c")),
                 RT_ERR_CANCELLED);
    poller_deinit(&poller);
    stop();
}

TEST(region_timer_ends_with_its_context)
{
    rt_region_timer timer;
    struct poller poller;
    start();
    poller_init(&poller);
    CHECK_OK(rt_region_timer_start(&region, &poller.cx, &timer, 20, waker_of("a")));
    poller_deinit(&poller);
    CHECK_EQ(rti_wheel_count(&kernel.fibers.clockwork.wheel), 0);
    CHECK(!rt_region_timer_cancel(&timer));
    stop();
}

TEST(region_timer_fires_at_the_budgets_deadline_if_that_is_earlier)
{
    rt_region_timer timer;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    kernel_start();
    budget.deadline = 50;
    CHECK_OK(rt_region_open(&region, NULL, &budget));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timer, 1000, waker_of("a")));
    expire(49);
    CHECK_STR(fired, "");
    expire(50);
    CHECK_STR(fired, "a");
    stop();
}

TEST(region_timer_arguments_are_checked)
{
    rt_region_timer timer;
    rt_cx none;
    memset(&none, 0x33, sizeof(none));
    start();
    CHECK_STATUS(rt_region_timer_start(NULL, NULL, &timer, 1, waker_of("a")), RT_ERR_INVALID);
    CHECK_STATUS(rt_region_timer_start(&region, NULL, NULL, 1, waker_of("a")), RT_ERR_INVALID);
    CHECK_STATUS(rt_region_timer_start(&region, &none, &timer, 1, waker_of("a")), RT_ERR_INVALID);
    memset(&timer, 0, sizeof(timer));
    CHECK(!rt_region_timer_cancel(&timer));
    stop();
}

static rt_region_timer again;
static int rounds;

static void start_again(void *arg)
{
    (void)arg;
    rounds++;
    if (rounds < 5) {
        rt_time next = kernel.fibers.port.now_ns + 10;
        CHECK_OK(rt_region_timer_start(&region, NULL, &again, next, (rt_waker){start_again, NULL}));
    }
}

TEST(region_timer_may_be_started_anew_by_its_own_waker)
{
    start();
    CHECK_OK(rt_region_timer_start(&region, NULL, &again, 10, (rt_waker){start_again, NULL}));
    for (rt_time now = 10; now <= 100; now += 10) {
        expire(now);
    }
    CHECK_EQ(rounds, 5);
    stop();
}
