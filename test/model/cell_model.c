/* SPDX-License-Identifier: Apache-2.0 */

/* Free cells between workers: what is handled on another worker than it was sent from comes home
 * in one push, and is taken once, with what its last holder wrote: by its home or by one that
 * starves. Batches of two; the stock is empty, so that whoever takes must look at the others. */

#include "actor/cells.h"

#include "port/explore/port.h"

enum { WORKERS = 3, COUNT = 2 * RTI_CELL_CACHE_MAX * WORKERS, CELLS = 4, PARTIES = 3 };

static struct rti_sched sched;
static struct rti_cells cells;
static _Alignas(RTI_CACHE_LINE) unsigned char memory[RTI_CELLS_BYTES(RTI_CELLS_STOCK_MAX(COUNT))];
static struct rti_cell *letters[CELLS];
static unsigned taken[PARTIES];

void rti_port_log(const char *line)
{
    (void)line;
}

/* Nobody is a worker here: locks keep no account. */
struct rti_worker *rti_worker_current(void)
{
    return NULL;
}

void rti_blob_discard(struct rti_sched *owner, const void *token)
{
    (void)owner;
    (void)token;
}

/* Messages that were sent from station 0 and wait somewhere; there are no other cells. */
static void setup_letters(unsigned count)
{
    sched = (struct rti_sched){.port = explore_port(), .is_local = false};
    rti_cells_init(&cells, &sched, memory, COUNT, WORKERS);
    explore_name(&cells.pushes, "pushes");
    explore_name(&cells.caches[0].returned[RTI_CELL_SMALL], "returned");
    for (unsigned i = 0; i < count; i++) {
        letters[i] = rti_cell_cache_take(&cells.caches[0], RTI_CELL_SMALL);
    }
    cells.small.count = cells.small.fresh;
    for (unsigned i = 0; i < PARTIES; i++) {
        taken[i] = 0;
    }
}

/* Handles a message and gives its cell back. */
static void handle(struct rti_cell *cell)
{
    RTI_PLAIN_WRITE(cell->data, RTI_CELL_SMALL_MAX);
    RTI_PLAIN_WRITE(&cell->len, sizeof cell->len);
    rti_cell_cache_give(&cells.caches[explore_self()], cell, RTI_CELL_SMALL);
}

/* Takes a cell for a new message, if there is any. */
static void send_one(void)
{
    unsigned self = explore_self();
    struct rti_cell *cell = rti_cell_cache_take(&cells.caches[self], RTI_CELL_SMALL);
    if (cell != NULL) {
        RTI_PLAIN_WRITE(cell->data, RTI_CELL_SMALL_MAX);
        RTI_PLAIN_WRITE(&cell->len, sizeof cell->len);
        taken[self]++;
    }
}

static void send_two(void)
{
    send_one();
    send_one();
}

static void check_letters(unsigned count)
{
    EXPLORE_ASSERT(rti_cells_in_use(&cells) == taken[0] + taken[1] + taken[2]);
    EXPLORE_ASSERT(rti_cells_out(&cells) == count);
    rti_cells_audit(&cells);
}

/* ---- One brings home, the home and one that starves both want it ---- */

static void setup_pile(void)
{
    setup_letters(2);
}

static void handle_both(void)
{
    handle(letters[0]);
    handle(letters[1]);
}

static void check_pile(void)
{
    check_letters(2);
    EXPLORE_ASSERT(taken[0] == 0 || taken[2] == 0 || taken[0] + taken[2] <= 2);
}

MODEL(cells_come_home_once_though_another_starves){
    .about = "a pile comes home; its home and a worker that starves take from it",
    .setup = setup_pile,
    .threads = {send_one, handle_both, send_one},
    .check = check_pile,
};

/* ---- Two bring home while the home takes ---- */

static void setup_two_piles(void)
{
    setup_letters(4);
}

static void handle_two(void)
{
    unsigned first = explore_self() == 1 ? 0 : 2;
    handle(letters[first]);
    handle(letters[first + 1]);
}

static void check_two_piles(void)
{
    check_letters(4);
}

MODEL(cells_of_two_workers_come_home){
    .about = "two workers each bring a pile home, which takes meanwhile",
    .setup = setup_two_piles,
    .threads = {send_two, handle_two, handle_two},
    .check = check_two_piles,
};
