/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_FIBER_H
#define RTI_FIBER_H

/* A fiber is a runnable with a stack of its own, and this is the one place that suspends.
 *
 * A fiber leaves the processor in three ways: it yields (stays ready), parks (until its wait is
 * claimed) or ends. errno belongs to the fiber: it is kept across every suspension, whatever thread
 * the fiber continues on.
 *
 * Everything that has to happen on both sides of a switch happens before it, on the side that
 * leaves: the errno of the next fiber is put in place, and whether it may run at all is known. So
 * the code behind a yield's switch is the caller's own, and the switch can return to it by a jump.
 *
 * Killing. A kill marks the fiber and claims its wait if it has one. A fiber that is parked in a
 * wait has waiters on its stack: it is dispatched once more, unlinks them where it parked, and ends
 * without returning to its caller. One that yielded, or has not begun, holds nothing and does not
 * run again. A fiber that runs is never interrupted.
 *
 * I1  `wait` is not NULL iff the fiber is parked or on its way from or to park.   (rti_fiber_park)
 * I2  `on_done` is called exactly once, on the worker's stack, when nothing of the fiber's stack is
 *     in use or linked anywhere; the memory is its maker's from then on.      (rti_fiber_settle)
 * I3  What the fiber's cleanup stack holds is run before on_done, once.       (rti_fiber_settle)
 * I4  A fiber's function returns in the context that it was entered with.     (fiber_entry)
 *
 * Costs: a yield to another fiber of the same level is one switch, one queue, one pick and the two
 * guard words: see bench/sched_bench. */

#include "base/peek.h"
#include "sched/cancel.h"
#include "sched/cleanup.h"
#include "sched/scheduler.h"
#include "sched/stack.h"
#include "sched/wait.h"

/* How a fiber came to its end. */
enum rti_fiber_end {
    RTI_FIBER_RETURNED,   /* its function returned */
    RTI_FIBER_EXITED,     /* it called rti_fiber_exit */
    RTI_FIBER_KILLED,     /* rti_fiber_kill */
    RTI_FIBER_OVERFLOWED, /* its stack was too small: a guard word, the guard page or the reserve */
    RTI_FIBER_FAULTED,    /* a fault was contained: sched/fault.h */
};

struct rti_cx;         /* sync/cx.h */
struct rti_task;       /* task/task.h */
struct rti_stack_slab; /* sched/stack_slab.h */

/* The berth: room for the wait that a fiber enters most often, kept from one time to the next so
 * that what never changes is written once. Who uses it says what lies there (sync/channel_berth.h).
 * It lies above the frames on the fiber's stack (RTI_STACK_TOP_ROOM), in the page that every fiber
 * touches, and is gone with the stack: another fiber's may lie there then. Where memory is scarce
 * there is none. */
#define RTI_HAS_BERTH (!RTI_ONE_WORKER)

/* Do stacks come from slabs? A small machine has its arena. */
#define RTI_HAS_SLABS (!RTI_ONE_WORKER)

/* What all fibers of a kind do: actors, tasks, others. */
struct rti_fiber_kind {
    void (*main)(struct rti_fiber *fiber);    /* at its first turn: calls its function */
    void (*on_done)(struct rti_fiber *fiber); /* at its end: I2 */
#if !RTI_ONE_WORKER
    /* on_done in a section of who works alone, for one that has returned, whose stack is the
     * caller's then: the last it does is to let others see the end, and before that it calls
     * rti_fiber_depart_alone. False: more is to be done, and nothing has changed. NULL: always. */
    bool (*end_alone)(struct rti_fiber *fiber, struct rti_worker *worker);
#endif
};

struct rti_fiber {
    struct rti_runnable run;
    rti_atomic_u32 killed;  /* not 0: ends at its next dispatch */
    uint8_t end;            /* enum rti_fiber_end, valid in on_done */
    uint8_t fault;          /* enum rti_fault_kind, valid if it faulted */
    uint8_t blocking_depth; /* of rt_blocking_enter */
    uint8_t pin_depth;      /* of rt_pin */
#if RT_KEEP_ERRNO
    int saved_errno; /* while it does not run */
#endif
#if RTI_HAS_SLABS
    bool is_of_slab; /* its stack is from sched->slab; else its maker knows */
#endif
#if RT_HAS_TASKS
    bool is_hindered; /* its context is limited or, with one worker, cancelled: ask it each time */
#endif
#if !RTI_ONE_WORKER
    bool is_self_settling; /* its stack is good for settling it there: sched/fiber_life.c */
#endif
#if RTI_HAS_BERTH
    bool is_berth_ready; /* what never changes is written there */
#endif
    struct rti_wait *wait;      /* what it is parked on */
    struct rti_context context; /* where it continues */
    struct rti_stack stack;     /* none: it takes one from the slab when it first runs */
    union {
        void (*fn)(void *arg);         /* what it runs, as its kind does that */
        void *(*fn_valued)(void *arg); /* of a task */
        struct rti_task *next_slot;    /* of a task that does not run: task/task.h */
    };
    void *arg; /* of the function; what that has returned */
#if RT_HAS_TASKS
    struct rti_cancel *cancel;    /* that of its context, which begins with it; NULL: it has none */
    struct rti_cleanups cleanups; /* what it holds: the cleanup stack */
#endif
    struct rti_sched *sched; /* where it was started */
#if RTI_HAS_TOOLS
#if RTI_ONE_WORKER
    uint64_t parked_ns; /* the scheduler's clock at its last park */
#endif
    struct rti_origin origin; /* who started it, and where (rti_fiber_tell_origin) */
#endif
#if RTI_HAS_BERTH
    /* Several workers: where it has last waited alone, a struct rti_channel_lock, or is about to;
     * NULL: nowhere yet, or it has ended, and its berth may be another's. Who wants to end its wait
     * looks there (sched/passing.h). */
    rti_atomic_ptr alone_at;
#endif
};

/* Its cancellation and budget; NULL: it has neither. */
static inline struct rti_cx *rti_fiber_cx(const struct rti_fiber *fiber)
{
#if RT_HAS_TASKS
    return (struct rti_cx *)(void *)fiber->cancel;
#else
    (void)fiber;
    return NULL;
#endif
}

/* The cancellation of that; NULL: it cannot be cancelled. */
static inline struct rti_cancel *rti_fiber_cancel(const struct rti_fiber *fiber)
{
#if RT_HAS_TASKS
    return fiber->cancel;
#else
    (void)fiber;
    return NULL;
#endif
}

/* Its logical deadline, that of its budget; RTI_TIME_NEVER: it has none. */
static inline uint64_t rti_fiber_deadline(const struct rti_fiber *fiber)
{
#if RT_HAS_TASKS
    return fiber->sched->deadline_of == NULL ? RTI_TIME_NEVER : fiber->sched->deadline_of(fiber);
#else
    (void)fiber;
    return RTI_TIME_NEVER;
#endif
}

/* It has neither, and holds nothing. */
static inline void rti_fiber_unburden(struct rti_fiber *fiber)
{
#if RT_HAS_TASKS
    fiber->cancel = NULL;
    fiber->is_hindered = false;
    rti_cleanups_init(&fiber->cleanups);
#else
    (void)fiber;
#endif
}

/* Several workers: it has ended, and who looks for it where it last waited alone shall not. Before
 * its stack is given away: who finds another's berth there has that one's lock, and so sees it. */
static inline void rti_fiber_settle_nowhere(struct rti_fiber *fiber)
{
#if RTI_HAS_BERTH
    rti_ptr_store_relaxed(&fiber->alone_at, NULL);
#else
    (void)fiber;
#endif
}

/* Does it hold nothing? */
static inline bool rti_fiber_is_clean(const struct rti_fiber *fiber)
{
#if RT_HAS_TASKS
    return rti_cleanups_are_none(&fiber->cleanups) && !fiber->is_hindered;
#else
    (void)fiber;
    return true;
#endif
}

/* Gives back what it holds. */
static RTI_ALWAYSINLINE void rti_fiber_clean_up(struct rti_fiber *fiber)
{
#if RT_HAS_TASKS
    rti_cleanup_run_all(&fiber->cleanups);
#else
    (void)fiber;
#endif
}

/* Says whether it may be settled on its own stack. Where stacks are small it never is. */
static RTI_ALWAYSINLINE void rti_fiber_set_self_settling(struct rti_fiber *fiber, bool is_good)
{
#if RTI_ONE_WORKER
    (void)fiber, (void)is_good;
#else
    fiber->is_self_settling = is_good;
#endif
}

#if RTI_HAS_TOOLS
/* Where it is said when the fiber began to wait, as long as it is parked. */
static inline const uint64_t *rti_fiber_parked_ns(const struct rti_fiber *fiber)
{
#if RTI_ONE_WORKER
    return &fiber->parked_ns;
#else
    return &fiber->run.parked_ns;
#endif
}
#endif

/* Notes when the fiber began to wait: it runs, is in no queue, and is in none until it has parked
 * and is woken. */
static RTI_ALWAYSINLINE void rti_fiber_note_parked(struct rti_fiber *fiber, uint64_t now_ns)
{
#if RTI_HAS_TOOLS && RTI_ONE_WORKER
    fiber->parked_ns = now_ns;
#elif RTI_HAS_TOOLS
    fiber->run.parked_ns = now_ns;
#else
    (void)fiber;
    (void)now_ns;
#endif
}

struct rti_fiber_options {
    uint32_t id;
    uint8_t priority;
    /* Prepared by rti_stack_init, lent until on_done. All NULL: the fiber's own `stack` has been
     * prepared in place. */
    struct rti_stack stack;
    const struct rti_fiber_kind *kind; /* its main is rti_fiber_call, or knows what to do with: */
    void (*fn)(void *arg);
    void *arg;
    const void *site; /* the code that starts it, RTI_CALL_SITE(); NULL: not known */
};

/* Its scheduler, for who does not know whether its slot is just being made: then NULL. */
static inline const struct rti_sched *rti_fiber_peek_sched(const struct rti_fiber *fiber)
{
    const struct rti_sched *sched = NULL;
    (void)rti_peek_copy(NULL, (void *)&sched, &fiber->sched, sizeof(sched));
    return sched;
}

#if RTI_HAS_TOOLS
/* Where it was started, and its ancestors, youngest first; NULL ends the chain. Any thread, signal
 * handler. */
static inline void rti_fiber_tell_origin(const struct rti_fiber *fiber,
                                         const void *sites[RTI_ORIGIN_SITES])
{
#if RTI_ONE_WORKER
    sites[0] = fiber->origin.sites[0];
#else
    const struct rti_sched *sched = rti_fiber_peek_sched(fiber);
    uint32_t number = 0;
    sites[0] = NULL;
    (void)rti_peek_copy(NULL, &number, &fiber->origin.number, sizeof(number));
    if (sched != NULL) {
        rti_origins_tell(&sched->origins, number, sites, NULL);
    }
#endif
}
#endif

/* The main of a kind: fn(arg), and nothing else. */
void rti_fiber_call(struct rti_fiber *fiber);

/* Prepares a fiber in the caller's memory; rti_fiber_start makes it ready. */
void rti_fiber_init(struct rti_fiber *fiber, const struct rti_fiber_options *options);
void rti_fiber_start(struct rti_sched *sched, struct rti_fiber *fiber);

/* The fiber that calls this; NULL on a worker's own stack and outside of the runtime. */
struct rti_fiber *rti_fiber_current(void);

/* Lets every other ready fiber of the same or a more urgent level run first. */
void rti_fiber_yield(struct rti_worker *worker);

/* The wake of a fiber's wait: queues the fiber. */
void rti_fiber_wake(struct rti_wait *wait);

/* The same with several workers, behind those that are ready here (rti_crew_wake_behind). */
static inline void rti_fiber_wake_behind(struct rti_wait *wait)
{
#if RTI_ONE_WORKER
    rti_fiber_wake(wait);
#else
    struct rti_fiber *fiber = wait->target;
    RTI_PROBE1(ready, fiber->run.id);
    rti_sched_wake_behind(fiber->sched, &fiber->run);
#endif
}

/* The same for a call that goes straight, or its twin (`is_noted`): the fiber whose wait it has
 * claimed is parked. `what` is the word of a recording. */
static RTI_ALWAYSINLINE void rti_fiber_wake_straight(struct rti_worker *worker,
                                                     struct rti_fiber *fiber, enum rti_note what,
                                                     bool is_noted)
{
    RT_DCHECK(rti_worker_is_straight(worker));
    RTI_PROBE1(ready, fiber->run.id);
    if (is_noted) {
        rti_worker_note(worker, what, 0, fiber->run.id);
    }
    rti_runnable_to_woken_here(&fiber->run);
    rti_processor_queue_at(rti_worker_processor(worker), &fiber->run, fiber->run.priority);
}

#if RT_HAS_TASKS
/* Says whether the fiber is hindered. One that has come to its end is not. */
static inline void rti_fiber_hinder(struct rti_sched *sched, struct rti_fiber *fiber,
                                    bool is_hindered)
{
    if (fiber->is_hindered == is_hindered) {
        return;
    }
    fiber->is_hindered = is_hindered;
    if (rti_sched_is_local(sched)) {
        RT_ASSERT(is_hindered || sched->hindered > 0);
        sched->hindered += is_hindered ? 1 : UINT32_MAX;
        if (sched->hindered <= 1) {
            rti_sched_straighten(sched);
        }
    }
}
#endif

/* Begins a wait of the current fiber. */
static inline void rti_fiber_wait_begin(struct rti_worker *worker, struct rti_wait *wait)
{
    RT_ASSERT(worker->fiber != NULL);
    rti_wait_begin(wait, rti_fiber_wake, worker->fiber, worker->sched->is_local);
}

/* Parks until the wait is claimed, unlinks what is left of it and gives the event that claimed it.
 * Does not return if the fiber is killed meanwhile. */
uint32_t rti_fiber_park(struct rti_worker *worker, struct rti_wait *wait);

/* The same, but leaves it to the caller to finish the wait, or to know that nothing is linked. */
uint32_t rti_fiber_park_open(struct rti_worker *worker, struct rti_wait *wait);

/* Ends the current fiber. */
_Noreturn void rti_fiber_exit(struct rti_worker *worker);

/* Ends the current fiber, whose stack is used up. */
_Noreturn RTI_COLD void rti_fiber_overflow(struct rti_worker *worker);

/* Ends the fiber of the worker `arg`, which stands somewhere in its own code and is never gone back
 * to; `end` says how. Runs on the worker's stack, below its frames, and does not return. Only for
 * the landing of a fault. */
void rti_fiber_abandon(void *arg);

/* Ends another fiber, or the current one. Returns false if it is already marked, ending or done. */
bool rti_fiber_kill(struct rti_sched *sched, struct rti_fiber *fiber);

/* Has it been killed? It may then end at any suspension. */
static inline bool rti_fiber_is_killed(const struct rti_fiber *fiber)
{
    return rti_u32_load_relaxed(&fiber->killed) != 0;
}

/* With several workers: ends the wait of a fiber that is marked as killed, if it is parked. */
void rti_fiber_kill_parked(struct rti_sched *sched, struct rti_fiber *fiber);

/* Scheduler only: takes apart a fiber that ended or overflowed. */
void rti_fiber_settle(struct rti_sched *sched, struct rti_fiber *fiber);

/* Ends the calling fiber if it has no stack left for a call of the runtime; else, if it is
 * summoned, asks it what it is to be asked (preempt.h). The caller is a public function and has
 * done nothing yet. Its worker stays what it is, but may have no station any more. */
static RTI_ALWAYSINLINE void rti_worker_check_stack(struct rti_worker *worker)
{
    struct rti_fiber *fiber = worker->fiber;
    /* Two guesses: most calls come from a fiber, and are not to jump about because of it. */
    if (RTI_LIKELY(fiber != NULL) && RTI_UNLIKELY(rti_arch_stack_pointer() < fiber->stack.limit)) {
#if RTI_ONE_WORKER
        /* By a jump, so that whoever asks needs no frame for an answer that never comes. */
        __asm__ volatile("mov r0, %0\n\tb rti_fiber_overflow" ::"r"(worker));
        __builtin_unreachable();
#else
        if (RTI_EXPLORED || rti_arch_stack_pointer() < rti_stack_limit(&fiber->stack)) {
            rti_fiber_overflow(worker);
        }
        rti_arch_at_limit();
#endif
    }
}

/* The fiber's function has come back without a worker: it was left by a fork. */
_Noreturn RTI_COLD void rti_fiber_forked(void);

/* The worker of a fiber whose function has come back: another one than before, or none if it forked
 * and this is the child. */
static inline struct rti_worker *rti_fiber_worker(void)
{
    struct rti_worker *worker = rti_worker_here();
    if (!RTI_ONE_WORKER && RTI_UNLIKELY(worker == NULL)) {
        rti_fiber_forked();
    }
    return worker;
}

/* The worker of the calling thread, for a public function: the first thing it asks, before it has
 * changed anything. Here a fiber that has no stack left for the call comes to its end. A function
 * that needs no stack itself takes rti_worker_here and leaves the check to what it goes on to. */
static RTI_ALWAYSINLINE struct rti_worker *rti_worker_enter_inline(void)
{
    struct rti_worker *worker = rti_worker_here();
    if (RTI_LIKELY(worker != NULL)) {
        rti_worker_check_stack(worker);
    }
    return worker;
}

/* The same; where flash is scarce it is there once. */
#if RTI_ONE_WORKER
struct rti_worker *rti_worker_enter(void);
#else
static RTI_ALWAYSINLINE struct rti_worker *rti_worker_enter(void)
{
    return rti_worker_enter_inline();
}
#endif

/* The fiber that calls this, or NULL, in the same way. */
static RTI_ENTERING struct rti_fiber *rti_fiber_enter(void)
{
    struct rti_worker *worker = rti_worker_enter();
    return worker == NULL ? NULL : worker->fiber;
}

/* Is it an actor's? Without tasks there are no others. */
static inline bool rti_fiber_is_actor(const struct rti_fiber *fiber)
{
    return !RT_HAS_TASKS || fiber->run.is_actor;
}

static inline struct rti_fiber *rti_fiber_of(struct rti_runnable *runnable)
{
    RT_DCHECK(runnable->is_fiber);
    return RTI_CONTAINER_OF(runnable, struct rti_fiber, run);
}

#endif
