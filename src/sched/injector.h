/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_INJECTOR_H
#define RTI_INJECTOR_H

/* The injector: the queue that all workers of the parallel engine share.
 *
 * What comes from threads that hold no station goes here: posts of foreign threads, completions
 * that an idle worker collected, and the half of a ring that was full. A worker looks here when it
 * has nothing, always before it sleeps, and every 61 picks, so that what lies here waits for a
 * bounded number of turns however busy the stations are.
 *
 * Four FIFO lists under one lock, and their count in a word of its own: looking at an empty
 * injector takes no lock.
 *
 * I1  `count` is the number of runnables in the lists.              (rti_injector_audit)
 *
 * Pairs: count is stored with release inside the lock; who reads more than 0 takes the lock before
 * it looks further. A worker that announces its sleep and reads 0 afterwards is woken by the
 * pusher, which looks for sleepers after its store: both have a fence between (crew.h, I2). */

#include "sched/lock.h"
#include "sched/processor.h"

struct rti_station;

struct rti_injector {
    struct rti_lock lock;
    struct rti_sched *sched;
    struct rti_processor lists; /* the four levels */
    rti_atomic_u32 count;
};

void rti_injector_init(struct rti_injector *injector, struct rti_sched *sched);

/* Appends READY runnables, in order. Any thread. A full barrier follows the store of the count. */
void rti_injector_push(struct rti_injector *injector, struct rti_runnable *runnable);
void rti_injector_push_all(struct rti_injector *injector, struct rti_runnable **runnables,
                           size_t count);

/* Takes the station's share: at most `share_max`, but at least one if there is any. Returns the
 * first, and queues the others at the station. NULL if there is nothing. Holder of the station. */
struct rti_runnable *rti_injector_take(struct rti_injector *injector, struct rti_station *station,
                                       uint32_t share_max);

/* Any thread; true at some moment during the call. */
static inline bool rti_injector_is_empty(const struct rti_injector *injector)
{
    /* Acquire pairs with the store in push: what was counted is in the lists. */
    return rti_u32_load_acquire(&injector->count) == 0;
}

/* Checks I1 and returns the count. With the lock free. */
size_t rti_injector_audit(struct rti_injector *injector);

#endif
