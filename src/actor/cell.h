/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CELL_H
#define RTI_CELL_H

/* A cell is a message to a behaviour: a node of a mailbox with its payload behind it.
 *
 *     | next | to, sender | id, len | payload |      64 bytes, or as long as a message can be
 *
 * There are two pools of cells, small and large, with as many cells each as messages may wait; what
 * is never used is addresses and no memory. Both together give out no more than `count`, so what a
 * program can send does not depend on the lengths it sends.
 *
 * `to` is the life that the message is for. A mailbox outlives the lives in its place, and a sender
 * that looked up an id just before its life ended pushes just after: the next life then finds a
 * message for another and drops it.
 *
 * I1  small in use + large in use <= count.                                  (rti_cells_audit)
 *
 * With one worker a short message takes and gives back its cell without a call.
 *
 * With several workers both pools have one lock, which every send and every message that was dealt
 * with takes once. Costs with one worker: a pool operation each way. */

#include <orrery/rt/types.h>
#include <orrery/rt_static_config.h>

#include "base/mpsc.h"
#include "base/pool.h"
#include "sched/lock.h"
#include "sched/trace.h"

#define RTI_CELL_SMALL_SIZE 64

/* The bit of `len` that says that the payload is a token of a blob. */
#define RTI_CELL_BLOB UINT32_C(0x80000000)

/* The bit that says that a trace context lies behind the payload. */
#define RTI_CELL_TRACE UINT32_C(0x40000000)

struct rti_cell {
    struct rti_mpsc_node node;
    actor_id to;
    actor_id sender;
    uint32_t id;
    uint32_t len; /* bytes of payload, and the bits RTI_CELL_BLOB and RTI_CELL_TRACE */
    _Alignas(8) unsigned char data[];
};

#define RTI_CELL_SMALL_MAX (RTI_CELL_SMALL_SIZE - sizeof(struct rti_cell))
#define RTI_CELL_LARGE_SIZE                                                                        \
    ((sizeof(struct rti_cell) + RT_MAX_MESSAGE_SIZE + 7 + sizeof(struct rt_trace) + 7) / 8 * 8)

struct rti_cells {
    struct rti_lock lock;
    struct rti_sched *sched;
    struct rti_pool small;
    struct rti_pool large;
    size_t count;
};

/* Bytes that rti_cells_init needs for so many. */
static inline size_t rti_cells_bytes(size_t count)
{
    size_t small = RTI_POOL_BYTES(RTI_CELL_SMALL_SIZE, count);
    return (small + 15) / 16 * 16 + RTI_POOL_BYTES(RTI_CELL_LARGE_SIZE, count);
}

void rti_cells_init(struct rti_cells *cells, struct rti_sched *sched, void *memory, size_t count);
void rti_cells_deinit(struct rti_cells *cells);
void rti_cells_audit(const struct rti_cells *cells);

static inline size_t rti_cells_in_use(const struct rti_cells *cells)
{
    return rti_pool_in_use(&cells->small) + rti_pool_in_use(&cells->large);
}

/* Gives back the hold on a blob that a message carries (blob.c). */
void rti_blob_discard(struct rti_sched *sched, const void *token);

/* A cell for a payload of `len` bytes; NULL if so many are out. */
static inline struct rti_cell *rti_cell_alloc(struct rti_cells *cells, size_t len)
{
    struct rti_cell *cell = NULL;
    rti_lock_acquire(&cells->lock, cells->sched);
    if (RTI_LIKELY(rti_cells_in_use(cells) < cells->count)) {
        cell = rti_pool_alloc(len <= RTI_CELL_SMALL_MAX ? &cells->small : &cells->large);
    }
    rti_lock_release(&cells->lock);
    return cell;
}

/* The same with one worker, for a short payload; NULL also if no cell was ever given back. */
static RTI_ALWAYSINLINE struct rti_cell *rti_cell_reuse_small(struct rti_cells *cells)
{
    return RTI_LIKELY(rti_cells_in_use(cells) < cells->count)
               ? rti_pool_reuse(&cells->small, RTI_CELL_SMALL_SIZE)
               : NULL;
}

static inline uint32_t rti_cell_len(const struct rti_cell *cell)
{
    return cell->len & ~(RTI_CELL_BLOB | RTI_CELL_TRACE);
}

/* Bytes behind the head of a cell: the payload, and a context if it has one. */
static inline size_t rti_cell_bytes(size_t len, bool has_trace)
{
    return has_trace ? (len + 7) / 8 * 8 + sizeof(struct rt_trace) : len;
}

/* Where the context of a cell is that has one. */
static inline struct rt_trace *rti_cell_trace(struct rti_cell *cell)
{
    RT_DCHECK((cell->len & RTI_CELL_TRACE) != 0);
    return (struct rt_trace *)(cell->data + (rti_cell_len(cell) + 7) / 8 * 8);
}

static inline void rti_cell_free(struct rti_cells *cells, struct rti_cell *cell)
{
    if (RTI_UNLIKELY((cell->len & RTI_CELL_BLOB) != 0)) {
        rti_blob_discard(cells->sched, cell->data);
    }
    rti_lock_acquire(&cells->lock, cells->sched);
    size_t bytes = rti_cell_bytes(rti_cell_len(cell), (cell->len & RTI_CELL_TRACE) != 0);
    rti_pool_free(bytes <= RTI_CELL_SMALL_MAX ? &cells->small : &cells->large, cell);
    rti_lock_release(&cells->lock);
}

/* The same with one worker. */
static RTI_ALWAYSINLINE void rti_cell_free_alone(struct rti_cells *cells, struct rti_cell *cell)
{
    if (RTI_LIKELY(cell->len <= RTI_CELL_SMALL_MAX)) {
        rti_pool_free_sized(&cells->small, cell, RTI_CELL_SMALL_SIZE);
    } else {
        rti_cell_free(cells, cell);
    }
}

#endif
