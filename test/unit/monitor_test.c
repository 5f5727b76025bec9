/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "monitor_test"
#include "actor/monitor.h"

#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static struct actors_world *world;
static actor_id target;

static void wait_for_mail(void *arg)
{
    (void)arg;
    rt_message msg;
    while (!RT_FAILED(rt_ipc_recv(&msg, -1)) && msg.sender == RT_SENDER_SYSTEM) {
        actors_say('!');
    }
    rt_exit();
}

static size_t monitors_in_use(void)
{
    return world->actors.monitors.refs.used_count;
}

static void watches_twice(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_exit_msg exit_msg;
    uint32_t first = 0;
    uint32_t second = 0;
    CHECK_OK(rt_monitor(target, &first));
    CHECK_OK(rt_monitor(target, &second));
    CHECK(first != 0 && second != 0 && first != second);
    CHECK_OK(rt_ipc_send(target, NULL, 0, IPC_ASYNC));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_OK(rt_decode_exit(&msg, &exit_msg));
        CHECK_EQ(exit_msg.actor, target);
        CHECK_EQ(exit_msg.reason, RT_EXIT_NORMAL);
    }
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_demonitor(first), RT_ERR_INVALID);
    CHECK_STATUS(rt_demonitor(second), RT_ERR_INVALID);
    CHECK_EQ(monitors_in_use(), 0);
    rt_exit();
}

TEST(monitor_gives_each_ref_its_own_message)
{
    world = actors_start();
    target = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(watches_twice, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    /* It looks one way: the target heard of nobody. */
    CHECK_STR(actors_said(), "");
}

static void stops_watching(void *arg)
{
    (void)arg;
    rt_message msg;
    uint32_t ref = 0;
    uint32_t other = 0;
    CHECK_OK(rt_monitor(target, &ref));
    CHECK_OK(rt_demonitor(ref));
    CHECK_STATUS(rt_demonitor(ref), RT_ERR_INVALID);
    CHECK_OK(rt_monitor(target, &other));
    CHECK(other != ref);
    CHECK_OK(rt_ipc_send(target, NULL, 0, IPC_ASYNC));
    rt_yield();
    CHECK_EQ(rt_ipc_count(), 1);
    CHECK_OK(rt_demonitor(other));
    CHECK_EQ(rt_ipc_count(), 0);
    CHECK_STATUS(rt_ipc_recv(&msg, 10), RT_ERR_TIMEOUT);
    CHECK_EQ(monitors_in_use(), 0);
    rt_exit();
}

TEST(monitor_ended_sends_nothing_and_takes_back_what_waits)
{
    world = actors_start();
    target = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(stops_watching, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void ends_while_reading(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_exit_msg exit_msg;
    uint32_t ref = 0;
    CHECK_OK(rt_monitor(target, &ref));
    CHECK_OK(rt_ipc_send(target, NULL, 0, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_STATUS(rt_demonitor(ref), RT_ERR_INVALID);
    CHECK_OK(rt_decode_exit(&msg, &exit_msg));
    CHECK_EQ(exit_msg.actor, target);
    CHECK_EQ(monitors_in_use(), 1);
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
    CHECK_EQ(monitors_in_use(), 0);
    rt_exit();
}

TEST(monitor_whose_message_is_being_read_cannot_be_ended)
{
    world = actors_start();
    target = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(ends_while_reading, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static uint32_t foreign_ref;

static void makes_a_ref(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_monitor(target, &foreign_ref));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK(rt_is_exit_msg(&msg));
    actors_say('x');
    rt_exit();
}

static void refused_things(void *arg)
{
    (void)arg;
    uint32_t ref = 99;
    rt_yield();
    CHECK_STATUS(rt_demonitor(foreign_ref), RT_ERR_INVALID);
    CHECK_STATUS(rt_demonitor(0), RT_ERR_INVALID);
    CHECK_STATUS(rt_demonitor(UINT32_MAX), RT_ERR_INVALID);
    CHECK_STATUS(rt_monitor(target, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_monitor(rt_self(), &ref), RT_ERR_INVALID);
    CHECK_STATUS(rt_monitor(ACTOR_ID_INVALID, &ref), RT_ERR_INVALID);
    CHECK_STATUS(rt_monitor(RT_SENDER_TIMER, &ref), RT_ERR_INVALID);
    CHECK_EQ(ref, 99);
    CHECK_EQ(monitors_in_use(), 1);
    CHECK_OK(rt_ipc_send(target, NULL, 0, IPC_ASYNC));
    rt_exit();
}

TEST(monitor_refuses_foreign_refs_and_unknown_targets)
{
    uint32_t ref = 0;
    CHECK_STATUS(rt_monitor(1, &ref), RT_ERR_THREAD);
    CHECK_STATUS(rt_demonitor(1), RT_ERR_THREAD);
    world = actors_start();
    CHECK_STATUS(rt_monitor(1, &ref), RT_ERR_THREAD);
    target = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(makes_a_ref, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(refused_things, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "x");
}

static void uses_all(void *arg)
{
    (void)arg;
    rt_message msg;
    uint32_t refs[RT_MONITOR_ENTRY_POOL_SIZE];
    for (size_t i = 0; i < RT_MONITOR_ENTRY_POOL_SIZE; i++) {
        CHECK_OK(rt_monitor(target, &refs[i]));
    }
    uint32_t one_more = 5;
    CHECK_STATUS(rt_monitor(target, &one_more), RT_ERR_NOMEM);
    CHECK_EQ(one_more, 5);
    CHECK_OK(rt_demonitor(refs[3]));
    CHECK_OK(rt_monitor(target, &one_more));
    CHECK_STATUS(rt_demonitor(refs[3]), RT_ERR_INVALID);
    /* Every one of them is told, whatever the message pools hold. */
    while (!RT_FAILED(rt_ipc_send(rt_self(), "f", 1, IPC_ASYNC))) {
    }
    CHECK_OK(rt_actor_kill(target));
    size_t told = 0;
    rt_yield();
    while (!RT_FAILED(rt_ipc_recv(&msg, 0))) {
        told += rt_is_exit_msg(&msg);
    }
    CHECK_EQ(told, RT_MONITOR_ENTRY_POOL_SIZE);
    rt_exit();
}

TEST(monitor_pool_that_is_used_up_refuses_and_recovers)
{
    world = actors_start();
    target = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(uses_all, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void watches_and_dies(void *arg)
{
    (void)arg;
    uint32_t ref;
    CHECK_OK(rt_monitor(target, &ref));
    CHECK_OK(rt_monitor(target, &ref));
    rt_exit();
}

TEST(monitor_of_a_dead_watcher_is_forgotten)
{
    world = actors_start();
    target = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(watches_and_dies, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    CHECK_EQ(monitors_in_use(), 0);
    CHECK_OK(rt_ipc_send(target, NULL, 0, IPC_ASYNC));
    actors_finish(world);
}
