/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_BACKLOG_H
#define RTI_BACKLOG_H

/* The backlog of a station: runnables that were started there, have not run yet, and found no place
 * in its ring.
 *
 * The order of the ring, first in, first out, starts a tree of tasks breadth first: it is alive as
 * a whole before its first leaf ends, in memory that no cache holds; depth first it is a few
 * thousand tasks. Who has run before must have its turn again in order, but nobody is promised when
 * it begins, as long as it does. So the half of a full ring that makes room goes two ways: who has
 * run, to the injector's queue; who has not, onto this stack of halves. A station that runs dry
 * takes the half that came last, the deepest part of the tree, whose memory this worker has just
 * written.
 *
 * That everybody begins: at every so manieth pick of the station one of those that are `old` does;
 * when none is left, all that are young become old. A station that has little to run takes a whole
 * share then, because it never runs dry if one that it has yields.
 *
 * Its own lock, which others want only when they steal. The count lies beside it, so that nobody
 * takes the lock of an empty one.
 *
 * I1  `count` is the number of runnables in both lists.                     (rti_backlog_audit)
 * I2  One that is old begins after at most as many turns of rti_backlog_take_old as there were old
 *     ones when it became one, and one that is young becomes old when the last of those is taken:
 *     who comes meanwhile comes before it, but nobody joins the old.        (rti_backlog_take_old)
 *
 * Pairs: count is stored with release inside the lock, and read with acquire by who looks whether
 * there is work; fences between the store, or the announcement of sleep, and the look of the other
 * side are the crew's (crew.h).
 *
 * Rejected: the injector for these too (its lock is held while a list is walked through another
 * worker's cache lines: two workers were slower than one); a stack for all that a ring spills (256
 * of a thousand that yield would go round, and the others wait). */

#include "base/ring.h"
#include "sched/lock.h"
#include "sched/processor.h"

struct rti_backlog {
    struct rti_lock lock;
    rti_atomic_u32 count;
    struct rti_processor young; /* last half first */
    struct rti_processor old;   /* were young when the last of these was taken */
};

/* `sched` may be NULL: then nobody else comes. */
void rti_backlog_init(struct rti_backlog *backlog, struct rti_sched *sched);

/* Adds READY runnables of one level that are fresh and linked from `first` to `last`, before all
 * that are here and in their order. Holder of the station. */
void rti_backlog_push_row(struct rti_backlog *backlog, struct rti_sched *sched,
                          struct rti_runnable *first, struct rti_runnable *last, size_t count);

/* The same of an array of at least one. */
void rti_backlog_push(struct rti_backlog *backlog, struct rti_sched *sched,
                      struct rti_runnable **runnables, size_t count);

/* Takes at most `max` of the most urgent, the last half first, of levels more urgent than `below`.
 * Gives how many. Any thread. */
size_t rti_backlog_take(struct rti_backlog *backlog, struct rti_sched *sched, uint32_t below,
                        struct rti_runnable **out, size_t max);

/* Takes at most `max`, at least one, of the most urgent level, the last half first: one is given,
 * the others are appended to the ring of their level, of `rings`, which has room. `*count` is how
 * many were taken; NULL if there is none. Owner of the rings. */
struct rti_runnable *rti_backlog_take_row(struct rti_backlog *backlog, struct rti_sched *sched,
                                          struct rti_ring *rings, size_t max, size_t *count);

/* Takes one whose turn it is; NULL if there is none. Any thread. */
struct rti_runnable *rti_backlog_take_old(struct rti_backlog *backlog, struct rti_sched *sched);

/* Any thread; true at some moment during the call. */
static inline bool rti_backlog_is_empty(const struct rti_backlog *backlog)
{
    /* Acquire pairs with the release of the count: who was counted is in the lists. */
    return rti_u32_load_acquire(&backlog->count) == 0;
}

/* Checks I1 and returns the count. Nobody uses it meanwhile. */
size_t rti_backlog_audit(const struct rti_backlog *backlog);

#endif
