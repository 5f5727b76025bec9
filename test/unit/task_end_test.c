/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of tasks, one behind another on the same stack and of many sorts: each is told to who joins,
 * whatever the ones before and behind it are. With one worker, with one of the parallel engine, who
 * works alone, and with several. */
#define RTI_MODULE "task_end_test"
#include "task/task.h"

#include <errno.h>
#include <orrery/rt.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/runtime.h"
#include "support/test.h"
#include "task/tasks.h"

#define BATCH  300 /* more than a ring has room for */
#define ROUNDS 20
#define SORTS  11

static rti_atomic_u32 hooks_run;
static rt_mutex mutexes[BATCH]; /* one for each that ends with it */

static rt_status hook(void *arg)
{
    (void)arg;
    (void)rti_u32_add_relaxed(&hooks_run, 1);
    return RT_SUCCESS;
}

/* Goes too far at the other end of its stack than the guard page is at. */
static void break_guard_word(void)
{
    const struct rti_stack *stack = &rti_worker_current()->fiber->stack;
    *(volatile uint64_t *)(void *)stack->high_guard = 1;
}

static void *ends(void *arg)
{
    /* Whoever ended on this stack before has left nothing behind. */
    CHECK_EQ(errno, 0);
    CHECK(!rt_cancelled() || (uintptr_t)arg % SORTS == 3);
    switch ((uintptr_t)arg % SORTS) {
    case 1:
        CHECK_OK(rt_ensure(hook, NULL));
        break;
    case 2:
        rt_panic_task("that is its end");
    case 4:
        rt_yield();
        break;
    case 5:
        errno = EINVAL;
        break;
    case 9:
        CHECK_OK(rt_mutex_lock(&mutexes[(uintptr_t)arg], NULL));
        break;
    case 10:
        break_guard_word();
        break;
    default:
        break;
    }
    return arg;
}

static rt_task *start(uintptr_t number)
{
    static const rt_task_config urgent = {.priority = RT_PRIO_HIGH, .is_priority_set = true};
    static const rt_task_config roomy = {.stack_size = 32768};
    switch (number % SORTS) {
    case 6:
        return rt_go_ex(ends, (void *)number, &urgent);
    case 7:
        /* The arena has few stacks. */
        return number < 3 * SORTS ? rt_go_ex(ends, (void *)number, &roomy)
                                  : rt_go(ends, (void *)number);
    default:
        return rt_go(ends, (void *)number);
    }
}

/* Its holder has ended, which is said to who comes. */
static void take_over(rt_mutex *mutex)
{
    CHECK_STATUS(rt_mutex_lock(mutex, NULL), RT_ERR_OWNER_DIED);
    CHECK_OK(rt_mutex_recover(mutex, NULL));
    CHECK_OK(rt_mutex_unlock(mutex, NULL));
}

static void collect(uintptr_t number, rt_task *task)
{
    void *value = NULL;
    switch (number % SORTS) {
    case 2:
    case 10:
        CHECK_STATUS(rt_join(task, &value), RT_ERR_PANICKED);
        break;
    case 3:
        /* It sees that it was asked, or ended before. */
        (void)rt_join(task, &value);
        break;
    case 8:
        CHECK_OK(rt_detach(task));
        break;
    case 9:
        CHECK_OK(rt_join(task, &value));
        CHECK(value == (void *)number);
        take_over(&mutexes[number]);
        break;
    default:
        CHECK_OK(rt_join(task, &value));
        CHECK(value == (void *)number);
        break;
    }
    CHECK_STATUS(rt_join(task, NULL), RT_ERR_INVALID);
}

static void *play(void *arg)
{
    static rt_task *tasks[BATCH];
    for (uintptr_t i = 0; i < BATCH; i++) {
        CHECK_OK(rt_mutex_init(&mutexes[i]));
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uintptr_t i = 0; i < BATCH; i++) {
            tasks[i] = start(i);
            CHECK(tasks[i] != NULL);
            if (i % SORTS == 3) {
                CHECK_OK(rt_task_ask_cancel(tasks[i]));
            }
        }
        for (uintptr_t i = 0; i < BATCH; i++) {
            collect(i, tasks[i]);
        }
    }
    for (uintptr_t i = 0; i < BATCH; i++) {
        CHECK_OK(rt_mutex_deinit(&mutexes[i]));
    }
    return arg;
}

/* `workers`: 0 for the fixed engine. */
static void run(uint32_t workers)
{
    rti_u32_init(&hooks_run, 0);
    if (workers == 0) {
        CHECK_OK(rt_init());
    } else {
        CHECK_OK(rt_init_ex(&(rt_config){.workers = workers}));
    }
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 2 * BATCH}));
    CHECK_OK(rt_detach(rt_go(play, NULL)));
    rt_run();
    CHECK_EQ(rti_u32_load_relaxed(&hooks_run), ROUNDS * ((BATCH + SORTS - 2) / SORTS));
    struct rti_tasks *tasks = rti_runtime.sched.modules[RTI_MODULE_TASK];
    CHECK_EQ(rti_tasks_live(tasks), 0);
    CHECK_EQ(rti_stack_slab_audit(&tasks->slab), 0);
    rt_cleanup();
}

TEST(task_ends_of_all_sorts_are_told_on_the_fixed_engine)
{
    run(0);
}

TEST(task_ends_of_all_sorts_are_told_by_who_works_alone)
{
    run(1);
}

TEST(task_ends_of_all_sorts_are_told_by_several_workers)
{
    run(3);
}

static void *is_in_region(void *arg)
{
    CHECK(rt_region_current() == arg);
    return arg;
}

/* Several from the same place: only the first of them is numbered anew. */
static void *starts_in_region(void *arg)
{
    rt_task *tasks[4];
    for (size_t i = 0; i < RTI_COUNT_OF(tasks); i++) {
        tasks[i] = rt_go(is_in_region, arg);
        CHECK(tasks[i] != NULL);
    }
    for (size_t i = 0; i < RTI_COUNT_OF(tasks); i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    return arg;
}

static void *plays_in_regions(void *arg)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        rt_region region;
        CHECK_OK(rt_region_open(&region, NULL, NULL));
        CHECK_OK(rt_join(rt_region_go(&region, starts_in_region, &region), NULL));
        CHECK_OK(rt_region_close(&region, NULL));
        CHECK_OK(rt_join(rt_go(starts_in_region, NULL), NULL));
    }
    return arg;
}

TEST(task_started_in_a_region_by_who_works_alone_is_in_it)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 1}));
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = BATCH}));
    CHECK_OK(rt_detach(rt_go(plays_in_regions, NULL)));
    rt_run();
    rt_cleanup();
}
