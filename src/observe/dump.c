/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "dump"
#include "observe/dump.h"

#include <orrery/rt/stats.h>

#include "actor/actors.h"
#include "base/peek.h"
#include "sched/backtrace.h"
#include "sched/overrun.h"
#include "task/task_report.h"
#include "task/task_state.h"
#include "task/tasks.h"

/* Where lines go, and how many may still. */
struct dump {
    int fd; /* -1: the log */
    size_t lines_left;
    uint64_t now_ns;
    rt_status status;
};

static void dump_line(struct dump *dump, struct rti_remark *line)
{
    if (dump->lines_left == 0 || RT_FAILED(dump->status)) {
        return;
    }
    dump->lines_left--;
    if (dump->fd < 0) {
        rti_port_log(line->text);
        return;
    }
    /* The text may be full: its end becomes the line's. */
    size_t end = line->length < RTI_REMARK_MAX ? line->length : RTI_REMARK_MAX - 1;
    line->text[end] = '\n';
    dump->status = rti_port_descriptor_write(dump->fd, line->text, end + 1);
}

/* When a fiber parked last, of which nobody says that it stands still. */
static uint64_t dump_parked_ns(const struct rti_fiber *fiber)
{
    uint64_t parked_ns = 0;
#if RTI_HAS_TOOLS
    (void)rti_peek_copy(NULL, &parked_ns, rti_fiber_parked_ns(fiber), sizeof(parked_ns));
#else
    (void)fiber;
#endif
    return parked_ns;
}

static void dump_add_wait(struct rti_remark *line, const struct rti_fiber *fiber, uint64_t now_ns)
{
    rti_remark_add(line, " for ");
    rti_remark_add(line, rti_task_waits_for(fiber));
#if RTI_HAS_TOOLS
    uint64_t parked_ns = dump_parked_ns(fiber);
    uint64_t since = now_ns > parked_ns ? now_ns - parked_ns : 0;
    rti_remark_add(line, " since ");
    rti_remark_add_number(line, (rti_count)(since / RTI_NS_PER_MS));
    rti_remark_add(line, " ms");
#else
    (void)now_ns;
#endif
}

/* "  at server+0x1a2b < server+0x1c00"; nothing if it has not begun, runs elsewhere, or goes on
 * while we look. The first `frames_own` are not the program's. */
static void dump_backtrace(struct dump *dump, const struct rti_fiber *fiber, size_t frames_own)
{
    struct rti_remark line;
    struct rti_backtrace trace = {.count = 0};
    const struct rti_worker *worker = rti_worker_current();
    enum rti_runnable_state state = rti_runnable_state(&fiber->run);
    uint64_t parked_ns = dump_parked_ns(fiber);
    if (dump->lines_left == 0 || RT_FAILED(dump->status)) {
        return;
    }
    if (worker != NULL && worker->fiber == fiber) {
        rti_backtrace_take_here(&trace);
    } else if (state != RTI_RUNNABLE_RUNNING) {
        rti_backtrace_take(&trace, fiber);
    }
    if (trace.count == 0 || rti_runnable_state(&fiber->run) != state ||
        dump_parked_ns(fiber) != parked_ns) {
        return;
    }
    if (trace.is_whole && trace.count > frames_own) {
        trace.count -= frames_own;
    }
    rti_remark_init(&line);
    rti_remark_add(&line, "  at");
    rti_backtrace_remark(&line, &trace);
    dump_line(dump, &line);
}

static void dump_task(struct dump *dump, const struct rti_task *task)
{
    struct rti_remark line;
    enum rti_task_state state = rti_task_state(task);
    bool is_parked = rti_runnable_state(&task->fiber.run) == RTI_RUNNABLE_PARKED;
    uint32_t joins = 0;
    struct rti_task_identity identity;
    rti_task_identify(task, &identity);
    (void)rti_peek_copy(NULL, &joins, &task->joins, sizeof(joins));
    rti_remark_init(&line);
    rti_remark_add(&line, "task ");
    rti_task_remark_identity(&line, &identity);
    rti_remark_add(&line, ": ");
    rti_remark_add(&line, rti_task_state_name(state));
    if (is_parked && state != RTI_TASK_STATE_COMPLETE) {
        dump_add_wait(&line, &task->fiber, dump->now_ns);
        const struct rti_sched *sched = rti_fiber_peek_sched(&task->fiber);
        if (joins != 0 && sched != NULL) {
            rti_remark_add(&line, ", of task ");
            rti_task_remark_name(&line, rti_tasks_slot(sched->modules[RTI_MODULE_TASK], joins - 1));
        }
    }
    rti_remark_add(&line, ",");
    rti_task_remark_origin(&line, &identity);
    dump_line(dump, &line);
    if (state != RTI_TASK_STATE_COMPLETE) {
        dump_backtrace(dump, &task->fiber, 1);
    }
}

static const char *dump_actor_state(const struct rti_actor *actor)
{
    switch (rti_runnable_state(&actor->fiber.run)) {
    case RTI_RUNNABLE_RUNNING:
        return "running";
    case RTI_RUNNABLE_PARKED:
        return "waiting";
    default:
        return "ready";
    }
}

/* Adds "actor postman (64)". */
static void dump_add_actor(struct rti_remark *line, const struct rti_actor *actor)
{
    char name[sizeof(actor->name)];
    actor_id id;
    (void)rti_peek_copy(NULL, name, actor->name, sizeof(name));
    (void)rti_peek_copy(NULL, &id, &actor->id, sizeof(id));
    name[sizeof(name) - 1] = '\0';
    rti_remark_add(line, "actor ");
    rti_remark_add(line, name);
    rti_remark_add(line, " (");
    rti_remark_add_number(line, id);
    rti_remark_add(line, ")");
}

/* Adds ", spawned at server+0x1a2b, from server+0x1c00": an actor knows the code, not the line. */
static void dump_add_sites(struct rti_remark *line, const struct rti_fiber *fiber)
{
#if RTI_HAS_TOOLS
    const void *sites[RTI_ORIGIN_SITES];
    rti_fiber_tell_origin(fiber, sites);
    for (size_t i = 0; i < RTI_ORIGIN_SITES && sites[i] != NULL; i++) {
        rti_remark_add(line, i == 0 ? ", spawned at " : ", from ");
        rti_backtrace_remark_place(line, (uintptr_t)sites[i]);
    }
#else
    (void)line;
    (void)fiber;
#endif
}

static void dump_actor(struct dump *dump, const struct rti_actor *actor)
{
    struct rti_remark line;
    actor_id waits_for;
    (void)rti_peek_copy(NULL, &waits_for, &actor->waits_for, sizeof(waits_for));
    rti_remark_init(&line);
    dump_add_actor(&line, actor);
    rti_remark_add(&line, ": ");
    rti_remark_add(&line, dump_actor_state(actor));
    if (rti_runnable_state(&actor->fiber.run) == RTI_RUNNABLE_PARKED) {
        dump_add_wait(&line, &actor->fiber, dump->now_ns);
        if (waits_for != ACTOR_ID_INVALID) {
            rti_remark_add(&line, ", of actor ");
            rti_remark_add_number(&line, waits_for);
        }
    }
    dump_add_sites(&line, &actor->fiber);
    dump_line(dump, &line);
    dump_backtrace(dump, &actor->fiber, 0);
}

static void dump_all(struct dump *dump, const struct rti_sched *sched)
{
    const struct rti_tasks *tasks = sched->modules[RTI_MODULE_TASK];
    const struct rti_actors *actors = sched->modules[RTI_MODULE_ACTOR];
    for (uint32_t i = 0; tasks != NULL && i < rti_tasks_fresh(tasks); i++) {
        if (rti_task_state(rti_tasks_slot(tasks, i)) != RTI_TASK_STATE_NONE) {
            dump_task(dump, rti_tasks_slot(tasks, i));
        }
    }
    for (size_t i = 0; actors != NULL && i < RT_MAX_ACTORS; i++) {
        actor_id id;
        (void)rti_peek_copy(NULL, &id, &actors->table[i].id, sizeof(id));
        if (id != ACTOR_ID_INVALID) {
            dump_actor(dump, &actors->table[i]);
        }
    }
}

rt_status rti_dump_write(const struct rti_sched *sched, int fd)
{
    struct dump dump = {
        .fd = fd, .lines_left = RT_DUMP_LINES, .now_ns = sched->port->ops->clock_ns(sched->port)};
    RT_ASSERT(fd >= 0);
    dump_all(&dump, sched);
    return dump.status;
}

void rti_dump_stuck(const struct rti_sched *sched)
{
    struct dump dump = {
        .fd = -1, .lines_left = RT_DUMP_LINES, .now_ns = sched->port->ops->clock_ns(sched->port)};
    rti_port_log("deadlock: everybody waits, and nothing can end a wait any more");
    dump_all(&dump, sched);
}

/* The task that a fiber belongs to, or NULL. */
static const struct rti_task *task_of(const struct rti_tasks *tasks, const struct rti_fiber *fiber)
{
    if (tasks == NULL || fiber == NULL) {
        return NULL;
    }
    uintptr_t task = (uintptr_t)RTI_CONTAINER_OF(fiber, const struct rti_task, fiber);
    uint32_t fresh = rti_tasks_fresh(tasks);
    size_t more = fresh > RT_MAX_TASKS ? fresh - RT_MAX_TASKS : 0;
    bool is_task = task - (uintptr_t)tasks->slots < sizeof(tasks->slots) ||
                   task - (uintptr_t)tasks->more < more * sizeof(struct rti_task);
    return is_task ? (const struct rti_task *)task : NULL;
}

static const struct rti_actor *actor_of(const struct rti_actors *actors,
                                        const struct rti_fiber *fiber)
{
    if (actors == NULL || fiber == NULL) {
        return NULL;
    }
    uintptr_t actor = (uintptr_t)RTI_CONTAINER_OF(fiber, const struct rti_actor, fiber);
    bool is_actor = actor - (uintptr_t)actors->table < sizeof(actors->table);
    return is_actor ? (const struct rti_actor *)actor : NULL;
}

void rti_dump_overrun(struct rti_sched *sched, const struct rti_overrun_report *report)
{
    struct rti_remark line;
    const struct rti_task *task = task_of(sched->modules[RTI_MODULE_TASK], report->fiber);
    const struct rti_actor *actor = actor_of(sched->modules[RTI_MODULE_ACTOR], report->fiber);
    struct rti_backtrace trace = *report->trace;
    rti_remark_init(&line);
    rti_remark_add(&line, "watchdog: ");
    if (task != NULL) {
        rti_remark_add(&line, "task ");
        rti_task_remark_name(&line, task);
        trace.count -= trace.is_whole && trace.count > 1 ? 1 : 0;
    } else if (actor != NULL) {
        dump_add_actor(&line, actor);
    } else {
        rti_remark_add(&line, "something without a stack");
    }
    rti_remark_add(&line, " keeps a worker since ");
    rti_remark_add_number(&line, (rti_count)(report->span_ns / RTI_NS_PER_MS));
    rti_remark_add(&line, " ms");
    if (task != NULL) {
        rti_remark_add(&line, ",");
        rti_task_remark_chain(&line, task);
    } else if (actor != NULL) {
        dump_add_sites(&line, &actor->fiber);
    }
    rti_remark_add(&line, ", at");
    rti_backtrace_remark(&line, &trace);
    rti_port_log(line.text);
}
