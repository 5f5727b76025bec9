/* SPDX-License-Identifier: Apache-2.0 */
/* Channels between tasks with a stack, and selects over four of them. */
#define _GNU_SOURCE
#include "peer.h"

#define LINES 4

static rt_channel_sender *tx[LINES];
static rt_channel_receiver *rx[LINES];

static void open_lines(int lines, size_t capacity)
{
    rt_channel_config config = {.elem_size = sizeof(long), .capacity = capacity};
    for (int i = 0; i < lines; i++) {
        peer_must(capacity == 0 ? rt_channel_create_rendezvous(&config, &tx[i], &rx[i])
                                : rt_channel_create(&config, &tx[i], &rx[i]));
    }
}

static void *there(void *arg)
{
    for (long i = 0; i < peer_count; i++) {
        long number = i;
        peer_must(rt_channel_send(tx[0], NULL, &number));
        peer_must(rt_channel_recv(rx[1], NULL, &number));
    }
    peer_must(rt_channel_close_sender(tx[0]));
    return arg;
}

static void *back(void *arg)
{
    long number;
    while (!RT_FAILED(rt_channel_recv(rx[0], NULL, &number))) {
        peer_must(rt_channel_send(tx[1], NULL, &number));
    }
    return arg;
}

void talk_pingpong(void)
{
    peer_init();
    open_lines(2, 0);
    peer_go(there, NULL);
    peer_go(back, NULL);
    peer_report_ns(peer_run(), (double)peer_count);
}

static long each;

static void *produce(void *arg)
{
    rt_channel_sender *own = arg;
    for (long i = 0; i < each; i++) {
        peer_must(rt_channel_send(own, NULL, &i));
    }
    peer_must(rt_channel_close_sender(own));
    return NULL;
}

static void *consume(void *arg)
{
    long number;
    long received = 0;
    while (!RT_FAILED(rt_channel_recv(rx[0], NULL, &number))) {
        received++;
    }
    peer_expect(received == peer_count, "a value is lost");
    return arg;
}

static void stream(int producers)
{
    each = peer_count / producers;
    peer_count = each * producers;
    peer_init();
    open_lines(1, 1024);
    for (int i = 0; i < producers; i++) {
        rt_channel_sender *own = tx[0];
        if (i > 0) {
            peer_must(rt_channel_clone_sender(tx[0], &own));
        }
        peer_go(produce, own);
    }
    peer_go(consume, NULL);
    peer_report_ns(peer_run(), (double)peer_count);
}

void talk_stream_one(void)
{
    stream(1);
}

void talk_stream_four(void)
{
    stream(4);
}

/* Receives from whichever line has something; with `is_returned` it goes back at once. */
static void select_any(bool is_returned)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    long number = 0;
    for (int i = 0; i < LINES; i++) {
        rt_arm_recv(&arms[i], rx[i], &number);
    }
    for (long i = 0; i < peer_count; i++) {
        peer_must(rt_select(arms, LINES, NULL, &chosen));
        peer_must(chosen.status);
        if (is_returned) {
            peer_must(rt_channel_send(tx[chosen.index], NULL, &number));
        }
    }
}

static void *select_ready(void *arg)
{
    for (int i = 0; i < LINES; i++) {
        long number = i;
        peer_must(rt_channel_send(tx[i], NULL, &number));
    }
    select_any(true);
    return arg;
}

void talk_select_ready(void)
{
    peer_init();
    open_lines(LINES, 1);
    peer_go(select_ready, NULL);
    peer_report_ns(peer_run(), (double)peer_count);
}

static void *select_block(void *arg)
{
    select_any(false);
    return arg;
}

static void *feed(void *arg)
{
    for (long i = 0; i < peer_count; i++) {
        peer_must(rt_channel_send(tx[i % LINES], NULL, &i));
    }
    return arg;
}

void talk_select_block(void)
{
    peer_init();
    open_lines(LINES, 0);
    peer_go(select_block, NULL);
    peer_go(feed, NULL);
    peer_report_ns(peer_run(), (double)peer_count);
}
