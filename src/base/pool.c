/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "pool"
#include "base/pool.h"

#include <string.h>

#if RTI_ASAN
#include <sanitizer/asan_interface.h>
#define POOL_HIDE(address, size) __asan_poison_memory_region(address, size)
#define POOL_SHOW(address, size) __asan_unpoison_memory_region(address, size)
#else
#define POOL_HIDE(address, size) ((void)(address), (void)(size))
#define POOL_SHOW(address, size) ((void)(address), (void)(size))
#endif

/* The inverse of an odd number modulo the word. An odd number is its own inverse in the lowest
 * three bits, and each step doubles the number of bits that are right. */
static size_t pool_inverse(size_t odd)
{
    size_t inverse = odd;
    for (unsigned bits = 3; bits < sizeof(size_t) * 8; bits *= 2) {
        inverse *= 2 - odd * inverse;
    }
    RTI_ASSERT_MADE(odd * inverse == 1);
    return inverse;
}

void rti_pool_init(struct rti_pool *pool, void *memory, size_t block_size, size_t count)
{
    RTI_ASSERT_MADE(memory != NULL);
    RTI_ASSERT_MADE((uintptr_t)memory % _Alignof(rti_pool_link) == 0);
    RTI_ASSERT_MADE(block_size > 0);
    RTI_ASSERT_MADE(count <= RTI_POOL_COUNT_MAX);
    RTI_ASSERT_MADE(block_size <= SIZE_MAX / 2 - sizeof(rti_pool_link));
    RTI_ASSERT_MADE(count <= SIZE_MAX / 2 / (block_size + sizeof(rti_pool_link)));
    unsigned shift = 0;
    while ((block_size >> shift & 1) == 0) {
        shift++;
    }
    pool->blocks = memory;
    pool->links =
        (rti_pool_link *)(void *)(pool->blocks + RTI_POOL_LINKS_OFFSET(block_size, count));
    pool->block_size = block_size;
    pool->inverse = pool_inverse(block_size >> shift);
    pool->shift = (rti_pool_number)shift;
    pool->free_head = RTI_POOL_END;
    pool->fresh = 0;
#if RT_POOL_COUNTS
    pool->in_use = 0;
#endif
    pool->count = (rti_pool_number)count;
    POOL_HIDE(pool->blocks, block_size * count);
    RT_AUDIT(rti_pool_audit(pool));
}

void rti_pool_deinit(struct rti_pool *pool)
{
    RT_ASSERT(rti_pool_in_use(pool) == 0);
    RT_AUDIT(rti_pool_audit(pool));
    POOL_SHOW(pool->blocks, pool->block_size * pool->count);
    pool->fresh = 0;
    pool->count = 0;
    pool->free_head = RTI_POOL_END;
}

void *rti_pool_alloc_fresh(struct rti_pool *pool)
{
    RT_ASSERT(!RT_POOL_COUNTS || rti_pool_in_use(pool) == pool->fresh);
    if (pool->fresh == pool->count) {
        return NULL;
    }
    rti_pool_number index = pool->fresh++;
    pool->links[index] = RTI_POOL_IN_USE;
    rti_pool_count(pool, 1);
    void *block = rti_pool_block(pool, index);
    POOL_SHOW(block, pool->block_size);
    return block;
}

#if RTI_ONE_WORKER

void *rti_pool_alloc(struct rti_pool *pool)
{
    void *block = rti_pool_reuse(pool, pool->block_size);
    return RTI_LIKELY(block != NULL) ? block : rti_pool_alloc_fresh(pool);
}

void rti_pool_free(struct rti_pool *pool, void *block)
{
    rti_pool_free_at(pool, block, rti_pool_index(pool, block));
}

#endif

void rti_pool_mark_used(struct rti_pool *pool, void *block)
{
    POOL_SHOW(block, pool->block_size);
    /* I4: a block that is compared with itself, one byte on, is uniform. */
    const unsigned char *bytes = block;
    RT_DCHECK(bytes[0] == RTI_POOL_POISON);
    RT_DCHECK(memcmp(bytes, bytes + 1, pool->block_size - 1) == 0);
    (void)bytes;
}

void rti_pool_mark_free(struct rti_pool *pool, void *block)
{
#if RT_CHECKS
    memset(block, RTI_POOL_POISON, pool->block_size);
#endif
    POOL_HIDE(block, pool->block_size);
}

void rti_pool_refuse(const struct rti_pool *pool, const void *block)
{
    size_t index = rti_pool_index(pool, block);
    if (index >= pool->count) {
        rti_panic(RTI_MODULE, __LINE__, "free of a pointer that is no block of this pool");
    }
    if (index >= pool->fresh) {
        rti_panic(RTI_MODULE, __LINE__, "free of a block that was never allocated");
    }
    rti_panic(RTI_MODULE, __LINE__, "free of a block that is free already");
}

#if !RT_POOL_COUNTS
size_t rti_pool_in_use(const struct rti_pool *pool)
{
    size_t in_use = 0;
    for (rti_pool_number at = 0; at < pool->fresh; at++) {
        in_use += pool->links[at] == RTI_POOL_IN_USE;
    }
    return in_use;
}
#endif

size_t rti_pool_audit(const struct rti_pool *pool)
{
    size_t in_use = rti_pool_in_use(pool);
    RT_ASSERT(in_use <= pool->fresh);
    RT_ASSERT(pool->fresh <= pool->count);
    size_t listed = 0;
    for (rti_pool_link at = pool->free_head; at != RTI_POOL_END; at = pool->links[at]) {
        RT_ASSERT((rti_pool_number)at < pool->fresh);
        /* Also ends the walk of a list that has become a ring. */
        RT_ASSERT(++listed <= pool->fresh - in_use);
    }
    RT_ASSERT(listed == pool->fresh - in_use);
    size_t used = 0;
    for (rti_pool_number at = 0; at < pool->fresh; at++) {
        used += pool->links[at] == RTI_POOL_IN_USE;
        RT_ASSERT(rti_pool_index(pool, rti_pool_block(pool, at)) == at);
    }
    RT_ASSERT(used == in_use);
    return pool->count - in_use;
}
