/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime as an application has it: rt_init, the real clock, sleep by WFI. */
#define RTI_MODULE "host_test"
#include <orrery/rt.h>

#include "support/test.h"

static int pings;

static void ponger(void *arg)
{
    (void)arg;
    for (;;) {
        rt_message msg;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        int value = *(const int *)msg.data;
        CHECK_OK(rt_ipc_send(msg.sender, &value, sizeof(value), IPC_ASYNC));
        if (value == 99) {
            rt_exit();
        }
    }
}

static void pinger(void *arg)
{
    actor_id peer = *(actor_id *)arg;
    for (int i = 0; i < 100; i++) {
        CHECK_OK(rt_ipc_send(peer, &i, sizeof(i), IPC_ASYNC));
        rt_message msg;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(*(const int *)msg.data, i);
        pings++;
    }
    rt_exit();
}

TEST(host_runs_actors_that_talk)
{
    static actor_id peer;
    CHECK_OK(rt_init());
    peer = rt_spawn(ponger, NULL);
    CHECK(rt_spawn(pinger, &peer) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(pings, 100);
    rt_cleanup();
}

static void sleeper(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_time start = rt_clock();
    CHECK_STATUS(rt_ipc_recv(&msg, 250), RT_ERR_TIMEOUT);
    rt_time passed = rt_clock() - start;
    CHECK(passed >= 250 * RT_NS_PER_MS);
    CHECK(passed < 251 * RT_NS_PER_MS);
    timer_id timer;
    CHECK_OK(rt_timer_every(1000, &timer));
    for (int i = 0; i < 20; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK(rt_timer_is_tick(&msg));
    }
    passed = rt_clock() - start;
    CHECK(passed >= 270 * RT_NS_PER_MS);
    CHECK(passed < 273 * RT_NS_PER_MS);
    pings++;
    rt_exit();
}

TEST(host_sleeps_on_the_real_clock_and_wakes_in_time)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(sleeper, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(pings, 1);
    rt_cleanup();
}

TEST(host_starts_again_after_a_cleanup)
{
    for (int i = 1; i <= 3; i++) {
        CHECK_OK(rt_init());
        CHECK_STATUS(rt_init(), RT_ERR_STATE);
        CHECK(rt_spawn(sleeper, NULL) != ACTOR_ID_INVALID);
        rt_run();
        CHECK_EQ(pings, i);
        rt_cleanup();
    }
}

TEST(host_has_its_buses_and_channels)
{
    CHECK_OK(rt_init());
    bus_id bus = BUS_ID_INVALID;
    rt_bus_config config = {.max_subscribers = 1, .max_entries = 4, .max_entry_size = 16};
    CHECK_OK(rt_bus_create(&config, &bus));
    rt_cleanup();
}

static void limiter(void *arg)
{
    (void)arg;
    const rt_mailbox_config limit = {.high = 2};
    CHECK_STATUS(rt_mailbox_limit(rt_self(), &limit),
                 RT_HAS_BEHAVIOURS ? RT_OK : RT_ERR_UNSUPPORTED);
    rt_exit();
}

TEST(host_without_limits_of_mailboxes_says_so)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(limiter, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
}
