/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SIGNALS_H
#define RTI_SIGNALS_H

/* Signals of the operating system, on their way to channels; the manual is <orrery/rt/signal.h>.
 *
 *     handler, any thread        counts[n] += 1, posts (once)
 *     post, scheduler's stack    counts[n] taken as a whole; one value for each subscription that
 *                                wants n, by rt_channel_try_send
 *     open                       the same first, so that nobody gets what came before him
 *
 * A handler may interrupt anything, so it takes no lock: one addition, one exchange, and the post
 * of the scheduler, which is lock-free and rings the poller's bell.
 *
 * A subscription is a row of a small table: a set of numbers, the sender that is ours and the
 * receiver that is the program's. Both are handles, numbers with a generation, so a row that was
 * closed while a value was on its way leads nowhere. How many rows want a number is counted; the
 * first catches it, the last lets it go.
 *
 * I1  users[n] is the number of rows whose set has n; the port catches n iff it is not 0.
 *                                                                        (rti_signals_audit)
 * I2  The post is queued iff is_posted.                                  (rti_signals_deliver)
 *
 * Memory order: is_posted is taken back with an exchange before the counts are read, so a handler
 * that saw it set has counted before; counts and bell are one way only.
 *
 * The port is entered with the lock held, against the rule of sched/lock.h: to change what a signal
 * does and to say that it was changed must be one step, and the system call does not wait.
 *
 * Rejected: signalfd (every thread of the program, also those that are not ours, would have to
 * block the signal); a value per signal without a count (a storm would fill every channel). */

#include <orrery/rt/signal.h>
#include <orrery/rt_static_config.h>

#include "sched/lock.h"

/* Numbers of signals are below this: a set is one word, number n its bit n - 1. */
#define RTI_SIGNAL_NUMBERS 65

struct rti_signal_row {
    uint64_t set; /* 0: the row is free */
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    uint64_t dropped;
};

struct rti_signals {
    struct rti_sched *sched;
    struct rti_lock lock; /* rows and users */
    struct rti_post post;
    rti_atomic_u32 is_posted;
    rti_atomic_u32 counts[RTI_SIGNAL_NUMBERS];
    uint32_t users[RTI_SIGNAL_NUMBERS];
    struct rti_signal_row rows[RT_MAX_SIGNAL_CHANNELS];
    void (*caught)(int number); /* the runtime's: visits, then rti_signals_count */
};

void rti_signals_init(struct rti_signals *signals, struct rti_sched *sched,
                      void (*caught)(int number));
/* Lets go of every signal; before the channels end. */
void rti_signals_deinit(struct rti_signals *signals);

/* A signal came. Signal handler, any thread, while the runtime is visited. */
void rti_signals_count(struct rti_signals *signals, int number);

/* Whether the system may send a value into some channel: its waiters are not stuck. */
bool rti_signals_are_awaited(struct rti_signals *signals);

/* Checks I1. */
void rti_signals_audit(const struct rti_signals *signals);

#endif
