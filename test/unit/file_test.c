/* SPDX-License-Identifier: Apache-2.0 */
/* Files on the real system. What needs a slow or a broken disk is in test/fault/file_calls_test.c.
 */
#define _GNU_SOURCE
#define RTI_MODULE "file_test"
#include <orrery/rt/file.h>
#include <orrery/rt/runtime.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/sim/port_sim.h"
#include "support/io_world.h"
#include "support/test.h"

#define MEGABYTE (1024U * 1024U)

static char folder[] = "/tmp/orrery-file-test-XXXXXX";
static char path[sizeof(folder) + 16];

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 31 + (i >> 8) * 7 + (i >> 16));
}

/* Runs one fiber to its end in a fresh folder, with everything given back. */
static void run_alone(void (*main)(void *arg))
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/file", folder);
    io_world_start(0);
    io_world_go(main, NULL);
    io_world_finish();
    unlink(path);
    CHECK_EQ(rmdir(folder), 0);
}

static void write_all(int fd, const char *text)
{
    size_t actual = 0;
    CHECK_OK(rt_file_write(fd, text, strlen(text), &actual, -1));
    CHECK_EQ(actual, strlen(text));
}

static void check_content(const char *wanted)
{
    char buf[256];
    size_t actual = 0;
    int fd = -1;
    CHECK_OK(rt_file_open(path, O_RDONLY, 0, &fd));
    CHECK_OK(rt_file_read(fd, buf, sizeof(buf) - 1, &actual, -1));
    buf[actual] = '\0';
    CHECK_STR(buf, wanted);
    CHECK_OK(rt_file_close(fd));
}

static void write_then_read(void *arg)
{
    int fd = -1;
    char buf[16] = "";
    size_t actual = 77;
    struct stat about;
    (void)arg;
    umask(0);
    CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT | O_EXCL, 0640, &fd));
    CHECK_EQ(fstat(fd, &about), 0);
    CHECK_EQ(about.st_mode & 0777, 0640);
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    write_all(fd, "hello ");
    write_all(fd, "world");
    CHECK_OK(rt_file_sync(fd, -1));
    /* Reading goes on where writing stopped: at the end. */
    CHECK_OK(rt_file_read(fd, buf, sizeof(buf), &actual, -1));
    CHECK_EQ(actual, 0);
    CHECK_OK(rt_file_close(fd));
    check_content("hello world");
    /* In parts, each from where the last one stopped. */
    CHECK_OK(rt_file_open(path, O_RDONLY, 0, &fd));
    CHECK_OK(rt_file_read(fd, buf, 6, &actual, 3600000));
    CHECK(actual == 6 && memcmp(buf, "hello ", 6) == 0);
    CHECK_OK(rt_file_read(fd, buf, sizeof(buf), &actual, 3600000));
    CHECK(actual == 5 && memcmp(buf, "world", 5) == 0);
    CHECK_OK(rt_file_read(fd, buf, sizeof(buf), &actual, 3600000));
    CHECK_EQ(actual, 0);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_is_written_read_in_parts_and_ends_with_zero_bytes)
{
    run_alone(write_then_read);
}

static void positions(void *arg)
{
    int fd = -1;
    char buf[16];
    size_t actual;
    (void)arg;
    CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT, 0600, &fd));
    write_all(fd, "0123456789");
    CHECK_OK(rt_file_pwrite(fd, "ab", 2, 4, &actual, -1));
    CHECK_EQ(actual, 2);
    CHECK_OK(rt_file_pread(fd, buf, 4, 3, &actual, -1));
    CHECK(actual == 4 && memcmp(buf, "3ab6", 4) == 0);
    CHECK_OK(rt_file_pread(fd, buf, 4, 8, &actual, -1));
    CHECK(actual == 2 && memcmp(buf, "89", 2) == 0);
    CHECK_OK(rt_file_pread(fd, buf, 4, 1000, &actual, -1));
    CHECK_EQ(actual, 0);
    /* The position has not moved: what is written next comes after the ten. */
    write_all(fd, "X");
    CHECK_OK(rt_file_close(fd));
    check_content("0123ab6789X");
}

TEST(file_pread_and_pwrite_leave_the_position)
{
    run_alone(positions);
}

static void append(void *arg)
{
    int fd = -1;
    (void)arg;
    CHECK_OK(rt_file_open(path, O_WRONLY | O_CREAT, 0600, &fd));
    write_all(fd, "one ");
    CHECK_OK(rt_file_close(fd));
    CHECK_OK(rt_file_open(path, O_WRONLY | O_APPEND, 0, &fd));
    write_all(fd, "two ");
    write_all(fd, "three");
    CHECK_OK(rt_file_close(fd));
    check_content("one two three");
    CHECK_OK(rt_file_open(path, O_WRONLY | O_TRUNC, 0, &fd));
    CHECK_OK(rt_file_close(fd));
    check_content("");
}

TEST(file_opened_for_append_writes_at_the_end_and_truncate_empties)
{
    run_alone(append);
}

static void megabyte(void *arg)
{
    static unsigned char big[MEGABYTE + 1];
    int fd = -1;
    size_t actual = 0;
    (void)arg;
    for (size_t i = 0; i < MEGABYTE; i++) {
        big[i] = byte_at(i);
    }
    CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT, 0600, &fd));
    CHECK_OK(rt_file_write(fd, big, MEGABYTE, &actual, -1));
    CHECK_EQ(actual, MEGABYTE);
    memset(big, 0, sizeof(big));
    /* More is asked for than there is: the end is not an error, and nothing is written beyond. */
    big[MEGABYTE] = 0xEE;
    CHECK_OK(rt_file_pread(fd, big, sizeof(big), 0, &actual, -1));
    CHECK_EQ(actual, MEGABYTE);
    CHECK_EQ(big[MEGABYTE], 0xEE);
    for (size_t i = 0; i < MEGABYTE; i++) {
        CHECK_EQ(big[i], byte_at(i));
    }
    CHECK_OK(rt_file_close(fd));
}

TEST(file_moves_a_megabyte_exactly_through_its_chunks)
{
    run_alone(megabyte);
}

static void chunk_edges(void *arg)
{
    static unsigned char buf[2 * RT_FILE_CHUNK_SIZE + 2];
    int fd = -1;
    size_t actual = 0;
    (void)arg;
    CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT, 0600, &fd));
    CHECK_OK(rt_file_write(fd, buf, 2 * RT_FILE_CHUNK_SIZE, &actual, -1));
    const size_t lengths[] = {0,
                              1,
                              RT_FILE_CHUNK_SIZE - 1,
                              RT_FILE_CHUNK_SIZE,
                              RT_FILE_CHUNK_SIZE + 1,
                              2 * RT_FILE_CHUNK_SIZE,
                              2 * RT_FILE_CHUNK_SIZE + 1};
    for (size_t i = 0; i < RTI_COUNT_OF(lengths); i++) {
        size_t len = lengths[i];
        size_t wanted = len < 2 * RT_FILE_CHUNK_SIZE ? len : 2 * RT_FILE_CHUNK_SIZE;
        memset(buf, 0xEE, sizeof(buf));
        CHECK_OK(rt_file_pread(fd, buf, len, 0, &actual, -1));
        CHECK_EQ(actual, wanted);
        CHECK(wanted == 0 || buf[wanted - 1] == 0);
        CHECK_EQ(buf[wanted], 0xEE);
    }
    CHECK_OK(rt_file_close(fd));
}

TEST(file_lengths_around_the_chunk_are_exact)
{
    run_alone(chunk_edges);
}

static void refusals(void *arg)
{
    int fd = -7;
    int dir = -1;
    char byte = 'k';
    size_t actual = 99;
    (void)arg;
    CHECK_STATUS(rt_file_open(path, O_RDONLY, 0, &fd), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_file_open("/dev/null/x", O_RDONLY, 0, &fd), RT_ERR_NOT_FOUND);
    int made = -1;
    CHECK_OK(rt_file_open(path, O_WRONLY | O_CREAT, 0600, &made));
    CHECK_STATUS(rt_file_open(path, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd), RT_ERR_EXISTS);
    rt_status status = rt_file_open(folder, O_WRONLY, 0, &fd);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "it is a folder");
    /* Not opened for that; not made for that. */
    CHECK_STATUS(rt_file_read(made, &byte, 1, &actual, -1), RT_ERR_INVALID);
    CHECK_OK(rt_file_open(folder, O_RDONLY | O_DIRECTORY, 0, &dir));
    CHECK_STATUS(rt_file_read(dir, &byte, 1, &actual, -1), RT_ERR_IO);
    CHECK_OK(rt_file_close(dir));
    CHECK_OK(rt_file_close(made));
    CHECK(byte == 'k' && actual == 99 && fd == -7);
}

TEST(file_refusals_of_the_system_have_a_code_and_a_sentence)
{
    run_alone(refusals);
}

static void device_full(void *arg)
{
    int fd = -1;
    size_t actual = 99;
    (void)arg;
    CHECK_OK(rt_file_open("/dev/full", O_WRONLY, 0, &fd));
    rt_status status = rt_file_write(fd, "x", 1, &actual, -1);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the device is full");
    CHECK_STATUS(rt_file_pwrite(fd, "x", 1, 0, &actual, -1), RT_ERR_IO);
    CHECK_EQ(actual, 99);
    CHECK_OK(rt_file_close(fd));
}

TEST(file_full_device_is_an_io_error)
{
    run_alone(device_full);
}

static void bad_arguments(void *arg)
{
    static char long_path[RT_FILE_CHUNK_SIZE + 1];
    char byte = 'k';
    size_t actual = 99;
    int fd = -1;
    int out = -7;
    (void)arg;
    memset(long_path, 'a', sizeof(long_path) - 1);
    CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT, 0600, &fd));
    CHECK_STATUS(rt_file_open(NULL, O_RDONLY, 0, &out), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_open("", O_RDONLY, 0, &out), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_open(long_path, O_RDONLY, 0, &out), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_open(path, O_RDONLY, 0, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_read(fd, NULL, 1, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_read(fd, &byte, 1, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_pread(fd, NULL, 1, 0, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_pread(fd, &byte, 1, 0, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_write(fd, NULL, 1, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_write(fd, &byte, 1, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_pwrite(fd, NULL, 1, 0, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_pwrite(fd, &byte, 1, 0, NULL, -1), RT_ERR_INVALID);
    /* Offsets the system cannot express. */
    CHECK_STATUS(rt_file_pread(fd, &byte, 1, SIZE_MAX, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_pread(fd, &byte, 1, (size_t)INT64_MAX, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_pwrite(fd, &byte, 1, SIZE_MAX / 2 + 1, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_read(fd, &byte, SIZE_MAX, &actual, -1), RT_ERR_INVALID);
    CHECK_OK(rt_file_close(fd));
    const int bad[] = {-1, INT32_MIN, fd, INT32_MAX};
    for (size_t i = 0; i < RTI_COUNT_OF(bad); i++) {
        CHECK_STATUS(rt_file_read(bad[i], &byte, 1, &actual, -1), RT_ERR_INVALID);
        CHECK_STATUS(rt_file_write(bad[i], &byte, 1, &actual, -1), RT_ERR_INVALID);
        CHECK_STATUS(rt_file_sync(bad[i], -1), RT_ERR_INVALID);
        CHECK_STATUS(rt_file_close(bad[i]), RT_ERR_INVALID);
    }
    CHECK(byte == 'k' && actual == 99 && out == -7);
}

TEST(file_null_pointers_bad_paths_offsets_and_descriptors_are_invalid)
{
    run_alone(bad_arguments);
}

static void limit_of_zero(void *arg)
{
    char byte = 'k';
    size_t actual = 99;
    int fd = -1;
    (void)arg;
    CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT, 0600, &fd));
    CHECK_STATUS(rt_file_read(fd, &byte, 1, &actual, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_pread(fd, &byte, 1, 0, &actual, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_write(fd, &byte, 1, &actual, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_pwrite(fd, &byte, 1, 0, &actual, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_sync(fd, 0), RT_ERR_INVALID);
    CHECK_OK(rt_file_close(fd));
    check_content("");
    CHECK(byte == 'k' && actual == 99);
}

TEST(file_limit_of_zero_is_refused_and_does_nothing)
{
    run_alone(limit_of_zero);
}

static void *call_from_thread(void *arg)
{
    char byte;
    size_t actual;
    int fd;
    (void)arg;
    CHECK_STATUS(rt_file_open("/dev/null", O_RDONLY, 0, &fd), RT_ERR_THREAD);
    CHECK_STATUS(rt_file_close(0), RT_ERR_THREAD);
    CHECK_STATUS(rt_file_read(0, &byte, 1, &actual, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_file_write(1, "x", 1, &actual, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_file_sync(1, -1), RT_ERR_THREAD);
    return NULL;
}

TEST(file_calls_from_a_foreign_thread_are_refused_by_an_engine_with_one_worker)
{
    CHECK_OK(rt_init());
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, call_from_thread, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_cleanup();
}

static void call_from_callback(struct rti_post *post)
{
    (void)post;
    (void)call_from_thread(NULL);
}

TEST(file_calls_from_a_callback_are_refused)
{
    struct rti_post post = {.call = call_from_callback};
    io_world_start(0);
    rti_sched_post(&io_world.sched, &post);
    io_world_finish();
}

/* ---- what has no position ---- */

static int ends[2];

static void write_to_pipe(void *arg)
{
    size_t actual;
    (void)arg;
    io_world_await_requests(1);
    /* The reader holds no thread of the pool. */
    CHECK_EQ(io_world.port.pool.lanes[RTI_LANE_FILE].busy_count, 0);
    CHECK_OK(rt_file_write(ends[1], "pipe", 4, &actual, -1));
    CHECK_EQ(actual, 4);
    CHECK_OK(rt_file_close(ends[1]));
}

static void read_from_pipe(void *arg)
{
    char buf[8];
    size_t actual = 99;
    (void)arg;
    CHECK_EQ(pipe(ends), 0);
    CHECK_STATUS(rt_file_read(ends[0], buf, sizeof(buf), &actual, 5), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_file_pread(ends[0], buf, 1, 0, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_pwrite(ends[1], buf, 1, 0, &actual, -1), RT_ERR_INVALID);
    CHECK_EQ(actual, 99);
    io_world_go(write_to_pipe, NULL);
    CHECK_OK(rt_file_read(ends[0], buf, sizeof(buf), &actual, -1));
    CHECK(actual == 4 && memcmp(buf, "pipe", 4) == 0);
    CHECK_OK(rt_file_read(ends[0], buf, sizeof(buf), &actual, -1));
    CHECK_EQ(actual, 0);
    CHECK_OK(rt_file_close(ends[0]));
}

TEST(file_reads_a_pipe_without_holding_a_thread_and_its_end_is_zero_bytes)
{
    run_alone(read_from_pipe);
}

static void write_to_broken_pipe(void *arg)
{
    size_t actual = 99;
    (void)arg;
    CHECK_EQ(pipe(ends), 0);
    CHECK_OK(rt_file_close(ends[0]));
    CHECK_STATUS(rt_file_write(ends[1], "x", 1, &actual, -1), RT_ERR_CLOSED);
    CHECK_EQ(actual, 99);
    CHECK_OK(rt_file_close(ends[1]));
}

TEST(file_write_to_a_pipe_without_reader_is_closed_and_raises_no_signal)
{
    run_alone(write_to_broken_pipe);
}

static rt_status_code pipe_reader_code;

static void block_on_pipe(void *arg)
{
    char byte;
    size_t actual;
    (void)arg;
    pipe_reader_code = rt_file_read(ends[0], &byte, 1, &actual, -1).code;
}

static void close_under_pipe_reader(void *arg)
{
    (void)arg;
    CHECK_EQ(pipe(ends), 0);
    io_world_go(block_on_pipe, NULL);
    io_world_await_requests(1);
    CHECK_OK(rt_file_close(ends[0]));
    io_world_await_requests(0);
    CHECK_EQ(pipe_reader_code, RT_ERR_CLOSED);
    CHECK_OK(rt_file_close(ends[1]));
}

TEST(file_close_under_a_blocked_pipe_reader_wakes_it_with_closed)
{
    run_alone(close_under_pipe_reader);
}

/* ---- several actors, one file ---- */

static int shared_fd;
static unsigned char shared_seen[256];

static void read_shared(void *arg)
{
    (void)arg;
    for (;;) {
        unsigned char byte;
        size_t actual;
        CHECK_OK(rt_file_read(shared_fd, &byte, 1, &actual, -1));
        if (actual == 0) {
            return;
        }
        shared_seen[byte]++;
    }
}

static void open_shared(void *arg)
{
    unsigned char bytes[256];
    size_t actual;
    (void)arg;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)i;
    }
    CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT, 0600, &shared_fd));
    CHECK_OK(rt_file_pwrite(shared_fd, bytes, sizeof(bytes), 0, &actual, -1));
    for (int i = 0; i < 4; i++) {
        io_world_go(read_shared, NULL);
    }
    while (io_world.done_count < 4) {
        io_world_yield();
    }
    CHECK_OK(rt_file_close(shared_fd));
}

TEST(file_readers_of_one_position_get_each_byte_once)
{
    run_alone(open_shared);
    for (size_t i = 0; i < sizeof(shared_seen); i++) {
        CHECK_EQ(shared_seen[i], 1);
    }
}

/* ---- the simulated world ---- */

static struct rti_port_sim sim;
static struct rti_sched sim_sched;
static struct rti_clockwork sim_wheel;
static struct rti_io sim_io;
static struct rti_fiber sim_fiber;
static char sim_stack[65536] RTI_ALIGNED(16);

static void sim_done(struct rti_fiber *fiber)
{
    (void)fiber;
}

static void run_in_sim(struct rti_port *host, void (*main)(void *arg))
{
    rti_port_sim_init(&sim, 1, 0, host);
    rti_clockwork_init(&sim_wheel, 0);
    struct rti_timer_source timers = rti_clockwork_source(&sim_wheel);
    CHECK_OK(rti_sched_init(&sim_sched, &sim.port, &timers));
    CHECK_OK(rti_io_init(&sim_io, &sim_sched));
    static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = sim_done};
    struct rti_fiber_options options = {.id = 1, .fn = main, .kind = &kind};
    rti_stack_init(&options.stack, sim_stack, sizeof(sim_stack));
    rti_fiber_init(&sim_fiber, &options);
    rti_fiber_start(&sim_sched, &sim_fiber);
    CHECK_OK(rti_sched_run(&sim_sched));
    rti_io_audit(&sim_io);
    rti_io_deinit(&sim_io);
    rti_sched_deinit(&sim_sched);
}

TEST(file_works_in_the_simulated_world_on_the_host_files)
{
    static struct rti_port_linux host;
    CHECK_OK(rti_port_linux_init(&host, NULL));
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/file", folder);
    run_in_sim(&host.port, write_then_read);
    unlink(path);
    CHECK_EQ(rmdir(folder), 0);
    rti_port_linux_deinit(&host);
}

static void ask_for_nothing_there(void *arg)
{
    int fd = -7;
    size_t count;
    char byte;
    (void)arg;
    CHECK_STATUS(rt_file_open("/dev/null", O_RDONLY, 0, &fd), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_file_read(0, &byte, 1, &count, -1), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_file_close(0), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_net_listen(0, &fd), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_net_connect("127.0.0.1", 1, &fd, -1), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_net_accept(0, &fd, -1), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_net_recv(0, &byte, 1, &count, -1), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_net_send(0, &byte, 1, &count, -1), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_net_close(0), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_udp_open(NULL, 0, &fd), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_unix_listen("@x", &fd), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_unix_connect("@x", &fd, -1), RT_ERR_UNSUPPORTED);
    CHECK_EQ(fd, -7);
}

TEST(file_and_net_are_unsupported_in_a_world_without_them)
{
    run_in_sim(NULL, ask_for_nothing_there);
}
