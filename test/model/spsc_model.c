/* SPDX-License-Identifier: Apache-2.0 */

/* The queue between two threads: entries arrive complete, in order, none lost and none twice, also
 * across the wrap of its counters, and a slot is not overwritten before it was copied out. */

#include "base/spsc.h"

#include "base/atomic.h"

enum { CAPACITY = 2, ITEMS = 6, TRIES = 3 };

static rt_spsc_queue queue;
static uint64_t buffer[CAPACITY];
static bool was_pushed[TRIES];
static unsigned popped_count;

static rti_atomic_size *word_of(void *field)
{
    return field;
}

static void setup_at(size_t start)
{
    rt_status status = rt_spsc_init(&queue, buffer, sizeof buffer[0], CAPACITY);
    EXPLORE_ASSERT(status.code == RT_OK);
    rti_size_init(word_of(&queue.head), start);
    rti_size_init(word_of(&queue.tail), start);
    explore_name(&queue.head, "head");
    explore_name(&queue.tail, "tail");
    popped_count = 0;
}

static void setup(void)
{
    setup_at(0);
}

static void setup_at_wrap(void)
{
    setup_at(SIZE_MAX - 1);
}

static void produce(void)
{
    for (uint64_t item = 1; item <= ITEMS; item++) {
        while (!rt_spsc_push(&queue, &item)) {
            rti_spin_hint();
        }
    }
}

static void consume(void)
{
    for (uint64_t wanted = 1; wanted <= ITEMS; wanted++) {
        uint64_t item = 0;
        while (!rt_spsc_pop(&queue, &item)) {
            rti_spin_hint();
        }
        EXPLORE_ASSERT(item == wanted);
    }
}

static void consume_with_peek(void)
{
    for (uint64_t wanted = 1; wanted <= ITEMS; wanted++) {
        uint64_t seen = 0;
        uint64_t item = 0;
        while (!rt_spsc_peek(&queue, &seen)) {
            rti_spin_hint();
        }
        EXPLORE_ASSERT(seen == wanted);
        EXPLORE_ASSERT(rt_spsc_pop(&queue, &item));
        EXPLORE_ASSERT(item == wanted);
    }
}

static void check_empty(void)
{
    EXPLORE_ASSERT(rti_spsc_audit(&queue) == 0);
}

MODEL(spsc_delivers_in_order){
    .about = "capacity 2, 6 entries: in order, none lost, none twice",
    .setup = setup,
    .threads = {produce, consume},
    .check = check_empty,
};

MODEL(spsc_delivers_across_the_wrap){
    .about = "the same while both counters wrap",
    .setup = setup_at_wrap,
    .threads = {produce, consume},
    .check = check_empty,
};

MODEL(spsc_peek_shows_what_pop_gives){
    .about = "peek sees the entry that the next pop gives",
    .setup = setup,
    .threads = {produce, consume_with_peek},
    .check = check_empty,
};

/* Nobody waits: each side tries a few times and notes what happened. */
static void try_to_produce(void)
{
    for (uint64_t i = 0; i < TRIES; i++) {
        uint64_t item = i + 1;
        was_pushed[i] = rt_spsc_push(&queue, &item);
    }
}

static void try_to_consume(void)
{
    uint64_t last = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t item = 0;
        if (rt_spsc_pop(&queue, &item)) {
            EXPLORE_ASSERT(item > last && item <= TRIES);
            last = item;
            popped_count++;
        }
    }
}

static void check_counts(void)
{
    unsigned pushed = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        pushed += was_pushed[i];
    }
    EXPLORE_ASSERT(was_pushed[0] && was_pushed[1]);
    EXPLORE_ASSERT(was_pushed[2] || popped_count <= 2);
    EXPLORE_ASSERT(pushed - popped_count == rti_spsc_audit(&queue));
    explore_outcome(pushed << 4 | popped_count);
}

MODEL(spsc_says_full_and_empty){
    .about = "a push fails only when full, a pop only when empty",
    .setup = setup,
    .threads = {try_to_produce, try_to_consume},
    .check = check_counts,
    .outcomes = {{6, {0x20, 0x21, 0x22, 0x31, 0x32, 0x33}},
                 {6, {0x20, 0x21, 0x22, 0x31, 0x32, 0x33}}},
};
