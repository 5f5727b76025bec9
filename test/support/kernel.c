/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "kernel"
#include "support/kernel.h"

#include <stdlib.h>

struct kernel kernel;

void kernel_start(void)
{
    memset(kernel.order, 0, sizeof(kernel.order));
    kernel.order_length = 0;
    kernel.tx = NULL;
    kernel.rx = NULL;
    fibers_init(&kernel.fibers);
    if (getenv("KERNEL_UNOBSERVED") != NULL) {
        fibers_unobserved(&kernel.fibers);
    }
    CHECK_OK(rti_channels_init(&kernel.channels, &kernel.fibers.sched));
}

void kernel_channel(size_t capacity)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = capacity};
    if (capacity == 0) {
        CHECK_OK(rt_channel_create_rendezvous(&config, &kernel.tx, &kernel.rx));
    } else {
        CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    }
}

struct rti_fiber *kernel_go(void (*main)(void *arg), void *arg)
{
    return fibers_go(&kernel.fibers, 2, main, arg);
}

void kernel_run(void)
{
    CHECK_OK(fibers_run(&kernel.fibers));
    CHECK_EQ(kernel.fibers.done_count, kernel.fibers.count);
    rti_channels_audit(&kernel.channels);
}

void kernel_stop(void)
{
    struct rti_channels *channels = &kernel.channels;
    if (rti_channels_sender(channels, kernel.tx) != NULL) {
        CHECK_OK(rt_channel_close_sender(kernel.tx));
    }
    if (rti_channels_receiver(channels, kernel.rx) != NULL) {
        CHECK_OK(rt_channel_close_receiver(kernel.rx));
    }
    CHECK_EQ(rti_channels_audit(channels), 0);
    CHECK_EQ(channels->senders.open_count + channels->receivers.open_count, 0);
    CHECK_EQ(channels->permits.used_count, 0);
    CHECK_EQ(rti_wheel_count(&kernel.fibers.clockwork.wheel), 0);
    rti_channels_deinit(channels);
    fibers_deinit(&kernel.fibers);
}

void kernel_say(char c)
{
    CHECK(kernel.order_length < sizeof(kernel.order) - 1);
    kernel.order[kernel.order_length++] = c;
}

rt_channel_info kernel_info(void)
{
    rt_channel_info info;
    if (rti_channels_sender(&kernel.channels, kernel.tx) != NULL) {
        CHECK_OK(rt_channel_sender_info(kernel.tx, &info));
    } else {
        CHECK_OK(rt_channel_receiver_info(kernel.rx, &info));
    }
    return info;
}

void kernel_check_same(const rt_channel_info *a, const rt_channel_info *b)
{
    CHECK_EQ(a->state, b->state);
    CHECK_EQ(a->queued, b->queued);
    CHECK_EQ(a->reserved, b->reserved);
    CHECK_EQ(a->senders, b->senders);
    CHECK_EQ(a->receivers, b->receivers);
    CHECK_EQ(a->waiting_senders, b->waiting_senders);
    CHECK_EQ(a->waiting_receivers, b->waiting_receivers);
    CHECK_EQ(a->sent, b->sent);
    CHECK_EQ(a->received, b->received);
    CHECK_EQ(a->destroyed, b->destroyed);
}

static void poller_wake(void *arg)
{
    ((struct poller *)arg)->woken++;
}

void poller_init(struct poller *poller)
{
    poller->woken = 0;
    CHECK_OK(rt_cx_init_poll(&poller->cx, (rt_waker){poller_wake, poller}));
}

void poller_deinit(struct poller *poller)
{
    CHECK_OK(rt_cx_deinit(&poller->cx));
}

void kernel_yield(void)
{
    rti_fiber_yield(rti_worker_current());
}
