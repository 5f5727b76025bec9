/* SPDX-License-Identifier: Apache-2.0 */
/* The states of T2: whole lives of tasks are watched, and each step must be a move of the table. */
#define RTI_MODULE "task_state_test"
#include "task/task_state.h"

#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/tasks.h"

TEST(task_moves_are_those_of_the_specification)
{
    static const char *const wanted[RTI_TASK_STATE_COUNT] = {
        [RTI_TASK_STATE_NONE] = ".r....",      [RTI_TASK_STATE_READY] = "..r.c.",
        [RTI_TASK_STATE_RUNNING] = ".r.wcC",   [RTI_TASK_STATE_WAITING] = ".r..c.",
        [RTI_TASK_STATE_CANCELLED] = ".....C", [RTI_TASK_STATE_COMPLETE] = "n....."};
    for (size_t from = 0; from < RTI_TASK_STATE_COUNT; from++) {
        for (size_t to = 0; to < RTI_TASK_STATE_COUNT; to++) {
            bool is_move = rti_task_is_move((enum rti_task_state)from, (enum rti_task_state)to);
            CHECK_EQ(is_move, wanted[from][to] != '.');
        }
    }
    CHECK_STR(rti_task_state_name(RTI_TASK_STATE_WAITING), "waiting");
    CHECK_STR(rti_task_state_name(RTI_TASK_STATE_COUNT), "unknown");
}

static struct rti_task *watched;
static enum rti_task_state last;

/* Looks at the task and demands that what it sees is a move, or the same. */
static enum rti_task_state look(void)
{
    enum rti_task_state now = rti_task_state(watched);
    CHECK(now == last || rti_task_is_move(last, now));
    last = now;
    return now;
}

/* It runs again after a wait: it was ready in between. */
static enum rti_task_state look_woken(void)
{
    CHECK(last == RTI_TASK_STATE_WAITING);
    CHECK(rti_task_is_move(last, RTI_TASK_STATE_READY));
    last = RTI_TASK_STATE_READY;
    return look();
}

static void watch(rt_task *handle)
{
    watched = rti_task_lookup(rti_worker_current(), handle);
    last = RTI_TASK_STATE_NONE;
    CHECK(look() == RTI_TASK_STATE_READY);
}

static rt_status waits_in_a_hook(void *arg)
{
    (void)arg;
    CHECK(look() == RTI_TASK_STATE_CANCELLED);
    return rt_sleep(RT_NS_PER_MS);
}

static void *lives(void *arg)
{
    CHECK(look() == RTI_TASK_STATE_RUNNING);
    rt_yield();
    CHECK(look() == RTI_TASK_STATE_RUNNING);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK(look_woken() == RTI_TASK_STATE_RUNNING);
    CHECK_OK(rt_ensure(waits_in_a_hook, NULL));
    CHECK_STATUS(rt_sleep(RT_NS_PER_S), RT_ERR_CANCELLED);
    CHECK(look() == RTI_TASK_STATE_CANCELLED);
    return arg;
}

static void *watches_a_life(void *arg)
{
    rt_task *task = rt_go(lives, NULL);
    watch(task);
    rt_yield();
    CHECK(look() == RTI_TASK_STATE_READY);
    rt_yield();
    CHECK(look() == RTI_TASK_STATE_WAITING);
    CHECK_STR(rti_task_waits_for(&watched->fiber), "time");
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    CHECK_OK(rt_task_ask_cancel(task));
    CHECK(look() == RTI_TASK_STATE_CANCELLED);
    rt_yield();
    CHECK(look() == RTI_TASK_STATE_CANCELLED);
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    CHECK(look() == RTI_TASK_STATE_COMPLETE);
    CHECK_STATUS(rt_join(task, NULL), RT_ERR_CANCELLED);
    CHECK(look() == RTI_TASK_STATE_NONE);
    return arg;
}

TEST(task_goes_through_the_states_of_the_table)
{
    CHECK_OK(tasks_run(watches_a_life, NULL));
}

static void *looks(void *arg)
{
    CHECK(look() == RTI_TASK_STATE_RUNNING);
    return arg;
}

static void *cancels_after_the_end(void *arg)
{
    rt_task *task = rt_go(looks, NULL);
    watch(task);
    CHECK_OK(rt_sleep(1));
    CHECK(look() == RTI_TASK_STATE_COMPLETE);
    rti_task_to_cancelled(watched);
    CHECK(look() == RTI_TASK_STATE_COMPLETE);
    CHECK_OK(rt_join(task, NULL));
    return arg;
}

TEST(task_that_has_ended_cannot_be_cancelled)
{
    CHECK_OK(tasks_run(cancels_after_the_end, NULL));
}
