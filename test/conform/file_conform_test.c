/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "File API" and what "Actor Blocking Semantics" says of files, on the
 * whole runtime and through the public headers alone: on the machine, and in the simulator with its
 * own disk. A disk that takes its time is a stand-in for pread that waits until it is let go, and
 * in the simulator one that always does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_slow;
static unsigned inside;

ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
    pthread_mutex_lock(&mutex);
    inside++;
    while (is_slow) {
        pthread_cond_wait(&changed, &mutex);
    }
    inside--;
    pthread_mutex_unlock(&mutex);
    return syscall(SYS_pread64, fd, buffer, length, offset);
}

static void set_slow(bool slow)
{
    pthread_mutex_lock(&mutex);
    is_slow = slow;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static unsigned threads_inside(void)
{
    if (world_io_is_simulated()) {
        return 1; /* what was asked for is under way as long as somebody runs */
    }
    pthread_mutex_lock(&mutex);
    unsigned count = inside;
    pthread_mutex_unlock(&mutex);
    return count;
}

static char path[] = "/tmp/orrery-file-conform-XXXXXX";
static int fd;

static actor_id spawn(actor_fn fn, void *arg)
{
    const actor_config config = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    actor_id id = rt_spawn_ex(fn, arg, &config);
    CHECK(id != ACTOR_ID_INVALID);
    return id;
}

/* The disk of the simulator is empty at first. */
static void make_file(void *arg)
{
    CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, &fd));
    CHECK_OK(rt_file_close(fd));
    (*(actor_fn *)arg)(NULL);
}

static void run(actor_fn first)
{
    if (world_io_is_simulated()) {
        const rt_sim_config config = {
            .fixed_order = true,
            .storage = {.latency_min = 10 * RT_NS_PER_MS, .latency_max = 10 * RT_NS_PER_MS}};
        CHECK_OK(rt_sim_run(&config, make_file, &first));
        return;
    }
    close(mkstemp(path));
    CHECK_OK(rt_init());
    spawn(first, NULL);
    rt_run();
    rt_cleanup();
    unlink(path);
}

/* Opens the file, with "0123456789" in it. */
static void open_digits(void)
{
    size_t actual;
    CHECK_OK(rt_file_open(path, O_RDWR, 0, &fd));
    CHECK_OK(rt_file_pwrite(fd, "0123456789", 10, 0, &actual, -1));
}

static rt_actor_state state_of(actor_id id)
{
    struct rt_actor_stats stats;
    CHECK_OK(rt_actor_stats(id, &stats));
    return stats.state;
}

static void use_all_seven(void *arg)
{
    char buf[16];
    size_t actual = 0;
    (void)arg;
    CHECK_OK(rt_file_open(path, O_RDWR | O_TRUNC, 0, &fd));
    CHECK_OK(rt_file_write(fd, "abcdef", 6, &actual, -1));
    CHECK_EQ(actual, 6);
    CHECK_OK(rt_file_pwrite(fd, "XY", 2, 1, &actual, -1));
    CHECK_EQ(actual, 2);
    CHECK_OK(rt_file_sync(fd, -1));
    CHECK_OK(rt_file_pread(fd, buf, 3, 2, &actual, -1));
    CHECK(actual == 3 && memcmp(buf, "Yde", 3) == 0);
    CHECK_OK(rt_file_close(fd));
    CHECK_OK(rt_file_open(path, O_RDONLY, 0, &fd));
    CHECK_OK(rt_file_read(fd, buf, 4, &actual, 3600000));
    CHECK(actual == 4 && memcmp(buf, "aXYd", 4) == 0);
    CHECK_OK(rt_file_read(fd, buf, sizeof(buf), &actual, 3600000));
    CHECK(actual == 2 && memcmp(buf, "ef", 2) == 0);
    CHECK_OK(rt_file_read(fd, buf, sizeof(buf), &actual, 3600000));
    CHECK_EQ(actual, 0);
    CHECK_OK(rt_file_close(fd));
    CHECK_STATUS(rt_file_close(fd), RT_ERR_INVALID);
    rt_exit();
}

TEST(file_open_close_read_pread_write_pwrite_and_sync_work_together)
{
    run(use_all_seven);
}

static void make_with_mode(void *arg)
{
    struct stat about;
    (void)arg;
    umask(0);
    CHECK_EQ(unlink(path), 0);
    CHECK_OK(rt_file_open(path, O_WRONLY | O_CREAT, 0641, &fd));
    CHECK_EQ(fstat(fd, &about), 0);
    CHECK_EQ(about.st_mode & 0777, 0641);
    CHECK_OK(rt_file_close(fd));
    /* Only for a file that is made. */
    CHECK_OK(rt_file_open(path, O_WRONLY | O_CREAT, 0600, &fd));
    CHECK_EQ(fstat(fd, &about), 0);
    CHECK_EQ(about.st_mode & 0777, 0641);
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(file_mode_is_the_permission_of_a_file_that_is_made)
{
    world_needs_machine("simulated files have no permissions");
    run(make_with_mode);
}

static void ask_not_to_wait(void *arg)
{
    char byte = 'k';
    size_t actual = 99;
    (void)arg;
    open_digits();
    CHECK(RT_FAILED(rt_file_read(fd, &byte, 1, &actual, 0)));
    CHECK(RT_FAILED(rt_file_pread(fd, &byte, 1, 0, &actual, 0)));
    CHECK(RT_FAILED(rt_file_write(fd, "x", 1, &actual, 0)));
    CHECK(RT_FAILED(rt_file_pwrite(fd, "x", 1, 0, &actual, 0)));
    CHECK(RT_FAILED(rt_file_sync(fd, 0)));
    CHECK(byte == 'k' && actual == 99);
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(file_timeout_0_is_an_error)
{
    run(ask_not_to_wait);
}

static void wait_for_a_slow_disk(void *arg)
{
    char byte = 'k';
    size_t actual = 99;
    (void)arg;
    open_digits();
    set_slow(true);
    uint64_t before_ns = rt_clock();
    CHECK_STATUS(rt_file_read(fd, &byte, 1, &actual, 7), RT_ERR_TIMEOUT);
    CHECK(rt_clock() - before_ns >= 7 * RT_NS_PER_MS);
    CHECK(byte == 'k' && actual == 99);
    set_slow(false);
    CHECK_OK(rt_file_close(fd));
    CHECK_EQ(byte, 'k');
    rt_exit();
}

TEST(file_positive_timeout_waits_so_long_and_not_less)
{
    run(wait_for_a_slow_disk);
}

/* What the thread gives after the limit goes nowhere; what is asked next gets its own answer. */
static void time_out_then_ask(void *arg)
{
    char first[4] = "kkk";
    char second[4] = "";
    size_t actual = 99;
    (void)arg;
    open_digits();
    set_slow(true);
    CHECK_STATUS(rt_file_pread(fd, first, 3, 7, &actual, 3), RT_ERR_TIMEOUT);
    set_slow(false);
    CHECK_OK(rt_file_pread(fd, second, 3, 2, &actual, -1));
    CHECK_STR(second, "234");
    CHECK_STR(first, "kkk");
    CHECK_EQ(actual, 3);
    CHECK_OK(rt_file_close(fd));
    CHECK_STR(first, "kkk");
    rt_exit();
}

TEST(file_late_completion_is_discarded_and_the_next_request_gets_its_own)
{
    run(time_out_then_ask);
}

static unsigned turns;

static void take_turns(void *arg)
{
    actor_id reader = (actor_id)(uintptr_t)arg;
    while (threads_inside() == 0) {
        rt_yield();
    }
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_send(reader, &i, sizeof(i), IPC_ASYNC));
    }
    for (turns = 0; turns < 1000; turns++) {
        CHECK_EQ(state_of(reader), ACTOR_STATE_BLOCKED);
        rt_yield();
    }
    set_slow(false);
    rt_exit();
}

static void block_in_read(void *arg)
{
    char byte = 0;
    size_t actual;
    rt_message msg;
    (void)arg;
    open_digits();
    set_slow(true);
    spawn(take_turns, (void *)(uintptr_t)rt_self());
    CHECK_OK(rt_file_read(fd, &byte, 1, &actual, -1));
    CHECK_EQ(byte, '0');
    CHECK_EQ(turns, 1000);
    CHECK_EQ(rt_ipc_count(), 3);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_recv(&msg, 0));
        CHECK_EQ(*(const int *)msg.data, i);
    }
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(file_blocked_actor_gets_mail_is_not_woken_by_it_and_the_others_run)
{
    run(block_in_read);
}

/* File before timer: the completion that is there when the limit comes is the one that counts. */
#define RACES_MAX 20

static uint64_t race_limit_ns;

static void finish_with_the_limit(void *arg)
{
    (void)arg;
    while (threads_inside() == 0 && rt_clock() < race_limit_ns) {
        rt_yield();
    }
    set_slow(false);
    while (threads_inside() != 0) {
    }
    /* Until both the completion and the limit are there, without letting the scheduler look. */
    uint64_t until_ns = race_limit_ns + 50 * RT_NS_PER_MS;
    while (rt_clock() < until_ns) {
    }
    rt_exit();
}

static void race_with_the_limit(void *arg)
{
    char byte = 0;
    size_t actual = 0;
    (void)arg;
    open_digits();
    rt_status status = {RT_ERR_TIMEOUT, NULL};
    /* Where a thread is kept from its work for long the limit comes alone: then once more. */
    for (int i = 0; i < RACES_MAX && status.code == RT_ERR_TIMEOUT; i++) {
        set_slow(true);
        race_limit_ns = rt_clock() + 300 * RT_NS_PER_MS;
        spawn(finish_with_the_limit, NULL);
        status = rt_file_pread(fd, &byte, 1, 4, &actual, 300);
    }
    CHECK_OK(status);
    CHECK(byte == '4' && actual == 1);
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

TEST(file_completion_wins_over_a_limit_that_came_with_it)
{
    world_needs_machine("sim_disk_answer_that_comes_with_its_limit_is_given has it");
    run(race_with_the_limit);
}
