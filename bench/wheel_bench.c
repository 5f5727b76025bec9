/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does a timer cost, beside libev's and libuv's, in processor time?
 *
 * replace   10^5 timers outstanding, 1 ms to 60 s away; one of them, at random, is cancelled and
 *           armed again: the timeout of a connection that shows life.
 * touch     10^5 timers outstanding; one more is armed and cancelled at once: the timeout of a call
 *           that succeeds.
 * fire      10^6 timers armed for random instants within 100 ms, then all of them fired.
 *
 * Method: each library does the same work on the same numbers, in turn, three rounds; the least
 * time of the rounds counts. Processor time, so that the 100 ms of waiting cost nothing. libuv
 * keeps time in milliseconds, libev as double; the wheel keeps nanoseconds.
 * Not measured: how late a timer is, and the wait of the loop itself.
 *
 * Prints `bench<TAB>ns_per_op`, and ratios `orrery/peer`. argv[1]: the number of timers to fire. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "time/wheel.h"

#if defined(ORRERY_BENCH_LIBEV) && defined(__has_include)
#if __has_include(<ev.h>)
#include <ev.h>
#define HAS_LIBEV 1
#endif
#endif
#if defined(ORRERY_BENCH_LIBUV) && defined(__has_include)
#if __has_include(<uv.h>)
#include <uv.h>
#define HAS_LIBUV 1
#endif
#endif

#define ROUNDS 3

enum work { REPLACE, TOUCH, FIRE, WORK_COUNT };

static const char *const work_names[WORK_COUNT] = {"replace", "touch", "fire"};

static size_t fire_count;  /* timers to fire */
static size_t outstanding; /* timers that stay armed in replace and touch */
static uint32_t *victims;  /* which of those is replaced next */
static uint64_t *far_ns;   /* deadlines of replace and touch, whole milliseconds */
static uint64_t *near_ns;  /* deadlines of fire */
static size_t fired;

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * RTI_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "wheel_bench: no memory\n");
        exit(1);
    }
    return memory;
}

static void expect_fired(void)
{
    if (fired != fire_count) {
        fprintf(stderr, "wheel_bench: %zu of %zu timers fired\n", fired, fire_count);
        exit(1);
    }
}

/* How many timers a kind of work needs. */
static size_t timers_for(enum work work)
{
    return work == FIRE ? fire_count : outstanding + 1;
}

/* ---- the wheel ---- */

static struct rti_wheel wheel;

static void orrery_on_fire(struct rti_timer *timer)
{
    (void)timer;
    fired++;
}

static void orrery_fire(struct rti_timer *timers)
{
    for (size_t i = 0; i < fire_count; i++) {
        rti_wheel_arm(&wheel, &timers[i], near_ns[i]);
    }
    for (uint64_t ms = 1; ms <= 100; ms++) {
        rti_wheel_expire(&wheel, ms * RTI_NS_PER_MS);
    }
    expect_fired();
}

static uint64_t orrery_run(enum work work)
{
    size_t count = timers_for(work);
    struct rti_timer *timers = allocate(count, sizeof(*timers));
    rti_wheel_init(&wheel, 0);
    for (size_t i = 0; i < count; i++) {
        rti_timer_init(&timers[i], orrery_on_fire);
    }
    for (size_t i = 0; work != FIRE && i < outstanding; i++) {
        rti_wheel_arm(&wheel, &timers[i], far_ns[i]);
    }
    uint64_t start = cpu_ns();
    for (size_t i = 0; work == REPLACE && i < fire_count; i++) {
        struct rti_timer *timer = &timers[victims[i]];
        rti_wheel_disarm(&wheel, timer);
        rti_wheel_arm(&wheel, timer, far_ns[i]);
    }
    for (size_t i = 0; work == TOUCH && i < fire_count; i++) {
        rti_wheel_arm(&wheel, &timers[outstanding], far_ns[i]);
        rti_wheel_disarm(&wheel, &timers[outstanding]);
    }
    if (work == FIRE) {
        orrery_fire(timers);
    }
    uint64_t spent = cpu_ns() - start;
    free(timers);
    return spent;
}

/* ---- libev ---- */

#ifdef HAS_LIBEV
static struct ev_loop *libev_loop;

static void libev_on_fire(struct ev_loop *loop, ev_timer *timer, int events)
{
    (void)loop;
    (void)timer;
    (void)events;
    fired++;
}

static void libev_start(ev_timer *timer, double seconds)
{
    ev_timer_set(timer, seconds, 0.);
    ev_timer_start(libev_loop, timer);
}

static void libev_fire(ev_timer *timers)
{
    for (size_t i = 0; i < fire_count; i++) {
        libev_start(&timers[i], (double)near_ns[i] * 1e-9);
    }
    ev_run(libev_loop, 0);
    expect_fired();
}

static uint64_t libev_run(enum work work)
{
    size_t count = timers_for(work);
    ev_timer *timers = allocate(count, sizeof(*timers));
    libev_loop = ev_loop_new(EVFLAG_AUTO);
    for (size_t i = 0; i < count; i++) {
        ev_init(&timers[i], libev_on_fire);
    }
    for (size_t i = 0; work != FIRE && i < outstanding; i++) {
        libev_start(&timers[i], (double)far_ns[i] * 1e-9);
    }
    uint64_t start = cpu_ns();
    for (size_t i = 0; work == REPLACE && i < fire_count; i++) {
        ev_timer *timer = &timers[victims[i]];
        ev_timer_stop(libev_loop, timer);
        libev_start(timer, (double)far_ns[i] * 1e-9);
    }
    for (size_t i = 0; work == TOUCH && i < fire_count; i++) {
        libev_start(&timers[outstanding], (double)far_ns[i] * 1e-9);
        ev_timer_stop(libev_loop, &timers[outstanding]);
    }
    if (work == FIRE) {
        libev_fire(timers);
    }
    uint64_t spent = cpu_ns() - start;
    ev_loop_destroy(libev_loop);
    free(timers);
    return spent;
}
#endif

/* ---- libuv ---- */

#ifdef HAS_LIBUV
static uv_loop_t libuv_loop;

static void libuv_on_fire(uv_timer_t *timer)
{
    (void)timer;
    fired++;
}

static void libuv_fire(uv_timer_t *timers)
{
    for (size_t i = 0; i < fire_count; i++) {
        uv_timer_start(&timers[i], libuv_on_fire, near_ns[i] / RTI_NS_PER_MS, 0);
    }
    uv_run(&libuv_loop, UV_RUN_DEFAULT);
    expect_fired();
}

static uint64_t libuv_run(enum work work)
{
    size_t count = timers_for(work);
    uv_timer_t *timers = allocate(count, sizeof(*timers));
    if (uv_loop_init(&libuv_loop) != 0) {
        fprintf(stderr, "wheel_bench: no libuv loop\n");
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        uv_timer_init(&libuv_loop, &timers[i]);
    }
    for (size_t i = 0; work != FIRE && i < outstanding; i++) {
        uv_timer_start(&timers[i], libuv_on_fire, far_ns[i] / RTI_NS_PER_MS, 0);
    }
    uint64_t start = cpu_ns();
    for (size_t i = 0; work == REPLACE && i < fire_count; i++) {
        uv_timer_t *timer = &timers[victims[i]];
        uv_timer_stop(timer);
        uv_timer_start(timer, libuv_on_fire, far_ns[i] / RTI_NS_PER_MS, 0);
    }
    for (size_t i = 0; work == TOUCH && i < fire_count; i++) {
        uv_timer_start(&timers[outstanding], libuv_on_fire, far_ns[i] / RTI_NS_PER_MS, 0);
        uv_timer_stop(&timers[outstanding]);
    }
    if (work == FIRE) {
        libuv_fire(timers);
    }
    uint64_t spent = cpu_ns() - start;
    for (size_t i = 0; i < count; i++) {
        uv_close((uv_handle_t *)&timers[i], NULL);
    }
    uv_run(&libuv_loop, UV_RUN_DEFAULT);
    uv_loop_close(&libuv_loop);
    free(timers);
    return spent;
}
#endif

/* Each does one kind of work once and returns the processor time it took. */
static const struct {
    const char *name;
    uint64_t (*run)(enum work work);
} contenders[] = {
    {"orrery", orrery_run},
#ifdef HAS_LIBEV
    {"libev", libev_run},
#endif
#ifdef HAS_LIBUV
    {"libuv", libuv_run},
#endif
};

/* Lets each contender work in turn and prints the best of each. */
static void compare(enum work work)
{
    double best[RTI_COUNT_OF(contenders)];
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < RTI_COUNT_OF(contenders); i++) {
            fired = 0;
            double each = (double)contenders[i].run(work) / (double)fire_count;
            best[i] = round == 0 || each < best[i] ? each : best[i];
        }
    }
    for (size_t i = 0; i < RTI_COUNT_OF(contenders); i++) {
        printf("wheel_%s_%s\t%.1f\n", work_names[work], contenders[i].name, best[i]);
    }
    for (size_t i = 1; i < RTI_COUNT_OF(contenders); i++) {
        printf("wheel_%s_ratio_orrery/%s\t%.3f\n", work_names[work], contenders[i].name,
               best[0] / best[i]);
    }
}

/* Draws what all contenders share before any clock runs. */
static void draw_numbers(void)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 42);
    victims = allocate(fire_count, sizeof(*victims));
    far_ns = allocate(fire_count, sizeof(*far_ns));
    near_ns = allocate(fire_count, sizeof(*near_ns));
    for (size_t i = 0; i < fire_count; i++) {
        victims[i] = (uint32_t)rti_rng_below(&rng, outstanding);
        far_ns[i] = (1 + rti_rng_below(&rng, 60000)) * RTI_NS_PER_MS;
        near_ns[i] = rti_rng_below(&rng, 100 * RTI_NS_PER_MS);
    }
}

int main(int argc, char **argv)
{
    fire_count = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    fire_count = fire_count < 10 ? 10 : fire_count;
    outstanding = fire_count < 1000000 ? fire_count / 10 : 100000;
    draw_numbers();
    for (enum work work = REPLACE; work < WORK_COUNT; work++) {
        compare(work);
    }
    free(victims);
    free(far_ns);
    free(near_ns);
    return 0;
}
