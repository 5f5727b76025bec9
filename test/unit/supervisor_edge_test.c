/* SPDX-License-Identifier: Apache-2.0 */
/* Supervisors at the edges: the last moment of a period, siblings of other types in a group that is
 * restarted, requests for children in every state. */
#define RTI_MODULE "supervisor_edge_test"
#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
static char letters[] = "abcd";
static actor_id lives[4];
static char said[64];
static size_t said_count;

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

/* Says its letter when it starts and its capital when it is asked to end, which takes it 5 ms. */
static void worker(void *arg)
{
    char letter = *(char *)arg;
    rt_message msg;
    say(letter);
    lives[letter - 'a'] = rt_self();
    CHECK_OK(rt_ipc_recv(&msg, -1));
    if (rt_is_stop_msg(&msg)) {
        say((char)(letter - 'a' + 'A'));
        CHECK_OK(rt_sleep(5 * 1000 * 1000));
        rt_exit();
    }
    if (*(const char *)msg.data == 'n') {
        rt_exit();
    }
}

static rt_child_spec spec_of(char letter, rt_restart restart)
{
    static const char *const ids[] = {"a", "b", "c", "d"};
    size_t i = (size_t)(letter - 'a');
    return (rt_child_spec){
        .id = ids[i], .fn = worker, .arg = &letters[i], .actor = small, .restart = restart};
}

static void tell(char letter, const char *order)
{
    CHECK_OK(rt_ipc_send(lives[letter - 'a'], order, 1, IPC_ASYNC));
}

/* A restart that is exactly as old as the period counts, as in Erlang; one that is older does not.
 */
static void edge_of_the_period(void *arg)
{
    (void)arg;
    for (int32_t late_ms = 0; late_ms <= 1; late_ms++) {
        rt_child_spec spec = spec_of('a', RT_PERMANENT);
        rt_supervisor_config config = {
            .intensity = 1, .period_ms = 100, .children = &spec, .child_count = 1, .actor = small};
        actor_id supervisor;
        CHECK_OK(rt_supervisor_start(&config, &supervisor));
        settle(1);
        tell('a', "c");
        settle(100 + late_ms);
        CHECK(rt_actor_alive(supervisor));
        tell('a', "c");
        settle(10);
        CHECK_EQ(rt_actor_alive(supervisor), late_ms == 1);
        if (late_ms == 1) {
            CHECK_OK(rt_supervisor_stop(supervisor, -1));
        }
    }
    rt_exit();
}

TEST(supervisor_counts_a_restart_until_the_period_is_over)
{
    world_needs_virtual_clock();
    world_run(edge_of_the_period, NULL);
}

/* In a group that is restarted a temporary sibling is stopped and forgotten; a transient one that
 * had ended well, and one that was stopped by request, live again. */
static void siblings(void *arg)
{
    (void)arg;
    static const rt_strategy strategies[] = {RT_ONE_FOR_ALL, RT_REST_FOR_ONE};
    for (size_t i = 0; i < 2; i++) {
        rt_child_spec specs[4] = {spec_of('a', RT_PERMANENT), spec_of('b', RT_TEMPORARY),
                                  spec_of('c', RT_TRANSIENT), spec_of('d', RT_PERMANENT)};
        rt_supervisor_config config = {.strategy = strategies[i],
                                       .intensity = 5,
                                       .children = specs,
                                       .child_count = 4,
                                       .actor = small};
        rt_child_info info[4];
        actor_id supervisor;
        size_t count;
        forget_said();
        CHECK_OK(rt_supervisor_start(&config, &supervisor));
        settle(1);
        tell('c', "n");
        CHECK_OK(rt_supervisor_stop_child(supervisor, "d"));
        CHECK_STR(said, "abcdD");
        forget_said();
        tell('a', "c");
        settle(100);
        CHECK_STR(said, "Bacd");
        CHECK_OK(rt_supervisor_which_children(supervisor, info, 4, &count));
        CHECK_EQ(count, 3);
        CHECK_STR(info[1].id, "c");
        CHECK_EQ(info[1].state, RT_CHILD_RUNNING);
        CHECK_EQ(info[1].restarts, 1);
        /* Its id is free again. */
        CHECK_OK(rt_supervisor_add(supervisor, &specs[1], NULL));
        CHECK_OK(rt_supervisor_stop(supervisor, -1));
    }
    rt_exit();
}

TEST(supervisor_forgets_temporary_siblings_and_starts_all_others_of_the_group)
{
    world_run(siblings, NULL);
}

static rt_child_state state_of(actor_id supervisor, size_t index)
{
    rt_child_info info[4];
    size_t count;
    CHECK_OK(rt_supervisor_which_children(supervisor, info, 4, &count));
    CHECK(index < count);
    CHECK_EQ(info[index].actor != ACTOR_ID_INVALID,
             info[index].state == RT_CHILD_RUNNING || info[index].state == RT_CHILD_STOPPING);
    return info[index].state;
}

/* While a child waits for its restart. */
static void in_its_pause(void *arg)
{
    (void)arg;
    rt_child_spec specs[2] = {spec_of('a', RT_PERMANENT), spec_of('b', RT_TEMPORARY)};
    rt_supervisor_config config = {
        .intensity = 5, .backoff_ms = 50, .children = specs, .child_count = 2, .actor = small};
    actor_id supervisor;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle(1);
    for (unsigned i = 0; i < 2; i++) {
        tell('a', "c");
        settle(1);
        CHECK_EQ(state_of(supervisor, 0), RT_CHILD_RESTARTING);
        CHECK_STATUS(rt_supervisor_restart_child(supervisor, "a", NULL), RT_ERR_STATE);
        CHECK_STATUS(rt_supervisor_remove_child(supervisor, "a"), RT_ERR_STATE);
        CHECK_STATUS(rt_supervisor_add(supervisor, &specs[0], NULL), RT_ERR_EXISTS);
        CHECK_OK(rt_supervisor_stop_child(supervisor, "a"));
        CHECK_EQ(state_of(supervisor, 0), RT_CHILD_STOPPED);
        settle(100); /* the pause is over, and nothing comes of it */
        CHECK_EQ(state_of(supervisor, 0), RT_CHILD_STOPPED);
        CHECK_OK(rt_supervisor_restart_child(supervisor, "a", NULL));
        CHECK_EQ(state_of(supervisor, 0), RT_CHILD_RUNNING);
        settle(1);
    }
    CHECK_OK(rt_supervisor_stop_child(supervisor, "a"));
    CHECK_OK(rt_supervisor_remove_child(supervisor, "a"));
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_is_asked_about_a_child_in_its_pause)
{
    world_needs_virtual_clock();
    world_run(in_its_pause, NULL);
}

/* A child is stopped while its group waits to be started again: the others are, without it. */
static void group_in_its_pause(void *arg)
{
    static const struct {
        rt_strategy strategy;
        const char *said;
    } rounds[] = {{RT_ONE_FOR_ONE, "abc"}, {RT_ONE_FOR_ALL, "abcCAac"}, {RT_REST_FOR_ONE, "abcCc"}};
    (void)arg;
    for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        rt_child_spec specs[3] = {spec_of('a', RT_PERMANENT), spec_of('b', RT_PERMANENT),
                                  spec_of('c', RT_PERMANENT)};
        rt_supervisor_config config = {.strategy = rounds[i].strategy,
                                       .intensity = 5,
                                       .backoff_ms = 50,
                                       .children = specs,
                                       .child_count = 3,
                                       .actor = small};
        actor_id supervisor;
        forget_said();
        CHECK_OK(rt_supervisor_start(&config, &supervisor));
        settle(1);
        tell('b', "c");
        settle(20);
        CHECK_EQ(state_of(supervisor, 1), RT_CHILD_RESTARTING);
        CHECK_OK(rt_supervisor_stop_child(supervisor, "b"));
        settle(100);
        CHECK_EQ(state_of(supervisor, 0), RT_CHILD_RUNNING);
        CHECK_EQ(state_of(supervisor, 1), RT_CHILD_STOPPED);
        CHECK_EQ(state_of(supervisor, 2), RT_CHILD_RUNNING);
        CHECK_STR(said, rounds[i].said);
        CHECK_OK(rt_supervisor_stop(supervisor, -1));
    }
    rt_exit();
}

TEST(supervisor_starts_a_group_without_the_child_that_is_stopped_in_its_pause)
{
    world_needs_virtual_clock();
    world_run(group_in_its_pause, NULL);
}

/* One crashes and waits for its restart; one before it crashes too. It is started after that one,
 * and not when its own pause is over. */
static void two_pauses(void *arg)
{
    (void)arg;
    rt_child_spec specs[3] = {spec_of('a', RT_PERMANENT), spec_of('b', RT_PERMANENT),
                              spec_of('c', RT_PERMANENT)};
    rt_supervisor_config config = {.strategy = RT_REST_FOR_ONE,
                                   .intensity = 5,
                                   .backoff_ms = 50,
                                   .children = specs,
                                   .child_count = 3,
                                   .actor = small};
    actor_id supervisor;
    forget_said();
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle(1);
    tell('c', "c");
    settle(30);
    tell('b', "c");
    settle(1);
    CHECK_EQ(state_of(supervisor, 1), RT_CHILD_RESTARTING);
    CHECK_EQ(state_of(supervisor, 2), RT_CHILD_STOPPED);
    settle(30);
    CHECK_STR(said, "abc");
    settle(30);
    CHECK_STR(said, "abcbc");
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_starts_a_group_in_order_though_two_of_it_were_in_their_pauses)
{
    world_needs_virtual_clock();
    world_run(two_pauses, NULL);
}

/* Each pause is twice as long as the last, up to the longest; who has lived for longer than that
 * begins anew. */
static void lives_well(void *arg)
{
    static const struct {
        int32_t lives_ms;
        int32_t pause_ms;
    } rounds[] = {{1, 10}, {1, 20}, {1, 40}, {39, 40}, {40, 10}, {5, 20}, {500, 10}};
    (void)arg;
    rt_child_spec spec = spec_of('a', RT_PERMANENT);
    rt_supervisor_config config = {.intensity = 20,
                                   .period_ms = 10000,
                                   .backoff_ms = 10,
                                   .backoff_max_ms = 40,
                                   .children = &spec,
                                   .child_count = 1,
                                   .actor = small};
    actor_id supervisor;
    forget_said();
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        settle(rounds[i].lives_ms);
        tell('a', "c");
        settle(rounds[i].pause_ms - 1);
        CHECK_EQ(state_of(supervisor, 0), RT_CHILD_RESTARTING);
        settle(2); /* it has lived for one of them */
        CHECK_EQ(state_of(supervisor, 0), RT_CHILD_RUNNING);
    }
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_pauses_anew_for_a_child_that_has_lived_well)
{
    world_needs_virtual_clock();
    world_run(lives_well, NULL);
}

/* Requests that come while the supervisor stops a child, and while it stops itself. */
static actor_id asked;
static rt_status answers[4];
static unsigned answered;

static actor_id adder;

static void asks_to_add(void *arg)
{
    rt_child_spec spec = spec_of('d', RT_PERMANENT);
    (void)arg;
    adder = rt_self();
    rt_status status = rt_supervisor_add(asked, &spec, NULL);
    answers[answered++] = status;
    rt_exit();
}

static void asks_to_stop(void *arg)
{
    (void)arg;
    rt_status status = rt_supervisor_stop_child(asked, "b");
    answers[answered++] = status;
    rt_exit();
}

static void while_it_stops(void *arg)
{
    (void)arg;
    rt_child_spec specs[3] = {spec_of('a', RT_PERMANENT), spec_of('b', RT_PERMANENT),
                              spec_of('c', RT_PERMANENT)};
    rt_supervisor_config config = {.strategy = RT_ONE_FOR_ALL,
                                   .intensity = 5,
                                   .children = specs,
                                   .child_count = 3,
                                   .actor = small};
    forget_said();
    answered = 0;
    CHECK_OK(rt_supervisor_start(&config, &asked));
    settle(1);
    tell('a', "c");
    settle(1); /* it stops c, which takes a while */
    CHECK_EQ(state_of(asked, 2), RT_CHILD_STOPPING);
    CHECK_EQ(state_of(asked, 0), RT_CHILD_RESTARTING);
    CHECK(rt_spawn_ex(asks_to_add, NULL, &small) != ACTOR_ID_INVALID);
    CHECK(rt_spawn_ex(asks_to_stop, NULL, &small) != ACTOR_ID_INVALID);
    CHECK_OK(rt_actor_kill(lives[1])); /* dies while its sibling is being stopped */
    settle(1);
    CHECK_EQ(answered, 0);
    /* Who guesses the number of the call does not answer in the place of the supervisor. */
    for (rt_call_id serial = 0; serial < 4; serial++) {
        CHECK_STATUS(rt_reply_to((rt_call_id)adder << 32 | serial, "forged", 6), RT_ERR_NOT_FOUND);
    }
    settle(50);
    CHECK_STR(said, "abcCabBcd"); /* one restart, then what was asked for */
    CHECK_EQ(answered, 2);
    CHECK_OK(answers[0]);
    CHECK_OK(answers[1]);
    /* It stops itself: those who ask hear that it has ended. */
    CHECK_STATUS(rt_supervisor_stop(asked, 1), RT_ERR_TIMEOUT);
    CHECK(rt_spawn_ex(asks_to_add, NULL, &small) != ACTOR_ID_INVALID);
    CHECK(rt_spawn_ex(asks_to_stop, NULL, &small) != ACTOR_ID_INVALID);
    CHECK_OK(rt_supervisor_stop(asked, -1));
    settle(1);
    CHECK_EQ(answered, 4);
    CHECK(answers[2].code == RT_ERR_EXISTS || answers[2].code == RT_ERR_CLOSED);
    CHECK_STATUS(answers[3], RT_ERR_CLOSED);
    rt_exit();
}

TEST(supervisor_serves_when_it_has_stopped_what_it_stops)
{
    world_needs_virtual_clock();
    world_run(while_it_stops, NULL);
}

/* The last significant child but one that waits for its restart has ended: that is not the end. */
static void significant_in_its_pause(void *arg)
{
    (void)arg;
    rt_child_spec specs[3] = {spec_of('a', RT_TRANSIENT), spec_of('b', RT_TRANSIENT),
                              spec_of('c', RT_PERMANENT)};
    specs[0].is_significant = specs[1].is_significant = true;
    rt_supervisor_config config = {.auto_shutdown = RT_AUTO_SHUTDOWN_ALL,
                                   .intensity = 5,
                                   .backoff_ms = 50,
                                   .children = specs,
                                   .child_count = 3,
                                   .actor = small};
    CHECK_OK(rt_supervisor_start(&config, &asked));
    settle(1);
    tell('a', "c");
    settle(1);
    CHECK_EQ(state_of(asked, 0), RT_CHILD_RESTARTING);
    tell('b', "n");
    settle(1);
    CHECK(rt_actor_alive(asked));
    settle(100);
    CHECK_EQ(state_of(asked, 0), RT_CHILD_RUNNING);
    tell('a', "n");
    settle(20);
    CHECK(!rt_actor_alive(asked));
    rt_exit();
}

TEST(supervisor_waits_for_a_significant_child_in_its_pause)
{
    world_needs_virtual_clock();
    world_run(significant_in_its_pause, NULL);
}

/* The children of one kind are asked all at once, and have their time together. */
static void asked_together(void *arg)
{
    (void)arg;
    rt_child_spec kind = spec_of('a', RT_TEMPORARY);
    kind.shutdown_ms = 6; /* each takes 5 */
    rt_supervisor_config config = {
        .strategy = RT_SIMPLE, .children = &kind, .child_count = 1, .actor = small};
    forget_said();
    CHECK_OK(rt_supervisor_start(&config, &asked));
    for (size_t i = 0; i < 4; i++) {
        CHECK_OK(rt_supervisor_spawn(asked, &letters[i], NULL));
    }
    settle(1);
    CHECK_STR(said, "abcd");
    rt_time begun_ns = rt_clock();
    CHECK_OK(rt_supervisor_stop(asked, -1));
    CHECK_STR(said, "abcdABCD");
    CHECK_EQ(rt_clock() - begun_ns, UINT64_C(5000000));
    rt_exit();
}

TEST(supervisor_of_one_kind_asks_all_before_it_waits)
{
    world_needs_virtual_clock();
    world_run(asked_together, NULL);
}

/* Two add a child of one id while the supervisor has no time for either. */
static void two_add(void *arg)
{
    (void)arg;
    rt_child_spec specs[2] = {spec_of('a', RT_PERMANENT), spec_of('b', RT_PERMANENT)};
    rt_supervisor_config config = {
        .intensity = 5, .children = specs, .child_count = 2, .actor = small};
    size_t count;
    forget_said();
    answered = 0;
    CHECK_OK(rt_supervisor_start(&config, &asked));
    settle(1);
    CHECK(rt_spawn_ex(asks_to_stop, NULL, &small) != ACTOR_ID_INVALID);
    settle(1);
    CHECK(rt_spawn_ex(asks_to_add, NULL, &small) != ACTOR_ID_INVALID);
    CHECK(rt_spawn_ex(asks_to_add, NULL, &small) != ACTOR_ID_INVALID);
    settle(1);
    CHECK_EQ(answered, 1);
    CHECK_STATUS(answers[0], RT_ERR_EXISTS);
    settle(20);
    CHECK_EQ(answered, 3);
    CHECK_OK(answers[1]);
    CHECK_OK(answers[2]);
    CHECK_OK(rt_supervisor_which_children(asked, NULL, 0, &count));
    CHECK_EQ(count, 3);
    CHECK_OK(rt_supervisor_stop(asked, -1));
    rt_exit();
}

TEST(supervisor_gets_one_child_of_two_with_one_id)
{
    world_needs_virtual_clock();
    world_run(two_add, NULL);
}

/* A child asks its own supervisor in its first turn, and dies there. */
static unsigned begun;

static void asks_its_supervisor(void *arg)
{
    rt_child_spec spec = spec_of('d', RT_TEMPORARY);
    size_t count;
    (void)arg;
    begun++;
    CHECK_OK(rt_supervisor_which_children(asked, NULL, 0, &count));
    rt_status status = rt_supervisor_add(asked, &spec, NULL);
    CHECK(!RT_FAILED(status) || status.code == RT_ERR_EXISTS);
    if (begun < 3) {
        return;
    }
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_exit();
}

static void asked_by_its_child(void *arg)
{
    (void)arg;
    rt_child_spec specs[2] = {
        {.id = "x", .fn = asks_its_supervisor, .actor = small, .restart = RT_TRANSIENT},
        spec_of('b', RT_PERMANENT)};
    rt_supervisor_config config = {.strategy = RT_REST_FOR_ONE,
                                   .intensity = 5,
                                   .children = specs,
                                   .child_count = 2,
                                   .actor = small,
                                   .name = "top"};
    forget_said();
    begun = 0;
    CHECK_OK(rt_supervisor_start(&config, &asked));
    settle(100);
    CHECK_EQ(begun, 3);
    CHECK_EQ(state_of(asked, 0), RT_CHILD_RUNNING);
    CHECK_EQ(state_of(asked, 1), RT_CHILD_RUNNING);
    CHECK_EQ(state_of(asked, 2), RT_CHILD_RUNNING);
    CHECK_OK(rt_supervisor_stop(asked, -1));
    rt_exit();
}

TEST(supervisor_is_asked_by_a_child_that_has_just_begun)
{
    world_run(asked_by_its_child, NULL);
}

/* Two supervisors, of one name each and of children of one name. */
static void rivals(void *arg)
{
    (void)arg;
    rt_child_spec spec = spec_of('a', RT_PERMANENT);
    spec.name = "only";
    rt_supervisor_config config = {.intensity = 3,
                                   .period_ms = 1000,
                                   .backoff_ms = 5,
                                   .children = &spec,
                                   .child_count = 1,
                                   .actor = small};
    actor_id first;
    actor_id second;
    CHECK_OK(rt_supervisor_start(&config, &first));
    CHECK_OK(rt_supervisor_start(&config, &second));
    settle(1);
    /* The second one's child cannot be started: it ends, and the first one's is as it was. */
    CHECK(rt_actor_alive(first) && !rt_actor_alive(second));
    CHECK_EQ(rt_whereis("only"), lives[0]);
    CHECK_OK(rt_supervisor_stop(first, -1));
    CHECK_OK(rt_supervisor_start(&config, &second));
    settle(1);
    CHECK_EQ(rt_whereis("only"), lives[0]);
    CHECK_OK(rt_supervisor_stop(second, -1));
    rt_exit();
}

TEST(supervisors_of_children_of_one_name_do_not_take_it_from_each_other)
{
    world_run(rivals, NULL);
}

/* Thousands of one kind, which come, end, crash and are stopped together. */
#define CROWD 3000

static unsigned born;
static unsigned gone;

static void on_start(void *state, void *arg)
{
    (void)state;
    (void)arg;
    born++;
}

static void on_end(void *state, rt_exit_reason reason)
{
    (void)state;
    (void)reason;
    gone++;
}

static void on_order(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    CHECK_OK(rt_behaviour_end(RT_EXIT_CRASH));
}

static void crowd(void *arg)
{
    static RT_SUPERVISOR_MEMORY(memory, CROWD);
    static actor_id ids[CROWD];
    static const rt_behaviour_fn handlers[] = {on_order};
    static const rt_behaviour_type type = {.handlers = handlers,
                                           .handler_count = 1,
                                           .start = on_start,
                                           .end = on_end,
                                           .priority = RT_PRIO_NORMAL};
    rt_child_spec kind = {.behaviour = &type, .restart = RT_TEMPORARY};
    rt_supervisor_config config = {.strategy = RT_SIMPLE,
                                   .children = &kind,
                                   .child_count = 1,
                                   .actor = small,
                                   .memory = memory,
                                   .memory_size = sizeof(memory)};
    size_t count;
    size_t made = 0;
    (void)arg;
    born = gone = 0;
    CHECK_OK(
        rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = CROWD, .messages = 2 * CROWD}));
    CHECK_OK(rt_supervisor_start(&config, &asked));
    /* The kind takes one place of the memory. */
    while (made < CROWD && !RT_FAILED(rt_supervisor_spawn(asked, NULL, &ids[made]))) {
        made++;
    }
    CHECK(made >= CROWD - 1);
    settle(1);
    CHECK_EQ(born, made);
    for (size_t i = 0; i < made; i += 3) {
        CHECK_OK(rt_behaviour_send(ids[i], 0, NULL, 0));
    }
    settle(1);
    CHECK_EQ(gone, (made + 2) / 3);
    CHECK_OK(rt_supervisor_which_children(asked, NULL, 0, &count));
    CHECK_EQ(count, made - gone);
    CHECK_OK(rt_supervisor_stop_actor(asked, ids[1]));
    CHECK_OK(rt_supervisor_spawn(asked, NULL, NULL)); /* there is room again */
    CHECK_OK(rt_supervisor_stop(asked, -1));
    CHECK_EQ(gone, made + 1);
    rt_exit();
}

TEST(supervisor_of_thousands_of_one_kind_stops_them_all)
{
    world_run(crowd, NULL);
}
