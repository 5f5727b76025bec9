/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "IPC_SYNC Safety Considerations": the edge cases of SYNC. */
#define RTI_MODULE "actor_sync_test"
#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static struct actors_world *world;
static actor_id receiver;
static actor_id sender;

static void sends_sync_and_says(void *arg)
{
    rt_status status = rt_ipc_send(receiver, arg, 1, IPC_SYNC);
    actors_say(status.code == RT_OK ? *(const char *)arg : '!');
    rt_exit();
}

static void sends_to_itself(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_status status = rt_ipc_send(rt_self(), "x", 1, IPC_SYNC);
    CHECK_STATUS(status, RT_ERR_INVALID);
    CHECK_EQ(rti_pool_in_use(&world->actors.ipc.entries), 0);
    CHECK_EQ(rti_pool_in_use(&world->actors.ipc.sync), 0);
    CHECK_EQ(rt_ipc_count(), 0);
    CHECK_OK(rt_ipc_send(rt_self(), "y", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(msg.sender, rt_self());
    rt_exit();
}

TEST(actor_sync_send_to_oneself_is_refused_and_async_is_not)
{
    world = actors_start();
    actors_spawn(sends_to_itself, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

enum way_out { EXIT, RETURN, KILL };

static void dies_holding(void *arg)
{
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_yield();
    switch (*(const enum way_out *)arg) {
    case EXIT:
        rt_exit();
    case RETURN:
        return;
    case KILL:
        (void)rt_actor_kill(rt_self());
    }
}

static void sends_sync_to_the_dying(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_STATUS(rt_ipc_send(receiver, "x", 1, IPC_SYNC), RT_ERR_CLOSED);
    /* It is told by the status only. */
    CHECK_STATUS(rt_ipc_recv(&msg, 10), RT_ERR_TIMEOUT);
    actors_say('c');
    rt_exit();
}

TEST(actor_sync_sender_is_closed_when_the_receiver_dies_holding_the_message)
{
    static const enum way_out ways[] = {EXIT, RETURN, KILL};
    for (size_t i = 0; i < 3; i++) {
        world = actors_start();
        receiver = actors_spawn(dies_holding, (void *)(uintptr_t)&ways[i], RT_PRIO_NORMAL, NULL);
        actors_spawn(sends_sync_to_the_dying, NULL, RT_PRIO_NORMAL, NULL);
        actors_finish(world);
        CHECK_STR(actors_said(), "c");
    }
}

static void dies_without_receiving(void *arg)
{
    (void)arg;
    actors_sleep_ms(5);
    rt_exit();
}

TEST(actor_sync_senders_in_the_queue_are_closed_when_the_receiver_dies)
{
    world = actors_start();
    receiver = actors_spawn(dies_without_receiving, NULL, RT_PRIO_NORMAL, NULL);
    for (int i = 0; i < 3; i++) {
        actors_spawn(sends_sync_to_the_dying, NULL, RT_PRIO_NORMAL, NULL);
    }
    actors_finish(world);
    CHECK_STR(actors_said(), "ccc");
}

static void sends_sync_and_is_killed(void *arg)
{
    (void)arg;
    char on_my_stack[200];
    memset(on_my_stack, 'k', sizeof(on_my_stack));
    (void)rt_ipc_send(receiver, on_my_stack, sizeof(on_my_stack), IPC_SYNC);
    actors_say('!');
    rt_exit();
}

static void check_killed_senders_message(const rt_message *msg)
{
    CHECK_EQ(msg->sender, sender);
    CHECK_EQ(msg->len, 200);
    for (size_t i = 0; i < 200; i++) {
        CHECK_EQ(((const char *)msg->data)[i], 'k');
    }
}

static void kills_sender_then_reads(void *arg)
{
    (void)arg;
    rt_message msg;
    bool is_queued = *(const bool *)arg;
    if (is_queued) {
        rt_yield();
        CHECK_OK(rt_actor_kill(sender));
        rt_yield();
        CHECK_OK(rt_ipc_recv(&msg, -1));
    } else {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_OK(rt_actor_kill(sender));
        rt_yield();
    }
    CHECK(!rt_actor_alive(sender));
    check_killed_senders_message(&msg);
    CHECK_EQ(rti_pool_in_use(&world->actors.ipc.sync), 1);
    rt_ipc_release(&msg);
    CHECK_EQ(rti_pool_in_use(&world->actors.ipc.sync), 0);
    rt_exit();
}

TEST(actor_sync_message_outlives_its_sender)
{
    static const bool cases[] = {false, true};
    for (size_t i = 0; i < 2; i++) {
        world = actors_start();
        receiver = actors_spawn(kills_sender_then_reads, (void *)(uintptr_t)&cases[i],
                                RT_PRIO_NORMAL, NULL);
        sender = actors_spawn(sends_sync_and_is_killed, NULL, RT_PRIO_NORMAL, NULL);
        actors_finish(world);
        CHECK_STR(actors_said(), "");
    }
}

static void receiver_dies_after_sender(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_actor_kill(sender));
    rt_yield();
    rt_exit();
}

TEST(actor_sync_buffer_of_a_dead_sender_is_freed_by_the_receivers_death)
{
    world = actors_start();
    receiver = actors_spawn(receiver_dies_after_sender, NULL, RT_PRIO_NORMAL, NULL);
    sender = actors_spawn(sends_sync_and_is_killed, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void cycle_member(void *arg)
{
    rt_yield();
    (void)rt_ipc_send(*(const actor_id *)arg, NULL, 0, IPC_SYNC);
    rt_exit();
}

static void run_to_deadlock(void)
{
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
}

TEST(actor_circular_sync_sends_deadlock_and_are_told)
{
    world = actors_start();
    receiver = actors_spawn(cycle_member, &sender, RT_PRIO_NORMAL, "A");
    sender = actors_spawn(cycle_member, &receiver, RT_PRIO_NORMAL, "B");
    CHECK(strstr(actors_capture(run_to_deadlock), "wait for each other") != NULL);
    CHECK_EQ(rti_actors_count(&world->actors), 2);
    actors_abandon(world);
}

static void processes_nothing_but_releases(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_ipc_release(&msg);
    return; /* a crash, but after the release */
}

TEST(actor_sync_success_says_released_not_processed)
{
    world = actors_start();
    receiver = actors_spawn(processes_nothing_but_releases, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_sync_and_says, "a", RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "a");
}
