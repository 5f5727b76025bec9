/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CX_H
#define RTI_CX_H

/* The context behind an rt_cx: cancellation, budget, what is held, and how its owner waits.
 *
 * Fiber contexts nest: `outer` and `inner` make a chain per fiber, of which the innermost is the
 * fiber's current one. A cancellation runs inwards along the chain, so a wait needs one waiter for
 * it, whatever the depth. All but that of a task stand on the fiber's cleanup stack, so that a kill
 * takes them apart; its permits stand there too, above it.
 *
 * A poll context holds the one wait it may have: `wait`, its events, and the waiter of the
 * operation. The operation that waits is named by `op`: the function and the handle. Polling again
 * with the same name continues it, with another name gives it up. It has a cleanup stack of its
 * own.
 *
 * The budget's deadline is the logical deadline of the fiber in the key policy of the scheduler
 * (sched/key_chooser.h).
 *
 * I1  is_requested of an outer context implies that of the inner ones, as far as the next
 *     shield.                                                               (rti_cx_audit)
 * I2  is_waiting iff `wait` may be linked somewhere.                (rti_cx_poll_end)
 * I3  The scopes of a context are a stack; `scope` is the innermost.        (rt_cx_pop_budget)
 *
 * Several workers. One lock of the runtime, `regions` of sync/channels.h, guards how contexts hang
 * together: the chains, and the members and closers of regions. Each cancellation has a lock of its
 * own, below that one, so that a wait takes no lock that is everybody's. All the rest of a context
 * is its owner's. Nothing is woken under a lock.
 *
 * A poll context that is lent to one poll task after another is looked at when it comes back. A
 * mark, `is_touched`, says whether there is anything to look for; whoever begins a wait, puts
 * something on the cleanup stack, starts a timer for it, enters a region, changes the budget, the
 * cancellation or the waker leaves it. With several workers only its owner does; what another may
 * cancel is marked before.
 *
 * A poll context may be polled, or given up, at any moment: also between the claim of its wait and
 * the wake. `poll_word` tells the two apart. Until the wake is over a claimed wait counts as
 * waiting, and who gives the context up waits for it; that is short, because with several workers a
 * waker only makes something ready (<orrery/rt/waker.h>). */

#include <orrery/rt/cx.h>

#include "sched/cancel.h"
#include "sync/channels.h"
#include "sync/line_waiter.h"
#include "time/deadline.h"

#define RTI_CX_MAGIC UINT32_C(0x7263784f)

/* The magic of a fiber's context between two lives of its fiber, if the last one has left it as it
 * found it; what rti_cx_begin_fiber gave it is still in place. */
#define RTI_CX_CLEAN UINT32_C(0x7263786f)

enum rti_cx_kind { RTI_CX_FIBER, RTI_CX_POLL };

enum rti_cx_poll_word {
    RTI_CX_POLL_QUIET, /* nothing has woken it */
    RTI_CX_POLL_BUSY,  /* its waker is being read or written */
    RTI_CX_POLL_WOKEN, /* its wait was ended, and who ended it has let go of the context */
};

/* The events that a context adds to a wait: its cancellation and a deadline. */
struct rti_cx_events {
    struct rti_waiter cancel;
    struct rti_deadline deadline;
    bool is_budget; /* the deadline is the budget's, not the caller's */
};

/* Names an operation that a poll context waits for: what, and on which object. */
struct rti_cx_op {
    const void *what;
    uintptr_t on;
};

/* What a context needs that is limited, in a region, or has another inside or around it. Those of
 * fibers that are none of these are so many that it lies apart, in memory that nobody touches until
 * it is needed (rti_cx_open_rest). Inner and poll contexts have theirs behind them, always open. */
struct rti_cx_rest {
    struct rti_region_member member; /* of a region, if it has one */
    struct rti_cx *cx;               /* whose it is */
    struct rti_cx *inner;
    struct rti_cx *outer;
    struct rti_budget_scope *scope; /* innermost; NULL: none */
    rt_budget budget;
    uint64_t polls_taken; /* of the quotas, since it is open */
    uint64_t cost_taken;
};

/* What every context has. */
struct rti_cx {
    struct rti_cancel cancel; /* first: a fiber has a pointer to it, and so to all (rti_fiber_cx) */
    uint32_t magic;           /* RTI_CX_MAGIC between init and deinit */
    bool is_touched;          /* POLL: it may be another than when it was made */
    /* What others look at who cancel it; written before they can. */
    uint8_t kind : 1;   /* enum rti_cx_kind */
    bool is_inner : 1;  /* FIBER: it is a struct rti_inner_cx */
    bool is_shield : 1; /* the cancellation of the context around does not reach it */
    uint8_t : 0;
    /* Its owner's. */
    uint8_t outcome : 3;    /* rt_outcome, but for a cancellation that was seen */
    bool has_timers : 1;    /* timers of a region were started with it, and end with it */
    bool is_passing : 1;    /* POLL: it ends with the call that it was made for */
    bool is_refused : 1;    /* POLL: something was refused for that */
    rti_atomic_u8 has_rest; /* bool: the rest counts. Raised by its owner */
    /* Where the rest lies is cancel.owner_word: so many units behind the context. Where the fiber
     * of an outermost one lies is cancel.owner_half: so many before it. */
};

/* What both count in, and the farthest that the former tells. */
#define RTI_CX_REST_UNIT sizeof(void *)
#define RTI_CX_REST_FAR  ((size_t)UINT32_MAX * RTI_CX_REST_UNIT)

_Static_assert(offsetof(struct rti_cx, cancel) == 0, "a fiber's pointer is to both");

/* The scheduler whose thread, or one of whose threads, its owner runs on. */
static inline struct rti_sched *rti_cx_sched(const struct rti_cx *cx)
{
    return cx->cancel.sched;
}

/* Says where the rest of a context lies. Nobody looks there before it is open. */
static inline void rti_cx_place_rest(struct rti_cx *cx, const struct rti_cx_rest *rest)
{
    uintptr_t distance = (uintptr_t)rest - (uintptr_t)cx;
    RT_DCHECK(distance <= RTI_CX_REST_FAR && distance % RTI_CX_REST_UNIT == 0);
    cx->cancel.owner_word = (uint32_t)(distance / RTI_CX_REST_UNIT);
}

/* The rest of a context, open or not. */
static inline struct rti_cx_rest *rti_cx_rest_of(const struct rti_cx *cx)
{
    return (struct rti_cx_rest *)((uintptr_t)cx + cx->cancel.owner_word * RTI_CX_REST_UNIT);
}

/* The same if it is open; NULL: it is not, and the context is in no region, has no budget, and none
 * inside or around it. Acquire pairs with the release of its owner, who opens it at any time. */
static inline struct rti_cx_rest *rti_cx_rest(const struct rti_cx *cx)
{
    return rti_u8_load_acquire(&cx->has_rest) == 0 ? NULL : rti_cx_rest_of(cx);
}

/* The same for its owner, or its maker, who needs it. */
struct rti_cx_rest *rti_cx_open_rest(struct rti_cx *cx);

extern const rt_budget rti_cx_unlimited;

static inline const rt_budget *rti_cx_budget(const struct rti_cx *cx)
{
    const struct rti_cx_rest *rest = rti_cx_rest(cx);
    return rest == NULL ? &rti_cx_unlimited : &rest->budget;
}

/* The region that it is a member of, or NULL. */
static inline struct rti_region *rti_cx_region(const struct rti_cx *cx)
{
    const struct rti_cx_rest *rest = rti_cx_rest(cx);
    return rest == NULL ? NULL : rest->member.region;
}

/* The contexts inside and around it, or NULL. */
static inline struct rti_cx *rti_cx_inner(const struct rti_cx *cx)
{
    const struct rti_cx_rest *rest = rti_cx_rest(cx);
    if (rest == NULL) {
        return NULL;
    }
    RTI_PLAIN_READ(&rest->inner, sizeof(rest->inner));
    return rest->inner;
}

static inline struct rti_cx *rti_cx_outer(const struct rti_cx *cx)
{
    const struct rti_cx_rest *rest = rti_cx_rest(cx);
    return rest == NULL ? NULL : rest->outer;
}

/* A context that a fiber makes for itself, with what takes it apart if the fiber ends first. */
struct rti_inner_cx {
    struct rti_cx cx;
    struct rti_cx_rest rest;
    struct rti_cleanup cleanup;
    struct rti_fiber *fiber;
};

/* Says whose the outermost context of a fiber is, which lies behind it. */
static inline void rti_cx_place_fiber(struct rti_cx *cx, const struct rti_fiber *fiber)
{
    uintptr_t distance = (uintptr_t)cx - (uintptr_t)fiber;
    RT_ASSERT(distance / RTI_CX_REST_UNIT <= UINT16_MAX && distance % RTI_CX_REST_UNIT == 0);
    cx->cancel.owner_half = (uint16_t)(distance / RTI_CX_REST_UNIT);
}

/* The fiber whose it is; of a FIBER context. */
static inline struct rti_fiber *rti_cx_fiber(const struct rti_cx *cx)
{
    RT_DCHECK(cx->kind == RTI_CX_FIBER);
    if (RTI_UNLIKELY(cx->is_inner)) {
        return RTI_CONTAINER_OF(cx, const struct rti_inner_cx, cx)->fiber;
    }
    return (struct rti_fiber *)((uintptr_t)cx - cx->cancel.owner_half * RTI_CX_REST_UNIT);
}

/* A poll context: a context, and the wait that a fiber has on its stack. Every task has room for a
 * context, and none for this. */
struct rti_poll_cx {
    struct rti_cx cx;
    struct rti_cx_rest rest;
    struct rti_cleanups cleanups; /* what it holds */
    struct rti_cx *next_spare;    /* of those that are kept for the next (task/asyncs.h) */
    rt_waker waker;
    struct rti_cx_op op;      /* what it waits for */
    rti_atomic_u32 poll_word; /* enum rti_cx_poll_word; with several workers only */
    bool is_waiting;
    struct rti_wait wait;
    struct rti_cx_events events;
    union {                               /* of the operation */
        struct rti_channel_waiter waiter; /* what is neither uses its inside */
        struct rti_line_waiter line;
    };
};

/* The poll context that a context is. */
static inline struct rti_poll_cx *rti_cx_poll(struct rti_cx *cx)
{
    RT_DCHECK(cx->kind == RTI_CX_POLL);
    return RTI_CONTAINER_OF(cx, struct rti_poll_cx, cx);
}

/* What rt_budget_scope holds. */
struct rti_budget_scope {
    struct rti_cx *cx;
    struct rti_budget_scope *outer;
    rt_budget before;     /* of the scope around */
    uint64_t polls_taken; /* of the context when the scope began */
    uint64_t cost_taken;
};

/* The context that an operation is for: the given one, else the fiber's, else NULL. RT_OK;
 * RT_ERR_INVALID if what was given is no context, or another fiber's. */
rt_status rti_cx_resolve(struct rti_worker *worker, rt_cx *given, struct rti_cx **out_cx);

/* How it comes out if it ends now. */
static inline rt_outcome rti_cx_outcome(const struct rti_cx *cx)
{
    return cx->cancel.is_seen ? RT_OUTCOME_CANCELLED : (rt_outcome)cx->outcome;
}

/* rt_checkpoint of a context that is there. */
rt_status rti_cx_checkpoint(struct rti_cx *cx);

/* Makes the outermost context of a fiber that has not begun, in memory of the fiber's maker, who
 * has said where its rest and the fiber lie, and ends it after the fiber. Writes only what a
 * fiber's context uses: this is on the way of every spawn. */
void rti_cx_init_fiber(struct rti_cx *cx, struct rti_fiber *fiber, struct rti_sched *sched);

/* Is this memory the context of a fiber again and again, and has the last life left it as it found
 * it? Then rti_cx_begin_again is enough, with one worker; with several if nobody has asked it to
 * stop since. */
static RTI_ALWAYSINLINE bool rti_cx_is_clean(const struct rti_cx *cx)
{
    return cx->magic == RTI_CX_CLEAN;
}

static RTI_ALWAYSINLINE void rti_cx_begin_again(struct rti_cx *cx, struct rti_fiber *fiber)
{
    /* Where its fiber lies was said once and for all (rti_cx_place_fiber). */
    RT_DCHECK(rti_cx_fiber(cx) == fiber);
    RT_DCHECK(rti_cx_is_clean(cx) && rti_fiber_cx(fiber) == NULL && rti_cx_rest(cx) == NULL &&
              !cx->is_shield);
    cx->magic = RTI_CX_MAGIC;
    fiber->cancel = &cx->cancel;
}

/* Begins the life of a context in such memory, which is 0 before the first time. `is_local`: there
 * is one worker. */
static RTI_ALWAYSINLINE void rti_cx_begin_fiber(struct rti_cx *cx, struct rti_fiber *fiber,
                                                struct rti_sched *sched, bool is_local)
{
    /* With several, who asked the last fiber to stop may have come when that had ended. */
    if (RTI_UNLIKELY(!rti_cx_is_clean(cx)) ||
        (!is_local && RTI_UNLIKELY(rti_cancel_is_requested(&cx->cancel)))) {
        rti_cx_init_fiber(cx, fiber, sched);
        return;
    }
    RT_DCHECK(cx->cancel.sched == sched);
    rti_cx_begin_again(cx, fiber);
}

/* What rti_cx_end_fiber does if more is to be done than to say that it has ended. */
void rti_cx_end_fiber_any(struct rti_cx *cx, rt_outcome outcome);

/* Is its end no more than to say so? `is_local`: there is one worker. */
static RTI_ALWAYSINLINE bool rti_cx_ends_simply(const struct rti_cx *cx,
                                                const struct rti_fiber *fiber, bool is_local)
{
    RT_ASSERT(cx->magic == RTI_CX_MAGIC);
    RT_DCHECK(rti_cx_fiber(cx) == fiber);
    /* Gathered, because most have none of them. Relaxed: nobody else opens the rest. */
    uintptr_t attached = rti_u8_load_relaxed(&cx->has_rest) | (uintptr_t)cx->cancel.lone;
    /* Who is not hindered has not been limited nor, with one worker, been cancelled. With several
     * the line is looked at only if it is the owner's alone (cx_end). */
    return RTI_LIKELY(!fiber->is_hindered) && RTI_LIKELY(attached == 0) &&
           (is_local || RTI_LIKELY(!cx->has_timers)) &&
           RTI_LIKELY(rti_list_is_empty(&cx->cancel.line));
}

/* Does that. */
static RTI_ALWAYSINLINE void rti_cx_end_simply(struct rti_cx *cx)
{
    RT_DCHECK(!cx->cancel.is_seen && cx->outcome == RT_OUTCOME_OK);
    cx->magic = RTI_CX_CLEAN;
}

/* Its end, with the outcome that counts for its region. `is_local`: there is one worker. */
static RTI_ALWAYSINLINE void rti_cx_end_fiber(struct rti_cx *cx, const struct rti_fiber *fiber,
                                              rt_outcome outcome, bool is_local)
{
    if (RTI_LIKELY(outcome == RT_OUTCOME_OK) && rti_cx_ends_simply(cx, fiber, is_local)) {
        rti_cx_end_simply(cx);
        return;
    }
    rti_cx_end_fiber_any(cx, outcome);
}

/* Makes a context of the running fiber, inside its present one, that the cancellation of the
 * present one does not reach, and whose budget is the deadline alone. */
void rti_cx_begin_shield(struct rti_inner_cx *shield, struct rti_fiber *fiber, rt_time deadline);

/* Ends it, by the same fiber. */
void rti_cx_end_shield(struct rti_inner_cx *shield);

/* Marks that a cancellation was seen, by all contexts around that it came from, and gives the
 * status to return. */
rt_status rti_cx_see_cancel(struct rti_cx *cx);

/* Adds the context's events to a wait that has begun: cancellation, and the earlier of `deadline`
 * and the budget's. `cx` may be NULL. */
void rti_cx_events_add(struct rti_cx_events *events, struct rti_cx *cx, struct rti_sched *sched,
                       struct rti_wait *wait, rt_time deadline);

/* The status of a wait that ended by one of these events. */
rt_status rti_cx_events_status(const struct rti_cx_events *events, struct rti_cx *cx,
                               uint32_t event);

/* Begins the one wait of a poll context, which waits for nothing, for the operation `op`. */
void rti_cx_poll_begin(struct rti_cx *cx, struct rti_cx_op op);

/* Ends the wait of a poll context and unlinks what is linked; nothing if it has none. */
void rti_cx_poll_end(struct rti_cx *cx);

/* What ended the wait of a poll context, once that is over; RTI_EVENT_NONE: it waits. */
static inline uint32_t rti_cx_poll_event(struct rti_cx *cx)
{
    const struct rti_poll_cx *poll = rti_cx_poll(cx);
    /* Acquire pairs with the release in cx_poll_wake: who woke it touches it no more. */
    if (RTI_UNLIKELY(!rti_sched_is_local(rti_cx_sched(cx))) &&
        rti_u32_load_acquire(&poll->poll_word) != RTI_CX_POLL_WOKEN) {
        return RTI_EVENT_NONE;
    }
    return rti_wait_event(&poll->wait);
}

/* Takes the lock of contexts and regions. */
static inline void rti_contexts_lock(struct rti_sched *sched)
{
    if (RTI_UNLIKELY(!rti_sched_is_local(sched))) {
        struct rti_channels *channels = sched->modules[RTI_MODULE_CHANNEL];
        rti_lock_acquire(&channels->regions, sched);
    }
}

static inline void rti_contexts_unlock(struct rti_sched *sched)
{
    if (RTI_UNLIKELY(!rti_sched_is_local(sched))) {
        struct rti_channels *channels = sched->modules[RTI_MODULE_CHANNEL];
        rti_lock_release(&channels->regions);
    }
}

/* True if the context waits for this very operation; what else it waits for is given up. */
static inline bool rti_cx_poll_is_for(struct rti_cx *cx, struct rti_cx_op op)
{
    const struct rti_poll_cx *poll = rti_cx_poll(cx);
    if (poll->is_waiting && (poll->op.what != op.what || poll->op.on != op.on)) {
        rti_cx_poll_end(cx);
    }
    return poll->is_waiting;
}

/* Does this context end with the call of its poll task, since there was no other to lend
 * (task/async.h)? Then nothing that lasts longer may be begun with it: no lock is taken, no place
 * reserved, no region entered. The task is called again. */
static inline bool rti_cx_is_passing(struct rti_cx *cx)
{
    if (RTI_LIKELY(cx == NULL || !cx->is_passing)) {
        return false;
    }
    cx->is_refused = true;
    return true;
}

/* What is said then by who may be asked again, and by who may not. */
#define RTI_CX_PASSING_WAIT                                                                        \
    ((rt_status){RT_ERR_WOULDBLOCK, "no context is left that could hold it"})
#define RTI_CX_PASSING_FAIL                                                                        \
    ((rt_status){RT_ERR_RESOURCE_EXHAUSTED, "no context is left that could hold it"})

/* The stack for what an operation of this context holds; NULL outside of any runnable. */
static inline struct rti_cleanups *rti_cx_cleanups(struct rti_cx *cx, struct rti_worker *worker)
{
    if (cx != NULL && cx->kind == RTI_CX_POLL) {
        cx->is_touched = true;
        return &rti_cx_poll(cx)->cleanups;
    }
    return worker->fiber == NULL ? NULL : &worker->fiber->cleanups;
}

static inline struct rti_cx *rti_cx_of(rt_cx *cx)
{
    return (struct rti_cx *)(void *)cx;
}

/* The logical deadline of a fiber: that of its current context. */
uint64_t rti_cx_deadline_of(const struct rti_fiber *fiber);

/* Meets the budget with another, for good. */
void rti_cx_tighten(struct rti_cx *cx, rt_budget budget);

/* Cancels a context and those inside it. The caller sees to it that the context stays. */
void rti_cx_cancel(struct rti_cx *cx);

/* The same for who holds a lock of a lower rank, and wakes those claimed without it
 * (rti_cancel_wake_all). */
void rti_cx_cancel_claim(struct rti_cx *cx, struct rti_list *claimed);

void rti_cx_audit(const struct rti_cx *cx);

#endif
