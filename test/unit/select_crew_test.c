/* SPDX-License-Identifier: Apache-2.0 */
/* Selects between fibers on several workers: each does one operation, those that meet do it
 * together, and what was sent is received once. */
#define _GNU_SOURCE
#define RTI_MODULE "select_crew_test"
#include <orrery/rt.h>

#include "support/crew.h"
#include "support/test.h"
#include "sync/channels.h"

#define WORKERS 4
#define LINES   4
#define ROUNDS  3000

static struct rti_channels channels;
static rt_channel_sender *tx[LINES];
static rt_channel_receiver *rx[LINES];
static rti_atomic_u64 sum_sent;
static rti_atomic_u64 sum_received;
static rti_atomic_u64 sent;
static rti_atomic_u64 received;
static rti_atomic_u32 senders_left;

static void open_world(size_t capacity)
{
    crew_world_open(WORKERS);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    rt_channel_config config = {.elem_size = 8, .capacity = capacity};
    for (size_t i = 0; i < LINES; i++) {
        CHECK_OK(capacity == 0 ? rt_channel_create_rendezvous(&config, &tx[i], &rx[i])
                               : rt_channel_create(&config, &tx[i], &rx[i]));
    }
    rti_u64_init(&sum_sent, 0);
    rti_u64_init(&sum_received, 0);
    rti_u64_init(&sent, 0);
    rti_u64_init(&received, 0);
}

static void close_world(void)
{
    CHECK_OK(rti_sched_run(&crew_world.sched));
    for (size_t i = 0; i < LINES; i++) {
        rt_channel_info info;
        CHECK_OK(rt_channel_receiver_info(rx[i], &info));
        CHECK_EQ(info.waiting_senders + info.waiting_receivers + info.queued, 0);
        (void)rt_channel_close_sender(tx[i]).code;
        CHECK_OK(rt_channel_close_receiver(rx[i]));
    }
    CHECK_EQ(rti_channels_audit(&channels), 0);
    rti_channels_deinit(&channels);
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&sent), rti_u64_load_relaxed(&received));
    CHECK_EQ(rti_u64_load_relaxed(&sum_sent), rti_u64_load_relaxed(&sum_received));
}

static void note(rti_atomic_u64 *count, rti_atomic_u64 *sum, uint64_t value)
{
    rti_u64_add_relaxed(count, 1);
    rti_u64_add_relaxed(sum, value);
}

/* Offers to send to one line and to receive from another; its partners offer the opposite. Each
 * round of one is a round of another, so all come to their end together. */
static void cross(size_t mine, size_t theirs, uint64_t first)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    uint64_t out = 0;
    uint64_t in = 0;
    rt_arm_send(&arms[0], tx[mine], &out);
    rt_arm_recv(&arms[1], rx[theirs], &in);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        out = first + i;
        CHECK_OK(rt_select(arms, 2, NULL, &chosen));
        CHECK_OK(chosen.status);
        if (chosen.index == 0) {
            note(&sent, &sum_sent, out);
        } else {
            note(&received, &sum_received, in);
        }
    }
}

static void cross_here(void *arg)
{
    cross(0, 1, (uintptr_t)arg << 32);
}

static void cross_there(void *arg)
{
    cross(1, 0, (uintptr_t)arg << 32);
}

static void meet(size_t pairs)
{
    open_world(0);
    for (uintptr_t i = 0; i < pairs; i++) {
        crew_world_go(cross_here, (void *)(2 * i + 1), 2);
        crew_world_go(cross_there, (void *)(2 * i + 2), 2);
    }
    close_world();
    CHECK_EQ(rti_u64_load_relaxed(&sent), pairs * ROUNDS);
}

TEST(select_crew_two_selects_meet_each_other_on_two_workers)
{
    meet(1);
}

TEST(select_crew_many_selects_meet_each_other)
{
    meet(6);
}

static void send_any(void *arg)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    uint64_t value = 0;
    for (size_t i = 0; i < LINES; i++) {
        rt_arm_send(&arms[i], tx[i], &value);
    }
    for (uint64_t i = 0; i < ROUNDS; i++) {
        value = ((uintptr_t)arg << 32) + i;
        CHECK_OK(rt_select(arms, LINES, NULL, &chosen));
        CHECK_OK(chosen.status);
        note(&sent, &sum_sent, value);
    }
    if (rti_u32_sub_acqrel(&senders_left, 1) == 1) {
        for (size_t i = 0; i < LINES; i++) {
            CHECK_OK(rt_channel_close_sender(tx[i]));
        }
    }
}

/* Receives from all lines to their ends; now and then it gives up early. */
static void recv_any(void *arg)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    uint64_t values[LINES] = {0};
    size_t open = LINES;
    uint64_t round = 0;
    (void)arg;
    for (size_t i = 0; i < LINES; i++) {
        rt_arm_recv(&arms[i], rx[i], &values[i]);
    }
    while (open > 0) {
        rt_time deadline = ++round % 8 == 0 ? rt_clock() + 1000 : RT_TIME_NEVER;
        rt_status status = rt_select_until(arms, LINES, NULL, deadline, &chosen);
        if (status.code == RT_ERR_TIMEOUT) {
            continue;
        }
        CHECK_OK(status);
        if (RT_FAILED(chosen.status)) {
            CHECK_STATUS(chosen.status, RT_ERR_DISCONNECTED);
            rt_arm_none(&arms[chosen.index]);
            open--;
        } else {
            note(&received, &sum_received, values[chosen.index]);
        }
    }
}

static void stream(size_t capacity)
{
    open_world(capacity);
    rti_u32_init(&senders_left, 3);
    for (uintptr_t i = 1; i <= 3; i++) {
        crew_world_go(send_any, (void *)i, 2);
        crew_world_go(recv_any, NULL, 2);
    }
    close_world();
    CHECK_EQ(rti_u64_load_relaxed(&sent), 3 * ROUNDS);
}

TEST(select_crew_streams_through_four_channels)
{
    stream(2);
}

TEST(select_crew_streams_through_four_rendezvous)
{
    stream(0);
}
