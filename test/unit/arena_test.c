/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/rng.h"
#include "support/test.h"

#define GRANULE  RTI_ARENA_GRANULE
#define GRANULES 300

static _Alignas(GRANULE) unsigned char region[RTI_ARENA_BYTES(GRANULES * GRANULE)];

static void open_arena(struct rti_arena *arena)
{
    rti_arena_init(arena, region, sizeof(region));
    CHECK_EQ(rti_arena_stats(arena).total_bytes, GRANULES * GRANULE);
}

static void check_whole(const struct rti_arena *arena)
{
    struct rti_arena_stats stats = rti_arena_stats(arena);
    CHECK_EQ(rti_arena_audit(arena), 0);
    CHECK_EQ(stats.used_count, 0);
    CHECK_EQ(stats.free_count, 1);
    CHECK_EQ(stats.free_bytes, GRANULES * GRANULE);
    CHECK_EQ(stats.free_bytes_largest, GRANULES * GRANULE);
}

TEST(arena_gives_one_block_of_everything)
{
    struct rti_arena arena;
    open_arena(&arena);
    check_whole(&arena);
    unsigned char *block = rti_arena_alloc(&arena, GRANULES * GRANULE);
    CHECK(block == region);
    memset(block, 0xff, GRANULES * GRANULE);
    CHECK_EQ(rti_arena_audit(&arena), 1);
    CHECK(rti_arena_alloc(&arena, 1) == NULL);
    CHECK_EQ(rti_arena_stats(&arena).free_bytes_largest, 0);
    rti_arena_free(&arena, block);
    check_whole(&arena);
    rti_arena_deinit(&arena);
    memset(region, 0, sizeof(region));
}

TEST(arena_blocks_are_aligned_and_at_least_as_large_as_asked)
{
    struct rti_arena arena;
    open_arena(&arena);
    for (size_t size = 1; size <= 3 * GRANULE; size++) {
        unsigned char *block = rti_arena_alloc(&arena, size);
        CHECK(block != NULL);
        CHECK_EQ((uintptr_t)block % 16, 0);
        CHECK(rti_arena_block_size(&arena, block) >= size);
        CHECK(rti_arena_block_size(&arena, block) < size + GRANULE);
        memset(block, 0xa5, size);
        rti_arena_free(&arena, block);
    }
    check_whole(&arena);
}

TEST(arena_takes_the_first_block_that_fits_and_splits_it)
{
    struct rti_arena arena;
    void *blocks[6];
    open_arena(&arena);
    for (size_t i = 0; i < 6; i++) {
        blocks[i] = rti_arena_alloc(&arena, (i + 1) * GRANULE);
    }
    rti_arena_free(&arena, blocks[1]);
    rti_arena_free(&arena, blocks[4]);
    /* Two granules are free at block 1, five at block 4, the rest at the end. */
    CHECK(rti_arena_alloc(&arena, 3 * GRANULE) == blocks[4]);
    CHECK(rti_arena_alloc(&arena, 2 * GRANULE) == blocks[1]);
    CHECK(rti_arena_alloc(&arena, 1) == (unsigned char *)blocks[4] + 3 * GRANULE);
    CHECK(rti_arena_alloc(&arena, 1) == (unsigned char *)blocks[4] + 4 * GRANULE);
    CHECK_EQ(rti_arena_audit(&arena), 8);
}

/* The middle block is freed in each of the four situations of its neighbours. */
TEST(arena_free_merges_with_the_block_before_and_the_block_after)
{
    for (unsigned neighbours = 0; neighbours < 4; neighbours++) {
        struct rti_arena arena;
        void *blocks[5];
        open_arena(&arena);
        for (size_t i = 0; i < 5; i++) {
            blocks[i] = rti_arena_alloc(&arena, 4 * GRANULE);
        }
        if (neighbours & 1) {
            rti_arena_free(&arena, blocks[1]);
        }
        if (neighbours & 2) {
            rti_arena_free(&arena, blocks[3]);
        }
        rti_arena_free(&arena, blocks[2]);
        CHECK_EQ(rti_arena_stats(&arena).free_count, 2);
        size_t merged = 4 * GRANULE * (1 + (neighbours & 1) + (neighbours >> 1));
        CHECK(rti_arena_alloc(&arena, merged) == blocks[neighbours & 1 ? 1 : 2]);
        CHECK_EQ(rti_arena_stats(&arena).free_count, 1);
    }
}

TEST(arena_impossible_sizes_are_refused_and_change_nothing)
{
    struct rti_arena arena;
    struct rti_arena before;
    memset(&arena, 0, sizeof(arena)); /* padding is compared as well */
    open_arena(&arena);
    void *block = rti_arena_alloc(&arena, 1000);
    memcpy(&before, &arena, sizeof(arena));
    CHECK(rti_arena_alloc(&arena, 0) == NULL);
    CHECK(rti_arena_alloc(&arena, SIZE_MAX) == NULL);
    CHECK(rti_arena_alloc(&arena, SIZE_MAX - GRANULE + 2) == NULL);
    CHECK(rti_arena_alloc(&arena, SIZE_MAX / 2 + 1) == NULL);
    CHECK(rti_arena_alloc(&arena, sizeof(region)) == NULL);
    CHECK(rti_arena_alloc(&arena, rti_arena_stats(&arena).free_bytes_largest + 1) == NULL);
    CHECK(memcmp(&before, &arena, sizeof(arena)) == 0);
    CHECK_EQ(rti_arena_audit(&arena), 1);
    rti_arena_free(&arena, block);
    check_whole(&arena);
}

TEST(arena_fragmented_one_refuses_what_is_free_only_in_pieces)
{
    struct rti_arena arena;
    void *blocks[GRANULES];
    open_arena(&arena);
    for (size_t i = 0; i < GRANULES; i++) {
        blocks[i] = rti_arena_alloc(&arena, GRANULE);
        CHECK(blocks[i] != NULL);
    }
    CHECK(rti_arena_alloc(&arena, 1) == NULL);
    for (size_t i = 0; i < GRANULES; i += 2) {
        rti_arena_free(&arena, blocks[i]);
    }
    struct rti_arena_stats stats = rti_arena_stats(&arena);
    CHECK_EQ(stats.free_bytes, GRANULES / 2 * GRANULE);
    CHECK_EQ(stats.free_bytes_largest, GRANULE);
    CHECK_EQ(stats.free_count, GRANULES / 2);
    CHECK(rti_arena_alloc(&arena, GRANULE + 1) == NULL);
    for (size_t i = 1; i < GRANULES; i += 2) {
        rti_arena_free(&arena, blocks[i]);
    }
    check_whole(&arena);
}

/* Every region from nothing to some granules, at every alignment: what lies around it survives. */
TEST(arena_works_in_regions_of_any_size_and_alignment)
{
    enum { SIZE = 70 * GRANULE };
    static _Alignas(GRANULE) unsigned char memory[SIZE + 2 * GRANULE];
    for (size_t shift = 0; shift < GRANULE; shift += 7) {
        for (size_t size = 0; size <= SIZE; size += size < 300 ? 1 : 37) {
            struct rti_arena arena;
            memset(memory, 0xee, sizeof(memory));
            rti_arena_init(&arena, memory + shift, size);
            size_t total = rti_arena_stats(&arena).total_bytes;
            CHECK(total <= size && total + 2 * GRANULE + 32 >= size);
            unsigned char *block = rti_arena_alloc(&arena, total);
            CHECK((block != NULL) == (total > 0));
            if (block != NULL) {
                CHECK(block >= memory + shift && block + total <= memory + shift + size);
                memset(block, 0x11, total);
                CHECK_EQ(rti_arena_audit(&arena), 1);
                rti_arena_free(&arena, block);
            }
            rti_arena_deinit(&arena);
            CHECK(shift == 0 || memory[shift - 1] == 0xee);
            CHECK_EQ(memory[shift + size], 0xee);
        }
    }
}

/* The reference: the owner of each granule, and first fit by looking at each granule in turn. */
struct model {
    uint32_t owner[GRANULES]; /* 0 is free */
};

static size_t model_first_fit(const struct model *model, size_t wanted)
{
    size_t run = 0;
    for (size_t i = 0; i < GRANULES; i++) {
        run = model->owner[i] == 0 ? run + 1 : 0;
        if (run == wanted) {
            return i + 1 - wanted;
        }
    }
    return SIZE_MAX;
}

static void model_compare(const struct model *model, const struct rti_arena *arena)
{
    struct rti_arena_stats stats = rti_arena_stats(arena);
    size_t free_count = 0;
    size_t free_runs = 0;
    size_t run = 0;
    size_t run_max = 0;
    for (size_t i = 0; i < GRANULES; i++) {
        run = model->owner[i] == 0 ? run + 1 : 0;
        free_count += run > 0;
        free_runs += run == 1;
        run_max = run > run_max ? run : run_max;
    }
    CHECK_EQ(stats.free_bytes, free_count * GRANULE);
    CHECK_EQ(stats.free_count, free_runs);
    CHECK_EQ(stats.free_bytes_largest, run_max * GRANULE);
}

TEST(arena_agrees_with_first_fit_over_an_array_of_granules)
{
    enum { LIVE_MAX = 64 };
    static struct model model;
    struct {
        unsigned char *bytes;
        size_t size;
        uint32_t owner;
    } live[LIVE_MAX];
    size_t live_count = 0;
    struct rti_arena arena;
    struct rti_rng rng;
    open_arena(&arena);
    rti_rng_init(&rng, 50);
    for (uint32_t step = 1; step <= 20000; step++) {
        if (live_count < LIVE_MAX && rti_rng_chance(&rng, 1, 2)) {
            size_t size = 1 + (size_t)rti_rng_below(&rng, rti_rng_chance(&rng, 1, 8) ? 9000 : 900);
            size_t granules = (size + GRANULE - 1) / GRANULE;
            size_t at = model_first_fit(&model, granules);
            unsigned char *block = rti_arena_alloc(&arena, size);
            CHECK(block == (at == SIZE_MAX ? NULL : region + at * GRANULE));
            for (size_t i = 0; block != NULL && i < granules; i++) {
                model.owner[at + i] = step;
                memcpy(block + i * GRANULE, &step, sizeof(step));
            }
            if (block != NULL) {
                live[live_count].bytes = block;
                live[live_count].size = granules;
                live[live_count++].owner = step;
            }
        } else if (live_count > 0) {
            size_t pick = (size_t)rti_rng_below(&rng, live_count);
            CHECK_EQ(rti_arena_block_size(&arena, live[pick].bytes), live[pick].size * GRANULE);
            for (size_t i = 0; i < live[pick].size; i++) {
                CHECK(memcmp(live[pick].bytes + i * GRANULE, &live[pick].owner, 4) == 0);
                model.owner[(size_t)(live[pick].bytes - region) / GRANULE + i] = 0;
            }
            rti_arena_free(&arena, live[pick].bytes);
            live[pick] = live[--live_count];
        }
        CHECK_EQ(rti_arena_audit(&arena), live_count);
        model_compare(&model, &arena);
    }
    while (live_count > 0) {
        rti_arena_free(&arena, live[--live_count].bytes);
    }
    check_whole(&arena);
}

TEST(arena_high_water_is_the_most_ever_in_use)
{
    struct rti_arena arena;
    open_arena(&arena);
    void *a = rti_arena_alloc(&arena, 10 * GRANULE);
    void *b = rti_arena_alloc(&arena, 20 * GRANULE);
    rti_arena_free(&arena, a);
    rti_arena_free(&arena, b);
    a = rti_arena_alloc(&arena, GRANULE);
    CHECK_EQ(rti_arena_stats(&arena).used_bytes_max, 30 * GRANULE);
    rti_arena_free(&arena, a);
}

/* A stack that overflows downwards meets the neighbour's memory, never the arena's record. */
TEST(arena_record_survives_a_write_below_a_block)
{
    struct rti_arena arena;
    open_arena(&arena);
    unsigned char *low = rti_arena_alloc(&arena, 1024);
    unsigned char *high = rti_arena_alloc(&arena, 1024);
    memset(low, 0xff, 1024);
    CHECK(high == low + 1024);
    memset(high - 512, 0, 512);
    CHECK_EQ(rti_arena_audit(&arena), 2);
    rti_arena_free(&arena, high);
    rti_arena_free(&arena, low);
    check_whole(&arena);
}

static void free_twice(void *arg)
{
    void *block = rti_arena_alloc(arg, 100);
    rti_arena_free(arg, block);
    rti_arena_free(arg, block);
}

/* The second free names a block that was merged into its neighbour and is no start any more. */
static void free_twice_after_a_merge(void *arg)
{
    void *a = rti_arena_alloc(arg, 100);
    void *b = rti_arena_alloc(arg, 100);
    rti_arena_free(arg, a);
    rti_arena_free(arg, b);
    rti_arena_free(arg, b);
}

static void free_inside_a_larger_block(void *arg)
{
    unsigned char *block = rti_arena_alloc(arg, 10 * GRANULE);
    rti_arena_free(arg, block + GRANULE);
}

static void free_misaligned(void *arg)
{
    unsigned char *block = rti_arena_alloc(arg, 100);
    rti_arena_free(arg, block + 16);
}

static void free_null(void *arg)
{
    rti_arena_free(arg, NULL);
}

static void free_foreign(void *arg)
{
    static _Alignas(GRANULE) unsigned char foreign[GRANULE];
    rti_arena_free(arg, foreign);
}

static void free_the_record(void *arg)
{
    rti_arena_free(arg, ((struct rti_arena *)arg)->starts);
}

static void init_null(void *arg)
{
    rti_arena_init(arg, NULL, 1000);
}

static void init_beyond_the_address_space(void *arg)
{
    rti_arena_init(arg, region, SIZE_MAX);
}

static void deinit_in_use(void *arg)
{
    CHECK(rti_arena_alloc(arg, 1) != NULL);
    rti_arena_deinit(arg);
}

TEST(arena_misuse_panics_in_every_build)
{
    struct rti_arena arena;
    open_arena(&arena);
    CHECK_PANICS("arena", free_twice, &arena);
    CHECK_PANICS("arena", free_twice_after_a_merge, &arena);
    CHECK_PANICS("arena", free_inside_a_larger_block, &arena);
    CHECK_PANICS("arena", free_misaligned, &arena);
    CHECK_PANICS("arena", free_null, &arena);
    CHECK_PANICS("arena", free_foreign, &arena);
    CHECK_PANICS("arena", free_the_record, &arena);
    CHECK_PANICS("arena", deinit_in_use, &arena);
    CHECK_PANICS("arena", init_null, &arena);
    CHECK_PANICS("arena", init_beyond_the_address_space, &arena);
}

static void audit_free_neighbours(void *arg)
{
    struct rti_arena *arena = arg;
    rti_bitmap_set(arena->starts, arena->granule_count, 10);
    rti_arena_audit(arena);
}

static void audit_used_inside_a_block(void *arg)
{
    struct rti_arena *arena = arg;
    rti_bitmap_set(arena->used, arena->granule_count, 10);
    rti_arena_audit(arena);
}

static void audit_lost_granules(void *arg)
{
    struct rti_arena *arena = arg;
    arena->free_granules--;
    rti_arena_audit(arena);
}

TEST(arena_audit_sees_a_broken_record)
{
    struct rti_arena arena;
    open_arena(&arena);
    CHECK_PANICS("arena", audit_free_neighbours, &arena);
    CHECK_PANICS("arena", audit_used_inside_a_block, &arena);
    CHECK_PANICS("arena", audit_lost_granules, &arena);
}
