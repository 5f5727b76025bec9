/* SPDX-License-Identifier: Apache-2.0 */
/* A task that starts and joins others for ever keeps one worker busy, which so works alone
 * (sched/solo.h). Others come with copies of the handles, on a thread that an interrupt took the
 * station from while they computed: they join, detach, cancel and ask as well, and start tasks of
 * their own. Each handle is consumed once, each end is told to who waits for it, nobody is asked to
 * stop in another's place, and no two tasks have one number.
 *
 * Seeds: 20 */
#define _GNU_SOURCE
#define RTI_MODULE "solo_task_sim_test"
#include <orrery/rt.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "runtime/runtime.h"
#include "sched/crew.h"
#include "support/test.h"
#include "task/task.h"
#include "virtual/world.h"

TEST_TIMEOUT(120);

#define OUTSIDERS 2
#define VISITS    6 /* of each of them */
#define BATCH     3
#define ROUNDS    300
#define ROUND_NS  (5 * RT_NS_PER_MS)
#define LOOKS     300 /* for a handle, at most */
#define TASKS     (ROUNDS * BATCH + OUTSIDERS * VISITS)

static struct {
    uint64_t seed;
    rti_atomic_size handles[BATCH]; /* of the tasks that were started last, */
    rti_atomic_size polls[BATCH];   /* and of the poll tasks */
    rti_atomic_u32 round;           /* that they are of */
    rti_atomic_u32 consumed[ROUNDS][BATCH];
    rti_atomic_u32 polls_consumed[ROUNDS][BATCH];
    rti_atomic_u32 asked[ROUNDS][BATCH];
    rti_atomic_u32 polls_asked[ROUNDS][BATCH];
    rti_atomic_u32 serials[TASKS];
    rti_atomic_u32 serials_count;
    rti_atomic_u32 gone;    /* outsiders */
    rti_atomic_u32 waiting; /* those who are about to come with a handle */
    uint32_t rounds;        /* that were played */
    rti_atomic_u32 solo_turns;
    rti_atomic_u32 astray; /* calls by who had no station */
} play;

/* Of all worlds together. */
static uint64_t solo_turns;
static uint64_t calls_astray;

/* What a task is of: a round and a place in it. */
static void *place_of(uint32_t round, uint32_t i)
{
    return (void *)(uintptr_t)(round * BATCH + i + 1);
}

static void note_serial(void)
{
    uint32_t at = rti_u32_add_relaxed(&play.serials_count, 1);
    WITNESS(at < TASKS);
    rti_u32_store_relaxed(&play.serials[at], rti_task_serial(rti_task_of(rti_worker_current())));
}

static void *child(void *arg)
{
    uint32_t place = (uint32_t)(uintptr_t)arg - 1;
    note_serial();
    uint32_t is_solo = rti_u32_load_relaxed(&rti_worker_current()->is_solo);
    (void)rti_u32_add_relaxed(&play.solo_turns, is_solo);
    if (rt_cancelled()) {
        WITNESS(rti_u32_load_relaxed(&play.asked[place / BATCH][place % BATCH]) != 0);
    }
    return arg;
}

static rt_status poll_child(void *state, rt_cx *cx)
{
    uint32_t place = (uint32_t)(uintptr_t)state - 1;
    if (rt_cx_is_cancelled(cx)) {
        WITNESS(rti_u32_load_relaxed(&play.polls_asked[place / BATCH][place % BATCH]) != 0);
    }
    return (rt_status){place % 2 == 0 ? RT_OK : RT_ERR_LIMIT, NULL};
}

static void note_consumed(rti_atomic_u32 *count, rt_status status)
{
    /* Else it is another's: consumed, or in use by one who will consume it. */
    if (status.code != RT_ERR_INVALID) {
        (void)rti_u32_add_relaxed(count, 1);
    }
}

static void join_one(uint32_t round, uint32_t i, rt_task *handle)
{
    void *value = NULL;
    rt_status status = rt_join(handle, &value);
    WITNESS(status.code == RT_OK || status.code == RT_ERR_INVALID ||
            status.code == RT_ERR_CANCELLED);
    WITNESS(RT_FAILED(status) || value == place_of(round, i));
    note_consumed(&play.consumed[round][i], status);
}

static void join_poll(uint32_t round, uint32_t i, rt_async_task *handle)
{
    rt_status out = {RT_ERR_PANICKED, NULL};
    rt_status status = rt_async_join(&handle, NULL, &out);
    WITNESS(status.code == RT_OK || status.code == RT_ERR_INVALID);
    if (!RT_FAILED(status)) {
        WITNESS(out.code == ((round * BATCH + i) % 2 == 0 ? RT_OK : RT_ERR_LIMIT));
    }
    note_consumed(&play.polls_consumed[round][i], status);
}

static void play_round(uint32_t round)
{
    rt_task *handles[BATCH];
    rt_async_task *polls[BATCH];
    rti_u32_store_release(&play.round, round);
    for (uint32_t i = 0; i < BATCH; i++) {
        handles[i] = rt_go(child, place_of(round, i));
        polls[i] = rt_async(poll_child, place_of(round, i));
        WITNESS(handles[i] != NULL && polls[i] != NULL);
        /* Release: who comes with it knows what it is of. */
        rti_size_store_release(&play.handles[i], (size_t)handles[i]);
        rti_size_store_release(&play.polls[i], (size_t)polls[i]);
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        join_one(round, i, handles[i]);
        join_poll(round, i, polls[i]);
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        /* Before the next round: who reads the number of that one finds none of this. */
        rti_size_store_release(&play.handles[i], 0);
        rti_size_store_release(&play.polls[i], 0);
    }
    /* No time passes beside one who has come. */
    if (rti_u32_load_relaxed(&play.waiting) == 0) {
        rti_virtual_sleep(ROUND_NS);
    }
}

static void *starter(void *arg)
{
    (void)arg;
    while (play.rounds < ROUNDS && rti_u32_load_acquire(&play.gone) < OUTSIDERS) {
        play_round(play.rounds++);
    }
    return NULL;
}

/* Computes until an interrupt has taken the station. */
static void compute(void)
{
    for (int i = 0; i < 3; i++) {
        rti_virtual_sleep(11 * RT_NS_PER_MS);
        rti_virtual_compute();
    }
}

static void *nothing(void *arg)
{
    note_serial();
    return arg;
}

/* What one does who has come: once, because nobody works alone for a while then. */
static void come(uint32_t round, uint32_t i, rt_task *handle, rt_async_task *poll, uint64_t choice)
{
    switch (choice % 9) {
    case 0:
        join_one(round, i, handle);
        return;
    case 1:
        note_consumed(&play.consumed[round][i], rt_detach(handle));
        return;
    case 2:
        rti_u32_store_relaxed(&play.asked[round][i], 1);
        (void)rt_task_ask_cancel(handle);
        return;
    case 3:
        rti_u32_store_relaxed(&play.asked[round][i], 1);
        note_consumed(&play.consumed[round][i], rt_cancel(handle, NULL));
        return;
    case 4:
        join_poll(round, i, poll);
        return;
    case 5:
        note_consumed(&play.polls_consumed[round][i], rt_async_detach(poll));
        return;
    case 6:
        rti_u32_store_relaxed(&play.polls_asked[round][i], 1);
        (void)rt_async_cancel(poll);
        return;
    case 7:
        (void)rt_async_wake(poll);
        return;
    default:
        CHECK_OK(rt_join(rt_go(nothing, NULL), NULL));
        return;
    }
}

/* Lets the others go on for a while: the handle may be consumed then. */
static void linger(uint64_t choice)
{
    uint64_t points = choice % 2 == 0 ? 0 : choice * UINT64_C(0x9e3779b97f4a7c15) >> 56;
    for (uint64_t i = 0; i < points; i++) {
        (void)rti_u32_load_relaxed(&play.round);
    }
}

/* Waits for handles that are good at the moment, and comes with them. */
static void visit(uint64_t choice)
{
    uint32_t i = (uint32_t)(choice % BATCH);
    for (uint32_t look = 0; look < LOOKS; look++) {
        uint32_t round = rti_u32_load_acquire(&play.round);
        rt_async_task *poll = (rt_async_task *)rti_size_load_acquire(&play.polls[i]);
        rt_task *handle = (rt_task *)rti_size_load_acquire(&play.handles[i]);
        if (handle != NULL && poll != NULL && round == rti_u32_load_acquire(&play.round) &&
            poll == (rt_async_task *)rti_size_load_acquire(&play.polls[i])) {
            bool is_astray = rti_worker_current()->station == NULL;
            (void)rti_u32_add_relaxed(&play.astray, is_astray);
            linger(choice);
            come(round, i, handle, poll, choice / BATCH);
            return;
        }
    }
}

static void *outsider(void *arg)
{
    for (uint32_t i = 0; i < VISITS; i++) {
        uint64_t choice = play.seed * VISITS + (uintptr_t)arg * 7 + i;
        CHECK_OK(rt_sleep((2 + choice % 3) * RT_NS_PER_MS));
        compute();
        (void)rti_u32_add_relaxed(&play.waiting, 1);
        visit(choice);
        (void)rti_u32_sub_acqrel(&play.waiting, 1);
    }
    (void)rti_u32_add_acqrel(&play.gone, 1);
    return NULL;
}

static void check_serials(void)
{
    uint32_t count = rti_u32_load_relaxed(&play.serials_count);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            WITNESS(rti_u32_load_relaxed(&play.serials[i]) !=
                    rti_u32_load_relaxed(&play.serials[j]));
        }
    }
}

static void program(uint64_t seed)
{
    rt_config config = {.workers = 1 + (uint32_t)(seed % 3)};
    memset(&play, 0, sizeof(play));
    play.seed = seed / 3;
    CHECK_OK(rt_init_ex(&config));
    if (seed % 4 != 0) {
        CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 100}));
        CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = 16}));
    }
    CHECK_OK(rt_detach(rt_go(starter, NULL)));
    for (uintptr_t i = 0; i < OUTSIDERS; i++) {
        CHECK_OK(rt_detach(rt_go(outsider, (void *)i)));
    }
    rt_run();
    WITNESS(rti_u32_load_relaxed(&play.gone) == OUTSIDERS);
    for (uint32_t round = 0; round < play.rounds; round++) {
        for (uint32_t i = 0; i < BATCH; i++) {
            WITNESS(rti_u32_load_relaxed(&play.consumed[round][i]) == 1);
            WITNESS(rti_u32_load_relaxed(&play.polls_consumed[round][i]) == 1);
        }
    }
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
    check_serials();
    solo_turns += rti_u32_load_relaxed(&play.solo_turns);
    calls_astray += rti_u32_load_relaxed(&play.astray);
}

TEST_SEEDED(solo_task_sim_handles_that_others_have_are_consumed_once)
{
    worlds_play(program);
    /* One world alone, which a failure names, may have none. */
    CHECK(getenv("ORRERY_SEED") != NULL || (solo_turns > 0 && calls_astray > 0));
}
