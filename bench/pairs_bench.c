/* SPDX-License-Identifier: Apache-2.0 */
/* Question: how much more do two workers of the parallel engine do than one, on work that has
 * nothing to do with each other?
 *
 * Method: four kinds of work, each with one worker and with two; rounds alternate, medians are
 * reported.
 *
 *     compute    eight tasks that count, and yield now and then
 *     channel    four pairs of tasks that send a value to and fro over two channels
 *     actor      four pairs of actors that send a message to and fro
 *     pinned     one pair of tasks, both pinned, over two channels: two switches of threads a hop
 *
 * Non-goals: the latency of one pair; more than two processors.
 *
 * Prints for each kind NAME_1 and NAME_2, the nanoseconds per turn or hop of all together, and
 * NAME_gain, how many times the work of one worker two of them do (the goal for compute is 1.7; for
 * the pairs 1.0 means that two are no slower). Usage: pairs_bench [TURNS PER ROUND] */
#define _GNU_SOURCE
#include <stdio.h>

#include <orrery/rt.h>

#include "support/bench.h"

#define ROUNDS      5
#define PAIRS       4
#define TASKS       8
#define COUNTS      200 /* of a turn that computes */
#define PINNED_PART 50  /* pinned pairs make so many times fewer hops: each costs microseconds */

static long turns;
static actor_id partners[PAIRS][2];
static rt_channel_sender *senders[PAIRS][2];
static rt_channel_receiver *receivers[PAIRS][2];

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "pairs_bench: %s\n", rt_status_message(status));
        exit(1);
    }
}

static void *compute(void *arg)
{
    volatile unsigned long sum = 0;
    for (long i = 0; i < turns; i++) {
        for (unsigned long k = 0; k < COUNTS; k++) {
            sum += k;
        }
        if (i % 64 == 0) {
            rt_yield();
        }
    }
    return sum != 0 ? arg : NULL;
}

static void hop(uintptr_t which, long hops)
{
    uintptr_t pair = which / 2;
    uintptr_t side = which % 2;
    long value = 0;
    for (long i = 0; i < hops; i++) {
        if (side == 0) {
            must(rt_channel_send(senders[pair][0], NULL, &value));
            must(rt_channel_recv(receivers[pair][1], NULL, &value));
        } else {
            must(rt_channel_recv(receivers[pair][0], NULL, &value));
            must(rt_channel_send(senders[pair][1], NULL, &value));
        }
    }
}

static void *hop_task(void *arg)
{
    hop((uintptr_t)arg, turns);
    return NULL;
}

static void *hop_pinned(void *arg)
{
    must(rt_pin());
    hop((uintptr_t)arg, turns / PINNED_PART + 1);
    must(rt_unpin());
    return NULL;
}

static void play(void *arg)
{
    uintptr_t pair = (uintptr_t)arg / 2;
    uintptr_t side = (uintptr_t)arg % 2;
    rt_message message;
    for (long i = 0; i < turns; i++) {
        if (side == 0) {
            must(rt_ipc_send(partners[pair][1], &i, sizeof(i), IPC_ASYNC));
        }
        must(rt_ipc_recv(&message, -1));
        if (side == 1) {
            must(rt_ipc_send(partners[pair][0], &i, sizeof(i), IPC_ASYNC));
        }
    }
    rt_exit();
}

static void open_channels(size_t pairs)
{
    rt_channel_config config = {.elem_size = sizeof(long), .capacity = 1};
    for (size_t i = 0; i < pairs; i++) {
        for (size_t side = 0; side < 2; side++) {
            must(rt_channel_create(&config, &senders[i][side], &receivers[i][side]));
        }
    }
}

enum kind { COMPUTE, CHANNEL, ACTOR, PINNED, KINDS };

static void run_tasks(rt_task_fn fn, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        must(rt_detach(rt_go(fn, (void *)(uintptr_t)i)));
    }
}

/* Nanoseconds per turn, all tasks together. */
static double run_round(enum kind kind, uint32_t workers)
{
    double parts = (double)turns * TASKS;
    must(rt_init_ex(&(rt_config){.workers = workers}));
    if (kind == COMPUTE) {
        run_tasks(compute, TASKS);
    } else if (kind == CHANNEL) {
        open_channels(PAIRS);
        run_tasks(hop_task, PAIRS * 2);
    } else if (kind == PINNED) {
        open_channels(1);
        run_tasks(hop_pinned, 2);
        parts = (double)(turns / PINNED_PART + 1) * 2;
    } else {
        for (uintptr_t i = 0; i < PAIRS * 2; i++) {
            partners[i / 2][i % 2] = rt_spawn(play, (void *)i);
        }
    }
    double start = bench_now_ns();
    rt_run();
    double elapsed = bench_now_ns() - start;
    rt_cleanup();
    return elapsed / parts;
}

int main(int argc, char **argv)
{
    static const char *const names[KINDS] = {"compute", "channel", "actor", "pinned"};
    turns = argc > 1 ? atol(argv[1]) : 50000;
    if (turns < 1) {
        fprintf(stderr, "usage: pairs_bench [TURNS PER ROUND]\n");
        return 2;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        double rounds[2][ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            rounds[0][i] = run_round((enum kind)kind, 1);
            rounds[1][i] = run_round((enum kind)kind, 2);
        }
        double one = bench_median(rounds[0], ROUNDS);
        double two = bench_median(rounds[1], ROUNDS);
        printf("%s_1\t%.1f\n%s_2\t%.1f\n%s_gain\t%.2f\n", names[kind], one, names[kind], two,
               names[kind], one / two);
    }
    return 0;
}
