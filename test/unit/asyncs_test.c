/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "asyncs_test"
#include "task/asyncs.h"

#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"

static rt_status ends(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

static rt_status pauses(void *state, rt_cx *cx)
{
    (void)state;
    return rt_async_pause(cx);
}

static void *reserves(void *arg)
{
    enum { MANY = 2000 };
    static rt_async_task *tasks[MANY];
    CHECK_STATUS(rt_async_reserve(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = 0}), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = SIZE_MAX}), RT_ERR_INVALID);
    rt_async_task *one = rt_async(ends, NULL);
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = MANY}), RT_ERR_STATE);
    CHECK_OK(rt_async_join(&one, NULL, NULL));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = MANY, .contexts = 4}));
    for (size_t i = 0; i < MANY; i++) {
        tasks[i] = rt_async(pauses, NULL);
        CHECK(tasks[i] != NULL);
    }
    CHECK(rt_async(ends, NULL) == NULL);
    CHECK_OK(rt_sleep(1000));
    struct rti_asyncs *asyncs = rti_asyncs_of(rti_worker_current());
    CHECK_EQ(rti_asyncs_audit(asyncs), MANY);
    /* Those that pause need no context: all were called with the same. */
    CHECK_EQ(rti_pool_in_use(&asyncs->contexts), 1);
    for (size_t i = 0; i < MANY; i++) {
        CHECK_OK(rt_async_wake(tasks[i]));
        CHECK_OK(rt_async_join(&tasks[i], NULL, NULL));
    }
    CHECK_EQ(rti_asyncs_audit(asyncs), 0);
    return arg;
}

TEST(asyncs_make_room_for_many_in_memory_of_the_system)
{
    CHECK_OK(tasks_run(reserves, NULL));
    CHECK_OK(tasks_run_fixed(reserves, NULL));
}

static void *wears_a_slot(void *arg)
{
    rt_async_task *before = NULL;
    for (int i = 0; i < 1000; i++) {
        rt_async_task *task = rt_async(ends, NULL);
        CHECK(task != NULL && task != before);
        before = task;
        CHECK_OK(rt_async_join(&task, NULL, NULL));
        CHECK_STATUS(rt_async_wake(before), RT_ERR_INVALID);
    }
    CHECK_EQ(rti_u32_load_relaxed(&rti_asyncs_of(rti_worker_current())->fresh), 1);
    CHECK_STATUS(rt_async_wake((rt_async_task *)(uintptr_t)UINTPTR_MAX), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_wake(NULL), RT_ERR_INVALID);
    return arg;
}

TEST(asyncs_use_a_slot_again_under_another_handle)
{
    tasks_run_everywhere(wears_a_slot, NULL);
}

/* What a task may do to the context that it was lent, and end. */
enum spoil {
    SPOIL_WAKER,
    SPOIL_CANCEL,
    SPOIL_BUDGET,
    SPOIL_TIGHTEN,
    SPOIL_TIMER,
    SPOIL_DEINIT,
    SPOIL_COUNT
};

static rt_budget_scope left_open;
static rt_region timers;
static rt_region_timer timer;
static rt_async_task *channel_reader;
static rt_channel_sender *quiet_tx;
static rt_channel_receiver *quiet_rx;

static void never_called(void *arg)
{
    (void)arg;
    CHECK(false);
}

static rt_status spoils(void *state, rt_cx *cx)
{
    const rt_budget small = {.deadline = RT_TIME_NEVER, .poll_quota = 1, .cost_quota = 1};
    switch (*(enum spoil *)state) {
    case SPOIL_WAKER:
        return rt_cx_set_waker(cx, (rt_waker){.fn = never_called});
    case SPOIL_CANCEL:
        return rt_cx_cancel(cx);
    case SPOIL_BUDGET:
        return rt_cx_push_budget(cx, small, &left_open);
    case SPOIL_TIGHTEN:
        rti_cx_tighten(rti_cx_of(cx), small);
        break;
    case SPOIL_TIMER:
        return rt_region_timer_start(&timers, cx, &timer, RT_TIME_NEVER - 1,
                                     (rt_waker){.fn = never_called});
    case SPOIL_DEINIT:
        return rt_cx_deinit(cx);
    case SPOIL_COUNT:
        break;
    }
    return RT_SUCCESS;
}

/* Receives one value, and finds its context as one that was just made. */
static rt_status reads(void *state, rt_cx *cx)
{
    rt_budget budget = rt_cx_budget(cx);
    CHECK(!rt_cx_is_cancelled(cx));
    CHECK(budget.deadline == RT_TIME_NEVER && budget.poll_quota == UINT32_MAX &&
          budget.cost_quota == UINT64_MAX);
    return rt_channel_recv(quiet_rx, cx, state);
}

static void *spoils_contexts(void *arg)
{
    const rt_channel_config config = {.capacity = 1, .elem_size = sizeof(int)};
    CHECK_OK(rt_channel_create(&config, &quiet_tx, &quiet_rx));
    CHECK_OK(rt_region_open(&timers, NULL, NULL));
    for (int what = 0; what < SPOIL_COUNT; what++) {
        enum spoil spoil = (enum spoil)what;
        int value = 0;
        rt_async_task *first = rt_async(spoils, &spoil);
        rt_status status;
        CHECK_OK(rt_async_join(&first, NULL, &status));
        CHECK_OK(status);
        /* The timer ends with the context that it was started for. */
        CHECK(spoil != SPOIL_TIMER || !rt_region_timer_cancel(&timer));
        channel_reader = rt_async(reads, &value);
        rt_yield();
        CHECK_OK(rt_channel_send(quiet_tx, NULL, &what));
        CHECK_OK(rt_async_join(&channel_reader, NULL, NULL));
        CHECK_EQ(value, what);
        CHECK_EQ(rti_asyncs_audit(rti_asyncs_of(rti_worker_current())), 0);
    }
    CHECK_OK(rt_channel_close_sender(quiet_tx));
    CHECK_OK(rt_channel_close_receiver(quiet_rx));
    CHECK_OK(rt_region_close(&timers, NULL));
    return arg;
}

TEST(asyncs_lend_no_context_that_its_last_task_has_changed)
{
    tasks_run_everywhere(spoils_contexts, NULL);
}

TEST(asyncs_outside_of_a_runtime_are_refused)
{
    rt_async_task *task = NULL;
    CHECK(rt_async(ends, NULL) == NULL);
    CHECK_STATUS(rt_async_join(&task, NULL, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_async_detach(NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = 1}), RT_ERR_THREAD);
}
