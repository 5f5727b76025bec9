/* SPDX-License-Identifier: Apache-2.0 */
/* Free slots and stacks that lie at the stations of several virtual workers: as many tasks as were
 * promised can be started, whoever has given slots back and wherever they lie, and not one more;
 * the counts come out right; the number of a task is greater than those of all that were started
 * before, which is the order in which the undertaker goes through them; and who asks a task to stop
 * with a copy of its handle never stops the next one in the slot.
 *
 * Seeds: 4 */
#define _GNU_SOURCE
#define RTI_MODULE "desk_sim_test"
#include <orrery/rt.h>

#include "base/rng.h"
#include "runtime/runtime.h"
#include "support/test.h"
#include "task/tasks.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define ROOM     4
#define CAPACITY (RT_MAX_TASKS + ROOM)
#define STARTERS 3
#define ROUNDS   2

/* What a starter may have at a time, so that all of them and the main task are as many as may be.
 */
#define QUOTA ((CAPACITY - 1 - STARTERS) / STARTERS)

/* A task that is started, and the handle that others ask with, also when it was joined. */
struct child {
    rti_atomic_ptr handle;
    rti_atomic_u32 is_asked;
    uint32_t number;
    uint32_t older; /* the number of one that was started before */
    bool is_yielding;
};

struct starter {
    struct rti_rng rng;
    struct child children[ROUNDS][QUOTA];
};

static struct starter starters[STARTERS];
static uint64_t started;

static uint32_t own_number(void)
{
    return rti_task_serial(rti_task_of(rti_worker_current()));
}

static void *is_child(void *arg)
{
    struct child *self = arg;
    self->number = own_number();
    WITNESS(self->number > self->older);
    if (self->is_yielding) {
        rt_yield();
    }
    /* Who was asked may not have seen it yet; who was not has nothing to see. */
    WITNESS(!rt_cancelled() || rti_u32_load_relaxed(&self->is_asked) != 0);
    return arg;
}

/* Asks somebody's child to stop, which may have been joined since. */
static void ask_anybody(struct starter *self)
{
    struct starter *other = &starters[rti_rng_below(&self->rng, STARTERS)];
    uint64_t round = rti_rng_below(&self->rng, ROUNDS);
    struct child *child = &other->children[round][rti_rng_below(&self->rng, QUOTA)];
    rt_task *handle = rti_ptr_load_acquire(&child->handle);
    if (handle != NULL) {
        rti_u32_store_relaxed(&child->is_asked, 1);
        (void)rt_task_ask_cancel(handle);
    }
}

static void start_child(struct starter *self, struct child *child)
{
    child->older = own_number();
    child->is_yielding = rti_rng_chance(&self->rng, 2, 3);
    rt_task *handle = rt_go(is_child, child);
    WITNESS(handle != NULL);
    rti_ptr_store_release(&child->handle, handle);
}

static void join_child(struct child *child)
{
    rt_task *handle = rti_ptr_load_relaxed(&child->handle);
    void *value = NULL;
    rt_status status = rt_join(handle, &value);
    WITNESS(!RT_FAILED(status) || status.code == RT_ERR_CANCELLED);
    WITNESS(value == child);
}

static void *starts(void *arg)
{
    struct starter *self = arg;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < QUOTA; i++) {
            start_child(self, &self->children[round][i]);
            if (rti_rng_chance(&self->rng, 1, 8)) {
                rt_yield();
            }
        }
        for (uint32_t i = 0; i < QUOTA; i++) {
            if (rti_rng_chance(&self->rng, 1, 4)) {
                ask_anybody(self);
            }
            join_child(&self->children[round][i]);
        }
    }
    return arg;
}

static uint32_t number_max; /* the greatest number of all that were started by the starters */

/* Has a stack until it is asked to stop. */
static void *is_one_of_many(void *arg)
{
    WITNESS(own_number() > number_max);
    CHECK_STATUS(rt_sleep(RT_TIME_NEVER), RT_ERR_CANCELLED);
    return arg;
}

/* As many as fit, from one place. */
static void fill(void)
{
    static rt_task *many[CAPACITY];
    uint32_t count = 0;
    while ((many[count] = rt_go(is_one_of_many, NULL)) != NULL) {
        count++;
        WITNESS(count < CAPACITY);
    }
    WITNESS(count == CAPACITY - 1);
    /* Long enough for all of them to begin. */
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    for (uint32_t i = 0; i < count; i++) {
        CHECK_STATUS(rt_cancel(many[i], NULL), RT_ERR_CANCELLED);
    }
    started += count;
}

static void *desk_main(void *arg)
{
    rt_task *tasks[STARTERS];
    for (uint32_t i = 0; i < STARTERS; i++) {
        tasks[i] = rt_go(starts, &starters[i]);
        WITNESS(tasks[i] != NULL);
    }
    for (uint32_t i = 0; i < STARTERS; i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    started = 1 + STARTERS + STARTERS * QUOTA * ROUNDS;
    number_max = 0;
    for (uint32_t i = 0; i < STARTERS * ROUNDS * QUOTA; i++) {
        const struct starter *starter = &starters[i / (ROUNDS * QUOTA)];
        uint32_t number = starter->children[i / QUOTA % ROUNDS][i % QUOTA].number;
        number_max = number > number_max ? number : number_max;
    }
    fill();
    struct rt_stats stats;
    CHECK_OK(rt_stats(&stats));
    WITNESS(stats.spawn_count == started && stats.tasks_completed == started - 1);
    WITNESS(stats.join_count == started - CAPACITY && stats.cancel_count == CAPACITY - 1);
    return arg;
}

static void desk_play(uint64_t seed)
{
    rt_config config = {.workers = (uint32_t)(2 + seed % 4)};
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM, .stack_size = 8192}));
    for (uint32_t i = 0; i < STARTERS; i++) {
        starters[i] = (struct starter){.rng = {.state = {0}}};
        rti_rng_init(&starters[i].rng, seed * STARTERS + i);
    }
    rt_task *root = rt_go(desk_main, NULL);
    WITNESS(root != NULL);
    rt_run();
    CHECK_OK(rt_join(root, NULL));
    rti_tasks_audit(rti_runtime.sched.modules[RTI_MODULE_TASK]);
}

TEST_SEEDED(desk_sim_slots_that_lie_elsewhere_are_missing_to_nobody)
{
    worlds_play(desk_play);
}
