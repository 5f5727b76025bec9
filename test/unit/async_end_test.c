/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of poll tasks, one behind another and of many sorts: with each ends what it has under way or
 * holds, and it is told to who joins, whatever the ones before and behind it are. With one worker,
 * with one of the parallel engine, who works alone, and with several. */
#define RTI_MODULE "async_end_test"
#include "task/asyncs.h"

#include <orrery/rt.h>
#include <string.h>

#include "runtime/runtime.h"
#include "support/test.h"

#define BATCH  300 /* more than a ring has room for */
#define ROUNDS 20
#define SORTS  8

/* The state of one. */
struct mortal {
    uintptr_t number;
    rt_nap nap;
    rt_async_task *other; /* one that pauses for ever */
    rt_mutex *mutex;
    bool was_called;
};

static rt_status pauses(void *state, rt_cx *cx)
{
    (void)state;
    return rt_async_pause(cx);
}

static rt_status ends(void *state, rt_cx *cx)
{
    struct mortal *self = state;
    rt_status out;
    switch (self->number % SORTS) {
    case 1:
        CHECK_STATUS(rt_async_sleep(&self->nap, cx, 3600 * RT_NS_PER_S), RT_ERR_WOULDBLOCK);
        break;
    case 2:
        CHECK_STATUS(rt_async_join(&self->other, cx, &out), RT_ERR_WOULDBLOCK);
        break;
    case 3:
        CHECK_OK(rt_mutex_lock(self->mutex, cx));
        break;
    case 4:
        return (rt_status){RT_ERR_LIMIT, "as wanted"};
    case 5:
        if (!self->was_called) {
            self->was_called = true;
            return rt_async_sleep(&self->nap, cx, 1);
        }
        break;
    case 6:
        return rt_checkpoint(cx);
    default:
        break;
    }
    return RT_SUCCESS;
}

static void collect(struct mortal *mortal, rt_async_task *task)
{
    rt_status out = {RT_ERR_STATE, NULL};
    if (mortal->number % SORTS == 7) {
        CHECK_OK(rt_async_detach(task));
        return;
    }
    CHECK_OK(rt_async_join(&task, NULL, &out));
    CHECK(task == NULL);
    switch (mortal->number % SORTS) {
    case 3:
        CHECK_OK(out);
        CHECK_STATUS(rt_mutex_lock(mortal->mutex, NULL), RT_ERR_OWNER_DIED);
        CHECK_OK(rt_mutex_recover(mortal->mutex, NULL));
        CHECK_OK(rt_mutex_unlock(mortal->mutex, NULL));
        break;
    case 4:
        CHECK_STATUS(out, RT_ERR_LIMIT);
        break;
    case 6:
        /* It sees that it was asked, or ended before. */
        CHECK(out.code == RT_ERR_CANCELLED || out.code == RT_OK);
        break;
    default:
        CHECK_OK(out);
        break;
    }
    /* From its end on the state is the program's. */
    memset(mortal, 0xa5, sizeof(*mortal));
}

static struct mortal mortals[BATCH];

static void play_round(rt_mutex *mutexes, rt_async_task *other)
{
    static rt_async_task *tasks[BATCH];
    for (uintptr_t i = 0; i < BATCH; i++) {
        if (i % SORTS != 7) {
            /* Else that of the last round may not have begun. */
            mortals[i] = (struct mortal){.number = i, .other = other, .mutex = &mutexes[i]};
        }
        tasks[i] = rt_async(ends, &mortals[i]);
        CHECK(tasks[i] != NULL);
        if (i % SORTS == 6) {
            CHECK_OK(rt_async_cancel(tasks[i]));
        }
    }
    for (uintptr_t i = 0; i < BATCH; i++) {
        collect(&mortals[i], tasks[i]);
    }
}

static void *play(void *arg)
{
    static rt_mutex mutexes[BATCH];
    rt_status out;
    rt_async_task *other = rt_async(pauses, NULL);
    CHECK(other != NULL);
    for (uintptr_t i = 0; i < BATCH; i++) {
        CHECK_OK(rt_mutex_init(&mutexes[i]));
        mortals[i].number = i;
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        play_round(mutexes, other);
    }
    for (uintptr_t i = 0; i < BATCH; i++) {
        CHECK_OK(rt_mutex_deinit(&mutexes[i]));
    }
    /* A wake would be for nothing if it had not begun to pause. */
    CHECK_OK(rt_async_cancel(other));
    CHECK_OK(rt_async_join(&other, NULL, &out));
    CHECK_STATUS(out, RT_ERR_CANCELLED);
    return arg;
}

/* `workers`: 0 for the fixed engine. */
static void run(uint32_t workers)
{
    if (workers == 0) {
        CHECK_OK(rt_init());
    } else {
        CHECK_OK(rt_init_ex(&(rt_config){.workers = workers}));
    }
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = 2 * BATCH}));
    CHECK_OK(rt_detach(rt_go(play, NULL)));
    rt_run();
    struct rti_asyncs *asyncs = rti_runtime.sched.modules[RTI_MODULE_ASYNC];
    CHECK_EQ(rti_asyncs_audit(asyncs), 0);
    rt_cleanup();
}

TEST(async_ends_of_all_sorts_are_told_on_the_fixed_engine)
{
    run(0);
}

TEST(async_ends_of_all_sorts_are_told_by_who_works_alone)
{
    run(1);
}

TEST(async_ends_of_all_sorts_are_told_by_several_workers)
{
    run(3);
}
