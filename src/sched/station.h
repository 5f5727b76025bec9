/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_STATION_H
#define RTI_STATION_H

/* A station: the processor (P) of the engine with several workers.
 *
 * A worker must hold a station to run anything, and there are as many stations as workers may run
 * at a time. What is ready at a station lies in four rings, one per priority level, which the
 * holder fills and empties and other workers steal from, and in `next`, one place for the runnable
 * that was woken last. Who was started and finds its ring full may lie in the backlog as well; who
 * was started to begin before all of its level lies in the deque `early`, or in `early_rest`.
 *
 * Why `next`. Who is woken is likely to want what its waker has just touched, and the waker is
 * likely to wait for it: run it as soon as the waker suspends, before what has waited longer, and a
 * pair that talks stays on one core. Two fibers that wake each other in turns would so keep a
 * station for ever; after RTI_STATION_STREAK_MAX runnables taken from `next` in a row one is taken
 * from the rings. How often that was needed is counted. A lone `next` wakes nobody: its waker is
 * about to suspend, more often than not, and waking a sleeping core costs some thousand times a
 * turn. If the waker computes on instead, the warden sees it lie and has it fetched.
 *
 * Which level is next is a bit field of the holder's own: a bit is set by a push and cleared when a
 * pop finds the ring empty, so it may say "ready" of a ring that thieves have emptied, never
 * "empty" of one that is not. `next` is taken before rings of its own or a less urgent level.
 * Its priority is kept in the low bits of the pointer: a thief may have taken it, and its memory
 * may be gone, by the time it would be looked at.
 *
 * `early` is for trees of tasks (decisions 097 and 100): depth first, a tree keeps few alive. The
 * holder takes the last one, a thief the oldest, below which most of the tree hangs that is left. A
 * chain that starts its own successor for ever would so keep the rings from their turns; after
 * RTI_STATION_EARLY_MAX from there in a row the rings go first, and at every
 * RTI_STATION_BEGIN_MAX-th one begins that has lain there long: the oldest of the deque or one of
 * `early_rest` (backlog.h, I2), in turns if there are both, so that each comes to its oldest at
 * every second of those. The deque is for one level, that of poll tasks; who is of another, and the
 * older half of a full deque, is in `early_rest`, a backlog.
 *
 * I1  A READY runnable lies in exactly one ring, `next`, backlog, `early`, `early_rest` or the
 *     injector.                                                (explored; ring.h, deque.h)
 * I2  Only the holder pushes, pops and writes the fields that are not atomic.
 * I3  After RTI_STATION_STREAK_MAX from `next` in a row, a ring or `early` is served if it has
 *     somebody; a ring after at most RTI_STATION_EARLY_MAX + 2 * RTI_STATION_STREAK_MAX from
 *     `next` and from `early`, one of its level.                         (rti_station_pick)
 *
 * Pairs: who puts a runnable into `next`, by a store where it is empty and else by an exchange,
 * releases it to whoever takes it, which acquires.
 *
 * Costs: a wake into an empty `next` is a store, taking it a compare-exchange: only the holder
 * puts, so an empty place changes under nobody's hands. Through a ring: no locked instruction in,
 * one out. Who works alone (sched/solo.h) takes both without one.
 *
 * Rejected: `next` as a plain field of the holder (a worker that computes for long would keep it
 * from everybody); taking the most urgent of all stations (every pick would read every station). */

#include "base/compiler.h"
#include "base/deque.h"
#include "base/ring.h"
#include "sched/backlog.h"
#include "sched/runnable.h"
#include "sched/scheduler.h"

/* Runnables taken from `next` in a row while others wait. */
#define RTI_STATION_STREAK_MAX 32

/* Those of `early` taken in a row while others of their level wait, those of `next` that came
 * between them counted in; and after how many one begins that has lain there long. */
#define RTI_STATION_EARLY_MAX 61
#define RTI_STATION_BEGIN_MAX 1024

/* The level of those in the deque. */
#define RTI_STATION_EARLY_LEVEL 2

/* Picks after which what waits elsewhere is asked first. A prime: no pattern of the program falls
 * in step with it. */
#define RTI_STATION_TICKS 61

struct rti_injector;

enum rti_station_state {
    RTI_STATION_IDLE,    /* in the crew's list: nobody holds it */
    RTI_STATION_HELD,    /* a worker runs with it */
    RTI_STATION_BLOCKED, /* its holder is in a blocking call and anybody may take it */
};

/* Who keeps something for the holder of a station. */
enum rti_desk_of {
    RTI_DESK_TASK,
    RTI_DESK_ASYNC,
    RTI_DESKS,
};

struct rti_station {
    rti_atomic_ptr next;    /* woken last, with its priority in the low bits; NULL: nobody */
    void *desks[RTI_DESKS]; /* what modules keep for the holder; written while nobody runs */
    uint32_t levels_hint;   /* holder: bit n: levels[n] may have somebody */
    uint32_t streak;        /* holder: taken from `next` in a row */
    uint32_t tick;          /* holder: picks */
    uint32_t early_hint;    /* holder: bit n: `early`, or its rest, may have one of level n */
    uint32_t early_streak;  /* holder: from `early`, and `next`, since the rings' turn */
    uint32_t early_taken;   /* holder: taken from `early` */
    uint32_t index;         /* which one it is; fixed */
    bool is_stocked;        /* holder: see rti_station_is_restocked */
    rti_atomic_u32 state;   /* enum rti_station_state */
    rti_atomic_ptr holder;  /* the member that runs with it; a hint for the warden */
    struct rti_station *idle_next; /* the crew's, while IDLE */
    struct rti_timer_source timers;
    rti_atomic_u64 live; /* started here minus ended here, modulo 2^64; written by the holder */
    rti_atomic_u64 steal_tries; /* statistics, written by the holder: victims looked at */
    rti_atomic_u64 steals;      /* those that gave something */
    rti_atomic_u64 stolen;      /* runnables that came by those steals */
    rti_atomic_u64 spills;      /* rings that were full, half of each to the injector */
    rti_atomic_u64 capped;      /* streaks cut short for the rings' sake */
    rti_atomic_u64 turns;       /* dispatches */
    rti_atomic_u64 messages;    /* that behaviours took and sent in them, and calls at channels */
    struct rti_ring levels[RTI_PRIORITY_LEVELS];
    struct rti_sched *sched;
    struct rti_backlog backlog;
    struct rti_deque early;        /* started, to begin before the ring of their level */
    struct rti_backlog early_rest; /* the same, of other levels and who found no room there */
};

void rti_station_init(struct rti_station *station, uint32_t index, struct rti_sched *sched);

/* Appends a READY runnable to its ring; if that is full, half of it goes to the injector too, or to
 * the backlog as far as it has not run. Holder. */
void rti_station_queue(struct rti_station *station, struct rti_runnable *runnable,
                       struct rti_injector *injector);

/* The same of one of this level, where a push is most often all there is to do: without a call.
 * Holder. */
static RTI_ALWAYSINLINE void rti_station_queue_at(struct rti_station *station,
                                                  struct rti_runnable *runnable, uint32_t level,
                                                  struct rti_injector *injector)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_READY && runnable->priority == level);
    station->levels_hint |= 1U << level;
    if (RTI_UNLIKELY(!rti_ring_push(&station->levels[level], runnable))) {
        rti_station_queue(station, runnable, injector);
    }
}

static RTI_ALWAYSINLINE void rti_station_queue_inline(struct rti_station *station,
                                                      struct rti_runnable *runnable,
                                                      struct rti_injector *injector)
{
    rti_station_queue_at(station, runnable, runnable->priority, injector);
}

/* Puts a READY runnable that has not run yet before all others of its level. Holder. */
void rti_station_queue_early(struct rti_station *station, struct rti_runnable *runnable);

/* Puts a READY runnable into `next`; who was there goes to its ring: true, there is work for
 * another worker now, and between this and what the holder loads afterwards is a full barrier.
 * Holder. */
bool rti_station_queue_next(struct rti_station *station, struct rti_runnable *runnable,
                            struct rti_injector *injector);

/* Takes of a station that nobody holds, for a thief who has work: what a steal gives, `next`, and
 * one of each backlog that has waited long, as its holder would at a tick. They are queued. False
 * if there was nobody. Holder of `thief`. */
bool rti_station_fetch(struct rti_station *thief, struct rti_station *left,
                       struct rti_injector *injector);

/* Takes the next runnable, or NULL. Holder. */
struct rti_runnable *rti_station_pick(struct rti_station *station);

/* Takes one of the backlog whose turn it is, NULL if there is none; more come into the rings if
 * they have few. For every so manieth pick. Holder. */
struct rti_runnable *rti_station_begin_old(struct rti_station *station);

/* Takes from `victim` for `thief`: half of its most urgent ring that has anybody, one of them
 * returned and the others queued; or the oldest of its `early`; or half of what it has set aside,
 * as of a ring. NULL if there is nothing. Holder of `thief`. */
struct rti_runnable *rti_station_steal(struct rti_station *thief, struct rti_station *victim);

/* The second of these alone: the oldest of `early`, or half of those set aside from there. */
struct rti_runnable *rti_station_steal_early(struct rti_station *thief, struct rti_station *victim);

/* Has its holder somebody in its rings, and makes steps so short that taking them away would take
 * longer? Watches for a moment. Any thread. */
bool rti_station_is_quick(const struct rti_station *station);

/* Takes `next` of `victim`, if its holder has not made a turn while the caller watched for a
 * moment: else it is about to be run where its data is. Holder of `thief`. */
struct rti_runnable *rti_station_steal_next(struct rti_station *thief, struct rti_station *victim);

/* Is nobody in the rings, in `early` and in the backlog? True at some moment during the call. Any
 * thread. */
bool rti_station_is_empty(const struct rti_station *station);

/* Is it time to ask what waits elsewhere? Holder. */
static inline bool rti_station_is_tick_due(const struct rti_station *station)
{
    return station->tick % RTI_STATION_TICKS == 0;
}

/* Picks until then. Holder. */
static inline int32_t rti_station_until_tick(const struct rti_station *station)
{
    return (int32_t)(RTI_STATION_TICKS - station->tick % RTI_STATION_TICKS);
}

/* Have runnables come into the rings from elsewhere, the injector or a backlog, since this was last
 * asked? On their way they lay nowhere, and whoever looked just then may have gone to sleep: the
 * holder looks for sleepers as if they were new. Holder. */
static inline bool rti_station_is_restocked(struct rti_station *station)
{
    bool is_stocked = station->is_stocked;
    station->is_stocked = false;
    return is_stocked;
}

/* Adds to a counter that only the holder writes: no locked instruction. */
static inline void rti_station_count(rti_atomic_u64 *counter, uint64_t amount)
{
    rti_u64_store_relaxed(counter, rti_u64_load_relaxed(counter) + amount);
}

/* A runnable calls at a channel: the width is weighed by it (sched/width.h). A caller that has lost
 * its station has none. Holder. */
static RTI_ALWAYSINLINE void rti_station_count_call(struct rti_station *station)
{
    if (RTI_LIKELY(station != NULL)) {
        rti_station_count(&station->messages, 1);
    }
}

/* What lies in `next`: a runnable, and its priority in the low bits. */
#define RTI_NEXT_PRIORITY_MASK ((uintptr_t)3)

static inline void *rti_next_of(struct rti_runnable *runnable)
{
    return (void *)((uintptr_t)runnable | runnable->priority);
}

static inline struct rti_runnable *rti_next_runnable(void *next)
{
    return (struct rti_runnable *)((uintptr_t)next & ~RTI_NEXT_PRIORITY_MASK);
}

static inline uint32_t rti_next_priority(void *next)
{
    return (uint32_t)((uintptr_t)next & RTI_NEXT_PRIORITY_MASK);
}

/* Puts a READY runnable into `next` if that is empty. Holder. */
static RTI_ALWAYSINLINE bool rti_station_put_next(struct rti_station *station,
                                                  struct rti_runnable *runnable)
{
    if (RTI_UNLIKELY(rti_ptr_load_relaxed(&station->next) != NULL)) {
        return false;
    }
    /* Thieves only take: an empty place is the holder's. Release: the runnable is complete for
     * whoever takes it. */
    rti_ptr_store_release(&station->next, rti_next_of(runnable));
    return true;
}

/* rti_station_pick in the case that a pair that talks is in: what is in `next` is taken, because
 * no ring that would go first has anybody, nor has `early`. NULL if it is any other case, or a
 * thief was faster; then nothing has changed. `is_solo`: there can be no thief (sched/solo.h).
 * Holder.
 */
static RTI_ALWAYSINLINE struct rti_runnable *rti_station_pick_next(struct rti_station *station,
                                                                   bool is_solo)
{
    void *next = rti_ptr_load_relaxed(&station->next);
    bool is_capped = station->streak >= RTI_STATION_STREAK_MAX;
    uint32_t first = is_capped ? UINT32_MAX : (1U << rti_next_priority(next)) - 1;
    uint32_t queued = station->levels_hint | station->early_hint;
    if (RTI_UNLIKELY(next == NULL || (queued & first) != 0)) {
        return NULL;
    }
    void *seen = next;
    if (is_solo) {
        /* Nobody else takes it, and only the holder puts one there. */
        rti_ptr_store_relaxed(&station->next, NULL);
    } else if (RTI_UNLIKELY(!rti_ptr_cas_acqrel(&station->next, &seen, NULL))) {
        /* Acquire pairs with the release of who put it there. */
        return NULL;
    }
    station->tick++;
    station->streak++;
    return rti_next_runnable(next);
}

/* rti_station_pick_next while there can be no thief, with the case first in which nobody but `next`
 * waits here: then it takes no place from anybody, and is not counted as a streak. Holder. */
static RTI_ALWAYSINLINE struct rti_runnable *
rti_station_pick_next_alone(struct rti_station *station)
{
    if (RTI_UNLIKELY((station->levels_hint | station->early_hint) != 0)) {
        return rti_station_pick_next(station, true);
    }
    void *next = rti_ptr_load_relaxed(&station->next);
    if (RTI_UNLIKELY(next == NULL)) {
        return NULL;
    }
    rti_ptr_store_relaxed(&station->next, NULL);
    station->tick++;
    return rti_next_runnable(next);
}

/* Takes the oldest of the most urgent ring that has anybody, of a level more urgent than `below`.
 * NULL if there is nobody. `is_solo`: there can be no thief. Holder. */
static RTI_ALWAYSINLINE struct rti_runnable *rti_station_pop(struct rti_station *station,
                                                             uint32_t below, bool is_solo)
{
    uint32_t mask = (1U << below) - 1;
    uint32_t ready;
    while ((ready = station->levels_hint & mask) != 0) {
        uint32_t level = (uint32_t)__builtin_ctz(ready);
        struct rti_ring *ring = &station->levels[level];
        struct rti_runnable *runnable = is_solo ? rti_ring_pop_alone(ring) : rti_ring_pop(ring);
        if (RTI_LIKELY(runnable != NULL)) {
            return runnable;
        }
        station->levels_hint &= ~(1U << level);
    }
    return NULL;
}

/* The ring that a pop would look into first. Holder. */
static RTI_ALWAYSINLINE struct rti_ring *rti_station_urgent(struct rti_station *station)
{
    /* The last one if none is said to have anybody. */
    uint32_t ready = station->levels_hint | 1U << (RTI_PRIORITY_LEVELS - 1);
    return &station->levels[(uint32_t)__builtin_ctz(ready)];
}

/* Does it have nothing but its rings to pick from: no `next`, and nobody who begins early? Holder.
 */
static RTI_ALWAYSINLINE bool rti_station_is_plain(const struct rti_station *station)
{
    return rti_ptr_load_relaxed(&station->next) == NULL && station->early_hint == 0;
}

/* What the search would take next from here, while there can be no thief; NULL if it would have to
 * look further than `next` and the rings. Holder. */
static RTI_ALWAYSINLINE struct rti_runnable *rti_station_pick_alone(struct rti_station *station)
{
    struct rti_runnable *runnable = rti_station_pick_next_alone(station);
    if (RTI_LIKELY(runnable != NULL) || station->levels_hint == 0 ||
        RTI_UNLIKELY(!rti_station_is_plain(station))) {
        return runnable;
    }
    runnable = rti_station_pop(station, RTI_PRIORITY_LEVELS, true);
    station->tick += runnable != NULL;
    station->streak = 0;
    return runnable;
}

/* How many are ready; checks what can be checked. Holder, while no thief is active. */
size_t rti_station_audit(const struct rti_station *station);

#endif
