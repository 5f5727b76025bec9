/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "station"
#include "sched/station.h"

#include <string.h>

#include "base/marks.h"
#include "sched/injector.h"

_Static_assert(RTI_PRIORITY_LEVELS <= 4, "a priority fits the low bits of a pointer");
_Static_assert(_Alignof(struct rti_runnable) >= 4, "the low bits of its address are free");

/* Spins for which a thief watches before it takes a `next`: a few microseconds. */
#define NEXT_WATCH_SPINS 64

/* Spins for which it is watched whether a holder is quick, and steps that it makes then at least.
 */
#define QUICK_SPINS 32
#define QUICK_STEPS 2

void rti_station_init(struct rti_station *station, uint32_t index, struct rti_sched *sched)
{
    *station = (struct rti_station){.index = index, .sched = sched};
    rti_backlog_init(&station->backlog, sched);
    rti_deque_init(&station->early);
    rti_backlog_init(&station->early_rest, sched);
    rti_ptr_init(&station->next, NULL);
    rti_u32_init(&station->state, RTI_STATION_IDLE);
    for (size_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
        rti_ring_init(&station->levels[i]);
    }
}

/* Puts those who have run before those who have not, both in their order, and gives how many have.
 * The one sort or the other is all of them, as a rule. */
static size_t runnables_part(struct rti_runnable **runnables, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct rti_runnable *runnable = runnables[i];
        if (!runnable->is_fresh) {
            memmove(&runnables[kept + 1], &runnables[kept], (i - kept) * sizeof(*runnables));
            runnables[kept] = runnable;
            kept++;
        }
    }
    return kept;
}

/* Links those that a ring spills, and gives them to the backlog. False if one of them has run:
 * then they are nobody's yet. */
static bool station_set_aside_row(struct rti_station *station, struct rti_runnable **runnables,
                                  size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        runnables[i]->next = runnables[i + 1];
        if (RTI_UNLIKELY(!runnables[i]->is_fresh)) {
            return false;
        }
    }
    if (!runnables[count - 1]->is_fresh) {
        return false;
    }
    rti_backlog_push_row(&station->backlog, station->sched, runnables[0], runnables[count - 1],
                         count);
    return true;
}

/* The ring is full: its older half and the newcomer go to the injector, in order; those who have
 * not run yet to the backlog. */
static void station_spill(struct rti_station *station, struct rti_runnable *runnable,
                          struct rti_injector *injector)
{
    void *items[RTI_RING_CAPACITY / 2 + 1];
    struct rti_ring *ring = &station->levels[runnable->priority];
    size_t count = rti_ring_take_half(ring, items, RTI_RING_CAPACITY / 2);
    RT_SOMETIMES(count > 0, "station: a full ring spilled");
    if (count == 0) {
        /* Thieves were faster: there is room now. */
        bool is_pushed = rti_ring_push(ring, runnable);
        RT_ASSERT(is_pushed);
        return;
    }
    items[count] = runnable;
    if (RTI_LIKELY(station_set_aside_row(station, (struct rti_runnable **)items, count + 1))) {
        rti_station_count(&station->spills, 1);
        return;
    }
    struct rti_runnable **spilled = (struct rti_runnable **)items;
    count++;
    /* Parted before the first is given away: whoever takes it may run and end it at once. */
    size_t kept = runnables_part(spilled, count);
    if (kept < count) {
        rti_backlog_push(&station->backlog, station->sched, spilled + kept, count - kept);
    }
    if (kept > 0) {
        rti_injector_push_all(injector, spilled, kept);
    }
    rti_station_count(&station->spills, 1);
}

void rti_station_queue(struct rti_station *station, struct rti_runnable *runnable,
                       struct rti_injector *injector)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_READY);
    station->levels_hint |= 1U << runnable->priority;
    if (RTI_UNLIKELY(!rti_ring_push(&station->levels[runnable->priority], runnable))) {
        station_spill(station, runnable, injector);
    }
}

/* The deque is not for this one, or full: then its older half makes room, in the order in which it
 * would have been taken. */
static RTI_NOINLINE void station_set_aside(struct rti_station *station,
                                           struct rti_runnable *runnable)
{
    void *oldest[RTI_DEQUE_CAPACITY / 2];
    struct rti_runnable *aside[RTI_DEQUE_CAPACITY / 2];
    if (runnable->priority != RTI_STATION_EARLY_LEVEL) {
        rti_backlog_push(&station->early_rest, station->sched, &runnable, 1);
        return;
    }
    size_t count = rti_deque_take_half(&station->early, oldest);
    RT_SOMETIMES(count > 0, "station: a full deque of those that begin early made room");
    for (size_t i = 0; i < count; i++) {
        aside[i] = oldest[count - 1 - i];
    }
    if (count > 0) {
        rti_backlog_push(&station->early_rest, station->sched, aside, count);
    }
    bool is_pushed = rti_deque_push(&station->early, runnable);
    RT_ASSERT(is_pushed);
}

void rti_station_queue_early(struct rti_station *station, struct rti_runnable *runnable)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_READY);
    station->early_hint |= 1U << runnable->priority;
    if (RTI_UNLIKELY(runnable->priority != RTI_STATION_EARLY_LEVEL ||
                     !rti_deque_push(&station->early, runnable))) {
        station_set_aside(station, runnable);
    }
}

bool rti_station_queue_next(struct rti_station *station, struct rti_runnable *runnable,
                            struct rti_injector *injector)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_READY);
    if (rti_station_put_next(station, runnable)) {
        return false;
    }
    /* Release: the runnable is complete for whoever takes it. Acquire: who was there, likewise. */
    void *old = rti_ptr_exchange_acqrel(&station->next, rti_next_of(runnable));
    if (RTI_UNLIKELY(old == NULL)) {
        return false;
    }
    rti_station_queue(station, rti_next_runnable(old), injector);
    /* In the ring, then fence, then the caller looks for sleepers: see crew.h. */
    rti_fence_seqcst();
    return true;
}

/* Takes `next` as it was seen, unless a thief has. */
static struct rti_runnable *station_take_next(struct rti_station *station, void *seen)
{
    /* Acquire pairs with the exchange of who put it there. */
    return rti_ptr_cas_acqrel(&station->next, &seen, NULL) ? rti_next_runnable(seen) : NULL;
}

/* Takes from the rings, of a level more urgent than `below`. */
static struct rti_runnable *station_pop(struct rti_station *station, uint32_t below)
{
    return rti_station_pop(station, below, false);
}

/* Takes one that has lain in `early` or its rest for long, from both in turns. */
static struct rti_runnable *station_take_oldest(struct rti_station *station)
{
    bool is_rests_turn = station->early_taken / RTI_STATION_BEGIN_MAX % 2 == 0;
    struct rti_runnable *runnable = NULL;
    if (is_rests_turn) {
        runnable = rti_backlog_take_old(&station->early_rest, station->sched);
    }
    if (runnable == NULL) {
        runnable = rti_deque_steal(&station->early);
    }
    if (runnable == NULL && !is_rests_turn) {
        runnable = rti_backlog_take_old(&station->early_rest, station->sched);
    }
    return runnable;
}

/* Takes the most urgent one of `early` and its rest, of each level the last one. */
static struct rti_runnable *station_take_latest(struct rti_station *station)
{
    struct rti_runnable *runnable = NULL;
    if (RTI_UNLIKELY((station->early_hint & ((1U << RTI_STATION_EARLY_LEVEL) - 1)) != 0)) {
        (void)rti_backlog_take(&station->early_rest, station->sched, RTI_STATION_EARLY_LEVEL,
                               &runnable, 1);
    }
    if (RTI_LIKELY(runnable == NULL)) {
        runnable = rti_deque_pop(&station->early);
    }
    if (RTI_UNLIKELY(runnable == NULL)) {
        (void)rti_backlog_take(&station->early_rest, station->sched, RTI_PRIORITY_LEVELS, &runnable,
                               1);
    }
    /* Of the levels before its own there is nobody. */
    station->early_hint &= runnable != NULL ? UINT32_MAX << runnable->priority : 0;
    return runnable;
}

/* Takes one of those that begin early, the last one or, now and then, one that has lain there long.
 */
static struct rti_runnable *station_take_early(struct rti_station *station)
{
    station->early_streak += 1 + station->streak;
    station->early_taken++;
    if (RTI_LIKELY(station->early_taken % RTI_STATION_BEGIN_MAX != 0)) {
        return station_take_latest(station);
    }
    struct rti_runnable *runnable = station_take_oldest(station);
    if (runnable == NULL) {
        /* Thieves have taken them: only the holder brings new ones. */
        station->early_hint = 0;
    }
    return runnable;
}

/* Takes from the rings and from `early`, of a level more urgent than `below`. */
static struct rti_runnable *station_take_queued(struct rti_station *station, uint32_t below)
{
    uint32_t mask = (1U << below) - 1;
    if (RTI_LIKELY((station->early_hint & mask) == 0)) {
        return station_pop(station, below);
    }
    uint32_t level = (uint32_t)__builtin_ctz(station->early_hint);
    bool is_rings_turn = station->early_streak >= RTI_STATION_EARLY_MAX;
    struct rti_runnable *runnable = station_pop(station, is_rings_turn ? level + 1 : level);
    if (is_rings_turn) {
        RT_SOMETIMES(runnable != NULL, "station: the rings go before those that begin early");
        station->early_streak = 0;
    }
    if (runnable == NULL) {
        runnable = station_take_early(station);
    }
    return runnable != NULL ? runnable : station_pop(station, below);
}

/* Has it so little to run that what is taken from a backlog at once fits into any ring? */
static bool station_is_low(const struct rti_station *station)
{
    size_t count = 0;
    for (size_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
        count += rti_ring_count(&station->levels[i]);
    }
    return count <= RTI_RING_CAPACITY / 8;
}

/* Queues one that has come from elsewhere, for which there is room. */
static void station_push_one(struct rti_station *station, struct rti_runnable *runnable)
{
    uint32_t level = runnable->priority;
    bool is_pushed = rti_ring_push(&station->levels[level], runnable);
    RT_ASSERT(is_pushed);
    station->levels_hint |= 1U << level;
    station->is_stocked = true;
}

/* Takes at most `*count` from a backlog for a station that is low: one is returned, the others are
 * queued, and `*count` is how many they are. NULL if there is nobody. */
static struct rti_runnable *station_relieve(struct rti_station *station,
                                            struct rti_backlog *backlog, size_t *count)
{
    struct rti_runnable *first =
        rti_backlog_take_row(backlog, station->sched, station->levels, *count, count);
    if (RTI_LIKELY(*count > 1)) {
        station->levels_hint |= 1U << first->priority;
        station->is_stocked = true;
    }
    return first;
}

/* The rings are empty. */
static struct rti_runnable *station_pick_fresh(struct rti_station *station)
{
    if (RTI_LIKELY(rti_backlog_is_empty(&station->backlog))) {
        return NULL;
    }
    size_t count = RTI_RING_CAPACITY / 2;
    return station_relieve(station, &station->backlog, &count);
}

struct rti_runnable *rti_station_begin_old(struct rti_station *station)
{
    struct rti_runnable *first = rti_backlog_take_old(&station->backlog, station->sched);
    if (first != NULL && station_is_low(station)) {
        size_t count = RTI_RING_CAPACITY / 2 - 1;
        struct rti_runnable *second = station_relieve(station, &station->backlog, &count);
        if (second != NULL) {
            station_push_one(station, second);
        }
    }
    return first;
}

struct rti_runnable *rti_station_pick(struct rti_station *station)
{
    station->tick++;
    void *next = rti_ptr_load_relaxed(&station->next);
    if (next == NULL) {
        struct rti_runnable *oldest = station_take_queued(station, RTI_PRIORITY_LEVELS);
        station->streak = 0;
        return RTI_LIKELY(oldest != NULL) ? oldest : station_pick_fresh(station);
    }
    /* Rings that go first: those of more urgent levels; all of them when `next` has had its share.
     */
    bool is_capped = station->streak >= RTI_STATION_STREAK_MAX;
    struct rti_runnable *runnable =
        station_take_queued(station, is_capped ? RTI_PRIORITY_LEVELS : rti_next_priority(next));
    if (runnable != NULL) {
        if (is_capped) {
            rti_station_count(&station->capped, 1);
        }
        station->streak = 0;
        return runnable;
    }
    station->streak++;
    runnable = station_take_next(station, next);
    if (RTI_UNLIKELY(runnable == NULL)) {
        runnable = station_take_queued(station, RTI_PRIORITY_LEVELS);
    }
    return RTI_LIKELY(runnable != NULL) ? runnable : station_pick_fresh(station);
}

/* Takes half of those who have not run yet. */
static struct rti_runnable *station_steal_fresh(struct rti_station *thief,
                                                struct rti_backlog *backlog)
{
    uint32_t there = rti_u32_load_relaxed(&backlog->count);
    if (there == 0 || !station_is_low(thief)) {
        return NULL;
    }
    size_t half = there / 2 + 1;
    size_t count = half < RTI_RING_CAPACITY / 2 ? half : RTI_RING_CAPACITY / 2;
    struct rti_runnable *runnable = station_relieve(thief, backlog, &count);
    if (runnable != NULL) {
        rti_station_count(&thief->steals, 1);
        rti_station_count(&thief->stolen, count);
    }
    return runnable;
}

/* What its holder has begun and queued so far, in the ring that a thief would take from. */
static uint32_t station_steps(const struct rti_station *station, const struct rti_ring *ring)
{
    return (uint32_t)rti_u64_load_relaxed(&station->turns) + rti_u32_load_relaxed(&ring->tail);
}

bool rti_station_is_quick(const struct rti_station *station)
{
    const struct rti_ring *ring = NULL;
    for (uint32_t level = 0; level < RTI_PRIORITY_LEVELS && ring == NULL; level++) {
        if (rti_ring_count(&station->levels[level]) > 0) {
            ring = &station->levels[level];
        }
    }
    if (ring == NULL) {
        return false;
    }
    uint32_t before = station_steps(station, ring);
    for (int i = 0; i < QUICK_SPINS; i++) {
        rti_pause();
    }
    return station_steps(station, ring) - before >= QUICK_STEPS;
}

struct rti_runnable *rti_station_steal_early(struct rti_station *thief, struct rti_station *victim)
{
    struct rti_runnable *runnable = rti_deque_steal(&victim->early);
    if (runnable == NULL) {
        return station_steal_fresh(thief, &victim->early_rest);
    }
    rti_station_count(&thief->steals, 1);
    rti_station_count(&thief->stolen, 1);
    return runnable;
}

struct rti_runnable *rti_station_steal(struct rti_station *thief, struct rti_station *victim)
{
    rti_station_count(&thief->steal_tries, 1);
    for (uint32_t level = 0; level < RTI_PRIORITY_LEVELS; level++) {
        struct rti_ring *own = &thief->levels[level];
        uint32_t before = rti_u32_load_relaxed(&own->tail);
        struct rti_runnable *runnable = rti_ring_steal(&victim->levels[level], own);
        if (runnable != NULL) {
            uint32_t queued = rti_u32_load_relaxed(&own->tail) - before;
            thief->levels_hint |= queued > 0 ? 1U << level : 0;
            rti_station_count(&thief->steals, 1);
            rti_station_count(&thief->stolen, queued + 1U);
            return runnable;
        }
    }
    struct rti_runnable *runnable = rti_station_steal_early(thief, victim);
    return runnable != NULL ? runnable : station_steal_fresh(thief, &victim->backlog);
}

struct rti_runnable *rti_station_steal_next(struct rti_station *thief, struct rti_station *victim)
{
    void *next = rti_ptr_load_relaxed(&victim->next);
    uint64_t turns = rti_u64_load_relaxed(&victim->turns);
    for (int i = 0; next != NULL && i < NEXT_WATCH_SPINS; i++) {
        rti_pause();
    }
    if (next == NULL || rti_u64_load_relaxed(&victim->turns) != turns) {
        return NULL;
    }
    struct rti_runnable *runnable = station_take_next(victim, next);
    if (runnable != NULL) {
        RT_SOMETIMES(true, "station: a next was stolen");
        rti_station_count(&thief->steals, 1);
        rti_station_count(&thief->stolen, 1);
    }
    return runnable;
}

/* Queues one who was fetched, if there is one. */
static bool station_keep(struct rti_station *thief, struct rti_runnable *runnable,
                         struct rti_injector *injector)
{
    if (runnable == NULL) {
        return false;
    }
    rti_station_queue(thief, runnable, injector);
    thief->is_stocked = true;
    return true;
}

bool rti_station_fetch(struct rti_station *thief, struct rti_station *left,
                       struct rti_injector *injector)
{
    struct rti_sched *sched = thief->sched;
    bool has_come = station_keep(thief, rti_station_steal(thief, left), injector);
    void *next = rti_ptr_load_relaxed(&left->next);
    if (next != NULL) {
        has_come = station_keep(thief, station_take_next(left, next), injector) || has_come;
    }
    /* A steal leaves the backlogs to who has little to do, and that may be nobody for ever. */
    has_come =
        station_keep(thief, rti_backlog_take_old(&left->backlog, sched), injector) || has_come;
    return station_keep(thief, rti_backlog_take_old(&left->early_rest, sched), injector) ||
           has_come;
}

bool rti_station_is_empty(const struct rti_station *station)
{
    for (size_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
        if (rti_ring_count(&station->levels[i]) > 0) {
            return false;
        }
    }
    return rti_deque_is_empty(&station->early) && rti_backlog_is_empty(&station->early_rest) &&
           rti_backlog_is_empty(&station->backlog);
}

size_t rti_station_audit(const struct rti_station *station)
{
    size_t total = 0;
    for (uint32_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
        size_t count = rti_ring_audit(&station->levels[i]);
        RT_ASSERT(count == 0 || (station->levels_hint >> i & 1U) != 0);
        total += count;
    }
    total += rti_backlog_audit(&station->backlog);
    size_t early = rti_deque_audit(&station->early) + rti_backlog_audit(&station->early_rest);
    RT_ASSERT(early == 0 || station->early_hint != 0);
    total += early;
    return total + (rti_ptr_load_relaxed(&station->next) != NULL ? 1 : 0);
}
