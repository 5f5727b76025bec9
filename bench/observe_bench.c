/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does it cost a program to be looked at?
 *
 * Method: 8 bytes there and 8 bytes back between two actors on the fixed engine of this machine,
 * many times in rounds that take turns; the median round is reported, in nanoseconds.
 *
 *     round_trip_off         nothing is on
 *     round_trip_observed    ORRERY_OBSERVE=1: there is a socket, and nobody asks
 *     round_trip_recording   a journal is written, as `orrery trace` has it written
 *     observed_ratio         to the one with nothing on
 *     recording_ratio
 *
 * Non-goals: what an answer costs, which is its own time and said in it (orrery dump).
 *
 * Usage: observe_bench [COUNT PER ROUND] */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

#include "support/bench.h"

#define ROUNDS 9
#define EVENTS 4096

enum way { OFF, OBSERVED, RECORDING, WAYS };

static long count;
static actor_id peer;
static double elapsed_ns;
static rt_journal journal;
static uint64_t ring[RT_JOURNAL_BYTES(EVENTS) / sizeof(uint64_t)];

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "observe_bench: %s\n", rt_status_name(status.code));
        exit(1);
    }
}

static void echo(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1));
        must(rt_ipc_send(msg.sender, msg.data, msg.len, IPC_ASYNC));
    }
    rt_exit();
}

static void ask(void *arg)
{
    uint64_t value = 1;
    (void)arg;
    double start = bench_now_ns();
    for (long i = 0; i < count; i++) {
        rt_message msg;
        must(rt_ipc_send(peer, &value, sizeof(value), IPC_ASYNC));
        must(rt_ipc_recv(&msg, -1));
    }
    elapsed_ns = bench_now_ns() - start;
    rt_exit();
}

static double run_round(enum way way)
{
    if (setenv("ORRERY_OBSERVE", way == OBSERVED ? "1" : "0", 1) != 0) {
        exit(1);
    }
    must(rt_init());
    if (way == RECORDING) {
        must(rt_journal_init(&journal, ring, sizeof(ring)));
        must(rt_journal_start(&journal));
    }
    peer = rt_spawn(echo, NULL);
    (void)rt_spawn(ask, NULL);
    rt_run();
    if (way == RECORDING) {
        must(rt_journal_stop(&journal));
    }
    rt_cleanup();
    return elapsed_ns / (double)count;
}

int main(int argc, char **argv)
{
    static double rounds[WAYS][ROUNDS];
    double medians[WAYS];
    count = argc > 1 ? atol(argv[1]) : 200000;
    if (count < 1) {
        fprintf(stderr, "usage: observe_bench [COUNT PER ROUND]\n");
        return 2;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++) {
            rounds[way][round] = run_round((enum way)way);
        }
    }
    for (int way = 0; way < WAYS; way++) {
        medians[way] = bench_median(rounds[way], ROUNDS);
    }
    printf("round_trip_off\t%.2f\n", medians[OFF]);
    printf("round_trip_observed\t%.2f\n", medians[OBSERVED]);
    printf("round_trip_recording\t%.2f\n", medians[RECORDING]);
    printf("observed_ratio\t%.3f\n", medians[OBSERVED] / medians[OFF]);
    printf("recording_ratio\t%.3f\n", medians[RECORDING] / medians[OFF]);
    return 0;
}
