/* SPDX-License-Identifier: Apache-2.0 */
/* What is promised of a region's timers, on every engine. */
#define RTI_MODULE "region_timer_conform_test"
#include "base/atomic.h"
#include "support/engines.h"
#include "support/test.h"

#define SOON  (RT_NS_PER_MS)
#define LATER (RT_NS_PER_S * 3600)

static rt_region region;
static rti_atomic_u32 fired;

static void count(void *arg)
{
    rti_u32_add_relaxed(&fired, (uint32_t)(uintptr_t)arg);
}

static rt_waker waker_of(uintptr_t weight)
{
    return (rt_waker){count, (void *)weight};
}

static void begin(void)
{
    rti_u32_init(&fired, 0);
    CHECK_OK(rt_region_open(&region, NULL, NULL));
}

static void await_fired(uint32_t wanted)
{
    while (rti_u32_load_relaxed(&fired) != wanted) {
        CHECK_OK(rt_sleep(SOON));
    }
}

static void *fires_main(void *arg)
{
    rt_region_timer timers[3];
    (void)arg;
    begin();
    rt_time now = rt_clock();
    CHECK_OK(rt_region_timer_start(&region, NULL, &timers[0], now + SOON, waker_of(1)));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timers[1], now + 2 * SOON, waker_of(10)));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timers[2], now, waker_of(100)));
    await_fired(111);
    CHECK(rt_clock() >= now + 2 * SOON);
    for (int i = 0; i < 3; i++) {
        CHECK(!rt_region_timer_cancel(&timers[i]));
    }
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_EQ(rti_u32_load_relaxed(&fired), 111);
    return NULL;
}

TEST(region_timer_fires_once_at_its_deadline_on_every_engine)
{
    engines_run(fires_main, NULL);
}

static void *cancels_main(void *arg)
{
    rt_region_timer timers[4];
    rt_cx cx;
    (void)arg;
    begin();
    rt_time now = rt_clock();
    CHECK_OK(rt_cx_init_poll(&cx, (rt_waker){NULL, NULL}));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timers[0], now + LATER, waker_of(1)));
    CHECK_OK(rt_region_timer_start(&region, &cx, &timers[1], now + LATER, waker_of(10)));
    CHECK_OK(rt_region_timer_start(&region, &cx, &timers[2], now + LATER, waker_of(100)));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timers[3], now + LATER, waker_of(1000)));
    CHECK(rt_region_timer_cancel(&timers[0]));
    CHECK(rt_region_timer_cancel(&timers[1]));
    CHECK_OK(rt_cx_cancel(&cx));
    CHECK(!rt_region_timer_cancel(&timers[2]));
    CHECK_STATUS(rt_region_timer_start(&region, &cx, &timers[2], now + SOON, waker_of(100)),
                 RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_deinit(&cx));
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK(!rt_region_timer_cancel(&timers[3]));
    CHECK_EQ(rti_u32_load_relaxed(&fired), 0);
    return NULL;
}

TEST(region_timer_is_cancelled_by_owner_context_and_region_on_every_engine)
{
    engines_run(cancels_main, NULL);
}

static void *context_main(void *arg)
{
    rt_region_timer timer;
    rt_cx cx;
    (void)arg;
    begin();
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_region_timer_start(&region, &cx, &timer, rt_clock() + LATER, waker_of(1)));
    CHECK_OK(rt_cx_deinit(&cx));
    CHECK(!rt_region_timer_cancel(&timer));
    CHECK_OK(rt_region_begin_close(&region));
    CHECK_STATUS(rt_region_timer_start(&region, NULL, &timer, rt_clock(), waker_of(1)),
                 RT_ERR_STATE);
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_EQ(rti_u32_load_relaxed(&fired), 0);
    return NULL;
}

TEST(region_timer_ends_with_its_context_on_every_engine)
{
    engines_run(context_main, NULL);
}

static void *budget_main(void *arg)
{
    rt_region_timer timer;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    (void)arg;
    rti_u32_init(&fired, 0);
    budget.deadline = rt_clock() + SOON;
    CHECK_OK(rt_region_open(&region, NULL, &budget));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timer, rt_clock() + LATER, waker_of(1)));
    await_fired(1);
    CHECK_OK(rt_region_close(&region, NULL));
    return NULL;
}

TEST(region_timer_fires_at_the_budgets_deadline_on_every_engine)
{
    engines_run(budget_main, NULL);
}

static rt_region_timer again;

static void start_again(void *arg)
{
    if (rti_u32_add_relaxed(&fired, 1) < 4) {
        CHECK_OK(rt_region_timer_start(&region, NULL, &again, rt_clock() + SOON / 8,
                                       (rt_waker){start_again, arg}));
    }
}

static void *again_main(void *arg)
{
    (void)arg;
    begin();
    start_again(NULL);
    await_fired(5);
    CHECK_OK(rt_region_close(&region, NULL));
    return NULL;
}

TEST(region_timer_is_started_anew_by_its_own_waker_on_every_engine)
{
    engines_run(again_main, NULL);
}
