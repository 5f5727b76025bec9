/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SEARCH_WORLD_H
#define MODEL_SEARCH_WORLD_H

/* What surrounds the search of the crew in models that have no more of it: no warden to rouse,
 * always somebody who lives, members that the model's own threads are, and a clock that stands. */

#include "crew_world.h"

void rti_warden_rouse(struct rti_warden *warden)
{
    (void)warden;
}

uint64_t rti_crew_live(const struct rti_crew *of)
{
    (void)of;
    return 1;
}

void rti_member_main(void *arg)
{
    (void)arg;
}

static inline uint64_t world_clock(struct rti_port *port)
{
    (void)port;
    return 1;
}

#endif
