/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of fibers on their own stacks, and what the next one finds: on the fixed engine, whose
 * stacks have guard pages. */
#define RTI_MODULE "fiber_life_test"
#include "sched/fiber_life.h"

#include <orrery/rt.h>
#include <string.h>

#include "runtime/runtime.h"
#include "support/test.h"

#define LIVES 1000

static char said[64];
static int ended;

static void say(char what)
{
    size_t length = strlen(said);
    CHECK(length + 1 < sizeof(said));
    said[length] = what;
    said[length + 1] = '\0';
}

static void ends(void *arg)
{
    say(*(const char *)arg);
    rt_exit();
}

static void yields(void *arg)
{
    say(*(const char *)arg);
    rt_yield();
    say(*(const char *)arg);
    rt_exit();
}

TEST(fiber_that_ends_is_followed_by_who_waits_longest)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(ends, "a") != ACTOR_ID_INVALID);
    CHECK(rt_spawn(yields, "b") != ACTOR_ID_INVALID);
    CHECK(rt_spawn(ends, "c") != ACTOR_ID_INVALID);
    CHECK(rt_spawn_ex(ends, "d", &(actor_config){.priority = RT_PRIO_HIGH}) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_STR(said, "dabcb");
}

/* rt_exit, of which the compiler does not know that it does not return. */
static void (*volatile leave)(void) = rt_exit;

/* Goes down a little further than the one before, so that frames of all depths are let go of. */
static RTI_NOINLINE void goes_down(int depth)
{
    volatile char frame[200];
    frame[0] = (char)depth;
    if (depth > 0) {
        goes_down(depth - 1);
    } else {
        ended++;
        leave();
    }
    frame[1] = frame[0];
}

static void goes_down_and_exits(void *arg)
{
    goes_down((int)(uintptr_t)arg);
}

static void spawns_many(void *arg)
{
    (void)arg;
    const actor_config config = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    for (int i = 0; i < LIVES; i++) {
        CHECK(rt_spawn_ex(goes_down_and_exits, (void *)(uintptr_t)(i % 40), &config) !=
              ACTOR_ID_INVALID);
        rt_yield();
    }
    rt_exit();
}

TEST(fiber_exits_from_any_depth_and_leaves_its_stack_whole)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(spawns_many, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(ended, LIVES);
    CHECK_EQ(rti_stacks_audit(&rti_runtime.stacks), 0);
    /* One was enough for all of them. */
    CHECK_EQ(rti_runtime.stacks.kept_count, 2);
    rt_cleanup();
}

static void exits_at_once(void *arg)
{
    (void)arg;
    rt_exit();
}

static void shuts_down(void *arg)
{
    (void)arg;
    rt_shutdown();
    rt_exit();
}

TEST(fiber_that_ends_and_wants_a_look_leaves_the_next_to_the_worker)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(shuts_down, NULL) != ACTOR_ID_INVALID);
    actor_id left = rt_spawn(exits_at_once, NULL);
    rt_run();
    CHECK(rt_actor_alive(left));
    rt_run();
    CHECK(!rt_actor_alive(left));
    rt_cleanup();
}

/* The errno of one that has ended is not that of the next. */
static void sets_errno(void *arg)
{
    (void)arg;
    *rti_errno_address() = 77;
    rt_exit();
}

static void sees_errno(void *arg)
{
    *(int *)arg = *rti_errno_address();
    rt_exit();
}

TEST(fiber_that_ends_keeps_its_errno_for_itself)
{
    int seen = -1;
    CHECK_OK(rt_init());
    CHECK(rt_spawn(sets_errno, NULL) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(sees_errno, &seen) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_EQ(seen, 0);
}

#if defined(__x86_64__)
/* As <fenv.h> does it: in both units. The library of mathematics is not linked. */
static void round_up(void)
{
    uint16_t x87;
    uint32_t mxcsr;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    x87 = (uint16_t)((x87 & ~0x0c00u) | 2u << 10);
    mxcsr = (mxcsr & ~0x6000u) | 2u << 13;
    __asm__ volatile("fldcw %0" : : "m"(x87));
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}
#elif defined(__aarch64__)
static void round_up(void)
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = (fpcr & ~(UINT64_C(3) << 22)) | UINT64_C(1) << 22;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}
#endif

/* Told from a result alone. */
static RTI_NOINLINE bool is_rounding_up(void)
{
    volatile double one = 1, tiny = 0x1p-60;
    return one + tiny > 1;
}

static void tells_rounding(void *arg)
{
    (void)arg;
    say(is_rounding_up() ? 'u' : 'n');
    rt_exit();
}

static void rounds_up_and_spawns(void *arg)
{
    (void)arg;
    CHECK(rt_spawn(tells_rounding, NULL) != ACTOR_ID_INVALID);
    round_up();
    CHECK(rt_spawn(tells_rounding, NULL) != ACTOR_ID_INVALID);
    rt_exit();
}

TEST(fiber_begins_with_the_rounding_of_its_starter)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(rounds_up_and_spawns, NULL) != ACTOR_ID_INVALID);
    /* Started from outside, and run after one that has changed its rounding and ended. */
    CHECK(rt_spawn(tells_rounding, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_STR(said, "nnu");
    CHECK(!is_rounding_up());
}
