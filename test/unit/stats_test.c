/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stats_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"

static void *panics(void *arg)
{
    (void)arg;
    rt_panic_task("counted");
}

static void *waits_at_the_gate(void *arg)
{
    char byte;
    CHECK_STATUS(rt_channel_recv(arg, NULL, &byte), RT_ERR_DISCONNECTED);
    CHECK_OK(rt_channel_close_receiver(arg));
    return NULL;
}

static void *counts(void *arg)
{
    struct rt_stats stats;
    rt_channel_sender *gate;
    rt_channel_receiver *rx;
    const rt_channel_config config = {.elem_size = 1, .capacity = 1};
    CHECK_OK(rt_channel_create(&config, &gate, &rx));
    CHECK_OK(rt_join(rt_go(tasks_echo, NULL), NULL));
    CHECK_STATUS(rt_join(rt_go(panics, NULL), NULL), RT_ERR_PANICKED);
    CHECK_OK(rt_detach(rt_go(waits_at_the_gate, rx))); /* until the last line */
    rt_task *waiting = rt_go(tasks_wait_for_ever, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rt_task *ready = rt_go(tasks_echo, NULL);
    CHECK_OK(rt_stats(&stats));
    CHECK_EQ(stats.tasks_running, 1);
    CHECK_EQ(stats.tasks_ready, 1);
    CHECK_EQ(stats.tasks_waiting, 2);
    CHECK_EQ(stats.tasks_completed, 2);
    CHECK_EQ(stats.tasks_panicked, 1);
    CHECK_EQ(stats.spawn_count, 6);
    CHECK_EQ(stats.join_count, 2);
    CHECK_EQ(stats.detach_count, 1);
    CHECK_EQ(stats.cancel_count, 0);
    CHECK_EQ(stats.workers, 1);
    CHECK_EQ(stats.queue_depths[0], 1);
    CHECK_EQ(stats.steal_attempts + stats.steal_successes, 0);
    CHECK(stats.reactor_polls > 0 && stats.reactor_timeouts > 0);
    CHECK_STATUS(rt_cancel(waiting, NULL), RT_ERR_CANCELLED);
    CHECK_OK(rt_join(ready, NULL));
    CHECK_OK(rt_stats(&stats));
    CHECK_EQ(stats.cancel_count, 1);
    CHECK_STATUS(rt_stats(NULL), RT_ERR_INVALID);
    CHECK_OK(rt_channel_close_sender(gate));
    return arg;
}

TEST(stats_tell_what_tasks_do_and_have_done)
{
    tasks_run_everywhere(counts, NULL);
}

static void *sends(void *arg)
{
    struct rt_stats stats;
    for (int round = 0; round < 2; round++) {
        rt_channel_sender *tx;
        rt_channel_receiver *rx;
        int value = 3;
        CHECK_OK(rt_channel_create(&(rt_channel_config){.elem_size = sizeof(int), .capacity = 4},
                                   &tx, &rx));
        for (int i = 0; i < 3; i++) {
            CHECK_OK(rt_channel_send(tx, NULL, &value));
        }
        CHECK_OK(rt_channel_recv(rx, NULL, &value));
        CHECK_OK(rt_stats(&stats));
        CHECK_EQ(stats.channel_sends, 3 * (round + 1));
        CHECK_EQ(stats.channel_recvs, round + 1);
        CHECK_OK(rt_channel_close_sender(tx));
        CHECK_OK(rt_channel_close_receiver(rx));
    }
    return arg;
}

TEST(stats_count_the_values_of_channels_that_are_gone_too)
{
    tasks_run_everywhere(sends, NULL);
}

static void *reads_a_file(void *arg)
{
    struct rt_stats before;
    struct rt_stats after;
    int fd;
    CHECK_OK(rt_stats(&before));
    CHECK_OK(rt_file_open("/dev/null", 0, 0, &fd));
    CHECK_OK(rt_file_close(fd));
    CHECK_OK(rt_stats(&after));
    CHECK(after.reactor_events > before.reactor_events);
    return arg;
}

TEST(stats_count_what_the_outside_answers)
{
    CHECK_OK(tasks_run_fixed(reads_a_file, NULL));
}

TEST(stats_need_a_runtime)
{
    struct rt_stats stats;
    CHECK_STATUS(rt_stats(&stats), RT_ERR_THREAD);
}
