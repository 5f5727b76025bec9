/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TIMER_HEAP_H
#define RTI_TIMER_HEAP_H

/* An intrusive pairing heap of timers: one root with children, each the root of a tree.
 *
 * Insert and look at the minimum are O(1); taking a timer out is O(log n) amortized, and O(1) for
 * one that no other timer was linked under. Nothing recurses and nothing has a capacity.
 *
 * I1  A child never precedes its parent in the order (deadline, seq).  (rti_timer_heap_audit) */

#include "time/timer.h"

struct rti_timer_heap {
    struct rti_timer *root; /* the earliest; NULL when empty */
};

/* Adds a timer that is in no list and no heap. */
void rti_timer_heap_insert(struct rti_timer_heap *heap, struct rti_timer *timer);

/* Takes a timer of this heap out, wherever it is. */
void rti_timer_heap_remove(struct rti_timer_heap *heap, struct rti_timer *timer);

/* Checks I1 and the links, and that all have the `place` of the root; returns the number of timers.
 * Uses no stack: it turns child pointers round on the way down and back on the way up, so nobody
 * else may look at the heap meanwhile. */
size_t rti_timer_heap_audit(struct rti_timer_heap *heap);

#endif
