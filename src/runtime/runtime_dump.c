/* SPDX-License-Identifier: Apache-2.0 */
/* rt_dump, apart from the rest so that a program without it does not have the code; the manual is
 * <orrery/rt/stats.h>. */
#define RTI_MODULE "runtime_dump"
#include <orrery/rt/stats.h>

#include "observe/dump.h"
#include "runtime/runtime.h"

rt_status rt_dump(int fd)
{
    if (fd < 0) {
        return (rt_status){RT_ERR_IO, "this is no descriptor"};
    }
    if (!rti_runtime_visit()) {
        return (rt_status){RT_ERR_STATE, "there is no runtime"};
    }
    rt_status status = rti_dump_write(&rti_runtime.sched, fd);
    rti_runtime_leave();
    return status;
}
