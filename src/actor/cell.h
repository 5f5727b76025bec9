/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CELL_H
#define RTI_CELL_H

/* A cell is a message to a behaviour: a node of a mailbox with its payload behind it.
 *
 *     | next | sender and id | to, len | payload |      64 bytes, or as long as a message can be
 *
 * `to` is the life that the message is for. A mailbox outlives the lives in its place, and a sender
 * that looked up an id just before its life ended pushes just after: the next life then finds a
 * message for another and drops it.
 *
 * `len` has, above the bytes of the payload, where the cell goes when it is free (its home, see
 * cell_cache.h) and two marks. Of a cell that lies in a cache it is RTI_CELL_FREE, which no message
 * has: who gives a cell back twice is stopped in every build.
 *
 * Sender and id are one word because who takes the message reads them as one, often so soon that
 * they are still on their way to memory, and a processor hands on what one store has written but
 * not what two have.
 *
 * I1  A cell is free iff its `len` is RTI_CELL_FREE, or it lies in its pool.  (cell_cache.h, audit)
 */

#include <orrery/rt/types.h>
#include <orrery/rt_static_config.h>

#include "actor/letterbox.h"
#include "base/mpsc.h"
#include "sched/trace.h"

#define RTI_CELL_SMALL_SIZE 64

/* The bit of `len` that says that the payload is a token of a blob. */
#define RTI_CELL_BLOB UINT32_C(0x80000000)

/* The bit that says that a trace context lies behind the payload. */
#define RTI_CELL_TRACE UINT32_C(0x40000000)

/* The bits between are the home, those below the length. */
#define RTI_CELL_HOME_SHIFT 20
#define RTI_CELL_HOMES_MAX  1024
#define RTI_CELL_LEN_MASK   ((UINT32_C(1) << RTI_CELL_HOME_SHIFT) - 1)

#define RTI_CELL_FREE UINT32_MAX

struct rti_cell {
    union {
        struct rti_mpsc_node node;  /* in a mailbox, with one worker */
        struct rti_letter letter;   /* the same, with several */
        struct rti_cell *next_free; /* in a cache: the next one of its pile */
    };
    union {
        uint64_t origin;            /* the sender, and above it the id */
        struct rti_cell *next_pile; /* first of a pile that was given back: the next pile */
    };
    union {
        actor_id to;
        uint32_t pile_count; /* first of a pile that was given back: cells in it */
    };
    uint32_t len; /* bytes of payload, the home, and the bits RTI_CELL_BLOB and RTI_CELL_TRACE */
    _Alignas(8) unsigned char data[];
};

#define RTI_CELL_SMALL_MAX (RTI_CELL_SMALL_SIZE - sizeof(struct rti_cell))
#define RTI_CELL_LARGE_SIZE                                                                        \
    ((sizeof(struct rti_cell) + RT_MAX_MESSAGE_SIZE + 7 + sizeof(struct rt_trace) + 7) / 8 * 8)

_Static_assert(RT_MAX_MESSAGE_SIZE + sizeof(struct rt_trace) + 7 < RTI_CELL_LEN_MASK,
               "the length of a message fits beside the home of its cell");

static inline uint64_t rti_cell_origin(actor_id sender, uint32_t id)
{
    return (uint64_t)id << 32 | sender;
}

static inline actor_id rti_cell_sender(const struct rti_cell *cell)
{
    return (actor_id)cell->origin;
}

static inline uint32_t rti_cell_id(const struct rti_cell *cell)
{
    return (uint32_t)(cell->origin >> 32);
}

static inline uint32_t rti_cell_len(const struct rti_cell *cell)
{
    return cell->len & RTI_CELL_LEN_MASK;
}

/* Bytes behind the head of a cell: the payload, and a context if it has one. */
static inline size_t rti_cell_bytes(size_t len, bool has_trace)
{
    return has_trace ? (len + 7) / 8 * 8 + sizeof(struct rt_trace) : len;
}

/* Is a cell of the small size enough for it? */
static inline bool rti_cell_is_small(const struct rti_cell *cell)
{
    return rti_cell_bytes(rti_cell_len(cell), (cell->len & RTI_CELL_TRACE) != 0) <=
           RTI_CELL_SMALL_MAX;
}

/* Where the context of a cell is that has one. */
static inline struct rt_trace *rti_cell_trace(struct rti_cell *cell)
{
    RT_DCHECK((cell->len & RTI_CELL_TRACE) != 0);
    return (struct rt_trace *)(cell->data + (rti_cell_len(cell) + 7) / 8 * 8);
}

#endif
