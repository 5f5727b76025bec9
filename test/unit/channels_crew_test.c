/* SPDX-License-Identifier: Apache-2.0 */
/* Channels, permits, contexts and regions between fibers on several workers: what was sent is
 * received once, in the order of its sender, or came back as not sent. */
#define _GNU_SOURCE
#define RTI_MODULE "channels_crew_test"
#include "base/rng.h"
#include "support/crew.h"
#include "support/test.h"
#include "sync/channel_wait.h"
#include "sync/region.h"

#include <orrery/rt.h>

#define WORKERS   4
#define SENDERS   4
#define RECEIVERS 3
#define VALUES    1500

static struct rti_channels channels;
static rt_channel_sender *tx;
static rt_channel_receiver *rx;
static rti_atomic_u64 sent;
static rti_atomic_u64 received;
static rti_atomic_u64 sum_sent;
static rti_atomic_u64 sum_received;
static rti_atomic_u32 senders_left;

static void open_world(size_t capacity)
{
    crew_world_open(WORKERS);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    rt_channel_config config = {.elem_size = 8, .capacity = capacity};
    CHECK_OK(capacity == 0 ? rt_channel_create_rendezvous(&config, &tx, &rx)
                           : rt_channel_create(&config, &tx, &rx));
}

static void close_world(void)
{
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_EQ(rti_channels_audit(&channels), 0);
    CHECK_EQ(channels.permits.used_count, 0);
    rti_channels_deinit(&channels);
    crew_world_close();
}

static void count(rti_atomic_u64 *values, rti_atomic_u64 *sum, uint64_t value)
{
    rti_u64_add_relaxed(values, 1);
    rti_u64_add_relaxed(sum, value);
}

/* A value: who, and the how-manieth of it. */
static uint64_t value_of(uintptr_t sender, uint64_t i)
{
    return ((uint64_t)sender << 32) | i;
}

static void sender_leaves(void)
{
    if (rti_u32_sub_acqrel(&senders_left, 1) == 1) {
        CHECK_OK(rt_channel_close_sender(tx));
    }
}

static void send_all(void *arg)
{
    for (uint64_t i = 1; i <= VALUES; i++) {
        uint64_t value = value_of((uintptr_t)arg, i);
        CHECK_OK(rt_channel_send(tx, NULL, &value));
        count(&sent, &sum_sent, value);
    }
    sender_leaves();
}

/* Receives to the end; values of one sender come in its order. */
static void recv_all(void *arg)
{
    uint64_t last[SENDERS] = {0};
    uint64_t value;
    rt_status status;
    (void)arg;
    while (!RT_FAILED(status = rt_channel_recv(rx, NULL, &value))) {
        uint64_t sender = value >> 32;
        CHECK(sender < SENDERS);
        CHECK((value & UINT32_MAX) > last[sender]);
        last[sender] = value & UINT32_MAX;
        count(&received, &sum_received, value);
    }
    CHECK_EQ(status.code, RT_ERR_DISCONNECTED);
}

static void stream(size_t capacity)
{
    open_world(capacity);
    rti_u32_init(&senders_left, SENDERS);
    for (uintptr_t i = 0; i < SENDERS; i++) {
        crew_world_go(send_all, (void *)i, 2);
    }
    for (uintptr_t i = 0; i < RECEIVERS; i++) {
        crew_world_go(recv_all, NULL, 2);
    }
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_OK(rt_channel_close_receiver(rx));
    close_world();
    CHECK_EQ(rti_u64_load_relaxed(&sent), SENDERS * VALUES);
    CHECK_EQ(rti_u64_load_relaxed(&received), SENDERS * VALUES);
    CHECK_EQ(rti_u64_load_relaxed(&sum_received), rti_u64_load_relaxed(&sum_sent));
}

/* A receiver that closes too early would take the others' values. */
static void recv_all_shared(void *arg)
{
    rt_channel_receiver *own = arg;
    uint64_t value;
    while (!RT_FAILED(rt_channel_recv(own, NULL, &value))) {
        count(&received, &sum_received, value);
    }
    CHECK_OK(rt_channel_close_receiver(own));
}

static void stream_by_clones(size_t capacity)
{
    open_world(capacity);
    rti_u32_init(&senders_left, SENDERS);
    for (uintptr_t i = 0; i < SENDERS; i++) {
        crew_world_go(send_all, (void *)i, 2);
    }
    for (uintptr_t i = 0; i < RECEIVERS; i++) {
        rt_channel_receiver *clone;
        CHECK_OK(rt_channel_clone_receiver(rx, &clone));
        crew_world_go(recv_all_shared, clone, 2);
    }
    CHECK_OK(rt_channel_close_receiver(rx));
    close_world();
    CHECK_EQ(rti_u64_load_relaxed(&received), SENDERS * VALUES);
    CHECK_EQ(rti_u64_load_relaxed(&sum_received), rti_u64_load_relaxed(&sum_sent));
}

TEST(channels_stream_of_one_place_between_workers_loses_nothing)
{
    stream(1);
}

TEST(channels_stream_of_many_places_between_workers_loses_nothing)
{
    stream(7);
}

TEST(channels_rendezvous_between_workers_loses_nothing)
{
    stream(0);
}

TEST(channels_clones_are_closed_by_different_workers)
{
    stream_by_clones(3);
}

/* Every operation there is, in an order drawn per fiber; what succeeded is counted. */
static void send_somehow(struct rti_rng *rng, uint64_t value)
{
    rt_send_permit permit;
    switch (rti_rng_below(rng, 5)) {
    case 0:
        if (!RT_FAILED(rt_channel_try_send(tx, &value))) {
            count(&sent, &sum_sent, value);
        }
        return;
    case 1:
        if (!RT_FAILED(rt_channel_send_timeout(tx, NULL, &value, rti_rng_below(rng, 20000)))) {
            count(&sent, &sum_sent, value);
        }
        return;
    case 2:
        if (!RT_FAILED(rt_channel_try_reserve(tx, NULL, &permit))) {
            CHECK_OK(rt_send_permit_abort(&permit));
        }
        return;
    case 3: {
        rt_status status = rt_channel_reserve(tx, NULL, &permit);
        if (RT_FAILED(status)) {
            return;
        }
        rt_yield();
        memcpy(rt_send_permit_slot(&permit), &value, sizeof(value));
        if (!RT_FAILED(rt_send_permit_send(&permit, NULL))) {
            count(&sent, &sum_sent, value);
        }
        return;
    }
    default:
        if (!RT_FAILED(rt_channel_send(tx, NULL, &value))) {
            count(&sent, &sum_sent, value);
        }
    }
}

static void send_at_random(void *arg)
{
    struct rti_rng rng;
    rti_rng_init(&rng, (uintptr_t)arg);
    for (uint64_t i = 1; i <= VALUES / 4; i++) {
        send_somehow(&rng, value_of((uintptr_t)arg, i));
    }
    sender_leaves();
}

static void recv_at_random(void *arg)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 100 + (uintptr_t)arg);
    for (;;) {
        uint64_t value;
        rt_status status;
        switch (rti_rng_below(&rng, 3)) {
        case 0:
            status = rt_channel_try_recv(rx, &value);
            break;
        case 1:
            status = rt_channel_recv_timeout(rx, NULL, &value, rti_rng_below(&rng, 20000));
            break;
        default:
            status = rt_channel_recv(rx, NULL, &value);
        }
        if (status.code == RT_OK) {
            count(&received, &sum_received, value);
        } else if (status.code == RT_ERR_DISCONNECTED) {
            return;
        }
    }
}

static void storm(size_t capacity)
{
    open_world(capacity);
    rti_u32_init(&senders_left, SENDERS);
    for (uintptr_t i = 0; i < SENDERS; i++) {
        crew_world_go(send_at_random, (void *)i, 2);
    }
    for (uintptr_t i = 0; i < RECEIVERS; i++) {
        crew_world_go(recv_at_random, (void *)i, 2);
    }
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_OK(rt_channel_close_receiver(rx));
    close_world();
    CHECK(rti_u64_load_relaxed(&sent) > 0);
    CHECK_EQ(rti_u64_load_relaxed(&received), rti_u64_load_relaxed(&sent));
    CHECK_EQ(rti_u64_load_relaxed(&sum_received), rti_u64_load_relaxed(&sum_sent));
}

TEST(channels_storm_of_every_operation_on_few_places_conserves_values)
{
    storm(2);
}

TEST(channels_storm_of_every_operation_on_a_rendezvous_conserves_values)
{
    storm(0);
}

/* Cancellation: a fiber waits with a context that another one cancels. */
static rt_cx contexts[SENDERS];
static rti_atomic_u32 is_ready[SENDERS];

static void send_until_cancelled(void *arg)
{
    uintptr_t self = (uintptr_t)arg;
    rt_cx *cx = &contexts[self];
    CHECK_OK(rt_cx_init(cx));
    rti_u32_store_release(&is_ready[self], 1); /* pairs with the acquire in cancel_all */
    for (uint64_t i = 1;; i++) {
        uint64_t value = value_of(self, i);
        rt_status status = rt_channel_send(tx, cx, &value);
        if (RT_FAILED(status)) {
            CHECK_EQ(status.code, RT_ERR_CANCELLED);
            break;
        }
        count(&sent, &sum_sent, value);
    }
    CHECK_OK(rt_cx_deinit(cx));
    sender_leaves();
}

static void cancel_all(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < SENDERS; i++) {
        /* Pairs with the release in send_until_cancelled. */
        while (rti_u32_load_acquire(&is_ready[i]) == 0 ||
               rti_u64_load_relaxed(&received) < 200 * (i + 1)) {
            rt_yield();
        }
        CHECK_OK(rt_cx_cancel(&contexts[i]));
    }
}

TEST(channels_cancel_from_another_worker_loses_no_value)
{
    open_world(1);
    rti_u32_init(&senders_left, SENDERS);
    for (uintptr_t i = 0; i < SENDERS; i++) {
        crew_world_go(send_until_cancelled, (void *)i, 2);
    }
    crew_world_go(recv_all, NULL, 2);
    crew_world_go(cancel_all, NULL, 2);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_OK(rt_channel_close_receiver(rx));
    close_world();
    CHECK_EQ(rti_u64_load_relaxed(&received), rti_u64_load_relaxed(&sent));
    CHECK_EQ(rti_u64_load_relaxed(&sum_received), rti_u64_load_relaxed(&sum_sent));
}

/* The receiver's end: what was accepted is received or destroyed. */
static rti_atomic_u64 destroyed;

static void destroy(void *value, void *arg)
{
    (void)arg;
    (void)value;
    rti_u64_add_relaxed(&destroyed, 1);
}

static void send_until_gone(void *arg)
{
    rt_channel_sender *own = arg;
    uint64_t value = 1;
    while (!RT_FAILED(rt_channel_send(own, NULL, &value))) {
        count(&sent, &sum_sent, value);
    }
    CHECK_OK(rt_channel_close_sender(own));
}

static void recv_some(void *arg)
{
    uint64_t value;
    for (int i = 0; i < 500; i++) {
        CHECK_OK(rt_channel_recv(rx, NULL, &value));
        count(&received, &sum_received, value);
    }
    (void)arg;
    CHECK_OK(rt_channel_close_receiver(rx));
}

TEST(channels_drop_of_the_receiver_on_another_worker_destroys_what_was_accepted)
{
    crew_world_open(WORKERS);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    rt_channel_config config = {.elem_size = 8, .capacity = 5, .destroy = destroy};
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    for (int i = 0; i < SENDERS; i++) {
        rt_channel_sender *clone;
        CHECK_OK(rt_channel_clone_sender(tx, &clone));
        crew_world_go(send_until_gone, clone, 2);
    }
    CHECK_OK(rt_channel_close_sender(tx));
    crew_world_go(recv_some, NULL, 2);
    close_world();
    CHECK_EQ(rti_u64_load_relaxed(&received) + rti_u64_load_relaxed(&destroyed),
             rti_u64_load_relaxed(&sent));
}

/* Kills: a receiver that dies with a value in its hands gives it back, or it is destroyed. */
#define VICTIMS 24

static struct rti_fiber *victims[VICTIMS];

static void recv_until_killed(void *arg)
{
    uint64_t value;
    (void)arg;
    while (!RT_FAILED(rt_channel_recv(rx, NULL, &value))) {
        count(&received, &sum_received, value);
    }
}

static void kill_all(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < VICTIMS; i++) {
        while (rti_u64_load_relaxed(&received) < 150 * (i + 1)) {
            rt_yield();
        }
        (void)rti_fiber_kill(&crew_world.sched, victims[i]);
    }
}

static void kill_receivers(size_t capacity)
{
    crew_world_open(WORKERS);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    rt_channel_config config = {.elem_size = 8, .capacity = capacity, .destroy = destroy};
    CHECK_OK(capacity == 0 ? rt_channel_create_rendezvous(&config, &tx, &rx)
                           : rt_channel_create(&config, &tx, &rx));
    rti_u32_init(&senders_left, SENDERS);
    for (uintptr_t i = 0; i < SENDERS; i++) {
        crew_world_go(send_all, (void *)i, 2);
    }
    for (size_t i = 0; i < VICTIMS; i++) {
        victims[i] = crew_world_go(recv_until_killed, NULL, 2);
    }
    crew_world_go(recv_until_killed, NULL, 2);
    crew_world_go(kill_all, NULL, 2);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_OK(rt_channel_close_receiver(rx));
    close_world();
    CHECK_EQ(rti_u64_load_relaxed(&sent), SENDERS * VALUES);
    CHECK_EQ(rti_u64_load_relaxed(&received) + rti_u64_load_relaxed(&destroyed),
             rti_u64_load_relaxed(&sent));
}

TEST(channels_kill_of_receivers_on_other_workers_loses_no_value)
{
    kill_receivers(2);
}

TEST(channels_kill_of_receivers_at_a_rendezvous_on_other_workers_loses_no_value)
{
    kill_receivers(0);
}

/* Regions: their members end on any worker, and the close comes after the last. */
static rt_region region;
static rti_atomic_u32 members_left;

static void member_main(void *arg)
{
    rt_cx cx;
    CHECK_OK(rt_cx_init(&cx));
    rt_status status = rt_region_enter(&region, &cx);
    rti_u32_add_relaxed((rti_atomic_u32 *)arg, 1);
    uint64_t value;
    while (!RT_FAILED(status)) {
        status = rt_channel_recv(rx, &cx, &value);
    }
    CHECK(status.code == RT_ERR_CANCELLED || status.code == RT_ERR_STATE);
    rti_u32_sub_acqrel(&members_left, 1);
    CHECK_OK(rt_cx_deinit(&cx));
}

static void close_region(void *arg)
{
    while (rti_u32_load_relaxed((rti_atomic_u32 *)arg) < SENDERS) {
        rt_yield();
    }
    CHECK_OK(rt_region_cancel(&region));
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_EQ(rti_u32_load_relaxed(&members_left), 0);
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_CLOSED);
}

TEST(channels_region_is_closed_after_its_last_member_on_any_worker)
{
    static rti_atomic_u32 entered;
    crew_world_open(WORKERS);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    for (int round = 0; round < 30; round++) {
        CHECK_OK(rt_region_open(&region, NULL, NULL));
        rt_channel_config config = {
            .elem_size = 8, .capacity = 1, .region = (struct rt_region *)&region};
        CHECK_OK(rt_channel_create(&config, &tx, &rx));
        rti_u32_init(&entered, 0);
        rti_u32_init(&members_left, SENDERS);
        for (int i = 0; i < SENDERS; i++) {
            crew_world_go(member_main, &entered, 2);
        }
        crew_world_go(close_region, &entered, 2);
        CHECK_OK(rti_sched_run(&crew_world.sched));
        CHECK_EQ(rti_channels_audit(&channels), 0);
    }
    close_world();
}

TEST(channels_handle_that_was_closed_before_its_channel_was_entered_is_refused)
{
    uint64_t value = 1;
    open_world(1);
    struct rti_channel_end *end = rti_channels_sender(&channels, tx);
    CHECK(rti_channels_enter(&channels, end, (uintptr_t)tx + 16) == NULL);
    struct rti_channel *channel = rti_channels_enter(&channels, end, (uintptr_t)tx);
    CHECK(channel != NULL);
    rti_lock_release(channel->lock);
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK(rti_channels_enter(&channels, end, (uintptr_t)tx) == NULL);
    CHECK_EQ(rt_channel_try_send(tx, &value).code, RT_ERR_INVALID);
    CHECK_OK(rt_channel_close_receiver(rx));
    close_world();
}
