/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CREW_ROSTER_H
#define RTI_CREW_ROSTER_H

/* Who has which station: the lists of idle stations and members, how somebody is woken for a
 * station, and how a station goes from one to another; the essay is in crew.h. For src/sched only.
 */

#include "base/compiler.h"
#include "sched/crew.h"

/* Has the run ended? Then members leave their loops. */
static inline bool rti_crew_is_over(const struct rti_crew *crew)
{
    /* Acquire pairs with the exchange in rti_crew_end. */
    return rti_u32_load_acquire(&crew->is_over) != 0;
}

/* Are more stations used than may be? Any thread, a hint without the lock. */
static inline bool rti_crew_is_too_wide(const struct rti_crew *crew)
{
    return RTI_UNLIKELY(rti_u32_load_relaxed(&crew->listed_count) <
                        rti_u32_load_relaxed(&crew->barred));
}

/* Wakes a member for an idle station, unless somebody already looks for work. Any thread, after
 * work was queued and a fence. */
void rti_crew_rouse_one(struct rti_crew *crew);

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

/* Makes the station the member's. */
void rti_member_hold(struct rti_member *member, struct rti_station *station);

/* Makes every member leave its loop. */
void rti_crew_end(struct rti_crew *crew);

/* Ends the run if every station is idle and nothing lives. With the lock held no station is taken,
 * so that what the stations have counted stands still, and the sum is exact. */
void rti_crew_check_over(struct rti_crew *crew);

/* Was something left when the member gave up its station? Any of it may be gone by now. */
bool rti_crew_has_work(const struct rti_crew *crew);

/* Gives a station back because too many are used, with what lies there. False if it was not so. */
bool rti_crew_retire(struct rti_crew *crew, struct rti_station *station);

/* A station that may not be used and still has something: the next of them in order, from this one
 * on. NULL if there is none. */
struct rti_station *rti_crew_find_retired(struct rti_crew *crew, uint32_t from);

/* Where no station may be taken nobody is woken for one, and who would lie down in the poller then
 * sleeps on: sends one there that needs no station for it. Any thread, after a fence. */
void rti_crew_man_poller(struct rti_crew *crew);

#endif
