/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SCHED_STATS_H
#define RTI_SCHED_STATS_H

/* What the workers of a scheduler have ready, and what they took from each other. */

#include "sched/scheduler.h"

struct rti_sched_stats {
    size_t workers;
    size_t workers_used; /* that may work now: the width of the crew */
    uint64_t steal_attempts;
    uint64_t steal_successes;
    uint64_t overruns;
    uint64_t handoffs_cut;
};

/* Fills in the numbers; `depths` gets what lies ready at each worker, for the first `depths_max` of
 * them. A thread of the runtime. */
void rti_sched_stats(const struct rti_sched *sched, struct rti_sched_stats *stats, size_t *depths,
                     size_t depths_max);

#endif
