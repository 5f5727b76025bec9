/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a runtime, as lines of a report; the essay is in report.h. */
#define RTI_MODULE "report_stats"
#include <orrery/rt/stats.h>

#include "actor/actors.h"
#include "observe/report.h"
#include "task/tasks.h"

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
    report_stat(text, "workers_used", stats->workers_used);
    report_stat(text, "tasks_running", stats->tasks_running);
    report_stat(text, "tasks_ready", stats->tasks_ready);
    report_stat(text, "tasks_waiting", stats->tasks_waiting);
    report_stat(text, "steal_attempts", stats->steal_attempts);
    report_stat(text, "steal_successes", stats->steal_successes);
    report_stat(text, "reactor_events", stats->reactor_events);
    report_stat(text, "reactor_polls", stats->reactor_polls);
    report_stat(text, "channel_sends", stats->channel_sends);
    report_stat(text, "channel_recvs", stats->channel_recvs);
    report_stat(text, "overruns", stats->overruns);
    report_stat(text, "handoffs_cut", stats->handoffs_cut);
}

void rti_report_stats(struct rti_text *text, struct rti_sched *sched)
{
    rti_report_process(text, sched);
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
        report_stat(text, "tasks_spawned", rti_tasks_counted(tasks, RTI_TASKS_SPAWNED));
        report_stat(text, "tasks_completed", rti_tasks_counted(tasks, RTI_TASKS_COMPLETED));
        report_stat(text, "tasks_joined", rti_tasks_counted(tasks, RTI_TASKS_JOINED));
        report_stat(text, "tasks_detached", rti_tasks_counted(tasks, RTI_TASKS_DETACHED));
        report_stat(text, "tasks_cancelled", rti_tasks_counted(tasks, RTI_TASKS_CANCELLED));
        report_stat(text, "tasks_panicked", rti_tasks_counted(tasks, RTI_TASKS_PANICKED));
    }
}
