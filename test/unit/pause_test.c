/* SPDX-License-Identifier: Apache-2.0 */
/* What ends a pause, or a nap, of a poll task, and what does not. */
#define RTI_MODULE "pause_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/asyncs.h"

/* Waits in a region, and under a budget, without waiting with its context. */
struct member {
    rt_async_frame frame;
    rt_region *region;
    rt_nap nap;
    rt_budget_scope scope;
    rt_time deadline; /* of its budget; 0: none */
    bool naps;
    rti_atomic_u32 is_there;
};

static rt_status waits_in_a_region(void *state, rt_cx *cx)
{
    struct member *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    if (self->region != NULL) {
        CHECK_OK(rt_region_enter(self->region, cx));
    }
    if (self->deadline != 0) {
        rt_budget budget = RT_BUDGET_UNLIMITED;
        budget.deadline = rt_clock() + self->deadline;
        CHECK_OK(rt_cx_push_budget(cx, budget, &self->scope));
    }
    /* Release pairs with the acquire in cancels_a_region. */
    rti_u32_store_release(&self->is_there, 1);
    RT_AWAIT(self->naps ? rt_async_sleep(&self->nap, cx, 3600 * RT_NS_PER_S) : rt_async_pause(cx));
    RT_ASYNC_END(rt_awaited);
}

static void *cancels_a_region(void *arg)
{
    for (int way = 0; way < 4; way++) {
        rt_region region;
        rt_status ended;
        CHECK_OK(rt_region_open(&region, NULL, NULL));
        struct member member = {.region = &region, .naps = way % 2 != 0};
        rt_async_task *task = rt_async(waits_in_a_region, &member);
        CHECK_OK(way < 2 ? rt_sleep(RT_NS_PER_MS) : RT_SUCCESS);
        /* Acquire pairs with the release in waits_in_a_region. */
        while (rti_u32_load_acquire(&member.is_there) == 0) {
            rt_yield();
        }
        CHECK_OK(rt_region_cancel(&region));
        CHECK_OK(rt_async_join(&task, NULL, &ended));
        CHECK_STATUS(ended, RT_ERR_CANCELLED);
        CHECK_OK(rt_region_close(&region, NULL));
    }
    CHECK_EQ(rti_asyncs_audit(rti_asyncs_of(rti_worker_current())), 0);
    return arg;
}

TEST(pause_or_nap_is_cancelled_with_its_region)
{
    tasks_run_everywhere(cancels_a_region, NULL);
}

static void *exhausts_a_budget(void *arg)
{
    for (int way = 0; way < 2; way++) {
        rt_status ended;
        struct member member = {.deadline = RT_NS_PER_MS, .naps = way != 0};
        rt_async_task *task = rt_async(waits_in_a_region, &member);
        CHECK_OK(rt_async_join(&task, NULL, &ended));
        CHECK_STATUS(ended, RT_ERR_BUDGET_EXHAUSTED);
    }
    return arg;
}

TEST(pause_or_nap_ends_with_its_budget)
{
    tasks_run_everywhere(exhausts_a_budget, NULL);
}

/* Pauses while something calls it that it has lost interest in: a nap, or a channel. */
struct distracted {
    rt_async_frame frame;
    rt_nap nap;
    rt_channel_receiver *rx; /* NULL: a nap */
    int value;
    int calls;
};

static rt_status pauses_distracted(void *state, rt_cx *cx)
{
    struct distracted *self = state;
    self->calls++;
    RT_ASYNC_BEGIN(&self->frame);
    CHECK_STATUS(self->rx == NULL ? rt_async_sleep(&self->nap, cx, RT_NS_PER_MS)
                                  : rt_channel_recv(self->rx, cx, &self->value),
                 RT_ERR_WOULDBLOCK);
    RT_AWAIT(rt_async_pause(cx));
    RT_ASYNC_END(rt_awaited);
}

static void *calls_for_something_else(void *arg)
{
    struct distracted state = {.calls = 0};
    rt_status ended;
    rt_async_task *task = rt_async(pauses_distracted, &state);
    while (state.calls < 2) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
    CHECK_STATUS(rt_async_join_until(&task, NULL, &ended, rt_clock()), RT_ERR_TIMEOUT);
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_OK(ended);
    CHECK_EQ(state.calls, 3);
    return arg;
}

TEST(pause_goes_on_when_the_task_is_called_for_something_else)
{
    tasks_run_everywhere(calls_for_something_else, NULL);
}

/* Both before the task is called: it is called once, for the wake. */
static void *wakes_and_calls(void *arg)
{
    for (int order = 0; order < 2; order++) {
        rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
        struct distracted state = {.calls = 0};
        rt_channel_sender *tx;
        rt_status ended;
        CHECK_OK(rt_channel_create(&config, &tx, &state.rx));
        rt_async_task *task = rt_async(pauses_distracted, &state);
        while (state.calls == 0) {
            CHECK_OK(rt_sleep(RT_NS_PER_MS));
        }
        CHECK_OK(order == 0 ? rt_async_wake(task) : RT_SUCCESS);
        CHECK_OK(rt_channel_send(tx, NULL, &order));
        CHECK_OK(order != 0 ? rt_async_wake(task) : RT_SUCCESS);
        CHECK_OK(rt_async_join(&task, NULL, &ended));
        CHECK_OK(ended);
        CHECK_EQ(state.calls, 2);
        CHECK_OK(rt_channel_close_sender(tx));
        CHECK_OK(rt_channel_close_receiver(state.rx));
    }
    return arg;
}

TEST(pause_ends_by_a_wake_that_comes_with_a_call_for_something_else)
{
    tasks_run_everywhere(wakes_and_calls, NULL);
}
