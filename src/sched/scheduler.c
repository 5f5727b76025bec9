/* SPDX-License-Identifier: Apache-2.0 */
/* The turn; the essay is in scheduler.h. */
#define RTI_MODULE "scheduler"
#include "sched/scheduler.h"

#include <orrery/rt_static_config.h>

#include "sched/crew.h"
#include "sched/fiber.h"

/* Looks that follow each other within this time may be spread out. */
#define LOOK_NEAR_NS ((uint64_t)RT_LOOK_NEAR_NS)

/* Even when turns are short a timer or a completion waits at most for this many of them. */
#define LOOK_INTERVAL_MAX 64

/* How long the port may go unasked while there is always something to run. Asking is a system call.
 */
#define PORT_LOOK_NS ((uint64_t)RT_PORT_LOOK_NS)

/* As many times later while what the port gave last still has its turns before it. */
#define PORT_LOOK_LATE 4

/* Posts called in one look. Whoever posts faster than they are called, or from a post, cannot keep
 * what is ready from running. */
#define POSTS_BATCH_MAX 256

static uint64_t timers_none(void *context)
{
    (void)context;
    return RTI_TIME_NEVER;
}

static size_t timers_expire_none(void *context, uint64_t now_ns)
{
    (void)context;
    (void)now_ns;
    return 0;
}

#if RTI_GOES_STRAIGHT
void *const rti_sched_no_modules[RTI_MODULE_COUNT];
#endif

rt_status rti_sched_init(struct rti_sched *sched, struct rti_port *port,
                         const struct rti_timer_source *timers)
{
    RT_ASSERT(sched != NULL && port != NULL);
    if (rti_worker_current() != NULL) {
        return (rt_status){RT_ERR_STATE, RTI_SENTENCE("this thread already has a runtime")};
    }
    if (rti_context_shadow_stack_is_on()) {
        return (rt_status){
            RT_ERR_UNSUPPORTED,
            RTI_SENTENCE("the processor's shadow stack is on: start the program without it "
                         "(GLIBC_TUNABLES=glibc.cpu.x86_shstk=off)")};
    }
    *sched = (struct rti_sched){.port = port};
    sched->timers.next_deadline = timers_none;
    sched->timers.expire = timers_expire_none;
    if (timers != NULL) {
        sched->timers = *timers;
    }
    sched->is_local = true;
    sched->look_interval = 1;
    sched->look_interval_max = LOOK_INTERVAL_MAX;
    rti_processor_init(&sched->processor);
    rti_mpsc_init(&sched->posts);
    sched->worker.sched = sched;
#if !RTI_ONE_WORKER
    sched->worker.processor = &sched->processor;
    rti_origins_init(&sched->origins);
    sched->port_looked_ns = rti_sched_clock(sched);
#endif
#if RT_KEEP_ERRNO
    sched->worker.errno_address = rti_errno_address();
#endif
    sched->worker.turns_until_look = 0;
    sched->worker.attention = &port->attention;
    sched->now_ns = rti_sched_clock(sched);
    rti_worker_set_current(&sched->worker);
    rti_sched_straighten(sched);
    return RT_SUCCESS;
}

void rti_sched_deinit(struct rti_sched *sched)
{
    RT_ASSERT(rti_worker_current() == &sched->worker);
    RT_ASSERT(sched->worker.fiber == NULL);
    rti_worker_set_current(NULL);
}

#if RT_TRACE

void rti_sched_tell(struct rti_sched *sched, struct rti_journal *journal)
{
    rti_ptr_store_relaxed(&sched->journal, journal);
    /* Acquire-release because there is no weaker one: the pointer says whether there is one. */
    if (journal != NULL) {
        (void)rti_u32_or_acqrel(&sched->told, RTI_TOLD_JOURNAL);
    } else {
        (void)rti_u32_and_acqrel(&sched->told, ~(uint32_t)RTI_TOLD_JOURNAL);
    }
}

void rti_sched_observe(struct rti_sched *sched, struct rti_journal *journal,
                       struct rti_chooser *chooser)
{
    if (!rti_sched_is_local(sched)) {
        RT_ASSERT(chooser == NULL);
        bool is_observed =
            rti_crew_observe(rti_sched_crew(sched), rti_sched_journal(sched), journal);
        RT_ASSERT(is_observed);
        return;
    }
    rti_sched_tell(sched, journal);
    sched->chooser = chooser;
    sched->look_interval = 1;
    sched->look_interval_max = journal != NULL || chooser != NULL ? 1 : LOOK_INTERVAL_MAX;
    sched->worker.turns_until_look = 0;
    rti_sched_straighten(sched);
}
#endif

void rti_sched_straighten(struct rti_sched *sched)
{
#if RTI_GOES_STRAIGHT
    struct rti_worker *worker = &sched->worker;
    bool is_straight = rti_sched_is_local(sched) && rti_sched_journal(sched) == NULL;
    bool is_noted = rti_worker_records(worker);
    worker->straight = is_straight && !is_noted ? sched->modules : rti_sched_no_modules;
#if RT_HAS_BEHAVIOURS
    worker->straight_turn = NULL; /* until the next one */
#endif
#if RT_HAS_TASKS
    if (rti_worker_current() == worker) {
        rti_clear_set(sched->hindered == 0 ? worker->straight[RTI_MODULE_CHANNEL] : NULL);
    }
#endif
#if RTI_RECORDS
    worker->noted = is_straight && is_noted ? sched->modules : rti_sched_no_modules;
#endif
#else
    (void)sched;
#endif
}

void rti_worker_follow(struct rti_worker *worker)
{
#if RTI_RECORDS
    /* Acquire pairs with the release of who made the recording. */
    const struct rti_recording *recording = rti_ptr_load_acquire(&worker->sched->recording);
    if (RTI_UNLIKELY(recording != NULL &&
                     rti_u32_load_relaxed(&recording->turn) != worker->recorder.turn)) {
        rti_recorder_follow(&worker->recorder, recording,
                            worker->member == NULL ? 0 : worker->member->index);
        if (worker == &worker->sched->worker) {
            rti_sched_straighten(worker->sched);
        }
    }
#else
    (void)worker;
#endif
}

void rti_sched_write(struct rti_sched *sched, const struct rti_journal_event *event)
{
    if (rti_sched_is_local(sched)) {
        rti_journal_write(rti_sched_journal(sched), sched->now_ns, event);
    } else {
        rti_crew_write(rti_sched_crew(sched), event);
    }
}

static void sched_record_start(struct rti_sched *sched, const struct rti_runnable *runnable)
{
    rti_sched_record(sched, &(struct rti_journal_event){.kind = RTI_JOURNAL_START,
                                                        .task = runnable->id,
                                                        .value = runnable->priority});
}

void rti_sched_start(struct rti_sched *sched, struct rti_runnable *runnable)
{
    RTI_PROBE2(spawn, runnable->id, runnable->priority);
    rti_worker_note_here(RTI_NOTE_START, runnable->priority, runnable->id);
    if (!rti_sched_is_local(sched)) {
        /* Before it can run, and end. */
        sched_record_start(sched, runnable);
        rti_crew_start(rti_sched_crew(sched), runnable);
        return;
    }
    RT_ASSERT(rti_worker_here() == &sched->worker);
    rti_runnable_to(runnable, RTI_RUNNABLE_NEW, RTI_RUNNABLE_READY);
    sched->live++;
    rti_processor_queue(&sched->processor, runnable);
    sched_record_start(sched, runnable);
}

void rti_sched_start_first(struct rti_sched *sched, struct rti_runnable *runnable)
{
    RTI_PROBE2(spawn, runnable->id, runnable->priority);
    rti_worker_note_here(RTI_NOTE_START, runnable->priority, runnable->id);
    if (!rti_sched_is_local(sched)) {
        /* Before it can run, and end. */
        sched_record_start(sched, runnable);
        rti_crew_start_early(rti_sched_crew(sched), runnable);
        return;
    }
    RT_ASSERT(rti_worker_here() == &sched->worker);
    rti_runnable_to(runnable, RTI_RUNNABLE_NEW, RTI_RUNNABLE_READY);
    sched->live++;
    rti_processor_stack(&sched->processor, runnable);
    sched_record_start(sched, runnable);
}

void rti_sched_end(struct rti_sched *sched, struct rti_runnable *runnable)
{
    RT_ASSERT(!runnable->is_fiber);
    rti_runnable_to_done(runnable);
    rti_worker_note_here(RTI_NOTE_END, 0, runnable->id);
    rti_sched_settled(sched);
    rti_sched_record(sched,
                     &(struct rti_journal_event){.kind = RTI_JOURNAL_END, .task = runnable->id});
}

void rti_sched_post(struct rti_sched *sched, struct rti_post *post)
{
    rti_mpsc_push(&sched->posts, &post->node);
    /* The port's wake raises attention and ends a wait that may have begun meanwhile. */
    sched->port->ops->wake(sched->port);
}

void rti_sched_stop(struct rti_sched *sched)
{
    if (!rti_sched_is_local(sched)) {
        rti_crew_stop(rti_sched_crew(sched));
        return;
    }
    sched->is_stopping = true;
    rti_sched_attend(sched);
}

void rti_sched_settled(struct rti_sched *sched)
{
    if (!rti_sched_is_local(sched)) {
        rti_crew_ended(rti_sched_crew(sched));
        return;
    }
    RT_ASSERT(sched->live > 0);
    sched->live--;
}

uint64_t rti_sched_live(const struct rti_sched *sched)
{
    return rti_sched_is_local(sched) ? sched->live : rti_crew_live(rti_sched_crew(sched));
}

void rti_sched_attend_shared(void)
{
    struct rti_worker *worker = rti_worker_current();
    if (worker != NULL) {
        rti_u32_store_relaxed(worker->attention, 1);
    }
}

void rti_sched_wake_shared(struct rti_sched *sched, struct rti_runnable *runnable)
{
    rti_worker_note_here(RTI_NOTE_WAKE, 0, runnable->id);
    rti_crew_wake(rti_sched_crew(sched), runnable);
}

#if !RTI_ONE_WORKER
void rti_sched_wake_behind(struct rti_sched *sched, struct rti_runnable *runnable)
{
    rti_worker_note_here(RTI_NOTE_WAKE, 0, runnable->id);
    rti_crew_wake_behind(sched->crew, runnable);
}
#endif

void rti_sched_queue_shared(struct rti_sched *sched, struct rti_runnable *runnable)
{
    rti_worker_note_here(RTI_NOTE_WAKE, 0, runnable->id);
    rti_crew_queue_next(rti_sched_crew(sched), runnable);
}

bool rti_sched_drain_posts(struct rti_sched *sched)
{
    struct rti_mpsc_node *node;
    enum rti_mpsc_result result = RTI_MPSC_ITEM;
    size_t count = 0;
    while (count < POSTS_BATCH_MAX &&
           (result = rti_mpsc_pop(&sched->posts, &node)) == RTI_MPSC_ITEM) {
        struct rti_post *post = RTI_CONTAINER_OF(node, struct rti_post, node);
        count++;
        post->call(post);
    }
    if (result != RTI_MPSC_EMPTY) {
        /* Look again in the next turn. BUSY: a thread stands between the two steps of its push. It
         * wakes the port afterwards, so an idle wait in between is right. */
        rti_u32_store_relaxed(&sched->port->attention, 1);
    }
    if (result == RTI_MPSC_ITEM) {
        /* Their threads have called already and will not call again: no idle wait before. */
        rti_sched_attend(sched);
    }
    return count > 0 || result != RTI_MPSC_EMPTY;
}

/* Asks the port, without blocking or until `deadline_ns`, and notes how much it gave: that many
 * turns lie before whatever it would give next. */
static enum rti_wait_end sched_ask_port(struct rti_sched *sched, uint64_t deadline_ns)
{
#if RTI_ONE_WORKER
    return sched->port->ops->wait(sched->port, deadline_ns);
#else
    const rti_atomic_u64 *events = &sched->port->counts.events;
    uint64_t before = rti_u64_load_relaxed(events);
    enum rti_wait_end end = sched->port->ops->wait(sched->port, deadline_ns);
    sched->port_brought = (int64_t)(rti_u64_load_relaxed(events) - before);
    return end;
#endif
}

/* Reads the clock and decides when the next look is due. */
static RTI_NOINLINE void sched_space_looks(struct rti_sched *sched)
{
    uint64_t before_ns = sched->now_ns;
#if !RTI_ONE_WORKER
    /* More turns than there were if a look was asked for meanwhile: then the port is asked sooner.
     */
    sched->port_brought -= sched->look_interval - sched->worker.turns_until_look;
#endif
    sched->now_ns = rti_sched_clock(sched);
    bool is_near = sched->now_ns - before_ns < LOOK_NEAR_NS;
    sched->look_interval = is_near ? sched->look_interval * 2 : 1;
    if (sched->look_interval > sched->look_interval_max) {
        sched->look_interval = sched->look_interval_max;
    }
    sched->worker.turns_until_look = sched->look_interval;
}

static bool sched_is_timer_due(const struct rti_sched *sched)
{
    return sched->timers.next_deadline(sched->timers.context) <= sched->now_ns;
}

static bool sched_is_port_due(const struct rti_sched *sched)
{
    /* Without an operating system whoever has news raises attention. */
#if RTI_ONE_WORKER
    (void)sched;
    return false;
#else
    uint64_t since_ns = sched->now_ns - sched->port_looked_ns;
    /* Not later if a timer fires next: it may be the limit of a wait for what has come by now. */
    return since_ns >= PORT_LOOK_NS &&
           (sched->port_brought <= 0 || since_ns >= PORT_LOOK_LATE * PORT_LOOK_NS ||
            sched_is_timer_due(sched));
#endif
}

bool rti_sched_glance(struct rti_sched *sched)
{
    if (sched->is_look_wanted || (RT_TRACE && sched->look_interval_max == 1)) {
        return true;
    }
    sched_space_looks(sched);
    if (sched_is_port_due(sched) || sched_is_timer_due(sched)) {
        rti_sched_attend(sched);
        return true;
    }
    return false;
}

/* Takes in what has happened outside: completions, posts, timers, in this order. */
static void sched_look(struct rti_sched *sched)
{
    struct rti_worker *worker = &sched->worker;
    bool is_attended = false;
    /* Set before anything is drained: what is drained may ask for an earlier look. */
    sched_space_looks(sched);
    sched->is_look_wanted = false;
    rti_worker_follow(worker);
    if (rti_u32_load_relaxed(worker->attention) != 0) {
        /* Cleared before the queues are drained, so that what is queued from here on raises it
         * anew. Acquire-release: pairs with the raiser's, whose push is then visible to the drain.
         */
        rti_u32_exchange_acqrel(worker->attention, 0);
        is_attended = true;
    }
#if !RTI_ONE_WORKER
    if (sched->is_port_fresh) {
        /* It has been asked since the clock was last read, when nothing was ready. */
        sched->is_port_fresh = false;
        sched->port_looked_ns = sched->now_ns;
    }
#endif
    if (is_attended || sched_is_port_due(sched)) {
        (void)sched_ask_port(sched, 0);
#if !RTI_ONE_WORKER
        sched->port_looked_ns = sched->now_ns;
#endif
        (void)rti_sched_drain_posts(sched);
    }
    if (sched_is_timer_due(sched)) {
        sched->timers.expire(sched->timers.context, sched->now_ns);
    }
}

/* Nothing is ready: the one blocking call. False if nothing can ever become ready again. */
static bool sched_idle(struct rti_sched *sched)
{
    RT_ASSERT(rti_processor_is_empty(&sched->processor));
#if RT_TRACE
    if (sched->on_idle != NULL) {
        sched->on_idle(sched);
    }
#endif
    uint64_t deadline_ns = sched->timers.next_deadline(sched->timers.context);
    rti_sched_record(sched,
                     &(struct rti_journal_event){.kind = RTI_JOURNAL_IDLE, .value = deadline_ns});
    rti_worker_note_idle(&sched->worker);
    enum rti_wait_end end = sched_ask_port(sched, deadline_ns);
#if !RTI_ONE_WORKER
    sched->is_port_fresh = true;
#endif
    bool is_posted = rti_sched_drain_posts(sched);
    sched->worker.turns_until_look = 0;
    return end != RTI_WAIT_STUCK || is_posted;
}

static struct rti_runnable *sched_pick(struct rti_sched *sched)
{
    struct rti_runnable *next = sched->worker.handoff;
    if (next != NULL) {
        sched->worker.handoff = NULL;
        return next;
    }
    struct rti_chooser *chooser = rti_sched_chooser(sched);
    if (chooser != NULL) {
        return rti_processor_choose(&sched->processor, chooser);
    }
    return rti_processor_pick(&sched->processor);
}

/* Has the run made as many turns as it may? */
static inline bool sched_is_at_limit(const struct rti_sched *sched)
{
#if RT_TRACE
    return sched->steps_max != 0 && sched->worker.turns >= sched->steps_max;
#else
    (void)sched;
    return false;
#endif
}

static void sched_dispatch(struct rti_sched *sched, struct rti_runnable *runnable)
{
    struct rti_worker *worker = &sched->worker;
    if (RTI_UNLIKELY(rti_sched_journal(sched) != NULL)) {
        rti_sched_record(sched, &(struct rti_journal_event){.kind = RTI_JOURNAL_DISPATCH,
                                                            .task = runnable->id,
                                                            .value = runnable->priority});
    }
    rti_worker_note(worker, RTI_NOTE_RUN, 0, runnable->id);
    rti_runnable_to_running(runnable);
    worker->turns++;
    (void)rti_worker_take_turn(worker);
    rti_worker_step(worker, runnable);
    rti_worker_note(worker, RTI_NOTE_LEAVE, 0, 0);
    RT_ASSERT(worker->fiber == NULL);
    struct rti_fiber *departed = worker->departed;
    if (departed != NULL) {
        worker->departed = NULL;
        rti_fiber_settle(sched, departed);
    }
    RT_AUDIT(rti_sched_audit(sched));
}

/* Is the run over? What was posted for the last one that ended must not lie until the next run. */
static bool sched_is_over(struct rti_sched *sched)
{
    if (sched->live == 0) {
        (void)rti_sched_drain_posts(sched);
    }
    return sched->live == 0 || sched->is_stopping;
}

#if !RTI_ONE_WORKER
/* Is a turn wanted for itself alone: nobody chooses, counts or writes down? */
static bool sched_is_plain(const struct rti_sched *sched)
{
    return sched->worker.straight == sched->modules && sched->chooser == NULL &&
           sched->steps_max == 0;
}

/* Makes the turns until the next look, which whoever would change what sched_is_plain says asks
 * for, as does who wants the run to stop. False if there was none to make. */
static bool sched_turn_plainly(struct rti_sched *sched)
{
    struct rti_worker *worker = &sched->worker;
    uint64_t before = worker->turns;
    while (worker->turns_until_look > 0 && rti_u32_load_relaxed(worker->attention) == 0) {
        struct rti_runnable *next = worker->handoff;
        if (next != NULL) {
            worker->handoff = NULL;
        } else if ((next = rti_processor_pick(&sched->processor)) == NULL) {
            break;
        }
        rti_runnable_to_running(next);
        worker->turns++;
        worker->turns_until_look--;
        rti_worker_step(worker, next);
        RT_ASSERT(worker->fiber == NULL);
        struct rti_fiber *departed = worker->departed;
        if (departed != NULL) {
            worker->departed = NULL;
            rti_fiber_settle(sched, departed);
        }
        RT_AUDIT(rti_sched_audit(sched));
    }
    return worker->turns != before;
}
#endif

static rt_status sched_run_alone(struct rti_sched *sched)
{
    struct rti_worker *worker = &sched->worker;
    RT_ASSERT(rti_worker_current() == worker && worker->fiber == NULL);
    rti_context_adopt(&worker->context);
    rt_status status = RT_SUCCESS;
    sched->is_stopping = false;
    while (!sched_is_over(sched)) {
#if !RTI_ONE_WORKER
        if (sched_is_plain(sched) && sched_turn_plainly(sched)) {
            continue;
        }
#endif
        bool is_look_due =
            worker->turns_until_look <= 0 || rti_u32_load_relaxed(worker->attention) != 0;
        if (is_look_due) {
            sched_look(sched);
            if (sched->is_stopping) {
                break;
            }
        }
        struct rti_runnable *next = sched_pick(sched);
        if (next == NULL) {
            if (!is_look_due || sched->is_look_wanted) {
                worker->turns_until_look = 0;
            } else if (!sched_idle(sched)) {
                status = (rt_status){RT_ERR_DEADLOCK,
                                     RTI_SENTENCE("every runnable waits and nothing can wake one")};
                break;
            }
            continue;
        }
        if (sched_is_at_limit(sched)) {
            rti_processor_queue(&sched->processor, next);
            status = (rt_status){RT_ERR_LIMIT, RTI_SENTENCE("the run reached its limit of turns")};
            break;
        }
        sched_dispatch(sched, next);
    }
    if (worker->handoff != NULL) {
        rti_processor_queue(&sched->processor, worker->handoff);
        worker->handoff = NULL;
    }
    rti_context_deinit(&worker->context);
    return status;
}

rt_status rti_sched_run(struct rti_sched *sched)
{
    RT_ASSERT(!sched->is_running);
    sched->is_running = true;
    rt_status status =
        rti_sched_is_local(sched) ? sched_run_alone(sched) : rti_crew_run(rti_sched_crew(sched));
    sched->is_running = false;
    return status;
}

void rti_sched_audit(const struct rti_sched *sched)
{
    size_t ready = rti_processor_audit(&sched->processor);
    RT_ASSERT(ready <= sched->live);
    RT_ASSERT(sched->worker.fiber == NULL);
    RT_ASSERT(sched->worker.handoff == NULL || sched->live > 0);
}
