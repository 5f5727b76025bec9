/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/ring.h"

#include <pthread.h>
#include <sched.h>

#include "base/rng.h"
#include "support/test.h"

#define CAPACITY RTI_RING_CAPACITY

static char items[4 * CAPACITY];

/* Starts a ring whose counters stand shortly before `start` wraps or not. */
static void open_ring(struct rti_ring *ring, uint32_t start)
{
    rti_ring_init(ring);
    rti_u32_init(&ring->head, start);
    rti_u32_init(&ring->tail, start);
}

static void push_many(struct rti_ring *ring, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CHECK(rti_ring_push(ring, &items[first + i]));
    }
}

TEST(ring_pops_in_order_and_is_full_at_its_capacity)
{
    struct rti_ring ring;
    rti_ring_init(&ring);
    CHECK(rti_ring_pop(&ring) == NULL);
    push_many(&ring, 0, CAPACITY);
    CHECK(!rti_ring_push(&ring, &items[0]));
    CHECK_EQ(rti_ring_audit(&ring), CAPACITY);
    CHECK_EQ(rti_ring_count(&ring), CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++) {
        CHECK(rti_ring_pop(&ring) == &items[i]);
    }
    CHECK(rti_ring_pop(&ring) == NULL);
    CHECK_EQ(rti_ring_audit(&ring), 0);
}

TEST(ring_takes_many_at_once_up_to_its_capacity_and_across_the_wrap)
{
    void *many[CAPACITY];
    for (size_t i = 0; i < CAPACITY; i++) {
        many[i] = &items[i];
    }
    for (size_t count = 0; count <= CAPACITY; count += CAPACITY / 4) {
        struct rti_ring ring;
        open_ring(&ring, UINT32_MAX - CAPACITY / 8);
        push_many(&ring, count, CAPACITY - count);
        CHECK_EQ(rti_ring_room(&ring), count);
        uint32_t tail = rti_u32_load_relaxed(&ring.tail);
        for (size_t i = 0; i < count; i++) {
            rti_ring_lay(&ring, tail + (uint32_t)i, many[i]);
        }
        CHECK_EQ(rti_ring_count(&ring), CAPACITY - count);
        rti_ring_publish(&ring, tail + (uint32_t)count);
        CHECK_EQ(rti_ring_audit(&ring), CAPACITY);
        CHECK(!rti_ring_push(&ring, &items[0]));
        for (size_t i = 0; i < CAPACITY; i++) {
            CHECK(rti_ring_pop(&ring) == &items[(i + count) % CAPACITY]);
        }
        CHECK(rti_ring_pop(&ring) == NULL);
    }
}

TEST(ring_steal_from_an_empty_ring_gives_null_and_changes_nothing)
{
    struct rti_ring victim;
    struct rti_ring thief;
    rti_ring_init(&victim);
    rti_ring_init(&thief);
    CHECK(rti_ring_steal(&victim, &thief) == NULL);
    CHECK_EQ(rti_ring_audit(&victim) + rti_ring_audit(&thief), 0);
}

TEST(ring_steal_takes_the_older_half_rounded_up_in_order)
{
    for (size_t count = 1; count <= CAPACITY; count++) {
        struct rti_ring victim;
        struct rti_ring thief;
        size_t half = (count + 1) / 2;
        open_ring(&victim, (uint32_t)(0U - count / 2));
        open_ring(&thief, (uint32_t)(0U - count / 4));
        push_many(&victim, 0, count);
        CHECK(rti_ring_steal(&victim, &thief) == &items[0]);
        CHECK_EQ(rti_ring_audit(&thief), half - 1);
        CHECK_EQ(rti_ring_audit(&victim), count - half);
        for (size_t i = 1; i < half; i++) {
            CHECK(rti_ring_pop(&thief) == &items[i]);
        }
        for (size_t i = half; i < count; i++) {
            CHECK(rti_ring_pop(&victim) == &items[i]);
        }
    }
}

TEST(ring_steal_into_a_ring_with_little_room_takes_what_fits)
{
    for (size_t room = 0; room <= 3; room++) {
        struct rti_ring victim;
        struct rti_ring thief;
        rti_ring_init(&victim);
        rti_ring_init(&thief);
        push_many(&victim, 0, CAPACITY);
        push_many(&thief, CAPACITY, CAPACITY - room);
        size_t taken = room + 1 < CAPACITY / 2 ? room + 1 : CAPACITY / 2;
        CHECK(rti_ring_steal(&victim, &thief) == &items[0]);
        CHECK_EQ(rti_ring_audit(&victim), CAPACITY - taken);
        CHECK_EQ(rti_ring_audit(&thief), CAPACITY - room + taken - 1);
        for (size_t i = 0; i < CAPACITY - room; i++) {
            CHECK(rti_ring_pop(&thief) == &items[CAPACITY + i]);
        }
        for (size_t i = 1; i < taken; i++) {
            CHECK(rti_ring_pop(&thief) == &items[i]);
        }
    }
}

TEST(ring_take_half_obeys_its_limit)
{
    struct rti_ring ring;
    void *out[CAPACITY];
    rti_ring_init(&ring);
    CHECK_EQ(rti_ring_take_half(&ring, out, CAPACITY), 0);
    push_many(&ring, 0, CAPACITY);
    CHECK_EQ(rti_ring_take_half(&ring, NULL, 0), 0);
    CHECK_EQ(rti_ring_take_half(&ring, out, 1), 1);
    CHECK(out[0] == &items[0]);
    CHECK_EQ(rti_ring_take_half(&ring, out, SIZE_MAX), CAPACITY / 2);
    for (size_t i = 0; i < CAPACITY / 2; i++) {
        CHECK(out[i] == &items[1 + i]);
    }
    CHECK_EQ(rti_ring_audit(&ring), CAPACITY / 2 - 1);
    CHECK(rti_ring_pop(&ring) == &items[1 + CAPACITY / 2]);
}

TEST(ring_take_half_of_one_takes_it)
{
    struct rti_ring ring;
    void *out[1];
    rti_ring_init(&ring);
    push_many(&ring, 7, 1);
    CHECK_EQ(rti_ring_take_half(&ring, out, 1), 1);
    CHECK(out[0] == &items[7]);
    CHECK(rti_ring_pop(&ring) == NULL);
}

/* The reference: plain arrays as queues. */
struct model {
    void *queue[CAPACITY];
    size_t count;
};

static void *model_take(struct model *model)
{
    void *item = model->queue[0];
    model->count--;
    memmove(model->queue, model->queue + 1, model->count * sizeof(void *));
    return item;
}

static void model_steal(struct model *victim, struct model *thief, void *oldest)
{
    if (victim->count == 0) {
        CHECK(oldest == NULL);
        return;
    }
    size_t count = (victim->count + 1) / 2;
    CHECK(oldest == model_take(victim));
    for (size_t i = 1; i < count && thief->count < CAPACITY; i++) {
        thief->queue[thief->count++] = model_take(victim);
    }
}

static void model_run(uint32_t start)
{
    static struct rti_ring rings[2];
    static struct model models[2];
    struct rti_rng rng;
    uint64_t steps = 20000;
    rti_rng_init(&rng, start);
    for (size_t i = 0; i < 2; i++) {
        open_ring(&rings[i], start);
        models[i].count = 0;
    }
    while (steps-- > 0) {
        size_t at = (size_t)rti_rng_below(&rng, 2);
        struct rti_ring *ring = &rings[at];
        struct model *model = &models[at];
        uint64_t choice = rti_rng_below(&rng, 1000);
        /* Long swings between filling and emptying reach both limits. */
        if (choice < (steps / 2500 % 2 == 0 ? 700 : 300)) {
            void *item = &items[rti_rng_below(&rng, sizeof(items))];
            CHECK(rti_ring_push(ring, item) == (model->count < CAPACITY));
            if (model->count < CAPACITY) {
                model->queue[model->count++] = item;
            }
        } else if (choice < 980) {
            void *item = rti_ring_pop(ring);
            CHECK(item == (model->count > 0 ? model_take(model) : NULL));
        } else if (choice < 995) {
            void *item = rti_ring_steal(ring, &rings[1 - at]);
            model_steal(model, &models[1 - at], item);
        } else {
            void *out[CAPACITY];
            size_t count = rti_ring_take_half(ring, out, CAPACITY);
            CHECK_EQ(count, (model->count + 1) / 2);
            for (size_t i = 0; i < count; i++) {
                CHECK(out[i] == model_take(model));
            }
        }
        CHECK_EQ(rti_ring_audit(ring), model->count);
    }
}

TEST(ring_agrees_with_plain_queues)
{
    model_run(0);
}

TEST(ring_counters_may_wrap_at_32_bits)
{
    model_run(UINT32_MAX - 1000);
    model_run(UINT32_MAX);
    model_run((uint32_t)INT32_MAX - 5);
}

/* One owner pushes and pops, two thieves steal and run what they stole. Each item carries a plain
 * number that its owner writes before the push, and a plain count of its takers: an item that is
 * taken twice or seen too early is a race for TSan as well as a wrong number. */
#define STRESS_ITEMS 300000

struct stress_item {
    uint32_t number;
    uint32_t takers;
};

static struct stress_item stress_items[STRESS_ITEMS];
static struct rti_ring stress_rings[3];
static rti_atomic_u32 taken_count;

static void run_item(void *arg)
{
    struct stress_item *item = arg;
    CHECK_EQ(item->number, item - stress_items + 1);
    CHECK_EQ(item->takers, 0);
    item->takers++;
    rti_u32_add_relaxed(&taken_count, 1);
}

static void *thief_main(void *arg)
{
    struct rti_ring *mine = arg;
    struct rti_ring *other = mine == &stress_rings[1] ? &stress_rings[2] : &stress_rings[1];
    unsigned hungry = 0;
    while (rti_u32_load_relaxed(&taken_count) < STRESS_ITEMS) {
        void *item = rti_ring_pop(mine);
        if (item == NULL) {
            item = rti_ring_steal(&stress_rings[0], mine);
        }
        if (item == NULL) {
            item = rti_ring_steal(other, mine);
        }
        if (item != NULL) {
            run_item(item);
        } else if (++hungry % 32 == 0) {
            sched_yield();
        }
    }
    return NULL;
}

/* Pushes an item, or makes room and runs what stood in the way. */
static void owner_push(struct rti_ring *mine, struct stress_item *item)
{
    item->number = (uint32_t)(item - stress_items) + 1;
    while (!rti_ring_push(mine, item)) {
        void *out[CAPACITY / 2];
        size_t count = rti_ring_take_half(mine, out, CAPACITY / 2);
        for (size_t i = 0; i < count; i++) {
            run_item(out[i]);
        }
    }
}

static void owner_pop(struct rti_ring *mine)
{
    void *item = rti_ring_pop(mine);
    if (item != NULL) {
        run_item(item);
    }
}

static void owner_main(struct rti_ring *mine)
{
    struct rti_rng rng;
    size_t next = 0;
    rti_rng_init(&rng, 80);
    while (next < STRESS_ITEMS) {
        /* Mostly a ring of a few items, where owner and thieves want the same one; sometimes a
         * burst that overflows it. */
        uint64_t burst = 1 + rti_rng_below(&rng, rti_rng_chance(&rng, 1, 500) ? 2 * CAPACITY : 3);
        for (uint64_t i = 0; i < burst && next < STRESS_ITEMS; i++) {
            owner_push(mine, &stress_items[next++]);
        }
        for (uint64_t i = 0; i < burst; i++) {
            owner_pop(mine);
        }
    }
    while (rti_u32_load_relaxed(&taken_count) < STRESS_ITEMS) {
        owner_pop(mine);
        sched_yield();
    }
}

TEST(ring_owner_and_two_thieves_take_every_item_exactly_once)
{
    pthread_t thieves[2];
    /* The counters wrap in the middle of the run. */
    for (size_t i = 0; i < 3; i++) {
        open_ring(&stress_rings[i], UINT32_MAX - 20000);
    }
    for (size_t i = 0; i < 2; i++) {
        CHECK(pthread_create(&thieves[i], NULL, thief_main, &stress_rings[1 + i]) == 0);
    }
    owner_main(&stress_rings[0]);
    for (size_t i = 0; i < 2; i++) {
        CHECK(pthread_join(thieves[i], NULL) == 0);
        CHECK_EQ(rti_ring_audit(&stress_rings[1 + i]), 0);
    }
    CHECK_EQ(rti_ring_audit(&stress_rings[0]), 0);
    for (size_t i = 0; i < STRESS_ITEMS; i++) {
        CHECK_EQ(stress_items[i].takers, 1);
    }
}

/* A chain: the owner only pushes, the middle one steals from it and runs the one item it is given,
 * the last one steals all the rest from the middle one. Nothing but the middle one's ring orders
 * the owner's writes before the last one's reads. */
static void *middle_main(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&taken_count) < STRESS_ITEMS) {
        void *item = NULL;
        if (rti_ring_count(&stress_rings[1]) == 0) {
            item = rti_ring_steal(&stress_rings[0], &stress_rings[1]);
        }
        if (item != NULL) {
            run_item(item);
        } else {
            sched_yield();
        }
    }
    return NULL;
}

static void *last_main(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&taken_count) < STRESS_ITEMS) {
        void *item = rti_ring_pop(&stress_rings[2]);
        if (item == NULL) {
            item = rti_ring_steal(&stress_rings[1], &stress_rings[2]);
        }
        if (item != NULL) {
            run_item(item);
        } else {
            sched_yield();
        }
    }
    return NULL;
}

TEST(ring_stolen_items_are_complete_for_the_next_thief)
{
    pthread_t threads[2];
    for (size_t i = 0; i < 3; i++) {
        rti_ring_init(&stress_rings[i]);
    }
    CHECK(pthread_create(&threads[0], NULL, middle_main, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, last_main, NULL) == 0);
    for (uint32_t i = 0; i < STRESS_ITEMS; i++) {
        stress_items[i].number = i + 1;
        while (!rti_ring_push(&stress_rings[0], &stress_items[i])) {
            sched_yield();
        }
    }
    for (size_t i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    for (size_t i = 0; i < STRESS_ITEMS; i++) {
        CHECK_EQ(stress_items[i].takers, 1);
    }
}

static void steal_from_itself(void *arg)
{
    rti_ring_steal(arg, arg);
}

static void audit_overfull(void *arg)
{
    struct rti_ring *ring = arg;
    rti_u32_init(&ring->tail, CAPACITY + 1);
    rti_ring_audit(ring);
}

static void audit_empty_slot(void *arg)
{
    struct rti_ring *ring = arg;
    rti_u32_init(&ring->tail, 1);
    rti_ring_audit(ring);
}

TEST(ring_misuse_panics)
{
    struct rti_ring ring;
    rti_ring_init(&ring);
    CHECK_PANICS("ring", steal_from_itself, &ring);
    CHECK_PANICS("ring", audit_overfull, &ring);
    CHECK_PANICS("ring", audit_empty_slot, &ring);
}
