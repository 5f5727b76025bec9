/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/mpsc.h"

#include <pthread.h>
#include <sched.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "support/test.h"

struct item {
    struct rti_mpsc_node node;
    uint32_t producer;
    uint32_t number;
};

static struct item *item_of(struct rti_mpsc_node *node)
{
    return RTI_CONTAINER_OF(node, struct item, node);
}

static struct item *pop(struct rti_mpsc *queue)
{
    struct rti_mpsc_node *node = NULL;
    return rti_mpsc_pop(queue, &node) == RTI_MPSC_ITEM ? item_of(node) : NULL;
}

TEST(mpsc_pops_in_the_order_of_pushing)
{
    struct rti_mpsc queue;
    struct item items[5];
    rti_mpsc_init(&queue);
    for (uint32_t i = 0; i < 5; i++) {
        items[i].number = i;
        rti_mpsc_push(&queue, &items[i].node);
        CHECK_EQ(rti_mpsc_audit(&queue), i + 1);
    }
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_EQ(pop(&queue)->number, i);
        CHECK_EQ(rti_mpsc_audit(&queue), 4 - i);
    }
    struct rti_mpsc_node *node = &items[0].node;
    CHECK(rti_mpsc_pop(&queue, &node) == RTI_MPSC_EMPTY);
    CHECK(node == &items[0].node);
}

TEST(mpsc_new_queue_is_idle_and_only_the_first_push_says_so)
{
    struct rti_mpsc queue;
    struct item items[3];
    rti_mpsc_init(&queue);
    CHECK(rti_mpsc_push(&queue, &items[0].node));
    CHECK(!rti_mpsc_push(&queue, &items[1].node));
    CHECK(pop(&queue) == &items[0]);
    CHECK(pop(&queue) == &items[1]);
    /* Empty, but the consumer has not gone idle: nobody need wake it. */
    CHECK(!rti_mpsc_push(&queue, &items[2].node));
}

TEST(mpsc_goes_idle_only_when_empty_and_wakes_once)
{
    struct rti_mpsc queue;
    struct item items[2];
    rti_mpsc_init(&queue);
    for (int round = 0; round < 3; round++) {
        CHECK(rti_mpsc_push(&queue, &items[0].node));
        CHECK(!rti_mpsc_try_idle(&queue));
        CHECK(!rti_mpsc_push(&queue, &items[1].node));
        CHECK(pop(&queue) == &items[0]);
        CHECK(!rti_mpsc_try_idle(&queue));
        CHECK(pop(&queue) == &items[1]);
        CHECK(rti_mpsc_try_idle(&queue));
        CHECK_EQ(rti_mpsc_audit(&queue), 0);
    }
}

TEST(mpsc_idle_queue_pops_empty_and_is_not_made_idle_twice)
{
    struct rti_mpsc queue;
    struct rti_mpsc_node *node;
    rti_mpsc_init(&queue);
    CHECK(rti_mpsc_pop(&queue, &node) == RTI_MPSC_EMPTY);
    CHECK(!rti_mpsc_try_idle(&queue));
}

/* A producer is caught between its two steps by doing the first one by hand. */
TEST(mpsc_pop_tells_a_half_done_push_from_an_empty_queue)
{
    struct rti_mpsc queue;
    struct item items[3];
    struct rti_mpsc_node *node;
    rti_mpsc_init(&queue);
    rti_ptr_init(&items[0].node.next, NULL);
    rti_ptr_exchange_acqrel(&queue.tail, &items[0].node);
    CHECK(rti_mpsc_pop(&queue, &node) == RTI_MPSC_BUSY);
    CHECK(!rti_mpsc_try_idle(&queue));
    /* A push that came later is hidden behind the half-done one, and counts as no wake-up. */
    CHECK(!rti_mpsc_push(&queue, &items[1].node));
    CHECK(rti_mpsc_pop(&queue, &node) == RTI_MPSC_BUSY);
    rti_ptr_store_release(&queue.resting.next, &items[0].node);
    CHECK(pop(&queue) == &items[0]);
    /* Now the same behind a real node that is the oldest. */
    rti_ptr_init(&items[2].node.next, NULL);
    rti_ptr_exchange_acqrel(&queue.tail, &items[2].node);
    CHECK(rti_mpsc_pop(&queue, &node) == RTI_MPSC_BUSY);
    CHECK(!rti_mpsc_try_idle(&queue));
    rti_ptr_store_release(&items[1].node.next, &items[2].node);
    CHECK(pop(&queue) == &items[1]);
    CHECK(pop(&queue) == &items[2]);
    CHECK(rti_mpsc_pop(&queue, &node) == RTI_MPSC_EMPTY);
}

TEST(mpsc_node_may_be_pushed_again_as_soon_as_it_is_popped)
{
    struct rti_mpsc queue;
    struct item items[2];
    rti_mpsc_init(&queue);
    rti_mpsc_push(&queue, &items[0].node);
    for (int i = 0; i < 100; i++) {
        CHECK(pop(&queue) == &items[0]);
        rti_mpsc_push(&queue, &items[0].node);
        CHECK_EQ(rti_mpsc_audit(&queue), 1);
    }
    rti_mpsc_push(&queue, &items[1].node);
    for (int i = 0; i < 100; i++) {
        CHECK(pop(&queue) == &items[i % 2]);
        rti_mpsc_push(&queue, &items[i % 2].node);
        CHECK_EQ(rti_mpsc_audit(&queue), 2);
    }
}

/* The reference: numbers in a range, and a flag. */
TEST(mpsc_agrees_with_counters_and_a_flag)
{
    enum { ITEMS = 16 };
    struct rti_mpsc queue;
    struct item items[ITEMS];
    struct rti_rng rng;
    uint32_t pushed = 0;
    uint32_t popped = 0;
    bool is_idle = true;
    rti_mpsc_init(&queue);
    rti_rng_init(&rng, 40);
    for (int step = 0; step < 20000; step++) {
        switch (rti_rng_below(&rng, 3)) {
        case 0:
            if (pushed - popped < ITEMS) {
                items[pushed % ITEMS].number = pushed;
                CHECK(rti_mpsc_push(&queue, &items[pushed % ITEMS].node) == is_idle);
                is_idle = false;
                pushed++;
            }
            break;
        case 1: {
            struct item *item = pop(&queue);
            CHECK((item == NULL) == (pushed == popped));
            if (item != NULL) {
                CHECK_EQ(item->number, popped);
                popped++;
            }
            break;
        }
        default:
            CHECK(rti_mpsc_try_idle(&queue) == (pushed == popped && !is_idle));
            is_idle = is_idle || pushed == popped;
        }
        CHECK_EQ(rti_mpsc_audit(&queue), pushed - popped);
    }
    CHECK(popped > 1000);
}

/* Two producers push; whoever is told that the queue was idle posts the one consumer, which drains,
 * goes idle, and sleeps until it is posted. A lost wake-up hangs, a double one breaks the count. */
#define STRESS_ITEMS 50000

static struct rti_mpsc stress_queue;
static rti_atomic_u32 wake_count;
static rti_atomic_u32 idle_count;
static struct item stress_items[2][STRESS_ITEMS];

static void *produce(void *arg)
{
    struct item *items = arg;
    for (uint32_t i = 0; i < STRESS_ITEMS; i++) {
        items[i].number = i;
        if (rti_mpsc_push(&stress_queue, &items[i].node)) {
            rti_u32_add_acqrel(&wake_count, 1);
        }
        if (i % 64 == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void *consume(void *arg)
{
    uint32_t next[2] = {0, 0};
    uint32_t sleeps = 0;
    (void)arg;
    for (;;) {
        while (rti_u32_load_acquire(&wake_count) == sleeps) {
            sched_yield();
        }
        CHECK_EQ(rti_u32_load_acquire(&wake_count), sleeps + 1);
        do {
            struct rti_mpsc_node *node;
            while (rti_mpsc_pop(&stress_queue, &node) == RTI_MPSC_ITEM) {
                struct item *item = item_of(node);
                CHECK_EQ(item->number, next[item->producer]);
                next[item->producer]++;
            }
            if (next[0] == STRESS_ITEMS && next[1] == STRESS_ITEMS) {
                return NULL;
            }
        } while (!rti_mpsc_try_idle(&stress_queue));
        sleeps++;
        rti_u32_store_relaxed(&idle_count, sleeps);
    }
}

TEST(mpsc_two_producers_lose_nothing_and_wake_exactly_once_per_sleep)
{
    pthread_t threads[3];
    rti_mpsc_init(&stress_queue);
    for (uint32_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < STRESS_ITEMS; i++) {
            stress_items[p][i].producer = p;
        }
    }
    CHECK(pthread_create(&threads[2], NULL, consume, NULL) == 0);
    CHECK(pthread_create(&threads[0], NULL, produce, stress_items[0]) == 0);
    CHECK(pthread_create(&threads[1], NULL, produce, stress_items[1]) == 0);
    for (size_t i = 0; i < 3; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK_EQ(rti_mpsc_audit(&stress_queue), 0);
    CHECK_EQ(rti_u32_load_relaxed(&wake_count), rti_u32_load_relaxed(&idle_count) + 1);
    printf("slept %u times\n", rti_u32_load_relaxed(&idle_count));
}

static void push_null(void *arg)
{
    rti_mpsc_push(arg, NULL);
}

static void push_misaligned(void *arg)
{
    static struct item item;
    rti_mpsc_push(arg, (struct rti_mpsc_node *)((uintptr_t)&item.node | 1));
}

static void audit_cut_list(void *arg)
{
    static struct item item;
    rti_ptr_exchange_acqrel(&((struct rti_mpsc *)arg)->tail, &item.node);
    rti_mpsc_audit(arg);
}

TEST(mpsc_misuse_panics)
{
    struct rti_mpsc queue;
    rti_mpsc_init(&queue);
    CHECK_PANICS("mpsc", push_null, &queue);
    CHECK_PANICS("mpsc", push_misaligned, &queue);
    CHECK_PANICS("mpsc", audit_cut_list, &queue);
}
