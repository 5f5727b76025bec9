/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_STACK_H
#define RTI_STACK_H

/* A fiber's stack: caller-given memory with a guard word at each end, outside of what the fiber may
 * use. The scheduler looks at the guards whenever the fiber leaves the processor; a word that has
 * changed ends the fiber.
 *
 *     guard          low             limit                                       low + size
 *      | page(s)      | word | reserve | usable, grows downwards ........ | top | word |
 *
 * The top is room for what belongs to the fiber and not to a frame (fiber.h: the berth).
 *
 * Guard words are best effort: a frame that jumps over the word without touching it goes unseen,
 * and what it writes below is somebody else's. Where memory can be protected its owner puts a guard
 * page below and says so (rti_stack_protect). Touching it is a fault, at once, and sched/fault.h
 * ends the fiber.
 *
 * The fault must not come while the runtime is in the middle of a change. So a protected stack has
 * a reserve above its page: a call to the runtime that begins below `limit` ends the fiber instead
 * of beginning (fiber.h: rti_worker_enter), and one that begins above it has the whole reserve for
 * its own frames.
 *
 * A fiber that is to be asked something at its next call of the runtime has a mark in the bit of
 * `limit` that no address has (rti_stack_summon): the comparison that each call makes anyway then
 * finds it, and costs nothing more (preempt.h).
 *
 * I1  The guard words hold RTI_STACK_GUARD from init until the stack is given back.
 *                                                                       (rti_stack_is_intact)
 * I2  limit is NULL, or low < limit < high_guard, but for the mark.     (rti_stack_protect)
 * I3  No call of the runtime needs more than RTI_STACK_RESERVE.  (fault_test: ..._fit_the_reserve)
 */

#include <stdbool.h>

#include <orrery/rt_static_config.h>

#include "base/assert.h"

#define RTI_STACK_GUARD UINT64_C(0xDEADBEEFCAFEBABE)

/* Below this a fiber could not even enter the scheduler. */
#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 4
#define RTI_STACK_SIZE_MIN 768
#else
#define RTI_STACK_SIZE_MIN 4096
#endif

/* On a Cortex-M the switch itself puts a guard under every stack (port/arch/armv7m/switch.h),
 * inside of it: so many bytes at the low end, the alignment of the guard included, are never used,
 * and a fiber that measures itself must not read them. Every stack has its limit there. */
#if defined(__ARM_ARCH_8M_MAIN__)
#define RTI_STACK_FORBIDDEN 8
#elif defined(__ARM_ARCH_7EM__) && defined(__ARM_FP)
#define RTI_STACK_FORBIDDEN 256
#elif defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__)
#define RTI_STACK_FORBIDDEN 64
#else
#define RTI_STACK_FORBIDDEN 0
#endif

/* What the runtime's own frames may take of a protected stack. They need 1.5 KiB where nothing is
 * optimized; the dynamic loader, which saves all registers when it resolves a function of the C
 * library that the runtime calls for the first time, another 3 KiB. Instrumented code needs more.
 */
#if RTI_STACK_FORBIDDEN > 0
#define RTI_STACK_RESERVE (320 + RTI_STACK_FORBIDDEN)
#elif RTI_ASAN || RTI_TSAN
#define RTI_STACK_RESERVE 32768
#else
#define RTI_STACK_RESERVE 8192
#endif

/* `low` is the memory's start, where the low guard lies, 16-byte aligned. Where there may be a
 * million stacks it follows from the other end. */
struct rti_stack {
    char *high_guard; /* where the high guard lies, in the last eight bytes; NULL: there is none */
    char *limit;      /* no call to the runtime begins below; NULL: not protected. Perhaps with the
                       * mark: who wants to know more than that asks rti_stack_limit */
#if RTI_ONE_WORKER
    char *low;
#else
    int32_t low_guard_at; /* how far from the high guard the low one lies: below it. 0: there is
                           * none but the page, and one word is looked at for both ends */
    uint32_t owner;       /* its owner's: rti_bay */
#endif
};

/* The mark: the highest bit, which is no user address's on the processors with several workers. */
#if RTI_ONE_WORKER
#define RTI_STACK_SUMMONED ((uintptr_t)0)
#else
#define RTI_STACK_SUMMONED ((uintptr_t)1 << (8 * sizeof(uintptr_t) - 1))
#endif

static inline char *rti_stack_limit(const struct rti_stack *stack)
{
    return (char *)((uintptr_t)stack->limit & ~RTI_STACK_SUMMONED);
}

/* Has the fiber whose stack this is be asked at its next call of the runtime. On the thread that
 * runs it; safe in a signal handler. */
static inline void rti_stack_summon(struct rti_stack *stack)
{
    char *volatile *limit = &stack->limit;
    *limit = (char *)((uintptr_t)*limit | RTI_STACK_SUMMONED);
}

/* It is asked now. The same thread. */
static inline void rti_stack_unsummon(struct rti_stack *stack)
{
    char *volatile *limit = &stack->limit;
    *limit = (char *)((uintptr_t)*limit & ~RTI_STACK_SUMMONED);
}

/* Nobody is on it any more: what nobody has asked is not asked of the next one. */
static inline void rti_stack_forget_summons(struct rti_stack *stack)
{
#if RTI_ONE_WORKER
    (void)stack;
#else
    stack->limit = rti_stack_limit(stack);
#endif
}

/* The guards take a whole alignment unit at each end, so that what lies between stays aligned. */
#define RTI_STACK_GUARD_ROOM 16

/* The top. */
#if RTI_ONE_WORKER
#define RTI_STACK_TOP_ROOM 0
#else
#define RTI_STACK_TOP_ROOM 224
#endif
_Static_assert(RTI_STACK_TOP_ROOM % RTI_STACK_GUARD_ROOM == 0, "what lies below stays aligned");

/* No stack is larger: the place of the low guard could not be said. */
#if RTI_ONE_WORKER
#define RTI_STACK_SIZE_MAX SIZE_MAX
#else
#define RTI_STACK_SIZE_MAX ((size_t)INT32_MAX)
#endif
_Static_assert(RT_STACK_SIZE_MAX < RTI_STACK_SIZE_MAX / 4 * 3, "who may ask for it gets more");

/* Panics: the memory is none, or too small, or too large. */
_Noreturn RTI_COLD void rti_stack_refuse(void);

/* Says where it lies. `is_single`: one word is looked at for both ends; never on a Cortex-M. */
static RTI_ALWAYSINLINE void rti_stack_set_bounds(struct rti_stack *stack, char *low, size_t size,
                                                  bool is_single)
{
    stack->high_guard = low + size - sizeof(uint64_t);
#if RTI_ONE_WORKER
    (void)is_single;
    stack->low = low;
#else
    stack->low_guard_at = is_single ? 0 : (int32_t)(sizeof(uint64_t) - size);
#endif
}

/* Notes what its owner knows it by, where there are such owners. */
static inline void rti_stack_set_owner(struct rti_stack *stack, uint32_t owner)
{
#if RTI_ONE_WORKER
    (void)stack, (void)owner;
#else
    stack->owner = owner;
#endif
}

/* There is none, or not yet. */
static inline void rti_stack_clear(struct rti_stack *stack)
{
    stack->high_guard = NULL;
}

static inline bool rti_stack_is_none(const struct rti_stack *stack)
{
    return stack->high_guard == NULL;
}

/* Is one word looked at for both ends? Then it is protected. */
static inline bool rti_stack_is_single(const struct rti_stack *stack)
{
#if RTI_ONE_WORKER
    (void)stack;
    return false;
#else
    return stack->low_guard_at == 0;
#endif
}

static inline char *rti_stack_low(const struct rti_stack *stack)
{
#if RTI_ONE_WORKER
    return stack->low;
#else
    return rti_stack_is_single(stack)
               ? rti_stack_limit(stack) - RTI_STACK_RESERVE - RTI_STACK_GUARD_ROOM
               : stack->high_guard + stack->low_guard_at;
#endif
}

/* All of it, the guards included. */
static inline size_t rti_stack_size(const struct rti_stack *stack)
{
    return (size_t)(stack->high_guard - rti_stack_low(stack)) + sizeof(uint64_t);
}

/* From here to `low` any access faults; NULL: it is not protected. A Cortex-M has no such memory.
 */
static inline char *rti_stack_guard(const struct rti_stack *stack)
{
#if RTI_ONE_WORKER
    (void)stack;
    return NULL;
#else
    return rti_stack_limit(stack) == NULL ? NULL : rti_stack_low(stack) - RT_STACK_GUARD_SIZE;
#endif
}

/* The word that is looked at for the low end. */
static inline char *rti_stack_low_guard(const struct rti_stack *stack)
{
#if RTI_ONE_WORKER
    return stack->low;
#else
    return stack->high_guard + stack->low_guard_at;
#endif
}

/* Puts the guard words back in their place. */
static inline void rti_stack_mend(const struct rti_stack *stack)
{
    if (!RT_GUARD_WORDS) {
        return;
    }
    *(uint64_t *)(void *)rti_stack_low_guard(stack) = RTI_STACK_GUARD;
    *(uint64_t *)(void *)stack->high_guard = RTI_STACK_GUARD;
}

/* Takes memory of RTI_STACK_SIZE_MIN to RTI_STACK_SIZE_MAX bytes, cut to 16-byte alignment, and
 * sets the guards. */
static inline void rti_stack_init(struct rti_stack *stack, void *memory, size_t size)
{
    uintptr_t start = (uintptr_t)memory;
    uintptr_t unit = RTI_STACK_GUARD_ROOM;
    uintptr_t aligned = (start + unit - 1) & ~(unit - 1);
    if (RTI_UNLIKELY(memory == NULL || size < RTI_STACK_SIZE_MIN || size > RTI_STACK_SIZE_MAX)) {
        rti_stack_refuse();
    }
    size_t usable = (size - (size_t)(aligned - start)) & ~(size_t)(unit - 1);
    char *low = (char *)memory + (aligned - start);
    rti_stack_set_bounds(stack, low, usable, false);
    stack->limit = RTI_STACK_FORBIDDEN != 0 ? low + RTI_STACK_GUARD_ROOM + RTI_STACK_RESERVE : NULL;
    rti_stack_set_owner(stack, 0);
    rti_stack_mend(stack);
}

/* Where the top begins. */
static inline void *rti_stack_top(const struct rti_stack *stack)
{
    return stack->high_guard + sizeof(uint64_t) - RTI_STACK_GUARD_ROOM - RTI_STACK_TOP_ROOM;
}

/* The part a fiber may use: its frames, and the top. */
static inline void *rti_stack_usable(const struct rti_stack *stack)
{
    return rti_stack_low(stack) + RTI_STACK_GUARD_ROOM;
}

static inline size_t rti_stack_usable_size(const struct rti_stack *stack)
{
    return rti_stack_size(stack) - 2 * (size_t)RTI_STACK_GUARD_ROOM;
}

/* The part a context may use, from the same address on. */
static inline size_t rti_stack_frames_size(const struct rti_stack *stack)
{
    return (size_t)((char *)rti_stack_top(stack) - (char *)rti_stack_usable(stack));
}

/* Are the guards what they were? */
static inline bool rti_stack_is_intact(const struct rti_stack *stack)
{
    if (!RT_GUARD_WORDS) {
        return true;
    }
    uint64_t low = *(const volatile uint64_t *)(const void *)rti_stack_low_guard(stack);
    uint64_t high = *(const volatile uint64_t *)(const void *)stack->high_guard;
    return RTI_LIKELY(low == RTI_STACK_GUARD) && RTI_LIKELY(high == RTI_STACK_GUARD);
}

/* The same where one word is looked at for both ends. */
static inline bool rti_stack_is_intact_single(const struct rti_stack *stack)
{
    RT_DCHECK(rti_stack_is_single(stack));
    return !RT_GUARD_WORDS ||
           RTI_LIKELY(*(const volatile uint64_t *)(const void *)stack->high_guard ==
                      RTI_STACK_GUARD);
}

/* Says that the RT_STACK_GUARD_SIZE bytes below the stack's start fault at any access, and that the
 * lowest RTI_STACK_RESERVE bytes are the runtime's. */
static inline void rti_stack_protect(struct rti_stack *stack)
{
    if (RTI_UNLIKELY(rti_stack_usable_size(stack) <
                     RTI_STACK_RESERVE + (size_t)RTI_STACK_SIZE_MIN / 2)) {
        rti_stack_refuse();
    }
    stack->limit = rti_stack_low(stack) + RTI_STACK_GUARD_ROOM + RTI_STACK_RESERVE;
}

/* The same of a stack on which nobody has run since it was taken: nobody is summoned there. */
static inline char *rti_stack_fresh_usable(const struct rti_stack *stack)
{
    RT_DCHECK(stack->limit == rti_stack_limit(stack));
#if RTI_ONE_WORKER
    return stack->low + RTI_STACK_GUARD_ROOM;
#else
    return rti_stack_is_single(stack)
               ? stack->limit - RTI_STACK_RESERVE
               : stack->high_guard + stack->low_guard_at + RTI_STACK_GUARD_ROOM;
#endif
}

static inline size_t rti_stack_fresh_frames_size(const struct rti_stack *stack)
{
    return (size_t)((char *)rti_stack_top(stack) - rti_stack_fresh_usable(stack));
}

/* What is left to the fiber itself. */
size_t rti_stack_own_size(const struct rti_stack *stack);

/* Does an access to this address hit the guard page? */
static inline bool rti_stack_guards(const struct rti_stack *stack, uintptr_t address)
{
    return rti_stack_guard(stack) != NULL && address >= (uintptr_t)rti_stack_guard(stack) &&
           address < (uintptr_t)rti_stack_low(stack);
}

/* May a stack pointer of this fiber have this value, perhaps after it has gone too far? A frame
 * that is made page by page is touched at its upper end: the pointer is below the page that faults,
 * by less than another one. */
static inline bool rti_stack_holds(const struct rti_stack *stack, uintptr_t sp)
{
    uintptr_t lowest = (uintptr_t)rti_stack_low(stack);
    uintptr_t guard = (uintptr_t)rti_stack_guard(stack);
    if (guard != 0) {
        lowest = guard - (lowest - guard);
    }
    return sp >= lowest && sp <= (uintptr_t)stack->high_guard;
}

/* Fills the usable part with a pattern, before the first run, so that rti_stack_high_water can tell
 * how deep it went. Touches all of it: on demand only. */
void rti_stack_paint(struct rti_stack *stack);

/* How many bytes were ever used of a painted stack: exact up to a word that happens to hold the
 * pattern. O(unused part). */
size_t rti_stack_high_water(const struct rti_stack *stack);

#endif
