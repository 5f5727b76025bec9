/* SPDX-License-Identifier: Apache-2.0 */
/* The wheel, first by single rules, then against a sorted reference on random sequences.
 *
 * The reference is an array in the order (deadline, arming). Each operation is done on both and
 * each answer compared; the callbacks arm and disarm too. ORRERY_WHEEL_OPS sets the number of
 * operations, ORRERY_WHEEL_SEED the sequence. */
#define RTI_MODULE "wheel_test"
#include "time/wheel.h"

#include <stdlib.h>

#include "base/rng.h"
#include "support/test.h"

#define MS   RTI_NS_PER_MS
#define SEC  RTI_NS_PER_S
#define HOUR (UINT64_C(3600) * SEC)
#define DAY  (24 * HOUR)

static struct rti_wheel wheel;

/* A timer that notes its number when it fires. */
struct alarm {
    struct rti_timer timer;
    unsigned number;
};

static unsigned fired[64];
static size_t fired_count;

static void note(struct rti_timer *timer)
{
    CHECK(!rti_timer_is_armed(timer));
    fired[fired_count++ % 64] = RTI_CONTAINER_OF(timer, struct alarm, timer)->number;
}

static void alarms_init(struct alarm *alarms, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        rti_timer_init(&alarms[i].timer, note);
        alarms[i].number = i;
    }
}

/* For cases that look at where timers lie; what fires when is the same in every geometry. */
static void needs_the_large_wheel(void)
{
    if (RTI_WHEEL_SLOTS != 256) {
        test_skip("this build has the small wheel");
    }
}

/* Where the wheel stands, in milliseconds and parts of them. */
static uint64_t wheel_tick(void)
{
#if RT_WHEEL_DIGIT_BITS > 0
    return wheel.tick;
#else
    return 0;
#endif
}

TEST(wheel_fires_at_the_deadline_and_not_a_nanosecond_before)
{
    /* clang-format off */
    static const uint64_t deadlines[] = {
        1, 999999, MS, MS + 1, 255 * MS, 256 * MS - 1, 256 * MS, 256 * MS + 1, 65535 * MS,
        65536 * MS, 65536 * MS + 17, HOUR, DAY - 1, DAY, DAY + 1, 7 * DAY, 7 * DAY + 3, 400 * DAY,
        UINT64_MAX - 1,
    };
    /* clang-format on */
    for (size_t i = 0; i < RTI_COUNT_OF(deadlines); i++) {
        struct alarm alarm;
        alarms_init(&alarm, 1);
        rti_wheel_init(&wheel, 0);
        rti_wheel_arm(&wheel, &alarm.timer, deadlines[i]);
        rti_wheel_audit(&wheel);
        CHECK(rti_wheel_next_deadline(&wheel) == deadlines[i]);
        CHECK_EQ(rti_wheel_expire(&wheel, deadlines[i] - 1), 0);
        CHECK(rti_timer_is_armed(&alarm.timer));
        rti_wheel_audit(&wheel);
        CHECK(rti_wheel_next_deadline(&wheel) == deadlines[i]);
        CHECK_EQ(rti_wheel_expire(&wheel, deadlines[i]), 1);
        CHECK_EQ(rti_wheel_count(&wheel), 0);
        CHECK(rti_wheel_next_deadline(&wheel) == RTI_TIME_NEVER);
        rti_wheel_audit(&wheel);
    }
}

TEST(wheel_expire_of_an_empty_wheel_does_nothing_over_any_jump)
{
    rti_wheel_init(&wheel, 5);
    CHECK_EQ(rti_wheel_expire(&wheel, 0), 0);
    CHECK_EQ(rti_wheel_expire(&wheel, 8 * DAY), 0);
    CHECK_EQ(rti_wheel_expire(&wheel, UINT64_MAX - 1), 0);
    CHECK(rti_wheel_next_deadline(&wheel) == RTI_TIME_NEVER);
    CHECK_EQ(rti_wheel_audit(&wheel), 0);
}

TEST(wheel_fires_equal_deadlines_in_the_order_of_arming)
{
    struct alarm alarms[40];
    alarms_init(alarms, 40);
    rti_wheel_init(&wheel, 0);
    wheel.seq = (rti_timer_seq)-21; /* the count of arms wraps in the middle */
    for (unsigned i = 0; i < 40; i++) {
        rti_wheel_arm(&wheel, &alarms[i].timer, 300 * MS + 7);
        if (i == 13) {
            /* The second half is armed nearer, hence on another level. */
            CHECK_EQ(rti_wheel_expire(&wheel, 290 * MS), 0);
        }
        if (i == 29) {
            /* And the last quarter in the very millisecond. */
            CHECK_EQ(rti_wheel_expire(&wheel, 300 * MS + 6), 0);
        }
    }
    CHECK_EQ(rti_wheel_audit(&wheel), 40);
    CHECK_EQ(rti_wheel_expire(&wheel, 300 * MS + 7), 40);
    for (unsigned i = 0; i < 40; i++) {
        CHECK_EQ(fired[i], i);
    }
}

TEST(wheel_orders_the_timers_of_one_millisecond_by_nanoseconds)
{
    struct alarm alarms[60];
    alarms_init(alarms, 60);
    rti_wheel_init(&wheel, 0);
    for (unsigned i = 0; i < 60; i++) {
        unsigned number = i * 7 % 60;
        rti_wheel_arm(&wheel, &alarms[number].timer, 10 * MS + number);
    }
    CHECK_EQ(rti_wheel_expire(&wheel, 10 * MS + 24), 25);
    CHECK(rti_wheel_next_deadline(&wheel) == 10 * MS + 25);
    CHECK_EQ(rti_wheel_audit(&wheel), 35);
    CHECK_EQ(rti_wheel_expire(&wheel, 11 * MS), 35);
    for (unsigned i = 0; i < 60; i++) {
        CHECK_EQ(fired[i], i);
    }
}

TEST(wheel_disarm_says_whether_the_timer_was_armed)
{
    struct alarm alarms[4];
    alarms_init(alarms, 4);
    rti_wheel_init(&wheel, 0);
    CHECK(!rti_wheel_disarm(&wheel, &alarms[0].timer));
    rti_wheel_arm(&wheel, &alarms[0].timer, 0);
    rti_wheel_arm(&wheel, &alarms[1].timer, 3 * MS);
    rti_wheel_arm(&wheel, &alarms[2].timer, 3 * SEC);
    rti_wheel_arm(&wheel, &alarms[3].timer, 3 * DAY);
    CHECK_EQ(rti_wheel_audit(&wheel), 4);
    for (unsigned i = 0; i < 4; i++) {
        CHECK(rti_wheel_disarm(&wheel, &alarms[i].timer));
        CHECK(!rti_wheel_disarm(&wheel, &alarms[i].timer));
        CHECK_EQ(rti_wheel_audit(&wheel), 3 - i);
    }
    CHECK_EQ(rti_wheel_expire(&wheel, 8 * DAY), 0);
    rti_wheel_arm(&wheel, &alarms[0].timer, 8 * DAY);
    CHECK_EQ(rti_wheel_expire(&wheel, 8 * DAY), 1);
    CHECK(!rti_wheel_disarm(&wheel, &alarms[0].timer));
}

TEST(wheel_next_deadline_is_exact_after_the_earliest_is_disarmed)
{
    struct alarm alarms[50];
    alarms_init(alarms, 50);
    rti_wheel_init(&wheel, 0);
    for (unsigned i = 0; i < 50; i++) {
        rti_wheel_arm(&wheel, &alarms[i].timer, 70 * SEC + (i * 17 % 50) * MS);
    }
    for (unsigned i = 0; i < 50; i++) {
        /* 3 * 17 = 51: alarm 3i has the i-th deadline. */
        unsigned earliest = i * 3 % 50;
        CHECK(rti_wheel_next_deadline(&wheel) == 70 * SEC + i * MS);
        rti_wheel_audit(&wheel);
        CHECK(rti_wheel_disarm(&wheel, &alarms[earliest].timer));
    }
    CHECK(rti_wheel_next_deadline(&wheel) == RTI_TIME_NEVER);
}

TEST(wheel_ahead_of_the_clock_still_fires_what_is_armed_for_the_span_between)
{
    needs_the_large_wheel();
    struct alarm alarms[40];
    alarms_init(alarms, 40);
    rti_wheel_init(&wheel, 0);
    for (unsigned i = 10; i < 40; i++) {
        rti_wheel_arm(&wheel, &alarms[i].timer, 3 * HOUR + i);
    }
    CHECK(rti_wheel_disarm(&wheel, &alarms[10].timer));
    CHECK(rti_wheel_next_deadline(&wheel) == 3 * HOUR + 11);
    CHECK(wheel_tick() > 0);
    for (unsigned i = 10; i > 0; i--) {
        rti_wheel_arm(&wheel, &alarms[i - 1].timer, i * SEC);
        CHECK(rti_wheel_next_deadline(&wheel) == i * SEC);
    }
    rti_wheel_audit(&wheel);
    for (unsigned i = 1; i <= 10; i++) {
        CHECK_EQ(rti_wheel_expire(&wheel, i * SEC - 1), 0);
        CHECK_EQ(rti_wheel_expire(&wheel, i * SEC), 1);
        CHECK_EQ(fired[i - 1], i - 1);
    }
    CHECK_EQ(rti_wheel_expire(&wheel, 3 * HOUR + 20), 10);
    CHECK_EQ(rti_wheel_audit(&wheel), 19);
}

TEST(wheel_ahead_of_the_clock_returns_to_it_when_empty)
{
    needs_the_large_wheel();
    struct alarm alarms[20];
    alarms_init(alarms, 20);
    rti_wheel_init(&wheel, SEC);
    for (unsigned i = 0; i < 20; i++) {
        rti_wheel_arm(&wheel, &alarms[i].timer, 3 * HOUR + i);
    }
    for (unsigned i = 0; i < 20; i++) {
        CHECK(rti_wheel_next_deadline(&wheel) == 3 * HOUR + i);
        CHECK(wheel_tick() >> 8 >= (i == 0 ? SEC : 2 * HOUR) / MS);
        CHECK(rti_wheel_disarm(&wheel, &alarms[i].timer));
    }
    CHECK(wheel_tick() >> 8 == SEC / MS);
    CHECK_EQ(rti_wheel_audit(&wheel), 0);
}

TEST(wheel_takes_no_harm_from_a_clock_that_goes_back)
{
    struct alarm alarms[2];
    alarms_init(alarms, 2);
    rti_wheel_init(&wheel, 100 * SEC);
    rti_wheel_arm(&wheel, &alarms[0].timer, 50 * SEC);
    rti_wheel_arm(&wheel, &alarms[1].timer, 100 * SEC + 1);
    CHECK_EQ(rti_wheel_expire(&wheel, 50 * SEC - 1), 0);
    CHECK_EQ(rti_wheel_audit(&wheel), 2);
    CHECK_EQ(rti_wheel_expire(&wheel, 50 * SEC), 1);
    CHECK_EQ(rti_wheel_expire(&wheel, 100 * SEC), 0);
    CHECK_EQ(rti_wheel_expire(&wheel, 100 * SEC + 1), 1);
}

TEST(wheel_keeps_a_timer_armed_for_never)
{
    struct alarm alarm;
    alarms_init(&alarm, 1);
    rti_wheel_init(&wheel, 0);
    rti_wheel_arm(&wheel, &alarm.timer, RTI_TIME_NEVER);
    CHECK(rti_wheel_next_deadline(&wheel) == RTI_TIME_NEVER);
    CHECK_EQ(rti_wheel_expire(&wheel, UINT64_MAX - 1), 0);
    CHECK_EQ(rti_wheel_audit(&wheel), 1);
    CHECK(rti_wheel_disarm(&wheel, &alarm.timer));
}

TEST(wheel_fires_across_the_wrap_of_its_32_bit_span)
{
    const uint64_t span = (UINT64_C(1) << 32) * MS;
    struct alarm alarms[3];
    alarms_init(alarms, 3);
    rti_wheel_init(&wheel, span - 10 * MS);
    rti_wheel_arm(&wheel, &alarms[0].timer, span - MS);
    rti_wheel_arm(&wheel, &alarms[1].timer, span + MS);
    rti_wheel_arm(&wheel, &alarms[2].timer, span);
    CHECK_EQ(rti_wheel_audit(&wheel), 3);
    CHECK_EQ(rti_wheel_expire(&wheel, span - MS), 1);
    CHECK(rti_wheel_next_deadline(&wheel) == span);
    CHECK_EQ(rti_wheel_expire(&wheel, span + HOUR), 2);
    CHECK_EQ(fired[1], 2);
    CHECK_EQ(fired[2], 1);
}

/* A timer that arms itself again. */
static uint64_t rearm_ns;

static void rearm(struct rti_timer *timer)
{
    fired_count++;
    rti_wheel_arm(&wheel, timer, rearm_ns);
    /* The question is legal inside a callback and sees what was armed there. */
    CHECK(rti_wheel_next_deadline(&wheel) == rearm_ns);
    rti_wheel_audit(&wheel);
}

TEST(wheel_fires_a_timer_rearmed_for_the_past_in_the_next_pass_only)
{
    struct rti_timer timer;
    rti_timer_init(&timer, rearm);
    rti_wheel_init(&wheel, 0);
    rearm_ns = 0;
    rti_wheel_arm(&wheel, &timer, 5 * MS);
    for (unsigned i = 1; i <= 5; i++) {
        CHECK_EQ(rti_wheel_expire(&wheel, 5 * MS), 1);
        CHECK_EQ(fired_count, i);
        CHECK_EQ(rti_wheel_audit(&wheel), 1);
    }
    rearm_ns = 5 * MS + 1;
    CHECK_EQ(rti_wheel_expire(&wheel, 5 * MS), 1);
    CHECK_EQ(rti_wheel_expire(&wheel, 5 * MS), 0);
    CHECK_EQ(rti_wheel_expire(&wheel, 5 * MS + 1), 1);
}

static struct alarm victims[6];

static void disarm_victims(struct rti_timer *timer)
{
    note(timer);
    for (unsigned i = 1; i < 6; i++) {
        CHECK(rti_wheel_disarm(&wheel, &victims[i].timer) == (i != 2));
    }
}

TEST(wheel_fires_nothing_that_a_callback_of_the_same_pass_disarmed)
{
    static const uint64_t deadlines[6] = {5 * MS, 5 * MS, 4 * MS, 5 * MS + 1, 3 * SEC, 2 * DAY};
    alarms_init(victims, 6);
    victims[0].timer.fire = disarm_victims;
    rti_wheel_init(&wheel, 0);
    for (unsigned i = 0; i < 6; i++) {
        rti_wheel_arm(&wheel, &victims[i].timer, deadlines[i]);
    }
    CHECK_EQ(rti_wheel_expire(&wheel, 8 * DAY), 2);
    CHECK_EQ(fired[0], 2);
    CHECK_EQ(fired[1], 0);
    CHECK_EQ(rti_wheel_audit(&wheel), 0);
}

TEST(wheel_fires_a_bounded_batch_and_the_rest_in_the_next_pass)
{
    struct alarm alarms[50];
    alarms_init(alarms, 50);
    rti_wheel_init(&wheel, 0);
    for (unsigned i = 0; i < 50; i++) {
        rti_wheel_arm(&wheel, &alarms[i].timer, i * 100 * MS);
    }
    CHECK_EQ(rti_wheel_expire_max(&wheel, 10 * SEC, 0), 0);
    for (unsigned i = 0; i < 7; i++) {
        CHECK_EQ(rti_wheel_expire_max(&wheel, 10 * SEC, 7), 7);
        rti_wheel_audit(&wheel);
        CHECK(rti_wheel_next_deadline(&wheel) == (i + 1) * 700 * MS);
    }
    CHECK_EQ(rti_wheel_expire_max(&wheel, 10 * SEC, 7), 1);
    for (unsigned i = 0; i < 50; i++) {
        CHECK_EQ(fired[i], i);
    }
}

TEST(wheel_take_gives_the_due_timers_without_a_callback)
{
    struct alarm alarms[2];
    alarms_init(alarms, 2);
    rti_wheel_init(&wheel, 0);
    rti_wheel_arm(&wheel, &alarms[0].timer, SEC);
    rti_wheel_arm(&wheel, &alarms[1].timer, 2 * SEC);
    CHECK(rti_wheel_take(&wheel, SEC - 1) == NULL);
    CHECK(rti_wheel_take(&wheel, SEC) == &alarms[0].timer);
    CHECK(rti_wheel_take(&wheel, SEC) == NULL);
    CHECK(rti_wheel_take(&wheel, 9 * SEC) == &alarms[1].timer);
    CHECK_EQ(rti_wheel_audit(&wheel), 0);
    CHECK_EQ(fired_count, 0);
}

#define MANY 20000u

static struct alarm many[MANY];
static uint64_t last_ns;
static uint64_t last_seq;

static void check_order(struct rti_timer *timer)
{
    CHECK(timer->deadline_ns > last_ns ||
          (timer->deadline_ns == last_ns && (fired_count == 0 || timer->seq > last_seq)));
    last_ns = timer->deadline_ns;
    last_seq = timer->seq;
    fired_count++;
}

/* Fires MANY timers whose deadlines `deadline` gives and checks their order. */
static void fire_many(uint64_t (*deadline)(struct rti_rng *rng, unsigned i))
{
    struct rti_rng rng;
    rti_rng_init(&rng, 7);
    rti_wheel_init(&wheel, 0);
    for (unsigned i = 0; i < MANY; i++) {
        rti_timer_init(&many[i].timer, check_order);
        rti_wheel_arm(&wheel, &many[i].timer, deadline(&rng, i));
    }
    for (unsigned i = 0; i < MANY; i += 5) {
        CHECK(rti_wheel_disarm(&wheel, &many[i].timer));
    }
    CHECK_EQ(rti_wheel_audit(&wheel), MANY - MANY / 5);
    CHECK_EQ(rti_wheel_expire(&wheel, 8 * DAY), MANY - MANY / 5);
    CHECK_EQ(rti_wheel_audit(&wheel), 0);
}

static uint64_t within_a_millisecond(struct rti_rng *rng, unsigned i)
{
    (void)i;
    return 30 * MS + rti_rng_below(rng, MS);
}

static uint64_t all_equal(struct rti_rng *rng, unsigned i)
{
    (void)rng;
    (void)i;
    return 30 * HOUR;
}

static uint64_t already_past_descending(struct rti_rng *rng, unsigned i)
{
    (void)rng;
    return (MANY - i) / 3;
}

static uint64_t over_eight_days(struct rti_rng *rng, unsigned i)
{
    (void)i;
    return rti_rng_below(rng, 8 * DAY);
}

TEST(wheel_fires_twenty_thousand_of_one_millisecond_in_order)
{
    fire_many(within_a_millisecond);
}

TEST(wheel_fires_twenty_thousand_of_one_deadline_in_order)
{
    fire_many(all_equal);
}

TEST(wheel_fires_twenty_thousand_that_were_past_when_armed_in_order)
{
    fire_many(already_past_descending);
}

TEST(wheel_fires_twenty_thousand_over_eight_days_in_one_jump_in_order)
{
    fire_many(over_eight_days);
}

static void arm_twice(void *arg)
{
    struct rti_timer timer;
    (void)arg;
    rti_timer_init(&timer, note);
    rti_wheel_init(&wheel, 0);
    rti_wheel_arm(&wheel, &timer, 1);
    rti_wheel_arm(&wheel, &timer, 2);
}

static void expire_again(struct rti_timer *timer)
{
    (void)timer;
    rti_wheel_expire(&wheel, 2);
}

static void expire_in_a_callback(void *arg)
{
    struct rti_timer timer;
    (void)arg;
    rti_timer_init(&timer, expire_again);
    rti_wheel_init(&wheel, 0);
    rti_wheel_arm(&wheel, &timer, 1);
    rti_wheel_expire(&wheel, 1);
}

static void expire_at_never(void *arg)
{
    (void)arg;
    rti_wheel_init(&wheel, 0);
    rti_wheel_expire(&wheel, RTI_TIME_NEVER);
}

static void set_horizon_while_armed(void *arg)
{
    struct rti_timer timer;
    (void)arg;
    rti_timer_init(&timer, note);
    rti_wheel_init(&wheel, 0);
    rti_wheel_arm(&wheel, &timer, 1);
    rti_wheel_set_horizon(&wheel, SEC);
}

TEST(wheel_panics_on_misuse)
{
    CHECK_PANICS("wheel", arm_twice, NULL);
    CHECK_PANICS("wheel", expire_in_a_callback, NULL);
    CHECK_PANICS("wheel", expire_at_never, NULL);
    CHECK_PANICS("wheel", set_horizon_while_armed, NULL);
}

#if RT_WHEEL_DIGIT_BITS > 0

/* Breaks one thing in a wheel with timers of every kind; the audit has to see it. */
static void audit_of_a_broken_wheel(void *arg)
{
    static struct alarm alarms[5];
    static const uint64_t deadlines[5] = {0, 5 * MS, 5 * MS + 1, 9 * SEC, 5 * DAY};
    alarms_init(alarms, 5);
    rti_wheel_init(&wheel, 0);
    for (unsigned i = 0; i < 5; i++) {
        rti_wheel_arm(&wheel, &alarms[i].timer, deadlines[i]);
    }
    CHECK_EQ(rti_wheel_audit(&wheel), 5);
    switch (*(const int *)arg) {
    case 0: /* I1 */
        wheel.occupied[alarms[1].timer.place / 64] = 0;
        break;
    case 1:
        wheel.summary ^= 1u << 31 >> 12;
        break;
    case 2: /* I2 */
        alarms[1].timer.deadline_ns += MS;
        break;
    case 3: /* I3 */
        rti_wheel_expire(&wheel, 5 * MS);
        alarms[2].timer.deadline_ns += MS;
        break;
    case 4: /* I4 */
        alarms[4].timer.deadline_ns = HOUR;
        break;
    case 5: /* I5 */
        wheel.fresh = wheel.slots[alarms[3].timer.place];
        break;
    case 6: /* I6 */
        wheel.count++;
        break;
    default:
        wheel.next_ns = 5 * MS;
        break;
    }
    rti_wheel_audit(&wheel);
}

TEST(wheel_audit_sees_each_broken_invariant)
{
    needs_the_large_wheel();
    for (int kind = 0; kind < 8; kind++) {
        CHECK_PANICS("wheel", audit_of_a_broken_wheel, &kind);
    }
}

#endif

/* ---- the comparison with a sorted reference ---- */

#define POOL 400u

struct entry {
    uint64_t deadline_ns;
    unsigned number;
    bool is_fresh; /* armed in this pass for this pass: may not fire in it */
};

static struct alarm pool[POOL];
static struct entry entries[POOL]; /* the reference, in the order of firing */
static size_t entry_count;
static struct rti_rng rng;
static uint64_t now;
static bool is_passing;
static uint64_t coverage[8];

static void reference_add(unsigned number, uint64_t deadline_ns)
{
    size_t low = 0;
    size_t high = entry_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (entries[middle].deadline_ns <= deadline_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    memmove(&entries[low + 1], &entries[low], (entry_count - low) * sizeof(entries[0]));
    entries[low] = (struct entry){deadline_ns, number, is_passing && deadline_ns <= now};
    entry_count++;
}

static void reference_delete(size_t at)
{
    entry_count--;
    memmove(&entries[at], &entries[at + 1], (entry_count - at) * sizeof(entries[0]));
}

static bool reference_remove(unsigned number)
{
    for (size_t i = 0; i < entry_count; i++) {
        if (entries[i].number == number) {
            reference_delete(i);
            return true;
        }
    }
    return false;
}

/* The position of what has to fire next at `now`, or entry_count. */
static size_t reference_due(void)
{
    for (size_t i = 0; i < entry_count && entries[i].deadline_ns <= now; i++) {
        if (!entries[i].is_fresh) {
            return i;
        }
    }
    return entry_count;
}

static uint64_t random_deadline(void)
{
    static const uint64_t spans[] = {1,        100,      MS,       3 * MS,    256 * MS, 300 * MS,
                                     65 * SEC, 70 * SEC, 5 * HOUR, 23 * HOUR, DAY,      8 * DAY};
    uint64_t span = spans[rti_rng_below(&rng, RTI_COUNT_OF(spans))];
    switch (rti_rng_below(&rng, 16)) {
    case 0:
        return now - rti_rng_below(&rng, now < span ? now + 1 : span);
    case 1:
        return now;
    case 2:
    case 3: /* a deadline that exists, or its neighbour */
        if (entry_count > 0) {
            uint64_t other = entries[rti_rng_below(&rng, entry_count)].deadline_ns;
            return other + rti_rng_below(&rng, 2);
        }
        return now + span;
    case 4: /* the boundary of a slot on some level, or the nanosecond before */
        span = MS << 8 * rti_rng_below(&rng, 5);
        return (now / span + 1) * span - rti_rng_below(&rng, 2);
    default:
        return now + rti_rng_below(&rng, span);
    }
}

static void random_arm(void)
{
    unsigned number = (unsigned)rti_rng_below(&rng, POOL);
    if (rti_timer_is_armed(&pool[number].timer)) {
        CHECK(rti_wheel_disarm(&wheel, &pool[number].timer));
        CHECK(reference_remove(number));
    }
    uint64_t deadline_ns = random_deadline();
    reference_add(number, deadline_ns);
    rti_wheel_arm(&wheel, &pool[number].timer, deadline_ns);
    coverage[0]++;
}

static void random_disarm(void)
{
    unsigned number = (unsigned)rti_rng_below(&rng, POOL);
    bool is_expected = reference_remove(number);
    CHECK(rti_wheel_disarm(&wheel, &pool[number].timer) == is_expected);
    coverage[1] += is_expected;
}

static void check_next(void)
{
    uint64_t expected = entry_count == 0 ? RTI_TIME_NEVER : entries[0].deadline_ns;
    CHECK(rti_wheel_next_deadline(&wheel) == expected);
    coverage[2]++;
}

static void fire_checked(struct rti_timer *timer)
{
    size_t at = reference_due();
    CHECK(at < entry_count);
    CHECK_EQ(RTI_CONTAINER_OF(timer, struct alarm, timer)->number, entries[at].number);
    CHECK(timer->deadline_ns <= now);
    reference_delete(at);
    coverage[3]++;
    switch (rti_rng_below(&rng, 12)) {
    case 0:
    case 1:
        random_arm();
        break;
    case 2:
        random_disarm();
        break;
    case 3: { /* itself, for the past, the present or the future */
        uint64_t deadline_ns = random_deadline();
        unsigned number = RTI_CONTAINER_OF(timer, struct alarm, timer)->number;
        reference_add(number, deadline_ns);
        rti_wheel_arm(&wheel, timer, deadline_ns);
        break;
    }
    case 4:
        check_next();
        break;
    default:
        break;
    }
}

static void random_pass(void)
{
    static const uint64_t jumps[] = {1,        1000,     MS / 3,   MS,       7 * MS,
                                     256 * MS, 65 * SEC, 66 * SEC, 5 * HOUR, 8 * DAY};
    uint64_t first = entry_count == 0 ? now : entries[0].deadline_ns;
    switch (rti_rng_below(&rng, 8)) {
    case 0: /* one nanosecond too early for the first */
        now = first > now ? first - 1 : now;
        break;
    case 1:
    case 2: /* exactly in time for the first */
        now = first > now ? first : now;
        break;
    default:
        now += rti_rng_below(
            &rng, jumps[rti_rng_below(&rng, RTI_COUNT_OF(jumps) - (rti_rng_below(&rng, 8) != 0))]);
        break;
    }
    size_t max = rti_rng_below(&rng, 4) == 0 ? rti_rng_below(&rng, 8) : SIZE_MAX;
    is_passing = true;
    size_t count = rti_wheel_expire_max(&wheel, now, max);
    CHECK(count <= max);
    CHECK(count == max || reference_due() == entry_count);
    is_passing = false;
    for (size_t i = 0; i < entry_count && entries[i].deadline_ns <= now; i++) {
        coverage[4] += entries[i].is_fresh;
        coverage[5] += count == max;
        entries[i].is_fresh = false;
    }
}

/* A burst: many timers into one slot, at times into one nanosecond. */
static void random_burst(void)
{
    uint64_t base = random_deadline();
    uint64_t width = rti_rng_below(&rng, 2) == 0 ? 1 : MS;
    for (unsigned number = 0; number < POOL; number++) {
        if (!rti_timer_is_armed(&pool[number].timer)) {
            uint64_t deadline_ns = base + rti_rng_below(&rng, width);
            reference_add(number, deadline_ns);
            rti_wheel_arm(&wheel, &pool[number].timer, deadline_ns);
        }
    }
    coverage[6]++;
}

static void random_start(void)
{
    static const uint64_t horizons[] = {DAY, DAY, DAY, 0, 2 * MS, 10 * SEC, UINT64_MAX};
    static const uint64_t starts[] = {0, 1, 999999, 3 * DAY, (MS << 32) - 5 * SEC, 500 * DAY};
    for (unsigned i = 0; i < POOL; i++) {
        rti_timer_init(&pool[i].timer, fire_checked);
        pool[i].number = i;
    }
    entry_count = 0;
    now = starts[rti_rng_below(&rng, RTI_COUNT_OF(starts))];
    rti_wheel_init(&wheel, now);
    rti_wheel_set_horizon(&wheel, horizons[rti_rng_below(&rng, RTI_COUNT_OF(horizons))]);
    wheel.seq = (rti_timer_seq)-1 - (rti_timer_seq)rti_rng_below(&rng, 1000);
}

static uint64_t environment_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* One operation of an episode. Some episodes keep few timers, some many. */
static void random_operation(uint64_t density)
{
    uint64_t choice = rti_rng_below(&rng, 1000);
    if (choice < 300 + density) {
        random_arm();
    } else if (choice < 700) {
        random_disarm();
    } else if (choice < 850) {
        check_next();
    } else if (choice < 999) {
        random_pass();
    } else {
        random_burst();
    }
}

TEST(wheel_equals_a_sorted_reference_on_random_sequences)
{
    uint64_t operations = environment_number("ORRERY_WHEEL_OPS", 1000000);
    uint64_t seed = environment_number("ORRERY_WHEEL_SEED", 1);
    printf("repeat with ORRERY_WHEEL_SEED=%" PRIu64 " ORRERY_WHEEL_OPS=%" PRIu64 "\n", seed,
           operations);
    fflush(stdout);
    rti_rng_init(&rng, seed);
    uint64_t density = 0;
    for (uint64_t i = 0; i < operations; i++) {
        if (i % 5000 == 0) {
            random_start();
            density = rti_rng_below(&rng, 400);
        }
        random_operation(density);
        if (i % 256 == 0) {
            CHECK_EQ(rti_wheel_audit(&wheel), entry_count);
        }
    }
    if (operations >= 100000) {
        for (size_t i = 0; i < 7; i++) {
            CHECK(coverage[i] > 0); /* a kind of step that never happened proves nothing */
        }
    }
}
