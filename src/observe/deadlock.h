/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_DEADLOCK_H
#define RTI_DEADLOCK_H

/* Who can never go on (E6, D2).
 *
 * Tasks and actors are nodes. One that is ready or runs is live, and so is one that time or the
 * outside may wake: with a deadline, in input or output, in a wait that is not understood. Every
 * other one waits for something inside:
 *
 *     a join               the task: it goes on if that one does
 *     a mutex              the holder
 *     a SYNC send, a call  the actor
 *     anything else        a value, room, mail, a semaphore, a region, a cancellation for which it
 *                          sleeps: whoever runs may bring it, so it goes on if anything at all does
 *
 * A select goes on if one of its arms does. From the live ones the word is passed on against these
 * arrows until nothing changes; who has not heard it then is in a circle, or waits for one that is,
 * and waits for ever. A cancellation or a kill would end a circle: that makes it no less of a
 * deadlock.
 *
 * That nothing at all goes on is believed only if there is also no timer, nothing else that lives,
 * a behaviour, a poll task, a loop, and nobody outside who may come in (`is_open`). And who only
 * waits for mail, among others who do, is idle, not stuck.
 *
 * A circle is told once. It is told by lines: who, where it was spawned, what it waits for. There
 * is a node for each of RT_MAX_TASKS; where rt_task_reserve has made room for more, and it is used,
 * that nobody looks any more is told instead, once.
 *
 * With several workers the others run on while this one looks. What is read of a task that waits
 * lies on its stack and is read by `peek` (base/peek.h), and counts only if the task has not moved
 * meanwhile; and only what has waited for `span_ns` is looked at. Who is in a circle does not move.
 *
 * I1  Whoever is told waits, and every event that would end its wait but a cancellation is another
 *     one that is told.                                                  (deadlock_test)
 *
 * Costs: a microsecond for each task and actor. */

#include "base/peek.h"
#include "sched/scheduler.h"
#include "task/tasks.h"

#define RTI_DEADLOCK_NODES   (RT_MAX_TASKS + RT_MAX_ACTORS)
#define RTI_DEADLOCK_TARGETS 4

/* A task or an actor. */
struct rti_deadlock_node {
    const struct rti_fiber *fiber;          /* NULL: nobody */
    const struct rti_wait *wait;            /* where it lies */
    uint64_t parked_ns;                     /* since when */
    uint32_t targets[RTI_DEADLOCK_TARGETS]; /* nodes: any of them would do */
    uint8_t target_count;
    uint8_t reason;  /* enum rti_wait_reason */
    bool is_live;    /* it goes on */
    bool is_anybody; /* anybody could bring what it waits for */
    bool is_told;    /* in this report */
};

/* Memory for a search, and what was told before. All zero is the start. */
struct rti_deadlock {
    struct rti_deadlock_node nodes[RTI_DEADLOCK_NODES];
    struct {
        uint32_t id;
        uint64_t parked_ns;
    } told[RTI_DEADLOCK_NODES]; /* where the first of a circle is that was told; id 0: none is */
    bool is_refusal_told;       /* there are too many tasks for the nodes */
};

struct rti_deadlock_options {
    rti_peek peek;    /* NULL: everything stands still */
    uint64_t span_ns; /* who has waited for less is not looked at */
    bool is_open;     /* somebody outside, or a signal, may bring values and mail */
};

/* Forgets what was told. */
void rti_deadlock_forget(struct rti_deadlock *deadlock);

/* Looks, and tells of circles that were not told before, in lines of diagnosis. Returns how many
 * circles that was. On a worker's own stack, or anywhere with `peek`. */
size_t rti_deadlock_tell(struct rti_deadlock *deadlock, struct rti_sched *sched,
                         const struct rti_deadlock_options *options);

#endif
