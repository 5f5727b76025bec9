/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of actors and tasks that begin and end, on the fixed engine as a program has it:
 * no journal, so that who ends settles itself, goes straight to the next, and one of a room begins
 * on the stack that was just given back. In the simulator, where everything is recorded, the
 * scheduler does all of that on its own stack.
 *
 * Everybody finds the errno and the rounding that it has left, begins with the rounding of who
 * started it, and has a stack of its own, however it and the others end. */
#define _GNU_SOURCE
#define RTI_MODULE "lives_test"
#include <errno.h>
#include <orrery/rt.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "support/test.h"

/* A world costs the threads of a runtime, which are dear under the thread sanitizer. */
#define WORLDS_PER_SEED (RTI_TSAN ? 5 : 50)
#define DEPTH_MAX       5
#define STARTS_MAX      150
#define ACTORS_MAX      64

static struct {
    struct rti_rng rng;
    size_t starts;
    size_t actors_count;
    actor_id actors[ACTORS_MAX];
    bool has_overflows;
} play;

/* What one is started with, as a number. */
struct order {
    unsigned depth;
    unsigned rounding; /* of who started it */
};

/* Ways to round, as the processor numbers them; 0 is the usual one. */
#define ROUNDINGS 4U

/* As <fenv.h> does it, in both units; the library of mathematics is not linked. */
#if defined(__x86_64__)
static void set_rounding(unsigned rounding)
{
    uint16_t x87;
    uint32_t mxcsr;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    x87 = (uint16_t)((x87 & ~0x0c00u) | rounding << 10);
    mxcsr = (mxcsr & ~0x6000u) | rounding << 13;
    __asm__ volatile("fldcw %0" : : "m"(x87));
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}

static unsigned get_rounding(void)
{
    uint16_t x87;
    uint32_t mxcsr;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    CHECK_EQ(x87 >> 10 & 3, mxcsr >> 13 & 3);
    return x87 >> 10 & 3;
}
#elif defined(__aarch64__)
static void set_rounding(unsigned rounding)
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = (fpcr & ~(UINT64_C(3) << 22)) | (uint64_t)rounding << 22;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}

static unsigned get_rounding(void)
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (unsigned)(fpcr >> 22 & 3);
}
#endif

static uint64_t draw(uint64_t n)
{
    return rti_rng_below(&play.rng, n);
}

static void *pack(struct order order)
{
    return (void *)(uintptr_t)(order.depth * ROUNDINGS + order.rounding);
}

static struct order unpack(const void *arg)
{
    uintptr_t number = (uintptr_t)arg;
    return (struct order){.depth = (unsigned)(number / ROUNDINGS),
                          .rounding = (unsigned)(number % ROUNDINGS)};
}

/* Uses some stack, and suspends with it in use. */
static RTI_NOINLINE void suspend_below(size_t frames)
{
    volatile unsigned char mine[200];
    unsigned char mark = (unsigned char)draw(256);
    memset((void *)(uintptr_t)mine, mark, sizeof(mine));
    if (frames > 0) {
        suspend_below(frames - 1);
    } else if (draw(4) == 0) {
        (void)rt_sleep(draw(2000));
    } else {
        rt_yield();
    }
    for (size_t i = 0; i < sizeof(mine); i++) {
        CHECK_EQ(mine[i], mark);
    }
}

static RTI_NOINLINE size_t use_up(size_t depth)
{
    volatile unsigned char mine[256];
    mine[depth % sizeof(mine)] = (unsigned char)depth;
    return depth > SIZE_MAX / 2 ? 0 : use_up(depth + 1) + mine[depth % sizeof(mine)];
}

static void suspend(unsigned rounding)
{
    int mark = (int)draw(100) + 1;
    errno = mark;
    suspend_below(draw(8));
    CHECK_EQ(errno, mark);
    CHECK_EQ(get_rounding(), rounding);
}

static void actor_life(void *arg);
static void *task_life(void *arg);

static void start_actor(struct order order)
{
    static const size_t sizes[] = {0, 8192, 12288, 40000};
    actor_config config = {.stack_size = sizes[draw(RTI_COUNT_OF(sizes))],
                           .priority = (rt_priority)draw(3),
                           .malloc_stack = draw(4) == 0};
    actor_id id = rt_spawn_ex(actor_life, pack(order), &config);
    if (id != ACTOR_ID_INVALID) {
        play.actors[play.actors_count++ % ACTORS_MAX] = id;
    }
}

static void start_task(struct order order)
{
    static const size_t sizes[] = {0, 0, 8192, 20000};
    rt_task_config config = {.stack_size = sizes[draw(RTI_COUNT_OF(sizes))]};
    rt_task *task = rt_go_ex(task_life, pack(order), &config);
    if (task == NULL) {
        return;
    }
    switch (draw(3)) {
    case 0:
        (void)rt_join(task, NULL);
        break;
    case 1:
        (void)rt_cancel(task, NULL);
        break;
    default:
        (void)rt_detach(task);
    }
}

static void step(struct order *self)
{
    switch (draw(6)) {
    case 0:
        self->rounding = (unsigned)draw(ROUNDINGS);
        set_rounding(self->rounding);
        break;
    case 1:
        if (play.actors_count > 0) {
            (void)rt_actor_kill(play.actors[draw(play.actors_count) % ACTORS_MAX]);
        }
        break;
    case 2:
    case 3:
        if (self->depth > 0 && play.starts < STARTS_MAX) {
            play.starts++;
            struct order order = {.depth = self->depth - 1, .rounding = self->rounding};
            if (draw(2) == 0) {
                start_actor(order);
            } else {
                start_task(order);
            }
        }
        break;
    default:
        suspend(self->rounding);
    }
}

static void live(const void *arg)
{
    struct order self = unpack(arg);
    CHECK_EQ(errno, 0);
    CHECK_EQ(get_rounding(), self.rounding);
    for (uint64_t steps = draw(12); steps > 0; steps--) {
        step(&self);
    }
    if (play.has_overflows && draw(40) == 0) {
        (void)use_up(0);
    }
}

static void actor_life(void *arg)
{
    live(arg);
    rt_exit();
}

static void *task_life(void *arg)
{
    live(arg);
    if (draw(8) == 0) {
        rt_panic_task("on purpose");
    }
    return arg;
}

static void *world(void *arg)
{
    if (draw(2) == 0) {
        CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 100, .stack_size = 8192}));
    }
    for (int i = 0; i < 4; i++) {
        start_actor((struct order){.depth = DEPTH_MAX});
        start_task((struct order){.depth = DEPTH_MAX});
        rt_yield();
    }
    return arg;
}

TEST_SEEDED(lives_of_all_kinds_begin_and_end_beside_each_other)
{
    for (uint64_t i = 0; i < WORLDS_PER_SEED; i++) {
        memset(&play, 0, sizeof(play));
        rti_rng_init(&play.rng, test_seed() * WORLDS_PER_SEED + i);
        /* A sanitizer has its own mind about a stack that is used up. */
        play.has_overflows = !RTI_ASAN && !RTI_TSAN && draw(4) == 0;
        CHECK_OK(rt_run_main(NULL, world, NULL));
    }
}
