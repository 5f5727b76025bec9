/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tasks: slots, handles, and what the end of a runtime finds in it. */
#define RTI_MODULE "tasks_test"
#include "task/tasks.h"

#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"

static struct rti_tasks *module(void)
{
    return rti_tasks_of(rti_worker_current());
}

static void *takes_slots(void *arg)
{
    struct rti_tasks *tasks = module();
    CHECK_EQ(rti_tasks_fresh(tasks), 1);
    struct rti_task *a = rti_tasks_take(tasks);
    struct rti_task *b = rti_tasks_take(tasks);
    a->stack.block = NULL;
    b->stack.block = NULL;
    CHECK(a != b && rti_size_load_relaxed(&a->handle) != rti_size_load_relaxed(&b->handle) &&
          rti_size_load_relaxed(&a->handle) != 0 && rti_size_load_relaxed(&b->handle) != 0);
    CHECK_EQ(rti_tasks_fresh(tasks), 3);
    uintptr_t before = rti_size_load_relaxed(&a->handle);
    CHECK(rti_task_lookup(rti_worker_current(), (rt_task *)before) == a);
    rti_tasks_give(tasks, b);
    rti_tasks_give(tasks, a);
    CHECK(rti_task_lookup(rti_worker_current(), (rt_task *)before) == NULL);
    /* The one that was given back last comes first, under another name. */
    CHECK(rti_tasks_take(tasks) == a);
    CHECK(rti_size_load_relaxed(&a->handle) != before);
    CHECK(rti_task_lookup(rti_worker_current(), (rt_task *)before) == NULL);
    rti_tasks_give(tasks, a);
    CHECK_EQ(rti_tasks_fresh(tasks), 3);
    rti_tasks_audit(tasks);
    return arg;
}

TEST(tasks_slots_are_used_again_under_another_handle)
{
    CHECK_OK(tasks_run(takes_slots, NULL));
}

static void *counts(void *arg)
{
    struct rti_tasks *tasks = module();
    CHECK_EQ(rti_tasks_live(tasks), 1);
    CHECK_OK(rt_join(rt_go(tasks_echo, NULL), NULL));
    CHECK_OK(rt_detach(rt_go(tasks_echo, NULL)));
    CHECK_EQ(rti_tasks_live(tasks), 2);
    CHECK_STATUS(rt_cancel(rt_go(tasks_wait_for_ever, NULL), NULL), RT_ERR_CANCELLED);
    CHECK_EQ(rti_u64_load_relaxed(&tasks->spawned), 4);
    CHECK_EQ(rti_u64_load_relaxed(&tasks->joined), 1);
    CHECK_EQ(rti_u64_load_relaxed(&tasks->detached), 1);
    CHECK_EQ(rti_u64_load_relaxed(&tasks->cancelled), 1);
    CHECK_EQ(rti_u64_load_relaxed(&tasks->completed), 3);
    return arg;
}

TEST(tasks_are_counted)
{
    tasks_run_everywhere(counts, NULL);
}

static void *loses_a_handle(void *arg)
{
    rt_task *volatile lost = rt_go(tasks_echo, NULL);
    (void)lost;
    return arg;
}

static void run_and_lose(void *arg)
{
    (void)tasks_run(loses_a_handle, arg);
}

TEST(tasks_handle_that_was_never_consumed_stops_a_checked_build)
{
    if (!RT_CHECKS) {
        test_skip("this build counts");
    }
    CHECK_PANICS("task_report", run_and_lose, NULL);
}

static void *leaves_sleepers(void *arg)
{
    rt_task *volatile never = rt_go(tasks_wait_for_ever, NULL);
    (void)never;
    CHECK_OK(rt_detach(rt_go(tasks_sleep_ms, TASKS_NUMBER(1000))));
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rt_shutdown();
    return arg;
}

TEST(tasks_that_still_live_at_the_end_are_killed_and_not_called_lost)
{
    CHECK_OK(tasks_run(leaves_sleepers, NULL));
    CHECK_OK(tasks_run_fixed(leaves_sleepers, NULL));
    CHECK_OK(tasks_run(counts, NULL));
}

static void *cancels_everybody(void *arg)
{
    rt_task *a = rt_go(tasks_wait_for_ever, NULL);
    rt_task *b = rt_go(tasks_wait_for_ever, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rti_tasks_cancel_all(module());
    CHECK(rt_cancelled());
    rt_yield();
    CHECK_STATUS(rt_join(a, NULL), RT_ERR_CANCELLED);
    CHECK_STATUS(rt_join(b, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(tasks_can_all_be_asked_to_stop)
{
    CHECK_STATUS(tasks_run(cancels_everybody, NULL), RT_ERR_CANCELLED);
}

TEST(tasks_module_is_there_once)
{
    static struct rti_tasks second;
    CHECK_OK(rt_init());
    CHECK_STATUS(rti_tasks_init(&second, rti_sched_current(), 0), RT_ERR_STATE);
    CHECK(rti_tasks_of(NULL) == NULL);
    rt_cleanup();
}
