/* SPDX-License-Identifier: Apache-2.0 */
/* The poll tasks as a part of the runtime. */
#define RTI_MODULE "part_async"
#include "runtime/runtime.h"
#include "task/asyncs.h"

static struct rti_asyncs asyncs;

static void part_start(struct rt_runtime *runtime)
{
    rt_status status = rti_asyncs_init(&asyncs, &runtime->sched);
    RT_ASSERT(!RT_FAILED(status));
}

static void part_halt(void)
{
    rti_asyncs_kill_all(&asyncs);
}

static void part_stop(void)
{
    rti_asyncs_deinit(&asyncs);
}

const struct rti_runtime_part rti_part_async = {part_start, part_halt, part_stop};
