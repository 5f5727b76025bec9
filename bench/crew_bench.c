/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what do yields and wakes cost on the engine of several workers?
 *
 * Method: fibers of one priority yield to each other, or hand a token to and fro over two lines
 * under locks, with one worker and with two; rounds, the median is reported. Compare with
 * sched_bench, which does the same on the engine of one worker.
 *
 * Non-goals: what channels and tasks add.
 *
 * Usage: crew_bench [TURNS PER ROUND] */
#define _GNU_SOURCE
#define RTI_MODULE "crew_bench"
#include <stdio.h>
#include <stdlib.h>

#include "port/linux/port_linux.h"
#include "sched/crew.h"
#include "sched/fiber.h"
#include "support/bench.h"
#include "time/deadline.h"

#define ROUNDS      5
#define WORKERS_MAX 2
#define FIBERS      4
#define STACK_BYTES 65536

static struct rti_port_linux world;
static struct rti_sched sched;
static struct rti_crew crew;
static struct rti_clockwork clockworks[WORKERS_MAX];
static struct rti_station stations[WORKERS_MAX];
static struct rti_warden_view views[WORKERS_MAX];
static struct rti_member members[2 * WORKERS_MAX + 1];
static struct rti_fiber fibers[FIBERS];
static char stacks[FIBERS][STACK_BYTES] RTI_ALIGNED(16);

struct line {
    struct rti_lock lock;
    struct rti_waitlist list;
    uint32_t tokens;
};
static struct line lines[FIBERS] RTI_ALIGNED(64);
static long count;

static void nothing(struct rti_fiber *fiber)
{
    (void)fiber;
}

static void yield_many(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        rti_fiber_yield(rti_worker_here());
    }
}

static void line_unlink(struct rti_waiter *waiter)
{
    struct line *line = waiter->slot;
    rti_lock_acquire(&line->lock, &sched);
    rti_waitlist_unlink(waiter);
    rti_lock_release(&line->lock);
}

static void line_take(struct line *line)
{
    struct rti_worker *worker = rti_worker_here();
    struct rti_wait wait;
    struct rti_waiter waiter;
    rti_lock_acquire(&line->lock, &sched);
    if (line->tokens > 0) {
        line->tokens--;
        rti_lock_release(&line->lock);
        return;
    }
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, line_unlink);
    waiter.slot = line;
    rti_waitlist_add(&line->list, &waiter);
    rti_lock_release(&line->lock);
    rti_fiber_park_open(worker, &wait);
}

static void line_give(struct line *line)
{
    rti_lock_acquire(&line->lock, &sched);
    struct rti_waiter *waiter = rti_waitlist_claim(&line->list);
    line->tokens += waiter == NULL ? 1U : 0U;
    rti_lock_release(&line->lock);
    if (waiter != NULL) {
        rti_waiter_wake(waiter);
    }
}

/* Fibers 0 and 1 are a pair, 2 and 3 another. */
static void hop_many(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    for (long i = 0; i < count; i++) {
        line_give(&lines[me ^ 1]);
        line_take(&lines[me]);
    }
}

static double run_round(uint32_t workers, size_t fibers_count, void (*main_fn)(void *))
{
    struct rti_timer_source timers[WORKERS_MAX];
    if (RT_FAILED(rti_port_linux_init(&world, NULL))) {
        exit(1);
    }
    for (uint32_t i = 0; i < workers; i++) {
        rti_clockwork_init(&clockworks[i], world.port.ops->clock_ns(&world.port));
        rti_clockwork_share(&clockworks[i], &sched);
        timers[i] = rti_clockwork_source(&clockworks[i]);
    }
    if (RT_FAILED(rti_sched_init(&sched, &world.port, &timers[0]))) {
        exit(1);
    }
    struct rti_crew_config config = {.workers = workers,
                                     .members_max = 2 * workers + 1,
                                     .stations = stations,
                                     .members = members,
                                     .timers = timers,
                                     .views = views};
    rti_crew_init(&crew, &sched, &config);
    for (size_t i = 0; i < fibers_count; i++) {
        static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = nothing};
        struct rti_fiber_options options = {.id = (uint32_t)i + 1,
                                            .priority = 2,
                                            .fn = main_fn,
                                            .arg = (void *)(uintptr_t)i,
                                            .kind = &kind};
        rti_stack_init(&options.stack, stacks[i], STACK_BYTES);
        rti_fiber_init(&fibers[i], &options);
        rti_lock_init(&lines[i].lock, &sched, RTI_LOCK_CHANNEL);
        rti_waitlist_init(&lines[i].list);
        lines[i].tokens = 0;
        rti_fiber_start(&sched, &fibers[i]);
    }
    double start = bench_now_ns();
    rt_status status = rti_sched_run(&sched);
    double elapsed = bench_now_ns() - start;
    rti_sched_deinit(&sched);
    rti_port_linux_deinit(&world);
    if (RT_FAILED(status)) {
        fprintf(stderr, "crew_bench: %s\n", status.msg);
        exit(1);
    }
    return elapsed / (double)((long)fibers_count * count);
}

static void report(const char *name, uint32_t workers, size_t fibers_count, void (*main_fn)(void *))
{
    double rounds[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        rounds[i] = run_round(workers, fibers_count, main_fn);
    }
    printf("%s\t%.2f\n", name, bench_median(rounds, ROUNDS));
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atol(argv[1]) : 300000;
    if (count < 1) {
        fprintf(stderr, "usage: crew_bench [TURNS PER ROUND]\n");
        return 2;
    }
    report("yield_1_worker", 1, 2, yield_many);
    report("yield_2_workers", 2, 4, yield_many);
    report("hop_1_worker", 1, 2, hop_many);
    report("hop_2_workers", 2, 2, hop_many);
    report("hop_2_workers_2_pairs", 2, 4, hop_many);
    return 0;
}
