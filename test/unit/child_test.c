/* SPDX-License-Identifier: Apache-2.0 */
/* One child: what a specification may say, and that nothing of a child is left behind. */
#define RTI_MODULE "child_test"
#include <orrery/rt.h>

#include "actor/supervisor.h"
#include "support/test.h"
#include "support/world.h"

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};

static void waits(void *arg)
{
    rt_message msg;
    (void)arg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK(rt_is_stop_msg(&msg));
    CHECK_EQ(msg.len, 0);
    CHECK(!rt_is_exit_msg(&msg) && !rt_timer_is_tick(&msg));
    rt_exit();
}

TEST(child_specification_names_exactly_one_way_to_start)
{
    static const rt_supervisor_config below = {.strategy = RT_ONE_FOR_ONE};
    rt_child_spec spec = {.id = "x"};
    CHECK(!rti_child_spec_is_valid(&spec, false));
    spec.fn = waits;
    CHECK(rti_child_spec_is_valid(&spec, false));
    spec.supervisor = &below;
    CHECK(!rti_child_spec_is_valid(&spec, false));
    spec.fn = NULL;
    CHECK(rti_child_spec_is_valid(&spec, false));
    spec.keeps_address = true;
    CHECK(!rti_child_spec_is_valid(&spec, false));
}

TEST(child_specification_of_a_kind_needs_no_id_and_has_no_name)
{
    rt_child_spec spec = {.fn = waits};
    CHECK(!rti_child_spec_is_valid(&spec, false));
    CHECK(rti_child_spec_is_valid(&spec, true));
    spec.name = "one";
    CHECK(!rti_child_spec_is_valid(&spec, true));
    spec.name = NULL;
    spec.shutdown_ms = RT_SHUTDOWN_FOREVER - 1;
    CHECK(!rti_child_spec_is_valid(&spec, true));
}

/* A child that is asked to stop, and whose supervisor is killed before it hears of it. */
static void orphans(void *arg)
{
    (void)arg;
    rt_child_spec specs[2] = {{.id = "a", .fn = waits, .actor = small, .keeps_address = true},
                              {.id = "b", .fn = waits, .actor = small}};
    specs[0].actor.priority = RT_PRIO_LOW;
    specs[1].actor.priority = RT_PRIO_LOW;
    rt_supervisor_config config = {.children = specs, .child_count = 2, .actor = small};
    actor_id supervisor;
    rt_message msg;
    size_t count;
    rt_child_info info[2];
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_supervisor_which_children(supervisor, info, 2, &count));
    /* The request to stop waits in the mailbox of the second when the supervisor dies. */
    CHECK_STATUS(rt_supervisor_stop(supervisor, 0), RT_ERR_TIMEOUT);
    struct rti_request request = {.kind = RTI_REQUEST_STOP};
    rt_message reply;
    CHECK_STATUS(rt_call(supervisor, &request, sizeof(request), &reply, 1), RT_ERR_CLOSED);
    CHECK(!rt_actor_alive(info[0].actor) && !rt_actor_alive(info[1].actor));
    rt_exit();
}

TEST(child_that_was_asked_to_stop_outlives_its_supervisor_by_no_turn)
{
    world_run(orphans, NULL);
}

/* The same, killed at each moment of a restart with a kept address. */
static void killed_in_between(void *arg)
{
    unsigned yields = *(unsigned *)arg;
    rt_child_spec specs[3] = {{.id = "a", .fn = waits, .actor = small, .keeps_address = true},
                              {.id = "b", .fn = waits, .actor = small, .keeps_address = true},
                              {.id = "c", .fn = waits, .actor = small}};
    rt_supervisor_config config = {.strategy = RT_ONE_FOR_ALL,
                                   .intensity = 3,
                                   .children = specs,
                                   .child_count = 3,
                                   .actor = small};
    actor_id supervisor;
    rt_message msg;
    size_t count;
    rt_child_info info[3];
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_supervisor_which_children(supervisor, info, 3, &count));
    CHECK_OK(rt_actor_kill(info[0].actor));
    for (unsigned i = 0; i < yields; i++) {
        rt_yield();
    }
    CHECK_OK(rt_actor_kill(supervisor));
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
    for (size_t i = 0; i < 3; i++) {
        CHECK(!rt_actor_alive(info[i].actor));
    }
    CHECK_EQ(rti_actors_of(rti_worker_current())->kept_count, 0);
    rt_exit();
}

TEST(child_address_is_given_back_whenever_its_supervisor_is_killed)
{
    for (unsigned yields = 0; yields < 12; yields++) {
        world_run(killed_in_between, &yields);
    }
}

/* The registry is full: a child with a name cannot be started, and is not left running. */
static void full_registry(void *arg)
{
    rt_child_spec spec = {.id = "named", .fn = waits, .actor = small, .name = "named"};
    rt_supervisor_config config = {.children = &spec, .child_count = 1, .actor = small};
    actor_id supervisor;
    uint32_t ref;
    rt_message msg;
    rt_exit_msg exit_msg;
    char name[] = "name 00";
    (void)arg;
    for (unsigned i = 0; i < RT_NAME_POOL_SIZE; i++) {
        name[5] = (char)('0' + i / 10);
        name[6] = (char)('0' + i % 10);
        CHECK_OK(rt_register(name, rt_self()));
    }
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    CHECK_OK(rt_monitor(supervisor, &ref));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_decode_exit(&msg, &exit_msg));
    CHECK_EQ(exit_msg.actor, supervisor);
    CHECK_EQ(exit_msg.reason, RT_EXIT_CRASH);
    CHECK_EQ(rt_whereis("named"), ACTOR_ID_INVALID);
    CHECK_EQ(rti_actors_count(rti_actors_of(rti_worker_current())), 1);
    rt_exit();
}

TEST(child_that_gets_no_name_does_not_live)
{
    world_run(full_registry, NULL);
}
