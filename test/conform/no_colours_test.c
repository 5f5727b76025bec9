/* SPDX-License-Identifier: Apache-2.0 */
/* No colours (IO1 to IO3): one function, over real files, sockets, channels and joins, does the
 * same in a task, which parks, and in a plain thread, which blocks: beside a runtime of several
 * workers, without any runtime, and in main before rt_run. */
#define _GNU_SOURCE
#define RTI_MODULE "no_colours_test"
#include <orrery/rt.h>
#include <orrery/rt/blocking.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/tasks.h"
#include "support/test.h"

#define BYTES 200000 /* more than a socket takes at once, and several chunks of a file */

static uint16_t port;
static int listener;
static _Alignas(16) unsigned char pattern[BYTES];

static void fill_pattern(void)
{
    for (size_t i = 0; i < BYTES; i++) {
        pattern[i] = (unsigned char)(i * 7 + i / 251);
    }
}

/* Writes a file and reads it again, at its position and at offsets. */
static void uses_a_file(void)
{
    char name[] = "/tmp/orrery_colours_XXXXXX";
    int made = mkstemp(name);
    CHECK(made >= 0 && close(made) == 0);
    static const char missing[] = "/tmp/orrery_colours_missing/x";
    int fd = -7;
    size_t count = 0;
    unsigned char *read = malloc(BYTES);
    CHECK(read != NULL);
    CHECK_STATUS(rt_file_open(missing, O_RDONLY, 0, &fd), RT_ERR_NOT_FOUND);
    CHECK_EQ(fd, -7);
    CHECK_OK(rt_file_open(name, O_RDWR, 0, &fd));
    CHECK_OK(rt_file_write(fd, pattern, BYTES, &count, -1));
    CHECK_EQ(count, BYTES);
    CHECK_OK(rt_file_sync(fd, -1));
    CHECK_OK(rt_file_pread(fd, read, 1000, 500, &count, -1));
    CHECK(count == 1000 && memcmp(read, pattern + 500, 1000) == 0);
    CHECK_OK(rt_file_pwrite(fd, "xyz", 3, 0, &count, -1));
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_OK(rt_file_read(fd, read, BYTES, &count, -1));
    CHECK(count == BYTES && memcmp(read, "xyz", 3) == 0);
    CHECK(memcmp(read + 3, pattern + 3, BYTES - 3) == 0);
    CHECK_OK(rt_file_read(fd, read, BYTES, &count, -1));
    CHECK_EQ(count, 0);
    CHECK_STATUS(rt_file_read(fd, read, 1, &count, 0), RT_ERR_INVALID);
    CHECK_OK(rt_file_close(fd));
    CHECK_STATUS(rt_file_close(fd), RT_ERR_INVALID);
    free(read);
    CHECK(unlink(name) == 0);
}

/* What one end sends, the other sends back, until the stream ends. */
static void *serves_one(void *arg)
{
    unsigned char bytes[4096];
    size_t count;
    size_t sent;
    int fd;
    CHECK_OK(rt_net_accept(listener, &fd, -1));
    while (!RT_FAILED(rt_net_recv(fd, bytes, sizeof(bytes), &count, -1))) {
        CHECK_OK(rt_net_send(fd, bytes, count, &sent, -1));
        CHECK_EQ(sent, count);
    }
    CHECK_OK(rt_net_close(fd));
    return arg;
}

/* Half of the stream at a time, so that neither end waits for the other for ever. */
static void uses_a_socket(void)
{
    unsigned char echo[4096];
    size_t count = 0;
    int fd = -7;
    CHECK_STATUS(rt_net_connect("127.0.0.1", 0, &fd, -1), RT_ERR_INVALID);
    CHECK_OK(rt_net_connect("localhost", port, &fd, 10000));
    CHECK_STATUS(rt_net_recv(fd, echo, 1, &count, 0), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_net_recv(fd, echo, 1, &count, 2), RT_ERR_TIMEOUT);
    for (size_t at = 0; at < BYTES; at += sizeof(echo)) {
        size_t size = BYTES - at < sizeof(echo) ? BYTES - at : sizeof(echo);
        CHECK_OK(rt_net_send(fd, pattern + at, size, &count, -1));
        CHECK_EQ(count, size);
        for (size_t got = 0; got < size; got += count) {
            CHECK_OK(rt_net_recv(fd, echo + got, size - got, &count, -1));
        }
        CHECK(memcmp(echo, pattern + at, size) == 0);
    }
    CHECK_OK(rt_net_close(fd));
    CHECK_STATUS(rt_net_send(fd, echo, 1, &count, -1), RT_ERR_INVALID);
}

static void uses_datagrams_and_local_streams(void)
{
    char name[64];
    snprintf(name, sizeof(name), "@orrery colours %d", (int)getpid());
    int ends[2];
    int local[3];
    char byte = 'k';
    size_t count = 0;
    uint16_t number;
    rt_net_address to;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_udp_open("127.0.0.1", 0, &ends[i]));
    }
    CHECK_OK(rt_net_local_port(ends[1], &number));
    CHECK_OK(rt_net_resolve("127.0.0.1", number, &to, -1));
    CHECK_OK(rt_udp_send(ends[0], "d", 1, &to, -1));
    CHECK_OK(rt_udp_recv(ends[1], &byte, 1, &count, NULL, 10000));
    CHECK(byte == 'd' && count == 1);
    CHECK_STATUS(rt_udp_recv(ends[1], &byte, 1, &count, NULL, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_unix_listen(name, &local[0]));
    CHECK_OK(rt_unix_connect(name, &local[1], 10000));
    CHECK_OK(rt_net_accept(local[0], &local[2], 10000));
    CHECK_OK(rt_net_send(local[1], "l", 1, &count, -1));
    CHECK_OK(rt_net_recv(local[2], &byte, 1, &count, -1));
    CHECK_EQ(byte, 'l');
    CHECK_STATUS(rt_net_accept(local[0], &local[2], 1), RT_ERR_TIMEOUT);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_net_close(local[i]));
        CHECK_OK(i == 2 ? RT_SUCCESS : rt_net_close(ends[i]));
    }
}

static void adds_one(void *arg)
{
    ++*(int *)arg;
}

/* The function of the test, as far as no runtime is needed. */
static void *does_io(void *arg)
{
    int calls = 0;
    uses_a_file();
    uses_a_socket();
    uses_datagrams_and_local_streams();
    CHECK_OK(rt_blocking(adds_one, &calls));
    CHECK_EQ(calls, 1);
    return arg;
}

static void open_listener(void)
{
    fill_pattern();
    CHECK_OK(rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1"}, &listener));
    CHECK_OK(rt_net_local_port(listener, &port));
}

/* Runs fn(arg) on a thread and waits for it. */
static void on_a_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, fn, arg), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* The same against a server that is a plain thread too. */
static void *does_io_with_a_server(void *arg)
{
    pthread_t server;
    CHECK_EQ(pthread_create(&server, NULL, serves_one, NULL), 0);
    (void)does_io(NULL);
    CHECK_EQ(pthread_join(server, NULL), 0);
    return arg;
}

TEST(no_colours_io_blocks_a_thread_where_there_is_no_runtime)
{
    open_listener();
    (void)does_io_with_a_server(NULL);
    on_a_thread(does_io_with_a_server, NULL);
    CHECK_OK(rt_net_close(listener));
}

static void *serves_in_a_task(void *arg)
{
    rt_task *server = rt_go(serves_one, NULL);
    (void)does_io(NULL);
    CHECK_OK(rt_join(server, NULL));
    return arg;
}

TEST(no_colours_io_parks_a_task_of_the_fixed_engine)
{
    open_listener();
    CHECK_OK(tasks_run_fixed(serves_in_a_task, NULL));
    CHECK_OK(rt_net_close(listener));
}

/* What a connected pair of sockets hears when it is closed under one that waits. */
static int pair[2];

static void *hears_of_a_close(void *arg)
{
    char byte;
    size_t count;
    CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, &count, -1), RT_ERR_CLOSED);
    return arg;
}

/* A server that is not the runtime's business at all. */
static void *serves_by_hand(void *arg)
{
    unsigned char bytes[4096];
    ssize_t count;
    int fd;
    CHECK(fcntl(listener, F_SETFL, 0) == 0);
    do {
        fd = accept(listener, NULL, NULL);
    } while (fd < 0 && errno == EAGAIN);
    CHECK(fd >= 0);
    while ((count = read(fd, bytes, sizeof(bytes))) > 0) {
        CHECK_EQ(write(fd, bytes, (size_t)count), count);
    }
    CHECK(close(fd) == 0);
    return arg;
}

TEST(no_colours_io_blocks_main_before_and_after_a_run)
{
    pthread_t server;
    open_listener();
    CHECK_EQ(pthread_create(&server, NULL, serves_by_hand, NULL), 0);
    CHECK_OK(rt_init());
    (void)does_io(NULL);
    rt_run();
    uses_a_file();
    CHECK_EQ(pthread_join(server, NULL), 0);
    CHECK_OK(rt_net_close(listener));
    rt_cleanup();
}

/* ---- beside a runtime of several workers ---- */

static rt_channel_receiver *rx;
static rt_channel_sender *tx;
static pthread_t visitor;
static rt_task *for_the_visitor;

/* The whole function: what it joins and receives differs, what it does does not. */
static void *does_everything(void *arg)
{
    rt_task *handle = arg;
    uint64_t number = 0;
    void *value = NULL;
    (void)does_io(NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_OK(rt_channel_recv(rx, NULL, &number));
    CHECK_EQ(number, 42);
    CHECK(!rt_task_has_ended(handle));
    CHECK_STATUS(rt_join_until(&handle, &value, rt_clock() + RT_NS_PER_MS), RT_ERR_TIMEOUT);
    CHECK(handle != NULL);
    CHECK_OK(rt_task_ask_cancel(handle));
    CHECK_STATUS(rt_join(handle, &value), RT_ERR_CANCELLED);
    CHECK_STATUS(rt_join(handle, &value), RT_ERR_INVALID);
    return NULL;
}

static void *is_the_runtime(void *arg)
{
    rt_task *server = rt_go(serves_one, NULL);
    uint64_t number = 42;
    CHECK_OK(rt_channel_send(tx, NULL, &number));
    if (arg == NULL) {
        rt_task *task = rt_go(does_everything, rt_go(tasks_wait_for_ever, NULL));
        CHECK_OK(rt_join(task, NULL));
    } else {
        for_the_visitor = rt_go(tasks_wait_for_ever, NULL);
        CHECK_EQ(pthread_create(&visitor, NULL, does_everything, for_the_visitor), 0);
    }
    CHECK_OK(rt_join(server, NULL));
    return NULL;
}

/* Runs the function as a task or as a thread, on two workers. */
static void on_two_workers(void *is_thread)
{
    rt_channel_config channel = {.elem_size = sizeof(uint64_t), .capacity = 1};
    open_listener();
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    CHECK_OK(rt_channel_create(&channel, &tx, &rx));
    CHECK_OK(rt_detach(rt_go(is_the_runtime, is_thread)));
    rt_run();
    if (is_thread != NULL) {
        CHECK_EQ(pthread_join(visitor, NULL), 0);
    }
    rt_cleanup();
    CHECK_OK(rt_net_close(listener));
}

TEST(no_colours_one_function_parks_a_task_of_the_parallel_engine)
{
    on_two_workers(NULL);
}

TEST(no_colours_the_same_function_blocks_a_thread_beside_the_parallel_engine)
{
    on_two_workers(TASKS_NUMBER(1));
}

/* A thread that closes what a task waits on: the task hears of it at once. */
static void *closes_the_pair(void *arg)
{
    (void)arg;
    CHECK_OK(rt_net_close(pair[0]));
    return NULL;
}

static void *is_closed_under(void *arg)
{
    rt_task *waits = rt_go(hears_of_a_close, NULL);
    CHECK_OK(rt_sleep(5 * RT_NS_PER_MS));
    CHECK_EQ(pthread_create(&visitor, NULL, closes_the_pair, NULL), 0);
    CHECK_OK(rt_join(waits, NULL));
    return arg;
}

TEST(no_colours_a_close_in_a_thread_wakes_the_task_that_waits)
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    CHECK_OK(rt_detach(rt_go(is_closed_under, NULL)));
    rt_run();
    CHECK_EQ(pthread_join(visitor, NULL), 0);
    rt_cleanup();
    CHECK(close(pair[1]) == 0);
}

static rt_status asked;

static rt_status asks_to_wait(void *arg)
{
    int fd;
    (void)arg;
    asked = rt_net_accept(listener, &fd, 1);
    return RT_SUCCESS;
}

/* A hook runs in its task, and may wait as it does. */
static void *waits_in_a_hook(void *arg)
{
    CHECK_OK(rt_ensure(asks_to_wait, NULL));
    return arg;
}

TEST(no_colours_a_hook_may_wait_for_io)
{
    open_listener();
    CHECK_OK(tasks_run_fixed(waits_in_a_hook, NULL));
    CHECK_STATUS(asked, RT_ERR_TIMEOUT);
    CHECK_OK(rt_net_close(listener));
}
