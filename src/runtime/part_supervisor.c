/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisors as a part of the runtime. */
#include "actor/supervisor.h"
#include "runtime/runtime.h"

static struct rti_supervisors supervisors;

static void part_start(struct rt_runtime *runtime)
{
    rti_supervisors_init(&supervisors, &runtime->actors);
}

static void part_stop(void)
{
    rti_supervisors_deinit(&supervisors);
}

const struct rti_runtime_part rti_part_supervisor = {part_start, NULL, part_stop};
