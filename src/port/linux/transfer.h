/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINUX_TRANSFER_H
#define RTI_LINUX_TRANSFER_H

/* recv(2) and send(2) of sockets, which every request makes.
 *
 * The C library's are points of cancellation: in a process that has more than one thread, as any
 * with a pool of them, glibc makes a locked instruction before the system call and one after it.
 * Nobody cancels a thread of the runtime, and none of these calls blocks, so the system is called
 * without. The sanitizers know the C library's functions, what they write and whom they
 * synchronize with: there they are called. */

#include <stddef.h>
#include <sys/types.h>

/* As recv and send: -1 and errno if they fail. */
ssize_t rti_linux_recv(int fd, void *buffer, size_t length, int flags);
ssize_t rti_linux_send(int fd, const void *buffer, size_t length, int flags);

#endif
