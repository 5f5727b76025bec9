/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "cell_pile_test"
#include "actor/cell_pile.h"

#include "support/test.h"

#define COUNT 3

static _Alignas(16) unsigned char memory[RTI_POOL_BYTES(RTI_CELL_SMALL_SIZE, COUNT)];
static struct rti_pool pool;
static struct rti_cell_pile pile;
static struct rti_cell *cells[COUNT];

static void open(void)
{
    rti_pool_init(&pool, memory, RTI_CELL_SMALL_SIZE, COUNT);
    pile = (struct rti_cell_pile){.first = NULL};
    for (size_t i = 0; i < COUNT; i++) {
        cells[i] = rti_pool_alloc(&pool);
        cells[i]->len = 0;
        rti_cell_pile_push(&pile, cells[i], RTI_CELL_SMALL);
    }
}

TEST(cell_pile_gives_what_was_added_last)
{
    open();
    CHECK_EQ(rti_cell_pile_audit(&pile, COUNT), COUNT);
    CHECK(rti_cell_pile_pop(&pile, RTI_CELL_SMALL) == cells[2]);
    CHECK(rti_cell_pile_pop(&pile, RTI_CELL_SMALL) == cells[1]);
    CHECK_EQ(rti_cell_pile_audit(&pile, 1), 1);
    CHECK(rti_cell_pile_pop(&pile, RTI_CELL_SMALL) == cells[0]);
    CHECK(pile.first == NULL && pile.count == 0);
    CHECK_EQ(rti_cell_pile_audit(&pile, 0), 0);
}

TEST(cell_pile_gives_all_back_to_the_pool)
{
    open();
    rti_cell_pile_clear(&pile, &pool, RTI_CELL_SMALL);
    CHECK(pile.first == NULL && pile.count == 0);
    CHECK_EQ(rti_pool_in_use(&pool), 0);
    rti_pool_deinit(&pool);
}

static void use_a_free_one(void *arg)
{
    cells[2]->data[1] = 0;
    (void)rti_cell_pile_pop(arg, RTI_CELL_SMALL);
}

static void write_a_length_into_a_free_one(void *arg)
{
    cells[0]->len = 8;
    (void)rti_cell_pile_audit(arg, COUNT);
}

TEST(cell_pile_notices_who_uses_a_free_cell)
{
    open();
#if RTI_ASAN
    test_skip("the sanitizer says it first");
#endif
    if (!RT_CHECKS) {
        test_skip("only a build with checks looks at free cells");
    }
    CHECK_PANICS("cell_pile", use_a_free_one, &pile);
    CHECK_PANICS("cell_pile", write_a_length_into_a_free_one, &pile);
}
