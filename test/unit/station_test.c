/* SPDX-License-Identifier: Apache-2.0 */
/* Stations and the injector, one thread at a time: order, priorities, caps, halves. What happens
 * between threads is explored in test/model/. */
#define RTI_MODULE "station_test"
#include "sched/station.h"

#include <string.h>

#include "sched/injector.h"
#include "support/test.h"

#define RUNNABLES 600

static struct rti_sched sched;
static struct rti_injector injector;
static struct rti_station stations[2];
static struct rti_runnable runnables[RUNNABLES];

static void step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    (void)runnable;
    (void)worker;
}

static void start(void)
{
    sched.is_local = false;
    rti_injector_init(&injector, &sched);
    rti_station_init(&stations[0], 0, &sched);
    rti_station_init(&stations[1], 1, &sched);
    for (uint32_t i = 0; i < RUNNABLES; i++) {
        rti_runnable_init(&runnables[i], i, 2, step);
        rti_u32_init(&runnables[i].state, RTI_RUNNABLE_READY);
    }
}

static void queue(uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        rti_station_queue(&stations[0], &runnables[i], &injector);
    }
}

TEST(station_gives_out_each_level_in_order_and_the_urgent_first)
{
    start();
    runnables[1].priority = 0;
    runnables[3].priority = 0;
    queue(0, 5);
    static const uint32_t order[] = {1, 3, 0, 2, 4};
    for (size_t i = 0; i < RTI_COUNT_OF(order); i++) {
        CHECK_EQ(rti_station_pick(&stations[0])->id, order[i]);
    }
    CHECK(rti_station_pick(&stations[0]) == NULL);
    CHECK(rti_station_is_empty(&stations[0]));
}

TEST(station_next_goes_before_its_level_and_who_was_there_goes_to_the_ring)
{
    start();
    queue(0, 1);
    CHECK(!rti_station_queue_next(&stations[0], &runnables[1], &injector));
    CHECK(rti_station_queue_next(&stations[0], &runnables[2], &injector));
    CHECK_EQ(rti_station_audit(&stations[0]), 3);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 2);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 0);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 1);
}

TEST(station_next_waits_for_a_more_urgent_level)
{
    start();
    runnables[0].priority = 1;
    queue(0, 1);
    (void)rti_station_queue_next(&stations[0], &runnables[1], &injector);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 0);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 1);
}

TEST(station_chain_of_next_cannot_starve_the_ring_and_the_cap_is_counted)
{
    start();
    queue(0, 1);
    uint32_t from_next = 0;
    for (uint32_t i = 1; i < RUNNABLES; i++) {
        (void)rti_station_queue_next(&stations[0], &runnables[i], &injector);
        if (rti_station_pick(&stations[0])->id == 0) {
            break;
        }
        from_next++;
    }
    CHECK_EQ(from_next, RTI_STATION_STREAK_MAX);
    CHECK_EQ(rti_u64_load_relaxed(&stations[0].capped), 1);
}

TEST(station_that_is_full_spills_its_older_half_into_the_injector)
{
    start();
    queue(0, RTI_RING_CAPACITY);
    CHECK(rti_injector_is_empty(&injector));
    queue(RTI_RING_CAPACITY, 1);
    CHECK_EQ(rti_injector_audit(&injector), RTI_RING_CAPACITY / 2 + 1);
    CHECK_EQ(rti_station_audit(&stations[0]), RTI_RING_CAPACITY / 2);
    CHECK_EQ(rti_u64_load_relaxed(&stations[0].spills), 1);
    CHECK_EQ(rti_station_pick(&stations[0])->id, RTI_RING_CAPACITY / 2);
    CHECK_EQ(rti_injector_take(&injector, &stations[1], 1)->id, 0);
}

TEST(station_thief_takes_half_and_runs_the_oldest)
{
    start();
    queue(0, 10);
    CHECK_EQ(rti_station_steal(&stations[1], &stations[0])->id, 0);
    CHECK_EQ(rti_station_audit(&stations[1]), 4);
    CHECK_EQ(rti_station_audit(&stations[0]), 5);
    CHECK_EQ(rti_station_pick(&stations[1])->id, 1);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 5);
    CHECK_EQ(rti_u64_load_relaxed(&stations[1].steals), 1);
    CHECK_EQ(rti_u64_load_relaxed(&stations[1].stolen), 5);
}

TEST(station_whose_holder_does_nothing_is_not_quick)
{
    start();
    CHECK(!rti_station_is_quick(&stations[0]));
    queue(0, 10);
    CHECK(!rti_station_is_quick(&stations[0]));
    CHECK_EQ(rti_station_audit(&stations[0]), 10);
}

TEST(station_thief_takes_next_only_if_it_lies)
{
    start();
    (void)rti_station_queue_next(&stations[0], &runnables[0], &injector);
    CHECK(rti_station_steal(&stations[1], &stations[0]) == NULL);
    CHECK_EQ(rti_station_steal_next(&stations[1], &stations[0])->id, 0);
    CHECK(rti_station_steal_next(&stations[1], &stations[0]) == NULL);
}

TEST(injector_keeps_the_order_of_each_level_and_shares_out)
{
    start();
    runnables[2].priority = 0;
    for (uint32_t i = 0; i < 5; i++) {
        rti_injector_push(&injector, &runnables[i]);
    }
    CHECK_EQ(rti_injector_take(&injector, &stations[0], 3)->id, 2);
    CHECK_EQ(rti_station_audit(&stations[0]), 2);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 0);
    CHECK_EQ(rti_injector_take(&injector, &stations[0], 100)->id, 3);
    CHECK(rti_injector_is_empty(&injector));
    CHECK(rti_injector_take(&injector, &stations[0], 1) == NULL);
}

/* Starts so many that have not run: what the ring cannot hold goes to the backlog. */
static void start_fresh(uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        runnables[i].is_fresh = true;
    }
    queue(first, count);
}

#define HALF (RTI_RING_CAPACITY / 2)

TEST(station_that_is_full_lets_those_begin_first_that_were_started_last)
{
    start();
    start_fresh(0, RTI_RING_CAPACITY + 1);
    CHECK(rti_injector_is_empty(&injector));
    CHECK_EQ(rti_backlog_audit(&stations[0].backlog), HALF + 1);
    /* The younger half, then the older one and the newcomer, each in its order. */
    for (uint32_t i = HALF; i < RTI_RING_CAPACITY; i++) {
        CHECK_EQ(rti_station_pick(&stations[0])->id, i);
    }
    CHECK(!rti_station_is_empty(&stations[0]));
    for (uint32_t i = 0; i < HALF; i++) {
        CHECK_EQ(rti_station_pick(&stations[0])->id, i);
    }
    CHECK_EQ(rti_station_pick(&stations[0])->id, RTI_RING_CAPACITY);
    CHECK(rti_station_pick(&stations[0]) == NULL);
    CHECK(rti_station_is_empty(&stations[0]));
}

TEST(station_spills_who_has_run_into_the_injector_and_who_has_not_into_its_backlog)
{
    start();
    queue(0, 2);
    start_fresh(2, RTI_RING_CAPACITY - 1);
    CHECK_EQ(rti_injector_audit(&injector), 2);
    CHECK_EQ(rti_backlog_audit(&stations[0].backlog), HALF - 1);
    CHECK_EQ(rti_station_audit(&stations[0]), RTI_RING_CAPACITY - 1);
}

TEST(station_thief_takes_half_of_a_backlog)
{
    start();
    start_fresh(0, RTI_RING_CAPACITY + 1);
    while (rti_ring_count(&stations[0].levels[2]) > 0) {
        (void)rti_ring_pop(&stations[0].levels[2]);
    }
    CHECK_EQ(rti_station_steal(&stations[1], &stations[0])->id, 0);
    CHECK_EQ(rti_station_audit(&stations[1]), (HALF + 1) / 2);
    CHECK_EQ(rti_backlog_audit(&stations[0].backlog), HALF / 2);
    CHECK_EQ(rti_station_pick(&stations[1])->id, 1);
}

TEST(station_that_is_low_begins_a_share_of_its_backlog)
{
    start();
    start_fresh(0, RTI_RING_CAPACITY + 1);
    CHECK_EQ(rti_station_begin_old(&stations[0])->id, 0);
    CHECK_EQ(rti_backlog_audit(&stations[0].backlog), HALF);
    while (rti_ring_count(&stations[0].levels[2]) > 0) {
        (void)rti_ring_pop(&stations[0].levels[2]);
    }
    CHECK_EQ(rti_station_begin_old(&stations[0])->id, 1);
    CHECK_EQ(rti_backlog_audit(&stations[0].backlog), 0);
    CHECK_EQ(rti_station_audit(&stations[0]), HALF - 1);
}

/* Started to begin before the others. */
static void start_early(uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        runnables[i].is_fresh = true;
        rti_station_queue_early(&stations[0], &runnables[i]);
    }
}

TEST(station_early_ones_begin_last_first_before_the_ring_of_their_level)
{
    start();
    runnables[1].priority = 0;
    runnables[2].priority = 3;
    queue(0, 3);
    start_early(3, 2);
    CHECK(!rti_station_queue_next(&stations[0], &runnables[5], &injector));
    CHECK_EQ(rti_station_audit(&stations[0]), 6);
    static const uint32_t order[] = {1, 5, 4, 3, 0, 2};
    for (size_t i = 0; i < RTI_COUNT_OF(order); i++) {
        CHECK(!rti_station_is_empty(&stations[0]));
        CHECK_EQ(rti_station_pick(&stations[0])->id, order[i]);
    }
    CHECK(rti_station_is_empty(&stations[0]));
    CHECK(rti_station_pick(&stations[0]) == NULL);
}

TEST(station_chain_of_early_ones_cannot_starve_the_ring)
{
    start();
    queue(0, 1);
    for (uint32_t picks = 0;; picks++) {
        CHECK(picks <= RTI_STATION_EARLY_MAX);
        start_early(1, 1);
        struct rti_runnable *runnable = rti_station_pick(&stations[0]);
        if (runnable == &runnables[0]) {
            CHECK_EQ(picks, RTI_STATION_EARLY_MAX);
            break;
        }
        CHECK(runnable == &runnables[1]);
    }
    CHECK_EQ(rti_station_pick(&stations[0])->id, 1);
}

TEST(station_chain_of_early_ones_lets_all_others_begin)
{
    start();
    start_early(0, 10);
    uint32_t begun = 0;
    for (uint32_t picks = 0; begun < 10; picks++) {
        /* All that lie there become old at once, the chain itself among them. */
        CHECK(picks <= 11 * RTI_STATION_BEGIN_MAX);
        start_early(10, 1);
        struct rti_runnable *runnable = rti_station_pick(&stations[0]);
        if (runnable != &runnables[10]) {
            begun++;
            /* The chain goes on by the one that it has. */
            CHECK(rti_station_pick(&stations[0]) == &runnables[10]);
        }
    }
}

TEST(station_chain_of_next_cannot_starve_early_ones)
{
    for (int is_pair = 0; is_pair < 2; is_pair++) {
        start();
        start_early(0, 1);
        uint32_t taken = 0;
        for (;;) {
            CHECK(taken <= RTI_STATION_STREAK_MAX);
            CHECK(!rti_station_queue_next(&stations[0], &runnables[1], &injector));
            struct rti_runnable *runnable =
                is_pair != 0 ? rti_station_pick_next(&stations[0], false) : NULL;
            if (runnable == NULL) {
                runnable = rti_station_pick(&stations[0]);
            }
            if (runnable == &runnables[0]) {
                break;
            }
            taken++;
        }
        CHECK_EQ(taken, RTI_STATION_STREAK_MAX);
    }
}

TEST(station_chain_of_next_and_early_ones_cannot_starve_the_ring)
{
    /* Those that are woken in a row between two that begin. */
    for (uint32_t woken = 1; woken <= RTI_STATION_STREAK_MAX + 1; woken++) {
        start();
        queue(0, 1);
        for (uint32_t picks = 0;; picks++) {
            CHECK(picks <= RTI_STATION_EARLY_MAX + 2 * RTI_STATION_STREAK_MAX);
            if (rti_deque_is_empty(&stations[0].early)) {
                start_early(1, 1);
            }
            if (picks % (woken + 1) < woken && rti_ptr_load_relaxed(&stations[0].next) == NULL) {
                CHECK(!rti_station_queue_next(&stations[0], &runnables[2], &injector));
            }
            if (rti_station_pick(&stations[0]) == &runnables[0]) {
                break;
            }
        }
    }
}

TEST(station_early_ones_are_as_urgent_as_the_most_urgent_that_is_left)
{
    start();
    runnables[0].priority = 0;
    runnables[1].priority = 3;
    runnables[2].priority = 3;
    start_early(1, 2);
    start_early(0, 1);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 0);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 2);
    queue(3, 1);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 3);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 1);
}

TEST(station_thief_takes_the_oldest_of_the_early_ones)
{
    start();
    start_early(0, 9);
    CHECK_EQ(rti_station_steal(&stations[1], &stations[0])->id, 0);
    CHECK_EQ(rti_u64_load_relaxed(&stations[1].stolen), 1);
    CHECK_EQ(rti_station_audit(&stations[1]), 0);
    CHECK_EQ(rti_station_audit(&stations[0]), 8);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 8);
    for (uint32_t i = 1; i < 8; i++) {
        CHECK_EQ(rti_station_steal(&stations[1], &stations[0])->id, i);
    }
    CHECK(rti_station_steal(&stations[1], &stations[0]) == NULL);
    CHECK(rti_station_is_empty(&stations[0]));
    CHECK(rti_station_pick(&stations[0]) == NULL);
    start_early(20, 1);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 20);
}

TEST(station_thief_takes_half_of_the_early_ones_that_were_set_aside)
{
    start();
    for (uint32_t i = 0; i < 9; i++) {
        runnables[i].priority = 1;
    }
    start_early(0, 9);
    CHECK_EQ(rti_station_steal(&stations[1], &stations[0])->id, 8);
    CHECK_EQ(rti_u64_load_relaxed(&stations[1].stolen), 5);
    CHECK_EQ(rti_station_audit(&stations[1]), 4);
    CHECK_EQ(rti_station_audit(&stations[0]), 4);
    CHECK_EQ(rti_station_pick(&stations[0])->id, 3);
}

TEST(station_with_more_early_ones_than_it_has_room_for_keeps_their_order)
{
    const uint32_t count = 3 * RTI_DEQUE_CAPACITY + 1;
    start();
    start_early(0, count);
    CHECK_EQ(rti_station_audit(&stations[0]), count);
    CHECK(!rti_backlog_is_empty(&stations[0].early_rest));
    for (uint32_t i = count; i > 0; i--) {
        CHECK(!rti_station_is_empty(&stations[0]));
        CHECK_EQ(rti_station_pick(&stations[0])->id, i - 1);
    }
    CHECK(rti_station_is_empty(&stations[0]));
    CHECK(rti_station_pick(&stations[0]) == NULL);
}

TEST(station_chain_of_early_ones_lets_those_begin_that_were_set_aside)
{
    const uint32_t count = 2 * RTI_DEQUE_CAPACITY;
    static bool has_begun[2 * RTI_DEQUE_CAPACITY];
    start();
    start_early(0, count);
    uint32_t begun = 0;
    memset(has_begun, 0, sizeof(has_begun));
    for (uint32_t picks = 0; begun < count; picks++) {
        CHECK(picks <= 2 * (count + 2) * RTI_STATION_BEGIN_MAX);
        start_early(count, 1);
        struct rti_runnable *runnable = rti_station_pick(&stations[0]);
        if (runnable->id < count) {
            CHECK(!has_begun[runnable->id]);
            has_begun[runnable->id] = true;
            begun++;
            CHECK(rti_station_pick(&stations[0])->id == count);
        }
    }
}
