/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include <stdlib.h>

#include "support/test.h"

#define CHILDREN 5

static char order[64];
static size_t order_length;

static void say(char c)
{
    CHECK(order_length < sizeof(order) - 1);
    order[order_length++] = c;
}

static void child(void *arg)
{
    for (int i = 0; i < 3; i++) {
        say((char)('a' + (int)(intptr_t)arg));
        rt_yield();
    }
    rt_exit();
}

static void parent(void *arg)
{
    (void)arg;
    for (intptr_t i = 0; i < CHILDREN; i++) {
        CHECK(rt_spawn(child, (void *)i) != ACTOR_ID_INVALID);
    }
    rt_exit();
}

static uint64_t hash_of(uint64_t seed, bool is_fixed_order)
{
    rt_sim_report report = {.seed = 0};
    rt_sim_config config = {.seed = seed, .fixed_order = is_fixed_order, .report = &report};
    order_length = 0;
    memset(order, 0, sizeof(order));
    CHECK_OK(rt_sim_run(&config, parent, NULL));
    CHECK_EQ(report.seed, seed);
    CHECK_EQ(report.actors_left, 0);
    CHECK_EQ(report.time, 0);
    CHECK_EQ(report.steps, 1 + CHILDREN * 4);
    return report.trace_hash;
}

TEST(sim_one_seed_gives_one_run)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        uint64_t hash = hash_of(seed, false);
        char first[sizeof(order)];
        memcpy(first, order, sizeof(order));
        CHECK(hash_of(seed, false) == hash);
        CHECK_STR(order, first);
    }
}

TEST(sim_different_seeds_give_different_orders)
{
    size_t different = 0;
    hash_of(1, false);
    char first[sizeof(order)];
    memcpy(first, order, sizeof(order));
    for (uint64_t seed = 2; seed < 12; seed++) {
        hash_of(seed, false);
        different += strcmp(order, first) != 0;
    }
    CHECK(different >= 9);
}

TEST(sim_fixed_order_is_that_of_the_fixed_engine_whatever_the_seed)
{
    uint64_t hash = hash_of(1, true);
    CHECK_STR(order, "abcdeabcdeabcde");
    CHECK(hash_of(2, true) == hash);
    CHECK_STR(order, "abcdeabcdeabcde");
}

static void wait_an_hour(void *arg)
{
    rt_message message;
    rt_time before = rt_clock();
    (void)arg;
    CHECK_STATUS(rt_ipc_recv(&message, 3600 * 1000), RT_ERR_TIMEOUT);
    CHECK_EQ(rt_clock() - before, UINT64_C(3600) * RT_NS_PER_S);
    rt_exit();
}

TEST(sim_hour_of_waiting_passes_at_once)
{
    rt_sim_report report;
    rt_sim_config config = {.report = &report};
    CHECK_OK(rt_sim_run(&config, wait_an_hour, NULL));
    CHECK_EQ(report.time, UINT64_C(3600) * RT_NS_PER_S);
    CHECK(report.steps < 5);
}

static void wait_for_ever(void *arg)
{
    rt_message message;
    (void)arg;
    (void)rt_ipc_recv(&message, -1);
    rt_exit();
}

TEST(sim_reports_a_program_that_waits_for_ever)
{
    rt_sim_report report;
    rt_sim_config config = {.report = &report};
    CHECK_STATUS(rt_sim_run(&config, wait_for_ever, NULL), RT_ERR_DEADLOCK);
    CHECK_EQ(report.actors_left, 1);
    CHECK_OK(rt_sim_run(NULL, parent, NULL));
}

static void yield_for_ever(void *arg)
{
    (void)arg;
    for (;;) {
        rt_yield();
    }
}

TEST(sim_gives_up_at_its_limit_of_steps)
{
    rt_sim_report report;
    rt_sim_config config = {.steps_max = 500, .report = &report};
    CHECK_STATUS(rt_sim_run(&config, yield_for_ever, NULL), RT_ERR_LIMIT);
    CHECK_EQ(report.steps, 500);
}

TEST(sim_refuses_a_null_program_and_a_second_runtime)
{
    CHECK_STATUS(rt_sim_run(NULL, NULL, NULL), RT_ERR_INVALID);
    CHECK_OK(rt_init());
    CHECK_STATUS(rt_sim_run(NULL, parent, NULL), RT_ERR_STATE);
    rt_cleanup();
    CHECK_OK(rt_sim_run(NULL, parent, NULL));
}

TEST(sim_takes_the_seed_of_the_environment)
{
    uint64_t hash = hash_of(77, false);
    rt_sim_report report;
    rt_sim_config config = {.seed = 5, .report = &report};
    CHECK_EQ(setenv("ORRERY_SEED", "77", 1), 0);
    order_length = 0;
    CHECK_OK(rt_sim_run(&config, parent, NULL));
    CHECK_EQ(report.seed, 77);
    CHECK(report.trace_hash == hash);
    CHECK_EQ(setenv("ORRERY_SEED", "seven", 1), 0);
    order_length = 0;
    CHECK_OK(rt_sim_run(&config, parent, NULL));
    CHECK_EQ(report.seed, 5);
}

static void draw_and_mark(void *arg)
{
    uint64_t *number = arg;
    *number = rt_random();
    rt_sim_mark(*number);
    rt_exit();
}

TEST(sim_randomness_comes_from_the_seed_and_marks_enter_the_hash)
{
    uint64_t numbers[3];
    rt_sim_report reports[3];
    for (size_t i = 0; i < 3; i++) {
        rt_sim_config config = {.seed = i / 2, .fixed_order = true, .report = &reports[i]};
        CHECK_OK(rt_sim_run(&config, draw_and_mark, &numbers[i]));
    }
    CHECK(numbers[0] == numbers[1] && numbers[0] != numbers[2]);
    CHECK(reports[0].trace_hash == reports[1].trace_hash);
    CHECK(reports[0].trace_hash != reports[2].trace_hash);
}

static void shut_down_at_once(void *arg)
{
    (void)arg;
    rt_spawn(wait_for_ever, NULL);
    rt_shutdown();
    rt_yield();
    rt_exit();
}

TEST(sim_ends_at_a_shutdown_and_ends_the_actors_left)
{
    rt_sim_report report;
    rt_sim_config config = {.report = &report};
    CHECK_OK(rt_sim_run(&config, shut_down_at_once, NULL));
    CHECK_EQ(report.actors_left, 2);
}
