/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LOCK_H
#define RTI_LOCK_H

/* A lock over a source of waits or a module's tables, on the engine that has several workers.
 *
 * On an engine with one worker nothing can come between two lines of the runtime, and a locked
 * instruction would cost more than a context switch: there a lock is a flag that says so. The code
 * that takes it is the same on both.
 *
 * What is locked is short, a few dozen instructions, and never suspends, calls the program or waits
 * for the outside. So who finds a lock taken spins, and naps only when the holder seems to have
 * lost its processor. The holder never wakes anybody: releasing is one plain store, and half the
 * price of a lock that keeps a list of sleepers.
 *
 * Ranks. A lock may be taken only by who holds none of the same or a higher rank; checked builds
 * stop at the first that is. The order is that of the layers: a program's object, then what it
 * waits on, then the time, then the queues.
 *
 * A lock may be passed on by who suspends: it is held until nothing runs on the stack of the one
 * that is left, and given back by whoever runs next on that thread (sched/passing.h).
 *
 * I1  A worker holds no lock when its fiber suspends or ends, but one that it passes on.
 *                                                                  (RT_DCHECK in rti_fiber_park)
 * I2  Locks are taken in the order of their ranks.                       (RT_DCHECK in acquire)
 *
 * Memory order: acquire takes the word with acquire, release stores it with release.
 *
 * Rejected: a futex word with three states (a second locked instruction on every release for the
 * one in a million that has sleepers); ticket locks (a holder that lost its processor stops the
 * whole line); a pthread mutex (no simulator can own it). */

#include "sched/scheduler.h"

enum rti_lock_rank {
    RTI_LOCK_ACTOR,   /* the actor system: actors, mailboxes, links, names, bus */
    RTI_LOCK_TASK,    /* one task's end, its joiner and its region */
    RTI_LOCK_REGION,  /* regions, and how contexts hang together */
    RTI_LOCK_CANCEL,  /* one context's line of those who can be cancelled */
    RTI_LOCK_CHANNEL, /* one channel, mutex, semaphore or other source of waits */
    RTI_LOCK_TABLE,   /* what channels and the like are made of: places, records, blocks */
    RTI_LOCK_IO,      /* requests and the port's tables */
    RTI_LOCK_TIME,    /* one station's wheel */
    RTI_LOCK_DUE,     /* the timers of regions that are due */
    RTI_LOCK_CREW,    /* the lists of idle workers and stations */
    RTI_LOCK_QUEUE,   /* the global run queue */
    RTI_LOCK_JOURNAL, /* the journal: events happen under every other lock */
    RTI_LOCK_RANKS,
};

struct rti_lock {
#if !RTI_ONE_WORKER
    rti_atomic_u32 is_taken;
#endif
    uint8_t rank;
    bool is_shared; /* more than one worker may want it; else nothing is done */
};

/* How long a taken lock is watched before the thread naps. */
/* The explorer's threads never nap. */
#if RTI_EXPLORED
#define RTI_LOCK_SPINS_MAX UINT32_MAX
#else
#define RTI_LOCK_SPINS_MAX 200
#endif

/* Prepares the lock of something that belongs to `sched`. */
static inline void rti_lock_init(struct rti_lock *lock, const struct rti_sched *sched,
                                 enum rti_lock_rank rank)
{
#if !RTI_ONE_WORKER
    rti_u32_init(&lock->is_taken, 0);
#endif
    lock->rank = (uint8_t)rank;
    lock->is_shared = !sched->is_local;
}

static inline bool rti_lock_is_shared(const struct rti_lock *lock)
{
    return RT_MAX_WORKERS > 1 && lock->is_shared;
}

/* Spins and naps until the lock is the caller's. */
RTI_COLD void rti_lock_contend(struct rti_lock *lock, struct rti_sched *sched);

#if RT_CHECKS
void rti_lock_check_order(const struct rti_lock *lock);
void rti_lock_note(const struct rti_lock *lock, bool is_held);
#endif

/* Takes the lock. `sched` is the one it was made for. Any thread. */
#if RTI_ONE_WORKER

static RTI_ALWAYSINLINE void rti_lock_acquire(struct rti_lock *lock, struct rti_sched *sched)
{
    (void)lock, (void)sched;
}

static RTI_ALWAYSINLINE void rti_lock_release(struct rti_lock *lock)
{
    (void)lock;
}

static RTI_ALWAYSINLINE void rti_lock_acquire_shared(struct rti_lock *lock, struct rti_sched *sched)
{
    (void)lock, (void)sched;
}

static RTI_ALWAYSINLINE void rti_lock_release_shared(struct rti_lock *lock)
{
    (void)lock;
}

#else

/* Takes a lock that several workers share. */
static RTI_ALWAYSINLINE void rti_lock_acquire_shared(struct rti_lock *lock, struct rti_sched *sched)
{
    RT_DCHECK(rti_lock_is_shared(lock));
#if RT_CHECKS
    rti_lock_check_order(lock);
#endif
    /* Acquire-release: acquire pairs with the release of the last holder. */
    if (RTI_UNLIKELY(rti_u32_exchange_acqrel(&lock->is_taken, 1) != 0)) {
        rti_lock_contend(lock, sched);
    }
#if RT_CHECKS
    rti_lock_note(lock, true);
#endif
}

static RTI_ALWAYSINLINE void rti_lock_acquire(struct rti_lock *lock, struct rti_sched *sched)
{
    if (RTI_UNLIKELY(rti_lock_is_shared(lock))) {
        rti_lock_acquire_shared(lock, sched);
    }
}

/* Takes a lock that several workers share, if it is free. */
static RTI_ALWAYSINLINE bool rti_lock_try(struct rti_lock *lock)
{
    RT_DCHECK(rti_lock_is_shared(lock));
#if RT_CHECKS
    rti_lock_check_order(lock);
#endif
    /* Acquire-release: acquire pairs with the release of the last holder. */
    if (RTI_UNLIKELY(rti_u32_exchange_acqrel(&lock->is_taken, 1) != 0)) {
        return false;
    }
#if RT_CHECKS
    rti_lock_note(lock, true);
#endif
    return true;
}

/* Gives back a lock that several workers share. The thread that took it. */
static RTI_ALWAYSINLINE void rti_lock_release_shared(struct rti_lock *lock);

/* Says that the lock, which is shared and the caller's, is given back by who runs next on this
 * thread, with rti_lock_give. */
static RTI_ALWAYSINLINE void rti_lock_pass(struct rti_lock *lock)
{
    RT_DCHECK(rti_lock_is_shared(lock) && rti_u32_load_relaxed(&lock->is_taken) != 0);
#if RT_CHECKS
    rti_lock_note(lock, false);
#endif
    (void)lock;
}

static RTI_ALWAYSINLINE void rti_lock_give(struct rti_lock *lock)
{
    /* Release pairs with the next holder's acquire. */
    rti_u32_store_release(&lock->is_taken, 0);
}

/* Gives it back. The thread that took it. */
static RTI_ALWAYSINLINE void rti_lock_release(struct rti_lock *lock)
{
    if (RTI_LIKELY(!rti_lock_is_shared(lock))) {
        return;
    }
    rti_lock_release_shared(lock);
}

static RTI_ALWAYSINLINE void rti_lock_release_shared(struct rti_lock *lock)
{
    RT_ASSERT(rti_u32_load_relaxed(&lock->is_taken) != 0);
#if RT_CHECKS
    rti_lock_note(lock, false);
#endif
    rti_lock_give(lock);
}

#endif

#endif
