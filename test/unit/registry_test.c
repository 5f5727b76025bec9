/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "registry_test"
#include "actor/registry.h"

#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static const char longest[] = "0123456789012345678901234567890"; /* RT_NAME_MAX bytes */

static void sleeper(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, -1);
    rt_exit();
}

TEST(registry_finds_an_actor_by_its_name)
{
    struct actors_world *world = actors_start();
    actor_id id = actors_spawn(sleeper, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_EQ(rt_whereis("server"), ACTOR_ID_INVALID);
    CHECK_OK(rt_register("server", id));
    CHECK_OK(rt_register("again", id));
    CHECK_EQ(rt_whereis("server"), id);
    CHECK_EQ(rt_whereis("again"), id);
    CHECK_EQ(rt_whereis("serve"), ACTOR_ID_INVALID);
    CHECK_OK(rt_register("server", id));
    CHECK_EQ(rti_registry_audit(&world->actors.registry), 2);
    actors_abandon(world);
}

TEST(registry_copies_the_name)
{
    struct actors_world *world = actors_start();
    actor_id id = actors_spawn(sleeper, NULL, RT_PRIO_NORMAL, NULL);
    char name[] = "copy";
    CHECK_OK(rt_register(name, id));
    name[0] = 'x';
    CHECK_EQ(rt_whereis("copy"), id);
    CHECK_EQ(rt_whereis(name), ACTOR_ID_INVALID);
    actors_abandon(world);
}

TEST(registry_refuses_a_name_that_another_has)
{
    struct actors_world *world = actors_start();
    actor_id first = actors_spawn(sleeper, NULL, RT_PRIO_NORMAL, NULL);
    actor_id second = actors_spawn(sleeper, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_OK(rt_register("one", first));
    CHECK_STATUS(rt_register("one", second), RT_ERR_EXISTS);
    CHECK_EQ(rt_whereis("one"), first);
    CHECK_OK(rt_unregister("one"));
    CHECK_OK(rt_register("one", second));
    CHECK_EQ(rt_whereis("one"), second);
    actors_abandon(world);
}

TEST(registry_refuses_what_is_no_name_and_no_actor)
{
    struct actors_world *world = actors_start();
    actor_id id = actors_spawn(sleeper, NULL, RT_PRIO_NORMAL, NULL);
    char too_long[RT_NAME_MAX + 2];
    memset(too_long, 'n', sizeof(too_long) - 1);
    too_long[sizeof(too_long) - 1] = '\0';
    CHECK_EQ(strlen(longest), RT_NAME_MAX);
    CHECK_STATUS(rt_register(NULL, id), RT_ERR_INVALID);
    CHECK_STATUS(rt_register("", id), RT_ERR_INVALID);
    CHECK_STATUS(rt_register(too_long, id), RT_ERR_INVALID);
    CHECK_STATUS(rt_register("x", ACTOR_ID_INVALID), RT_ERR_INVALID);
    CHECK_STATUS(rt_register("x", RT_SENDER_SYSTEM), RT_ERR_INVALID);
    CHECK_STATUS(rt_unregister(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_unregister("x"), RT_ERR_NOT_FOUND);
    CHECK_EQ(rt_whereis(NULL), ACTOR_ID_INVALID);
    CHECK_EQ(rt_whereis(too_long), ACTOR_ID_INVALID);
    CHECK_OK(rt_register(longest, id));
    CHECK_EQ(rt_whereis(longest), id);
    actors_abandon(world);
}

TEST(registry_frees_the_names_of_the_dead)
{
    struct actors_world *world = actors_start();
    actor_id id = actors_spawn(sleeper, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_OK(rt_register("mortal", id));
    CHECK_OK(rt_ipc_send(id, NULL, 0, IPC_ASYNC));
    CHECK_OK(actors_run(world));
    CHECK_EQ(rt_whereis("mortal"), ACTOR_ID_INVALID);
    CHECK_EQ(rti_registry_audit(&world->actors.registry), 0);
    actors_abandon(world);
}

TEST(registry_gives_the_name_of_a_killed_actor_away_at_once)
{
    struct actors_world *world = actors_start();
    actor_id first = actors_spawn(sleeper, NULL, RT_PRIO_NORMAL, NULL);
    actor_id second = actors_spawn(sleeper, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_OK(rt_register("role", first));
    CHECK_OK(rt_actor_kill(first));
    CHECK_EQ(rt_whereis("role"), ACTOR_ID_INVALID);
    CHECK_STATUS(rt_unregister("role"), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_register("other", first), RT_ERR_INVALID);
    CHECK_OK(rt_register("role", second));
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    CHECK_EQ(rt_whereis("role"), second);
    actors_abandon(world);
}

TEST(registry_that_is_full_says_so_and_recovers)
{
    struct actors_world *world = actors_start();
    actor_id id = actors_spawn(sleeper, NULL, RT_PRIO_NORMAL, NULL);
    char name[16];
    for (int i = 0; i < RT_NAME_POOL_SIZE; i++) {
        snprintf(name, sizeof(name), "name %d", i);
        CHECK_OK(rt_register(name, id));
    }
    CHECK_STATUS(rt_register("one more", id), RT_ERR_NOMEM);
    CHECK_EQ(rt_whereis("one more"), ACTOR_ID_INVALID);
    CHECK_EQ(rti_registry_audit(&world->actors.registry), RT_NAME_POOL_SIZE);
    CHECK_OK(rt_unregister("name 7"));
    CHECK_OK(rt_register("one more", id));
    for (int i = 0; i < RT_NAME_POOL_SIZE; i++) {
        snprintf(name, sizeof(name), "name %d", i);
        CHECK_EQ(rt_whereis(name), i == 7 ? ACTOR_ID_INVALID : id);
    }
    actors_abandon(world);
}

TEST(registry_is_refused_without_a_runtime)
{
    CHECK_STATUS(rt_register("x", 1), RT_ERR_THREAD);
    CHECK_STATUS(rt_unregister("x"), RT_ERR_THREAD);
    CHECK_EQ(rt_whereis("x"), ACTOR_ID_INVALID);
}
