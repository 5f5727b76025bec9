/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SCHEDULER_H
#define RTI_SCHEDULER_H

/* The scheduler: one worker (the thread), one processor (what is ready), one port (the world
 * outside).
 *
 * A turn, on the worker's own stack:
 *
 *     +--> look       completions of ops, posts of other threads, expired timers
 *     |    pick       the most urgent runnable that has waited longest
 *     |    dispatch   its step; a fiber runs until it yields, parks or ends
 *     |    settle     a fiber that ended is taken apart here, off its own stack
 *     +--- idle       nothing ready: one blocking call, until the next deadline
 *
 * A look takes what is there in batches of bounded size, and what is left raises the next look: no
 * flood of completions, posts or expiries keeps what is ready from its turn.
 *
 * Most turns never come here: a fiber that suspends picks the next one itself and switches straight
 * to it, one switch instead of two. It comes back to this stack when a look is due, when something
 * other than a fiber is next, when nothing is, or when its stack guard is broken. So the code of
 * timers, ops and endings runs on this stack alone and a fiber's stack need hold only its own
 * frames.
 *
 * When a look is due. Reading the clock costs several switches, so it is not read in every turn.
 * The distance doubles from one turn up to `look_interval_max` as long as looks follow each other
 * within LOOK_NEAR_NS, and falls back to every turn as soon as turns are long. An event that is
 * known to wait (a post, a completion, a timer of zero) raises `attention` and is seen in the very
 * next turn. With a chooser or a journal the interval is one: every decision passes through here
 * and is recorded.
 *
 * The port is a system call away, so it is not asked in every look, but after RT_PORT_LOOK_NS. What
 * it would give is queued behind what it gave last: while that has not had its turns, counted as
 * many turns as there were completions, four times as long may go by. Beside those who only compute
 * it is asked as often as ever, for they were not given by it, and so it is before a timer fires:
 * what has come before a limit counts before the limit.
 *
 * I1  `live` is the number of runnables started and not yet settled.            (rti_sched_audit)
 * I2  Only the worker's thread touches anything here but the posts.            (RT_DCHECK)
 * I3  The worker blocks only in port->wait, and only when nothing is ready.     (sched_idle)
 *
 * Rejected: running timers and endings on the stack of whichever fiber suspended (small stacks
 * overflow in code their owner never wrote); a scheduler fiber switched to at every turn (twice the
 * switches). */

#include <orrery/rt_static_config.h>

#include <orrery/rt/trace.h>

#include "base/journal.h"
#include "base/mpsc.h"
#include "base/probe.h"
#include "port/port.h"
#include "sched/context.h"
#include "sched/origin.h"
#include "sched/processor.h"
#include "sched/recorder.h"
#include "sched/worker_local.h"

struct rti_crew; /* sched/crew.h */
struct rti_fiber;
struct rti_lock;           /* sched/lock.h */
struct rti_member;         /* sched/crew.h */
struct rti_overrun_report; /* sched/overrun.h */
struct rti_sched;
struct rti_station; /* sched/station.h */

/* Where the timers are kept is the business of time/; this is all the scheduler asks of it. */
struct rti_timer_source {
    uint64_t (*next_deadline)(void *context);         /* RTI_TIME_NEVER if none */
    size_t (*expire)(void *context, uint64_t now_ns); /* fires what is due */
    void *context;
};

/* Do trace contexts go with messages? On a small machine they stay with their tasks. */
#define RTI_TRACES_TRAVEL (RT_TRACE && RT_MAX_WORKERS > 1)

/* Is anything in the library that asks for its module in the quickest way? */
#define RTI_GOES_STRAIGHT (RT_HAS_TASKS || RT_HAS_BEHAVIOURS)

struct rti_stack_slab; /* sched/stack_slab.h */

struct rti_worker {
    struct rti_fiber *fiber; /* runs here now; NULL on the worker's own stack */
#if !RTI_ONE_WORKER
    struct rti_processor *processor;
#endif
    struct rti_sched *sched;
#if RT_KEEP_ERRNO
    int *errno_address; /* this thread's */
#endif
    int32_t turns_until_look;     /* taken down by each turn; none left: a look is due */
    rti_atomic_u32 *attention;    /* the port's: any thread sets it; cleared before a look */
    struct rti_runnable *handoff; /* picked by a fiber, to be stepped on this stack */
    struct rti_fiber *departed;   /* ended or overflowed, to be settled on this stack */
#if RTI_GOES_STRAIGHT
    void *const *straight; /* the modules, for calls that go straight; or rti_sched_no_modules */
#endif
    rti_count turns;     /* dispatches from this stack; all of them while observed */
    uint32_t reductions; /* blocks that counted themselves: sched/reductions.c */
#if RT_CHECKS || !RTI_ONE_WORKER
    uint32_t locks_held; /* a bit per rank of sched/lock.h; checked builds only */
#endif
#if RT_HAS_BEHAVIOURS
    void *turn;          /* of the behaviour that runs on this stack now; else NULL */
    void *straight_turn; /* the same, if what it sends goes straight, and nobody is told */
#if !RTI_ONE_WORKER
    void *shared_turn; /* the same with several workers, if nothing is recorded and the station has
                          a cache of messages */
#endif
#endif
#if RTI_TRACES_TRAVEL
    struct rt_trace turn_trace; /* the context of the message that it handles */
#endif
#if RT_HAS_TASKS
    uint64_t luck; /* the draws of fair choices (sync/select.c); 0: not begun */
#endif
#if RTI_RECORDS
    struct rti_recorder recorder; /* what it did last */
    void *const *noted;           /* as `straight`, for the twins of those calls while it records */
#endif
    struct rti_context context; /* the worker's own stack */
#if !RTI_ONE_WORKER
    struct rti_member *member;
    struct rti_station *station; /* what it runs at; NULL: it may run nothing */
    struct rti_fiber *leaving;   /* suspended, to be made visible to others when it is left */
    struct rti_lock *passed;     /* what `leaving` parks with, to be given back then; NULL: none */
    struct rti_station *lent;    /* let go of in a blocking call; may be another's by now */
    bool is_parking;             /* `leaving` parks; else it yields */
    uint64_t now_ns;             /* the clock at its last look */
    rti_atomic_u32 is_solo;      /* it works alone, and */
    rti_atomic_u32 is_inside;    /* is in a section that relies on that: see sched/solo.h */
    struct rti_origin_last last_origin;
#endif
};

/* Each module of the runtime hangs its state here; the runtime assembles them. */
enum rti_module {
    RTI_MODULE_STACKS,
    RTI_MODULE_ACTOR,
    RTI_MODULE_ACTOR_TIMER,
#if RT_HAS_BUS
    RTI_MODULE_BUS,
#endif
#if RT_HAS_TASKS
    RTI_MODULE_IO,
    RTI_MODULE_CHANNEL,
    RTI_MODULE_TASK,
    RTI_MODULE_ASYNC,
#endif
    RTI_MODULE_SUPERVISOR,
    RTI_MODULE_BEHAVIOUR,
    RTI_MODULE_BLOB,
    RTI_MODULE_HEAP,
    RTI_MODULE_GROUP,
#if RT_HAS_TASKS
    RTI_MODULE_POOL,
    RTI_MODULE_SIGNAL,
#endif
    RTI_MODULE_VISIT,
    RTI_MODULE_COUNT,
};

/* Those who keep contexts: actors and tasks. */
enum { RTI_TRACER_ACTOR, RTI_TRACER_TASK, RTI_TRACERS };

/* Who is to be told of what happens: the bits of `told`. */
enum rti_told {
    RTI_TOLD_JOURNAL = 1, /* `journal` is one */
    RTI_TOLD_TRACES = 2,  /* a trace context was set: sched/trace.h */
};

struct rti_sched {
    struct rti_worker worker;
    struct rti_processor processor;
    struct rti_port *port;
    struct rti_timer_source timers;
#if RT_TRACE
    struct rti_chooser *chooser; /* NULL: first come, first served */
    rti_atomic_ptr journal;      /* struct rti_journal; NULL: nothing is recorded */
    rti_atomic_u32 told;         /* enum rti_told: who hears of each message and turn */
#endif
#if RT_HAS_TASKS
    struct rt_trace *(*tracers[RTI_TRACERS])(struct rti_fiber *fiber); /* who knows whose context */
#endif
#if !RTI_ONE_WORKER
    struct rti_crew *crew; /* the workers, if there are several; NULL: is_local */
#endif
    struct rti_mpsc posts; /* calls that other threads want made here */
    uint64_t now_ns;       /* the clock at the last look; may be old, never ahead */
#if !RTI_ONE_WORKER
    uint64_t port_looked_ns; /* when the port was last asked for completions */
    int64_t port_brought;    /* what it gave then, less the turns since */
    bool is_port_fresh;      /* it was asked while nothing was ready, and no look was since */
#endif
#if RTI_RECORDS
    rti_atomic_ptr recording; /* struct rti_recording: asked of every worker; NULL: never yet */
#endif
    int32_t look_interval;
    int32_t look_interval_max;
    uint32_t live;
    uint32_t hindered; /* fibers that are (sched/fiber.h); one worker only */
    bool is_local;     /* one worker: waits are claimed without locked instructions */
    bool is_stopping;
    bool is_running;      /* inside rti_sched_run */
    bool catches_faults;  /* the port shows them to the policy of sched/fault.h */
    bool contains_faults; /* a fault in a fiber ends that fiber alone */
    bool is_look_wanted;  /* something is known to be due */
#if RT_TRACE
    void (*on_idle)(struct rti_sched *sched); /* before the one worker waits; NULL: nothing */
#endif
#if !RTI_ONE_WORKER
    /* A turn of some worker takes too long (sched/overrun.h). In a signal handler on its own
     * thread; NULL: nobody wants to know. */
    void (*on_overrun)(struct rti_sched *sched, const struct rti_overrun_report *report);
    /* Several workers: lets others claim the wait of a fiber that waits alone at a channel, as they
     * can any other's. NULL: nobody ever does. Holds no lock when it returns. */
    void (*unfold)(struct rti_sched *sched, struct rti_fiber *fiber);
#endif
#if RT_TRACE
    uint64_t steps_max; /* observed turns after which a run gives up; 0: never */
#endif
#if RT_HAS_TASKS
    /* The logical deadline of a fiber, for policies that order by it; NULL: no fiber has one. */
    uint64_t (*deadline_of)(const struct rti_fiber *fiber);
#endif
    void *modules[RTI_MODULE_COUNT];
#if !RTI_ONE_WORKER
    struct rti_stack_slab *slab; /* stacks for fibers that take theirs when they first run */
    struct rti_origins origins;  /* where those come from that run */
#endif
};

/* Says where stacks come from that are taken at the first turn. */
static inline void rti_sched_set_slab(struct rti_sched *sched, struct rti_stack_slab *slab)
{
#if RTI_ONE_WORKER
    (void)sched, (void)slab;
#else
    sched->slab = slab;
#endif
}

/* What the worker picks from. Where there is one worker it lies beside it. */
static RTI_ALWAYSINLINE struct rti_processor *rti_worker_processor(struct rti_worker *worker)
{
#if RTI_ONE_WORKER
    return &RTI_CONTAINER_OF(worker, struct rti_sched, worker)->processor;
#else
    return worker->processor;
#endif
}

/* The scheduler of the one worker of an engine that has no other: the worker lies in it, and
 * nothing has to be loaded. */
static RTI_ALWAYSINLINE struct rti_sched *rti_worker_lone_sched(struct rti_worker *worker)
{
    struct rti_sched *sched = RTI_CONTAINER_OF(worker, struct rti_sched, worker);
    RT_DCHECK(worker->sched == sched);
    return sched;
}

/* What a scheduler and a worker have only where there can be several workers: for code that asks
 * first whether there are. */
static inline struct rti_crew *rti_sched_crew(const struct rti_sched *sched)
{
#if RTI_ONE_WORKER
    (void)sched;
    return NULL;
#else
    return sched->crew;
#endif
}

static inline struct rti_member *rti_worker_member(const struct rti_worker *worker)
{
#if RTI_ONE_WORKER
    (void)worker;
    return NULL;
#else
    return worker->member;
#endif
}

static inline struct rti_station *rti_worker_station(const struct rti_worker *worker)
{
#if RTI_ONE_WORKER
    (void)worker;
    return NULL;
#else
    return worker->station;
#endif
}

/* The clock at the last look of the worker. */
static inline uint64_t rti_worker_looked_at(const struct rti_worker *worker)
{
#if RTI_ONE_WORKER
    return worker->sched->now_ns;
#else
    return worker->now_ns;
#endif
}

/* One worker? Where there can be no more the compiler knows. */
static inline bool rti_sched_is_local(const struct rti_sched *sched)
{
    return RT_MAX_WORKERS == 1 || sched->is_local;
}

/* Straight. The calls that are made for every value and message ask worker->straight instead of
 * sched->modules for their module. What they find there is theirs alone (one worker) and nobody
 * watches (no journal), so that one load answers three questions; otherwise they find NULL and go
 * the long way. A recording does not slow them down: while one is on they find their module in
 * worker->noted, by a second look, and do the same with the words for it added. So a call that goes
 * straight does not ask whether anybody records, and a recorded one pays for its words alone.
 *
 * Those of channels are check points of the calling fiber too. While no fiber at all is hindered
 * (sched/fiber.h) there is nothing to check, whoever calls: rti_clear_here() answers this question
 * with the others, and whether the thread is a worker at all. Otherwise each call asks its own
 * fiber. */
extern void *const rti_sched_no_modules[RTI_MODULE_COUNT];

/* A call that another thread asks the worker to make: caller-owned until `call` runs. */
struct rti_post {
    struct rti_mpsc_node node;
    void (*call)(struct rti_post *post);
};

/* Prepares a scheduler for the calling thread. `timers` may have NULL functions: no timers then.
 * Returns RT_ERR_STATE if this thread already has one, RT_ERR_UNSUPPORTED with a sentence if the
 * processor's shadow stack is on. */
rt_status rti_sched_init(struct rti_sched *sched, struct rti_port *port,
                         const struct rti_timer_source *timers);
/* Forgets what is still live or posted. The port stays, and its threads may still call it. */
void rti_sched_deinit(struct rti_sched *sched);

/* Records every decision and, with a chooser, lets it decide among equals. With several workers,
 * who know no chooser, what was recorded before is in the journal when this returns. */
void rti_sched_observe(struct rti_sched *sched, struct rti_journal *journal,
                       struct rti_chooser *chooser);

/* Turns until nothing is live and posted (RT_OK), rti_sched_stop was called (RT_OK), nothing can
 * ever run again (RT_ERR_DEADLOCK; only a port that can know says so) or steps_max turns were made
 * (RT_ERR_LIMIT). */
rt_status rti_sched_run(struct rti_sched *sched);

/* Makes rti_sched_run return after the current turn. Worker's thread only. */
void rti_sched_stop(struct rti_sched *sched);

/* Makes a new runnable ready; it is live until rti_sched_settle. */
void rti_sched_start(struct rti_sched *sched, struct rti_runnable *runnable);

/* The same, before all of its level that are ready here. */
void rti_sched_start_first(struct rti_sched *sched, struct rti_runnable *runnable);

/* Says that a runnable other than a fiber has come to its end; called from its own step. */
void rti_sched_end(struct rti_sched *sched, struct rti_runnable *runnable);

/* Says that one that was started has come to its end. */
void rti_sched_settled(struct rti_sched *sched);

/* The same with one worker. */
static RTI_ALWAYSINLINE void rti_sched_settled_here(struct rti_sched *sched)
{
    /* One subtraction, whose sign tells whether there was one. */
    int32_t left = (int32_t)--sched->live;
    RT_ASSERT(left >= 0);
}

/* How many are started and not yet settled. Exact on one worker; with several while none of them
 * runs. */
uint64_t rti_sched_live(const struct rti_sched *sched);

/* Has `post->call` called on the worker's stack, soon. Any thread; lock-free; order per thread. */
void rti_sched_post(struct rti_sched *sched, struct rti_post *post);

/* What a suspending fiber does when a look is due: reads the clock on its own stack. False, and the
 * next look is put off, if neither the port nor a timer needs the worker's stack. */
bool rti_sched_glance(struct rti_sched *sched);

/* Calls what was posted, in bounded numbers. False if there was nothing. One thread at a time: the
 * worker's, or the one that is in the crew's poller. */
bool rti_sched_drain_posts(struct rti_sched *sched);

/* With several workers: the worker lets go of its station, and the warden may give it to another.
 * On the worker's own thread, while its fiber is outside of the runtime or about to block; safe in
 * a signal handler. */
void rti_worker_let_go(struct rti_worker *worker);

/* The end of it: true if the worker has a station again, its own or an idle one. */
bool rti_worker_come_back(struct rti_worker *worker);

/* rti_sched_attend and _wake with several workers. */
RTI_COLD void rti_sched_attend_shared(void);
void rti_sched_wake_shared(struct rti_sched *sched, struct rti_runnable *runnable);

/* The latter, behind those of its level that are ready here (rti_crew_wake_behind). */
void rti_sched_wake_behind(struct rti_sched *sched, struct rti_runnable *runnable);

/* Says that an event is already due: the next turn looks. Worker's thread. */
static inline void rti_sched_attend(struct rti_sched *sched)
{
    if (RTI_LIKELY(rti_sched_is_local(sched))) {
        sched->is_look_wanted = true;
        sched->worker.turns_until_look = 0;
    } else {
        rti_sched_attend_shared();
    }
}

/* The clock, read now. What is armed relative to an old reading could be early. */
static inline uint64_t rti_sched_clock(struct rti_sched *sched)
{
    return sched->port->ops->clock_ns(sched->port);
}

/* Is a journal written, or does a trace context travel? Then nothing takes the shortest way. */
static RTI_ALWAYSINLINE bool rti_sched_is_told(const struct rti_sched *sched)
{
#if RT_TRACE
    return rti_u32_load_relaxed(&sched->told) != 0;
#else
    (void)sched;
    return false;
#endif
}

/* Who decides what runs next; NULL: first come, first served. */
static inline struct rti_chooser *rti_sched_chooser(const struct rti_sched *sched)
{
#if RT_TRACE
    return sched->chooser;
#else
    (void)sched;
    return NULL;
#endif
}

/* Where what happens is written down; NULL: nowhere. */
static inline struct rti_journal *rti_sched_journal(const struct rti_sched *sched)
{
#if RT_TRACE
    return rti_ptr_load_relaxed(&sched->journal);
#else
    (void)sched;
    return NULL;
#endif
}

/* Sets where what happens is written down. One worker, or under the crew's lock for it. */
void rti_sched_tell(struct rti_sched *sched, struct rti_journal *journal);

/* Writes an event into the journal that there was a moment ago. With several workers under the
 * crew's lock for it, with the clock as it is then: the order of the numbers is the order of the
 * times, and of what one worker did because of another. Any thread of the runtime's. */
RTI_COLD void rti_sched_write(struct rti_sched *sched, const struct rti_journal_event *event);

/* Writes an event into the journal, if there is one; inline, so that without one an event is not
 * even put together. */
static inline void rti_sched_record(struct rti_sched *sched, const struct rti_journal_event *event)
{
    if (RTI_UNLIKELY(rti_sched_journal(sched) != NULL)) {
        rti_sched_write(sched, event);
    }
}

/* Does it record? */
static RTI_ALWAYSINLINE bool rti_worker_records(const struct rti_worker *worker)
{
#if RTI_RECORDS
    return RTI_UNLIKELY(rti_ptr_load_relaxed(&worker->recorder.at) != NULL);
#else
    (void)worker;
    return false;
#endif
}

/* A module, for a call that may go straight; NULL if it may not. */
static RTI_ALWAYSINLINE void *rti_worker_straight(const struct rti_worker *worker,
                                                  enum rti_module module)
{
#if RTI_GOES_STRAIGHT
    return worker->straight[module];
#else
    (void)worker, (void)module;
    return NULL;
#endif
}

/* A module, for the twin of a call that goes straight; NULL unless it records. */
static RTI_ALWAYSINLINE void *rti_worker_noted(const struct rti_worker *worker,
                                               enum rti_module module)
{
#if RTI_RECORDS
    return worker->noted[module];
#else
    (void)worker, (void)module;
    return NULL;
#endif
}

/* May a call go straight, or its twin? For checks. */
static inline bool rti_worker_is_straight(const struct rti_worker *worker)
{
#if RTI_RECORDS
    if (worker->noted == worker->sched->modules) {
        return true;
    }
#endif
#if RTI_GOES_STRAIGHT
    return worker->straight == worker->sched->modules;
#else
    (void)worker;
    return true;
#endif
}

/* Adds a word to what the worker did last, if it records. */
static RTI_ALWAYSINLINE void rti_worker_note(struct rti_worker *worker, enum rti_note what,
                                             uint32_t detail, uint32_t id)
{
#if RTI_RECORDS
    rti_recorder_note(&worker->recorder, what, detail, id);
#else
    (void)worker, (void)what, (void)detail, (void)id;
#endif
}

/* The same for a function that may run on a thread without a worker. */
static inline void rti_worker_note_here(enum rti_note what, uint32_t detail, uint32_t id)
{
    struct rti_worker *worker = RTI_RECORDS ? rti_worker_here() : NULL;
    if (worker != NULL) {
        rti_worker_note(worker, what, detail, id);
    }
}

/* Takes one from the turns until the next look; false if none is left. Where an instruction can
 * take down what lies in memory it is the sign of the count that tells; elsewhere a comparison with
 * 0, before, is the shortest. */
static RTI_ALWAYSINLINE bool rti_worker_take_turn(struct rti_worker *worker)
{
#if defined(__arm__)
    int32_t turns = worker->turns_until_look;
    if (RTI_UNLIKELY(turns == 0)) {
        return false;
    }
    worker->turns_until_look = turns - 1;
    return true;
#else
    return RTI_LIKELY(--worker->turns_until_look >= 0);
#endif
}

/* Is the worker about to sleep? It says so. */
static inline void rti_worker_note_idle(struct rti_worker *worker)
{
#if RTI_RECORDS
    rti_recorder_note_pause(&worker->recorder, RTI_NOTE_IDLE);
#else
    (void)worker;
#endif
}

/* The name of what was started by the last word, on a thread of the runtime. */
static inline void rti_worker_note_name(const char *name)
{
#if RTI_RECORDS
    struct rti_worker *worker = rti_worker_here();
    if (worker != NULL && RTI_UNLIKELY(rti_ptr_load_relaxed(&worker->recorder.at) != NULL)) {
        rti_recorder_note_name(&worker->recorder, name);
    }
#else
    (void)name;
#endif
}

/* Says anew which calls may go straight: after a change of what is asked there. */
void rti_sched_straighten(struct rti_sched *sched);

/* Begins or ends to record if that was asked for since the last look. The worker's own thread. */
void rti_worker_follow(struct rti_worker *worker);

/* Queues a runnable with several workers that the caller has made READY, to run next here. */
void rti_sched_queue_shared(struct rti_sched *sched, struct rti_runnable *runnable);

/* Queues a runnable whose park was ended: with one worker behind all that are ready, or before all
 * of its level. */
static RTI_ALWAYSINLINE void rti_sched_wake_at(struct rti_sched *sched,
                                               struct rti_runnable *runnable, bool is_first)
{
    RTI_PROBE1(ready, runnable->id);
    if (RTI_UNLIKELY(!rti_sched_is_local(sched))) {
        rti_sched_wake_shared(sched, runnable);
        return;
    }
    RT_DCHECK(rti_worker_current() == &sched->worker);
    if (RTI_UNLIKELY(rti_sched_journal(sched) != NULL)) {
        rti_sched_record(
            sched, &(struct rti_journal_event){.kind = RTI_JOURNAL_WAKE, .task = runnable->id});
    }
    rti_worker_note(&sched->worker, RTI_NOTE_WAKE, 0, runnable->id);
    if (!rti_runnable_to_woken(runnable)) {
        return;
    }
    if (is_first) {
        rti_processor_stack(&sched->processor, runnable);
    } else {
        rti_processor_queue(&sched->processor, runnable);
    }
}

/* The former; called by wakes. */
static inline void rti_sched_wake(struct rti_sched *sched, struct rti_runnable *runnable)
{
    rti_sched_wake_at(sched, runnable, false);
}

/* For the step of a runnable without a stack that is done with its turn, with one worker: takes the
 * next one in the scheduler's place, RUNNING and counted as a dispatch, if it has the same step and
 * nothing keeps it from being next. NULL: the step returns, and the scheduler goes on. A chooser or
 * a journal has every turn looked at, so there is never one here. */
static RTI_ALWAYSINLINE struct rti_runnable *
rti_worker_go_on(struct rti_worker *worker,
                 void (*step)(struct rti_runnable *runnable, struct rti_worker *worker))
{
    RT_DCHECK(rti_sched_is_local(worker->sched) && worker->handoff == NULL);
    if (RTI_UNLIKELY(worker->turns_until_look <= 0 ||
                     rti_u32_load_relaxed(worker->attention) != 0 || rti_worker_records(worker))) {
        return NULL;
    }
    struct rti_processor *processor = rti_worker_processor(worker);
    struct rti_runqueue *level = rti_processor_urgent(processor);
    if (RTI_UNLIKELY(level == NULL || level->head->step != step)) {
        return NULL;
    }
    RT_DCHECK(rti_sched_journal(worker->sched) == NULL);
    RT_DCHECK(rti_sched_chooser(worker->sched) == NULL);
    struct rti_runnable *runnable = rti_processor_take(processor, level);
    rti_runnable_to_running(runnable);
    worker->turns++;
    (void)rti_worker_take_turn(worker);
    return runnable;
}

/* The step of every fiber: goes to its stack. */
void rti_fiber_step(struct rti_runnable *runnable, struct rti_worker *worker);

/* Gives it a turn. */
static RTI_ALWAYSINLINE void rti_worker_step(struct rti_worker *worker,
                                             struct rti_runnable *runnable)
{
    if (runnable->is_fiber) {
        rti_fiber_step(runnable, worker);
    } else {
        runnable->step(runnable, worker);
    }
}

/* Walks everything and checks I1 and the processor's invariants. */
void rti_sched_audit(const struct rti_sched *sched);

/* The worker of the calling thread; NULL outside of the runtime's threads. */
static inline struct rti_sched *rti_sched_current(void)
{
    struct rti_worker *worker = rti_worker_current();
    return worker == NULL ? NULL : worker->sched;
}

#endif
