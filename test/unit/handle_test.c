/* SPDX-License-Identifier: Apache-2.0 */
#include "base/handle.h"

#include "base/rng.h"
#include "support/test.h"

static struct rti_handle_slot slots[64];

TEST(handle_issues_every_slot_once_and_then_none)
{
    struct rti_handle_table table;
    rti_handle_init(&table, slots, 5, 3);
    uint32_t ids[5];
    for (int32_t i = 0; i < 5; i++) {
        ids[i] = rti_handle_alloc(&table);
        CHECK(ids[i] != RTI_HANDLE_NONE);
        CHECK_EQ(rti_handle_lookup(&table, ids[i]), i);
        CHECK_EQ(rti_handle_index(&table, ids[i]), i);
    }
    CHECK_EQ(rti_handle_alloc(&table), RTI_HANDLE_NONE);
    CHECK_EQ(rti_handle_audit(&table), 5);
    rti_handle_free(&table, ids[2]);
    CHECK_EQ(rti_handle_lookup(&table, ids[2]), -1);
    uint32_t id = rti_handle_alloc(&table);
    CHECK(id != ids[2]);
    CHECK_EQ(rti_handle_lookup(&table, id), 2);
    CHECK_EQ(rti_handle_lookup(&table, ids[2]), -1);
}

TEST(handle_unissued_numbers_do_not_resolve)
{
    struct rti_handle_table table;
    rti_handle_init(&table, slots, 5, 3);
    for (uint32_t id = 0; id < 100; id++) {
        CHECK_EQ(rti_handle_lookup(&table, id), -1);
    }
    uint32_t id = rti_handle_alloc(&table);
    CHECK_EQ(rti_handle_lookup(&table, 0), -1);
    CHECK_EQ(rti_handle_lookup(&table, UINT32_MAX), -1);
    CHECK_EQ(rti_handle_lookup(&table, UINT32_MAX - 1), -1);
    CHECK_EQ(rti_handle_lookup(&table, id + 5), -1);
    CHECK_EQ(rti_handle_lookup(&table, id + 8), -1);
    CHECK_EQ(rti_handle_lookup(&table, id), 0);
}

TEST(handle_slot_freed_first_is_issued_first)
{
    struct rti_handle_table table;
    uint32_t ids[4];
    rti_handle_init(&table, slots, 4, 2);
    for (size_t i = 0; i < 4; i++) {
        ids[i] = rti_handle_alloc(&table);
    }
    rti_handle_free(&table, ids[3]);
    rti_handle_free(&table, ids[0]);
    rti_handle_free(&table, ids[2]);
    CHECK_EQ(rti_handle_index(&table, rti_handle_alloc(&table)), 3);
    CHECK_EQ(rti_handle_index(&table, rti_handle_alloc(&table)), 0);
    CHECK_EQ(rti_handle_index(&table, rti_handle_alloc(&table)), 2);
    CHECK_EQ(rti_handle_alloc(&table), RTI_HANDLE_NONE);
}

/* With 16 index bits a slot has 65,535 generations; every id of its life is different. */
TEST(handle_slot_retires_after_its_last_generation)
{
    struct rti_handle_table table;
    rti_handle_init(&table, slots, 1, 16);
    uint32_t last = 0;
    for (uint32_t i = 1; i <= 65535; i++) {
        uint32_t id = rti_handle_alloc(&table);
        CHECK(id > last);
        CHECK_EQ(rti_handle_lookup(&table, last), -1);
        CHECK_EQ(rti_handle_lookup(&table, id), 0);
        CHECK_EQ(table.retired_count, 0);
        rti_handle_free(&table, id);
        last = id;
    }
    CHECK_EQ(table.retired_count, 1);
    CHECK_EQ(rti_handle_alloc(&table), RTI_HANDLE_NONE);
    for (uint32_t generation = 0; generation <= 65535; generation++) {
        CHECK_EQ(rti_handle_lookup(&table, generation << 16), -1);
    }
    CHECK_EQ(rti_handle_audit(&table), 0);
}

/* Issues and frees until nothing is left. Returns how many ids there were; none may be reserved. */
static uint32_t wear_out(struct rti_handle_table *table)
{
    uint32_t issued = 0;
    uint32_t id;
    while ((id = rti_handle_alloc(table)) != RTI_HANDLE_NONE) {
        CHECK(id <= RTI_HANDLE_ID_MAX);
        CHECK(id >> table->index_bits >= 1);
        rti_handle_free(table, id);
        issued++;
    }
    rti_handle_audit(table);
    CHECK_EQ(table->retired_count, table->count);
    return issued;
}

TEST(handle_tables_with_few_generations_use_all_of_them)
{
    for (unsigned bits = 25; bits <= 31; bits++) {
        struct rti_handle_table table;
        rti_handle_init(&table, slots, 3, bits);
        CHECK_EQ(wear_out(&table), 3 * ((UINT32_C(1) << (32 - bits)) - 1));
    }
}

/* The slots of a full table are made old, so that the two highest ids would be next. */
TEST(handle_reserved_ids_are_never_issued)
{
    for (unsigned bits = 1; bits <= 6; bits++) {
        struct rti_handle_table table;
        uint32_t count = UINT32_C(1) << bits;
        rti_handle_init(&table, slots, count, bits);
        for (uint32_t i = 0; i < count; i++) {
            slots[i].id = (UINT32_MAX << bits) - 2 * count + i;
        }
        rti_handle_audit(&table);
        /* Two generations are left for each slot, less the two reserved ids. */
        CHECK_EQ(wear_out(&table), 2 * count - 2);
        for (uint32_t back = 0; back < 3 * count; back++) {
            CHECK_EQ(rti_handle_lookup(&table, UINT32_MAX - back), -1);
        }
    }
}

TEST(handle_wear_is_spread_evenly)
{
    struct rti_handle_table table;
    rti_handle_init(&table, slots, 10, 28);
    /* Fifteen generations each: the first retirement comes only in the last round. */
    for (int i = 0; i < 140; i++) {
        rti_handle_free(&table, rti_handle_alloc(&table));
        CHECK_EQ(table.retired_count, 0);
    }
    CHECK_EQ(wear_out(&table), 10);
}

/* No id comes again before every slot has used all of its generations, and none is ever refused. */
TEST(handle_that_wraps_gives_ids_again_as_late_as_possible)
{
    struct rti_handle_table table;
    rti_handle_init(&table, slots, 10, 28);
    rti_handle_let_wrap(&table);
    uint32_t first = rti_handle_alloc(&table);
    rti_handle_free(&table, first);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 1; i < 10 * 15; i++) {
            uint32_t id = rti_handle_alloc(&table);
            CHECK(id != RTI_HANDLE_NONE && id != first && id <= RTI_HANDLE_ID_MAX);
            CHECK_EQ(rti_handle_lookup(&table, first), -1);
            rti_handle_free(&table, id);
        }
        CHECK_EQ(rti_handle_alloc(&table), first);
        rti_handle_free(&table, first);
        CHECK_EQ(rti_handle_audit(&table), 0);
    }
    CHECK_EQ(table.retired_count, 0);
}

TEST(handle_table_of_zero_slots_issues_nothing)
{
    struct rti_handle_table table;
    rti_handle_init(&table, NULL, 0, 1);
    CHECK_EQ(rti_handle_alloc(&table), RTI_HANDLE_NONE);
    CHECK_EQ(rti_handle_lookup(&table, 2), -1);
    CHECK_EQ(rti_handle_audit(&table), 0);
}

/* The reference: every id ever issued, with whether it lives. */
TEST(handle_agrees_with_a_list_of_all_ids)
{
    enum { SLOTS = 7, IDS_MAX = 400 };
    struct {
        uint32_t id;
        bool is_live;
    } all[IDS_MAX];
    size_t all_count = 0;
    size_t live_count = 0;
    struct rti_handle_table table;
    struct rti_rng rng;
    /* 7 slots of 31 generations: the table wears out during the run. */
    rti_handle_init(&table, slots, SLOTS, 27);
    rti_rng_init(&rng, 60);
    for (int step = 0; step < 20000; step++) {
        if (rti_rng_chance(&rng, 1, 2)) {
            uint32_t id = rti_handle_alloc(&table);
            CHECK((id == RTI_HANDLE_NONE) == (live_count + table.retired_count == SLOTS));
            for (size_t i = 0; i < all_count; i++) {
                CHECK(all[i].id != id || id == RTI_HANDLE_NONE);
            }
            if (id != RTI_HANDLE_NONE) {
                all[all_count].id = id;
                all[all_count++].is_live = true;
                live_count++;
            }
        } else if (all_count > 0) {
            size_t pick = (size_t)rti_rng_below(&rng, all_count);
            if (all[pick].is_live) {
                rti_handle_free(&table, all[pick].id);
                all[pick].is_live = false;
                live_count--;
            }
        }
        for (size_t i = 0; i < all_count; i++) {
            CHECK((rti_handle_lookup(&table, all[i].id) >= 0) == all[i].is_live);
        }
        CHECK_EQ(rti_handle_audit(&table), live_count);
    }
    CHECK_EQ(all_count, SLOTS * 31);
}

static void free_twice(void *arg)
{
    uint32_t id = rti_handle_alloc(arg);
    rti_handle_free(arg, id);
    rti_handle_free(arg, id);
}

static void free_none(void *arg)
{
    rti_handle_free(arg, RTI_HANDLE_NONE);
}

static void init_too_many(void *arg)
{
    rti_handle_init(arg, slots, 5, 2);
}

static void init_without_generations(void *arg)
{
    rti_handle_init(arg, slots, 5, 32);
}

static void audit_ring(void *arg)
{
    struct rti_handle_table *table = arg;
    table->slots[1].next = 0;
    rti_handle_audit(table);
}

TEST(handle_misuse_panics)
{
    struct rti_handle_table table;
    rti_handle_init(&table, slots, 4, 2);
    CHECK_PANICS("handle", free_twice, &table);
    CHECK_PANICS("handle", free_none, &table);
    CHECK_PANICS("handle", init_too_many, &table);
    CHECK_PANICS("handle", init_without_generations, &table);
    CHECK_PANICS("handle", audit_ring, &table);
}
