/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving values, through every path. */
#define RTI_MODULE "channel_io_test"
#include <orrery/rt/channel.h>

#include "support/kernel.h"

static void send_int(int value)
{
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &value));
}

static int recv_int(void)
{
    int value = -1;
    CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
    return value;
}

TEST(channel_io_arguments_are_checked)
{
    int value = 1;
    kernel_start();
    kernel_channel(1);
    CHECK_STATUS(rt_channel_send(kernel.tx, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_recv(kernel.rx, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_send(NULL, NULL, &value), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_try_send(NULL, &value), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_recv(NULL, NULL, &value), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_try_recv(NULL, &value), RT_ERR_INVALID);
    CHECK_EQ(kernel_info().sent, 0);
    kernel_stop();
}

TEST(channel_io_outside_of_a_task_works_without_waiting_and_refuses_to_wait)
{
    int value = 1;
    kernel_start();
    kernel_channel(1);
    CHECK_STATUS(rt_channel_recv(kernel.rx, NULL, &value), RT_ERR_WOULDBLOCK);
    send_int(5);
    CHECK_STATUS(rt_channel_send(kernel.tx, NULL, &value), RT_ERR_WOULDBLOCK);
    CHECK_EQ(recv_int(), 5);
    CHECK_EQ(kernel_info().waiting_receivers + kernel_info().waiting_senders, 0);
    kernel_stop();
}

TEST(channel_io_moves_values_of_every_size)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 9, 16, 24, 100};
    kernel_start();
    for (size_t i = 0; i < RTI_COUNT_OF(sizes); i++) {
        unsigned char in[101];
        unsigned char out[101];
        rt_channel_config config = {.elem_size = sizes[i], .capacity = 3};
        CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
        for (int round = 0; round < 7; round++) {
            memset(in, 17 * round + 1, sizeof(in));
            memset(out, 0, sizeof(out));
            CHECK_OK(rt_channel_send(kernel.tx, NULL, in));
            CHECK_OK(rt_channel_recv(kernel.rx, NULL, out));
            CHECK(memcmp(in, out, sizes[i]) == 0);
            CHECK_EQ(out[sizes[i]], 0);
        }
        CHECK_OK(rt_channel_close_sender(kernel.tx));
        CHECK_OK(rt_channel_close_receiver(kernel.rx));
    }
    kernel_stop();
}

TEST(channel_io_signals_have_no_value)
{
    kernel_start();
    rt_channel_config config = {.elem_size = 0, .capacity = 2};
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    CHECK_OK(rt_channel_send(kernel.tx, NULL, NULL));
    CHECK_OK(rt_channel_try_send(kernel.tx, NULL));
    CHECK_STATUS(rt_channel_try_send(kernel.tx, NULL), RT_ERR_FULL);
    CHECK_OK(rt_channel_recv(kernel.rx, NULL, NULL));
    CHECK_OK(rt_channel_try_recv(kernel.rx, NULL));
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, NULL), RT_ERR_EMPTY);
    kernel_stop();
}

#define MANY 300

/* Values of a word go the shortest way, others another: both are streamed. */
static bool is_word;

static void send_number(int number)
{
    uint64_t word = (uint64_t)number;
    if (is_word) {
        CHECK_OK(rt_channel_send(kernel.tx, NULL, &word));
    } else {
        send_int(number);
    }
}

static void send_numbers(void *arg)
{
    (void)arg;
    for (int i = 0; i < MANY; i++) {
        send_number(i);
    }
    CHECK_OK(rt_channel_close_sender(kernel.tx));
}

static void recv_numbers(void *arg)
{
    uint64_t word = 0;
    int number = -1;
    int *count = arg;
    rt_status status;
    while (!RT_FAILED(
        status = rt_channel_recv(kernel.rx, NULL, is_word ? (void *)&word : (void *)&number))) {
        CHECK_EQ(is_word ? (int)word : number, *count);
        (*count)++;
    }
    CHECK_STATUS(status, RT_ERR_DISCONNECTED);
}

static void stream_channel(size_t capacity)
{
    rt_channel_config config = {.elem_size = is_word ? 8 : 4, .capacity = capacity};
    CHECK_OK(capacity == 0 ? rt_channel_create_rendezvous(&config, &kernel.tx, &kernel.rx)
                           : rt_channel_create(&config, &kernel.tx, &kernel.rx));
}

/* A stream of numbers between two fibers, whichever starts first, watched or not. */
static void run_stream(size_t capacity, bool is_receiver_first, bool is_observed)
{
    int count = 0;
    kernel_start();
    if (!is_observed) {
        fibers_unobserved(&kernel.fibers);
    }
    stream_channel(capacity);
    if (is_receiver_first) {
        kernel_go(recv_numbers, &count);
    }
    kernel_go(send_numbers, NULL);
    if (!is_receiver_first) {
        kernel_go(recv_numbers, &count);
    }
    kernel_run();
    CHECK_EQ(count, MANY);
    kernel_stop();
}

TEST(channel_io_streams_in_order_at_every_capacity_and_phase)
{
    static const size_t capacities[] = {0, 1, 2, 3, 7, 64, MANY};
    for (size_t i = 0; i < RTI_COUNT_OF(capacities); i++) {
        for (int variant = 0; variant < 8; variant++) {
            is_word = (variant & 4) != 0;
            run_stream(capacities[i], (variant & 1) != 0, (variant & 2) != 0);
        }
    }
}

#define TRIPS 200

/* There and back over two channels, as long as values are words. */
static rt_channel_sender *back_tx;
static rt_channel_receiver *back_rx;

static void go_there(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < TRIPS; i++) {
        uint64_t value = i;
        CHECK_OK(rt_channel_send(kernel.tx, NULL, &value));
        CHECK_OK(rt_channel_recv(back_rx, NULL, &value));
        CHECK_EQ(value, i * 3);
    }
}

static void come_back(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < TRIPS; i++) {
        uint64_t value = 0;
        CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
        CHECK_EQ(value, i);
        value *= 3;
        CHECK_OK(rt_channel_send(back_tx, NULL, &value));
    }
}

TEST(channel_io_words_go_there_and_back_whoever_comes_first)
{
    is_word = true;
    for (int variant = 0; variant < 4; variant++) {
        kernel_start();
        fibers_unobserved(&kernel.fibers);
        stream_channel((variant & 1) != 0 ? 4 : 0);
        back_tx = kernel.tx;
        back_rx = kernel.rx;
        stream_channel((variant & 1) != 0 ? 4 : 0);
        kernel_go((variant & 2) != 0 ? go_there : come_back, NULL);
        kernel_go((variant & 2) != 0 ? come_back : go_there, NULL);
        kernel_run();
        rt_channel_info info = kernel_info();
        CHECK_EQ(info.sent, TRIPS);
        CHECK_EQ(info.received, TRIPS);
        CHECK_OK(rt_channel_close_sender(back_tx));
        CHECK_OK(rt_channel_close_receiver(back_rx));
        kernel_stop();
    }
}

static void recv_shared(void *arg)
{
    int value = -1;
    int *count = arg;
    while (!RT_FAILED(rt_channel_recv(kernel.rx, NULL, &value))) {
        (*count)++;
        kernel_yield();
    }
}

TEST(channel_io_many_receivers_share_the_values_in_turn)
{
    int counts[3] = {0, 0, 0};
    is_word = false;
    kernel_start();
    kernel_channel(3);
    for (int i = 0; i < 3; i++) {
        kernel_go(recv_shared, &counts[i]);
    }
    kernel_go(send_numbers, NULL);
    kernel_run();
    CHECK_EQ(counts[0] + counts[1] + counts[2], MANY);
    for (int i = 0; i < 3; i++) {
        CHECK(counts[i] > MANY / 6);
    }
    kernel_stop();
}

TEST(channel_io_poll_context_receives_what_was_promised_to_it)
{
    struct poller first;
    struct poller second;
    int value = -1;
    kernel_start();
    kernel_channel(2);
    poller_init(&first);
    poller_init(&second);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &first.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &second.cx, &value), RT_ERR_WOULDBLOCK);
    send_int(1);
    CHECK_EQ(first.woken, 1);
    CHECK_EQ(second.woken, 0);
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, &value), RT_ERR_EMPTY);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &second.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_recv(kernel.rx, &first.cx, &value));
    CHECK_EQ(value, 1);
    send_int(2);
    CHECK_EQ(second.woken, 1);
    CHECK_OK(rt_channel_recv(kernel.rx, &second.cx, &value));
    CHECK_EQ(value, 2);
    send_int(3);
    CHECK_OK(rt_channel_recv(kernel.rx, &first.cx, &value));
    CHECK_EQ(value, 3);
    CHECK_EQ(first.woken, 1);
    poller_deinit(&first);
    poller_deinit(&second);
    kernel_stop();
}

TEST(channel_io_promise_of_a_cancelled_poll_context_passes_on)
{
    struct poller first;
    struct poller second;
    int value = -1;
    kernel_start();
    kernel_channel(2);
    poller_init(&first);
    poller_init(&second);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &first.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &second.cx, &value), RT_ERR_WOULDBLOCK);
    send_int(1);
    CHECK_OK(rt_cx_cancel(&first.cx));
    CHECK_STATUS(rt_channel_recv(kernel.rx, &first.cx, &value), RT_ERR_CANCELLED);
    CHECK_EQ(second.woken, 1);
    CHECK_OK(rt_channel_recv(kernel.rx, &second.cx, &value));
    CHECK_EQ(value, 1);
    poller_deinit(&first);
    poller_deinit(&second);
    kernel_stop();
}

TEST(channel_io_poll_context_sends_when_its_place_is_granted)
{
    struct poller poller;
    int value = 7;
    int other = 0;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    CHECK_OK(rt_channel_send(kernel.tx, &poller.cx, &value));
    value = 8;
    CHECK_STATUS(rt_channel_send(kernel.tx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_send(kernel.tx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_EQ(kernel_info().waiting_senders, 1);
    CHECK_OK(rt_channel_try_recv(kernel.rx, &other));
    CHECK_EQ(other, 7);
    CHECK_EQ(poller.woken, 1);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &other), RT_ERR_FULL);
    value = 9;
    CHECK_OK(rt_channel_send(kernel.tx, &poller.cx, &value));
    CHECK_EQ(recv_int(), 9);
    CHECK_EQ(kernel.channels.permits.used_count, 0);
    poller_deinit(&poller);
    kernel_stop();
}

TEST(channel_io_poll_contexts_meet_at_a_rendezvous)
{
    struct poller sender;
    struct poller receiver;
    int value = 4;
    int out = 0;
    kernel_start();
    kernel_channel(0);
    poller_init(&sender);
    poller_init(&receiver);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_FULL);
    CHECK_STATUS(rt_channel_send(kernel.tx, &sender.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &receiver.cx, &out), RT_ERR_WOULDBLOCK);
    CHECK_EQ(sender.woken, 1);
    CHECK_OK(rt_channel_send(kernel.tx, &sender.cx, &value));
    CHECK_EQ(receiver.woken, 1);
    CHECK_OK(rt_channel_recv(kernel.rx, &receiver.cx, &out));
    CHECK_EQ(out, 4);
    poller_deinit(&sender);
    poller_deinit(&receiver);
    kernel_stop();
}

TEST(channel_io_waits_of_poll_contexts_end_with_the_other_side)
{
    struct poller sender;
    struct poller receiver;
    int value = 4;
    kernel_start();
    kernel_channel(0);
    poller_init(&sender);
    CHECK_STATUS(rt_channel_send(kernel.tx, &sender.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(sender.woken, 1);
    CHECK_STATUS(rt_channel_send(kernel.tx, &sender.cx, &value), RT_ERR_DISCONNECTED);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    poller_deinit(&sender);
    kernel_channel(1);
    poller_init(&receiver);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &receiver.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_EQ(receiver.woken, 1);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &receiver.cx, &value), RT_ERR_DISCONNECTED);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &receiver.cx, &value), RT_ERR_DISCONNECTED);
    poller_deinit(&receiver);
    kernel_stop();
}

TEST(channel_io_poll_context_outlives_the_channel_it_waits_on)
{
    struct poller receiver;
    int value = 4;
    kernel_start();
    kernel_channel(1);
    poller_init(&receiver);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &receiver.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(rti_channels_audit(&kernel.channels), 1);
    poller_deinit(&receiver);
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

/* A waker that takes apart another context that the same close has served. */
static struct poller pair[2];
static int wakes;

static void end_the_other(void *arg)
{
    int self = *(int *)arg;
    wakes++;
    CHECK_OK(rt_cx_deinit(&pair[1 - self].cx));
}

TEST(channel_io_waker_may_end_another_context_that_is_to_be_woken)
{
    static int numbers[2] = {0, 1};
    int value = 0;
    kernel_start();
    kernel_channel(1);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_cx_init_poll(&pair[i].cx, (rt_waker){end_the_other, &numbers[i]}));
        CHECK_STATUS(rt_channel_recv(kernel.rx, &pair[i].cx, &value), RT_ERR_WOULDBLOCK);
    }
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_EQ(wakes, 1);
    CHECK_OK(rt_cx_deinit(&pair[0].cx));
    kernel_stop();
}
