/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RUNNABLE_H
#define RTI_RUNNABLE_H

/* Everything that runs is a runnable: a fiber, a behaviour actor, a poll task, a machine loop.
 *
 * The scheduler knows a link, a priority, a state word and a `step` function, and nothing else. A
 * step runs on the scheduler's stack and comes back. Fibers have one step in common, which switches
 * to the fiber's own stack (rti_fiber_step), and their kind in its place.
 *
 * States and their only edges:
 *
 *     NEW ---> READY <---> RUNNING ---> DONE
 *                ^  ^        |  |
 *                |  +-WOKEN<-+  |       woken before it was parked
 *                +----PARKED <--+
 *
 * With several workers a PARKED one is HELD for the few instructions in which a kill looks at its
 * wait: the wait lies on its stack, and a wake would let it go on there.
 *
 * I1  A runnable is linked in a run queue iff its state is READY, but for the one that a fiber has
 *     picked for the worker (`handoff`): READY, and out of its queue.    (rti_processor_audit)
 * I2  A runnable is RUNNING on at most one worker.                       (rti_runnable_to_running)
 * I3  Each park is ended by exactly one wake: only who claimed the wait may wake. (wait.h, I1)
 *
 * The state word changes only in the rti_runnable_to_* functions. On an engine with one worker they
 * are plain loads and stores: a locked instruction costs more than a whole context switch. With
 * several workers only the edges out of RUNNING to PARKED and WOKEN and out of PARKED are
 * contended, and are compare-exchanges; the others belong to who has taken the runnable out of its
 * queue. */

#include <stdbool.h>

#include <orrery/rt_static_config.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/time.h"

struct rti_worker;
struct rti_fiber_kind;

#define RTI_PRIORITY_LEVELS 4

enum rti_runnable_state {
    RTI_RUNNABLE_NEW,
    RTI_RUNNABLE_READY,
    RTI_RUNNABLE_RUNNING,
    RTI_RUNNABLE_WOKEN, /* wake came while it was still on its way to park */
    RTI_RUNNABLE_PARKED,
    RTI_RUNNABLE_DONE,
    RTI_RUNNABLE_HELD, /* parked, and somebody looks at its wait: nobody may wake it meanwhile */
};

struct rti_runnable {
#if RTI_ONE_WORKER
    struct rti_runnable *next; /* the run queue's while READY */
#else
    union {
        struct rti_runnable *next; /* the run queue's while READY */
        uint64_t parked_ns;        /* a fiber's while PARKED: the clock when it parked */
    };
#endif
    rti_atomic_u32 state; /* enum rti_runnable_state */
    uint32_t id;          /* who it is in traces; given by its maker, never an address */
    uint8_t priority;     /* 0 is the most urgent; fixed while READY */
    bool is_fiber;        /* it is a struct rti_fiber */
    bool is_direct;       /* a suspending fiber may switch to it without the scheduler's help */
#if !RTI_ONE_WORKER
    bool is_shared; /* several workers: the word below is changed by whoever wakes it, too */
    uint16_t pin;   /* several workers: it runs on this member only, 1 the first; 0: on any */
#endif
    bool is_actor; /* it is the fiber of a struct rti_actor */
#if !RTI_ONE_WORKER
    bool is_fresh; /* several workers: it was started and has not run yet */
#endif
    union {
        /* What is no fiber: a turn of it. Who looks for a step finds no fiber: no kind lies where a
         * function does. */
        void (*step)(struct rti_runnable *runnable, struct rti_worker *worker);
        const struct rti_fiber_kind *kind; /* a fiber: sched/fiber.h */
    };
};

static inline enum rti_runnable_state rti_runnable_state(const struct rti_runnable *runnable)
{
    return (enum rti_runnable_state)rti_u32_load_relaxed(&runnable->state);
}

static inline void rti_runnable_init(struct rti_runnable *runnable, uint32_t id, uint8_t priority,
                                     void (*step)(struct rti_runnable *, struct rti_worker *))
{
    RT_ASSERT(priority < RTI_PRIORITY_LEVELS);
    runnable->next = NULL;
    rti_u32_init(&runnable->state, RTI_RUNNABLE_NEW);
    runnable->id = id;
    runnable->priority = priority;
    runnable->is_fiber = false;
    runnable->is_direct = false;
    runnable->is_actor = false;
#if !RTI_ONE_WORKER
    runnable->is_shared = false;
    runnable->pin = 0;
    runnable->is_fresh = false;
#endif
    runnable->step = step;
}

/* One worker, so nobody else changes the word: check the edge and store. */
static inline void rti_runnable_to(struct rti_runnable *runnable, enum rti_runnable_state from,
                                   enum rti_runnable_state to)
{
    RT_ASSERT(rti_u32_load_relaxed(&runnable->state) == (uint32_t)from);
    rti_u32_store_relaxed(&runnable->state, to);
}

/* The one that runs stays ready. Who calls this is running by being here, so the edge is checked
 * only where checks may be dear. */
static inline void rti_runnable_to_yielding(struct rti_runnable *runnable)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_RUNNING);
    rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_READY);
}

static inline void rti_runnable_to_running(struct rti_runnable *runnable)
{
    rti_runnable_to(runnable, RTI_RUNNABLE_READY, RTI_RUNNABLE_RUNNING);
}

/* The same for a fiber that is switched to at once. Where a context that runs is refused by the
 * switch itself (rti_context_check) the edge is checked only if checks may be dear. */
static inline void rti_runnable_to_switched(struct rti_runnable *runnable)
{
#if defined(__arm__) && !RT_SWITCH_MARK
    RT_ASSERT(rti_u32_load_relaxed(&runnable->state) == RTI_RUNNABLE_READY);
#else
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_READY);
#endif
    rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_RUNNING);
}

static inline void rti_runnable_to_done(struct rti_runnable *runnable)
{
    rti_runnable_to(runnable, RTI_RUNNABLE_RUNNING, RTI_RUNNABLE_DONE);
}

/* The same for who runs by being here, and waits for nothing: nobody wakes it. */
static inline void rti_runnable_to_done_here(struct rti_runnable *runnable)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_RUNNING);
    rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_DONE);
}

static inline bool rti_runnable_is_shared(const struct rti_runnable *runnable)
{
#if RTI_ONE_WORKER
    (void)runnable;
    return false;
#else
    return RT_MAX_WORKERS > 1 && runnable->is_shared;
#endif
}

/* The same with several workers. Acquire-release: the waker's writes are seen by whoever runs it.
 */
static inline bool rti_runnable_to_woken_shared(struct rti_runnable *runnable)
{
    for (;;) {
        uint32_t state = rti_u32_load_relaxed(&runnable->state);
        if (state == RTI_RUNNABLE_HELD) {
            rti_spin_hint();
            continue;
        }
        RT_ASSERT(state == RTI_RUNNABLE_PARKED || state == RTI_RUNNABLE_RUNNING);
        bool is_parked = state == RTI_RUNNABLE_PARKED;
        if (rti_u32_cas_acqrel(&runnable->state, &state,
                               is_parked ? RTI_RUNNABLE_READY : RTI_RUNNABLE_WOKEN)) {
            return is_parked;
        }
    }
}

/* And the other side: false if a wake came first, and it is READY. */
static inline bool rti_runnable_to_parked_shared(struct rti_runnable *runnable)
{
    uint32_t state = RTI_RUNNABLE_RUNNING;
    /* Release: what it wrote before is seen by who runs it next. Acquire pairs with the waker. */
    if (rti_u32_cas_acqrel(&runnable->state, &state, RTI_RUNNABLE_PARKED)) {
        return true;
    }
    RT_ASSERT(state == RTI_RUNNABLE_WOKEN);
    rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_READY);
    return false;
}

/* What a wake finds decides who queues the runnable: PARKED, the waker; RUNNING, the parking side,
 * which sees WOKEN. Returns true if the caller must queue it. */
static inline bool rti_runnable_to_woken(struct rti_runnable *runnable)
{
    if (RTI_UNLIKELY(rti_runnable_is_shared(runnable))) {
        return rti_runnable_to_woken_shared(runnable);
    }
    uint32_t state = rti_u32_load_relaxed(&runnable->state);
    if (RTI_LIKELY(state == RTI_RUNNABLE_PARKED)) {
        rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_READY);
        return true;
    }
    RT_ASSERT(state == RTI_RUNNABLE_RUNNING);
    rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_WOKEN);
    return false;
}

/* The same with one worker, for who knows that it is parked: whoever runs is not on its way there.
 */
static inline void rti_runnable_to_woken_here(struct rti_runnable *runnable)
{
    RT_DCHECK(!rti_runnable_is_shared(runnable));
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_PARKED);
    rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_READY);
}

/* The end of the way to park. Returns false if a wake came first: then it is READY and the caller
 * must queue it. */
static inline bool rti_runnable_to_parked(struct rti_runnable *runnable)
{
    if (RTI_UNLIKELY(rti_runnable_is_shared(runnable))) {
        return rti_runnable_to_parked_shared(runnable);
    }
    uint32_t state = rti_u32_load_relaxed(&runnable->state);
    if (RTI_LIKELY(state == RTI_RUNNABLE_RUNNING)) {
        rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_PARKED);
        return true;
    }
    RT_ASSERT(state == RTI_RUNNABLE_WOKEN);
    rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_READY);
    return false;
}

/* The same with one worker, for who has given nobody a way to wake it yet. */
static inline void rti_runnable_to_parked_here(struct rti_runnable *runnable)
{
    RT_DCHECK(!rti_runnable_is_shared(runnable));
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_RUNNING);
    rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_PARKED);
}

#endif
