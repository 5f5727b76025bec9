/* SPDX-License-Identifier: Apache-2.0 */
/* The heap and the sort that the wheel stands on, alone. */
#define RTI_MODULE "timer_heap_test"
#include "time/timer_heap.h"

#include "base/rng.h"
#include "support/test.h"
#include "time/timer_list.h"

#define COUNT 2000u

static struct rti_timer timers[COUNT];
static struct rti_timer_heap heap;

static void prepare(unsigned i, uint64_t deadline_ns)
{
    rti_timer_init(&timers[i], NULL);
    timers[i].deadline_ns = deadline_ns;
    timers[i].seq = i;
}

/* Takes all out and demands that they come in order; returns how many there were. */
static size_t drain(void)
{
    size_t count = 0;
    const struct rti_timer *last = NULL;
    while (heap.root != NULL) {
        struct rti_timer *timer = heap.root;
        CHECK(last == NULL || rti_timer_precedes(last, timer));
        rti_timer_heap_remove(&heap, timer);
        CHECK(!rti_timer_is_armed(timer));
        last = timer;
        count++;
    }
    return count;
}

TEST(timer_order_is_by_deadline_then_by_arming_also_where_the_count_wraps)
{
    struct rti_timer a = {.deadline_ns = 5, .seq = (rti_timer_seq)-1};
    struct rti_timer b = {.deadline_ns = 5, .seq = 0};
    struct rti_timer c = {.deadline_ns = 6, .seq = (rti_timer_seq)-2};
    CHECK(rti_timer_precedes(&a, &b) && !rti_timer_precedes(&b, &a));
    CHECK(rti_timer_precedes(&b, &c) && !rti_timer_precedes(&c, &b));
    CHECK(!rti_timer_precedes(&a, &a));
}

TEST(timer_heap_gives_the_earliest_first_whatever_the_order_of_insertion)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 1);
    for (unsigned shape = 0; shape < 4; shape++) {
        for (unsigned i = 0; i < COUNT; i++) {
            const uint64_t deadlines[] = {i, COUNT - i, 7, rti_rng_below(&rng, COUNT)};
            prepare(i, deadlines[shape]);
            rti_timer_heap_insert(&heap, &timers[i]);
        }
        CHECK_EQ(rti_timer_heap_audit(&heap), COUNT);
        CHECK_EQ(drain(), COUNT);
        CHECK_EQ(rti_timer_heap_audit(&heap), 0);
    }
}

TEST(timer_heap_gives_up_any_timer_and_keeps_the_order_of_the_others)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 2);
    size_t count = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        prepare(i, 0);
    }
    for (unsigned step = 0; step < 100000; step++) {
        struct rti_timer *timer = &timers[rti_rng_below(&rng, COUNT)];
        if (rti_timer_is_armed(timer)) {
            rti_timer_heap_remove(&heap, timer);
            count--;
        } else {
            timer->deadline_ns = rti_rng_below(&rng, 500);
            timer->seq = step;
            rti_timer_heap_insert(&heap, timer);
            count++;
        }
        if (step % 10 == 0 && heap.root != NULL) {
            rti_timer_heap_remove(&heap, heap.root);
            count--;
        }
        if (step % 1000 == 0) {
            CHECK_EQ(rti_timer_heap_audit(&heap), count);
        }
    }
    CHECK_EQ(drain(), count);
}

static void audit_of_a_wrong_order(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 100; i++) {
        prepare(i, i);
        rti_timer_heap_insert(&heap, &timers[i]);
    }
    rti_timer_heap_remove(&heap, heap.root);
    timers[99].deadline_ns = 0;
    rti_timer_heap_audit(&heap);
}

static void audit_of_a_wrong_link(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 100; i++) {
        prepare(i, i);
        rti_timer_heap_insert(&heap, &timers[i]);
    }
    timers[50].back = &heap.root;
    rti_timer_heap_audit(&heap);
}

TEST(timer_heap_audit_sees_a_wrong_order_and_a_wrong_link)
{
    CHECK_PANICS("timer_heap", audit_of_a_wrong_order, NULL);
    CHECK_PANICS("timer_heap", audit_of_a_wrong_link, NULL);
}

TEST(timer_list_sort_orders_any_length_and_loses_nothing)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 3);
    for (unsigned length = 0; length < COUNT; length = length < 40 ? length + 1 : length * 2 + 1) {
        struct rti_timer *list = NULL;
        for (unsigned i = 0; i < length; i++) {
            prepare(i, rti_rng_below(&rng, length));
            timers[i].next = list;
            list = &timers[i];
        }
        CHECK(rti_timers_are_at_most(list, length));
        CHECK(length == 0 || !rti_timers_are_at_most(list, length - 1));
        uint64_t least = rti_timers_least(list);
        list = rti_timers_sort(list);
        CHECK(least == (list == NULL ? RTI_TIME_NEVER : list->deadline_ns));
        unsigned count = 0;
        for (; list != NULL; list = list->next) {
            CHECK(list->next == NULL || rti_timer_precedes(list, list->next));
            count++;
        }
        CHECK_EQ(count, length);
    }
}

#if !RTI_ONE_WORKER

/* Timers whose pointers to what they wake lie where they like. */
struct aimer {
    void *before;
    struct rti_timer timer;
    void *after;
    char far[1 << 16];
    void *out_of_reach;
};

static void fires_nothing(struct rti_timer *timer)
{
    (void)timer;
}

TEST(timer_aims_at_what_is_near_and_at_nothing_far)
{
    static struct aimer aimer;
    struct rti_timer *timer = &aimer.timer;
    rti_timer_init(timer, fires_nothing);
    CHECK_EQ(timer->aim, 0);
    rti_timer_foresee(timer);
    rti_timer_aim(timer, &aimer.after);
    CHECK_EQ((char *)timer + timer->aim - (char *)&aimer.after, 0);
    rti_timer_foresee(timer); /* a null pointer */
    aimer.after = &aimer;
    rti_timer_foresee(timer);
    rti_timer_aim(timer, &aimer.before);
    CHECK_EQ((char *)timer + timer->aim - (char *)&aimer.before, 0);
    rti_timer_aim(timer, &aimer.out_of_reach);
    CHECK_EQ(timer->aim, 0);
}

#endif
