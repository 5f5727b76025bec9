/* SPDX-License-Identifier: Apache-2.0 */
/* The behaviours as a part of the runtime. */
#include "actor/behaviour.h"
#include "runtime/runtime.h"

static struct rti_behaviours behaviours;

static void part_start(struct rt_runtime *runtime)
{
    rti_behaviours_init(&behaviours, &runtime->actors);
}

static void part_halt(void)
{
    rti_behaviours_kill_all(&behaviours);
}

static void part_stop(void)
{
    rti_behaviours_deinit(&behaviours);
}

const struct rti_runtime_part rti_part_behaviour = {part_start, part_halt, part_stop};
