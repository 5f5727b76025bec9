/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "asyncs_test"
#include "task/asyncs.h"

#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"

static rt_status ends(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

static rt_status pauses(void *state, rt_cx *cx)
{
    (void)state;
    return rt_async_pause(cx);
}

static void *reserves(void *arg)
{
    enum { MANY = 2000 };
    static rt_async_task *tasks[MANY];
    CHECK_STATUS(rt_async_reserve(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = 0}), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = SIZE_MAX}), RT_ERR_INVALID);
    rt_async_task *one = rt_async(ends, NULL);
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = MANY}), RT_ERR_STATE);
    CHECK_OK(rt_async_join(&one, NULL, NULL));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = MANY, .contexts = 4}));
    for (size_t i = 0; i < MANY; i++) {
        tasks[i] = rt_async(pauses, NULL);
        CHECK(tasks[i] != NULL);
    }
    CHECK(rt_async(ends, NULL) == NULL);
    CHECK_OK(rt_sleep(1000));
    struct rti_asyncs *asyncs = rti_asyncs_of(rti_worker_current());
    CHECK_EQ(rti_asyncs_audit(asyncs), MANY);
    /* Those that pause need no context: all were called with the same. */
    CHECK_EQ(rti_pool_in_use(&asyncs->contexts), 1);
    for (size_t i = 0; i < MANY; i++) {
        CHECK_OK(rt_async_wake(tasks[i]));
        CHECK_OK(rt_async_join(&tasks[i], NULL, NULL));
    }
    CHECK_EQ(rti_asyncs_audit(asyncs), 0);
    return arg;
}

TEST(asyncs_make_room_for_many_in_memory_of_the_system)
{
    CHECK_OK(tasks_run(reserves, NULL));
    CHECK_OK(tasks_run_fixed(reserves, NULL));
}

static void *wears_a_slot(void *arg)
{
    rt_async_task *before = NULL;
    for (int i = 0; i < 1000; i++) {
        rt_async_task *task = rt_async(ends, NULL);
        CHECK(task != NULL && task != before);
        before = task;
        CHECK_OK(rt_async_join(&task, NULL, NULL));
        CHECK_STATUS(rt_async_wake(before), RT_ERR_INVALID);
    }
    CHECK_EQ(rti_asyncs_of(rti_worker_current())->fresh, 1);
    CHECK_STATUS(rt_async_wake((rt_async_task *)(uintptr_t)UINTPTR_MAX), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_wake(NULL), RT_ERR_INVALID);
    return arg;
}

TEST(asyncs_use_a_slot_again_under_another_handle)
{
    tasks_run_everywhere(wears_a_slot, NULL);
}

TEST(asyncs_outside_of_a_runtime_are_refused)
{
    rt_async_task *task = NULL;
    CHECK(rt_async(ends, NULL) == NULL);
    CHECK_STATUS(rt_async_join(&task, NULL, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_async_detach(NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = 1}), RT_ERR_THREAD);
}
