/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: order, limits of restarts, pauses, trees, ends. What it does for each strategy,
 * type and reason is in test/conform/supervisor_table_test.c. */
#define RTI_MODULE "supervisor_test"
#include "actor/supervisor.h"

#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
static char letters[26] = "abcdefghijklmnopqrstuvwxyz";
static char said[256];
static size_t said_count;
static actor_id lives[26];
static unsigned starts[26];

static void say(char letter)
{
    CHECK(said_count + 1 < sizeof(said));
    said[said_count++] = letter;
    said[said_count] = '\0';
}

static void forget_said(void)
{
    said_count = 0;
    said[0] = '\0';
}

static void settle(int32_t ms)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, ms), RT_ERR_TIMEOUT);
}

/* Ends when it is asked to, or as a message tells it. */
static void worker(void *arg)
{
    char letter = *(char *)arg;
    rt_message msg;
    say(letter);
    lives[letter - 'a'] = rt_self();
    starts[letter - 'a']++;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    if (rt_is_stop_msg(&msg)) {
        say((char)(letter - 'a' + 'A'));
        rt_exit();
    }
    if (msg.len == 1 && *(const char *)msg.data == 'n') {
        rt_exit();
    }
}

/* Crashes at once. */
static void crasher(void *arg)
{
    starts[*(char *)arg - 'a']++;
}

/* Never ends by itself. */
static void deaf(void *arg)
{
    rt_message msg;
    lives[*(char *)arg - 'a'] = rt_self();
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
    }
}

static rt_child_spec spec_of(char letter, actor_fn fn)
{
    static const char *const ids[26] = {"a", "b", "c", "d", "e", "f"};
    size_t i = (size_t)(letter - 'a');
    return (rt_child_spec){.id = ids[i], .fn = fn, .arg = &letters[i], .actor = small};
}

static void run(actor_fn fn)
{
    forget_said();
    memset(starts, 0, sizeof(starts));
    world_run(fn, NULL);
}

/* Demands that an actor ends, and how. */
static void expect_end(actor_id id, rt_exit_reason reason)
{
    rt_message msg;
    rt_exit_msg exit_msg;
    do {
        CHECK_OK(rt_ipc_recv(&msg, -1));
    } while (RT_FAILED(rt_decode_exit(&msg, &exit_msg)) || exit_msg.actor != id);
    CHECK_EQ(exit_msg.reason, reason);
}

static void orders(void *arg)
{
    (void)arg;
    rt_child_spec specs[4];
    for (size_t i = 0; i < 4; i++) {
        specs[i] = spec_of(letters[i], worker);
    }
    rt_supervisor_config config = {.children = specs, .child_count = 4, .actor = small};
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle(1);
    CHECK_STR(said, "abcd");
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    CHECK_STR(said, "abcdDCBA");
    rt_exit();
}

TEST(supervisor_starts_in_order_and_stops_in_reverse)
{
    run(orders);
}

static void gives_up(void *arg)
{
    (void)arg;
    rt_child_spec specs[2] = {spec_of('a', worker), spec_of('b', crasher)};
    rt_supervisor_config config = {
        .intensity = 3, .period_ms = 1000, .children = specs, .child_count = 2, .actor = small};
    actor_id supervisor;
    uint32_t ref;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    CHECK_OK(rt_monitor(supervisor, &ref));
    expect_end(supervisor, RT_EXIT_CRASH);
    CHECK_EQ(starts[1], 1 + 3);
    CHECK_STR(said, "aA");
    CHECK(!rt_actor_alive(lives[0]));
    rt_exit();
}

TEST(supervisor_that_restarts_too_often_stops_its_children_and_crashes)
{
    run(gives_up);
}

static void forgives(void *arg)
{
    (void)arg;
    rt_child_spec spec = spec_of('a', worker);
    rt_supervisor_config config = {
        .intensity = 2, .period_ms = 1000, .children = &spec, .child_count = 1, .actor = small};
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle(1);
    /* Never more than two within a second, but many in all. */
    for (unsigned i = 0; i < 20; i++) {
        CHECK_OK(rt_ipc_send(lives[0], "c", 1, IPC_ASYNC));
        settle(600);
        CHECK(rt_actor_alive(supervisor));
        CHECK_EQ(starts[0], i + 2);
    }
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_forgets_restarts_that_are_older_than_the_period)
{
    world_needs_virtual_clock();
    run(forgives);
}

static void has_no_patience(void *arg)
{
    (void)arg;
    rt_child_spec spec = spec_of('a', worker);
    rt_supervisor_config config = {.children = &spec, .child_count = 1, .actor = small};
    actor_id supervisor;
    uint32_t ref;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    CHECK_OK(rt_monitor(supervisor, &ref));
    settle(1);
    CHECK_OK(rt_ipc_send(lives[0], "c", 1, IPC_ASYNC));
    expect_end(supervisor, RT_EXIT_CRASH);
    CHECK_EQ(starts[0], 1);
    rt_exit();
}

TEST(supervisor_with_intensity_0_restarts_nobody)
{
    run(has_no_patience);
}

static void pauses(void *arg)
{
    (void)arg;
    rt_child_spec spec = spec_of('a', crasher);
    rt_supervisor_config config = {.intensity = 64,
                                   .period_ms = 100000,
                                   .backoff_ms = 10,
                                   .backoff_max_ms = 40,
                                   .children = &spec,
                                   .child_count = 1,
                                   .actor = small};
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    /* It starts at 0, 10, 30, 70, 110, 150 ... */
    static const struct {
        int32_t wait_ms;
        unsigned starts;
    } steps[] = {{5, 1}, {6, 2}, {15, 2}, {10, 3}, {30, 3}, {10, 4}, {40, 5}, {40, 6}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        settle(steps[i].wait_ms);
        CHECK_EQ(starts[0], steps[i].starts);
    }
    rt_child_info info;
    size_t count;
    CHECK_OK(rt_supervisor_which_children(supervisor, &info, 1, &count));
    CHECK_EQ(info.state, RT_CHILD_RESTARTING);
    CHECK_EQ(info.actor, ACTOR_ID_INVALID);
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_pauses_longer_before_each_restart)
{
    world_needs_virtual_clock();
    run(pauses);
}

static void kills_the_deaf(void *arg)
{
    (void)arg;
    rt_child_spec specs[2] = {spec_of('a', worker), spec_of('b', deaf)};
    specs[1].shutdown_ms = 250;
    rt_supervisor_config config = {.children = specs, .child_count = 2, .actor = small};
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle(1);
    rt_time before = rt_clock();
    CHECK_STATUS(rt_supervisor_stop(supervisor, 100), RT_ERR_TIMEOUT);
    /* The one before it is stopped after it. */
    CHECK(rt_actor_alive(lives[0]) && rt_actor_alive(lives[1]));
    uint32_t ref;
    CHECK_OK(rt_monitor(lives[1], &ref));
    CHECK_OK(rt_monitor(supervisor, &ref));
    expect_end(lives[1], RT_EXIT_KILLED);
    expect_end(supervisor, RT_EXIT_NORMAL);
    CHECK(rt_clock() - before >= 250 * RT_NS_PER_MS);
    CHECK(rt_clock() - before < 260 * RT_NS_PER_MS);
    CHECK_STR(said, "aA");
    rt_exit();
}

TEST(supervisor_kills_a_child_that_does_not_end_in_time)
{
    world_needs_virtual_clock();
    run(kills_the_deaf);
}

static void kills_at_once(void *arg)
{
    (void)arg;
    rt_child_spec spec = spec_of('a', worker);
    spec.shutdown_ms = RT_SHUTDOWN_KILL;
    rt_supervisor_config config = {.children = &spec, .child_count = 1, .actor = small};
    actor_id supervisor;
    uint32_t ref;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle(1);
    CHECK_OK(rt_monitor(lives[0], &ref));
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    expect_end(lives[0], RT_EXIT_KILLED);
    CHECK_STR(said, "a");
    rt_exit();
}

TEST(supervisor_does_not_ask_a_child_that_is_to_be_killed)
{
    run(kills_at_once);
}

static void keeps_names(void *arg)
{
    (void)arg;
    rt_child_spec specs[2] = {spec_of('a', worker), spec_of('b', worker)};
    specs[0].name = "alpha";
    specs[1].name = "beta";
    specs[1].keeps_address = true;
    rt_supervisor_config config = {
        .intensity = 10, .children = specs, .child_count = 2, .actor = small, .name = "boss"};
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    CHECK_EQ(rt_whereis("boss"), supervisor);
    settle(1);
    for (unsigned i = 0; i < 5; i++) {
        actor_id alpha = rt_whereis("alpha");
        actor_id beta = rt_whereis("beta");
        CHECK_EQ(alpha, lives[0]);
        CHECK_EQ(beta, lives[1]);
        CHECK_OK(rt_ipc_send(alpha, "c", 1, IPC_ASYNC));
        CHECK_OK(rt_actor_kill(beta));
        CHECK(!rt_actor_alive(beta));
        settle(1);
        CHECK(rt_whereis("alpha") != alpha && rt_whereis("alpha") != ACTOR_ID_INVALID);
        CHECK(!rt_actor_alive(alpha));
        CHECK_EQ(rt_whereis("beta"), beta);
        CHECK(rt_actor_alive(beta));
        CHECK_EQ(starts[1], i + 2);
    }
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    CHECK_EQ(rt_whereis("beta"), ACTOR_ID_INVALID);
    CHECK_EQ(rt_whereis("boss"), ACTOR_ID_INVALID);
    rt_exit();
}

TEST(supervisor_keeps_names_and_addresses_over_restarts)
{
    run(keeps_names);
}

#if RT_HAS_BEHAVIOURS

/* The same for children without a stack. */
static void on_order(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    CHECK_OK(rt_behaviour_end(*(const char *)msg->data == 'n' ? RT_EXIT_NORMAL : RT_EXIT_CRASH));
}

static const rt_behaviour_fn named_handlers[] = {on_order};
static const rt_behaviour_type named = {
    .handlers = named_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void keeps_names_of_behaviours(void *arg)
{
    (void)arg;
    rt_child_spec specs[2] = {{.id = "a", .behaviour = &named, .name = "alpha"},
                              {.id = "b", .behaviour = &named, .name = "beta"}};
    specs[1].keeps_address = true;
    rt_supervisor_config config = {
        .intensity = 10, .children = specs, .child_count = 2, .actor = small};
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle(1);
    for (unsigned i = 0; i < 5; i++) {
        actor_id alpha = rt_whereis("alpha");
        actor_id beta = rt_whereis("beta");
        CHECK(alpha != ACTOR_ID_INVALID && beta != ACTOR_ID_INVALID);
        CHECK_OK(rt_behaviour_send(alpha, 0, "n", 1));
        CHECK_OK(rt_actor_kill(beta));
        CHECK_EQ(rt_whereis("beta"), ACTOR_ID_INVALID);
        settle(1);
        CHECK(rt_whereis("alpha") != alpha && rt_actor_alive(rt_whereis("alpha")));
        CHECK_EQ(rt_whereis("beta"), beta);
        CHECK(rt_actor_alive(beta));
    }
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    CHECK_EQ(rt_whereis("alpha"), ACTOR_ID_INVALID);
    CHECK_EQ(rt_whereis("beta"), ACTOR_ID_INVALID);
    rt_exit();
}

TEST(supervisor_keeps_names_and_addresses_of_behaviours_over_restarts)
{
    run(keeps_names_of_behaviours);
}

#endif

/* All start; then the first cannot be started, because its name is another's. */
static void waits_for_a_name(void *arg)
{
    (void)arg;
    rt_child_spec specs[3] = {spec_of('a', worker), spec_of('b', worker), spec_of('c', worker)};
    specs[0].name = "only";
    rt_supervisor_config config = {.strategy = RT_ONE_FOR_ALL,
                                   .intensity = 20,
                                   .period_ms = 10000,
                                   .backoff_ms = 10,
                                   .children = specs,
                                   .child_count = 3,
                                   .actor = small};
    rt_child_info info[3];
    size_t count;
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle(1);
    CHECK_OK(rt_ipc_send(lives[1], "c", 1, IPC_ASYNC));
    settle(1);
    CHECK_STR(said, "abcCA");
    CHECK_OK(rt_register("only", rt_self()));
    /* The pause of the one that crashed, then 10, 20, 40 and 80 ms of the one without a name. */
    settle(100);
    CHECK_OK(rt_supervisor_which_children(supervisor, info, 3, &count));
    CHECK_EQ(info[0].state, RT_CHILD_RESTARTING);
    CHECK_EQ(info[0].restarts, 4);
    CHECK_EQ(info[1].state, RT_CHILD_STOPPED);
    CHECK_EQ(info[2].state, RT_CHILD_STOPPED);
    CHECK_OK(rt_unregister("only"));
    settle(100);
    CHECK_STR(said, "abcCAabc");
    CHECK_EQ(rt_whereis("only"), lives[0]);
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_pauses_between_the_attempts_to_start_a_group)
{
    world_needs_virtual_clock();
    run(waits_for_a_name);
}

/* A tree: a, then a supervisor of b and c, then d. */
static void grow_tree(actor_id *root, uint32_t intensity_below)
{
    static rt_child_spec below[2];
    static rt_supervisor_config inner;
    below[0] = spec_of('b', worker);
    below[1] = spec_of('c', worker);
    inner = (rt_supervisor_config){.strategy = RT_ONE_FOR_ALL,
                                   .intensity = intensity_below,
                                   .children = below,
                                   .child_count = 2,
                                   .actor = small,
                                   .name = "inner"};
    rt_child_spec specs[3] = {
        spec_of('a', worker), {.id = "inner", .supervisor = &inner}, spec_of('d', worker)};
    rt_supervisor_config config = {.strategy = RT_REST_FOR_ONE,
                                   .intensity = 5,
                                   .children = specs,
                                   .child_count = 3,
                                   .actor = small,
                                   .name = "root"};
    CHECK_OK(rt_supervisor_start(&config, root));
    settle(1);
}

static void tree(void *arg)
{
    (void)arg;
    actor_id root;
    grow_tree(&root, 1);
    /* A supervisor starts its children in its own first turn, behind what was ready before. */
    CHECK_EQ(said_count, 4);
    forget_said();
    /* The first crash is dealt with below. */
    CHECK_OK(rt_ipc_send(lives[1], "c", 1, IPC_ASYNC));
    settle(1);
    CHECK_STR(said, "Cbc");
    actor_id inner = rt_whereis("inner");
    forget_said();
    /* The second is too much there: it goes up, and what stands behind goes with it. */
    CHECK_OK(rt_ipc_send(lives[2], "c", 1, IPC_ASYNC));
    settle(1);
    CHECK_EQ(said[0], 'B');
    CHECK_EQ(said[1], 'D');
    CHECK_EQ(said_count, 5);
    CHECK(rt_whereis("inner") != inner && rt_whereis("inner") != ACTOR_ID_INVALID);
    forget_said();
    CHECK_OK(rt_supervisor_stop(root, -1));
    CHECK_STR(said, "DCBA");
    CHECK_EQ(rt_whereis("inner"), ACTOR_ID_INVALID);
    rt_exit();
}

TEST(supervisor_trees_escalate_upwards_and_stop_downwards)
{
    run(tree);
}

static void felled(void *arg)
{
    (void)arg;
    actor_id root;
    grow_tree(&root, 1);
    CHECK_OK(rt_actor_kill(root));
    settle(1);
    for (size_t i = 0; i < 4; i++) {
        CHECK(!rt_actor_alive(lives[i]));
    }
    CHECK_EQ(rt_whereis("inner"), ACTOR_ID_INVALID);
    CHECK_EQ(said_count, 4);
    rt_exit();
}

TEST(supervisor_that_is_killed_takes_its_tree_with_it)
{
    run(felled);
}

static void significant(void *arg)
{
    rt_auto_shutdown policy = *(rt_auto_shutdown *)arg;
    rt_child_spec specs[3] = {spec_of('a', worker), spec_of('b', worker), spec_of('c', worker)};
    specs[0].restart = specs[1].restart = RT_TRANSIENT;
    specs[0].is_significant = specs[1].is_significant = true;
    rt_supervisor_config config = {.auto_shutdown = policy,
                                   .intensity = 5,
                                   .children = specs,
                                   .child_count = 3,
                                   .actor = small};
    actor_id supervisor;
    uint32_t ref;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    CHECK_OK(rt_monitor(supervisor, &ref));
    settle(1);
    CHECK_OK(rt_ipc_send(lives[0], "n", 1, IPC_ASYNC));
    if (policy == RT_AUTO_SHUTDOWN_ALL) {
        settle(1);
        CHECK(rt_actor_alive(supervisor));
        CHECK_OK(rt_ipc_send(lives[1], "n", 1, IPC_ASYNC));
    }
    expect_end(supervisor, RT_EXIT_NORMAL);
    CHECK(!rt_actor_alive(lives[2]));
    rt_exit();
}

TEST(supervisor_ends_with_its_significant_children)
{
    rt_auto_shutdown policies[2] = {RT_AUTO_SHUTDOWN_ANY, RT_AUTO_SHUTDOWN_ALL};
    for (size_t i = 0; i < 2; i++) {
        forget_said();
        world_run(significant, &policies[i]);
    }
}

static void crowd(void *arg)
{
    (void)arg;
    static RT_SUPERVISOR_MEMORY(memory, 20);
    rt_child_spec kind = spec_of('a', worker);
    kind.restart = RT_TEMPORARY;
    kind.actor.stack_size = RT_ACTOR_STACK_SIZE_MIN * 2;
    rt_supervisor_config config = {.strategy = RT_SIMPLE,
                                   .children = &kind,
                                   .child_count = 1,
                                   .actor = small,
                                   .memory = memory,
                                   .memory_size = sizeof(memory)};
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    size_t count;
    unsigned spawned = 0;
    while (!RT_FAILED(rt_supervisor_spawn(supervisor, &letters[spawned % 26], NULL))) {
        CHECK(++spawned < 60);
    }
    /* One place of the memory is the kind's own. */
    CHECK(spawned >= 19);
    CHECK_EQ(spawned, sizeof(memory) / (sizeof(struct rti_child) + sizeof(uint32_t)) - 1);
    CHECK_OK(rt_supervisor_which_children(supervisor, NULL, 0, &count));
    CHECK_EQ(count, spawned);
    settle(1);
    CHECK_OK(rt_supervisor_stop_actor(supervisor, lives[3]));
    CHECK_OK(rt_supervisor_spawn(supervisor, &letters[3], NULL));
    CHECK_STATUS(rt_supervisor_spawn(supervisor, &letters[3], NULL), RT_ERR_NOMEM);
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_of_one_kind_has_as_many_children_as_its_memory)
{
    run(crowd);
}

static void starving(void *arg)
{
    (void)arg;
    /* Its stack is larger than any arena: it starts never. */
    rt_child_spec specs[2] = {spec_of('a', worker), spec_of('b', worker)};
    specs[1].actor.stack_size = SIZE_MAX / 2;
    rt_supervisor_config config = {
        .intensity = 3, .children = specs, .child_count = 2, .actor = small};
    actor_id supervisor;
    uint32_t ref;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    CHECK_OK(rt_monitor(supervisor, &ref));
    expect_end(supervisor, RT_EXIT_CRASH);
    CHECK_EQ(starts[1], 0);
    rt_exit();
}

TEST(supervisor_whose_child_cannot_be_started_ends)
{
    run(starving);
}

static actor_id thief_of_names;

static void loses_its_name(void *arg)
{
    (void)arg;
    rt_child_spec spec = spec_of('a', worker);
    spec.name = "only";
    rt_supervisor_config config = {
        .intensity = 2, .backoff_ms = 10, .children = &spec, .child_count = 1, .actor = small};
    actor_id supervisor;
    uint32_t ref;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    CHECK_OK(rt_monitor(supervisor, &ref));
    settle(1);
    CHECK_OK(rt_ipc_send(lives[0], "c", 1, IPC_ASYNC));
    settle(1);
    /* In its pause somebody else takes the name, and keeps it: the restart fails, is tried again,
     * and is one too many at last. */
    CHECK_OK(rt_register("only", rt_self()));
    expect_end(supervisor, RT_EXIT_CRASH);
    CHECK_EQ(starts[0], 1);
    CHECK_EQ(rt_whereis("only"), rt_self());
    thief_of_names = rt_self();
    rt_exit();
}

TEST(supervisor_gives_up_when_a_restart_fails_again_and_again)
{
    run(loses_its_name);
    CHECK(thief_of_names != ACTOR_ID_INVALID);
}

static void refusals(void *arg)
{
    (void)arg;
    rt_child_spec good = spec_of('a', worker);
    rt_child_spec specs[2] = {good, good};
    rt_supervisor_config config = {.children = specs, .child_count = 2, .actor = small};
    CHECK_STATUS(rt_supervisor_start(NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID); /* one id twice */
    specs[1].id = "b";
    config.intensity = RT_INTENSITY_MAX + 1;
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    config.intensity = 0;
    config.strategy = RT_SIMPLE;
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    config.strategy = RT_ONE_FOR_ONE;
    specs[1].fn = NULL;
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    specs[1].fn = worker;
    specs[1].supervisor = &config;
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    specs[1].supervisor = NULL;
    specs[1].is_significant = true;
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    specs[1].is_significant = false;
    specs[1].id = "a name that is much longer than the longest name";
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    specs[1].id = "b";
    specs[1].actor.priority = (rt_priority)99;
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    specs[1].actor = small;
    specs[1].actor.stack_size = RT_ACTOR_STACK_SIZE_MIN - 1;
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    specs[1].actor = small;
    config.actor.priority = (rt_priority)99;
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    config.actor = small;
    config.name = "";
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    config.name = "a name that is much longer than the longest name";
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_INVALID);
    CHECK_OK(rt_register("taken", rt_self()));
    config.name = "taken";
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_EXISTS);
    CHECK_EQ(rti_pool_in_use(&rti_supervisors_of(rti_worker_current())->pool), 0);
    CHECK_EQ(rti_pool_in_use(&rti_supervisors_of(rti_worker_current())->children), 0);
    rt_exit();
}

TEST(supervisor_that_cannot_be_is_refused_and_leaves_nothing)
{
    run(refusals);
}

static void too_many(void *arg)
{
    (void)arg;
    actor_config tiny = {.stack_size = 2 * RT_ACTOR_STACK_SIZE_MIN, .priority = RT_PRIO_NORMAL};
    rt_supervisor_config config = {.actor = tiny};
    actor_id ids[RT_MAX_SUPERVISORS];
    for (size_t i = 0; i < RT_MAX_SUPERVISORS; i++) {
        CHECK_OK(rt_supervisor_start(&config, &ids[i]));
    }
    CHECK_STATUS(rt_supervisor_start(&config, NULL), RT_ERR_NOMEM);
    CHECK_OK(rt_supervisor_stop(ids[3], -1));
    CHECK_OK(rt_supervisor_start(&config, &ids[3]));
    for (size_t i = 0; i < RT_MAX_SUPERVISORS; i++) {
        CHECK_OK(rt_supervisor_stop(ids[i], -1));
    }
    rt_exit();
}

TEST(supervisors_are_as_many_as_their_limit_and_no_more)
{
    run(too_many);
}
