/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WHEEL_H
#define RTI_WHEEL_H

/* The timer wheel: the one timer of the runtime, under actor timers, sleeps, timeouts and
 * intervals. The mechanism and its invariants stand at the head of wheel.c; a machine with few
 * timers and less memory has a heap in its place, wheel_heap.c, which does the same.
 *
 * Timers are intrusive (time/timer.h): the wheel owns no memory but itself, has no capacity,
 * and arming cannot fail. A timer fires never before its deadline, by not one nanosecond; timers
 * fire in the order of (deadline, arming). A wheel belongs to one thread at a time; its caller
 * sees to that. */

#include <orrery/rt_static_config.h>

#include "base/probe.h"
#include "base/time.h"
#include "time/timer_heap.h"

#define RTI_WHEEL_LEVELS 5u /* four of milliseconds and one that divides the millisecond */
#define RTI_WHEEL_SLOTS  (1u << RT_WHEEL_DIGIT_BITS) /* per level */
#define RTI_WHEEL_PLACES (RTI_WHEEL_LEVELS * RTI_WHEEL_SLOTS)
#define RTI_WHEEL_WORDS  ((RTI_WHEEL_PLACES + 63) / 64)

/* A timer this far away or further waits in the overflow heap. */
#define RTI_WHEEL_HORIZON_NS (UINT64_C(86400) * RTI_NS_PER_S)

/* All fields are the wheel's own. */
#if RT_WHEEL_DIGIT_BITS == 0

/* Without slots: time/wheel_heap.c. */
struct rti_wheel {
    uint64_t now_ns;            /* the latest time given to it */
    uint64_t pass_end_ns;       /* in expire: the time it was called with, plus one; else 0 */
    rti_timer_seq seq;          /* of the next arm */
    size_t count;               /* armed timers */
    struct rti_timer_heap heap; /* all of them, but for */
    struct rti_timer *fresh;    /* those armed by a callback for its own pass */
};

#else

struct rti_wheel {
    uint64_t tick;          /* where the wheel stands, see wheel.c */
    uint64_t next_ns;       /* exact deadline of the earliest timer; 0: not known */
    uint64_t now_ns;        /* the latest time given to it */
    uint64_t pass_end_ns;   /* in expire: the time it was called with, plus one; else 0 */
    rti_timer_seq seq;      /* of the next arm */
    uint64_t horizon_ticks; /* distance from which a timer goes to `overflow` */
    size_t count;           /* armed timers */
    uint32_t summary;       /* bit i: occupied[i] is not 0 */
    uint64_t occupied[RTI_WHEEL_WORDS];        /* bit: the slot holds a timer */
    struct rti_timer *due;                     /* the timers of this tick, sorted */
    struct rti_timer *fresh;                   /* armed by a callback for its own pass */
    struct rti_timer_heap soon;                /* armed when their tick had come already */
    struct rti_timer_heap overflow;            /* beyond the horizon */
    struct rti_timer *slots[RTI_WHEEL_PLACES]; /* the finest level first; unordered lists */
};

#endif

/* Makes an empty wheel whose time is `now_ns`. */
void rti_wheel_init(struct rti_wheel *wheel, uint64_t now_ns);

/* Changes the distance from which timers go to the overflow heap. Only while the wheel is empty. */
void rti_wheel_set_horizon(struct rti_wheel *wheel, uint64_t horizon_ns);

/* Arms a timer that is not armed; arming an armed one is a bug and panics. A deadline that has
 * passed fires at the next expire. RTI_TIME_NEVER is allowed and never fires. O(1). */
void rti_wheel_arm(struct rti_wheel *wheel, struct rti_timer *timer, uint64_t deadline_ns);

/* Takes a timer out. True: it was armed, and will not fire. False: it was not; if it ever was, it
 * has fired or been disarmed. O(1), but for timers of the current millisecond or beyond the horizon
 * O(log n) amortized. */
bool rti_wheel_disarm(struct rti_wheel *wheel, struct rti_timer *timer);

/* The exact deadline of the earliest timer, or RTI_TIME_NEVER. O(1) amortized. It may rearrange the
 * wheel, never what fires when. */
uint64_t rti_wheel_next_deadline(struct rti_wheel *wheel);

/* Fires every timer with deadline <= now_ns in the order (deadline, arming) and returns how many.
 * The callback finds its timer disarmed, and may arm it or any other and disarm any other; one that
 * was due and is disarmed does not fire. What a callback arms with a deadline <= now_ns fires in
 * the next call, never in this one, so that a call always ends. A callback must not call expire. */
size_t rti_wheel_expire(struct rti_wheel *wheel, uint64_t now_ns);

/* The same, at most `max` timers; the others stay due and fire first in the next call. */
size_t rti_wheel_expire_max(struct rti_wheel *wheel, uint64_t now_ns, size_t max);

/* Takes the earliest timer out and returns it if its deadline is <= now_ns, else NULL. What expire
 * is made of, for those who want no callback. */
struct rti_timer *rti_wheel_take(struct rti_wheel *wheel, uint64_t now_ns);

/* How many timers are armed. */
static inline size_t rti_wheel_count(const struct rti_wheel *wheel)
{
    return wheel->count;
}

/* Checks every invariant and returns the number of timers. Walks everything. */
size_t rti_wheel_audit(struct rti_wheel *wheel);

#endif
