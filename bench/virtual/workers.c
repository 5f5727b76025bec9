/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what do more workers than this machine has processors do to each other?
 *
 * Method: the parallel engine's own code on virtual threads (port/virtual/virtual.h), 1 to 64
 * workers that take turns at random, one shared access at a time. Nothing is timed. Counted, for
 * each piece of work:
 *
 *     steals      pieces of the run queue that one worker took from another
 *     transfers   accesses to a cache line that another processor wrote last, or that others have
 *                 too when it is written; lines of shared words only, as a machine with a private
 *                 cache per worker and 64-byte lines would move them
 *     lock_waits  locks that were found taken
 *     share       the pieces of the busiest worker, in multiples of an even share
 *
 * The work is that of bench/peers/orrery/workers.c: tasks that do not talk, a pipeline of four
 * stages, tasks that share a mutex; and many that send to one channel. A piece is a number of
 * points at which another worker may go on. There are four tasks for each worker, and the pieces
 * are divided among them.
 *
 * Non-goals: time, the cost of plain memory, bandwidth, and what an operating system does.
 *
 * Prints lines `bench TAB metric TAB value`. Usage: workers PROGRAM WORKERS PIECES [SEED] */
#define _GNU_SOURCE
#define RTI_MODULE "workers"
#include <orrery/rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/virtual/virtual.h"

#define WORKERS_MAX  64
#define TASKS_MAX    (4 * WORKERS_MAX)
#define STAGES       4
#define PIECE_POINTS 50
#define THREADS_MAX  192
#define HOLDER_WORDS (THREADS_MAX / 64)
#define LINES        (1U << 16) /* of the table of cache lines; a power of two */

static struct {
    const char *program;
    uint32_t workers;
    long pieces;
    long each; /* pieces of one task */
    uint32_t tasks;
    rt_mutex mutex;
    rt_channel_sender *tx[TASKS_MAX];
    rt_channel_receiver *rx[TASKS_MAX];
} play;

/* ---- what is counted ---- */

/* A cache line: who has it. */
struct line {
    uintptr_t number;               /* 0: free */
    uintptr_t owner;                /* the thread that wrote it last and alone has it; 0: shared */
    uint64_t holders[HOLDER_WORDS]; /* a bit per thread */
};

static struct line lines[LINES];
static uint64_t transfers;
static uint64_t contentions;
static uint64_t done[THREADS_MAX]; /* pieces, by thread */

static struct line *line_of(const void *address)
{
    uintptr_t number = (uintptr_t)address >> 6;
    uint32_t at = (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 40) % LINES;
    while (lines[at].number != 0 && lines[at].number != number) {
        at = (at + 1) % LINES;
    }
    lines[at].number = number;
    return &lines[at];
}

static bool line_is_held(const struct line *line)
{
    uint64_t any = 0;
    for (size_t i = 0; i < HOLDER_WORDS; i++) {
        any |= line->holders[i];
    }
    return any != 0;
}

static void on_access(uintptr_t thread, const void *address, bool is_write)
{
    struct line *line = line_of(address);
    uint64_t *word = &line->holders[thread / 64];
    uint64_t bit = UINT64_C(1) << thread % 64;
    bool has_it = (*word & bit) != 0;
    if (is_write) {
        transfers += line->owner != thread && line_is_held(line);
        memset(line->holders, 0, sizeof(line->holders));
        line->owner = thread;
    } else if (!has_it) {
        transfers += line_is_held(line);
        line->owner = 0;
    } else if (line->owner != thread) {
        line->owner = 0;
    }
    *word |= bit;
}

static void on_probe(const char *name, uint64_t a, uint64_t b)
{
    (void)a;
    (void)b;
    contentions += strcmp(name, "contend") == 0;
}

/* ---- the programs ---- */

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "workers: %s: %s\n", rt_status_name(status.code), status.msg);
        exit(1);
    }
}

static void work(int points)
{
    for (int i = 0; i < points; i++) {
        rti_virtual_compute();
    }
}

static void *independent_main(void *arg)
{
    for (long i = 0; i < play.each; i++) {
        work(PIECE_POINTS);
        done[rti_virtual_self()]++;
        rt_yield();
    }
    return arg;
}

static void *contended_main(void *arg)
{
    for (long i = 0; i < play.each; i++) {
        must(rt_mutex_lock(&play.mutex, NULL));
        work(PIECE_POINTS);
        done[rti_virtual_self()]++;
        must(rt_mutex_unlock(&play.mutex, NULL));
    }
    return arg;
}

/* Each of the pipelines has STAGES tasks, which lie side by side. */
static void *pipelined_main(void *arg)
{
    uintptr_t task = (uintptr_t)arg;
    uintptr_t stage = task % STAGES;
    uint64_t value = 0;
    for (long i = 0; i < play.each * STAGES; i++) {
        if (stage > 0) {
            must(rt_channel_recv(play.rx[task - 1], NULL, &value));
        }
        work(PIECE_POINTS / STAGES);
        if (stage < STAGES - 1) {
            must(rt_channel_send(play.tx[task], NULL, &value));
        } else {
            done[rti_virtual_self()]++;
        }
    }
    return NULL;
}

/* All but the first send to it. */
static void *fanin_main(void *arg)
{
    uintptr_t task = (uintptr_t)arg;
    uint64_t value = task;
    long count = task == 0 ? play.each * (play.tasks - 1) : play.each;
    for (long i = 0; i < count; i++) {
        if (task == 0) {
            must(rt_channel_recv(play.rx[0], NULL, &value));
        } else {
            work(PIECE_POINTS);
            done[rti_virtual_self()]++;
            must(rt_channel_send(play.tx[0], NULL, &value));
        }
    }
    return NULL;
}

static void open_channels(void)
{
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 64};
    bool is_pipelined = strcmp(play.program, "pipelined") == 0;
    if (!is_pipelined) {
        must(rt_channel_create(&config, &play.tx[0], &play.rx[0]));
        return;
    }
    for (uint32_t i = 0; i < play.tasks; i++) {
        if (i % STAGES != STAGES - 1) {
            must(rt_channel_create(&config, &play.tx[i], &play.rx[i]));
        }
    }
}

static const struct {
    const char *name;
    rt_task_fn main;
} programs[] = {
    {"independent", independent_main},
    {"pipelined", pipelined_main},
    {"contended", contended_main},
    {"fanin", fanin_main},
};

static void run(rt_task_fn main_fn)
{
    must(rt_init_ex(&(rt_config){.workers = play.workers, .threads_max = play.workers + 4}));
    must(rt_mutex_init(&play.mutex));
    open_channels();
    for (uintptr_t i = 0; i < play.tasks; i++) {
        must(rt_detach(rt_go(main_fn, (void *)i)));
    }
    rt_run();
}

static void report(const char *metric, double value)
{
    printf("virtual_%s\t%s\t%.3f\n", play.program, metric, value);
}

static void report_all(const struct rt_stats *stats)
{
    uint64_t all = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < sizeof(done) / sizeof(done[0]); i++) {
        all += done[i];
        most = done[i] > most ? done[i] : most;
    }
    report("steals", (double)stats->steal_successes / (double)all);
    report("transfers", (double)transfers / (double)all);
    report("lock_waits", (double)contentions / (double)all);
    report("share", (double)most * play.workers / (double)all);
}

int main(int argc, char **argv)
{
    struct rti_virtual_config config = {.seed = argc == 5 ? (uint64_t)atol(argv[4]) : 1,
                                        .start_ns = 1000 * RT_NS_PER_S,
                                        .is_prompt = true,
                                        .on_probe = on_probe,
                                        .on_access = on_access};
    struct rt_stats stats;
    play.workers = argc >= 4 ? (uint32_t)atoi(argv[2]) : 0;
    play.pieces = argc >= 4 ? atol(argv[3]) : 0;
    if (play.workers < 1 || play.workers > WORKERS_MAX || play.pieces < 1) {
        fprintf(stderr, "usage: workers PROGRAM WORKERS PIECES [SEED]\n");
        return 2;
    }
    play.program = argv[1];
    play.tasks = 4 * play.workers;
    play.each = (play.pieces + play.tasks - 1) / play.tasks;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (strcmp(programs[i].name, play.program) == 0) {
            rti_virtual_open(&config);
            run(programs[i].main);
            must(rt_stats(&stats));
            rt_cleanup();
            rti_virtual_close(NULL);
            report_all(&stats);
            return 0;
        }
    }
    fprintf(stderr, "workers: no program is called %s\n", play.program);
    return 3;
}
