/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include <stdlib.h>

#include "base/rng.h"
#include "support/test.h"

static struct rti_histogram histogram;

/* The bound that the header states: not below `exact`, and above it by less than exact / 2^B. */
static bool is_within_bound(uint64_t answer, uint64_t exact)
{
    return answer >= exact && answer - exact <= exact >> RTI_HISTOGRAM_BITS;
}

TEST(histogram_empty_one_answers_zero)
{
    rti_histogram_init(&histogram);
    rti_histogram_audit(&histogram);
    CHECK(rti_histogram_percentile(&histogram, 0) == 0);
    CHECK(rti_histogram_percentile(&histogram, RTI_HISTOGRAM_PPM) == 0);
    CHECK(histogram.count == 0 && histogram.max == 0);
}

TEST(histogram_single_value_is_every_percentile)
{
    static const uint64_t values[] = {0,    1,         31,         32,         63,
                                      64,   65,        1000,       UINT32_MAX, UINT64_MAX / 3,
                                      1000, INT64_MAX, UINT64_MAX, 4096,       UINT64_MAX - 1};
    for (size_t i = 0; i < RTI_COUNT_OF(values); i++) {
        rti_histogram_init(&histogram);
        rti_histogram_record(&histogram, values[i]);
        rti_histogram_audit(&histogram);
        CHECK(rti_histogram_percentile(&histogram, 0) == values[i]);
        CHECK(rti_histogram_percentile(&histogram, 500000) == values[i]);
        CHECK(rti_histogram_percentile(&histogram, RTI_HISTOGRAM_PPM) == values[i]);
        CHECK(histogram.max == values[i]);
    }
}

/* Each pair of neighbouring buckets meets without gap or overlap, over all 64 bits. */
TEST(histogram_buckets_are_in_order_and_cover_every_value)
{
    CHECK_EQ(rti_histogram_bucket(0), 0);
    CHECK_EQ(rti_histogram_bucket(UINT64_MAX), RTI_HISTOGRAM_BUCKETS - 1);
    uint64_t first = 0;
    for (size_t bucket = 0; bucket + 1 < RTI_HISTOGRAM_BUCKETS; bucket++) {
        CHECK_EQ(rti_histogram_bucket(first), bucket);
        uint64_t width = 1;
        while (rti_histogram_bucket(first + width) == bucket) {
            width *= 2;
        }
        CHECK_EQ(rti_histogram_bucket(first + width - 1), bucket);
        CHECK_EQ(rti_histogram_bucket(first + width), bucket + 1);
        CHECK(width == 1 || width <= first >> RTI_HISTOGRAM_BITS);
        first += width;
    }
}

static int compare_values(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The reference: all values, sorted. */
TEST(histogram_percentiles_stay_within_the_stated_error)
{
    enum { VALUES = 5000 };
    static uint64_t values[VALUES];
    static const uint32_t asked[] = {0,      1,      100000, 250000, 500000, 900000,
                                     990000, 999000, 999900, 999999, 1000000};
    struct rti_rng rng;
    rti_rng_init(&rng, 70);
    for (unsigned bits = 4; bits <= 64; bits += 4) {
        rti_histogram_init(&histogram);
        for (size_t i = 0; i < VALUES; i++) {
            /* Spread over the magnitudes as latencies are. */
            values[i] = rti_rng_next(&rng) >> (64 - bits) >> rti_rng_below(&rng, bits);
            rti_histogram_record(&histogram, values[i]);
        }
        rti_histogram_audit(&histogram);
        qsort(values, VALUES, sizeof(values[0]), compare_values);
        for (size_t i = 0; i < RTI_COUNT_OF(asked); i++) {
            uint64_t rank =
                ((uint64_t)VALUES * asked[i] + RTI_HISTOGRAM_PPM - 1) / RTI_HISTOGRAM_PPM;
            uint64_t exact = values[rank == 0 ? 0 : rank - 1];
            CHECK(is_within_bound(rti_histogram_percentile(&histogram, asked[i]), exact));
        }
        CHECK(histogram.max == values[VALUES - 1]);
        CHECK(rti_histogram_percentile(&histogram, RTI_HISTOGRAM_PPM) == values[VALUES - 1]);
    }
}

TEST(histogram_small_values_are_exact)
{
    rti_histogram_init(&histogram);
    for (uint64_t value = 1; value <= 50; value++) {
        rti_histogram_record(&histogram, value);
        rti_histogram_record(&histogram, value);
    }
    for (uint32_t percent = 1; percent <= 100; percent++) {
        CHECK_EQ(rti_histogram_percentile(&histogram, percent * 10000), (percent + 1) / 2);
    }
}

TEST(histogram_merge_equals_recording_into_one)
{
    static struct rti_histogram parts[2];
    static struct rti_histogram whole;
    struct rti_rng rng;
    rti_rng_init(&rng, 71);
    rti_histogram_init(&parts[0]);
    rti_histogram_init(&parts[1]);
    rti_histogram_init(&whole);
    for (int i = 0; i < 3000; i++) {
        uint64_t value = rti_rng_next(&rng) >> rti_rng_below(&rng, 64);
        rti_histogram_record(&parts[rti_rng_below(&rng, 2)], value);
        rti_histogram_record(&whole, value);
    }
    rti_histogram_merge(&parts[0], &parts[1]);
    CHECK(memcmp(&parts[0], &whole, sizeof(whole)) == 0);
    /* An empty one adds nothing. */
    rti_histogram_init(&parts[1]);
    rti_histogram_merge(&parts[0], &parts[1]);
    CHECK(memcmp(&parts[0], &whole, sizeof(whole)) == 0);
    rti_histogram_merge(&parts[1], &whole);
    CHECK(memcmp(&parts[1], &whole, sizeof(whole)) == 0);
}

/* Counts so large that count * ppm would overflow. */
TEST(histogram_huge_counts_do_not_overflow)
{
    rti_histogram_init(&histogram);
    histogram.buckets[rti_histogram_bucket(10)] = UINT64_MAX / 2;
    histogram.buckets[rti_histogram_bucket(20)] = UINT64_MAX / 2;
    histogram.count = UINT64_MAX - 1;
    histogram.max = 20;
    rti_histogram_audit(&histogram);
    CHECK_EQ(rti_histogram_percentile(&histogram, 499999), 10);
    CHECK_EQ(rti_histogram_percentile(&histogram, 500001), 20);
    CHECK_EQ(rti_histogram_percentile(&histogram, RTI_HISTOGRAM_PPM), 20);
}

static void percentile_beyond_the_whole(void *arg)
{
    rti_histogram_percentile(arg, RTI_HISTOGRAM_PPM + 1);
}

static void merge_with_itself(void *arg)
{
    rti_histogram_merge(arg, arg);
}

static void audit_lost_count(void *arg)
{
    struct rti_histogram *broken = arg;
    broken->count++;
    rti_histogram_audit(broken);
}

static void audit_wrong_max(void *arg)
{
    struct rti_histogram *broken = arg;
    broken->max = 1000;
    rti_histogram_audit(broken);
}

TEST(histogram_misuse_panics)
{
    rti_histogram_init(&histogram);
    rti_histogram_record(&histogram, 5);
    CHECK_PANICS("histogram", percentile_beyond_the_whole, &histogram);
    CHECK_PANICS("histogram", merge_with_itself, &histogram);
    CHECK_PANICS("histogram", audit_lost_count, &histogram);
    CHECK_PANICS("histogram", audit_wrong_max, &histogram);
}
