/* SPDX-License-Identifier: Apache-2.0 */
/* In which order poll tasks begin, and go on after a join: first come, first served, or the last
 * one first. */
#define RTI_MODULE "async_order_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/asyncs.h"

#define BELOW 3
#define DEPTH 6
#define NODES 364 /* 1 + 3 + 9 + ... + 3^5 */

static rt_status says(void *state, rt_cx *cx)
{
    (void)cx;
    tasks_say((char)(uintptr_t)state);
    return RT_SUCCESS;
}

static void start(rt_poll_fn poll, void *state)
{
    rt_async_task *task = rt_async(poll, state);
    CHECK(task != NULL);
    CHECK_OK(rt_async_detach(task));
}

static void start_three(void)
{
    start(says, TASKS_NUMBER('a'));
    start(says, TASKS_NUMBER('b'));
    start(says, TASKS_NUMBER('c'));
    rt_yield();
    tasks_say('.');
}

static void *starts_three(void *arg)
{
    start_three();
    return arg;
}

static const rt_async_config last_first = {.tasks = NODES + 1, .is_last_first = true};

static void *starts_three_last_first(void *arg)
{
    CHECK_OK(rt_async_reserve(&last_first));
    start_three();
    return arg;
}

TEST(async_tasks_begin_in_the_order_of_their_starts)
{
    CHECK_OK(tasks_run_fixed(starts_three, NULL));
    CHECK_STR(tasks_said(), "abc.");
}

TEST(async_tasks_begin_last_first_where_that_is_asked)
{
    CHECK_OK(tasks_run_fixed(starts_three_last_first, NULL));
    CHECK_STR(tasks_said(), "cba.");
    CHECK_OK(tasks_run(starts_three_last_first, NULL));
    CHECK_STR(tasks_said(), "cba.");
    /* Asked of one runtime, not of the next. */
    CHECK_OK(tasks_run_fixed(starts_three, NULL));
    CHECK_STR(tasks_said(), "abc.");
}

/* A tree, each node of which waits for those below. */
struct node {
    rt_async_frame frame;
    uint32_t i;
    uint32_t depth;
    rt_async_task *tasks[BELOW];
    struct node *below; /* BELOW of them */
};

static struct node nodes[NODES];
static size_t nodes_used;
static size_t alive;
static size_t alive_most;

static rt_status grows(void *state, rt_cx *cx)
{
    struct node *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    alive++;
    alive_most = alive > alive_most ? alive : alive_most;
    if (self->depth < DEPTH) {
        self->below = &nodes[nodes_used];
        nodes_used += BELOW;
        CHECK(nodes_used <= NODES);
        for (self->i = 0; self->i < BELOW; self->i++) {
            self->below[self->i] = (struct node){.depth = self->depth + 1};
            self->tasks[self->i] = rt_async(grows, &self->below[self->i]);
            CHECK(self->tasks[self->i] != NULL);
        }
        for (self->i = 0; self->i < BELOW; self->i++) {
            RT_AWAIT(rt_async_join(&self->tasks[self->i], cx, NULL));
            CHECK_OK(rt_awaited);
        }
    }
    alive--;
    RT_ASYNC_END(RT_SUCCESS);
}

static void *grows_a_tree(void *arg)
{
    CHECK_OK(rt_async_reserve(arg));
    nodes_used = 1;
    alive = 0;
    alive_most = 0;
    nodes[0] = (struct node){.depth = 1};
    rt_async_task *root = rt_async(grows, &nodes[0]);
    CHECK_OK(rt_async_join(&root, NULL, NULL));
    CHECK(nodes_used == NODES && alive == 0);
    CHECK_EQ(rti_asyncs_audit(rti_asyncs_of(rti_worker_current())), 0);
    return arg;
}

TEST(async_tree_is_gone_through_branch_by_branch_last_first)
{
    rt_async_config config = {.tasks = NODES + 1};
    CHECK_OK(tasks_run_fixed(grows_a_tree, &config));
    CHECK(alive_most >= NODES / 3);
    config.is_last_first = true;
    CHECK_OK(tasks_run_fixed(grows_a_tree, &config));
    /* At most one for each level of those that have begun. */
    CHECK(alive_most <= DEPTH);
}

static bool has_had_its_turn;
static unsigned chain;

/* Each starts its successor and ends. */
static rt_status starts_the_next(void *state, rt_cx *cx)
{
    (void)cx;
    chain++;
    CHECK(chain < 100000);
    if (!has_had_its_turn) {
        start(starts_the_next, state);
    }
    return RT_SUCCESS;
}

static void *takes_its_turn(void *arg)
{
    has_had_its_turn = true;
    return arg;
}

static void *chains(void *arg)
{
    CHECK_OK(rt_async_reserve(&last_first));
    has_had_its_turn = false;
    chain = 0;
    CHECK_OK(rt_detach(rt_go(takes_its_turn, NULL)));
    start(starts_the_next, NULL);
    return arg;
}

TEST(async_chain_that_goes_first_keeps_nobody_from_its_turn_for_ever)
{
    CHECK_OK(tasks_run_fixed(chains, NULL));
    CHECK(has_had_its_turn && chain > 2);
}
