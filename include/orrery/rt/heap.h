/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_HEAP_H
#define ORRERY_RT_HEAP_H

/* Private heaps: memory that belongs to one actor and goes with it, in one go, however it ends.
 *
 * There is no free for a single block. What is needed for one message is allocated behind a mark
 * and released with it:
 *
 *     rt_heap_mark mark = rt_heap_mark_get();
 *     ... rt_heap_alloc ...
 *     rt_heap_release(mark);
 *
 * All heaps share RT_HEAP_MEMORY_SIZE bytes; an actor may have a limit of its own. */

#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

/* A state of a heap that can be gone back to; all zero: empty. */
typedef struct {
    uint32_t chunk;
    uint32_t used;
} rt_heap_mark;

typedef struct {
    size_t used;     /* bytes given out, rounding included */
    size_t reserved; /* bytes taken from the memory of all heaps */
    size_t used_max; /* the most that were ever given out */
    size_t limit;    /* SIZE_MAX: none */
} rt_heap_stats;

/* Gives memory of the calling actor's heap, aligned for any object, with undefined content.
 * Callable from an actor of either kind.
 * Never suspends.
 * The memory is the actor's until it ends or releases a mark made before.
 * Returns it; NULL if `size` is 0, the limit or the memory of all heaps does not allow it, or the
 * caller is no actor.
 * Nothing is lost on cancel. */
RT_API void *rt_heap_alloc(size_t size);

/* Gives the present state of the calling actor's heap.
 * Callable from an actor of either kind.
 * Never suspends.
 * There is no pointer to own.
 * Returns the mark.
 * Nothing is lost on cancel. */
RT_API rt_heap_mark rt_heap_mark_get(void);

/* Frees everything that was allocated since the mark.
 * Callable from the actor that made the mark.
 * Never suspends.
 * What was allocated since is gone.
 * Returns RT_OK; RT_ERR_INVALID if the heap was already released behind the mark; RT_ERR_THREAD
 * outside of an actor.
 * Nothing is lost on cancel. */
RT_API rt_status rt_heap_release(rt_heap_mark mark);

/* Limits the calling actor's heap.
 * Callable from an actor of either kind.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_STATE if more than `bytes` are given out already; RT_ERR_NOMEM if there is
 * no room for the heap itself; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API rt_status rt_heap_limit(size_t bytes);

/* Tells of the calling actor's heap.
 * Callable from an actor of either kind.
 * Never suspends.
 * `out` stays the caller's.
 * Returns RT_OK; RT_ERR_INVALID if `out` is NULL; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API rt_status rt_heap_stats_get(rt_heap_stats *out);

RT_EXTERN_C_END

#endif
