/* SPDX-License-Identifier: Apache-2.0 */
/* The channels as a part of the runtime. */
#define RTI_MODULE "part_channel"
#include "runtime/runtime.h"
#include "sync/channels.h"

static struct rti_channels channels;

static void part_start(struct rt_runtime *runtime)
{
    rt_status status = rti_channels_init(&channels, &runtime->sched);
    RT_ASSERT(!RT_FAILED(status));
}

static void part_stop(void)
{
    rti_channels_deinit(&channels);
}

const struct rti_runtime_part rti_part_channel = {part_start, NULL, part_stop};
