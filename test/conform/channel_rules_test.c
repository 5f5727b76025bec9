/* SPDX-License-Identifier: Apache-2.0 */
/* Section 1 of the kernel's specification, statement by statement, where no fixture says it. */
#define RTI_MODULE "channel_rules_test"
#include <orrery/rt/channel.h>

#include "support/kernel.h"

static void send_now(int value)
{
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
}

static int recv_now(void)
{
    int value = -1;
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    return value;
}

/* 1.1 and 1.2: the states and their transitions. */

TEST(channel_is_open_with_senders_and_a_receiver)
{
    kernel_start();
    kernel_channel(1);
    CHECK_EQ(kernel_info().state, RT_CHANNEL_OPEN);
    send_now(1);
    CHECK_EQ(recv_now(), 1);
    kernel_stop();
}

TEST(channel_goes_from_open_to_sender_closed_when_the_last_sender_drops)
{
    rt_channel_sender *second = NULL;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_clone_sender(kernel.tx, &second));
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_EQ(kernel_info().state, RT_CHANNEL_OPEN);
    CHECK_OK(rt_channel_close_sender(second));
    CHECK_EQ(kernel_info().state, RT_CHANNEL_SENDER_CLOSED);
    kernel_stop();
}

TEST(channel_goes_from_open_to_receiver_closed_when_the_receiver_drops)
{
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(kernel_info().state, RT_CHANNEL_RECEIVER_CLOSED);
    kernel_stop();
}

TEST(channel_goes_from_sender_closed_to_fully_closed_and_its_resources_are_reclaimed)
{
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_EQ(rti_channels_audit(&kernel.channels), 1);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    CHECK_EQ(rti_arena_stats(&kernel.channels.arena).used_count, 0);
    kernel_stop();
}

TEST(channel_goes_from_receiver_closed_to_fully_closed_and_its_resources_are_reclaimed)
{
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(rti_channels_audit(&kernel.channels), 1);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

TEST(channel_never_gets_a_receiver_back)
{
    rt_channel_receiver *rx = NULL;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_STATUS(rt_channel_clone_receiver(kernel.rx, &rx), RT_ERR_INVALID);
    CHECK_EQ(kernel_info().state, RT_CHANNEL_RECEIVER_CLOSED);
    kernel_stop();
}

TEST(channel_senders_are_not_resurrected_from_zero)
{
    rt_channel_sender *tx = NULL;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_STATUS(rt_channel_clone_sender(kernel.tx, &tx), RT_ERR_INVALID);
    CHECK_EQ(kernel_info().state, RT_CHANNEL_SENDER_CLOSED);
    kernel_stop();
}

TEST(channel_that_is_fully_closed_is_reached_by_no_handle)
{
    int value = 0;
    rt_channel_info info;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_STATUS(rt_channel_sender_info(kernel.tx, &info), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_receiver_info(kernel.rx, &info), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_INVALID);
    kernel_stop();
}

/* 1.3: reserve, send, abort. */

TEST(reserve_checks_cancellation_first_and_changes_nothing)
{
    struct poller poller;
    rt_send_permit permit;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &poller.cx, &permit), RT_ERR_CANCELLED);
    CHECK_EQ(kernel_info().reserved, 0);
    poller_deinit(&poller);
    kernel_stop();
}

TEST(reserve_on_a_channel_without_a_receiver_is_disconnected)
{
    rt_send_permit permit;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, NULL, &permit), RT_ERR_DISCONNECTED);
    CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, &permit), RT_ERR_DISCONNECTED);
    kernel_stop();
}

TEST(reserve_lets_only_the_head_of_the_line_claim_a_slot)
{
    struct poller first;
    struct poller second;
    rt_send_permit permit;
    rt_send_permit held;
    kernel_start();
    kernel_channel(1);
    poller_init(&first);
    poller_init(&second);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &held));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &first.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &second.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_send_permit_abort(&held));
    /* The second polls first, and still it is the first one's turn. */
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &second.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_reserve(kernel.tx, &first.cx, &permit));
    poller_deinit(&first);
    CHECK_OK(rt_channel_reserve(kernel.tx, &second.cx, &permit));
    poller_deinit(&second);
    kernel_stop();
}

TEST(reserve_with_capacity_counts_the_slot_at_once_and_gives_a_permit)
{
    rt_send_permit permit;
    kernel_start();
    kernel_channel(2);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    CHECK_EQ(kernel_info().reserved, 1);
    CHECK_EQ(kernel_info().queued, 0);
    send_now(1);
    int value = 2;
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_FULL);
    CHECK_OK(rt_send_permit_abort(&permit));
    kernel_stop();
}

TEST(reserve_without_capacity_registers_the_waker_and_would_block)
{
    struct poller poller;
    rt_send_permit permit;
    kernel_start();
    kernel_channel(1);
    send_now(1);
    poller_init(&poller);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &poller.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_EQ(kernel_info().waiting_senders, 1);
    CHECK_EQ(poller.woken, 0);
    CHECK_EQ(recv_now(), 1);
    CHECK_EQ(poller.woken, 1);
    CHECK_OK(rt_channel_reserve(kernel.tx, &poller.cx, &permit));
    poller_deinit(&poller);
    kernel_stop();
}

TEST(send_of_a_permit_moves_a_slot_from_reserved_to_queued_and_wakes_the_receiver)
{
    struct poller poller;
    rt_send_permit permit;
    int value = 3;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    CHECK_EQ(poller.woken, 0);
    CHECK_OK(rt_send_permit_send(&permit, &value));
    CHECK_EQ(poller.woken, 1);
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_EQ(kernel_info().queued, 1);
    CHECK_OK(rt_channel_recv(kernel.rx, &poller.cx, &value));
    poller_deinit(&poller);
    kernel_stop();
}

TEST(send_of_a_permit_after_the_receiver_dropped_is_disconnected_and_not_enqueued)
{
    rt_send_permit permit;
    int value = 3;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_STATUS(rt_send_permit_send(&permit, &value), RT_ERR_DISCONNECTED);
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_EQ(kernel_info().queued, 0);
    CHECK_EQ(kernel_info().sent, 0);
    CHECK_STATUS(rt_send_permit_send(&permit, &value), RT_ERR_STATE);
    kernel_stop();
}

TEST(send_of_a_permit_never_fails_while_the_receiver_is_alive)
{
    rt_send_permit permits[8];
    struct poller poller;
    kernel_start();
    kernel_channel(8);
    poller_init(&poller);
    for (int i = 0; i < 8; i++) {
        CHECK_OK(rt_channel_reserve(kernel.tx, &poller.cx, &permits[i]));
    }
    /* Not even a cancelled holder is refused: the capacity is its own. */
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    for (int i = 0; i < 8; i++) {
        CHECK_OK(rt_send_permit_send(&permits[i], &i));
    }
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(recv_now(), i);
    }
    poller_deinit(&poller);
    kernel_stop();
}

TEST(abort_enqueues_nothing)
{
    rt_send_permit permit;
    int value = 0;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    *(int *)rt_send_permit_slot(&permit) = 9;
    CHECK_OK(rt_send_permit_abort(&permit));
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, &value), RT_ERR_EMPTY);
    kernel_stop();
}

/* 1.4: receive. */

TEST(recv_checks_cancellation_first_and_consumes_nothing)
{
    struct poller poller;
    int value = 7;
    kernel_start();
    kernel_channel(1);
    send_now(1);
    poller_init(&poller);
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_CANCELLED);
    CHECK_EQ(value, 7);
    CHECK_EQ(kernel_info().queued, 1);
    poller_deinit(&poller);
    kernel_stop();
}

TEST(recv_pops_the_front_and_wakes_the_next_sender)
{
    struct poller poller;
    int value = 3;
    kernel_start();
    kernel_channel(2);
    send_now(1);
    send_now(2);
    poller_init(&poller);
    CHECK_STATUS(rt_channel_send(kernel.tx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
    CHECK_EQ(value, 1);
    CHECK_EQ(poller.woken, 1);
    poller_deinit(&poller);
    kernel_stop();
}

TEST(recv_of_an_empty_channel_with_senders_registers_the_waker_and_would_block)
{
    struct poller poller;
    int value = 3;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_EQ(kernel_info().waiting_receivers, 1);
    send_now(4);
    CHECK_EQ(poller.woken, 1);
    poller_deinit(&poller);
    kernel_stop();
}

TEST(try_recv_of_an_empty_channel_with_senders_is_empty)
{
    int value = 3;
    kernel_start();
    kernel_channel(1);
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, &value), RT_ERR_EMPTY);
    CHECK_EQ(kernel_info().waiting_receivers, 0);
    CHECK_EQ(value, 3);
    kernel_stop();
}

/* 1.5: the table of backpressure. */

TEST(backpressure_with_capacity_and_no_waiters_everything_succeeds_at_once)
{
    rt_send_permit first;
    rt_send_permit second;
    kernel_start();
    kernel_channel(3);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &first));
    CHECK_OK(rt_channel_try_reserve(kernel.tx, NULL, &second));
    send_now(1);
    CHECK_OK(rt_send_permit_abort(&first));
    CHECK_OK(rt_send_permit_abort(&second));
    kernel_stop();
}

/* A slot is freed while two wait: it is the first one's, and the other waits on. */
TEST(backpressure_with_a_freed_slot_and_waiters_reserve_queues_and_try_is_full)
{
    struct poller first;
    struct poller second;
    struct poller late;
    rt_send_permit permit;
    int value = 5;
    kernel_start();
    kernel_channel(1);
    send_now(1);
    poller_init(&first);
    poller_init(&second);
    poller_init(&late);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &first.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &second.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_EQ(recv_now(), 1);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &late.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, &permit), RT_ERR_FULL);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_FULL);
    CHECK_EQ(kernel_info().waiting_senders, 2);
    poller_deinit(&first);
    poller_deinit(&second);
    poller_deinit(&late);
    kernel_stop();
}

TEST(backpressure_without_capacity_reserve_queues_and_try_is_full)
{
    struct poller poller;
    rt_send_permit permit;
    int value = 5;
    kernel_start();
    kernel_channel(1);
    send_now(1);
    poller_init(&poller);
    CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, &permit), RT_ERR_FULL);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_FULL);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &poller.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_EQ(kernel_info().waiting_senders, 1);
    poller_deinit(&poller);
    kernel_stop();
}

/* A burst of tries against one who waits: the waiter still gets its turn. */
static void burst(void *arg)
{
    int *refused = arg;
    int value = 9;
    kernel_yield();
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(recv_now() >= 0, true);
        *refused += rt_channel_try_send(kernel.tx, &value).code == RT_ERR_FULL;
        kernel_yield();
        if (kernel_info().queued == 0) {
            send_now(value);
        }
    }
}

static void send_fifty(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        CHECK_OK(rt_channel_send(kernel.tx, NULL, &i));
    }
    kernel_say('d');
}

TEST(try_send_in_a_burst_does_not_starve_a_waiter)
{
    int refused = 0;
    kernel_start();
    kernel_channel(1);
    kernel_go(send_fifty, NULL);
    kernel_go(burst, &refused);
    kernel_run();
    CHECK_STR(kernel.order, "d");
    CHECK(refused > 0);
    kernel_stop();
}

/* 1.6: order. */

TEST(order_across_senders_is_the_order_of_their_commits)
{
    rt_send_permit first;
    rt_send_permit second;
    rt_channel_sender *other = NULL;
    kernel_start();
    kernel_channel(2);
    CHECK_OK(rt_channel_clone_sender(kernel.tx, &other));
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &first));
    CHECK_OK(rt_channel_reserve(other, NULL, &second));
    CHECK_OK(rt_send_permit_send(&second, &(int){2}));
    CHECK_OK(rt_send_permit_send(&first, &(int){1}));
    CHECK_EQ(recv_now(), 2);
    CHECK_EQ(recv_now(), 1);
    CHECK_OK(rt_channel_close_sender(other));
    kernel_stop();
}

TEST(wakeups_come_from_the_head_of_the_line_one_by_one)
{
    struct poller pollers[4];
    int value = 0;
    kernel_start();
    kernel_channel(4);
    for (int i = 0; i < 4; i++) {
        poller_init(&pollers[i]);
        CHECK_STATUS(rt_channel_recv(kernel.rx, &pollers[i].cx, &value), RT_ERR_WOULDBLOCK);
    }
    for (int i = 0; i < 4; i++) {
        send_now(i);
        for (int j = 0; j < 4; j++) {
            CHECK_EQ(pollers[j].woken, j <= i);
        }
    }
    for (int i = 0; i < 4; i++) {
        poller_deinit(&pollers[i]);
    }
    CHECK_EQ(kernel_info().queued, 4);
    kernel_stop();
}

/* 1.7: construction. */

TEST(channel_of_capacity_zero_is_refused_at_construction)
{
    rt_channel_config config = {.elem_size = 4, .capacity = 0};
    rt_channel_sender *tx = NULL;
    rt_channel_receiver *rx = NULL;
    kernel_start();
    CHECK_STATUS(rt_channel_create(&config, &tx, &rx), RT_ERR_INVALID);
    CHECK(tx == NULL && rx == NULL);
    kernel_stop();
}

/* 1.8: close. */

TEST(receiver_drop_wakes_every_waiting_sender_with_disconnected)
{
    struct poller pollers[3];
    int value = 0;
    kernel_start();
    kernel_channel(1);
    send_now(1);
    for (int i = 0; i < 3; i++) {
        poller_init(&pollers[i]);
        CHECK_STATUS(rt_channel_send(kernel.tx, &pollers[i].cx, &value), RT_ERR_WOULDBLOCK);
    }
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pollers[i].woken, 1);
        CHECK_STATUS(rt_channel_send(kernel.tx, &pollers[i].cx, &value), RT_ERR_DISCONNECTED);
        poller_deinit(&pollers[i]);
    }
    kernel_stop();
}

TEST(receiver_drop_loses_what_is_queued_for_ever)
{
    rt_channel_info info;
    kernel_start();
    kernel_channel(3);
    for (int i = 0; i < 3; i++) {
        send_now(i);
    }
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    info = kernel_info();
    CHECK_EQ(info.queued, 0);
    CHECK_EQ(info.destroyed, 3);
    CHECK_EQ(info.received, 0);
    kernel_stop();
}

TEST(last_sender_drop_keeps_the_queue_and_wakes_the_receiver)
{
    struct poller poller;
    int value = 0;
    kernel_start();
    kernel_channel(2);
    poller_init(&poller);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_EQ(poller.woken, 1);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_DISCONNECTED);
    poller_deinit(&poller);
    kernel_stop();
}

/* 1.9: cancellation, row by row. */

TEST(cancel_before_a_permit_leaves_the_channel_completely_unaffected)
{
    struct poller poller;
    rt_send_permit permit;
    kernel_start();
    kernel_channel(1);
    rt_channel_info before = kernel_info();
    poller_init(&poller);
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &poller.cx, &permit), RT_ERR_CANCELLED);
    rt_channel_info after = kernel_info();
    kernel_check_same(&before, &after);
    poller_deinit(&poller);
    kernel_stop();
}

TEST(cancel_in_line_removes_the_waiter_and_its_granted_slot_wakes_the_next)
{
    struct poller first;
    struct poller second;
    rt_send_permit permit;
    kernel_start();
    kernel_channel(1);
    send_now(1);
    poller_init(&first);
    poller_init(&second);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &first.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &second.cx, &permit), RT_ERR_WOULDBLOCK);
    CHECK_EQ(recv_now(), 1);
    CHECK_OK(rt_cx_cancel(&first.cx));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &first.cx, &permit), RT_ERR_CANCELLED);
    CHECK_EQ(second.woken, 1);
    CHECK_EQ(kernel_info().waiting_senders, 0);
    CHECK_EQ(kernel_info().reserved, 1);
    poller_deinit(&first);
    poller_deinit(&second);
    CHECK_EQ(kernel_info().reserved, 0);
    kernel_stop();
}

TEST(cancel_of_a_permits_holder_restores_the_slot_and_enqueues_nothing)
{
    struct poller poller;
    rt_send_permit permit;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_OK(rt_channel_reserve(kernel.tx, &poller.cx, &permit));
    CHECK_OK(rt_cx_cancel(&poller.cx));
    poller_deinit(&poller);
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_EQ(kernel_info().queued, 0);
    CHECK_STATUS(rt_send_permit_send(&permit, &(int){1}), RT_ERR_STATE);
    kernel_stop();
}

TEST(cancel_of_the_receiver_after_a_commit_leaves_the_message_in_the_queue)
{
    struct poller poller;
    int value = 6;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    send_now(6);
    CHECK_OK(rt_cx_cancel(&poller.cx));
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_CANCELLED);
    CHECK_EQ(kernel_info().queued, 1);
    CHECK_EQ(recv_now(), 6);
    poller_deinit(&poller);
    kernel_stop();
}

/* 1.10: determinism. */

static void cancel_at(void *arg)
{
    rti_fiber_sleep_until(rti_worker_current(), 10);
    CHECK_OK(rt_cx_cancel(*(rt_cx **)arg));
}

static void recv_and_note(void *arg)
{
    rt_cx cx;
    int value = 0;
    CHECK_OK(rt_cx_init(&cx));
    *(rt_cx **)arg = &cx;
    rt_status status = rt_channel_recv_until(kernel.rx, NULL, &value, 20);
    kernel_say(status.code == RT_ERR_CANCELLED ? 'c' : 't');
    CHECK_OK(rt_cx_deinit(&cx));
}

TEST(cancellation_gives_the_same_result_in_every_run)
{
    for (int i = 0; i < 3; i++) {
        rt_cx *cx = NULL;
        kernel_start();
        kernel_channel(1);
        kernel_go(recv_and_note, &cx);
        kernel_go(cancel_at, &cx);
        kernel_run();
        CHECK_STR(kernel.order, "c");
        CHECK_EQ(kernel.fibers.port.now_ns, 10);
        kernel_stop();
    }
}
