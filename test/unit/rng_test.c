/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"
#include "support/test.h"

/* The published outputs of xoshiro256** from the state 1, 2, 3, 4. */
TEST(rng_steps_as_the_published_algorithm_does)
{
    static const uint64_t known[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    struct rti_rng rng = {.state = {1, 2, 3, 4}};
    for (size_t i = 0; i < RTI_COUNT_OF(known); i++) {
        CHECK(rti_rng_next(&rng) == known[i]);
    }
}

/* The published outputs of splitmix64 from the seed 0. */
TEST(rng_seed_is_spread_as_the_published_algorithm_does)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 0);
    CHECK(rng.state[0] == UINT64_C(0xe220a8397b1dcdaf));
    CHECK(rng.state[1] == UINT64_C(0x6e789e6aa1b965f4));
    CHECK(rng.state[2] == UINT64_C(0x06c45d188009454f));
    CHECK(rng.state[3] == UINT64_C(0xf88bb8a8724c81ec));
}

TEST(rng_stream_of_a_seed_never_changes)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 42);
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++) {
        sum = sum * 31 + rti_rng_next(&rng);
    }
    for (uint64_t n = 1; n < 1000; n++) {
        sum = sum * 31 + rti_rng_below(&rng, n);
    }
    for (uint32_t n = 0; n < 1000; n++) {
        sum = sum * 31 + rti_rng_chance(&rng, n, 1000);
    }
    rti_rng_audit(&rng);
    CHECK(sum == UINT64_C(0x57d79b1a5266dfb5));
}

TEST(rng_equal_seeds_agree_and_neighbours_differ)
{
    struct rti_rng a;
    struct rti_rng b;
    struct rti_rng c;
    rti_rng_init(&a, 7);
    rti_rng_init(&b, 7);
    rti_rng_init(&c, 8);
    int equal_count = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t number = rti_rng_next(&a);
        CHECK(number == rti_rng_next(&b));
        equal_count += number == rti_rng_next(&c);
    }
    CHECK_EQ(equal_count, 0);
}

TEST(rng_below_stays_below_at_every_size)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 1);
    for (int bit = 0; bit < 64; bit++) {
        uint64_t n = UINT64_C(1) << bit;
        for (int i = 0; i < 100; i++) {
            CHECK(rti_rng_below(&rng, n) < n);
            CHECK(rti_rng_below(&rng, n + 1) <= n);
            CHECK(n == 1 || rti_rng_below(&rng, n - 1) < n - 1);
        }
    }
    CHECK(rti_rng_below(&rng, 1) == 0);
    for (int i = 0; i < 100; i++) {
        CHECK(rti_rng_below(&rng, UINT64_MAX) < UINT64_MAX);
    }
}

/* For n = 3 << 62 a plain remainder would give the lowest third twice as often as the others. */
TEST(rng_below_is_unbiased_for_large_n)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 2);
    int thirds[3] = {0, 0, 0};
    for (int i = 0; i < 30000; i++) {
        thirds[rti_rng_below(&rng, UINT64_C(3) << 62) >> 62]++;
    }
    for (int i = 0; i < 3; i++) {
        CHECK(thirds[i] > 9500 && thirds[i] < 10500);
    }
}

TEST(rng_below_is_even_over_a_small_range)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 3);
    int counts[10] = {0};
    for (int i = 0; i < 100000; i++) {
        counts[rti_rng_below(&rng, 10)]++;
    }
    for (int i = 0; i < 10; i++) {
        CHECK(counts[i] > 9500 && counts[i] < 10500);
    }
}

TEST(rng_chance_of_nothing_and_of_certainty)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 4);
    int hits = 0;
    for (int i = 0; i < 10000; i++) {
        CHECK(!rti_rng_chance(&rng, 0, 1));
        CHECK(!rti_rng_chance(&rng, 0, UINT32_MAX));
        CHECK(rti_rng_chance(&rng, 1, 1));
        CHECK(rti_rng_chance(&rng, UINT32_MAX, UINT32_MAX));
        hits += rti_rng_chance(&rng, 1, 4);
    }
    CHECK(hits > 2300 && hits < 2700);
}

static void below_zero(void *arg)
{
    rti_rng_below(arg, 0);
}

static void chance_of_nothing_in_nothing(void *arg)
{
    rti_rng_chance(arg, 0, 0);
}

static void chance_above_one(void *arg)
{
    rti_rng_chance(arg, 2, 1);
}

static void audit(void *arg)
{
    rti_rng_audit(arg);
}

TEST(rng_misuse_panics)
{
    struct rti_rng rng;
    rti_rng_init(&rng, 5);
    CHECK_PANICS("rng", below_zero, &rng);
    CHECK_PANICS("rng", chance_of_nothing_in_nothing, &rng);
    CHECK_PANICS("rng", chance_above_one, &rng);
    struct rti_rng zero = {.state = {0, 0, 0, 0}};
    CHECK_PANICS("rng", audit, &zero);
}
