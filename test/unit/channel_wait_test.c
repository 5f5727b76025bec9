/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in a line: deadlines, budgets, cancellation, closing and killing. */
#define RTI_MODULE "channel_wait_test"
#include "sync/channel_wait.h"

#include "support/kernel.h"

static rt_time now(void)
{
    return kernel.fibers.port.now_ns;
}

static void time_out_thrice(void *arg)
{
    (void)arg;
    int value = 5;
    CHECK_STATUS(rt_channel_recv_timeout(kernel.rx, NULL, &value, 10), RT_ERR_TIMEOUT);
    CHECK_EQ(now(), 10);
    CHECK_STATUS(rt_channel_recv_until(kernel.rx, NULL, &value, 30), RT_ERR_TIMEOUT);
    CHECK_EQ(now(), 30);
    CHECK_EQ(value, 5);
    CHECK_OK(rt_channel_send_timeout(kernel.tx, NULL, &value, 10));
    CHECK_STATUS(rt_channel_send_timeout(kernel.tx, NULL, &value, 10), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_channel_send_until(kernel.tx, NULL, &value, 50), RT_ERR_TIMEOUT);
    rt_send_permit permit;
    CHECK_STATUS(rt_channel_reserve_until(kernel.tx, NULL, &permit, 70), RT_ERR_TIMEOUT);
    CHECK_EQ(now(), 70);
    CHECK_EQ(kernel_info().waiting_senders, 0);
    CHECK_EQ(kernel_info().waiting_receivers, 0);
    CHECK_OK(rt_channel_recv_timeout(kernel.rx, NULL, &value, 0));
}

TEST(channel_wait_ends_at_its_deadline_and_nothing_is_lost)
{
    kernel_start();
    kernel_channel(1);
    kernel_go(time_out_thrice, NULL);
    kernel_run();
    CHECK_EQ(kernel_info().sent, 1);
    CHECK_EQ(kernel_info().received, 1);
    kernel_stop();
}

static void wait_in_a_budget(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    int value = 5;
    budget.deadline = 100;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    /* The earlier of the two counts, and says which it was. */
    CHECK_STATUS(rt_channel_recv_until(kernel.rx, NULL, &value, 40), RT_ERR_TIMEOUT);
    CHECK(!rt_cx_is_cancelled(NULL));
    CHECK_STATUS(rt_channel_recv_until(kernel.rx, NULL, &value, 200), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_EQ(now(), 100);
    CHECK(rt_cx_is_cancelled(NULL));
    CHECK_STATUS(rt_channel_recv(kernel.rx, NULL, &value), RT_ERR_CANCELLED);
    CHECK_EQ(rt_cx_outcome(NULL, RT_OK), RT_OUTCOME_CANCELLED);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    CHECK_OK(rt_cx_deinit(&cx));
}

TEST(channel_wait_takes_the_earlier_of_deadline_and_budget)
{
    kernel_start();
    kernel_channel(1);
    kernel_go(wait_in_a_budget, NULL);
    kernel_run();
    kernel_stop();
}

static void call_with_a_spent_budget(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    int value = 5;
    rti_fiber_sleep_until(rti_worker_current(), 50);
    budget.deadline = 50;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    /* A place is free, and still the call is refused at once. */
    CHECK_STATUS(rt_channel_send(kernel.tx, NULL, &value), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_EQ(now(), 50);
    CHECK_EQ(kernel_info().sent, 0);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    CHECK_OK(rt_cx_deinit(&cx));
}

TEST(channel_wait_refuses_at_once_when_the_budget_has_elapsed)
{
    kernel_start();
    kernel_channel(1);
    kernel_go(call_with_a_spent_budget, NULL);
    kernel_run();
    kernel_stop();
}

static rt_cx *waiting_cx;

static void wait_to_send(void *arg)
{
    rt_cx cx;
    int value = 5;
    CHECK_OK(rt_cx_init(&cx));
    waiting_cx = &cx;
    rt_status status = rt_channel_send(kernel.tx, NULL, &value);
    CHECK_EQ(status.code, *(rt_status_code *)arg);
    CHECK_OK(rt_cx_deinit(&cx));
}

static void cancel_it(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_cancel(waiting_cx));
    CHECK_OK(rt_cx_cancel(waiting_cx));
}

TEST(channel_wait_of_a_cancelled_sender_has_sent_nothing)
{
    rt_status_code wanted = RT_ERR_CANCELLED;
    kernel_start();
    kernel_channel(0);
    kernel_go(wait_to_send, &wanted);
    kernel_go(cancel_it, NULL);
    kernel_run();
    CHECK_EQ(kernel_info().sent, 0);
    kernel_stop();
}

static void serve_then_cancel(void *arg)
{
    (void)arg;
    int value = 0;
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(value, 5);
    CHECK_OK(rt_cx_cancel(waiting_cx));
}

TEST(channel_wait_that_was_served_is_not_undone_by_a_later_cancel)
{
    rt_status_code wanted = RT_OK;
    kernel_start();
    kernel_channel(0);
    kernel_go(wait_to_send, &wanted);
    kernel_go(serve_then_cancel, NULL);
    kernel_run();
    CHECK_EQ(kernel_info().sent, 1);
    kernel_stop();
}

static void recv_with_a_clone(void *arg)
{
    int value = 0;
    CHECK_STATUS(rt_channel_recv(arg, NULL, &value), RT_ERR_CLOSED);
    kernel_say('c');
}

static void close_the_clone(void *arg)
{
    CHECK_OK(rt_channel_close_receiver(arg));
}

TEST(channel_wait_ends_when_its_handle_is_closed)
{
    rt_channel_receiver *clone = NULL;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_clone_receiver(kernel.rx, &clone));
    kernel_go(recv_with_a_clone, clone);
    kernel_go(close_the_clone, clone);
    kernel_run();
    CHECK_STR(kernel.order, "c");
    CHECK_EQ(kernel_info().state, RT_CHANNEL_OPEN);
    kernel_stop();
}

static int destroyed_sum;

static void add_destroyed(void *value, void *arg)
{
    (void)arg;
    destroyed_sum += *(int *)value;
}

static void recv_and_say(void *arg)
{
    int value = 0;
    CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
    kernel_say(*(const char *)arg);
}

static void deliver_then_kill(void *arg)
{
    for (int i = 1; i <= 2; i++) {
        CHECK_OK(rt_channel_try_send(kernel.tx, &i));
    }
    CHECK(rti_fiber_kill(&kernel.fibers.sched, arg));
}

TEST(channel_wait_of_a_killed_receiver_gives_its_value_back)
{
    int value = 0;
    kernel_start();
    rt_channel_config config = {.elem_size = 4, .capacity = 2, .destroy = add_destroyed};
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    kernel_go(deliver_then_kill, kernel_go(recv_and_say, "a"));
    kernel_run();
    CHECK_STR(kernel.order, "");
    for (int i = 1; i <= 2; i++) {
        CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
        CHECK_EQ(value, i);
    }
    CHECK_EQ(destroyed_sum, 0);
    kernel_stop();
}

TEST(channel_wait_of_a_killed_receiver_without_room_destroys_its_value)
{
    int value = 0;
    kernel_start();
    rt_channel_config config = {.elem_size = 4, .capacity = 1, .destroy = add_destroyed};
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    kernel_go(deliver_then_kill, kernel_go(recv_and_say, "a"));
    kernel_run();
    CHECK_EQ(destroyed_sum, 1);
    CHECK_EQ(kernel_info().destroyed, 1);
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(value, 2);
    kernel_stop();
}

TEST(channel_wait_of_a_killed_receiver_passes_its_value_to_the_next_in_line)
{
    kernel_start();
    kernel_channel(2);
    struct rti_fiber *first = kernel_go(recv_and_say, "a");
    kernel_go(recv_and_say, "b");
    kernel_go(recv_and_say, "c");
    kernel_go(deliver_then_kill, first);
    kernel_run();
    /* The second value went to `b`, and the one that `a` never looked at to `c`. */
    CHECK_STR(kernel.order, "bc");
    kernel_stop();
}

static void overflow_then_recv(void *arg)
{
    int value = 0;
    (void)arg;
    *(volatile uint64_t *)(void *)rti_stack_low(&rti_fiber_current()->stack) = 0;
    (void)rt_channel_recv(kernel.rx, NULL, &value).code;
    kernel_say('!');
}

TEST(channel_wait_of_an_overflowed_fiber_leaves_the_line)
{
    int value = 3;
    kernel_start();
    kernel_channel(1);
    kernel_go(overflow_then_recv, NULL);
    kernel_run();
    CHECK_EQ(kernel_info().waiting_receivers, 0);
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    kernel_stop();
}

static void send_one(void *arg)
{
    CHECK_OK(rt_channel_send(kernel.tx, NULL, arg));
}

static void kill_in_line(void *arg)
{
    CHECK_EQ(kernel_info().waiting_senders, 2);
    CHECK(rti_fiber_kill(&kernel.fibers.sched, arg));
}

TEST(channel_wait_of_a_killed_sender_sends_nothing)
{
    int values[2] = {1, 2};
    int value = 0;
    kernel_start();
    kernel_channel(0);
    struct rti_fiber *first = kernel_go(send_one, &values[0]);
    kernel_go(send_one, &values[1]);
    kernel_go(kill_in_line, first);
    CHECK_STATUS(fibers_run(&kernel.fibers), RT_ERR_DEADLOCK);
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(value, 2);
    CHECK_OK(fibers_run(&kernel.fibers));
    kernel_stop();
}

static void recv_last(void *arg)
{
    (void)arg;
    int value = 0;
    CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
    CHECK_EQ(value, 1);
    kernel_say('r');
}

static void deliver_and_close_all(void *arg)
{
    (void)arg;
    int value = 1;
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    /* The receiver has its value and has not run: the channel waits for it. */
    CHECK_EQ(rti_channels_audit(&kernel.channels), 1);
}

TEST(channel_wait_of_a_served_receiver_outlives_both_sides)
{
    kernel_start();
    kernel_channel(1);
    kernel_go(recv_last, NULL);
    kernel_go(deliver_and_close_all, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "r");
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

TEST(channel_wait_of_a_poll_context_has_deadlines_and_budgets_too)
{
    struct poller poller;
    int value = 0;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_STATUS(rt_channel_recv_timeout(kernel.rx, &poller.cx, &value, 10), RT_ERR_WOULDBLOCK);
    CHECK_EQ(rti_wheel_count(&kernel.fibers.clockwork.wheel), 1);
    kernel.fibers.port.now_ns = 10;
    rti_wheel_expire(&kernel.fibers.clockwork.wheel, 10);
    CHECK_EQ(poller.woken, 1);
    CHECK_STATUS(rt_channel_recv_timeout(kernel.rx, &poller.cx, &value, 10), RT_ERR_TIMEOUT);
    CHECK_EQ(kernel_info().waiting_receivers, 0);
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    budget.poll_quota = 2;
    CHECK_OK(rt_cx_push_budget(&poller.cx, budget, &scope));
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_EQ(kernel_info().waiting_receivers, 0);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_CANCELLED);
    poller_deinit(&poller);
    kernel_stop();
}

TEST(channel_wait_of_a_poll_context_is_woken_by_its_cancellation)
{
    struct poller poller;
    int value = 0;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_EQ(poller.woken, 1);
    CHECK_EQ(kernel_info().waiting_receivers, 0);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_CANCELLED);
    CHECK_EQ(poller.woken, 1);
    poller_deinit(&poller);
    kernel_stop();
}
