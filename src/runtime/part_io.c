/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets, files and names as a part of the runtime. */
#define RTI_MODULE "part_io"
#include "io/io.h"
#include "runtime/runtime.h"

static struct rti_io io;

static void part_start(struct rt_runtime *runtime)
{
    rt_status status = rti_io_init(&io, &runtime->sched);
    RT_ASSERT(!RT_FAILED(status));
}

static void part_stop(void)
{
    rti_io_deinit(&io);
}

const struct rti_runtime_part rti_part_io = {part_start, NULL, part_stop};
