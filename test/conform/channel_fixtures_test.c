/* SPDX-License-Identifier: Apache-2.0 */
/* The thirteen fixture families of channels, section 6.1 of the kernel's specification, each under
 * its own id. */
#define RTI_MODULE "channel_fixtures_test"
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

TEST(ch_reserve_001_reserve_send_recv_keeps_order_and_counts_capacity)
{
    kernel_start();
    kernel_channel(3);
    rt_send_permit permits[3];
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permits[i]));
        CHECK_EQ(kernel_info().reserved, i + 1);
    }
    rt_send_permit more;
    CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, &more), RT_ERR_FULL);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_send_permit_send(&permits[i], &i));
        CHECK_EQ(kernel_info().queued, i + 1);
        CHECK_EQ(kernel_info().queued + kernel_info().reserved, 3);
    }
    CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, &more), RT_ERR_FULL);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(recv_now(), i);
    }
    CHECK_EQ(kernel_info().queued, 0);
    CHECK_EQ(kernel_info().sent, 3);
    CHECK_EQ(kernel_info().received, 3);
    kernel_stop();
}

static void reserve_and_say(void *arg)
{
    rt_send_permit permit;
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    kernel_say(*(const char *)arg);
    int value = *(const char *)arg;
    CHECK_OK(rt_send_permit_send(&permit, &value));
}

static void abort_later(void *arg)
{
    rt_send_permit *permit = arg;
    kernel_yield();
    CHECK_EQ(kernel_info().waiting_senders, 1);
    CHECK_STR(kernel.order, "");
    CHECK_OK(rt_send_permit_abort(permit));
    /* The place belongs to the one in line before it runs. */
    CHECK_EQ(kernel_info().reserved, 1);
    CHECK_EQ(kernel_info().queued, 0);
    int value = 9;
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_FULL);
}

TEST(ch_reserve_002_abort_restores_the_place_and_wakes_the_next_waiter)
{
    kernel_start();
    kernel_channel(1);
    rt_send_permit permit;
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    kernel_go(reserve_and_say, "w");
    kernel_go(abort_later, &permit);
    kernel_run();
    CHECK_STR(kernel.order, "w");
    CHECK_EQ(recv_now(), 'w');
    CHECK_EQ(kernel_info().sent, 1);
    kernel_stop();
}

static void reserve_and_cancel_oneself(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_send_permit permit;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    CHECK_EQ(kernel_info().reserved, 1);
    CHECK_OK(rt_cx_cancel(NULL));
    CHECK_STATUS(rt_checkpoint(NULL), RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_deinit(&cx));
    /* Leaves without resolving: the cleanup stack does. */
}

TEST(ch_reserve_003_cancel_before_send_leaves_no_trace)
{
    kernel_start();
    kernel_channel(1);
    kernel_go(reserve_and_cancel_oneself, NULL);
    kernel_run();
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_EQ(kernel_info().queued, 0);
    CHECK_EQ(kernel_info().sent, 0);
    send_now(1);
    CHECK_EQ(recv_now(), 1);
    kernel_stop();
}

static void send_own(void *arg)
{
    int value = *(const char *)arg;
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &value));
    kernel_say(*(const char *)arg);
}

static void drain_four(void *arg)
{
    (void)arg;
    int value = 7;
    CHECK_EQ(kernel_info().waiting_senders, 3);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_FULL);
    CHECK_EQ(recv_now(), 'x');
    /* The freed place was given to `a` at once: nobody jumps the queue. */
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_FULL);
    rt_send_permit permit;
    CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, &permit), RT_ERR_FULL);
    for (const char *wanted = "abc"; *wanted != '\0'; wanted++) {
        CHECK_EQ(recv_now(), *wanted);
    }
    kernel_yield();
    CHECK_STR(kernel.order, "abc");
}

TEST(ch_backpressure_001_waiters_are_served_in_line_and_nobody_jumps_it)
{
    kernel_start();
    kernel_channel(1);
    send_now('x');
    kernel_go(send_own, "a");
    kernel_go(send_own, "b");
    kernel_go(send_own, "c");
    kernel_go(drain_four, NULL);
    kernel_run();
    kernel_stop();
}

static void recv_in_turn(void *arg)
{
    const char *wanted = arg;
    for (size_t i = 0; wanted[i] != '\0'; i++) {
        CHECK_EQ(recv_now(), wanted[i]);
        rt_channel_info info = kernel_info();
        /* Each receive lets exactly one in, until nobody is in line. */
        CHECK_EQ(info.waiting_senders, i < 4 ? 3 - i : 0);
        CHECK_EQ(info.queued, i < 4 ? 2 : 5 - i);
    }
    kernel_yield();
    CHECK_STR(kernel.order, wanted);
}

TEST(ch_backpressure_002_each_receive_releases_the_next_sender)
{
    static const char names[] = "abcdef";
    kernel_start();
    kernel_channel(2);
    for (const char *name = names; *name != '\0'; name++) {
        kernel_go(send_own, (void *)(uintptr_t)name);
    }
    kernel_go(recv_in_turn, (void *)(uintptr_t)names);
    kernel_run();
    CHECK_EQ(kernel_info().received, 6);
    kernel_stop();
}

static int destroyed[8];
static int destroyed_count;

static void note_destroyed(void *value, void *arg)
{
    CHECK(arg == &destroyed_count);
    CHECK(destroyed_count < 8);
    destroyed[destroyed_count++] = *(int *)value;
}

static void send_to_nobody(void *arg)
{
    int value = *(const char *)arg;
    CHECK_STATUS(rt_channel_send(kernel.tx, NULL, &value), RT_ERR_DISCONNECTED);
    kernel_say(*(const char *)arg);
}

static void close_receiver(void *arg)
{
    (void)arg;
    CHECK_EQ(kernel_info().waiting_senders, 2);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(kernel_info().state, RT_CHANNEL_RECEIVER_CLOSED);
    CHECK_EQ(kernel_info().queued, 0);
}

TEST(ch_disconnect_001_receiver_drop_discards_all_messages_and_tells_all_senders)
{
    kernel_start();
    rt_channel_config config = {.elem_size = sizeof(int),
                                .capacity = 3,
                                .destroy = note_destroyed,
                                .destroy_arg = &destroyed_count};
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    for (int i = 1; i <= 3; i++) {
        send_now(i);
    }
    kernel_go(send_to_nobody, "a");
    kernel_go(send_to_nobody, "b");
    kernel_go(close_receiver, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "ab");
    CHECK_EQ(destroyed_count, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(destroyed[i], i + 1);
    }
    int value = 4;
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_DISCONNECTED);
    CHECK_EQ(kernel_info().destroyed, 3);
    kernel_stop();
}

TEST(ch_disconnect_002_last_sender_drop_lets_the_receiver_drain)
{
    kernel_start();
    kernel_channel(3);
    rt_channel_sender *second = NULL;
    CHECK_OK(rt_channel_clone_sender(kernel.tx, &second));
    send_now(1);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_EQ(kernel_info().state, RT_CHANNEL_OPEN);
    int value = 2;
    CHECK_OK(rt_channel_send(second, NULL, &value));
    CHECK_OK(rt_channel_close_sender(second));
    CHECK_EQ(kernel_info().state, RT_CHANNEL_SENDER_CLOSED);
    CHECK_EQ(kernel_info().queued, 2);
    CHECK_EQ(recv_now(), 1);
    CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
    CHECK_EQ(value, 2);
    value = 77;
    CHECK_STATUS(rt_channel_recv(kernel.rx, NULL, &value), RT_ERR_DISCONNECTED);
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, &value), RT_ERR_DISCONNECTED);
    CHECK_EQ(value, 77);
    kernel_stop();
}

static rt_cx *victim_cx;

static void reserve_until_cancelled(void *arg)
{
    rt_cx cx;
    rt_send_permit permit;
    CHECK_OK(rt_cx_init(&cx));
    victim_cx = &cx;
    CHECK_STATUS(rt_channel_reserve(kernel.tx, NULL, &permit), RT_ERR_CANCELLED);
    CHECK_EQ(rt_cx_outcome(NULL, RT_OK), RT_OUTCOME_CANCELLED);
    CHECK_OK(rt_cx_deinit(&cx));
    kernel_say(*(const char *)arg);
}

static void cancel_the_first_in_line(void *arg)
{
    (void)arg;
    CHECK_EQ(kernel_info().waiting_senders, 2);
    CHECK_OK(rt_cx_cancel(victim_cx));
    CHECK_EQ(kernel_info().waiting_senders, 1);
    CHECK_EQ(kernel_info().queued, 1);
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_EQ(recv_now(), 'x');
    kernel_yield();
    CHECK_EQ(recv_now(), 'b');
}

TEST(ch_cancel_001_cancel_in_line_removes_the_waiter_and_keeps_the_capacity)
{
    kernel_start();
    kernel_channel(1);
    send_now('x');
    kernel_go(reserve_until_cancelled, "a");
    kernel_go(send_own, "b");
    kernel_go(cancel_the_first_in_line, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "ab");
    CHECK_EQ(kernel_info().sent, 2);
    kernel_stop();
}

static void recv_until_cancelled(void *arg)
{
    (void)arg;
    rt_cx cx;
    int value = 5;
    CHECK_OK(rt_cx_init(&cx));
    victim_cx = &cx;
    CHECK_STATUS(rt_channel_recv(kernel.rx, NULL, &value), RT_ERR_CANCELLED);
    CHECK_EQ(value, 5);
    /* A message is there now; a cancelled context does not get it. */
    kernel_yield();
    CHECK_EQ(kernel_info().queued, 1);
    CHECK_STATUS(rt_channel_recv(kernel.rx, NULL, &value), RT_ERR_CANCELLED);
    CHECK_EQ(kernel_info().queued, 1);
    CHECK_OK(rt_cx_deinit(&cx));
}

static void cancel_then_send(void *arg)
{
    (void)arg;
    CHECK_EQ(kernel_info().waiting_receivers, 1);
    CHECK_OK(rt_cx_cancel(victim_cx));
    send_now(42);
    CHECK_EQ(kernel_info().queued, 1);
}

TEST(ch_cancel_002_cancel_during_recv_consumes_no_message)
{
    kernel_start();
    kernel_channel(1);
    kernel_go(recv_until_cancelled, NULL);
    kernel_go(cancel_then_send, NULL);
    kernel_run();
    CHECK_EQ(recv_now(), 42);
    kernel_stop();
}

static void hold_a_permit_and_wait(void *arg)
{
    rt_send_permit permit;
    int value = 0;
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    *(int *)rt_send_permit_slot(&permit) = 13;
    CHECK_OK(rt_channel_recv(arg, NULL, &value));
    kernel_say('!');
}

static void kill_the_holder(void *arg)
{
    CHECK_EQ(kernel_info().reserved, 1);
    CHECK_EQ(kernel_info().waiting_senders, 1);
    CHECK(rti_fiber_kill(&kernel.fibers.sched, arg));
}

TEST(ch_cancel_003_permit_of_a_dead_sender_is_aborted_by_the_cleanup_stack)
{
    kernel_start();
    kernel_channel(1);
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    rt_channel_sender *never_tx = NULL;
    rt_channel_receiver *never_rx = NULL;
    CHECK_OK(rt_channel_create(&config, &never_tx, &never_rx));
    struct rti_fiber *holder = kernel_go(hold_a_permit_and_wait, never_rx);
    kernel_go(send_own, "s");
    kernel_go(kill_the_holder, holder);
    kernel_run();
    CHECK_EQ(kernel.fibers.ends[0], RTI_FIBER_KILLED);
    CHECK_STR(kernel.order, "s");
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_EQ(recv_now(), 's');
    CHECK_OK(rt_channel_close_sender(never_tx));
    CHECK_OK(rt_channel_close_receiver(never_rx));
    kernel_stop();
}

#define SENDERS 4
#define EACH    50

static void send_many(void *arg)
{
    int sender = *(int *)arg;
    for (int i = 0; i < EACH; i++) {
        int value = sender * 1000 + i;
        CHECK_OK(rt_channel_send(kernel.tx, NULL, &value));
    }
}

static int received_order[SENDERS * EACH];

static void recv_many(void *arg)
{
    (void)arg;
    int next[SENDERS] = {0};
    for (int i = 0; i < SENDERS * EACH; i++) {
        int value = -1;
        CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
        CHECK_EQ(value % 1000, next[value / 1000]);
        next[value / 1000]++;
        received_order[i] = value;
    }
}

static void run_multi_sender(void)
{
    static int numbers[SENDERS] = {0, 1, 2, 3};
    kernel_start();
    kernel_channel(3);
    for (int i = 0; i < SENDERS; i++) {
        kernel_go(send_many, &numbers[i]);
    }
    kernel_go(recv_many, NULL);
    kernel_run();
    kernel_stop();
}

TEST(ch_multi_sender_001_each_senders_order_is_kept_and_the_mix_is_deterministic)
{
    int first[SENDERS * EACH];
    run_multi_sender();
    memcpy(first, received_order, sizeof(first));
    memset(received_order, 0, sizeof(received_order));
    run_multi_sender();
    CHECK(memcmp(first, received_order, sizeof(first)) == 0);
}

TEST(ch_exhaustion_001_a_limit_gives_one_error_and_changes_nothing)
{
    kernel_start();
    rt_channel_config config = {.elem_size = 1, .capacity = 1};
    rt_channel_sender *tx[RT_MAX_CHANNELS + 1];
    rt_channel_receiver *rx[RT_MAX_CHANNELS + 1];
    size_t made = 0;
    while (made < RT_MAX_CHANNELS && !RT_FAILED(rt_channel_create(&config, &tx[made], &rx[made]))) {
        made++;
    }
    CHECK_EQ(made, RT_MAX_CHANNELS);
    for (int i = 0; i < 3; i++) {
        rt_channel_sender *none_tx = NULL;
        rt_channel_receiver *none_rx = NULL;
        CHECK_STATUS(rt_channel_create(&config, &none_tx, &none_rx), RT_ERR_RESOURCE_EXHAUSTED);
        CHECK(none_tx == NULL && none_rx == NULL);
        CHECK_EQ(rti_channels_audit(&kernel.channels), RT_MAX_CHANNELS);
    }
    CHECK_OK(rt_channel_close_sender(tx[5]));
    CHECK_OK(rt_channel_close_receiver(rx[5]));
    CHECK_OK(rt_channel_create(&config, &tx[5], &rx[5]));
    for (size_t i = 0; i < made; i++) {
        CHECK_OK(rt_channel_close_sender(tx[i]));
        CHECK_OK(rt_channel_close_receiver(rx[i]));
    }
    kernel_stop();
}

TEST(ch_linearity_001_a_permit_is_resolved_exactly_once)
{
    kernel_start();
    kernel_channel(2);
    rt_send_permit permit;
    int value = 1;
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    rt_send_permit copy = permit;
    CHECK_OK(rt_send_permit_send(&permit, &value));
    CHECK_STATUS(rt_send_permit_send(&permit, &value), RT_ERR_STATE);
    CHECK_STATUS(rt_send_permit_abort(&permit), RT_ERR_STATE);
    CHECK_STATUS(rt_send_permit_send(&copy, &value), RT_ERR_STATE);
    CHECK(rt_send_permit_slot(&permit) == NULL);
    CHECK_EQ(kernel_info().queued, 1);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    /* The record is used again; the old name is still refused. */
    CHECK_STATUS(rt_send_permit_abort(&copy), RT_ERR_STATE);
    CHECK_EQ(kernel_info().reserved, 1);
    CHECK_OK(rt_send_permit_abort(&permit));
    CHECK_STATUS(rt_send_permit_abort(&permit), RT_ERR_STATE);
    CHECK_STATUS(rt_send_permit_send(&permit, &value), RT_ERR_STATE);
    CHECK_EQ(kernel_info().queued, 1);
    CHECK_EQ(kernel_info().reserved, 0);
#if RT_CHECKS
    CHECK_EQ(rti_u32_load_relaxed(&kernel.channels.ghost.counts[RTI_GHOST_PERMIT_REUSED]), 6);
#endif
    kernel_stop();
}
