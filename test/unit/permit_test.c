/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "permit_test"
#include "sync/permit.h"

#include "support/kernel.h"

TEST(permit_slot_is_written_in_place)
{
    rt_send_permit permit;
    int value = 0;
    kernel_start();
    kernel_channel(2);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    int *slot = rt_send_permit_slot(&permit);
    CHECK(slot != NULL);
    *slot = 99;
    CHECK_OK(rt_send_permit_send(&permit, NULL));
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(value, 99);
    CHECK(rt_send_permit_slot(&permit) == NULL);
    CHECK(rt_send_permit_slot(NULL) == NULL);
    kernel_stop();
}

TEST(permit_arguments_are_checked)
{
    rt_send_permit permit = {{RT_MAX_SEND_PERMITS, 1}};
    kernel_start();
    kernel_channel(1);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_send_permit_send(NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_send_permit_abort(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_send_permit_send(&permit, NULL), RT_ERR_STATE);
    memset(&permit, 0, sizeof(permit));
    CHECK_STATUS(rt_send_permit_abort(&permit), RT_ERR_STATE);
    CHECK_STATUS(rt_channel_reserve(NULL, NULL, &permit), RT_ERR_INVALID);
    CHECK_EQ(kernel_info().reserved, 0);
    kernel_stop();
}

TEST(permit_pool_is_a_limit_and_a_refusal_changes_nothing)
{
    static rt_send_permit permits[RT_MAX_SEND_PERMITS];
    rt_send_permit more;
    kernel_start();
    kernel_channel(RT_MAX_SEND_PERMITS + 1);
    for (size_t i = 0; i < RT_MAX_SEND_PERMITS; i++) {
        CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permits[i]));
    }
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(rt_channel_reserve(kernel.tx, NULL, &more), RT_ERR_RESOURCE_EXHAUSTED);
        CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, &more), RT_ERR_RESOURCE_EXHAUSTED);
        CHECK_EQ(kernel_info().reserved, RT_MAX_SEND_PERMITS);
    }
    int value = 1;
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &value));
    CHECK_OK(rt_send_permit_abort(&permits[7]));
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permits[7]));
    for (size_t i = 0; i < RT_MAX_SEND_PERMITS; i++) {
        CHECK_OK(rt_send_permit_abort(&permits[i]));
    }
    kernel_stop();
}

TEST(permit_outside_of_a_task_cannot_wait)
{
    rt_send_permit permit;
    rt_send_permit second;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, NULL, &second), RT_ERR_WOULDBLOCK);
    CHECK_EQ(kernel_info().waiting_senders, 0);
    CHECK_OK(rt_send_permit_abort(&permit));
    kernel_stop();
}

static void reserve_three_and_leave(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        rt_send_permit permit;
        CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
        if (i == 1) {
            CHECK_OK(rt_send_permit_send(&permit, &i));
        }
    }
}

/* Uses the stack on which the frame of the reserving function lay. */
static void overwrite_the_stack(void)
{
    volatile char waste[4096];
    for (size_t i = 0; i < sizeof(waste); i++) {
        waste[i] = (char)0xa5;
    }
}

static void leave_a_frame_with_permits(void *arg)
{
    reserve_three_and_leave(arg);
    overwrite_the_stack();
    CHECK_EQ(kernel_info().reserved, 2);
}

TEST(permit_that_a_function_forgot_is_aborted_when_its_fiber_returns)
{
    int value = -1;
    kernel_start();
    kernel_channel(3);
    kernel_go(leave_a_frame_with_permits, NULL);
    kernel_run();
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_EQ(kernel_info().queued, 1);
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(value, 1);
    kernel_stop();
}

static void reserve_and_exit(void *arg)
{
    (void)arg;
    rt_send_permit permit;
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    rti_fiber_exit(rti_worker_current());
}

static void reserve_and_overflow(void *arg)
{
    (void)arg;
    rt_send_permit permit;
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    *(volatile uint64_t *)(void *)rti_stack_low(&rti_fiber_current()->stack) = 0;
    kernel_yield();
}

TEST(permit_of_a_fiber_that_exits_or_overflows_is_aborted)
{
    kernel_start();
    kernel_channel(2);
    kernel_go(reserve_and_exit, NULL);
    kernel_go(reserve_and_overflow, NULL);
    kernel_run();
    CHECK_EQ(kernel.fibers.ends[1], RTI_FIBER_OVERFLOWED);
    CHECK_EQ(kernel_info().reserved, 0);
    kernel_stop();
}

static void wait_for_a_place(void *arg)
{
    (void)arg;
    rt_send_permit permit;
    (void)!rt_channel_reserve(kernel.tx, NULL, &permit).code;
    kernel_say('!');
}

static void grant_then_kill(void *arg)
{
    int value = -1;
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(kernel_info().reserved, 1);
    CHECK(rti_fiber_kill(&kernel.fibers.sched, arg));
}

TEST(permit_granted_to_a_fiber_that_is_killed_before_it_runs_passes_on)
{
    int value = 1;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    struct rti_fiber *fiber = kernel_go(wait_for_a_place, NULL);
    kernel_go(grant_then_kill, fiber);
    kernel_run();
    CHECK_STR(kernel.order, "");
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_EQ(kernel.channels.permits.used_count, 0);
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    kernel_stop();
}

static void kill_in_line(void *arg)
{
    CHECK_EQ(kernel_info().waiting_senders, 1);
    CHECK(rti_fiber_kill(&kernel.fibers.sched, arg));
}

TEST(permit_wanted_by_a_fiber_that_is_killed_in_line_leaves_no_trace)
{
    int value = 1;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    struct rti_fiber *fiber = kernel_go(wait_for_a_place, NULL);
    kernel_go(kill_in_line, fiber);
    kernel_run();
    CHECK_EQ(kernel_info().waiting_senders, 0);
    CHECK_EQ(kernel.channels.permits.used_count, 0);
    kernel_stop();
}

TEST(permit_of_a_poll_context_is_aborted_with_it_the_latest_first)
{
    struct poller poller;
    rt_send_permit permits[3];
    static struct rti_journal_record ring[32];
    kernel_start();
    kernel_channel(3);
    rti_journal_init(&kernel.fibers.journal, ring, 32);
    poller_init(&poller);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_channel_reserve(kernel.tx, &poller.cx, &permits[i]));
    }
    int value = 4;
    CHECK_OK(rt_send_permit_send(&permits[1], &value));
    poller_deinit(&poller);
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_EQ(kernel_info().queued, 1);
    size_t count = rti_journal_count(&kernel.fibers.journal);
    CHECK_EQ(rti_journal_at(&kernel.fibers.journal, count - 2)->value, permits[2].opaque[1]);
    CHECK_EQ(rti_journal_at(&kernel.fibers.journal, count - 1)->value, permits[0].opaque[1]);
    CHECK_STATUS(rt_send_permit_abort(&permits[0]), RT_ERR_STATE);
    kernel_stop();
}

TEST(permit_of_a_poll_context_is_granted_in_line_and_fetched_by_polling)
{
    struct poller first;
    struct poller second;
    rt_send_permit held;
    rt_send_permit permit;
    kernel_start();
    kernel_channel(1);
    poller_init(&first);
    poller_init(&second);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &held));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &first.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &second.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_send_permit_abort(&held));
    CHECK_EQ(first.woken, 1);
    CHECK_EQ(second.woken, 0);
    /* The place is the first one's; nobody else gets it. */
    CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, &permit), RT_ERR_FULL);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &second.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_reserve(kernel.tx, &first.cx, &permit));
    int value = 2;
    CHECK_OK(rt_send_permit_send(&permit, &value));
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(second.woken, 1);
    /* It is dropped without polling again: the place is free. */
    poller_deinit(&second);
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    poller_deinit(&first);
    kernel_stop();
}

TEST(permit_granted_to_a_poll_context_that_is_cancelled_passes_to_the_next)
{
    struct poller first;
    struct poller second;
    rt_send_permit held;
    rt_send_permit permit;
    kernel_start();
    kernel_channel(1);
    poller_init(&first);
    poller_init(&second);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &held));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &first.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &second.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_send_permit_abort(&held));
    CHECK_OK(rt_cx_cancel(&first.cx));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &first.cx, &permit), RT_ERR_CANCELLED);
    CHECK_EQ(second.woken, 1);
    CHECK_OK(rt_channel_reserve(kernel.tx, &second.cx, &permit));
    poller_deinit(&first);
    poller_deinit(&second);
    CHECK_EQ(kernel_info().reserved, 0);
    kernel_stop();
}

TEST(permit_granted_to_a_poll_context_is_no_use_when_the_receiver_has_gone)
{
    struct poller poller;
    rt_send_permit held;
    rt_send_permit permit;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &held));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &poller.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_send_permit_abort(&held));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &poller.cx, &permit), RT_ERR_DISCONNECTED);
    CHECK_EQ(kernel_info().reserved, 0);
    poller_deinit(&poller);
    kernel_stop();
}

TEST(permit_survives_the_close_of_the_handle_it_came_from)
{
    rt_send_permit permit;
    int value = 8;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, &value), RT_ERR_EMPTY);
    CHECK_OK(rt_send_permit_send(&permit, &value));
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(value, 8);
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, &value), RT_ERR_DISCONNECTED);
    kernel_stop();
}

TEST(permit_is_the_last_to_hold_a_channel_that_both_sides_have_closed)
{
    rt_send_permit permit;
    int value = 8;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(rti_channels_audit(&kernel.channels), 1);
    CHECK_STATUS(rt_send_permit_send(&permit, &value), RT_ERR_DISCONNECTED);
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}
