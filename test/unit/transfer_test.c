/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "transfer_test"
#include "port/linux/transfer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

static int ends[2];

static void open_pair(void)
{
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

TEST(transfer_moves_bytes_and_says_how_many)
{
    char got[16] = {0};
    open_pair();
    CHECK_EQ(rti_linux_send(ends[0], "orrery", 6, MSG_DONTWAIT | MSG_NOSIGNAL), 6);
    CHECK_EQ(rti_linux_recv(ends[1], got, 4, MSG_DONTWAIT), 4);
    CHECK_EQ(memcmp(got, "orre", 4), 0);
    CHECK_EQ(rti_linux_recv(ends[1], got, sizeof(got), MSG_DONTWAIT), 2);
    CHECK_EQ(memcmp(got, "ry", 2), 0);
    close(ends[0]);
    CHECK_EQ(rti_linux_recv(ends[1], got, sizeof(got), MSG_DONTWAIT), 0);
    close(ends[1]);
}

TEST(transfer_heeds_its_flags_and_leaves_errno)
{
    char got[16];
    open_pair();
    errno = 0;
    CHECK_EQ(rti_linux_recv(ends[1], got, sizeof(got), MSG_DONTWAIT), -1);
    CHECK_EQ(errno, EAGAIN);
    close(ends[1]);
    /* Without MSG_NOSIGNAL this would end the process. */
    CHECK_EQ(rti_linux_send(ends[0], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
    CHECK_EQ(errno, EPIPE);
    close(ends[0]);
    CHECK_EQ(rti_linux_recv(-1, got, sizeof(got), MSG_DONTWAIT), -1);
    CHECK_EQ(errno, EBADF);
    CHECK_EQ(rti_linux_send(-1, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
    CHECK_EQ(errno, EBADF);
}
