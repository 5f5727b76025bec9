/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CELL_PILE_H
#define RTI_CELL_PILE_H

/* A pile of free cells: a chain through the cells themselves, last in, first out. The line of a
 * cell is touched by who takes it and by who gives it back anyhow, so a pile costs no other.
 *
 * What a stale pointer could break is guarded: a free cell has RTI_CELL_FREE as its `len`, which
 * whoever gives it back again finds; its payload is poisoned in checked builds, and hidden under
 * ASan.
 *
 * I1  The cells of a pile are free, and `count` of them.                   (rti_cell_pile_audit)
 *
 * Belongs to one thread at a time. Costs: four instructions each way. */

#include "actor/cell.h"
#include "base/pool.h"

enum rti_cell_kind {
    RTI_CELL_SMALL,
    RTI_CELL_LARGE,
    RTI_CELL_KINDS,
};

struct rti_cell_pile {
    struct rti_cell *first; /* NULL if it is empty */
    uint32_t count;
};

/* What lies behind the head of a free cell is poisoned, and checked when it is used again. */
void rti_cell_mark_free(struct rti_cell *cell, enum rti_cell_kind kind);
void rti_cell_mark_used(struct rti_cell *cell, enum rti_cell_kind kind);

/* Gives all cells of a pile back to their pool. */
void rti_cell_pile_clear(struct rti_cell_pile *pile, struct rti_pool *pool,
                         enum rti_cell_kind kind);

/* Checks I1 and that there are at most `max`; returns how many. */
size_t rti_cell_pile_audit(const struct rti_cell_pile *pile, size_t max);

/* Adds a cell to a chain, which is free from here on. */
static RTI_ALWAYSINLINE void rti_cell_link(struct rti_cell **first, struct rti_cell *cell,
                                           enum rti_cell_kind kind)
{
#if RTI_POOL_MARKS
    rti_cell_mark_free(cell, kind);
#else
    (void)kind;
#endif
    RTI_PLAIN_WRITE(&cell->next_free, sizeof(cell->next_free));
    cell->len = RTI_CELL_FREE;
    cell->next_free = *first;
    *first = cell;
}

/* Takes the cell that was added last, of a chain that has one. Its `len` is the caller's to write.
 */
static RTI_ALWAYSINLINE struct rti_cell *rti_cell_unlink(struct rti_cell **first,
                                                         enum rti_cell_kind kind)
{
    struct rti_cell *cell = *first;
    RTI_PLAIN_READ(&cell->next_free, sizeof(cell->next_free));
    struct rti_cell *next = cell->next_free;
    *first = next;
    /* Where many are out the next one is cold. */
    __builtin_prefetch(next, 1);
    RT_DCHECK(cell->len == RTI_CELL_FREE);
#if RTI_POOL_MARKS
    rti_cell_mark_used(cell, kind);
#else
    (void)kind;
#endif
    return cell;
}

/* The same of a pile, which counts. */
static RTI_ALWAYSINLINE void rti_cell_pile_push(struct rti_cell_pile *pile, struct rti_cell *cell,
                                                enum rti_cell_kind kind)
{
    rti_cell_link(&pile->first, cell, kind);
    pile->count++;
}

static RTI_ALWAYSINLINE struct rti_cell *rti_cell_pile_pop(struct rti_cell_pile *pile,
                                                           enum rti_cell_kind kind)
{
    pile->count--;
    return rti_cell_unlink(&pile->first, kind);
}

#endif
