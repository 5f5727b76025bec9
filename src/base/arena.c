/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "arena"
#include "base/arena.h"

#if RTI_ASAN
#include <sanitizer/asan_interface.h>
#define ARENA_HIDE(address, size) __asan_poison_memory_region(address, size)
#define ARENA_SHOW(address, size) __asan_unpoison_memory_region(address, size)
#else
#define ARENA_HIDE(address, size) ((void)(address), (void)(size))
#define ARENA_SHOW(address, size) ((void)(address), (void)(size))
#endif

/* Behind the last free block. Larger than every granule number, which ends ordered walks. */
#define ARENA_END UINT32_MAX

/* Bytes of the two bitmaps for 64 bits each, and of the granules those bits stand for. */
#define WORD_PAIR_BYTES     (2 * 64 / 8)
#define WORD_GRANULES_BYTES ((size_t)64 * RTI_ARENA_GRANULE)

/* What the first granule of a free block holds. */
struct arena_free {
    uint32_t next; /* the next higher free block, or ARENA_END */
    uint32_t size; /* in granules */
};

_Static_assert(sizeof(struct arena_free) <= RTI_ARENA_GRANULE, "a free block holds its link");

static struct arena_free *arena_free_at(const struct rti_arena *arena, uint32_t granule)
{
    RT_DCHECK(granule < arena->granule_count);
    return (struct arena_free *)(void *)(arena->granules + (size_t)granule * RTI_ARENA_GRANULE);
}

/* Writes a free block's link; under ASan everything behind the link becomes inaccessible. */
static void arena_put_free(struct rti_arena *arena, uint32_t granule, struct arena_free node)
{
    struct arena_free *place = arena_free_at(arena, granule);
    ARENA_SHOW(place, sizeof(*place));
    *place = node;
    ARENA_HIDE(place + 1, (size_t)node.size * RTI_ARENA_GRANULE - sizeof(*place));
}

/* Stores where the list continues after the free block `before`, or at its head for ARENA_END. */
static void arena_link(struct rti_arena *arena, uint32_t before, uint32_t next)
{
    if (before == ARENA_END) {
        arena->free_head = next;
    } else {
        arena_free_at(arena, before)->next = next;
    }
}

/* How many granules fit into `size` bytes beside their bitmaps, which are whole words. */
static size_t arena_granules_in(size_t size)
{
    size_t count = size / (WORD_GRANULES_BYTES + WORD_PAIR_BYTES) * 64;
    size_t rest = size % (WORD_GRANULES_BYTES + WORD_PAIR_BYTES);
    if (rest > WORD_PAIR_BYTES) {
        count += (rest - WORD_PAIR_BYTES) / RTI_ARENA_GRANULE;
    }
    return count < ARENA_END ? count : ARENA_END - 1;
}

void rti_arena_init(struct rti_arena *arena, void *region, size_t size)
{
    RT_ASSERT(region != NULL);
    RT_ASSERT(size <= UINTPTR_MAX - (uintptr_t)region);
    size_t skip = (size_t)(-(uintptr_t)region % RTI_ARENA_GRANULE);
    size_t count = size > skip ? arena_granules_in(size - skip) : 0;
    arena->granules = (unsigned char *)region + (count > 0 ? skip : 0);
    arena->starts = (rti_bitmap_word *)(void *)(arena->granules + count * RTI_ARENA_GRANULE);
    arena->used = arena->starts + RTI_BITMAP_WORDS(count);
    arena->granule_count = (uint32_t)count;
    arena->free_head = ARENA_END;
    arena->free_granules = (uint32_t)count;
    arena->used_count = 0;
    arena->used_max = 0;
    if (count > 0) {
        rti_bitmap_clear_all(arena->starts, count);
        rti_bitmap_clear_all(arena->used, count);
        rti_bitmap_set(arena->starts, count, 0);
        arena->free_head = 0;
        arena_put_free(arena, 0, (struct arena_free){ARENA_END, (uint32_t)count});
    }
    RT_AUDIT(rti_arena_audit(arena));
}

void rti_arena_deinit(struct rti_arena *arena)
{
    RT_ASSERT(arena->used_count == 0);
    RT_AUDIT(rti_arena_audit(arena));
    ARENA_SHOW(arena->granules, (size_t)arena->granule_count * RTI_ARENA_GRANULE);
    arena->granule_count = 0;
    arena->free_head = ARENA_END;
    arena->free_granules = 0;
}

void *rti_arena_alloc(struct rti_arena *arena, size_t size)
{
    /* Compared before it is rounded up, so that the sum cannot overflow. */
    if (size == 0 || size > (size_t)arena->free_granules * RTI_ARENA_GRANULE) {
        return NULL;
    }
    uint32_t wanted = (uint32_t)((size + RTI_ARENA_GRANULE - 1) / RTI_ARENA_GRANULE);
    uint32_t before = ARENA_END;
    uint32_t at = arena->free_head;
    while (at != ARENA_END && arena_free_at(arena, at)->size < wanted) {
        before = at;
        at = arena_free_at(arena, at)->next;
    }
    if (at == ARENA_END) {
        return NULL;
    }
    struct arena_free node = *arena_free_at(arena, at);
    RT_DCHECK(!rti_bitmap_test(arena->used, arena->granule_count, at));
    if (node.size > wanted) {
        uint32_t rest = at + wanted;
        arena_put_free(arena, rest, (struct arena_free){node.next, node.size - wanted});
        rti_bitmap_set(arena->starts, arena->granule_count, rest);
        arena_link(arena, before, rest);
    } else {
        arena_link(arena, before, node.next);
    }
    rti_bitmap_set(arena->used, arena->granule_count, at);
    arena->used_count++;
    arena->free_granules -= wanted;
    uint32_t used_granules = arena->granule_count - arena->free_granules;
    arena->used_max = used_granules > arena->used_max ? used_granules : arena->used_max;
    void *block = arena_free_at(arena, at);
    ARENA_SHOW(block, (size_t)wanted * RTI_ARENA_GRANULE);
    RT_AUDIT(rti_arena_audit(arena));
    return block;
}

/* The granule at which a used block starts; a pointer that is none ends in a panic. */
static uint32_t arena_granule_of(const struct rti_arena *arena, const void *block)
{
    /* A pointer below the region wraps to a large offset. */
    uintptr_t offset = (uintptr_t)block - (uintptr_t)arena->granules;
    RT_ASSERT(offset < (uintptr_t)arena->granule_count * RTI_ARENA_GRANULE);
    RT_ASSERT(offset % RTI_ARENA_GRANULE == 0);
    uint32_t granule = (uint32_t)(offset / RTI_ARENA_GRANULE);
    bool is_used = rti_bitmap_test(arena->used, arena->granule_count, granule);
    RT_ASSERT(is_used);
    return granule;
}

static uint32_t arena_end_of(const struct rti_arena *arena, uint32_t granule)
{
    size_t end = rti_bitmap_find_from(arena->starts, arena->granule_count, granule + 1);
    return end == RTI_BITMAP_NONE ? arena->granule_count : (uint32_t)end;
}

void rti_arena_free(struct rti_arena *arena, void *block)
{
    uint32_t at = arena_granule_of(arena, block);
    uint32_t end = arena_end_of(arena, at);
    uint32_t before = ARENA_END;
    uint32_t after = arena->free_head;
    while (after < at) {
        before = after;
        after = arena_free_at(arena, after)->next;
    }
    rti_bitmap_clear(arena->used, arena->granule_count, at);
    arena->used_count--;
    arena->free_granules += end - at;
    struct arena_free node = {after, end - at};
    if (after == end) {
        node.next = arena_free_at(arena, after)->next;
        node.size += arena_free_at(arena, after)->size;
        rti_bitmap_clear(arena->starts, arena->granule_count, after);
    }
    if (before != ARENA_END && before + arena_free_at(arena, before)->size == at) {
        rti_bitmap_clear(arena->starts, arena->granule_count, at);
        node.size += at - before;
        arena_put_free(arena, before, node);
    } else {
        arena_put_free(arena, at, node);
        arena_link(arena, before, at);
    }
    RT_AUDIT(rti_arena_audit(arena));
}

size_t rti_arena_block_size(const struct rti_arena *arena, const void *block)
{
    uint32_t at = arena_granule_of(arena, block);
    return (size_t)(arena_end_of(arena, at) - at) * RTI_ARENA_GRANULE;
}

struct rti_arena_stats rti_arena_stats(const struct rti_arena *arena)
{
    struct rti_arena_stats stats = {
        .total_bytes = (size_t)arena->granule_count * RTI_ARENA_GRANULE,
        .free_bytes = (size_t)arena->free_granules * RTI_ARENA_GRANULE,
        .used_count = arena->used_count,
        .used_bytes_max = (size_t)arena->used_max * RTI_ARENA_GRANULE,
    };
    for (uint32_t at = arena->free_head; at != ARENA_END; at = arena_free_at(arena, at)->next) {
        size_t size = (size_t)arena_free_at(arena, at)->size * RTI_ARENA_GRANULE;
        stats.free_bytes_largest =
            size > stats.free_bytes_largest ? size : stats.free_bytes_largest;
        stats.free_count++;
    }
    return stats;
}

size_t rti_arena_audit(const struct rti_arena *arena)
{
    size_t used_count = 0;
    uint32_t free_granules = 0;
    uint32_t next_free = arena->free_head;
    bool is_after_free = false;
    uint32_t end;
    for (uint32_t at = 0; at < arena->granule_count; at = end) {
        RT_ASSERT(rti_bitmap_test(arena->starts, arena->granule_count, at));
        end = arena_end_of(arena, at);
        if (rti_bitmap_test(arena->used, arena->granule_count, at)) {
            used_count++;
            is_after_free = false;
            continue;
        }
        RT_ASSERT(!is_after_free);
        RT_ASSERT(next_free == at);
        RT_ASSERT(arena_free_at(arena, at)->size == end - at);
        free_granules += end - at;
        next_free = arena_free_at(arena, at)->next;
        is_after_free = true;
    }
    RT_ASSERT(next_free == ARENA_END);
    RT_ASSERT(free_granules == arena->free_granules);
    RT_ASSERT(used_count == arena->used_count);
    /* Every used bit was met on the way: none lies inside a block. */
    RT_ASSERT(used_count == rti_bitmap_count(arena->used, arena->granule_count));
    return used_count;
}
