/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what do messages, SYNC messages, calls, buses, timers and the life of an actor cost on
 * top of a yield?
 *
 * Method: two actors of one priority on the fixed engine, without a journal, each case many times
 * in rounds; the median round is reported, in nanoseconds.
 *
 *     yield          one yield of an actor to its equal
 *     round_trip     8 bytes there and 8 bytes back, ASYNC, both actors receiving in between
 *     one_way        one ASYNC message of a batch of 100 that the receiver then empties
 *     sync           one SYNC send: the message, the receive, the release and the way back
 *     call           one rt_call with its rt_reply
 *     spawn_exit     spawn, first turn, rt_exit and the death's six steps
 *     publish        one publication on a full bus that nobody reads: one goes, one comes
 *     bus_1          one publication of 8 bytes, the wake and the read of one waiting subscriber
 *     bus_8          the same with eight subscribers, all of them woken and reading
 *     timer          one timer of an actor, started and cancelled
 *
 * The numbers that count are the ratios to the yield of the same run. For instructions instead of
 * time run one case under callgrind: `actor_bench 100000 round_trip`.
 *
 * Stacks have their guard pages, as with rt_init. Non-goals: caches emptied by other work; the
 * system's clock, which the simulated port replaces.
 *
 * Usage: actor_bench [COUNT PER ROUND [CASE]] */
#define _GNU_SOURCE
#define RTI_MODULE "actor_bench"
#include <orrery/rt/bus.h>
#include <orrery/rt/call.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/timer.h>
#include <stdio.h>
#include <stdlib.h>

#include "actor/actor_timer.h"
#include "actor/actors.h"
#include "actor/bus.h"
#include "port/linux/port_linux.h"
#include "port/sim/port_sim.h"
#include "support/bench.h"
#include "time/deadline.h"

#define ROUNDS 9
#define BATCH  100

static struct rti_port_linux machine; /* whose memory protection the stacks have */
static struct rti_port_sim port;
static struct rti_clockwork clockwork;
static struct rti_sched sched;
static struct rti_stacks stacks;
static struct rti_actors actors;
static struct rti_actor_timers timers;
static struct rti_buses buses;
static bus_id bus;
static actor_id peer;
static long count;

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "actor_bench: %s\n", status.msg);
        exit(1);
    }
}

static void yield_many(void *arg)
{
    (void)arg;
    for (long i = 0; i < count / 2; i++) {
        rt_yield();
    }
    rt_exit();
}

static void echo(void *arg)
{
    (void)arg;
    rt_message msg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_recv(&msg, -1));
        must(rt_ipc_send(msg.sender, msg.data, msg.len, IPC_ASYNC));
    }
    rt_exit();
}

static void ask_echo(void *arg)
{
    (void)arg;
    rt_message msg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_send(peer, &i, sizeof(i), IPC_ASYNC));
        must(rt_ipc_recv(&msg, -1));
    }
    rt_exit();
}

static void drain(void *arg)
{
    (void)arg;
    rt_message msg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_recv(&msg, -1));
    }
    rt_exit();
}

static void flood(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_send(peer, &i, sizeof(i), IPC_ASYNC));
        if (i % BATCH == BATCH - 1) {
            rt_yield();
        }
    }
    rt_exit();
}

static void release_all(void *arg)
{
    (void)arg;
    rt_message msg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_recv(&msg, -1));
        rt_ipc_release(&msg);
    }
    rt_exit();
}

static void send_sync(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_send(peer, &i, sizeof(i), IPC_SYNC));
    }
    rt_exit();
}

static void answer_all(void *arg)
{
    (void)arg;
    rt_message msg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_recv(&msg, -1));
        must(rt_reply(&msg, &i, sizeof(i)));
    }
    rt_exit();
}

static void call_all(void *arg)
{
    (void)arg;
    rt_message msg;
    for (long i = 0; i < count; i++) {
        must(rt_call(peer, &i, sizeof(i), &msg, -1));
    }
    rt_exit();
}

static void end_at_once(void *arg)
{
    (void)arg;
    rt_exit();
}

static void spawn_many(void *arg)
{
    (void)arg;
    actor_config config = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    for (long i = 0; i < count; i++) {
        if (rt_spawn_ex(end_at_once, NULL, &config) == ACTOR_ID_INVALID) {
            must((rt_status){RT_ERR_NOMEM, "spawn failed"});
        }
        rt_yield();
    }
    rt_exit();
}

static void publish_many(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_bus_publish(bus, &i, sizeof(i)));
    }
    rt_exit();
}

static void read_all(void *arg)
{
    (void)arg;
    long value;
    size_t len;
    must(rt_bus_subscribe(bus));
    for (long i = 0; i < count; i++) {
        must(rt_bus_read_wait(bus, &value, sizeof(value), &len, -1));
    }
    rt_exit();
}

static void publish_and_yield(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_bus_publish(bus, &i, sizeof(i)));
        rt_yield();
    }
    rt_exit();
}

static void start_and_cancel(void *arg)
{
    (void)arg;
    timer_id id;
    for (long i = 0; i < count; i++) {
        must(rt_timer_after(1000000, &id));
        must(rt_timer_cancel(id));
    }
    rt_exit();
}

struct bench {
    const char *name;
    int passive_count;
    actor_fn passive; /* started first */
    actor_fn active;
};

static const struct bench benches[] = {
    {"yield", 1, yield_many, yield_many},
    {"round_trip", 1, echo, ask_echo},
    {"one_way", 1, drain, flood},
    {"sync", 1, release_all, send_sync},
    {"call", 1, answer_all, call_all},
    {"spawn_exit", 1, end_at_once, spawn_many},
    {"publish", 1, end_at_once, publish_many},
    {"bus_1", 1, read_all, publish_and_yield},
    {"bus_8", 8, read_all, publish_and_yield},
    {"timer", 1, end_at_once, start_and_cancel},
};

static double run_round(const struct bench *bench)
{
    rti_port_sim_init(&port, 1, 0, &machine.port);
    rti_clockwork_init(&clockwork, 0);
    struct rti_timer_source source = rti_clockwork_source(&clockwork);
    rt_bus_config config = {.max_subscribers = 8, .max_entries = 16, .max_entry_size = 8};
    must(rti_sched_init(&sched, &port.port, &source));
    rti_stacks_init(&stacks, &sched);
    must(rti_actors_init(&actors, &sched));
    rti_actor_timers_init(&timers, &actors);
    rti_buses_init(&buses, &actors);
    must(rt_bus_create(&config, &bus));
    for (int i = 0; i < bench->passive_count; i++) {
        peer = rt_spawn(bench->passive, NULL);
    }
    rt_spawn(bench->active, NULL);
    double start = bench_now_ns();
    must(rti_sched_run(&sched));
    double elapsed = bench_now_ns() - start;
    rti_buses_deinit(&buses);
    rti_actor_timers_deinit(&timers);
    rti_actors_deinit(&actors);
    rti_stacks_deinit(&stacks);
    rti_sched_deinit(&sched);
    return elapsed / (double)count;
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atol(argv[1]) : 300000;
    if (count < 2) {
        fprintf(stderr, "usage: actor_bench [COUNT PER ROUND [CASE]]\n");
        return 2;
    }
    count -= count % 2;
    must(rti_port_linux_init(&machine, NULL));
    static double rounds[RTI_COUNT_OF(benches)][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < RTI_COUNT_OF(benches); i++) {
            if (argc < 3 || strcmp(argv[2], benches[i].name) == 0) {
                rounds[i][round] = run_round(&benches[i]);
            }
        }
    }
    for (size_t i = 0; i < RTI_COUNT_OF(benches); i++) {
        if (argc < 3 || strcmp(argv[2], benches[i].name) == 0) {
            printf("%s\t%.2f\n", benches[i].name, bench_median(rounds[i], ROUNDS));
        }
    }
    return 0;
}
