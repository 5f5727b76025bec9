/* SPDX-License-Identifier: Apache-2.0 */
/* Erlang's table: what a supervisor does when a child ends, for every strategy, restart type, way
 * to end and place of the child. Each cell is a case; docs/internals/supervisor.md shows the table.
 *
 * Three children, a, b and c, in this order. A child says its small letter when it starts and its
 * capital when it is asked to stop. One of them, the one tried, has the restart type of the cell,
 * the others are permanent. It ends in the way of the cell, and what is said from then on must be
 * what the table says:
 *
 *                       first    middle   last
 *     one_for_one       a        b        c
 *     one_for_all       CBabc    CAabc    BAabc
 *     rest_for_one      CBabc    Cbc      c
 *     simple            a        b        c
 *     not started again (nothing)
 *
 *                  normal   crash    killed   stopped by the supervisor's interface
 *     permanent    again    again    again    not again, stays listed
 *     transient    not      again    again    not again, stays listed
 *     temporary    not      not      not      not again, is forgotten
 *
 * A transient one that ended well stays listed, but not in simple, where there is no specification
 * of its own to stay. */
#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

#define CHILDREN 3

enum way { WAY_normal, WAY_crash, WAY_killed, WAY_stopped };
enum place { PLACE_first, PLACE_middle, PLACE_last };

#define STRATEGY_one_for_one  RT_ONE_FOR_ONE
#define STRATEGY_one_for_all  RT_ONE_FOR_ALL
#define STRATEGY_rest_for_one RT_REST_FOR_ONE
#define STRATEGY_simple       RT_SIMPLE
#define TYPE_permanent        RT_PERMANENT
#define TYPE_transient        RT_TRANSIENT
#define TYPE_temporary        RT_TEMPORARY

static struct cell {
    rt_strategy strategy;
    rt_restart type;
    enum way way;
    enum place place;
} cell;

static const char *const again[4][3] = {
    [RT_ONE_FOR_ONE] = {"a", "b", "c"},
    [RT_ONE_FOR_ALL] = {"CBabc", "CAabc", "BAabc"},
    [RT_REST_FOR_ONE] = {"CBabc", "Cbc", "c"},
    [RT_SIMPLE] = {"a", "b", "c"},
};

static const bool is_started_again[3][4] = {
    [RT_PERMANENT] = {true, true, true, false},
    [RT_TRANSIENT] = {false, true, true, false},
    [RT_TEMPORARY] = {false, false, false, false},
};

static char letters[CHILDREN] = {'a', 'b', 'c'};
static char said[64];
static size_t said_count;
static actor_id lives[CHILDREN];

static void say(char letter)
{
    CHECK(said_count + 1 < sizeof(said));
    said[said_count++] = letter;
    said[said_count] = '\0';
}

static void child(void *arg)
{
    char letter = *(char *)arg;
    rt_message msg;
    say(letter);
    lives[letter - 'a'] = rt_self();
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        if (rt_is_stop_msg(&msg)) {
            say((char)(letter - 'a' + 'A'));
            rt_exit();
        }
        if (*(const char *)msg.data == 'n') {
            rt_exit();
        }
        return; /* a crash */
    }
}

/* Lets everybody else run until nobody has anything to do. */
static void settle(void)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 10), RT_ERR_TIMEOUT);
}

static actor_id start_supervisor(rt_child_spec *specs)
{
    const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    static const char *const ids[CHILDREN] = {"a", "b", "c"};
    bool is_simple = cell.strategy == RT_SIMPLE;
    for (size_t i = 0; i < CHILDREN; i++) {
        bool is_tried = i == (size_t)cell.place || is_simple;
        specs[i] = (rt_child_spec){.id = ids[i],
                                   .fn = child,
                                   .arg = &letters[i],
                                   .actor = small,
                                   .restart = is_tried ? cell.type : RT_PERMANENT};
    }
    const rt_supervisor_config config = {.strategy = cell.strategy,
                                         .intensity = 1,
                                         .period_ms = 1000,
                                         .children = specs,
                                         .child_count = is_simple ? 1 : CHILDREN,
                                         .actor = small};
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    for (size_t i = 0; i < CHILDREN && is_simple; i++) {
        CHECK_OK(rt_supervisor_spawn(supervisor, &letters[i], &lives[i]));
    }
    settle();
    CHECK_STR(said, "abc");
    return supervisor;
}

static void end_the_tried(actor_id supervisor)
{
    actor_id tried = lives[cell.place];
    switch (cell.way) {
    case WAY_normal:
        CHECK_OK(rt_ipc_send(tried, "n", 1, IPC_ASYNC));
        break;
    case WAY_crash:
        CHECK_OK(rt_ipc_send(tried, "c", 1, IPC_ASYNC));
        break;
    case WAY_killed:
        CHECK_OK(rt_actor_kill(tried));
        break;
    case WAY_stopped:
        CHECK_OK(rt_supervisor_stop_actor(supervisor, tried));
        CHECK_EQ(said[said_count - 1], 'A' + (int)cell.place);
        said_count--;
        break;
    }
}

static void check_children(actor_id supervisor)
{
    rt_child_info info[CHILDREN];
    size_t count;
    CHECK_OK(rt_supervisor_which_children(supervisor, info, CHILDREN, &count));
    bool is_again = is_started_again[cell.type][cell.way];
    bool is_forgotten = !is_again && (cell.type == RT_TEMPORARY || cell.strategy == RT_SIMPLE);
    CHECK_EQ(count, is_forgotten ? CHILDREN - 1 : CHILDREN);
    for (size_t i = 0; i < count; i++) {
        bool is_tried = i == (size_t)cell.place && !is_forgotten;
        bool is_up = !is_tried || is_again;
        CHECK_EQ(info[i].state, is_up ? RT_CHILD_RUNNING : RT_CHILD_STOPPED);
        CHECK_EQ(rt_actor_alive(info[i].actor), is_up);
    }
}

static void try_cell(void *arg)
{
    rt_child_spec specs[CHILDREN];
    (void)arg;
    said_count = 0;
    actor_id supervisor = start_supervisor(specs);
    said_count = 0;
    said[0] = '\0';
    end_the_tried(supervisor);
    settle();
    said[said_count] = '\0';
    bool is_again = is_started_again[cell.type][cell.way];
    CHECK_STR(said, is_again ? again[cell.strategy][cell.place] : "");
    check_children(supervisor);
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    CHECK(!rt_actor_alive(supervisor));
    for (size_t i = 0; i < CHILDREN; i++) {
        CHECK(!rt_actor_alive(lives[i]));
    }
    rt_exit();
}

#define CELL(strategy_, type_, way_, place_)                                                       \
    TEST(supervisor_##strategy_##_with_a_##type_##_child_##way_##_##place_)                        \
    {                                                                                              \
        cell = (struct cell){STRATEGY_##strategy_, TYPE_##type_, WAY_##way_, PLACE_##place_};      \
        world_run(try_cell, NULL);                                                                 \
    }
#define PLACES(strategy_, type_, way_)                                                             \
    CELL(strategy_, type_, way_, first)                                                            \
    CELL(strategy_, type_, way_, middle)                                                           \
    CELL(strategy_, type_, way_, last)
#define WAYS(strategy_, type_)                                                                     \
    PLACES(strategy_, type_, normal)                                                               \
    PLACES(strategy_, type_, crash)                                                                \
    PLACES(strategy_, type_, killed)                                                               \
    PLACES(strategy_, type_, stopped)
#define TYPES(strategy_)                                                                           \
    WAYS(strategy_, permanent)                                                                     \
    WAYS(strategy_, transient)                                                                     \
    WAYS(strategy_, temporary)

TYPES(one_for_one)
TYPES(one_for_all)
TYPES(rest_for_one)
TYPES(simple)
