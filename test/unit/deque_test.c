/* SPDX-License-Identifier: Apache-2.0 */
/* The deque, one thread at a time: both ends, its room, its wrap. What happens between threads is
 * explored in test/model/. */
#include "base/deque.h"

#include "support/test.h"

#define CAPACITY RTI_DEQUE_CAPACITY

static char items[2 * CAPACITY];

static void open_deque(struct rti_deque *deque, uint32_t start)
{
    rti_deque_init(deque);
    rti_u32_init(&deque->top, start);
    rti_u32_init(&deque->bottom, start);
}

static void push_many(struct rti_deque *deque, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CHECK(rti_deque_push(deque, &items[first + i]));
    }
}

TEST(deque_pops_the_last_and_gives_thieves_the_oldest)
{
    struct rti_deque deque;
    rti_deque_init(&deque);
    CHECK(rti_deque_is_empty(&deque));
    CHECK(rti_deque_pop(&deque) == NULL && rti_deque_steal(&deque) == NULL);
    push_many(&deque, 0, 4);
    CHECK(!rti_deque_is_empty(&deque));
    CHECK(rti_deque_pop(&deque) == &items[3]);
    CHECK(rti_deque_steal(&deque) == &items[0]);
    push_many(&deque, 4, 1);
    CHECK_EQ(rti_deque_audit(&deque), 3);
    CHECK(rti_deque_pop(&deque) == &items[4]);
    CHECK(rti_deque_pop(&deque) == &items[2]);
    CHECK(rti_deque_pop(&deque) == &items[1]);
    CHECK(rti_deque_pop(&deque) == NULL && rti_deque_steal(&deque) == NULL);
    CHECK(rti_deque_is_empty(&deque));
}

TEST(deque_is_full_at_its_capacity_and_half_of_it_makes_room)
{
    struct rti_deque deque;
    void *half[CAPACITY / 2];
    rti_deque_init(&deque);
    push_many(&deque, 0, CAPACITY);
    CHECK(!rti_deque_push(&deque, &items[CAPACITY]));
    CHECK_EQ(rti_deque_audit(&deque), CAPACITY);
    CHECK_EQ(rti_deque_take_half(&deque, half), CAPACITY / 2);
    for (size_t i = 0; i < CAPACITY / 2; i++) {
        CHECK(half[i] == &items[i]);
    }
    push_many(&deque, CAPACITY, CAPACITY / 2);
    CHECK(!rti_deque_push(&deque, &items[0]));
    for (size_t i = CAPACITY; i > 0; i--) {
        CHECK(rti_deque_pop(&deque) == &items[CAPACITY / 2 + i - 1]);
    }
    CHECK_EQ(rti_deque_take_half(&deque, half), 0);
}

TEST(deque_goes_on_where_its_counters_wrap)
{
    struct rti_deque deque;
    for (uint32_t before = 0; before < 4; before++) {
        open_deque(&deque, 0U - before);
        for (size_t round = 0; round < 3; round++) {
            push_many(&deque, 0, 3);
            CHECK(!rti_deque_is_empty(&deque));
            CHECK(rti_deque_steal(&deque) == &items[0]);
            CHECK(rti_deque_pop(&deque) == &items[2]);
            CHECK(rti_deque_pop(&deque) == &items[1]);
            CHECK(rti_deque_pop(&deque) == NULL);
        }
        CHECK(rti_deque_is_empty(&deque));
    }
}
