/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_PORT_FIXTURE_H
#define TEST_PORT_FIXTURE_H

/* What the tests of the Linux port share: one port per process, and an op that counts its answers.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port/linux/port_linux.h"
#include "support/census.h"
#include "support/test.h"

static struct rti_port_linux fixture;
static struct rti_port *const port = &fixture.port;
static unsigned answers_told; /* over all probes */

struct probe {
    struct rti_op op;
    unsigned answers; /* how often done was called */
    unsigned turn;    /* which answer of all this was the last time */
    void (*then)(struct probe *probe);
};

static inline void probe_done(struct rti_op *op)
{
    struct probe *probe = RTI_CONTAINER_OF(op, struct probe, op);
    CHECK(rti_op_is_idle(op));
    probe->answers++;
    probe->turn = ++answers_told;
    if (probe->then != NULL) {
        probe->then(probe);
    }
}

static inline void probe_init(struct probe *probe, enum rti_op_code code, int fd, void *buffer,
                              size_t length)
{
    *probe = (struct probe){.answers = 0};
    rti_op_init(&probe->op, code, probe_done);
    probe->op.fd = fd;
    probe->op.buffer = buffer;
    probe->op.length = length;
}

static inline void probe_submit(struct probe *probe, enum rti_op_code code, int fd, void *buffer,
                                size_t length)
{
    probe_init(probe, code, fd, buffer, length);
    port->ops->submit(port, &probe->op);
}

static inline void fixture_open(const struct rti_port_linux_config *config)
{
    CHECK_OK(rti_port_linux_init(&fixture, config));
}

static inline void fixture_close(void)
{
    rti_port_linux_audit(&fixture);
    rti_port_linux_deinit(&fixture);
}

/* Tells what is there without blocking. */
static inline void fixture_poll(void)
{
    port->ops->wait(port, 0);
    rti_port_linux_audit(&fixture);
}

/* Waits until the probe has `answers`; a hang is the runner's to see. */
static inline void fixture_wait_for(const struct probe *probe, unsigned answers)
{
    while (probe->answers < answers) {
        port->ops->wait(port, RTI_TIME_NEVER);
    }
    CHECK_EQ(probe->answers, answers);
    rti_port_linux_audit(&fixture);
}

#define CHECK_ANSWER(probe, wanted_status, wanted_result)                                          \
    do {                                                                                           \
        CHECK_EQ((probe)->answers, 1);                                                             \
        CHECK_STR(rt_status_name((probe)->op.status), #wanted_status);                             \
        CHECK_EQ((probe)->op.result, wanted_result);                                               \
    } while (0)

static inline void socket_pair(int fds[2])
{
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

static inline struct sockaddr_in loopback(uint16_t port_number)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port_number)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* A listener on a free port of the loopback; its address is stored. */
static inline int listener_open(struct sockaddr_in *address, int backlog)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address = loopback(0);
    CHECK_EQ(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
    CHECK_EQ(listen(fd, backlog), 0);
    socklen_t length = sizeof(*address);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)address, &length), 0);
    return fd;
}

static inline int client_open(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(connect(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
    return fd;
}

#endif
