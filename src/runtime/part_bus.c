/* SPDX-License-Identifier: Apache-2.0 */
/* The buses as a part of the runtime. */
#include "actor/bus.h"
#include "runtime/runtime.h"

#if RT_HAS_BUS

static struct rti_buses buses;

static void part_start(struct rt_runtime *runtime)
{
    rti_buses_init(&buses, &runtime->actors);
}

static void part_stop(void)
{
    rti_buses_deinit(&buses);
}

const struct rti_runtime_part rti_part_bus = {part_start, NULL, part_stop};

#endif
