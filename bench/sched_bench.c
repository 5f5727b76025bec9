/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does the scheduler cost on top of a bare switch of stacks?
 *
 * Method: two fibers of one priority yield to each other, through the scheduler's full path (queue,
 * pick, guard check, errno, look), on the real clock's port or the simulated one; and the same
 * number of round trips over a wait list, one fiber parking while the other wakes it. Each is run
 * in rounds; the median round is reported. Compare with switch_bench of the same run.
 *
 * Non-goals: more than one worker; caches that other fibers' stacks have emptied.
 *
 * Usage: sched_bench [YIELDS PER ROUND] */
#define _GNU_SOURCE
#define RTI_MODULE "sched_bench"
#include <stdio.h>
#include <stdlib.h>

#include "port/sim/port_sim.h"
#include "sched/fiber.h"
#include "support/bench.h"
#include "support/minimal_switch.h"
#include "time/deadline.h"

#define ROUNDS      9
#define STACK_BYTES 65536

static struct rti_port_sim port;
static struct rti_clockwork clockwork;
static struct rti_sched sched;
static struct rti_fiber fibers[2];
static char stacks[3][STACK_BYTES] RTI_ALIGNED(16);
static struct rti_waitlist lines[2];
static long count;

static void nothing(struct rti_fiber *fiber)
{
    (void)fiber;
}

static void yield_many(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        rti_fiber_yield(rti_worker_here()); /* as rt_yield does */
    }
}

static void wait_on(struct rti_waitlist *line)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_wait wait;
    struct rti_waiter waiter;
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_waitlist_unlink);
    rti_waitlist_add(line, &waiter);
    rti_fiber_park(worker, &wait);
}

static void wake_one(struct rti_waitlist *line)
{
    struct rti_waiter *waiter = rti_waitlist_claim(line);
    if (waiter != NULL) {
        rti_waiter_wake(waiter);
    }
}

/* Fiber 0 and fiber 1 wake each other in turn; a park and a wake each make one hop. */
static void hop_many(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    for (long i = 0; i < count; i++) {
        wake_one(&lines[1 - me]);
        wait_on(&lines[me]);
    }
    wake_one(&lines[1 - me]);
}

static double run_round(void (*main_fn)(void *))
{
    rti_port_sim_init(&port, 1, 0, NULL);
    rti_clockwork_init(&clockwork, 0);
    struct rti_timer_source timers = rti_clockwork_source(&clockwork);
    if (RT_FAILED(rti_sched_init(&sched, &port.port, &timers))) {
        exit(1);
    }
    for (size_t i = 0; i < 2; i++) {
        static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = nothing};
        struct rti_fiber_options options = {.id = (uint32_t)i + 1,
                                            .priority = 2,
                                            .fn = main_fn,
                                            .arg = (void *)(uintptr_t)i,
                                            .kind = &kind};
        rti_stack_init(&options.stack, stacks[i], STACK_BYTES);
        rti_fiber_init(&fibers[i], &options);
        rti_waitlist_init(&lines[i]);
        rti_fiber_start(&sched, &fibers[i]);
    }
    double start = bench_now_ns();
    rt_status status = rti_sched_run(&sched);
    double elapsed = bench_now_ns() - start;
    rti_sched_deinit(&sched);
    if (RT_FAILED(status)) {
        fprintf(stderr, "sched_bench: %s\n", status.msg);
        exit(1);
    }
    return elapsed / (double)(2 * count);
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atol(argv[1]) : 2000000;
    if (count < 1) {
        fprintf(stderr, "usage: sched_bench [YIELDS PER ROUND]\n");
        return 2;
    }
    double minimal[ROUNDS];
    double yields[ROUNDS];
    double hops[ROUNDS];
    double ratios[ROUNDS];
    minimal_prepare(stacks[2], STACK_BYTES);
    for (int i = 0; i < ROUNDS; i++) {
        minimal[i] = minimal_round(2 * count);
        yields[i] = run_round(yield_many);
        hops[i] = run_round(hop_many);
        ratios[i] = yields[i] / minimal[i];
    }
    printf("switch_minimal\t%.2f\n", bench_median(minimal, ROUNDS));
    printf("yield\t%.2f\n", bench_median(yields, ROUNDS));
    printf("park_wake\t%.2f\n", bench_median(hops, ROUNDS));
    printf("yield_ratio\t%.2f\n", bench_median(ratios, ROUNDS));
    return 0;
}
