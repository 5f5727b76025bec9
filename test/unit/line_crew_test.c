/* SPDX-License-Identifier: Apache-2.0 */
/* Mutex, semaphore, wait group, once, condition and interval between fibers on several workers. */
#define _GNU_SOURCE
#define RTI_MODULE "line_crew_test"
#include <orrery/rt.h>

#include "support/crew.h"
#include "support/test.h"
#include "sync/channels.h"
#include "sync/mutex.h"

#define WORKERS 4
#define FIBERS  8
#define ROUNDS  2000

static struct rti_channels channels;
static rt_mutex mutex;
static rt_semaphore semaphore;
static rt_wait_group group;
static rt_once once;
static rt_condition changed;
static rt_interval interval;
static uint64_t counter; /* plain: the mutex guards it */
static rti_atomic_u32 inside;
static rti_atomic_u32 calls;
static rti_atomic_u32 refusals;

static void open_world(void)
{
    crew_world_open(WORKERS);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    counter = 0;
    rti_u32_init(&inside, 0);
    rti_u32_init(&calls, 0);
    rti_u32_init(&refusals, 0);
}

static void run_world(void)
{
    CHECK_OK(rti_sched_run(&crew_world.sched));
}

static void close_world(void)
{
    rti_channels_deinit(&channels);
    crew_world_close();
}

static void go_all(void (*main)(void *arg))
{
    for (uintptr_t i = 0; i < FIBERS; i++) {
        crew_world_go(main, (void *)i, 2);
    }
}

static void count_under_the_mutex(void *arg)
{
    for (uint64_t i = 0; i < ROUNDS; i++) {
        if (((uintptr_t)arg + i) % 5 == 0) {
            rt_status status = rt_mutex_lock_until(&mutex, NULL, rt_clock() + 500);
            if (status.code == RT_ERR_TIMEOUT) {
                rti_u32_add_relaxed(&refusals, 1);
                continue;
            }
            CHECK_OK(status);
        } else {
            CHECK_OK(rt_mutex_lock(&mutex, NULL));
        }
        CHECK_EQ(rti_u32_add_relaxed(&inside, 1), 0);
        counter++;
        if (i % 64 == 0) {
            rti_fiber_yield(rti_worker_current());
        }
        (void)rti_u32_sub_acqrel(&inside, 1);
        CHECK_OK(rt_mutex_unlock(&mutex, NULL));
    }
}

TEST(line_crew_mutex_has_one_holder_at_a_time)
{
    open_world();
    CHECK_OK(rt_mutex_init(&mutex));
    go_all(count_under_the_mutex);
    run_world();
    CHECK_EQ(counter + rti_u32_load_relaxed(&refusals), FIBERS * ROUNDS);
    rti_mutex_audit(rti_mutex_of(&mutex));
    CHECK_OK(rt_mutex_deinit(&mutex));
    close_world();
}

static void pass_the_semaphore(void *arg)
{
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint32_t want = 1 + (uint32_t)((uintptr_t)arg + i) % 3;
        CHECK_OK(rt_semaphore_acquire(&semaphore, want, NULL));
        CHECK(rti_u32_add_relaxed(&inside, want) + want <= 3);
        (void)rti_u32_sub_acqrel(&inside, want);
        CHECK_OK(rt_semaphore_release(&semaphore, want));
    }
}

TEST(line_crew_semaphore_lets_in_no_more_than_it_has)
{
    open_world();
    CHECK_OK(rt_semaphore_init(&semaphore, 3));
    go_all(pass_the_semaphore);
    run_world();
    CHECK_EQ(rt_semaphore_count(&semaphore), 3);
    CHECK_OK(rt_semaphore_deinit(&semaphore));
    close_world();
}

static void call_it(void *arg)
{
    (void)arg;
    rti_fiber_yield(rti_worker_current());
    rti_u32_add_relaxed(&calls, 1);
}

static void once_and_done(void *arg)
{
    (void)arg;
    CHECK_OK(rt_once_run(&once, NULL, call_it, NULL));
    CHECK_EQ(rti_u32_load_relaxed(&calls), 1);
    CHECK_OK(rt_wait_group_done(&group));
}

static void await_all(void *arg)
{
    (void)arg;
    CHECK_OK(rt_wait_group_wait(&group, NULL));
    rti_u32_add_relaxed(&inside, 1);
}

TEST(line_crew_once_is_called_once_and_the_group_waits_for_all)
{
    for (int round = 0; round < 100; round++) {
        open_world();
        CHECK_OK(rt_once_init(&once));
        CHECK_OK(rt_wait_group_init(&group));
        CHECK_OK(rt_wait_group_add(&group, FIBERS));
        crew_world_go(await_all, NULL, 2);
        go_all(once_and_done);
        crew_world_go(await_all, NULL, 2);
        run_world();
        CHECK_EQ(rti_u32_load_relaxed(&inside), 2);
        CHECK_OK(rt_once_deinit(&once));
        CHECK_OK(rt_wait_group_deinit(&group));
        close_world();
    }
}

/* Half of them make things, half of them take them. */
static void make_or_take(void *arg)
{
    bool is_maker = (uintptr_t)arg % 2 == 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        CHECK_OK(rt_mutex_lock(&mutex, NULL));
        while (!is_maker && counter == 0) {
            CHECK_OK(rt_condition_wait(&changed, &mutex, NULL));
        }
        counter = is_maker ? counter + 1 : counter - 1;
        if (is_maker) {
            CHECK_OK(rt_condition_signal(&changed));
        }
        CHECK_OK(rt_mutex_unlock(&mutex, NULL));
    }
}

TEST(line_crew_condition_loses_no_signal)
{
    open_world();
    CHECK_OK(rt_mutex_init(&mutex));
    CHECK_OK(rt_condition_init(&changed));
    go_all(make_or_take);
    run_world();
    CHECK_EQ(counter, 0);
    CHECK_OK(rt_condition_deinit(&changed));
    CHECK_OK(rt_mutex_deinit(&mutex));
    close_world();
}

static void take_ticks(void *arg)
{
    for (int i = 0; i < 20; i++) {
        if ((uintptr_t)arg % 2 == 0) {
            CHECK_OK(rt_interval_recv(&interval, NULL, NULL));
        } else {
            rt_select_arm arm;
            rt_selected chosen;
            rt_arm_tick(&arm, &interval, NULL);
            CHECK_OK(rt_select(&arm, 1, NULL, &chosen));
            CHECK_OK(chosen.status);
        }
        rti_u32_add_relaxed(&calls, 1);
    }
}

TEST(line_crew_interval_gives_each_tick_once)
{
    open_world();
    rt_time start = rt_clock();
    CHECK_OK(rt_interval_open(&interval, 20 * RT_NS_PER_US, RT_MISSED_BURST));
    go_all(take_ticks);
    run_world();
    CHECK_EQ(rti_u32_load_relaxed(&calls), FIBERS * 20);
    CHECK(rt_clock() - start >= FIBERS * 20 * 20 * RT_NS_PER_US);
    CHECK_OK(rt_interval_close(&interval));
    close_world();
}
