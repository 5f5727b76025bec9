/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does a task cost, from its spawn to the end of its join?
 *
 * Method: on the fixed engine, in rounds of which the median is reported, in nanoseconds per task:
 *
 *     spawn_join    one task after another: spawn, and join at once, so that the joiner waits
 *     spawn_32      32 tasks are spawned, then joined in the order of their spawn
 *     detach        one after another: spawn, detach, yield
 *     cancel        one after another: a task that waits is cancelled and joined
 *     ensure        as spawn_join, with one hook
 *
 * Non-goals: more than one worker; tasks that do something.
 *
 * Usage: task_bench [TASKS PER ROUND [CASE]]: with a case only that one runs, for tools that count
 * instructions. */
#define _GNU_SOURCE
#define RTI_MODULE "task_bench"
#include <orrery/rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/bench.h"

#define ROUNDS 9
#define BATCH  32

static long count;

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "task_bench: %s\n", status.msg);
        exit(1);
    }
}

static void *nothing(void *arg)
{
    return arg;
}

static rt_status hook(void *arg)
{
    (void)arg;
    return RT_SUCCESS;
}

static void *has_a_hook(void *arg)
{
    must(rt_ensure(hook, NULL));
    return arg;
}

static void *waits(void *arg)
{
    (void)rt_sleep(RT_TIME_NEVER);
    return arg;
}

static void spawn_join(void)
{
    for (long i = 0; i < count; i++) {
        must(rt_join(rt_go(nothing, NULL), NULL));
    }
}

static void spawn_batch(void)
{
    rt_task *tasks[BATCH];
    for (long i = 0; i < count; i += BATCH) {
        for (int j = 0; j < BATCH; j++) {
            tasks[j] = rt_go(nothing, NULL);
        }
        for (int j = 0; j < BATCH; j++) {
            must(rt_join(tasks[j], NULL));
        }
    }
}

static void detach(void)
{
    for (long i = 0; i < count; i++) {
        must(rt_detach(rt_go(nothing, NULL)));
        rt_yield();
    }
}

static void cancel(void)
{
    for (long i = 0; i < count; i++) {
        rt_task *task = rt_go(waits, NULL);
        rt_yield();
        (void)rt_cancel(task, NULL);
    }
}

static void ensure(void)
{
    for (long i = 0; i < count; i++) {
        must(rt_join(rt_go(has_a_hook, NULL), NULL));
    }
}

struct bench_case {
    const char *name;
    void (*run)(void);
};

static const struct bench_case cases[] = {
    {"spawn_join", spawn_join}, {"spawn_32", spawn_batch}, {"detach", detach},
    {"cancel", cancel},         {"ensure", ensure},
};

static void measure(const struct bench_case *one)
{
    double rounds[ROUNDS];
    one->run();
    for (int i = 0; i < ROUNDS; i++) {
        double start = bench_now_ns();
        one->run();
        rounds[i] = (bench_now_ns() - start) / (double)count;
    }
    printf("%s\t%.1f\n", one->name, bench_median(rounds, ROUNDS));
}

static void *run_all(void *arg)
{
    const char *wanted = arg;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (wanted == NULL || strcmp(wanted, cases[i].name) == 0) {
            measure(&cases[i]);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atol(argv[1]) : 100000;
    if (count < 1) {
        fprintf(stderr, "usage: task_bench [TASKS PER ROUND [CASE]]\n");
        return 2;
    }
    must(rt_run_main(NULL, run_all, argc > 2 ? argv[2] : NULL));
    return 0;
}
