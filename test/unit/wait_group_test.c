/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "wait_group_test"
#include <orrery/rt/wait_group.h>

#include "support/kernel.h"

static rt_wait_group group;

static void begin(uint32_t count)
{
    kernel_start();
    CHECK_OK(rt_wait_group_init(&group));
    CHECK_OK(rt_wait_group_add(&group, count));
}

static void end(void)
{
    kernel_run();
    CHECK_OK(rt_wait_group_deinit(&group));
    kernel_stop();
}

static void await(void *arg)
{
    CHECK_OK(rt_wait_group_wait(&group, NULL));
    kernel_say((char)(uintptr_t)arg);
}

static void work(void *arg)
{
    kernel_yield();
    kernel_say((char)(uintptr_t)arg);
    CHECK_OK(rt_wait_group_done(&group));
}

TEST(wait_group_lets_all_go_with_the_last_that_is_done)
{
    begin(2);
    kernel_go(await, (void *)'a');
    kernel_go(await, (void *)'b');
    kernel_go(work, (void *)'1');
    kernel_go(work, (void *)'2');
    end();
    CHECK_STR(kernel.order, "12ab");
}

TEST(wait_group_of_nothing_does_not_wait)
{
    begin(0);
    CHECK_OK(rt_wait_group_wait(&group, NULL));
    CHECK_STATUS(rt_wait_group_done(&group), RT_ERR_STATE);
    CHECK_OK(rt_wait_group_add(&group, UINT32_MAX));
    CHECK_STATUS(rt_wait_group_add(&group, 1), RT_ERR_LIMIT);
    CHECK_STATUS(rt_wait_group_deinit(&group), RT_ERR_STATE);
    CHECK_STATUS(rt_wait_group_wait(&group, NULL), RT_ERR_WOULDBLOCK);
    kernel_stop();
}

static void again(void *arg)
{
    (void)arg;
    CHECK_OK(rt_wait_group_done(&group));
    CHECK_OK(rt_wait_group_add(&group, 1));
    kernel_say('+');
    kernel_yield();
    CHECK_OK(rt_wait_group_done(&group));
}

TEST(wait_group_that_rises_again_has_let_go_who_waited_before)
{
    begin(1);
    kernel_go(await, (void *)'a');
    kernel_go(again, NULL);
    kernel_go(await, (void *)'b');
    end();
    CHECK_STR(kernel.order, "+ab");
}

static void await_until(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_wait_group_wait_until(&group, NULL, kernel.fibers.port.now_ns + 3),
                 RT_ERR_TIMEOUT);
    CHECK_OK(rt_wait_group_done(&group));
}

TEST(wait_group_wait_ends_at_its_deadline)
{
    begin(1);
    kernel_go(await_until, NULL);
    end();
}

TEST(wait_group_serves_poll_contexts)
{
    struct poller poller;
    begin(1);
    poller_init(&poller);
    CHECK_STATUS(rt_wait_group_wait(&group, &poller.cx), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_wait_group_deinit(&group), RT_ERR_STATE);
    CHECK_OK(rt_wait_group_done(&group));
    CHECK_EQ(poller.woken, 1);
    CHECK_OK(rt_wait_group_wait(&group, &poller.cx));
    poller_deinit(&poller);
    end();
}

TEST(wait_group_refuses_what_is_none)
{
    rt_wait_group none = {{0}};
    begin(0);
    CHECK_STATUS(rt_wait_group_init(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_wait_group_add(&none, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_wait_group_done(&none), RT_ERR_INVALID);
    CHECK_STATUS(rt_wait_group_wait(&none, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_wait_group_deinit(&none), RT_ERR_INVALID);
    end();
}
