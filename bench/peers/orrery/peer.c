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

/* Actors alive at once in spawn_exit and spawn_join; the table of the fixed engine has
 * RT_MAX_ACTORS. */
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

static actor_id starter;
static long running;

/* The last of a batch tells who started it. */
static void counted_leaf(void *arg)
{
    (void)arg;
    if (--running == 0) {
        must(rt_ipc_send(starter, NULL, 0, IPC_ASYNC));
    }
    rt_exit();
}

/* Starts a batch and waits until all have counted themselves off: a wait group. */
static void counting_spawner(void *arg)
{
    const actor_config small = {.stack_size = 8192, .priority = RT_PRIO_NORMAL};
    rt_message message;
    (void)arg;
    starter = rt_self();
    for (long i = 0; i < count; i += BATCH) {
        running = BATCH;
        for (int j = 0; j < BATCH; j++) {
            if (rt_spawn_ex(counted_leaf, NULL, &small) == ACTOR_ID_INVALID) {
                fprintf(stderr, "peer: no more actors\n");
                exit(1);
            }
        }
        must(rt_ipc_recv(&message, -1));
    }
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

/* Two channels: there and back, or one for the stream. */
static rt_channel_sender *tx[2];
static rt_channel_receiver *rx[2];

static void rendezvous_there(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        long number = i;
        must(rt_channel_send(tx[0], NULL, &number));
        must(rt_channel_recv(rx[1], NULL, &number));
    }
    must(rt_channel_close_sender(tx[0]));
    rt_exit();
}

static void rendezvous_back(void *arg)
{
    long number;
    (void)arg;
    while (!RT_FAILED(rt_channel_recv(rx[0], NULL, &number))) {
        must(rt_channel_send(tx[1], NULL, &number));
    }
    rt_exit();
}

static void stream_send(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_channel_send(tx[0], NULL, &i));
    }
    must(rt_channel_close_sender(tx[0]));
    rt_exit();
}

static void stream_recv(void *arg)
{
    long number;
    (void)arg;
    while (!RT_FAILED(rt_channel_recv(rx[0], NULL, &number))) {
    }
    rt_exit();
}

static void run_channels(const char *name, actor_fn first, actor_fn second, size_t capacity)
{
    rt_channel_config config = {.elem_size = sizeof(long), .capacity = capacity};
    must(rt_init());
    for (int i = 0; i < 2; i++) {
        must(capacity == 0 ? rt_channel_create_rendezvous(&config, &tx[i], &rx[i])
                           : rt_channel_create(&config, &tx[i], &rx[i]));
    }
    rt_spawn(first, NULL);
    rt_spawn(second, NULL);
    started = now_ns();
    rt_run();
    report(name, (double)count);
    rt_cleanup();
}

/* Four channels, for the selects. */
#define LINES 4
static rt_channel_sender *line_tx[LINES];
static rt_channel_receiver *line_rx[LINES];

/* Receives from whichever line has something; with `is_returned` it goes back at once. */
static void select_any(bool is_returned)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    long number = 0;
    for (int i = 0; i < LINES; i++) {
        rt_arm_recv(&arms[i], line_rx[i], &number);
    }
    for (long i = 0; i < count; i++) {
        must(rt_select(arms, LINES, NULL, &chosen));
        must(chosen.status);
        if (is_returned) {
            must(rt_channel_send(line_tx[chosen.index], NULL, &number));
        }
    }
}

static void select_ready(void *arg)
{
    (void)arg;
    for (int i = 0; i < LINES; i++) {
        long number = i;
        must(rt_channel_send(line_tx[i], NULL, &number));
    }
    started = now_ns();
    select_any(true);
    rt_exit();
}

static void select_block(void *arg)
{
    (void)arg;
    select_any(false);
    rt_exit();
}

static void feed_lines(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_channel_send(line_tx[i % LINES], NULL, &i));
    }
    rt_exit();
}

static void run_lines(const char *name, actor_fn first, actor_fn second, size_t capacity)
{
    rt_channel_config config = {.elem_size = sizeof(long), .capacity = capacity};
    must(rt_init());
    for (int i = 0; i < LINES; i++) {
        must(capacity == 0 ? rt_channel_create_rendezvous(&config, &line_tx[i], &line_rx[i])
                           : rt_channel_create(&config, &line_tx[i], &line_rx[i]));
    }
    rt_spawn(first, NULL);
    if (second != NULL) {
        rt_spawn(second, NULL);
    }
    started = now_ns();
    rt_run();
    report(name, (double)count);
    rt_cleanup();
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

/* Behaviours: a token around a ring, and many to one. */
#define RING    100
#define SOURCES 8
static actor_id members[RING];
static long hops_left;
static long taken;

static void hop(void *state, const rt_behaviour_message *msg)
{
    const actor_id *next = state;
    if (hops_left-- == 0) {
        rt_shutdown();
        return;
    }
    must(rt_behaviour_send(*next, 0, msg->data, msg->len));
}

static void flood(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    for (long i = 0; i < BATCH; i++) {
        must(rt_behaviour_send(members[0], 0, &i, sizeof(i)));
    }
    must(rt_behaviour_send(rt_self(), 0, NULL, 0));
}

static void take(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    if (++taken == count) {
        rt_shutdown();
    }
}

static const rt_behaviour_fn hop_handlers[] = {hop};
static const rt_behaviour_fn flood_handlers[] = {flood};
static const rt_behaviour_fn take_handlers[] = {take};
static const rt_behaviour_type hopper = {
    .handlers = hop_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
static const rt_behaviour_type flooder = {
    .handlers = flood_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
static const rt_behaviour_type taker = {
    .handlers = take_handlers,
    .handler_count = 1,
    .priority = RT_PRIO_NORMAL,
    .mailbox = {.high = 1024, .low = 512, .overflow = RT_OVERFLOW_MUTE}};

static void run_ring(const char *name, size_t size, long hops, double operations)
{
    must(rt_init());
    for (size_t i = 0; i < size; i++) {
        members[i] = rt_behaviour_spawn(&hopper, &members[(i + 1) % size]);
    }
    hops_left = hops;
    must(rt_behaviour_send(members[0], 0, &hops, sizeof(hops)));
    started = now_ns();
    rt_run();
    report(name, operations);
    rt_cleanup();
}

static void run_fanin(void)
{
    must(rt_init());
    must(rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = 64, .messages = 4096}));
    taken = 0;
    members[0] = rt_behaviour_spawn(&taker, NULL);
    for (size_t i = 1; i <= SOURCES; i++) {
        members[i] = rt_behaviour_spawn(&flooder, NULL);
        must(rt_behaviour_send(members[i], 0, NULL, 0));
    }
    started = now_ns();
    rt_run();
    report("actor_fanin", (double)count);
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
    run_ring("behaviour_pingpong", 2, 2 * count, (double)count);
    run_ring("actor_ring", RING, count, (double)count);
    run_fanin();
    run("spawn_exit", counting_spawner, NULL, (double)count);
    run("spawn_join", spawner, NULL, (double)count);
    run_channels("channel_rendezvous", rendezvous_there, rendezvous_back, 0);
    run_channels("channel_stream", stream_send, stream_recv, 1024);
    run_lines("select4_ready", select_ready, NULL, 1);
    run_lines("select4_block", select_block, feed_lines, 0);
    return 0;
}
