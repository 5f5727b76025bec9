/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does a value cost that goes through a channel, from fiber to fiber?
 *
 * Method: four programs on the fixed engine, each run in many short rounds, so that most of them
 * are not interrupted; the median round is reported, in nanoseconds, with values of 8 bytes.
 *
 *     rendezvous_round_trip   two fibers, two rendezvous channels: there and back
 *     buffered_stream         one fiber sends, one receives, capacity 1024: per value
 *     try_pair                try_send and try_recv in turn, one fiber: per pair
 *     permit_pair             reserve, write in place, commit, try_recv, one fiber: per pair
 *
 * Non-goals: contention between threads, values that do not fit a cache line.
 *
 * Usage: channel_bench [OPERATIONS PER ROUND [PROGRAM]] */
#define _GNU_SOURCE
#define RTI_MODULE "channel_bench"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "port/sim/port_sim.h"
#include "sync/channels.h"
#include "time/deadline.h"

#define ROUNDS      101
#define STACK_BYTES 65536
#define CAPACITY    1024

static struct rti_port_sim port;
static struct rti_clockwork clockwork;
static struct rti_sched sched;
static struct rti_channels channels;
static struct rti_fiber fibers[2];
static char stacks[2][STACK_BYTES] RTI_ALIGNED(16);
static rt_channel_sender *tx[2];
static rt_channel_receiver *rx[2];
static long count;

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "channel_bench: %s\n", status.msg);
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void nothing(struct rti_fiber *fiber)
{
    (void)fiber;
}

static void ping(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        long value = i;
        must(rt_channel_send(tx[0], NULL, &value));
        must(rt_channel_recv(rx[1], NULL, &value));
    }
}

static void pong(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        long value;
        must(rt_channel_recv(rx[0], NULL, &value));
        must(rt_channel_send(tx[1], NULL, &value));
    }
}

static void stream_send(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_channel_send(tx[0], NULL, &i));
    }
}

static void stream_recv(void *arg)
{
    long sum = 0;
    (void)arg;
    for (long i = 0; i < count; i++) {
        long value = 0;
        must(rt_channel_recv(rx[0], NULL, &value));
        sum += value;
    }
    if (sum != count * (count - 1) / 2) {
        fprintf(stderr, "channel_bench: a value is lost\n");
        exit(1);
    }
}

static void try_pairs(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        long value = i;
        must(rt_channel_try_send(tx[0], &value));
        must(rt_channel_try_recv(rx[0], &value));
    }
}

static void permit_pairs(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        rt_send_permit permit;
        long value;
        must(rt_channel_reserve(tx[0], NULL, &permit));
        *(long *)rt_send_permit_slot(&permit) = i;
        must(rt_send_permit_send(&permit, NULL));
        must(rt_channel_try_recv(rx[0], &value));
    }
}

static void idle(void *arg)
{
    (void)arg;
}

struct program {
    const char *name;
    bool is_rendezvous;
    void (*mains[2])(void *arg);
};

static const struct program programs[] = {
    {"rendezvous_round_trip", true, {ping, pong}},
    {"buffered_stream", false, {stream_send, stream_recv}},
    {"try_pair", false, {try_pairs, idle}},
    {"permit_pair", false, {permit_pairs, idle}},
};

static double run_round(const struct program *program)
{
    rti_port_sim_init(&port, 1, 0, NULL);
    rti_clockwork_init(&clockwork, 0);
    struct rti_timer_source timers = rti_clockwork_source(&clockwork);
    must(rti_sched_init(&sched, &port.port, &timers));
    must(rti_channels_init(&channels, &sched));
    rt_channel_config config = {.elem_size = sizeof(long), .capacity = CAPACITY};
    for (size_t i = 0; i < 2; i++) {
        must(program->is_rendezvous ? rt_channel_create_rendezvous(&config, &tx[i], &rx[i])
                                    : rt_channel_create(&config, &tx[i], &rx[i]));
        static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = nothing};
        struct rti_fiber_options options = {
            .id = (uint32_t)i + 1, .priority = 2, .fn = program->mains[i], .kind = &kind};
        rti_stack_init(&options.stack, stacks[i], STACK_BYTES);
        rti_fiber_init(&fibers[i], &options);
        rti_fiber_start(&sched, &fibers[i]);
    }
    double start = now_ns();
    must(rti_sched_run(&sched));
    double elapsed = now_ns() - start;
    rti_channels_deinit(&channels);
    rti_sched_deinit(&sched);
    return elapsed / (double)count;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_wanted(const struct program *program, int argc, char **argv)
{
    return argc < 3 || strcmp(argv[2], program->name) == 0;
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atol(argv[1]) : 20000;
    if (count < 1) {
        fprintf(stderr, "usage: channel_bench [OPERATIONS PER ROUND [PROGRAM]]\n");
        return 2;
    }
    static double rounds[RTI_COUNT_OF(programs)][ROUNDS];
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < RTI_COUNT_OF(programs); i++) {
            if (is_wanted(&programs[i], argc, argv)) {
                rounds[i][round] = run_round(&programs[i]);
            }
        }
    }
    for (size_t i = 0; i < RTI_COUNT_OF(programs); i++) {
        if (!is_wanted(&programs[i], argc, argv)) {
            continue;
        }
        qsort(rounds[i], ROUNDS, sizeof(double), compare);
        printf("%s\t%.2f\n", programs[i].name, rounds[i][ROUNDS / 2]);
    }
    return 0;
}
