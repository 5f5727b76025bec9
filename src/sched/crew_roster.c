/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "crew_roster"
#include "sched/crew_roster.h"

#include "base/marks.h"
#include "sched/crew_search.h"
#include "sched/pin.h"
#include "sched/solo.h"

/* So many stations are in the list: how many of them may be taken? With the lock held. */
static void crew_set_listed(struct rti_crew *crew, uint32_t listed)
{
    uint32_t barred = rti_u32_load_relaxed(&crew->barred);
    rti_u32_store_relaxed(&crew->listed_count, listed);
    rti_u32_store_relaxed(&crew->idle_count, listed > barred ? listed - barred : 0);
    uint32_t used = crew->stations_count - listed;
    if (used > rti_u32_load_relaxed(&crew->used_most)) {
        rti_u32_store_relaxed(&crew->used_most, used);
    }
}

struct rti_station *rti_crew_take_idle(struct rti_crew *crew)
{
    if (rti_u32_load_relaxed(&crew->idle_count) == 0) {
        return NULL;
    }
    rti_lock_acquire(&crew->lock, crew->sched);
    struct rti_station *station = NULL;
    if (rti_u32_load_relaxed(&crew->idle_count) > 0) {
        station = crew->idle_stations;
        RT_ASSERT(rti_u32_load_relaxed(&station->state) == RTI_STATION_IDLE);
        crew->idle_stations = station->idle_next;
        rti_u32_store_relaxed(&station->state, RTI_STATION_HELD);
        crew_set_listed(crew, rti_u32_load_relaxed(&crew->listed_count) - 1);
        rti_solo_end(crew);
    }
    rti_lock_release(&crew->lock);
    if (station != NULL) {
        /* Not idle any more; fence; then the warden: pairs with its own announcement. */
        rti_fence_seqcst();
        rti_warden_rouse(&crew->warden);
    }
    return station;
}

void rti_member_hold(struct rti_member *member, struct rti_station *station)
{
    RT_ASSERT(member->worker->station == NULL);
    RT_ASSERT(rti_u32_load_relaxed(&station->state) == RTI_STATION_HELD);
    rti_ptr_store_relaxed(&station->holder, member);
    member->worker->station = station;
}

/* Puts a station into the list. Returns how many are there. With the lock held. */
static uint32_t crew_list(struct rti_crew *crew, struct rti_station *station)
{
    uint32_t listed = rti_u32_load_relaxed(&crew->listed_count) + 1;
    station->idle_next = crew->idle_stations;
    crew->idle_stations = station;
    rti_u32_store_relaxed(&station->state, RTI_STATION_IDLE);
    crew_set_listed(crew, listed);
    return listed;
}

bool rti_crew_give_back(struct rti_crew *crew, struct rti_station *station)
{
    rti_lock_acquire(&crew->lock, crew->sched);
    uint32_t listed = crew_list(crew, station);
    rti_lock_release(&crew->lock);
    return listed == crew->stations_count;
}

/* One that has no thread yet, or NULL. With the lock held. */
static struct rti_member *crew_new_member(struct rti_crew *crew)
{
    while (crew->members_count < crew->members_max) {
        struct rti_member *member = &crew->members[crew->members_count];
        crew->members_count++;
        /* Else it is kept for its fiber, or was, and got its thread then. */
        if (member->pin == 0 && !member->is_manned) {
            member->is_manned = true;
            member->is_absent = false;
            return member;
        }
    }
    return NULL;
}

/* A member for a station: one that sleeps, or a new thread. NULL: there are no more. */
static struct rti_member *crew_take_member(struct rti_crew *crew, bool *is_new)
{
    rti_lock_acquire(&crew->lock, crew->sched);
    struct rti_member *member = crew->idle_members;
    *is_new = member == NULL;
    if (member != NULL) {
        crew->idle_members = member->idle_next;
    } else {
        member = crew_new_member(crew);
    }
    rti_lock_release(&crew->lock);
    return member;
}

bool rti_crew_start_member(struct rti_crew *crew, struct rti_member *member)
{
    struct rti_port *port = crew->sched->port;
    rt_status status = port->ops->thread_start(port, &member->thread, rti_member_main, member);
    bool is_started = !RT_FAILED(status);
    rti_lock_acquire(&crew->lock, crew->sched);
    RT_ASSERT(member->is_manned && !member->is_started);
    member->is_started = is_started;
    if (!is_started) {
        crew->members_count = crew->members_max;
    }
    rti_lock_release(&crew->lock);
    return is_started;
}

/* Gives a station to a member that spins from now on. False if there is no thread for it. */
static bool crew_send(struct rti_crew *crew, struct rti_station *station,
                      struct rti_runnable *first)
{
    bool is_new;
    struct rti_member *member = crew_take_member(crew, &is_new);
    if (member == NULL) {
        return false;
    }
    member->given = station;
    member->given_first = first;
    member->is_spinning = true;
    if (!is_new) {
        rti_parker_unpark(&member->parker, crew->sched->port);
        return true;
    }
    if (rti_crew_start_member(crew, member)) {
        return true;
    }
    /* The caller keeps the station: who starts this member later has nothing for it. */
    member->given = NULL;
    member->given_first = NULL;
    member->is_spinning = false;
    return false;
}

void rti_crew_stop_spinning(struct rti_crew *crew)
{
    uint32_t before = rti_u32_sub_acqrel(&crew->spinning, 1);
    RT_ASSERT(before > 0);
}

/* Does a member sleep on its futex? */
static bool crew_has_sleeper(struct rti_crew *crew)
{
    rti_lock_acquire(&crew->lock, crew->sched);
    bool has_sleeper = crew->idle_members != NULL;
    rti_lock_release(&crew->lock);
    return has_sleeper;
}

/* Wakes a member for an idle station. The caller has promised that one spins. False if there was
 * no station, or no member, and the promise was broken: whoever made work meanwhile, or has left
 * the poller, has relied on it, and if a station was given back since it was looked for, or a
 * member has gone to sleep, the caller must try again. */
static bool crew_rouse(struct rti_crew *crew)
{
    struct rti_station *station = rti_crew_take_idle(crew);
    if (station == NULL) {
        rti_crew_stop_spinning(crew);
        /* Not promised any more; fence; then idle stations: pairs with who queues, then looks. */
        rti_fence_after_rmw();
        return false;
    }
    if (crew_send(crew, station, NULL)) {
        return true;
    }
    if (rti_u32_exchange_acqrel(&crew->is_member_short, 1) == 0) {
        rti_port_log("no thread left for a worker: work waits for those that run");
    }
    (void)rti_crew_give_back(crew, station);
    rti_crew_stop_spinning(crew);
    /* Not promised any more; fence; then who sleeps: pairs with who goes to sleep, then looks. */
    rti_fence_after_rmw();
    /* Whoever sleeps in the poller can take it. */
    crew->sched->port->ops->wake(crew->sched->port);
    return !crew_has_sleeper(crew);
}

/* Is there a station for which nobody looks for work, in a run that goes on? */
static bool crew_is_lax(const struct rti_crew *crew)
{
    return rti_u32_load_relaxed(&crew->idle_count) != 0 &&
           rti_u32_load_relaxed(&crew->spinning) == 0 && !rti_crew_is_over(crew);
}

void rti_crew_rouse_one(struct rti_crew *crew)
{
    if (!crew_is_lax(crew)) {
        return;
    }
    /* A fiber that was switched to straight calls this, and has its errno already. */
    int *errno_here = rti_errno_address();
    int kept = *errno_here;
    rti_u32_add_acqrel(&crew->senders, 1);
    /* Counted; fence; then is the run over: rti_crew_run ends it, then waits for who is counted. */
    rti_fence_after_rmw();
    uint32_t nobody = 0;
    while (crew_is_lax(crew) && rti_u32_cas_acqrel(&crew->spinning, &nobody, 1) &&
           !crew_rouse(crew)) {
        nobody = 0;
    }
    rti_u32_sub_acqrel(&crew->senders, 1);
    *errno_here = kept;
}

void rti_crew_check_over(struct rti_crew *crew)
{
    rti_lock_acquire(&crew->lock, crew->sched);
    bool is_over = rti_u32_load_relaxed(&crew->listed_count) == crew->stations_count &&
                   rti_crew_live(crew) == 0;
    rti_lock_release(&crew->lock);
    if (is_over) {
        rti_crew_end(crew);
    }
}

bool rti_crew_has_work(const struct rti_crew *crew)
{
    if (!rti_injector_is_empty(&crew->injector)) {
        return true;
    }
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        const struct rti_station *station = &crew->stations[i];
        if (!rti_station_is_empty(station)) {
            return true;
        }
        /* A `next` is its holder's, or the warden has it fetched; at an idle station it is work. */
        if (rti_ptr_load_relaxed(&station->next) != NULL &&
            rti_u32_load_relaxed(&station->state) == RTI_STATION_IDLE) {
            return true;
        }
    }
    return false;
}

void rti_crew_set_width(struct rti_crew *crew, uint32_t width)
{
    RT_ASSERT(width >= 1 && width <= crew->stations_count);
    uint32_t barred = crew->stations_count - width;
    if (barred == rti_u32_load_relaxed(&crew->barred)) {
        return;
    }
    rti_lock_acquire(&crew->lock, crew->sched);
    bool is_wider = barred < rti_u32_load_relaxed(&crew->barred);
    rti_u32_store_relaxed(&crew->barred, barred);
    if (width == 1 && rti_u64_load_relaxed(&crew->solo_again_ns) != RTI_TIME_NEVER) {
        /* Who is left may work alone at once: that others came and went was no guest's doing. */
        rti_u64_store_relaxed(&crew->solo_again_ns, 0);
    }
    crew_set_listed(crew, rti_u32_load_relaxed(&crew->listed_count));
    if (is_wider) {
        /* Who works alone may have queued without a fence because no station could be taken. */
        rti_solo_end(crew);
    }
    rti_lock_release(&crew->lock);
    /* May be taken; fence; then looks, as one who gives a station back does. Who left the poller
     * meanwhile could send nobody there, and the one who is left may compute. */
    rti_fence_seqcst();
    if (rti_crew_has_work(crew) || rti_u32_load_relaxed(&crew->is_polled) == 0) {
        rti_crew_rouse_one(crew);
    }
}

void rti_crew_man_poller(struct rti_crew *crew)
{
    if (RTI_LIKELY(rti_u32_load_relaxed(&crew->barred) == 0) ||
        rti_u32_load_relaxed(&crew->is_polled) != 0 || rti_crew_is_over(crew)) {
        return;
    }
    rti_lock_acquire(&crew->lock, crew->sched);
    struct rti_member *member = crew->idle_members;
    if (member != NULL) {
        crew->idle_members = member->idle_next;
    }
    rti_lock_release(&crew->lock);
    if (member != NULL) {
        RT_SOMETIMES(true, "crew: one without a station is sent to the poller");
        rti_parker_unpark(&member->parker, crew->sched->port);
    }
}

bool rti_crew_retire(struct rti_crew *crew, struct rti_station *station)
{
    rti_lock_acquire(&crew->lock, crew->sched);
    bool is_retired = rti_crew_is_too_wide(crew);
    if (is_retired) {
        (void)crew_list(crew, station);
    }
    rti_lock_release(&crew->lock);
    return is_retired;
}

struct rti_station *rti_crew_find_retired(struct rti_crew *crew, uint32_t from)
{
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        struct rti_station *station = &crew->stations[(from + i) % crew->stations_count];
        if (rti_u32_load_relaxed(&station->state) == RTI_STATION_IDLE &&
            (!rti_station_is_empty(station) || rti_ptr_load_relaxed(&station->next) != NULL)) {
            return station;
        }
    }
    return NULL;
}

void rti_crew_hand_over(struct rti_crew *crew, struct rti_station *station)
{
    bool has_work = !rti_station_is_empty(station) || !rti_injector_is_empty(&crew->injector) ||
                    rti_ptr_load_relaxed(&station->next) != NULL;
    if (has_work && !rti_crew_is_over(crew)) {
        rti_u32_add_acqrel(&crew->spinning, 1);
        if (crew_send(crew, station, NULL)) {
            return;
        }
        rti_crew_stop_spinning(crew);
    }
    bool are_all_idle = rti_crew_give_back(crew, station);
    /* Given back; fence; then looks again, as a member does. */
    rti_fence_seqcst();
    if (are_all_idle) {
        /* The last one may have ended on a thread that holds no station. */
        rti_crew_check_over(crew);
    }
    /* Those who could run may all be in blocking calls: timers and the port need somebody, too. */
    if (rti_crew_has_work(crew) || rti_u32_load_relaxed(&crew->is_polled) == 0) {
        rti_crew_rouse_one(crew);
        rti_crew_man_poller(crew);
    }
}

void rti_crew_send_first(struct rti_crew *crew, struct rti_station *station,
                         struct rti_runnable *first)
{
    if (!rti_crew_is_over(crew)) {
        rti_u32_add_acqrel(&crew->spinning, 1);
        if (crew_send(crew, station, first)) {
            return;
        }
        rti_crew_stop_spinning(crew);
    }
    /* Before all others: who takes the station next may find one there that is pinned to the
     * caller, and would send it back before this one had its turn. */
    (void)rti_station_queue_next(station, first, &crew->injector);
    rti_crew_hand_over(crew, station);
}

bool rti_crew_start_spare(struct rti_crew *crew)
{
    rti_lock_acquire(&crew->lock, crew->sched);
    struct rti_member *member = crew_new_member(crew);
    rti_lock_release(&crew->lock);
    return member != NULL && rti_crew_start_member(crew, member);
}

bool rti_crew_preempt(struct rti_crew *crew, struct rti_station *station)
{
    struct rti_port *port = crew->sched->port;
    struct rti_member *member = rti_ptr_load_relaxed(&station->holder);
    if (member == NULL) {
        return false;
    }
    rti_u32_store_relaxed(&member->attention, 1);
    uintptr_t os_thread = rti_size_load_relaxed(&member->os_thread);
    if (!crew->is_preemptive || os_thread == 0) {
        return false;
    }
    port->ops->interrupt(port, os_thread);
    return true;
}

void rti_crew_end(struct rti_crew *crew)
{
    struct rti_port *port = crew->sched->port;
    /* Exchange and fence: a member that goes to sleep after this sees it. */
    rti_u32_exchange_acqrel(&crew->is_over, 1);
    rti_fence_after_rmw();
    rti_lock_acquire(&crew->lock, crew->sched);
    struct rti_member *member = crew->idle_members;
    crew->idle_members = NULL;
    /* Who works alone does not ask whether the run is over. */
    rti_solo_end(crew);
    rti_lock_release(&crew->lock);
    while (member != NULL) {
        struct rti_member *next = member->idle_next;
        member->given = NULL;
        rti_parker_unpark(&member->parker, port);
        member = next;
    }
    rti_pin_end(crew);
    port->ops->wake(port);
}
