/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "dump_test"
#include <fcntl.h>
#include <orrery/rt.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "sched/backtrace.h"
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
        CHECK(says("actor postman (") && says("): waiting for mail since 2 ms, spawned at dump_"));
        CHECK(says(", spawned at rt_run_main:0\n  at "));
        CHECK(strstr(strstr(text, "actor postman ("), "\n  at dump_test+0x") != NULL);
        CHECK(!says("task novice (5): ready, spawned at rt_run_main:0\n  at"));
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

static rt_channel_sender *tx;
static rt_channel_receiver *rx;
static struct rti_backtrace deep; /* where the chain below comes back to, youngest first */

static RTI_NOINLINE void receives(void)
{
    int value = 0;
    deep.places[0] = (uintptr_t)__builtin_return_address(0);
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    CHECK_EQ(value, 3);
}

static RTI_NOINLINE void calls_who_receives(void)
{
    deep.places[1] = (uintptr_t)__builtin_return_address(0);
    receives();
    deep.count++; /* so that it is not left by a jump */
}

static void *waits_deep(void *arg)
{
    calls_who_receives();
    return arg;
}

static void *dumps_who_waits_deep(void *arg)
{
    struct rti_remark line;
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    CHECK(pipe(pipes) == 0);
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    rt_task *task = rt_go(waits_deep, NULL);
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    CHECK_OK(rt_dump(pipes[1]));
    (void)dumped();
    deep.count = 2;
    rti_remark_init(&line);
    rti_backtrace_remark(&line, &deep);
    CHECK(says("task waits_deep (2): waiting for a channel since "));
    CHECK(says(line.text));
    CHECK_OK(rt_channel_send(tx, NULL, &(int){3}));
    CHECK_OK(rt_join(task, NULL));
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    return arg;
}

TEST(dump_shows_who_called_whom_into_a_wait)
{
    tasks_run_everywhere(dumps_who_waits_deep, NULL);
}

static rti_atomic_u32 is_over;
static rti_atomic_u32 dumps_made;

static void *dumps_from_outside(void *arg)
{
    int fd = *(int *)arg;
    while (rti_u32_load_relaxed(&is_over) == 0) {
        CHECK_OK(rt_dump(fd));
        (void)rti_u32_add_relaxed(&dumps_made, 1);
    }
    return NULL;
}

static void ends_soon(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, 1);
    rt_exit();
}

static void *naps_and_yields(void *arg)
{
    for (int i = 0; i < 200; i++) {
        rt_yield();
        CHECK_OK(rt_sleep(20000));
    }
    return arg;
}

static void *keeps_many_going(void *arg)
{
    for (int round = 0; round < 5 || rti_u32_load_relaxed(&dumps_made) == 0; round++) {
        rt_task *tasks[8];
        for (int i = 0; i < 8; i++) {
            tasks[i] = rt_go(naps_and_yields, NULL);
            CHECK(rt_spawn(ends_soon, NULL) != ACTOR_ID_INVALID);
        }
        for (int i = 0; i < 8; i++) {
            CHECK_OK(rt_join(tasks[i], NULL));
        }
    }
    rti_u32_store_relaxed(&is_over, 1);
    return arg;
}

TEST(dump_of_a_crew_that_runs_on_is_made_from_a_thread_outside)
{
    pthread_t thread;
    int fd = open("/dev/null", O_WRONLY);
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 3}));
    CHECK(pthread_create(&thread, NULL, dumps_from_outside, &fd) == 0);
    rt_task *task = rt_go(keeps_many_going, NULL);
    rt_run();
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(rt_join(task, NULL));
    rt_cleanup();
    CHECK(rti_u32_load_relaxed(&dumps_made) > 0);
    close(fd);
}
