/* SPDX-License-Identifier: Apache-2.0 */
/* The Linux port in a hostile world: system calls that fail, are interrupted, give less, lie late.
 *
 * The calls below stand in for those of the C library, for the port and for this file alike, and
 * the first two for the port's own (port/linux/transfer.h). Each asks `fault_due` whether it shall
 * fail this time, and else asks the kernel. */
#define _GNU_SOURCE
#define RTI_MODULE "port_calls_test"
#include "support/port_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/rng.h"
#include "port/linux/transfer.h"

enum call {
    CALL_RECV,
    CALL_SEND,
    CALL_ACCEPT,
    CALL_CONNECT,
    CALL_CLOSE,
    CALL_EPOLL_CREATE,
    CALL_EPOLL_CTL,
    CALL_EPOLL_WAIT,
    CALL_EPOLL_PWAIT2,
    CALL_EVENTFD,
    CALL_MPROTECT,
    CALL_COUNT,
};

/* `error` for the next `times` calls, after `skip` good ones. */
static struct fault {
    int error;
    unsigned skip;
    unsigned times;
    unsigned made; /* calls, failed ones included */
} faults[CALL_COUNT];

static bool is_short;             /* transfers move one byte, or are interrupted */
static struct rti_rng rng;        /* of is_short */
static uint64_t tag_last;         /* what epoll_ctl was last given */
static struct epoll_event forged; /* events 0: none; else epoll reports it once */

static void fault_set(enum call call, int error, unsigned skip, unsigned times)
{
    faults[call] = (struct fault){.error = error, .skip = skip, .times = times};
}

static bool fault_due(enum call call)
{
    struct fault *fault = &faults[call];
    fault->made++;
    if (fault->times == 0) {
        return false;
    }
    if (fault->skip > 0) {
        fault->skip--;
        return false;
    }
    fault->times--;
    errno = fault->error;
    return true;
}

/* Makes a transfer smaller or interrupts it, as the seed says. */
static bool transfer_is_spoilt(size_t *length)
{
    if (!is_short) {
        return false;
    }
    uint64_t dice = rti_rng_next(&rng) % 4;
    if (dice == 0) {
        errno = EINTR;
        return true;
    }
    if (*length > 1 && dice < 3) {
        *length = 1 + rti_rng_next(&rng) % (*length < 100 ? *length : 100);
    }
    return false;
}

ssize_t rti_linux_recv(int fd, void *buffer, size_t length, int flags)
{
    if (fault_due(CALL_RECV) || transfer_is_spoilt(&length)) {
        return -1;
    }
    return syscall(SYS_recvfrom, fd, buffer, length, flags, NULL, NULL);
}

ssize_t rti_linux_send(int fd, const void *buffer, size_t length, int flags)
{
    if (fault_due(CALL_SEND) || transfer_is_spoilt(&length)) {
        return -1;
    }
    return syscall(SYS_sendto, fd, buffer, length, flags, NULL, 0);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    return fault_due(CALL_ACCEPT) ? -1 : (int)syscall(SYS_accept4, fd, address, length, flags);
}

/* EINPROGRESS says that it has begun, EALREADY that it had. */
int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    bool is_spoilt = fault_due(CALL_CONNECT);
    int error = errno;
    int rc = 0;
    if (!is_spoilt || error == EINPROGRESS) {
        rc = (int)syscall(SYS_connect, fd, address, length);
    }
    if (is_spoilt) {
        errno = error;
        return -1;
    }
    return rc;
}

/* A failing close has closed all the same: that is what Linux does. */
int close(int fd)
{
    int rc = (int)syscall(SYS_close, fd);
    return rc != 0 || fault_due(CALL_CLOSE) ? -1 : 0;
}

int epoll_create1(int flags)
{
    return fault_due(CALL_EPOLL_CREATE) ? -1 : (int)syscall(SYS_epoll_create1, flags);
}

int eventfd(unsigned value, int flags)
{
    return fault_due(CALL_EVENTFD) ? -1 : (int)syscall(SYS_eventfd2, value, flags);
}

int epoll_ctl(int epoll, int verb, int fd, struct epoll_event *event)
{
    tag_last = event->data.u64;
    return fault_due(CALL_EPOLL_CTL) ? -1 : (int)syscall(SYS_epoll_ctl, epoll, verb, fd, event);
}

static bool forge(struct epoll_event *events)
{
    if (forged.events == 0) {
        return false;
    }
    events[0] = forged;
    forged.events = 0;
    return true;
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout)
{
    if (forge(events)) {
        return 1;
    }
    return fault_due(CALL_EPOLL_WAIT)
               ? -1
               : (int)syscall(SYS_epoll_pwait, epoll, events, count, timeout, NULL, 8);
}

int epoll_pwait2(int epoll, struct epoll_event *events, int count, const struct timespec *timeout,
                 const sigset_t *mask)
{
    if (forge(events)) {
        return 1;
    }
    return fault_due(CALL_EPOLL_PWAIT2)
               ? -1
               : (int)syscall(SYS_epoll_pwait2, epoll, events, count, timeout, mask, 8);
}

int mprotect(void *memory, size_t size, int protection)
{
    return fault_due(CALL_MPROTECT) ? -1 : (int)syscall(SYS_mprotect, memory, size, protection);
}

/* These are the calls of epoll. */
__attribute__((constructor)) static void choose_epoll(void)
{
    setenv("ORRERY_POLLER", "epoll", 1);
}

TEST(port_init_that_fails_at_any_step_says_why_and_leaves_nothing)
{
    static const struct {
        enum call call;
        int error;
        rt_status_code wanted;
    } steps[] = {
        {CALL_EPOLL_CREATE, EMFILE, RT_ERR_RESOURCE_EXHAUSTED},
        {CALL_EPOLL_CREATE, ENOMEM, RT_ERR_NOMEM},
        {CALL_EVENTFD, ENFILE, RT_ERR_RESOURCE_EXHAUSTED},
        {CALL_EPOLL_CTL, ENOSPC, RT_ERR_IO},
    };
    size_t before = count_fds();
    for (size_t i = 0; i < RTI_COUNT_OF(steps); i++) {
        fault_set(steps[i].call, steps[i].error, 0, 1);
        rt_status status = rti_port_linux_init(&fixture, NULL);
        CHECK_STATUS(status, steps[i].wanted);
        CHECK(status.msg != NULL);
        CHECK_EQ(count_fds(), before);
    }
    fixture_open(NULL);
    fixture_close();
    CHECK_EQ(count_fds(), before);
}

TEST(port_eager_pool_that_gets_no_thread_fails_init_and_leaves_nothing)
{
    struct rti_port_linux_config config = {.is_pool_eager = true, .stack_size = (size_t)1 << 60};
    size_t before = count_fds();
    CHECK_STATUS(rti_port_linux_init(&fixture, &config), RT_ERR_NOMEM);
    CHECK_EQ(count_fds(), before);
}

TEST(port_op_that_epoll_cannot_watch_is_answered_and_the_next_one_works)
{
    int fds[2];
    char byte = 0;
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    fault_set(CALL_EPOLL_CTL, ENOSPC, 0, 1);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_RESOURCE_EXHAUSTED, 0);
    CHECK_EQ(probe.op.error, ENOSPC);
    fault_set(CALL_EPOLL_CTL, ENOMEM, 0, 1);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_NOMEM, 0);
    fault_set(CALL_EPOLL_CTL, EPERM, 0, 1);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_UNSUPPORTED, 0);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    fixture_poll();
    CHECK_EQ(write(fds[1], "x", 1), 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 1);
    fixture_close();
}

TEST(port_registration_lost_behind_its_back_is_made_again)
{
    int fds[2];
    char byte = 0;
    struct probe reader;
    struct probe writer;
    static char much[1 << 22];
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&reader, RTI_OP_READ, fds[0], &byte, 1);
    fixture_poll();
    struct epoll_event none = {0};
    CHECK_EQ(epoll_ctl(fixture.poller.sentry.fd, EPOLL_CTL_DEL, fds[0], &none), 0);
    do {
        probe_init(&writer, RTI_OP_WRITE, fds[0], much, sizeof(much));
    } while (port->ops->attempt(port, &writer.op));
    port->ops->submit(port, &writer.op);
    CHECK_EQ(write(fds[1], "x", 1), 1);
    fixture_wait_for(&reader, 1);
    CHECK_ANSWER(&reader, RT_OK, 1);
    fixture_close();
}

/* A connected TCP pair: [0] is the server's. */
static void tcp_pair(int fds[2])
{
    struct sockaddr_in address;
    int listener = listener_open(&address, 4);
    fds[1] = client_open(&address);
    fds[0] = accept(listener, NULL, NULL);
    CHECK(fds[0] >= 0);
    close(listener);
}

TEST(port_read_that_left_room_waits_for_the_next_without_a_try)
{
    int fds[2];
    char buffer[8];
    struct probe probe;
    fixture_open(NULL);
    tcp_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(write(fds[1], "xyz", 3), 3);
        unsigned made = faults[CALL_RECV].made;
        fixture_wait_for(&probe, 1);
        CHECK_ANSWER(&probe, RT_OK, 3);
        CHECK_EQ(faults[CALL_RECV].made, made + 1);
        probe_init(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
        probe.op.is_patient = true;
        CHECK(!port->ops->attempt(port, &probe.op));
        port->ops->submit(port, &probe.op);
        fixture_poll();
        CHECK_EQ(faults[CALL_RECV].made, made + 1);
    }
    fixture_close();
}

TEST(port_attempt_without_patience_looks_at_this_moment)
{
    int fds[2];
    char buffer[8];
    struct probe probe;
    fixture_open(NULL);
    tcp_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    CHECK_EQ(write(fds[1], "x", 1), 1);
    fixture_wait_for(&probe, 1);
    /* What came since the last look is found, whatever the last look has seen. */
    CHECK_EQ(write(fds[1], "yz", 2), 2);
    probe_init(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    CHECK(port->ops->attempt(port, &probe.op));
    CHECK(probe.op.status == RT_OK && probe.op.result == 2);
    CHECK(!port->ops->attempt(port, &probe.op));
    /* And what comes after a look that found nothing is told. */
    port->ops->submit(port, &probe.op);
    CHECK_EQ(write(fds[1], "w", 1), 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 1);
    fixture_close();
}

TEST(port_end_that_came_with_the_last_bytes_is_heard)
{
    for (int is_waiting = 0; is_waiting < 2; is_waiting++) {
        int fds[2];
        char buffer[8];
        struct probe probe;
        fixture_open(NULL);
        tcp_pair(fds);
        probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
        if (is_waiting == 0) {
            /* Watched already when bytes and end come. */
            CHECK_EQ(write(fds[1], "a", 1), 1);
            fixture_wait_for(&probe, 1);
            CHECK_EQ(write(fds[1], "bc", 2), 2);
            CHECK_EQ(shutdown(fds[1], SHUT_WR), 0);
            probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
        } else {
            /* One event tells of both. */
            CHECK_EQ(write(fds[1], "bc", 2), 2);
            CHECK_EQ(shutdown(fds[1], SHUT_WR), 0);
        }
        fixture_wait_for(&probe, 1);
        CHECK_ANSWER(&probe, RT_OK, 2);
        probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
        fixture_wait_for(&probe, 1);
        CHECK_ANSWER(&probe, RT_OK, 0);
        CHECK_OK(port->ops->close_fd(port, fds[0]));
        fixture_close();
        close(fds[1]);
    }
}

/* A connection with a read in flight, whose peer says "ab", an urgent byte and "cd". */
static void open_with_urgent_data(int fds[2], struct probe *probe, char *buffer, size_t size)
{
    fixture_open(NULL);
    tcp_pair(fds);
    probe_submit(probe, RTI_OP_READ, fds[0], buffer, size);
    CHECK_EQ(write(fds[1], "ab", 2), 2);
    CHECK_EQ(send(fds[1], "!", 1, MSG_OOB), 1);
    CHECK_EQ(write(fds[1], "cd", 2), 2);
}

TEST(port_bytes_behind_urgent_data_are_not_left_lying)
{
    int fds[2];
    char buffer[8];
    struct probe probe;
    open_with_urgent_data(fds, &probe, buffer, sizeof(buffer));
    size_t got = 0;
    for (;;) {
        fixture_wait_for(&probe, 1);
        CHECK_EQ(probe.op.status, RT_OK);
        got += (size_t)probe.op.result;
        if (got == 4) {
            break;
        }
        probe_submit(&probe, RTI_OP_READ, fds[0], buffer + got, sizeof(buffer) - got);
    }
    CHECK_EQ(memcmp(buffer, "abcd", 4), 0);
    fixture_close();
}

/* A signal that is pending while a read stands at the mark: the kernel says EAGAIN, once, and
 * gives no edge for what lies behind. */
TEST(port_bytes_behind_urgent_data_are_read_although_a_signal_came)
{
    int fds[2];
    char buffer[8];
    struct probe probe;
    open_with_urgent_data(fds, &probe, buffer, sizeof(buffer));
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 2);
    fault_set(CALL_RECV, EAGAIN, 0, 1);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 2);
    CHECK_EQ(memcmp(buffer, "cd", 2), 0);
    /* And nothing is waited for with a processor: behind that there is nothing. */
    fault_set(CALL_RECV, 0, 0, 0);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    CHECK(faults[CALL_RECV].made <= 1);
    CHECK_EQ(write(fds[1], "e", 1), 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 1);
    fixture_close();
}

#define STREAM_BYTES 30000U

static unsigned char stream_out[STREAM_BYTES];
static unsigned char stream_in[STREAM_BYTES];

/* The rest of the transfer, until all of it is done. */
static void stream_go_on(struct probe *probe)
{
    CHECK_EQ(probe->op.status, RT_OK);
    CHECK(probe->op.result > 0);
    probe->op.buffer = (char *)probe->op.buffer + probe->op.result;
    probe->op.length -= (size_t)probe->op.result;
    if (probe->op.length > 0) {
        port->ops->submit(port, &probe->op);
    }
}

TEST(port_stream_is_exact_under_interruption_and_short_transfers)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        int fds[2];
        struct probe reader;
        struct probe writer;
        int size = 1;
        fixture_open(NULL);
        socket_pair(fds);
        CHECK_EQ(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
        rti_rng_init(&rng, seed);
        for (size_t i = 0; i < STREAM_BYTES; i++) {
            stream_out[i] = (unsigned char)rti_rng_next(&rng);
        }
        memset(stream_in, 0, sizeof(stream_in));
        is_short = true;
        probe_init(&reader, RTI_OP_READ, fds[1], stream_in, STREAM_BYTES);
        probe_init(&writer, RTI_OP_WRITE, fds[0], stream_out, STREAM_BYTES);
        reader.then = writer.then = stream_go_on;
        port->ops->submit(port, &reader.op);
        port->ops->submit(port, &writer.op);
        while (reader.op.length > 0) {
            port->ops->wait(port, RTI_TIME_NEVER);
        }
        is_short = false;
        CHECK(memcmp(stream_in, stream_out, STREAM_BYTES) == 0);
        fixture_close();
        close(fds[0]);
        close(fds[1]);
    }
}

TEST(port_error_of_a_transfer_is_told_with_its_number)
{
    int fds[2];
    char byte;
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    fault_set(CALL_RECV, ETIMEDOUT, 0, 1);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_IO, 0);
    CHECK_EQ(probe.op.error, ETIMEDOUT);
    fault_set(CALL_SEND, ENOMEM, 0, 1);
    probe_submit(&probe, RTI_OP_WRITE, fds[0], "x", 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_NOMEM, 0);
    fixture_close();
}

TEST(port_accept_passes_over_connections_that_died_in_the_backlog)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(NULL);
    int listener = listener_open(&address, 4);
    client_open(&address);
    fault_set(CALL_ACCEPT, ECONNABORTED, 0, 3);
    probe_submit(&probe, RTI_OP_ACCEPT, listener, NULL, 0);
    fixture_wait_for(&probe, 1);
    CHECK_EQ(probe.op.status, RT_OK);
    CHECK_EQ(faults[CALL_ACCEPT].made, 4);
    fixture_close();
}

TEST(port_accept_tries_again_when_the_system_had_no_descriptor)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(NULL);
    int listener = listener_open(&address, 4);
    int spare = dup(0);
    client_open(&address);
    fault_set(CALL_ACCEPT, ENFILE, 0, 3);
    probe_submit(&probe, RTI_OP_ACCEPT, listener, NULL, 0);
    fixture_poll();
    CHECK_EQ(probe.answers, 0);
    CHECK_OK(port->ops->close_fd(port, spare));
    fixture_wait_for(&probe, 1);
    CHECK_EQ(probe.op.status, RT_OK);
    CHECK_EQ(faults[CALL_ACCEPT].made, 4);
    fixture_close();
}

TEST(port_connect_in_progress_ends_when_the_socket_is_writable)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(NULL);
    listener_open(&address, 4);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fault_set(CALL_CONNECT, EINPROGRESS, 0, 1);
    probe_init(&probe, RTI_OP_CONNECT, fd, &address, sizeof(address));
    CHECK(!port->ops->attempt(port, &probe.op));
    fault_set(CALL_CONNECT, EALREADY, 0, 1);
    port->ops->submit(port, &probe.op);
    CHECK_EQ(probe.answers, 0);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 0);
    fixture_close();
}

/* Connects until one stays in progress, because the backlog is full. */
static int connect_pending(struct probe *probe, struct sockaddr_in *address)
{
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        probe_submit(probe, RTI_OP_CONNECT, fd, address, sizeof(*address));
        port->ops->wait(port, port->ops->clock_ns(port) + 1000000);
        if (probe->answers == 0) {
            return fd;
        }
    }
}

TEST(port_connect_does_not_believe_an_event_that_comes_too_early)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(NULL);
    listener_open(&address, 0);
    connect_pending(&probe, &address);
    forged = (struct epoll_event){.events = EPOLLOUT, .data.u64 = tag_last};
    fixture_poll();
    CHECK_EQ(forged.events, 0);
    CHECK_EQ(probe.answers, 0);
    port->ops->cancel(port, &probe.op);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_CANCELLED, 0);
    fixture_close();
}

TEST(port_event_of_an_earlier_generation_is_dropped)
{
    int fds[2];
    char byte;
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    uint64_t tag_old = tag_last;
    int number = fds[0];
    CHECK_OK(port->ops->close_fd(port, fds[0]));
    fixture_wait_for(&probe, 1);
    close(fds[1]);
    socket_pair(fds);
    CHECK_EQ(fds[0], number);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    CHECK(tag_last != tag_old);
    faults[CALL_RECV].made = 0;
    forged = (struct epoll_event){.events = EPOLLIN | EPOLLHUP, .data.u64 = tag_old};
    fixture_poll();
    CHECK_EQ(faults[CALL_RECV].made, 0);
    CHECK_EQ(probe.answers, 0);
    /* One of its own that is for nothing costs one try. */
    forged = (struct epoll_event){.events = EPOLLIN, .data.u64 = tag_last};
    fixture_poll();
    CHECK_EQ(faults[CALL_RECV].made, 1);
    CHECK_EQ(probe.answers, 0);
    fixture_close();
}

TEST(port_without_epoll_pwait2_waits_in_milliseconds_and_never_early)
{
    static const int errors[] = {ENOSYS, EPERM};
    for (size_t i = 0; i < 2; i++) {
        fixture_open(NULL);
        fault_set(CALL_EPOLL_PWAIT2, errors[i], 0, 100);
        for (int k = 0; k < 3; k++) {
            uint64_t deadline = port->ops->clock_ns(port) + 100000;
            CHECK_EQ(port->ops->wait(port, deadline), RTI_WAIT_DEADLINE);
            CHECK(port->ops->clock_ns(port) >= deadline);
        }
        /* Rounded up, one call is enough each time; rounded down it would spin at the end. */
        CHECK(faults[CALL_EPOLL_WAIT].made <= 3 * (i + 1));
        CHECK_EQ(faults[CALL_EPOLL_PWAIT2].made, 1);
        fixture_close();
    }
}

TEST(port_wait_survives_a_storm_of_interruptions)
{
    int fds[2];
    char byte = 0;
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    fault_set(CALL_EPOLL_PWAIT2, EINTR, 0, 100);
    fault_set(CALL_EPOLL_WAIT, EINTR, 0, 100);
    CHECK_EQ(write(fds[1], "x", 1), 1);
    fixture_wait_for(&probe, 1);
    CHECK_EQ(byte, 'x');
    fixture_close();
}

TEST(port_close_that_reports_an_error_has_closed_all_the_same)
{
    int fds[2];
    fixture_open(NULL);
    socket_pair(fds);
    fault_set(CALL_CLOSE, EIO, 0, 1);
    CHECK_STATUS(port->ops->close_fd(port, fds[0]), RT_ERR_IO);
    fault_set(CALL_CLOSE, EINTR, 0, 1);
    CHECK_OK(port->ops->close_fd(port, fds[1]));
    CHECK_EQ(fcntl(fds[0], F_GETFD), -1);
    CHECK_EQ(fcntl(fds[1], F_GETFD), -1);
    fixture_close();
}

TEST(port_guard_without_a_free_mapping_is_an_error)
{
    fixture_open(&(struct rti_port_linux_config){.is_guard_by_mprotect = true});
    char *memory = port->ops->memory_map(port, fixture.page_size);
    fault_set(CALL_MPROTECT, ENOMEM, 0, 1);
    CHECK_STATUS(port->ops->memory_guard(port, memory, fixture.page_size), RT_ERR_NOMEM);
    CHECK_OK(port->ops->memory_guard(port, memory, fixture.page_size));
    port->ops->memory_unmap(port, memory, fixture.page_size);
    fixture_close();
}
