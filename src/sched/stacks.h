/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_STACKS_H
#define RTI_STACKS_H

/* Where actors and tasks get their stacks: from one static arena, or from the heap if they ask.
 *
 * If the port can protect memory, every stack has a guard page below it, and above the page a
 * reserve for the runtime's own frames (sched/stack.h). Neither is taken from what was asked for,
 * nor from RT_STACK_ARENA_SIZE: the arena's memory is larger by so much per stack, which costs
 * addresses and no memory, since nobody touches it.
 *
 *     block    | guard page | reserve | stack_size, grows downwards | rest of the last page |
 *
 * Making and removing a guard are system calls, each dearer than all the rest of a spawn. So the
 * stack of who ended is kept as it is, guard and all, for the next one of the same size;
 * the one that was used last goes first, because its memory is still in the caches. Kept stacks go
 * back to the arena when it cannot serve a spawn without them, when there are too many, and at the
 * end. Whoever looks from outside sees no difference: a spawn succeeds if it would without keeping.
 *
 * Stacks of the heap, and those without a guard, are not kept.
 *
 * I1  A kept block is a used block of the arena, with its guard in place, and nobody's. (audit)
 * I2  `free_bytes` is RT_STACK_ARENA_SIZE less the stacks in use, in granules; it counts
 *     only where stacks are protected, elsewhere the arena's own size is the limit.   (audit)
 *
 * Costs: a spawn that finds a kept stack takes and gives a few words; one that does not, a first
 * fit in the arena and a system call. */

#include <orrery/rt_static_config.h>

#include "base/arena.h"
#include "sched/lock.h"
#include "sched/stack.h"

#if RT_STACK_SLOTS
#include "sched/stacks_slotted.h"
#else

/* Stacks that exist at a time: one for each actor and each task, and one that cleans up. */
#define RTI_STACKS_MAX  (RT_MAX_ACTORS + RT_MAX_TASKS + 1)

/* How many of them may be kept, where there are guards to keep them for. */
#define RTI_STACKS_KEPT RTI_STACKS_MAX

/* What protection adds to a stack: the guard, the reserve, and up to a page of rounding. */
#define RTI_STACKS_ROOM                                                                            \
    (RT_STACK_GUARD_SIZE > 0 ? (size_t)2 * RT_STACK_GUARD_SIZE + RTI_STACK_RESERVE : 0)

/* The memory behind the arena. */
#define RTI_STACKS_BYTES                                                                           \
    RTI_ARENA_BYTES((size_t)RT_STACK_ARENA_SIZE + RTI_STACKS_MAX * RTI_STACKS_ROOM)

/* Its alignment: blocks are whole pages where there are guards. */
#define RTI_STACKS_ALIGNMENT                                                                       \
    (RT_STACK_GUARD_SIZE > RTI_ARENA_GRANULE ? RT_STACK_GUARD_SIZE : RTI_ARENA_GRANULE)

/* The memory of one stack. */
struct rti_stack_block {
    void *block; /* of the arena or the heap */
    size_t size; /* as asked for */
    bool is_heap;
    bool is_guarded;      /* has guard and reserve */
#if RTI_VALGRIND_KNOWS
    unsigned valgrind_id; /* what valgrind calls it; 0: nobody asks */
#endif
};

/* A stack that nobody uses, ready for the next: its guard words are in place. */
struct rti_kept_stack {
    struct rti_stack_block memory;
    struct rti_stack stack;
};

/* Says what is wanted. */
static inline void rti_stack_block_ask(struct rti_stack_block *memory, size_t size, bool is_heap)
{
    memory->size = size;
    memory->is_heap = is_heap;
}

static inline bool rti_stack_block_is_heap(const struct rti_stack_block *memory)
{
    return memory->is_heap;
}

struct rti_stacks {
    struct rti_sched *sched;
    struct rti_port *port;
    struct rti_lock lock; /* over all that follows */
    bool is_protecting;
    size_t free_bytes;
#if RT_STACK_GUARD_SIZE > 0
    size_t kept_count;
#endif
    size_t in_use;                               /* stacks of the arena that somebody has */
#if RT_STACK_GUARD_SIZE > 0
    struct rti_kept_stack kept[RTI_STACKS_KEPT]; /* the last one was used last */
#endif
    struct rti_arena arena;
    _Alignas(RTI_STACKS_ALIGNMENT) unsigned char memory[RTI_STACKS_BYTES];
};

/* Makes the arena, asks the port for protection and hangs the module at the scheduler. */
void rti_stacks_init(struct rti_stacks *stacks, struct rti_sched *sched);

/* Gives the kept stacks back and takes the module away; no stack is in use. */
void rti_stacks_deinit(struct rti_stacks *stacks);

/* What rti_stacks_take and _give do where nothing is kept for it. */
bool rti_stacks_take_any(struct rti_stacks *stacks, struct rti_stack_block *memory,
                         struct rti_stack *stack);
void rti_stacks_give_any(struct rti_stacks *stacks, struct rti_stack_block *memory,
                         const struct rti_stack *stack);

/* Checks I1, I2 and the arena, and returns how many stacks of the arena somebody has. */
size_t rti_stacks_audit(const struct rti_stacks *stacks);

/* What a stack of `size` bytes counts for. */
static inline size_t rti_stack_block_granules(size_t size)
{
    return (size + RTI_ARENA_GRANULE - 1) / RTI_ARENA_GRANULE * RTI_ARENA_GRANULE;
}

/* Address sanitizer: a stack that is kept is nobody's. */
#if RTI_ASAN
void rti_stacks_hide(const struct rti_stack_block *memory);
void rti_stacks_show(const struct rti_stack_block *memory);
#else
#define rti_stacks_hide(memory) ((void)(memory))
#define rti_stacks_show(memory) ((void)(memory))
#endif

/* Takes memory for the stack that `memory` asks for and makes a fiber's stack of it. False, and
 * nothing has changed, if there is none. `is_local`: there is one worker. */
static RTI_ALWAYSINLINE bool rti_stacks_take_as(struct rti_stacks *stacks,
                                                struct rti_stack_block *memory,
                                                struct rti_stack *stack, bool is_local)
{
#if RT_STACK_GUARD_SIZE > 0
    /* The common case: there is one worker, and what was kept last is of this size. */
    if (RTI_UNLIKELY(!is_local)) {
        return rti_stacks_take_any(stacks, memory, stack);
    }
    size_t counted = rti_stack_block_granules(memory->size);
    size_t last = stacks->kept_count - 1;
    if (RTI_UNLIKELY(memory->is_heap || last >= RTI_STACKS_KEPT ||
                     stacks->kept[last].memory.size != memory->size ||
                     counted > stacks->free_bytes)) {
        return rti_stacks_take_any(stacks, memory, stack);
    }
    const struct rti_kept_stack *kept = &stacks->kept[last];
    RTI_KEEP(kept);
    rti_stacks_show(&kept->memory);
    *memory = kept->memory;
    *stack = kept->stack;
    stacks->kept_count = last;
    stacks->free_bytes -= counted;
    stacks->in_use++;
    return true;
#else
    (void)is_local;
    return rti_stacks_take_any(stacks, memory, stack);
#endif
}

/* Gives it back. The guard words are in place. */
static RTI_ALWAYSINLINE void rti_stacks_give_as(struct rti_stacks *stacks,
                                                struct rti_stack_block *memory,
                                                const struct rti_stack *stack, bool is_local)
{
#if RT_STACK_GUARD_SIZE > 0
    if (RTI_UNLIKELY(!is_local || memory->is_heap || !memory->is_guarded ||
                     stacks->kept_count == RTI_STACKS_KEPT)) {
        rti_stacks_give_any(stacks, memory, stack);
        return;
    }
    RT_ASSERT(memory->block != NULL);
    RT_DCHECK(rti_stack_is_intact(stack));
    struct rti_kept_stack *kept = &stacks->kept[stacks->kept_count];
    RTI_KEEP(kept);
    kept->memory = *memory;
    kept->stack = *stack;
    rti_stack_forget_summons(&kept->stack);
    rti_stacks_hide(memory);
    memory->block = NULL;
    stacks->kept_count++;
    stacks->in_use--;
    stacks->free_bytes += rti_stack_block_granules(memory->size);
#else
    (void)is_local;
    rti_stacks_give_any(stacks, memory, stack);
#endif
}

/* How many are kept. */
static inline size_t rti_stacks_kept_count(const struct rti_stacks *stacks)
{
#if RT_STACK_GUARD_SIZE > 0
    return stacks->kept_count;
#else
    (void)stacks;
    return 0;
#endif
}

#endif

/* The same, and who does not know how many workers there are. */
static inline bool rti_stacks_take(struct rti_stacks *stacks, struct rti_stack_block *memory,
                                   struct rti_stack *stack)
{
    return rti_stacks_take_as(stacks, memory, stack, rti_sched_is_local(stacks->sched));
}

static inline void rti_stacks_give(struct rti_stacks *stacks, struct rti_stack_block *memory,
                                   const struct rti_stack *stack)
{
    rti_stacks_give_as(stacks, memory, stack, rti_sched_is_local(stacks->sched));
}

/* The module of a scheduler. */
static inline struct rti_stacks *rti_stacks_of(const struct rti_sched *sched)
{
    return sched->modules[RTI_MODULE_STACKS];
}

#endif
