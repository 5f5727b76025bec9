/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include "base/rng.h"
#include "support/test.h"

struct thing {
    uint64_t a;
    uint32_t b;
    char c[12];
};

#define THINGS 5
static RTI_POOL_STORAGE(thing_memory, struct thing, THINGS);

static void init_things(struct rti_pool *pool)
{
    rti_pool_init(pool, thing_memory, sizeof(struct thing), THINGS);
}

TEST(pool_hands_out_every_block_once_and_then_null)
{
    struct rti_pool pool;
    struct thing *things[THINGS];
    init_things(&pool);
    CHECK_EQ(rti_pool_audit(&pool), THINGS);
    for (size_t i = 0; i < THINGS; i++) {
        things[i] = rti_pool_alloc(&pool);
        CHECK(things[i] != NULL);
        CHECK_EQ((uintptr_t)things[i] % _Alignof(struct thing), 0);
        memset(things[i], (int)i, sizeof(struct thing));
    }
    CHECK(rti_pool_alloc(&pool) == NULL);
    CHECK(rti_pool_alloc(&pool) == NULL);
    CHECK_EQ(rti_pool_in_use(&pool), THINGS);
    CHECK_EQ(rti_pool_audit(&pool), 0);
    for (size_t i = 0; i < THINGS; i++) {
        CHECK_EQ(things[i]->c[11], (int)i);
        rti_pool_free(&pool, things[i]);
    }
    CHECK_EQ(rti_pool_audit(&pool), THINGS);
    rti_pool_deinit(&pool);
    memset(thing_memory, 0, sizeof(thing_memory));
}

TEST(pool_reuses_the_block_freed_last)
{
    struct rti_pool pool;
    init_things(&pool);
    void *a = rti_pool_alloc(&pool);
    void *b = rti_pool_alloc(&pool);
    rti_pool_free(&pool, a);
    rti_pool_free(&pool, b);
    CHECK(rti_pool_alloc(&pool) == b);
    CHECK(rti_pool_alloc(&pool) == a);
}

TEST(pool_high_water_is_the_most_ever_in_use)
{
    struct rti_pool pool;
    init_things(&pool);
    CHECK_EQ(rti_pool_high_water(&pool), 0);
    for (int round = 0; round < 3; round++) {
        void *a = rti_pool_alloc(&pool);
        void *b = rti_pool_alloc(&pool);
        rti_pool_free(&pool, a);
        rti_pool_free(&pool, b);
        CHECK_EQ(rti_pool_high_water(&pool), 2);
        CHECK_EQ(rti_pool_in_use(&pool), 0);
    }
}

TEST(pool_of_zero_blocks_is_exhausted_and_owns_nothing)
{
    struct rti_pool pool;
    uint32_t memory[1];
    rti_pool_init(&pool, memory, 8, 0);
    CHECK(rti_pool_alloc(&pool) == NULL);
    CHECK(!rti_pool_is_in_use(&pool, memory));
    CHECK_EQ(rti_pool_audit(&pool), 0);
}

TEST(pool_of_one_block_alternates)
{
    struct rti_pool pool;
    static RTI_POOL_STORAGE(memory, char, 1);
    rti_pool_init(&pool, memory, 1, 1);
    for (int i = 0; i < 10; i++) {
        char *block = rti_pool_alloc(&pool);
        CHECK(block != NULL && rti_pool_alloc(&pool) == NULL);
        *block = 'x';
        rti_pool_free(&pool, block);
    }
}

/* Every address near and far is asked, for sizes with and without a factor of two. */
TEST(pool_knows_exactly_which_addresses_are_its_blocks)
{
    enum { COUNT = 7, SIZE_MAX_TRIED = 70, MARGIN = 200 };
    static _Alignas(16) unsigned char memory[MARGIN + RTI_POOL_BYTES(SIZE_MAX_TRIED, COUNT) + 200];
    for (size_t size = 1; size <= SIZE_MAX_TRIED; size++) {
        struct rti_pool pool;
        unsigned char *start = memory + MARGIN - MARGIN % 16;
        rti_pool_init(&pool, start, size, COUNT);
        while (rti_pool_alloc(&pool) != NULL) {
        }
        for (size_t i = 0; i < sizeof(memory); i++) {
            bool is_block = memory + i >= start && (size_t)(memory + i - start) % size == 0 &&
                            (size_t)(memory + i - start) / size < COUNT;
            CHECK(rti_pool_is_in_use(&pool, memory + i) == is_block);
        }
        CHECK(!rti_pool_is_in_use(&pool, NULL));
        CHECK(!rti_pool_is_in_use(&pool, (void *)UINTPTR_MAX));
        for (size_t i = 0; i < COUNT; i++) {
            rti_pool_free(&pool, start + i * size);
        }
        rti_pool_deinit(&pool);
    }
}

/* The model holds the set of live blocks; each live block carries its owner's number. */
TEST(pool_agrees_with_a_set_of_live_blocks)
{
    enum { COUNT = 37 };
    static RTI_POOL_STORAGE(memory, struct thing, COUNT);
    struct thing *live[COUNT];
    size_t live_count = 0;
    size_t live_max = 0;
    struct rti_pool pool;
    struct rti_rng rng;
    rti_pool_init(&pool, memory, sizeof(struct thing), COUNT);
    rti_rng_init(&rng, 30);
    for (uint64_t step = 0; step < 20000; step++) {
        /* The odds drift, so that both limits are reached. */
        if (rti_rng_chance(&rng, step / 1000 % 2 == 0 ? 3 : 1, 4)) {
            struct thing *thing = rti_pool_alloc(&pool);
            CHECK((thing == NULL) == (live_count == COUNT));
            if (thing != NULL) {
                thing->a = (uint64_t)(uintptr_t)thing;
                live[live_count++] = thing;
            }
        } else if (live_count > 0) {
            size_t at = (size_t)rti_rng_below(&rng, live_count);
            CHECK(live[at]->a == (uint64_t)(uintptr_t)live[at]);
            rti_pool_free(&pool, live[at]);
            CHECK(!rti_pool_is_in_use(&pool, live[at]));
            live[at] = live[--live_count];
        }
        live_max = live_count > live_max ? live_count : live_max;
        CHECK_EQ(rti_pool_in_use(&pool), live_count);
        CHECK_EQ(rti_pool_high_water(&pool), live_max);
        if (step % 16 == 0) {
            CHECK_EQ(rti_pool_audit(&pool), COUNT - live_count);
        }
    }
    CHECK_EQ(live_max, COUNT);
}

TEST(pool_order_of_reuse_depends_on_the_calls_only)
{
    enum { COUNT = 16, STEPS = 500 };
    static RTI_POOL_STORAGE(first, struct thing, COUNT);
    static RTI_POOL_STORAGE(second, struct thing, COUNT);
    unsigned char *memories[2] = {first, second};
    static size_t orders[2][STEPS];
    for (int run = 0; run < 2; run++) {
        struct rti_pool pool;
        struct rti_rng rng;
        rti_pool_init(&pool, memories[run], sizeof(struct thing), COUNT);
        rti_rng_init(&rng, 31);
        for (size_t step = 0; step < STEPS; step++) {
            orders[run][step] = SIZE_MAX;
            void *block = rti_pool_block(&pool, (size_t)rti_rng_below(&rng, COUNT));
            if (rti_pool_is_in_use(&pool, block)) {
                rti_pool_free(&pool, block);
            } else if ((block = rti_pool_alloc(&pool)) != NULL) {
                orders[run][step] = rti_pool_index(&pool, block);
            }
        }
    }
    CHECK(memcmp(orders[0], orders[1], sizeof(orders[0])) == 0);
}

static void free_twice(void *arg)
{
    struct rti_pool *pool = arg;
    void *block = rti_pool_alloc(pool);
    rti_pool_free(pool, block);
    rti_pool_free(pool, block);
}

static void free_never_allocated(void *arg)
{
    struct rti_pool *pool = arg;
    rti_pool_free(pool, rti_pool_block(pool, 3));
}

static void free_null(void *arg)
{
    rti_pool_free(arg, NULL);
}

static void free_middle_of_a_block(void *arg)
{
    rti_pool_free(arg, (char *)rti_pool_alloc(arg) + 8);
}

static void free_foreign(void *arg)
{
    static struct thing foreign;
    rti_pool_free(arg, &foreign);
}

static void free_behind_the_last(void *arg)
{
    struct rti_pool *pool = arg;
    rti_pool_free(pool, pool->blocks + pool->count * pool->block_size);
}

static void deinit_in_use(void *arg)
{
    CHECK(rti_pool_alloc(arg) != NULL);
    rti_pool_deinit(arg);
}

static void init_size_zero(void *arg)
{
    rti_pool_init(arg, thing_memory, 0, 1);
}

static void init_overflow(void *arg)
{
    rti_pool_init(arg, thing_memory, SIZE_MAX / 4, 8);
}

static void init_misaligned(void *arg)
{
    rti_pool_init(arg, thing_memory + 1, 8, 1);
}

TEST(pool_misuse_panics_in_every_build)
{
    struct rti_pool pool;
    init_things(&pool);
    CHECK_PANICS("pool", free_twice, &pool);
    CHECK_PANICS("pool", free_never_allocated, &pool);
    CHECK_PANICS("pool", free_null, &pool);
    CHECK_PANICS("pool", free_middle_of_a_block, &pool);
    CHECK_PANICS("pool", free_foreign, &pool);
    CHECK_PANICS("pool", free_behind_the_last, &pool);
    CHECK_PANICS("pool", deinit_in_use, &pool);
    CHECK_PANICS("pool", init_size_zero, &pool);
    CHECK_PANICS("pool", init_overflow, &pool);
    CHECK_PANICS("pool", init_misaligned, &pool);
}

static void audit_ring(void *arg)
{
    struct rti_pool *pool = arg;
    void *a = rti_pool_alloc(pool);
    void *b = rti_pool_alloc(pool);
    rti_pool_free(pool, a);
    rti_pool_free(pool, b);
    pool->links[0] = 1;
    rti_pool_audit(pool);
}

TEST(pool_audit_sees_a_free_list_that_is_a_ring)
{
    struct rti_pool pool;
    init_things(&pool);
    CHECK_PANICS("pool", audit_ring, &pool);
}

#if RT_CHECKS && !RTI_ASAN
static void write_after_free(void *arg)
{
    struct rti_pool *pool = arg;
    struct thing *thing = rti_pool_alloc(pool);
    rti_pool_free(pool, thing);
    thing->c[5] = 1;
    rti_pool_alloc(pool);
}

TEST(pool_write_after_free_panics_in_a_checked_build)
{
    struct rti_pool pool;
    init_things(&pool);
    CHECK_PANICS("pool", write_after_free, &pool);
}
#endif
