/* SPDX-License-Identifier: Apache-2.0 */
/* In a file of its own: the tests of faults put theirs in its place. */
#define _GNU_SOURCE
#define RTI_MODULE "transfer"
#include "port/linux/transfer.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

#if !RTI_ASAN && !RTI_TSAN && defined(SYS_recvfrom) && defined(SYS_sendto)

#if defined(__x86_64__)

/* The system call of six words, the last two zero: what syscall(2) moves through its own frame is
 * put into its register at once. */
static inline long transfer_call(long number, long fd, const void *bytes, size_t length, long flags)
{
    register long none8 __asm__("r8") = 0;
    register long none9 __asm__("r9") = 0;
    register long flags10 __asm__("r10") = flags;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(fd), "S"(bytes), "d"(length), "r"(flags10), "r"(none8),
                       "r"(none9)
                     : "rcx", "r11", "memory");
    if (RTI_UNLIKELY(result < 0)) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

#else

static inline long transfer_call(long number, long fd, const void *bytes, size_t length, long flags)
{
    return syscall(number, fd, bytes, length, flags, NULL, 0);
}

#endif

ssize_t rti_linux_recv(int fd, void *buffer, size_t length, int flags)
{
    return transfer_call(SYS_recvfrom, fd, buffer, length, flags);
}

ssize_t rti_linux_send(int fd, const void *buffer, size_t length, int flags)
{
    return transfer_call(SYS_sendto, fd, buffer, length, flags);
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
