/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "actor_test"
#include "actor/actor.h"

#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static struct actors_world *world;

static void say_and_exit(void *arg)
{
    actors_say(*(const char *)arg);
    rt_exit();
}

static void wait_for_ever(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, -1);
    rt_exit();
}

TEST(actor_gets_its_argument_and_runs_when_its_turn_comes)
{
    world = actors_start();
    actor_id id = rt_spawn(say_and_exit, "a");
    CHECK(id != ACTOR_ID_INVALID && rt_actor_alive(id));
    CHECK_STR(actors_said(), "");
    CHECK_OK(actors_run(world));
    CHECK_STR(actors_said(), "a");
    CHECK(!rt_actor_alive(id));
    actors_finish(world);
}

TEST(actor_refuses_a_configuration_that_cannot_be_met)
{
    world = actors_start();
    actor_config config = {.priority = RT_PRIO_NORMAL};
    CHECK_EQ(rt_spawn(NULL, NULL), ACTOR_ID_INVALID);
    CHECK_EQ(rt_spawn_ex(NULL, NULL, &config), ACTOR_ID_INVALID);
    config.priority = (rt_priority)4;
    CHECK_EQ(rt_spawn_ex(say_and_exit, "a", &config), ACTOR_ID_INVALID);
    config.priority = (rt_priority)-1;
    CHECK_EQ(rt_spawn_ex(say_and_exit, "a", &config), ACTOR_ID_INVALID);
    config.priority = RT_PRIO_LOW;
    config.stack_size = RT_ACTOR_STACK_SIZE_MIN - 1;
    CHECK_EQ(rt_spawn_ex(say_and_exit, "a", &config), ACTOR_ID_INVALID);
    static const size_t sizes[] = {1,
                                   SIZE_MAX,
                                   SIZE_MAX - 15,
                                   SIZE_MAX / 2 + 1,
                                   RT_STACK_ARENA_SIZE + 1,
                                   (size_t)RT_STACK_SIZE_MAX + 1};
    for (size_t i = 0; i < RTI_COUNT_OF(sizes); i++) {
        config.stack_size = sizes[i];
        CHECK_EQ(rt_spawn_ex(say_and_exit, "a", &config), ACTOR_ID_INVALID);
    }
    config.malloc_stack = true;
    config.stack_size = SIZE_MAX;
    CHECK_EQ(rt_spawn_ex(say_and_exit, "a", &config), ACTOR_ID_INVALID);
    actors_check_ledger(world);
    config = (actor_config){.stack_size = RT_ACTOR_STACK_SIZE_MIN};
    CHECK(rt_spawn_ex(say_and_exit, "m", &config) != ACTOR_ID_INVALID);
    actors_finish(world);
    CHECK_STR(actors_said(), "m");
}

TEST(actor_without_a_configuration_has_the_defaults)
{
    world = actors_start();
    struct rt_actor_stats stats;
    actor_id id = rt_spawn_ex(wait_for_ever, NULL, NULL);
    CHECK_OK(rt_actor_stats(id, &stats));
    CHECK_EQ(stats.priority, RT_PRIO_NORMAL);
    CHECK_STR(stats.name, "");
    CHECK_EQ(stats.state, ACTOR_STATE_READY);
    CHECK(stats.stack_size <= RT_DEFAULT_STACK_SIZE &&
          stats.stack_size >= RT_DEFAULT_STACK_SIZE - (sizeof(void *) == 4 ? 768 : 64));
    actors_abandon(world);
}

TEST(actor_name_is_copied_and_cut)
{
    world = actors_start();
    char name[] = "a name that is longer than thirty-one bytes";
    struct rt_actor_stats stats;
    actor_id id = actors_spawn(wait_for_ever, NULL, RT_PRIO_HIGH, name);
    memset(name, 'x', sizeof(name) - 1);
    CHECK_OK(rt_actor_stats(id, &stats));
    CHECK_STR(stats.name, "a name that is longer than thir");
    CHECK_EQ(stats.priority, RT_PRIO_HIGH);
    actors_abandon(world);
}

TEST(actor_table_that_is_full_refuses_and_recovers)
{
    world = actors_start();
    actor_config config = {.stack_size = RT_ACTOR_STACK_SIZE_MIN};
    actor_id ids[RT_MAX_ACTORS];
    for (size_t i = 0; i < RT_MAX_ACTORS; i++) {
        ids[i] = rt_spawn_ex(wait_for_ever, NULL, &config);
        CHECK(ids[i] != ACTOR_ID_INVALID);
        for (size_t j = 0; j < i; j++) {
            CHECK(ids[j] != ids[i]);
        }
    }
    CHECK_EQ(rt_spawn_ex(wait_for_ever, NULL, &config), ACTOR_ID_INVALID);
    CHECK_EQ(actors_stacks_in_use(world), RT_MAX_ACTORS);
    config.malloc_stack = true;
    CHECK_EQ(rt_spawn_ex(wait_for_ever, NULL, &config), ACTOR_ID_INVALID);
    CHECK_OK(rt_actor_kill(ids[5]));
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    actor_id again = rt_spawn_ex(wait_for_ever, NULL, &config);
    CHECK(again != ACTOR_ID_INVALID && again != ids[5]);
    CHECK(!rt_actor_alive(ids[5]) && rt_actor_alive(again));
    actors_abandon(world);
}

TEST(actor_stack_arena_that_is_full_refuses_and_recovers)
{
    world = actors_start();
    actor_config config = {.stack_size = 0, .priority = RT_PRIO_NORMAL};
    actor_id ids[RT_MAX_ACTORS];
    size_t count = 0;
    while ((ids[count] = rt_spawn_ex(wait_for_ever, NULL, &config)) != ACTOR_ID_INVALID) {
        count++;
    }
    CHECK_EQ(count, RT_STACK_ARENA_SIZE / RT_DEFAULT_STACK_SIZE);
    CHECK_EQ(rti_actors_count(&world->actors), count);
    CHECK_OK(rt_actor_kill(ids[0]));
    CHECK_OK(rt_actor_kill(ids[1]));
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    /* The two neighbours have become one block. */
    config.stack_size = (size_t)2 * RT_DEFAULT_STACK_SIZE;
    CHECK(rt_spawn_ex(wait_for_ever, NULL, &config) != ACTOR_ID_INVALID);
    actors_abandon(world);
}

TEST(actor_on_the_heap_uses_no_arena)
{
    world = actors_start();
    actor_config config = {.malloc_stack = true, .stack_size = 32768};
    CHECK(rt_spawn_ex(say_and_exit, "h", &config) != ACTOR_ID_INVALID);
    CHECK_EQ(actors_stacks_in_use(world), 0);
    actors_finish(world);
    CHECK_STR(actors_said(), "h");
}

static void look_at_oneself(void *arg)
{
    actor_id *told = arg;
    *told = rt_self();
    CHECK(rt_actor_alive(rt_self()));
    CHECK(rti_actor_current() == rti_actor_lookup(rt_self()));
    rt_exit();
}

TEST(actor_knows_its_id_and_main_has_none)
{
    actor_id told = ACTOR_ID_INVALID;
    world = actors_start();
    CHECK_EQ(rt_self(), ACTOR_ID_INVALID);
    CHECK(rti_actor_current() == NULL);
    actor_id id = actors_spawn(look_at_oneself, &told, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_EQ(told, id);
}

TEST(actor_ids_of_the_dead_name_nobody)
{
    world = actors_start();
    actor_id seen[200];
    for (size_t i = 0; i < RTI_COUNT_OF(seen); i++) {
        seen[i] = rt_spawn(say_and_exit, "x");
        CHECK(seen[i] != ACTOR_ID_INVALID);
        CHECK(seen[i] != RT_SENDER_SYSTEM && seen[i] != RT_SENDER_TIMER);
        CHECK_OK(actors_run(world));
        for (size_t j = 0; j <= i; j++) {
            CHECK(!rt_actor_alive(seen[j]));
            CHECK(j == i || seen[j] != seen[i]);
        }
    }
    CHECK_STATUS(rt_ipc_send(seen[3], "x", 1, IPC_ASYNC), RT_ERR_INVALID);
    actors_finish(world);
}

TEST(actor_numbers_that_were_never_issued_name_nobody)
{
    world = actors_start();
    actor_id id = actors_spawn(wait_for_ever, NULL, RT_PRIO_NORMAL, NULL);
    for (uint32_t other = 0; other < 100000; other++) {
        CHECK_EQ(rt_actor_alive(other), other == id);
    }
    for (uint32_t other = UINT32_MAX; other > UINT32_MAX - 1000; other--) {
        CHECK(!rt_actor_alive(other));
    }
    actors_abandon(world);
}

static void exit_here(void *arg)
{
    (void)arg;
    rt_exit();
}

TEST(actor_exit_outside_of_an_actor_panics)
{
    CHECK_PANICS("actor", exit_here, NULL);
    world = actors_start();
    CHECK_PANICS("actor", exit_here, NULL);
}

TEST(actor_functions_answer_without_a_runtime)
{
    struct rt_actor_stats stats;
    CHECK_EQ(rt_self(), ACTOR_ID_INVALID);
    CHECK(!rt_actor_alive(1));
    CHECK_STATUS(rt_actor_kill(1), RT_ERR_THREAD);
    CHECK_STATUS(rt_actor_stats(1, &stats), RT_ERR_THREAD);
    rt_yield();
}

static void spawns_in_vain(void *arg)
{
    (void)arg;
    actor_config config = {.stack_size = RT_ACTOR_STACK_SIZE_MIN};
    CHECK_OK(rt_spawn_status());
    config.priority = (rt_priority)4;
    CHECK_EQ(rt_spawn_ex(say_and_exit, "a", &config), ACTOR_ID_INVALID);
    CHECK_STATUS(rt_spawn_status(), RT_ERR_INVALID);
    config.priority = RT_PRIO_LOW;
    actor_id last = ACTOR_ID_INVALID;
    for (size_t i = 1; i < RT_MAX_ACTORS; i++) {
        last = rt_spawn_ex(wait_for_ever, NULL, &config);
        CHECK(last != ACTOR_ID_INVALID);
    }
    CHECK_STATUS(rt_spawn_status(), RT_ERR_INVALID);
    CHECK_EQ(rt_spawn_ex(wait_for_ever, NULL, &config), ACTOR_ID_INVALID);
    CHECK_STATUS(rt_spawn_status(), RT_ERR_NOMEM);
    CHECK(strstr(rt_spawn_status().msg, "RT_MAX_ACTORS") != NULL);
    CHECK_OK(rt_actor_kill(last));
    rt_yield();
    config.stack_size = RT_STACK_ARENA_SIZE;
    CHECK_EQ(rt_spawn_ex(wait_for_ever, NULL, &config), ACTOR_ID_INVALID);
    CHECK_STATUS(rt_spawn_status(), RT_ERR_NOMEM);
    CHECK(strstr(rt_spawn_status().msg, "stack") != NULL);
    rt_exit();
}

TEST(actor_hears_why_its_spawn_failed_and_of_no_other)
{
    CHECK_STATUS(rt_spawn_status(), RT_ERR_THREAD);
    world = actors_start();
    CHECK_OK(rt_spawn_status());
    CHECK(actors_spawn(spawns_in_vain, NULL, RT_PRIO_NORMAL, NULL) != ACTOR_ID_INVALID);
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    CHECK_OK(rt_spawn_status());
    CHECK_EQ(rt_spawn(NULL, NULL), ACTOR_ID_INVALID);
    CHECK_STATUS(rt_spawn_status(), RT_ERR_INVALID);
    actors_abandon(world);
}

static void spawn_here(void)
{
    CHECK_EQ(rt_spawn(say_and_exit, "x"), ACTOR_ID_INVALID);
}

TEST(actor_spawn_without_a_runtime_says_why)
{
    CHECK(strstr(actors_capture(spawn_here), "rt_init") != NULL);
}

static void kill_and_look(void *arg)
{
    actor_id victim = *(const actor_id *)arg;
    CHECK_OK(rt_actor_kill(victim));
    CHECK(!rt_actor_alive(victim));
    CHECK_STATUS(rt_actor_kill(victim), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(victim, "x", 1, IPC_ASYNC), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(victim, "x", 1, IPC_SYNC), RT_ERR_INVALID);
    actors_say('k');
    rt_exit();
}

TEST(actor_killed_is_unreachable_at_once_and_runs_no_more)
{
    static actor_id victim;
    world = actors_start();
    actors_spawn(kill_and_look, &victim, RT_PRIO_NORMAL, NULL);
    /* It is ready and has never run. */
    victim = actors_spawn(say_and_exit, "v", RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "k");
}

static void spin(void *arg)
{
    const actor_id *victim = arg;
    CHECK_OK(rt_actor_kill(*victim));
    size_t before = rti_actors_count(&world->actors);
    rt_yield();
    CHECK_EQ(rti_actors_count(&world->actors), before - 1);
    rt_exit();
}

TEST(actor_killed_dies_before_less_urgent_work_though_it_was_less_urgent)
{
    static actor_id victim;
    for (int is_parked = 0; is_parked < 2; is_parked++) {
        world = actors_start();
        victim = actors_spawn(wait_for_ever, NULL, RT_PRIO_LOW, NULL);
        if (is_parked) {
            CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
        }
        actors_spawn(spin, &victim, RT_PRIO_HIGH, NULL);
        actors_finish(world);
    }
}

static void kill_oneself(void *arg)
{
    (void)arg;
    actors_say('b');
    (void)rt_actor_kill(rt_self());
    actors_say('a');
}

TEST(actor_that_kills_itself_does_not_go_on)
{
    world = actors_start();
    actors_spawn(kill_oneself, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "b");
}

static void use_stack(void *arg)
{
    volatile char frame[6000];
    (void)arg;
    for (size_t i = 0; i < sizeof(frame); i++) {
        frame[i] = 1;
    }
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    struct rt_actor_stats stats;
    CHECK_OK(rt_actor_stats(rt_self(), &stats));
    CHECK_EQ(stats.state, ACTOR_STATE_RUNNING);
    CHECK_EQ(stats.messages_sent, 2);
    CHECK_EQ(stats.messages_received, 2);
    CHECK_EQ(stats.mailbox_depth, 1);
    CHECK_EQ(stats.mailbox_depth_max, 2);
    (void)rt_ipc_recv(&msg, -1);
    (void)rt_ipc_recv(&msg, -1);
    rt_exit();
}

TEST(actor_statistics_tell_what_it_did)
{
    world = actors_start();
    struct rt_actor_stats stats;
    actor_id id = actors_spawn(use_stack, NULL, RT_PRIO_LOW, "user");
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    CHECK_OK(rt_actor_stats(id, &stats));
    CHECK_EQ(stats.state, ACTOR_STATE_BLOCKED);
    CHECK_EQ(stats.messages_sent, 0);
    CHECK_OK(rt_ipc_send(id, NULL, 0, IPC_ASYNC));
    CHECK_OK(rt_actor_stats(id, &stats));
    CHECK_EQ(stats.state, ACTOR_STATE_READY);
    CHECK_EQ(stats.mailbox_depth, 1);
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    CHECK_OK(rt_actor_stats(id, &stats));
    CHECK_EQ(stats.messages_received, 3);
#if RT_CHECKS
    CHECK(stats.stack_used_max > 6000 && stats.stack_used_max < stats.stack_size);
#endif
    CHECK_STATUS(rt_actor_stats(id, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_actor_stats(id + 1, &stats), RT_ERR_INVALID);
    actors_abandon(world);
}

static void yield_twice(void *arg)
{
    for (int i = 0; i < 3; i++) {
        actors_say(*(const char *)arg);
        rt_yield();
    }
    rt_exit();
}

TEST(actor_yield_lets_its_equals_run)
{
    world = actors_start();
    rt_yield();
    actors_spawn(yield_twice, "a", RT_PRIO_NORMAL, NULL);
    actors_spawn(yield_twice, "b", RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "ababab");
}
