/* SPDX-License-Identifier: Apache-2.0 */

/* The deque: each item is taken exactly once and complete, by the owner or a thief, also the last
 * one, when the counters wrap and when it overflows. Built with a capacity of 4. */

#include "base/deque.h"

#include "port/explore/port.h"

enum { ITEMS = 6 };

struct item {
    uint32_t payload;
    uint32_t taken_count;
};

static struct rti_deque deque;
static struct item items[ITEMS];

static void setup_at(uint32_t start)
{
    rti_deque_init(&deque);
    rti_u32_init(&deque.top, start);
    rti_u32_init(&deque.bottom, start);
    explore_name(&deque.top, "top");
    explore_name(&deque.bottom, "bottom");
    for (unsigned i = 0; i < ITEMS; i++) {
        items[i] = (struct item){0, 0};
    }
}

static void setup(void)
{
    setup_at(0);
}

static void setup_at_wrap(void)
{
    setup_at(UINT32_MAX - 1);
}

static bool give(unsigned number)
{
    RTI_PLAIN_WRITE(&items[number].payload, sizeof items[number].payload);
    items[number].payload = number + 1;
    return rti_deque_push(&deque, &items[number]);
}

/* Notes an item that this thread got; a second taker would race here, or fail the count. */
static uint32_t take(void *pointer)
{
    struct item *item = pointer;
    if (item == NULL) {
        return 0;
    }
    RTI_PLAIN_READ(&item->payload, sizeof item->payload);
    EXPLORE_ASSERT(item->payload == (uint32_t)(item - items) + 1);
    RTI_PLAIN_WRITE(&item->taken_count, sizeof item->taken_count);
    EXPLORE_ASSERT(item->taken_count == 0);
    item->taken_count++;
    return item->payload;
}

static void take_rest(void)
{
    uint32_t before = UINT32_MAX;
    uint32_t taken;
    while ((taken = take(rti_deque_pop(&deque))) != 0) {
        EXPLORE_ASSERT(taken < before); /* last in, first out */
        before = taken;
    }
}

static void own_two_by_one(void)
{
    EXPLORE_ASSERT(give(0));
    EXPLORE_ASSERT(give(1));
    (void)take(rti_deque_pop(&deque));
    EXPLORE_ASSERT(give(2));
    take_rest();
}

static void own_one_by_one(void)
{
    EXPLORE_ASSERT(give(0));
    (void)take(rti_deque_pop(&deque));
    EXPLORE_ASSERT(give(1));
    (void)take(rti_deque_pop(&deque));
    EXPLORE_ASSERT(give(2));
    take_rest();
}

static void steal_once(void)
{
    (void)take(rti_deque_steal(&deque));
}

/* Two, the older one first. */
static void steal_twice(void)
{
    uint32_t first = take(rti_deque_steal(&deque));
    uint32_t second = take(rti_deque_steal(&deque));
    EXPLORE_ASSERT(first == 0 || second == 0 || first < second);
}

static void check_taken(unsigned count)
{
    EXPLORE_ASSERT(rti_deque_audit(&deque) == 0 && rti_deque_is_empty(&deque));
    for (unsigned i = 0; i < count; i++) {
        EXPLORE_ASSERT(items[i].taken_count == 1);
    }
}

static void check_three(void)
{
    check_taken(3);
}

static void check_six(void)
{
    check_taken(6);
}

MODEL(deque_owner_and_thief_take_each_item_once){
    .about = "owner pushes and pops, a thief steals twice",
    .setup = setup,
    .threads = {own_two_by_one, steal_twice},
    .check = check_three,
};

MODEL(deque_owner_and_two_thieves_take_each_item_once){
    .about = "owner pushes and pops, two thieves steal",
    .setup = setup,
    .threads = {own_two_by_one, steal_once, steal_once},
    .check = check_three,
    .executions_max = 3000000,
};

MODEL(deque_last_item_is_taken_once){
    .about = "owner pushes and pops one at a time, a thief steals twice",
    .setup = setup,
    .threads = {own_one_by_one, steal_twice},
    .check = check_three,
};

MODEL(deque_takes_each_item_once_across_the_wrap){
    .about = "the same where the counters wrap",
    .setup = setup_at_wrap,
    .threads = {own_two_by_one, steal_twice},
    .check = check_three,
};

/* The fifth finds no room, if no thief was there: half go elsewhere. */
static void own_too_many(void)
{
    void *spilled[RTI_DEQUE_CAPACITY / 2];
    for (unsigned i = 0; i < 6; i++) {
        if (!give(i)) {
            uint32_t before = 0;
            size_t count = rti_deque_take_half(&deque, spilled);
            EXPLORE_ASSERT(count <= RTI_DEQUE_CAPACITY / 2);
            for (size_t j = 0; j < count; j++) {
                uint32_t taken = take(spilled[j]);
                EXPLORE_ASSERT(taken > before);
                before = taken;
            }
            EXPLORE_ASSERT(give(i));
        }
    }
    take_rest();
}

MODEL(deque_overflow_takes_half){
    .about = "owner overfills it and takes half, a thief steals twice",
    .setup = setup,
    .threads = {own_too_many, steal_twice},
    .check = check_six,
    .executions_max = 3000000,
};
