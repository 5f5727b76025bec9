/* SPDX-License-Identifier: Apache-2.0 */
/* In a file of its own: the tests of faults put theirs in its place. */
#define _GNU_SOURCE
#define RTI_MODULE "transfer"
#include "port/linux/transfer.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

#if !RTI_ASAN && !RTI_TSAN && defined(SYS_recvfrom) && defined(SYS_sendto)

ssize_t rti_linux_recv(int fd, void *buffer, size_t length, int flags)
{
    return syscall(SYS_recvfrom, fd, buffer, length, flags, NULL, NULL);
}

ssize_t rti_linux_send(int fd, const void *buffer, size_t length, int flags)
{
    return syscall(SYS_sendto, fd, buffer, length, flags, NULL, 0);
}

#else

ssize_t rti_linux_recv(int fd, void *buffer, size_t length, int flags)
{
    return recv(fd, buffer, length, flags);
}

ssize_t rti_linux_send(int fd, const void *buffer, size_t length, int flags)
{
    return send(fd, buffer, length, flags);
}

#endif
