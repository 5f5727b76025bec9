/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_cycle_test"
#include "task/task_cycle.h"

#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"

#define RING_MAX 5

static rt_task *ring[RING_MAX];
static size_t ring_size;
static size_t refused;

static void *joins_the_next(void *arg)
{
    size_t next = ((uintptr_t)arg + 1) % ring_size;
    rt_status status = rt_join(ring[next], NULL);
    refused += status.code == RT_ERR_DEADLOCK;
    CHECK(!RT_FAILED(status) || status.code == RT_ERR_DEADLOCK);
    return NULL;
}

static void *makes_a_ring(void *arg)
{
    ring_size = (uintptr_t)arg;
    refused = 0;
    for (size_t i = 0; i < ring_size; i++) {
        ring[i] = rt_go(joins_the_next, TASKS_NUMBER(i));
    }
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_EQ(refused, 1);
    return NULL;
}

TEST(task_cycle_of_any_length_is_refused_once)
{
    for (size_t size = 1; size <= RING_MAX; size++) {
        CHECK_OK(tasks_run(makes_a_ring, TASKS_NUMBER(size)));
        CHECK_OK(tasks_run_seeded(makes_a_ring, TASKS_NUMBER(size), test_seed()));
        CHECK_OK(tasks_run_fixed(makes_a_ring, TASKS_NUMBER(size)));
    }
}

TEST(task_cycle_is_told_with_the_places_of_spawn)
{
    const char *told = tasks_capture(makes_a_ring, TASKS_NUMBER(2));
    CHECK(strstr(told, "deadlock: task joins_the_next (3) spawned at ") != NULL);
    CHECK(strstr(told, "waits for task joins_the_next (2) spawned at ") != NULL);
    CHECK(strstr(told, "task_cycle_test.c:") != NULL && strstr(told, "rt_run_main") != NULL);
}

static rt_time ring_deadline;

static void *joins_the_next_for_a_while(void *arg)
{
    size_t next = ((uintptr_t)arg + 1) % ring_size;
    CHECK_STATUS(rt_join_until(&ring[next], NULL, ring_deadline), RT_ERR_TIMEOUT);
    return NULL;
}

static void *makes_a_ring_with_deadlines(void *arg)
{
    ring_size = 2;
    /* The same for both: who came to its end first would be the other's result. */
    ring_deadline = rt_clock() + RT_NS_PER_MS;
    ring[0] = rt_go(joins_the_next_for_a_while, TASKS_NUMBER(0));
    ring[1] = rt_go(joins_the_next_for_a_while, TASKS_NUMBER(1));
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    CHECK_OK(rt_join(ring[0], NULL));
    CHECK_OK(rt_join(ring[1], NULL));
    return arg;
}

TEST(task_cycle_with_deadlines_is_none)
{
    CHECK_OK(tasks_run(makes_a_ring_with_deadlines, NULL));
}

static void *joins_a_chain(void *arg)
{
    uintptr_t depth = (uintptr_t)arg;
    if (depth > 0) {
        CHECK_OK(rt_join(rt_go(joins_a_chain, TASKS_NUMBER(depth - 1)), NULL));
    }
    return NULL;
}

TEST(task_chain_of_joins_is_no_cycle)
{
    CHECK_OK(tasks_run(joins_a_chain, TASKS_NUMBER(20)));
}
