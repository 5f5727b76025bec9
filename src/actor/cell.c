/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "cell"
#include "actor/cell.h"

_Static_assert(sizeof(struct rti_cell) % 8 == 0, "a payload is aligned to 8 bytes");

void rti_cells_init(struct rti_cells *cells, struct rti_sched *sched, void *memory, size_t count)
{
    RT_ASSERT(count > 0 && count < RTI_POOL_COUNT_MAX);
    unsigned char *bytes = memory;
    size_t small = (RTI_POOL_BYTES(RTI_CELL_SMALL_SIZE, count) + 15) / 16 * 16;
    rti_lock_init(&cells->lock, sched, RTI_LOCK_CHANNEL);
    cells->sched = sched;
    cells->count = count;
    rti_pool_init(&cells->small, bytes, RTI_CELL_SMALL_SIZE, count);
    rti_pool_init(&cells->large, bytes + small, RTI_CELL_LARGE_SIZE, count);
}

void rti_cells_deinit(struct rti_cells *cells)
{
    rti_pool_deinit(&cells->small);
    rti_pool_deinit(&cells->large);
}

void rti_cells_audit(const struct rti_cells *cells)
{
    RT_ASSERT(rti_cells_in_use(cells) <= cells->count);
    (void)rti_pool_audit(&cells->small);
    (void)rti_pool_audit(&cells->large);
}
