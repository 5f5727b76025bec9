/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CLOCKWORK_H
#define RTI_CLOCKWORK_H

/* A clockwork: a timer wheel that belongs to the scheduler, and to several workers if there are.
 *
 * With one worker there is one, and using it is using its wheel. With several workers each station
 * has one, so that arming a timeout touches nobody else's lines; a lock of its own lets any worker
 * disarm, and lets an idle one fire what is due while the station's holder computes. When the
 * earliest deadline is asked for across workers, a word that is kept up to date under the lock
 * answers.
 *
 * A timer fires with the lock held: whoever owns the timer and disarms it, because another event
 * came first, knows afterwards that the callback is over and that its memory is its own. So a
 * callback does little: it claims and wakes, or posts what is longer, and it arms timers of its own
 * clockwork through rti_clockwork_rearm.
 *
 * I1  `next_ns` is the wheel's earliest deadline or earlier.               (clockwork_publish)
 * I2  A timer is armed and disarmed at the clockwork it lies in; who owns the timer remembers
 * which.
 *
 * Memory order: `next_ns` is stored with release under the lock. A worker that sleeps until the
 * earliest deadline says so, then reads it again; one that arms stores it, then looks who sleeps:
 * a fence between on both sides (rti_crew_armed). */

#include "sched/lock.h"
#include "time/wheel.h"

struct rti_clockwork {
    struct rti_lock lock;
    struct rti_sched *sched; /* with several workers */
    rti_atomic_u64 next_ns;  /* with several workers */
    struct rti_wheel wheel;
};

/* Makes an empty clockwork for a scheduler with one worker: for rti_sched_init. */
void rti_clockwork_init(struct rti_clockwork *clockwork, uint64_t now_ns);

/* Lets several workers use it. Before they exist. */
void rti_clockwork_share(struct rti_clockwork *clockwork, struct rti_sched *sched);

/* What the scheduler, or a station, asks of it. */
struct rti_timer_source rti_clockwork_source(struct rti_clockwork *clockwork);

/* The calling worker's clockwork; for a thread without a station, the first one. */
struct rti_clockwork *rti_clockwork_here(struct rti_sched *sched);

/* Arms a timer that is not armed: see rti_wheel_arm. Any worker, not in a callback. */
void rti_clockwork_arm(struct rti_clockwork *clockwork, struct rti_timer *timer,
                       uint64_t deadline_ns);

/* The same from the callback of a timer of this clockwork. */
static inline void rti_clockwork_rearm(struct rti_clockwork *clockwork, struct rti_timer *timer,
                                       uint64_t deadline_ns)
{
    rti_wheel_arm(&clockwork->wheel, timer, deadline_ns);
}

/* Takes a timer out: true. False: it is not armed; its callback is over, if it ever ran. Any
 * worker, not in a callback. */
bool rti_clockwork_disarm(struct rti_clockwork *clockwork, struct rti_timer *timer);

#endif
