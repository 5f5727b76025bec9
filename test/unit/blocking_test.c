/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that block their thread: the others run meanwhile. */
#define _GNU_SOURCE
#define RTI_MODULE "blocking_test"
#include <orrery/rt/blocking.h>

#include <fcntl.h>
#include <orrery/rt.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "support/test.h"

static int pipes[4][2];
static rti_atomic_u32 came_back;
static rti_atomic_u32 quick_ends;

/* Blocks in read until `release_all` writes. */
static void block_in_read(void *arg)
{
    const int *ends = arg;
    char byte;
    CHECK_OK(rt_blocking_enter());
    CHECK_OK(rt_blocking_enter()); /* nested: the outer one counts */
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    CHECK_OK(rt_blocking_exit());
    CHECK_OK(rt_blocking_exit());
    rti_u32_add_relaxed(&came_back, 1);
    rt_exit();
}

static void quick(void *arg)
{
    (void)arg;
    rti_u32_add_relaxed(&quick_ends, 1);
    rt_exit();
}

/* Runs though every worker is in a blocking call: only then do those come back at all. */
static void release_all(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++) {
        CHECK(rt_spawn(quick, NULL) != ACTOR_ID_INVALID);
        rt_yield();
    }
    CHECK_EQ(rti_u32_load_relaxed(&came_back), 0);
    for (size_t i = 0; i < RTI_COUNT_OF(pipes); i++) {
        CHECK_EQ(write(pipes[i][1], "x", 1), 1);
    }
    rt_exit();
}

TEST(blocking_calls_on_every_worker_do_not_stop_the_others)
{
    rt_config config = {.workers = 2};
    CHECK_OK(rt_init_ex(&config));
    for (size_t i = 0; i < RTI_COUNT_OF(pipes); i++) {
        CHECK_EQ(pipe(pipes[i]), 0);
        CHECK(rt_spawn_ex(block_in_read, pipes[i], &(actor_config){.priority = RT_PRIO_CRITICAL}) !=
              ACTOR_ID_INVALID);
    }
    CHECK(rt_spawn(release_all, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_EQ(rti_u32_load_relaxed(&came_back), RTI_COUNT_OF(pipes));
    CHECK_EQ(rti_u32_load_relaxed(&quick_ends), 10);
}

static void sleep_then_release(void *arg)
{
    const int *ends = arg;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_sleep(1000000));
    }
    CHECK_EQ(rti_u32_load_relaxed(&came_back), 0);
    CHECK_EQ(write(ends[1], "x", 1), 1);
    rt_exit();
}

/* Nothing is ready when the only worker is away, and the call ends only if the sleeper wakes. */
TEST(blocking_call_on_the_only_worker_does_not_stop_the_time)
{
    rt_config config = {.workers = 1};
    CHECK_OK(rt_init_ex(&config));
    CHECK_EQ(pipe(pipes[0]), 0);
    CHECK(rt_spawn_ex(sleep_then_release, pipes[0],
                      &(actor_config){.priority = RT_PRIO_CRITICAL}) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(block_in_read, pipes[0]) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_EQ(rti_u32_load_relaxed(&came_back), 1);
}

/* ---- as many calls as there may be threads ---- */

static int told[2]; /* what is said on standard error, and who reads it */

static void block_until_told(void *arg)
{
    char text[256];
    (void)arg;
    CHECK_OK(rt_blocking_enter());
    ssize_t got = read(told[0], text, sizeof(text) - 1);
    CHECK(got > 0);
    text[got] = '\0';
    CHECK(strstr(text, "no thread left for a worker: work waits for those that run") != NULL);
    CHECK_EQ(rti_u32_load_relaxed(&quick_ends), 0);
    CHECK_EQ(write(pipes[0][1], "x", 1), 1);
    CHECK_OK(rt_blocking_exit());
    rt_exit();
}

TEST(blocking_calls_on_all_threads_let_the_rest_wait_and_that_is_told_once)
{
    rt_config config = {.workers = 1, .threads_max = 2};
    CHECK_OK(rt_init_ex(&config));
    CHECK_EQ(pipe(pipes[0]), 0);
    CHECK_EQ(pipe2(told, O_NONBLOCK), 0);
    int kept = dup(STDERR_FILENO);
    CHECK_EQ(fcntl(told[0], F_SETFL, 0), 0);
    CHECK_EQ(dup2(told[1], STDERR_FILENO), STDERR_FILENO);
    const actor_config urgent = {.priority = RT_PRIO_CRITICAL};
    CHECK(rt_spawn_ex(block_in_read, pipes[0], &urgent) != ACTOR_ID_INVALID);
    CHECK(rt_spawn_ex(block_until_told, NULL, &urgent) != ACTOR_ID_INVALID);
    for (int i = 0; i < 10; i++) {
        CHECK(rt_spawn(quick, NULL) != ACTOR_ID_INVALID);
    }
    rt_run();
    rt_cleanup();
    CHECK_EQ(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    CHECK_EQ(rti_u32_load_relaxed(&came_back), 1);
    CHECK_EQ(rti_u32_load_relaxed(&quick_ends), 10);
    char byte;
    CHECK_EQ(fcntl(told[0], F_SETFL, O_NONBLOCK), 0);
    CHECK_EQ(read(told[0], &byte, 1), -1);
}

static void enter_and_exit(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_blocking_exit(), RT_ERR_STATE);
    for (int i = 0; i < 1000; i++) {
        CHECK_OK(rt_blocking_enter());
        CHECK_OK(rt_blocking_exit());
    }
    rti_u32_add_relaxed(&came_back, 1);
    rt_exit();
}

TEST(blocking_calls_that_come_back_in_time_keep_their_worker)
{
    rt_config config = {.workers = 2};
    CHECK_OK(rt_init_ex(&config));
    for (int i = 0; i < 8; i++) {
        CHECK(rt_spawn(enter_and_exit, NULL) != ACTOR_ID_INVALID);
    }
    rt_run();
    rt_cleanup();
    CHECK_EQ(rti_u32_load_relaxed(&came_back), 8);
}

TEST(blocking_pair_is_harmless_on_the_fixed_engine)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(enter_and_exit, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_EQ(rti_u32_load_relaxed(&came_back), 1);
}

static void add_one(void *arg)
{
    (*(int *)arg)++;
}

static void run_blocking(void *arg)
{
    int value = 41;
    (void)arg;
    CHECK_STATUS(rt_blocking(NULL, NULL), RT_ERR_INVALID);
    CHECK_OK(rt_blocking(add_one, &value));
    CHECK_EQ(value, 42);
    rti_u32_add_relaxed(&came_back, 1);
    rt_exit();
}

TEST(blocking_function_runs_on_a_thread_of_the_pool_while_the_caller_waits)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(run_blocking, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_EQ(rti_u32_load_relaxed(&came_back), 1);
}

TEST(blocking_pairs_are_refused_outside_of_actors_and_tasks)
{
    CHECK_STATUS(rt_blocking_enter(), RT_ERR_THREAD);
    CHECK_STATUS(rt_blocking_exit(), RT_ERR_THREAD);
}

TEST(blocking_function_runs_on_the_spot_in_a_plain_thread)
{
    CHECK_STATUS(rt_blocking(NULL, NULL), RT_ERR_INVALID);
    int value = 41;
    CHECK_OK(rt_blocking(add_one, &value));
    CHECK_EQ(value, 42);
}
