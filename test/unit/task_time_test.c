/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_time_test"
#include <orrery/rt.h>
#include <pthread.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/tasks.h"

static size_t tasks_alive(void)
{
    return rti_tasks_live(rti_tasks_of(rti_worker_current()));
}

static void *sleeps(void *arg)
{
    rt_time before = rt_clock();
    CHECK_OK(rt_sleep(3 * RT_NS_PER_S));
    CHECK_EQ(rt_clock() - before, 3 * RT_NS_PER_S);
    CHECK_OK(rt_sleep(0));
    CHECK_EQ(rt_clock() - before, 3 * RT_NS_PER_S);
    return arg;
}

TEST(sleep_takes_exactly_as_long_in_the_simulator)
{
    CHECK_OK(tasks_run(sleeps, NULL));
}

static void *sleeps_a_little(void *arg)
{
    rt_time before = rt_clock();
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    CHECK(rt_clock() - before >= 2 * RT_NS_PER_MS);
    return arg;
}

TEST(sleep_is_never_shorter)
{
    CHECK_OK(tasks_run_fixed(sleeps_a_little, NULL));
}

static void *sleep_in_a_thread(void *arg)
{
    rt_status *status = arg;
    *status = rt_sleep(RT_NS_PER_MS);
    return NULL;
}

TEST(sleep_blocks_a_thread_without_a_runtime)
{
    rt_status status = {RT_ERR_STATE, NULL};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sleep_in_a_thread, &status) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(status);
    CHECK_OK(rt_init());
    CHECK_STATUS(rt_sleep(1), RT_ERR_WOULDBLOCK);
    rt_cleanup();
}

static void *sees_its_budget_end(void *arg)
{
    rt_budget budget = RT_BUDGET_UNLIMITED;
    rt_budget_scope scope;
    budget.deadline = rt_clock() + RT_NS_PER_S;
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    CHECK_OK(rt_sleep(RT_NS_PER_S / 2));
    CHECK_STATUS(rt_sleep(RT_NS_PER_S), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_STATUS(rt_sleep(1), RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    return arg;
}

static void *joins_one_with_a_budget(void *arg)
{
    CHECK_STATUS(rt_join(rt_go(sees_its_budget_end, NULL), NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(sleep_ends_with_the_budget)
{
    CHECK_OK(tasks_run(joins_one_with_a_budget, NULL));
}

static void *has_children(void *arg)
{
    CHECK_OK(rt_detach(rt_go(tasks_wait_for_ever, NULL)));
    CHECK_OK(rt_detach(rt_go(tasks_wait_for_ever, NULL)));
    return tasks_wait_for_ever(arg);
}

static void *is_stubborn(void *arg)
{
    while (!rt_cancelled()) {
        rt_yield();
        (void)rt_sleep(RT_NS_PER_MS);
    }
    return arg;
}

static void *panics(void *arg)
{
    (void)arg;
    rt_panic_task("no");
}

static void *times_out(void *arg)
{
    void *value = NULL;
    rt_time ms = RT_NS_PER_MS;
    CHECK_OK(rt_timeout(3600 * RT_NS_PER_S, tasks_sleep_ms, TASKS_NUMBER(1), &value));
    CHECK(value == TASKS_NUMBER(1));
    CHECK_OK(rt_timeout(RT_TIME_NEVER, tasks_echo, TASKS_NUMBER(2), &value));
    CHECK(value == TASKS_NUMBER(2));
    CHECK_STATUS(rt_timeout(10 * ms, tasks_wait_for_ever, NULL, NULL), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_timeout(10 * ms, has_children, NULL, &value), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_timeout(10 * ms, is_stubborn, NULL, &value), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_timeout(0, tasks_wait_for_ever, NULL, &value), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_timeout(3600 * RT_NS_PER_S, panics, NULL, &value), RT_ERR_PANICKED);
    /* Nothing of any of them is left. */
    CHECK_EQ(tasks_alive(), 1);
    return arg;
}

TEST(timeout_gives_the_result_or_cancels_and_waits)
{
    tasks_run_everywhere(times_out, NULL);
}

static void *is_in_a_timeout(void *arg)
{
    CHECK_STATUS(rt_timeout(3600 * RT_NS_PER_S, has_children, NULL, NULL), RT_ERR_CANCELLED);
    CHECK_EQ(tasks_alive(), 2);
    CHECK_STATUS(rt_timeout(3600 * RT_NS_PER_S, tasks_echo, NULL, NULL), RT_ERR_CANCELLED);
    return arg;
}

/* Until has_children, which another has started, has started its own. */
static void wait_for_children(void)
{
    while (tasks_alive() < 5) {
        rt_yield();
    }
    CHECK_EQ(tasks_alive(), 5);
}

static void *cancels_a_timeout(void *arg)
{
    rt_task *task = rt_go(is_in_a_timeout, NULL);
    wait_for_children();
    CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(timeout_whose_caller_is_cancelled_cancels_the_operation)
{
    tasks_run_everywhere(cancels_a_timeout, NULL);
}

static void *has_late_children(void *arg)
{
    CHECK(rt_region_current() != NULL);
    CHECK_OK(rt_detach(rt_go(tasks_sleep_ms, TASKS_NUMBER(5))));
    CHECK_OK(rt_detach(rt_go(tasks_sleep_ms, TASKS_NUMBER(9))));
    return arg;
}

static void *uses_blocks(void *arg)
{
    void *value = NULL;
    rt_time before = rt_clock();
    CHECK_OK(rt_using(NULL, has_late_children, TASKS_NUMBER(4), &value));
    CHECK(value == TASKS_NUMBER(4));
    CHECK(rt_clock() - before >= 9 * RT_NS_PER_MS);
    CHECK_EQ(tasks_alive(), 1);
    CHECK_STATUS(rt_using(NULL, panics, NULL, NULL), RT_ERR_PANICKED);
    return arg;
}

TEST(using_ends_with_the_last_task_of_its_block)
{
    tasks_run_everywhere(uses_blocks, NULL);
}

/* Only in the simulator is it sure that the children begin before the time is over. */
static void *uses_a_block_with_a_deadline(void *arg)
{
    rt_budget budget = RT_BUDGET_UNLIMITED;
    rt_time before = rt_clock();
    budget.deadline = before + 3 * RT_NS_PER_MS;
    CHECK_OK(rt_using(&budget, has_late_children, NULL, NULL));
    CHECK_EQ(rt_clock() - before, 3 * RT_NS_PER_MS);
    CHECK_EQ(tasks_alive(), 1);
    return arg;
}

TEST(using_ends_with_the_deadline_of_its_block)
{
    CHECK_OK(tasks_run(uses_a_block_with_a_deadline, NULL));
}

static void *has_a_timeout(void *arg)
{
    void *value = NULL;
    CHECK_OK(rt_timeout(3600 * RT_NS_PER_S, tasks_sleep_ms, TASKS_NUMBER(1), &value));
    CHECK(value == TASKS_NUMBER(1));
    CHECK_OK(rt_using(NULL, tasks_sleep_ms, TASKS_NUMBER(1), NULL));
    return arg;
}

static void *nests_blocks(void *arg)
{
    /* The outer block waits for its end already when the inner ones begin. */
    CHECK_OK(rt_using(NULL, has_a_timeout, NULL, NULL));
    CHECK_EQ(tasks_alive(), 1);
    return arg;
}

TEST(using_and_timeout_work_inside_a_block_that_closes)
{
    tasks_run_everywhere(nests_blocks, NULL);
}

static void *is_in_a_block(void *arg)
{
    CHECK_STATUS(rt_using(NULL, has_children, NULL, NULL), RT_ERR_CANCELLED);
    CHECK_EQ(tasks_alive(), 2);
    return arg;
}

static void *cancels_a_block(void *arg)
{
    rt_task *task = rt_go(is_in_a_block, NULL);
    wait_for_children();
    CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(using_whose_caller_is_cancelled_cancels_the_block_and_waits)
{
    tasks_run_everywhere(cancels_a_block, NULL);
}

TEST(timeout_and_using_are_for_tasks)
{
    CHECK_STATUS(rt_timeout(1, tasks_echo, NULL, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_using(NULL, tasks_echo, NULL, NULL), RT_ERR_THREAD);
}
