/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of poll tasks on several virtual workers, where the last one begins first: every node has
 * its turn once, whoever takes it, fibers that yield beside them have theirs, as many as there are
 * workers run at a time, and those at a station that changes hands are not forgotten.
 *
 * Seeds: 4 */
#define _GNU_SOURCE
#define RTI_MODULE "tree_sim_test"
#include <orrery/rt.h>

#include "runtime/runtime.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define BELOW  3
#define NODES  40 /* 1 + 3 + 9 + 27 */
#define LEAVES 27
#define FIBERS 2

struct node {
    rt_async_frame frame;
    uint32_t i;
    uint32_t index;
    uint32_t leaves; /* below it */
    rt_async_task *tasks[BELOW];
};

static struct node nodes[NODES];

/* Those below node i are BELOW * i + 1 and the next ones. */
static rt_status grows(void *state, rt_cx *cx)
{
    struct node *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    if (BELOW * self->index + 1 >= NODES) {
        WITNESS(self->leaves == 0);
        self->leaves = 1;
        return RT_SUCCESS;
    }
    for (self->i = 0; self->i < BELOW; self->i++) {
        struct node *below = &nodes[BELOW * self->index + 1 + self->i];
        *below = (struct node){.index = BELOW * self->index + 1 + self->i};
        self->tasks[self->i] = rt_async(grows, below);
        WITNESS(self->tasks[self->i] != NULL);
    }
    for (self->i = 0; self->i < BELOW; self->i++) {
        RT_AWAIT(rt_async_join(&self->tasks[self->i], cx, NULL));
        CHECK_OK(rt_awaited);
        self->leaves += nodes[BELOW * self->index + 1 + self->i].leaves;
    }
    RT_ASYNC_END(RT_SUCCESS);
}

static void *yields(void *arg)
{
    for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
        rt_yield();
    }
    return NULL;
}

static void *root_main(void *arg)
{
    rt_task *fibers[FIBERS];
    (void)arg;
    for (uintptr_t i = 0; i < FIBERS; i++) {
        fibers[i] = rt_go(yields, (void *)(40 * i + 10));
        WITNESS(fibers[i] != NULL);
    }
    nodes[0] = (struct node){.index = 0};
    rt_async_task *root = rt_async(grows, &nodes[0]);
    WITNESS(root != NULL);
    CHECK_OK(rt_async_join(&root, NULL, NULL));
    WITNESS(nodes[0].leaves == LEAVES);
    for (uintptr_t i = 0; i < FIBERS; i++) {
        CHECK_OK(rt_join(fibers[i], NULL));
    }
    return NULL;
}

static void tree_play(uint64_t seed)
{
    rt_config config = {.workers = (uint32_t)(2 + seed % 7)};
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = NODES, .is_last_first = true}));
    rt_task *root = rt_go(root_main, NULL);
    WITNESS(root != NULL);
    rt_run();
    CHECK_OK(rt_join(root, NULL));
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
}

TEST_SEEDED(tree_sim_last_first_is_gone_through_once)
{
    worlds_play(tree_play);
}

/* Those that one starts begin in the opposite order, also where the one worker works alone. */
#define ORDERS 50

static uint32_t children_begun;
static rt_async_task *children[BELOW];

static rt_status begins(void *state, rt_cx *cx)
{
    (void)cx;
    children_begun++;
    WITNESS((uintptr_t)state == BELOW - children_begun);
    return RT_SUCCESS;
}

static rt_status starts_children(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    children_begun = 0;
    for (uintptr_t i = 0; i < BELOW; i++) {
        children[i] = rt_async(begins, (void *)i);
        WITNESS(children[i] != NULL);
    }
    return RT_SUCCESS;
}

static void *orders(void *arg)
{
    for (uint32_t round = 0; round < ORDERS; round++) {
        rt_async_task *mother = rt_async(starts_children, NULL);
        WITNESS(mother != NULL);
        CHECK_OK(rt_async_join(&mother, NULL, NULL));
        for (size_t i = 0; i < BELOW; i++) {
            CHECK_OK(rt_async_join(&children[i], NULL, NULL));
        }
        WITNESS(children_begun == BELOW);
    }
    return arg;
}

static void order_play(uint64_t seed)
{
    (void)seed;
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 1}));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = BELOW + 1, .is_last_first = true}));
    CHECK_OK(rt_detach(rt_go(orders, NULL)));
    rt_run();
}

TEST_SEEDED(tree_sim_last_one_begins_first_where_one_works_alone)
{
    worlds_play(order_play);
}

/* One that starts as many as there are workers beside its own, and does not leave its turn before
 * they all have theirs. */
static struct {
    uint32_t count; /* the one that starts them, too */
    rti_atomic_u32 begun;
} wide;

/* It computes, for its worker; all others may be asleep meanwhile, and then the witness looks. */
static void wide_meet(void)
{
    (void)rti_u32_add_relaxed(&wide.begun, 1);
    while (rti_u32_load_relaxed(&wide.begun) < wide.count) {
        rti_virtual_sleep(1000);
    }
}

static rt_status meets(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    wide_meet();
    return RT_SUCCESS;
}

static rt_status starts_and_meets(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    for (uint32_t i = 1; i < wide.count; i++) {
        rt_async_task *task = rt_async(meets, NULL);
        WITNESS(task != NULL);
        CHECK_OK(rt_async_detach(task));
    }
    wide_meet();
    return RT_SUCCESS;
}

static void *wide_main(void *arg)
{
    (void)arg;
    /* Long enough for the others to fall asleep. */
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rt_async_task *task = rt_async(starts_and_meets, NULL);
    WITNESS(task != NULL);
    CHECK_OK(rt_async_join(&task, NULL, NULL));
    return NULL;
}

static void wide_play(uint64_t seed)
{
    rt_config config = {.workers = (uint32_t)(2 + seed % 4)};
    wide.count = config.workers;
    rti_u32_init(&wide.begun, 0);
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = NODES, .is_last_first = true}));
    rt_task *root = rt_go(wide_main, NULL);
    WITNESS(root != NULL);
    rt_run();
    CHECK_OK(rt_join(root, NULL));
    WITNESS(rti_u32_load_relaxed(&wide.begun) == wide.count);
}

TEST_SEEDED(tree_sim_those_that_wait_for_each_other_run_at_once)
{
    worlds_play(wide_play);
}

/* A station that changes hands with those that are to begin in it: its holder is in a blocking call
 * until they have had their turns, or the run ends before they have. */
#define LEFT 5

static rti_atomic_u32 left_begun;

static rt_status is_left(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    (void)rti_u32_add_relaxed(&left_begun, 1);
    return RT_SUCCESS;
}

static void left_start(void)
{
    for (uint32_t i = 0; i < LEFT; i++) {
        rt_async_task *task = rt_async(is_left, NULL);
        WITNESS(task != NULL);
        CHECK_OK(rt_async_detach(task));
    }
}

static void *starts_and_blocks(void *arg)
{
    (void)arg;
    left_start();
    CHECK_OK(rt_blocking_enter());
    while (rti_u32_load_relaxed(&left_begun) < LEFT) {
        rti_virtual_sleep(RT_NS_PER_MS);
    }
    CHECK_OK(rt_blocking_exit());
    return NULL;
}

static void *starts_and_stops(void *arg)
{
    (void)arg;
    left_start();
    rt_shutdown();
    return NULL;
}

static void left_open(uint64_t seed, rt_task_fn main_fn)
{
    rt_config config = {.workers = (uint32_t)(1 + seed % 3)};
    rti_u32_init(&left_begun, 0);
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = LEFT, .is_last_first = true}));
    rt_task *task = rt_go(main_fn, NULL);
    WITNESS(task != NULL);
    CHECK_OK(rt_detach(task));
    rt_run();
}

static void blocks_play(uint64_t seed)
{
    left_open(seed, starts_and_blocks);
    WITNESS(rti_u32_load_relaxed(&left_begun) == LEFT);
}

TEST_SEEDED(tree_sim_those_beside_a_blocking_call_begin_at_others)
{
    worlds_play(blocks_play);
}

static void stops_play(uint64_t seed)
{
    left_open(seed, starts_and_stops);
    if (seed % 2 == 0) {
        /* Else rt_cleanup finds them where they are. */
        rt_run();
        WITNESS(rti_u32_load_relaxed(&left_begun) == LEFT);
    }
}

TEST_SEEDED(tree_sim_those_that_a_run_leaves_begin_in_the_next)
{
    worlds_play(stops_play);
}

/* The same again and again, by three, with one thread more than workers: who is to take over is on
 * its way to sleep. */
#define BLOCKERS 3
#define ROUNDS   6

static rti_atomic_u32 round_begun[BLOCKERS];

static rt_status is_counted(void *state, rt_cx *cx)
{
    (void)cx;
    (void)rti_u32_add_relaxed(state, 1);
    return RT_SUCCESS;
}

static void *blocks_often(void *arg)
{
    rti_atomic_u32 *begun = arg;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        rt_async_task *task = rt_async(is_counted, begun);
        WITNESS(task != NULL);
        CHECK_OK(rt_async_detach(task));
        CHECK_OK(rt_blocking_enter());
        rti_virtual_sleep(1000);
        CHECK_OK(rt_blocking_exit());
    }
    return NULL;
}

static void rounds_play(uint64_t seed)
{
    rt_config config = {.workers = (uint32_t)(1 + seed % 2)};
    config.threads_max = config.workers + 1;
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(
        rt_async_reserve(&(rt_async_config){.tasks = BLOCKERS * ROUNDS, .is_last_first = true}));
    for (size_t i = 0; i < BLOCKERS; i++) {
        rti_u32_init(&round_begun[i], 0);
        rt_task *task = rt_go(blocks_often, &round_begun[i]);
        WITNESS(task != NULL);
        CHECK_OK(rt_detach(task));
    }
    rt_run();
    for (size_t i = 0; i < BLOCKERS; i++) {
        WITNESS(rti_u32_load_relaxed(&round_begun[i]) == ROUNDS);
    }
}

TEST_SEEDED(tree_sim_those_beside_many_blocking_calls_begin_with_few_threads)
{
    worlds_play(rounds_play);
}
