/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CELL_CACHE_H
#define RTI_CELL_CACHE_H

/* The free cells of one station, on an engine with several workers: message memory that is taken
 * and given back without a lock and without a word that another worker writes.
 *
 * Cells lie in piles, chains of at most a batch. Who sends takes from the pile of its station; the
 * cell remembers where it was taken, and this is its home for this one message. Who has handled the
 * message gives the cell back: at home it goes onto the pile it came from, last in, first out, and
 * warm; elsewhere into a parcel for its home. A parcel that has a batch goes home in one push.
 *
 *     own        the pile that is taken from and given to; holder of the station only
 *     spare      a full pile behind it, so that a row of takes and gives at the edge moves nothing
 *     parcels    piles for other homes, one for each remainder of the home's number
 *     returned   a stack of piles: what others brought home, and what the holder has too much of
 *
 * A station that has nothing left takes what was returned to it, then what was returned to others,
 * then a batch of the stock (cells that were never used, cells.h): a worker starves only if there
 * is nothing anywhere but in the hands of others. What was used comes before what never was, since
 * its memory is there and warm: the stock costs a page fault for each 64 messages.
 *
 * Those hands hold back at most RTI_CELL_CACHE_MAX of a batch each, and the stock has so many cells
 * more than messages may wait. So a take fails only if at least as many messages wait as room was
 * made for, exactly, whoever holds what. The proof: let a search under the lock of the cells find
 * the stock and all that was returned empty, and no push announced between its first look and its
 * last. Then every cell is out in a message, in a hand, or in one push per hand that was announced
 * before the search and came to its end during it; and those are counted in RTI_CELL_CACHE_MAX. If
 * a push was announced meanwhile the search begins again.
 *
 * Who has no station (a blocking call) takes single cells under the lock and sends them home one by
 * one.
 *
 * I1  A pile has at most a batch.                                                       (audit)
 * I2  own < batch outside of these functions; spare is empty or a pile.                 (audit)
 * I3  A parcel is for another home than this one, of its remainder.                     (audit)
 * I4  Cells out of the pools = cells in piles, returned or parcels + messages.          (audit)
 * I5  A pile that was pushed is taken by one taker, with what its pusher wrote.         (explored)
 *
 * Who writes: the holder of the station, but for `returned` (any worker, by compare-exchange); who
 * takes from `returned` has `lock`, so a head that was read is there until it is taken.
 * Pairs: the compare-exchange of a push releases the pile's cells to the load of who takes it. A
 * station changes hands by release and acquire (warden.h), and its cache with it.
 *
 * Costs: six instructions to take, ten to give, no locked one; one compare-exchange, one count
 * and for the taker one lock that others seldom want, for a batch.
 *
 * Rejected: a lock per cache, which others could empty (two locked instructions per message); a
 * home for life (a cell of a worker that sends no more would go there for ever); taking all that
 * was returned with one exchange (what is too much would have to go elsewhere, unseen by a search).
 */

#include "actor/cell_pile.h"
#include "sched/lock.h"

/* Where one worker is all there can be nothing of this is there. */
#define RTI_HAS_CELL_CACHES (RT_MAX_WORKERS > 1)

/* Cells of a full pile, at most. */
#define RTI_CELL_BATCH_MAX 128

#define RTI_CELL_PARCELS 4

/* Batches that one cache can keep from the others: own, spare and a parcel for each remainder, one
 * of them full and about to be pushed, and one that was pushed while somebody searched. */
#define RTI_CELL_CACHE_MAX (RTI_CELL_PARCELS + 3)

struct rti_cells;

struct rti_cell_parcel {
    struct rti_cell_pile pile;
    uint32_t home; /* whose they are, unless it is empty */
};

struct rti_cell_cache {
    struct rti_cells *cells;
    uint32_t index; /* of its station */
    uint32_t home;  /* the same, as a cell's `len` says it */
    uint32_t batch; /* cells of a full pile */
    struct rti_cell *own[RTI_CELL_KINDS];
    rti_atomic_u32 out[RTI_CELL_KINDS]; /* taken here minus given here, modulo 2^32 */
    uint32_t full[RTI_CELL_KINDS];      /* what `out` comes to when `own` has a batch */
    struct rti_cell_pile spare[RTI_CELL_KINDS];
    struct rti_cell_parcel parcels[RTI_CELL_KINDS][RTI_CELL_PARCELS];
    RTI_ALIGNED(RTI_CACHE_LINE) rti_atomic_ptr returned[RTI_CELL_KINDS]; /* struct rti_cell */
    struct rti_lock lock;                                                /* of who takes from it */
};

void rti_cell_cache_init(struct rti_cell_cache *cache, struct rti_cells *cells, uint32_t index);

/* Gives everything that lies here back to its pool. Nobody else is at work. */
void rti_cell_cache_deinit(struct rti_cell_cache *cache);

/* Checks I1 to I3 and returns how many cells lie here. Nobody is at work. */
size_t rti_cell_cache_audit(const struct rti_cell_cache *cache);

/* The parts of take and give that are rare. */
struct rti_cell *rti_cell_cache_refill(struct rti_cell_cache *cache, enum rti_cell_kind kind);
void rti_cell_cache_put_aside(struct rti_cell_cache *cache, enum rti_cell_kind kind);
void rti_cell_cache_send_home(struct rti_cell_cache *cache, struct rti_cell *cell,
                              enum rti_cell_kind kind);

/* The same by who has no station. */
struct rti_cell *rti_cells_take_alone(struct rti_cells *cells, enum rti_cell_kind kind);
void rti_cells_give_alone(struct rti_cells *cells, struct rti_cell *cell, enum rti_cell_kind kind);

static inline uint32_t rti_cell_home(const struct rti_cell *cell)
{
    return cell->len >> RTI_CELL_HOME_SHIFT & (RTI_CELL_HOMES_MAX - 1);
}

/* What the `len` of a cell says that was taken here, and nothing else. */
static inline uint32_t rti_cell_cache_home(const struct rti_cell_cache *cache)
{
    return cache->home;
}

/* How many lie in `own`: whatever moves there or away from it changes `out` or `full`. Holder. */
static inline uint32_t rti_cell_cache_own(const struct rti_cell_cache *cache,
                                          enum rti_cell_kind kind)
{
    return cache->full[kind] + cache->batch - rti_u32_load_relaxed(&cache->out[kind]);
}

/* Counts what is out, and says how much that is; only the holder of the station writes. */
static RTI_ALWAYSINLINE uint32_t rti_cell_cache_count(struct rti_cell_cache *cache,
                                                      enum rti_cell_kind kind, uint32_t change)
{
    uint32_t out = rti_u32_load_relaxed(&cache->out[kind]) + change;
    rti_u32_store_relaxed(&cache->out[kind], out);
    return out;
}

/* Takes a cell of the pile that lies here, whose `len` is the caller's to write; NULL if there is
 * none, and nothing has happened. Holder. */
static RTI_ALWAYSINLINE struct rti_cell *rti_cell_cache_reuse(struct rti_cell_cache *cache,
                                                              enum rti_cell_kind kind)
{
    if (RTI_UNLIKELY(cache->own[kind] == NULL)) {
        return NULL;
    }
    struct rti_cell *cell = rti_cell_unlink(&cache->own[kind], kind);
    (void)rti_cell_cache_count(cache, kind, 1);
    return cell;
}

/* Takes a cell, whose `len` says where it was taken and nothing else; NULL if all are out. Holder.
 */
static inline struct rti_cell *rti_cell_cache_take(struct rti_cell_cache *cache,
                                                   enum rti_cell_kind kind)
{
    struct rti_cell *cell = rti_cell_cache_reuse(cache, kind);
    if (RTI_UNLIKELY(cell == NULL)) {
        cell = rti_cell_cache_refill(cache, kind);
        if (cell == NULL) {
            return NULL;
        }
    }
    cell->len = rti_cell_cache_home(cache);
    return cell;
}

/* Puts a cell that was taken here back on its pile. Holder. */
static RTI_ALWAYSINLINE void rti_cell_cache_keep(struct rti_cell_cache *cache,
                                                 struct rti_cell *cell, enum rti_cell_kind kind)
{
    rti_cell_link(&cache->own[kind], cell, kind);
    if (RTI_UNLIKELY(rti_cell_cache_count(cache, kind, UINT32_MAX) == cache->full[kind])) {
        rti_cell_cache_put_aside(cache, kind);
    }
}

/* Takes a cell back, wherever it was taken. Holder. */
static inline void rti_cell_cache_give(struct rti_cell_cache *cache, struct rti_cell *cell,
                                       enum rti_cell_kind kind)
{
    RT_ASSERT(cell->len != RTI_CELL_FREE);
    if (RTI_UNLIKELY(rti_cell_home(cell) != cache->index)) {
        rti_cell_cache_send_home(cache, cell, kind);
        return;
    }
    rti_cell_cache_keep(cache, cell, kind);
}

/* The same of a short one without a mark that was taken here, as most are: no call. False if it is
 * another, or free already, and nothing has happened. Holder. */
static RTI_ALWAYSINLINE bool rti_cell_cache_try_give(struct rti_cell_cache *cache,
                                                     struct rti_cell *cell)
{
    /* Nothing is left of `len` but the length, if it says this home and nothing else. */
    if (RTI_UNLIKELY((cell->len ^ rti_cell_cache_home(cache)) > RTI_CELL_SMALL_MAX)) {
        return false;
    }
    rti_cell_cache_keep(cache, cell, RTI_CELL_SMALL);
    return true;
}

#endif
