/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "actor_cycle_test"
#include "actor/actor_cycle.h"

#include <orrery/rt/call.h>
#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static actor_id ids[3];
static struct actors_world *world;

/* Sends SYNC to the next one and never gets it back, unless something breaks the ring. */
static void send_to(void *arg)
{
    const actor_id *to = arg;
    rt_yield();
    rt_status status = rt_ipc_send(*to, "x", 1, IPC_SYNC);
    actors_say(status.code == RT_ERR_CLOSED ? 'c' : '?');
    rt_exit();
}

static void run_to_deadlock(void)
{
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
}

static void spawn_ring(size_t count)
{
    static const char *const names[] = {"alpha", "beta", "gamma"};
    for (size_t i = 0; i < count; i++) {
        ids[i] = actors_spawn(send_to, &ids[(i + 1) % count], RT_PRIO_NORMAL, names[i]);
    }
}

TEST(actor_cycle_of_two_sync_sends_is_told_with_names)
{
    world = actors_start();
    spawn_ring(2);
    const char *told = actors_capture(run_to_deadlock);
    char wanted[200];
    snprintf(wanted, sizeof(wanted),
             "orrery: actors wait for each other for ever: beta (%u) -> alpha (%u) -> beta (%u)\n",
             ids[1], ids[0], ids[1]);
    CHECK_STR(told, wanted);
    actors_abandon(world);
}

TEST(actor_cycle_of_three_is_told_once)
{
    world = actors_start();
    spawn_ring(3);
    const char *told = actors_capture(run_to_deadlock);
    CHECK(strstr(told, "gamma (") != NULL && strstr(told, "alpha (") != NULL);
    CHECK(strchr(told, '\n') == told + strlen(told) - 1);
    actors_abandon(world);
}

TEST(actor_cycle_is_broken_by_a_kill)
{
    world = actors_start();
    spawn_ring(3);
    CHECK(strlen(actors_capture(run_to_deadlock)) > 0);
    CHECK_OK(rt_actor_kill(ids[0]));
    actors_finish(world);
    /* gamma waited for alpha and was closed; it ended, and so beta was. */
    CHECK_STR(actors_said(), "cc");
}

static void receive_and_exit(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, 100));
    rt_ipc_release(&msg);
    rt_exit();
}

static void run_to_end(void)
{
    CHECK_OK(actors_run(world));
}

TEST(actor_cycle_is_not_told_of_a_chain_that_ends)
{
    static actor_id last;
    world = actors_start();
    last = actors_spawn(receive_and_exit, NULL, RT_PRIO_LOW, NULL);
    ids[1] = actors_spawn(send_to, &last, RT_PRIO_NORMAL, NULL);
    ids[0] = actors_spawn(send_to, &ids[1], RT_PRIO_NORMAL, NULL);
    CHECK_STR(actors_capture(run_to_end), "");
    actors_finish(world);
}

static void call_to(void *arg)
{
    rt_message reply;
    rt_yield();
    rt_status status = rt_call(*(const actor_id *)arg, NULL, 0, &reply, 50);
    CHECK_STATUS(status, RT_ERR_TIMEOUT);
    rt_exit();
}

TEST(actor_cycle_through_a_call_is_told)
{
    world = actors_start();
    ids[0] = actors_spawn(call_to, &ids[1], RT_PRIO_NORMAL, "asker");
    ids[1] = actors_spawn(send_to, &ids[0], RT_PRIO_NORMAL, "");
    const char *told = actors_capture(run_to_end);
    CHECK(strstr(told, "actor (") != NULL && strstr(told, "asker (") != NULL);
    /* The deadline of the call breaks it. */
    CHECK_STR(actors_said(), "c");
    actors_finish(world);
}
