/* SPDX-License-Identifier: Apache-2.0 */
/* Files on a slow and on a broken disk: calls that block until they are let go, that fail, that
 * move less, that are interrupted.
 *
 * The calls below stand in for those of the C library. While the gate is shut, a call on `gated_fd`
 * blocks its thread of the pool; the test sees that it is inside and lets it go when it likes. */
#define _GNU_SOURCE
#define RTI_MODULE "file_calls_test"
#include <orrery/rt/file.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/io_world.h"
#include "support/test.h"

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_shut;
    bool is_open_gated; /* open waits too */
    int fd;             /* the gated descriptor */
    unsigned inside;    /* threads that wait at the gate */
    unsigned passed;    /* calls on the descriptor so far */
    int error;          /* what calls fail with */
    unsigned skip;      /* so many do not */
    unsigned errors;    /* and then so many do */
    size_t most;        /* bytes a transfer moves at most; 0: no limit */
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .fd = -1};

static char path[] = "/tmp/orrery-file-calls-XXXXXX";

/* Waits at the gate; true if the call shall fail, with errno. */
static bool gate_pass(int fd, bool is_open, size_t *length)
{
    bool is_failing = false;
    pthread_mutex_lock(&gate.mutex);
    if (fd == gate.fd || (is_open && gate.is_open_gated)) {
        gate.inside++;
        while (gate.is_shut) {
            pthread_cond_wait(&gate.changed, &gate.mutex);
        }
        gate.inside--;
        gate.passed++;
        if (gate.skip > 0) {
            gate.skip--;
        } else if (gate.errors > 0) {
            gate.errors--;
            is_failing = true;
        }
        if (length != NULL && gate.most != 0 && *length > gate.most) {
            *length = gate.most;
        }
    }
    int error = gate.error;
    pthread_mutex_unlock(&gate.mutex);
    errno = is_failing ? error : errno;
    return is_failing;
}

static void gate_shut(int fd)
{
    pthread_mutex_lock(&gate.mutex);
    gate.is_shut = true;
    gate.fd = fd;
    pthread_mutex_unlock(&gate.mutex);
}

/* Shuts the gate for opens as well. */
static void gate_shut_opens(int fd)
{
    gate_shut(fd);
    pthread_mutex_lock(&gate.mutex);
    gate.is_open_gated = true;
    pthread_mutex_unlock(&gate.mutex);
}

static void gate_limit(int fd, size_t most)
{
    pthread_mutex_lock(&gate.mutex);
    gate.fd = fd;
    gate.most = most;
    pthread_mutex_unlock(&gate.mutex);
}

static void gate_let_go(void)
{
    pthread_mutex_lock(&gate.mutex);
    gate.is_shut = false;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

static void gate_fail(int fd, int error, unsigned skip, unsigned times)
{
    pthread_mutex_lock(&gate.mutex);
    gate.fd = fd;
    gate.error = error;
    gate.skip = skip;
    gate.errors = times;
    pthread_mutex_unlock(&gate.mutex);
}

static unsigned gate_inside(void)
{
    pthread_mutex_lock(&gate.mutex);
    unsigned inside = gate.inside;
    pthread_mutex_unlock(&gate.mutex);
    return inside;
}

static void gate_await_inside(unsigned count)
{
    while (gate_inside() != count) {
        io_world_yield();
    }
}

ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
    return gate_pass(fd, false, &length) ? -1 : syscall(SYS_pread64, fd, buffer, length, offset);
}

ssize_t pwrite(int fd, const void *buffer, size_t length, off_t offset)
{
    return gate_pass(fd, false, &length) ? -1 : syscall(SYS_pwrite64, fd, buffer, length, offset);
}

ssize_t write(int fd, const void *buffer, size_t length)
{
    return gate_pass(fd, false, &length) ? -1 : syscall(SYS_write, fd, buffer, length);
}

int fsync(int fd)
{
    return gate_pass(fd, false, NULL) ? -1 : (int)syscall(SYS_fsync, fd);
}

int open(const char *name, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    unsigned mode = va_arg(list, unsigned);
    va_end(list);
    return gate_pass(-2, true, NULL) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}

static int fd = -1;

/* A file with "0123456789", opened for both. */
static void file_make(void)
{
    size_t actual;
    close(mkstemp(path));
    CHECK_OK(rt_file_open(path, O_RDWR, 0, &fd));
    CHECK_OK(rt_file_pwrite(fd, "0123456789", 10, 0, &actual, -1));
}

static void run_alone(void (*main)(void *arg), uint32_t threads)
{
    io_world_start(threads);
    io_world_go(main, NULL);
    io_world_finish();
    unlink(path);
}

/* ---- limits of time ---- */

static void read_times_out(void *arg)
{
    char buf[4] = "kkkk";
    size_t actual = 99;
    (void)arg;
    file_make();
    gate_shut(fd);
    uint64_t before_ns = io_world_now_ns();
    CHECK_STATUS(rt_file_read(fd, buf, 4, &actual, 5), RT_ERR_TIMEOUT);
    CHECK(io_world_now_ns() - before_ns >= 5 * RTI_NS_PER_MS);
    CHECK_EQ(actual, 99);
    /* The thread works on, in memory that is not ours; its record is still out. */
    CHECK_EQ(rti_io_in_use(&io_world.io), 1);
    gate_await_inside(1);
    gate_let_go();
    io_world_await_requests(0);
    CHECK_EQ(memcmp(buf, "kkkk", 4), 0);
    /* The position has not moved. */
    CHECK_OK(rt_file_read(fd, buf, 4, &actual, -1));
    CHECK(actual == 4 && memcmp(buf, "0123", 4) == 0);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_read_that_times_out_writes_nothing_later_and_moves_no_position)
{
    run_alone(read_times_out, 0);
}

static void queued_write_times_out(void *arg)
{
    char buf[16] = "";
    size_t actual = 99;
    int other = -1;
    (void)arg;
    file_make();
    CHECK_OK(rt_file_open(path, O_RDWR, 0, &other));
    gate_shut(other);
    /* One thread, and it is held: what comes next has not begun and never happens. */
    CHECK_STATUS(rt_file_pread(other, buf, 1, 0, &actual, 5), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_file_pwrite(fd, "XX", 2, 0, &actual, 5), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_file_sync(fd, 1), RT_ERR_TIMEOUT);
    gate_let_go();
    io_world_await_requests(0);
    CHECK_OK(rt_file_pread(fd, buf, 10, 0, &actual, -1));
    CHECK_EQ(memcmp(buf, "0123456789", 10), 0);
    CHECK_OK(rt_file_close(other));
    CHECK_OK(rt_file_close(fd));
}

TEST(file_write_that_times_out_before_a_thread_had_it_never_happens)
{
    run_alone(queued_write_times_out, 1);
}

static void late_write(void *arg)
{
    char buf[16] = "";
    char text[2] = {'A', 'B'};
    size_t actual = 99;
    (void)arg;
    file_make();
    gate_shut(fd);
    CHECK_STATUS(rt_file_pwrite(fd, text, 2, 0, &actual, 5), RT_ERR_TIMEOUT);
    gate_await_inside(1);
    /* The caller's memory is the caller's again: the late write does not see this. */
    memset(text, 'z', sizeof(text));
    gate_let_go();
    io_world_await_requests(0);
    CHECK_OK(rt_file_pread(fd, buf, 10, 0, &actual, -1));
    CHECK_EQ(memcmp(buf, "AB23456789", 10), 0);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_late_write_carries_the_bytes_of_its_call)
{
    run_alone(late_write, 0);
}

static void error_between_chunks(void *arg)
{
    static char buf[3 * RT_FILE_CHUNK_SIZE];
    size_t actual = 99;
    (void)arg;
    file_make();
    gate_fail(fd, ENOSPC, 1, 2);
    CHECK_OK(rt_file_write(fd, buf, sizeof(buf), &actual, -1));
    CHECK_EQ(actual, RT_FILE_CHUNK_SIZE);
    rt_status status = rt_file_write(fd, buf, sizeof(buf), &actual, -1);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the device is full");
    CHECK_EQ(actual, RT_FILE_CHUNK_SIZE);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_error_after_a_part_gives_the_part_and_then_the_error)
{
    run_alone(error_between_chunks, 0);
}

static void short_transfers(void *arg)
{
    char buf[64];
    size_t actual = 0;
    (void)arg;
    file_make();
    gate_limit(fd, 3);
    /* A short write goes on; a short read is the end of what there is now. */
    CHECK_OK(rt_file_pwrite(fd, "abcdefghij", 10, 0, &actual, -1));
    CHECK_EQ(actual, 10);
    CHECK_OK(rt_file_read(fd, buf, 10, &actual, -1));
    CHECK_EQ(actual, 3);
    CHECK_OK(rt_file_read(fd, buf + 3, 10, &actual, -1));
    CHECK_EQ(actual, 3);
    CHECK_EQ(memcmp(buf, "abcdef", 6), 0);
    gate_limit(fd, 0);
    gate_fail(fd, EINTR, 0, 2);
    CHECK_OK(rt_file_pread(fd, buf, 10, 0, &actual, -1));
    CHECK(actual == 10 && memcmp(buf, "abcdefghij", 10) == 0);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_short_and_interrupted_transfers_lose_nothing)
{
    run_alone(short_transfers, 0);
}

/* ---- sync ---- */

static void failing_sync(void *arg)
{
    (void)arg;
    file_make();
    gate_fail(fd, EIO, 0, 1);
    rt_status status = rt_file_sync(fd, -1);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the device reported an error");
    /* The system would say that all is well now. */
    status = rt_file_sync(fd, -1);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "an earlier sync of this file failed: data is lost");
    CHECK_OK(rt_file_close(fd));
    /* A file opened anew, with the same number, starts anew. */
    int again = -1;
    CHECK_OK(rt_file_open(path, O_RDWR, 0, &again));
    CHECK_EQ(again, fd);
    CHECK_OK(rt_file_sync(again, -1));
    CHECK_OK(rt_file_close(again));
}

TEST(file_failed_sync_surfaces_and_is_never_later_called_a_success)
{
    run_alone(failing_sync, 0);
}

static void late_failing_sync(void *arg)
{
    (void)arg;
    file_make();
    gate_fail(fd, EIO, 0, 1);
    gate_shut(fd);
    CHECK_STATUS(rt_file_sync(fd, 5), RT_ERR_TIMEOUT);
    gate_await_inside(1);
    gate_let_go();
    io_world_await_requests(0);
    /* Nobody heard it then; everybody hears it now. */
    CHECK_STATUS(rt_file_sync(fd, -1), RT_ERR_IO);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_sync_that_fails_after_its_time_is_remembered)
{
    run_alone(late_failing_sync, 0);
}

/* ---- the line ---- */

static unsigned closes_done;

static void close_file(void *arg)
{
    (void)arg;
    CHECK_OK(rt_file_close(fd));
    closes_done++;
}

static void close_waits(void *arg)
{
    size_t actual = 99;
    char byte;
    (void)arg;
    file_make();
    gate_shut(fd);
    CHECK_STATUS(rt_file_pwrite(fd, "L", 1, 0, &actual, 5), RT_ERR_TIMEOUT);
    gate_await_inside(1);
    io_world_go(close_file, NULL);
    io_world_await_requests(2);
    /* The late write is still under way: the number is not given out again. */
    io_world_sleep_ms(5);
    CHECK_EQ(closes_done, 0);
    CHECK(fcntl(fd, F_GETFD) >= 0);
    /* While a close waits nothing new is taken. */
    CHECK_STATUS(rt_file_read(fd, &byte, 1, &actual, -1), RT_ERR_CLOSED);
    CHECK_STATUS(rt_file_sync(fd, -1), RT_ERR_CLOSED);
    CHECK_STATUS(rt_file_close(fd), RT_ERR_CLOSED);
    CHECK_EQ(actual, 99);
    gate_let_go();
    io_world_await_requests(0);
    CHECK_EQ(closes_done, 1);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
}

static void close_as_a_socket(void *arg)
{
    size_t actual;
    (void)arg;
    file_make();
    gate_shut(fd);
    CHECK_STATUS(rt_file_pwrite(fd, "L", 1, 0, &actual, 5), RT_ERR_TIMEOUT);
    gate_await_inside(1);
    /* The late write would land in whatever gets the number next. */
    CHECK_STATUS(rt_net_close(fd), RT_ERR_INVALID);
    CHECK(fcntl(fd, F_GETFD) >= 0);
    gate_let_go();
    io_world_await_requests(0);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_with_work_under_way_is_not_closed_by_the_network)
{
    run_alone(close_as_a_socket, 0);
}

TEST(file_close_waits_for_a_write_whose_caller_gave_up)
{
    run_alone(close_waits, 0);
}

static void closer_is_killed(void *arg)
{
    size_t actual;
    (void)arg;
    file_make();
    gate_shut(fd);
    CHECK_STATUS(rt_file_pwrite(fd, "L", 1, 0, &actual, 5), RT_ERR_TIMEOUT);
    gate_await_inside(1);
    struct rti_fiber *closer = io_world_go(close_file, NULL);
    io_world_await_requests(2);
    io_world_kill(closer);
    gate_let_go();
    io_world_await_requests(0);
    CHECK_EQ(closes_done, 0);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
}

TEST(file_close_goes_on_when_its_caller_is_killed)
{
    run_alone(closer_is_killed, 0);
}

static void second_reader_waits(void *arg)
{
    char buf[4];
    size_t actual = 99;
    (void)arg;
    file_make();
    gate_shut(fd);
    CHECK_STATUS(rt_file_read(fd, buf, 4, &actual, 5), RT_ERR_TIMEOUT);
    gate_await_inside(1);
    /* The next at the position is held back, and may run out of time where it stands. */
    CHECK_STATUS(rt_file_read(fd, buf, 4, &actual, 5), RT_ERR_TIMEOUT);
    CHECK_EQ(rti_io_in_use(&io_world.io), 1);
    CHECK_EQ(gate_inside(), 1);
    gate_let_go();
    CHECK_OK(rt_file_read(fd, buf, 4, &actual, -1));
    CHECK(actual == 4 && memcmp(buf, "0123", 4) == 0);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_reads_at_the_position_take_place_one_after_another)
{
    run_alone(second_reader_waits, 0);
}

static void read_at_offset(void *arg)
{
    char byte;
    size_t actual;
    CHECK_OK(rt_file_pread(fd, &byte, 1, (size_t)(uintptr_t)arg, &actual, -1));
    CHECK_EQ(byte, '0' + (char)(uintptr_t)arg);
}

static void offsets_pass(void *arg)
{
    (void)arg;
    file_make();
    gate_shut(fd);
    io_world_go(read_at_offset, (void *)1);
    io_world_go(read_at_offset, (void *)2);
    gate_await_inside(2); /* both are with a thread */
    gate_let_go();
    io_world_await_requests(0);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_reads_at_offsets_pass_each_other)
{
    run_alone(offsets_pass, 0);
}

/* ---- kills ---- */

static bool is_victim_back;

static void victim_read(void *arg)
{
    char byte;
    size_t actual;
    (void)arg;
    (void)rt_file_read(fd, &byte, 1, &actual, -1);
    is_victim_back = true;
}

static void victim_write(void *arg)
{
    size_t actual;
    (void)arg;
    (void)rt_file_write(fd, "x", 1, &actual, -1);
    is_victim_back = true;
}

static void victim_sync(void *arg)
{
    (void)arg;
    (void)rt_file_sync(fd, -1);
    is_victim_back = true;
}

static void victim_open(void *arg)
{
    int opened;
    (void)arg;
    (void)rt_file_open(path, O_RDWR, 0, &opened);
    is_victim_back = true;
}

static void kill_under_work(void *arg)
{
    void (*const victims[])(void *) = {victim_read, victim_write, victim_sync, victim_open};
    (void)arg;
    file_make();
    for (size_t i = 0; i < RTI_COUNT_OF(victims); i++) {
        gate_shut_opens(fd);
        struct rti_fiber *victim = io_world_go(victims[i], NULL);
        gate_await_inside(1);
        io_world_kill(victim);
        io_world_yield();
        io_world_yield();
        /* The fiber is gone, the thread is not. */
        CHECK_EQ(victim->end, RTI_FIBER_KILLED);
        CHECK_EQ(rti_io_in_use(&io_world.io), 1);
        gate_let_go();
        io_world_await_requests(0);
    }
    CHECK(!is_victim_back);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_kill_under_each_call_leaves_no_request_and_no_descriptor)
{
    run_alone(kill_under_work, 0);
}

/* The answer is there and the fiber queued when the kill comes. */
static void kill_with_answer(void *arg)
{
    (void)arg;
    file_make();
    gate_shut_opens(-3);
    struct rti_fiber *victim = io_world_go(victim_open, NULL);
    gate_await_inside(1);
    gate_let_go();
    struct rti_port *port = &io_world.port.port;
    struct rti_request *request = rti_pool_block(&io_world.io.files, 0);
    while (request->state != RTI_REQUEST_ANSWERED) {
        port->ops->wait(port, io_world_now_ns() + RTI_NS_PER_MS);
    }
    io_world_kill(victim);
    io_world_await_requests(0);
    CHECK(!is_victim_back);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_opened_for_a_killed_fiber_is_closed)
{
    run_alone(kill_with_answer, 0);
}

/* ---- running out ---- */

static size_t refused;
static size_t served;

static void read_or_be_refused(void *arg)
{
    char byte;
    size_t actual;
    (void)arg;
    rt_status status = rt_file_pread(fd, &byte, 1, 0, &actual, -1);
    if (status.code == RT_ERR_NOMEM) {
        refused++;
    } else {
        CHECK_OK(status);
        served++;
    }
}

static void fill_the_pool(void *arg)
{
    (void)arg;
    file_make();
    gate_shut(fd);
    for (size_t i = 0; i < RT_COMPLETION_QUEUE_SIZE; i++) {
        io_world_go(read_or_be_refused, NULL);
    }
    io_world_await_requests(RT_COMPLETION_QUEUE_SIZE);
    io_world_go(read_or_be_refused, NULL);
    io_world_yield();
    CHECK_EQ(refused, 1);
    int out = -7;
    CHECK_STATUS(rt_file_open(path, O_RDONLY, 0, &out), RT_ERR_NOMEM);
    CHECK_STATUS(rt_file_sync(fd, -1), RT_ERR_NOMEM);
    CHECK_STATUS(rt_file_close(fd), RT_ERR_NOMEM);
    CHECK_EQ(out, -7);
    gate_let_go();
    io_world_await_requests(0);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_full_pool_is_nomem_changes_nothing_and_recovers)
{
    run_alone(fill_the_pool, 2);
    CHECK_EQ(served, RT_COMPLETION_QUEUE_SIZE);
}

/* Requests whose callers gave up count until the pool is done with them, and no longer. */
static void abandon_many(void *arg)
{
    char byte;
    size_t actual;
    (void)arg;
    file_make();
    gate_shut(fd);
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(rt_file_pread(fd, &byte, 1, 0, &actual, 1), RT_ERR_TIMEOUT);
    }
    /* Two are with the two threads, the others were taken back. */
    io_world_await_requests(2);
    gate_let_go();
    io_world_await_requests(0);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_abandoned_requests_return_to_the_pool)
{
    run_alone(abandon_many, 2);
}
