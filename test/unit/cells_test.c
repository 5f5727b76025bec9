/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "cells_test"
#include "actor/cells.h"

#include "support/test.h"

#define COUNT 4

static _Alignas(16) unsigned char memory[8192];
static struct rti_sched sched = {.is_local = true};
static struct rti_cells cells;

TEST(cells_of_both_sizes_share_one_limit)
{
    struct rti_cell *out[COUNT];
    CHECK(RTI_CELLS_BYTES(COUNT) <= sizeof(memory));
    rti_cells_init(&cells, &sched, memory, COUNT, 0);
    for (size_t i = 0; i < COUNT; i++) {
        size_t len = i % 2 == 0 ? RTI_CELL_SMALL_MAX : RTI_CELL_SMALL_MAX + 1;
        out[i] = rti_cell_alloc(&cells, len);
        CHECK(out[i] != NULL);
        out[i]->len |= (uint32_t)len;
        memset(out[i]->data, 0xA5, len);
    }
    CHECK(rti_cell_alloc(&cells, 0) == NULL);
    CHECK(rti_cell_alloc(&cells, RT_MAX_MESSAGE_SIZE) == NULL);
    rti_cells_audit(&cells);
    rti_cell_free(&cells, out[1]);
    out[1] = rti_cell_alloc(&cells, 0);
    CHECK(out[1] != NULL);
    out[1]->len = 0;
    for (size_t i = 0; i < COUNT; i++) {
        rti_cell_free(&cells, out[i]);
    }
    CHECK_EQ(rti_cells_in_use(&cells), 0);
    rti_cells_deinit(&cells);
}

TEST(cells_kept_for_short_messages_make_room_for_long_ones)
{
    struct rti_cell *out[COUNT];
    rti_cells_init(&cells, &sched, memory, COUNT, 0);
    for (size_t i = 0; i < COUNT; i++) {
        out[i] = rti_cell_alloc(&cells, 0);
        CHECK(out[i] != NULL);
    }
    for (size_t i = 0; i < COUNT; i++) {
        rti_cell_free_alone(&cells, out[i]);
    }
    CHECK_EQ(rti_cells_in_use(&cells), 0);
    rti_cells_audit(&cells);
    CHECK(rti_cell_reuse_small(&cells) == out[COUNT - 1]); /* the warmest */
    out[COUNT - 1]->len = 0;
    for (size_t i = 0; i < COUNT - 1; i++) {
        out[i] = rti_cell_alloc(&cells, RTI_CELL_SMALL_MAX + 1);
        CHECK(out[i] != NULL);
        out[i]->len |= RTI_CELL_SMALL_MAX + 1;
    }
    CHECK(rti_cell_alloc(&cells, RTI_CELL_SMALL_MAX + 1) == NULL);
    CHECK(rti_cell_alloc(&cells, 0) == NULL && rti_cell_reuse_small(&cells) == NULL);
    CHECK_EQ(rti_cells_in_use(&cells), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        rti_cell_free_alone(&cells, out[i]);
    }
    rti_cells_audit(&cells);
    rti_cells_deinit(&cells);
}

static void free_twice(void *arg)
{
    rti_cell_free_alone(&cells, arg);
    rti_cell_free_alone(&cells, arg);
}

TEST(cells_panic_when_one_is_freed_twice)
{
    rti_cells_init(&cells, &sched, memory, COUNT, 0);
    struct rti_cell *cell = rti_cell_alloc(&cells, 0);
    CHECK_PANICS("cells_test", free_twice, cell);
    rti_cell_free(&cells, cell);
    rti_cells_deinit(&cells);
}

TEST(cells_hold_the_longest_message)
{
    rti_cells_init(&cells, &sched, memory, COUNT, 0);
    struct rti_cell *cell = rti_cell_alloc(&cells, RT_MAX_MESSAGE_SIZE);
    cell->len = RT_MAX_MESSAGE_SIZE;
    memset(cell->data, 1, RT_MAX_MESSAGE_SIZE);
    CHECK_EQ((uintptr_t)cell->data % 8, 0);
    rti_cell_free(&cells, cell);
    rti_cells_audit(&cells);
    rti_cells_deinit(&cells);
}
