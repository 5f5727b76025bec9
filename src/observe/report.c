/* SPDX-License-Identifier: Apache-2.0 */
/* The essay is in report.h. */
#define RTI_MODULE "report"
#include "observe/report.h"

#include <orrery/rt/stats.h>

#include "actor/actors.h"
#include "io/request.h"
#include "sched/crew.h"
#include "sync/channel_wait.h"
#include "sync/select.h"
#include "task/tasks.h"
#include "time/deadline.h"

/* A longer chain of waiters than this is being changed under us, or broken. */
#define REPORT_WAITERS_MAX 64

/* What the lines about one wait have in common. */
struct report_wait {
    const struct rti_report_options *options;
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
        rti_text_word(text, "task-end");
        rti_text_number(text, wait->target);
    } else if (wait->target != 0) {
        rti_text_word(text,
                      waiter->unlink == rti_actors_unlink_sync ? "actor-release" : "actor-answer");
        rti_text_number(text, wait->target);
    } else if (rti_waiter_is_of_request(waiter)) {
        rti_text_word(text, "io");
    } else {
        rti_text_word(text, reason_name(wait->reason));
    }
}

static void report_waits(struct rti_text *text, const struct rti_fiber *fiber,
                         struct report_wait *report)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    if (!report_copy(report->options, &wait, fiber->wait, sizeof(wait))) {
        return;
    }
    report->reason = (uint32_t)wait.reason;
    size_t count = 0;
    const struct rti_waiter *place = wait.waiters;
    while (count < REPORT_WAITERS_MAX &&
           report_copy(report->options, &waiter, place, sizeof(waiter))) {
        rti_text_line(text, "wait");
        rti_text_number(text, fiber->run.id);
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
    const char *sp = context.saved.sp;
    if (context.saved.pc == NULL || sp < context.stack_low ||
        sp >= context.stack_low + context.stack_size) {
        return;
    }
    size_t size = (size_t)(context.stack_low + context.stack_size - sp);
    size = size < options->stack_bytes_max ? size : options->stack_bytes_max;
    size = size < sizeof(bytes) ? size : sizeof(bytes);
    if (!report_copy(options, bytes, sp, size)) {
        return;
    }
    rti_text_line(text, "stack");
    rti_text_number(text, fiber->run.id);
    rti_text_number(text, (uintptr_t)context.saved.pc);
    rti_text_number(text, (uintptr_t)sp);
    rti_text_number(text, (uintptr_t)context.saved.fp);
#if defined(__x86_64__) || defined(__aarch64__)
    rti_text_number(text, (uintptr_t)context.saved.base);
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
    const struct rti_origin *origin = &subject->fiber->origin;
    for (size_t i = 0; subject->sites == NULL && i < RTI_ORIGIN_SITES; i++) {
        if (origin->sites[i] != NULL) {
            rti_text_number(text, (uintptr_t)origin->sites[i]);
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
    uint64_t parked_ns = fiber->parked_ns;
    const struct rti_wait *wait = fiber->wait;
    enum rti_runnable_state state = rti_runnable_state(&fiber->run);
    if (options->peek != NULL && state != RTI_RUNNABLE_PARKED) {
        return;
    }
    report_waits(text, fiber, &(struct report_wait){.options = options, .target = subject->target});
    if (options->has_stacks) {
        report_stack(text, fiber, options);
    }
    if (rti_runnable_state(&fiber->run) != state || fiber->wait != wait ||
        fiber->parked_ns != parked_ns) {
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
    rti_text_number(text, fiber->parked_ns);
    rti_text_number(text, fiber->origin.parent);
    rti_text_number(text, subject->mail);
    rti_text_number(text, subject->sent);
    rti_text_number(text, subject->received);
    report_sites(text, subject);
    rti_text_end_line(text);
    report_parked(text, subject, options);
}

static void report_actors(struct rti_text *text, const struct rti_actors *actors,
                          const struct rti_report_options *options)
{
    for (size_t i = 0; actors != NULL && i < RT_MAX_ACTORS; i++) {
        const struct rti_actor *actor = &actors->table[i];
        if (actor->id == ACTOR_ID_INVALID) {
            continue;
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
}

static void report_tasks(struct rti_text *text, const struct rti_tasks *tasks,
                         const struct rti_report_options *options)
{
    for (uint32_t i = 0; tasks != NULL && i < rti_tasks_fresh(tasks); i++) {
        const struct rti_task *task = rti_tasks_slot(tasks, i);
        enum rti_task_life life = rti_task_life(&task->life);
        if (life == RTI_TASK_FREE || life == RTI_TASK_COMPLETE) {
            continue;
        }
        const struct rti_task *joined = task->joins;
        struct report_subject subject = {
            .fiber = &task->fiber,
            .kind = "task",
            .name = task->name != NULL ? task->name : "",
            .target = joined == NULL ? 0 : joined->fiber.run.id,
            .sites = task->sites,
        };
        report_subject(text, &subject, options);
    }
}

static void report_process(struct rti_text *text, struct rti_sched *sched)
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
    if (fiber != NULL) {
        (void)report_copy(options, &id, &fiber->run.id, sizeof(id));
    }
    rti_text_line(text, "worker");
    rti_text_number(text, index);
    rti_text_number(text, worker->turns);
    rti_text_number(text, id);
    rti_text_end_line(text);
}

void rti_report_tasks(struct rti_text *text, struct rti_sched *sched,
                      const struct rti_report_options *options)
{
    report_process(text, sched);
    if (sched->crew == NULL) {
        report_worker(text, 0, &sched->worker, options);
    }
    for (uint32_t i = 0; sched->crew != NULL && i < sched->crew->members_count; i++) {
        report_worker(text, i, sched->crew->members[i].worker, options);
    }
    report_actors(text, sched->modules[RTI_MODULE_ACTOR], options);
    report_tasks(text, sched->modules[RTI_MODULE_TASK], options);
}

static void report_stat(struct rti_text *text, const char *name, uint64_t value)
{
    rti_text_line(text, "stat");
    rti_text_word(text, name);
    rti_text_number(text, value);
    rti_text_end_line(text);
}

static void report_actor_stats(struct rti_text *text, const struct rti_actors *actors)
{
    uint64_t states[RTI_RUNNABLE_DONE + 1] = {0};
    uint64_t mail = 0;
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t living = 0;
    for (size_t i = 0; i < RT_MAX_ACTORS; i++) {
        const struct rti_actor *actor = &actors->table[i];
        if (actor->id != ACTOR_ID_INVALID) {
            living++;
            states[rti_runnable_state(&actor->fiber.run) % (RTI_RUNNABLE_DONE + 1)]++;
            mail += actor->mailbox.count;
            sent += actor->messages_sent;
            received += actor->messages_received;
        }
    }
    report_stat(text, "actors", living);
    report_stat(text, "actors_max", RT_MAX_ACTORS);
    report_stat(text, "actors_waiting", states[RTI_RUNNABLE_PARKED]);
    report_stat(text, "actors_ready", states[RTI_RUNNABLE_READY] + states[RTI_RUNNABLE_WOKEN]);
    report_stat(text, "actors_running", states[RTI_RUNNABLE_RUNNING]);
    report_stat(text, "mail_waiting", mail);
    report_stat(text, "messages_sent_by_living", sent);
    report_stat(text, "messages_received_by_living", received);
}

/* What the runtime itself counts, if it can be asked here. */
static void report_counts(struct rti_text *text, const struct rt_stats *stats)
{
    report_stat(text, "workers", stats->workers);
    report_stat(text, "tasks_running", stats->tasks_running);
    report_stat(text, "tasks_ready", stats->tasks_ready);
    report_stat(text, "tasks_waiting", stats->tasks_waiting);
    report_stat(text, "steal_attempts", stats->steal_attempts);
    report_stat(text, "steal_successes", stats->steal_successes);
    report_stat(text, "reactor_events", stats->reactor_events);
    report_stat(text, "reactor_polls", stats->reactor_polls);
    report_stat(text, "channel_sends", stats->channel_sends);
    report_stat(text, "channel_recvs", stats->channel_recvs);
}

void rti_report_stats(struct rti_text *text, struct rti_sched *sched)
{
    report_process(text, sched);
    report_stat(text, "live", rti_sched_live(sched));
    report_stat(text, "turns", sched->worker.turns);
    struct rt_stats stats;
    if (!RT_FAILED(rt_stats(&stats))) {
        report_counts(text, &stats);
    }
    const struct rti_actors *actors = sched->modules[RTI_MODULE_ACTOR];
    if (actors != NULL) {
        report_actor_stats(text, actors);
    }
    const struct rti_tasks *tasks = sched->modules[RTI_MODULE_TASK];
    if (tasks != NULL) {
        report_stat(text, "tasks", rti_tasks_live(tasks));
        report_stat(text, "tasks_max", tasks->capacity);
        report_stat(text, "tasks_spawned", rti_u64_load_relaxed(&tasks->spawned));
        report_stat(text, "tasks_completed", rti_u64_load_relaxed(&tasks->completed));
        report_stat(text, "tasks_joined", rti_u64_load_relaxed(&tasks->joined));
        report_stat(text, "tasks_detached", rti_u64_load_relaxed(&tasks->detached));
        report_stat(text, "tasks_cancelled", rti_u64_load_relaxed(&tasks->cancelled));
        report_stat(text, "tasks_panicked", rti_u64_load_relaxed(&tasks->panicked));
    }
}
