/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does a poll task cost: to start and join, to wake and call, and while it idles?
 *
 * Method: one core, the fixed engine, the machine's clock.
 *
 *     async_spawn_join    start a batch of tasks that end at their first call, join each: ns each
 *     async_wake          one task pauses, another wakes it, in turn: ns per wake and call
 *     async_idle_pause    resident bytes per task that has been called once and pauses
 *     async_idle_nap      resident bytes per task that sleeps, the nap in its state included
 *     async_sleep         start tasks that sleep for a random time within 100 ms and wait for all:
 *                         ns of processor time per task
 *
 * The state of a task is what the program declares: 8 bytes for the first, 80 for those that nap.
 * Memory is what the process has more of after the tasks idle than before they were started; it
 * includes the states, which lie side by side.
 *
 * Non-goals: several workers; tasks that wait with a context, which is about 600 bytes more.
 *
 * Usage: async_bench [TASKS] */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/bench.h"

#define BATCH 32

static long count;

struct sleeper {
    rt_async_frame frame;
    rt_nap nap;
};

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "async_bench: %s: %s\n", rt_status_name(status.code), status.msg);
        exit(1);
    }
}

static double resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        fprintf(stderr, "async_bench: no /proc/self/statm\n");
        exit(1);
    }
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double processor_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

static rt_status ends(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

static rt_status pauses(void *state, rt_cx *cx)
{
    rt_async_frame *frame = state;
    RT_ASYNC_BEGIN(frame);
    for (;;) {
        RT_AWAIT(rt_async_pause(cx));
        if (RT_FAILED(rt_awaited)) {
            break;
        }
    }
    RT_ASYNC_END(RT_SUCCESS);
}

static rt_status naps_long(void *state, rt_cx *cx)
{
    struct sleeper *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    RT_AWAIT(rt_async_sleep(&self->nap, cx, 3600 * RT_NS_PER_S));
    RT_ASYNC_END(RT_SUCCESS);
}

static rt_status naps_short(void *state, rt_cx *cx)
{
    struct sleeper *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    RT_AWAIT(rt_async_sleep(&self->nap, cx, rt_random() % (100 * RT_NS_PER_MS)));
    RT_ASYNC_END(RT_SUCCESS);
}

static rt_async_task *start(rt_poll_fn poll, void *state)
{
    rt_async_task *task = rt_async(poll, state);
    if (task == NULL) {
        fprintf(stderr, "async_bench: no more tasks\n");
        exit(1);
    }
    return task;
}

static void *spawn_join(void *arg)
{
    rt_async_task *tasks[BATCH];
    double began = bench_now_ns();
    long rounds = (count + BATCH - 1) / BATCH;
    for (long i = 0; i < rounds; i++) {
        for (int j = 0; j < BATCH; j++) {
            tasks[j] = start(ends, NULL);
        }
        for (int j = 0; j < BATCH; j++) {
            must(rt_async_join(&tasks[j], NULL, NULL));
        }
    }
    printf("async_spawn_join\t%.2f\n", (bench_now_ns() - began) / (double)(rounds * BATCH));
    return arg;
}

static void *wake(void *arg)
{
    rt_async_frame frame = {0};
    rt_async_task *task = start(pauses, &frame);
    rt_yield();
    double began = bench_now_ns();
    for (long i = 0; i < count; i++) {
        must(rt_async_wake(task));
        rt_yield();
    }
    printf("async_wake\t%.2f\n", (bench_now_ns() - began) / (double)count);
    must(rt_async_cancel(task));
    must(rt_async_join(&task, NULL, NULL));
    return arg;
}

/* Starts `count` tasks that idle, and tells what the process has grown by. */
static void idle(const char *name, rt_poll_fn poll, size_t state_size)
{
    size_t size = (size_t)count * state_size;
    must(rt_async_reserve(&(rt_async_config){.tasks = (size_t)count, .contexts = 16}));
    double before = resident_bytes();
    char *states = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (states == MAP_FAILED) {
        fprintf(stderr, "async_bench: no memory\n");
        exit(1);
    }
    for (long i = 0; i < count; i++) {
        must(rt_async_detach(start(poll, states + (size_t)i * state_size)));
    }
    must(rt_sleep(10 * RT_NS_PER_MS));
    printf("%s\t%.1f\n", name, (resident_bytes() - before) / (double)count);
    /* The tasks end with the runtime; their states stay until then. */
    rt_shutdown();
}

static void *idle_pause(void *arg)
{
    idle("async_idle_pause", pauses, sizeof(uint64_t));
    return arg;
}

static void *idle_nap(void *arg)
{
    idle("async_idle_nap", naps_long, sizeof(struct sleeper));
    return arg;
}

static void *sleep_all(void *arg)
{
    size_t size = (size_t)count * sizeof(struct sleeper);
    must(rt_async_reserve(&(rt_async_config){.tasks = (size_t)count, .contexts = 16}));
    struct sleeper *states =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (states == MAP_FAILED) {
        fprintf(stderr, "async_bench: no memory\n");
        exit(1);
    }
    for (long i = 0; i < count; i++) {
        must(rt_async_detach(start(naps_short, &states[i])));
    }
    return arg;
}

static void run(rt_task_fn fn)
{
    must(rt_run_main(NULL, fn, NULL));
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atol(argv[1]) : 100000;
    if (count < 1) {
        fprintf(stderr, "usage: async_bench [TASKS]\n");
        return 2;
    }
    run(spawn_join);
    run(wake);
    run(idle_pause);
    run(idle_nap);
    double began = processor_ns();
    run(sleep_all);
    printf("async_sleep\t%.2f\n", (processor_ns() - began) / (double)count);
    return 0;
}
