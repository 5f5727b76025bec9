/* SPDX-License-Identifier: Apache-2.0 */
/* The two kinds of sentry, side by side: each case runs the same ops with epoll and with io_uring.
 */
#define _GNU_SOURCE
#define RTI_MODULE "sentry_test"
#include "port/linux/sentry.h"

#include <fcntl.h>
#include <orrery/rt.h>
#include <pthread.h>

#include "support/port_fixture.h"

static bool has_uring(void)
{
    struct rti_uring uring;
    rt_status status = rti_uring_open(&uring, false);
    if (RT_FAILED(status)) {
        CHECK(status.code == RT_ERR_UNSUPPORTED && status.msg != NULL);
        return false;
    }
    rti_uring_close(&uring);
    return true;
}

/* Runs a body with each kind that this machine has. */
static void on_both(void (*body)(const struct rti_port_linux_config *config), bool is_shared)
{
    size_t before = count_fds();
    body(&(struct rti_port_linux_config){.poller = RT_POLLER_EPOLL, .is_shared = is_shared});
    if (has_uring()) {
        body(&(struct rti_port_linux_config){.poller = RT_POLLER_IO_URING, .is_shared = is_shared});
    }
    CHECK_EQ(count_fds(), before);
}

static void talk(const struct rti_port_linux_config *config)
{
    int fds[2];
    char byte = 0;
    struct probe probe;
    fixture_open(config);
    CHECK_EQ(fixture.poller.sentry.is_uring, config->poller == RT_POLLER_IO_URING);
    socket_pair(fds);
    for (int i = 0; i < 300; i++) {
        probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
        fixture_poll();
        CHECK_EQ(probe.answers, 0);
        CHECK_EQ(write(fds[1], "x", 1), 1);
        fixture_wait_for(&probe, 1);
        CHECK_ANSWER(&probe, RT_OK, 1);
    }
    uint64_t soon = port->ops->clock_ns(port) + 2000000;
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    CHECK_EQ(port->ops->wait(port, soon), RTI_WAIT_DEADLINE);
    CHECK(port->ops->clock_ns(port) >= soon);
    port->ops->cancel(port, &probe.op);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_CANCELLED, 0);
    CHECK_OK(port->ops->close_fd(port, fds[0]));
    CHECK_OK(port->ops->close_fd(port, fds[1]));
    fixture_close();
}

TEST(sentry_tells_each_time_a_descriptor_becomes_ready)
{
    on_both(talk, false);
}

TEST(sentry_of_several_workers_tells_each_time_a_descriptor_becomes_ready)
{
    on_both(talk, true);
}

/* Many descriptors at once, more than fit the ring of requests. */
#define MANY 300

static void watch_many(const struct rti_port_linux_config *config)
{
    static struct probe probes[MANY];
    static int pairs[MANY][2];
    static char bytes[MANY];
    fixture_open(config);
    for (int i = 0; i < MANY; i++) {
        socket_pair(pairs[i]);
        probe_submit(&probes[i], RTI_OP_READ, pairs[i][0], &bytes[i], 1);
    }
    for (int i = MANY; i > 0; i--) {
        CHECK_EQ(write(pairs[i - 1][1], "y", 1), 1);
    }
    for (int i = 0; i < MANY; i++) {
        fixture_wait_for(&probes[i], 1);
        CHECK_ANSWER(&probes[i], RT_OK, 1);
        CHECK_OK(port->ops->close_fd(port, pairs[i][0]));
        CHECK_OK(port->ops->close_fd(port, pairs[i][1]));
    }
    fixture_close();
}

TEST(sentry_watches_more_descriptors_than_its_rings_have_places)
{
    on_both(watch_many, false);
}

/* Both directions wait, and the descriptor is closed and its number used again. */
static void close_and_reuse(const struct rti_port_linux_config *config)
{
    static char full[1 << 20];
    int old[2];
    int new[2];
    char byte;
    struct probe readers[4];
    struct probe writers[4];
    struct probe next;
    fixture_open(config);
    socket_pair(old);
    probe_submit(&next, RTI_OP_WRITE, old[0], full, sizeof(full));
    fixture_wait_for(&next, 1);
    for (int i = 0; i < 4; i++) {
        probe_submit(&readers[i], RTI_OP_READ, old[0], &byte, 1);
        probe_submit(&writers[i], RTI_OP_WRITE, old[0], full, sizeof(full));
    }
    fixture_poll();
    /* Ready in both directions, told to nobody yet, and kept alive by a duplicate. */
    int duplicate = fcntl(old[0], F_DUPFD_CLOEXEC, 100);
    CHECK_EQ(write(old[1], "x", 1), 1);
    while (recv(old[1], full, sizeof(full), MSG_DONTWAIT) > 0) {
    }
    CHECK_OK(port->ops->close_fd(port, old[0]));
    socket_pair(new);
    CHECK_EQ(new[0], old[0]);
    probe_submit(&next, RTI_OP_READ, new[0], &byte, 1);
    CHECK_EQ(write(old[1], "yz", 2), 2);
    for (int i = 0; i < 5; i++) {
        fixture_poll();
    }
    for (int i = 0; i < 4; i++) {
        CHECK_ANSWER(&readers[i], RT_ERR_CLOSED, 0);
        CHECK_ANSWER(&writers[i], RT_ERR_CLOSED, 0);
    }
    CHECK_EQ(next.answers, 0);
    CHECK_EQ(write(new[1], "n", 1), 1);
    fixture_wait_for(&next, 1);
    CHECK_ANSWER(&next, RT_OK, 1);
    CHECK_EQ(byte, 'n');
    close(duplicate);
    CHECK_OK(port->ops->close_fd(port, new[0]));
    CHECK_OK(port->ops->close_fd(port, new[1]));
    CHECK_OK(port->ops->close_fd(port, old[1]));
    fixture_close();
}

TEST(sentry_close_answers_each_op_once_and_no_event_reaches_the_next_owner)
{
    on_both(close_and_reuse, false);
}

TEST(sentry_of_several_workers_answers_each_op_once_at_a_close)
{
    on_both(close_and_reuse, true);
}

/* The close is one: the peer sees the end though a poll was under way. */
static void close_is_seen(const struct rti_port_linux_config *config)
{
    int fds[2];
    char byte;
    struct probe probe;
    fixture_open(config);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    fixture_poll();
    CHECK_OK(port->ops->close_fd(port, fds[0]));
    CHECK_EQ(read(fds[1], &byte, 1), 0);
    fixture_wait_for(&probe, 1);
    close(fds[1]);
    fixture_close();
}

TEST(sentry_lets_go_of_a_descriptor_that_is_closed)
{
    on_both(close_is_seen, false);
}

/* A thread begins to wait and ends; what it asked for comes all the same. */
static int leaving[2];
static char leaving_byte;
static struct probe leaving_probe;

static void *ask_and_leave(void *arg)
{
    probe_submit(&leaving_probe, RTI_OP_READ, leaving[0], &leaving_byte, 1);
    return arg;
}

static void *write_late(void *arg)
{
    usleep(2000);
    CHECK_EQ(write(leaving[1], "l", 1), 1);
    return arg;
}

static void outlive_thread(const struct rti_port_linux_config *config)
{
    pthread_t thread;
    fixture_open(config);
    socket_pair(leaving);
    CHECK_EQ(pthread_create(&thread, NULL, ask_and_leave, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pthread_create(&thread, NULL, write_late, NULL), 0);
    fixture_wait_for(&leaving_probe, 1);
    CHECK_ANSWER(&leaving_probe, RT_OK, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_OK(port->ops->close_fd(port, leaving[0]));
    CHECK_OK(port->ops->close_fd(port, leaving[1]));
    fixture_close();
}

TEST(sentry_watches_on_when_the_thread_that_asked_has_ended)
{
    on_both(outlive_thread, true);
}

/* The bell reaches whoever blocks, also after another thread has. */
static void *ring(void *arg)
{
    usleep(1000);
    port->ops->wake(port);
    return arg;
}

static void *wait_once(void *arg)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, ring, NULL), 0);
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return arg;
}

static void ring_in_turns(const struct rti_port_linux_config *config)
{
    fixture_open(config);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        (void)wait_once(NULL);
        CHECK_EQ(pthread_create(&thread, NULL, wait_once, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    fixture_close();
}

TEST(sentry_bell_wakes_whichever_thread_waits)
{
    on_both(ring_in_turns, true);
}

TEST(sentry_kind_is_what_was_asked_for_or_an_error)
{
    CHECK_EQ(setenv("ORRERY_POLLER", "select", 1), 0);
    CHECK_STATUS(rti_port_linux_init(&fixture, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_init(), RT_ERR_INVALID);
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 1, .poller = RT_POLLER_EPOLL}));
    rt_cleanup();
    CHECK_STATUS(rt_init_ex(&(rt_config){.workers = 1, .poller = (rt_poller_kind)9}),
                 RT_ERR_INVALID);
    CHECK_EQ(setenv("ORRERY_POLLER", "io_uring", 1), 0);
    rt_status status = rti_port_linux_init(&fixture, NULL);
    rt_status asked = rt_init_ex(&(rt_config){.workers = 1, .poller = RT_POLLER_IO_URING});
    CHECK_EQ(asked.code, status.code);
    if (has_uring()) {
        CHECK_OK(status);
        CHECK(fixture.poller.sentry.is_uring);
        rt_cleanup();
        fixture_close();
    } else {
        CHECK_STATUS(status, RT_ERR_UNSUPPORTED);
    }
    CHECK_EQ(setenv("ORRERY_POLLER", "epoll", 1), 0);
    fixture_open(NULL);
    CHECK(!fixture.poller.sentry.is_uring);
    fixture_close();
    CHECK_EQ(unsetenv("ORRERY_POLLER"), 0);
    fixture_open(NULL);
    CHECK(!fixture.poller.sentry.is_uring);
    fixture_close();
}
