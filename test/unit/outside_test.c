/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "outside_test"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port/linux/port_linux.h"
#include "support/test.h"

static struct rti_port port = {
    .ops = &rti_linux_outside_ops, .net = &rti_linux_net, .file = &rti_linux_file};

static void never_done(struct rti_op *op)
{
    (void)op;
    test_fail(__FILE__, __LINE__, "done was called");
}

static void init(struct rti_op *op, enum rti_op_code code, int fd)
{
    rti_op_init(op, code, never_done);
    op->fd = fd;
}

static bool perform(struct rti_op *op, uint64_t span_ns)
{
    uint64_t now_ns = port.ops->clock_ns(&port);
    return port.ops->perform(&port, op,
                             span_ns == RTI_TIME_NEVER ? RTI_TIME_NEVER : now_ns + span_ns);
}

static int listen_here(struct sockaddr_in *address)
{
    socklen_t length = sizeof(*address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)address, length) == 0 && listen(fd, 4) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)address, &length) == 0);
    return fd;
}

TEST(outside_reads_and_writes_a_pair_and_never_before_its_time)
{
    struct rti_op op;
    char byte = 'k';
    int fds[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    init(&op, RTI_OP_READ, fds[0]);
    op.buffer = &byte;
    op.length = 1;
    CHECK(!port.ops->attempt(&port, &op));
    uint64_t before_ns = port.ops->clock_ns(&port);
    CHECK(!perform(&op, 3 * RTI_NS_PER_MS));
    CHECK(port.ops->clock_ns(&port) >= before_ns + 3 * RTI_NS_PER_MS);
    CHECK_EQ(byte, 'k');
    CHECK((fcntl(fds[0], F_GETFL) & O_NONBLOCK) != 0);
    CHECK_EQ(write(fds[1], "x", 1), 1);
    CHECK(perform(&op, RTI_TIME_NEVER));
    CHECK(op.status == RT_OK && op.result == 1 && byte == 'x');
    init(&op, RTI_OP_WRITE, fds[0]);
    op.buffer = &byte;
    op.length = 1;
    CHECK(port.ops->attempt(&port, &op) && op.status == RT_OK);
    CHECK(close(fds[1]) == 0);
    CHECK(perform(&op, RTI_TIME_NEVER));
    CHECK_EQ(op.status, RT_ERR_CLOSED);
    CHECK_OK(port.ops->close_fd(&port, fds[0]));
    CHECK_STATUS(port.ops->close_fd(&port, fds[0]), RT_ERR_INVALID);
    CHECK_STATUS(port.ops->close_fd(&port, -1), RT_ERR_INVALID);
}

TEST(outside_connects_and_accepts)
{
    struct sockaddr_in address;
    struct rti_op op;
    int listener = listen_here(&address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    init(&op, RTI_OP_ACCEPT, listener);
    CHECK(!perform(&op, RTI_NS_PER_MS));
    init(&op, RTI_OP_CONNECT, fd);
    op.buffer = &address;
    op.length = sizeof(address);
    CHECK(perform(&op, RTI_TIME_NEVER));
    CHECK_EQ(op.status, RT_OK);
    init(&op, RTI_OP_ACCEPT, listener);
    CHECK(perform(&op, RTI_TIME_NEVER));
    CHECK_EQ(op.status, RT_OK);
    CHECK(close((int)op.result) == 0 && close(fd) == 0 && close(listener) == 0);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    init(&op, RTI_OP_CONNECT, fd);
    op.buffer = &address;
    op.length = sizeof(address);
    CHECK(perform(&op, RTI_TIME_NEVER));
    CHECK(op.status == RT_ERR_IO && op.error == ECONNREFUSED);
    CHECK(close(fd) == 0);
}

TEST(outside_accept_without_a_free_descriptor_waits_and_takes_the_connection_later)
{
    struct sockaddr_in address;
    struct rti_op op;
    struct rlimit limit;
    int listener = listen_here(&address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct rlimit full = {.rlim_cur = (rlim_t)fd + 1, .rlim_max = limit.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &full) == 0);
    init(&op, RTI_OP_ACCEPT, listener);
    CHECK(!perform(&op, RTI_NS_PER_MS));
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(perform(&op, RTI_TIME_NEVER));
    CHECK_EQ(op.status, RT_OK);
    CHECK(close((int)op.result) == 0 && close(fd) == 0 && close(listener) == 0);
}

TEST(outside_refuses_what_cannot_be_waited_for)
{
    char name[] = "/tmp/orrery_outside_XXXXXX";
    struct rti_op op;
    char byte;
    int fd = mkstemp(name);
    CHECK(fd >= 0 && unlink(name) == 0);
    init(&op, RTI_OP_READ, fd);
    op.buffer = &byte;
    op.length = 1;
    CHECK(perform(&op, RTI_TIME_NEVER));
    CHECK_EQ(op.status, RT_ERR_UNSUPPORTED);
    CHECK(close(fd) == 0);
    CHECK(perform(&op, RTI_TIME_NEVER));
    CHECK_EQ(op.status, RT_ERR_INVALID);
    op.fd = -1;
    CHECK(port.ops->attempt(&port, &op));
    CHECK_EQ(op.status, RT_ERR_INVALID);
}

static void answers_seven(struct rti_op *op)
{
    rti_op_answer(op, RT_OK, 7, 0);
}

TEST(outside_does_work_on_the_spot)
{
    struct rti_op op;
    init(&op, RTI_OP_WORK, -1);
    op.work = answers_seven;
    CHECK(perform(&op, RTI_NS_PER_MS));
    CHECK_EQ(op.result, 7);
}
