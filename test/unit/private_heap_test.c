/* SPDX-License-Identifier: Apache-2.0 */
/* Private heaps: marks, limits, and that nothing outlives its actor. */
#define RTI_MODULE "private_heap_test"
#include "actor/private_heap.h"

#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};

static size_t blocks_in_use(void)
{
    struct rti_heaps *module = rti_worker_current()->sched->modules[RTI_MODULE_HEAP];
    return rti_arena_stats(&module->arena).used_count;
}

static void settle(void)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
}

static void marks(void *arg)
{
    rt_heap_stats stats;
    (void)arg;
    CHECK_EQ(blocks_in_use(), 0);
    rt_heap_mark empty = rt_heap_mark_get();
    CHECK_OK(rt_heap_release(empty));
    CHECK(rt_heap_alloc(0) == NULL);
    CHECK(rt_heap_alloc(SIZE_MAX) == NULL);
    unsigned char *first = rt_heap_alloc(100);
    CHECK(first != NULL && (uintptr_t)first % 16 == 0);
    memset(first, 1, 100);
    rt_heap_mark mark = rt_heap_mark_get();
    for (unsigned message = 0; message < 50; message++) {
        for (unsigned i = 1; i < 40; i++) {
            unsigned char *bytes = rt_heap_alloc(i * 7);
            CHECK(bytes != NULL && (uintptr_t)bytes % 16 == 0);
            memset(bytes, (int)i, (size_t)i * 7);
        }
        CHECK_OK(rt_heap_stats_get(&stats));
        CHECK(stats.used >= 100 + 7 * 39 * 40 / 2);
        CHECK_OK(rt_heap_release(mark));
    }
    CHECK_OK(rt_heap_stats_get(&stats));
    CHECK_EQ(stats.used, 112);
    CHECK_EQ(blocks_in_use(), 1);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(first[i], 1);
    }
    CHECK_OK(rt_heap_release(empty));
    CHECK_STATUS(rt_heap_release(mark), RT_ERR_INVALID);
    CHECK_OK(rt_heap_stats_get(&stats));
    CHECK_EQ(stats.used, 0);
    CHECK(stats.used_max > 5000);
    rt_exit();
}

TEST(private_heap_goes_back_to_its_marks)
{
    world_run(marks, NULL);
}

/* Marks that name nothing: behind what is there, in a chunk that is gone, and no marks at all. */
static void no_marks(void *arg)
{
    rt_heap_stats stats;
    (void)arg;
    CHECK_STATUS(rt_heap_release((rt_heap_mark){.chunk = 0, .used = 1}), RT_ERR_INVALID);
    CHECK(rt_heap_alloc(100) != NULL);
    rt_heap_mark mark = rt_heap_mark_get();
    CHECK(rt_heap_alloc(300) != NULL);
    rt_heap_mark stale = rt_heap_mark_get();
    CHECK_OK(rt_heap_release(mark));
    unsigned char *bytes = rt_heap_alloc(5000); /* in a second chunk */
    CHECK(bytes != NULL);
    memset(bytes, 7, 5000);
    CHECK_STATUS(rt_heap_release(stale), RT_ERR_INVALID);
    CHECK_STATUS(rt_heap_release((rt_heap_mark){.chunk = 0, .used = UINT32_MAX - 8}),
                 RT_ERR_INVALID);
    CHECK_STATUS(rt_heap_release((rt_heap_mark){.chunk = 1, .used = UINT32_MAX}), RT_ERR_INVALID);
    CHECK_STATUS(rt_heap_release((rt_heap_mark){.chunk = 2}), RT_ERR_INVALID);
    CHECK_OK(rt_heap_stats_get(&stats));
    CHECK_EQ(stats.used, 112 + 5008);
    CHECK_EQ(bytes[4999], 7);
    CHECK_OK(rt_heap_release(mark));
    CHECK_OK(rt_heap_stats_get(&stats));
    CHECK_EQ(stats.used, 112);
    rt_exit();
}

TEST(private_heap_refuses_marks_that_name_nothing_and_frees_nothing)
{
    world_run(no_marks, NULL);
}

static void limited(void *arg)
{
    (void)arg;
    CHECK_OK(rt_heap_limit(2000));
    CHECK(rt_heap_alloc(2001) == NULL);
    CHECK(rt_heap_alloc(1500) != NULL);
    CHECK(rt_heap_alloc(600) == NULL);
    CHECK(rt_heap_alloc(400) != NULL);
    CHECK_STATUS(rt_heap_limit(100), RT_ERR_STATE);
    CHECK_OK(rt_heap_limit(SIZE_MAX));
    CHECK(rt_heap_alloc(600) != NULL);
    /* To the last byte, and no further. */
    CHECK_OK(rt_heap_release((rt_heap_mark){.chunk = 0}));
    CHECK_OK(rt_heap_limit(1600));
    CHECK(rt_heap_alloc(1601) == NULL);
    CHECK(rt_heap_alloc(1584) != NULL);
    CHECK(rt_heap_alloc(16) != NULL);
    CHECK(rt_heap_alloc(1) == NULL);
    CHECK_OK(rt_heap_limit(1600));
    CHECK_STATUS(rt_heap_limit(1599), RT_ERR_STATE);
    rt_exit();
}

static void hungry(void *arg)
{
    unsigned *count = arg;
    while (rt_heap_alloc(4000) != NULL) {
        (*count)++;
    }
    settle(); /* killed here, or ends */
    rt_exit();
}

static void greedy(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    CHECK(rt_heap_alloc(3000) != NULL);
}

static const rt_behaviour_fn handlers[] = {greedy};
static const rt_behaviour_type type = {
    .handlers = handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void deaths(void *arg)
{
    unsigned counts[2] = {0, 0};
    (void)arg;
    CHECK(rt_spawn_ex(limited, NULL, &small) != ACTOR_ID_INVALID);
    settle();
    CHECK_EQ(blocks_in_use(), 0);
    /* One takes everything, and when it is killed the next can. */
    for (size_t i = 0; i < 2; i++) {
        actor_id id = rt_spawn_ex(hungry, &counts[i], &small);
        rt_yield();
        CHECK(blocks_in_use() > 10);
        CHECK(rt_heap_alloc(4000) == NULL);
        CHECK_OK(rt_actor_kill(id));
        rt_yield();
        CHECK_EQ(counts[i], counts[0]);
    }
    CHECK(counts[0] >= RT_HEAP_MEMORY_SIZE / 4200);
    actor_id id = rt_behaviour_spawn(&type, NULL);
    size_t before = blocks_in_use();
    CHECK_OK(rt_behaviour_send(id, 0, NULL, 0));
    CHECK_OK(rt_behaviour_send(id, 0, NULL, 0));
    settle();
    CHECK_EQ(blocks_in_use(), before + 3);
    CHECK_OK(rt_actor_kill(id));
    settle();
    CHECK_EQ(blocks_in_use(), before);
    rt_exit();
}

TEST(private_heap_ends_with_its_actor_of_either_kind)
{
    world_run(deaths, NULL);
}

TEST(private_heap_belongs_to_an_actor)
{
    rt_heap_stats stats;
    CHECK(rt_heap_alloc(1) == NULL);
    CHECK_STATUS(rt_heap_limit(1), RT_ERR_THREAD);
    CHECK_STATUS(rt_heap_release(rt_heap_mark_get()), RT_ERR_THREAD);
    CHECK_STATUS(rt_heap_stats_get(&stats), RT_ERR_THREAD);
}
