/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "nap_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "time/deadline.h"

struct sleeper {
    rt_async_frame frame;
    rt_nap nap;
    rt_time duration;
    rt_time began;
    rt_time ended;
    int naps;
};

static rt_status sleeps(void *state, rt_cx *cx)
{
    struct sleeper *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    self->began = rt_clock();
    while (self->naps > 0) {
        RT_AWAIT(rt_async_sleep(&self->nap, cx, self->duration));
        if (RT_FAILED(rt_awaited)) {
            break;
        }
        self->naps--;
    }
    self->ended = rt_clock();
    RT_ASYNC_END(rt_awaited);
}

static void *naps(void *arg)
{
    enum { SLEEPERS = 32 };
    static struct sleeper sleepers[SLEEPERS];
    rt_async_task *tasks[SLEEPERS];
    memset(sleepers, 0, sizeof(sleepers));
    for (size_t i = 0; i < SLEEPERS; i++) {
        sleepers[i].duration = i * RT_NS_PER_US;
        sleepers[i].naps = 3;
        tasks[i] = rt_async(sleeps, &sleepers[i]);
    }
    for (size_t i = 0; i < SLEEPERS; i++) {
        rt_status ended = {RT_ERR_STATE, NULL};
        /* A wake out of time does not end a nap. */
        CHECK_OK(rt_async_wake(tasks[i]));
        CHECK_OK(rt_async_join(&tasks[i], NULL, &ended));
        CHECK_OK(ended);
        CHECK(sleepers[i].ended - sleepers[i].began >= 3 * i * RT_NS_PER_US);
    }
    return arg;
}

TEST(nap_ends_when_its_time_has_come_and_not_before)
{
    tasks_run_everywhere(naps, NULL);
}

static void *cancels_a_nap(void *arg)
{
    struct sleeper sleeper = {.duration = RT_NS_PER_S, .naps = 1};
    rt_status ended = {RT_OK, NULL};
    rt_async_task *task = rt_async(sleeps, &sleeper);
    CHECK_OK(rt_sleep(1000));
    CHECK_OK(rt_async_cancel(task));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_STATUS(ended, RT_ERR_CANCELLED);
    CHECK_STATUS(rt_async_sleep(NULL, NULL, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_sleep(&sleeper.nap, NULL, 1), RT_ERR_INVALID);
    return arg;
}

TEST(nap_ends_by_cancellation)
{
    tasks_run_everywhere(cancels_a_nap, NULL);
}

struct fickle {
    rt_nap naps[2];
    int call;
};

/* Begins a nap, asks for another, and ends without waiting for the first. */
static rt_status is_fickle(void *state, rt_cx *cx)
{
    struct fickle *self = state;
    CHECK_STATUS(rt_async_sleep(&self->naps[0], cx, RT_NS_PER_S), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_async_sleep(&self->naps[0], cx, RT_NS_PER_S), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_async_sleep(&self->naps[1], cx, RT_NS_PER_S), RT_ERR_STATE);
    return RT_SUCCESS;
}

static void *ends_with_a_nap(void *arg)
{
    struct fickle fickle = {.call = 0};
    rt_async_task *task = rt_async(is_fickle, &fickle);
    CHECK_OK(rt_async_join(&task, NULL, NULL));
    /* The state is ours again: nothing may fire in it. */
    memset(&fickle, 0xff, sizeof(fickle));
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    return arg;
}

TEST(nap_under_way_ends_with_its_task)
{
    tasks_run_everywhere(ends_with_a_nap, NULL);
}
