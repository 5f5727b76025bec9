/* SPDX-License-Identifier: Apache-2.0 */
/* Poll tasks on several virtual workers, with handles that others use while steps run: who is asked
 * to stop learns of it, in whatever moment of its step it is asked, and a second rt_async_reserve
 * is refused, whatever slots are on their way meanwhile. Who joins many comes back once, and of
 * several who come with one handle one takes the result.
 *
 * Seeds: 4 */
#define _GNU_SOURCE
#define RTI_MODULE "async_sim_test"
#include <orrery/rt.h>

#include "base/rng.h"
#include "runtime/runtime.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define STOPPERS 3
#define STOPS    6
#define ROOM     40

struct stopper {
    struct rti_rng rng;
    uint64_t value;
};

static struct stopper stoppers[STOPPERS];
static rt_channel_sender *tx;
static rt_channel_receiver *rx;

/* Nothing ever comes: only a cancellation ends it. It leaves no trace in the context before. */
static rt_status receives(void *state, rt_cx *cx)
{
    struct stopper *self = state;
    return rt_channel_recv(rx, cx, &self->value);
}

static rt_status begins_and_ends(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

/* A context that was cancelled does not come back to the desk of its worker. So that the next one
 * that is to stop finds a spare there, some tasks go before it that leave one. */
static void leave_spares(void)
{
    rt_async_task *before[2];
    for (size_t i = 0; i < 2; i++) {
        before[i] = rt_async(begins_and_ends, NULL);
        WITNESS(before[i] != NULL);
    }
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(rt_async_join(&before[i], NULL, NULL));
    }
}

static void *stops(void *arg)
{
    struct stopper *self = arg;
    for (int i = 0; i < STOPS; i++) {
        rt_status status = RT_SUCCESS;
        leave_spares();
        rt_async_task *task = rt_async(receives, self);
        WITNESS(task != NULL);
        /* Before its first step, during it or when it waits; and when it is to be called again. */
        switch (rti_rng_below(&self->rng, 3)) {
        case 0:
            rt_yield();
            break;
        case 1:
            CHECK_OK(rt_async_wake(task));
            break;
        default:
            break;
        }
        CHECK_OK(rt_async_cancel(task));
        CHECK_OK(rt_async_join(&task, NULL, &status));
        WITNESS(status.code == RT_ERR_CANCELLED);
    }
    return NULL;
}

static void stop_play(uint64_t seed)
{
    rt_config config = {.workers = (uint32_t)(2 + seed % 3)};
    rt_task *tasks[STOPPERS];
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_channel_create(&(rt_channel_config){.elem_size = 8, .capacity = 1}, &tx, &rx));
    for (size_t i = 0; i < STOPPERS; i++) {
        rti_rng_init(&stoppers[i].rng, seed * STOPPERS + i);
        tasks[i] = rt_go(stops, &stoppers[i]);
        WITNESS(tasks[i] != NULL);
    }
    rt_run();
    for (size_t i = 0; i < STOPPERS; i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
}

TEST_SEEDED(async_sim_who_is_asked_to_stop_learns_of_it)
{
    worlds_play(stop_play);
}

/* Slots go from desk to desk while somebody asks for more room. */
#define STARTERS 3
#define STARTS   12

static rti_atomic_u32 starting;

static void *starts(void *arg)
{
    (void)arg;
    for (int i = 0; i < STARTS; i++) {
        rt_async_task *task = rt_async(begins_and_ends, NULL);
        WITNESS(task != NULL);
        CHECK_OK(rt_async_detach(task));
        if (i % 2 == 0) {
            rt_yield();
        }
    }
    (void)rti_u32_sub_acqrel(&starting, 1);
    return NULL;
}

static void *reserves(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&starting) > 0) {
        rt_status status = rt_async_reserve(&(rt_async_config){.tasks = ROOM});
        WITNESS(status.code == RT_ERR_STATE);
        rt_yield();
    }
    return NULL;
}

static void reserve_play(uint64_t seed)
{
    rt_config config = {.workers = (uint32_t)(2 + seed % 3)};
    rt_task *tasks[STARTERS + 1];
    rti_u32_init(&starting, STARTERS);
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = ROOM}));
    for (size_t i = 0; i <= STARTERS; i++) {
        tasks[i] = rt_go(i < STARTERS ? starts : reserves, NULL);
        WITNESS(tasks[i] != NULL);
    }
    rt_run();
    for (size_t i = 0; i <= STARTERS; i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
}

TEST_SEEDED(async_sim_second_reserve_is_refused_while_slots_move)
{
    worlds_play(reserve_play);
}

/* With one worker: who joins the first of many is woken behind those that are ready, as on the
 * other engines, and does not come back for each of them. */
#define MANY 6

static uint32_t begun;

static rt_status counts(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    begun++;
    return RT_SUCCESS;
}

static void *joins_many(void *arg)
{
    (void)arg;
    rt_async_task *many[MANY];
    for (size_t i = 0; i < MANY; i++) {
        many[i] = rt_async(counts, NULL);
        WITNESS(many[i] != NULL);
    }
    CHECK_OK(rt_async_join(&many[0], NULL, NULL));
    WITNESS(begun == MANY);
    for (size_t i = 1; i < MANY; i++) {
        CHECK_OK(rt_async_join(&many[i], NULL, NULL));
    }
    WITNESS(rt_async_join(&many[0], NULL, NULL).code == RT_ERR_INVALID);
    return NULL;
}

static void many_play(uint64_t seed)
{
    (void)seed;
    rt_config config = {.workers = 1};
    begun = 0;
    CHECK_OK(rt_init_ex(&config));
    rt_task *task = rt_go(joins_many, NULL);
    WITNESS(task != NULL);
    rt_run();
    CHECK_OK(rt_join(task, NULL));
}

TEST_SEEDED(async_sim_who_joins_many_comes_back_once)
{
    worlds_play(many_play);
}

/* One handle, and several who join with it: one takes the result, whatever has become of the slot
 * meanwhile. */
#define RIVALS 3
#define SHARED 8

static rti_atomic_size shared[SHARED]; /* handles */
static rti_atomic_u32 taken[SHARED];

static void *joins_shared(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < SHARED; i++) {
        rt_async_task *task = (rt_async_task *)rti_size_load_relaxed(&shared[i]);
        rt_async_task *own = rt_async(begins_and_ends, NULL);
        WITNESS(own != NULL);
        rt_status status = rt_async_join(&task, NULL, NULL);
        (void)rti_u32_add_relaxed(&taken[i], !RT_FAILED(status));
        WITNESS(!RT_FAILED(status) || status.code == RT_ERR_INVALID);
        CHECK_OK(rt_async_join(&own, NULL, NULL));
    }
    return NULL;
}

static void shared_play(uint64_t seed)
{
    rt_config config = {.workers = (uint32_t)(2 + seed % 3)};
    rt_task *tasks[RIVALS];
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = ROOM}));
    for (size_t i = 0; i < SHARED; i++) {
        rti_size_init(&shared[i], (uintptr_t)rt_async(begins_and_ends, NULL));
        rti_u32_init(&taken[i], 0);
    }
    for (size_t i = 0; i < RIVALS; i++) {
        tasks[i] = rt_go(joins_shared, NULL);
        WITNESS(tasks[i] != NULL);
    }
    rt_run();
    for (size_t i = 0; i < RIVALS; i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    for (size_t i = 0; i < SHARED; i++) {
        WITNESS(rti_u32_load_relaxed(&taken[i]) == 1);
    }
}

TEST_SEEDED(async_sim_one_of_several_who_join_takes_the_result)
{
    worlds_play(shared_play);
}
