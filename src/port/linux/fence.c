/* SPDX-License-Identifier: Apache-2.0 */
/* A barrier on every thread of the process: membarrier(2). */
#define _GNU_SOURCE
#define RTI_MODULE "fence"
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/linux/port_linux.h"

static bool fence_call(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void rti_linux_fence_announce(void)
{
    int kept = errno;
    (void)fence_call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    errno = kept;
}

bool rti_linux_fence_all(struct rti_port *port)
{
    (void)port;
    int kept = errno;
    /* The process says once that it will ask; a child of it, perhaps, again. */
    bool is_passed = fence_call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
                     (fence_call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                      fence_call(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
    errno = kept;
    return is_passed;
}
