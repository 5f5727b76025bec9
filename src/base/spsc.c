/* SPDX-License-Identifier: Apache-2.0 */
/* A single-producer single-consumer ring of copied entries.
 *
 * `head` counts the entries ever pushed and `tail` those ever popped; both run freely and wrap at
 * the word. Their difference is the number of entries, and since the capacity is a power of two,
 * the low bits of either name a slot across the wrap. No slot is sacrificed: full and empty differ.
 *
 * I1  The capacity is a power of two, or 0 after destroy.                       (rti_spsc_audit)
 * I2  head - tail <= capacity, modulo the word.                                 (rti_spsc_audit)
 * I3  Slots tail .. head - 1 belong to the consumer, all others to the producer. (the explorer, by
 *     RTI_PLAIN_READ and RTI_PLAIN_WRITE on each copy)
 *
 * Who writes: `head` the producer only, `tail` the consumer only, all else init and destroy only.
 * Pairs: the release of `head` in push with the acquire of `head` in pop and peek, so that an entry
 * is complete before it can be seen; the release of `tail` in pop with the acquire of `tail` in
 * push, so that an entry is copied out before its slot is overwritten.
 *
 * Cost: one acquire load of the other side's index, one release store and one copy per call; no
 * read-modify-write anywhere, so it also serves interrupts on processors without one.
 *
 * The specification fixes the public struct: head and tail share a cache line, and there is no
 * field to remember the other side's index in. Two busy cores therefore pass that line to and fro
 * on every call, about three times the cost of a padded ring with remembered indices. Completion
 * queues carry one entry per finished operation and do not feel it; what is hotter uses ring.h.
 *
 * The public fields are the language's atomic_size_t. Every access goes through spsc_head and
 * spsc_tail, which see the same word as the atomic of base/atomic.h, so that the explorer runs this
 * very code. The asserts below hold size and alignment to that. */
#define RTI_MODULE "spsc"
#include "base/spsc.h"

#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"

_Static_assert(sizeof(rti_atomic_size) == sizeof(((rt_spsc_queue *)0)->head),
               "an atomic_size_t and an rti_atomic_size are the same word");
_Static_assert(_Alignof(rti_atomic_size) <= _Alignof(rt_spsc_queue),
               "an rti_atomic_size may stand where an atomic_size_t does");

static rti_atomic_size *spsc_head(const rt_spsc_queue *q)
{
    return (rti_atomic_size *)(uintptr_t)&q->head;
}

static rti_atomic_size *spsc_tail(const rt_spsc_queue *q)
{
    return (rti_atomic_size *)(uintptr_t)&q->tail;
}

static void *spsc_slot(const rt_spsc_queue *q, size_t position)
{
    return (unsigned char *)q->buffer + (position & (q->capacity - 1)) * q->entry_size;
}

rt_status rt_spsc_init(rt_spsc_queue *q, void *buffer, size_t entry_size, size_t capacity)
{
    if (q == NULL || buffer == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the queue or its buffer is NULL")};
    }
    if (capacity == 0 || (capacity & (capacity - 1)) != 0) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the capacity is not a power of two")};
    }
    if (entry_size == 0 || capacity > SIZE_MAX / entry_size) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the entry size is 0 or too large")};
    }
    q->buffer = buffer;
    q->entry_size = entry_size;
    q->capacity = capacity;
    rti_size_init(spsc_head(q), 0);
    rti_size_init(spsc_tail(q), 0);
    RT_AUDIT(rti_spsc_audit(q));
    return RT_SUCCESS;
}

void rt_spsc_destroy(rt_spsc_queue *q)
{
    if (q == NULL) {
        return;
    }
    RT_AUDIT(rti_spsc_audit(q));
    /* With capacity 0 the empty queue is full too, so nothing can be pushed or popped. */
    q->buffer = NULL;
    q->entry_size = 0;
    q->capacity = 0;
    rti_size_init(spsc_head(q), 0);
    rti_size_init(spsc_tail(q), 0);
}

bool rt_spsc_push(rt_spsc_queue *q, const void *entry)
{
    if (RTI_UNLIKELY(q == NULL || entry == NULL)) {
        return false;
    }
    size_t head = rti_size_load_relaxed(spsc_head(q));
    /* Pairs with the release in rt_spsc_pop: the slot has been read before it is written anew. */
    size_t tail = rti_size_load_acquire(spsc_tail(q));
    RT_DCHECK(head - tail <= q->capacity);
    if (head - tail >= q->capacity) {
        return false;
    }
    RTI_PLAIN_WRITE(spsc_slot(q, head), q->entry_size);
    memcpy(spsc_slot(q, head), entry, q->entry_size);
    /* Pairs with the acquire in spsc_oldest: the entry is complete before it is counted. */
    rti_size_store_release(spsc_head(q), head + 1);
    return true;
}

/* Copies the oldest entry out, or tells that there is none. */
static bool spsc_oldest(const rt_spsc_queue *q, size_t tail, void *entry_out)
{
    /* Pairs with the release in rt_spsc_push: what is counted is complete. */
    size_t head = rti_size_load_acquire(spsc_head(q));
    RT_DCHECK(head - tail <= q->capacity);
    if (head == tail) {
        return false;
    }
    RTI_PLAIN_READ(spsc_slot(q, tail), q->entry_size);
    memcpy(entry_out, spsc_slot(q, tail), q->entry_size);
    return true;
}

bool rt_spsc_pop(rt_spsc_queue *q, void *entry_out)
{
    if (RTI_UNLIKELY(q == NULL || entry_out == NULL)) {
        return false;
    }
    size_t tail = rti_size_load_relaxed(spsc_tail(q));
    if (!spsc_oldest(q, tail, entry_out)) {
        return false;
    }
    /* Pairs with the acquire in rt_spsc_push: the entry is copied out before its slot is free. */
    rti_size_store_release(spsc_tail(q), tail + 1);
    return true;
}

bool rt_spsc_peek(rt_spsc_queue *q, void *entry_out)
{
    if (RTI_UNLIKELY(q == NULL || entry_out == NULL)) {
        return false;
    }
    return spsc_oldest(q, rti_size_load_relaxed(spsc_tail(q)), entry_out);
}

size_t rti_spsc_audit(const rt_spsc_queue *q)
{
    /* The caller's own index stands still and the other one only nears it, so the bound is exact.
     * Pairs with the releases in push and pop. */
    size_t tail = rti_size_load_acquire(spsc_tail(q));
    size_t head = rti_size_load_acquire(spsc_head(q));
    RT_ASSERT((q->capacity & (q->capacity - 1)) == 0);
    RT_ASSERT(q->capacity == 0 || q->buffer != NULL);
    RT_ASSERT(head - tail <= q->capacity);
    return head - tail;
}
