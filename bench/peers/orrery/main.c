/* SPDX-License-Identifier: Apache-2.0 */
/* Orrery's side of the comparison: see peer.h.
 *
 * Usage: peer BENCH CORES COUNT
 *
 * One core is the fixed engine, more are the parallel one with as many workers; with PEER_PARALLEL
 * in the environment one core is a parallel engine of one worker, which shows what of the
 * difference is its code and what is between workers. The variant `worker` is the same. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "peer.h"

const char *peer_bench;
long peer_count;
unsigned peer_cores;
static bool is_parallel;

static const struct {
    const char *bench;
    const char *variant; /* which way to write it; NULL: the first choice */
    void (*run)(void);
} benches[] = {
    {"switch", NULL, tasks_switch},
    {"spawn_join", NULL, tasks_spawn_join},
    {"spawn_join", "fiber", tasks_spawn_join_fiber},
    {"spawn_join", "actor", tasks_spawn_exit},
    {"skynet", NULL, tasks_skynet},
    {"chan_pingpong", NULL, talk_pingpong},
    {"chan_stream_1p1c", NULL, talk_stream_one},
    {"chan_stream_4p1c", NULL, talk_stream_four},
    {"select4_ready", NULL, talk_select_ready},
    {"select4_block", NULL, talk_select_block},
    {"actor_pingpong", NULL, actors_pingpong},
    {"actor_pingpong", "worker", actors_pingpong},
    {"actor_pingpong", "fiber", actors_pingpong_fiber},
    {"actor_ring", NULL, actors_ring},
    {"actor_ring", "worker", actors_ring},
    {"actor_fanin", NULL, actors_fanin},
    {"actor_fanin", "worker", actors_fanin},
    {"timer_cancel", NULL, timers_cancel},
    {"timer_fire", NULL, timers_fire},
    {"sleepers", NULL, timers_sleepers},
    {"idle_memory_poll", NULL, memory_poll},
    {"idle_memory_actor", NULL, memory_actor},
    {"idle_memory_fiber", NULL, memory_fiber},
    {"growth_spawn", NULL, growth_spawn},
    {"growth_message", NULL, growth_message},
    {"growth_channel", NULL, growth_channel},
    {"growth_waiters", NULL, growth_waiters},
    {"growth_timer", NULL, growth_timer},
    {"growth_poll", NULL, growth_poll},
    {"workers_independent", NULL, workers_independent},
    {"workers_pipelined", NULL, workers_pipelined},
    {"workers_contended", NULL, workers_contended},
    {"tcp_echo", NULL, echo_machines},
    {"tcp_echo", "fiber", echo_tasks},
};

void peer_fail(rt_status status)
{
    fprintf(stderr, "peer: %s: %s: %s\n", peer_bench, rt_status_name(status.code), status.msg);
    exit(1);
}

void peer_expect(bool is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "peer: %s: %s\n", peer_bench, what);
        exit(1);
    }
}

void peer_init(void)
{
    peer_must(is_parallel ? rt_init_ex(&(rt_config){.workers = peer_cores}) : rt_init());
}

void peer_go(rt_task_fn fn, void *arg)
{
    peer_must(rt_detach(rt_go(fn, arg)));
}

double peer_run(void)
{
    double start = bench_now_ns();
    rt_run();
    double elapsed = bench_now_ns() - start;
    rt_cleanup();
    return elapsed;
}

void peer_report(const char *metric, double value)
{
    printf("%s\t%s\t%.2f\n", peer_bench, metric, value);
}

void peer_report_ns(double total, double operations)
{
    peer_report("ns", total / operations);
}

double peer_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return ((double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec) * 1e9 +
           ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) * 1e3;
}

double peer_resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    peer_expect(file != NULL && fscanf(file, "%*s %ld", &pages) == 1, "no /proc/self/statm");
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    long cores = argc == 4 ? atol(argv[2]) : 0;
    peer_count = argc == 4 ? atol(argv[3]) : 0;
    if (cores < 1 || cores > 64 || peer_count < 1) {
        fprintf(stderr, "usage: peer BENCH[:VARIANT] CORES COUNT\n");
        return 2;
    }
    peer_cores = (unsigned)cores;
    char *variant = strchr(argv[1], ':');
    if (variant != NULL) {
        *variant++ = '\0';
    }
    peer_bench = argv[1];
    is_parallel = cores > 1 || getenv("PEER_PARALLEL") != NULL ||
                  (variant != NULL && strcmp(variant, "worker") == 0);
    for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++) {
        const char *its = benches[i].variant;
        if (strcmp(benches[i].bench, peer_bench) == 0 &&
            (variant == NULL ? its == NULL : its != NULL && strcmp(its, variant) == 0)) {
            benches[i].run();
            return 0;
        }
    }
    fprintf(stderr, "peer: no bench is called %s\n", peer_bench);
    return 3;
}
