/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PIN_H
#define RTI_PIN_H

/* Pins: a fiber and a member that have each other to themselves.
 *
 * A pinned fiber is queued, stolen and woken like every other. Only where a member is about to run
 * what it has found is there a question, one comparison: the runnable's `pin` and the member's, the
 * member's number plus one or 0, must be the same. If they are not:
 *
 *     an ordinary member found a pinned fiber     sends its station, and the fiber with it, to the
 *                                                 member the fiber is pinned to, and looks on
 *                                                 without a station
 *     a pinned member found somebody else         sends its station, and what it found, to an
 *                                                 ordinary member, and sleeps
 *
 * A pinned member that finds nothing gives up its station and sleeps on its futex, in no list: it
 * is of no use to anybody else. It is woken by a station that is sent to it, or by the end of the
 * run. A station may come before it sleeps; so what is sent lies in `given` and `given_first` under
 * the crew's lock, and is taken from there in one place.
 *
 * A pinned member neither polls nor looks after others' work while it sleeps. So there must always
 * be ordinary ones: pins are refused if fewer members than stations would be left, and one other
 * thread is started before the first pin of the last ordinary one.
 *
 * The end of a run ends the threads of members but the first. A pin outlives it: the member is
 * absent, kept for its fiber, and gets a new thread when that is to run again. If the system has
 * none, the fiber is not pinned any more: better on another thread than never.
 *
 * I1  member->pin is not 0 iff member->pinned is not NULL; then that fiber's `pin` is the same, and
 *     the member runs nothing else.                                          (rti_pin_forward)
 * I2  crew->pinned_count is the number of fibers whose `pin` is not 0.       (rti_pin_audit)
 * I3  A station is sent to a pinned member only while its fiber is READY and out of every queue, so
 *     at most one at a time.                                                 (pin_send)
 *
 * Rejected: a queue of its own per member, from which a pinned fiber is taken between others (one
 * that computes for ever would keep the pinned one out, since its thread cannot be taken away; and
 * a library's thread-locals would be seen by whoever runs in between). */

#include "sched/crew.h"

/* Pins what runs on the member's thread. False if too few members would be left. */
bool rti_pin_take(struct rti_member *member, struct rti_runnable *runnable);

#if !RTI_ONE_WORKER
/* May the member run what it has found? */
static inline bool rti_pin_allows(const struct rti_member *member,
                                  const struct rti_runnable *runnable)
{
    return RTI_LIKELY(runnable->pin == member->pin);
}
#endif

/* It may not: sends it and the station away. True if the member may run it after all, because the
 * system has no thread for it. Holds a station and does not spin. */
bool rti_pin_forward(struct rti_member *member, struct rti_runnable *runnable);

/* A pinned member has found nothing and waits for its fiber, without a station. */
void rti_pin_sleep(struct rti_member *member);

/* Gives up the station of a pinned member that has found nothing. */
void rti_pin_give_up(struct rti_member *member);

/* The fiber that the member runs ends or is pinned no longer. The member's thread. */
void rti_pin_release(struct rti_member *member, struct rti_runnable *runnable);

/* Before the first member, the caller, begins to work in a run: if it is pinned, another thread is
 * started, and the pin given up if the system has none. No other member has a thread yet, and none
 * is started meanwhile: it could find the fiber, and send it to where it is pinned no more. */
void rti_pin_begin(struct rti_crew *crew);

/* Wakes every pinned member that sleeps, for the end of the run. */
void rti_pin_end(struct rti_crew *crew);

/* The threads of the run are gone: members that are pinned are absent from here on. */
void rti_pin_absent(struct rti_crew *crew);

/* Checks I1 and I2. While no thread but the caller's runs. */
void rti_pin_audit(const struct rti_crew *crew);

#endif
