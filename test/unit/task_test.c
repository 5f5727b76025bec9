/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_test"
#include "task/task.h"

#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/task_report.h"
#include "task/tasks.h"

static struct rti_tasks *module(void)
{
    return rti_tasks_of(rti_worker_current());
}

static void *joins_one(void *arg)
{
    void *value = NULL;
    CHECK_OK(rt_join(rt_go(tasks_echo, TASKS_NUMBER(2)), &value));
    CHECK(value == TASKS_NUMBER(2));
    CHECK_OK(rt_join(rt_go(tasks_echo, NULL), &value));
    CHECK(value == NULL);
    CHECK_OK(rt_join(rt_go(tasks_echo, TASKS_NUMBER(RT_ERR_CANCELLED)), &value));
    CHECK(value == TASKS_NUMBER(RT_ERR_CANCELLED));
    return arg;
}

TEST(task_gives_any_value_as_its_result)
{
    tasks_run_everywhere(joins_one, NULL);
}

static void *says_later(void *arg)
{
    tasks_say('b');
    return arg;
}

static void *spawns_and_goes_on(void *arg)
{
    rt_task *task = rt_go(says_later, NULL);
    tasks_say('a');
    CHECK_OK(rt_join(task, NULL));
    tasks_say('c');
    return arg;
}

TEST(task_first_runs_when_its_turn_comes)
{
    CHECK_OK(tasks_run(spawns_and_goes_on, NULL));
    CHECK_STR(tasks_said(), "abc");
    CHECK_OK(tasks_run_fixed(spawns_and_goes_on, NULL));
    CHECK_STR(tasks_said(), "abc");
}

static void *fills_the_table(void *arg)
{
    rt_task *tasks[RT_MAX_TASKS];
    size_t count = 0;
    rt_status status;
    rt_task_config config = {.status = &status, .stack_size = 4096};
    /* Thrice, so that every slot is used again. */
    for (int round = 0; round < 3; round++) {
        for (count = 0; count < RT_MAX_TASKS - 1; count++) {
            tasks[count] = rt_go_ex(tasks_echo, TASKS_NUMBER(count), &config);
            CHECK_OK(status);
            CHECK(tasks[count] != NULL);
        }
        CHECK(rt_go_ex(tasks_echo, NULL, &config) == NULL);
        CHECK_STATUS(status, RT_ERR_NOMEM);
        void *value = NULL;
        CHECK_OK(rt_join(tasks[7], &value));
        CHECK(value == TASKS_NUMBER(7));
        tasks[7] = rt_go_ex(tasks_echo, TASKS_NUMBER(7), &config);
        CHECK(tasks[7] != NULL);
        rti_tasks_audit(module());
        while (count > 0) {
            count--;
            CHECK_OK(rt_join(tasks[count], &value));
            CHECK(value == TASKS_NUMBER(count));
        }
    }
    CHECK_EQ(rti_tasks_live(module()), 1);
    return arg;
}

TEST(task_table_that_is_full_refuses_and_recovers)
{
    tasks_run_everywhere(fills_the_table, NULL);
}

static void *wants_too_much(void *arg)
{
    rt_status status = RT_SUCCESS;
    rt_task_config config = {.status = &status, .stack_size = RT_STACK_ARENA_SIZE};
    CHECK(rt_go_ex(tasks_echo, NULL, &config) == NULL);
    CHECK_STATUS(status, RT_ERR_NOMEM);
    config.stack_size = 1;
    CHECK(rt_go_ex(tasks_echo, NULL, &config) == NULL);
    CHECK_STATUS(status, RT_ERR_INVALID);
    config.stack_size = RT_STACK_SIZE_MAX;
    CHECK(rt_go_ex(tasks_echo, NULL, &config) == NULL);
    CHECK_STATUS(status, RT_ERR_NOMEM);
    config.stack_size = (size_t)RT_STACK_SIZE_MAX + 1;
    CHECK(rt_go_ex(tasks_echo, NULL, &config) == NULL);
    CHECK_STATUS(status, RT_ERR_INVALID);
    config.stack_size = SIZE_MAX;
    CHECK(rt_go_ex(tasks_echo, NULL, &config) == NULL);
    CHECK_STATUS(status, RT_ERR_INVALID);
    config = (rt_task_config){.status = &status, .priority = (rt_priority)4};
    CHECK(rt_go_ex(tasks_echo, NULL, &config) == NULL);
    CHECK_STATUS(status, RT_ERR_INVALID);
    rt_task_fn none = NULL;
    CHECK(rt_go(none, NULL) == NULL);
    rti_tasks_audit(module());
    return arg;
}

TEST(task_that_cannot_be_started_changes_nothing)
{
    tasks_run_everywhere(wants_too_much, NULL);
}

static void *says_its_number(void *arg)
{
    tasks_say((char)(uintptr_t)arg);
    return NULL;
}

static void *spawns_by_priority(void *arg)
{
    static const rt_priority priorities[] = {RT_PRIO_LOW, RT_PRIO_NORMAL, RT_PRIO_HIGH,
                                             RT_PRIO_CRITICAL};
    rt_task *tasks[4];
    for (size_t i = 0; i < 4; i++) {
        rt_task_config config = {.priority = priorities[i], .is_priority_set = true};
        tasks[i] = rt_go_ex(says_its_number, TASKS_NUMBER('0' + priorities[i]), &config);
    }
    for (size_t i = 0; i < 4; i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    return arg;
}

TEST(task_runs_by_its_priority)
{
    CHECK_OK(tasks_run(spawns_by_priority, NULL));
    CHECK_STR(tasks_said(), "0123");
}

static void *knows_where_it_comes_from(void *arg)
{
    const struct rti_task *self = rti_task_of(rti_worker_current());
    struct rti_task_identity known;
    CHECK(self != NULL);
    rti_task_identify(self, &known);
    CHECK(known.sites[0] != NULL && known.sites[1] != NULL && known.sites[2] == NULL);
    CHECK(strstr(known.sites[0]->file, "task_test.c") != NULL);
    CHECK_EQ(known.sites[0]->line, (uintptr_t)arg);
    CHECK_STR(known.name, "knows_where_it_comes_from");
    CHECK_STR(known.sites[1]->file, "rt_run_main");
    CHECK_EQ(self->fiber.origin.parent, RTI_TASK_TRACE_ID | 1);
    return NULL;
}

static void *spawns_here(void *arg)
{
    CHECK_OK(rt_join(rt_go(knows_where_it_comes_from, TASKS_NUMBER(__LINE__)), NULL));
    return arg;
}

TEST(task_knows_its_place_of_spawn_and_its_parent)
{
    tasks_run_everywhere(spawns_here, NULL);
}

/* The table of spawns has no room: the task alone knows where it was started. */
static void *is_not_in_the_table(void *arg)
{
    const struct rti_task *self = rti_task_of(rti_worker_current());
    struct rti_task_identity known;
    CHECK_EQ(self->fiber.origin.number, 0);
    rti_task_identify(self, &known);
    CHECK(known.sites[0] != NULL && known.sites[1] == NULL);
    CHECK_STR(known.name, "is_not_in_the_table");
    return arg;
}

static void *spawns_with_a_full_table(void *arg)
{
    struct rti_origins *origins = &rti_worker_current()->sched->origins;
    rt_task_result result;
    for (size_t i = 0; i < RTI_ORIGINS_MAX; i++) {
        rti_u32_store_relaxed(&origins->entries[i].is_taken, 1);
    }
    for (int i = 0; i < 3; i++) {
        int line = __LINE__ + 1;
        CHECK_OK(rt_join_result(rt_go(is_not_in_the_table, arg), &result));
        CHECK_EQ(result.site.line, line);
        CHECK(strstr(result.site.file, "task_test.c") != NULL);
    }
    return arg;
}

TEST(task_knows_its_place_of_spawn_also_if_nothing_else_does)
{
    tasks_run_everywhere(spawns_with_a_full_table, NULL);
}

static void *panics(void *arg)
{
    (void)arg;
    rt_panic_task("out of cheese");
}

static void *joins_a_panic(void *arg)
{
    rt_task_result result;
    CHECK_STATUS(rt_join_result(rt_go(panics, NULL), &result), RT_ERR_PANICKED);
    CHECK(result.has_ended && result.outcome == RT_OUTCOME_PANICKED && result.value == NULL);
    CHECK_STR(result.message, "out of cheese");
    CHECK(strstr(result.site.file, "task_test.c") != NULL);
    CHECK_STATUS(rt_join(rt_go(panics, NULL), NULL), RT_ERR_PANICKED);
    return arg;
}

TEST(task_that_panics_tells_who_joins_it)
{
    tasks_run_everywhere(joins_a_panic, NULL);
}

static void *detaches_a_panic(void *arg)
{
    CHECK_OK(rt_detach(rt_go(panics, NULL)));
    return arg;
}

TEST(task_that_panics_detached_is_told_in_a_line)
{
    const char *said = tasks_capture(detaches_a_panic, NULL);
    CHECK(strstr(said, "task panics (2) panicked at ") != NULL);
    CHECK(strstr(said, "out of cheese") != NULL);
    CHECK(strstr(said, "spawned at ") != NULL);
}

static void panic_outside(void *arg)
{
    (void)arg;
    rt_panic_task("nobody");
}

TEST(task_panic_outside_of_a_task_ends_the_process)
{
    CHECK_PANICS("task_end", panic_outside, NULL);
}

static void *is_member(void *arg)
{
    CHECK(rt_region_current() == arg);
    return NULL;
}

static void *has_members(void *arg)
{
    rt_region region;
    CHECK(rt_region_current() == NULL);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_detach(rt_region_go(&region, is_member, &region)));
    CHECK_OK(rt_detach(rt_region_go(&region, tasks_sleep_ms, TASKS_NUMBER(5))));
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_EQ(rti_tasks_live(module()), 1);
    CHECK(rt_region_go(&region, is_member, NULL) == NULL);
    CHECK(rt_region_go(NULL, is_member, NULL) == NULL);
    return arg;
}

TEST(task_of_a_region_is_waited_for_by_its_close)
{
    tasks_run_everywhere(has_members, NULL);
}
