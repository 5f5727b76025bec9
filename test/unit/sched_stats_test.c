/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "sched_stats_test"
#include "sched/sched_stats.h"

#include "support/fibers.h"
#include "support/test.h"

static struct fibers fibers;
static size_t seen;

static void nothing(void *arg)
{
    (void)arg;
}

static void looks(void *arg)
{
    struct rti_sched_stats stats;
    size_t depth = 99;
    (void)arg;
    rti_sched_stats(&fibers.sched, &stats, &depth, 1);
    CHECK_EQ(stats.workers, 1);
    CHECK_EQ(stats.workers_used, 1);
    CHECK_EQ(stats.steal_attempts + stats.steal_successes, 0);
    seen = depth;
}

TEST(sched_stats_count_what_is_ready_at_every_level)
{
    fibers_init(&fibers);
    fibers_go(&fibers, 0, looks, NULL);
    for (uint8_t priority = 1; priority < 4; priority++) {
        fibers_go(&fibers, priority, nothing, NULL);
        fibers_go(&fibers, priority, nothing, NULL);
    }
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(seen, 6);
    fibers_deinit(&fibers);
}
