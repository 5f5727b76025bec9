/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TIMER_H
#define RTI_TIMER_H

/* The timer node and the order of timers.
 *
 * A timer lives in its owner, often on the stack of a parked fiber, so no structure of timers has a
 * capacity and arming cannot fail. One node serves two shapes: in a list `next` is the next timer;
 * in a heap `next` is the next sibling and `child` the first child. In both, `back` is the address
 * of the pointer that points to this node, so that taking a node out is the same two stores
 * wherever it is. The fields that lists use come first, to lie in one cache line.
 *
 * What a timer wakes is seldom in the cache when its time comes, and which timers fire next is
 * known a while before. So an owner may say where the pointer to it lies, near the timer (`aim`),
 * and the wheel asks for it in time. The pointer is read while the timer is armed, and only
 * prefetched.
 *
 * I1  `*timer->back == timer` for each timer that is armed.   (RT_DCHECK, the audits)
 * I2  A timer is armed iff its `back` is not NULL.            (RT_ASSERT in the wheel) */

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/compiler.h"

typedef uintptr_t rti_timer_seq;

struct rti_timer {
    struct rti_timer *next;                /* next in the list, or next sibling in the heap */
    struct rti_timer **back;               /* the pointer to this node; NULL when not armed */
    uint64_t deadline_ns;                  /* when it is due, exactly */
    uint16_t place;                        /* the wheel's: which slot or structure holds it */
    int16_t aim;                           /* where from here the pointer is; 0: nowhere */
    struct rti_timer *child;               /* heap: the first child; list: a hint to prefetch */
    rti_timer_seq seq;                     /* the wheel's count of arms: breaks ties */
    void (*fire)(struct rti_timer *timer); /* the owner's; runs when the deadline has come */
};

/* Makes a timer that is not armed. */
static inline void rti_timer_init(struct rti_timer *timer, void (*fire)(struct rti_timer *timer))
{
    timer->next = NULL;
    timer->back = NULL;
    timer->child = NULL;
    timer->deadline_ns = 0;
    timer->seq = 0;
    timer->fire = fire;
    timer->place = 0;
    timer->aim = 0;
}

/* Says that the pointer at `at` names what the timer will wake; it stays as it is while the timer
 * is armed. Too far from the timer it is not taken note of. */
static inline void rti_timer_aim(struct rti_timer *timer, const void *at)
{
#if !RTI_ONE_WORKER
    intptr_t distance = (intptr_t)((uintptr_t)at - (uintptr_t)timer);
    timer->aim = distance == (int16_t)distance ? (int16_t)distance : 0;
#else
    (void)timer, (void)at;
#endif
}

/* Asks for what an armed timer will wake. */
static inline void rti_timer_foresee(const struct rti_timer *timer)
{
#if !RTI_ONE_WORKER
    if (timer->aim != 0) {
        const void *target;
        memcpy(&target, (const char *)timer + timer->aim, sizeof(target));
        RTI_PREFETCH_PAIR(target);
    }
#else
    (void)timer;
#endif
}

static inline bool rti_timer_is_armed(const struct rti_timer *timer)
{
    return timer->back != NULL;
}

/* The one order of timers: by deadline, then by arming. The distance of two live sequence numbers
 * is below half of their range, so the comparison also holds where the count wraps. On a machine of
 * 32 bits two that are due at the same nanosecond may change places if 2^31 others were armed in
 * between. */
static inline bool rti_timer_precedes(const struct rti_timer *a, const struct rti_timer *b)
{
    if (a->deadline_ns != b->deadline_ns) {
        return a->deadline_ns < b->deadline_ns;
    }
    return (rti_timer_seq)(a->seq - b->seq) > (rti_timer_seq)-1 / 2;
}

/* Puts `timer`, with its children, first in the list that begins at `*head`. */
static inline void rti_timer_link(struct rti_timer **head, struct rti_timer *timer)
{
    struct rti_timer *first = *head;
    RT_DCHECK(timer != first);
    timer->next = first;
    if (first != NULL) {
        first->back = &timer->next;
    }
    timer->back = head;
    *head = timer;
}

/* Takes `timer` out of its list, or it and its children out of the siblings. */
static inline void rti_timer_unlink(struct rti_timer *timer)
{
    struct rti_timer *next = timer->next;
    struct rti_timer **back = timer->back;
    RT_DCHECK(*back == timer);
    timer->back = NULL;
    *back = next;
    if (next != NULL) {
        next->back = back;
    }
}

#endif
