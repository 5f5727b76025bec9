/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEER_H
#define PEER_H

/* What the files of Orrery's side of the comparison share. Each does the same work as the programs
 * of the same bench in the folders beside this one, through the public interface only, and prints
 * lines `bench TAB metric TAB value`.
 *
 * One core is the fixed engine, more are the parallel engine with as many workers. */
#include <orrery/rt.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/bench.h"

/* Tasks that spawn_join starts before it joins them. */
#define PEER_BATCH 1000

extern const char *peer_bench; /* the one that runs */
extern long peer_count;
extern unsigned peer_cores;

/* Ends the program with what a call that must not fail came to. */
_Noreturn void peer_fail(rt_status status);

/* In line, as any program looks at a status, and as the checks of the other languages are. */
static inline void peer_must(rt_status status)
{
    if (RT_FAILED(status)) {
        peer_fail(status);
    }
}

/* Ends the program if `is_true` is not. */
void peer_expect(bool is_true, const char *what);

/* Makes the runtime for as many cores as were asked for. */
void peer_init(void);

/* Runs a task of the default configuration beside whatever else runs. */
void peer_go(rt_task_fn fn, void *arg);

/* Runs the runtime until everything has ended or it is shut down, and takes it apart; gives the
 * nanoseconds that it ran. */
double peer_run(void);

void peer_report(const char *metric, double value);

/* The same for the time of each operation, in nanoseconds. */
void peer_report_ns(double total, double operations);

/* Processor time of this process so far, nanoseconds. */
double peer_cpu_ns(void);

double peer_resident_bytes(void);

/* The same numbers in every program: a 64-bit xorshift, seeded with anything but 0. */
static inline uint64_t peer_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The benches, by file. */
void tasks_switch(void);
void tasks_spawn_join(void);
void tasks_spawn_join_fiber(void);
void tasks_spawn_exit(void);
void tasks_skynet(void);
void talk_pingpong(void);
void talk_stream_one(void);
void talk_stream_four(void);
void talk_select_ready(void);
void talk_select_block(void);
void actors_pingpong(void);
void actors_pingpong_fiber(void);
void actors_ring(void);
void actors_fanin(void);
void timers_cancel(void);
void timers_fire(void);
void timers_sleepers(void);
void memory_poll(void);
void memory_actor(void);
void memory_fiber(void);
void growth_spawn(void);
void growth_message(void);
void growth_channel(void);
void growth_waiters(void);
void growth_timer(void);
void growth_poll(void);
void workers_independent(void);
void workers_pipelined(void);
void workers_contended(void);
void echo_tasks(void);
void echo_machines(void);

#endif
