/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what do the structures under the scheduler cost per operation, alone and between two
 * cores?
 *
 * Method: each case repeats its operation in one process, nanoseconds per operation by the
 * monotonic clock; the cases take turns over several rounds and the median round is reported. An
 * operation of a pair (alloc and free, push and pop) is the pair. `pool_churn` frees and allocates
 * at random places of a full pool. `spsc_2_threads` and `mpsc_2_threads` pass entries from a
 * producer thread to the main one and count entries; `ring_steal` moves half of a full ring to an
 * empty one and counts the items moved; `ring_2_threads` lets a thief take what it can while the
 * owner pushes and pops, and counts items.
 *
 * Non-goals: latency of a single hand-over, cold caches, more threads than two, other libraries.
 * On a machine with one processor the cases with two threads measure its scheduler.
 *
 * Usage: base_bench [ITERATIONS PER ROUND]. One line per result: name, tab, nanoseconds. */
#define _GNU_SOURCE
#define RTI_MODULE "base_bench"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/histogram.h"
#include "base/mpsc.h"
#include "base/pool.h"
#include "base/ring.h"
#include "base/rng.h"
#include "base/spsc.h"
#include "support/bench.h"

#define ROUNDS      9
#define POOL_BLOCKS 1024
#define SPSC_SLOTS  1024
#define MPSC_NODES  1024

struct entry {
    uint64_t words[4];
};

static RTI_POOL_STORAGE(pool_memory, struct entry, POOL_BLOCKS);
static struct rti_pool pool;
static void *pool_blocks[POOL_BLOCKS];
static struct entry spsc_buffer[SPSC_SLOTS];
static rt_spsc_queue spsc;
static struct rti_ring rings[2];
static struct rti_mpsc mpsc;
static struct rti_mpsc_node mpsc_nodes[MPSC_NODES];
static rti_atomic_size mpsc_popped; /* nodes below it may be pushed again */
static rti_atomic_u32 is_over;
static struct rti_histogram histogram;
static RTI_ALIGNED(RTI_ARENA_GRANULE) unsigned char arena_region[RTI_ARENA_BYTES(1 << 20)];
static struct rti_arena arena;
static long iterations;

/* The optimizer must believe that the value is used. */
static void use(const void *value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

/* Waits a moment for the other thread: on its own processor it needs no more, and a machine that is
 * busy with others must let it run. */
static void relax(unsigned *waits)
{
    if (++*waits % 64 == 0) {
        sched_yield();
    } else {
        rti_spin_hint();
    }
}

static pthread_t start_thread(void *(*run)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) {
        fprintf(stderr, "base_bench: no thread\n");
        exit(1);
    }
    return thread;
}

static double pool_pair(void)
{
    double start = bench_now_ns();
    for (long i = 0; i < iterations; i++) {
        void *block = rti_pool_alloc(&pool);
        use(block);
        rti_pool_free(&pool, block);
    }
    return (bench_now_ns() - start) / (double)iterations;
}

static double pool_churn(void)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 1);
    for (size_t i = 0; i < POOL_BLOCKS; i++) {
        pool_blocks[i] = rti_pool_alloc(&pool);
    }
    double start = bench_now_ns();
    for (long i = 0; i < iterations; i++) {
        uint64_t number = rti_rng_next(&rng);
        void **a = &pool_blocks[number % POOL_BLOCKS];
        void **b = &pool_blocks[number / POOL_BLOCKS % POOL_BLOCKS];
        if (a != b) {
            rti_pool_free(&pool, *a);
            rti_pool_free(&pool, *b);
            *a = rti_pool_alloc(&pool);
            *b = rti_pool_alloc(&pool);
        }
    }
    double ns = (bench_now_ns() - start) / (double)iterations / 2;
    for (size_t i = 0; i < POOL_BLOCKS; i++) {
        rti_pool_free(&pool, pool_blocks[i]);
    }
    return ns;
}

static double arena_pair(void)
{
    double start = bench_now_ns();
    for (long i = 0; i < iterations; i++) {
        void *block = rti_arena_alloc(&arena, 32768);
        use(block);
        rti_arena_free(&arena, block);
    }
    return (bench_now_ns() - start) / (double)iterations;
}

static double spsc_pair(void)
{
    struct entry entry = {{1, 2, 3, 4}};
    double start = bench_now_ns();
    for (long i = 0; i < iterations; i++) {
        use(&entry);
        (void)rt_spsc_push(&spsc, &entry);
        (void)rt_spsc_pop(&spsc, &entry);
    }
    return (bench_now_ns() - start) / (double)iterations;
}

static void *spsc_produce(void *arg)
{
    struct entry entry = {{1, 2, 3, 4}};
    unsigned waits = 0;
    (void)arg;
    for (long i = 0; i < iterations; i++) {
        while (!rt_spsc_push(&spsc, &entry)) {
            relax(&waits);
        }
    }
    return NULL;
}

static double spsc_2_threads(void)
{
    struct entry entry;
    unsigned waits = 0;
    double start = bench_now_ns();
    pthread_t producer = start_thread(spsc_produce);
    for (long i = 0; i < iterations; i++) {
        while (!rt_spsc_pop(&spsc, &entry)) {
            relax(&waits);
        }
        use(&entry);
    }
    double ns = (bench_now_ns() - start) / (double)iterations;
    pthread_join(producer, NULL);
    return ns;
}

static double mpsc_pair(void)
{
    struct rti_mpsc_node *node = NULL;
    double start = bench_now_ns();
    for (long i = 0; i < iterations; i++) {
        rti_mpsc_push(&mpsc, &mpsc_nodes[0]);
        (void)rti_mpsc_pop(&mpsc, &node);
        use(node);
    }
    return (bench_now_ns() - start) / (double)iterations;
}

static void *mpsc_produce(void *arg)
{
    unsigned waits = 0;
    size_t popped = 0;
    (void)arg;
    for (size_t i = 0; i < (size_t)iterations; i++) {
        while (i - popped >= MPSC_NODES) {
            /* Pairs with the release in mpsc_2_threads: the node is free. */
            popped = rti_size_load_acquire(&mpsc_popped);
            relax(&waits);
        }
        rti_mpsc_push(&mpsc, &mpsc_nodes[i % MPSC_NODES]);
    }
    return NULL;
}

static double mpsc_2_threads(void)
{
    struct rti_mpsc_node *node = NULL;
    unsigned waits = 0;
    rti_size_init(&mpsc_popped, 0);
    double start = bench_now_ns();
    pthread_t producer = start_thread(mpsc_produce);
    for (long i = 0; i < iterations; i++) {
        while (rti_mpsc_pop(&mpsc, &node) != RTI_MPSC_ITEM) {
            relax(&waits);
        }
        use(node);
        if (i % (MPSC_NODES / 4) == 0) {
            /* Pairs with the acquire in mpsc_produce. */
            rti_size_store_release(&mpsc_popped, (size_t)i + 1);
        }
    }
    double ns = (bench_now_ns() - start) / (double)iterations;
    pthread_join(producer, NULL);
    return ns;
}

static double ring_pair(void)
{
    double start = bench_now_ns();
    for (long i = 0; i < iterations; i++) {
        (void)rti_ring_push(&rings[0], &pool);
        use(rti_ring_pop(&rings[0]));
    }
    return (bench_now_ns() - start) / (double)iterations;
}

static double ring_steal(void)
{
    double ns = 0;
    long moved = 0;
    while (moved < iterations) {
        while (rti_ring_push(&rings[0], &pool)) {
        }
        double start = bench_now_ns();
        use(rti_ring_steal(&rings[0], &rings[1]));
        ns += bench_now_ns() - start;
        moved += RTI_RING_CAPACITY / 2;
        while (rti_ring_pop(&rings[1]) != NULL) {
        }
    }
    while (rti_ring_pop(&rings[0]) != NULL) {
    }
    return ns / (double)moved;
}

static void *ring_thief(void *arg)
{
    unsigned waits = 0;
    (void)arg;
    while (!rti_u32_load_relaxed(&is_over)) {
        void *item = rti_ring_steal(&rings[0], &rings[1]);
        if (item == NULL) {
            relax(&waits);
        }
        while (item != NULL) {
            use(item);
            item = rti_ring_pop(&rings[1]);
        }
    }
    return NULL;
}

static double ring_2_threads(void)
{
    rti_u32_init(&is_over, 0);
    double start = bench_now_ns();
    pthread_t thief = start_thread(ring_thief);
    for (long i = 0; i < iterations; i++) {
        if (!rti_ring_push(&rings[0], &pool)) {
            use(rti_ring_pop(&rings[0]));
            (void)rti_ring_push(&rings[0], &pool);
        }
        if (i % 2 == 0) {
            use(rti_ring_pop(&rings[0]));
        }
    }
    while (rti_ring_pop(&rings[0]) != NULL) {
    }
    double ns = (bench_now_ns() - start) / (double)iterations;
    rti_u32_store_relaxed(&is_over, 1);
    pthread_join(thief, NULL);
    while (rti_ring_pop(&rings[1]) != NULL) {
    }
    return ns;
}

static double histogram_record(void)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 2);
    double start = bench_now_ns();
    for (long i = 0; i < iterations; i++) {
        rti_histogram_record(&histogram, rti_rng_next(&rng) >> 40);
    }
    use(&histogram);
    return (bench_now_ns() - start) / (double)iterations;
}

static const struct {
    const char *name;
    double (*run)(void);
} cases[] = {
    {"pool_alloc_free", pool_pair},
    {"pool_churn_alloc_free", pool_churn},
    {"arena_alloc_free", arena_pair},
    {"spsc_push_pop", spsc_pair},
    {"spsc_2_threads", spsc_2_threads},
    {"mpsc_push_pop", mpsc_pair},
    {"mpsc_2_threads", mpsc_2_threads},
    {"ring_push_pop", ring_pair},
    {"ring_steal_item", ring_steal},
    {"ring_2_threads", ring_2_threads},
    {"histogram_record_random", histogram_record},
};

#define CASES RTI_COUNT_OF(cases)

int main(int argc, char **argv)
{
    static double ns[CASES][ROUNDS];
    iterations = argc > 1 ? atol(argv[1]) : 500000;
    if (iterations < 1 || iterations > 1000000000) {
        fprintf(stderr, "usage: %s [iterations per round, 1 to 1000000000]\n", argv[0]);
        return 2;
    }
    rti_pool_init(&pool, pool_memory, sizeof(struct entry), POOL_BLOCKS);
    rti_arena_init(&arena, arena_region, sizeof(arena_region));
    rti_mpsc_init(&mpsc);
    rti_ring_init(&rings[0]);
    rti_ring_init(&rings[1]);
    rti_histogram_init(&histogram);
    if (RT_FAILED(rt_spsc_init(&spsc, spsc_buffer, sizeof(struct entry), SPSC_SLOTS))) {
        return 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < CASES; i++) {
            ns[i][round] = cases[i].run();
        }
    }
    for (size_t i = 0; i < CASES; i++) {
        printf("%s\t%.2f\n", cases[i].name, bench_median(ns[i], ROUNDS));
    }
    return 0;
}
