/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SUPPORT_SIM_NETS_H
#define TEST_SUPPORT_SIM_NETS_H

/* A run in the simulator whose network is told how to be; it leaves no actor and no socket. */

#include <orrery/rt.h>

#include "support/test.h"

static rt_sim_report report;

static inline void run_with(const rt_sim_network *network, uint64_t seed, actor_fn first)
{
    rt_sim_config config = {.seed = seed, .report = &report};
    if (network != NULL) {
        config.network = *network;
    }
    CHECK_OK(rt_sim_run(&config, first, NULL));
    CHECK_EQ(report.actors_left, 0);
    CHECK_EQ(report.sockets_left, 0);
}

static inline void run(actor_fn first)
{
    run_with(NULL, 1, first);
}

#endif
