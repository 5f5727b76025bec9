/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a runtime; the manual is <orrery/rt/stats.h>. */
#define RTI_MODULE "stats"
#include <orrery/rt/stats.h>

#include "sched/sched_stats.h"
#include "sync/channels.h"
#include "task/task_state.h"
#include "task/tasks.h"

static void stats_count_tasks(struct rt_stats *stats, const struct rti_tasks *tasks)
{
    for (uint32_t i = 0; i < rti_tasks_fresh(tasks); i++) {
        const struct rti_task *task = rti_tasks_slot(tasks, i);
        enum rti_task_life life = rti_task_life(&task->life);
        if (life == RTI_TASK_FREE || life == RTI_TASK_COMPLETE) {
            continue;
        }
        switch (rti_runnable_state(&task->fiber.run)) {
        case RTI_RUNNABLE_NEW:
        case RTI_RUNNABLE_READY:
            stats->tasks_ready++;
            break;
        case RTI_RUNNABLE_PARKED:
            stats->tasks_waiting++;
            break;
        default:
            stats->tasks_running++;
            break;
        }
    }
    stats->tasks_completed = rti_tasks_counted(tasks, RTI_TASKS_COMPLETED);
    stats->tasks_panicked = rti_tasks_counted(tasks, RTI_TASKS_PANICKED);
    stats->spawn_count = rti_tasks_counted(tasks, RTI_TASKS_SPAWNED);
    stats->join_count = rti_tasks_counted(tasks, RTI_TASKS_JOINED);
    stats->detach_count = rti_tasks_counted(tasks, RTI_TASKS_DETACHED);
    stats->cancel_count = rti_tasks_counted(tasks, RTI_TASKS_CANCELLED);
    stats->handles_lost = tasks->handles_lost;
}

static void stats_count_workers(struct rt_stats *stats, const struct rti_sched *sched)
{
    struct rti_sched_stats workers;
    rti_sched_stats(sched, &workers, stats->queue_depths, RT_STATS_WORKERS_MAX);
    stats->workers = workers.workers;
    stats->workers_used = workers.workers_used;
    stats->steal_attempts = workers.steal_attempts;
    stats->steal_successes = workers.steal_successes;
    stats->overruns = workers.overruns;
    stats->handoffs_cut = workers.handoffs_cut;
}

rt_status rt_stats(struct rt_stats *stats)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    if (stats == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no room for the numbers"};
    }
    *stats = (struct rt_stats){.workers = 0};
    const struct rti_sched *sched = worker->sched;
    const struct rti_tasks *tasks = rti_tasks_of(worker);
    struct rti_channels *channels = rti_channels_of(worker);
    const struct rti_port_counts *port = &sched->port->counts;
    stats_count_workers(stats, sched);
    if (tasks != NULL) {
        stats_count_tasks(stats, tasks);
    }
    if (channels != NULL) {
        rti_channels_traffic(channels, &stats->channel_sends, &stats->channel_recvs);
    }
    stats->reactor_events = rti_u64_load_relaxed(&port->events);
    stats->reactor_polls = rti_u64_load_relaxed(&port->polls);
    stats->reactor_timeouts = rti_u64_load_relaxed(&port->timeouts);
    return RT_SUCCESS;
}
