/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_TIMER_H
#define ORRERY_RT_TIMER_H

/* Timers of actors: a tick is a message in the actor's own mailbox, in order with all others.
 *
 * A tick never comes early, and late by what the scheduler and more urgent actors take. Its sender
 * is RT_SENDER_TIMER and its data is the timer_id, so that an actor with several timers can tell
 * them apart. A tick needs no pool entry: its memory is reserved with the timer, so it cannot be
 * lost to a full pool. At most one tick of a timer waits in the mailbox; those that come due
 * meanwhile are counted as overruns and not sent. Timers measure elapsed time and know nothing of
 * the calendar. */

#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

/* Sends the calling actor one tick after `delay_us` microseconds; 0 ticks in the scheduler's next
 * turn, UINT32_MAX after about 71.6 minutes.
 * Callable from an actor.
 * Never suspends.
 * `out` stays the caller's.
 * Returns RT_OK and writes the id; RT_ERR_NOMEM if RT_TIMER_ENTRY_POOL_SIZE timers exist;
 * RT_ERR_INVALID if `out` is NULL; RT_ERR_THREAD outside of an actor. `out` is untouched on
 * failure. Nothing is lost on cancel. */
RT_API rt_status rt_timer_after(uint32_t delay_us, timer_id *out);

/* Sends the calling actor a tick every `interval_us` microseconds: the n-th is due n intervals
 * after this call, whatever became of those before, so it does not drift. Callable from an actor.
 * Never suspends.
 * `out` stays the caller's.
 * Returns RT_OK and writes the id; RT_ERR_NOMEM if RT_TIMER_ENTRY_POOL_SIZE timers exist;
 * RT_ERR_INVALID if `out` is NULL or the interval is 0; RT_ERR_THREAD outside of an actor. `out` is
 * untouched on failure.
 * Nothing is lost on cancel. */
RT_API rt_status rt_timer_every(uint32_t interval_us, timer_id *out);

/* Ends a timer of the calling actor. No tick of it comes any more, also not one that waits in the
 * mailbox; one that was received stays readable as every message does.
 * Callable from an actor.
 * Never suspends.
 * Owns nothing.
 * Returns RT_OK; RT_ERR_INVALID if the id is unknown, stale, another actor's, cancelled, or of a
 * one-shot timer that has fired; RT_ERR_THREAD outside of an actor. Nothing is lost on cancel. */
RT_API rt_status rt_timer_cancel(timer_id id);

/* Tells whether a message is a tick.
 * Callable from any thread.
 * Never suspends.
 * `msg` stays the caller's.
 * Returns true if its sender is RT_SENDER_TIMER; false otherwise and for NULL.
 * Nothing is lost on cancel. */
RT_API bool rt_timer_is_tick(const rt_message *msg);

/* Tells how many ticks of a timer were not sent because the one before still waited.
 * Callable from an actor.
 * Never suspends.
 * `out` stays the caller's.
 * Returns RT_OK and writes the count; RT_ERR_INVALID if the id names no timer of the caller's that
 * still runs, or `out` is NULL; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_timer_overruns(timer_id id, uint64_t *out);

RT_EXTERN_C_END

#endif
