/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "region_test"
#include "sync/region.h"

#include "support/kernel.h"

static rt_region region;
static rt_region child;

TEST(region_that_is_empty_closes_at_once_through_all_states)
{
    kernel_start();
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_OPEN);
    CHECK_OK(rt_region_begin_close(&region));
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_CLOSING);
    CHECK_OK(rt_region_begin_close(&region));
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_CLOSED);
    CHECK_STATUS(rt_region_begin_close(&region), RT_ERR_STATE);
    CHECK_STATUS(rt_region_close(&region, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_region_cancel(&region), RT_ERR_INVALID);
    CHECK_EQ(rt_region_outcome(&region), RT_OUTCOME_OK);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_stop();
}

TEST(region_arguments_are_checked)
{
    rt_region none;
    struct poller poller;
    memset(&none, 0x77, sizeof(none));
    CHECK_STATUS(rt_region_open(&region, NULL, NULL), RT_ERR_THREAD);
    kernel_start();
    poller_init(&poller);
    CHECK_STATUS(rt_region_open(NULL, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_region_open(&region, &none, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_region_close(&none, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_region_close(NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_region_begin_close(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_region_cancel(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_region_enter(&none, &poller.cx), RT_ERR_INVALID);
    CHECK_EQ(rt_region_get_state(NULL), RT_REGION_CLOSED);
    CHECK_EQ(rt_region_outcome(NULL), RT_OUTCOME_OK);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_STATUS(rt_region_enter(&region, NULL), RT_ERR_STATE);
    CHECK_OK(rt_region_enter(&region, &poller.cx));
    CHECK_STATUS(rt_region_enter(&region, &poller.cx), RT_ERR_STATE);
    CHECK_STATUS(rt_region_close(&region, &poller.cx), RT_ERR_STATE);
    poller_deinit(&poller);
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_stop();
}

static void work_in_the_region(void *arg)
{
    rt_cx cx;
    int value = 0;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_region_enter(&region, NULL));
    kernel_say('e');
    rt_status status = rt_channel_recv(kernel.rx, NULL, &value);
    CHECK_EQ(status.code, *(rt_status_code *)arg);
    kernel_say('l');
    CHECK_OK(rt_cx_deinit(&cx));
}

static void close_the_region(void *arg)
{
    (void)arg;
    kernel_say('c');
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_say('C');
}

static void send_while_draining(void *arg)
{
    (void)arg;
    int value = 1;
    rt_cx cx;
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_DRAINING);
    CHECK_OK(rt_cx_init(&cx));
    CHECK_STATUS(rt_region_enter(&region, NULL), RT_ERR_STATE);
    CHECK_OK(rt_cx_deinit(&cx));
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &value));
}

TEST(region_close_waits_for_the_last_context_and_lets_it_work_meanwhile)
{
    rt_status_code wanted = RT_OK;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    kernel_go(work_in_the_region, &wanted);
    kernel_go(close_the_region, NULL);
    kernel_go(send_while_draining, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "eclC");
    CHECK_EQ(rt_region_outcome(&region), RT_OUTCOME_OK);
    kernel_stop();
}

static void cancel_the_region(void *arg)
{
    (void)arg;
    CHECK_OK(rt_region_cancel(&region));
    CHECK_OK(rt_region_cancel(&region));
    CHECK(rt_region_get_state(&region) != RT_REGION_OPEN);
}

TEST(region_cancel_reaches_every_context_and_the_outcome_tells)
{
    rt_status_code wanted = RT_ERR_CANCELLED;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    kernel_go(work_in_the_region, &wanted);
    kernel_go(work_in_the_region, &wanted);
    kernel_go(work_in_the_region, &wanted);
    kernel_go(close_the_region, NULL);
    kernel_go(cancel_the_region, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "eeeclllC");
    CHECK_EQ(rt_region_outcome(&region), RT_OUTCOME_CANCELLED);
    kernel_stop();
}

TEST(region_cancel_reaches_the_regions_inside)
{
    struct poller inner;
    kernel_start();
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_region_open(&child, &region, NULL));
    poller_init(&inner);
    CHECK_OK(rt_region_enter(&child, &inner.cx));
    CHECK_OK(rt_region_cancel(&region));
    CHECK(rt_cx_is_cancelled(&inner.cx));
    CHECK_EQ(rt_region_get_state(&child), RT_REGION_CLOSING);
    CHECK_STATUS(rt_checkpoint(&inner.cx), RT_ERR_CANCELLED);
    CHECK_STATUS(rt_region_close(&region, NULL), RT_ERR_WOULDBLOCK);
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_DRAINING);
    CHECK_STATUS(rt_region_close(&child, NULL), RT_ERR_WOULDBLOCK);
    poller_deinit(&inner);
    CHECK_OK(rt_region_close(&child, NULL));
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_EQ(rt_region_outcome(&region), RT_OUTCOME_CANCELLED);
    kernel_stop();
}

TEST(region_budget_is_the_meet_all_the_way_down)
{
    struct poller inner;
    rt_budget wide = {.deadline = 100, .poll_quota = 5, .cost_quota = 50};
    rt_budget tall = {.deadline = 200, .poll_quota = 3, .cost_quota = 70};
    kernel_start();
    CHECK_OK(rt_region_open(&region, NULL, &wide));
    CHECK_OK(rt_region_open(&child, &region, &tall));
    poller_init(&inner);
    CHECK_OK(rt_region_enter(&child, &inner.cx));
    rt_budget budget = rt_cx_budget(&inner.cx);
    CHECK_EQ(budget.deadline, 100);
    CHECK_EQ(budget.poll_quota, 3);
    CHECK_EQ(budget.cost_quota, 50);
    poller_deinit(&inner);
    CHECK_OK(rt_region_close(&child, NULL));
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_stop();
}

TEST(region_takes_nothing_new_once_it_is_closing)
{
    struct poller poller;
    rt_channel_config config = {.elem_size = 4, .capacity = 1, .region = &region};
    rt_channel_sender *tx = NULL;
    rt_channel_receiver *rx = NULL;
    rt_region_timer timer;
    rt_waker waker = {NULL, NULL};
    kernel_start();
    poller_init(&poller);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_region_begin_close(&region));
    CHECK_STATUS(rt_channel_create(&config, &tx, &rx), RT_ERR_STATE);
    CHECK_STATUS(rt_region_timer_start(&region, NULL, &timer, 10, waker), RT_ERR_STATE);
    CHECK_STATUS(rt_region_enter(&region, &poller.cx), RT_ERR_STATE);
    CHECK_STATUS(rt_region_open(&child, &region, NULL), RT_ERR_STATE);
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_STATUS(rt_channel_create(&config, &tx, &rx), RT_ERR_STATE);
    poller_deinit(&poller);
    kernel_stop();
}

TEST(region_close_by_a_poll_context_registers_and_is_woken)
{
    struct poller closer;
    struct poller member;
    kernel_start();
    poller_init(&closer);
    poller_init(&member);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_region_enter(&region, &member.cx));
    CHECK_STATUS(rt_region_close(&region, &closer.cx), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_region_close(&region, &closer.cx), RT_ERR_WOULDBLOCK);
    CHECK_EQ(closer.woken, 0);
    poller_deinit(&member);
    CHECK_EQ(closer.woken, 1);
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_DRAINING);
    CHECK_OK(rt_region_close(&region, &closer.cx));
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_CLOSED);
    CHECK(!rti_cx_poll(rti_cx_of(&closer.cx))->is_waiting);
    poller_deinit(&closer);
    kernel_stop();
}

TEST(region_close_by_a_poll_context_can_be_cancelled)
{
    struct poller closer;
    struct poller members[2];
    kernel_start();
    poller_init(&closer);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        poller_init(&members[i]);
        CHECK_OK(rt_region_enter(&region, &members[i].cx));
    }
    CHECK_STATUS(rt_region_close(&region, &closer.cx), RT_ERR_WOULDBLOCK);
    poller_deinit(&members[0]);
    CHECK_EQ(closer.woken, 0);
    CHECK_OK(rt_cx_cancel(&closer.cx));
    CHECK_EQ(closer.woken, 1);
    CHECK_STATUS(rt_region_close(&region, &closer.cx), RT_ERR_CANCELLED);
    CHECK(!rti_cx_poll(rti_cx_of(&closer.cx))->is_waiting);
    poller_deinit(&closer);
    poller_deinit(&members[1]);
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_stop();
}

TEST(region_end_takes_back_a_place_that_was_granted_and_not_fetched)
{
    struct poller sender;
    rt_send_permit permit;
    int value = 1;
    rt_channel_config config = {.elem_size = 4, .capacity = 1, .region = &region};
    kernel_start();
    poller_init(&sender);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &sender.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(kernel_info().reserved, 1);
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &sender.cx, &permit), RT_ERR_INVALID);
    poller_deinit(&sender);
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

static void close_until_cancelled(void *arg)
{
    rt_cx cx;
    CHECK_OK(rt_cx_init(&cx));
    *(rt_cx **)arg = &cx;
    CHECK_STATUS(rt_region_close(&region, NULL), RT_ERR_CANCELLED);
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_DRAINING);
    CHECK_OK(rt_cx_deinit(&cx));
}

static void cancel_the_closer(void *arg)
{
    CHECK_OK(rt_cx_cancel(*(rt_cx **)arg));
}

TEST(region_close_can_be_cancelled_and_done_again)
{
    struct poller member;
    rt_cx *closer = NULL;
    kernel_start();
    poller_init(&member);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_region_enter(&region, &member.cx));
    kernel_go(close_until_cancelled, &closer);
    kernel_go(cancel_the_closer, &closer);
    kernel_run();
    poller_deinit(&member);
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_stop();
}

static void enter_and_wait(void *arg)
{
    rt_cx cx;
    int value = 0;
    (void)arg;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_region_enter(&region, NULL));
    (void)rt_channel_recv(kernel.rx, NULL, &value).code;
}

static void kill_it(void *arg)
{
    CHECK(rti_fiber_kill(&kernel.fibers.sched, arg));
}

TEST(region_is_left_by_a_member_that_is_killed)
{
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    struct rti_fiber *member = kernel_go(enter_and_wait, NULL);
    kernel_go(close_the_region, NULL);
    kernel_go(kill_it, member);
    kernel_run();
    CHECK_STR(kernel.order, "cC");
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_CLOSED);
    kernel_stop();
}

TEST(region_lets_go_of_a_channel_that_is_closed_before_it)
{
    rt_channel_config config = {.elem_size = 4, .capacity = 1, .region = &region};
    kernel_start();
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    CHECK(rti_list_is_empty(&rti_region_of(&region)->resources));
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_stop();
}
