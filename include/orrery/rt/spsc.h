/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_SPSC_H
#define ORRERY_RT_SPSC_H

/* A bounded queue between two threads: one pushes, one pops, neither ever waits for the other.
 * Entries are copied in and out. The queue uses memory that the caller gives and allocates none. */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
#include <atomic>
#else
#include <stdatomic.h>
#endif

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

/* The actor specification shows the fields, so they stand here by name; use the functions. In C++
 * the two indices have the C++ type of the same size. */
typedef struct rt_spsc_queue {
    void *buffer; /* ring of entries, the caller's memory */
    size_t entry_size;
    size_t capacity; /* a power of two */
#ifdef __cplusplus
    std::atomic<size_t> head; /* written by the producer: entries ever pushed */
    std::atomic<size_t> tail; /* written by the consumer: entries ever popped */
#else
    atomic_size_t head; /* written by the producer: entries ever pushed */
    atomic_size_t tail; /* written by the consumer: entries ever popped */
#endif
} rt_spsc_queue;

#ifdef __cplusplus
static_assert(sizeof(std::atomic<size_t>) == sizeof(size_t), "the queue is shared with C code");
#endif

RT_EXTERN_C_BEGIN

/* Makes an empty queue of `capacity` entries of `entry_size` bytes.
 * Callable from any thread, before the queue is shared.
 * Never suspends and never allocates.
 * `buffer` has at least entry_size * capacity bytes, stays the caller's and must outlive the queue.
 * Returns RT_OK; RT_ERR_INVALID if `q` or `buffer` is NULL, `entry_size` is 0, `capacity` is not a
 * power of two, or their product overflows, and then `q` is unchanged.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_spsc_init(rt_spsc_queue *q, void *buffer, size_t entry_size,
                                            size_t capacity);

/* Ends the queue: afterwards every push, pop and peek on it gives false until it is initialized
 * again. Does nothing if `q` is NULL.
 * Callable from any thread once producer and consumer no longer use the queue.
 * Never suspends.
 * The buffer is the caller's to free; entries still in the queue are forgotten.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_spsc_destroy(rt_spsc_queue *q);

/* Copies `entry_size` bytes from `entry` to the end of the queue.
 * Callable by the one producer: a thread, a task or an interrupt.
 * Never suspends; wait-free.
 * `entry` stays the caller's and may be reused at once.
 * Returns true; false if the queue is full, or if `q` or `entry` is NULL.
 * Nothing is lost on cancel. */
RT_API bool rt_spsc_push(rt_spsc_queue *q, const void *entry);

/* Moves the oldest entry to `entry_out`.
 * Callable by the one consumer: a thread, a task or an interrupt.
 * Never suspends; wait-free.
 * `entry_out` has room for `entry_size` bytes and stays the caller's.
 * Returns true; false, with `entry_out` unchanged, if the queue is empty, or if `q` or `entry_out`
 * is NULL.
 * Nothing is lost on cancel. */
RT_API bool rt_spsc_pop(rt_spsc_queue *q, void *entry_out);

/* Copies the oldest entry to `entry_out` and leaves it in the queue.
 * Callable by the one consumer: a thread, a task or an interrupt.
 * Never suspends; wait-free.
 * `entry_out` has room for `entry_size` bytes and stays the caller's.
 * Returns true; false, with `entry_out` unchanged, if the queue is empty, or if `q` or `entry_out`
 * is NULL.
 * Nothing is lost on cancel. */
RT_API bool rt_spsc_peek(rt_spsc_queue *q, void *entry_out);

RT_EXTERN_C_END

#endif
