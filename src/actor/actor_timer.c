/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "actor_timer"
#include "actor/actor_timer.h"

#include "time/deadline.h"

static struct rti_actor_timers *timers_of(const struct rti_actor *actor)
{
    return actor->actors->sched->modules[RTI_MODULE_ACTOR_TIMER];
}

/* Is a post of it on its way? Only with several workers. */
static inline bool timer_is_posted(const struct rti_actor_timer *record)
{
#if RTI_ONE_WORKER
    (void)record;
    return false;
#else
    return rti_u32_load_relaxed(&record->due) != 0;
#endif
}

/* Gives the record back once it has ended and no tick of it is posted or queued. */
static void timer_free_if_idle(struct rti_actor_timer *record)
{
    if (!record->is_ended || rti_notice_is_queued(&record->tick) || timer_is_posted(record)) {
        return;
    }
    if (rti_link_is_linked(&record->at_owner)) {
        rti_list_remove(&record->at_owner);
    }
    rti_handle_free(&timers_of(record->owner)->ids, record->id);
}

static void timer_release_tick(struct rti_notice *notice)
{
    timer_free_if_idle(RTI_CONTAINER_OF(notice, struct rti_actor_timer, tick));
}

static void timer_send_tick(struct rti_actor_timer *record)
{
    if (rti_notice_is_queued(&record->tick)) {
        record->overruns++;
        return;
    }
    rti_mailbox_push_notice(record->owner, &record->tick);
}

/* Where a timer lies. */
static inline struct rti_clockwork *timer_clockwork(const struct rti_actor_timers *timers,
                                                    const struct rti_actor_timer *record)
{
#if RTI_ONE_WORKER
    (void)record;
    return timers->clockwork;
#else
    (void)timers;
    return record->clockwork;
#endif
}

/* The next due time on the timer's own grid that is still to come; those passed over are overruns.
 */
static uint64_t timer_next_deadline(const struct rti_actor_timer *record, uint64_t now_ns,
                                    uint64_t *missed)
{
    uint64_t next_ns = record->timer.deadline_ns + record->interval_ns;
    *missed = 0;
    if (next_ns <= now_ns) {
        *missed = (now_ns - next_ns) / record->interval_ns + 1;
        next_ns += *missed * record->interval_ns;
    }
    return next_ns;
}

#if !RTI_ONE_WORKER

/* With several workers: what timer_fire has left to do, without the lock of the wheel. */
static void timer_bring(struct rti_post *post)
{
    struct rti_actor_timer *record = RTI_CONTAINER_OF(post, struct rti_actor_timer, post);
    struct rti_actors *actors = record->owner->actors;
    rti_actors_lock(actors);
    /* Acquire-release pairs with the add in timer_fire_shared: from here on it posts again. */
    uint32_t due = rti_u32_exchange_acqrel(&record->due, 0);
    if (record->is_ended) {
        timer_free_if_idle(record);
    } else {
        rti_sched_record(actors->sched, &(struct rti_journal_event){.kind = RTI_JOURNAL_TIMER,
                                                                    .task = record->owner->id,
                                                                    .timer = record->id});
        record->overruns += due - 1;
        record->is_ended = record->interval_ns == 0;
        timer_send_tick(record);
    }
    rti_actors_unlock(actors);
}

/* Under the lock of the wheel. */
static void timer_fire_shared(struct rti_actor_timer *record)
{
    struct rti_actor_timers *timers = timers_of(record->owner);
    uint64_t missed = 0;
    if (record->interval_ns != 0) {
        uint64_t now_ns = rti_sched_clock(timers->actors->sched);
        rti_clockwork_rearm(timer_clockwork(timers, record), &record->timer,
                            timer_next_deadline(record, now_ns, &missed));
    }
    uint32_t count = missed < UINT16_MAX ? (uint32_t)missed + 1 : UINT16_MAX;
    /* Acquire-release pairs with the exchange in timer_bring. */
    if (rti_u32_add_acqrel(&record->due, count) == 0) {
        rti_sched_post(timers->actors->sched, &record->post);
    }
}

#endif

static void timer_fire(struct rti_timer *timer)
{
    struct rti_actor_timer *record = RTI_CONTAINER_OF(timer, struct rti_actor_timer, timer);
    struct rti_actor_timers *timers = timers_of(record->owner);
    struct rti_sched *sched = timers->actors->sched;
    rti_worker_note_here(RTI_NOTE_TIMER, 0, record->owner->id);
#if !RTI_ONE_WORKER
    if (!rti_sched_is_local(sched)) {
        timer_fire_shared(record);
        return;
    }
#endif
    rti_sched_record(sched, &(struct rti_journal_event){.kind = RTI_JOURNAL_TIMER,
                                                        .task = record->owner->id,
                                                        .timer = record->id});
    if (record->interval_ns == 0) {
        record->is_ended = true;
    } else {
        uint64_t missed;
        rti_clockwork_rearm(timer_clockwork(timers, record), timer,
                            timer_next_deadline(record, sched->now_ns, &missed));
        record->overruns += (rti_count)missed;
    }
    timer_send_tick(record);
}

static void timer_init(struct rti_actor_timer *record, struct rti_actor *owner, timer_id id,
                       uint64_t interval_ns)
{
    rti_timer_init(&record->timer, timer_fire);
    rti_link_init(&record->at_owner);
    record->owner = owner;
    record->id = id;
    record->is_ended = false;
    record->interval_ns = interval_ns;
    record->overruns = 0;
    rti_notice_init(&record->tick, RT_SENDER_TIMER, &record->id, sizeof(record->id));
    record->tick.entry.kind = RTI_ENTRY_TICK;
    record->tick.entry.release = timer_release_tick;
#if !RTI_ONE_WORKER
    rti_u32_init(&record->due, 0);
    record->post.call = timer_bring;
#endif
    rti_actor_note_attached(owner);
    rti_list_push_tail(&owner->owned[RTI_OWNED_TIMERS], &record->at_owner);
}

static rt_status timer_make(struct rti_actor *self, uint32_t delay_us, bool is_periodic,
                            timer_id *out)
{
    uint64_t delay_ns = delay_us * RTI_NS_PER_US;
    struct rti_actor_timers *timers = timers_of(self);
    timer_id id = rti_handle_alloc(&timers->ids);
    if (id == RTI_HANDLE_NONE) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no timer entry is left")};
    }
    struct rti_sched *sched = timers->actors->sched;
    struct rti_actor_timer *record = &timers->table[rti_handle_index(&timers->ids, id)];
    RTI_KEEP(record);
    timer_init(record, self, id, is_periodic ? delay_ns : 0);
#if !RTI_ONE_WORKER
    record->clockwork = rti_clockwork_here(sched);
#endif
    rti_clockwork_arm(timer_clockwork(timers, record), &record->timer,
                      rti_deadline_after(sched, delay_ns));
    if (delay_ns == 0) {
        rti_sched_attend(sched);
    }
    *out = id;
    return RT_SUCCESS;
}

/* Starts a timer that is due after `delay_us`, and again after each such time if it is periodic. */
static rt_status timer_start(uint32_t delay_us, bool is_periodic, timer_id *out)
{
    struct rti_actor *self = rti_actor_current();
    if (self == NULL) {
        return rti_actor_refusal(rti_worker_current());
    }
    if (is_periodic && delay_us == 0) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("an interval of 0 would never let time pass")};
    }
    if (out == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is nowhere to put the id")};
    }
    rti_actors_lock(self->actors);
    rt_status status = timer_make(self, delay_us, is_periodic, out);
    rti_actors_unlock(self->actors);
    return status;
}

rt_status rt_timer_after(uint32_t delay_us, timer_id *out)
{
    return timer_start(delay_us, false, out);
}

rt_status rt_timer_every(uint32_t interval_us, timer_id *out)
{
    return timer_start(interval_us, true, out);
}

/* Ends a timer that runs: out of the wheel, its queued tick out of the mailbox. */
static void timer_end(struct rti_actor_timers *timers, struct rti_actor_timer *record)
{
    RT_ASSERT(!record->is_ended);
    bool was_armed = rti_clockwork_disarm(timer_clockwork(timers, record), &record->timer);
    RT_ASSERT(was_armed || timer_is_posted(record));
    record->is_ended = true;
    if (rti_notice_is_queued(&record->tick)) {
        rti_mailbox_remove_notice(record->owner, &record->tick);
    }
    timer_free_if_idle(record);
}

/* The calling actor's timer that still runs; NULL for every other id. */
static struct rti_actor_timer *timer_lookup(const struct rti_actor *self, timer_id id)
{
    struct rti_actor_timers *timers = timers_of(self);
    int32_t index = rti_handle_lookup(&timers->ids, id);
    if (index < 0) {
        return NULL;
    }
    struct rti_actor_timer *record = &timers->table[index];
    return record->owner == self && !record->is_ended ? record : NULL;
}

static rt_status timer_unknown(void)
{
    return (rt_status){RT_ERR_INVALID,
                       RTI_SENTENCE("the caller has no such timer that still runs")};
}

rt_status rt_timer_cancel(timer_id id)
{
    struct rti_actor *self = rti_actor_current();
    if (self == NULL) {
        return rti_actor_refusal(rti_worker_current());
    }
    rti_actors_lock(self->actors);
    struct rti_actor_timer *record = timer_lookup(self, id);
    if (record != NULL) {
        timer_end(timers_of(self), record);
    }
    rti_actors_unlock(self->actors);
    return record != NULL ? RT_SUCCESS : timer_unknown();
}

bool rt_timer_is_tick(const rt_message *msg)
{
    return msg != NULL && msg->sender == RT_SENDER_TIMER;
}

rt_status rt_timer_overruns(timer_id id, uint64_t *out)
{
    struct rti_actor *self = rti_actor_current();
    if (self == NULL) {
        return rti_actor_refusal(rti_worker_current());
    }
    rti_actors_lock(self->actors);
    const struct rti_actor_timer *record = timer_lookup(self, id);
    bool is_answered = record != NULL && out != NULL;
    if (is_answered) {
        *out = record->overruns;
    }
    rti_actors_unlock(self->actors);
    return is_answered ? RT_SUCCESS : timer_unknown();
}

/* The mailbox is clear, so no tick of the dead one is queued. */
void rti_actor_timers_end(struct rti_actor *dead)
{
    struct rti_actor_timers *timers = timers_of(dead);
    struct rti_link *at;
    while ((at = rti_list_peek(&dead->owned[RTI_OWNED_TIMERS])) != NULL) {
        struct rti_actor_timer *record = RTI_CONTAINER_OF(at, struct rti_actor_timer, at_owner);
        if (!record->is_ended) {
            timer_end(timers, record);
        }
        if (rti_link_is_linked(&record->at_owner)) {
            /* Its post is on its way, and finds nobody to bring a tick to. */
            RT_ASSERT(timer_is_posted(record));
            rti_list_remove(&record->at_owner);
        }
    }
}

void rti_actor_timers_init(struct rti_actor_timers *timers, struct rti_actors *actors)
{
    RT_ASSERT(actors->sched->modules[RTI_MODULE_ACTOR_TIMER] == NULL);
    timers->actors = actors;
    timers->clockwork = actors->sched->timers.context;
    rti_handle_init(&timers->ids, timers->id_slots, RT_TIMER_ENTRY_POOL_SIZE,
                    RTI_INDEX_BITS(RT_TIMER_ENTRY_POOL_SIZE));
    /* The specification lets timer ids wrap, and a program must be able to start timers for ever.
     */
    rti_handle_let_wrap(&timers->ids);
    actors->sched->modules[RTI_MODULE_ACTOR_TIMER] = timers;
}

void rti_actor_timers_deinit(struct rti_actor_timers *timers)
{
    RT_ASSERT(timers->ids.used_count == 0);
    timers->actors->sched->modules[RTI_MODULE_ACTOR_TIMER] = NULL;
}

size_t rti_actor_timers_audit(const struct rti_actor_timers *timers)
{
    size_t used = 0;
    for (size_t i = 0; i < RT_TIMER_ENTRY_POOL_SIZE; i++) {
        const struct rti_actor_timer *record = &timers->table[i];
        if (timers->id_slots[i].next != RTI_HANDLE_IN_USE) {
            continue;
        }
        used++;
        RT_ASSERT(rti_timer_is_armed(&record->timer) == !record->is_ended ||
                  !rti_sched_is_local(timers->actors->sched));
        RT_ASSERT(rti_link_is_linked(&record->at_owner) || timer_is_posted(record));
    }
    RT_ASSERT(used == timers->ids.used_count);
    return used;
}
