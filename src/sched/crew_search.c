/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "crew_search"
#include "sched/crew_search.h"

#include <orrery/rt_static_config.h>

#include "base/marks.h"
#include "sched/pin.h"
#include "sched/solo.h"
#include "sched/watch.h"

/* Rounds over all victims before a member gives up; in the last one `next` is taken too. */
#define STEAL_ROUNDS 4

/* A look is due after at most this many turns. */
#define LOOK_INTERVAL_MAX 64

_Static_assert(RTI_STATION_TICKS <= LOOK_INTERVAL_MAX, "the next tick is as good as a look");

/* Fires what is due at a station. Any member. */
static bool station_expire(struct rti_station *station, uint64_t now_ns)
{
    if (station->timers.next_deadline(station->timers.context) > now_ns) {
        return false;
    }
    return station->timers.expire(station->timers.context, now_ns) > 0;
}

/* The earliest deadline of all stations. */
static uint64_t crew_next_deadline(const struct rti_crew *crew)
{
    uint64_t earliest = RTI_TIME_NEVER;
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        const struct rti_timer_source *timers = &crew->stations[i].timers;
        uint64_t deadline_ns = timers->next_deadline(timers->context);
        earliest = deadline_ns < earliest ? deadline_ns : earliest;
    }
    return earliest;
}

void rti_crew_armed(struct rti_crew *crew, uint64_t deadline_ns)
{
    /* Armed, then fence, then look whether somebody sleeps for too long; the sleeper says for how
     * long, then fence, then looks at the timers again. */
    rti_fence_seqcst();
    if (deadline_ns < rti_u64_load_relaxed(&crew->poll_until_ns)) {
        crew->sched->port->ops->wake(crew->sched->port);
    }
}

/* Enters the poller if nobody is there. */
static bool crew_begin_poll(struct rti_crew *crew)
{
    uint32_t nobody = 0;
    return rti_u32_load_relaxed(&crew->is_polled) == 0 &&
           rti_u32_cas_acqrel(&crew->is_polled, &nobody, 1);
}

static void crew_end_poll(struct rti_crew *crew)
{
    /* Release pairs with the next one's acquire. */
    rti_u32_store_release(&crew->is_polled, 0);
}

void rti_crew_poll(struct rti_crew *crew, uint64_t now_ns)
{
    struct rti_port *port = crew->sched->port;
    if (!crew_begin_poll(crew)) {
        return;
    }
    rti_u32_exchange_acqrel(&port->attention, 0);
    port->ops->wait(port, 0);
    rti_sched_drain_posts(crew->sched);
    rti_u64_store_relaxed(&crew->polled_ns, now_ns);
    crew_end_poll(crew);
    /* Whoever wanted to sleep in the poller meanwhile lies on its futex: somebody must go back. */
    rti_fence_seqcst();
    rti_crew_rouse_one(crew);
    rti_crew_man_poller(crew);
}

/* Fires what is due at stations that may not be used: nobody may be in the poller. */
static void crew_expire_retired(struct rti_crew *crew, uint64_t now_ns)
{
    if (RTI_LIKELY(rti_u32_load_relaxed(&crew->barred) == 0)) {
        return;
    }
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        struct rti_station *station = &crew->stations[i];
        if (rti_u32_load_relaxed(&station->state) == RTI_STATION_IDLE) {
            (void)station_expire(station, now_ns);
        }
    }
}

/* The clock, the port and the timers, at the beginning of a turn. */
static void member_look(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    struct rti_port *port = crew->sched->port;
    uint64_t before_ns = member->worker->now_ns;
    rti_u32_store_relaxed(&member->attention, 0);
    rti_worker_follow(member->worker);
    member->worker->now_ns = port->ops->clock_ns(port);
    bool is_near = member->worker->now_ns - before_ns < (uint64_t)RT_LOOK_NEAR_NS;
    member->look_interval = is_near ? member->look_interval * 2 : 1;
    if (member->look_interval > LOOK_INTERVAL_MAX) {
        member->look_interval = LOOK_INTERVAL_MAX;
    }
    member->turns_until_look = member->look_interval;
    if (member->look_interval == LOOK_INTERVAL_MAX) {
        /* At the next tick, which is sooner: the search is needed once for both. */
        member->turns_until_look =
            (int32_t)(RTI_STATION_TICKS - member->worker->station->tick % RTI_STATION_TICKS);
    }
    rti_solo_try(member);
    if (rti_u32_load_relaxed(&port->attention) != 0 ||
        member->worker->now_ns - rti_u64_load_relaxed(&crew->polled_ns) >=
            (uint64_t)RT_PORT_LOOK_NS) {
        rti_crew_poll(crew, member->worker->now_ns);
    }
    /* After that: what has come before a limit counts before the limit. */
    (void)station_expire(member->worker->station, member->worker->now_ns);
    crew_expire_retired(crew, member->worker->now_ns);
}

static struct rti_runnable *member_take_injected(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    uint32_t share = rti_u32_load_relaxed(&crew->injector.count) / crew->stations_count + 1;
    share = share > RTI_RING_CAPACITY / 2 ? RTI_RING_CAPACITY / 2 : share;
    return rti_injector_take(&crew->injector, member->worker->station, share);
}

/* Takes what a station has that may not be used any more: it waits for nobody else. */
static void member_take_retired(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    struct rti_station *own = member->worker->station;
    if (RTI_LIKELY(rti_u32_load_relaxed(&crew->barred) == 0)) {
        return;
    }
    /* Another one goes first each time: who has much there keeps nobody at the next one waiting. */
    struct rti_station *retired = rti_crew_find_retired(crew, own->tick / RTI_STATION_TICKS);
    if (retired != NULL && rti_station_fetch(own, retired, &crew->injector)) {
        RT_SOMETIMES(true, "crew: what lay at a station that may not be used was fetched");
    }
}

/* What has waited elsewhere while the station has work: of the injector, and of its backlog. */
static struct rti_runnable *member_take_waiting(struct rti_member *member)
{
    struct rti_station *station = member->worker->station;
    member_take_retired(member);
    struct rti_runnable *injected = member_take_injected(member);
    struct rti_runnable *old = rti_station_begin_old(station);
    if (injected != NULL && old != NULL) {
        rti_station_queue(station, old, &member->crew->injector);
        station->is_stocked = true;
    }
    return injected != NULL ? injected : old;
}

/* Takes from one station. */
static struct rti_runnable *member_steal_from(struct rti_member *member, struct rti_station *victim,
                                              struct rti_watch *watch, bool is_last)
{
    struct rti_station *own = member->worker->station;
    if (rti_watch_is_patient(watch) && rti_station_is_quick(victim)) {
        watch->is_quick = true;
        return rti_station_steal_early(own, victim);
    }
    struct rti_runnable *runnable = rti_station_steal(own, victim);
    return runnable == NULL && is_last ? rti_station_steal_next(own, victim) : runnable;
}

/* Visits every other station once, from a random one on. */
static struct rti_runnable *member_steal_round(struct rti_member *member, struct rti_watch *watch,
                                               bool is_last)
{
    struct rti_crew *crew = member->crew;
    struct rti_station *own = member->worker->station;
    uint32_t start = (uint32_t)rti_rng_below(&member->rng, crew->stations_count);
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        struct rti_station *victim = &crew->stations[(start + i) % crew->stations_count];
        if (victim == own) {
            continue;
        }
        struct rti_runnable *runnable = member_steal_from(member, victim, watch, is_last);
        if (runnable != NULL) {
            RTI_PROBE2(steal, runnable->id, (start + i) % crew->stations_count);
            rti_worker_note(member->worker, RTI_NOTE_STEAL, (start + i) % crew->stations_count,
                            runnable->id);
            return runnable;
        }
        if (is_last && station_expire(victim, member->worker->now_ns)) {
            RT_SOMETIMES(true, "crew: timers of another station fired");
            runnable = rti_station_pick(own);
            if (runnable != NULL) {
                return runnable;
            }
        }
    }
    return NULL;
}

static struct rti_runnable *member_steal(struct rti_member *member, struct rti_watch *watch)
{
    struct rti_crew *crew = member->crew;
    uint32_t busy = crew->stations_count - rti_u32_load_relaxed(&crew->listed_count);
    if (!member->is_spinning) {
        if (2 * rti_u32_load_relaxed(&crew->spinning) >= busy) {
            return NULL;
        }
        member->is_spinning = true;
        rti_u32_add_acqrel(&crew->spinning, 1);
    }
    bool was_patient = rti_watch_is_patient(watch);
    /* Who watches comes by often, and each time for one round. */
    for (uint32_t round = watch->looks > 0 ? STEAL_ROUNDS : 1; round <= STEAL_ROUNDS; round++) {
        struct rti_runnable *runnable = member_steal_round(member, watch, round == STEAL_ROUNDS);
        if (runnable != NULL || rti_crew_is_over(crew)) {
            return runnable;
        }
        rti_pause();
    }
    rti_watch_end_look(watch, was_patient);
    return NULL;
}

/* Everything that others have. A member that watches is one that spins, and others rely on it: it
 * looks for all that a sleeper would be woken for. */
static struct rti_runnable *member_find_elsewhere(struct rti_member *member)
{
    struct rti_watch watch = {.looks = 0};
    for (;;) {
        struct rti_runnable *runnable = member_steal(member, &watch);
        if (runnable != NULL || !rti_watch_goes_on(&watch) || rti_crew_is_over(member->crew) ||
            rti_crew_is_too_wide(member->crew)) {
            return runnable;
        }
        RT_SOMETIMES(true, "crew: work was left to one who is quick");
        for (int i = 0; i < RTI_WATCH_PAUSES; i++) {
            rti_pause();
        }
        member_look(member);
        runnable = rti_station_pick(member->worker->station);
        runnable = runnable != NULL ? runnable : member_take_injected(member);
        if (runnable != NULL) {
            return runnable;
        }
    }
}

/* Is a look due at what is not in the station? */
static RTI_ALWAYSINLINE bool member_is_look_due(const struct rti_member *member)
{
    return RTI_UNLIKELY(member->turns_until_look <= 0) ||
           RTI_UNLIKELY(rti_u32_load_relaxed(&member->attention) != 0) ||
           RTI_UNLIKELY(rti_u32_load_relaxed(&member->crew->sched->port->attention) != 0);
}

/* What most turns begin with: the oldest one of the rings, if nothing else could be next and nobody
 * is to be told of anything. NULL if it is any other case, which is left to member_search. */
static RTI_ALWAYSINLINE struct rti_runnable *member_find_oldest(struct rti_member *member)
{
    struct rti_station *station = member->worker->station;
    if (RTI_UNLIKELY(station == NULL) || RTI_UNLIKELY(member->first != NULL) ||
        RTI_UNLIKELY(member->is_spinning) || member_is_look_due(member) ||
        RTI_UNLIKELY(station->is_stocked) || RTI_UNLIKELY(!rti_station_is_plain(station)) ||
        RTI_UNLIKELY(rti_station_is_tick_due(station)) ||
        RTI_UNLIKELY(rti_crew_is_over(member->crew))) {
        return NULL;
    }
    struct rti_runnable *runnable = rti_solo_pop(member->worker, RTI_PRIORITY_LEVELS);
    if (RTI_UNLIKELY(runnable == NULL)) {
        return NULL;
    }
    station->tick++;
    station->streak = 0;
    if (RTI_UNLIKELY(!rti_pin_allows(member, runnable))) {
        member->first = runnable;
        return NULL;
    }
    return runnable;
}

/* Everything that can be had without sleeping. Holds a station. */
static struct rti_runnable *member_find(struct rti_member *member)
{
    struct rti_station *station = member->worker->station;
    struct rti_runnable *runnable = NULL;
    if (member_is_look_due(member)) {
        member_look(member);
    }
    if (rti_station_is_tick_due(station)) {
        runnable = member_take_waiting(member);
    }
    if (runnable == NULL) {
        runnable = rti_station_pick(station);
    } else {
        station->tick++;
    }
    if (RTI_LIKELY(runnable != NULL)) {
        return runnable;
    }
    runnable = member_take_injected(member);
    if (runnable != NULL) {
        return runnable;
    }
    member_look(member);
    rti_crew_poll(member->crew, member->worker->now_ns);
    runnable = rti_station_pick(station);
    return runnable != NULL ? runnable : member_find_elsewhere(member);
}

/* Is there work, and a station to do it at? Work at stations that are all held is their holders'.
 */
static bool crew_is_wanting(const struct rti_crew *crew)
{
    return rti_u32_load_relaxed(&crew->idle_count) > 0 && rti_crew_has_work(crew);
}

/* Sleeps in the poller until something happens outside or a timer is due anywhere. */
static void member_sleep_in_poller(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    struct rti_port *port = crew->sched->port;
    uint64_t deadline_ns = crew_next_deadline(crew);
    rti_u64_store_relaxed(&crew->poll_until_ns, deadline_ns);
    /* Said for how long; fence; then looks again: pairs with rti_crew_armed and rti_crew_end. */
    rti_fence_seqcst();
    uint64_t again_ns = crew_next_deadline(crew);
    deadline_ns = again_ns < deadline_ns ? again_ns : deadline_ns;
    /* Raised: something waits that the last look has left, and nobody calls for it again. */
    bool is_called = rti_u32_exchange_acqrel(&port->attention, 0) != 0;
    bool is_wanted = is_called || rti_crew_is_over(crew) || crew_is_wanting(crew);
    rti_worker_note_idle(member->worker);
    rti_sched_record(crew->sched,
                     &(struct rti_journal_event){.kind = RTI_JOURNAL_IDLE, .value = deadline_ns});
    port->ops->wait(port, is_wanted ? 0 : deadline_ns);
    rti_u64_store_relaxed(&crew->poll_until_ns, 0);
    rti_sched_drain_posts(crew->sched);
    member->worker->now_ns = port->ops->clock_ns(port);
    rti_u64_store_relaxed(&crew->polled_ns, member->worker->now_ns);
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        (void)station_expire(&crew->stations[i], member->worker->now_ns);
    }
    crew_end_poll(crew);
}

/* Takes a member out of the list of those that sleep. False if somebody has, to send a station. */
static bool member_unlist(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    rti_lock_acquire(&crew->lock, crew->sched);
    struct rti_member **at = &crew->idle_members;
    while (*at != NULL && *at != member) {
        at = &(*at)->idle_next;
    }
    bool is_listed = *at == member;
    if (is_listed) {
        *at = member->idle_next;
    }
    rti_lock_release(&crew->lock);
    return is_listed;
}

/* Sleeps on the futex until somebody sends a station. */
static void member_sleep(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    rti_lock_acquire(&crew->lock, crew->sched);
    bool is_over = rti_crew_is_over(crew);
    if (!is_over) {
        member->idle_next = crew->idle_members;
        crew->idle_members = member;
    }
    rti_lock_release(&crew->lock);
    /* Listed; fence; then looks again: who wanted to send a station to somebody, or has just left
     * the poller, may have found nobody here, and no thread to start. */
    rti_fence_seqcst();
    bool is_needed = rti_u32_load_relaxed(&crew->is_polled) == 0 || crew_is_wanting(crew);
    if (!is_over && !(is_needed && member_unlist(member))) {
        rti_worker_note_idle(member->worker);
        (void)rti_parker_park(&member->parker, crew->sched->port, RTI_TIME_NEVER);
        struct rti_station *given = member->given;
        member->first = member->given_first;
        member->given = NULL;
        member->given_first = NULL;
        if (given != NULL) {
            rti_member_hold(member, given);
        }
    }
}

/* Stops spinning, if it does. */
static void member_calm(struct rti_member *member)
{
    if (member->is_spinning) {
        member->is_spinning = false;
        rti_crew_stop_spinning(member->crew);
    }
}

/* Gives up the station, and ends the run if that was all. */
static void member_give_up(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    if (RTI_UNLIKELY(member->pin != 0)) {
        member_calm(member);
        rti_pin_give_up(member);
        return;
    }
    rti_solo_quit(member->worker);
    bool are_all_idle = rti_crew_give_back(crew, member->worker->station);
    member->worker->station = NULL;
    member_calm(member);
    /* Station given back, not spinning; fence; then looks again. */
    rti_fence_seqcst();
    if (are_all_idle) {
        rti_crew_check_over(crew);
    }
}

/* Leaves its station, and what lies there to others, if more are used than may be. */
static bool member_retire(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    struct rti_station *station = member->worker->station;
    if (member->pin != 0 || member->first != NULL) {
        return false;
    }
    rti_solo_quit(member->worker);
    if (!rti_crew_retire(crew, station)) {
        return false;
    }
    RT_SOMETIMES(true, "crew: a station was left because fewer get more done");
    member->worker->station = NULL;
    member_calm(member);
    /* Station given back, not spinning; fence; then looks again. */
    rti_fence_seqcst();
    return true;
}

/* Takes back the station that the fiber which has just left was made to let go of, if nobody has it
 * yet: the warden may be gone by now. */
static void member_reclaim(struct rti_member *member)
{
    struct rti_station *station = member->worker->lent;
    uint32_t state = RTI_STATION_BLOCKED;
    member->worker->lent = NULL;
    /* Acquire pairs with the release of the last one to let go of it. */
    if (station != NULL && rti_u32_cas_acqrel(&station->state, &state, RTI_STATION_HELD)) {
        rti_member_hold(member, station);
    }
}

/* Takes a station again because there is work. */
static bool member_return(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    struct rti_station *station = rti_crew_take_idle(crew);
    if (station == NULL) {
        return false;
    }
    rti_member_hold(member, station);
    member->is_spinning = true;
    rti_u32_add_acqrel(&crew->spinning, 1);
    return true;
}

/* Waits, without a station, until there is one to run with. */
static void member_wait(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    while (member->worker->station == NULL && !rti_crew_is_over(crew)) {
        if (RTI_UNLIKELY(member->pin != 0)) {
            rti_pin_sleep(member);
            continue;
        }
        if (crew_is_wanting(crew) && member_return(member)) {
            return;
        }
        if (crew_begin_poll(crew)) {
            member_sleep_in_poller(member);
        } else {
            member_sleep(member);
        }
    }
}

/* The run is over: leaves what the member has to the next one. */
static void member_leave(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    rti_solo_quit(member->worker);
    for (int i = 0; i < 2; i++) {
        if (member->first != NULL) {
            rti_injector_push(&crew->injector, member->first);
            member->first = NULL;
        }
        if (member->worker->station != NULL) {
            (void)rti_crew_give_back(crew, member->worker->station);
            member->worker->station = NULL;
        }
        if (member->pin != 0) {
            /* Another station may have been sent to it meanwhile. */
            rti_pin_sleep(member);
        }
    }
    member_calm(member);
}

/* The rest of a search: every way but the most common one. */
static RTI_NOINLINE struct rti_runnable *member_search(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    struct rti_worker *worker = member->worker;
    if (RTI_UNLIKELY(worker->station == NULL)) {
        member_reclaim(member);
    }
    while (!rti_crew_is_over(crew)) {
        if (worker->station == NULL) {
            /* It was taken from the fiber that has just left, and whoever gave it back may have
             * done so before that one had ended. */
            rti_crew_check_over(crew);
            member_wait(member);
            continue;
        }
        if (rti_crew_is_too_wide(crew) && member_retire(member)) {
            member_wait(member);
            continue;
        }
        struct rti_runnable *runnable = member->first;
        if (RTI_LIKELY(runnable == NULL)) {
            runnable = member_find(member);
        }
        if (runnable != NULL) {
            member->first = NULL;
            if (rti_station_is_restocked(worker->station) || member->is_spinning) {
                member_calm(member);
                /* There may be more: let another one look. In the rings, then fence, then sleepers.
                 */
                rti_fence_seqcst();
                rti_crew_rouse_one(crew);
            }
            if (RTI_LIKELY(rti_pin_allows(member, runnable)) || rti_pin_forward(member, runnable)) {
                return runnable;
            }
            continue;
        }
        member_give_up(member);
        member_wait(member);
    }
    member_leave(member);
    return NULL;
}

struct rti_runnable *rti_crew_search(struct rti_member *member)
{
    struct rti_runnable *oldest = member_find_oldest(member);
    return RTI_LIKELY(oldest != NULL) ? oldest : member_search(member);
}
