/* SPDX-License-Identifier: Apache-2.0 */
/* The caches of free cells, by one thread that plays all stations in turn. */
#define RTI_MODULE "cell_cache_test"
#include "actor/cell_cache.h"

#include "actor/cells.h"
#include "support/test.h"

#define WORKERS 8
#define COUNT   ((size_t)4 * RTI_CELL_CACHE_MAX * WORKERS) /* batches of four */
#define BATCH   4

static _Alignas(RTI_CACHE_LINE) unsigned char memory[RTI_CELLS_BYTES(RTI_CELLS_STOCK_MAX(COUNT))];
static struct rti_sched sched = {.is_local = true};
static struct rti_cells cells;
static struct rti_cell *out[2 * COUNT];
static size_t out_count;

static void open(void)
{
    out_count = 0;
    rti_cells_init(&cells, &sched, memory, COUNT, WORKERS);
    CHECK_EQ(cells.batch, BATCH);
    CHECK_EQ(cells.caches_count, WORKERS);
}

static void close(void)
{
    rti_cells_audit(&cells);
    rti_cells_deinit(&cells);
    CHECK_EQ(rti_cells_out(&cells), 0);
}

static struct rti_cell *take(uint32_t station)
{
    struct rti_cell *cell = rti_cell_cache_take(&cells.caches[station], RTI_CELL_SMALL);
    if (cell != NULL) {
        out[out_count++] = cell;
        CHECK_EQ(rti_cell_home(cell), station);
        memset(cell->data, (int)out_count, RTI_CELL_SMALL_MAX);
    }
    return cell;
}

/* Gives back the one that was taken last. */
static void give(uint32_t station)
{
    rti_cell_cache_give(&cells.caches[station], out[--out_count], RTI_CELL_SMALL);
}

static void *returned_to(uint32_t station)
{
    return rti_ptr_load_relaxed(&cells.caches[station].returned[RTI_CELL_SMALL]);
}

TEST(cell_cache_gives_the_warmest_cell)
{
    open();
    struct rti_cell *first = take(0);
    struct rti_cell *second = take(0);
    CHECK(first != second);
    give(0);
    give(0);
    CHECK(take(0) == first);
    CHECK(take(0) == second);
    CHECK_EQ(rti_cells_in_use(&cells), 2);
    give(0);
    give(0);
    close();
}

TEST(cell_cache_sends_cells_home_by_the_batch)
{
    open();
    for (unsigned i = 0; i < 2 * BATCH; i++) {
        CHECK(take(0) != NULL);
    }
    for (unsigned i = 0; i < BATCH - 1; i++) {
        give(1);
    }
    CHECK(returned_to(0) == NULL);
    give(1);
    const struct rti_cell *pile = returned_to(0);
    CHECK(pile != NULL && pile->next_pile == NULL);
    CHECK_EQ(pile->pile_count, BATCH);
    for (unsigned i = 0; i < BATCH; i++) {
        give(1);
    }
    CHECK(((struct rti_cell *)returned_to(0))->next_pile == pile);
    rti_cells_audit(&cells);
    /* What came home is what is taken next, and no new cell. */
    size_t used = rti_cells_out(&cells);
    for (unsigned i = 0; i < 2 * BATCH; i++) {
        CHECK(take(0) != NULL);
    }
    CHECK_EQ(rti_cells_out(&cells), used);
    CHECK(returned_to(0) == NULL);
    while (out_count > 0) {
        give(0);
    }
    CHECK_EQ(rti_cells_in_use(&cells), 0);
    close();
}

TEST(cell_cache_takes_what_was_returned_to_another_before_what_was_never_used)
{
    open();
    for (unsigned i = 0; i < 2 * BATCH; i++) {
        CHECK(take(0) != NULL);
    }
    while (out_count > 0) {
        give(1);
    }
    CHECK(returned_to(0) != NULL);
    size_t used = rti_cells_out(&cells);
    for (unsigned i = 0; i < 2 * BATCH; i++) {
        CHECK(take(1) != NULL);
    }
    CHECK(returned_to(0) == NULL);
    CHECK_EQ(rti_cells_out(&cells), used);
    CHECK(take(1) != NULL);
    CHECK(rti_cells_out(&cells) > used);
    while (out_count > 0) {
        give(1);
    }
    close();
}

TEST(cell_cache_parcel_goes_before_it_is_full_when_another_home_needs_its_place)
{
    open();
    CHECK(take(1) != NULL);
    CHECK(take(1 + RTI_CELL_PARCELS) != NULL);
    CHECK(take(1) != NULL);
    give(2);
    CHECK(returned_to(1) == NULL);
    give(2);
    CHECK(returned_to(1) != NULL && returned_to(1 + RTI_CELL_PARCELS) == NULL);
    give(2);
    CHECK(returned_to(1 + RTI_CELL_PARCELS) != NULL);
    close();
}

TEST(cell_cache_keeps_no_more_than_two_batches_of_its_own)
{
    open();
    for (unsigned i = 0; i < 5 * BATCH; i++) {
        CHECK(take(3) != NULL);
    }
    while (out_count > 0) {
        give(3);
    }
    size_t kept = rti_cell_cache_own(&cells.caches[3], RTI_CELL_SMALL) +
                  (size_t)cells.caches[3].spare[RTI_CELL_SMALL].count;
    CHECK(kept < 2 * BATCH);
    CHECK(returned_to(3) != NULL);
    close();
}

/* Every other station holds back all it can; the one that is left still finds room for as many
 * messages as were promised, and gives up after that. */
TEST(cell_cache_take_fails_only_when_as_many_messages_wait_as_there_is_room_for)
{
    open();
    /* Three cells of each home in a parcel of each other station, three and four at home. */
    for (uint32_t station = 1; station < WORKERS; station++) {
        for (uint32_t home = 0; home < RTI_CELL_PARCELS; home++) {
            for (unsigned i = 0; i < BATCH - 1; i++) {
                CHECK(take(home == station ? home + RTI_CELL_PARCELS : home) != NULL);
                give(station);
            }
        }
    }
    for (uint32_t station = 1; station < WORKERS; station++) {
        for (unsigned i = 0; i < 2 * BATCH - 1; i++) {
            CHECK(take(station) != NULL);
        }
        for (unsigned i = 0; i < 2 * BATCH - 1; i++) {
            give(station);
        }
    }
    CHECK_EQ(rti_cells_in_use(&cells), 0);
    while (take(0) != NULL) {
    }
    CHECK(out_count >= COUNT);
    CHECK_EQ(rti_cells_in_use(&cells), out_count);
    rti_cells_audit(&cells);
    /* One given back anywhere, in time, is found by everybody. */
    for (unsigned i = 0; i < BATCH; i++) {
        give(5);
    }
    CHECK(take(4) != NULL);
    while (out_count > 0) {
        give((uint32_t)out_count % WORKERS);
    }
    close();
}

TEST(cell_cache_starving_takes_what_was_returned_to_others)
{
    open();
    while (take(0) != NULL) {
    }
    size_t all = out_count;
    CHECK_EQ(all, rti_cells_stock(COUNT, WORKERS));
    /* All of them come home, and station 0 sleeps. */
    while (out_count > 0) {
        give(1);
    }
    while (take(2) != NULL) {
    }
    CHECK_EQ(out_count, all);
    while (out_count > 0) {
        give(2);
    }
    close();
}

TEST(cells_are_taken_and_given_without_a_station)
{
    open();
    for (unsigned i = 0; i < BATCH; i++) {
        CHECK(take(2) != NULL);
    }
    while (out_count > 0) {
        give(0);
    }
    cells.small.count = cells.small.fresh; /* no stock */
    struct rti_cell *first = rti_cells_take_alone(&cells, RTI_CELL_SMALL);
    struct rti_cell *second = rti_cell_alloc(&cells, 1);
    CHECK(first != NULL && second != NULL && first != second);
    CHECK_EQ(rti_cells_in_use(&cells), 2);
    rti_cells_audit(&cells);
    second->len |= 1;
    rti_cell_free(&cells, second);
    rti_cells_give_alone(&cells, first, RTI_CELL_SMALL);
    CHECK_EQ(rti_cells_in_use(&cells), 0);
    close();
}

TEST(cells_have_no_caches_where_room_is_scarce)
{
    CHECK_EQ(rti_cells_batch(COUNT, 0), 0);
    CHECK_EQ(rti_cells_batch(2 * RTI_CELL_CACHE_MAX * WORKERS - 1, WORKERS), 0);
    CHECK_EQ(rti_cells_batch(2 * RTI_CELL_CACHE_MAX * WORKERS, WORKERS), 2);
    CHECK_EQ(rti_cells_batch(1 << 20, WORKERS), RTI_CELL_BATCH_MAX);
    rti_cells_init(&cells, &sched, memory, WORKERS, WORKERS);
    for (unsigned i = 0; i < WORKERS; i++) {
        out[i] = rti_cell_alloc(&cells, 0);
        CHECK(out[i] != NULL);
    }
    CHECK(rti_cell_alloc(&cells, 0) == NULL);
    rti_cells_audit(&cells);
    for (unsigned i = 0; i < WORKERS; i++) {
        rti_cell_free(&cells, out[i]);
    }
    rti_cells_deinit(&cells);
}

static void give_twice(void *arg)
{
    rti_cell_cache_give(&cells.caches[1], arg, RTI_CELL_SMALL);
    rti_cell_cache_give(&cells.caches[0], arg, RTI_CELL_SMALL);
}

static void end_with_a_message_out(void *arg)
{
    (void)arg;
    rti_cells_deinit(&cells);
}

TEST(cell_cache_panics_when_a_cell_is_given_twice_or_lost)
{
    open();
    CHECK_PANICS("cell_cache_test", give_twice, take(0));
    CHECK_PANICS("cells", end_with_a_message_out, NULL);
    give(0);
    close();
}
