/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "dump"
#include "observe/dump.h"

#include <orrery/rt/stats.h>

#include "actor/actors.h"
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

static void dump_add_wait(struct rti_remark *line, const struct rti_fiber *fiber, uint64_t now_ns)
{
    rti_remark_add(line, " for ");
    rti_remark_add(line, rti_task_waits_for(fiber));
#if RTI_HAS_TOOLS
    uint64_t since = now_ns > fiber->parked_ns ? now_ns - fiber->parked_ns : 0;
    rti_remark_add(line, " since ");
    rti_remark_add_number(line, (rti_count)(since / RTI_NS_PER_MS));
    rti_remark_add(line, " ms");
#else
    (void)now_ns;
#endif
}

static void dump_task(struct dump *dump, const struct rti_task *task)
{
    struct rti_remark line;
    enum rti_task_state state = rti_task_state(task);
    bool is_parked = rti_runnable_state(&task->fiber.run) == RTI_RUNNABLE_PARKED;
    const struct rti_task *joins = task->joins;
    rti_remark_init(&line);
    rti_remark_add(&line, "task ");
    rti_task_remark_name(&line, task);
    rti_remark_add(&line, ": ");
    rti_remark_add(&line, rti_task_state_name(state));
    if (is_parked && state != RTI_TASK_STATE_COMPLETE) {
        dump_add_wait(&line, &task->fiber, dump->now_ns);
        if (joins != NULL) {
            rti_remark_add(&line, ", of task ");
            rti_task_remark_name(&line, joins);
        }
    }
    rti_remark_add(&line, ",");
    rti_task_remark_chain(&line, task);
    dump_line(dump, &line);
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

static void dump_actor(struct dump *dump, const struct rti_actor *actor)
{
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "actor ");
    rti_remark_add(&line, actor->name);
    rti_remark_add(&line, " (");
    rti_remark_add_number(&line, actor->id);
    rti_remark_add(&line, "): ");
    rti_remark_add(&line, dump_actor_state(actor));
    if (rti_runnable_state(&actor->fiber.run) == RTI_RUNNABLE_PARKED) {
        dump_add_wait(&line, &actor->fiber, dump->now_ns);
        if (actor->waits_for != ACTOR_ID_INVALID) {
            rti_remark_add(&line, ", of actor ");
            rti_remark_add_number(&line, actor->waits_for);
        }
    }
    dump_line(dump, &line);
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
        if (actors->table[i].id != ACTOR_ID_INVALID) {
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
