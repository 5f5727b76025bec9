/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "select_join_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/tasks.h"

static bool may_end[3];

static void *waits_for_its_end(void *arg)
{
    while (!may_end[(uintptr_t)arg - 1]) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
    return arg;
}

static void *selects_the_first_that_ends(void *arg)
{
    rt_select_arm arms[3];
    rt_selected chosen;
    rt_task *tasks[3];
    void *values[3] = {NULL};
    static const size_t order[3] = {1, 2, 0};
    for (size_t i = 0; i < 3; i++) {
        may_end[i] = false;
        tasks[i] = rt_go(waits_for_its_end, TASKS_NUMBER(i + 1));
        rt_arm_join(&arms[i], &tasks[i], &values[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        may_end[order[i]] = true;
        CHECK_OK(rt_select(arms, 3, NULL, &chosen));
        CHECK_OK(chosen.status);
        CHECK_EQ(chosen.index, order[i]);
        CHECK(tasks[chosen.index] == NULL);
        CHECK(values[chosen.index] == TASKS_NUMBER(chosen.index + 1));
    }
    /* All arms are of nothing now. */
    rt_select_arm otherwise;
    rt_arm_default(&otherwise);
    CHECK_OK(rt_select(&otherwise, 1, NULL, &chosen));
    CHECK_STATUS(rt_select_until(arms, 3, NULL, rt_clock() + 10, &chosen), RT_ERR_TIMEOUT);
    return arg;
}

TEST(select_join_takes_the_tasks_in_the_order_of_their_ends)
{
    tasks_run_everywhere(selects_the_first_that_ends, NULL);
}

static void *panics(void *arg)
{
    rt_panic_task("on purpose");
    return arg;
}

static void *selects_every_end(void *arg)
{
    rt_select_arm arm;
    rt_selected chosen;
    void *value = NULL;
    rt_task *task = rt_go(panics, NULL);
    rt_arm_join(&arm, &task, &value);
    CHECK_OK(rt_select(&arm, 1, NULL, &chosen));
    CHECK_STATUS(chosen.status, RT_ERR_PANICKED);
    task = rt_go(tasks_wait_for_ever, NULL);
    CHECK_STATUS(rt_select_until(&arm, 1, NULL, rt_clock() + RT_NS_PER_MS, &chosen),
                 RT_ERR_TIMEOUT);
    CHECK(task != NULL);
    CHECK_OK(rt_task_ask_cancel(task));
    CHECK_OK(rt_select(&arm, 1, NULL, &chosen));
    CHECK_STATUS(chosen.status, RT_ERR_CANCELLED);
    task = (rt_task *)(uintptr_t)0x7fffffff;
    CHECK_OK(rt_select(&arm, 1, NULL, &chosen));
    CHECK_STATUS(chosen.status, RT_ERR_INVALID);
    return arg;
}

TEST(select_join_tells_how_the_task_ended)
{
    tasks_run_everywhere(selects_every_end, NULL);
}

static void *selects_one_twice(void *arg)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    rt_task *task = rt_go(tasks_sleep_ms, TASKS_NUMBER(1));
    rt_task *same = task;
    rt_arm_join(&arms[0], &task, NULL);
    rt_arm_join(&arms[1], &same, NULL);
    CHECK_STATUS(rt_select(arms, 2, NULL, &chosen), RT_ERR_INVALID);
    CHECK_OK(rt_select(arms, 1, NULL, &chosen));
    CHECK_OK(chosen.status);
    return arg;
}

TEST(select_join_of_one_task_twice_is_refused)
{
    tasks_run_everywhere(selects_one_twice, NULL);
}

static void *selects_and_is_cancelled(void *arg)
{
    rt_select_arm arm;
    rt_selected chosen;
    rt_task *child = rt_go(tasks_wait_for_ever, NULL);
    rt_arm_join(&arm, &child, NULL);
    CHECK_STATUS(rt_select(&arm, 1, NULL, &chosen), RT_ERR_CANCELLED);
    CHECK(child != NULL);
    (void)rt_cancel(child, NULL).code;
    return arg;
}

static void *cancels_a_select(void *arg)
{
    rt_task *task = rt_go(selects_and_is_cancelled, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(select_join_that_is_cancelled_keeps_the_handle)
{
    tasks_run_everywhere(cancels_a_select, NULL);
}
