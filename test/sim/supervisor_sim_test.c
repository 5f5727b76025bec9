/* SPDX-License-Identifier: Apache-2.0 */
/* A supervisor beside a reference of what it has to do, one world per seed.
 *
 * A supervisor of a drawn strategy, intensity and number of children of both kinds, each of a drawn
 * restart type. One thing happens at a time: a child ends well, crashes or is killed, somebody asks
 * for one to be stopped, started or forgotten, or time passes. A child says its small letter when
 * it begins and its capital when it is asked to stop. What is said, who lives and who is listed
 * must be what the reference says (promise 32):
 *   - starts in order, stops in reverse order, of those whom the strategy names and nobody else
 *     (in worlds whose order is drawn, those started together say so in any order)
 *   - a restart that is one too many within the period, to the nanosecond, and no other ends it
 *   - who is temporary is forgotten, also when a sibling's end stops it
 *
 * Seeds: 100000 */
#define _GNU_SOURCE
#include <orrery/rt.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define CHILDREN_MAX  5
#define STEPS         12
#define INTENSITY_MAX 4
#define PERIOD_MS     20

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};

/* A child as it should be, and the id of its present life. */
struct expected {
    rt_restart restart;
    bool is_listed;
    bool is_up;
    actor_id id;
};

static struct expected children[CHILDREN_MAX];
static size_t child_count;
static rt_strategy strategy;
static uint32_t intensity;
static rt_time restarts[STEPS];
static size_t restart_count;
static bool has_given_up;
static bool is_in_order; /* this world's: first come, first served */
static actor_id supervisor;
static char wanted[128];
static size_t wanted_count;
static char said[128];
static size_t said_count;

static uint64_t draw(uint64_t n)
{
    return rt_random() % n;
}

static void say(char letter)
{
    CHECK(said_count + 1 < sizeof(said));
    said[said_count++] = letter;
}

static void want(char letter)
{
    CHECK(wanted_count + 1 < sizeof(wanted));
    wanted[wanted_count++] = letter;
}

/* The children. */

enum { ORDER_END, ORDER_CRASH };

static void begin(const struct expected *self)
{
    say((char)('a' + (self - children)));
    children[self - children].id = rt_self();
}

static void child_main(void *arg)
{
    rt_message msg;
    begin(arg);
    CHECK_OK(rt_ipc_recv(&msg, -1));
    if (rt_is_stop_msg(&msg)) {
        say((char)('A' + ((struct expected *)arg - children)));
        rt_exit();
    }
    if (rt_behaviour_id(&msg) == ORDER_END) {
        rt_exit();
    }
}

static void child_start(void *state, void *arg)
{
    (void)arg;
    begin(state);
}

static void child_stop(void *state)
{
    say((char)('A' + ((struct expected *)state - children)));
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static void child_obeys(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    CHECK_OK(rt_behaviour_end(msg->id == ORDER_END ? RT_EXIT_NORMAL : RT_EXIT_CRASH));
}

static const rt_behaviour_fn handlers[] = {child_obeys, child_obeys};
static const rt_behaviour_type child_type = {.handlers = handlers,
                                             .handler_count = 2,
                                             .start = child_start,
                                             .stop = child_stop,
                                             .priority = RT_PRIO_NORMAL};

/* The reference. */

static void want_start(size_t i)
{
    children[i].is_up = true;
    want((char)('a' + i));
}

/* Those from `first` on who live, without `but`, the last one first. */
static void want_stops(size_t first, size_t but)
{
    for (size_t i = child_count; i-- > first;) {
        if (i != but && children[i].is_up) {
            want((char)('A' + i));
            children[i].is_up = false;
            children[i].is_listed = children[i].restart != RT_TEMPORARY;
        }
    }
}

static bool may_restart(void)
{
    size_t recent = 0;
    for (size_t i = 0; i < restart_count; i++) {
        recent += rt_clock() - restarts[i] <= PERIOD_MS * RT_NS_PER_MS;
    }
    restarts[restart_count++] = rt_clock();
    return recent < intensity;
}

static void want_after_end(size_t i, bool is_well)
{
    children[i].is_up = false;
    children[i].is_listed = children[i].restart != RT_TEMPORARY;
    if (children[i].restart == RT_TEMPORARY || (children[i].restart == RT_TRANSIENT && is_well)) {
        return;
    }
    if (!may_restart()) {
        has_given_up = true;
        want_stops(0, child_count);
        return;
    }
    size_t first = strategy == RT_ONE_FOR_ALL ? 0 : i;
    size_t end = strategy == RT_ONE_FOR_ONE ? i + 1 : child_count;
    if (strategy != RT_ONE_FOR_ONE) {
        want_stops(first, i);
    }
    for (size_t at = first; at < end; at++) {
        if (children[at].is_listed) {
            want_start(at);
        }
    }
}

/* What happens. */

static void end_one(size_t i)
{
    uint64_t way = draw(3);
    if (!children[i].is_up) {
        return;
    }
    if (way == 2) {
        CHECK_OK(rt_actor_kill(children[i].id));
    } else {
        CHECK_OK(rt_behaviour_send(children[i].id, (uint32_t)way, NULL, 0));
    }
    want_after_end(i, way == ORDER_END);
}

static void ask(size_t i)
{
    const char id[2] = {(char)('a' + i), '\0'};
    struct expected *child = &children[i];
    uint64_t what = draw(3);
    rt_status_code wanted_code = child->is_listed ? RT_OK : RT_ERR_NOT_FOUND;
    rt_status status;
    if (what == 0) {
        if (child->is_up) {
            want((char)('A' + i));
            child->is_listed = child->restart != RT_TEMPORARY;
        }
        child->is_up = false;
        status = rt_supervisor_stop_child(supervisor, id);
    } else {
        wanted_code = child->is_up ? RT_ERR_STATE : wanted_code;
        if (wanted_code == RT_OK && what == 1) {
            want_start(i);
        } else if (wanted_code == RT_OK) {
            child->is_listed = false;
        }
        status = what == 1 ? rt_supervisor_restart_child(supervisor, id, NULL)
                           : rt_supervisor_remove_child(supervisor, id);
    }
    CHECK_EQ(status.code, wanted_code);
}

static void settle(int32_t ms)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, ms), RT_ERR_TIMEOUT);
}

static int by_letter(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

/* First turns are drawn among equals: the order of those who begin together does not count. */
static void sort_beginners(char *text)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        size_t n = strspn(text + i, "abcde");
        qsort(text + i, n, 1, by_letter);
        i += n > 0 ? n - 1 : 0;
    }
}

static void check(void)
{
    rt_child_info info[CHILDREN_MAX];
    size_t count;
    size_t at = 0;
    said[said_count] = wanted[wanted_count] = '\0';
    if (!is_in_order) {
        sort_beginners(said);
        sort_beginners(wanted);
    }
    CHECK_STR(said, wanted);
    CHECK_EQ(rt_actor_alive(supervisor), !has_given_up);
    for (size_t i = 0; i < child_count; i++) {
        CHECK_EQ(rt_actor_alive(children[i].id), children[i].is_up);
    }
    if (has_given_up) {
        return;
    }
    CHECK_OK(rt_supervisor_which_children(supervisor, info, CHILDREN_MAX, &count));
    for (size_t i = 0; i < child_count; i++) {
        if (children[i].is_listed) {
            CHECK(at < count);
            CHECK_EQ(info[at].id[0], 'a' + (int)i);
            CHECK_EQ(info[at].state, children[i].is_up ? RT_CHILD_RUNNING : RT_CHILD_STOPPED);
            at++;
        }
    }
    CHECK_EQ(at, count);
}

static void start(void)
{
    static const char *const ids[CHILDREN_MAX] = {"a", "b", "c", "d", "e"};
    rt_child_spec specs[CHILDREN_MAX];
    child_count = 1 + draw(CHILDREN_MAX);
    strategy = (rt_strategy)draw(RT_SIMPLE);
    intensity = (uint32_t)draw(INTENSITY_MAX);
    restart_count = said_count = wanted_count = 0;
    has_given_up = false;
    for (size_t i = 0; i < child_count; i++) {
        bool has_stack = draw(2) == 0;
        children[i] = (struct expected){.restart = (rt_restart)draw(3), .is_listed = true};
        specs[i] = (rt_child_spec){.id = ids[i],
                                   .fn = has_stack ? child_main : NULL,
                                   .behaviour = has_stack ? NULL : &child_type,
                                   .arg = &children[i],
                                   .actor = small,
                                   .keeps_address = draw(2) == 0,
                                   .restart = children[i].restart};
        want_start(i);
    }
    const rt_supervisor_config config = {.strategy = strategy,
                                         .intensity = intensity,
                                         .period_ms = PERIOD_MS,
                                         .children = specs,
                                         .child_count = child_count,
                                         .actor = small};
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle(1);
    check();
}

static void play(void *arg)
{
    (void)arg;
    start();
    for (unsigned step = 0; step < STEPS && !has_given_up; step++) {
        size_t i = draw(child_count);
        if (draw(3) != 0) {
            end_one(i);
        } else {
            ask(i);
        }
        /* Now and then a restart is exactly as old as the period. */
        settle(draw(2) == 0 ? 1 : 1 + (int32_t)draw(PERIOD_MS));
        check();
    }
    if (!has_given_up) {
        has_given_up = true;
        want_stops(0, child_count);
        CHECK_OK(rt_supervisor_stop(supervisor, -1));
    }
    check();
    rt_exit();
}

TEST_SEEDED(sim_supervisor_does_step_by_step_what_its_reference_says)
{
    is_in_order = test_seed() % 2 == 0;
    rt_sim_config config = {.seed = test_seed(), .fixed_order = is_in_order};
    CHECK_OK(rt_sim_run(&config, play, NULL));
}
