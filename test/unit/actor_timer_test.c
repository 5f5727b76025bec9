/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of actors, in the simulated world and once on the real clock. */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

#define US RT_NS_PER_US

/* Runs one actor; the case is over when it has ended. */
static void in_world(actor_fn fn)
{
    world_run(fn, NULL);
}

static timer_id after(uint32_t us)
{
    timer_id id = TIMER_ID_INVALID;
    CHECK_OK(rt_timer_after(us, &id));
    CHECK(id != TIMER_ID_INVALID);
    return id;
}

static timer_id every(uint32_t us)
{
    timer_id id = TIMER_ID_INVALID;
    CHECK_OK(rt_timer_every(us, &id));
    CHECK(id != TIMER_ID_INVALID);
    return id;
}

/* Receives one message, which must be a tick, and tells of which timer. */
static timer_id take_tick(void)
{
    rt_message message;
    timer_id id;
    CHECK_OK(rt_ipc_recv(&message, -1));
    CHECK(rt_timer_is_tick(&message));
    CHECK_EQ(message.sender, RT_SENDER_TIMER);
    CHECK_EQ(message.len, sizeof(id));
    memcpy(&id, message.data, sizeof(id));
    return id;
}

static void expect_silence(int32_t ms)
{
    rt_message message;
    CHECK_STATUS(rt_ipc_recv(&message, ms), RT_ERR_TIMEOUT);
}

static void one_shot(void *arg)
{
    (void)arg;
    rt_time start = rt_clock();
    timer_id id = after(1500);
    CHECK_EQ(take_tick(), id);
    CHECK_EQ(rt_clock() - start, 1500 * US);
    expect_silence(1000);
    rt_exit();
}

TEST(timer_after_ticks_once_at_its_time)
{
    world_needs_virtual_clock();
    in_world(one_shot);
}

static void periodic(void *arg)
{
    (void)arg;
    rt_time start = rt_clock();
    timer_id id = every(250);
    for (uint64_t i = 1; i <= 1000; i++) {
        CHECK_EQ(take_tick(), id);
        CHECK_EQ(rt_clock() - start, i * 250 * US);
    }
    CHECK_OK(rt_timer_cancel(id));
    expect_silence(10);
    rt_exit();
}

TEST(timer_every_ticks_on_its_grid_without_drift)
{
    world_needs_virtual_clock();
    in_world(periodic);
}

/* Lets time pass without taking any message. */
static void nap(int32_t ms)
{
    static const rt_ipc_filter nobody = {.sender = RT_SENDER_SYSTEM};
    rt_message message;
    CHECK_STATUS(rt_ipc_recv_match(&nobody, &message, ms), RT_ERR_TIMEOUT);
}

static void slow_handler(void *arg)
{
    (void)arg;
    rt_time start = rt_clock();
    timer_id id = every(1000);
    CHECK_EQ(take_tick(), id);
    nap(10); /* ticks 2 to 11 come due: one waits, nine are overruns */
    CHECK_EQ(rt_ipc_count(), 1);
    uint64_t overruns = 0;
    CHECK_OK(rt_timer_overruns(id, &overruns));
    CHECK_EQ(overruns, 9);
    CHECK_EQ(take_tick(), id);
    CHECK_EQ(rt_clock() - start, 11 * 1000 * US);
    CHECK_EQ(take_tick(), id);
    CHECK_EQ(rt_clock() - start, 12 * 1000 * US);
    rt_exit();
}

TEST(timer_ticks_that_nobody_takes_are_counted_and_the_grid_stays)
{
    world_needs_virtual_clock();
    in_world(slow_handler);
}

static void held_while_due(void *arg)
{
    rt_message message;
    timer_id seen;
    (void)arg;
    timer_id id = every(1000);
    CHECK_OK(rt_ipc_recv(&message, -1));
    nap(1); /* the next tick is due while the first is still readable */
    CHECK_EQ(rt_ipc_count(), 1);
    memcpy(&seen, message.data, sizeof(seen));
    CHECK_EQ(seen, id);
    uint64_t overruns = 1;
    CHECK_OK(rt_timer_overruns(id, &overruns));
    CHECK_EQ(overruns, 0);
    rt_exit();
}

TEST(timer_tick_comes_also_while_the_one_before_is_read)
{
    world_needs_virtual_clock();
    in_world(held_while_due);
}

static void zero_delay(void *arg)
{
    (void)arg;
    rt_time start = rt_clock();
    timer_id id = after(0);
    CHECK(!rt_ipc_pending());
    rt_yield();
    CHECK(rt_ipc_pending());
    CHECK_EQ(take_tick(), id);
    CHECK(rt_clock() == start);
    rt_exit();
}

TEST(timer_of_zero_ticks_in_the_next_turn)
{
    world_needs_virtual_clock();
    in_world(zero_delay);
}

static void longest_delay(void *arg)
{
    (void)arg;
    rt_time start = rt_clock();
    timer_id one = after(UINT32_MAX);
    timer_id two = every(UINT32_MAX);
    CHECK_EQ(take_tick(), one);
    CHECK_EQ(take_tick(), two);
    CHECK_EQ(rt_clock() - start, UINT64_C(4294967295) * US);
    CHECK_EQ(take_tick(), two);
    CHECK_EQ(rt_clock() - start, 2 * UINT64_C(4294967295) * US);
    rt_exit();
}

TEST(timer_takes_the_largest_value)
{
    world_needs_virtual_clock();
    in_world(longest_delay);
}

static timer_id foreign;

static void cancel_foreign(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_timer_cancel(foreign), RT_ERR_INVALID);
    uint64_t overruns;
    CHECK_STATUS(rt_timer_overruns(foreign, &overruns), RT_ERR_INVALID);
    rt_exit();
}

static void cancels(void *arg)
{
    (void)arg;
    timer_id id = after(1000);
    CHECK_OK(rt_timer_cancel(id));
    CHECK_STATUS(rt_timer_cancel(id), RT_ERR_INVALID);
    expect_silence(5);
    id = after(1000);
    CHECK_EQ(take_tick(), id);
    CHECK_STATUS(rt_timer_cancel(id), RT_ERR_INVALID);
    CHECK_STATUS(rt_timer_cancel(TIMER_ID_INVALID), RT_ERR_INVALID);
    CHECK_STATUS(rt_timer_cancel(0xABCDEF01), RT_ERR_INVALID);
    foreign = every(1000);
    rt_spawn(cancel_foreign, NULL);
    CHECK_EQ(take_tick(), foreign);
    CHECK_OK(rt_timer_cancel(foreign));
    rt_exit();
}

TEST(timer_cancel_of_a_fired_cancelled_foreign_or_unknown_one_is_an_error)
{
    in_world(cancels);
}

static void cancel_queued(void *arg)
{
    (void)arg;
    timer_id one = after(1000);
    timer_id two = every(1000);
    nap(2);
    CHECK_EQ(rt_ipc_count(), 2);
    CHECK_OK(rt_timer_cancel(two));
    CHECK_EQ(rt_ipc_count(), 1);
    CHECK_EQ(take_tick(), one);
    expect_silence(10);
    rt_exit();
}

TEST(timer_cancel_takes_a_tick_out_of_the_mailbox)
{
    in_world(cancel_queued);
}

static void order_of_mail(void *arg)
{
    rt_message message;
    (void)arg;
    timer_id id = after(1000);
    CHECK_OK(rt_ipc_send(rt_self(), "1", 1, IPC_ASYNC));
    nap(2);
    CHECK_OK(rt_ipc_send(rt_self(), "2", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&message, 0));
    CHECK(!rt_timer_is_tick(&message) && *(const char *)message.data == '1');
    CHECK_EQ(take_tick(), id);
    CHECK_OK(rt_ipc_recv(&message, 0));
    CHECK(!rt_timer_is_tick(&message) && *(const char *)message.data == '2');
    CHECK(!rt_timer_is_tick(NULL));
    rt_exit();
}

TEST(timer_ticks_stand_in_line_with_other_messages)
{
    in_world(order_of_mail);
}

static void fill_the_pool(void *arg)
{
    timer_id ids[RT_TIMER_ENTRY_POOL_SIZE];
    (void)arg;
    for (size_t i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        ids[i] = after((uint32_t)(1000 + i));
    }
    timer_id more = 77;
    CHECK_STATUS(rt_timer_after(5, &more), RT_ERR_NOMEM);
    CHECK_STATUS(rt_timer_every(5, &more), RT_ERR_NOMEM);
    CHECK_EQ(more, 77);
    CHECK_OK(rt_timer_cancel(ids[3]));
    CHECK_OK(rt_timer_after(5, &more));
    CHECK_EQ(take_tick(), more);
    for (size_t i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        if (i != 3) {
            CHECK_EQ(take_tick(), ids[i]);
        }
    }
    expect_silence(10);
    for (size_t i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        ids[i] = after(0);
    }
    rt_exit();
}

TEST(timer_pool_exhausted_is_an_error_and_recovers)
{
    in_world(fill_the_pool);
}

static void fill_the_mail_pool(void *arg)
{
    (void)arg;
    timer_id id = after(1000);
    while (!RT_FAILED(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC))) {
    }
    nap(2);
    rt_message message;
    size_t others = 0;
    do {
        CHECK_OK(rt_ipc_recv(&message, 0));
        others += !rt_timer_is_tick(&message);
    } while (!rt_timer_is_tick(&message));
    CHECK_EQ(*(const timer_id *)message.data, id);
    CHECK(others > 0);
    rt_exit();
}

TEST(timer_tick_is_not_lost_to_a_full_message_pool)
{
    in_world(fill_the_mail_pool);
}

static void die_with_timers(void *arg)
{
    (void)arg;
    after(1000);
    every(1000);
    after(0);
    rt_yield();
    nap(3);
    every(2000);
    rt_exit();
}

static void watch_the_dead(void *arg)
{
    (void)arg;
    for (int i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        actor_id child = rt_spawn(die_with_timers, NULL);
        uint32_t ref;
        rt_message message;
        CHECK_OK(rt_monitor(child, &ref));
        CHECK_OK(rt_ipc_recv(&message, -1));
        CHECK(rt_is_exit_msg(&message));
    }
    for (size_t i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        after(1);
    }
    rt_exit();
}

TEST(timers_of_a_dead_actor_are_gone_with_it)
{
    in_world(watch_the_dead);
}

static void bad_arguments(void *arg)
{
    timer_id id = 9;
    (void)arg;
    CHECK_STATUS(rt_timer_after(5, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_timer_every(5, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_timer_every(0, &id), RT_ERR_INVALID);
    CHECK_EQ(id, 9);
    id = every(5);
    CHECK_STATUS(rt_timer_overruns(id, NULL), RT_ERR_INVALID);
    rt_exit();
}

TEST(timer_bad_arguments_are_refused)
{
    in_world(bad_arguments);
}

TEST(timer_calls_outside_of_an_actor_are_refused)
{
    timer_id id = 9;
    uint64_t overruns = 3;
    CHECK_STATUS(rt_timer_after(5, &id), RT_ERR_THREAD);
    CHECK_OK(rt_init());
    CHECK_STATUS(rt_timer_after(5, &id), RT_ERR_THREAD);
    CHECK_STATUS(rt_timer_every(5, &id), RT_ERR_THREAD);
    CHECK_STATUS(rt_timer_cancel(id), RT_ERR_THREAD);
    CHECK_STATUS(rt_timer_overruns(id, &overruns), RT_ERR_THREAD);
    CHECK_EQ(id, 9);
    CHECK_EQ(overruns, 3);
    rt_cleanup();
}

static void never_early(void *arg)
{
    (void)arg;
    for (uint32_t us = 0; us < 3000; us += 371) {
        rt_time start = rt_clock();
        timer_id id = after(us);
        CHECK_EQ(take_tick(), id);
        CHECK(rt_clock() - start >= us * US);
    }
    rt_exit();
}

TEST(timer_on_the_real_clock_is_never_early)
{
    CHECK_OK(rt_init());
    rt_spawn(never_early, NULL);
    rt_run();
    rt_cleanup();
}
