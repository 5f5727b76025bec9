/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "Heap Usage Policy" and "Memory Model". The heap is watched by a malloc
 * of the program's own. */
#define _GNU_SOURCE
#define RTI_MODULE "actor_memory_test"
#include <orrery/rt/call.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/registry.h>

#include "support/actors.h"
#include "support/heap_watch.h"
#include "support/test.h"

static struct actors_world *world;
static actor_id peer;

static void uses_everything(void *arg)
{
    (void)arg;
    rt_message msg;
    uint32_t ref;
    struct rt_actor_stats stats;
    rt_exit_msg exit_msg;
    char big[RT_MAX_MESSAGE_SIZE] = {0};
    CHECK_OK(rt_register("user", rt_self()));
    CHECK_EQ(rt_whereis("user"), rt_self());
    CHECK_OK(rt_unregister("user"));
    CHECK_OK(rt_link(peer));
    CHECK_OK(rt_unlink(peer));
    CHECK_OK(rt_link(peer));
    CHECK_OK(rt_monitor(peer, &ref));
    CHECK_OK(rt_demonitor(ref));
    CHECK_OK(rt_monitor(peer, &ref));
    CHECK_OK(rt_ipc_send(peer, big, sizeof(big), IPC_ASYNC));
    CHECK_OK(rt_ipc_send(peer, big, sizeof(big), IPC_SYNC));
    CHECK_OK(rt_call(peer, "q", 1, &msg, 100));
    CHECK_STATUS(rt_ipc_recv(&msg, 5), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_ipc_recv_match(NULL, &msg, 5), RT_ERR_TIMEOUT);
    rt_yield();
    CHECK(rt_ipc_count() == 0 && !rt_ipc_pending());
    CHECK_OK(rt_actor_stats(peer, &stats));
    CHECK_OK(rt_actor_kill(peer));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_OK(rt_decode_exit(&msg, &exit_msg));
    }
    rt_exit();
}

static void answers_everything(void *arg)
{
    (void)arg;
    rt_message msg;
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        if (rt_call_ref(&msg) != 0) {
            CHECK_OK(rt_reply(&msg, "a", 1));
        }
        rt_ipc_release(&msg);
    }
}

TEST(actor_core_uses_no_heap)
{
    heap_watch();
    for (int is_observed = 0; is_observed < 2; is_observed++) {
        world = actors_start();
        if (!is_observed) {
            actors_unobserved(world);
        }
        peer = rt_spawn(answers_everything, NULL);
        CHECK(rt_spawn(uses_everything, NULL) != ACTOR_ID_INVALID);
        actors_finish(world);
        CHECK_EQ(heap_calls(), 0);
    }
}

static void only_exits(void *arg)
{
    (void)arg;
    rt_exit();
}

TEST(actor_stack_is_from_the_heap_only_if_asked_and_goes_back)
{
    heap_watch();
    world = actors_start();
    actor_config config = {.stack_size = 20000, .malloc_stack = true};
    CHECK(rt_spawn_ex(only_exits, NULL, &config) != ACTOR_ID_INVALID);
    CHECK_EQ(heap_calls(), 1);
    CHECK_EQ(actors_stacks_in_use(world), 0);
    CHECK_OK(actors_run(world));
    CHECK_EQ(heap_calls(), 2);
    config.malloc_stack = false;
    CHECK(rt_spawn_ex(only_exits, NULL, &config) != ACTOR_ID_INVALID);
    CHECK_EQ(heap_calls(), 2);
    CHECK_EQ(actors_stacks_in_use(world), 1);
    actors_finish(world);
    CHECK_EQ(heap_calls(), 2);
}

static void checks_its_stack(void *arg)
{
    size_t wanted = *(const size_t *)arg;
    struct rt_actor_stats stats;
    CHECK_OK(rt_actor_stats(rt_self(), &stats));
    CHECK(stats.stack_size <= wanted && stats.stack_size + 64 >= wanted);
    actors_say('s');
    rt_yield();
    rt_exit();
}

TEST(actor_stack_size_is_configurable_per_actor)
{
    static const size_t sizes[] = {4096, 10000, 65536, 200000};
    world = actors_start();
    for (size_t i = 0; i < RTI_COUNT_OF(sizes); i++) {
        actor_config config = {.stack_size = sizes[i], .priority = RT_PRIO_NORMAL};
        CHECK(rt_spawn_ex(checks_its_stack, (void *)(uintptr_t)&sizes[i], &config) !=
              ACTOR_ID_INVALID);
    }
    actors_finish(world);
    CHECK_STR(actors_said(), "ssss");
}

TEST(actor_stack_size_0_is_the_default)
{
    static const size_t wanted = RT_DEFAULT_STACK_SIZE;
    world = actors_start();
    actor_config config = {.stack_size = 0};
    CHECK(rt_spawn_ex(checks_its_stack, (void *)(uintptr_t)&wanted, &config) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(checks_its_stack, (void *)(uintptr_t)&wanted) != ACTOR_ID_INVALID);
    actors_finish(world);
    CHECK_STR(actors_said(), "ss");
}

static void waits(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_exit();
}

TEST(actor_stacks_of_the_dead_are_reused_and_merge)
{
    world = actors_start();
    size_t all = rti_arena_stats(&world->stacks.arena).free_bytes_largest;
    size_t all_free = world->stacks.free_bytes;
    for (int round = 0; round < 5; round++) {
        actor_id ids[16];
        size_t count = 0;
        /* Different sizes, so that blocks are split. */
        for (size_t i = 0; i < 16; i++) {
            actor_config config = {.stack_size = 4096 * (1 + i % 5) + 100 * i};
            ids[i] = rt_spawn_ex(waits, NULL, &config);
            count += ids[i] != ACTOR_ID_INVALID;
        }
        CHECK_EQ(count, 16);
        CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
        for (size_t i = 0; i < 16; i += 2) {
            CHECK_OK(rt_actor_kill(ids[i]));
        }
        CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
        for (size_t i = 1; i < 16; i += 2) {
            CHECK_OK(rt_ipc_send(ids[i], NULL, 0, IPC_ASYNC));
        }
        CHECK_OK(actors_run(world));
        CHECK_EQ(world->stacks.free_bytes, all_free);
        /* Kept stacks, which only a port with protection has, are still blocks of their own. */
        if (world->stacks.kept_count == 0) {
            CHECK_EQ(rti_arena_stats(&world->stacks.arena).free_bytes_largest, all);
        }
    }
    actors_finish(world);
}

TEST(actor_module_needs_no_initialized_memory)
{
    /* Everything is in one object that can lie in BSS or hold garbage when it is made. */
    world = actors_start();
    actors_finish(world);
    memset(&world->actors, 0xa5, sizeof(world->actors));
    world = actors_start();
    CHECK(rt_spawn(only_exits, NULL) != ACTOR_ID_INVALID);
    actors_finish(world);
}
