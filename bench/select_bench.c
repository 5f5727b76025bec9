/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does it cost to wait for the first of several channels?
 *
 * Method: programs on the fixed engine, each run in many short rounds, so that most of them are not
 * interrupted; the median round is reported, in nanoseconds per select, with values of 8 bytes.
 *
 *     try4_ready       try_recv from each of four channels in turn and a send back: the floor
 *     select1_ready    a select with one arm that is ready, and a send back
 *     select4_ready    a select with four arms that are all ready, and a send back
 *     select4_context  the same by a fiber with a context, as every task has one
 *     select16_last    sixteen arms of which one is ready, and a send back
 *     select4_default  four arms that are not ready and a default arm
 *     select4_block    four rendezvous channels; another fiber sends to each in turn
 *
 * bench/peers/go has select4_ready and select4_block, the same work in Go.
 *
 * Non-goals: contention between threads, values that do not fit a cache line.
 *
 * Usage: select_bench [SELECTS PER ROUND [PROGRAM]] */
#define _GNU_SOURCE
#define RTI_MODULE "select_bench"
#include <stdio.h>
#include <string.h>

#include <orrery/rt/select.h>

#include "port/sim/port_sim.h"
#include "support/bench.h"
#include "sync/channels.h"
#include "time/deadline.h"

#define ROUNDS      51
#define STACK_BYTES 65536
#define LINES       16

static struct rti_port_sim port;
static struct rti_clockwork clockwork;
static struct rti_sched sched;
static struct rti_channels channels;
static struct rti_fiber fibers[2];
static char stacks[2][STACK_BYTES] RTI_ALIGNED(16);
static rt_channel_sender *tx[LINES];
static rt_channel_receiver *rx[LINES];
static rt_select_arm arms[LINES + 1];
static long value;
static long count;

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "select_bench: %s\n", status.msg);
        exit(1);
    }
}

static void nothing(struct rti_fiber *fiber)
{
    (void)fiber;
}

static void put(size_t line)
{
    must(rt_channel_send(tx[line], NULL, &value));
}

static void try_ready(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 4; i++) {
        put(i);
    }
    for (long i = 0; i < count; i++) {
        must(rt_channel_try_recv(rx[i & 3], &value));
        put((size_t)i & 3);
    }
}

/* Selects among `arm_count` arms of which the first `ready_count`, or the last one, are ready. */
static void select_ready(size_t arm_count, size_t ready_count)
{
    rt_selected chosen;
    for (size_t i = 0; i < arm_count; i++) {
        rt_arm_recv(&arms[i], rx[i], &value);
    }
    for (size_t i = 0; i < ready_count; i++) {
        put(arm_count - 1 - i);
    }
    for (long i = 0; i < count; i++) {
        must(rt_select(arms, arm_count, NULL, &chosen));
        must(chosen.status);
        put(chosen.index);
    }
}

static void select_one(void *arg)
{
    (void)arg;
    select_ready(1, 1);
}

static void select_four(void *arg)
{
    (void)arg;
    select_ready(4, 4);
}

static void select_four_in_context(void *arg)
{
    rt_cx cx;
    (void)arg;
    must(rt_cx_init(&cx));
    select_ready(4, 4);
    must(rt_cx_deinit(&cx));
}

static void select_last(void *arg)
{
    (void)arg;
    select_ready(16, 1);
}

static void select_default(void *arg)
{
    rt_selected chosen;
    (void)arg;
    for (size_t i = 0; i < 4; i++) {
        rt_arm_recv(&arms[i], rx[i], &value);
    }
    rt_arm_default(&arms[4]);
    for (long i = 0; i < count; i++) {
        must(rt_select(arms, 5, NULL, &chosen));
    }
}

static void select_block(void *arg)
{
    rt_selected chosen;
    (void)arg;
    for (size_t i = 0; i < 4; i++) {
        rt_arm_recv(&arms[i], rx[i], &value);
    }
    for (long i = 0; i < count; i++) {
        must(rt_select(arms, 4, NULL, &chosen));
        must(chosen.status);
    }
}

static void feed(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_channel_send(tx[i & 3], NULL, &i));
    }
}

static void idle(void *arg)
{
    (void)arg;
}

struct program {
    const char *name;
    size_t capacity;
    void (*mains[2])(void *arg);
};

static const struct program programs[] = {
    {"try4_ready", 1, {try_ready, idle}},
    {"select1_ready", 1, {select_one, idle}},
    {"select4_ready", 1, {select_four, idle}},
    {"select4_context", 1, {select_four_in_context, idle}},
    {"select16_last", 1, {select_last, idle}},
    {"select4_default", 1, {select_default, idle}},
    {"select4_block", 0, {select_block, feed}},
};

static double run_round(const struct program *program)
{
    rti_port_sim_init(&port, 1, 0, NULL);
    rti_clockwork_init(&clockwork, 0);
    struct rti_timer_source timers = rti_clockwork_source(&clockwork);
    must(rti_sched_init(&sched, &port.port, &timers));
    must(rti_channels_init(&channels, &sched));
    rt_channel_config config = {.elem_size = sizeof(long), .capacity = program->capacity};
    for (size_t i = 0; i < LINES; i++) {
        must(program->capacity == 0 ? rt_channel_create_rendezvous(&config, &tx[i], &rx[i])
                                    : rt_channel_create(&config, &tx[i], &rx[i]));
    }
    for (size_t i = 0; i < 2; i++) {
        static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = nothing};
        struct rti_fiber_options options = {
            .id = (uint32_t)i + 1, .priority = 2, .fn = program->mains[i], .kind = &kind};
        rti_stack_init(&options.stack, stacks[i], STACK_BYTES);
        rti_fiber_init(&fibers[i], &options);
        rti_fiber_start(&sched, &fibers[i]);
    }
    double start = bench_now_ns();
    must(rti_sched_run(&sched));
    double elapsed = bench_now_ns() - start;
    rti_channels_deinit(&channels);
    rti_sched_deinit(&sched);
    return elapsed / (double)count;
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atol(argv[1]) : 20000;
    if (count < 1) {
        fprintf(stderr, "usage: select_bench [SELECTS PER ROUND [PROGRAM]]\n");
        return 2;
    }
    for (size_t i = 0; i < RTI_COUNT_OF(programs); i++) {
        double rounds[ROUNDS];
        if (argc > 2 && strcmp(argv[2], programs[i].name) != 0) {
            continue;
        }
        for (size_t round = 0; round < ROUNDS; round++) {
            rounds[round] = run_round(&programs[i]);
        }
        printf("%s\t%.2f\n", programs[i].name, bench_median(rounds, ROUNDS));
    }
    return 0;
}
