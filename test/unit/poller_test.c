/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that wait for descriptors: when they are answered, how often, and what never happens after.
 */
#define _GNU_SOURCE
#define RTI_MODULE "poller_test"
#include "support/port_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

TEST(port_ops_of_one_direction_are_served_in_their_order)
{
    int fds[2];
    char buffers[3][4] = {{0}};
    struct probe probes[3];
    fixture_open(NULL);
    socket_pair(fds);
    for (size_t i = 0; i < 3; i++) {
        probe_submit(&probes[i], RTI_OP_READ, fds[0], buffers[i], 2);
    }
    CHECK_EQ(write(fds[1], "aabbc", 5), 5);
    fixture_wait_for(&probes[2], 1);
    CHECK_STR(buffers[0], "aa");
    CHECK_STR(buffers[1], "bb");
    CHECK_STR(buffers[2], "c");
    CHECK(probes[0].turn < probes[1].turn && probes[1].turn < probes[2].turn);
    fixture_close();
}

TEST(port_close_answers_each_waiting_op_once)
{
    struct sockaddr_in address;
    int fds[2];
    char buffer[4];
    static char much[1 << 22];
    struct probe reads[2];
    struct probe writes[2];
    struct probe accepts[2];
    fixture_open(NULL);
    socket_pair(fds);
    int listener = listener_open(&address, 4);
    for (size_t i = 0; i < 2; i++) {
        probe_submit(&reads[i], RTI_OP_READ, fds[0], buffer, sizeof(buffer));
        probe_submit(&accepts[i], RTI_OP_ACCEPT, listener, NULL, 0);
    }
    struct probe filler;
    do {
        probe_init(&filler, RTI_OP_WRITE, fds[0], much, sizeof(much));
    } while (port->ops->attempt(port, &filler.op));
    probe_submit(&writes[0], RTI_OP_WRITE, fds[0], much, sizeof(much));
    probe_submit(&writes[1], RTI_OP_WRITE, fds[0], much, sizeof(much));
    fixture_poll();
    CHECK_EQ(fixture.in_flight_count, 6);
    CHECK_OK(port->ops->close_fd(port, fds[0]));
    CHECK_OK(port->ops->close_fd(port, listener));
    CHECK_EQ(fcntl(fds[0], F_GETFD), -1);
    CHECK_EQ(answers_told, 0);
    port->ops->wait(port, RTI_TIME_NEVER);
    for (size_t i = 0; i < 2; i++) {
        CHECK_ANSWER(&reads[i], RT_ERR_CLOSED, 0);
        CHECK_ANSWER(&writes[i], RT_ERR_CLOSED, 0);
        CHECK_ANSWER(&accepts[i], RT_ERR_CLOSED, 0);
    }
    fixture_poll();
    CHECK_EQ(answers_told, 6);
    CHECK_EQ(fixture.in_flight_count, 0);
    CHECK_STATUS(port->ops->close_fd(port, fds[0]), RT_ERR_INVALID);
    CHECK_STATUS(port->ops->close_fd(port, -1), RT_ERR_INVALID);
    fixture_close();
}

TEST(port_no_event_reaches_a_reused_descriptor)
{
    int old[2];
    int new[2];
    char old_buffer[4] = "old";
    char new_buffer[4] = {0};
    struct probe first;
    struct probe second;
    fixture_open(NULL);
    socket_pair(old);
    probe_submit(&first, RTI_OP_READ, old[0], old_buffer, sizeof(old_buffer));
    fixture_poll();
    /* The event is there, and a duplicate keeps the open file alive beyond the close. */
    int duplicate = fcntl(old[0], F_DUPFD_CLOEXEC, 100);
    CHECK_EQ(write(old[1], "x", 1), 1);
    CHECK_OK(port->ops->close_fd(port, old[0]));
    socket_pair(new);
    CHECK_EQ(new[0], old[0]);
    probe_submit(&second, RTI_OP_READ, new[0], new_buffer, sizeof(new_buffer));
    CHECK_EQ(write(old[1], "yz", 2), 2);
    fixture_poll();
    fixture_poll();
    CHECK_ANSWER(&first, RT_ERR_CLOSED, 0);
    CHECK_STR(old_buffer, "old");
    CHECK_EQ(second.answers, 0);
    CHECK_EQ(fixture.poller.events, 0);
    CHECK_EQ(write(new[1], "new", 3), 3);
    fixture_wait_for(&second, 1);
    CHECK_ANSWER(&second, RT_OK, 3);
    CHECK_STR(new_buffer, "new");
    close(duplicate);
    fixture_close();
}

static int reuse_victim;
static int reuse_fresh[2];

static void reuse_close_and_open(struct probe *probe)
{
    (void)probe;
    CHECK_OK(port->ops->close_fd(port, reuse_victim));
    socket_pair(reuse_fresh);
    CHECK_EQ(reuse_fresh[0], reuse_victim);
}

TEST(port_close_and_reopen_inside_done_keeps_old_and_new_apart)
{
    int a[2];
    int b[2];
    char buffer[2][4] = {{0}};
    struct probe probes[2];
    struct probe fresh;
    fixture_open(NULL);
    socket_pair(a);
    socket_pair(b);
    probe_submit(&probes[0], RTI_OP_READ, a[0], buffer[0], 4);
    probe_submit(&probes[1], RTI_OP_READ, b[0], buffer[1], 4);
    probes[0].then = reuse_close_and_open;
    reuse_victim = b[0];
    CHECK_EQ(write(a[1], "a", 1), 1);
    CHECK_EQ(write(b[1], "b", 1), 1);
    fixture_wait_for(&probes[1], 1);
    CHECK_ANSWER(&probes[1], RT_OK, 1);
    char other[4] = {0};
    probe_submit(&fresh, RTI_OP_READ, reuse_fresh[0], other, 4);
    fixture_poll();
    CHECK_EQ(fresh.answers, 0);
    CHECK_EQ(write(reuse_fresh[1], "c", 1), 1);
    fixture_wait_for(&fresh, 1);
    CHECK_STR(other, "c");
    fixture_close();
}

TEST(port_cancel_takes_a_waiting_op_back_and_loses_no_byte)
{
    int fds[2];
    char buffer[4] = "...";
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    fixture_poll();
    port->ops->cancel(port, &probe.op);
    port->ops->cancel(port, &probe.op);
    CHECK_EQ(probe.answers, 0);
    CHECK_EQ(write(fds[1], "abc", 3), 3);
    port->ops->wait(port, RTI_TIME_NEVER);
    fixture_poll();
    CHECK_ANSWER(&probe, RT_ERR_CANCELLED, 0);
    CHECK(probe.op.is_cancelled);
    CHECK_STR(buffer, "...");
    port->ops->cancel(port, &probe.op);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 3);
    CHECK(!probe.op.is_cancelled);
    fixture_close();
}

TEST(port_cancel_after_the_answer_keeps_the_answer)
{
    int fds[2];
    char buffer[4] = {0};
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    CHECK_EQ(write(fds[1], "abc", 3), 3);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    port->ops->cancel(port, &probe.op);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 3);
    CHECK_STR(buffer, "abc");
    fixture_close();
}

static struct probe *cancel_victim;

static void cancel_the_other(struct probe *probe)
{
    (void)probe;
    port->ops->cancel(port, &cancel_victim->op);
}

TEST(port_cancel_from_done_of_an_op_in_the_same_batch_keeps_its_result)
{
    int fds[2];
    char buffers[2][2] = {{0}};
    struct probe probes[2];
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probes[0], RTI_OP_READ, fds[0], buffers[0], 1);
    probe_submit(&probes[1], RTI_OP_READ, fds[0], buffers[1], 1);
    probes[0].then = cancel_the_other;
    cancel_victim = &probes[1];
    CHECK_EQ(write(fds[1], "ab", 2), 2);
    fixture_wait_for(&probes[1], 1);
    CHECK_ANSWER(&probes[1], RT_OK, 1);
    CHECK_STR(buffers[1], "b");
    fixture_close();
}

TEST(port_cancel_of_the_middle_of_a_queue_keeps_the_others_in_order)
{
    int fds[2];
    char buffers[3][4] = {{0}};
    struct probe probes[3];
    fixture_open(NULL);
    socket_pair(fds);
    for (size_t i = 0; i < 3; i++) {
        probe_submit(&probes[i], RTI_OP_READ, fds[0], buffers[i], 1);
    }
    port->ops->cancel(port, &probes[1].op);
    CHECK_EQ(write(fds[1], "ab", 2), 2);
    fixture_wait_for(&probes[2], 1);
    CHECK_STR(buffers[0], "a");
    CHECK_STR(buffers[1], "");
    CHECK_STR(buffers[2], "b");
    CHECK_ANSWER(&probes[1], RT_ERR_CANCELLED, 0);
    fixture_close();
}

#define MANY_PAIRS 100
#define MANY_EACH  10

TEST(port_a_thousand_ops_wait_and_each_is_answered_once)
{
    static int fds[MANY_PAIRS][2];
    static struct probe probes[MANY_PAIRS][MANY_EACH];
    static char buffers[MANY_PAIRS][MANY_EACH];
    fixture_open(NULL);
    for (size_t i = 0; i < MANY_PAIRS; i++) {
        socket_pair(fds[i]);
        for (size_t k = 0; k < MANY_EACH; k++) {
            probe_submit(&probes[i][k], RTI_OP_READ, fds[i][0], &buffers[i][k], 1);
        }
    }
    CHECK_EQ(fixture.in_flight_count, 1000);
    fixture_poll();
    CHECK_EQ(answers_told, 0);
    for (size_t i = 0; i < MANY_PAIRS; i++) {
        CHECK_EQ(write(fds[i][1], "0123456789", MANY_EACH), MANY_EACH);
    }
    /* More than a batch is ready, and one wait tells it all. */
    port->ops->wait(port, RTI_TIME_NEVER);
    CHECK_EQ(answers_told, 1000);
    for (size_t i = 0; i < MANY_PAIRS; i++) {
        for (size_t k = 0; k < MANY_EACH; k++) {
            CHECK_ANSWER(&probes[i][k], RT_OK, 1);
            CHECK_EQ(buffers[i][k], '0' + (int)k);
        }
    }
    fixture_close();
}

static void submit_again(struct probe *probe)
{
    port->ops->submit(port, &probe->op);
}

TEST(port_an_op_that_is_always_ready_does_not_keep_wait_from_ending)
{
    int fds[2];
    char byte;
    struct probe probe;
    struct probe nop;
    fixture_open(NULL);
    CHECK_EQ(pipe(fds), 0);
    close(fds[1]);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    probe_submit(&nop, RTI_OP_NOP, -1, NULL, 0);
    probe.then = submit_again;
    nop.then = submit_again;
    for (unsigned i = 1; i <= 5; i++) {
        CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
        CHECK_EQ(probe.answers, i);
        CHECK_EQ(nop.answers, i);
    }
    probe.then = nop.then = NULL;
    fixture_close();
}

TEST(port_a_peer_that_talks_to_nobody_wakes_once)
{
    int fds[2];
    char buffer[4];
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    CHECK_EQ(write(fds[1], "a", 1), 1);
    fixture_wait_for(&probe, 1);
    uint64_t events = fixture.poller.events;
    for (int i = 0; i < 50; i++) {
        uint64_t soon = port->ops->clock_ns(port) + 100000;
        CHECK_EQ(write(fds[1], "b", 1), 1);
        CHECK_EQ(port->ops->wait(port, soon), RTI_WAIT_DEADLINE);
    }
    while (fixture.poller.events == events) {
        /* A slow machine was too late for each of these waits. */
        uint64_t later = port->ops->clock_ns(port) + 10000000;
        CHECK_EQ(port->ops->wait(port, later), RTI_WAIT_DEADLINE);
    }
    CHECK_EQ(fixture.poller.events - events, 1);
    /* And who reads again gets everything. */
    static char all[64];
    probe_submit(&probe, RTI_OP_READ, fds[0], all, sizeof(all));
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 50);
    probe_submit(&probe, RTI_OP_READ, fds[0], all, sizeof(all));
    fixture_poll();
    CHECK_EQ(write(fds[1], "c", 1), 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 1);
    fixture_close();
}

TEST(port_read_and_write_wait_on_one_descriptor_side_by_side)
{
    int fds[2];
    char byte = 0;
    static char much[1 << 20];
    struct probe reader;
    struct probe writer;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&reader, RTI_OP_READ, fds[0], &byte, 1);
    do {
        probe_init(&writer, RTI_OP_WRITE, fds[0], much, sizeof(much));
    } while (port->ops->attempt(port, &writer.op));
    port->ops->submit(port, &writer.op);
    fixture_poll();
    CHECK_EQ(answers_told, 0);
    while (writer.answers == 0) {
        CHECK(read(fds[1], much, sizeof(much)) > 0);
        fixture_poll();
    }
    CHECK_EQ(writer.op.status, RT_OK);
    CHECK_EQ(reader.answers, 0);
    CHECK_EQ(write(fds[1], "r", 1), 1);
    fixture_wait_for(&reader, 1);
    CHECK_EQ(byte, 'r');
    fixture_close();
}

/* Leaves no free descriptor; returns the limit to go back to. */
static struct rlimit exhaust_fds(void)
{
    struct rlimit old;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    int next = fcntl(0, F_DUPFD, 0);
    CHECK(next >= 0);
    close(next);
    struct rlimit tight = {.rlim_cur = (rlim_t)next, .rlim_max = old.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
    return old;
}

TEST(port_accept_without_a_free_descriptor_neither_spins_nor_drops)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(NULL);
    int spare = dup(0);
    int listener = listener_open(&address, 4);
    int client = client_open(&address);
    exhaust_fds();
    probe_submit(&probe, RTI_OP_ACCEPT, listener, NULL, 0);
    uint64_t soon = port->ops->clock_ns(port) + 20000000;
    CHECK_EQ(port->ops->wait(port, soon), RTI_WAIT_DEADLINE);
    CHECK_EQ(probe.answers, 0);
    /* One event of the arming, then silence. */
    CHECK(fixture.poller.blocks <= 3);
    rti_port_linux_audit(&fixture);
    /* A close through the port is the moment to look again. */
    CHECK_OK(port->ops->close_fd(port, spare));
    fixture_poll();
    CHECK_ANSWER(&probe, RT_OK, spare);
    CHECK_EQ(write(client, "x", 1), 1);
    char byte = 0;
    struct probe reader;
    probe_submit(&reader, RTI_OP_READ, spare, &byte, 1);
    fixture_wait_for(&reader, 1);
    CHECK_EQ(byte, 'x');
    fixture_close();
}

TEST(port_accept_recovers_by_itself_when_descriptors_come_back)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(NULL);
    int listener = listener_open(&address, 4);
    client_open(&address);
    struct rlimit old = exhaust_fds();
    probe_submit(&probe, RTI_OP_ACCEPT, listener, NULL, 0);
    fixture_poll();
    fixture_poll();
    CHECK_EQ(probe.answers, 0);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
    fixture_wait_for(&probe, 1);
    CHECK_EQ(probe.op.status, RT_OK);
    fixture_close();
}

static void *wait_for_probe(void *probe)
{
    fixture_wait_for(probe, 1);
    return NULL;
}

/* A worker sleeps in the wait while another one's accept finds no descriptor. */
TEST(port_accept_of_several_workers_recovers_by_itself_when_descriptors_come_back)
{
    struct sockaddr_in address;
    struct probe probe = {.answers = 0};
    pthread_t sleeper;
    fixture_open(&(struct rti_port_linux_config){.is_shared = true});
    int listener = listener_open(&address, 4);
    /* The listener is watched, and of two connections one is taken: no edge will tell of both. */
    struct probe first;
    probe_submit(&first, RTI_OP_ACCEPT, listener, NULL, 0);
    client_open(&address);
    client_open(&address);
    fixture_wait_for(&first, 1);
    CHECK_EQ(pthread_create(&sleeper, NULL, wait_for_probe, &probe), 0);
    while (rti_u32_load_relaxed(&fixture.poller.wake.word) != RTI_WAKE_ASLEEP) {
        sched_yield();
    }
    struct rlimit old = exhaust_fds();
    rti_op_init(&probe.op, RTI_OP_ACCEPT, probe_done);
    probe.op.fd = listener;
    port->ops->submit(port, &probe.op);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
    CHECK_EQ(pthread_join(sleeper, NULL), 0);
    CHECK_EQ(probe.op.status, RT_OK);
    fixture_close();
}

/* The same for one that a close gives its chance. */
TEST(port_close_calls_who_waits_for_an_accept_without_a_free_descriptor)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(&(struct rti_port_linux_config){.is_shared = true});
    int spare = dup(0);
    int listener = listener_open(&address, 4);
    client_open(&address);
    exhaust_fds();
    probe_submit(&probe, RTI_OP_ACCEPT, listener, NULL, 0);
    fixture_poll();
    CHECK_EQ(rti_u32_load_relaxed(&fixture.poller.wake.word), RTI_WAKE_AWAKE);
    CHECK_OK(port->ops->close_fd(port, spare));
    CHECK_EQ(rti_u32_load_relaxed(&fixture.poller.wake.word), RTI_WAKE_CALLED);
    fixture_poll();
    CHECK_ANSWER(&probe, RT_OK, spare);
    fixture_close();
}

TEST(port_accept_without_a_free_descriptor_can_be_cancelled)
{
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(NULL);
    int listener = listener_open(&address, 4);
    client_open(&address);
    exhaust_fds();
    probe_submit(&probe, RTI_OP_ACCEPT, listener, NULL, 0);
    fixture_poll();
    port->ops->cancel(port, &probe.op);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_CANCELLED, 0);
    CHECK_OK(port->ops->close_fd(port, listener));
    fixture_poll();
    fixture_close();
}

TEST(port_attempt_does_what_needs_no_waiting_and_nothing_else)
{
    int fds[2];
    char buffer[4] = {0};
    struct probe probe;
    struct probe waiting;
    fixture_open(NULL);
    socket_pair(fds);
    probe_init(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    CHECK(!port->ops->attempt(port, &probe.op));
    CHECK(rti_op_is_idle(&probe.op));
    CHECK_EQ(write(fds[1], "ab", 2), 2);
    CHECK(port->ops->attempt(port, &probe.op));
    CHECK_EQ(probe.op.status, RT_OK);
    CHECK_EQ(probe.op.result, 2);
    CHECK_EQ(probe.answers, 0);
    /* Who waits already comes first, whatever is there. */
    probe_submit(&waiting, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    CHECK_EQ(write(fds[1], "cd", 2), 2);
    CHECK(!port->ops->attempt(port, &probe.op));
    fixture_wait_for(&waiting, 1);
    CHECK_ANSWER(&waiting, RT_OK, 2);
    probe_init(&probe, RTI_OP_READ, -1, buffer, sizeof(buffer));
    CHECK(port->ops->attempt(port, &probe.op));
    CHECK_EQ(probe.op.status, RT_ERR_INVALID);
    probe_init(&probe, RTI_OP_NOP, -1, NULL, 0);
    CHECK(!port->ops->attempt(port, &probe.op));
    fixture_close();
}

/* Has an op found to wait, twice: the second time its direction is watched already. */
static void find_to_wait(enum rti_op_code code, int fd, void *buffer, size_t length)
{
    for (int i = 0; i < 2; i++) {
        struct probe probe;
        probe_submit(&probe, code, fd, buffer, length);
        fixture_poll();
        CHECK_EQ(probe.answers, 0);
        port->ops->cancel(port, &probe.op);
        fixture_poll();
        CHECK_ANSWER(&probe, RT_ERR_CANCELLED, 0);
    }
}

/* Does a patient write of one byte need no waiting? */
static bool one_byte_goes(int fd)
{
    struct probe probe;
    probe_init(&probe, RTI_OP_WRITE, fd, "!", 1);
    probe.op.is_patient = true;
    return port->ops->attempt(port, &probe.op) && probe.op.status == RT_OK && probe.op.result == 1;
}

/* A local socket is writable as long as three quarters of its room are free. */
TEST(port_write_goes_into_room_that_is_too_little_for_poll)
{
    static char much[100000];
    int fds[2];
    int size = sizeof(much);
    fixture_open(NULL);
    socket_pair(fds);
    CHECK_EQ(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    CHECK_EQ(send(fds[0], much, sizeof(much), MSG_DONTWAIT), (ssize_t)sizeof(much));
    find_to_wait(RTI_OP_POLL_OUT, fds[0], NULL, 0);
    CHECK(one_byte_goes(fds[0]));
    fixture_close();
}

/* Nor is there an event until so much is free again. */
TEST(port_write_goes_into_room_that_is_too_little_for_an_event)
{
    static char much[100000];
    int fds[2];
    int size = sizeof(much);
    fixture_open(NULL);
    socket_pair(fds);
    CHECK_EQ(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    while (send(fds[0], much, 1000, MSG_DONTWAIT) > 0) {
    }
    find_to_wait(RTI_OP_WRITE, fds[0], much, 1000);
    CHECK(!one_byte_goes(fds[0]));
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(recv(fds[1], much, 1000, MSG_DONTWAIT), 1000);
    }
    fixture_poll();
    CHECK(one_byte_goes(fds[0]));
    fixture_close();
}

/* A pipe of one page has room in that page alone, for what fits into it whole. */
TEST(port_small_write_goes_into_a_pipe_that_a_large_one_does_not_fit_into)
{
    static char page[65536];
    int fds[2];
    fixture_open(NULL);
    CHECK_EQ(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    int size = fcntl(fds[1], F_SETPIPE_SZ, 1);
    CHECK(size > 100 && (size_t)size <= sizeof(page));
    CHECK_EQ(write(fds[1], page, 100), 100);
    find_to_wait(RTI_OP_WRITE, fds[1], page, (size_t)size - 96);
    CHECK(one_byte_goes(fds[1]));
    fixture_close();
}

TEST(port_attempt_that_finds_a_number_closed_has_its_ops_told)
{
    struct sockaddr_in address;
    int fds[2];
    char byte;
    struct probe waiting;
    struct probe probe;
    fixture_open(NULL);
    int listener = listener_open(&address, 4);
    client_open(&address);
    socket_pair(fds);
    probe_submit(&waiting, RTI_OP_READ, fds[0], &byte, 1);
    fixture_poll();
    rti_u32_store_relaxed(&port->attention, 0);
    /* Behind the port's back: the accept is given the number. */
    close(fds[0]);
    probe_init(&probe, RTI_OP_ACCEPT, listener, NULL, 0);
    CHECK(port->ops->attempt(port, &probe.op));
    CHECK_EQ(probe.op.result, fds[0]);
    CHECK_EQ(rti_u32_load_relaxed(&port->attention), 1);
    fixture_wait_for(&waiting, 1);
    CHECK_ANSWER(&waiting, RT_ERR_CLOSED, 0);
    fixture_close();
}

/* A login often allows no more than 1024 descriptors until one asks for more. */
static void allow_descriptor(int fd)
{
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max <= (rlim_t)fd) {
        test_skip("the limit of open files is too low here and cannot be raised");
    }
    if (limit.rlim_cur <= (rlim_t)fd) {
        limit.rlim_cur = (rlim_t)fd + 1;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
}

TEST(port_descriptors_it_cannot_serve_are_refused_with_a_reason)
{
    int fds[2];
    char byte;
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, -1, &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_INVALID, 0);
    probe_submit(&probe, RTI_OP_READ, 999, &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_INVALID, 0);
    CHECK_EQ(probe.op.error, EBADF);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0);
    probe_submit(&probe, RTI_OP_READ, file, &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_UNSUPPORTED, 0);
    allow_descriptor(RT_MAX_DESCRIPTORS);
    int high = fcntl(fds[0], F_DUPFD_CLOEXEC, RT_MAX_DESCRIPTORS);
    CHECK_EQ(high, RT_MAX_DESCRIPTORS);
    probe_submit(&probe, RTI_OP_READ, high, &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_RESOURCE_EXHAUSTED, 0);
    CHECK_OK(port->ops->close_fd(port, high));
    probe_submit(&probe, RTI_OP_READ, fds[1], &byte, 1);
    close(fds[1]);
    close(fds[0]);
    port->ops->cancel(port, &probe.op);
    fixture_wait_for(&probe, 1);
    /* Closed behind the port's back: found out, forgotten, and learnt anew. */
    probe_submit(&probe, RTI_OP_READ, fds[1], &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_INVALID, 0);
    CHECK_EQ(pipe(fds), 0);
    CHECK_EQ(write(fds[1], "p", 1), 1);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_OK, 1);
    fixture_close();
}

TEST(port_a_larger_table_takes_higher_descriptors)
{
    static struct rti_fd table[4096];
    int fds[2];
    char byte = 0;
    struct probe probe;
    fixture_open(&(struct rti_port_linux_config){.fds = table, .fds_count = 4096});
    socket_pair(fds);
    allow_descriptor(4095);
    int high = fcntl(fds[0], F_DUPFD_CLOEXEC, 4095);
    CHECK_EQ(high, 4095);
    probe_submit(&probe, RTI_OP_READ, high, &byte, 1);
    fixture_poll();
    CHECK_EQ(write(fds[1], "h", 1), 1);
    fixture_wait_for(&probe, 1);
    CHECK_EQ(byte, 'h');
    fixture_close();
}

TEST(port_accept_beyond_the_table_says_so_and_leaks_nothing)
{
    static struct rti_fd table[64];
    struct sockaddr_in address;
    struct probe probe;
    fixture_open(&(struct rti_port_linux_config){.fds = table, .fds_count = 64});
    int listener = listener_open(&address, 4);
    int client = client_open(&address);
    while (dup(client) < 63) {
    }
    size_t before = count_fds();
    probe_submit(&probe, RTI_OP_ACCEPT, listener, NULL, 0);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_RESOURCE_EXHAUSTED, 0);
    CHECK_EQ(count_fds(), before);
    fixture_close();
}

TEST(port_a_blocking_descriptor_is_made_non_blocking_at_first_use)
{
    int fds[2];
    char byte;
    struct probe probe;
    fixture_open(NULL);
    CHECK_EQ(pipe(fds), 0);
    CHECK_EQ(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    CHECK((fcntl(fds[0], F_GETFL) & O_NONBLOCK) != 0);
    fixture_close();
}

TEST(port_deinit_answers_what_is_in_flight_and_closes_no_descriptor_of_the_program)
{
    int fds[2];
    char byte;
    struct probe probe;
    struct probe second;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    probe_submit(&second, RTI_OP_READ, fds[0], &byte, 1);
    rti_port_linux_deinit(&fixture);
    CHECK_ANSWER(&probe, RT_ERR_CANCELLED, 0);
    CHECK_ANSWER(&second, RT_ERR_CANCELLED, 0);
    CHECK(fcntl(fds[0], F_GETFD) >= 0);
}

static void submit_once_more(struct probe *probe)
{
    if (probe->answers == 1) {
        CHECK_EQ(probe->op.status, RT_ERR_CANCELLED);
        port->ops->submit(port, &probe->op);
    }
}

TEST(port_submit_during_deinit_is_answered_closed)
{
    int fds[2];
    char byte;
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    probe.then = submit_once_more;
    rti_port_linux_deinit(&fixture);
    CHECK_EQ(probe.answers, 2);
    CHECK_EQ(probe.op.status, RT_ERR_CLOSED);
}

static void submit_twice(void *arg)
{
    int fds[2];
    char byte;
    struct probe probe;
    (void)arg;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    port->ops->submit(port, &probe.op);
}

TEST(port_submit_of_an_op_in_flight_panics)
{
    CHECK_PANICS("port_linux", submit_twice, NULL);
}

static void wait_again(struct probe *probe)
{
    (void)probe;
    port->ops->wait(port, 0);
}

static void wait_inside_done(void *arg)
{
    struct probe probe;
    (void)arg;
    fixture_open(NULL);
    probe_submit(&probe, RTI_OP_NOP, -1, NULL, 0);
    probe.then = wait_again;
    port->ops->wait(port, 0);
}

TEST(port_wait_from_done_panics)
{
    CHECK_PANICS("port_linux", wait_inside_done, NULL);
}
