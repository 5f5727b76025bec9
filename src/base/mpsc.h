/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_MPSC_H
#define RTI_MPSC_H

/* An intrusive queue for many producers and one consumer: unbounded, FIFO, a push is one exchange
 * and one store. The scheme of swapping the tail first and linking second is Vyukov's; the way of
 * becoming empty and idle is ours.
 *
 *     head -> A -> B -> C <- tail          producers: exchange tail, then link the predecessor
 *     ^ consumer only   ^ any producer
 *
 * The resting node is a node inside the queue. It stands in the list exactly when the consumer has
 * taken everything, and then it is the head, so a real node is never taken off without a successor.
 *
 * Between its two steps a producer has cut the list: what it and later producers pushed cannot be
 * reached yet. Pop then says RTI_MPSC_BUSY, which is not EMPTY: something was pushed, come again.
 * Producers never wait for anyone; the consumer waits for a producer that stands between its two
 * steps. On one core, a producer that is an interrupt always finishes before the consumer looks.
 *
 * Idleness. A consumer that finds nothing more to do calls rti_mpsc_try_idle, which succeeds only
 * if nothing was pushed, and marks the tail in the same atomic step. The one push that finds the
 * mark takes it away and learns it from its result. So between two successes of try_idle exactly
 * one push returns true, and that producer, nobody else, makes the consumer runnable again. A new
 * queue is idle. Who has another way to wake the consumer ignores the result and never marks.
 *
 * I1  From the head, `next` leads to the tail, unless a producer is between its steps. (audit)
 * I2  The resting node is in the list iff it is the head.                              (audit)
 * I3  The idle mark implies that the tail is the resting node.                         (audit)
 *
 * Who writes: `tail` everyone, by exchange or compare-exchange; `head` the consumer; `next` of a
 * node its own producer before the push, then the successor's producer, once.
 * Pairs: the exchange of `tail` in push releases the node's `next` (set to NULL) to the exchange
 * of the following producer, which therefore overwrites it and not the other way round. The store
 * of `next` in push releases the successor, with all that its producer wrote before, to the
 * acquire load in pop. Fences: none.
 *
 * A node may be reused or freed as soon as it is popped: its successor's producer has finished
 * with it, or there is no successor. All nodes are still there when the queue is dropped.
 *
 * Costs: push one exchange; pop a load, and one compare-exchange for the last node.
 *
 * Rejected: pushing the resting node behind the last one (it then travels through the list, and a
 * push behind it looks like a push into an empty queue, although the consumer is still at work); a
 * separate atomic "scheduled" flag (a second contended word, and a window between the two). */

#include <stdbool.h>

#include "base/atomic.h"

struct rti_mpsc_node {
    rti_atomic_ptr next; /* NULL until the next producer links it */
};

struct rti_mpsc {
    rti_atomic_ptr tail;          /* last node pushed, with the idle mark in bit 0 */
    struct rti_mpsc_node *head;   /* the consumer's: oldest node, or the resting node */
    struct rti_mpsc_node resting; /* in the list while nothing else is */
};

enum rti_mpsc_result {
    RTI_MPSC_EMPTY, /* nothing is queued */
    RTI_MPSC_BUSY,  /* something is, but its producer has not finished pushing: ask again */
    RTI_MPSC_ITEM,  /* a node was taken */
};

/* Makes an empty, idle queue. Before the queue is shared. */
void rti_mpsc_init(struct rti_mpsc *queue);

/* Makes an empty queue that is not idle: its consumer is at work and will find what is pushed. */
void rti_mpsc_init_active(struct rti_mpsc *queue);

/* Appends `node`, which is in no queue. Any thread or interrupt. Returns true if the queue was
 * idle: the caller is then the one to wake the consumer. */
bool rti_mpsc_push(struct rti_mpsc *queue, struct rti_mpsc_node *node);

/* Takes the oldest node. Consumer only. `*node` is written only with RTI_MPSC_ITEM. */
enum rti_mpsc_result rti_mpsc_pop(struct rti_mpsc *queue, struct rti_mpsc_node **node);

/* Marks the queue idle if it is empty and returns whether it is idle now. Consumer only; after true
 * the caller is no longer the consumer: the next one is whom a push that returned true wakes. */
bool rti_mpsc_try_idle(struct rti_mpsc *queue);

/* The same three for a queue that only one thread ever touches, as on an engine with one worker:
 * no locked instruction, and never RTI_MPSC_BUSY. */
#define RTI_MPSC_IDLE ((uintptr_t)1)

static inline bool rti_mpsc_push_alone(struct rti_mpsc *queue, struct rti_mpsc_node *node)
{
    uintptr_t before = (uintptr_t)rti_ptr_load_relaxed(&queue->tail);
    rti_ptr_store_relaxed(&node->next, NULL);
    rti_ptr_store_relaxed(&queue->tail, node);
    if ((before & RTI_MPSC_IDLE) != 0) {
        /* By I3 the tail was the resting node: where to write is known without it. */
        rti_ptr_store_relaxed(&queue->resting.next, node);
        return true;
    }
    rti_ptr_store_relaxed(&((struct rti_mpsc_node *)before)->next, node);
    return false;
}

/* Takes `oldest`, which is the oldest node. */
static inline void rti_mpsc_unlink_alone(struct rti_mpsc *queue, struct rti_mpsc_node *oldest)
{
    struct rti_mpsc_node *next = (struct rti_mpsc_node *)rti_ptr_load_relaxed(&oldest->next);
    if (next == NULL) {
        next = &queue->resting;
        rti_ptr_store_relaxed(&queue->resting.next, NULL);
        rti_ptr_store_relaxed(&queue->tail, &queue->resting);
    }
    queue->head = next;
}

static inline struct rti_mpsc_node *rti_mpsc_pop_alone(struct rti_mpsc *queue)
{
    struct rti_mpsc_node *oldest = queue->head;
    if (oldest == &queue->resting) {
        oldest = (struct rti_mpsc_node *)rti_ptr_load_relaxed(&queue->resting.next);
        if (oldest == NULL) {
            return NULL;
        }
    }
    RTI_ASSUME(oldest != NULL);
    rti_mpsc_unlink_alone(queue, oldest);
    return oldest;
}

/* The same where one node is likely, and no more: it is the tail, and follows the resting node. */
static RTI_ALWAYSINLINE struct rti_mpsc_node *rti_mpsc_pop_first_alone(struct rti_mpsc *queue)
{
    struct rti_mpsc_node *last = (struct rti_mpsc_node *)rti_ptr_load_relaxed(&queue->tail);
    RTI_ASSUME(last != NULL);
    if (RTI_LIKELY(queue->head == &queue->resting &&
                   rti_ptr_load_relaxed(&queue->resting.next) == (void *)last)) {
        rti_ptr_store_relaxed(&queue->resting.next, NULL);
        rti_ptr_store_relaxed(&queue->tail, &queue->resting);
        return last;
    }
    return rti_mpsc_pop_alone(queue);
}

/* Takes the idle mark away without a push; false if there is none. */
static inline bool rti_mpsc_rouse_alone(struct rti_mpsc *queue)
{
    if (((uintptr_t)rti_ptr_load_relaxed(&queue->tail) & RTI_MPSC_IDLE) == 0) {
        return false;
    }
    rti_ptr_store_relaxed(&queue->tail, &queue->resting);
    return true;
}

/* Is nothing queued? For the consumer of a queue that only one thread ever touches. */
static inline bool rti_mpsc_is_empty_alone(const struct rti_mpsc *queue)
{
    return rti_ptr_load_relaxed(&queue->tail) == (void *)&queue->resting;
}

/* Marks such a queue idle, which its consumer has found empty. */
static inline void rti_mpsc_idle_alone(struct rti_mpsc *queue)
{
    rti_ptr_store_relaxed(&queue->tail, (void *)((uintptr_t)&queue->resting | RTI_MPSC_IDLE));
}

/* Checks I1 to I3 and returns the number of nodes. Consumer only, while no producer is active. */
size_t rti_mpsc_audit(const struct rti_mpsc *queue);

#endif
