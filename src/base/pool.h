/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_POOL_H
#define RTI_POOL_H

/* A fixed pool: `count` blocks of one size in memory that the caller gives, allocated and freed in
 * constant time, with every wrong free caught in constant time and in every build.
 *
 * The memory holds the blocks and, behind them, one link per block, of 32 bits or, on a small
 * machine, 16:
 *
 *     | block 0 | block 1 | ... | block count-1 | pad | link 0 | link 1 | ... |
 *
 * A link is RTI_POOL_IN_USE, or, for a free block, the index of the next free one. Links live
 * outside the blocks, so a write through a stale pointer cannot break the free list, a block has
 * no minimal size, and whether a block is free is a fact that no content of the block can imitate.
 *
 * `fresh` counts the blocks ever handed out. Blocks from `fresh` on were never touched, links
 * included: init is constant time, and a large pool costs only the pages it has used. An
 * allocation takes the free list first and a fresh block last; therefore `fresh` grows only when
 * all fresh blocks are in use, and is the high-water mark without being counted.
 *
 * Reuse is LIFO: the block freed last is the next one handed out, still warm in the cache. The
 * order depends on the calls alone, never on an address, so it repeats from run to run. FIFO reuse
 * would keep a freed block away for longer and so expose more uses after free, but it walks through
 * all the memory; the poison below finds those uses instead.
 *
 * A free turns the pointer into an index and checks it in one step. The block size is odd * 2^k;
 * multiplying the offset by the odd part's inverse modulo the word and rotating right by k maps
 * the multiples of the block size, and nothing else, to 0, 1, 2, ... Thus one comparison with
 * `fresh` refuses a pointer before, behind or between the blocks, and a block never handed out.
 *
 * Freed blocks are filled with RTI_POOL_POISON in checked builds and the fill is verified when the
 * block is handed out again; under ASan they are poisoned, never-used blocks too.
 *
 * I1  A free-list walk visits each block below `fresh` that is not in use, once.   (rti_pool_audit)
 * I2  in_use + length of the free list = fresh <= count.                           (rti_pool_audit)
 *     Without RT_POOL_COUNTS this is how in_use is found.
 * I3  A block below `fresh` is in use iff its link is RTI_POOL_IN_USE.    (rti_pool_free, audit)
 * I4  A free block holds the poison everywhere (checked builds).                   (rti_pool_alloc)
 *
 * A pool belongs to one thread. Costs: a link per block; about ten instructions each way.
 *
 * Rejected: the link inside the free block (a stale write corrupts the pool; a double free is
 * seen only by walking); one mark bit per block (one more cache line and the link as well);
 * division for the index (20 to 40 cycles). */

#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"

#if RTI_ONE_WORKER
typedef int16_t rti_pool_link; /* signed, for the marks are shorter to compare with */
typedef uint16_t rti_pool_number;
#define RTI_POOL_IN_USE    (-1)
#define RTI_POOL_END       (-2)
#define RTI_POOL_COUNT_MAX INT16_MAX
#else
typedef uint32_t rti_pool_link;
typedef uint32_t rti_pool_number;
#define RTI_POOL_IN_USE    UINT32_MAX
#define RTI_POOL_END       (UINT32_MAX - 1)
#define RTI_POOL_COUNT_MAX (UINT32_MAX - 2)
#endif
#define RTI_POOL_POISON 0xDB

/* The bytes that `count` blocks of `block_size` need. Constant if both are. */
#define RTI_POOL_LINKS_OFFSET(block_size, count)                                                   \
    (((size_t)(block_size) * (size_t)(count) + sizeof(rti_pool_link) - 1) /                        \
     sizeof(rti_pool_link) * sizeof(rti_pool_link))
#define RTI_POOL_BYTES(block_size, count)                                                          \
    (RTI_POOL_LINKS_OFFSET(block_size, count) + (size_t)(count) * sizeof(rti_pool_link))

/* Declares memory for `count` objects of `type`, aligned for any object:
 *
 *     static RTI_POOL_STORAGE(timer_memory, struct timer, 64);
 *     rti_pool_init(&pool, timer_memory, sizeof(struct timer), 64); */
#define RTI_POOL_STORAGE(name, type, count)                                                        \
    _Alignas(max_align_t) _Alignas(type) unsigned char name[RTI_POOL_BYTES(sizeof(type), count)]

struct rti_pool {
    unsigned char *blocks; /* the caller's memory */
    rti_pool_link *links;  /* behind the blocks, in the same memory */
    size_t block_size;
    size_t inverse;          /* of the odd part of block_size, modulo the word */
    rti_pool_number shift;   /* block_size is odd << shift */
    rti_pool_link free_head; /* block freed last, or RTI_POOL_END */
    rti_pool_number fresh;   /* blocks ever handed out; the high-water mark */
    rti_pool_number count;
#if RT_POOL_COUNTS
    rti_pool_number in_use;
#endif
};

/* Makes a pool of `count` free blocks in `memory`, RTI_POOL_BYTES(block_size, count) bytes, which
 * stays the caller's and must outlive the pool. `memory` is aligned for the blocks and at least
 * for a link; each block is as aligned as `memory` and `block_size` both are. A count of 0
 * makes a pool that is always exhausted. */
void rti_pool_init(struct rti_pool *pool, void *memory, size_t block_size, size_t count);

/* Ends the pool's life and gives the memory back to the caller, unpoisoned. All blocks are free. */
void rti_pool_deinit(struct rti_pool *pool);

/* The parts of the inline functions that are rare or only in checked builds. */
void *rti_pool_alloc_fresh(struct rti_pool *pool);
void rti_pool_mark_used(struct rti_pool *pool, void *block);
void rti_pool_mark_free(struct rti_pool *pool, void *block);
_Noreturn RTI_COLD void rti_pool_refuse(const struct rti_pool *pool, const void *block);

#define RTI_POOL_MARKS (RT_CHECKS || RTI_ASAN)

/* The index of the block that starts at `block`; a number >= count if there is none. */
static inline size_t rti_pool_index(const struct rti_pool *pool, const void *block)
{
    size_t product = ((uintptr_t)block - (uintptr_t)pool->blocks) * pool->inverse;
    unsigned left = (unsigned)(sizeof(size_t) * 8 - pool->shift) % (sizeof(size_t) * 8);
    return (product >> pool->shift) | (product << left);
}

static inline void *rti_pool_block(const struct rti_pool *pool, size_t index)
{
    RT_DCHECK(index < pool->count);
    return pool->blocks + index * pool->block_size;
}

/* True if `block` is a block of this pool that is handed out now. */
static inline bool rti_pool_is_in_use(const struct rti_pool *pool, const void *block)
{
    size_t index = rti_pool_index(pool, block);
    return index < pool->fresh && pool->links[index] == RTI_POOL_IN_USE;
}

/* One more or one less is handed out. */
static RTI_ALWAYSINLINE void rti_pool_count(struct rti_pool *pool, int step)
{
#if RT_POOL_COUNTS
    pool->in_use = (rti_pool_number)(pool->in_use + (rti_pool_number)step);
#else
    (void)pool;
    (void)step;
#endif
}

/* Hands out a block that was freed before; NULL if there is none, though fresh ones may be left.
 * Needs no call, so that a caller's common path can do without a frame. `block_size` is the pool's,
 * and cheaper if it is a constant. */
static RTI_ALWAYSINLINE void *rti_pool_reuse(struct rti_pool *pool, size_t block_size)
{
    rti_pool_link head = pool->free_head;
    RT_DCHECK(block_size == pool->block_size);
    if (RTI_UNLIKELY(head == RTI_POOL_END)) {
        return NULL;
    }
    size_t index = (size_t)head;
    RT_DCHECK(index < pool->fresh);
    pool->free_head = pool->links[index];
    pool->links[index] = RTI_POOL_IN_USE;
    rti_pool_count(pool, 1);
    void *block = pool->blocks + index * block_size;
#if RTI_POOL_MARKS
    rti_pool_mark_used(pool, block);
#endif
    RTI_ASSUME(block != NULL);
    return block;
}

/* Hands out a block with undefined content, or NULL when all are in use. Where flash is scarce this
 * and rti_pool_free are there once. */
#if RTI_ONE_WORKER
void *rti_pool_alloc(struct rti_pool *pool);
#else
static inline void *rti_pool_alloc(struct rti_pool *pool)
{
    void *block = rti_pool_reuse(pool, pool->block_size);
    return RTI_LIKELY(block != NULL) ? block : rti_pool_alloc_fresh(pool);
}
#endif

/* Takes back the block that starts at `block`, whose index this is if it has one. */
static RTI_ALWAYSINLINE void rti_pool_free_at(struct rti_pool *pool, void *block, size_t index)
{
    if (RTI_UNLIKELY(index >= pool->fresh || pool->links[index] != RTI_POOL_IN_USE)) {
        rti_pool_refuse(pool, block);
    }
#if RTI_POOL_MARKS
    rti_pool_mark_free(pool, block);
#endif
    pool->links[index] = pool->free_head;
    pool->free_head = (rti_pool_link)index;
    rti_pool_count(pool, -1);
}

/* Takes a block back. Panics, before it changes anything, if `block` is not a block of this pool
 * or is free already; NULL is no block. */
#if RTI_ONE_WORKER
void rti_pool_free(struct rti_pool *pool, void *block);
#else
static inline void rti_pool_free(struct rti_pool *pool, void *block)
{
    rti_pool_free_at(pool, block, rti_pool_index(pool, block));
}
#endif

/* The same where the size of the pool's blocks is a constant. */
static RTI_ALWAYSINLINE void rti_pool_free_sized(struct rti_pool *pool, void *block,
                                                 size_t block_size)
{
    RT_DCHECK(block_size == pool->block_size);
    if ((block_size & (block_size - 1)) == 0) {
        /* The odd part is 1: the offset's own bits, rotated. */
        size_t offset = (uintptr_t)block - (uintptr_t)pool->blocks;
        unsigned shift = (unsigned)__builtin_ctzll(block_size);
        unsigned left = (unsigned)(sizeof(size_t) * 8 - shift) % (sizeof(size_t) * 8);
        rti_pool_free_at(pool, block, (offset >> shift) | (offset << left));
    } else {
        rti_pool_free_at(pool, block, rti_pool_index(pool, block));
    }
}

/* How many blocks are handed out now. */
#if RT_POOL_COUNTS
static inline size_t rti_pool_in_use(const struct rti_pool *pool)
{
    return pool->in_use;
}
#else
size_t rti_pool_in_use(const struct rti_pool *pool);
#endif

/* The most blocks that were ever in use at once. */
static inline size_t rti_pool_high_water(const struct rti_pool *pool)
{
    return pool->fresh;
}

/* Checks I1 to I3 and returns the number of free blocks. */
size_t rti_pool_audit(const struct rti_pool *pool);

#endif
