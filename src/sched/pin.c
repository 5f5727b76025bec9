/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "pin"
#include "sched/pin.h"

#include "base/marks.h"
#include "sched/crew_search.h"
#include "sched/solo.h"

/* Is somebody else there to run what a member leaves? With the lock held. */
static bool crew_has_other(const struct rti_crew *crew, const struct rti_member *member)
{
    for (uint32_t i = 0; i < crew->members_max; i++) {
        const struct rti_member *other = &crew->members[i];
        if (other != member && (i == 0 || other->is_started) && other->pin == 0) {
            return true;
        }
    }
    return false;
}

static void pin_set(struct rti_member *member, struct rti_runnable *runnable)
{
    member->pin = (uint16_t)(member->index + 1);
    member->pinned = runnable;
    runnable->pin = member->pin;
}

bool rti_pin_take(struct rti_member *member, struct rti_runnable *runnable)
{
    struct rti_crew *crew = member->crew;
    rti_lock_acquire(&crew->lock, crew->sched);
    bool is_room = crew->members_max - crew->pinned_count > crew->stations_count;
    bool has_other = crew_has_other(crew, member);
    if (is_room) {
        crew->pinned_count++;
        pin_set(member, runnable);
    }
    rti_lock_release(&crew->lock);
    if (is_room && !has_other && !rti_crew_start_spare(crew)) {
        rti_pin_release(member, runnable);
        is_room = false;
    }
    return is_room;
}

void rti_pin_release(struct rti_member *member, struct rti_runnable *runnable)
{
    struct rti_crew *crew = member->crew;
    rti_lock_acquire(&crew->lock, crew->sched);
    RT_ASSERT(member->pinned == runnable && runnable->pin == member->pin && member->pin != 0);
    member->pin = 0;
    member->pinned = NULL;
    runnable->pin = 0;
    crew->pinned_count--;
    rti_lock_release(&crew->lock);
}

static RTI_COLD void pin_tell_short(void)
{
    rti_port_log("no thread for a pinned task: it runs where there is one");
}

/* Says what the target of a pin is to run, and where. False if the run is over. */
static bool pin_give(struct rti_member *target, struct rti_station *station,
                     struct rti_runnable *runnable, bool *is_asleep, bool *is_absent)
{
    struct rti_crew *crew = target->crew;
    rti_lock_acquire(&crew->lock, crew->sched);
    RT_ASSERT(target->pinned == runnable && target->given == NULL);
    /* Under the lock: who leaves at the end of the run takes what was given before. */
    bool is_over = rti_u32_load_relaxed(&crew->is_over) != 0;
    if (!is_over) {
        target->given = station;
        target->given_first = runnable;
        *is_asleep = target->is_waiting;
        *is_absent = target->is_absent;
        target->is_manned = target->is_manned || target->is_absent;
        target->is_waiting = false;
        target->is_absent = false;
    }
    rti_lock_release(&crew->lock);
    return !is_over;
}

/* Sends the caller's station to the member that the runnable is pinned to. False if the system has
 * no thread for that one: then the runnable is not pinned any more. */
static bool pin_send(struct rti_member *member, struct rti_runnable *runnable)
{
    struct rti_crew *crew = member->crew;
    struct rti_member *target = &crew->members[runnable->pin - 1];
    struct rti_station *station = member->worker->station;
    bool is_asleep = false;
    bool is_absent = false;
    /* Before another has it: who has no station is a guest. */
    rti_solo_quit(member->worker);
    /* Who yielded here because it is pinned elsewhere has roused nobody, and the target may block.
     */
    bool has_more = !rti_station_is_empty(station);
    if (!pin_give(target, station, runnable, &is_asleep, &is_absent)) {
        rti_injector_push(&crew->injector, runnable);
        return true;
    }
    /* It is the target's from here on, unless that has no thread. */
    member->worker->station = NULL;
    if (is_asleep) {
        rti_parker_unpark(&target->parker, crew->sched->port);
    }
    if (is_absent && !rti_crew_start_member(crew, target)) {
        pin_tell_short();
        target->given = NULL;
        target->given_first = NULL;
        rti_pin_release(target, runnable);
        member->worker->station = station;
        return false;
    }
    if (has_more) {
        /* Queued, then fence, then look for sleepers: see crew.h. */
        rti_fence_seqcst();
        rti_crew_rouse_one(crew);
    }
    return true;
}

bool rti_pin_forward(struct rti_member *member, struct rti_runnable *runnable)
{
    RT_DCHECK(!member->is_spinning);
    if (runnable->pin != 0 && pin_send(member, runnable)) {
        return false;
    }
    if (rti_pin_allows(member, runnable)) {
        return true;
    }
    struct rti_station *station = member->worker->station;
    rti_solo_quit(member->worker);
    member->worker->station = NULL;
    RT_SOMETIMES(true, "pin: a pinned thread gave its station away");
    rti_crew_send_first(member->crew, station, runnable);
    return false;
}

void rti_pin_give_up(struct rti_member *member)
{
    struct rti_station *station = member->worker->station;
    rti_solo_quit(member->worker);
    member->worker->station = NULL;
    rti_crew_hand_over(member->crew, station);
}

void rti_pin_sleep(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    rti_lock_acquire(&crew->lock, crew->sched);
    /* Under the lock, so that the end of the run finds it waiting or is found. */
    bool is_over = rti_u32_load_relaxed(&crew->is_over) != 0;
    bool is_waiting = member->given == NULL && !is_over;
    member->is_waiting = is_waiting;
    rti_lock_release(&crew->lock);
    if (is_waiting) {
        (void)rti_parker_park(&member->parker, crew->sched->port, RTI_TIME_NEVER);
    }
    rti_lock_acquire(&crew->lock, crew->sched);
    struct rti_station *given = member->given;
    member->first = member->given_first;
    member->given = NULL;
    member->given_first = NULL;
    rti_lock_release(&crew->lock);
    if (given != NULL) {
        rti_member_hold(member, given);
    }
}

void rti_pin_begin(struct rti_crew *crew)
{
    struct rti_member *first = &crew->members[0];
    if (RTI_UNLIKELY(first->pin != 0) && !rti_crew_start_spare(crew)) {
        pin_tell_short();
        rti_pin_release(first, first->pinned);
    }
}

void rti_pin_end(struct rti_crew *crew)
{
    struct rti_member *woken = NULL;
    rti_lock_acquire(&crew->lock, crew->sched);
    for (uint32_t i = 0; crew->pinned_count > 0 && i < crew->members_max; i++) {
        struct rti_member *member = &crew->members[i];
        if (member->is_waiting) {
            member->is_waiting = false;
            member->idle_next = woken;
            woken = member;
        }
    }
    rti_lock_release(&crew->lock);
    while (woken != NULL) {
        struct rti_member *next = woken->idle_next;
        rti_parker_unpark(&woken->parker, crew->sched->port);
        woken = next;
    }
}

void rti_pin_absent(struct rti_crew *crew)
{
    for (uint32_t i = 1; i < crew->members_max; i++) {
        crew->members[i].is_absent = crew->members[i].pin != 0;
        crew->members[i].is_manned = false;
    }
    RT_AUDIT(rti_pin_audit(crew));
}

void rti_pin_audit(const struct rti_crew *crew)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < crew->members_max; i++) {
        const struct rti_member *member = &crew->members[i];
        RT_ASSERT((member->pin != 0) == (member->pinned != NULL));
        RT_ASSERT(member->pinned == NULL || member->pinned->pin == i + 1);
        RT_ASSERT(member->given == NULL && !member->is_waiting);
        count += member->pin != 0 ? 1 : 0;
    }
    RT_ASSERT(count == crew->pinned_count);
}
