/* SPDX-License-Identifier: Apache-2.0 */
/* Kills, and cancels, at every await point: each scenario is played again and again, and its victim
 * is stopped one turn later each time, until it comes to its end by itself. Afterwards the others
 * come to theirs, and nothing is left: no waiter, timer, permit, channel, unit or holder. */
#define RTI_MODULE "select_kill_test"
#include <orrery/rt/condition.h>
#include <orrery/rt/interval.h>
#include <orrery/rt/once.h>
#include <orrery/rt/semaphore.h>
#include <orrery/rt/wait_group.h>

#include "support/lines.h"
#include "sync/mutex.h"

/* No scenario has more turns. */
#define TURNS_MAX 200

static struct {
    rt_mutex mutex;
    rt_condition condition;
    rt_semaphore semaphore;
    rt_wait_group group;
    rt_once once;
    rt_interval interval;
    rt_cx cx;
    struct rti_fiber *victim;
    bool has_ended;    /* the victim, by itself */
    bool is_over;      /* the stopper has done its work: the others may end */
    uint32_t units;    /* that the victim has */
    bool is_to_cancel; /* instead of kill */
    size_t turn;       /* after which the victim is stopped */
} world;

static rt_time soon(void)
{
    return kernel.fibers.port.now_ns + 50;
}

static void select_recv(void)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    lines_recv_arms(arms);
    for (int i = 0; i < 4; i++) {
        (void)rt_select(arms, LINES, NULL, &chosen).code;
    }
}

static void select_all_sorts(void)
{
    rt_select_arm arms[4];
    rt_selected chosen;
    int out = 7;
    int in[2];
    for (int i = 0; i < 3; i++) {
        rt_arm_recv(&arms[0], lines.rx[0], &in[0]);
        rt_arm_send(&arms[1], lines.tx[1], &out);
        rt_arm_recv(&arms[2], lines.rx[2], &in[1]);
        rt_arm_tick(&arms[3], &world.interval, NULL);
        (void)rt_select_until(arms, 4, NULL, soon(), &chosen).code;
    }
}

static void select_send(void)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    lines_send_arms(arms);
    for (int i = 0; i < 12; i++) {
        (void)rt_select_until(arms, LINES, NULL, soon(), &chosen).code;
    }
}

static void lock_often(void)
{
    for (int i = 0; i < 8; i++) {
        if (!RT_FAILED(rt_mutex_lock(&world.mutex, NULL))) {
            kernel_yield();
            CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
        }
    }
}

static void await_condition(void)
{
    if (RT_FAILED(rt_mutex_lock(&world.mutex, NULL))) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        rt_status status = rt_condition_wait_until(&world.condition, &world.mutex, NULL, soon());
        if (status.code == RT_ERR_OWNER_DIED) {
            return;
        }
    }
    CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
}

static void take_units(void)
{
    for (uint32_t i = 0; i < 12; i++) {
        uint32_t want = 1 + i % 2;
        if (!RT_FAILED(rt_semaphore_acquire(&world.semaphore, want, NULL))) {
            world.units = want;
            kernel_yield();
            world.units = 0;
            CHECK_OK(rt_semaphore_release(&world.semaphore, want));
        }
    }
}

static void await_group(void)
{
    (void)rt_wait_group_wait(&world.group, NULL).code;
}

static void slowly(void *arg)
{
    (void)arg;
    kernel_yield();
    kernel_yield();
}

static void run_once(void)
{
    (void)rt_once_run(&world.once, NULL, slowly, NULL).code;
}

static void await_ticks(void)
{
    for (int i = 0; i < 3; i++) {
        (void)rt_interval_recv(&world.interval, NULL, NULL).code;
    }
}

static void (*const scenarios[])(void) = {
    select_recv, select_all_sorts, select_send, lock_often,  await_condition,
    take_units,  await_group,      run_once,    await_ticks,
};

static void victim_main(void *arg)
{
    void (*const *scenario)(void) = arg;
    if (world.is_to_cancel) {
        CHECK_OK(rt_cx_init(&world.cx));
    }
    (*scenario)();
    world.has_ended = true;
    if (world.is_to_cancel) {
        CHECK_OK(rt_cx_deinit(&world.cx));
    }
}

/* The world around the victim: it takes and gives a little of everything. */
static void other_main(void *arg)
{
    int value = 1;
    (void)arg;
    for (int i = 0; i < 40 && !world.is_over; i++) {
        rt_status status = rt_mutex_lock(&world.mutex, NULL);
        if (status.code == RT_ERR_OWNER_DIED) {
            status = rt_mutex_recover(&world.mutex, NULL);
        }
        CHECK_OK(status);
        CHECK_OK(rt_condition_signal(&world.condition));
        kernel_yield();
        CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
        (void)rt_channel_try_send(lines.tx[i % LINES], &value).code;
        kernel_yield();
        (void)rt_channel_try_recv(lines.rx[(i + 1) % LINES], &value).code;
        if (!RT_FAILED(rt_semaphore_acquire_until(&world.semaphore, 2, NULL, soon()))) {
            kernel_yield();
            CHECK_OK(rt_semaphore_release(&world.semaphore, 2));
        }
    }
}

static void runner_main(void *arg)
{
    (void)arg;
    CHECK_OK(rt_once_run(&world.once, NULL, slowly, NULL));
}

/* Stops the victim after so many turns, and lets the others come to their end. */
static void stopper_main(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < world.turn; i++) {
        kernel_yield();
    }
    if (!world.has_ended) {
        if (world.is_to_cancel) {
            (void)rt_cx_cancel(&world.cx).code;
        } else {
            CHECK(rti_fiber_kill(&kernel.fibers.sched, world.victim));
        }
    }
    world.is_over = true;
    CHECK_OK(rt_wait_group_done(&world.group));
}

static void close_all(void)
{
    CHECK_EQ(rt_semaphore_count(&world.semaphore) + world.units, 2);
    CHECK_OK(rt_semaphore_deinit(&world.semaphore));
    CHECK_OK(rt_wait_group_deinit(&world.group));
    CHECK_OK(rt_once_deinit(&world.once));
    CHECK_OK(rt_condition_deinit(&world.condition));
    rti_mutex_audit(rti_mutex_of(&world.mutex));
    CHECK_OK(rt_mutex_deinit(&world.mutex));
    CHECK_OK(rt_interval_close(&world.interval));
    lines_check_nobody_waits();
    lines_close();
}

/* One play; true if the victim came to its end by itself. */
static bool play(void (*const *scenario)(void), size_t capacity, size_t turn, bool is_to_cancel)
{
    memset(&world, 0, sizeof(world));
    lines_open(capacity);
    world.turn = turn;
    world.is_to_cancel = is_to_cancel;
    CHECK_OK(rt_mutex_init(&world.mutex));
    CHECK_OK(rt_condition_init(&world.condition));
    CHECK_OK(rt_semaphore_init(&world.semaphore, 2));
    CHECK_OK(rt_wait_group_init(&world.group));
    CHECK_OK(rt_wait_group_add(&world.group, 1));
    CHECK_OK(rt_once_init(&world.once));
    CHECK_OK(rt_interval_open(&world.interval, 30, RT_MISSED_BURST));
    world.victim = kernel_go(victim_main, (void *)(uintptr_t)scenario);
    kernel_go(other_main, NULL);
    kernel_go(stopper_main, NULL);
    kernel_go(runner_main, NULL);
    kernel_go(other_main, NULL);
    bool was_stopped = false;
    rt_status status = fibers_run(&kernel.fibers);
    CHECK_OK(status);
    CHECK_EQ(kernel.fibers.done_count, kernel.fibers.count);
    was_stopped = !world.has_ended;
    close_all();
    return !was_stopped;
}

static void stop_everywhere(size_t capacity, bool is_to_cancel)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        size_t stops = 0;
        for (size_t turn = 0; turn < TURNS_MAX; turn++) {
            bool has_ended = play(&scenarios[i], capacity, turn, is_to_cancel);
            /* Who is cancelled comes to its end in any case. */
            if (has_ended && !is_to_cancel) {
                break;
            }
            if (is_to_cancel && turn > 60) {
                break;
            }
            stops++;
        }
        CHECK(stops >= 2);
    }
}

TEST(select_kill_at_every_await_point_leaves_nothing_behind)
{
    stop_everywhere(1, false);
}

TEST(select_kill_at_every_await_point_of_a_rendezvous_leaves_nothing_behind)
{
    stop_everywhere(0, false);
}

TEST(select_cancel_at_every_await_point_leaves_nothing_behind)
{
    stop_everywhere(1, true);
}

TEST(select_cancel_at_every_await_point_of_a_rendezvous_leaves_nothing_behind)
{
    stop_everywhere(0, true);
}
