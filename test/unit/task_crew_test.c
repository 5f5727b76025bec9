/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks on several workers: the same program as on one. */
#define RTI_MODULE "task_crew_test"
#include <orrery/rt.h>

#include "base/atomic.h"
#include "support/tasks.h"
#include "support/test.h"
#include "task/tasks.h"

#define WORKERS 3

static rti_atomic_u32 ended;

static void run(rt_task_fn fn)
{
    rt_config config = {.workers = WORKERS};
    CHECK_OK(rt_init_ex(&config));
    rti_u32_init(&ended, 0);
    rt_task *first = rt_go_ex(fn, NULL, &(rt_task_config){.stack_size = 65536});
    CHECK(first != NULL);
    rt_run();
    CHECK_OK(rt_join(first, NULL));
    rt_cleanup();
}

static void *nothing(void *arg)
{
    (void)rti_u32_add_relaxed(&ended, 1);
    return arg;
}

static void *spawns_and_joins(void *arg)
{
    for (uintptr_t i = 0; i < 5000; i++) {
        void *value = NULL;
        CHECK_OK(rt_join(rt_go(nothing, TASKS_NUMBER(i)), &value));
        CHECK(value == TASKS_NUMBER(i));
    }
    CHECK_EQ(rti_u32_load_relaxed(&ended), 5000);
    return arg;
}

TEST(task_crew_joins_one_after_another)
{
    run(spawns_and_joins);
}

static void *spawns_in_batches(void *arg)
{
    for (int round = 0; round < 300; round++) {
        rt_task *tasks[32];
        for (uintptr_t i = 0; i < 32; i++) {
            tasks[i] = rt_go(nothing, TASKS_NUMBER(i));
            CHECK(tasks[i] != NULL);
        }
        for (uintptr_t i = 0; i < 32; i++) {
            void *value = NULL;
            if (i % 4 == 0) {
                CHECK_OK(rt_detach(tasks[i]));
            } else if (i % 4 == 1) {
                CHECK_OK(rt_cancel(tasks[i], &value));
                CHECK(value == TASKS_NUMBER(i));
            } else {
                CHECK_OK(rt_join(tasks[i], &value));
                CHECK(value == TASKS_NUMBER(i));
            }
        }
        /* Those that were detached may still run. */
        rt_time deadline = rt_clock() + 5 * RT_NS_PER_S;
        while (rti_tasks_live(rti_tasks_of(rti_worker_current())) > 1 && rt_clock() < deadline) {
            rt_yield();
        }
    }
    CHECK_EQ(rti_u32_load_relaxed(&ended), 300 * 32);
    return arg;
}

TEST(task_crew_joins_detaches_and_cancels_in_batches)
{
    run(spawns_in_batches);
}

static void *makes_a_tree(void *arg)
{
    uintptr_t depth = (uintptr_t)arg;
    if (depth > 0) {
        rt_task *left = rt_go(makes_a_tree, TASKS_NUMBER(depth - 1));
        rt_task *right = rt_go(makes_a_tree, TASKS_NUMBER(depth - 1));
        CHECK(left != NULL && right != NULL);
        CHECK_OK(rt_join(left, NULL));
        CHECK_OK(rt_join(right, NULL));
    }
    (void)rti_u32_add_relaxed(&ended, 1);
    return NULL;
}

static void *makes_trees(void *arg)
{
    for (int i = 0; i < 100; i++) {
        rti_u32_store_relaxed(&ended, 0);
        CHECK_OK(rt_join(rt_go(makes_a_tree, TASKS_NUMBER(4)), NULL));
        CHECK_EQ(rti_u32_load_relaxed(&ended), 31);
    }
    return arg;
}

TEST(task_crew_joins_trees)
{
    run(makes_trees);
}

static void *cancels_sleepers(void *arg)
{
    for (int round = 0; round < 200; round++) {
        rt_task *tasks[8];
        for (int i = 0; i < 8; i++) {
            tasks[i] = rt_go(tasks_wait_for_ever, TASKS_NUMBER(i));
        }
        if (round % 2 == 0) {
            rt_yield();
        }
        for (uintptr_t i = 0; i < 8; i++) {
            void *value = NULL;
            CHECK_STATUS(rt_cancel(tasks[i], &value), RT_ERR_CANCELLED);
            CHECK(value == TASKS_NUMBER(i));
        }
    }
    return arg;
}

TEST(task_crew_cancels_those_that_wait_or_are_about_to)
{
    run(cancels_sleepers);
}

static rt_status notes(void *arg)
{
    (void)arg;
    (void)rti_u32_add_relaxed(&ended, 1);
    return RT_SUCCESS;
}

static void *panics_or_sleeps(void *arg)
{
    RT_ENSURE(notes, NULL);
    (void)rt_sleep((uintptr_t)arg % 3 * 100 * RT_NS_PER_US);
    if ((uintptr_t)arg % 5 == 0) {
        rt_panic_task("by turns");
    }
    return arg;
}

static void *has_members(void *arg)
{
    for (uintptr_t i = 0; i < 10; i++) {
        rt_task *task = rt_go(panics_or_sleeps, TASKS_NUMBER(i + 1));
        if (task == NULL) {
            CHECK(rt_cancelled());
            break;
        }
        (void)rt_join(task, NULL);
    }
    return arg;
}

static void *uses_blocks(void *arg)
{
    for (int round = 0; round < 20; round++) {
        rti_u32_store_relaxed(&ended, 0);
        CHECK_OK(rt_using(NULL, has_members, NULL, NULL));
        CHECK_EQ(rti_u32_load_relaxed(&ended), 10);
        rt_status status = rt_timeout(RT_NS_PER_MS, has_members, NULL, NULL);
        CHECK(!RT_FAILED(status) || status.code == RT_ERR_TIMEOUT);
        CHECK_EQ(rti_tasks_live(rti_tasks_of(rti_worker_current())), 1);
    }
    return arg;
}

TEST(task_crew_blocks_end_with_their_last_task)
{
    run(uses_blocks);
}

static rti_atomic_u32 opened;

static rt_status does_nothing(void *arg)
{
    (void)arg;
    return RT_SUCCESS;
}

/* One context of its own after the other, and one shield. */
static void *opens_contexts(void *arg)
{
    for (int i = 0; i < 100; i++) {
        rt_cx cx;
        CHECK_OK(rt_cx_init(&cx));
        CHECK_OK(rt_cx_deinit(&cx));
        CHECK_OK(rt_ensure(does_nothing, NULL));
        CHECK_OK(rt_ensure_run());
        (void)rti_u32_add_relaxed(&opened, 1);
    }
    return arg;
}

static void *asks_who_opens_contexts(void *arg)
{
    for (uint32_t round = 1; round <= 20; round++) {
        rt_task *task = rt_go(opens_contexts, NULL);
        CHECK(task != NULL);
        while (rti_u32_load_relaxed(&opened) < 100 * round) {
            CHECK_OK(rt_task_ask_cancel(task));
            rt_yield();
        }
        CHECK_OK(rt_join(task, NULL));
    }
    return arg;
}

/* The one who asks goes inwards along the contexts while the other makes them. */
TEST(task_crew_asks_one_to_stop_that_opens_contexts)
{
    rti_u32_init(&opened, 0);
    run(asks_who_opens_contexts);
}

#define DEEP 16

/* Looks at its contexts until it is asked to stop. */
static void *looks_at_its_contexts(void *arg)
{
    rt_cx contexts[DEEP];
    for (int i = 0; i < DEEP; i++) {
        CHECK_OK(rt_cx_init(&contexts[i]));
    }
    (void)rti_u32_add_relaxed(&opened, 1);
    while (!rt_cx_is_cancelled(NULL)) {
        rti_cx_audit(rti_cx_of(rt_cx_current()));
    }
    for (int i = DEEP - 1; i >= 0; i--) {
        CHECK_OK(rt_cx_deinit(&contexts[i]));
    }
    return arg;
}

static void *asks_who_looks(void *arg)
{
    for (uint32_t round = 1; round <= 50; round++) {
        rt_task *task =
            rt_go_ex(looks_at_its_contexts, NULL, &(rt_task_config){.stack_size = 65536});
        CHECK(task != NULL);
        while (rti_u32_load_relaxed(&opened) < round) {
            rt_yield();
        }
        CHECK_OK(rt_task_ask_cancel(task));
        CHECK_OK(rt_join(task, NULL));
    }
    return arg;
}

/* An outer one is asked before those inside it: who looks meanwhile sees all of it or nothing. */
TEST(task_crew_finds_its_contexts_in_order_when_it_is_asked_to_stop)
{
    rti_u32_init(&opened, 0);
    run(asks_who_looks);
}

/* ---- slots and stacks of the stations ---- */

#define ROOM 200

static void *is_released(void *arg)
{
    CHECK_STATUS(rt_sleep(RT_TIME_NEVER), RT_ERR_CANCELLED);
    return arg;
}

/* Uses many stacks and slots at once, and gives them back wherever it runs then. */
static void *starts_some(void *arg)
{
    rt_task *some[40];
    for (size_t i = 0; i < RTI_COUNT_OF(some); i++) {
        some[i] = rt_go(tasks_sleep_ms, TASKS_NUMBER(i % 3));
        CHECK(some[i] != NULL);
    }
    for (size_t i = 0; i < RTI_COUNT_OF(some); i++) {
        CHECK_OK(rt_join(some[i], NULL));
    }
    return arg;
}

static void *fills_the_room(void *arg)
{
    static rt_task *many[RT_MAX_TASKS + ROOM];
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < WORKERS + 1; i++) {
            many[i] = rt_go(starts_some, NULL);
            CHECK(many[i] != NULL);
        }
        for (size_t i = 0; i < WORKERS + 1; i++) {
            CHECK_OK(rt_join(many[i], NULL));
        }
        /* What they have left at their stations is not missing, and nobody has more than is. */
        size_t count = 0;
        while (count < RTI_COUNT_OF(many) && (many[count] = rt_go(is_released, NULL)) != NULL) {
            count++;
        }
        CHECK_EQ(count, RT_MAX_TASKS + ROOM - 1);
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
        for (size_t i = 0; i < count; i++) {
            CHECK_STATUS(rt_cancel(many[i], NULL), RT_ERR_CANCELLED);
        }
    }
    return arg;
}

TEST(task_crew_fills_the_room_wherever_free_slots_lie)
{
    run(fills_the_room);
}

static rti_atomic_u32 is_asked;

static void *ignores_it(void *arg)
{
    while (rti_u32_load_relaxed(&is_asked) == 0) {
        rt_yield();
    }
    return arg;
}

static void *sees_none(void *arg)
{
    CHECK(!rt_cancelled());
    CHECK_OK(rt_sleep(1));
    return arg;
}

static void *asks_who_ignores_it(void *arg)
{
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    for (int i = 0; i < 200; i++) {
        rti_u32_init(&is_asked, 0);
        rt_task *task = rt_go(ignores_it, NULL);
        CHECK_OK(rt_task_ask_cancel(task));
        rti_u32_store_relaxed(&is_asked, 1);
        CHECK_OK(rt_join(task, NULL));
        CHECK_OK(rt_join(rt_go(sees_none, NULL), NULL));
    }
    return arg;
}

TEST(task_crew_next_in_a_slot_is_not_asked_to_stop)
{
    run(asks_who_ignores_it);
}

#define ASKED 16

static rti_atomic_ptr asked_handles[ASKED];
static rti_atomic_u32 is_over;

static void *asks_all(void *arg)
{
    while (rti_u32_load_relaxed(&is_over) == 0) {
        for (size_t i = 0; i < ASKED; i++) {
            rt_task *handle = rti_ptr_load_acquire(&asked_handles[i]);
            if (handle != NULL) {
                (void)rt_task_ask_cancel(handle);
            }
        }
        rt_yield();
    }
    return arg;
}

/* Those that are asked have even numbers. */
static void *is_asked_by_number(void *arg)
{
    CHECK(!rt_cancelled() || (uintptr_t)arg % 2 == 0);
    return arg;
}

static void *joins_who_are_asked(void *arg)
{
    rt_task *askers[2];
    rt_task *tasks[2 * ASKED];
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    rti_u32_init(&is_over, 0);
    for (size_t i = 0; i < 2; i++) {
        askers[i] = rt_go(asks_all, NULL);
    }
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < 2 * ASKED; i++) {
            tasks[i] = rt_go(is_asked_by_number, TASKS_NUMBER(i));
            CHECK(tasks[i] != NULL);
            if (i % 2 == 0) {
                rti_ptr_store_release(&asked_handles[i / 2], tasks[i]);
            }
        }
        /* In any order, so that slots of the one kind are of the other next. */
        for (size_t i = 0; i < 2 * ASKED; i++) {
            rt_status status = rt_join(tasks[i * 5 % (2 * ASKED)], NULL);
            CHECK(!RT_FAILED(status) || status.code == RT_ERR_CANCELLED);
        }
    }
    rti_u32_store_relaxed(&is_over, 1);
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(rt_join(askers[i], NULL));
    }
    return arg;
}

TEST(task_crew_asks_only_those_whose_handles_it_has)
{
    run(joins_who_are_asked);
}

static rt_local late_key;

static rt_status runs_late(void *arg)
{
    (void)arg;
    (void)rti_u32_add_relaxed(&ended, 1);
    return RT_SUCCESS;
}

static void leaves_a_hook(void *value)
{
    CHECK_OK(rt_ensure(runs_late, value));
}

static void *has_a_late_hook(void *arg)
{
    CHECK_OK(rt_local_set(late_key, arg));
    return arg;
}

static void *starts_those_with_late_hooks(void *arg)
{
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    CHECK_OK(rt_local_open(&late_key, leaves_a_hook));
    for (int round = 0; round < 300; round++) {
        rt_task *tasks[32];
        for (uintptr_t i = 0; i < 32; i++) {
            tasks[i] = rt_go(i % 2 == 0 ? has_a_late_hook : nothing, TASKS_NUMBER(i + 1));
            CHECK(tasks[i] != NULL);
        }
        for (uintptr_t i = 0; i < 32; i++) {
            void *value = NULL;
            CHECK_OK(rt_join(tasks[i], &value));
            CHECK(value == TASKS_NUMBER(i + 1));
        }
    }
    CHECK_EQ(rti_u32_load_relaxed(&ended), 300 * 32);
    return arg;
}

/* The undertaker runs it and gives the stack back, while the task has just come to its end. */
TEST(task_crew_runs_the_hook_that_a_destructor_has_left)
{
    run(starts_those_with_late_hooks);
}
