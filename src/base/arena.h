/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ARENA_H
#define RTI_ARENA_H

/* The stack arena: blocks of any size out of one region that the caller gives. First fit, with
 * splitting on allocation and coalescing on free. Spawn and exit use it, no hot path does.
 *
 * The region is cut into granules of 64 bytes, and behind them lie two bitmaps with a bit for each:
 *
 *     | granule 0 | granule 1 | ... | granule n-1 | starts: n bits | used: n bits |
 *
 * `starts` has a bit at the first granule of every block, free or used; a block ends where the next
 * one starts. `used` has a bit at the first granule of every used block. The free blocks form a
 * list in the order of their addresses; its links lie in the free memory itself, as granule
 * numbers, so they are the same on every run.
 *
 * Nothing of the arena lies in or beside a used block. Stacks grow down, and the one thing a stack
 * that overflows must not break is the record of which memory belongs to whom: here it is above
 * all stacks. It also makes every wrong free an exact, constant-time finding: a pointer is freed if
 * it is the first byte of a granule whose `used` bit is set, and refused otherwise.
 *
 * A block is taken from the low end of the first free block that is large enough. No choice
 * depends on an address's value, only on the order within the region.
 *
 * I1  The blocks cover all granules without gap or overlap.                    (rti_arena_audit)
 * I2  A `used` bit has a `starts` bit; the other starts are the free list, in order.     (audit)
 * I3  No two neighbours are free.                                                        (audit)
 * I4  free_granules is the sum of the free blocks; used_count the number of `used` bits. (audit)
 *
 * An arena belongs to one thread. Failure changes nothing. Under ASan free memory is poisoned but
 * for the link at its start, and a block is handed out with all its bytes accessible.
 *
 * Costs: alloc and free take a step per free block, plus one per 4 KiB of the block for its end on
 * free; a region of 1 MiB spends 4 KiB on bitmaps.
 *
 * Rejected: a header before each block (an overflowing stack meets its own header first, and the
 * free that should clean up after it finds garbage); best fit (a longer search, and no less
 * fragmentation for stacks of few sizes); a buddy system (wastes up to half of a block). */

#include <stdbool.h>

#include "base/bitmap.h"

/* The unit of size and the alignment of every block. */
#define RTI_ARENA_GRANULE 64

/* The bytes of a region, aligned to RTI_ARENA_GRANULE, that can hold `usable` bytes in one block:
 * the granules, a bitmap pair for them, and the granule that rounding may cost. */
#define RTI_ARENA_BYTES(usable)                                                                    \
    (((size_t)(usable) + RTI_ARENA_GRANULE - 1) / RTI_ARENA_GRANULE * RTI_ARENA_GRANULE +          \
     16 * (((size_t)(usable) + RTI_ARENA_GRANULE * 64 - 1) / (RTI_ARENA_GRANULE * 64)))

struct rti_arena {
    unsigned char *granules; /* the caller's memory, aligned up to a granule */
    rti_bitmap_word *starts; /* behind the granules, in the same memory */
    rti_bitmap_word *used;   /* behind `starts` */
    uint32_t granule_count;
    uint32_t free_head; /* the lowest free block, or ARENA_END of arena.c */
    uint32_t free_granules;
    uint32_t used_count; /* blocks handed out */
    uint32_t used_max;   /* the most granules ever in use at once */
};

struct rti_arena_stats {
    size_t total_bytes;        /* what the granules hold */
    size_t free_bytes;         /* sum over the free blocks */
    size_t free_bytes_largest; /* the largest block that an allocation can get now */
    size_t free_count;         /* free blocks */
    size_t used_count;         /* blocks handed out */
    size_t used_bytes_max;     /* the most bytes ever in use at once */
};

/* Makes an arena of one free block in `region`, `size` bytes that stay the caller's and must
 * outlive the arena. Any size and alignment will do; a region that is too small for one granule
 * makes an arena in which every allocation fails. */
void rti_arena_init(struct rti_arena *arena, void *region, size_t size);

/* Ends the arena's life and gives the region back to the caller, unpoisoned. No block is used. */
void rti_arena_deinit(struct rti_arena *arena);

/* Hands out a block of at least `size` bytes, aligned to RTI_ARENA_GRANULE, with undefined content.
 * NULL, with nothing changed, if no free block is large enough or `size` is 0. */
void *rti_arena_alloc(struct rti_arena *arena, size_t size);

/* Takes a block back and merges it with its free neighbours. Panics, before it changes anything,
 * if `block` is not what rti_arena_alloc returned or is free already; NULL is no block. */
void rti_arena_free(struct rti_arena *arena, void *block);

/* The size of a used block: what was asked for, rounded up to granules. Panics as free does. */
size_t rti_arena_block_size(const struct rti_arena *arena, const void *block);

/* One step per free block. */
struct rti_arena_stats rti_arena_stats(const struct rti_arena *arena);

/* Checks I1 to I4, one step per block, and returns the number of used blocks. */
size_t rti_arena_audit(const struct rti_arena *arena);

#endif
