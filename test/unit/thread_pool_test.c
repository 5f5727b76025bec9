/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "thread_pool_test"
#include "task/thread_pool.h"

#include <orrery/rt.h>
#include <pthread.h>
#include <sched.h>

#include "sched/fiber.h"
#include "support/tasks.h"
#include "support/test.h"
#include "task/task.h"

static rti_atomic_u32 gate; /* 0: jobs that wait at it wait */
static rti_atomic_u32 at_gate;
static rti_atomic_u32 done_count;

static void *squares(void *arg)
{
    uintptr_t n = (uintptr_t)arg;
    CHECK(rti_worker_current() == NULL || rti_fiber_current() == NULL);
    (void)rti_u32_add_acqrel(&done_count, 1);
    return TASKS_NUMBER(n * n);
}

static void *waits_at_the_gate(void *arg)
{
    (void)rti_u32_add_acqrel(&at_gate, 1);
    while (rti_u32_load_acquire(&gate) == 0) {
        sched_yield();
    }
    return arg;
}

static void reset(void)
{
    rti_u32_init(&gate, 0);
    rti_u32_init(&at_gate, 0);
    rti_u32_init(&done_count, 0);
}

static void *computes(void *arg)
{
    reset();
    rt_pool *pool = rt_pool_open(3, 32);
    CHECK(pool != NULL);
    for (int round = 0; round < 5; round++) {
        rt_job *jobs[20];
        for (uintptr_t i = 0; i < 20; i++) {
            jobs[i] = rt_pool_spawn(pool, squares, TASKS_NUMBER(i), NULL);
            CHECK(jobs[i] != NULL);
        }
        for (uintptr_t i = 20; i > 0; i--) {
            void *value = NULL;
            CHECK_OK(rt_pool_join(jobs[i - 1], &value));
            CHECK(value == TASKS_NUMBER((i - 1) * (i - 1)));
        }
    }
    rti_thread_pool_audit((struct rti_thread_pool *)(void *)pool);
    CHECK_EQ(rti_u32_load_relaxed(&done_count), 100);
    CHECK_OK(rt_pool_close(pool));
    CHECK_STATUS(rt_pool_close(pool), RT_ERR_INVALID);
    rt_status status;
    CHECK(rt_pool_spawn(pool, squares, NULL, &status) == NULL);
    CHECK_STATUS(status, RT_ERR_INVALID);
    return arg;
}

TEST(pool_gives_the_results_of_its_jobs)
{
    tasks_run_everywhere(computes, NULL);
}

static void *fills_the_queue(void *arg)
{
    rt_status status;
    rt_job *jobs[5];
    reset();
    rt_pool *pool = rt_pool_open(1, 4);
    jobs[0] = rt_pool_spawn(pool, waits_at_the_gate, NULL, NULL);
    while (rti_u32_load_acquire(&at_gate) == 0) {
        rt_yield();
    }
    for (size_t i = 1; i < 5; i++) {
        jobs[i] = rt_pool_spawn(pool, squares, TASKS_NUMBER(i), &status);
        CHECK_OK(status);
        CHECK(jobs[i] != NULL);
    }
    CHECK(rt_pool_spawn(pool, squares, NULL, &status) == NULL);
    CHECK_STATUS(status, RT_ERR_FULL);
    rti_u32_store_release(&gate, 1);
    for (size_t i = 0; i < 5; i++) {
        CHECK_OK(rt_pool_join(jobs[i], NULL));
    }
    CHECK_OK(rt_pool_detach(rt_pool_spawn(pool, squares, NULL, &status)));
    CHECK_OK(rt_pool_close(pool));
    CHECK_EQ(rti_u32_load_relaxed(&done_count), 5);
    return arg;
}

TEST(pool_says_when_its_queue_is_full)
{
    CHECK_OK(tasks_run_fixed(fills_the_queue, NULL));
}

static void *keeps_too_many(void *arg)
{
    rt_job *jobs[RT_MAX_POOL_JOBS];
    rt_status status;
    rt_pool *pool = rt_pool_open(2, RT_MAX_POOL_JOBS);
    reset();
    for (size_t i = 0; i < RT_MAX_POOL_JOBS; i++) {
        jobs[i] = rt_pool_spawn(pool, squares, TASKS_NUMBER(i), &status);
        CHECK_OK(status);
        CHECK(jobs[i] != NULL);
    }
    CHECK(rt_pool_spawn(pool, squares, NULL, &status) == NULL);
    CHECK_STATUS(status, RT_ERR_FULL);
    CHECK_OK(rt_pool_join(jobs[0], NULL));
    jobs[0] = rt_pool_spawn(pool, squares, NULL, &status);
    CHECK_OK(status);
    for (size_t i = 0; i < RT_MAX_POOL_JOBS; i++) {
        CHECK_OK(rt_pool_detach(jobs[i]));
    }
    CHECK_OK(rt_pool_close(pool));
    CHECK_EQ(rti_u32_load_relaxed(&done_count), RT_MAX_POOL_JOBS + 1);
    return arg;
}

TEST(pool_has_a_limit_of_jobs_that_nobody_has_joined)
{
    tasks_run_everywhere(keeps_too_many, NULL);
}

static void *joins_a_job(void *arg)
{
    CHECK_STATUS(rt_pool_join(arg, NULL), RT_ERR_CANCELLED);
    return NULL;
}

static void *cancels_a_joiner(void *arg)
{
    reset();
    rt_pool *pool = rt_pool_open(1, 4);
    rt_job *job = rt_pool_spawn(pool, waits_at_the_gate, NULL, NULL);
    rt_task *task = rt_go(joins_a_job, job);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    rti_u32_store_release(&gate, 1);
    CHECK_OK(rt_pool_close(pool));
    return arg;
}

TEST(pool_join_that_is_cancelled_returns_at_once_and_the_job_goes_on)
{
    CHECK_OK(tasks_run_fixed(cancels_a_joiner, NULL));
}

static rt_job *volatile shared_job;

static void *joins_in_a_thread(void *arg)
{
    void *value = NULL;
    CHECK(rti_worker_current() == NULL);
    CHECK_OK(rt_pool_join(shared_job, &value));
    *(void **)arg = value;
    return NULL;
}

static void *has_a_thread(void *arg)
{
    void *value = NULL;
    pthread_t thread;
    reset();
    rt_pool *pool = rt_pool_open(2, 4);
    shared_job = rt_pool_spawn(pool, waits_at_the_gate, TASKS_NUMBER(3), NULL);
    CHECK(pthread_create(&thread, NULL, joins_in_a_thread, &value) == 0);
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    rti_u32_store_release(&gate, 1);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(value == TASKS_NUMBER(3));
    CHECK_OK(rt_pool_close(pool));
    return arg;
}

TEST(pool_join_blocks_a_thread_that_has_no_runtime)
{
    CHECK_OK(tasks_run_fixed(has_a_thread, NULL));
}

static void *uses_handles_twice(void *arg)
{
    reset();
    rt_pool *pool = rt_pool_open(1, 4);
    rt_job *volatile job = rt_pool_spawn(pool, squares, NULL, NULL);
    CHECK_OK(rt_pool_join(job, NULL));
    rt_job *other = rt_pool_spawn(pool, squares, NULL, NULL);
    CHECK_STATUS(rt_pool_join(job, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_pool_detach(job), RT_ERR_INVALID);
    CHECK_STATUS(rt_pool_join(NULL, NULL), RT_ERR_INVALID);
    CHECK_OK(rt_pool_join(other, NULL));
    CHECK_OK(rt_pool_close(pool));
    return arg;
}

TEST(pool_handle_that_is_consumed_is_refused)
{
    tasks_run_everywhere(uses_handles_twice, NULL);
}

/* One fiber waits with a handle: others are refused, and what it waits for comes to it. */
static void *joins_shared_job(void *arg)
{
    void *value = NULL;
    CHECK_OK(rt_pool_join(shared_job, &value));
    CHECK(value == TASKS_NUMBER(3));
    return arg;
}

static bool is_awaited(rt_job *handle)
{
    struct rti_job *job =
        (struct rti_job *)((uintptr_t)handle & ~(uintptr_t)(RTI_JOB_ALIGNMENT - 1));
    return job->waiter != NULL;
}

/* A pool whose one job stands at the gate, and a task that waits for it. */
static rt_pool *open_with_one_that_joins(rt_task **joiner)
{
    reset();
    rt_pool *pool = rt_pool_open(1, 4);
    shared_job = rt_pool_spawn(pool, waits_at_the_gate, TASKS_NUMBER(3), NULL);
    *joiner = rt_go(joins_shared_job, NULL);
    while (!is_awaited(shared_job)) {
        rt_yield();
    }
    return pool;
}

static void *comes_while_another_waits(void *arg)
{
    rt_task *first;
    rt_pool *pool = open_with_one_that_joins(&first);
    CHECK_STATUS(rt_pool_join(shared_job, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_pool_detach(shared_job), RT_ERR_INVALID);
    rti_u32_store_release(&gate, 1);
    CHECK_OK(rt_join(first, NULL));
    CHECK_STATUS(rt_pool_detach(shared_job), RT_ERR_INVALID);
    CHECK_OK(rt_pool_close(pool));
    return arg;
}

TEST(pool_join_with_a_handle_that_another_waits_with_is_refused)
{
    CHECK_OK(tasks_run_fixed(comes_while_another_waits, NULL));
}

/* A fiber that is killed while it joins has consumed the handle. */
static void *kills_who_joins(void *arg)
{
    rt_task *first;
    rt_pool *pool = open_with_one_that_joins(&first);
    rti_task_kill(rti_task_lookup(rti_worker_current(), first));
    CHECK_STATUS(rt_join(first, NULL), RT_ERR_CANCELLED);
    CHECK_STATUS(rt_pool_detach(shared_job), RT_ERR_INVALID);
    rti_u32_store_release(&gate, 1);
    /* There is room for as many as ever. */
    rt_job *jobs[RT_MAX_POOL_JOBS];
    for (size_t i = 0; i < RT_MAX_POOL_JOBS; i++) {
        while ((jobs[i] = rt_pool_spawn(pool, squares, TASKS_NUMBER(i), NULL)) == NULL) {
            CHECK(rti_u32_load_acquire(&done_count) <= i);
            rt_yield();
        }
    }
    for (size_t i = 0; i < RT_MAX_POOL_JOBS; i++) {
        CHECK_OK(rt_pool_join(jobs[i], NULL));
    }
    rti_thread_pool_audit((struct rti_thread_pool *)(void *)pool);
    CHECK_OK(rt_pool_close(pool));
    return arg;
}

TEST(pool_join_that_is_killed_gives_its_place_back)
{
    CHECK_OK(tasks_run_fixed(kills_who_joins, NULL));
}

static void *closes_pool(void *pool)
{
    (void)rt_pool_close(pool);
    CHECK(false); /* it was killed before */
    return NULL;
}

static bool has_closer(rt_pool *handle)
{
    return ((struct rti_thread_pool *)(void *)handle)->closer != NULL;
}

/* The one that closes is killed in its wait, or when that is over and it has not run yet. */
static void *kills_who_closes(void *arg)
{
    bool is_late = arg != NULL;
    reset();
    rt_pool *pool = rt_pool_open(1, 4);
    rt_job *job = rt_pool_spawn(pool, waits_at_the_gate, TASKS_NUMBER(3), NULL);
    rt_task *closer = rt_go(closes_pool, pool);
    while (!has_closer(pool)) {
        rt_yield();
    }
    CHECK(rt_pool_spawn(pool, squares, NULL, NULL) == NULL);
    struct rti_task *doomed = rti_task_lookup(rti_worker_current(), closer);
    if (is_late) {
        rti_u32_store_release(&gate, 1);
        /* Its turn comes after ours: it is woken by the post and not run. */
        while (has_closer(pool)) {
            rti_sched_drain_posts(rti_worker_current()->sched);
        }
    }
    rti_task_kill(doomed);
    CHECK_STATUS(rt_join(closer, NULL), RT_ERR_CANCELLED);
    rti_u32_store_release(&gate, 1);
    CHECK_OK(rt_pool_join(job, NULL));
    /* The pool is as it was: it takes jobs, and another closes it. */
    void *value = NULL;
    job = rt_pool_spawn(pool, squares, TASKS_NUMBER(5), NULL);
    CHECK(job != NULL);
    CHECK_OK(rt_pool_join(job, &value));
    CHECK(value == TASKS_NUMBER(25));
    CHECK_OK(rt_pool_close(pool));
    return NULL;
}

TEST(pool_whose_closer_is_killed_stays_open)
{
    CHECK_OK(tasks_run_fixed(kills_who_closes, NULL));
    CHECK_OK(tasks_run_fixed(kills_who_closes, TASKS_NUMBER(1)));
}

static void *joins_value(void *job)
{
    void *value = NULL;
    CHECK_OK(rt_pool_join(job, &value));
    return value;
}

static bool has_waiter(const rt_job *handle)
{
    uintptr_t number = (uintptr_t)handle & ~(uintptr_t)(RTI_JOB_ALIGNMENT - 1);
    return ((const struct rti_job *)number)->waiter != NULL;
}

/* One that joins is to be told of the end, or is told and has not run yet, when its pool is closed
 * and opened again. */
static void *opens_anew(void *arg)
{
    bool is_told = arg != NULL;
    void *value = NULL;
    pthread_t thread;
    reset();
    rt_pool *pool = rt_pool_open(1, 4);
    rt_job *job = rt_pool_spawn(pool, waits_at_the_gate, TASKS_NUMBER(3), NULL);
    rt_task *joiner = rt_go(joins_value, job);
    while (!has_waiter(job)) {
        rt_yield();
    }
    /* A thread waits for a job behind that: then both are done, and nothing was drained. */
    CHECK_EQ(pthread_create(&thread, NULL, joins_value,
                            rt_pool_spawn(pool, squares, TASKS_NUMBER(4), NULL)),
             0);
    rti_u32_store_release(&gate, 1);
    CHECK_EQ(pthread_join(thread, &value), 0);
    CHECK(value == TASKS_NUMBER(16));
    while (is_told && has_waiter(job)) {
        (void)rti_sched_drain_posts(rti_worker_current()->sched);
    }
    CHECK_OK(rt_pool_close(pool));
    CHECK(rt_pool_open(1, 4) == pool);
    rt_job *next = rt_pool_spawn(pool, squares, TASKS_NUMBER(5), NULL);
    CHECK(next != job);
    CHECK_OK(rt_join(joiner, &value));
    CHECK(value == TASKS_NUMBER(3));
    CHECK_OK(rt_pool_join(next, &value));
    CHECK(value == TASKS_NUMBER(25));
    rti_thread_pool_audit((struct rti_thread_pool *)(void *)pool);
    CHECK_OK(rt_pool_close(pool));
    return NULL;
}

TEST(pool_opened_again_keeps_the_jobs_of_those_who_join_before_the_close)
{
    CHECK_OK(tasks_run_fixed(opens_anew, NULL));
    CHECK_OK(tasks_run_fixed(opens_anew, TASKS_NUMBER(1)));
}

/* ---- several workers in the same moment ---- */

enum { RIVALS = RT_MAX_POOLS < 4 ? RT_MAX_POOLS : 4, CONTESTS = 40 };

static rti_atomic_u32 contest; /* the number of the one that is on */
static rti_atomic_u32 answers;
static rti_atomic_u32 closed;
static rt_pool *volatile opened[RIVALS];

/* Waits until the contest with this number is on. */
static void await_contest(uint32_t number)
{
    /* Acquire pairs with the release in holds_contests. */
    while (rti_u32_load_acquire(&contest) != number) {
        rt_yield();
    }
}

static void *opens_and_closes(void *arg)
{
    size_t self = (size_t)(uintptr_t)arg;
    for (uint32_t round = 0; round < CONTESTS; round++) {
        await_contest(2 * round + 1);
        opened[self] = rt_pool_open(1, 1);
        (void)rti_u32_add_acqrel(&answers, 1);
        await_contest(2 * round + 2);
        rt_status status = rt_pool_close(opened[0]);
        if (status.code == RT_OK) {
            (void)rti_u32_add_relaxed(&closed, 1);
        } else {
            CHECK_STATUS(status, RT_ERR_INVALID);
        }
        (void)rti_u32_add_acqrel(&answers, 1);
    }
    return NULL;
}

static void hold_contest(uint32_t number)
{
    rti_u32_store_relaxed(&answers, 0);
    rti_u32_store_relaxed(&closed, 0);
    /* Release pairs with the acquire of those who wait for it. */
    rti_u32_store_release(&contest, number);
    while (rti_u32_load_acquire(&answers) != RIVALS) {
        rt_yield();
    }
}

static void *holds_contests(void *arg)
{
    rt_task *rivals[RIVALS];
    rti_u32_init(&contest, 0);
    for (uintptr_t i = 0; i < RIVALS; i++) {
        rivals[i] = rt_go(opens_and_closes, (void *)i);
    }
    for (uint32_t round = 0; round < CONTESTS; round++) {
        hold_contest(2 * round + 1);
        for (size_t i = 0; i < RIVALS; i++) {
            CHECK(opened[i] != NULL);
            for (size_t j = 0; j < i; j++) {
                CHECK(opened[i] != opened[j]);
            }
        }
        hold_contest(2 * round + 2);
        CHECK_EQ(rti_u32_load_relaxed(&closed), 1);
        for (size_t i = 1; i < RIVALS; i++) {
            CHECK_OK(rt_pool_close(opened[i]));
        }
    }
    for (size_t i = 0; i < RIVALS; i++) {
        CHECK_OK(rt_join(rivals[i], NULL));
    }
    return arg;
}

TEST(pool_of_several_who_open_or_close_is_that_of_one)
{
    static const rt_config parallel = {.workers = 4};
    CHECK_OK(rt_run_main(&(rt_main_config){.parallel = &parallel}, holds_contests, NULL));
}

static void *opens_too_many(void *arg)
{
    rt_pool *pools[RT_MAX_POOLS];
    CHECK(rt_pool_open(0, 1) == NULL && rt_pool_open(1, 0) == NULL);
    CHECK(rt_pool_open(RT_MAX_POOL_THREADS + 1, 1) == NULL);
    CHECK(rt_pool_open(1, RT_MAX_POOL_JOBS + 1) == NULL);
    for (size_t i = 0; i < RT_MAX_POOLS; i++) {
        pools[i] = rt_pool_open(1, 1);
        CHECK(pools[i] != NULL);
    }
    CHECK(rt_pool_open(1, 1) == NULL);
    CHECK_OK(rt_pool_close(pools[0]));
    pools[0] = rt_pool_open(2, 2);
    CHECK(pools[0] != NULL);
    /* What is left open ends with the runtime, after the jobs that it has. */
    reset();
    CHECK_OK(rt_pool_detach(rt_pool_spawn(pools[0], squares, NULL, NULL)));
    return arg;
}

TEST(pool_count_is_limited_and_the_runtime_closes_what_is_left)
{
    tasks_run_everywhere(opens_too_many, NULL);
    CHECK_EQ(rti_u32_load_relaxed(&done_count), 1);
}

TEST(pool_needs_a_runtime)
{
    rt_status status;
    CHECK(rt_pool_open(1, 1) == NULL);
    CHECK_STATUS(rt_pool_close(NULL), RT_ERR_THREAD);
    CHECK(rt_pool_spawn(NULL, squares, NULL, &status) == NULL);
    CHECK_STATUS(status, RT_ERR_INVALID);
}

static void *goes_on(void *arg)
{
    for (int i = 0; i < 100; i++) {
        rt_yield();
    }
    tasks_say('t');
    return arg;
}

static void *works_beside(void *arg)
{
    reset();
    rt_pool *pool = rt_pool_open(1, 1);
    rt_job *job = rt_pool_spawn(pool, waits_at_the_gate, NULL, NULL);
    CHECK_OK(rt_join(rt_go(goes_on, NULL), NULL));
    rti_u32_store_release(&gate, 1);
    CHECK_OK(rt_pool_join(job, NULL));
    tasks_say('j');
    CHECK_OK(rt_pool_close(pool));
    return arg;
}

TEST(pool_jobs_run_beside_the_tasks)
{
    CHECK_OK(tasks_run_fixed(works_beside, NULL));
    CHECK_STR(tasks_said(), "tj");
}
