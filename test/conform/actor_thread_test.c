/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "Thread Safety": only the scheduler's thread touches the runtime. What
 * the specification leaves undefined, a call from another thread, is refused here. */
#define _GNU_SOURCE
#define RTI_MODULE "actor_thread_test"
#include <orrery/rt/call.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/registry.h>
#include <pthread.h>

#include "support/actors.h"
#include "support/test.h"

static struct actors_world *world;
static actor_id resident;

static void waits(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    actors_say(*(const char *)msg.data);
    rt_exit();
}

/* Every function, with arguments that would be right on the scheduler's thread. */
static void *calls_everything(void *arg)
{
    (void)arg;
    rt_message msg = {.sender = 1};
    uint32_t ref = 1;
    struct rt_actor_stats stats;
    CHECK_EQ(rt_spawn(waits, NULL), ACTOR_ID_INVALID);
    CHECK_EQ(rt_spawn_ex(waits, NULL, NULL), ACTOR_ID_INVALID);
    CHECK_EQ(rt_self(), ACTOR_ID_INVALID);
    rt_yield();
    CHECK(!rt_actor_alive(resident));
    CHECK_STATUS(rt_actor_kill(resident), RT_ERR_THREAD);
    CHECK_STATUS(rt_actor_stats(resident, &stats), RT_ERR_THREAD);
    CHECK_STATUS(rt_link(resident), RT_ERR_THREAD);
    CHECK_STATUS(rt_unlink(resident), RT_ERR_THREAD);
    CHECK_STATUS(rt_monitor(resident, &ref), RT_ERR_THREAD);
    CHECK_STATUS(rt_demonitor(ref), RT_ERR_THREAD);
    CHECK_STATUS(rt_ipc_send(resident, "t", 1, IPC_ASYNC), RT_ERR_THREAD);
    CHECK_STATUS(rt_ipc_send(resident, "t", 1, IPC_SYNC), RT_ERR_THREAD);
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_THREAD);
    CHECK_STATUS(rt_ipc_recv_match(NULL, &msg, -1), RT_ERR_THREAD);
    rt_ipc_release(&msg);
    CHECK(!rt_ipc_pending());
    CHECK_EQ(rt_ipc_count(), 0);
    CHECK_STATUS(rt_register("thread", resident), RT_ERR_THREAD);
    CHECK_STATUS(rt_unregister("thread"), RT_ERR_THREAD);
    CHECK_EQ(rt_whereis("thread"), ACTOR_ID_INVALID);
    CHECK_STATUS(rt_call(resident, NULL, 0, &msg, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_reply(&msg, NULL, 0), RT_ERR_THREAD);
    CHECK_STATUS(rt_reply_to(1, NULL, 0), RT_ERR_THREAD);
    CHECK_EQ(rt_call_ref(&msg), 0);
    return NULL;
}

static void call_on_another_thread(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, calls_everything, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

TEST(actor_calls_from_a_foreign_thread_are_refused_and_change_nothing)
{
    world = actors_start();
    resident = actors_spawn(waits, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    uint64_t before = rti_journal_digest(&world->journal);
    (void)actors_capture(call_on_another_thread);
    CHECK(rti_journal_digest(&world->journal) == before);
    CHECK_EQ(rti_actors_count(&world->actors), 1);
    CHECK_EQ(rti_pool_in_use(&world->actors.ipc.entries), 0);
    rti_actors_audit(&world->actors);
    CHECK_OK(rt_ipc_send(resident, "m", 1, IPC_ASYNC));
    actors_finish(world);
    CHECK_STR(actors_said(), "m");
}

static pthread_t thread_of_actor;

static void notes_its_thread(void *arg)
{
    (void)arg;
    thread_of_actor = pthread_self();
    rt_exit();
}

TEST(actor_code_runs_on_the_schedulers_thread)
{
    world = actors_start();
    actors_spawn(notes_its_thread, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK(pthread_equal(thread_of_actor, pthread_self()));
}

TEST(actor_calls_before_and_after_the_runtime_are_refused)
{
    for (int i = 0; i < 2; i++) {
        resident = 1;
        (void)actors_capture((void (*)(void))call_on_another_thread);
        (void)calls_everything(NULL);
        if (i == 0) {
            world = actors_start();
            actors_finish(world);
        }
    }
}
