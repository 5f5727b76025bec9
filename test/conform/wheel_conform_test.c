/* SPDX-License-Identifier: Apache-2.0 */
/* The timer part of channel-timer-kernel.md, rule by rule, against the public wheel. The cases that
 * begin with tm_ are the specification's fixtures. */
#define RTI_MODULE "wheel_conform_test"
#include <orrery/rt/wheel.h>

#include "base/rng.h"
#include "support/test.h"
#include "time/wheel.h"
#include "time/wheel_api.h"

#define MS       RT_NS_PER_MS
#define SEC      RT_NS_PER_S
#define HOUR     (3600 * SEC)
#define DAY      (24 * HOUR)
#define CAPACITY 64u

static rt_wheel wheel;
static rt_wheel_node nodes[CAPACITY];
static rt_waker due[CAPACITY];
static unsigned woken[CAPACITY]; /* how often each waker was called */

static void wake(void *arg)
{
    ++*(unsigned *)arg;
}

static rt_waker waker(unsigned number)
{
    return (rt_waker){wake, &woken[number]};
}

static unsigned number_of(rt_waker from)
{
    return (unsigned)((unsigned *)from.arg - woken);
}

static void start(rt_time now)
{
    rt_wheel_config config = {.nodes = nodes, .max_timer_nodes = CAPACITY};
    CHECK_OK(rt_wheel_init(&wheel, &config, now));
}

static rt_wheel_handle add(unsigned number, rt_time deadline)
{
    rt_wheel_handle handle = {0, 0};
    CHECK_OK(rt_wheel_register(&wheel, deadline, waker(number), &handle));
    CHECK(handle.generation != 0);
    return handle;
}

/* Collects all that is due, wakes it, and returns how many. */
static size_t collect(rt_time now)
{
    size_t count = rt_wheel_collect_expired(&wheel, now, due, CAPACITY);
    for (size_t i = 0; i < count; i++) {
        due[i].fn(due[i].arg);
    }
    rti_wheel_api_audit(&wheel);
    return count;
}

/* Whether the wheel's storage still holds a pointer to `what`. */
static bool storage_mentions(const void *what)
{
    uintptr_t word;
    for (size_t i = 0; i + sizeof(word) <= sizeof(nodes); i += sizeof(word)) {
        memcpy(&word, (const char *)nodes + i, sizeof(word));
        if (word == (uintptr_t)what) {
            return true;
        }
    }
    return false;
}

/* ---- fixtures of section 6.2 ---- */

/* For cases that look at where timers lie; what fires when is the same in every geometry. */
static void needs_the_large_wheel(void)
{
    if (RTI_WHEEL_SLOTS != 256) {
        test_skip("this build has the small wheel");
    }
}

TEST(tm_insert_fire_001_a_timer_fires_at_its_deadline_and_wakes_its_waker)
{
    start(7);
    add(0, 7 + 50 * MS);
    CHECK_EQ(rt_wheel_count(&wheel), 1);
    CHECK(rt_wheel_next_deadline(&wheel) == 7 + 50 * MS);
    CHECK_EQ(collect(6 + 50 * MS), 0);
    CHECK_EQ(woken[0], 0);
    CHECK_EQ(collect(7 + 50 * MS), 1);
    CHECK_EQ(woken[0], 1);
    CHECK_EQ(collect(8 * DAY), 0);
    CHECK_EQ(woken[0], 1);
    CHECK_EQ(rt_wheel_count(&wheel), 0);
}

TEST(tm_cancel_001_a_cancelled_timer_does_not_fire)
{
    start(0);
    rt_wheel_handle handle = add(0, 50 * MS);
    CHECK(rt_wheel_cancel(&wheel, &handle));
    CHECK_EQ(rt_wheel_count(&wheel), 0);
    CHECK_EQ(collect(DAY), 0);
    CHECK_EQ(woken[0], 0);
}

TEST(tm_cancel_002_a_stale_handle_cancels_nothing)
{
    start(0);
    rt_wheel_handle stale = add(0, 50 * MS);
    CHECK(rt_wheel_cancel(&wheel, &stale));
    rt_wheel_handle live = add(1, 60 * MS); /* in the same storage */
    CHECK(!rt_wheel_cancel(&wheel, &stale));
    rt_wheel_handle mixed = {live.id, stale.generation};
    CHECK(!rt_wheel_cancel(&wheel, &mixed));
    mixed = (rt_wheel_handle){stale.id, live.generation};
    CHECK(!rt_wheel_cancel(&wheel, &mixed));
    CHECK_EQ(collect(60 * MS), 1);
    CHECK_EQ(woken[1], 1);
}

TEST(tm_cancel_003_cancel_after_the_timer_fired_is_false)
{
    start(0);
    rt_wheel_handle handle = add(0, 50 * MS);
    CHECK_EQ(collect(50 * MS), 1);
    CHECK(!rt_wheel_cancel(&wheel, &handle));
    CHECK_EQ(rt_wheel_double_cancels(&wheel), 0);
}

TEST(tm_tiebreak_001_equal_deadlines_fire_in_the_order_of_registration)
{
    start(0);
    /* The same deadline from four distances, hence from four places in the wheel. */
    for (unsigned i = 0; i < 10; i++) {
        add(i, 2 * DAY);
    }
    CHECK_EQ(collect(2 * DAY - HOUR), 0);
    for (unsigned i = 10; i < 20; i++) {
        add(i, 2 * DAY);
    }
    CHECK_EQ(collect(2 * DAY - 100 * MS), 0);
    for (unsigned i = 20; i < 30; i++) {
        add(i, 2 * DAY);
    }
    CHECK_EQ(collect(2 * DAY), 30);
    for (unsigned i = 0; i < 30; i++) {
        CHECK_EQ(number_of(due[i]), i);
    }
    for (unsigned i = 0; i < 5; i++) {
        add(i, 2 * DAY); /* has passed: due at once, still in order */
    }
    CHECK_EQ(collect(2 * DAY), 5);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQ(number_of(due[i]), i);
    }
}

/* The level of the kernel's wheel that a timer lies on, counted in milliseconds, or -1. */
static int level_of(const struct rti_timer *timer)
{
    return timer->place < RTI_WHEEL_PLACES ? (int)(timer->place / RTI_WHEEL_SLOTS) - 1 : -1;
}

TEST(tm_cascade_001_a_timer_lies_on_the_level_of_its_distance_and_comes_down)
{
    needs_the_large_wheel();
    static struct rti_wheel core;
    static const uint64_t deadlines_ms[] = {200, 60000, 3600000, 50000000};
    rti_wheel_init(&core, 0);
    for (int level = 0; level < 4; level++) {
        struct rti_timer timer;
        rti_timer_init(&timer, NULL);
        rti_wheel_init(&core, 0);
        rti_wheel_arm(&core, &timer, deadlines_ms[level] * MS);
        CHECK_EQ(level_of(&timer), level);
        for (int lower = level; lower >= 0; lower--) {
            /* Just in time for the level below: a timer never goes up. */
            uint64_t ahead_ms = UINT64_C(1) << 8 * lower;
            CHECK(rti_wheel_take(&core, (deadlines_ms[level] - ahead_ms) * MS) == NULL);
            CHECK(level_of(&timer) <= lower);
            CHECK_EQ(rti_wheel_audit(&core), 1);
        }
        CHECK(rti_wheel_take(&core, deadlines_ms[level] * MS - 1) == NULL);
        CHECK(rti_wheel_take(&core, deadlines_ms[level] * MS) == &timer);
    }
}

TEST(tm_overflow_001_a_timer_beyond_the_wheel_waits_in_the_heap_and_comes_back)
{
    needs_the_large_wheel();
    static struct rti_wheel core;
    struct rti_timer timer;
    rti_timer_init(&timer, NULL);
    rti_wheel_init(&core, 0);
    rti_wheel_arm(&core, &timer, 3 * DAY);
    CHECK(core.overflow.root == &timer);
    CHECK(rti_wheel_take(&core, 2 * DAY) == NULL);
    CHECK(core.overflow.root == &timer);
    CHECK(rti_wheel_take(&core, 2 * DAY + MS) == NULL);
    CHECK(core.overflow.root == NULL);
    CHECK_EQ(rti_wheel_audit(&core), 1);
    CHECK(rti_wheel_take(&core, 3 * DAY - 1) == NULL);
    CHECK(rti_wheel_take(&core, 3 * DAY) == &timer);

    start(0);
    add(0, 7 * DAY);
    add(1, 3 * DAY);
    add(2, DAY);
    add(3, HOUR);
    CHECK_EQ(collect(8 * DAY), 4);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(number_of(due[i]), 3 - i);
    }
}

TEST(tm_skip_001_a_large_jump_fires_all_in_order)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 3);
    start(0);
    for (unsigned i = 0; i < CAPACITY; i++) {
        add(i, rti_rng_below(&rng, RTI_NS_PER_MS << rti_rng_below(&rng, 30)));
    }
    rt_time last = 0;
    size_t count = 0;
    /* One by one, so that the order can be seen from the next deadline. */
    while (rt_wheel_count(&wheel) > 0) {
        rt_time next = rt_wheel_next_deadline(&wheel);
        CHECK(next >= last);
        last = next;
        CHECK_EQ(rt_wheel_collect_expired(&wheel, 8 * DAY, due, 1), 1);
        CHECK(++woken[number_of(due[0])] == 1);
        count++;
    }
    CHECK_EQ(count, CAPACITY);
    CHECK_EQ(collect(UINT64_MAX - 1), 0);
}

TEST(tm_update_001_the_old_handle_is_stale_and_the_new_one_is_live)
{
    start(0);
    rt_wheel_handle old = add(0, 50 * MS);
    rt_wheel_handle new;
    CHECK_OK(rt_wheel_update(&wheel, &old, 90 * MS, waker(1), &new));
    CHECK_EQ(rt_wheel_count(&wheel), 1);
    CHECK(new.id != old.id &&new.generation != old.generation);
    CHECK(!rt_wheel_cancel(&wheel, &old));
    CHECK_EQ(collect(89 * MS), 0);
    CHECK_EQ(collect(90 * MS), 1);
    CHECK_EQ(woken[0], 0);
    CHECK_EQ(woken[1], 1);
    CHECK(!rt_wheel_cancel(&wheel, &new));
}

TEST(tm_exhaustion_001_a_full_wheel_refuses_and_changes_nothing)
{
    start(0);
    rt_wheel_handle handles[CAPACITY];
    for (unsigned i = 0; i < CAPACITY; i++) {
        handles[i] = add(i, (i + 1) * MS);
    }
    for (unsigned i = 0; i < 3; i++) {
        rt_wheel_handle handle = {77, 88};
        rt_status status = rt_wheel_register(&wheel, MS, waker(0), &handle);
        CHECK_STATUS(status, RT_ERR_RESOURCE_EXHAUSTED);
        CHECK(handle.id == 77 && handle.generation == 88);
        CHECK_EQ(rti_wheel_api_audit(&wheel), CAPACITY);
    }
    CHECK(rt_wheel_cancel(&wheel, &handles[5]));
    add(5, 6 * MS);
    rt_wheel_handle handle;
    CHECK_STATUS(rt_wheel_register(&wheel, MS, waker(0), &handle), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_EQ(collect(DAY), CAPACITY);
    for (unsigned i = 0; i < CAPACITY; i++) {
        CHECK_EQ(woken[i], 1);
    }
    add(0, 2 * DAY);
}

TEST(tm_duration_exceeded_001_a_timer_too_far_away_is_refused)
{
    start(5);
    rt_wheel_handle handle = {77, 88};
    CHECK_STATUS(rt_wheel_register(&wheel, 5 + 7 * DAY + 1, waker(0), &handle),
                 RT_ERR_TIMER_DURATION_EXCEEDED);
    CHECK_STATUS(rt_wheel_register(&wheel, RT_TIME_NEVER, waker(0), &handle),
                 RT_ERR_TIMER_DURATION_EXCEEDED);
    CHECK(handle.id == 77 && handle.generation == 88);
    CHECK_EQ(rt_wheel_count(&wheel), 0);
    CHECK_EQ(rti_wheel_api_audit(&wheel), 0);
    add(0, 5 + 7 * DAY);
    CHECK_EQ(collect(6), 0);
    add(1, 6 + 7 * DAY);
    CHECK_EQ(collect(6 + 7 * DAY), 2);
}

/* Fills, half cancels and empties a wheel of `capacity` whose registrations begin at `generation`,
 * before a wrap. */
static void wrap(unsigned capacity, uint64_t generation)
{
    rt_wheel_config config = {.nodes = nodes, .max_timer_nodes = capacity};
    rt_wheel_handle handles[CAPACITY];
    CHECK_OK(rt_wheel_init(&wheel, &config, 0));
    rti_wheel_api_start_at(&wheel, generation);
    memset(woken, 0, sizeof(woken));
    for (unsigned i = 0; i < capacity; i++) {
        handles[i] = add(i, (i + 1) * MS);
        for (unsigned j = 0; j < i; j++) {
            CHECK(handles[i].id != handles[j].id);
            CHECK(handles[i].generation != handles[j].generation);
        }
    }
    CHECK_EQ(rti_wheel_api_audit(&wheel), capacity);
    for (unsigned i = 0; i < capacity; i += 2) {
        CHECK(rt_wheel_cancel(&wheel, &handles[i]));
        rt_wheel_handle again = add(i, 2 * SEC);
        CHECK(!rt_wheel_cancel(&wheel, &handles[i]));
        CHECK(rt_wheel_cancel(&wheel, &again));
    }
    CHECK_EQ(collect(SEC), capacity / 2);
    for (unsigned i = 0; i < capacity; i++) {
        CHECK(!rt_wheel_cancel(&wheel, &handles[i]));
        CHECK_EQ(woken[i], i % 2);
    }
}

TEST(tm_generation_wrap_001_ids_and_generations_wrap_without_confusion)
{
    for (unsigned before = 0; before < 3 * CAPACITY; before++) {
        unsigned few = 1 + before % 5;
        wrap(CAPACITY, UINT64_MAX - before);
        wrap(few, UINT64_MAX - before % 7);
        /* The id is the generation moved up, and wraps the sooner the more nodes there are. */
        for (unsigned bits = 1; bits <= 8; bits++) {
            wrap(few, (UINT64_MAX >> bits) - before % 7);
        }
    }
}

TEST(wheel_refuses_a_handle_of_which_one_half_is_wrong)
{
    rt_wheel_config config = {.nodes = nodes, .max_timer_nodes = 3};
    CHECK_OK(rt_wheel_init(&wheel, &config, 0));
    rt_wheel_handle handle = add(0, MS);
    rt_wheel_handle neighbour = add(1, MS);
    const rt_wheel_handle wrong[] = {
        {handle.id, handle.generation + 1},
        {handle.id, handle.generation - 1},
        {handle.id, neighbour.generation},
        {neighbour.id, handle.generation},
        {handle.id ^ UINT64_C(1) << 63, handle.generation},
        {handle.id + 4, handle.generation},
        {handle.id | 3, handle.generation}, /* a fourth node, of three */
        {UINT64_MAX, UINT64_MAX},
        {0, 0},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK(!rt_wheel_cancel(&wheel, &wrong[i]));
    }
    CHECK_EQ(rt_wheel_double_cancels(&wheel), 0);
    CHECK_EQ(rti_wheel_api_audit(&wheel), 2);
    CHECK(handle.id < neighbour.id && handle.generation < neighbour.generation);
    CHECK(rt_wheel_cancel(&wheel, &handle));
    CHECK(rt_wheel_cancel(&wheel, &neighbour));
}

/* ---- section 2.1: structure ---- */

TEST(wheel_has_four_levels_of_256_slots_from_one_millisecond_up)
{
    needs_the_large_wheel();
    static struct rti_wheel core;
    static const uint64_t first_ms[] = {1, 256, 65536, 16777216};
    rti_wheel_init(&core, 0);
    rti_wheel_set_horizon(&core, UINT64_MAX);
    for (int level = 0; level < 4; level++) {
        for (uint64_t slot = 1; slot < 256; slot++) {
            struct rti_timer timer;
            rti_timer_init(&timer, NULL);
            rti_wheel_arm(&core, &timer, slot * first_ms[level] * MS);
            CHECK_EQ(level_of(&timer), level);
            CHECK_EQ(timer.place % RTI_WHEEL_SLOTS, slot);
            CHECK(rti_wheel_disarm(&core, &timer));
        }
    }
}

TEST(wheel_gives_each_occupied_slot_its_bit)
{
    static struct rti_wheel core;
    struct rti_timer timers[2];
    rti_wheel_init(&core, 0);
    for (unsigned i = 0; i < 2; i++) {
        rti_timer_init(&timers[i], NULL);
        rti_wheel_arm(&core, &timers[i], 100 * MS);
    }
    uint32_t place = timers[0].place;
    CHECK(core.occupied[place / 64] >> (place % 64) & 1);
    CHECK(rti_wheel_disarm(&core, &timers[0]));
    CHECK(core.occupied[place / 64] >> (place % 64) & 1);
    CHECK(rti_wheel_disarm(&core, &timers[1]));
    CHECK(core.occupied[place / 64] == 0 && core.summary == 0);
}

TEST(wheel_durations_default_to_a_day_and_a_week_and_can_be_set)
{
    rt_wheel_config config;
    start(0);
    CHECK_OK(rt_wheel_get_config(&wheel, &config));
    CHECK(config.max_wheel_duration == DAY);
    CHECK(config.max_timer_duration == 7 * DAY);
    CHECK(config.nodes == nodes);
    CHECK_EQ(config.max_timer_nodes, CAPACITY);
    config = (rt_wheel_config){.nodes = nodes,
                               .max_timer_nodes = 2,
                               .max_wheel_duration = SEC,
                               .max_timer_duration = UINT64_MAX};
    CHECK_OK(rt_wheel_init(&wheel, &config, 0));
    add(0, SEC - MS);
    CHECK(rti_wheel_api_core(&wheel)->overflow.root == NULL);
    add(1, SEC);
    CHECK(rti_wheel_api_core(&wheel)->overflow.root != NULL);
    CHECK_EQ(collect(SEC), 2);
    add(0, 300 * DAY);
    add(1, RT_TIME_NEVER);
    CHECK(rti_wheel_api_core(&wheel)->overflow.root != NULL);
    CHECK_EQ(collect(300 * DAY - 1), 0);
    CHECK_EQ(collect(300 * DAY), 1);
    CHECK_EQ(rt_wheel_count(&wheel), 1);
    config.max_timer_duration = MS;
    CHECK_OK(rt_wheel_init(&wheel, &config, 0));
    rt_wheel_handle handle;
    CHECK_STATUS(rt_wheel_register(&wheel, MS + 1, waker(0), &handle),
                 RT_ERR_TIMER_DURATION_EXCEEDED);
}

/* ---- section 2.2: insertion ---- */

TEST(wheel_ids_and_generations_grow_with_each_registration)
{
    start(0);
    rt_wheel_handle last = {0, 0};
    for (unsigned i = 0; i < 1000; i++) {
        rt_wheel_handle handle = add(0, MS);
        CHECK(handle.id > last.id && handle.generation > last.generation);
        last = handle;
        if (i % 3 != 0) {
            CHECK(rt_wheel_cancel(&wheel, &handle));
        } else if (i % 60 == 0) {
            collect(i * MS);
        }
    }
}

TEST(wheel_registration_for_the_past_is_due_at_the_next_collect)
{
    start(10 * SEC);
    add(0, 10 * SEC);
    add(1, 3 * SEC);
    add(2, 0);
    CHECK_EQ(collect(10 * SEC), 3);
    CHECK_EQ(number_of(due[0]), 2);
    CHECK_EQ(number_of(due[1]), 1);
    CHECK_EQ(number_of(due[2]), 0);
}

TEST(wheel_handle_is_a_value_and_any_copy_cancels)
{
    start(0);
    rt_wheel_handle handle = add(0, SEC);
    rt_wheel_handle copy = handle;
    memset(&handle, 0, sizeof(handle));
    CHECK(!rt_wheel_cancel(&wheel, &handle));
    CHECK(rt_wheel_cancel(&wheel, &copy));
}

TEST(wheel_try_register_does_what_register_does)
{
    start(0);
    rt_wheel_handle handle;
    CHECK_OK(rt_wheel_try_register(&wheel, SEC, waker(0), &handle));
    CHECK_STATUS(rt_wheel_try_register(&wheel, 8 * DAY, waker(0), &handle),
                 RT_ERR_TIMER_DURATION_EXCEEDED);
    for (unsigned i = 1; i < CAPACITY; i++) {
        CHECK_OK(rt_wheel_try_register(&wheel, SEC, waker(i), &handle));
    }
    CHECK_STATUS(rt_wheel_try_register(&wheel, SEC, waker(0), &handle), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_STATUS(rt_wheel_try_register(NULL, SEC, waker(0), &handle), RT_ERR_INVALID);
}

/* ---- section 2.3: firing ---- */

TEST(wheel_collect_gives_what_fits_and_the_rest_in_the_next_call)
{
    start(0);
    rt_wheel_handle handles[CAPACITY];
    for (unsigned i = 0; i < 20; i++) {
        handles[i] = add(i, SEC - i);
    }
    CHECK_EQ(rt_wheel_collect_expired(&wheel, SEC, due, 0), 0);
    CHECK_EQ(rt_wheel_collect_expired(&wheel, SEC, due, 7), 7);
    for (unsigned i = 0; i < 7; i++) {
        CHECK_EQ(number_of(due[i]), 19 - i);
    }
    CHECK_EQ(rt_wheel_count(&wheel), 13);
    CHECK(rt_wheel_next_deadline(&wheel) == SEC - 12);
    CHECK(rt_wheel_cancel(&wheel, &handles[12])); /* due, and still cancellable */
    CHECK_EQ(collect(SEC), 12);
    for (unsigned i = 0; i < 12; i++) {
        CHECK_EQ(number_of(due[i]), 11 - i);
    }
}

TEST(wheel_collect_skips_the_cancelled_and_calls_no_waker_itself)
{
    start(0);
    for (unsigned i = 0; i < 10; i++) {
        rt_wheel_handle handle = add(i, (i / 3) * 100 * MS);
        if (i % 2 == 0) {
            CHECK(rt_wheel_cancel(&wheel, &handle));
        }
    }
    CHECK_EQ(rt_wheel_collect_expired(&wheel, SEC, due, CAPACITY), 5);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQ(number_of(due[i]), 2 * i + 1);
        CHECK_EQ(woken[2 * i + 1], 0);
    }
}

TEST(wheel_loses_no_timer_however_late_it_is_looked_at)
{
    static const rt_time lateness[] = {0, 1, MS, 255 * MS, 256 * MS, 70 * SEC, 5 * HOUR, 9 * DAY};
    for (size_t i = 0; i < RTI_COUNT_OF(lateness); i++) {
        for (unsigned bit = 0; bit < 49; bit++) {
            start(12345);
            add(0, 12345 + (UINT64_C(1) << bit));
            CHECK_EQ(collect(12345 + (UINT64_C(1) << bit) + lateness[i]), 1);
        }
    }
}

TEST(wheel_without_timers_advances_over_any_gap_in_one_step)
{
    start(0);
    CHECK_EQ(collect(UINT64_MAX - 2 * DAY), 0);
    add(0, UINT64_MAX - 2 * DAY + SEC);
    CHECK_EQ(collect(UINT64_MAX - 2 * DAY + SEC - 1), 0);
    CHECK_EQ(collect(UINT64_MAX - 2 * DAY + SEC), 1);
}

TEST(wheel_time_does_not_go_back)
{
    start(0);
    CHECK_EQ(collect(DAY), 0);
    add(0, HOUR);
    add(1, DAY + 1);
    CHECK_EQ(collect(HOUR - 1), 0);
    CHECK_EQ(collect(HOUR), 1);
    rt_wheel_handle handle;
    CHECK_STATUS(rt_wheel_register(&wheel, 8 * DAY + 1, waker(2), &handle),
                 RT_ERR_TIMER_DURATION_EXCEEDED);
    CHECK_OK(rt_wheel_register(&wheel, 8 * DAY, waker(2), &handle));
    CHECK_EQ(collect(8 * DAY), 2);
}

/* ---- section 2.4: cancel and update ---- */

TEST(wheel_cancel_frees_the_place_at_once)
{
    start(0);
    /* With dead entries left behind, a wheel of 64 places would be full after 64 rounds. */
    for (unsigned i = 0; i < 100 * CAPACITY; i++) {
        rt_wheel_handle handle = add(0, (i % 5) * DAY + i);
        CHECK(rt_wheel_cancel(&wheel, &handle));
    }
    CHECK_EQ(rti_wheel_api_audit(&wheel), 0);
}

TEST(wheel_update_of_a_stale_or_invalid_handle_is_a_new_registration)
{
    start(0);
    rt_wheel_handle stale = add(0, SEC);
    CHECK(rt_wheel_cancel(&wheel, &stale));
    rt_wheel_handle handle = {123456789, 987654321};
    rt_wheel_handle first;
    CHECK_OK(rt_wheel_update(&wheel, &handle, SEC, waker(1), &first));
    CHECK_OK(rt_wheel_update(&wheel, &stale, SEC, waker(2), &handle));
    CHECK_OK(rt_wheel_update(&wheel, NULL, SEC, waker(3), &handle));
    CHECK_EQ(rt_wheel_count(&wheel), 3);
    CHECK_EQ(collect(SEC), 3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(number_of(due[i]), i + 1);
    }
}

TEST(wheel_update_on_a_full_wheel_uses_the_place_of_the_old_timer)
{
    start(0);
    rt_wheel_handle handle = add(0, SEC);
    for (unsigned i = 1; i < CAPACITY; i++) {
        add(i, 2 * SEC);
    }
    CHECK_OK(rt_wheel_update(&wheel, &handle, 3 * SEC, waker(0), &handle));
    CHECK_EQ(rti_wheel_api_audit(&wheel), CAPACITY);
    rt_wheel_handle stale = {handle.id + CAPACITY, handle.generation};
    CHECK_STATUS(rt_wheel_update(&wheel, &stale, SEC, waker(0), &stale), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK(rt_wheel_cancel(&wheel, &handle));
    CHECK_EQ(collect(4 * SEC), CAPACITY - 1);
}

TEST(wheel_update_that_fails_leaves_the_old_timer)
{
    start(0);
    rt_wheel_handle handle = add(0, SEC);
    rt_wheel_handle before = handle;
    CHECK_STATUS(rt_wheel_update(&wheel, &handle, 8 * DAY, waker(1), &handle),
                 RT_ERR_TIMER_DURATION_EXCEEDED);
    CHECK_STATUS(rt_wheel_update(&wheel, &handle, 8, (rt_waker){NULL, NULL}, &handle),
                 RT_ERR_INVALID);
    CHECK(handle.id == before.id && handle.generation == before.generation);
    CHECK_EQ(collect(SEC), 1);
    CHECK_EQ(woken[0], 1);
}

TEST(wheel_update_goes_behind_those_of_the_same_deadline)
{
    start(0);
    rt_wheel_handle handle = add(0, SEC);
    add(1, SEC);
    CHECK_OK(rt_wheel_update(&wheel, &handle, SEC, waker(0), &handle));
    CHECK_EQ(collect(SEC), 2);
    CHECK_EQ(number_of(due[0]), 1);
    CHECK_EQ(number_of(due[1]), 0);
}

TEST(wheel_counts_a_handle_cancelled_twice)
{
    rt_wheel_config config = {
        .nodes = nodes, .max_timer_nodes = CAPACITY, .max_timer_duration = RT_TIME_NEVER};
    const rt_time deadlines[] = {0, MS, DAY, RT_TIME_NEVER - 1, RT_TIME_NEVER};
    CHECK_OK(rt_wheel_init(&wheel, &config, 0));
    for (unsigned i = 0; i < sizeof(deadlines) / sizeof(deadlines[0]); i++) {
        rt_wheel_handle handle = add(0, deadlines[i]);
        CHECK(rt_wheel_cancel(&wheel, &handle));
        CHECK_EQ(rt_wheel_double_cancels(&wheel), i);
        CHECK(!rt_wheel_cancel(&wheel, &handle));
        CHECK_EQ(rt_wheel_double_cancels(&wheel), i + 1);
    }
    rt_wheel_handle fired = add(0, MS);
    rt_wheel_handle none = {0, 0};
    CHECK_EQ(collect(MS), 1);
    CHECK(!rt_wheel_cancel(&wheel, &fired));
    CHECK(!rt_wheel_cancel(&wheel, &none));
    CHECK_EQ(rt_wheel_double_cancels(&wheel), sizeof(deadlines) / sizeof(deadlines[0]));
}

/* ---- section 2.6: invariants ---- */

TEST(wheel_keeps_no_waker_that_fired_or_was_cancelled)
{
    start(0);
    rt_wheel_handle cancelled = add(0, SEC);
    add(1, SEC);
    rt_wheel_handle far = add(2, 3 * DAY);
    CHECK(storage_mentions(&woken[0]) && storage_mentions(&woken[1]) &&
          storage_mentions(&woken[2]));
    CHECK(rt_wheel_cancel(&wheel, &cancelled));
    CHECK(!storage_mentions(&woken[0]));
    CHECK_EQ(collect(SEC), 1);
    CHECK(!storage_mentions(&woken[1]));
    CHECK(rt_wheel_cancel(&wheel, &far));
    CHECK(!storage_mentions(&woken[2]));
}

TEST(wheel_count_is_that_of_the_live_timers)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 11);
    start(0);
    rt_wheel_handle handles[CAPACITY] = {{0, 0}};
    size_t live = 0;
    rt_time now = 0;
    for (unsigned i = 0; i < 20000; i++) {
        unsigned number = (unsigned)rti_rng_below(&rng, CAPACITY);
        if (rti_rng_below(&rng, 3) == 0) {
            live -= rt_wheel_cancel(&wheel, &handles[number]);
        } else if (live < CAPACITY) {
            rt_time away = rti_rng_below(&rng, MS << rti_rng_below(&rng, 28));
            CHECK_OK(rt_wheel_register(&wheel, now + away, waker(number), &handles[number]));
            live++;
        }
        if (rti_rng_below(&rng, 50) == 0) {
            now += rti_rng_below(&rng, MS << rti_rng_below(&rng, 28));
            live -= collect(now);
        }
        CHECK_EQ(rt_wheel_count(&wheel), live);
    }
    CHECK_EQ(rti_wheel_api_audit(&wheel), live);
}

/* ---- sections 5.3 and 7: exhaustion, determinism, bad arguments ---- */

/* A fixed sequence with failures; returns a digest of every answer. */
static uint64_t replay(uint64_t seed)
{
    struct rti_rng rng;
    rti_rng_init(&rng, seed);
    start(0);
    rt_wheel_handle handles[CAPACITY] = {{0, 0}};
    uint64_t digest = 0;
    rt_time now = 0;
    for (unsigned i = 0; i < 5000; i++) {
        unsigned number = (unsigned)rti_rng_below(&rng, CAPACITY);
        uint64_t answer;
        if (rti_rng_below(&rng, 4) == 0) {
            answer = rt_wheel_cancel(&wheel, &handles[number]);
        } else if (rti_rng_below(&rng, 40) == 0) {
            now += rti_rng_below(&rng, DAY);
            answer = rt_wheel_collect_expired(&wheel, now, due, 9);
            for (unsigned j = 0; j < answer; j++) {
                digest = digest * 31 + number_of(due[j]);
            }
        } else {
            rt_time away = rti_rng_below(&rng, 8 * DAY);
            rt_status status =
                rt_wheel_register(&wheel, now + away, waker(number), &handles[number]);
            answer = (uint64_t)status.code;
        }
        digest = digest * 1000003 + answer;
    }
    return digest;
}

TEST(wheel_gives_the_same_answers_to_the_same_calls)
{
    uint64_t first = replay(1);
    CHECK(replay(1) == first);
    CHECK(replay(2) != first);
}

TEST(wheel_tells_invalid_arguments_before_any_limit)
{
    rt_wheel_config config = {.nodes = nodes, .max_timer_nodes = 1};
    rt_wheel_handle handle;
    CHECK_STATUS(rt_wheel_init(NULL, &config, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_wheel_init(&wheel, NULL, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_wheel_init(&wheel, &config, RT_TIME_NEVER), RT_ERR_INVALID);
    config.max_timer_nodes = 0;
    CHECK_STATUS(rt_wheel_init(&wheel, &config, 0), RT_ERR_INVALID);
    config = (rt_wheel_config){.nodes = NULL, .max_timer_nodes = 1};
    CHECK_STATUS(rt_wheel_init(&wheel, &config, 0), RT_ERR_INVALID);
    config.nodes = nodes;
    CHECK_OK(rt_wheel_init(&wheel, &config, 0));
    CHECK_STATUS(rt_wheel_register(NULL, 1, waker(0), &handle), RT_ERR_INVALID);
    CHECK_STATUS(rt_wheel_register(&wheel, 1, waker(0), NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_wheel_register(&wheel, 8 * DAY, (rt_waker){NULL, NULL}, &handle),
                 RT_ERR_INVALID);
    add(0, SEC);
    /* Both limits at once: the distance is told. */
    CHECK_STATUS(rt_wheel_register(&wheel, 8 * DAY, waker(1), &handle),
                 RT_ERR_TIMER_DURATION_EXCEEDED);
    CHECK(!rt_wheel_cancel(NULL, &handle));
    CHECK(!rt_wheel_cancel(&wheel, NULL));
    CHECK_EQ(rt_wheel_collect_expired(NULL, SEC, due, 1), 0);
    CHECK_EQ(rt_wheel_collect_expired(&wheel, SEC, NULL, 1), 0);
    CHECK_EQ(rt_wheel_collect_expired(&wheel, RT_TIME_NEVER, due, 1), 0);
    CHECK_EQ(rt_wheel_count(NULL), 0);
    CHECK(rt_wheel_next_deadline(NULL) == RT_TIME_NEVER);
    CHECK_EQ(rt_wheel_double_cancels(NULL), 0);
    CHECK_STATUS(rt_wheel_get_config(NULL, &config), RT_ERR_INVALID);
    CHECK_STATUS(rt_wheel_get_config(&wheel, NULL), RT_ERR_INVALID);
    CHECK_EQ(collect(SEC), 1);
}

TEST(wheel_of_one_node_works_for_ever)
{
    rt_wheel_config config = {.nodes = nodes, .max_timer_nodes = 1};
    CHECK_OK(rt_wheel_init(&wheel, &config, 0));
    rti_wheel_api_start_at(&wheel, UINT64_MAX - 300);
    for (unsigned i = 0; i < 1000; i++) {
        rt_wheel_handle handle = add(0, i * MS);
        rt_wheel_handle other;
        CHECK_STATUS(rt_wheel_register(&wheel, i, waker(1), &other), RT_ERR_RESOURCE_EXHAUSTED);
        if (i % 2 == 0) {
            CHECK(rt_wheel_cancel(&wheel, &handle));
        } else {
            CHECK_EQ(collect(i * MS), 1);
        }
        CHECK(!rt_wheel_cancel(&wheel, &handle));
    }
}
