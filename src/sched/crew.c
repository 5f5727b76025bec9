/* SPDX-License-Identifier: Apache-2.0 */
/* Members, their turns and their end; how they look for work is in crew_search.c. */
#define RTI_MODULE "crew"
#include "sched/crew.h"

#include "sched/crew_search.h"
#include "sched/crew_start.h"
#include "sched/fault.h"
#include "sched/fiber.h"
#include "sched/passing.h"
#include "sched/pin.h"
#include "sched/preempt.h"
#include "sched/solo.h"

/* How long the end of a run naps while a thread from outside is about to start a member. */
#define SENDERS_NAP_NS 50000

static void member_init(struct rti_member *member, struct rti_crew *crew, uint32_t index,
                        uint64_t seed)
{
    *member = (struct rti_member){.crew = crew, .index = index, .look_interval = 1};
    member->worker = index == 0 ? &crew->sched->worker : &member->own;
    rti_parker_init(&member->parker);
    rti_u32_init(&member->attention, 0);
    rti_rng_init(&member->rng, seed + index);
    *member->worker = (struct rti_worker)
    {
        .sched = crew->sched, .straight = rti_sched_no_modules,
#if RTI_RECORDS
        .noted = rti_sched_no_modules,
#endif
        .member = member, .attention = &member->attention
    };
}

void rti_crew_init(struct rti_crew *crew, struct rti_sched *sched,
                   const struct rti_crew_config *config)
{
    RT_ASSERT(sched->live == 0 && rti_worker_current() == &sched->worker);
    RT_ASSERT(config->workers > 0 && config->members_max > config->workers);
    sched->crew = crew;
    sched->is_local = false;
    *crew = (struct rti_crew){.sched = sched,
                              .stations = config->stations,
                              .members = config->members,
                              .stations_count = config->workers,
                              .members_max = config->members_max,
                              .members_count = 1};
    uint32_t min = config->workers_min > 0 ? config->workers_min : 1;
    rti_width_init(&crew->warden.width, config->workers, min);
    /* Until a run begins nobody is woken. */
    rti_u32_init(&crew->is_over, 1);
    rti_lock_init(&crew->lock, sched, RTI_LOCK_CREW);
    rti_lock_init(&crew->journal_lock, sched, RTI_LOCK_JOURNAL);
    rti_injector_init(&crew->injector, sched);
    for (uint32_t i = config->workers; i > 0; i--) {
        struct rti_station *station = &crew->stations[i - 1];
        rti_station_init(station, i - 1, sched);
        station->timers = config->timers[i - 1];
        rti_crew_give_back(crew, station);
    }
    for (uint32_t i = 0; i < config->members_max; i++) {
        member_init(&crew->members[i], crew, i, config->seed);
    }
    sched->worker.errno_address = rti_errno_address();
    crew->warden.crew = crew;
    crew->warden.views = config->views;
    crew->warden.overrun_ns = config->overrun_ns == 0 ? RTI_TIME_NEVER : config->overrun_ns;
    rti_member_hold(&crew->members[0], rti_crew_take_idle(crew));
}

/* The station that the caller holds in this crew; NULL: none. */
static RTI_ALWAYSINLINE struct rti_station *crew_own_station(const struct rti_crew *crew)
{
    const struct rti_worker *worker = rti_worker_current();
    return worker != NULL && worker->sched == crew->sched ? worker->station : NULL;
}

/* Counts at the caller's station, if it has one. */
static RTI_ALWAYSINLINE void count_live(struct rti_crew *crew, struct rti_station *station,
                                        uint64_t change)
{
    if (RTI_LIKELY(station != NULL)) {
        rti_station_count(&station->live, change);
    } else {
        rti_u64_add_acqrel(&crew->live_elsewhere, change);
    }
}

bool rti_crew_observe(struct rti_crew *crew, const struct rti_journal *before,
                      struct rti_journal *journal)
{
    struct rti_sched *sched = crew->sched;
    /* Who works alone asks for no journal. */
    rti_solo_receive(crew);
    rti_lock_acquire(&crew->journal_lock, sched);
    bool is_so = rti_sched_journal(sched) == before;
    if (is_so) {
        rti_sched_tell(sched, journal);
    }
    rti_lock_release(&crew->journal_lock);
    rti_solo_part(crew);
    return is_so;
}

void rti_crew_write(struct rti_crew *crew, const struct rti_journal_event *event)
{
    struct rti_sched *sched = crew->sched;
    const struct rti_worker *worker = rti_worker_current();
    struct rti_journal_event signed_event = *event;
    signed_event.worker = worker == NULL ? 0 : worker->member->index + 1;
    rti_lock_acquire(&crew->journal_lock, sched);
    /* It may have been stopped since the caller looked. */
    struct rti_journal *journal = rti_sched_journal(sched);
    if (journal != NULL) {
        rti_journal_write(journal, rti_sched_clock(sched), &signed_event);
    }
    rti_lock_release(&crew->journal_lock);
}

uint64_t rti_crew_live(const struct rti_crew *crew)
{
    uint64_t live = rti_u64_load_relaxed(&crew->live_elsewhere);
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        live += rti_u64_load_relaxed(&crew->stations[i].live);
    }
    return live;
}

/* Queues at the caller's station, or for everybody if it has none, and sees that somebody runs. */
static RTI_ALWAYSINLINE void crew_queue_at(struct rti_crew *crew, struct rti_station *station,
                                           struct rti_runnable *runnable)
{
    if (RTI_LIKELY(station != NULL)) {
        rti_station_queue_inline(station, runnable, &crew->injector);
        /* Queued, then fence, then look for sleepers: see crew.h. */
        rti_fence_seqcst();
    } else {
        rti_injector_push(&crew->injector, runnable);
    }
    rti_crew_rouse_one(crew);
}

void rti_crew_queue(struct rti_crew *crew, struct rti_runnable *runnable)
{
    crew_queue_at(crew, crew_own_station(crew), runnable);
}

void rti_crew_queue_next(struct rti_crew *crew, struct rti_runnable *runnable)
{
    struct rti_worker *worker = rti_worker_current();
    if (worker == NULL || worker->sched != crew->sched || worker->station == NULL) {
        rti_injector_push(&crew->injector, runnable);
        rti_crew_rouse_one(crew);
    } else if (rti_station_queue_next(worker->station, runnable, &crew->injector)) {
        rti_crew_rouse_one(crew);
    }
}

/* Makes a new one ready, and counts it. */
static RTI_ALWAYSINLINE void crew_begin(struct rti_crew *crew, struct rti_station *station,
                                        struct rti_runnable *runnable)
{
    rti_runnable_to(runnable, RTI_RUNNABLE_NEW, RTI_RUNNABLE_READY);
    runnable->is_shared = true;
    runnable->is_fresh = true;
    count_live(crew, station, 1);
}

void rti_crew_start(struct rti_crew *crew, struct rti_runnable *runnable)
{
    struct rti_worker *worker = rti_worker_current();
    if (RTI_LIKELY(worker != NULL && worker->sched == crew->sched && worker->station != NULL)) {
        rti_runnable_to(runnable, RTI_RUNNABLE_NEW, RTI_RUNNABLE_READY);
        rti_crew_start_at(crew, worker, runnable, runnable->priority);
        return;
    }
    crew_begin(crew, NULL, runnable);
    rti_injector_push(&crew->injector, runnable);
    rti_crew_rouse_one(crew);
}

void rti_crew_start_early(struct rti_crew *crew, struct rti_runnable *runnable)
{
    struct rti_station *station = crew_own_station(crew);
    crew_begin(crew, station, runnable);
    if (station == NULL) {
        rti_crew_queue(crew, runnable);
        return;
    }
    rti_station_queue_early(station, runnable);
    /* Queued, then fence, then look for sleepers: see crew.h. */
    rti_fence_seqcst();
    rti_crew_rouse_one(crew);
}

void rti_crew_ended(struct rti_crew *crew)
{
    count_live(crew, crew_own_station(crew), UINT64_MAX);
}

void rti_crew_wake(struct rti_crew *crew, struct rti_runnable *runnable)
{
    if (rti_runnable_to_woken(runnable)) {
        rti_crew_queue_next(crew, runnable);
    }
}

void rti_crew_wake_behind(struct rti_crew *crew, struct rti_runnable *runnable)
{
    struct rti_station *station = crew_own_station(crew);
    if (!rti_runnable_to_woken(runnable)) {
        return;
    }
    if (station != NULL && rti_ring_count(&station->levels[runnable->priority]) > 0) {
        crew_queue_at(crew, station, runnable);
    } else {
        rti_crew_queue_next(crew, runnable);
    }
}

/* Takes apart a fiber that has ended; its pin ends with it. */
static void member_settle(struct rti_member *member, struct rti_fiber *fiber)
{
    if (RTI_UNLIKELY(fiber->run.pin != 0)) {
        rti_pin_release(member, &fiber->run);
    }
    rti_fiber_settle(member->crew->sched, fiber);
}

/* A fiber that overflowed on its way to park or yield: unlinks what its frames hold, and never goes
 * back to them. Nobody else can run it: it is still RUNNING. */
static void member_bury(struct rti_member *member, struct rti_fiber *fiber)
{
    struct rti_wait *wait = fiber->wait;
    if (wait != NULL && !rti_wait_claim(wait, RTI_EVENT_KILL)) {
        /* Somebody has claimed it and is about to wake it: until then it is not ours alone. */
        while (rti_runnable_state(&fiber->run) != RTI_RUNNABLE_WOKEN) {
            rti_spin_hint();
        }
    }
    member_settle(member, fiber);
}

void rti_crew_show(struct rti_worker *worker, struct rti_fiber *left)
{
    struct rti_member *member = worker->member;
    if (worker->is_parking) {
        if (!rti_runnable_to_parked(&left->run)) {
            rti_crew_queue(member->crew, &left->run);
            return;
        }
        /* Parked; fence; then the mark: pairs with fiber_kill_shared. */
        rti_fence_after_rmw();
        if (RTI_UNLIKELY(rti_fiber_is_killed(left))) {
            /* Killed on its way: whoever marked it saw it running and left the rest to us. */
            rti_fiber_kill_parked(member->crew->sched, left);
        }
        return;
    }
    if (RTI_LIKELY(worker->station != NULL && member->pin == 0)) {
        rti_crew_show_yielded(member->crew, worker->station, &left->run);
        return;
    }
    rti_runnable_to_yielding(&left->run);
    if (worker->station == NULL) {
        rti_crew_queue(member->crew, &left->run);
    } else {
        /* A pinned one is nobody else's, and what is there besides goes to another right now. */
        rti_station_queue(worker->station, &left->run, &member->crew->injector);
    }
}

/* What a fiber could not do for itself while it was on its stack. */
static void member_settle_leaving(struct rti_member *member)
{
    struct rti_worker *worker = member->worker;
    struct rti_fiber *fiber = worker->leaving;
    if (fiber == NULL) {
        return;
    }
    worker->leaving = NULL;
#if !RTI_ONE_WORKER
    if (worker->passed != NULL) {
        struct rti_lock *lock = worker->passed;
        worker->passed = NULL;
        rti_fiber_passed(fiber, lock);
        return;
    }
#endif
    if (RTI_UNLIKELY(!rti_stack_is_intact(&fiber->stack))) {
        member_bury(member, fiber);
        return;
    }
    rti_crew_show(worker, fiber);
}

static void member_dispatch(struct rti_member *member, struct rti_runnable *runnable)
{
    struct rti_worker *worker = member->worker;
    rti_worker_note(worker, RTI_NOTE_RUN, 0, runnable->id);
    rti_runnable_to_running(runnable);
    runnable->is_fresh = false;
    member->turns_until_look--;
    worker->lent = NULL;
    rti_station_count(&worker->station->turns, 1);
    rti_sched_record(worker->sched, &(struct rti_journal_event){.kind = RTI_JOURNAL_DISPATCH,
                                                                .task = runnable->id,
                                                                .value = runnable->priority});
    rti_worker_step(worker, runnable);
    rti_worker_note(worker, RTI_NOTE_LEAVE, 0, 0);
    struct rti_fiber *departed = worker->departed;
    if (departed != NULL) {
        worker->departed = NULL;
        member_settle(member, departed);
    }
    member_settle_leaving(member);
}

/* The turns of one thread, until the run is over. */
static void member_work(struct rti_member *member)
{
    struct rti_runnable *next;
    rti_context_adopt(&member->worker->context);
    while ((next = rti_crew_search(member)) != NULL) {
        member_dispatch(member, next);
    }
    RT_ASSERT(member->worker->fiber == NULL);
    rti_context_deinit(&member->worker->context);
}

/* Lets the thread be interrupted; it has a stack for that. */
static void member_attend(struct rti_member *member)
{
    struct rti_port *port = member->crew->sched->port;
    if (member->crew->is_preemptive) {
        rti_size_store_relaxed(&member->os_thread, port->ops->interrupts_attend(port));
    }
}

void rti_worker_let_go(struct rti_worker *worker)
{
    struct rti_station *station = worker->station;
    RT_DCHECK(station != NULL);
    rti_solo_quit(worker);
    worker->station = NULL;
    worker->lent = station;
    /* Whoever takes it is not suspected of what this one did with it. */
    rti_ptr_store_relaxed(&station->holder, NULL);
    /* Release pairs with who takes it: what this worker did with it is complete. */
    rti_u32_store_release(&station->state, RTI_STATION_BLOCKED);
}

bool rti_worker_come_back(struct rti_worker *worker)
{
    struct rti_station *station = worker->lent;
    uint32_t state = RTI_STATION_BLOCKED;
    worker->lent = NULL;
    if (worker->station != NULL) {
        return true;
    }
    /* Acquire pairs with the release of the last one to let go of it. */
    if (station == NULL || !rti_u32_cas_acqrel(&station->state, &state, RTI_STATION_HELD)) {
        station = rti_crew_take_idle(worker->member->crew);
    }
    if (station == NULL) {
        return false;
    }
    rti_member_hold(worker->member, station);
    return true;
}

void rti_member_main(void *arg)
{
    struct rti_member *member = arg;
    struct rti_worker *worker = member->worker;
    rti_worker_set_current(worker);
    worker->errno_address = rti_errno_address();
    struct rti_station *given = member->given;
    member->first = member->given_first;
    member->given = NULL;
    member->given_first = NULL;
    if (given != NULL) {
        rti_member_hold(member, given);
    }
    void *fault_stack = rti_faults_attend(member->crew->sched);
    if (member->crew->sched->port->ops->thread_adopt != NULL) {
        member->crew->sched->port->ops->thread_adopt(member->crew->sched->port);
    }
    if (fault_stack != NULL) {
        member_attend(member);
    }
    member_work(member);
    rti_faults_unattend(member->crew->sched, fault_stack);
    rti_worker_set_current(NULL);
}

void rti_crew_stop(struct rti_crew *crew)
{
    rti_crew_end(crew);
}

/* One whose thread is to be joined; it does not count as started any more. A member may start
 * another as the last thing it does, so this is asked until there is none. */
static struct rti_member *crew_next_started(struct rti_crew *crew)
{
    struct rti_member *started = NULL;
    rti_lock_acquire(&crew->lock, crew->sched);
    for (uint32_t i = 1; i < crew->members_max && started == NULL; i++) {
        if (crew->members[i].is_started) {
            started = &crew->members[i];
            started->is_started = false;
        }
    }
    rti_lock_release(&crew->lock);
    return started;
}

/* Joins the threads of all members but the first, those included that somebody from outside starts
 * just now: who is counted from here on finds the run over. */
static void crew_join_all(struct rti_crew *crew)
{
    struct rti_port *port = crew->sched->port;
    uint32_t senders;
    do {
        /* Acquire pairs with the end of the count in rti_crew_rouse_one: then is_started is set. */
        senders = rti_u32_load_acquire(&crew->senders);
        struct rti_member *member;
        while ((member = crew_next_started(crew)) != NULL) {
            port->ops->thread_join(port, &member->thread);
            member->worker->station = NULL;
            rti_size_store_relaxed(&member->os_thread, 0);
        }
        if (senders != 0) {
            (void)port->ops->futex_wait(port, &crew->senders, senders,
                                        port->ops->clock_ns(port) + SENDERS_NAP_NS);
        }
    } while (senders != 0);
}

rt_status rti_crew_run(struct rti_crew *crew)
{
    struct rti_member *first = &crew->members[0];
    RT_ASSERT(rti_worker_current() == first->worker && first->worker->fiber == NULL);
    RT_ASSERT(first->worker->station != NULL);
    first->turns_until_look = 0;
    crew->is_preemptive = rti_preempt_open(crew->sched);
    rti_solo_open(crew);
    member_attend(first);
    /* A promise to look for work: nobody starts a member before the pin of the first is settled. */
    rti_u32_add_acqrel(&crew->spinning, 1);
    /* Release pairs with the acquire in rti_crew_rouse_one: who finds the run begun finds the
     * promise. */
    rti_u32_store_release(&crew->is_over, 0);
    rti_warden_start(&crew->warden);
    rti_pin_begin(crew);
    rti_crew_stop_spinning(crew);
    /* Not promised any more; fence; then idle stations: pairs with who queues, then looks. */
    rti_fence_after_rmw();
    rti_crew_rouse_one(crew);
    member_work(first);
    rti_warden_stop(&crew->warden);
    crew_join_all(crew);
    if (crew->is_preemptive) {
        rti_preempt_close(crew->sched);
    }
    crew->members_count = 1;
    rti_pin_absent(crew);
    RT_ASSERT(crew->idle_members == NULL && rti_u32_load_relaxed(&crew->spinning) == 0);
    RT_ASSERT(rti_u32_load_relaxed(&crew->listed_count) == crew->stations_count);
    /* The next run begins with all of them. */
    rti_crew_set_width(crew, crew->stations_count);
    rti_width_init(&crew->warden.width, crew->stations_count, crew->warden.width.min);
    rti_member_hold(first, rti_crew_take_idle(crew));
    (void)rti_sched_drain_posts(crew->sched);
    return RT_SUCCESS;
}
