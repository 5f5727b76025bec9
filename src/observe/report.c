/* SPDX-License-Identifier: Apache-2.0 */
/* The essay is in report.h. */
#define RTI_MODULE "report"
#include "observe/report.h"

#include <string.h>

#include "actor/actors.h"
#include "actor/behaviour.h"
#include "io/request.h"
#include "sched/crew.h"
#include "sync/channel_wait.h"
#include "sync/cx.h"
#include "sync/select.h"
#include "sync/signals.h"
#include "task/asyncs.h"
#include "task/task_report.h"
#include "task/tasks.h"
#include "task/thread_pool.h"
#include "time/deadline.h"

/* A longer chain of waiters than this is being changed under us, or broken. */
#define REPORT_WAITERS_MAX 64

/* Of a name that is shown, with the end. */
#define REPORT_NAME_MAX 40

/* Memory is there, or not, in whole pages of at least this size. */
#define REPORT_PAGE 4096

/* What the lines about one wait have in common. */
struct report_wait {
    const struct rti_report_options *options;
    uint32_t id;     /* who waits */
    uint32_t target; /* the actor or task it concerns, or 0 */
    uint32_t reason; /* enum rti_wait_reason */
};

static const char *state_name(const struct rti_runnable *run)
{
    switch (rti_runnable_state(run)) {
    case RTI_RUNNABLE_NEW:
        return "new";
    case RTI_RUNNABLE_READY:
    case RTI_RUNNABLE_WOKEN:
        return "ready";
    case RTI_RUNNABLE_RUNNING:
        return "running";
    case RTI_RUNNABLE_PARKED:
    case RTI_RUNNABLE_HELD:
        return "waits";
    case RTI_RUNNABLE_DONE:
        return "done";
    }
    return "unknown";
}

/* Copies something that may be gone; false if it is. */
static bool report_copy(const struct rti_report_options *options, void *to, const void *from,
                        size_t size)
{
    return rti_peek_copy(options->peek, to, from, size);
}

static void report_channel_wait(struct rti_text *text, const struct rti_waiter *place,
                                const struct rti_report_options *options)
{
    struct rti_channel_waiter record;
    struct rti_channel channel;
    if (!report_copy(options, &record,
                     RTI_CONTAINER_OF(place, const struct rti_channel_waiter, waiter),
                     sizeof(record)) ||
        !report_copy(options, &channel, record.channel, sizeof(channel))) {
        rti_text_word(text, "channel-value");
        return;
    }
    bool is_sender = record.kind == RTI_CHANNEL_SEND || record.kind == RTI_CHANNEL_RESERVE;
    rti_text_word(text, is_sender ? "channel-room" : "channel-value");
    rti_text_number(text, channel.number);
    rti_text_number(text, rti_channel_queued(&channel));
    rti_text_number(text, channel.capacity);
    rti_text_number(text, channel.senders);
    rti_text_number(text, channel.receivers);
}

/* What a wait is for that no line of a known kind stands for. */
static const char *reason_name(uint32_t reason)
{
    static const char *const names[RTI_REASON_COUNT] = {
        [RTI_REASON_UNKNOWN] = "line",  [RTI_REASON_MAIL] = "mail",
        [RTI_REASON_SEND] = "release",  [RTI_REASON_CALL] = "answer",
        [RTI_REASON_BUS] = "bus",       [RTI_REASON_CHANNEL] = "channel",
        [RTI_REASON_SELECT] = "select", [RTI_REASON_JOIN] = "end",
        [RTI_REASON_TIME] = "time",     [RTI_REASON_REGION] = "region",
        [RTI_REASON_IO] = "io",         [RTI_REASON_LOCK] = "lock",
    };
    return reason < RTI_REASON_COUNT && names[reason] != NULL ? names[reason] : "line";
}

/* One event that would end a wait: `place` is where the waiter lies, `waiter` a copy. */
static void report_waiter(struct rti_text *text, const struct rti_waiter *place,
                          const struct rti_waiter *waiter, const struct report_wait *wait)
{
    if (waiter->event == RTI_EVENT_TIMEOUT) {
        const struct rti_deadline *deadline =
            RTI_CONTAINER_OF(place, const struct rti_deadline, waiter);
        uint64_t deadline_ns = 0;
        (void)report_copy(wait->options, &deadline_ns, &deadline->timer.deadline_ns,
                          sizeof(deadline_ns));
        rti_text_word(text, "deadline");
        rti_text_number(text, deadline_ns);
    } else if (waiter->event == RTI_EVENT_CANCEL) {
        rti_text_word(text, "cancel");
    } else if (rti_waiter_is_of_channel(waiter) || rti_waiter_is_of_channel_arm(waiter)) {
        report_channel_wait(text, place, wait->options);
    } else if (waiter->unlink == rti_actors_unwatch) {
        rti_text_word(text, "mail");
    } else if (waiter->unlink == rti_task_unwatch) {
        const struct rti_task *joined = waiter->slot;
        uint32_t id = 0;
        (void)(joined != NULL &&
               report_copy(wait->options, &id, &joined->fiber.run.id, sizeof(id)));
        rti_text_word(text, "task-end");
        rti_text_number(text, id);
    } else if (wait->target != 0) {
        rti_text_word(text,
                      waiter->unlink == rti_actors_unlink_sync ? "actor-release" : "actor-answer");
        rti_text_number(text, wait->target);
    } else if (rti_waiter_is_of_request(waiter)) {
        rti_text_word(text, "io");
    } else if (rti_waiter_is_of_job(waiter)) {
        rti_text_word(text, "job");
    } else {
        rti_text_word(text, reason_name(wait->reason));
    }
}

static void report_waits(struct rti_text *text, const struct rti_wait *where,
                         struct report_wait *report)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    if (!report_copy(report->options, &wait, where, sizeof(wait))) {
        return;
    }
    report->reason = (uint32_t)wait.reason;
    size_t count = 0;
    const struct rti_waiter *place = wait.waiters;
    while (count < REPORT_WAITERS_MAX &&
           report_copy(report->options, &waiter, place, sizeof(waiter))) {
        rti_text_line(text, "wait");
        rti_text_number(text, report->id);
        report_waiter(text, place, &waiter, report);
        rti_text_end_line(text);
        place = waiter.sibling;
        count++;
    }
}

/* The bytes of a parked stack from its stack pointer on. */
static void report_stack(struct rti_text *text, const struct rti_fiber *fiber,
                         const struct rti_report_options *options)
{
    unsigned char bytes[RTI_REPORT_STACK_MAX];
    struct rti_context context = fiber->context;
    struct rti_stack stack = fiber->stack;
    const struct rti_arch_kept *at = rti_arch_kept_of(&context.saved);
    struct rti_arch_kept kept = {.pc = NULL};
    if (at == NULL || !report_copy(options, &kept, at, sizeof(kept))) {
        return;
    }
    const char *sp = context.saved.sp;
    if (kept.pc == NULL || sp < rti_stack_low(&stack) || sp >= stack.high_guard) {
        return;
    }
    size_t size = (size_t)(stack.high_guard - sp);
    size = size < options->stack_bytes_max ? size : options->stack_bytes_max;
    size = size < sizeof(bytes) ? size : sizeof(bytes);
    if (!report_copy(options, bytes, sp, size)) {
        return;
    }
    rti_text_line(text, "stack");
    rti_text_number(text, fiber->run.id);
    rti_text_number(text, (uintptr_t)kept.pc);
    rti_text_number(text, (uintptr_t)sp);
    rti_text_number(text, (uintptr_t)kept.fp);
#if defined(__x86_64__) || defined(__aarch64__)
    rti_text_number(text, (uintptr_t)kept.base);
#else
    rti_text_number(text, 0);
#endif
    rti_text_bytes(text, bytes, size);
    rti_text_end_line(text);
}

/* What there is to tell about anything that has a stack. */
struct report_subject {
    const struct rti_fiber *fiber;
    const char *kind;
    const char *name;
    uint32_t target;             /* the actor or task that it waits for, or 0 */
    const rt_site *const *sites; /* where it was started; NULL: the fiber knows */
    uint64_t mail;
    uint64_t sent;
    uint64_t received;
};

/* Where it was started, and its ancestors: an address, or `file:line`. */
static void report_sites(struct rti_text *text, const struct report_subject *subject)
{
    const void *origin[RTI_ORIGIN_SITES];
    rti_fiber_tell_origin(subject->fiber, origin);
    for (size_t i = 0; subject->sites == NULL && i < RTI_ORIGIN_SITES; i++) {
        if (origin[i] != NULL) {
            rti_text_number(text, (uintptr_t)origin[i]);
        }
    }
    for (size_t i = 0; subject->sites != NULL && i < RTI_TASK_SITES; i++) {
        const rt_site *site = subject->sites[i];
        if (site != NULL) {
            rti_text_word(text, site->file);
            rti_text_number(text, site->line);
        }
    }
}

/* What one that waits waits for, and its stack; nothing if it goes on while we look. */
static void report_parked(struct rti_text *text, const struct report_subject *subject,
                          const struct rti_report_options *options)
{
    const struct rti_fiber *fiber = subject->fiber;
    size_t begin = text->length;
    uint64_t parked_ns = *rti_fiber_parked_ns(fiber);
    const struct rti_wait *wait = fiber->wait;
    enum rti_runnable_state state = rti_runnable_state(&fiber->run);
    if (options->peek != NULL && state != RTI_RUNNABLE_PARKED) {
        return;
    }
    report_waits(
        text, wait,
        &(struct report_wait){.options = options, .id = fiber->run.id, .target = subject->target});
    if (options->has_stacks) {
        report_stack(text, fiber, options);
    }
    if (rti_runnable_state(&fiber->run) != state || fiber->wait != wait ||
        *rti_fiber_parked_ns(fiber) != parked_ns) {
        text->length = begin;
    }
}

static void report_subject(struct rti_text *text, const struct report_subject *subject,
                           const struct rti_report_options *options)
{
    const struct rti_fiber *fiber = subject->fiber;
    rti_text_line(text, "task");
    rti_text_number(text, fiber->run.id);
    rti_text_word(text, subject->kind);
    rti_text_word(text, subject->name);
    rti_text_word(text, state_name(&fiber->run));
    rti_text_number(text, fiber->run.priority);
    bool is_parked = rti_runnable_state(&fiber->run) == RTI_RUNNABLE_PARKED;
    rti_text_number(text, is_parked ? *rti_fiber_parked_ns(fiber) : 0);
    rti_text_number(text, fiber->origin.parent);
    rti_text_number(text, subject->mail);
    rti_text_number(text, subject->sent);
    rti_text_number(text, subject->received);
    report_sites(text, subject);
    rti_text_end_line(text);
    report_parked(text, subject, options);
}

/* Tells of the actor in a place of the table, if one lives there. */
static void report_actor(struct rti_text *text, const struct rti_sched *sched, uint32_t index,
                         const struct rti_report_options *options)
{
    const struct rti_actors *actors = sched->modules[RTI_MODULE_ACTOR];
    const struct rti_actor *actor = &actors->table[index];
    if (actor->id == ACTOR_ID_INVALID) {
        return;
    }
    struct report_subject subject = {
        .fiber = &actor->fiber,
        .kind = "actor",
        .name = actor->name,
        .target = actor->waits_for,
        .mail = actor->mailbox.count,
        .sent = actor->messages_sent,
        .received = actor->messages_received,
    };
    report_subject(text, &subject, options);
}

static void report_task(struct rti_text *text, const struct rti_sched *sched, uint32_t index,
                        const struct rti_report_options *options)
{
    const struct rti_task *task = rti_tasks_slot(sched->modules[RTI_MODULE_TASK], index);
    enum rti_task_life life = rti_task_life(&task->life);
    if (life == RTI_TASK_FREE || life == RTI_TASK_COMPLETE) {
        return;
    }
    struct rti_task_identity identity;
    rti_task_identify(task, &identity);
    struct report_subject subject = {
        .fiber = &task->fiber,
        .kind = "task",
        .name = identity.name != NULL ? identity.name : "",
        .sites = identity.sites,
    };
    report_subject(text, &subject, options);
}

/* The line of something without a stack. */
static void report_stackless(struct rti_text *text, const struct rti_runnable *run,
                             const char *kind, const char *name, const char *state)
{
    rti_text_line(text, "task");
    rti_text_number(text, run->id);
    rti_text_word(text, kind);
    rti_text_word(text, name);
    rti_text_word(text, state);
    rti_text_number(text, run->priority);
    rti_text_end_line(text);
}

/* Copies a string that may be gone, and never from beyond the page in which it ends. */
static void report_copy_name(const struct rti_report_options *options, const char *from,
                             char name[static REPORT_NAME_MAX])
{
    size_t length = 0;
    while (from != NULL && length < REPORT_NAME_MAX - 1) {
        size_t to_edge = REPORT_PAGE - (uintptr_t)(from + length) % REPORT_PAGE;
        size_t room = REPORT_NAME_MAX - 1 - length;
        size_t size = room < to_edge ? room : to_edge;
        size = options->peek == NULL ? 1 : size;
        if (!report_copy(options, name + length, from + length, size)) {
            break;
        }
        const char *end = memchr(name + length, '\0', size);
        if (end != NULL) {
            return;
        }
        length += size;
    }
    name[length] = '\0';
}

/* The line about a wait that no waiter stands for. */
static void report_lone_wait(struct rti_text *text, uint32_t id, const char *what, uint64_t detail)
{
    rti_text_line(text, "wait");
    rti_text_number(text, id);
    rti_text_word(text, what);
    rti_text_number(text, detail);
    rti_text_end_line(text);
}

static void report_behaviour(struct rti_text *text, const struct rti_sched *sched, uint32_t index,
                             const struct rti_report_options *options)
{
    const struct rti_behaviour *behaviour = &rti_behaviours_at(sched)->places[index];
    const rt_behaviour_type *type = behaviour->type;
    const char *name = NULL;
    char copy[REPORT_NAME_MAX];
    if (!behaviour->is_alive) {
        return;
    }
    (void)(type != NULL && report_copy(options, &name, &type->name, sizeof(name)));
    report_copy_name(options, name, copy);
    report_stackless(text, &behaviour->run, "behaviour", copy, state_name(&behaviour->run));
    actor_id on = behaviour->pressure.on;
    if (rti_runnable_state(&behaviour->run) == RTI_RUNNABLE_PARKED) {
        bool is_muted = on != ACTOR_ID_INVALID;
        report_lone_wait(text, behaviour->run.id, is_muted ? "actor-room" : "mail", on);
    }
}

/* What a poll task that is parked waits for; nothing if it goes on while we look. */
static void report_polled(struct rti_text *text, struct rti_asyncs *asyncs,
                          const struct rti_async *async, const struct rti_report_options *options)
{
    size_t begin = text->length;
    bool is_joining = async->is_joining;
    const struct rti_cx *cx = async->cx;
    const struct rti_poll_cx *poll = (const struct rti_poll_cx *)(const void *)cx;
    const struct rti_timer *nap = rti_nap_timer(async->nap);
    uint64_t deadline_ns = 0;
    bool is_waiting = false;
    if (nap != NULL && report_copy(options, &deadline_ns, &nap->deadline_ns, sizeof(deadline_ns))) {
        report_lone_wait(text, async->run.id, "deadline", deadline_ns);
    }
    if (is_joining) {
        const struct rti_async *joined = rti_asyncs_lookup(asyncs, async->joins);
        report_lone_wait(text, async->run.id, "poll-end", joined == NULL ? 0 : joined->run.id);
    } else if (cx != NULL &&
               report_copy(options, &is_waiting, &poll->is_waiting, sizeof(is_waiting)) &&
               is_waiting) {
        report_waits(text, &poll->wait,
                     &(struct report_wait){.options = options, .id = async->run.id});
    }
    if (rti_u8_load_relaxed(&async->word) != RTI_ASYNC_PARKED || async->cx != cx ||
        async->is_joining != is_joining) {
        text->length = begin;
    }
}

static void report_poll_task(struct rti_text *text, const struct rti_sched *sched, uint32_t index,
                             const struct rti_report_options *options)
{
    static const char *const states[] = {[RTI_ASYNC_NOTIFIED] = "ready",
                                         [RTI_ASYNC_RUNNING] = "running",
                                         [RTI_ASYNC_PARKED] = "waits",
                                         [RTI_ASYNC_CALLED] = "ready"};
    struct rti_asyncs *asyncs = sched->modules[RTI_MODULE_ASYNC];
    const struct rti_async *async = &asyncs->slots[index];
    rt_poll_fn poll = async->poll;
    uint8_t word = rti_u8_load_relaxed(&async->word);
    bool is_ready = rti_runnable_state(&async->run) == RTI_RUNNABLE_READY; /* whatever the word */
    enum rti_task_life life = rti_task_life(&async->life);
    if (poll == NULL || life == RTI_TASK_FREE || life == RTI_TASK_COMPLETE) {
        return;
    }
    report_stackless(text, &async->run, "poll task", "", is_ready ? "ready" : states[word % 4]);
    rti_text_line(text, "code");
    rti_text_number(text, async->run.id);
    rti_text_number(text, (uintptr_t)poll);
    rti_text_end_line(text);
    if (word == RTI_ASYNC_PARKED) {
        report_polled(text, asyncs, async, options);
    }
}

void rti_report_process(struct rti_text *text, struct rti_sched *sched)
{
    rti_text_line(text, "process");
    rti_text_word(text, sched->port->ops->name);
    rti_text_number(text, sched->crew == NULL ? 1 : sched->crew->members_count);
    rti_text_number(text, rti_sched_clock(sched));
    rti_text_number(text, rti_sched_live(sched));
    rti_text_end_line(text);
}

static void report_worker(struct rti_text *text, uint32_t index, const struct rti_worker *worker,
                          const struct rti_report_options *options)
{
    uint32_t id = 0;
    const struct rti_fiber *fiber = worker->fiber;
    const struct rti_station *station = worker->station;
    if (fiber != NULL) {
        (void)report_copy(options, &id, &fiber->run.id, sizeof(id));
    }
    rti_text_line(text, "worker");
    rti_text_number(text, index);
    rti_text_number(text, station == NULL ? worker->turns : rti_u64_load_relaxed(&station->turns));
    rti_text_number(text, id);
    rti_text_end_line(text);
}

/* A table of things that live, and who tells of the one in a place of it. */
struct report_table {
    uint32_t (*size)(const struct rti_sched *sched);
    void (*tell)(struct rti_text *text, const struct rti_sched *sched, uint32_t index,
                 const struct rti_report_options *options);
};

static uint32_t actors_size(const struct rti_sched *sched)
{
    return sched->modules[RTI_MODULE_ACTOR] == NULL ? 0 : RT_MAX_ACTORS;
}

static uint32_t tasks_size(const struct rti_sched *sched)
{
    const struct rti_tasks *tasks = sched->modules[RTI_MODULE_TASK];
    return tasks == NULL ? 0 : rti_tasks_fresh(tasks);
}

static uint32_t behaviours_size(const struct rti_sched *sched)
{
    const struct rti_behaviours *behaviours = rti_behaviours_at(sched);
    return behaviours == NULL ? 0 : behaviours->fresh;
}

static uint32_t asyncs_size(const struct rti_sched *sched)
{
    const struct rti_asyncs *asyncs = sched->modules[RTI_MODULE_ASYNC];
    return asyncs == NULL ? 0 : rti_u32_load_relaxed(&asyncs->fresh);
}

static const struct report_table tables[] = {
    {actors_size, report_actor},
    {tasks_size, report_task},
    {behaviours_size, report_behaviour},
    {asyncs_size, report_poll_task},
};

#define TABLES_COUNT (sizeof(tables) / sizeof(tables[0]))

/* May somebody outside bring a value: the system by a signal, or a thread that did before? */
static bool report_is_open(const struct rti_sched *sched, const struct rti_report_options *options)
{
    const struct rti_signals *signals = sched->modules[RTI_MODULE_SIGNAL];
    bool is_open = rti_channels_were_visited(sched->modules[RTI_MODULE_CHANNEL]);
    for (size_t i = 0; signals != NULL && i < RT_MAX_SIGNAL_CHANNELS; i++) {
        uint64_t set = 0;
        (void)report_copy(options, &set, &signals->rows[i].set, sizeof(set));
        is_open = is_open || set != 0;
    }
    return is_open;
}

static void report_head(struct rti_text *text, struct rti_sched *sched,
                        const struct rti_report_options *options)
{
    rti_report_process(text, sched);
    if (report_is_open(sched, options)) {
        rti_text_line(text, "open");
        rti_text_end_line(text);
    }
    if (sched->crew == NULL) {
        report_worker(text, 0, &sched->worker, options);
    }
    for (uint32_t i = 0; sched->crew != NULL && i < sched->crew->members_count; i++) {
        report_worker(text, i, sched->crew->members[i].worker, options);
    }
}

bool rti_report_slice(struct rti_text *text, struct rti_sched *sched,
                      const struct rti_report_options *options, struct rti_report_cursor *cursor)
{
    uint32_t left = options->places_max;
    RT_ASSERT(left > 0 && cursor->table <= TABLES_COUNT);
    if (!cursor->is_begun) {
        report_head(text, sched, options);
        cursor->is_begun = true;
    }
    while (cursor->table < TABLES_COUNT && left > 0) {
        const struct report_table *table = &tables[cursor->table];
        if (cursor->index < table->size(sched)) {
            table->tell(text, sched, cursor->index++, options);
            left--;
        } else {
            cursor->table++;
            cursor->index = 0;
        }
    }
    return cursor->table < TABLES_COUNT;
}
