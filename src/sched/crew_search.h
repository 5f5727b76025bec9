/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CREW_SEARCH_H
#define RTI_CREW_SEARCH_H

/* How a member finds work, sleeps and is woken; the essay is in crew.h. For src/sched only. */

#include "sched/crew.h"

/* The next runnable for a member, READY and its alone; waits for one. NULL: the run is over, and
 * the member holds no station any more. */
struct rti_runnable *rti_crew_search(struct rti_member *member);

/* Wakes a member for an idle station, unless somebody already looks for work. Any thread, after
 * work was queued and a fence. */
void rti_crew_rouse_one(struct rti_crew *crew);

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

/* Ends a promise to look for work that was counted in `spinning`. A fence follows, and a look. */
void rti_crew_stop_spinning(struct rti_crew *crew);

/* Takes an idle station for the caller, or NULL. */
struct rti_station *rti_crew_take_idle(struct rti_crew *crew);

/* Gives a station back. Returns true if all are idle now. */
bool rti_crew_give_back(struct rti_crew *crew, struct rti_station *station);

/* From now on this many stations may be used at a time. If more are, those who hold them give some
 * back within some turns. The warden. */
void rti_crew_set_width(struct rti_crew *crew, uint32_t width);

/* Gives a station that the caller holds to a member that sleeps, if it has work or there is any
 * elsewhere; else to the idle ones. Any thread. */
void rti_crew_hand_over(struct rti_crew *crew, struct rti_station *station);

/* Gives a station, and what is to run there first, to a member that sleeps or to a new one; if
 * there is none they wait for who comes back. Any thread. */
void rti_crew_send_first(struct rti_crew *crew, struct rti_station *station,
                         struct rti_runnable *first);

/* Starts the thread of a member. False if the system has no more; then none is asked for any more.
 */
bool rti_crew_start_member(struct rti_crew *crew, struct rti_member *member);

/* Starts a member that has no station yet. False if there are no more. A member's thread. */
bool rti_crew_start_spare(struct rti_crew *crew);

/* Asks the fiber that runs at a station to suspend, and takes the station from it if it stands in
 * the program's own code. False if it cannot be interrupted. Any thread. */
bool rti_crew_preempt(struct rti_crew *crew, struct rti_station *station);

/* Takes in what has happened outside, without waiting, unless somebody is at it. Any thread. */
void rti_crew_poll(struct rti_crew *crew, uint64_t now_ns);

/* Makes the station the member's. */
void rti_member_hold(struct rti_member *member, struct rti_station *station);

/* Makes every member leave its loop. */
void rti_crew_end(struct rti_crew *crew);

/* The thread of a member but the first. */
void rti_member_main(void *arg);

#endif
