/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ASYNC_H
#define RTI_ASYNC_H

/* A poll task: a runnable whose step calls the program's function, which returns.
 *
 * Whether it is to be called, and who queues it, is agreed on by its word (async_word.h).
 *
 * The handle and the end meet on a life word as those of a task with a stack do (task_life.h).
 *
 * Contexts. A context is 600 bytes and most of it is needed only while the task waits with it. So
 * a step borrows one of the module's; it stays with the task as long as it waits or holds something
 * (a permit, a mutex), and from when it is changed for good (a region, a budget, a timer, a
 * cancellation), and goes back otherwise. If no context is left, the step makes one for the time of
 * the call: what the call registers is given up at its end, what it would hold or change for good
 * is refused (rti_cx_is_passing), and the task is called again, as often as it takes.
 *
 * Three waits need no context. A task that pauses is woken, and one that naps waits with the nap in
 * its own state. One that joins another poll task, with nothing else that could end its wait but a
 * cancellation of the task itself, is the watcher of that one and remembers its handle (`joins`):
 * the end wakes it like any wake. A task that has a context all the same, because that is in a
 * region or has a budget, waits with it for the end of those meanwhile (rti_async_wait_beside).
 *
 * Foresight. When many are woken at once, each waits in the queue until it has left the cache, and
 * the queue is a list: where the next but one lies is known when the next one has come from memory.
 * So with one worker a task that is queued behind others is noted in the one that was queued
 * RTI_ASYNC_FORESIGHT wakes before it (`ahead`); the step of that one asks for it, and for the
 * state of the second in the queue, whose slot has come by then. What is noted may be wrong by the
 * time it is used. It is prefetched and nothing else; slots are never anything but slots.
 *
 * Watchers. One may wait for the end of a task at a time, and nothing tells the task when somebody
 * has lost interest: a poll function that does not ask again still stands in `watcher`. So a
 * watcher can be replaced, by who joins later, and its handle consumed, and it learns of that when
 * it leaves (rti_asyncs_unwatch): its registration counts only while the slot has the generation
 * that it joined, and names it. A fiber leaves before it does anything else, so one that stands
 * there waits: nobody takes its place, and who tries is refused.
 *
 * A handle may be tried by several workers in the same moment. What it names, and whether that has
 * ended, is looked at under the guard of the slot, and under the same guard the handle is consumed,
 * the task called or asked to stop: of several who come one takes the result, and none calls or
 * stops the next task of the slot.
 *
 * The end: the context ends first and gives back what it holds, the nap is ended, then whoever
 * joins is told. The state is the program's and not touched any more.
 *
 * I1  The task is in a run queue iff no step runs and its word is NOTIFIED or CALLED, or it has had
 *     no step yet.                                                             (async_settle)
 * I2  Between two calls a task has a context iff that waits, holds or is changed; then it joins
 *     nobody.                                                           (async_needs_context)
 * I3  A slot is free iff `poll` is NULL; then it has no context and no nap, and joins nobody.
 *                                                                          (rti_asyncs_audit)
 * I4  The generation of a slot changes when its handle is consumed, so no consumed handle is ever
 *     equal to that of a slot.                                               (rti_asyncs_lookup)
 *
 * Costs: 96 bytes a task, in two lines of the cache, and its state; a start and a join about 250
 * instructions with one worker; a wake and a call about as much as two switches.
 *
 * Rejected: a context in each task (600 bytes, of which an idle one needs none); a stack per task
 * (that is rt_go); queueing on every wake (a task in a queue twice); a line of those who join with
 * a lock of its own (40 bytes, for one who may join at a time). */

#include <orrery/rt/async.h>

#include "sched/scheduler.h"
#include "sync/cx.h"
#include "task/async_word.h"
#include "task/task_life.h"

/* So many wakes before its own a task is asked for when it has to wait for others in the queue; 0:
 * nobody looks ahead. */
#define RTI_ASYNC_FORESIGHT (RTI_ONE_WORKER ? 0 : 8)

/* The level of all poll tasks: RT_PRIO_NORMAL. */
#define RTI_ASYNC_PRIORITY 2

struct rti_asyncs;
struct rti_nap;

struct rti_async {
    struct rti_runnable run;
    rti_atomic_u8 word;        /* enum rti_async_word */
    rti_atomic_u8 wish;        /* enum rti_async_wish */
    uint8_t result;            /* rt_status_code that it ended with */
    bool is_joining : 1;       /* `joins` is what it has, and not `cx` */
    bool is_pausing : 1;       /* rt_async_pause has registered */
    bool is_called : 1;        /* rt_async_wake has come since */
    rti_atomic_u32 generation; /* of its handle, while somebody holds it; never 0. Changed under
                                * the slot's guard, and looked at by anybody */
    struct rti_task_word life; /* what handle and end agree on */
#if RTI_ASYNC_FORESIGHT
    uint32_t ahead; /* the slot that a call of this one asks for, plus one; 0: none */
#endif
    struct rti_asyncs *asyncs;
    rt_poll_fn poll; /* NULL: the slot is free */
    union {
        void *state;            /* the program's, until the end */
        const char *result_msg; /* of `result`, from the end on */
#if RTI_ONE_WORKER
        uint32_t next_free; /* of a slot that is free */
#else
        struct {
            uint32_t next_free;   /* of a slot that is free */
            uint32_t next_parcel; /* of the first of a parcel: that of the next */
        };
#endif
    };
    union {
        struct rti_cx *cx;    /* the context that it keeps; NULL: none */
        rt_async_task *joins; /* whose end it waits for */
    };
    struct rti_nap *nap; /* under way, in its state; NULL: none */
    /* Who waits for its end: a struct rti_waiter, with RTI_ASYNC_IS_FIBER added if it is a fiber's,
     * or, with RTI_ASYNC_IS_TASK added, a poll task. Written by who holds the handle, under the
     * slot's guard; read by the end. */
    uintptr_t watcher;
};

#define RTI_ASYNC_IS_TASK  ((uintptr_t)1)
#define RTI_ASYNC_IS_FIBER ((uintptr_t)2)
#define RTI_ASYNC_IS       (RTI_ASYNC_IS_TASK | RTI_ASYNC_IS_FIBER)

_Static_assert(sizeof(struct rti_async) <= 96, "an idle poll task has its limit");

/* Makes a slot that was never used one for all the tasks that will have it. */
void rti_async_init_slot(struct rti_async *async, struct rti_asyncs *asyncs);

/* Makes the task be called. Any thread of the runtime. */
void rti_async_wake(struct rti_async *async);

/* The waker of a poll task's context; `arg` is the task. */
void rti_async_waker(void *arg);

/* The poll task that a context belongs to; NULL: it is none's. */
static inline struct rti_async *rti_async_of_cx(rt_cx *cx)
{
    struct rti_cx *inside = rti_cx_of(cx);
    bool is_it = inside != NULL && inside->magic == RTI_CX_MAGIC && inside->kind == RTI_CX_POLL &&
                 rti_cx_poll(inside)->waker.fn == rti_async_waker;
    return is_it ? rti_cx_poll(inside)->waker.arg : NULL;
}

/* Ends the nap of a task, if it has one. */
void rti_nap_end(struct rti_async *async);

/* Where the timer of a nap lies, which may be gone; NULL if there is no nap. Any thread. */
const struct rti_timer *rti_nap_timer(const struct rti_nap *nap);

/* Was it asked to stop? */
static inline bool rti_async_is_cancelled(const struct rti_async *async)
{
    return rti_u8_load_relaxed(&async->wish) != RTI_ASYNC_GO_ON;
}

/* What a task that pauses or naps, `op`, waits for beside: its cancellation, its region's, and the
 * end of its budget. RT_OK: none of them has come, and those that may come wake it; else the status
 * to give, and the wait is over. */
rt_status rti_async_wait_beside_any(struct rti_async *async, struct rti_cx *cx,
                                    struct rti_cx_op op);

static inline rt_status rti_async_wait_beside(struct rti_async *async, struct rti_cx *cx,
                                              struct rti_cx_op op)
{
    /* Most have a context that was just lent to them, which nothing can end. */
    if (RTI_LIKELY(!cx->is_touched && !rti_async_is_cancelled(async))) {
        return RT_SUCCESS;
    }
    return rti_async_wait_beside_any(async, cx, op);
}

/* What it waited for has come: the end of that. */
static inline void rti_async_end_beside(struct rti_cx *cx, struct rti_cx_op op)
{
    const struct rti_poll_cx *poll = rti_cx_poll(cx);
    if (RTI_UNLIKELY(poll->is_waiting && poll->op.what == op.what)) {
        rti_cx_poll_end(cx);
    }
}

/* Has it come to its end? Only its holder learns more by that. */
static inline bool rti_async_has_ended(const struct rti_async *async)
{
    return rti_task_life(&async->life) == RTI_TASK_COMPLETE;
}

#endif
