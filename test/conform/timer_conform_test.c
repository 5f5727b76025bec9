/* SPDX-License-Identifier: Apache-2.0 */
/* "Timer API" of actor-runtime.md, what of it test/unit/actor_timer_test.c does not show: precision
 * and clock, lateness, ids. Exact times are those of the simulated clock; on the real clock the
 * cases demand order and lower bounds only. */
#define _GNU_SOURCE
#include <time.h>

#include <orrery/rt.h>

#include "base/rng.h"
#include "support/test.h"
#include "support/world.h"

static void in_world(actor_fn fn)
{
    world_run(fn, NULL);
}

static void on_the_real_clock(actor_fn fn, void *arg)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(fn, arg) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
}

static timer_id take_tick(void)
{
    rt_message msg;
    timer_id id;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK(rt_timer_is_tick(&msg));
    CHECK_EQ(msg.sender, RT_SENDER_TIMER);
    memcpy(&id, msg.data, sizeof(id));
    return id;
}

static void units(void *arg)
{
    (void)arg;
    rt_message msg;
    timer_id id;
    rt_time start = rt_clock();
    CHECK_OK(rt_timer_after(5000, &id));
    CHECK_EQ(take_tick(), id);
    CHECK_EQ(rt_clock() - start, 5 * RT_NS_PER_MS);
    start = rt_clock();
    CHECK_STATUS(rt_ipc_recv(&msg, 5), RT_ERR_TIMEOUT);
    CHECK_EQ(rt_clock() - start, 5 * RT_NS_PER_MS);
    rt_exit();
}

TEST(timer_counts_microseconds_and_receive_milliseconds)
{
    world_needs_virtual_clock();
    in_world(units);
}

static void below_a_millisecond(void *arg)
{
    static const uint32_t delays_us[] = {1, 2, 10, 99, 500, 999, 1000, 1001, 123457};
    (void)arg;
    for (size_t i = 0; i < sizeof(delays_us) / sizeof(delays_us[0]); i++) {
        timer_id id;
        rt_time start = rt_clock();
        CHECK_OK(rt_timer_after(delays_us[i], &id));
        CHECK_EQ(take_tick(), id);
        CHECK_EQ(rt_clock() - start, delays_us[i] * RT_NS_PER_US);
    }
    rt_exit();
}

TEST(timer_below_a_millisecond_is_exact_on_an_exact_clock)
{
    world_needs_virtual_clock();
    in_world(below_a_millisecond);
}

/* As many timers at once as there can be: each tick comes at its own time, so in order. */
static void all_at_once(void *arg)
{
    struct rti_rng *rng = arg;
    static timer_id ids[RT_TIMER_ENTRY_POOL_SIZE];
    static uint32_t delays_us[RT_TIMER_ENTRY_POOL_SIZE];
    rt_time start = rt_clock();
    for (size_t i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        uint64_t shift = rti_rng_below(rng, 32);
        delays_us[i] = (uint32_t)(rti_rng_next(rng) >> (32 + shift));
        CHECK_OK(rt_timer_after(delays_us[i], &ids[i]));
    }
    for (size_t i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        timer_id id = take_tick();
        size_t which = 0;
        while (ids[which] != id) {
            which++;
            CHECK(which < RT_TIMER_ENTRY_POOL_SIZE);
        }
        CHECK_EQ(rt_clock() - start, delays_us[which] * RT_NS_PER_US);
        ids[which] = TIMER_ID_INVALID;
    }
    rt_exit();
}

TEST_SEEDED(timer_of_any_delay_is_never_early_and_on_an_idle_machine_never_late)
{
    struct rti_rng rng;
    rti_rng_init(&rng, test_seed());
    rt_sim_config config = {.seed = test_seed()};
    CHECK_OK(rt_sim_run(&config, all_at_once, &rng));
}

static rt_time monotonic_now(void)
{
    struct timespec now;
    CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (rt_time)now.tv_sec * RT_NS_PER_S + (rt_time)now.tv_nsec;
}

static void compares_clocks(void *arg)
{
    (void)arg;
    for (int i = 0; i < 1000; i++) {
        rt_time before = monotonic_now();
        rt_time between = rt_clock();
        CHECK(before <= between && between <= monotonic_now());
    }
    timer_id id;
    rt_time start = monotonic_now();
    CHECK_OK(rt_timer_after(2000, &id));
    CHECK_EQ(take_tick(), id);
    CHECK(monotonic_now() - start >= 2 * RT_NS_PER_MS);
    rt_exit();
}

TEST(timer_clock_is_the_systems_monotonic_clock)
{
    on_the_real_clock(compares_clocks, NULL);
}

static char order[8];
static size_t order_length;

/* Keeps the processor, in turns of its own priority, until the timer of the other is long due. */
static void urgent(void *arg)
{
    rt_time until = rt_clock() + 3 * RT_NS_PER_MS;
    (void)arg;
    while (rt_clock() < until) {
        rt_yield();
    }
    order[order_length++] = 'u';
    rt_exit();
}

static void unhurried(void *arg)
{
    (void)arg;
    timer_id id;
    rt_time start = rt_clock();
    actor_config config = {.priority = RT_PRIO_CRITICAL};
    CHECK_OK(rt_timer_after(1000, &id));
    CHECK(rt_spawn_ex(urgent, NULL, &config) != ACTOR_ID_INVALID);
    CHECK_EQ(take_tick(), id);
    order[order_length++] = 't';
    CHECK(rt_clock() - start >= 3 * RT_NS_PER_MS);
    rt_exit();
}

TEST(timer_tick_is_late_behind_more_urgent_actors_and_not_lost)
{
    order_length = 0;
    on_the_real_clock(unhurried, NULL);
    CHECK_STR(order, "ut");
}

/* Nobody runs while an actor does not yield: the tick comes when it does. */
static void hog(void *arg)
{
    (void)arg;
    timer_id id;
    rt_message msg;
    rt_time until = rt_clock() + 3 * RT_NS_PER_MS;
    CHECK_OK(rt_timer_after(500, &id));
    while (rt_clock() < until) {
    }
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
    CHECK_EQ(take_tick(), id);
    rt_exit();
}

TEST(timer_tick_is_late_behind_an_actor_that_does_not_yield_and_not_lost)
{
    on_the_real_clock(hog, NULL);
}

static void longest_interval(void *arg)
{
    (void)arg;
    timer_id id;
    rt_time start = rt_clock();
    CHECK_OK(rt_timer_every(UINT32_MAX, &id));
    for (uint64_t i = 1; i <= 3; i++) {
        CHECK_EQ(take_tick(), id);
        CHECK_EQ(rt_clock() - start, i * UINT32_MAX * RT_NS_PER_US);
    }
    CHECK_OK(rt_timer_cancel(id));
    rt_exit();
}

TEST(timer_interval_may_be_the_largest_number_and_does_not_wrap_when_added_up)
{
    world_needs_virtual_clock();
    in_world(longest_interval);
}

static void old_ids(void *arg)
{
    enum { OLD = 500 };
    static timer_id old[OLD];
    (void)arg;
    for (size_t i = 0; i < OLD; i++) {
        CHECK_OK(rt_timer_after(UINT32_MAX, &old[i]));
        CHECK_OK(rt_timer_cancel(old[i]));
    }
    timer_id live[RT_TIMER_ENTRY_POOL_SIZE];
    for (size_t i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        CHECK_OK(rt_timer_after(1000, &live[i])); /* every record is in use again */
    }
    for (size_t i = 0; i < OLD; i++) {
        CHECK_STATUS(rt_timer_cancel(old[i]), RT_ERR_INVALID);
    }
    for (size_t i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        CHECK_EQ(take_tick(), live[i]);
    }
    rt_exit();
}

TEST(timer_id_that_is_over_never_cancels_a_later_timer)
{
    in_world(old_ids);
}

#define GRID_US     1000
#define GRID_ROUNDS 20

/* Looks every one and a half intervals: what a late tick does to the next one adds up. */
static void late_on_the_grid(void *arg)
{
    (void)arg;
    timer_id timer;
    uint64_t overruns = 0;
    rt_time before = rt_clock();
    CHECK_OK(rt_timer_every(GRID_US, &timer));
    rt_time started = rt_clock();
    rt_time asked = started;
    for (uint64_t ticks = 1; ticks <= GRID_ROUNDS; ticks++) {
        asked = rt_clock();
        while (rt_clock() - asked < GRID_US * 3 / 2 * RT_NS_PER_US) {
        }
        asked = rt_clock();
        CHECK_EQ(take_tick(), timer);
        CHECK_OK(rt_timer_overruns(timer, &overruns));
        /* Never early: this is the tick of that number at the latest. */
        CHECK(rt_clock() - before >= (ticks + overruns) * GRID_US * RT_NS_PER_US);
    }
    /* Sent or counted, none is missing. */
    CHECK(GRID_ROUNDS + overruns + 2 >= (asked - started) / (GRID_US * RT_NS_PER_US));
    rt_exit();
}

TEST(timer_that_is_late_every_time_stays_on_its_grid)
{
    on_the_real_clock(late_on_the_grid, NULL);
}
