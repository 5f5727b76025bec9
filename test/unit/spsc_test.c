/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/spsc.h"

#include <pthread.h>
#include <sched.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "support/test.h"

struct entry {
    uint64_t number;
    unsigned char text[13];
};

static struct entry entry_of(uint64_t number)
{
    struct entry entry = {.number = number};
    memset(entry.text, (int)(number & 0xff), sizeof(entry.text));
    return entry;
}

static void check_entry(const struct entry *entry, uint64_t number)
{
    CHECK(entry->number == number);
    for (size_t i = 0; i < sizeof(entry->text); i++) {
        CHECK_EQ(entry->text[i], number & 0xff);
    }
}

static struct entry buffer[64];

static void open_queue(rt_spsc_queue *q, size_t capacity)
{
    CHECK_OK(rt_spsc_init(q, buffer, sizeof(struct entry), capacity));
}

TEST(spsc_pops_in_order_and_uses_every_slot)
{
    for (size_t capacity = 1; capacity <= 64; capacity *= 2) {
        rt_spsc_queue q;
        struct entry entry = entry_of(0);
        open_queue(&q, capacity);
        CHECK(!rt_spsc_pop(&q, &entry));
        for (uint64_t i = 0; i < capacity; i++) {
            entry = entry_of(i);
            CHECK(rt_spsc_push(&q, &entry));
        }
        CHECK(!rt_spsc_push(&q, &entry));
        CHECK_EQ(rti_spsc_audit(&q), capacity);
        for (uint64_t i = 0; i < capacity; i++) {
            CHECK(rt_spsc_pop(&q, &entry));
            check_entry(&entry, i);
        }
        CHECK(!rt_spsc_pop(&q, &entry));
        rt_spsc_destroy(&q);
    }
}

TEST(spsc_peek_shows_the_oldest_and_takes_nothing)
{
    rt_spsc_queue q;
    struct entry out = entry_of(9);
    open_queue(&q, 4);
    CHECK(!rt_spsc_peek(&q, &out));
    check_entry(&out, 9);
    struct entry in = entry_of(1);
    CHECK(rt_spsc_push(&q, &in));
    in = entry_of(2);
    CHECK(rt_spsc_push(&q, &in));
    CHECK(rt_spsc_peek(&q, &out) && rt_spsc_peek(&q, &out));
    check_entry(&out, 1);
    CHECK_EQ(rti_spsc_audit(&q), 2);
}

TEST(spsc_empty_pop_leaves_the_output_alone)
{
    rt_spsc_queue q;
    struct entry out = entry_of(77);
    open_queue(&q, 2);
    CHECK(!rt_spsc_pop(&q, &out));
    check_entry(&out, 77);
}

TEST(spsc_init_refuses_bad_arguments_and_changes_nothing)
{
    rt_spsc_queue q;
    memset(&q, 0x5a, sizeof(q));
    rt_spsc_queue before;
    memcpy(&before, &q, sizeof(q));
    CHECK_STATUS(rt_spsc_init(NULL, buffer, 8, 8), RT_ERR_INVALID);
    CHECK_STATUS(rt_spsc_init(&q, NULL, 8, 8), RT_ERR_INVALID);
    CHECK_STATUS(rt_spsc_init(&q, buffer, 0, 8), RT_ERR_INVALID);
    CHECK_STATUS(rt_spsc_init(&q, buffer, 8, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_spsc_init(&q, buffer, 8, 3), RT_ERR_INVALID);
    CHECK_STATUS(rt_spsc_init(&q, buffer, 8, 63), RT_ERR_INVALID);
    CHECK_STATUS(rt_spsc_init(&q, buffer, 8, SIZE_MAX), RT_ERR_INVALID);
    CHECK_STATUS(rt_spsc_init(&q, buffer, 2, SIZE_MAX / 2 + 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_spsc_init(&q, buffer, SIZE_MAX, 2), RT_ERR_INVALID);
    CHECK(memcmp(&before, &q, sizeof(q)) == 0);
}

TEST(spsc_null_arguments_give_false)
{
    rt_spsc_queue q;
    struct entry entry = entry_of(1);
    open_queue(&q, 2);
    CHECK(!rt_spsc_push(NULL, &entry) && !rt_spsc_push(&q, NULL));
    CHECK(rt_spsc_push(&q, &entry));
    CHECK(!rt_spsc_pop(NULL, &entry) && !rt_spsc_pop(&q, NULL));
    CHECK(!rt_spsc_peek(NULL, &entry) && !rt_spsc_peek(&q, NULL));
    CHECK_EQ(rti_spsc_audit(&q), 1);
    rt_spsc_destroy(NULL);
}

TEST(spsc_destroyed_queue_refuses_and_can_be_made_again)
{
    rt_spsc_queue q;
    struct entry entry = entry_of(1);
    open_queue(&q, 2);
    CHECK(rt_spsc_push(&q, &entry));
    rt_spsc_destroy(&q);
    CHECK(!rt_spsc_push(&q, &entry));
    CHECK(!rt_spsc_pop(&q, &entry));
    CHECK(!rt_spsc_peek(&q, &entry));
    rt_spsc_destroy(&q);
    open_queue(&q, 2);
    CHECK(!rt_spsc_pop(&q, &entry));
    CHECK(rt_spsc_push(&q, &entry));
}

/* The reference is a pair of counters: entries are numbered in the order of pushing. */
static void compare_with_counters(rt_spsc_queue *q, uint64_t seed)
{
    struct rti_rng rng;
    uint64_t pushed = 0;
    uint64_t popped = 0;
    rti_rng_init(&rng, seed);
    for (int step = 0; step < 5000; step++) {
        struct entry entry = entry_of(pushed);
        switch (rti_rng_below(&rng, 3)) {
        case 0:
            if (rt_spsc_push(q, &entry)) {
                pushed++;
            } else {
                CHECK(pushed - popped == q->capacity);
            }
            break;
        case 1:
            CHECK(rt_spsc_peek(q, &entry) == (pushed != popped));
            if (pushed != popped) {
                check_entry(&entry, popped);
            }
            break;
        default:
            if (rt_spsc_pop(q, &entry)) {
                check_entry(&entry, popped++);
            } else {
                CHECK(pushed == popped);
            }
        }
        CHECK_EQ(rti_spsc_audit(q), pushed - popped);
    }
    CHECK(popped > 500);
}

TEST(spsc_agrees_with_counters_at_every_capacity)
{
    for (size_t capacity = 1; capacity <= 64; capacity *= 2) {
        rt_spsc_queue q;
        open_queue(&q, capacity);
        compare_with_counters(&q, capacity);
    }
}

TEST(spsc_indices_may_wrap_at_the_word)
{
    for (size_t capacity = 1; capacity <= 64; capacity *= 2) {
        rt_spsc_queue q;
        open_queue(&q, capacity);
        atomic_store(&q.head, SIZE_MAX - 100);
        atomic_store(&q.tail, SIZE_MAX - 100);
        compare_with_counters(&q, capacity);
    }
}

TEST(spsc_entries_of_odd_sizes_do_not_touch_their_neighbours)
{
    unsigned char bytes[4 * 7 + 2];
    for (size_t size = 1; size <= 7; size++) {
        rt_spsc_queue q;
        memset(bytes, 0xee, sizeof(bytes));
        CHECK_OK(rt_spsc_init(&q, bytes + 1, size, 4));
        for (int i = 0; i < 9; i++) {
            unsigned char entry[9] = {0xcc, 1, 2, 3, 4, 5, 6, 7, 0xcc};
            unsigned char out[9];
            memset(out, 0xdd, sizeof(out));
            CHECK(rt_spsc_push(&q, entry + 1));
            CHECK(rt_spsc_pop(&q, out + 1));
            CHECK(memcmp(out + 1, entry + 1, size) == 0);
            CHECK_EQ(out[0], 0xdd);
            CHECK_EQ(out[1 + size], 0xdd);
        }
        CHECK_EQ(bytes[0], 0xee);
        CHECK_EQ(bytes[1 + 4 * size], 0xee);
    }
}

#define STRESS_ENTRIES 100000

static void *produce(void *arg)
{
    for (uint64_t i = 0; i < STRESS_ENTRIES; i++) {
        struct entry entry = entry_of(i);
        while (!rt_spsc_push(arg, &entry)) {
            sched_yield();
        }
    }
    return NULL;
}

TEST(spsc_two_threads_pass_every_entry_complete_and_in_order)
{
    rt_spsc_queue q;
    pthread_t producer;
    open_queue(&q, 8);
    CHECK(pthread_create(&producer, NULL, produce, &q) == 0);
    for (uint64_t i = 0; i < STRESS_ENTRIES; i++) {
        struct entry peeked;
        struct entry entry;
        while (!rt_spsc_peek(&q, &peeked)) {
            sched_yield();
        }
        CHECK(rt_spsc_pop(&q, &entry));
        check_entry(&peeked, i);
        check_entry(&entry, i);
    }
    CHECK(pthread_join(producer, NULL) == 0);
    CHECK_EQ(rti_spsc_audit(&q), 0);
}

static void audit(void *arg)
{
    rti_spsc_audit(arg);
}

TEST(spsc_audit_sees_more_entries_than_slots)
{
    rt_spsc_queue q;
    open_queue(&q, 4);
    atomic_store(&q.head, 5);
    CHECK_PANICS("spsc", audit, &q);
}
