/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_WHEEL_H
#define ORRERY_RT_WHEEL_H

/* A timer wheel of your own: registrations of (deadline, waker), collected when they are due.
 *
 * The runtime's sleeps and timeouts need none of this; it is for programs with a loop and a clock
 * of their own. The wheel calls no clock, no waker and no allocator: time comes in as an argument,
 * wakers come out as values, and all storage is the caller's.
 *
 *     static rt_wheel_node nodes[1000];
 *     static rt_wheel wheel;
 *     rt_wheel_config config = {.nodes = nodes, .max_timer_nodes = 1000};
 *     rt_wheel_init(&wheel, &config, now);
 *     rt_wheel_register(&wheel, now + 5 * RT_NS_PER_S, waker, &handle);
 *     ...
 *     rt_waker due[16];
 *     size_t count = rt_wheel_collect_expired(&wheel, now, due, 16);
 *
 * Timers are collected in the order of their deadlines, equal deadlines in the order of
 * registration; none before its deadline, by not one nanosecond.
 *
 * A wheel has no lock: one thread at a time, and no interrupt handler meanwhile. */

#include <stdbool.h>

#include <orrery/rt/status.h>
#include <orrery/rt/time.h>
#include <orrery/rt/waker.h>
#include <orrery/rt_static_config.h>

RT_EXTERN_C_BEGIN

/* The limits that a 0 in the configuration stands for. */
#define RT_WHEEL_MAX_WHEEL_DURATION (86400 * RT_NS_PER_S)
#define RT_WHEEL_MAX_TIMER_DURATION (7 * 86400 * RT_NS_PER_S)

#define RT_WHEEL_WORDS      (((5 << RT_WHEEL_DIGIT_BITS) * sizeof(void *) + 448) / sizeof(uint64_t))
#define RT_WHEEL_NODE_WORDS 8

/* Storage of a wheel, about 10 kB with 64-bit pointers. Not to be moved nor copied. */
typedef struct {
    uint64_t opaque[RT_WHEEL_WORDS];
} rt_wheel;

/* Storage of one registration: 64 bytes. A program with many timers does well to align the nodes to
 * 64, so that each is one line of the cache. */
typedef struct {
    uint64_t opaque[RT_WHEEL_NODE_WORDS];
} rt_wheel_node;

typedef struct {
    rt_wheel_node *nodes;       /* storage, the wheel's as long as it is used */
    size_t max_timer_nodes;     /* how many there are: the most timers at a time */
    rt_time max_wheel_duration; /* timers this far away wait in a heap; 0: 24 hours */
    rt_time max_timer_duration; /* the furthest a timer may be; 0: 7 days */
} rt_wheel_config;

/* Names one registration. Copy it freely. No two registrations of a wheel have the same, until
 * both 64-bit numbers have wrapped round; all zero is never the name of one. */
typedef struct {
    uint64_t id;         /* grows with each registration, wraps at 2^64 */
    uint64_t generation; /* the same; tells a stale handle from a live one */
} rt_wheel_handle;

/* Makes an empty wheel whose time is `now`.
 * Callable from any thread, for a wheel that no other thread uses.
 * Never suspends.
 * `wheel` and config->nodes stay the caller's, who leaves them in place and untouched until the
 * wheel is used no more; there is nothing to free. `config` is copied.
 * Returns RT_OK; RT_ERR_INVALID, with nothing changed, if a pointer is NULL, max_timer_nodes is 0
 * or `now` is RT_TIME_NEVER.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_wheel_init(rt_wheel *wheel, const rt_wheel_config *config,
                                             rt_time now);

/* Registers a timer. A deadline that has passed is due at the next collect. Distances are measured
 * from the latest time that rt_wheel_init or rt_wheel_collect_expired was given. O(1).
 * Callable from any thread, one at a time for a wheel.
 * Never suspends.
 * `waker` is copied and kept until it is collected or cancelled, not longer; `out_handle` is the
 * caller's and written only on success.
 * Returns RT_OK; RT_ERR_TIMER_DURATION_EXCEEDED if the deadline is further away than
 * max_timer_duration; RT_ERR_RESOURCE_EXHAUSTED if max_timer_nodes timers are registered;
 * RT_ERR_INVALID if `wheel`, `out_handle` or waker.fn is NULL. After an error nothing is changed.
 * If several apply, the one that stands first here is told, but RT_ERR_INVALID before all.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_wheel_register(rt_wheel *wheel, rt_time deadline, rt_waker waker,
                                                 rt_wheel_handle *out_handle);

/* Does what rt_wheel_register does, which never waits either: the second name that the
 * specification gives it.
 * Callable from any thread, one at a time for a wheel.
 * Never suspends.
 * Ownership as with rt_wheel_register.
 * Returns what rt_wheel_register returns.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_wheel_try_register(rt_wheel *wheel, rt_time deadline,
                                                     rt_waker waker, rt_wheel_handle *out_handle);

/* Cancels a registration: its waker will not be collected and is forgotten at once. O(1) for timers
 * in the wheel, amortized O(log n) for those of this moment and beyond max_wheel_duration.
 * Callable from any thread, one at a time for a wheel.
 * Never suspends.
 * `handle` is read only.
 * Returns true if the timer was registered and is cancelled now; false, with nothing changed, if it
 * was collected or cancelled before, if the handle is no handle, or if a pointer is NULL.
 * Nothing is lost on cancel. */
RT_API bool rt_wheel_cancel(rt_wheel *wheel, const rt_wheel_handle *handle);

/* Cancels a registration, if it is still there, and makes a new one, in one step. The new timer
 * comes after those registered before for the same deadline.
 * Callable from any thread, one at a time for a wheel.
 * Never suspends.
 * `old_handle` is read only and may be NULL, stale or zero: then there is only a new registration.
 * `out_handle` may be the same as `old_handle`; it is written only on success.
 * Returns what rt_wheel_register returns; after an error the old timer is still registered. On a
 * full wheel it succeeds if the old timer is there to make room.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_wheel_update(rt_wheel *wheel, const rt_wheel_handle *old_handle,
                                               rt_time new_deadline, rt_waker waker,
                                               rt_wheel_handle *out_handle);

/* Moves the wheel's time to `now` and takes out timers with deadline <= now, at most `max_wakers`,
 * in the order of deadline and registration. Those that do not fit stay registered, can still be
 * cancelled, and come first in the next call. A `now` before the latest one takes what was due by
 * then and does not move the wheel's time back.
 * Callable from any thread, one at a time for a wheel. It calls no waker: the caller does, after it
 * has released whatever lock guards the wheel.
 * Never suspends.
 * `out_wakers` is the caller's, with room for `max_wakers`.
 * Returns how many wakers were written; 0 if nothing is due, `wheel` or `out_wakers` is NULL,
 * `max_wakers` is 0 or `now` is RT_TIME_NEVER.
 * Nothing is lost on cancel. */
RT_API size_t rt_wheel_collect_expired(rt_wheel *wheel, rt_time now, rt_waker *out_wakers,
                                       size_t max_wakers);

/* Gives the exact deadline of the earliest timer: how long a loop may sleep. O(1) amortized.
 * Callable from any thread, one at a time for a wheel.
 * Never suspends.
 * Takes no ownership.
 * Returns the deadline; RT_TIME_NEVER if no timer is registered or `wheel` is NULL.
 * Nothing is lost on cancel. */
RT_API rt_time rt_wheel_next_deadline(rt_wheel *wheel);

/* Counts the registered timers, those included that are due and not collected.
 * Callable from any thread, one at a time for a wheel.
 * Never suspends.
 * Takes no ownership.
 * Returns the number; 0 if `wheel` is NULL.
 * Nothing is lost on cancel. */
RT_API size_t rt_wheel_count(const rt_wheel *wheel);

/* Gives the limits in force, with the defaults filled in.
 * Callable from any thread, one at a time for a wheel.
 * Never suspends.
 * `out_config` is the caller's; the nodes it names are still the wheel's.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_wheel_get_config(const rt_wheel *wheel,
                                                   rt_wheel_config *out_config);

/* Counts the calls of rt_wheel_cancel on a handle that had been cancelled already: each is a bug of
 * the program that the false returned may hide. It is noticed as long as the storage of that
 * registration has not been used for another.
 * Callable from any thread, one at a time for a wheel.
 * Never suspends.
 * Takes no ownership.
 * Returns the number; 0 if `wheel` is NULL.
 * Nothing is lost on cancel. */
RT_API uint64_t rt_wheel_double_cancels(const rt_wheel *wheel);

RT_EXTERN_C_END

#endif
