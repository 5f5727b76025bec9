/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "Actor API": the lifecycle functions. */
#define RTI_MODULE "actor_life_test"
#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static struct actors_world *world;

static void says(void *arg)
{
    actors_say(*(const char *)arg);
    rt_exit();
}

static void spawns_two(void *arg)
{
    (void)arg;
    actor_id first = rt_spawn(says, "1");
    actor_id second = actors_spawn(says, "2", RT_PRIO_NORMAL, "second");
    CHECK(first != ACTOR_ID_INVALID && second != ACTOR_ID_INVALID && first != second);
    CHECK(first != rt_self() && second != rt_self());
    CHECK(rt_actor_alive(first) && rt_actor_alive(second) && rt_actor_alive(rt_self()));
    actors_say('0');
    rt_yield();
    CHECK(!rt_actor_alive(first) && !rt_actor_alive(second));
    rt_exit();
}

TEST(actor_spawns_others_which_run_later)
{
    world = actors_start();
    rt_spawn(spawns_two, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "012");
}

static int exits_deep(int depth)
{
    volatile int is_last = depth == 0;
    if (is_last) {
        rt_exit();
    }
    return depth == 0 ? 0 : exits_deep(depth - 1) + 1;
}

static void exits_from_a_depth(void *arg)
{
    (void)arg;
    (void)exits_deep(10);
    actors_say('!');
}

TEST(actor_exit_does_not_return_from_any_depth)
{
    world = actors_start();
    actor_id id = rt_spawn(exits_from_a_depth, NULL);
    CHECK_OK(actors_run(world));
    CHECK(!rt_actor_alive(id));
    actors_finish(world);
    CHECK_STR(actors_said(), "");
}

static actor_id selves[3];

static void notes_self(void *arg)
{
    size_t i = *(const size_t *)arg;
    for (int turn = 0; turn < 3; turn++) {
        CHECK_EQ(rt_self(), selves[i]);
        rt_yield();
    }
    rt_exit();
}

TEST(actor_self_is_its_own_id_at_every_turn)
{
    static const size_t indices[] = {0, 1, 2};
    world = actors_start();
    for (size_t i = 0; i < 3; i++) {
        selves[i] = rt_spawn(notes_self, (void *)(uintptr_t)&indices[i]);
    }
    actors_finish(world);
}

static void lives_shortly(void *arg)
{
    (void)arg;
    rt_yield();
    rt_exit();
}

TEST(actor_alive_is_true_from_spawn_to_death)
{
    world = actors_start();
    actor_id id = rt_spawn(lives_shortly, NULL);
    CHECK(rt_actor_alive(id));
    CHECK(!rt_actor_alive(ACTOR_ID_INVALID));
    CHECK(!rt_actor_alive(id + 1));
    CHECK_OK(actors_run(world));
    CHECK(!rt_actor_alive(id));
    /* The slot is used again; the old id stays dead. */
    for (int i = 0; i < 3 * RT_MAX_ACTORS; i++) {
        CHECK(rt_spawn(lives_shortly, NULL) != id);
        CHECK_OK(actors_run(world));
        CHECK(!rt_actor_alive(id));
    }
    actors_finish(world);
}

static void sends_to_a_stale_id(void *arg)
{
    actor_id stale = *(const actor_id *)arg;
    uint32_t ref;
    CHECK_STATUS(rt_ipc_send(stale, "x", 1, IPC_ASYNC), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(stale, "x", 1, IPC_SYNC), RT_ERR_INVALID);
    CHECK_STATUS(rt_link(stale), RT_ERR_INVALID);
    CHECK_STATUS(rt_monitor(stale, &ref), RT_ERR_INVALID);
    CHECK_STATUS(rt_actor_kill(stale), RT_ERR_INVALID);
    CHECK_EQ(rt_ipc_count(), 0);
    rt_exit();
}

TEST(actor_stale_id_never_reaches_the_next_user_of_its_slot)
{
    static actor_id stale;
    world = actors_start();
    stale = rt_spawn(lives_shortly, NULL);
    CHECK_OK(actors_run(world));
    /* All slots are in use again, the stale one's too. */
    actor_config config = {.stack_size = RT_ACTOR_STACK_SIZE_MIN * 2};
    for (int i = 0; i < RT_MAX_ACTORS; i++) {
        CHECK(rt_spawn_ex(sends_to_a_stale_id, &stale, &config) != ACTOR_ID_INVALID);
    }
    actors_finish(world);
}

TEST(actor_name_may_be_null)
{
    world = actors_start();
    actor_config config = {.stack_size = 0, .priority = RT_PRIO_LOW, .name = NULL};
    CHECK(rt_spawn_ex(says, "n", &config) != ACTOR_ID_INVALID);
    actors_finish(world);
    CHECK_STR(actors_said(), "n");
}

TEST(actor_run_ends_when_all_have_exited)
{
    world = actors_start();
    for (int i = 0; i < 5; i++) {
        rt_spawn(lives_shortly, NULL);
    }
    CHECK_OK(actors_run(world));
    CHECK_EQ(rti_actors_count(&world->actors), 0);
    actors_finish(world);
}
