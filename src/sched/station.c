/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "station"
#include "sched/station.h"

#include "base/marks.h"
#include "sched/injector.h"

_Static_assert(RTI_PRIORITY_LEVELS <= 4, "a priority fits the low bits of a pointer");
_Static_assert(_Alignof(struct rti_runnable) >= 4, "the low bits of its address are free");

/* Spins for which a thief watches before it takes a `next`: a few microseconds. */
#define NEXT_WATCH_SPINS 64

#define NEXT_PRIORITY_MASK ((uintptr_t)3)

static void *next_of(struct rti_runnable *runnable)
{
    return (void *)((uintptr_t)runnable | runnable->priority);
}

static struct rti_runnable *next_runnable(void *next)
{
    return (struct rti_runnable *)((uintptr_t)next & ~NEXT_PRIORITY_MASK);
}

static uint32_t next_priority(void *next)
{
    return (uint32_t)((uintptr_t)next & NEXT_PRIORITY_MASK);
}

void rti_station_init(struct rti_station *station, uint32_t index)
{
    *station = (struct rti_station){.index = index};
    rti_ptr_init(&station->next, NULL);
    rti_u32_init(&station->state, RTI_STATION_IDLE);
    for (size_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
        rti_ring_init(&station->levels[i]);
    }
}

/* The ring is full: its older half and the newcomer go to the injector, in order. */
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
    rti_injector_push_all(injector, (struct rti_runnable **)items, count + 1);
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

bool rti_station_queue_next(struct rti_station *station, struct rti_runnable *runnable,
                            struct rti_injector *injector)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_READY);
    /* Release: the runnable is complete for whoever takes it. Acquire: who was there, likewise. */
    void *old = rti_ptr_exchange_acqrel(&station->next, next_of(runnable));
    if (old == NULL) {
        rti_fence_after_rmw();
        return false;
    }
    rti_station_queue(station, next_runnable(old), injector);
    /* In the ring, then fence, then the caller looks for sleepers: see crew.h. */
    rti_fence_seqcst();
    return true;
}

/* Takes `next` as it was seen, unless a thief has. */
static struct rti_runnable *station_take_next(struct rti_station *station, void *seen)
{
    /* Acquire pairs with the exchange of who put it there. */
    return rti_ptr_cas_acqrel(&station->next, &seen, NULL) ? next_runnable(seen) : NULL;
}

/* Takes from the rings, of a level more urgent than `below`. */
static struct rti_runnable *station_pop(struct rti_station *station, uint32_t below)
{
    uint32_t mask = (1U << below) - 1;
    uint32_t ready;
    while ((ready = station->levels_hint & mask) != 0) {
        uint32_t level = (uint32_t)__builtin_ctz(ready);
        struct rti_runnable *runnable = rti_ring_pop(&station->levels[level]);
        if (runnable != NULL) {
            return runnable;
        }
        station->levels_hint &= ~(1U << level);
    }
    return NULL;
}

struct rti_runnable *rti_station_pick(struct rti_station *station)
{
    station->tick++;
    void *next = rti_ptr_load_relaxed(&station->next);
    if (next == NULL) {
        station->streak = 0;
        return station_pop(station, RTI_PRIORITY_LEVELS);
    }
    /* Rings that go first: those of more urgent levels; all of them when `next` has had its share.
     */
    bool is_capped = station->streak >= RTI_STATION_STREAK_MAX;
    struct rti_runnable *runnable =
        station_pop(station, is_capped ? RTI_PRIORITY_LEVELS : next_priority(next));
    if (runnable != NULL) {
        if (is_capped) {
            rti_station_count(&station->capped, 1);
        }
        station->streak = 0;
        return runnable;
    }
    station->streak++;
    runnable = station_take_next(station, next);
    return runnable != NULL ? runnable : station_pop(station, RTI_PRIORITY_LEVELS);
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
    return NULL;
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

bool rti_station_is_empty(const struct rti_station *station)
{
    for (size_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
        if (rti_ring_count(&station->levels[i]) > 0) {
            return false;
        }
    }
    return true;
}

size_t rti_station_audit(const struct rti_station *station)
{
    size_t total = 0;
    for (uint32_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
        size_t count = rti_ring_audit(&station->levels[i]);
        RT_ASSERT(count == 0 || (station->levels_hint >> i & 1U) != 0);
        total += count;
    }
    return total + (rti_ptr_load_relaxed(&station->next) != NULL ? 1 : 0);
}
