/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "cells"
#include "actor/cells.h"

_Static_assert(sizeof(struct rti_cell) % 8 == 0, "a payload is aligned to 8 bytes");

size_t rti_cells_stock(size_t count, uint32_t workers)
{
    return count + (size_t)RTI_CELL_CACHE_MAX * workers * rti_cells_batch(count, workers);
}

void rti_cells_init(struct rti_cells *cells, struct rti_sched *sched, void *memory, size_t count,
                    uint32_t workers)
{
    size_t stock = rti_cells_stock(count, workers);
    RT_ASSERT(count > 0 && stock < RTI_POOL_COUNT_MAX && stock <= RTI_CELLS_STOCK_MAX(count));
    unsigned char *bytes = memory;
    size_t small = (RTI_POOL_BYTES(RTI_CELL_SMALL_SIZE, stock) + 15) / 16 * 16;
    rti_lock_init(&cells->lock, sched, RTI_LOCK_CHANNEL);
    cells->sched = sched;
    cells->count = count;
    rti_pool_init(&cells->small, bytes, RTI_CELL_SMALL_SIZE, stock);
    rti_pool_init(&cells->large, bytes + small, RTI_CELL_LARGE_SIZE, stock);
    cells->kept = (struct rti_cell_pile){.first = NULL};
#if RTI_HAS_CELL_CACHES
    cells->origin = rti_letters_origin(memory);
    cells->batch = rti_cells_batch(count, workers);
    cells->caches_count =
        cells->batch == 0 ? 0 : (workers < RTI_CELL_CACHES_MAX ? workers : RTI_CELL_CACHES_MAX);
    rti_u32_init(&cells->out_alone, 0);
    rti_u32_init(&cells->pushes, 0);
    for (uint32_t i = 0; i < cells->caches_count; i++) {
        rti_cell_cache_init(&cells->caches[i], cells, i);
    }
#endif
}

void rti_cells_deinit(struct rti_cells *cells)
{
    RT_ASSERT(rti_cells_in_use(cells) == 0);
#if RTI_HAS_CELL_CACHES
    for (uint32_t i = 0; i < cells->caches_count; i++) {
        rti_cell_cache_deinit(&cells->caches[i]);
    }
    cells->batch = 0;
    cells->caches_count = 0;
#endif
    rti_cell_pile_clear(&cells->kept, &cells->small, RTI_CELL_SMALL);
    rti_pool_deinit(&cells->small);
    rti_pool_deinit(&cells->large);
}

size_t rti_cells_in_use(const struct rti_cells *cells)
{
#if RTI_HAS_CELL_CACHES
    if (rti_cells_are_cached(cells)) {
        uint32_t out = rti_u32_load_relaxed(&cells->out_alone);
        for (uint32_t i = 0; i < cells->caches_count; i++) {
            const struct rti_cell_cache *cache = &cells->caches[i];
            out += rti_u32_load_relaxed(&cache->out[RTI_CELL_SMALL]) +
                   rti_u32_load_relaxed(&cache->out[RTI_CELL_LARGE]);
        }
        /* While others are at work a message can be seen given back and not yet taken. */
        return out > UINT32_MAX / 2 ? 0 : out;
    }
#endif
    return rti_cells_out(cells) - cells->kept.count;
}

struct rti_cell *rti_cells_take_pooled(struct rti_cells *cells, enum rti_cell_kind kind)
{
    struct rti_cell *cell = NULL;
    rti_lock_acquire(&cells->lock, cells->sched);
    if (kind == RTI_CELL_SMALL && cells->kept.count > 0) {
        cell = rti_cell_pile_pop(&cells->kept, RTI_CELL_SMALL);
    } else {
        if (cells->kept.count > 0 && rti_cells_out(cells) == cells->count) {
            /* A long message takes the place of a short one. */
            rti_pool_free(&cells->small, rti_cell_pile_pop(&cells->kept, RTI_CELL_SMALL));
        }
        if (rti_cells_out(cells) < cells->count) {
            cell = rti_pool_alloc(rti_cells_pool(cells, kind));
        }
    }
    rti_lock_release(&cells->lock);
    if (RTI_LIKELY(cell != NULL)) {
        cell->len = 0;
    }
    return cell;
}

void rti_cells_audit(const struct rti_cells *cells)
{
    (void)rti_pool_audit(&cells->small);
    (void)rti_pool_audit(&cells->large);
    size_t cached = rti_cell_pile_audit(&cells->kept, cells->count);
#if RTI_HAS_CELL_CACHES
    for (uint32_t i = 0; i < cells->caches_count; i++) {
        cached += rti_cell_cache_audit(&cells->caches[i]);
    }
#endif
    RT_ASSERT(rti_cells_out(cells) == cached + rti_cells_in_use(cells));
    RT_ASSERT(rti_cells_are_cached(cells) || rti_cells_out(cells) <= cells->count);
}
