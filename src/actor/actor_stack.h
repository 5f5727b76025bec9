/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ACTOR_STACK_H
#define RTI_ACTOR_STACK_H

/* Where actors get their stacks: from the static arena, or from the heap if they ask for it.
 *
 * If the port can protect memory, every stack has a guard page below it, and above the page a
 * reserve for the runtime's own frames (sched/stack.h). Neither is taken from what the actor asked
 * for, nor from RT_STACK_ARENA_SIZE: the arena's memory is larger by so much per actor, which costs
 * addresses and no memory, since nobody touches it.
 *
 *     block    | guard page | reserve | stack_size, grows downwards | rest of the last page |
 *
 * Making and removing a guard are system calls, each dearer than all the rest of a spawn. So the
 * stack of an actor that ended is kept as it is, guard and all, for the next one of the same size;
 * the one that was used last goes first, because its memory is still in the caches. Kept stacks go
 * back to the arena when it cannot serve a spawn without them, when there are too many, and at the
 * end. Whoever looks from outside sees no difference: a spawn succeeds if it would without keeping.
 *
 * Stacks of the heap, and those without a guard, are not kept.
 *
 * I1  A kept block is a used block of the arena, with its guard in place, and no actor's. (audit)
 * I2  `free_bytes` is RT_STACK_ARENA_SIZE less the stacks of living actors, in granules; it counts
 *     only where stacks are protected, elsewhere the arena's own size is the limit.   (audit)
 *
 * Costs: a spawn that finds a kept stack takes and gives a few words; one that does not, a first
 * fit in the arena and a system call. */

#include <orrery/rt_static_config.h>

#include "base/arena.h"
#include "sched/scheduler.h"
#include "sched/stack.h"

struct rti_actors;

/* What protection adds to a stack: the guard, the reserve, and up to a page of rounding. */
#define RTI_ACTOR_STACK_ROOM                                                                       \
    (RT_STACK_GUARD_SIZE > 0 ? (size_t)2 * RT_STACK_GUARD_SIZE + RTI_STACK_RESERVE : 0)

/* The memory behind the arena. */
#define RTI_ACTOR_STACKS_BYTES                                                                     \
    RTI_ARENA_BYTES((size_t)RT_STACK_ARENA_SIZE + RT_MAX_ACTORS * RTI_ACTOR_STACK_ROOM)

/* Its alignment: blocks are whole pages where there are guards. */
#define RTI_ACTOR_STACKS_ALIGNMENT                                                                 \
    (RT_STACK_GUARD_SIZE > RTI_ARENA_GRANULE ? RT_STACK_GUARD_SIZE : RTI_ARENA_GRANULE)

/* The memory of one stack. */
struct rti_actor_stack {
    void *block; /* of the arena or the heap */
    size_t size; /* as asked for */
    bool is_heap;
    bool is_guarded; /* has guard and reserve */
};

/* A stack without an actor, ready for the next. */
struct rti_kept_stack {
    void *block;
    size_t size; /* as its actor asked for it */
};

struct rti_actor_stacks {
    struct rti_port *port;
    bool is_protecting;
    size_t free_bytes;
    size_t kept_count;
    struct rti_kept_stack kept[RT_MAX_ACTORS]; /* the last one was used last */
};

/* Makes the arena of `actors` and asks its port for protection. */
void rti_actor_stacks_init(struct rti_actors *actors);

/* Gives the kept stacks back; none is in use. */
void rti_actor_stacks_deinit(struct rti_actors *actors);

/* Takes memory for a stack of `size` bytes. Its block is NULL, and nothing has changed, if there is
 * none. */
struct rti_actor_stack rti_actor_stack_take(struct rti_actors *actors, size_t size, bool is_heap);

/* Gives it back. */
void rti_actor_stack_give(struct rti_actors *actors, struct rti_actor_stack *memory);

/* Makes a fiber's stack of it. */
void rti_actor_stack_init(const struct rti_actor_stack *memory, struct rti_stack *stack);

/* Checks I1 and returns how many stacks are kept. `arena_bytes` is what the stacks of living actors
 * take of the arena, in granules, for I2. */
size_t rti_actor_stacks_audit(const struct rti_actors *actors, size_t arena_bytes);

/* What a stack of `size` bytes counts for. */
static inline size_t rti_actor_stack_granules(size_t size)
{
    return (size + RTI_ARENA_GRANULE - 1) / RTI_ARENA_GRANULE * RTI_ARENA_GRANULE;
}

#endif
