/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "dump_test"
#include <orrery/rt.h>
#include <signal.h>
#include <unistd.h>

#include "support/tasks.h"
#include "support/test.h"

static char text[16384];
static int pipes[2];

static const char *dumped(void)
{
    ssize_t length = read(pipes[0], text, sizeof(text) - 1);
    CHECK(length >= 0);
    text[length] = '\0';
    return text;
}

static bool says(const char *words)
{
    return strstr(text, words) != NULL;
}

static void *joins_a_sleeper(void *arg)
{
    (void)rt_join(rt_go(tasks_wait_for_ever, NULL), NULL);
    return arg;
}

static void on_signal(int number)
{
    (void)number;
    (void)rt_dump(pipes[1]);
}

static void actor(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, 5);
    rt_exit();
}

static void *dumps(void *arg)
{
    CHECK(pipe(pipes) == 0);
    rt_task *joiner = rt_go(joins_a_sleeper, NULL);
    rt_task *ended = rt_go(tasks_echo, NULL);
    CHECK(rt_spawn_ex(actor, NULL, &(actor_config){.name = "postman", .priority = 2}) != 0);
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    rt_task *fresh = rt_go_ex(tasks_echo, NULL, &(rt_task_config){.name = "novice"});
    for (int round = 0; round < 2; round++) {
        if (round == 0) {
            CHECK_OK(rt_dump(pipes[1]));
        } else {
            signal(SIGUSR1, on_signal);
            raise(SIGUSR1);
        }
        (void)dumped();
        CHECK(says("task main (1): running, spawned at rt_run_main:0\n"));
        CHECK(says("task joins_a_sleeper (2): waiting for a join since 2 ms, of task "
                   "tasks_wait_for_ever (4), spawned at "));
        CHECK(says("task tasks_wait_for_ever (4): waiting for time since 2 ms, spawned at "));
        CHECK(says("dump_test.c:") && says(", from rt_run_main:0\n"));
        CHECK(says("task tasks_echo (3): complete, spawned at "));
        CHECK(says("task novice (5): ready, spawned at "));
        CHECK(says("actor postman (") && says("): waiting for mail since 2 ms\n"));
    }
    CHECK_OK(rt_join(ended, NULL));
    CHECK_OK(rt_join(fresh, NULL));
    CHECK_STATUS(rt_cancel(joiner, NULL), RT_ERR_CANCELLED);
    CHECK_STATUS(rt_dump(-1), RT_ERR_IO);
    close(pipes[1]);
    CHECK_STATUS(rt_dump(pipes[1]), RT_ERR_IO);
    close(pipes[0]);
    return arg;
}

TEST(dump_names_everybody_and_what_they_wait_for)
{
    CHECK_OK(tasks_run(dumps, NULL));
}

static void *receives_one(void *arg)
{
    uint64_t value = 0;
    CHECK_OK(rt_channel_recv(arg, NULL, &value));
    return NULL;
}

/* The wait of who waits alone does not lie on its stack. */
static void *dumps_receivers(void *arg)
{
    rt_channel_sender *tx = NULL;
    rt_channel_receiver *rx = NULL;
    rt_task *tasks[2];
    uint64_t value = 1;
    CHECK(pipe(pipes) == 0);
    CHECK_OK(rt_channel_create(&(rt_channel_config){.elem_size = 8, .capacity = 2}, &tx, &rx));
    for (int i = 0; i < 2; i++) {
        tasks[i] = rt_go(receives_one, rx);
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
        CHECK_OK(rt_dump(pipes[1]));
        (void)dumped();
        CHECK(says("task receives_one (2): waiting for a channel since "));
        CHECK_EQ(says("task receives_one (3): waiting for a channel since "), i == 1);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_channel_send(tx, NULL, &value));
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    close(pipes[0]);
    close(pipes[1]);
    return arg;
}

TEST(dump_names_what_one_waits_for_who_waits_alone)
{
    tasks_run_everywhere(dumps_receivers, NULL);
}

TEST(dump_without_a_runtime_is_refused)
{
    CHECK_STATUS(rt_dump(2), RT_ERR_STATE);
}

static void *waits_for_nothing(void *arg)
{
    (void)rt_join(rt_go(tasks_wait_for_ever, NULL), NULL);
    return arg;
}

TEST(dump_tells_who_waits_when_nobody_can_go_on)
{
    const char *told = tasks_capture(waits_for_nothing, NULL);
    CHECK(strstr(told, "deadlock: everybody waits") != NULL);
    CHECK(strstr(told, "task main (1): waiting for a join since 0 ms, of task "
                       "tasks_wait_for_ever (2), spawned at rt_run_main:0") != NULL);
    CHECK(strstr(told, "task tasks_wait_for_ever (2): waiting for time") != NULL);
}
