/* SPDX-License-Identifier: Apache-2.0 */
/* What mutex_test.c and its neighbours cannot show of a line: wakers that end other waiters. */
#define RTI_MODULE "line_test"
#include <orrery/rt/wait_group.h>

#include "support/kernel.h"
#include "sync/line.h"

static rt_wait_group group;
static rt_cx first;
static rt_cx second;
static int woken;

static void wake_and_end_the_other(void *arg)
{
    (void)arg;
    woken++;
    CHECK_OK(rt_cx_abandon(&second));
}

static void wake(void *arg)
{
    (void)arg;
    woken += 10;
}

TEST(line_waiter_that_a_waker_ended_is_not_woken)
{
    kernel_start();
    woken = 0;
    CHECK_OK(rt_wait_group_init(&group));
    CHECK_OK(rt_wait_group_add(&group, 1));
    CHECK_OK(rt_cx_init_poll(&first, (rt_waker){wake_and_end_the_other, NULL}));
    CHECK_OK(rt_cx_init_poll(&second, (rt_waker){wake, NULL}));
    CHECK_STATUS(rt_wait_group_wait(&group, &first), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_wait_group_wait(&group, &second), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_wait_group_done(&group));
    CHECK_EQ(woken, 1);
    CHECK_OK(rt_wait_group_wait(&group, &first));
    CHECK_OK(rt_cx_deinit(&first));
    CHECK_OK(rt_cx_deinit(&second));
    CHECK_OK(rt_wait_group_deinit(&group));
    kernel_stop();
}

static void wake_and_poll_the_other(void *arg)
{
    (void)arg;
    woken++;
    /* Served already, though not yet woken. */
    CHECK_OK(rt_wait_group_wait(&group, &second));
}

TEST(line_waiter_that_polls_before_its_wake_has_been_served)
{
    kernel_start();
    woken = 0;
    CHECK_OK(rt_wait_group_init(&group));
    CHECK_OK(rt_wait_group_add(&group, 1));
    CHECK_OK(rt_cx_init_poll(&first, (rt_waker){wake_and_poll_the_other, NULL}));
    CHECK_OK(rt_cx_init_poll(&second, (rt_waker){wake, NULL}));
    CHECK_STATUS(rt_wait_group_wait(&group, &first), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_wait_group_wait(&group, &second), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_wait_group_done(&group));
    CHECK_EQ(woken, 1);
    CHECK_OK(rt_cx_deinit(&first));
    CHECK_OK(rt_cx_deinit(&second));
    CHECK_OK(rt_wait_group_deinit(&group));
    kernel_stop();
}

static void wait_and_give_up(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_wait_group_wait_until(&group, NULL, 1), RT_ERR_TIMEOUT);
}

TEST(line_gives_up_who_is_out_of_time_though_it_stands_first)
{
    kernel_start();
    CHECK_OK(rt_wait_group_init(&group));
    CHECK_OK(rt_wait_group_add(&group, 1));
    kernel_go(wait_and_give_up, NULL);
    kernel_go(wait_and_give_up, NULL);
    kernel_run();
    CHECK_OK(rt_wait_group_done(&group));
    CHECK_OK(rt_wait_group_deinit(&group));
    kernel_stop();
}
