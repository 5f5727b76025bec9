/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "main_test"
#include <orrery/rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/tasks.h"
#include "support/test.h"

static void *panics(void *arg)
{
    (void)arg;
    rt_panic_task("at the top");
}

TEST(main_gives_the_result_of_the_first_task)
{
    void *value = NULL;
    rt_sim_config sim = {.seed = 3};
    rt_main_config config = {.value = &value, .name = "first"};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_run_main(&config, tasks_echo, TASKS_NUMBER(5)));
        CHECK(value == TASKS_NUMBER(5));
        CHECK_STATUS(rt_run_main(&config, panics, NULL), RT_ERR_PANICKED);
        value = NULL;
        config.sim = &sim;
    }
    CHECK_STATUS(rt_run_main(NULL, NULL, NULL), RT_ERR_INVALID);
}

static void *counts_workers(void *arg)
{
    struct rt_stats stats;
    CHECK_OK(rt_stats(&stats));
    *(size_t *)arg = stats.workers;
    return NULL;
}

TEST(main_chooses_one_of_three_engines)
{
    rt_sim_config sim = {.seed = 3};
    rt_config parallel = {.workers = 3};
    size_t workers = 0;
    CHECK_OK(rt_run_main(&(rt_main_config){.sim = &sim}, counts_workers, &workers));
    CHECK_EQ(workers, 1);
    CHECK_OK(rt_run_main(NULL, counts_workers, &workers));
    CHECK_EQ(workers, 1);
    CHECK_OK(rt_run_main(&(rt_main_config){.parallel = &parallel}, counts_workers, &workers));
    CHECK_EQ(workers, 3);
    rt_main_config both = {.parallel = &parallel, .sim = &sim};
    CHECK_STATUS(rt_run_main(&both, counts_workers, &workers), RT_ERR_INVALID);
    rt_config many = {.workers = UINT32_MAX};
    CHECK_STATUS(rt_run_main(&(rt_main_config){.parallel = &many}, counts_workers, &workers),
                 RT_ERR_INVALID);
}

static void *outlives(void *arg)
{
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    tasks_say('o');
    return arg;
}

static void *leaves(void *arg)
{
    CHECK_OK(rt_detach(rt_go(outlives, NULL)));
    tasks_say('m');
    return arg;
}

TEST(main_returns_when_detached_tasks_have_ended_too)
{
    CHECK_OK(tasks_run(leaves, NULL));
    CHECK_STR(tasks_said(), "mo");
    CHECK_OK(tasks_run_fixed(leaves, NULL));
    CHECK_STR(tasks_said(), "mo");
}

static void *tries_another(void *arg)
{
    CHECK_STATUS(rt_run_main(NULL, tasks_echo, NULL), RT_ERR_STATE);
    rt_sim_config sim = {.seed = 1};
    rt_main_config config = {.sim = &sim};
    CHECK_STATUS(rt_run_main(&config, tasks_echo, NULL), RT_ERR_STATE);
    return arg;
}

TEST(main_inside_a_runtime_is_refused)
{
    tasks_run_everywhere(tries_another, NULL);
}

static void *sleeps_in_a_crowd(void *arg)
{
    for (int i = 0; i < 5; i++) {
        CHECK_OK(rt_detach(rt_go(tasks_sleep_ms, TASKS_NUMBER(1000000))));
    }
    rt_status status = rt_sleep(RT_TIME_NEVER);
    CHECK(status.code == RT_ERR_BUDGET_EXHAUSTED);
    return arg;
}

TEST(main_with_a_limit_of_time_ends_then)
{
    rt_sim_config sim = {.seed = 3};
    rt_main_config config = {.time_max = 100 * RT_NS_PER_MS};
    rt_main_config ample = {.time_max = 3600 * RT_NS_PER_S};
    CHECK_STATUS(rt_run_main(&config, sleeps_in_a_crowd, NULL), RT_ERR_TIMEOUT);
    CHECK_OK(rt_run_main(&ample, tasks_echo, NULL));
    config.sim = &sim;
    CHECK_STATUS(rt_run_main(&config, sleeps_in_a_crowd, NULL), RT_ERR_TIMEOUT);
    CHECK_OK(rt_run_main(&config, tasks_echo, NULL));
}

static void *waits_for_nothing(void *arg)
{
    CHECK_OK(rt_sleep(RT_TIME_NEVER));
    return arg;
}

TEST(main_in_the_simulator_tells_a_deadlock)
{
    CHECK_STATUS(tasks_run(waits_for_nothing, NULL), RT_ERR_DEADLOCK);
    CHECK_OK(tasks_run(leaves, NULL));
}

static char socket_path[108];

static void *looks_for_its_socket(void *arg)
{
    *(bool *)arg = access(socket_path, F_OK) == 0;
    return NULL;
}

TEST(main_is_observed_if_its_configuration_says_so)
{
    const rt_config parallel = {.workers = 2};
    const rt_config observed = {.workers = 2, .observe = true};
    bool has_socket = false;
    CHECK_EQ(unsetenv("XDG_RUNTIME_DIR"), 0);
    CHECK_EQ(unsetenv("ORRERY_OBSERVE"), 0);
    int length =
        snprintf(socket_path, sizeof(socket_path), "/tmp/orrery-%u/%d.sock", getuid(), getpid());
    CHECK(length > 0 && (size_t)length < sizeof(socket_path));
    (void)unlink(socket_path); /* of one that was killed and had this number */
    CHECK_OK(rt_run_main(NULL, looks_for_its_socket, &has_socket));
    CHECK(!has_socket);
    CHECK_OK(rt_run_main(&(rt_main_config){.observe = true}, looks_for_its_socket, &has_socket));
    CHECK(has_socket);
    CHECK_OK(
        rt_run_main(&(rt_main_config){.parallel = &parallel}, looks_for_its_socket, &has_socket));
    CHECK(!has_socket);
    CHECK_OK(
        rt_run_main(&(rt_main_config){.parallel = &observed}, looks_for_its_socket, &has_socket));
    CHECK(has_socket);
    CHECK_EQ(setenv("ORRERY_OBSERVE", "0", 1), 0);
    CHECK_OK(rt_run_main(&(rt_main_config){.observe = true}, looks_for_its_socket, &has_socket));
    CHECK(!has_socket);
}

static void *shuts_down_and_waits(void *arg)
{
    (void)arg;
    rt_shutdown();
    (void)rt_sleep(3600 * RT_NS_PER_S);
    test_fail(__FILE__, __LINE__, "it went on");
    return NULL;
}

TEST(main_tells_that_a_shutdown_came_before_the_end_of_the_first_task)
{
    static const rt_sim_config sim = {.seed = 3};
    static const rt_config parallel = {.workers = 2};
    const rt_main_config engines[] = {{.name = "fixed"}, {.sim = &sim}, {.parallel = &parallel}};
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
        CHECK_STATUS(rt_run_main(&engines[i], shuts_down_and_waits, NULL), RT_ERR_CANCELLED);
    }
}
