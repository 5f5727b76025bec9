/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stacks"
#include "sched/stacks.h"

#if RTI_ASAN
#include <sanitizer/asan_interface.h>
#define STACK_HIDE(address, size) __asan_poison_memory_region(address, size)
#define STACK_SHOW(address, size) __asan_unpoison_memory_region(address, size)
#else
#define STACK_HIDE(address, size) ((void)(address), (void)(size))
#define STACK_SHOW(address, size) ((void)(address), (void)(size))
#endif

/* Guards and blocks are multiples of it. 1 where there are none, so that rounding changes nothing.
 */
#define STACK_UNIT ((size_t)(RT_STACK_GUARD_SIZE > 0 ? RT_STACK_GUARD_SIZE : 1))

_Static_assert((STACK_UNIT & (STACK_UNIT - 1)) == 0, "a guard is a power of two");
_Static_assert(RT_STACK_GUARD_SIZE == 0 || RT_STACK_GUARD_SIZE >= RTI_ARENA_GRANULE,
               "a guard is at least a granule");

/* Is every stack of the arena protected? A constant where there are no pages to do it with. */
static inline bool stack_is_protecting(const struct rti_stacks *stacks)
{
    return RT_STACK_GUARD_SIZE > 0 && stacks->is_protecting;
}

static inline bool stack_is_guarded(const struct rti_stack_block *memory)
{
    return RT_STACK_GUARD_SIZE > 0 && memory->is_guarded;
}

static size_t stack_round_up(size_t size)
{
    return (size + STACK_UNIT - 1) & ~(STACK_UNIT - 1);
}

/* Bytes of the block that holds a stack of `size` bytes with its guard. */
static size_t stack_block_size(size_t size)
{
    return STACK_UNIT + stack_round_up(RTI_STACK_RESERVE + size);
}

/* Where the guard of a block lies: the first place that can be one. */
static char *stack_guard_of(void *block)
{
    return (char *)block + (-(uintptr_t)block & (STACK_UNIT - 1));
}

static bool stack_guard(struct rti_stacks *stacks, void *block)
{
    rt_status status =
        stacks->port->ops->memory_guard(stacks->port, stack_guard_of(block), STACK_UNIT);
    return !RT_FAILED(status);
}

static void stack_unguard(struct rti_stacks *stacks, void *block)
{
    stacks->port->ops->memory_unguard(stacks->port, stack_guard_of(block), STACK_UNIT);
}

void rti_stacks_init(struct rti_stacks *stacks, struct rti_sched *sched)
{
    RT_ASSERT(sched->modules[RTI_MODULE_STACKS] == NULL);
    struct rti_port *port = sched->port;
    size_t page_size = port->ops->memory_page_size == NULL ? 0 : port->ops->memory_page_size(port);
    stacks->port = port;
    stacks->sched = sched;
    rti_lock_init(&stacks->lock, sched, RTI_LOCK_QUEUE);
    stacks->is_protecting =
        RT_STACK_GUARD_SIZE > 0 && page_size > 0 && RT_STACK_GUARD_SIZE % page_size == 0;
    stacks->free_bytes = rti_stack_block_granules(RT_STACK_ARENA_SIZE);
    stacks->in_use = 0;
    stacks->kept_count = 0;
    rti_arena_init(&stacks->arena, stacks->memory,
                   stacks->is_protecting ? sizeof(stacks->memory)
                                         : RTI_ARENA_BYTES(RT_STACK_ARENA_SIZE));
    sched->modules[RTI_MODULE_STACKS] = stacks;
}

/* Gives the stack that was kept longest back to the arena. */
static void stack_forget_oldest(struct rti_stacks *stacks)
{
    void *block = stacks->kept[0].block;
    RT_ASSERT(stacks->kept_count > 0);
    stacks->kept_count--;
    for (size_t i = 0; i < stacks->kept_count; i++) {
        stacks->kept[i] = stacks->kept[i + 1];
    }
    stack_unguard(stacks, block);
    rti_arena_free(&stacks->arena, block);
}

void rti_stacks_deinit(struct rti_stacks *stacks)
{
    RT_ASSERT(stacks->sched->modules[RTI_MODULE_STACKS] == stacks && stacks->in_use == 0);
    while (RT_STACK_GUARD_SIZE > 0 && stacks->kept_count > 0) {
        stack_forget_oldest(stacks);
    }
    rti_arena_deinit(&stacks->arena);
    stacks->sched->modules[RTI_MODULE_STACKS] = NULL;
}

/* The stack of this size that was used last; NULL if none is kept. */
static void *stack_take_kept(struct rti_stacks *stacks, size_t size)
{
    for (size_t i = stacks->kept_count; i > 0; i--) {
        if (stacks->kept[i - 1].size == size) {
            void *block = stacks->kept[i - 1].block;
            stacks->kept_count--;
            for (size_t j = i - 1; j < stacks->kept_count; j++) {
                stacks->kept[j] = stacks->kept[j + 1];
            }
            STACK_SHOW(block, stack_block_size(size));
            return block;
        }
    }
    return NULL;
}

static void stack_keep(struct rti_stacks *stacks, void *block, size_t size)
{
    if (stacks->kept_count == RTI_STACKS_MAX) {
        stack_forget_oldest(stacks);
    }
    STACK_HIDE(block, stack_block_size(size));
    stacks->kept[stacks->kept_count++] = (struct rti_kept_stack){block, size};
}

/* A new block of the arena, at the price of those that are kept. */
static void *stack_take_new(struct rti_stacks *stacks, size_t size)
{
    void *block = rti_arena_alloc(&stacks->arena, stack_block_size(size));
    while (block == NULL && stacks->kept_count > 0) {
        stack_forget_oldest(stacks);
        block = rti_arena_alloc(&stacks->arena, stack_block_size(size));
    }
    return block;
}

/* A block of the arena, counted; NULL if there is no room. `is_new`: it has no guard yet. */
static void *stack_take_block(struct rti_stacks *stacks, size_t size, bool *is_new)
{
    size_t counted = rti_stack_block_granules(size);
    if (counted > stacks->free_bytes) {
        return NULL;
    }
    void *block = stack_take_kept(stacks, size);
    *is_new = block == NULL;
    if (block == NULL) {
        block = stack_take_new(stacks, size);
    }
    if (block != NULL) {
        stacks->free_bytes -= counted;
        stacks->in_use++;
    }
    return block;
}

static void *stack_take_protected(struct rti_stacks *stacks, size_t size, bool *is_guarded)
{
    bool is_new = false;
    rti_lock_acquire(&stacks->lock, stacks->sched);
    void *block = stack_take_block(stacks, size, &is_new);
    rti_lock_release(&stacks->lock);
    *is_guarded = true;
    if (is_new && block != NULL) {
        RT_ASSERT((char *)block == stack_guard_of(block));
        *is_guarded = stack_guard(stacks, block);
    }
    return block;
}

static void *stack_take_plain(struct rti_stacks *stacks, size_t size)
{
    rti_lock_acquire(&stacks->lock, stacks->sched);
    void *block = rti_arena_alloc(&stacks->arena, size);
    stacks->in_use += block != NULL;
    rti_lock_release(&stacks->lock);
    return block;
}

static void *stack_take_heap(struct rti_stacks *stacks, size_t size, bool *is_guarded)
{
    if (!stack_is_protecting(stacks)) {
        return rti_port_heap_alloc(size);
    }
    /* A block of the heap begins anywhere: one unit more, so that the guard fits. */
    void *block = rti_port_heap_alloc(STACK_UNIT + stack_block_size(size));
    *is_guarded = block != NULL && stack_guard(stacks, block);
    return block;
}

static RTI_NOINLINE bool stack_take_any(struct rti_stacks *stacks, size_t size, bool is_heap,
                                        struct rti_stack_block *memory)
{
    bool is_guarded = false;
    void *block;
    if (is_heap) {
        block = stack_take_heap(stacks, size, &is_guarded);
    } else if (stack_is_protecting(stacks)) {
        block = stack_take_protected(stacks, size, &is_guarded);
    } else {
        block = stack_take_plain(stacks, size);
    }
    memory->block = block;
    memory->size = size;
    memory->is_heap = is_heap;
    memory->is_guarded = is_guarded;
    return block != NULL;
}

bool rti_stack_block_take_into(struct rti_stacks *stacks, size_t size, bool is_heap,
                               struct rti_stack_block *memory)
{
    if (RTI_UNLIKELY(is_heap || !rti_sched_is_local(stacks->sched))) {
        return stack_take_any(stacks, size, is_heap, memory);
    }
    /* The common case: there is one worker, and what was kept last is of this size. */
    size_t last = stacks->kept_count - 1;
    size_t counted = rti_stack_block_granules(size);
    if (RTI_UNLIKELY(last >= RTI_STACKS_MAX || stacks->kept[last].size != size ||
                     counted > stacks->free_bytes)) {
        return stack_take_any(stacks, size, is_heap, memory);
    }
    void *block = stacks->kept[last].block;
    stacks->kept_count = last;
    stacks->free_bytes -= counted;
    stacks->in_use++;
    STACK_SHOW(block, stack_block_size(size));
    memory->block = block;
    memory->size = size;
    memory->is_heap = false;
    memory->is_guarded = true;
    return true;
}

struct rti_stack_block rti_stack_block_take(struct rti_stacks *stacks, size_t size, bool is_heap)
{
    struct rti_stack_block memory;
    (void)rti_stack_block_take_into(stacks, size, is_heap, &memory);
    return memory;
}

void rti_stack_block_init(const struct rti_stack_block *memory, struct rti_stack *stack)
{
    if (stack_is_guarded(memory)) {
        char *guard = stack_guard_of(memory->block);
        rti_stack_init(stack, guard + STACK_UNIT, RTI_STACK_RESERVE + memory->size);
        rti_stack_protect(stack, guard);
    } else {
        rti_stack_init(stack, memory->block, memory->size);
    }
}

void rti_stack_block_give(struct rti_stacks *stacks, struct rti_stack_block *memory)
{
    void *block = memory->block;
    RT_ASSERT(block != NULL);
    memory->block = NULL;
    if (memory->is_heap) {
        if (stack_is_guarded(memory)) {
            stack_unguard(stacks, block);
        }
        rti_port_heap_free(block);
        return;
    }
    rti_lock_acquire(&stacks->lock, stacks->sched);
    stacks->in_use--;
    if (stack_is_protecting(stacks)) {
        stacks->free_bytes += rti_stack_block_granules(memory->size);
    }
    if (stack_is_guarded(memory)) {
        stack_keep(stacks, block, memory->size);
    } else {
        rti_arena_free(&stacks->arena, block);
    }
    rti_lock_release(&stacks->lock);
}

size_t rti_stacks_audit(const struct rti_stacks *stacks)
{
    RT_ASSERT(stacks->kept_count <= RTI_STACKS_MAX);
    RT_ASSERT(stacks->is_protecting || stacks->kept_count == 0);
    for (size_t i = 0; i < stacks->kept_count; i++) {
        size_t size = rti_arena_block_size(&stacks->arena, stacks->kept[i].block);
        RT_ASSERT(size == stack_block_size(stacks->kept[i].size));
    }
    RT_ASSERT(stacks->in_use > 0 || !stacks->is_protecting ||
              stacks->free_bytes == rti_stack_block_granules(RT_STACK_ARENA_SIZE));
    RT_ASSERT(stacks->in_use + stacks->kept_count == rti_arena_audit(&stacks->arena));
    return stacks->in_use;
}
