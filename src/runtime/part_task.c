/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks, and the pools of threads, as a part of the runtime. */
#define RTI_MODULE "part_task"
#include "runtime/runtime.h"
#include "task/tasks.h"
#include "task/thread_pool.h"

static struct rti_tasks tasks;
static struct rti_thread_pools pools;
static uint64_t handles_lost; /* of all runtimes of this process that have ended */

static void part_start(struct rt_runtime *runtime)
{
    rt_status status = rti_tasks_init(&tasks, &runtime->sched, handles_lost);
    RT_ASSERT(!RT_FAILED(status));
    rti_thread_pools_init(&pools, &runtime->sched);
}

static void part_halt(void)
{
    rti_tasks_kill_all(&tasks);
}

static void part_stop(void)
{
    rti_thread_pools_deinit(&pools);
    handles_lost = rti_tasks_deinit(&tasks);
}

const struct rti_runtime_part rti_part_task = {part_start, part_halt, part_stop};
