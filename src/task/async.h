/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ASYNC_H
#define RTI_ASYNC_H

/* A poll task: a runnable whose step calls the program's function, which returns.
 *
 * The word says whether the task is to be called:
 *
 *     NOTIFIED   in a run queue, or about to be put there by the step that is running
 *     RUNNING    the step runs, and nobody has asked for another one
 *     PARKED     it waits; whoever makes it NOTIFIED queues it
 *
 * A wake makes the word NOTIFIED, and queues the task if it was PARKED. The step makes it RUNNING
 * before it calls and PARKED after a call that ended with RT_ERR_WOULDBLOCK, if nobody has made it
 * NOTIFIED meanwhile; else it queues itself. So a wake at any moment, any number of them, leads to
 * one more call that sees what came before the wake. A slot that is free is NOTIFIED: a wake that
 * comes too late finds nothing to do, or causes one call too many of the next task, which is
 * allowed.
 *
 * Contexts. A context is 600 bytes and most of it is needed only while the task waits with it. So
 * a step borrows one of the module's; it stays with the task as long as it waits or holds something
 * (a permit, a mutex), and goes back otherwise. A task that naps waits with the nap in its own
 * state. If no context is left, the step makes one for the time of the call: what the call
 * registers is given up at its end, and the task is called again, as often as it takes.
 *
 * The end: the context ends first and gives back what it holds, the nap is ended, then whoever
 * joins is told. The state is the program's and not touched any more.
 *
 * I1  The task is in a run queue iff its word is NOTIFIED and no step runs.     (async_settle)
 * I2  `cx` is not NULL between two calls iff the context waits or holds.        (async_settle)
 * I3  A slot is free iff `poll` is NULL.                                        (rti_asyncs_audit)
 *
 * Memory order: the wake's exchange and the step's are acquire-release: a call sees what was
 * written before the wakes that it answers.
 *
 * Costs: 160 bytes a task at most, and its state; a wake and a call about as much as two switches.
 *
 * Rejected: a context in each task (600 bytes, of which an idle one needs none); a stack per task
 * (that is rt_go); queueing on every wake (a task in a queue twice). */

#include <orrery/rt/async.h>

#include "sched/scheduler.h"
#include "sync/line.h"

/* The level of all poll tasks: RT_PRIO_NORMAL. */
#define RTI_ASYNC_PRIORITY 2

enum rti_async_word {
    RTI_ASYNC_NOTIFIED,
    RTI_ASYNC_RUNNING,
    RTI_ASYNC_PARKED,
};

struct rti_asyncs;
struct rti_nap;

struct rti_async {
    struct rti_runnable run;
    rti_atomic_u32 word;      /* enum rti_async_word */
    rti_atomic_u32 cancelled; /* not 0: it was asked to stop */
    rt_poll_fn poll;          /* NULL: the slot is free */
    void *state;              /* the program's */
    struct rti_cx *cx;        /* the context that it keeps; NULL: none */
    struct rti_nap *nap;      /* under way, in its state; NULL: none */
    struct rti_line line;     /* who joins; its lock is over what follows */
    struct rti_asyncs *asyncs;
    const char *result_msg; /* of `result` */
    uint8_t result;         /* rt_status_code that it ended with */
    bool has_ended;
    bool is_detached;    /* nobody holds the handle: the end frees the slot */
    bool is_killed;      /* ends at its next step, without a call */
    bool is_pausing;     /* rt_async_pause has registered */
    uint32_t generation; /* of the handle; 0: never used */
    uint32_t next_free;  /* slots that are free */
};

_Static_assert(sizeof(struct rti_async) <= 160, "an idle poll task has its limit");

/* Makes the task be called. Any thread of the runtime. */
void rti_async_wake(struct rti_async *async);

/* The waker of a poll task's context; `arg` is the task. */
void rti_async_waker(void *arg);

/* The poll task that a context belongs to; NULL: it is none's. */
struct rti_async *rti_async_of_cx(rt_cx *cx);

/* Ends the nap of a task, if it has one. */
void rti_nap_end(struct rti_async *async);

/* Was it asked to stop? */
static inline bool rti_async_is_cancelled(const struct rti_async *async)
{
    return rti_u32_load_relaxed(&async->cancelled) != 0;
}

#endif
