/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does it cost a program to be looked at?
 *
 * Method: 8 bytes there and 8 bytes back between two actors on the fixed engine of this machine, in
 * chunks of some milliseconds. With and without take turns, the ratio is that of two neighbours,
 * and the median of all pairs is reported: what else the machine does meets both.
 *
 *     round_trip_off         nanoseconds; the program lets itself be looked at and nobody looks
 *     round_trip_recording   while the flight recorder runs, as under `orrery trace`
 *     round_trip_journal     while a journal is kept, as with ORRERY_JOURNAL
 *     control_ratio          of two chunks with nothing on: how exact the others are
 *     recording_ratio        to the one with nothing on
 *     journal_ratio
 *     observed_ratio         a program with ORRERY_OBSERVE=1, to one without
 *
 * Non-goals: what an answer costs, which is its own time and said in it (orrery dump).
 *
 * Usage: observe_bench [COUNT PER CHUNK] */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

#include "sched/scheduler.h"
#include "support/bench.h"

#define PAIRS  151
#define RUNS   15
#define EVENTS 4096

static long count;
static actor_id peer;
static double off_ns[PAIRS];
static double recording_ns[PAIRS];
static double journal_ns[PAIRS];
static double control_ratio[PAIRS];
static double recording_ratio[PAIRS];
static double journal_ratio[PAIRS];
static rt_journal journal;
static uint64_t journal_ring[RT_JOURNAL_BYTES(EVENTS) / sizeof(uint64_t)];
static rti_atomic_u64 words[RTI_RECORDER_WORDS];
static struct rti_recording recording = {.rings_count = 1, .rings = words};

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
    for (;;) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1));
        must(rt_ipc_send(msg.sender, msg.data, msg.len, IPC_ASYNC));
    }
}

/* One chunk: nanoseconds for each round trip. */
static __attribute__((noinline)) double run_chunk(void)
{
    uint64_t value = 1;
    double start = bench_now_ns();
    for (long i = 0; i < count; i++) {
        rt_message msg;
        must(rt_ipc_send(peer, &value, sizeof(value), IPC_ASYNC));
        must(rt_ipc_recv(&msg, -1));
    }
    return (bench_now_ns() - start) / (double)count;
}

static double run_chunk_recording(void)
{
    struct rti_worker *worker = rti_worker_current();
    rti_recording_begin(&recording);
    rti_worker_follow(worker);
    double ns = run_chunk();
    rti_recording_end(&recording);
    rti_worker_follow(worker);
    return ns;
}

static double run_chunk_journal(void)
{
    must(rt_journal_init(&journal, journal_ring, sizeof(journal_ring)));
    must(rt_journal_start(&journal));
    double ns = run_chunk();
    must(rt_journal_stop(&journal));
    return ns;
}

static void compare(void *arg)
{
    (void)arg;
    rti_ptr_store_release(&rti_worker_current()->sched->recording, &recording);
    for (int i = 0; i < PAIRS; i++) {
        double before = run_chunk();
        off_ns[i] = run_chunk();
        recording_ns[i] = run_chunk_recording();
        control_ratio[i] = off_ns[i] / before;
        recording_ratio[i] = recording_ns[i] / off_ns[i];
        journal_ns[i] = run_chunk_journal();
        journal_ratio[i] = journal_ns[i] / off_ns[i];
    }
    rti_ptr_store_release(&rti_worker_current()->sched->recording, NULL);
    rt_shutdown();
    rt_exit();
}

static void measure_once(void *arg)
{
    (void)run_chunk();
    *(double *)arg = run_chunk();
    rt_shutdown();
    rt_exit();
}

static void run_program(actor_fn fn, void *arg, bool is_observed)
{
    if (setenv("ORRERY_OBSERVE", is_observed ? "1" : "0", 1) != 0) {
        exit(1);
    }
    must(rt_init());
    peer = rt_spawn(echo, NULL);
    (void)rt_spawn(fn, arg);
    rt_run();
    rt_cleanup();
}

int main(int argc, char **argv)
{
    double observed_ratio[RUNS];
    count = argc > 1 ? atol(argv[1]) : 20000;
    if (count < 1) {
        fprintf(stderr, "usage: observe_bench [COUNT PER CHUNK]\n");
        return 2;
    }
    run_program(compare, NULL, true);
    for (int i = 0; i < RUNS; i++) {
        double without = 0;
        double with = 0;
        run_program(measure_once, &without, false);
        run_program(measure_once, &with, true);
        observed_ratio[i] = with / without;
    }
    printf("round_trip_off\t%.2f\n", bench_median(off_ns, PAIRS));
    printf("round_trip_recording\t%.2f\n", bench_median(recording_ns, PAIRS));
    printf("round_trip_journal\t%.2f\n", bench_median(journal_ns, PAIRS));
    printf("control_ratio\t%.3f\n", bench_median(control_ratio, PAIRS));
    printf("recording_ratio\t%.3f\n", bench_median(recording_ratio, PAIRS));
    printf("journal_ratio\t%.3f\n", bench_median(journal_ratio, PAIRS));
    printf("observed_ratio\t%.3f\n", bench_median(observed_ratio, RUNS));
    return 0;
}
