/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated disk, through the public headers: what it does when it is kind, each of the faults
 * when it is asked for, and what outlives a run. */
#define _GNU_SOURCE
#include <fcntl.h>

#include <orrery/rt.h>

#include "support/test.h"

static _Alignas(8) unsigned char memory[64 * 1024];
static rt_sim_disk disk;
static rt_sim_report report;
static int fd;

static void run_with(const rt_sim_storage *storage, uint64_t seed, actor_fn first)
{
    rt_sim_config config = {.seed = seed, .report = &report};
    if (storage != NULL) {
        config.storage = *storage;
    }
    CHECK_OK(rt_sim_run(&config, first, NULL));
    CHECK_EQ(report.actors_left, 0);
    CHECK_EQ(report.files_left, 0);
}

static void run(actor_fn first)
{
    run_with(NULL, 1, first);
}

static void flags(void *arg)
{
    char buf[16];
    size_t actual = 0;
    int other = -7;
    (void)arg;
    CHECK_STATUS(rt_file_open("/a", O_RDONLY, 0, &fd), RT_ERR_NOT_FOUND);
    CHECK_OK(rt_file_open("/a", O_WRONLY | O_CREAT, 0600, &fd));
    CHECK_OK(rt_file_write(fd, "abcdef", 6, &actual, -1));
    CHECK_STATUS(rt_file_read(fd, buf, 1, &actual, -1), RT_ERR_INVALID);
    CHECK_OK(rt_file_close(fd));
    CHECK_STATUS(rt_file_open("/a", O_RDWR | O_CREAT | O_EXCL, 0600, &other), RT_ERR_EXISTS);
    CHECK_EQ(other, -7);
    CHECK_OK(rt_file_open("/a", O_RDWR | O_APPEND, 0, &fd));
    CHECK_OK(rt_file_write(fd, "gh", 2, &actual, -1));
    CHECK_OK(rt_file_pread(fd, buf, 16, 4, &actual, -1));
    CHECK(actual == 4 && memcmp(buf, "efgh", 4) == 0);
    CHECK_OK(rt_file_open("/a", O_RDONLY, 0, &other));
    CHECK(other != fd);
    CHECK_STATUS(rt_file_write(other, "x", 1, &actual, -1), RT_ERR_INVALID);
    CHECK_OK(rt_file_read(other, buf, 3, &actual, -1));
    CHECK(actual == 3 && memcmp(buf, "abc", 3) == 0);
    CHECK_OK(rt_file_close(other));
    CHECK_OK(rt_file_close(fd));
    CHECK_OK(rt_file_open("/a", O_WRONLY | O_TRUNC, 0, &fd));
    CHECK_OK(rt_file_close(fd));
    CHECK_OK(rt_file_open("/a", O_RDONLY, 0, &fd));
    CHECK_OK(rt_file_read(fd, buf, 3, &actual, -1));
    CHECK_EQ(actual, 0);
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(sim_disk_opens_as_the_flags_say)
{
    run(flags);
    /* A run without a disk of its own begins with an empty one. */
    run(flags);
}

static void bad_input(void *arg)
{
    char name[200];
    char byte = 'k';
    size_t actual = 99;
    (void)arg;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    CHECK_STATUS(rt_file_open(name, O_RDWR | O_CREAT, 0, &fd), RT_ERR_IO);
    CHECK_STATUS(rt_file_read(3, &byte, 1, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_file_close(9999), RT_ERR_INVALID);
    CHECK_OK(rt_file_open("f", O_RDWR | O_CREAT, 0, &fd));
    /* A file is no socket, and a socket is a stream to the file functions. */
    CHECK_STATUS(rt_net_recv(fd, &byte, 1, &actual, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_close(fd), RT_ERR_INVALID);
    int sock;
    CHECK_OK(rt_udp_open(NULL, 0, &sock));
    CHECK_STATUS(rt_file_pread(sock, &byte, 1, 0, &actual, -1), RT_ERR_INVALID);
    CHECK_OK(rt_net_close(sock));
    CHECK(byte == 'k' && actual == 99);
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(sim_disk_bad_names_and_descriptors_are_refused)
{
    run(bad_input);
}

static void use_up_files(void *arg)
{
    int fds[RT_SIM_OPEN_FILES];
    (void)arg;
    for (int i = 0; i < RT_SIM_OPEN_FILES; i++) {
        CHECK_OK(rt_file_open("f", O_RDWR | O_CREAT, 0, &fds[i]));
    }
    CHECK_STATUS(rt_file_open("f", O_RDWR, 0, &fd), RT_ERR_RESOURCE_EXHAUSTED);
    for (int i = 0; i < RT_SIM_OPEN_FILES; i++) {
        CHECK_OK(rt_file_close(fds[i]));
    }
    rt_exit();
}

TEST(sim_disk_out_of_descriptors_is_told)
{
    run(use_up_files);
}

static void time_it(void *arg)
{
    char byte = 'k';
    size_t actual = 99;
    (void)arg;
    CHECK_OK(rt_file_open("f", O_RDWR | O_CREAT, 0, &fd));
    rt_time before = rt_clock();
    CHECK_OK(rt_file_write(fd, "xyz", 3, &actual, -1));
    CHECK_EQ(rt_clock() - before, 5 * RT_NS_PER_MS);
    CHECK_STATUS(rt_file_pread(fd, &byte, 1, 0, &actual, 4), RT_ERR_TIMEOUT);
    CHECK(byte == 'k' && actual == 3);
    /* The answer and the limit come together. */
    CHECK_OK(rt_file_pread(fd, &byte, 1, 2, &actual, 5));
    CHECK_EQ(byte, 'z');
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(sim_disk_answer_that_comes_with_its_limit_is_given)
{
    const rt_sim_storage storage = {.latency_min = 5 * RT_NS_PER_MS,
                                    .latency_max = 5 * RT_NS_PER_MS};
    run_with(&storage, 1, time_it);
}

/* ---- faults ---- */

static void fill_up(void *arg)
{
    static char much[64 * 1024];
    size_t actual = 0;
    (void)arg;
    CHECK_OK(rt_file_open("f", O_RDWR | O_CREAT, 0, &fd));
    CHECK_OK(rt_file_write(fd, much, sizeof(much), &actual, -1));
    CHECK(actual > 10000 && actual < sizeof(much) / 2);
    rt_status status = rt_file_write(fd, much, 1, &actual, -1);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the device is full");
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(sim_disk_that_is_full_takes_a_part_and_then_says_so)
{
    CHECK_OK(rt_sim_disk_init(&disk, memory, sizeof(memory)));
    run_with(&(rt_sim_storage){.disk = &disk}, 1, fill_up);
}

static unsigned read_errors;
static unsigned write_errors;
static unsigned parts;

static void count_errors(void *arg)
{
    static char bytes[6000];
    size_t actual;
    (void)arg;
    read_errors = 0;
    write_errors = 0;
    parts = 0;
    CHECK_OK(rt_file_open("f", O_RDWR | O_CREAT, 0, &fd));
    for (int i = 0; i < 100; i++) {
        actual = 0;
        rt_status status = rt_file_pwrite(fd, bytes, sizeof(bytes), 0, &actual, -1);
        write_errors += RT_FAILED(status);
        parts += !RT_FAILED(status) && actual < sizeof(bytes);
        status = rt_file_pread(fd, bytes, 10, 0, &actual, -1);
        read_errors += RT_FAILED(status);
        CHECK(!RT_FAILED(status) || status.code == RT_ERR_IO);
    }
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(sim_disk_fails_reads_and_writes_when_asked_and_a_part_shows)
{
    run(count_errors);
    CHECK(read_errors == 0 && write_errors == 0 && parts == 0);
    run_with(&(rt_sim_storage){.read_error = 200}, 1, count_errors);
    CHECK(read_errors > 5 && read_errors < 50 && write_errors == 0);
    run_with(&(rt_sim_storage){.write_error = 200, .short_write = 500}, 1, count_errors);
    CHECK(write_errors > 5 && parts > 5 && read_errors == 0);
}

static void sync_badly(void *arg)
{
    size_t actual;
    (void)arg;
    CHECK_OK(rt_file_open("f", O_RDWR | O_CREAT, 0, &fd));
    CHECK_OK(rt_file_write(fd, "x", 1, &actual, -1));
    CHECK_STATUS(rt_file_sync(fd, -1), RT_ERR_IO);
    CHECK_STATUS(rt_file_sync(fd, -1), RT_ERR_IO);
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(sim_disk_failed_sync_stays_failed)
{
    run_with(&(rt_sim_storage){.sync_error = 1000}, 1, sync_badly);
}

/* ---- what outlives a run ---- */

static void leave_something(void *arg)
{
    size_t actual;
    (void)arg;
    CHECK_OK(rt_file_open("kept", O_RDWR | O_CREAT, 0, &fd));
    CHECK_OK(rt_file_write(fd, "synced", 6, &actual, -1));
    CHECK_OK(rt_file_sync(fd, -1));
    CHECK_OK(rt_file_write(fd, " and not", 8, &actual, -1));
    /* Left open: the machine stops here. */
    rt_exit();
}

static char found[32];

static void find_something(void *arg)
{
    size_t actual = 0;
    (void)arg;
    memset(found, 0, sizeof(found));
    CHECK_OK(rt_file_open("kept", O_RDONLY, 0, &fd));
    CHECK_OK(rt_file_read(fd, found, sizeof(found) - 1, &actual, -1));
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(sim_disk_of_the_program_outlives_runs_and_crashes)
{
    unsigned whole = 0;
    unsigned torn = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const rt_sim_config config = {.report = &report, .storage = {.disk = &disk}};
        CHECK_OK(rt_sim_disk_init(&disk, memory, sizeof(memory)));
        CHECK_OK(rt_sim_run(&config, leave_something, NULL));
        CHECK_EQ(report.files_left, 1);
        run_with(&config.storage, seed, find_something);
        CHECK_STR(found, "synced and not");
        CHECK_OK(rt_sim_disk_crash(&disk, seed));
        run_with(&config.storage, seed, find_something);
        CHECK(memcmp(found, "synced", 6) == 0);
        whole += strcmp(found, "synced and not") == 0;
        torn += strlen(found) > 6 && strlen(found) < 14;
    }
    CHECK(whole > 0 && torn > 0 && whole < 60);
}

static void write_at_the_far_end(void *arg)
{
    int append;
    char byte;
    size_t actual = 7;
    (void)arg;
    CHECK_OK(rt_file_open("/far", O_RDWR | O_CREAT, 0600, &fd));
    CHECK_OK(rt_file_open("/far", O_RDWR | O_APPEND, 0600, &append));
    CHECK_OK(rt_file_pwrite(fd, "x", 1, (size_t)INT64_MAX - 3, &actual, -1));
    /* What fits is taken; then nothing fits any more. */
    CHECK_OK(rt_file_write(append, "abcd", 4, &actual, -1));
    CHECK_EQ(actual, 2);
    CHECK_STATUS(rt_file_write(append, "e", 1, &actual, -1), RT_ERR_IO);
    CHECK_OK(rt_file_write(append, "", 0, &actual, -1));
    CHECK_OK(rt_file_read(append, &byte, 1, &actual, -1));
    CHECK_EQ(actual, 0);
    CHECK_OK(rt_file_pread(fd, &byte, 1, (size_t)INT64_MAX - 1, &actual, -1));
    CHECK(actual == 1 && byte == 'b');
    CHECK_OK(rt_file_close(append));
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(sim_disk_file_ends_where_an_offset_does)
{
    run(write_at_the_far_end);
}

static void nothing(void *arg)
{
    (void)arg;
    rt_exit();
}

TEST(sim_disk_bad_configurations_are_refused)
{
    rt_sim_disk unprepared = {{0}};
    const rt_sim_storage bad[] = {
        {.latency_min = 2, .latency_max = 1},
        {.latency_max = RT_SIM_LATENCY_MAX + 1},
        {.read_error = 1001},
        {.write_error = 1001},
        {.sync_error = 1001},
        {.short_write = 1001},
        {.disk = &unprepared},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_STATUS(rt_sim_run(&(rt_sim_config){.storage = bad[i]}, nothing, NULL),
                     RT_ERR_INVALID);
    }
    CHECK_STATUS(rt_sim_disk_init(NULL, memory, sizeof(memory)), RT_ERR_INVALID);
    CHECK_STATUS(rt_sim_disk_init(&disk, NULL, sizeof(memory)), RT_ERR_INVALID);
    CHECK_STATUS(rt_sim_disk_init(&disk, memory + 1, sizeof(memory) - 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_sim_disk_init(&disk, memory, 100), RT_ERR_INVALID);
    CHECK_STATUS(rt_sim_disk_crash(NULL, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_sim_disk_crash(&unprepared, 1), RT_ERR_INVALID);
}

static void open_null(void *arg)
{
    *(rt_status *)arg = rt_file_open("/dev/null", O_WRONLY, 0, &fd);
    if (!RT_FAILED(*(rt_status *)arg)) {
        CHECK_OK(rt_file_close(fd));
    }
    rt_exit();
}

TEST(sim_disk_gives_way_to_the_files_of_the_machine_when_asked)
{
    rt_status status;
    CHECK_OK(rt_sim_run(NULL, open_null, &status));
    CHECK_STATUS(status, RT_ERR_NOT_FOUND);
    const rt_sim_config config = {.storage = {.machine_files = true}};
    CHECK_OK(rt_sim_run(&config, open_null, &status));
    CHECK_OK(status);
}

static void write_a_lot(void *arg)
{
    static char bytes[3000];
    size_t actual;
    (void)arg;
    CHECK_OK(rt_file_open("f", O_RDWR | O_CREAT, 0, &fd));
    for (int i = 0; i < 20; i++) {
        (void)rt_file_write(fd, bytes, sizeof(bytes), &actual, -1);
    }
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(sim_disk_one_seed_gives_one_trace)
{
    const rt_sim_storage storage = {.latency_max = RT_NS_PER_MS, .write_error = 100};
    run_with(&storage, 1, write_a_lot);
    uint64_t first = report.trace_hash;
    run_with(&storage, 1, write_a_lot);
    CHECK(report.trace_hash == first);
    run_with(&storage, 2, write_a_lot);
    CHECK(report.trace_hash != first);
}
