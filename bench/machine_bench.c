/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does an op cost that goes from machine to machine and back?
 *
 * Method: three programs on loops of the real port, each run in rounds; the median round is
 * reported, in nanoseconds per op, there and back.
 *
 *     roots           the app asks itself: two routes, no parent in between
 *     child           the app asks a child, whose answer passes through the app
 *     window          the same with 64 ops in flight
 *
 * Non-goals: the network, whose cost is the system's; threads, which measure the scheduler.
 *
 * Usage: machine_bench [OPS PER ROUND [PROGRAM]] */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/rt.h>

#include "support/bench.h"

#define ROUNDS     9
#define WINDOW_MAX 64

static rt_loop_port port;
static rt_loop loop;
static rt_machine_slot slots[4];
static rt_machine app;
static rt_machine child;
static rt_op ops[WINDOW_MAX];
static long ops_left;
static long ops_out;
static unsigned window;
static bool has_child;
static bool has_begun;

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "machine_bench: %s\n", rt_status_text(status.code));
        exit(1);
    }
}

static void serve(rt_machine *machine)
{
    rt_op *op;
    while ((op = rt_machine_next(machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        rt_op_complete(machine, op, RT_OK, 0);
    }
}

static void child_tick(rt_machine *machine, rt_time now)
{
    (void)now;
    serve(machine);
}

static void app_begin(void)
{
    const rt_machine_config config = {.tick = child_tick};
    has_begun = true;
    if (has_child) {
        must(rt_machine_init_child(&app, &child, &config));
    }
    for (unsigned i = 0; i < window && ops_left > 0; i++) {
        rt_op_init(&ops[i], RT_OP_USER);
        ops[i].destination = has_child ? child.id : app.id;
        must(rt_op_submit(&app, &ops[i]));
        ops_left--;
        ops_out++;
    }
}

static void app_tick(rt_machine *machine, rt_time now)
{
    rt_op *op;
    (void)now;
    if (!has_begun) {
        app_begin();
    }
    serve(machine);
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        ops_out--;
        if (ops_left > 0) {
            must(rt_op_submit(machine, op));
            ops_left--;
            ops_out++;
        }
    }
    if (ops_out == 0) {
        rt_loop_close(&loop);
    }
}

static double run_round(long count)
{
    const rt_loop_config config = {.port = rt_loop_port_of(&port),
                                   .app = &app,
                                   .app_config = {.tick = app_tick},
                                   .slots = slots,
                                   .slots_count = 4};
    has_begun = false;
    ops_left = count;
    must(rt_loop_init(&loop, &config));
    double start = bench_now_ns();
    must(rt_loop_run(&loop));
    double duration = bench_now_ns() - start;
    rt_loop_deinit(&loop);
    return duration / (double)count;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned window;
        bool has_child;
    } programs[] = {{"roots", 1, false}, {"child", 1, true}, {"window", WINDOW_MAX, true}};
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 300000;
    if (count < 1) {
        fprintf(stderr, "machine_bench: at least one op per round\n");
        return 1;
    }
    must(rt_loop_port_init(&port, NULL));
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        double rounds[ROUNDS];
        if (argc > 2 && strcmp(argv[2], programs[i].name) != 0) {
            continue;
        }
        window = programs[i].window;
        has_child = programs[i].has_child;
        for (unsigned k = 0; k < ROUNDS; k++) {
            rounds[k] = run_round(count);
        }
        printf("machine_%s_ns\t%.1f\n", programs[i].name, bench_median(rounds, ROUNDS));
    }
    rt_loop_port_deinit(&port);
    return 0;
}
