/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "actors_test"
#include "actor/actors.h"

#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static struct rti_actors second;

TEST(actors_are_made_once_per_runtime)
{
    struct actors_world *world = actors_start();
    CHECK_STATUS(rti_actors_init(&second, &world->sched), RT_ERR_STATE);
    CHECK(world->sched.modules[RTI_MODULE_ACTOR] == &world->actors);
    actors_finish(world);
    CHECK(world->sched.modules[RTI_MODULE_ACTOR] == NULL);
}

static void busy(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, -1);
    rt_exit();
}

TEST(actors_can_be_made_again_after_they_were_taken_away)
{
    for (int i = 0; i < 3; i++) {
        struct actors_world *world = actors_start();
        CHECK(rt_spawn(busy, NULL) != ACTOR_ID_INVALID);
        actors_abandon(world);
    }
}

static void deinit_with_one_alive(void *arg)
{
    rti_actors_deinit(arg);
}

TEST(actors_cannot_be_taken_away_while_one_lives)
{
    struct actors_world *world = actors_start();
    CHECK(rt_spawn(busy, NULL) != ACTOR_ID_INVALID);
    CHECK_PANICS("actors", deinit_with_one_alive, &world->actors);
    actors_abandon(world);
}

static void stop_and_wait(void *arg)
{
    struct actors_world *world = arg;
    rti_sched_stop(&world->sched);
    rt_message msg;
    (void)rt_ipc_recv(&msg, 1000);
    actors_say('!');
}

TEST(actors_all_killed_run_no_more_of_their_code)
{
    struct actors_world *world = actors_start();
    for (int i = 0; i < 5; i++) {
        actors_spawn(stop_and_wait, world, RT_PRIO_NORMAL, NULL);
    }
    CHECK_OK(actors_run(world));
    CHECK_EQ(rti_actors_count(&world->actors), 5);
    actors_abandon(world);
    CHECK_STR(actors_said(), "");
}

static void audit(void *arg)
{
    rti_actors_audit(arg);
}

TEST(actors_audit_sees_a_block_that_nobody_has)
{
    struct actors_world *world = actors_start();
    rti_actors_audit(&world->actors);
    void *leak = rti_pool_alloc(&world->actors.ipc.entries);
    CHECK(leak != NULL);
    CHECK_PANICS("actors", audit, &world->actors);
}
