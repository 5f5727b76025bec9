/* SPDX-License-Identifier: Apache-2.0 */
/* Plain threads that hold handles of tasks. */
#define _GNU_SOURCE
#define RTI_MODULE "task_visitor_test"
#include <orrery/rt.h>

#include <pthread.h>
#include <sched.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/tasks.h"

#define ROUNDS 60

static pthread_t visitor;

static rt_task *handles[4];

static void *joins_all(void *arg)
{
    rt_task_result result;
    void *value = NULL;
    (void)arg;
    CHECK_OK(rt_join(handles[0], &value));
    CHECK(value == TASKS_NUMBER(3));
    CHECK_OK(rt_join_result(handles[1], &result));
    CHECK(result.has_ended && result.outcome == RT_OUTCOME_OK && result.value == TASKS_NUMBER(7));
    CHECK_OK(rt_detach(handles[2]));
    CHECK_STATUS(rt_detach(handles[2]), RT_ERR_INVALID);
    CHECK_STATUS(rt_cancel(handles[3], &value), RT_ERR_CANCELLED);
    CHECK_STATUS(rt_cancel(handles[3], &value), RT_ERR_INVALID);
    return NULL;
}

static void *gives_handles(void *arg)
{
    handles[0] = rt_go(tasks_sleep_ms, TASKS_NUMBER(3));
    handles[1] = rt_go(tasks_echo, TASKS_NUMBER(7));
    handles[2] = rt_go(tasks_echo, NULL);
    handles[3] = rt_go(tasks_wait_for_ever, NULL);
    CHECK_EQ(pthread_create(&visitor, NULL, joins_all, NULL), 0);
    return arg;
}

TEST(no_colours_a_thread_joins_detaches_and_cancels_as_a_task_does)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    CHECK_OK(rt_detach(rt_go(gives_handles, NULL)));
    rt_run();
    CHECK_EQ(pthread_join(visitor, NULL), 0);
    struct rt_stats stats;
    CHECK_OK(rt_stats(&stats));
    CHECK_EQ(stats.join_count, 2);
    CHECK_EQ(stats.detach_count, 2);
    CHECK_EQ(stats.cancel_count, 1);
    rt_cleanup();
}

static void *joins_for_ever(void *arg)
{
    *(rt_status *)arg = rt_join(handles[0], NULL);
    return NULL;
}

TEST(no_colours_a_thread_that_joins_is_told_when_the_runtime_ends)
{
    rt_status status = RT_SUCCESS;
    pthread_t thread;
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    handles[0] = rt_go(tasks_wait_for_ever, NULL);
    CHECK_EQ(pthread_create(&thread, NULL, joins_for_ever, &status), 0);
    rt_cleanup();
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(status.code == RT_ERR_STATE || status.code == RT_ERR_THREAD);
}

/* Joins that come before the end, after it and together with it. */
static rt_task *many[ROUNDS];

static void *ends_soon(void *arg)
{
    if (((uintptr_t)arg & 3) != 0) {
        rt_yield();
    }
    return arg;
}

static void *joins_many(void *arg)
{
    uintptr_t part = (uintptr_t)arg;
    for (uintptr_t i = part; i < ROUNDS; i += 2) {
        void *value = NULL;
        CHECK_OK(rt_join(many[i], &value));
        CHECK(value == TASKS_NUMBER(i + 1));
    }
    return NULL;
}

static void *spawns_many(void *arg)
{
    pthread_t threads[2];
    for (uintptr_t i = 0; i < ROUNDS; i++) {
        many[i] = rt_go(ends_soon, TASKS_NUMBER(i + 1));
        CHECK(many[i] != NULL);
    }
    for (uintptr_t i = 0; i < 2; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, joins_many, TASKS_NUMBER(i)), 0);
    }
    for (uintptr_t i = 0; i < 2; i++) {
        while (pthread_tryjoin_np(threads[i], NULL) != 0) {
            CHECK_OK(rt_sleep(RT_NS_PER_MS));
        }
    }
    return arg;
}

TEST(task_visitors_join_many_tasks_that_end_meanwhile)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    CHECK_OK(rt_detach(rt_go(spawns_many, NULL)));
    rt_run();
    rt_cleanup();
}

static void *is_refused(void *arg)
{
    rt_task_result result;
    CHECK_STATUS(rt_join(handles[0], NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_join_result(handles[0], &result), RT_ERR_THREAD);
    CHECK_STATUS(rt_join_until(&handles[0], NULL, RT_TIME_NEVER), RT_ERR_THREAD);
    CHECK_STATUS(rt_detach(handles[0]), RT_ERR_THREAD);
    CHECK_STATUS(rt_cancel(handles[0], NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_task_ask_cancel(handles[0]), RT_ERR_THREAD);
    CHECK(!rt_task_has_ended(handles[0]));
    return arg;
}

TEST(task_visitors_are_refused_by_an_engine_with_one_worker)
{
    CHECK_OK(rt_init());
    handles[0] = rt_go(tasks_echo, NULL);
    CHECK_EQ(pthread_create(&visitor, NULL, is_refused, NULL), 0);
    CHECK_EQ(pthread_join(visitor, NULL), 0);
    CHECK_OK(rt_detach(handles[0]));
    rt_run();
    rt_cleanup();
}

static void *hears_of_a_panic(void *arg)
{
    rt_task_result result;
    CHECK_STATUS(rt_join_result(arg, &result), RT_ERR_PANICKED);
    CHECK(result.has_ended && result.outcome == RT_OUTCOME_PANICKED);
    CHECK_STR(result.message, "as told");
    return NULL;
}

static void *panics(void *arg)
{
    (void)arg;
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rt_panic_task("as told");
}

TEST(task_visitor_hears_how_a_task_has_ended)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    CHECK_EQ(pthread_create(&visitor, NULL, hears_of_a_panic, rt_go(panics, NULL)), 0);
    rt_run();
    CHECK_EQ(pthread_join(visitor, NULL), 0);
    rt_cleanup();
}

static void *joins_what_ends_late(void *arg)
{
    CHECK_OK(rt_join(handles[0], NULL));
    return arg;
}

static void *comes_second(void *arg)
{
    rt_task *copy = handles[0];
    CHECK_STATUS(rt_join(handles[0], NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_join_until(&copy, NULL, RT_TIME_NEVER), RT_ERR_INVALID);
    CHECK(copy == handles[0]);
    CHECK_STATUS(rt_cancel(handles[0], NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_detach(handles[0]), RT_ERR_INVALID);
    CHECK_OK(rt_channel_close_sender(arg));
    return NULL;
}

static void *ends_late(void *arg)
{
    int value;
    CHECK_STATUS(rt_channel_recv(arg, NULL, &value), RT_ERR_DISCONNECTED);
    return NULL;
}

static void *has_two_who_join(void *arg)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    handles[0] = rt_go(ends_late, rx);
    rt_task *first = rt_go(joins_what_ends_late, NULL);
    while (!rti_task_is_awaited(rti_task_lookup(rti_worker_current(), handles[0]))) {
        rt_yield();
    }
    CHECK_EQ(pthread_create(&visitor, NULL, comes_second, tx), 0);
    CHECK_OK(rt_join(first, NULL));
    CHECK_OK(rt_channel_close_receiver(rx));
    return arg;
}

TEST(no_colours_a_thread_that_joins_where_another_waits_is_refused)
{
    static const rt_config parallel = {.workers = 2};
    CHECK_OK(rt_run_main(&(rt_main_config){.parallel = &parallel}, has_two_who_join, NULL));
    CHECK_EQ(pthread_join(visitor, NULL), 0);
}

/* ---- several who come with one handle in the same moment ---- */

enum { RIVALS = 4, CONTESTS = 60 };

static rt_task *contested;
static rti_atomic_u32 contest; /* the number of the one that is on */
static rti_atomic_u32 winners;
static rti_atomic_u32 answers;
static rti_atomic_u32 wrong;

/* What one of them does with it, which is another thing each time. */
static rt_status comes_with(rt_task *handle, uint32_t what)
{
    rt_task_result result;
    void *value = NULL;
    switch (what % 5) {
    case 0:
        return rt_join_result(handle, &result);
    case 1:
        return rt_detach(handle);
    case 2:
        return rt_cancel(handle, &value);
    case 3:
        return rt_join_until(&handle, &value, RT_TIME_NEVER);
    default:
        return rt_join(handle, &value);
    }
}

static void *comes_each_time(void *arg)
{
    uint32_t self = (uint32_t)(uintptr_t)arg;
    for (uint32_t round = 1; round <= CONTESTS; round++) {
        /* Acquire pairs with the release in holds_contests: the handle is seen. */
        while (rti_u32_load_acquire(&contest) != round) {
            (void)sched_yield();
        }
        /* Who waits for ever is not to be left alone. */
        uint32_t what = round / 2 * self;
        what = round % 3 == 0 && what % 5 == 1 ? 0 : what;
        rt_status status = comes_with(contested, what);
        if (status.code == RT_ERR_INVALID) {
            CHECK(status.msg != NULL);
        } else {
            (void)rti_u32_add_relaxed(&winners, 1);
            /* One that came with rt_cancel may have won, or its task may have seen a cancellation
             * in vain. */
            bool is_right = status.code == RT_OK || status.code == RT_ERR_CANCELLED;
            (void)rti_u32_add_relaxed(&wrong, !is_right);
        }
        (void)rti_u32_add_acqrel(&answers, 1);
    }
    return NULL;
}

static void *holds_contests(void *arg)
{
    for (uint32_t round = 1; round <= CONTESTS; round++) {
        rti_u32_store_relaxed(&winners, 0);
        rti_u32_store_relaxed(&answers, 0);
        /* It has ended, or ends soon, or only when it is asked to. */
        contested = round % 3 == 0 ? rt_go(tasks_wait_for_ever, NULL) : rt_go(tasks_echo, NULL);
        CHECK(contested != NULL);
        if (round % 3 == 1) {
            rt_yield();
        }
        /* Release pairs with the acquire of those who come. */
        rti_u32_store_release(&contest, round);
        while (rti_u32_load_acquire(&answers) != RIVALS) {
            if (round % 3 == 0) {
                (void)rt_task_ask_cancel(contested);
            }
            rt_yield();
        }
        CHECK_EQ(rti_u32_load_relaxed(&winners), 1);
        CHECK_STATUS(rt_detach(contested), RT_ERR_INVALID);
    }
    return arg;
}

TEST(join_of_several_who_come_with_one_handle_is_that_of_one)
{
    pthread_t rivals[RIVALS];
    rti_u32_init(&contest, 0);
    rti_u32_init(&wrong, 0);
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    CHECK_OK(rt_detach(rt_go(holds_contests, NULL)));
    for (uintptr_t i = 0; i < RIVALS; i++) {
        CHECK_EQ(pthread_create(&rivals[i], NULL, comes_each_time, (void *)i), 0);
    }
    rt_run();
    for (int i = 0; i < RIVALS; i++) {
        CHECK_EQ(pthread_join(rivals[i], NULL), 0);
    }
    CHECK_EQ(rti_u32_load_relaxed(&wrong), 0);
    rt_cleanup();
}
