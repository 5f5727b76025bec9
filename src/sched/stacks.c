/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stacks"
#include "sched/stacks.h"

#include "base/memcheck.h"

#if RTI_ASAN
#include <sanitizer/asan_interface.h>
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

static void stack_init(const struct rti_stack_block *memory, struct rti_stack *stack)
{
    if (stack_is_guarded(memory)) {
        char *guard = stack_guard_of(memory->block);
        rti_stack_init(stack, guard + STACK_UNIT, RTI_STACK_RESERVE + memory->size);
        rti_stack_protect(stack);
    } else {
        rti_stack_init(stack, memory->block, memory->size);
    }
}

/* Tells valgrind of a new stack. It stays told until the memory becomes something else. */
static void stack_show_tool(struct rti_stack_block *memory, const struct rti_stack *stack)
{
#if RTI_MEMCHECK
    char *low = rti_stack_usable(stack);
    memory->valgrind_id = VALGRIND_STACK_REGISTER(low, low + rti_stack_usable_size(stack));
#else
    (void)memory;
    (void)stack;
#endif
}

static void stack_hide_tool(const struct rti_stack_block *memory, const struct rti_stack *stack)
{
#if RTI_MEMCHECK
    if (memory->valgrind_id != 0) {
        VALGRIND_STACK_DEREGISTER(memory->valgrind_id);
        /* What lay below the last stack pointer is memory like any other again. */
        (void)VALGRIND_MAKE_MEM_UNDEFINED(rti_stack_usable(stack), rti_stack_usable_size(stack));
    }
#else
    (void)memory;
    (void)stack;
#endif
}

#if RTI_ASAN
void rti_stacks_hide(const struct rti_stack_block *memory)
{
    __asan_poison_memory_region(memory->block, stack_block_size(memory->size));
}

void rti_stacks_show(const struct rti_stack_block *memory)
{
    __asan_unpoison_memory_region(memory->block, stack_block_size(memory->size));
}
#endif

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
#if RT_STACK_GUARD_SIZE > 0
    stacks->kept_count = 0;
#endif
    rti_arena_init(&stacks->arena, stacks->memory,
                   stacks->is_protecting ? sizeof(stacks->memory)
                                         : RTI_ARENA_BYTES(RT_STACK_ARENA_SIZE));
    sched->modules[RTI_MODULE_STACKS] = stacks;
}

#if RT_STACK_GUARD_SIZE > 0
/* Gives the stack that was kept longest back to the arena. */
static void stack_forget_oldest(struct rti_stacks *stacks)
{
    struct rti_kept_stack oldest = stacks->kept[0];
    void *block = oldest.memory.block;
    RT_ASSERT(stacks->kept_count > 0);
    stacks->kept_count--;
    for (size_t i = 0; i < stacks->kept_count; i++) {
        stacks->kept[i] = stacks->kept[i + 1];
    }
    rti_stacks_show(&oldest.memory);
    stack_hide_tool(&oldest.memory, &oldest.stack);
    stack_unguard(stacks, block);
    rti_arena_free(&stacks->arena, block);
}
#endif

void rti_stacks_deinit(struct rti_stacks *stacks)
{
    RT_ASSERT(stacks->sched->modules[RTI_MODULE_STACKS] == stacks && stacks->in_use == 0);
#if RT_STACK_GUARD_SIZE > 0
    while (stacks->kept_count > 0) {
        stack_forget_oldest(stacks);
    }
#endif
    rti_arena_deinit(&stacks->arena);
    stacks->sched->modules[RTI_MODULE_STACKS] = NULL;
}

#if RT_STACK_GUARD_SIZE > 0

/* The stack of this size that was used last; false if none is kept. */
static bool stack_take_kept(struct rti_stacks *stacks, struct rti_stack_block *memory,
                            struct rti_stack *stack)
{
    for (size_t i = stacks->kept_count; i > 0; i--) {
        if (stacks->kept[i - 1].memory.size == memory->size) {
            *memory = stacks->kept[i - 1].memory;
            *stack = stacks->kept[i - 1].stack;
            rti_stacks_show(memory);
            stacks->kept_count--;
            for (size_t j = i - 1; j < stacks->kept_count; j++) {
                stacks->kept[j] = stacks->kept[j + 1];
            }
            return true;
        }
    }
    return false;
}

static void stack_keep(struct rti_stacks *stacks, const struct rti_stack_block *memory,
                       const struct rti_stack *stack)
{
    if (stacks->kept_count == RTI_STACKS_KEPT) {
        stack_forget_oldest(stacks);
    }
    stacks->kept[stacks->kept_count++] = (struct rti_kept_stack){*memory, *stack};
    rti_stacks_hide(memory);
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

/* A block of the arena, counted; none if there is no room. True: it is new, and has no guard. */
static bool stack_take_block(struct rti_stacks *stacks, struct rti_stack_block *memory,
                             struct rti_stack *stack)
{
    size_t counted = rti_stack_block_granules(memory->size);
    if (counted > stacks->free_bytes) {
        return false;
    }
    bool is_new = !stack_take_kept(stacks, memory, stack);
    if (is_new) {
        memory->block = stack_take_new(stacks, memory->size);
    }
    if (memory->block != NULL) {
        stacks->free_bytes -= counted;
        stacks->in_use++;
    }
    return is_new && memory->block != NULL;
}

#endif

/* Makes a fiber's stack of a block that has its guard, if it is to have one. */
static void stack_make(struct rti_stack_block *memory, struct rti_stack *stack)
{
    if (memory->block != NULL) {
        stack_init(memory, stack);
        stack_show_tool(memory, stack);
    }
}

#if RT_STACK_GUARD_SIZE > 0
static void stack_take_protected(struct rti_stacks *stacks, struct rti_stack_block *memory,
                                 struct rti_stack *stack)
{
    rti_lock_acquire(&stacks->lock, stacks->sched);
    bool is_new = stack_take_block(stacks, memory, stack);
    rti_lock_release(&stacks->lock);
    if (is_new) {
        RT_ASSERT((char *)memory->block == stack_guard_of(memory->block));
        memory->is_guarded = stack_guard(stacks, memory->block);
        stack_make(memory, stack);
    }
}
#endif

static void stack_take_plain(struct rti_stacks *stacks, struct rti_stack_block *memory)
{
    rti_lock_acquire(&stacks->lock, stacks->sched);
    memory->block = rti_arena_alloc(&stacks->arena, memory->size);
    stacks->in_use += memory->block != NULL;
    rti_lock_release(&stacks->lock);
}

static void stack_take_heap(struct rti_stacks *stacks, struct rti_stack_block *memory)
{
    if (!stack_is_protecting(stacks)) {
        memory->block = rti_port_heap_alloc(memory->size);
        return;
    }
    /* A block of the heap begins anywhere: one unit more, so that the guard fits. */
    memory->block = rti_port_heap_alloc(STACK_UNIT + stack_block_size(memory->size));
    memory->is_guarded = memory->block != NULL && stack_guard(stacks, memory->block);
}

bool rti_stacks_take_any(struct rti_stacks *stacks, struct rti_stack_block *memory,
                         struct rti_stack *stack)
{
    memory->block = NULL;
    memory->is_guarded = false;
#if RTI_VALGRIND_KNOWS
    memory->valgrind_id = 0;
#endif
#if RT_STACK_GUARD_SIZE > 0
    if (!memory->is_heap && stack_is_protecting(stacks)) {
        stack_take_protected(stacks, memory, stack);
        return memory->block != NULL;
    }
#endif
    if (memory->is_heap) {
        stack_take_heap(stacks, memory);
    } else {
        stack_take_plain(stacks, memory);
    }
    stack_make(memory, stack);
    return memory->block != NULL;
}

/* Gives a block back to the heap. */
static void stack_give_heap(struct rti_stacks *stacks, const struct rti_stack_block *memory)
{
    if (stack_is_guarded(memory)) {
        stack_unguard(stacks, memory->block);
    }
    rti_port_heap_free(memory->block);
}

void rti_stacks_give_any(struct rti_stacks *stacks, struct rti_stack_block *memory,
                         const struct rti_stack *stack)
{
    struct rti_stack_block given = *memory;
    RT_ASSERT(given.block != NULL);
    memory->block = NULL;
    if (given.is_heap || !stack_is_guarded(&given)) {
        stack_hide_tool(&given, stack);
    }
    if (given.is_heap) {
        stack_give_heap(stacks, &given);
        return;
    }
    rti_lock_acquire(&stacks->lock, stacks->sched);
    stacks->in_use--;
    if (stack_is_protecting(stacks)) {
        stacks->free_bytes += rti_stack_block_granules(given.size);
    }
#if RT_STACK_GUARD_SIZE > 0
    if (stack_is_guarded(&given)) {
        stack_keep(stacks, &given, stack);
        given.block = NULL;
    }
#endif
    if (given.block != NULL) {
        rti_arena_free(&stacks->arena, given.block);
    }
    rti_lock_release(&stacks->lock);
}

size_t rti_stacks_audit(const struct rti_stacks *stacks)
{
    size_t kept_count = rti_stacks_kept_count(stacks);
#if RT_STACK_GUARD_SIZE > 0
    RT_ASSERT(kept_count <= RTI_STACKS_MAX);
    RT_ASSERT(stacks->is_protecting || kept_count == 0);
    for (size_t i = 0; i < kept_count; i++) {
        const struct rti_stack_block *memory = &stacks->kept[i].memory;
        size_t size = rti_arena_block_size(&stacks->arena, memory->block);
        RT_ASSERT(size == stack_block_size(memory->size) && memory->is_guarded);
    }
#endif
    RT_ASSERT(stacks->in_use > 0 || !stacks->is_protecting ||
              stacks->free_bytes == rti_stack_block_granules(RT_STACK_ARENA_SIZE));
    RT_ASSERT(stacks->in_use + kept_count == rti_arena_audit(&stacks->arena));
    return stacks->in_use;
}
