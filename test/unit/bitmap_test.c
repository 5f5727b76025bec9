/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "bitmap"
#include "base/bitmap.h"

#include "base/rng.h"
#include "support/test.h"

#define BITS_MAX 300

/* The reference: one bool per bit. */
struct model {
    bool is_set[BITS_MAX];
    size_t bits;
};

static size_t model_find(const struct model *model, size_t from, bool is_cyclic)
{
    for (size_t i = from; i < model->bits; i++) {
        if (model->is_set[i]) {
            return i;
        }
    }
    return is_cyclic ? model_find(model, 0, false) : RTI_BITMAP_NONE;
}

static void compare(const struct model *model, const rti_bitmap_word *words)
{
    size_t count = 0;
    for (size_t i = 0; i < model->bits; i++) {
        CHECK(rti_bitmap_test(words, model->bits, i) == model->is_set[i]);
        CHECK(rti_bitmap_find_from(words, model->bits, i) == model_find(model, i, false));
        CHECK(rti_bitmap_find_cyclic(words, model->bits, i) == model_find(model, i, true));
        count += model->is_set[i];
    }
    CHECK(rti_bitmap_find_from(words, model->bits, model->bits) == RTI_BITMAP_NONE);
    CHECK(rti_bitmap_find_first(words, model->bits) == model_find(model, 0, false));
    CHECK_EQ(rti_bitmap_count(words, model->bits), count);
    rti_bitmap_audit(words, model->bits);
}

TEST(bitmap_agrees_with_an_array_of_bools)
{
    static const size_t sizes[] = {1, 2, 63, 64, 65, 127, 128, 129, 256, 300};
    struct rti_rng rng;
    rti_rng_init(&rng, 20);
    for (size_t s = 0; s < RTI_COUNT_OF(sizes); s++) {
        struct model model = {.bits = sizes[s]};
        rti_bitmap_word words[RTI_BITMAP_WORDS(BITS_MAX)];
        rti_bitmap_clear_all(words, model.bits);
        compare(&model, words);
        for (int step = 0; step < 200; step++) {
            size_t bit = (size_t)rti_rng_below(&rng, model.bits);
            /* Sparse in the first half, dense in the second. */
            bool set = rti_rng_chance(&rng, step < 100 ? 1 : 3, 4);
            model.is_set[bit] = set;
            if (set) {
                rti_bitmap_set(words, model.bits, bit);
            } else {
                rti_bitmap_clear(words, model.bits, bit);
            }
            compare(&model, words);
        }
    }
}

TEST(bitmap_single_bit_is_found_from_everywhere)
{
    rti_bitmap_word words[RTI_BITMAP_WORDS(256)];
    for (size_t bit = 0; bit < 256; bit++) {
        rti_bitmap_clear_all(words, 256);
        rti_bitmap_set(words, 256, bit);
        for (size_t from = 0; from < 256; from++) {
            CHECK_EQ(rti_bitmap_find_cyclic(words, 256, from), bit);
        }
        CHECK_EQ(rti_bitmap_find_first(words, 256), bit);
    }
}

TEST(bitmap_empty_one_gives_none)
{
    rti_bitmap_word words[RTI_BITMAP_WORDS(256)];
    rti_bitmap_clear_all(words, 256);
    CHECK(rti_bitmap_find_first(words, 256) == RTI_BITMAP_NONE);
    CHECK(rti_bitmap_find_cyclic(words, 256, 255) == RTI_BITMAP_NONE);
    CHECK_EQ(rti_bitmap_count(words, 256), 0);
}

static void audit_stray_bit(void *arg)
{
    rti_bitmap_audit(arg, 65);
}

TEST(bitmap_audit_sees_a_bit_beyond_the_end)
{
    rti_bitmap_word words[RTI_BITMAP_WORDS(65)] = {[RTI_BITMAP_WORDS(65) - 1] = 2};
    CHECK_PANICS("bitmap", audit_stray_bit, words);
}

#if RT_CHECKS
static void set_beyond_the_end(void *arg)
{
    rti_bitmap_set(arg, 65, 65);
}

TEST(bitmap_set_beyond_the_end_panics_in_a_checked_build)
{
    rti_bitmap_word words[RTI_BITMAP_WORDS(65)] = {0};
    CHECK_PANICS("bitmap", set_beyond_the_end, words);
}
#endif
