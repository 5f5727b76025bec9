/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "isr_test"
#include <orrery/rt/isr.h>

#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static rt_isr source;
static uint32_t entries[8];
static uint32_t received;
static uint32_t wanted;

static void receiver(void *arg)
{
    (void)arg;
    while (received < wanted) {
        rt_message msg;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(msg.sender, ACTOR_ID_INVALID);
        CHECK_EQ(msg.len, sizeof(uint32_t));
        uint32_t value;
        memcpy(&value, msg.data, sizeof(value));
        CHECK_EQ(value, received);
        received++;
    }
    rt_exit();
}

static void open_to(actor_id to)
{
    CHECK_OK(rt_isr_open(&source, to, entries, sizeof(entries[0]), 8));
}

TEST(isr_entries_arrive_in_order_as_messages)
{
    struct actors_world *world = actors_start();
    open_to(actors_spawn(receiver, NULL, RT_PRIO_NORMAL, "receiver"));
    wanted = 8;
    for (uint32_t i = 0; i < 8; i++) {
        CHECK(rt_isr_post(&source, &i));
    }
    uint32_t one_more = 8;
    CHECK(!rt_isr_post(&source, &one_more));
    actors_finish(world);
    CHECK_EQ(received, 8);
}

static void poster(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < wanted; i++) {
        CHECK(rt_isr_post(&source, &i));
        if (i % 3 == 0) {
            actors_sleep_ms(1);
        } else {
            rt_yield();
        }
    }
    rt_exit();
}

TEST(isr_post_wakes_a_scheduler_that_sleeps)
{
    struct actors_world *world = actors_start();
    wanted = 100;
    open_to(actors_spawn(receiver, NULL, RT_PRIO_NORMAL, "receiver"));
    actors_spawn(poster, NULL, RT_PRIO_LOW, "poster");
    actors_finish(world);
    CHECK_EQ(received, 100);
}

static void hoarder(void *arg)
{
    actor_id to = *(actor_id *)arg;
    uint32_t value = 0;
    uint32_t sent = 0;
    while (!RT_FAILED(rt_ipc_send(rt_self(), &value, sizeof(value), IPC_ASYNC))) {
        sent++;
    }
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(rt_isr_post(&source, &i));
    }
    actors_sleep_ms(10);
    CHECK_EQ(received, 0);
    rt_message msg;
    for (uint32_t i = 0; i < sent; i++) {
        CHECK_OK(rt_ipc_recv(&msg, 0));
    }
    actors_sleep_ms(10);
    CHECK_EQ(received, 4);
    (void)to;
    rt_exit();
}

TEST(isr_entries_wait_for_a_message_pool_that_is_used_up)
{
    static actor_id to;
    struct actors_world *world = actors_start();
    wanted = 4;
    to = actors_spawn(receiver, NULL, RT_PRIO_NORMAL, "receiver");
    open_to(to);
    actors_spawn(hoarder, &to, RT_PRIO_NORMAL, "hoarder");
    actors_finish(world);
    CHECK_EQ(received, 4);
}

static void restarter(void *arg)
{
    (void)arg;
    uint32_t value = 77;
    CHECK(rt_isr_post(&source, &value));
    actors_sleep_ms(1);
    wanted = 1;
    rt_isr_set_receiver(&source, actors_spawn(receiver, NULL, RT_PRIO_NORMAL, "second"));
    value = 0;
    CHECK(rt_isr_post(&source, &value));
    rt_exit();
}

TEST(isr_entries_for_nobody_are_dropped_until_there_is_a_receiver)
{
    struct actors_world *world = actors_start();
    open_to(ACTOR_ID_INVALID);
    actors_spawn(restarter, NULL, RT_PRIO_NORMAL, "restarter");
    actors_finish(world);
    CHECK_EQ(received, 1);
}

TEST(isr_open_refuses_what_cannot_be_a_message)
{
    CHECK_STATUS(rt_isr_open(&source, 1, entries, 4, 8), RT_ERR_THREAD);
    struct actors_world *world = actors_start();
    CHECK_STATUS(rt_isr_open(NULL, 1, entries, 4, 8), RT_ERR_INVALID);
    CHECK_STATUS(rt_isr_open(&source, 1, NULL, 4, 8), RT_ERR_INVALID);
    CHECK_STATUS(rt_isr_open(&source, 1, entries, 0, 8), RT_ERR_INVALID);
    CHECK_STATUS(rt_isr_open(&source, 1, entries, 4, 7), RT_ERR_INVALID);
    CHECK_STATUS(rt_isr_open(&source, 1, entries, RT_MAX_MESSAGE_SIZE + 1, 8), RT_ERR_INVALID);
    actors_finish(world);
}
