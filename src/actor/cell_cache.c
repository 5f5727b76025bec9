/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "cell_cache"
#include "actor/cell_cache.h"

#include <string.h>

#include "actor/cells.h"
#include "base/marks.h"

#if RTI_HAS_CELL_CACHES

void rti_cell_cache_init(struct rti_cell_cache *cache, struct rti_cells *cells, uint32_t index)
{
    memset(cache, 0, sizeof(*cache));
    cache->cells = cells;
    cache->index = index;
    cache->home = index << RTI_CELL_HOME_SHIFT;
    cache->batch = cells->batch;
    for (unsigned kind = 0; kind < RTI_CELL_KINDS; kind++) {
        rti_ptr_init(&cache->returned[kind], NULL);
        rti_u32_init(&cache->out[kind], 0);
        cache->full[kind] = 0 - cache->batch; /* nothing lies here */
    }
    rti_lock_init(&cache->lock, cells->sched, RTI_LOCK_TABLE);
}

/* Sends a pile home: what is written here is seen by who takes it. Any thread. */
static void cache_push(struct rti_cells *cells, uint32_t home, struct rti_cell_pile pile,
                       enum rti_cell_kind kind)
{
    struct rti_cell *first = pile.first;
    RT_DCHECK(home < cells->caches_count && pile.count > 0);
    /* Announced before it is there: a search that has looked at this home looks again. */
    (void)rti_u32_add_relaxed(&cells->pushes, 1);
    rti_atomic_ptr *returned = &cells->caches[home].returned[kind];
    void *before = rti_ptr_load_relaxed(returned);
    RTI_PLAIN_WRITE(&first->pile_count, sizeof(first->pile_count));
    first->pile_count = pile.count;
    do {
        RTI_PLAIN_WRITE(&first->next_pile, sizeof(first->next_pile));
        first->next_pile = before;
        /* Release pairs with the acquire in cache_pop. */
    } while (!rti_ptr_cas_acqrel(returned, &before, first));
}

/* Takes one pile of what was returned to a cache; an empty one if there is none. Any worker. */
static struct rti_cell_pile cache_pop(struct rti_cell_cache *cache, enum rti_cell_kind kind)
{
    struct rti_cell_pile pile = {.first = NULL};
    rti_atomic_ptr *returned = &cache->returned[kind];
    /* Acquire: a search looks at the homes in their order. */
    if (rti_ptr_load_acquire(returned) == NULL) {
        return pile;
    }
    rti_lock_acquire(&cache->lock, cache->cells->sched);
    /* Acquire pairs with the release in cache_push. Nobody else takes the head away. */
    void *head = rti_ptr_load_acquire(returned);
    while (head != NULL) {
        struct rti_cell *first = head;
        RTI_PLAIN_READ(&first->next_pile, sizeof(first->next_pile));
        if (rti_ptr_cas_acqrel(returned, &head, first->next_pile)) {
            RTI_PLAIN_READ(&first->pile_count, sizeof(first->pile_count));
            pile = (struct rti_cell_pile){.first = first, .count = first->pile_count};
            break;
        }
    }
    rti_lock_release(&cache->lock);
    return pile;
}

/* Takes up to `max` cells that were never used. Under the lock of the cells. */
static struct rti_cell_pile cells_carve(struct rti_cells *cells, enum rti_cell_kind kind,
                                        uint32_t max)
{
    struct rti_cell_pile pile = {.first = NULL};
    while (pile.count < max) {
        struct rti_cell *cell = rti_pool_alloc(rti_cells_pool(cells, kind));
        if (cell == NULL) {
            break;
        }
        rti_cell_pile_push(&pile, cell, kind);
    }
    return pile;
}

/* Takes a pile of what was returned to anybody; an empty one if none was seen. Under the lock of
 * the cells. */
static struct rti_cell_pile cells_reuse(struct rti_cells *cells, enum rti_cell_kind kind)
{
    struct rti_cell_pile pile = {.first = NULL};
    for (uint32_t i = 0; i < cells->caches_count && pile.count == 0; i++) {
        pile = cache_pop(&cells->caches[i], kind);
    }
    RT_SOMETIMES(pile.count > 0, "cells: a worker takes what was returned to another");
    return pile;
}

/* Takes a pile of the stock, or of what was returned to anybody; an empty one if at least as many
 * messages wait as room was made for. Under the lock of the cells. */
static struct rti_cell_pile cells_find(struct rti_cells *cells, enum rti_cell_kind kind,
                                       uint32_t max)
{
    struct rti_cell_pile pile = cells_carve(cells, kind, max);
    uint32_t pushes = 0;
    bool is_again = false;
    while (pile.count == 0) {
        /* Acquire, both: the looks at the homes lie between them. Pairs with nothing else. */
        uint32_t before = rti_u32_load_acquire(&cells->pushes);
        if (is_again && before == pushes) {
            break;
        }
        RT_SOMETIMES(is_again, "cells: somebody pushed while another searched");
        is_again = true;
        pushes = before;
        pile = cells_reuse(cells, kind);
    }
    return pile;
}

struct rti_cell *rti_cell_cache_refill(struct rti_cell_cache *cache, enum rti_cell_kind kind)
{
    struct rti_cells *cells = cache->cells;
    RT_DCHECK(cache->own[kind] == NULL && rti_cell_cache_own(cache, kind) == 0);
    struct rti_cell_pile pile = cache->spare[kind];
    cache->spare[kind] = (struct rti_cell_pile){.first = NULL};
    if (pile.count == 0) {
        pile = cache_pop(cache, kind);
    }
    if (pile.count == 0) {
        rti_lock_acquire(&cells->lock, cells->sched);
        /* What was used has its pages, and most likely was this worker's to give back. */
        pile = cells_reuse(cells, kind);
        if (pile.count == 0) {
            pile = cells_find(cells, kind, cache->batch);
        }
        rti_lock_release(&cells->lock);
    }
    if (pile.count == 0) {
        RT_SOMETIMES(true, "cells: all are out");
        return NULL;
    }
    cache->own[kind] = pile.first;
    cache->full[kind] += pile.count;
    return rti_cell_cache_reuse(cache, kind);
}

void rti_cell_cache_put_aside(struct rti_cell_cache *cache, enum rti_cell_kind kind)
{
    struct rti_cell_pile surplus = cache->spare[kind];
    cache->spare[kind] = (struct rti_cell_pile){.first = cache->own[kind], .count = cache->batch};
    cache->own[kind] = NULL;
    cache->full[kind] -= cache->batch;
    if (surplus.count > 0) {
        cache_push(cache->cells, cache->index, surplus, kind);
    }
}

static void parcel_push(struct rti_cell_cache *cache, struct rti_cell_parcel *parcel,
                        enum rti_cell_kind kind)
{
    struct rti_cell_pile pile = parcel->pile;
    parcel->pile = (struct rti_cell_pile){.first = NULL};
    cache_push(cache->cells, parcel->home, pile, kind);
}

void rti_cell_cache_send_home(struct rti_cell_cache *cache, struct rti_cell *cell,
                              enum rti_cell_kind kind)
{
    uint32_t home = rti_cell_home(cell);
    RT_ASSERT(home < cache->cells->caches_count);
    struct rti_cell_parcel *parcel = &cache->parcels[kind][home % RTI_CELL_PARCELS];
    if (parcel->pile.count > 0 && parcel->home != home) {
        RT_SOMETIMES(true, "cells: a parcel goes before it is full");
        parcel_push(cache, parcel, kind);
    }
    parcel->home = home;
    rti_cell_pile_push(&parcel->pile, cell, kind);
    (void)rti_cell_cache_count(cache, kind, UINT32_MAX);
    cache->full[kind]--; /* it does not lie in `own` */
    if (parcel->pile.count >= cache->batch) {
        parcel_push(cache, parcel, kind);
    }
}

struct rti_cell *rti_cells_take_alone(struct rti_cells *cells, enum rti_cell_kind kind)
{
    rti_lock_acquire(&cells->lock, cells->sched);
    struct rti_cell_pile pile = cells_find(cells, kind, 1);
    struct rti_cell *cell = NULL;
    if (pile.count > 0) {
        cell = rti_cell_pile_pop(&pile, kind);
        if (pile.count > 0) {
            /* Under the lock: no search sees it missing. */
            cache_push(cells, 0, pile, kind);
        }
    }
    rti_lock_release(&cells->lock);
    if (cell != NULL) {
        cell->len = 0;
        (void)rti_u32_add_relaxed(&cells->out_alone, 1);
    }
    return cell;
}

void rti_cells_give_alone(struct rti_cells *cells, struct rti_cell *cell, enum rti_cell_kind kind)
{
    uint32_t home = rti_cell_home(cell);
    struct rti_cell_pile pile = {.first = NULL};
    RT_ASSERT(cell->len != RTI_CELL_FREE && home < cells->caches_count);
    rti_cell_pile_push(&pile, cell, kind);
    (void)rti_u32_add_relaxed(&cells->out_alone, UINT32_MAX);
    /* Under the lock: no search sees it missing. */
    rti_lock_acquire(&cells->lock, cells->sched);
    cache_push(cells, home, pile, kind);
    rti_lock_release(&cells->lock);
}

static struct rti_cell_pile cache_own(const struct rti_cell_cache *cache, enum rti_cell_kind kind)
{
    return (struct rti_cell_pile){.first = cache->own[kind],
                                  .count = rti_cell_cache_own(cache, kind)};
}

void rti_cell_cache_deinit(struct rti_cell_cache *cache)
{
    for (enum rti_cell_kind kind = RTI_CELL_SMALL; kind < RTI_CELL_KINDS; kind++) {
        struct rti_pool *pool = rti_cells_pool(cache->cells, kind);
        struct rti_cell_pile own = cache_own(cache, kind);
        rti_cell_pile_clear(&own, pool, kind);
        rti_cell_pile_clear(&cache->spare[kind], pool, kind);
        for (unsigned i = 0; i < RTI_CELL_PARCELS; i++) {
            rti_cell_pile_clear(&cache->parcels[kind][i].pile, pool, kind);
        }
        struct rti_cell_pile pile;
        while ((pile = cache_pop(cache, kind)).count > 0) {
            rti_cell_pile_clear(&pile, pool, kind);
        }
    }
}

size_t rti_cell_cache_audit(const struct rti_cell_cache *cache)
{
    size_t count = 0;
    for (unsigned kind = 0; kind < RTI_CELL_KINDS; kind++) {
        struct rti_cell_pile own = cache_own(cache, kind);
        count += rti_cell_pile_audit(&own, cache->batch - 1);
        count += rti_cell_pile_audit(&cache->spare[kind], cache->batch);
        for (unsigned i = 0; i < RTI_CELL_PARCELS; i++) {
            const struct rti_cell_parcel *parcel = &cache->parcels[kind][i];
            RT_ASSERT(parcel->pile.count == 0 ||
                      (parcel->home % RTI_CELL_PARCELS == i && parcel->home != cache->index));
            count += rti_cell_pile_audit(&parcel->pile, cache->batch - 1);
        }
        const struct rti_cell *first = rti_ptr_load_relaxed(&cache->returned[kind]);
        for (; first != NULL; first = first->next_pile) {
            struct rti_cell_pile pile = {.first = (struct rti_cell *)(uintptr_t)first,
                                         .count = first->pile_count};
            count += rti_cell_pile_audit(&pile, cache->batch);
        }
    }
    return count;
}

#endif
