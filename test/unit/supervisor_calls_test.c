/* SPDX-License-Identifier: Apache-2.0 */
/* What others ask of a supervisor. */
#define RTI_MODULE "supervisor_calls_test"
#include <orrery/rt.h>

#include "actor/supervisor.h"
#include "support/test.h"
#include "support/world.h"

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
static unsigned started;

static void waits(void *arg)
{
    rt_message msg;
    (void)arg;
    started++;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_exit();
}

static actor_id start(rt_strategy strategy)
{
    static rt_child_spec specs[1];
    specs[0] = (rt_child_spec){.id = "a", .fn = waits, .actor = small};
    rt_supervisor_config config = {
        .strategy = strategy, .intensity = 2, .children = specs, .child_count = 1, .actor = small};
    actor_id supervisor;
    started = 0;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    return supervisor;
}

static void life_of_a_child(void *arg)
{
    (void)arg;
    actor_id supervisor = start(RT_ONE_FOR_ONE);
    rt_child_spec spec = {.id = "b", .fn = waits, .actor = small};
    actor_id child;
    actor_id again;
    CHECK_OK(rt_supervisor_add(supervisor, &spec, &child));
    CHECK(rt_actor_alive(child));
    CHECK_STATUS(rt_supervisor_add(supervisor, &spec, NULL), RT_ERR_EXISTS);
    CHECK_STATUS(rt_supervisor_remove_child(supervisor, "b"), RT_ERR_STATE);
    CHECK_STATUS(rt_supervisor_restart_child(supervisor, "b", NULL), RT_ERR_STATE);
    CHECK_OK(rt_supervisor_stop_child(supervisor, "b"));
    CHECK(!rt_actor_alive(child));
    CHECK_OK(rt_supervisor_stop_child(supervisor, "b"));
    CHECK_OK(rt_supervisor_restart_child(supervisor, "b", &again));
    CHECK(rt_actor_alive(again) && again != child);
    CHECK_OK(rt_supervisor_stop_child(supervisor, "b"));
    CHECK_OK(rt_supervisor_remove_child(supervisor, "b"));
    CHECK_STATUS(rt_supervisor_remove_child(supervisor, "b"), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_supervisor_restart_child(supervisor, "b", NULL), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_supervisor_stop_child(supervisor, NULL), RT_ERR_NOT_FOUND);
    CHECK_OK(rt_supervisor_add(supervisor, &spec, NULL));
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_calls_add_stop_restart_and_remove_a_child)
{
    world_run(life_of_a_child, NULL);
}

/* Another actor has the name of a child: it is not added, or stays stopped. */
static void taken_name(void *arg)
{
    rt_child_spec spec = {.id = "b", .fn = waits, .actor = small, .name = "taken"};
    rt_child_info info[2];
    size_t count;
    (void)arg;
    actor_id supervisor = start(RT_ONE_FOR_ONE);
    CHECK_OK(rt_register("taken", rt_self()));
    CHECK_STATUS(rt_supervisor_add(supervisor, &spec, NULL), RT_ERR_EXISTS);
    CHECK_OK(rt_unregister("taken"));
    CHECK_OK(rt_supervisor_add(supervisor, &spec, NULL));
    CHECK_OK(rt_supervisor_stop_child(supervisor, "b"));
    CHECK_OK(rt_register("taken", rt_self()));
    CHECK_STATUS(rt_supervisor_restart_child(supervisor, "b", NULL), RT_ERR_EXISTS);
    CHECK_OK(rt_supervisor_which_children(supervisor, info, 2, &count));
    CHECK_EQ(info[count - 1].state, RT_CHILD_STOPPED);
    CHECK_OK(rt_unregister("taken"));
    CHECK_OK(rt_supervisor_restart_child(supervisor, "b", NULL));
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_calls_leave_a_child_stopped_whose_name_another_has)
{
    world_run(taken_name, NULL);
}

static void wrong_kind(void *arg)
{
    (void)arg;
    rt_child_spec spec = {.id = "b", .fn = waits, .actor = small};
    size_t count;
    actor_id plain = start(RT_ONE_FOR_ONE);
    CHECK_STATUS(rt_supervisor_spawn(plain, NULL, NULL), RT_ERR_STATE);
    CHECK_OK(rt_supervisor_stop(plain, -1));
    actor_id simple = start(RT_SIMPLE);
    CHECK_STATUS(rt_supervisor_add(simple, &spec, NULL), RT_ERR_STATE);
    CHECK_STATUS(rt_supervisor_stop_child(simple, ""), RT_ERR_NOT_FOUND);
    CHECK_OK(rt_supervisor_stop(simple, -1));
    /* Neither is a supervisor any more, and the caller never was one. */
    CHECK_STATUS(rt_supervisor_stop(simple, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_supervisor_add(rt_self(), &spec, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_supervisor_which_children(plain, NULL, 0, &count), RT_ERR_INVALID);
    CHECK_EQ(started, 0);
    rt_exit();
}

TEST(supervisor_calls_for_another_kind_are_refused)
{
    world_run(wrong_kind, NULL);
}

static void asks_and_dies(void *arg)
{
    static const rt_child_spec spec = {
        .id = "late", .fn = waits, .actor = {.stack_size = 16384, .priority = RT_PRIO_NORMAL}};
    actor_id supervisor = *(actor_id *)arg;
    (void)rt_supervisor_add(supervisor, &spec, NULL);
    CHECK(false); /* it is killed while it waits for the answer */
}

static void asker_is_killed(void *arg)
{
    (void)arg;
    actor_id supervisor = start(RT_ONE_FOR_ONE);
    rt_child_info info[2];
    rt_message msg;
    size_t count;
    actor_id asker = rt_spawn_ex(asks_and_dies, &supervisor, &small);
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
    /* The supervisor has its first turn, then the asker, which is killed with its request made. */
    rt_yield();
    CHECK_OK(rt_actor_kill(asker));
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_supervisor_which_children(supervisor, info, 2, &count));
    CHECK_EQ(count, 2);
    CHECK_STR(info[1].id, "late");
    CHECK_EQ(info[1].state, RT_CHILD_RUNNING);
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_calls_hold_although_who_asked_is_killed)
{
    world_needs_simulator("the order of the turns");
    world_run(asker_is_killed, NULL);
}

/* A request finds no entry: the child that was made for it goes again. */
static void no_entries(void *arg)
{
    (void)arg;
    rt_child_spec spec = {.id = "b", .fn = waits, .actor = small};
    actor_id supervisor = start(RT_ONE_FOR_ONE);
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
    while (!RT_FAILED(rt_ipc_send(rt_self(), "x", 1, IPC_ASYNC))) {
    }
    CHECK_STATUS(rt_supervisor_add(supervisor, &spec, NULL), RT_ERR_NOMEM);
    CHECK_STATUS(rt_supervisor_stop_child(supervisor, "a"), RT_ERR_NOMEM);
    while (!RT_FAILED(rt_ipc_recv(&msg, 0))) {
    }
    CHECK_OK(rt_supervisor_add(supervisor, &spec, NULL));
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_calls_that_find_no_entry_change_nothing)
{
    world_run(no_entries, NULL);
}

/* There is an entry for the request and none for the answer, which needs none. */
static void no_room_for_the_answer(void *arg)
{
    (void)arg;
    rt_child_spec spec = {.id = "b", .fn = waits, .actor = small};
    actor_id supervisor = start(RT_ONE_FOR_ONE);
    actor_id added;
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
    while (!RT_FAILED(rt_ipc_send(rt_self(), "x", 1, IPC_ASYNC))) {
    }
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_OK(rt_ipc_recv(&msg, 0)); /* the first one's entry is free now */
    CHECK_OK(rt_supervisor_add(supervisor, &spec, &added));
    CHECK(rt_actor_alive(added));
    CHECK_OK(rt_supervisor_stop_child(supervisor, "b"));
    CHECK_STATUS(rt_supervisor_add(supervisor, &spec, NULL), RT_ERR_EXISTS);
    CHECK_OK(rt_supervisor_restart_child(supervisor, "b", &added));
    CHECK_OK(rt_supervisor_stop_actor(supervisor, added));
    CHECK_OK(rt_supervisor_remove_child(supervisor, "b"));
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

TEST(supervisor_calls_are_answered_though_no_entry_is_left)
{
    world_run(no_room_for_the_answer, NULL);
}

/* Who does not want to wait asks all the same. */
static void stops_later(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_exit_msg exit_msg;
    uint32_t ref;
    actor_id supervisor = start(RT_ONE_FOR_ONE);
    CHECK_OK(rt_monitor(supervisor, &ref));
    CHECK_STATUS(rt_supervisor_stop(supervisor, 0), RT_ERR_TIMEOUT);
    CHECK(rt_actor_alive(supervisor));
    CHECK_OK(rt_ipc_recv(&msg, 100));
    CHECK_OK(rt_decode_exit(&msg, &exit_msg));
    CHECK_EQ(exit_msg.actor, supervisor);
    CHECK_EQ(exit_msg.reason, RT_EXIT_NORMAL);
    CHECK_STATUS(rt_supervisor_stop(supervisor, 0), RT_ERR_INVALID);
    rt_exit();
}

TEST(supervisor_is_stopped_by_who_does_not_wait)
{
    world_run(stops_later, NULL);
}

static void strangers(void *arg)
{
    (void)arg;
    actor_id supervisor = start(RT_ONE_FOR_ONE);
    rt_message msg;
    /* What it does not understand it leaves alone. */
    CHECK_OK(rt_ipc_send(supervisor, "hello", 5, IPC_ASYNC));
    CHECK_STATUS(rt_call(supervisor, "hello", 5, &msg, 5), RT_ERR_TIMEOUT);
    struct rti_request request = {.kind = 77, .serial = 1};
    CHECK_OK(rt_call(supervisor, &request, sizeof(request), &msg, 5));
    CHECK_EQ(started, 1);
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    CHECK(!rt_is_stop_msg(NULL));
    rt_exit();
}

TEST(supervisor_calls_that_are_none_change_nothing)
{
    world_run(strangers, NULL);
}

TEST(supervisor_calls_outside_of_an_actor_are_refused)
{
    CHECK_STATUS(rt_supervisor_stop(1, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_supervisor_add(1, NULL, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_supervisor_spawn(1, NULL, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_supervisor_start(NULL, NULL), RT_ERR_THREAD);
}
