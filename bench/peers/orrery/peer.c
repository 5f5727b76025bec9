/* SPDX-License-Identifier: Apache-2.0 */
/* Orrery's side of the comparison: the public interface, the real clock, one core.
 *
 * Each case does the same work as the programs of the same name in the folders beside this one.
 * Prints one line per case: name, tab, nanoseconds per operation.
 *
 * Usage: peer COUNT */
#define _GNU_SOURCE
#include <orrery/rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Actors alive at once in spawn_join; the table of the fixed engine has RT_MAX_ACTORS. */
#define BATCH 32

static long count;
static actor_id ponger;
static double started;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "peer: %s: %s\n", rt_status_name(status.code), status.msg);
        exit(1);
    }
}

static void report(const char *name, double operations)
{
    printf("%s\t%.2f\n", name, (now_ns() - started) / operations);
}

static void yielder(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        rt_yield();
    }
    rt_exit();
}

static void ping(void *arg)
{
    long number = 0;
    rt_message message;
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_send(ponger, &number, sizeof(number), IPC_ASYNC));
        must(rt_ipc_recv(&message, -1));
    }
    must(rt_actor_kill(ponger));
    rt_exit();
}

static void pong(void *arg)
{
    rt_message message;
    (void)arg;
    for (;;) {
        must(rt_ipc_recv(&message, -1));
        must(rt_ipc_send(message.sender, message.data, message.len, IPC_ASYNC));
    }
}

static void leaf(void *arg)
{
    (void)arg;
    rt_exit();
}

/* Starts a batch and waits until each of it has ended, told by its monitor. */
static void spawner(void *arg)
{
    const actor_config small = {.stack_size = 8192, .priority = RT_PRIO_NORMAL};
    rt_message message;
    uint32_t ref;
    (void)arg;
    for (long i = 0; i < count; i += BATCH) {
        for (int j = 0; j < BATCH; j++) {
            actor_id id = rt_spawn_ex(leaf, NULL, &small);
            if (id == ACTOR_ID_INVALID) {
                fprintf(stderr, "peer: no more actors\n");
                exit(1);
            }
            must(rt_monitor(id, &ref));
        }
        for (int j = 0; j < BATCH; j++) {
            must(rt_ipc_recv(&message, -1));
        }
    }
    rt_exit();
}

static void run(const char *name, actor_fn first, actor_fn second, double operations)
{
    must(rt_init());
    rt_spawn(first, NULL);
    ponger = second != NULL ? rt_spawn(second, NULL) : ACTOR_ID_INVALID;
    started = now_ns();
    rt_run();
    report(name, operations);
    rt_cleanup();
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atol(argv[1]) : 1000000;
    if (count < 1) {
        fprintf(stderr, "usage: peer COUNT\n");
        return 2;
    }
    count = (count + BATCH - 1) / BATCH * BATCH;
    run("switch", yielder, yielder, 2.0 * (double)count);
    run("actor_pingpong", ping, pong, (double)count);
    run("spawn_join", spawner, NULL, (double)count);
    return 0;
}
