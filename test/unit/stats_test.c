/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stats_test"
#include <orrery/rt.h>

#include "base/compiler.h"
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

/* ---- several workers, of which there is one ---- */

#define MANY 1000

static rt_status poll_nothing(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

static void *do_nothing(void *arg)
{
    return arg;
}

static void start_one_of_several(void)
{
    rt_status status = rt_init_ex(&(rt_config){.workers = 1});
    if (status.code == RT_ERR_UNSUPPORTED) {
        test_skip("no parallel engine here");
    }
    CHECK_OK(status);
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 2 * MANY}));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = 2 * MANY}));
}

TEST(stats_count_all_that_are_ready_though_they_are_many)
{
    struct rt_stats stats;
    start_one_of_several();
    /* More than a ring holds, and before the run: in it a worker could be taken from who counts. */
    for (size_t i = 0; i < MANY; i++) {
        CHECK_OK(rt_detach(rt_go(do_nothing, NULL)));
    }
    CHECK_OK(rt_stats(&stats));
    CHECK_EQ(stats.queue_depths[0], MANY);
    for (size_t i = 0; i < MANY; i++) {
        CHECK_OK(rt_async_detach(rt_async(poll_nothing, NULL)));
    }
    CHECK_OK(rt_stats(&stats));
    CHECK_EQ(stats.queue_depths[0], 2 * MANY);
    rt_run();
    rt_cleanup();
}

static rt_channel_sender *balls[2];
static rt_channel_receiver *hands[2];

/* Two that wake each other, and one that waits for its turn. */
static void *plays(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    int ball = 0;
    while (ball < MANY) {
        CHECK_OK(rt_channel_recv(hands[me], NULL, &ball));
        ball++;
        CHECK_OK(rt_channel_send(balls[1 - me], NULL, &ball));
    }
    return NULL;
}

static void *waits_for_its_turns(void *arg)
{
    for (int i = 0; i < 10; i++) {
        rt_yield();
    }
    return arg;
}

static void *counts_cuts(void *arg)
{
    struct rt_stats stats;
    rt_task *tasks[3];
    int ball = 0;
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(rt_channel_create(&(rt_channel_config){.elem_size = sizeof(int), .capacity = 1},
                                   &balls[i], &hands[i]));
        tasks[i] = rt_go(plays, (void *)(uintptr_t)i);
    }
    tasks[2] = rt_go(waits_for_its_turns, NULL);
    CHECK_OK(rt_channel_send(balls[0], NULL, &ball));
    for (size_t i = 0; i < RTI_COUNT_OF(tasks); i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    CHECK_OK(rt_stats(&stats));
    CHECK(stats.handoffs_cut > 0);
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(rt_channel_close_sender(balls[i]));
        CHECK_OK(rt_channel_close_receiver(hands[i]));
    }
    return arg;
}

TEST(stats_count_the_rows_of_hand_offs_that_were_cut)
{
    start_one_of_several();
    CHECK_OK(rt_detach(rt_go(counts_cuts, NULL)));
    rt_run();
    rt_cleanup();
}

TEST(stats_need_a_runtime)
{
    struct rt_stats stats;
    CHECK_STATUS(rt_stats(&stats), RT_ERR_THREAD);
}
