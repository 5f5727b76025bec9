/* SPDX-License-Identifier: Apache-2.0 */

/* The run ring: each item is taken exactly once and complete, by the owner or a thief, in order,
 * also when the counters wrap and when the ring overflows. Built with a capacity of 4. */

#include "base/ring.h"

enum { THREADS = 4, ITEMS = 7 };

struct item {
    uint32_t payload;
    uint32_t taken_count;
};

static struct rti_ring rings[THREADS]; /* one per thread */
static struct item items[ITEMS];
static uint32_t last_taken[THREADS];

static void setup_at(uint32_t start)
{
    static const char *const heads[] = {"head0", "head1", "head2", "head3"};
    static const char *const tails[] = {"tail0", "tail1", "tail2", "tail3"};
    for (unsigned i = 0; i < THREADS; i++) {
        rti_ring_init(&rings[i]);
        rti_u32_init(&rings[i].head, start);
        rti_u32_init(&rings[i].tail, start);
        explore_name(&rings[i].head, heads[i]);
        explore_name(&rings[i].tail, tails[i]);
        last_taken[i] = 0;
    }
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
    return rti_ring_push(&rings[0], &items[number]);
}

/* Notes an item that this thread got; a second taker would race here, or fail the count. */
static void take(void *pointer)
{
    struct item *item = pointer;
    unsigned self = explore_self();
    RTI_PLAIN_READ(&item->payload, sizeof item->payload);
    EXPLORE_ASSERT(item->payload == (uint32_t)(item - items) + 1);
    RTI_PLAIN_WRITE(&item->taken_count, sizeof item->taken_count);
    EXPLORE_ASSERT(item->taken_count == 0);
    item->taken_count++;
    /* Whoever takes one after another takes them in the order they were pushed. */
    EXPLORE_ASSERT(item->payload > last_taken[self]);
    last_taken[self] = item->payload;
}

static void take_own(void)
{
    void *item;
    while ((item = rti_ring_pop(&rings[explore_self()])) != NULL) {
        take(item);
    }
}

static void own_three(void)
{
    for (unsigned i = 0; i < 3; i++) {
        EXPLORE_ASSERT(give(i));
    }
    take_own();
}

static void own_two_by_one(void)
{
    EXPLORE_ASSERT(give(0));
    EXPLORE_ASSERT(give(1));
    void *item = rti_ring_pop(&rings[0]);
    if (item != NULL) {
        take(item);
    }
    EXPLORE_ASSERT(give(2));
    take_own();
}

static void steal_once(void)
{
    void *item = rti_ring_steal(&rings[0], &rings[explore_self()]);
    if (item != NULL) {
        take(item);
    }
    take_own();
}

static void steal_from_thief(void)
{
    void *item = rti_ring_steal(&rings[1], &rings[explore_self()]);
    if (item != NULL) {
        take(item);
    }
    take_own();
}

static void check_taken(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        EXPLORE_ASSERT(items[i].taken_count == 1);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        EXPLORE_ASSERT(rti_ring_audit(&rings[i]) == 0);
    }
}

static void check_six(void)
{
    check_taken(6);
}

static void check_three(void)
{
    check_taken(3);
}

MODEL(ring_owner_and_two_thieves_take_each_item_once){
    .about = "owner pushes and pops, two thieves steal half",
    .setup = setup,
    .threads = {own_two_by_one, steal_once, steal_once},
    .check = check_three,
};

MODEL(ring_takes_each_item_once_across_the_wrap){
    .about = "the same while the 32-bit counters wrap",
    .setup = setup_at_wrap,
    .threads = {own_three, steal_once},
    .check = check_three,
};

MODEL(ring_of_a_thief_is_stolen_from){
    .about = "a second thief steals what the first one stole",
    .setup = setup,
    .threads = {own_three, steal_once, steal_from_thief},
    .check = check_three,
};

/* More of everything. */
static void own_four_by_two(void)
{
    for (unsigned i = 0; i < 4; i++) {
        EXPLORE_ASSERT(give(i));
        void *item = i % 2 == 1 ? rti_ring_pop(&rings[0]) : NULL;
        if (item != NULL) {
            take(item);
        }
    }
    take_own();
}

static void steal_twice(void)
{
    steal_once();
    steal_once();
}

static void check_four(void)
{
    check_taken(4);
}

MODEL(ring_two_thieves_steal_again){
    .about = "four items, and a thief that comes back",
    .setup = setup_at_wrap,
    .threads = {own_four_by_two, steal_once, steal_twice},
    .check = check_four,
};

MODEL(ring_three_thieves_take_each_item_once){
    .about = "three items and three thieves",
    .setup = setup_at_wrap,
    .threads = {own_three, steal_once, steal_once, steal_once},
    .check = check_three,
};

/* A full ring: the owner makes room with take_half, while a thief helps itself. */
static void own_overflowing(void)
{
    for (unsigned i = 0; i < 5; i++) {
        if (give(i)) {
            continue;
        }
        void *half[RTI_RING_CAPACITY];
        size_t count = rti_ring_take_half(&rings[0], half, RTI_RING_CAPACITY / 2);
        EXPLORE_ASSERT(count <= RTI_RING_CAPACITY / 2);
        for (size_t k = 0; k < count; k++) {
            take(half[k]);
        }
        EXPLORE_ASSERT(give(i));
    }
    take_own();
}

static void check_five(void)
{
    check_taken(5);
}

MODEL(ring_overflow_takes_half){
    .about = "5 items through 4 slots: the owner takes half out when full, a thief steals",
    .setup = setup_at_wrap,
    .threads = {own_overflowing, steal_once},
    .check = check_five,
};

/* A thief whose own ring is full takes no more than it has room for. */
static void setup_full_thief(void)
{
    setup_at_wrap();
    for (unsigned i = 0; i < RTI_RING_CAPACITY; i++) {
        items[i].payload = i + 1;
        EXPLORE_ASSERT(rti_ring_push(&rings[1], &items[i]));
    }
}

static void own_last_three(void)
{
    for (unsigned i = RTI_RING_CAPACITY; i < ITEMS; i++) {
        EXPLORE_ASSERT(give(i));
    }
}

static void steal_without_room(void)
{
    void *stolen = rti_ring_steal(&rings[0], &rings[1]);
    EXPLORE_ASSERT(rti_ring_count(&rings[1]) <= RTI_RING_CAPACITY);
    take_own();
    last_taken[1] = 0;
    if (stolen != NULL) {
        take(stolen);
    }
}

static void check_full_thief(void)
{
    for (void *item; (item = rti_ring_pop(&rings[0])) != NULL;) {
        ((struct item *)item)->taken_count++;
    }
    check_taken(ITEMS);
}

MODEL(ring_thief_takes_no_more_than_it_has_room_for){
    .about = "a thief with a full ring steals one item of three",
    .setup = setup_full_thief,
    .threads = {own_last_three, steal_without_room},
    .check = check_full_thief,
};

/* take_half by somebody else than the owner, who fills the slots anew meanwhile. */
static void own_refilling(void)
{
    for (unsigned i = 0; i < 6; i++) {
        (void)(give(i) || give(i));
    }
}

static void take_half_once(void)
{
    void *half[RTI_RING_CAPACITY];
    size_t count = rti_ring_take_half(&rings[0], half, RTI_RING_CAPACITY);
    for (size_t i = 0; i < count; i++) {
        take(half[i]);
    }
}

static void check_refilled(void)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        EXPLORE_ASSERT(items[i].taken_count <= 1);
        taken += items[i].taken_count;
    }
    /* What was taken is not in the ring any more. */
    for (void *item; (item = rti_ring_pop(&rings[0])) != NULL;) {
        EXPLORE_ASSERT(((struct item *)item)->taken_count == 0);
    }
    EXPLORE_ASSERT(taken <= RTI_RING_CAPACITY / 2);
}

MODEL(ring_thief_that_takes_half_reads_before_it_claims){
    .about = "the owner fills freed slots at once, and the thief has read them before",
    .setup = setup,
    .threads = {own_refilling, take_half_once},
    .check = check_refilled,
};

/* Wraps around the slots once while a thief's view grows old. */
static void own_six_in_turn(void)
{
    for (unsigned i = 0; i < 6; i++) {
        EXPLORE_ASSERT(give(i));
        if (i % 2 == 1) {
            take_own();
        }
    }
}

MODEL(ring_thief_with_an_old_view_takes_nothing_twice){
    .about = "the owner goes round the ring while a thief stands between look and claim",
    .setup = setup,
    .threads = {own_six_in_turn, steal_once},
    .check = check_six,
};
