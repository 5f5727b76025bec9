/* SPDX-License-Identifier: Apache-2.0 */
/* Sections 3 to 5 and 7 of the kernel's specification, where no fixture says it. */
#define RTI_MODULE "kernel_rules_test"
#include <orrery/rt/channel.h>
#include <orrery/rt/region.h>

#include "support/kernel.h"

static struct rti_journal_record ring[64];
static rt_region region;

static void start_with_a_journal(void)
{
    kernel_start();
    rti_journal_init(&kernel.fibers.journal, ring, RTI_COUNT_OF(ring));
}

static void send_then_sleep(void *arg)
{
    (void)arg;
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &(int){1}));
    rti_fiber_sleep_until(rti_worker_current(), 500);
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &(int){2}));
}

/* 3.3 */
TEST(journal_event_of_a_channel_has_sequence_logical_time_task_and_channel)
{
    start_with_a_journal();
    kernel_channel(2);
    struct rti_fiber *fiber = kernel_go(send_then_sleep, NULL);
    kernel_run();
    const struct rti_journal_record *sends[2] = {NULL, NULL};
    size_t count = 0;
    for (size_t i = 0; i < rti_journal_count(&kernel.fibers.journal); i++) {
        const struct rti_journal_record *record = rti_journal_at(&kernel.fibers.journal, i);
        if (record->kind == RTI_JOURNAL_SEND) {
            CHECK(count < 2);
            sends[count++] = record;
        }
    }
    CHECK_EQ(count, 2);
    CHECK(sends[0]->seq < sends[1]->seq);
    CHECK_EQ(sends[0]->time_ns, 0);
    CHECK_EQ(sends[1]->time_ns, 500);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(sends[i]->task, fiber->run.id);
        CHECK_EQ(sends[i]->channel, 1);
    }
    kernel_stop();
}

TEST(journal_sequence_is_the_order_whatever_the_times_say)
{
    start_with_a_journal();
    kernel_channel(2);
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &(int){1}));
    CHECK_OK(rt_channel_recv(kernel.rx, NULL, &(int){0}));
    rti_journal_audit(&kernel.fibers.journal);
    CHECK_EQ(rti_journal_at(&kernel.fibers.journal, 0)->kind, RTI_JOURNAL_SEND);
    CHECK_EQ(rti_journal_at(&kernel.fibers.journal, 1)->kind, RTI_JOURNAL_RECV);
    CHECK_EQ(rti_journal_at(&kernel.fibers.journal, 0)->time_ns,
             rti_journal_at(&kernel.fibers.journal, 1)->time_ns);
    CHECK_EQ(rti_journal_at(&kernel.fibers.journal, 1)->seq, 2);
    kernel_stop();
}

TEST(journal_has_cancellations)
{
    struct poller poller;
    start_with_a_journal();
    poller_init(&poller);
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_EQ(rti_journal_count(&kernel.fibers.journal), 1);
    CHECK_EQ(rti_journal_at(&kernel.fibers.journal, 0)->kind, RTI_JOURNAL_CANCEL);
    poller_deinit(&poller);
    kernel_stop();
}

/* 4.2 */
static void wait_with_both(void *arg)
{
    rt_cx cx;
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    int value = 0;
    (void)arg;
    CHECK_OK(rt_cx_init(&cx));
    budget.deadline = 100;
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    /* A budget arms nothing by itself. */
    CHECK_EQ(rti_wheel_count(&kernel.fibers.clockwork.wheel), 0);
    CHECK_STATUS(rt_channel_recv_until(kernel.rx, NULL, &value, 60), RT_ERR_TIMEOUT);
    CHECK_EQ(kernel.fibers.port.now_ns, 60);
    CHECK_STATUS(rt_channel_recv_timeout(kernel.rx, NULL, &value, 60), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_EQ(kernel.fibers.port.now_ns, 100);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    CHECK_OK(rt_cx_deinit(&cx));
}

TEST(wait_is_limited_by_the_smaller_of_timeout_and_budget)
{
    kernel_start();
    kernel_channel(1);
    kernel_go(wait_with_both, NULL);
    kernel_run();
    kernel_stop();
}

/* 5.1 and 5.2 */
TEST(channel_errors_have_the_outcomes_of_the_lattice)
{
    rt_outcome outcome = RT_OUTCOME_OK;
    CHECK(rt_outcome_of(RT_ERR_DISCONNECTED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_ERR);
    CHECK(rt_outcome_of(RT_ERR_CANCELLED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_CANCELLED);
    CHECK(!rt_outcome_of(RT_ERR_FULL, &outcome));
    CHECK(!rt_outcome_of(RT_ERR_EMPTY, &outcome));
    CHECK(rt_outcome_of(RT_ERR_RESOURCE_EXHAUSTED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_ERR);
    CHECK(rt_outcome_of(RT_ERR_TIMER_DURATION_EXCEEDED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_ERR);
    CHECK(rt_outcome_of(RT_ERR_BUDGET_EXHAUSTED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_CANCELLED);
}

TEST(task_that_saw_cancelled_on_a_channel_ends_cancelled_whatever_it_returns)
{
    struct poller poller;
    int value = 0;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_EQ(rt_cx_outcome(&poller.cx, RT_OK), RT_OUTCOME_OK);
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_CANCELLED);
    CHECK_EQ(rt_cx_outcome(&poller.cx, RT_OK), RT_OUTCOME_CANCELLED);
    CHECK_EQ(rt_cx_outcome(&poller.cx, RT_ERR_DISCONNECTED), RT_OUTCOME_CANCELLED);
    poller_deinit(&poller);
    kernel_stop();
}

/* 5.3 */
TEST(exhaustion_of_permits_changes_no_structure_and_gives_the_same_error_each_time)
{
    static rt_send_permit permits[RT_MAX_SEND_PERMITS];
    struct poller poller;
    rt_send_permit more;
    kernel_start();
    kernel_channel(RT_MAX_SEND_PERMITS + 8);
    poller_init(&poller);
    for (size_t i = 0; i < RT_MAX_SEND_PERMITS; i++) {
        CHECK_OK(rt_channel_reserve(kernel.tx, &poller.cx, &permits[i]));
    }
    rt_channel_info before = kernel_info();
    for (int i = 0; i < 5; i++) {
        CHECK_STATUS(rt_channel_reserve(kernel.tx, &poller.cx, &more), RT_ERR_RESOURCE_EXHAUSTED);
        rt_channel_info after = kernel_info();
        kernel_check_same(&before, &after);
    }
    poller_deinit(&poller);
    kernel_stop();
}

/* 5.4 */
static rt_channel_sender *region_tx;
static rt_channel_receiver *region_rx;

static void drain_in_the_region(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_send_permit permit;
    int value = 0;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_region_enter(&region, NULL));
    CHECK_OK(rt_channel_reserve(region_tx, NULL, &permit));
    rti_fiber_sleep_until(rti_worker_current(), 100);
    /* The region drains: what is pending completes, what is queued is received. */
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_DRAINING);
    CHECK_OK(rt_send_permit_send(&permit, &(int){8}));
    CHECK_OK(rt_channel_recv(region_rx, NULL, &value));
    CHECK_EQ(value, 8);
    CHECK_OK(rt_channel_send(region_tx, NULL, &(int){9}));
    CHECK_OK(rt_cx_deinit(&cx));
}

static void close_it(void *arg)
{
    (void)arg;
    CHECK_OK(rt_region_close(&region, NULL));
}

TEST(region_lets_sends_complete_and_receivers_drain_before_it_finalizes)
{
    rt_channel_config config = {.elem_size = 4, .capacity = 1, .region = &region};
    kernel_start();
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_channel_create(&config, &region_tx, &region_rx));
    kernel_go(drain_in_the_region, NULL);
    kernel_go(close_it, NULL);
    kernel_run();
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_CLOSED);
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

TEST(region_existing_channels_and_timers_continue_while_it_is_closing)
{
    rt_channel_config config = {.elem_size = 4, .capacity = 1, .region = &region};
    struct poller fired;
    rt_region_timer timer;
    int value = 0;
    kernel_start();
    poller_init(&fired);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    CHECK_OK(
        rt_region_timer_start(&region, NULL, &timer, 10, rti_cx_poll(rti_cx_of(&fired.cx))->waker));
    CHECK_OK(rt_region_begin_close(&region));
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &(int){4}));
    CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
    rti_wheel_expire(&kernel.fibers.clockwork.wheel, 10);
    CHECK_EQ(fired.woken, 1);
    CHECK_OK(rt_region_close(&region, NULL));
    poller_deinit(&fired);
    kernel_stop();
}

TEST(region_reaches_closed_only_without_live_permits_and_active_timers)
{
    rt_channel_config config = {.elem_size = 4, .capacity = 4, .region = &region};
    struct poller poller;
    rt_send_permit permits[3];
    rt_region_timer timers[3];
    rt_waker waker = {NULL, NULL};
    kernel_start();
    poller_init(&poller);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_channel_reserve(kernel.tx, &poller.cx, &permits[i]));
        CHECK_OK(rt_region_timer_start(&region, NULL, &timers[i], 1000, waker));
    }
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_EQ(kernel.channels.permits.used_count, 0);
    CHECK_EQ(rti_wheel_count(&kernel.fibers.clockwork.wheel), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(rt_send_permit_abort(&permits[i]), RT_ERR_STATE);
        CHECK(!rt_region_timer_cancel(&timers[i]));
    }
    poller_deinit(&poller);
    kernel_stop();
}

/* 7.1: wakeups happen when the channel has been left. A waker may use the channel it is told of. */
static int in_waker;

static void use_the_channel(void *arg)
{
    int value = 0;
    (void)arg;
    in_waker++;
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    rti_channels_audit(&kernel.channels);
}

TEST(wakers_run_outside_of_the_channel_and_may_use_it)
{
    rt_cx cx;
    int value = 1;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK_OK(rt_cx_init_poll(&cx, (rt_waker){use_the_channel, NULL}));
    CHECK_STATUS(rt_channel_send(kernel.tx, &cx, &value), RT_ERR_WOULDBLOCK);
    rt_channel_sender *other = NULL;
    CHECK_OK(rt_channel_clone_sender(kernel.tx, &other));
    /* The place is granted to the context, so its waker finds the channel full of one grant. */
    CHECK_OK(rt_cx_abandon(&cx));
    CHECK_STATUS(rt_channel_send(other, &cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_close_sender(other));
    CHECK_EQ(in_waker, 1);
    CHECK_STATUS(rt_channel_send(kernel.tx, &cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_cx_deinit(&cx));
    kernel_stop();
}
