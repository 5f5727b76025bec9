/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what do behaviours cost: a message there and back, around a ring, many to one, one to
 * many, through a tree, and a million of them that do nothing?
 *
 * Method: the public interface on the real clock; each case in rounds, the median round is
 * reported, in nanoseconds per message but for the last two. Three columns: the fixed engine, the
 * parallel engine with one worker and with two, which take turns round by round; the last two lines
 * are the fixed engine's.
 *
 *     pingpong      8 bytes there and back between two behaviours: two messages
 *     mixed         the same between a behaviour and an actor with a stack
 *     ring          one hop of a token in a ring of 100
 *     fanin         one of the messages that 8 flood one with, which mutes them at 1024
 *     fanout        one of the messages that one sends to 100
 *     tree          one node of a binary tree that is spawned, answers and ends
 *     idle_bytes    memory of the process for each of a million idle behaviours (COUNT of them, if
 *                   that is less)
 *     spawn         one of those spawns
 *
 * Non-goals: payloads beyond 8 bytes.
 *
 * Usage: behaviour_bench [COUNT] */
#define _GNU_SOURCE
#include <orrery/rt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/bench.h"

#define ROUNDS  5
#define RING    100
#define SOURCES 8
#define BATCH   32
#define MILLION 1000000
#define LEAVES  (RING - 1)

/* Workers of the engines that are compared; 0 is the fixed one. */
static const uint32_t engines[] = {0, 1, 2};
#define ENGINES (sizeof(engines) / sizeof(engines[0]))

static long count;
static long left;
static double started;
static double elapsed;
static actor_id ids[RING];
static long got;

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "behaviour_bench: %s: %s\n", rt_status_name(status.code), status.msg);
        exit(1);
    }
}

static void finish(void)
{
    elapsed = bench_now_ns() - started;
    rt_shutdown();
}

/* There and back, and around: each hands the number on to the next. */
static void hop(void *state, const rt_behaviour_message *msg)
{
    const actor_id *next = state;
    if (left-- == 0) {
        finish();
        return;
    }
    must(rt_behaviour_send(*next, 0, msg->data, msg->len));
}

static const rt_behaviour_fn hop_handlers[] = {hop};
static const rt_behaviour_type hopper = {
    .handlers = hop_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void start_ring(size_t size)
{
    long number = 1;
    for (size_t i = 0; i < size; i++) {
        ids[i] = rt_behaviour_spawn(&hopper, &ids[(i + 1) % size]);
    }
    left = count;
    must(rt_behaviour_send(ids[0], 0, &number, sizeof(number)));
}

static void start_pingpong(void)
{
    start_ring(2);
}

static void start_long_ring(void)
{
    start_ring(RING);
}

/* A behaviour and an actor with a stack. */
static void echo(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    must(rt_behaviour_send(msg->sender, 0, msg->data, msg->len));
}

static const rt_behaviour_fn echo_handlers[] = {echo};
static const rt_behaviour_type echoer = {
    .handlers = echo_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void pinger(void *arg)
{
    rt_message msg;
    long number = 1;
    (void)arg;
    for (long i = 0; i < count; i += 2) {
        must(rt_behaviour_send(ids[0], 0, &number, sizeof(number)));
        must(rt_ipc_recv(&msg, -1));
    }
    finish();
    rt_exit();
}

static void start_mixed(void)
{
    ids[0] = rt_behaviour_spawn(&echoer, NULL);
    rt_spawn(pinger, NULL);
}

/* Many to one. */
static void flood(void *state, const rt_behaviour_message *msg)
{
    long number = 1;
    (void)state;
    (void)msg;
    for (unsigned i = 0; i < BATCH; i++) {
        must(rt_behaviour_send(ids[0], 0, &number, sizeof(number)));
    }
    must(rt_behaviour_send(rt_self(), 0, NULL, 0));
}

static void sink(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    if (++got == count) {
        finish();
    }
}

static const rt_behaviour_fn flood_handlers[] = {flood};
static const rt_behaviour_fn sink_handlers[] = {sink};
static const rt_behaviour_type flooder = {
    .handlers = flood_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
static const rt_behaviour_type sinker = {
    .handlers = sink_handlers,
    .handler_count = 1,
    .priority = RT_PRIO_NORMAL,
    .mailbox = {.high = 1024, .low = 512, .overflow = RT_OVERFLOW_MUTE}};

static void start_fanin(void)
{
    got = 0;
    ids[0] = rt_behaviour_spawn(&sinker, NULL);
    for (size_t i = 1; i <= SOURCES; i++) {
        ids[i] = rt_behaviour_spawn(&flooder, NULL);
        must(rt_behaviour_send(ids[i], 0, NULL, 0));
    }
}

/* One to many. Each leaf counts for itself: a count that all share would be what is measured. */
static long share; /* of a leaf */
static atomic_uint leaves_done;

static void spread(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    for (size_t i = 1; i < RING; i++) {
        must(rt_behaviour_send(ids[i], 0, msg->data, msg->len));
    }
    if (--left > 0) {
        must(rt_behaviour_send(rt_self(), 0, NULL, 0));
    }
}

static void count_in(void *state, const rt_behaviour_message *msg)
{
    long *caught = state;
    (void)msg;
    if (++*caught == share && atomic_fetch_add(&leaves_done, 1) + 1 == LEAVES) {
        finish();
    }
}

static const rt_behaviour_fn spread_handlers[] = {spread};
static const rt_behaviour_type spreader = {
    .handlers = spread_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
static const rt_behaviour_fn leaf_handlers[] = {count_in};
static const rt_behaviour_type leaf = {.handlers = leaf_handlers,
                                       .handler_count = 1,
                                       .state_size = sizeof(long),
                                       .priority = RT_PRIO_NORMAL};

static long fanout_share(void)
{
    return (count + LEAVES - 1) / LEAVES;
}

static void start_fanout(void)
{
    share = left = fanout_share();
    atomic_store(&leaves_done, 0);
    for (size_t i = 1; i < RING; i++) {
        ids[i] = rt_behaviour_spawn(&leaf, NULL);
    }
    ids[0] = rt_behaviour_spawn(&spreader, NULL);
    must(rt_behaviour_send(ids[0], 0, NULL, 0));
}

/* A tree: a node asks two below it, adds what they say, tells it above and ends. */
struct node {
    actor_id above;
    uint32_t depth;
    uint32_t answers;
    uint64_t sum;
};

static const rt_behaviour_type node_type;

static void node_tell(struct node *self)
{
    if (self->above == ACTOR_ID_INVALID) {
        got = (long)self->sum;
        finish();
    } else {
        must(rt_behaviour_send(self->above, 1, &self->sum, sizeof(self->sum)));
    }
    must(rt_behaviour_end(RT_EXIT_NORMAL));
}

static void node_begin(void *state, const rt_behaviour_message *msg)
{
    struct node *self = state;
    memcpy(&self->depth, msg->data, sizeof(self->depth));
    self->above = msg->sender;
    self->sum = 1;
    if (self->depth == 0) {
        node_tell(self);
        return;
    }
    uint32_t below = self->depth - 1;
    for (int i = 0; i < 2; i++) {
        must(rt_behaviour_send(rt_behaviour_spawn(&node_type, NULL), 0, &below, sizeof(below)));
    }
}

static void node_answer(void *state, const rt_behaviour_message *msg)
{
    struct node *self = state;
    uint64_t sum;
    memcpy(&sum, msg->data, sizeof(sum));
    self->sum += sum;
    if (++self->answers == 2) {
        node_tell(self);
    }
}

static const rt_behaviour_fn node_handlers[] = {node_begin, node_answer};
static const rt_behaviour_type node_type = {.handlers = node_handlers,
                                            .handler_count = 2,
                                            .state_size = sizeof(struct node),
                                            .priority = RT_PRIO_NORMAL};

static uint32_t tree_depth(void)
{
    uint32_t depth = 0;
    while ((2L << (depth + 1)) - 1 <= count && depth < 17) {
        depth++;
    }
    return depth;
}

static void start_tree(void)
{
    uint32_t depth = tree_depth();
    must(rt_behaviour_send(rt_behaviour_spawn(&node_type, NULL), 0, &depth, sizeof(depth)));
}

static void init_engine(uint32_t workers)
{
    must(workers == 0 ? rt_init() : rt_init_ex(&(rt_config){.workers = workers}));
}

static void measure(const char *name, void (*start)(void), double per_round)
{
    double rounds[ENGINES][ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        for (size_t engine = 0; engine < ENGINES; engine++) {
            init_engine(engines[engine]);
            must(rt_behaviour_reserve(
                &(rt_behaviour_room){.behaviours = 1 << 19, .messages = 1 << 20}));
            start();
            started = bench_now_ns();
            rt_run();
            rounds[engine][i] = elapsed / per_round;
            rt_cleanup();
        }
    }
    printf("%s", name);
    for (size_t engine = 0; engine < ENGINES; engine++) {
        printf("\t%.2f", bench_median(rounds[engine], ROUNDS));
    }
    printf("\n");
}

static long resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*s %ld", &pages) != 1) {
        pages = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE);
}

static void settle(void *arg)
{
    (void)arg;
    rt_yield();
    finish();
    rt_exit();
}

/* A million that have had their first turn and wait. */
static void measure_idle(void)
{
    size_t number = count < MILLION ? (size_t)count : MILLION;
    must(rt_init());
    must(rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = number, .messages = 1024}));
    long before = resident_bytes();
    started = bench_now_ns();
    for (size_t i = 0; i < number; i++) {
        if (rt_behaviour_spawn(&node_type, NULL) == ACTOR_ID_INVALID) {
            fprintf(stderr, "behaviour_bench: no room\n");
            exit(1);
        }
    }
    double spawn = (bench_now_ns() - started) / (double)number;
    rt_spawn(settle, NULL);
    rt_run();
    printf("idle_bytes\t%.1f\n", (double)(resident_bytes() - before) / (double)number);
    printf("spawn\t%.2f\n", spawn);
    rt_cleanup();
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atol(argv[1]) : 1000000;
    count = count < 4 ? 4 : count;
    measure("pingpong", start_pingpong, (double)count / 2);
    measure("mixed", start_mixed, (double)count / 2);
    measure("ring", start_long_ring, (double)count);
    measure("fanin", start_fanin, (double)count);
    measure("fanout", start_fanout, (double)(fanout_share() * LEAVES));
    measure("tree", start_tree, (double)((2L << tree_depth()) - 1));
    measure_idle();
    return 0;
}
