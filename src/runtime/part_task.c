/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks as a part of the runtime. */
#define RTI_MODULE "part_task"
#include "runtime/runtime.h"
#include "task/tasks.h"

static struct rti_tasks tasks;
static uint64_t handles_lost; /* of all runtimes of this process that have ended */

static void part_start(struct rt_runtime *runtime)
{
    rt_status status = rti_tasks_init(&tasks, &runtime->sched, handles_lost);
    RT_ASSERT(!RT_FAILED(status));
}

static void part_halt(void)
{
    rti_tasks_kill_all(&tasks);
}

static void part_stop(void)
{
    handles_lost = rti_tasks_deinit(&tasks);
}

const struct rti_runtime_part rti_part_task = {part_start, part_halt, part_stop};
