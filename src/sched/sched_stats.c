/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "sched_stats"
#include "sched/sched_stats.h"

#include "sched/crew.h"

/* What lies ready at the one processor, or was handed to its worker. */
static size_t stats_queue_depth(const struct rti_sched *sched)
{
    size_t depth = sched->worker.handoff != NULL;
    for (size_t level = 0; level < RTI_PRIORITY_LEVELS; level++) {
        const struct rti_runnable *at = sched->processor.levels[level].head;
        for (; at != NULL; at = at->next) {
            depth++;
        }
    }
    return depth;
}

static size_t stats_station_depth(const struct rti_station *station)
{
    size_t depth = rti_ptr_load_relaxed(&station->next) != NULL;
    for (size_t level = 0; level < RTI_PRIORITY_LEVELS; level++) {
        const struct rti_ring *ring = &station->levels[level];
        /* Acquire: the tail is read after the head, so the difference is never negative. */
        uint32_t head = rti_u32_load_acquire(&ring->head);
        depth += rti_u32_load_relaxed(&ring->tail) - head;
    }
    depth += rti_u32_load_relaxed(&station->backlog.count);
    depth += rti_u32_load_relaxed(&station->early_rest.count);
    return depth + rti_deque_count(&station->early);
}

void rti_sched_stats(const struct rti_sched *sched, struct rti_sched_stats *stats, size_t *depths,
                     size_t depths_max)
{
    const struct rti_crew *crew = rti_sched_crew(sched);
    *stats = (struct rti_sched_stats){.workers = 1, .workers_used = 1};
    RT_ASSERT(depths_max > 0);
    if (crew == NULL) {
        depths[0] = stats_queue_depth(sched);
        return;
    }
    stats->workers = crew->stations_count;
    stats->workers_used = crew->stations_count - rti_u32_load_relaxed(&crew->barred);
    stats->overruns = rti_u64_load_relaxed(&crew->warden.overruns);
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        const struct rti_station *station = &crew->stations[i];
        if (i < depths_max) {
            depths[i] = stats_station_depth(station);
        }
        stats->steal_attempts += rti_u64_load_relaxed(&station->steal_tries);
        stats->steal_successes += rti_u64_load_relaxed(&station->steals);
        stats->handoffs_cut += rti_u64_load_relaxed(&station->capped);
    }
}
