/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "link_test"
#include "actor/link.h"

#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"
#include "support/world.h"

static struct actors_world *world;
static actor_id ids[4];

static void wait_for_mail(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, -1);
    rt_exit();
}

/* Demands one exit message about `who` and nothing behind it. */
static void expect_exit(actor_id who, rt_exit_reason reason)
{
    rt_message msg;
    rt_exit_msg exit_msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK(rt_is_exit_msg(&msg));
    CHECK_EQ(msg.sender, RT_SENDER_SYSTEM);
    CHECK_OK(rt_decode_exit(&msg, &exit_msg));
    CHECK_EQ(exit_msg.actor, who);
    CHECK_EQ(exit_msg.reason, reason);
}

static void linker(void *arg)
{
    (void)arg;
    CHECK_OK(rt_link(ids[0]));
    CHECK_OK(rt_link(ids[0]));
    CHECK_EQ(rti_pool_in_use(&world->actors.links.pool), 2);
    CHECK_OK(rt_ipc_send(ids[0], NULL, 0, IPC_ASYNC));
    expect_exit(ids[0], RT_EXIT_NORMAL);
    CHECK_EQ(rt_ipc_count(), 0);
    actors_say('x');
    CHECK_STATUS(rt_unlink(ids[0]), RT_ERR_INVALID);
    CHECK_STATUS(rt_link(ids[0]), RT_ERR_INVALID);
    rt_exit();
}

TEST(link_made_twice_is_one_link_and_one_message)
{
    world = actors_start();
    ids[0] = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(linker, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "x");
}

static void unlinker(void *arg)
{
    (void)arg;
    CHECK_OK(rt_link(ids[0]));
    CHECK_OK(rt_unlink(ids[0]));
    CHECK_STATUS(rt_unlink(ids[0]), RT_ERR_INVALID);
    CHECK_EQ(rti_pool_in_use(&world->actors.links.pool), 0);
    CHECK_OK(rt_ipc_send(ids[0], NULL, 0, IPC_ASYNC));
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 10), RT_ERR_TIMEOUT);
    CHECK(!rt_actor_alive(ids[0]));
    rt_exit();
}

TEST(link_dissolved_tells_nobody)
{
    world = actors_start();
    ids[0] = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(unlinker, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

/* The exit message waits between two others; unlinking takes out just that one. */
static void unlinks_late(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_link(ids[0]));
    CHECK_OK(rt_ipc_send(rt_self(), "1", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(ids[0], NULL, 0, IPC_ASYNC));
    rt_yield();
    CHECK_OK(rt_ipc_send(rt_self(), "2", 1, IPC_ASYNC));
    CHECK_EQ(rt_ipc_count(), 3);
    CHECK_OK(rt_unlink(ids[0]));
    CHECK_EQ(rt_ipc_count(), 2);
    CHECK_STATUS(rt_unlink(ids[0]), RT_ERR_INVALID);
    for (int i = 1; i <= 2; i++) {
        CHECK_OK(rt_ipc_recv(&msg, 0));
        CHECK_EQ(*(const char *)msg.data, '0' + i);
    }
    CHECK_EQ(rti_pool_in_use(&world->actors.links.pool), 0);
    rt_exit();
}

TEST(link_dissolved_takes_back_the_message_that_waits)
{
    world = actors_start();
    ids[0] = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(unlinks_late, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void links_itself_and_strangers(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_link(rt_self()), RT_ERR_INVALID);
    CHECK_STATUS(rt_link(ACTOR_ID_INVALID), RT_ERR_INVALID);
    CHECK_STATUS(rt_link(RT_SENDER_SYSTEM), RT_ERR_INVALID);
    CHECK_STATUS(rt_link(RT_SENDER_TIMER), RT_ERR_INVALID);
    CHECK_STATUS(rt_link(rt_self() + 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_unlink(rt_self()), RT_ERR_INVALID);
    CHECK_STATUS(rt_unlink(ACTOR_ID_INVALID), RT_ERR_INVALID);
    CHECK_EQ(rti_pool_in_use(&world->actors.links.pool), 0);
    rt_exit();
}

TEST(link_needs_another_actor_that_lives)
{
    CHECK_STATUS(rt_link(1), RT_ERR_THREAD);
    CHECK_STATUS(rt_unlink(1), RT_ERR_THREAD);
    world = actors_start();
    CHECK_STATUS(rt_link(1), RT_ERR_THREAD);
    CHECK_STATUS(rt_unlink(1), RT_ERR_THREAD);
    actors_spawn(links_itself_and_strangers, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void links_and_waits(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 4; i++) {
        if (ids[i] != rt_self()) {
            CHECK_OK(rt_link(ids[i]));
        }
    }
    rt_message msg;
    rt_exit_msg exit_msg;
    while (!RT_FAILED(rt_ipc_recv(&msg, 10))) {
        CHECK_OK(rt_decode_exit(&msg, &exit_msg));
        actors_say(exit_msg.actor == ids[0] ? 'f' : 'o');
    }
    rt_exit();
}

static void links_and_ends(void *arg)
{
    (void)arg;
    rt_yield();
    rt_exit();
}

TEST(link_cycle_tells_each_other_one_once)
{
    world_needs_virtual_clock();
    world = actors_start();
    ids[0] = actors_spawn(links_and_ends, NULL, RT_PRIO_LOW, NULL);
    for (size_t i = 1; i < 4; i++) {
        ids[i] = actors_spawn(links_and_waits, NULL, RT_PRIO_NORMAL, NULL);
    }
    actors_finish(world);
    /* All four are linked with each other. The first one's end is heard by three, the next one's by
     * two, the next one's by one. */
    CHECK_STR(actors_said(), "fffooo");
}

/* Keeps making links until the pool is used up; a failed one leaves nothing. */
static void exhausts_links(void *arg)
{
    (void)arg;
    rt_message msg;
    size_t made = 0;
    actor_id others[RT_MAX_ACTORS];
    size_t others_count = 0;
    struct rti_pool *pool = &world->actors.links.pool;
    /* Every other end is taken away by hand: spawning so many actors needs another limit. */
    void *taken[RT_LINK_ENTRY_POOL_SIZE];
    size_t taken_count = 0;
    while (pool->count - pool->in_use > 5) {
        taken[taken_count++] = rti_pool_alloc(pool);
    }
    for (size_t i = 0; i < 3; i++) {
        others[others_count++] = actors_spawn(wait_for_mail, NULL, RT_PRIO_NORMAL, NULL);
        rt_status status = rt_link(others[i]);
        if (i < 2) {
            CHECK_OK(status);
            made++;
        } else {
            CHECK_STATUS(status, RT_ERR_NOMEM);
        }
    }
    CHECK_EQ(pool->count - pool->in_use, 1);
    CHECK_EQ(rti_links_audit(rti_actor_current()), made);
    CHECK_OK(rt_unlink(others[0]));
    CHECK_OK(rt_link(others[2]));
    while (taken_count > 0) {
        rti_pool_free(pool, taken[--taken_count]);
    }
    for (size_t i = 0; i < others_count; i++) {
        CHECK_OK(rt_ipc_send(others[i], NULL, 0, IPC_ASYNC));
    }
    while (!RT_FAILED(rt_ipc_recv(&msg, 10))) {
        actors_say('e');
    }
    rt_exit();
}

TEST(link_pool_that_is_used_up_refuses_and_recovers)
{
    world = actors_start();
    actors_spawn(exhausts_links, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "ee");
}

TEST(link_message_is_decoded_only_if_it_is_one)
{
    rt_exit_msg out = {.actor = 7, .reason = RT_EXIT_CRASH};
    rt_exit_msg in = {.actor = 9, .reason = RT_EXIT_KILLED};
    rt_message msg = {.sender = RT_SENDER_SYSTEM, .len = sizeof(in), .data = &in};
    CHECK(rt_is_exit_msg(&msg) && !rt_is_exit_msg(NULL));
    CHECK_OK(rt_decode_exit(&msg, &out));
    CHECK_EQ(out.actor, 9);
    CHECK_EQ(out.reason, RT_EXIT_KILLED);
    out.actor = 7;
    CHECK_STATUS(rt_decode_exit(NULL, &out), RT_ERR_INVALID);
    CHECK_STATUS(rt_decode_exit(&msg, NULL), RT_ERR_INVALID);
    msg.len = 3;
    CHECK_STATUS(rt_decode_exit(&msg, &out), RT_ERR_INVALID);
    msg.len = sizeof(in);
    msg.data = NULL;
    CHECK_STATUS(rt_decode_exit(&msg, &out), RT_ERR_INVALID);
    msg.data = &in;
    msg.sender = RT_SENDER_TIMER;
    CHECK(!rt_is_exit_msg(&msg));
    CHECK_STATUS(rt_decode_exit(&msg, &out), RT_ERR_INVALID);
    CHECK_EQ(out.actor, 7);
}
