/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_local_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"

static rt_local key;

static void destroyed(void *value)
{
    tasks_say((char)(uintptr_t)value);
}

static rt_status sees_the_local(void *arg)
{
    (void)arg;
    tasks_say(rt_local_get(key) != NULL ? 'h' : '!');
    return RT_SUCCESS;
}

static void *has_a_local(void *arg)
{
    CHECK(rt_local_get(key) == NULL);
    CHECK_OK(rt_local_set(key, arg));
    CHECK_OK(rt_ensure(sees_the_local, NULL));
    rt_yield();
    CHECK(rt_local_get(key) == arg);
    return NULL;
}

static void *has_tasks_with_locals(void *arg)
{
    CHECK_OK(rt_local_open(&key, destroyed));
    CHECK_OK(rt_local_set(key, TASKS_NUMBER('m')));
    rt_task *a = rt_go(has_a_local, TASKS_NUMBER('a'));
    rt_task *b = rt_go(has_a_local, TASKS_NUMBER('b'));
    CHECK_OK(rt_join(a, NULL));
    CHECK_OK(rt_join(b, NULL));
    CHECK(rt_local_get(key) == TASKS_NUMBER('m'));
    CHECK_OK(rt_local_set(key, NULL));
    CHECK(rt_local_get(key) == NULL);
    return arg;
}

TEST(local_values_belong_to_their_task_and_end_with_it)
{
    CHECK_OK(tasks_run(has_tasks_with_locals, NULL));
    CHECK_STR(tasks_said(), "hahb");
    tasks_run_everywhere(has_tasks_with_locals, NULL);
}

static void *is_killed_with_a_local(void *arg)
{
    CHECK_OK(rt_local_set(key, TASKS_NUMBER('k')));
    return tasks_wait_for_ever(arg);
}

static void *leaves_one_with_a_local(void *arg)
{
    CHECK_OK(rt_local_open(&key, destroyed));
    CHECK_OK(rt_detach(rt_go(is_killed_with_a_local, NULL)));
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rt_shutdown();
    return arg;
}

TEST(local_values_of_the_killed_are_destroyed_too)
{
    CHECK_OK(tasks_run(leaves_one_with_a_local, NULL));
    CHECK_STR(tasks_said(), "k");
}

static void *uses_all_keys(void *arg)
{
    rt_local keys[RT_MAX_LOCALS];
    rt_local more = 0;
    for (size_t i = 0; i < RT_MAX_LOCALS; i++) {
        CHECK_OK(rt_local_open(&keys[i], NULL));
        CHECK(keys[i] != 0);
        CHECK_OK(rt_local_set(keys[i], TASKS_NUMBER(i + 1)));
    }
    CHECK_STATUS(rt_local_open(&more, NULL), RT_ERR_NOMEM);
    CHECK_STATUS(rt_local_open(NULL, NULL), RT_ERR_INVALID);
    for (size_t i = 0; i < RT_MAX_LOCALS; i++) {
        CHECK(rt_local_get(keys[i]) == TASKS_NUMBER(i + 1));
    }
    /* A key that has ended names nothing, and its place is another's. */
    CHECK_OK(rt_local_close(keys[3]));
    CHECK_STATUS(rt_local_close(keys[3]), RT_ERR_INVALID);
    CHECK(rt_local_get(keys[3]) == NULL);
    CHECK_STATUS(rt_local_set(keys[3], arg), RT_ERR_INVALID);
    CHECK_OK(rt_local_open(&more, NULL));
    CHECK(more != keys[3] && rt_local_get(more) == NULL);
    CHECK_OK(rt_local_set(more, TASKS_NUMBER(7)));
    CHECK(rt_local_get(more) == TASKS_NUMBER(7) && rt_local_get(keys[3]) == NULL);
    CHECK(rt_local_get(0) == NULL && rt_local_get(UINT32_MAX) == NULL);
    return arg;
}

TEST(local_keys_have_a_limit_and_are_never_mixed_up)
{
    tasks_run_everywhere(uses_all_keys, NULL);
}

TEST(local_values_are_for_tasks)
{
    rt_local none;
    CHECK_STATUS(rt_local_open(&none, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_local_close(1), RT_ERR_THREAD);
    CHECK_STATUS(rt_local_set(1, NULL), RT_ERR_THREAD);
    CHECK(rt_local_get(1) == NULL);
}
