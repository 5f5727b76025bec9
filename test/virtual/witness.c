/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "witness"
/* A look is no point and makes no order. */
#undef RTI_VIRTUAL
#define RTI_VIRTUAL 0
#include "virtual/witness.h"

#include <string.h>

#include "runtime/runtime.h"
#include "sched/crew.h"

#define IDS_MAX      8192
#define STATIONS_MAX 16

/* The warden looks at least every 10 ms while a station is in use, and a jump of the clock may be
 * late by 20 ms; a preemption may cost both. */
#define LATE_MAX_NS (100 * RTI_NS_PER_MS)

/* Turns: of a pick from the injector, and of one from the rings behind a full streak. */
#define TURNS_PER_INJECTED 61
#define TURNS_PER_RING     (RTI_STATION_STREAK_MAX + 2)

struct subject {
    bool is_live;
    bool is_ambiguous; /* two of this id: not looked at */
    bool is_waiting;
    bool has_station;
    uint8_t priority;
    uint32_t station;
    uint64_t turns; /* of that station when it became ready */
};

static struct {
    struct subject subjects[IDS_MAX];
    uint32_t live;
    uint32_t live_max;
    uint32_t urgent; /* the most urgent level that anybody was started with */
    struct witness_counts counts;
} witness;

static const struct rti_crew *crew_of(void)
{
    const struct rti_crew *crew = rti_runtime.sched.crew;
    bool is_running = crew != NULL && rti_u32_load_relaxed(&crew->is_over) == 0;
    return is_running ? crew : NULL;
}

void witness_begin(void)
{
    memset(&witness, 0, sizeof(witness));
    witness.urgent = RTI_PRIORITY_LEVELS;
}

/* Can nobody come for an idle station? All members are in calls, and there are no more. */
static bool is_short_of_members(const struct rti_crew *crew)
{
    return crew->idle_members == NULL && crew->members_count >= crew->members_max &&
           rti_u32_load_relaxed(&crew->is_polled) == 0;
}

static bool is_ring_empty(const struct rti_ring *ring)
{
    return ring->head.word == ring->tail.word;
}

static bool has_queued(const struct rti_crew *crew)
{
    if (crew->injector.count.word != 0) {
        return true;
    }
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        const struct rti_station *station = &crew->stations[i];
        if (station->backlog.count.word != 0 || station->early_rest.count.word != 0 ||
            station->early.bottom.word != station->early.top.word) {
            return true;
        }
        for (uint32_t level = 0; level < RTI_PRIORITY_LEVELS; level++) {
            if (!is_ring_empty(&station->levels[level])) {
                return true;
            }
        }
        /* One in `next` is its holder's, and the warden's if that computes or blocks. */
        if (station->next.word != NULL && station->state.word == RTI_STATION_IDLE) {
            return true;
        }
    }
    return false;
}

static uint64_t earliest_deadline(const struct rti_crew *crew)
{
    uint64_t earliest_ns = RTI_TIME_NEVER;
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        const struct rti_clockwork *clockwork = crew->stations[i].timers.context;
        uint64_t next_ns = clockwork->next_ns.word;
        earliest_ns = next_ns < earliest_ns ? next_ns : earliest_ns;
    }
    return earliest_ns;
}

void witness_quiet(void)
{
    const struct rti_crew *crew = crew_of();
    if (crew == NULL) {
        return;
    }
    witness.counts.quiets++;
    if (rti_u32_load_relaxed(&crew->idle_count) == 0 &&
        rti_u32_load_relaxed(&crew->listed_count) == crew->stations_count) {
        rti_virtual_fail("all stations are idle and none of them may be used");
    }
    if (rti_u32_load_relaxed(&crew->idle_count) == 0 || is_short_of_members(crew)) {
        return;
    }
    if (has_queued(crew)) {
        rti_virtual_fail("work is queued, a station is idle, and everybody sleeps");
    }
    uint64_t earliest_ns = earliest_deadline(crew);
    if (earliest_ns != RTI_TIME_NEVER && earliest_ns + LATE_MAX_NS < rti_virtual_clock()) {
        rti_virtual_fail("a timer is overdue and everybody sleeps");
    }
}

/* It is ready from here on. */
static void subject_ready(struct subject *subject)
{
    const struct rti_crew *crew = crew_of();
    const struct rti_worker *worker = rti_worker_current();
    subject->is_waiting = crew != NULL;
    subject->has_station = crew != NULL && worker != NULL && worker->station != NULL;
    if (subject->has_station) {
        subject->station = worker->station->index;
        subject->turns = worker->station->turns.word;
    }
}

/* It runs: has its station served others for longer than those ahead of it explain? */
static void subject_start(struct subject *subject)
{
    const struct rti_crew *crew = crew_of();
    witness.counts.starts++;
    if (!subject->is_waiting || !subject->has_station || crew == NULL ||
        subject->priority != witness.urgent) {
        subject->is_waiting = false;
        return;
    }
    subject->is_waiting = false;
    uint64_t waited = crew->stations[subject->station].turns.word - subject->turns;
    uint64_t bound = ((uint64_t)witness.live_max + 2) * (TURNS_PER_RING + TURNS_PER_INJECTED);
    if (waited > witness.counts.waited_max) {
        witness.counts.waited_max = waited;
    }
    if (waited > bound) {
        rti_virtual_fail("one of the most urgent level waited for longer than the bound");
    }
}

void witness_probe(const char *name, uint64_t a, uint64_t b)
{
    struct subject *subject = &witness.subjects[a % IDS_MAX];
    if (strcmp(name, "spawn") == 0) {
        subject->is_ambiguous = subject->is_live;
        subject->is_live = true;
        subject->priority = (uint8_t)b;
        witness.live++;
        witness.live_max = witness.live > witness.live_max ? witness.live : witness.live_max;
        witness.urgent = b < witness.urgent ? (uint32_t)b : witness.urgent;
        subject_ready(subject);
    } else if (strcmp(name, "ready") == 0 && !subject->is_ambiguous) {
        subject_ready(subject);
    } else if (strcmp(name, "start") == 0 && !subject->is_ambiguous) {
        subject_start(subject);
    } else if (strcmp(name, "exit") == 0) {
        subject->is_live = false;
        subject->is_waiting = false;
        witness.live--;
    }
}

void witness_end(struct witness_counts *counts)
{
    const struct rti_crew *crew = rti_runtime.sched.crew;
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        witness.counts.steals += crew->stations[i].steals.word;
        witness.counts.spills += crew->stations[i].spills.word;
        witness.counts.capped += crew->stations[i].capped.word;
    }
    witness.counts.retakes = crew->warden.retakes.word;
    witness.counts.preempts = crew->warden.preempts.word;
    *counts = witness.counts;
}
