/* SPDX-License-Identifier: Apache-2.0 */
/* A stack that overflows ends its actor and nobody else; a wild pointer ends the program. */
#define RTI_MODULE "guard"
#include "runtime/cortex_m/guard.h"

#include <orrery/rt.h>

#include "cortex_m/harness/sweep.h"
#include "sched/fiber.h"
#include "support/test.h"

static uint32_t deaths;
static uint32_t beats;
static rt_exit_reason reason;
static volatile uint32_t depth;
static volatile uint32_t depth_max = UINT32_MAX; /* never reached */

/* Goes down by frames of a given size for ever. */
static __attribute__((noinline)) uint32_t descend(uint32_t seed)
{
    volatile uint32_t frame[4];
    frame[0] = seed;
    depth++;
    uint32_t below = depth < depth_max ? descend(seed + 1) : 0;
    return below + frame[0];
}

static __attribute__((noinline)) double descend_by_floats(double seed)
{
    volatile double frame[3];
    frame[0] = seed * 1.5;
    double below = depth < depth_max ? descend_by_floats(frame[0]) : 0;
    return below + frame[0] * seed;
}

static void overflow_plainly(void *arg)
{
    (void)arg;
    rt_yield();
    (void)descend(1);
}

static void overflow_with_floats(void *arg)
{
    (void)arg;
    (void)descend_by_floats(1.0);
}

/* A neighbour with something on its stack to corrupt. */
static void neighbour(void *arg)
{
    (void)arg;
    volatile uint32_t mine[32];
    for (uint32_t i = 0; i < 32; i++) {
        mine[i] = i * 0x01010101u;
    }
    while (deaths < *(uint32_t *)arg) {
        rt_yield();
        beats++;
        for (uint32_t i = 0; i < 32; i++) {
            CHECK_EQ(mine[i], i * 0x01010101u);
        }
    }
    rt_exit();
}

static actor_fn victim;
static uint32_t rounds;

static void watcher(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < rounds; i++) {
        actor_config config = {.stack_size = 1024 + i * 8, .priority = RT_PRIO_NORMAL};
        actor_id id = rt_spawn_ex(victim, NULL, &config);
        CHECK(id != ACTOR_ID_INVALID);
        uint32_t ref = 0;
        CHECK_OK(rt_monitor(id, &ref));
        rt_message msg;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        rt_exit_msg exit;
        CHECK(rt_is_exit_msg(&msg));
        CHECK_OK(rt_decode_exit(&msg, &exit));
        reason = exit.reason;
        CHECK_EQ(reason, RT_EXIT_CRASH_STACK);
        deaths++;
    }
    rt_exit();
}

static void run_victims(actor_fn fn, uint32_t count)
{
    victim = fn;
    rounds = count;
    CHECK_OK(rt_init());
    actor_config config = {.stack_size = 2048, .priority = RT_PRIO_NORMAL};
    CHECK(rt_spawn_ex(neighbour, &rounds, &config) != ACTOR_ID_INVALID);
    CHECK(rt_spawn_ex(watcher, NULL, &config) != ACTOR_ID_INVALID);
    CHECK(rt_spawn_ex(neighbour, &rounds, &config) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(deaths, count);
    CHECK(beats > 0);
    rt_cleanup();
}

TEST(guard_overflow_ends_the_actor_and_the_others_go_on)
{
    run_victims(overflow_plainly, 40);
    CHECK(depth > 40 * 10);
}

TEST(guard_overflow_of_floating_point_frames_ends_the_actor)
{
    run_victims(overflow_with_floats, 40);
}

static void nothing(void)
{
}

static uint32_t sweep_at;

/* The interrupt pushes its frame where the stack ends, at ever another depth. */
static void overflow_under_interrupt(void *arg)
{
    (void)arg;
    sweep_arm(sweep_at += 3, nothing);
    (void)descend(1);
}

TEST(guard_overflow_by_the_push_of_an_interrupt_ends_the_actor)
{
    run_victims(overflow_under_interrupt, 100);
    sweep_disarm();
}

static void wild(void *arg)
{
    *(volatile uint32_t *)arg = 1;
}

static void run_wild(void *arg)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(wild, arg) != ACTOR_ID_INVALID);
    rt_run();
}

TEST(guard_write_through_a_null_pointer_panics)
{
    CHECK_PANICS("guard", run_wild, NULL);
}

TEST(guard_write_to_where_no_memory_is_panics)
{
    CHECK_PANICS("guard", run_wild, (void *)0xF0000000u);
}

static void measured(void *arg)
{
    size_t *used = arg;
    *used = rti_stack_high_water(&rti_fiber_current()->stack);
    rt_exit();
}

TEST(guard_lets_a_fiber_measure_its_own_stack)
{
    static size_t used;
    CHECK_OK(rt_init());
    actor_config config = {.stack_size = 2048, .priority = RT_PRIO_NORMAL};
    CHECK(rt_spawn_ex(measured, &used, &config) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK(used > 0 && used <= 2048);
}
