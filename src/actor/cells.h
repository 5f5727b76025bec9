/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CELLS_H
#define RTI_CELLS_H

/* Where cells come from and go to.
 *
 * There are two pools of cells, small and large, with as many cells each as messages may wait; what
 * is never used is addresses and no memory.
 *
 * With one worker both together give out no more than `count`, so what a program can send does not
 * depend on the lengths it sends. A short message takes its cell from a pile of those that were
 * given back, without a call; they count as given out to their pool, and go there when a long
 * message needs their place.
 *
 * With several workers the pools are a stock of cells that were never used, under a lock, and what
 * was used goes round among the caches of the stations (cell_cache.h). The stock has as many cells
 * more as the caches can hold back: `count` messages always find room, and somewhat more may. The
 * caches take a batch of what they can be given: if so many workers share so little room that it
 * would be less than two cells, there are none, and every cell is taken and given under the lock.
 *
 * I1  One worker, or no caches: small out + large out <= count.              (rti_cells_audit)
 * I2  Cells out of the pools = cells kept or in caches + messages.           (rti_cells_audit)
 * I3  When it ends every cell is back in its pool.                           (rti_pool_deinit)
 *
 * Costs with one worker: six instructions each way; with several see cell_cache.h. */

#include "actor/cell_cache.h"
#include "sched/station.h"

#if RT_MAX_WORKERS < RTI_CELL_HOMES_MAX
#define RTI_CELL_CACHES_MAX RT_MAX_WORKERS
#else
#define RTI_CELL_CACHES_MAX (RTI_CELL_HOMES_MAX - 1)
#endif

struct rti_cells {
    struct rti_lock lock; /* the pools, and a search */
    struct rti_sched *sched;
    struct rti_pool small;
    struct rti_pool large;
    size_t count;
    struct rti_cell_pile kept; /* one worker: small ones that were given back */
#if RTI_HAS_CELL_CACHES
    uintptr_t origin; /* from which the names of cells count, see letterbox.h */
    uint32_t batch;   /* 0: there are no caches */
    uint32_t caches_count;
    rti_atomic_u32 out_alone;                          /* taken minus given by who had no station */
    RTI_ALIGNED(RTI_CACHE_LINE) rti_atomic_u32 pushes; /* piles that were sent home */
    struct rti_cell_cache caches[RTI_CELL_CACHES_MAX];
#endif
};

/* Cells of a batch of the caches of so many stations, for so many messages; none without stations.
 * What the caches can hold back is never more than `count`. */
static inline uint32_t rti_cells_batch(size_t count, uint32_t workers)
{
    size_t batch = workers > 0 ? count / ((size_t)RTI_CELL_CACHE_MAX * workers) : 0;
    batch = batch < RTI_CELL_BATCH_MAX ? batch : RTI_CELL_BATCH_MAX;
    return batch < 2 ? 0 : (uint32_t)batch;
}

/* Cells that each pool has for so many messages. */
size_t rti_cells_stock(size_t count, uint32_t workers);

/* The most that this can be, whatever the number of workers. */
#define RTI_CELLS_STOCK_MAX(count) ((size_t)(count) * (RTI_HAS_CELL_CACHES ? 2 : 1))

/* Bytes of pools of so many cells. */
#define RTI_CELLS_BYTES(stock)                                                                     \
    ((RTI_POOL_BYTES(RTI_CELL_SMALL_SIZE, stock) + 15) / 16 * 16 +                                 \
     RTI_POOL_BYTES(RTI_CELL_LARGE_SIZE, stock))

/* Makes room for `count` messages, for so many stations, 0 if there is one worker, in
 * RTI_CELLS_BYTES(rti_cells_stock) bytes.
 */
void rti_cells_init(struct rti_cells *cells, struct rti_sched *sched, void *memory, size_t count,
                    uint32_t workers);
/* Every message was given back. */
void rti_cells_deinit(struct rti_cells *cells);
void rti_cells_audit(const struct rti_cells *cells);

/* Messages that are out. Exact while nobody is at work. */
size_t rti_cells_in_use(const struct rti_cells *cells);

static inline struct rti_pool *rti_cells_pool(struct rti_cells *cells, enum rti_cell_kind kind)
{
    return kind == RTI_CELL_SMALL ? &cells->small : &cells->large;
}

/* Cells that are out of the pools. */
static inline size_t rti_cells_out(const struct rti_cells *cells)
{
    return rti_pool_in_use(&cells->small) + rti_pool_in_use(&cells->large);
}

/* Gives back the hold on a blob that a message carries (blob.c). */
void rti_blob_discard(struct rti_sched *sched, const void *token);

/* Where the names of cells count from, with several workers. */
static inline uintptr_t rti_cells_origin(const struct rti_cells *cells)
{
#if RTI_HAS_CELL_CACHES
    return cells->origin;
#else
    (void)cells;
    return 0;
#endif
}

static inline bool rti_cells_are_cached(const struct rti_cells *cells)
{
#if RTI_HAS_CELL_CACHES
    return cells->batch != 0;
#else
    (void)cells;
    return false;
#endif
}

#if RTI_HAS_CELL_CACHES

/* The cache of the station that a worker holds; NULL if it has none. */
static RTI_ALWAYSINLINE struct rti_cell_cache *rti_cells_cache_of(struct rti_cells *cells,
                                                                  const struct rti_worker *worker)
{
    const struct rti_station *station = worker->station;
    RT_DCHECK(worker->sched == cells->sched);
    return RTI_LIKELY(station != NULL && station->index < cells->caches_count)
               ? &cells->caches[station->index]
               : NULL;
}

static inline struct rti_cell_cache *rti_cells_cache_here(struct rti_cells *cells)
{
    const struct rti_worker *worker = rti_worker_here();
    return worker == NULL ? NULL : rti_cells_cache_of(cells, worker);
}

static inline struct rti_cell *rti_cells_take(struct rti_cells *cells, enum rti_cell_kind kind)
{
    struct rti_cell_cache *cache = rti_cells_cache_here(cells);
    return RTI_LIKELY(cache != NULL) ? rti_cell_cache_take(cache, kind)
                                     : rti_cells_take_alone(cells, kind);
}

static inline void rti_cells_give(struct rti_cells *cells, struct rti_cell *cell,
                                  enum rti_cell_kind kind)
{
    struct rti_cell_cache *cache = rti_cells_cache_here(cells);
    if (RTI_LIKELY(cache != NULL)) {
        rti_cell_cache_give(cache, cell, kind);
    } else {
        rti_cells_give_alone(cells, cell, kind);
    }
}

#endif

/* Takes a cell that is kept, or one of a pool. */
struct rti_cell *rti_cells_take_pooled(struct rti_cells *cells, enum rti_cell_kind kind);

/* A cell for a payload of `len` bytes; NULL if all are out. The caller adds its length to what
 * `len` is. */
static inline struct rti_cell *rti_cell_alloc(struct rti_cells *cells, size_t len)
{
    enum rti_cell_kind kind = len <= RTI_CELL_SMALL_MAX ? RTI_CELL_SMALL : RTI_CELL_LARGE;
#if RTI_HAS_CELL_CACHES
    if (RTI_UNLIKELY(rti_cells_are_cached(cells))) {
        return rti_cells_take(cells, kind);
    }
#endif
    return rti_cells_take_pooled(cells, kind);
}

/* The same with one worker, for a short payload; NULL also if there is one but none is kept. The
 * caller writes `len`. */
static RTI_ALWAYSINLINE struct rti_cell *rti_cell_reuse_small(struct rti_cells *cells)
{
    return RTI_LIKELY(cells->kept.first != NULL) ? rti_cell_pile_pop(&cells->kept, RTI_CELL_SMALL)
                                                 : NULL;
}

static inline void rti_cell_free(struct rti_cells *cells, struct rti_cell *cell)
{
    RT_ASSERT(cell->len != RTI_CELL_FREE);
    if (RTI_UNLIKELY((cell->len & RTI_CELL_BLOB) != 0)) {
        rti_blob_discard(cells->sched, cell->data);
    }
    enum rti_cell_kind kind = rti_cell_is_small(cell) ? RTI_CELL_SMALL : RTI_CELL_LARGE;
#if RTI_HAS_CELL_CACHES
    if (RTI_UNLIKELY(rti_cells_are_cached(cells))) {
        rti_cells_give(cells, cell, kind);
        return;
    }
#endif
    rti_lock_acquire(&cells->lock, cells->sched);
    rti_pool_free(rti_cells_pool(cells, kind), cell);
    rti_lock_release(&cells->lock);
}

#if RTI_HAS_CELL_CACHES

/* The same by who knows the cache of its station, if it has one: a short one needs no call. */
static inline void rti_cell_free_at(struct rti_cells *cells, struct rti_cell_cache *cache,
                                    struct rti_cell *cell)
{
    if (RTI_UNLIKELY(cache == NULL || !rti_cell_cache_try_give(cache, cell))) {
        rti_cell_free(cells, cell);
    }
}

#endif

/* The same with one worker: a short one is kept. */
static RTI_ALWAYSINLINE void rti_cell_free_alone(struct rti_cells *cells, struct rti_cell *cell)
{
    /* Neither one that is free already. */
    if (RTI_LIKELY(cell->len <= RTI_CELL_SMALL_MAX)) {
        rti_cell_pile_push(&cells->kept, cell, RTI_CELL_SMALL);
    } else {
        rti_cell_free(cells, cell);
    }
}

#endif
