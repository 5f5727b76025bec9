/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CREW_SEARCH_H
#define RTI_CREW_SEARCH_H

/* How a member finds work, sleeps and is woken; the essay is in crew.h. For src/sched only. */

#include "sched/crew_roster.h"

/* The next runnable for a member, READY and its alone; waits for one. NULL: the run is over, and
 * the member holds no station any more. */
struct rti_runnable *rti_crew_search(struct rti_member *member);

/* Queues a fiber that has yielded and that nobody is on any more; the other workers are asked for,
 * but without a fence: who yields is no new work, and asks again at its next yield. The holder of
 * `station`, who is not pinned: what one pinned to another has is nobody else's. */
static RTI_ALWAYSINLINE void
rti_crew_show_yielded(struct rti_crew *crew, struct rti_station *station, struct rti_runnable *left)
{
    /* Before it lies in the ring: from then on it belongs to whoever takes it. */
    rti_runnable_to_yielding(left);
    rti_station_queue_inline(station, left, &crew->injector);
    if (RTI_UNLIKELY(rti_u32_load_relaxed(&crew->idle_count) != 0)) {
        rti_crew_rouse_one(crew);
    }
}

/* Takes in what has happened outside, without waiting, unless somebody is at it. Any thread. */
void rti_crew_poll(struct rti_crew *crew, uint64_t now_ns);

/* The thread of a member but the first. */
void rti_member_main(void *arg);

#endif
