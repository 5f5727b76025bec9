/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "base/rng.h"
#include "support/test.h"

#define WORDS 8

static uint64_t digest_of(uint64_t seed, const uint64_t *words, size_t count)
{
    uint64_t digest = rti_digest_init(seed);
    for (size_t i = 0; i < count; i++) {
        digest = rti_digest_mix(digest, words[i]);
    }
    return rti_digest_final(digest);
}

static void fill(uint64_t *words, size_t count, uint64_t seed)
{
    struct rti_rng rng;
    rti_rng_init(&rng, seed);
    for (size_t i = 0; i < count; i++) {
        words[i] = rti_rng_next(&rng);
    }
}

TEST(digest_of_known_sequences_never_changes)
{
    static const uint64_t counting[] = {1, 2, 3, 4};
    uint64_t words[1000];
    fill(words, 1000, 1);
    CHECK(digest_of(0, NULL, 0) == UINT64_C(0xef6d0f371478fac8));
    CHECK(digest_of(0, counting, 4) == UINT64_C(0xd1f8b9506f8c8f1b));
    CHECK(digest_of(42, counting, 4) == UINT64_C(0x43128da01444fc65));
    CHECK(digest_of(42, words, 1000) == UINT64_C(0xc4ea3074163327c5));
}

TEST(digest_changes_with_every_single_bit)
{
    uint64_t words[WORDS];
    fill(words, WORDS, 2);
    uint64_t before = digest_of(7, words, WORDS);
    unsigned changed_bits = 0;
    for (size_t i = 0; i < WORDS; i++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            words[i] ^= UINT64_C(1) << bit;
            uint64_t after = digest_of(7, words, WORDS);
            words[i] ^= UINT64_C(1) << bit;
            CHECK(after != before);
            changed_bits += (unsigned)__builtin_popcountll(after ^ before);
        }
    }
    /* On average half of the 64 bits change. */
    CHECK(changed_bits > WORDS * 64 * 31 && changed_bits < WORDS * 64 * 33);
}

TEST(digest_depends_on_order)
{
    uint64_t words[WORDS];
    fill(words, WORDS, 3);
    uint64_t before = digest_of(7, words, WORDS);
    for (size_t i = 0; i < WORDS; i++) {
        for (size_t j = i + 1; j < WORDS; j++) {
            uint64_t word = words[i];
            words[i] = words[j];
            words[j] = word;
            CHECK(digest_of(7, words, WORDS) != before);
            words[j] = words[i];
            words[i] = word;
        }
    }
}

TEST(digest_depends_on_length_even_for_zeros)
{
    static const uint64_t zeros[64] = {0};
    uint64_t digests[65];
    for (size_t i = 0; i <= 64; i++) {
        digests[i] = digest_of(0, zeros, i);
        for (size_t j = 0; j < i; j++) {
            CHECK(digests[i] != digests[j]);
        }
    }
}

TEST(digest_depends_on_the_seed)
{
    static const uint64_t word = 5;
    CHECK(digest_of(1, &word, 1) != digest_of(2, &word, 1));
    CHECK(digest_of(1, NULL, 0) != digest_of(2, NULL, 0));
}

TEST(digest_spreads_small_numbers_over_all_buckets)
{
    unsigned counts[64] = {0};
    for (uint64_t i = 0; i < 64000; i++) {
        counts[digest_of(0, &i, 1) & 63]++;
    }
    for (size_t i = 0; i < 64; i++) {
        CHECK(counts[i] > 850 && counts[i] < 1150);
    }
}
