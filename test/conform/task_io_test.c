/* SPDX-License-Identifier: Apache-2.0 */
/* Input and output in tasks: a call parks its task and nobody else, and a cancellation ends it. */
#define _GNU_SOURCE
#define RTI_MODULE "task_io_test"
#include <fcntl.h>
#include <orrery/rt.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/census.h"
#include "support/tasks.h"
#include "support/test.h"

static int listener;
static uint16_t port;
static char fifo[64];
static int fifo_other;   /* its other end, in the end */
static bool is_blocking; /* all that does not wait for ever is done */

static void *accepts(void *arg)
{
    int fd;
    is_blocking = true;
    *(rt_status *)arg = rt_net_accept(listener, &fd, -1);
    return NULL;
}

static void *connects_and_receives(void *arg)
{
    int fd;
    char byte;
    size_t count;
    CHECK_OK(rt_net_connect("127.0.0.1", port, &fd, -1));
    is_blocking = true;
    *(rt_status *)arg = rt_net_recv(fd, &byte, 1, &count, -1);
    CHECK_OK(rt_net_close(fd));
    return NULL;
}

static void *receives_datagrams(void *arg)
{
    int fd;
    char byte;
    size_t count;
    CHECK_OK(rt_udp_open("127.0.0.1", 0, &fd));
    is_blocking = true;
    *(rt_status *)arg = rt_udp_recv(fd, &byte, 1, &count, NULL, -1);
    CHECK_OK(rt_net_close(fd));
    return NULL;
}

static void *opens_a_fifo(void *arg)
{
    int fd;
    is_blocking = true;
    *(rt_status *)arg = rt_file_open(fifo, O_RDONLY, 0, &fd);
    return NULL;
}

static void open_listener(void)
{
    CHECK_OK(rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1"}, &listener));
    CHECK_OK(rt_net_local_port(listener, &port));
}

static void *cancels_blocked_io(void *arg)
{
    static const rt_task_fn blocked[] = {accepts, connects_and_receives, receives_datagrams,
                                         opens_a_fifo};
    open_listener();
    for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++) {
        rt_status status = {RT_ERR_STATE, NULL};
        is_blocking = false;
        rt_task *task = rt_go(blocked[i], &status);
        while (!is_blocking) {
            CHECK_OK(rt_sleep(RT_NS_PER_MS));
        }
        CHECK_OK(rt_sleep(5 * RT_NS_PER_MS));
        /* Nobody will ever answer: what comes back was cancelled. */
        CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
        CHECK_STATUS(status, RT_ERR_CANCELLED);
        /* Asked before it began: the first call is the check point. */
        if (i == 0 || i == 3) {
            task = rt_go(blocked[i], &status);
            CHECK_OK(rt_task_ask_cancel(task));
            CHECK_STATUS(rt_join(task, NULL), RT_ERR_CANCELLED);
            CHECK_STATUS(status, RT_ERR_CANCELLED);
        }
    }
    /* The thread that opens the fifo is let go, if only now does it come to that. */
    fifo_other = open(fifo, O_RDWR | O_NONBLOCK);
    CHECK(fifo_other >= 0);
    CHECK_OK(rt_net_close(listener));
    return arg;
}

TEST(task_io_that_is_blocked_is_cancelled_at_once)
{
    strcpy(fifo, "/tmp/orrery-fifo-XXXXXX");
    CHECK(mkdtemp(fifo) != NULL);
    char folder[64];
    strcpy(folder, fifo);
    strcat(fifo, "/pipe");
    CHECK(mkfifo(fifo, 0600) == 0);
    size_t fds = count_fds();
    CHECK_OK(tasks_run_fixed(cancels_blocked_io, NULL));
    close(fifo_other);
    /* What the thread has opened for who was gone is closed again. */
    CHECK_EQ(count_fds(), fds);
    unlink(fifo);
    rmdir(folder);
}

static void *serves_one(void *arg)
{
    int fd;
    size_t count;
    char byte;
    CHECK_OK(rt_net_accept(listener, &fd, -1));
    while (!RT_FAILED(rt_net_recv(fd, &byte, 1, &count, -1))) {
        byte = (char)(byte + 1);
        CHECK_OK(rt_net_send(fd, &byte, 1, &count, -1));
    }
    CHECK_OK(rt_net_close(fd));
    return arg;
}

static void *counts_turns(void *arg)
{
    int *turns = arg;
    while (!rt_cancelled()) {
        (*turns)++;
        rt_yield();
    }
    return NULL;
}

static void *talks(void *arg)
{
    int fd;
    int turns = 0;
    size_t count;
    open_listener();
    rt_task *server = rt_go(serves_one, NULL);
    rt_task *other = rt_go(counts_turns, &turns);
    CHECK_OK(rt_net_connect("127.0.0.1", port, &fd, -1));
    for (char c = 'a'; c < 'k'; c++) {
        char byte = c;
        CHECK_OK(rt_net_send(fd, &byte, 1, &count, -1));
        CHECK_OK(rt_net_recv(fd, &byte, 1, &count, -1));
        CHECK_EQ(byte, c + 1);
    }
    CHECK_OK(rt_net_close(fd));
    CHECK_OK(rt_join(server, NULL));
    CHECK_STATUS(rt_cancel(other, NULL), RT_ERR_CANCELLED);
    /* The calls looked like plain ones, and somebody else ran while they waited. */
    CHECK(turns > 0);
    CHECK_OK(rt_net_close(listener));
    return arg;
}

TEST(task_io_parks_the_task_and_nobody_else)
{
    CHECK_OK(tasks_run_fixed(talks, NULL));
}

static volatile bool has_file;

static void *closes_when_cancelled(void *arg)
{
    int fd;
    CHECK_OK(rt_file_open("/dev/null", O_RDWR, 0, &fd));
    has_file = true;
    CHECK_STATUS(rt_sleep(RT_TIME_NEVER), RT_ERR_CANCELLED);
    /* What gives back is no check point. */
    CHECK_OK(rt_file_close(fd));
    CHECK(fcntl(fd, F_GETFD) < 0);
    *(bool *)arg = true;
    return NULL;
}

static void *cancels_one_with_a_file(void *arg)
{
    bool is_closed = false;
    rt_task *task = rt_go(closes_when_cancelled, &is_closed);
    while (!has_file) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
    CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    CHECK(is_closed);
    return arg;
}

TEST(task_io_close_works_for_the_cancelled)
{
    CHECK_OK(tasks_run_fixed(cancels_one_with_a_file, NULL));
}

static void *has_a_budget(void *arg)
{
    int fd;
    is_blocking = true;
    *(rt_status *)arg = rt_net_accept(listener, &fd, -1);
    return NULL;
}

static void *limits_io(void *arg)
{
    rt_status status = RT_SUCCESS;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    open_listener();
    budget.deadline = rt_clock() + 5 * RT_NS_PER_MS;
    CHECK_STATUS(rt_using(&budget, has_a_budget, &status, NULL), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_STATUS(status, RT_ERR_BUDGET_EXHAUSTED);
    CHECK_STATUS(rt_timeout(5 * RT_NS_PER_MS, accepts, &status, NULL), RT_ERR_TIMEOUT);
    CHECK_STATUS(status, RT_ERR_CANCELLED);
    CHECK_OK(rt_net_close(listener));
    return arg;
}

TEST(task_io_ends_with_the_budget_and_with_a_timeout)
{
    CHECK_OK(tasks_run_fixed(limits_io, NULL));
}
