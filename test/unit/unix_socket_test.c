/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "unix_socket_test"
#include <orrery/rt/net.h>

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/io_world.h"
#include "support/test.h"

static char folder[] = "/tmp/orrery-unix-test-XXXXXX";
static char path[sizeof(folder) + 16];
static char abstract[64];

static void run_alone(void (*main)(void *arg))
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/socket", folder);
    snprintf(abstract, sizeof(abstract), "@orrery-unix-test-%d", (int)getpid());
    io_world_start(0);
    io_world_go(main, NULL);
    io_world_finish();
    unlink(path);
    CHECK_EQ(rmdir(folder), 0);
}

static void talk_over(const char *name)
{
    int listener = -1;
    int fds[2];
    char buf[8];
    size_t count;
    CHECK_OK(rt_unix_listen(name, &listener));
    CHECK_OK(rt_unix_connect(name, &fds[0], -1));
    CHECK_OK(rt_net_accept(listener, &fds[1], -1));
    CHECK_OK(rt_net_send(fds[0], "local", 5, &count, -1));
    CHECK_OK(rt_net_recv(fds[1], buf, sizeof(buf), &count, -1));
    CHECK(count == 5 && memcmp(buf, "local", 5) == 0);
    uint16_t port = 4242;
    CHECK_STATUS(rt_net_local_port(listener, &port), RT_ERR_INVALID);
    CHECK_EQ(port, 4242);
    CHECK_OK(rt_net_close(fds[0]));
    CHECK_STATUS(rt_net_recv(fds[1], buf, sizeof(buf), &count, -1), RT_ERR_CLOSED);
    CHECK_STATUS(rt_net_send(fds[1], buf, 1, &count, -1), RT_ERR_CLOSED);
    CHECK_OK(rt_net_close(fds[1]));
    CHECK_OK(rt_net_close(listener));
}

static void talk_by_path(void *arg)
{
    (void)arg;
    talk_over(path);
    /* The path is still there, its listener is not: it is taken over. */
    CHECK_EQ(access(path, F_OK), 0);
    talk_over(path);
}

TEST(unix_path_connects_and_is_taken_over_from_a_dead_listener)
{
    run_alone(talk_by_path);
}

static void talk_by_name(void *arg)
{
    (void)arg;
    talk_over(abstract);
    talk_over(abstract);
}

TEST(unix_abstract_name_connects_and_ends_with_its_listener)
{
    run_alone(talk_by_name);
}

static void refusals(void *arg)
{
    char longest[109];
    int listener = -1;
    int fd = -7;
    (void)arg;
    memset(longest, 'a', sizeof(longest) - 1);
    longest[0] = '@';
    longest[sizeof(longest) - 1] = '\0';
    CHECK_STATUS(rt_unix_listen(longest, &fd), RT_ERR_INVALID);
    CHECK_STATUS(rt_unix_connect(longest, &fd, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_unix_listen("", &fd), RT_ERR_INVALID);
    CHECK_STATUS(rt_unix_listen("@", &fd), RT_ERR_INVALID);
    CHECK_STATUS(rt_unix_listen(NULL, &fd), RT_ERR_INVALID);
    CHECK_STATUS(rt_unix_listen(path, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_unix_connect(NULL, &fd, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_unix_connect(path, NULL, -1), RT_ERR_INVALID);
    /* Nobody there; somebody there already; something else there. */
    CHECK_STATUS(rt_unix_connect(path, &fd, -1), RT_ERR_IO);
    CHECK_OK(rt_unix_listen(path, &listener));
    rt_status status = rt_unix_listen(path, &fd);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the address is in use");
    CHECK_OK(rt_net_close(listener));
    status = rt_unix_connect(path, &fd, -1);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the connection was refused");
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK_STATUS(rt_unix_listen(path, &fd), RT_ERR_IO);
    CHECK_EQ(rmdir(path), 0);
    CHECK_EQ(fd, -7);
}

TEST(unix_bad_names_and_taken_ones_are_refused)
{
    run_alone(refusals);
}

static int listener;
static int queued[64];
static size_t queued_count;
static int late_fd = -1;

static void accept_later(void *arg)
{
    (void)arg;
    io_world_sleep_ms(10);
    CHECK_OK(rt_net_accept(listener, &late_fd, -1));
}

static void full_backlog(void *arg)
{
    int fd = -7;
    (void)arg;
    /* A listener of the system's own making, with a short backlog. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    CHECK_EQ(listen(listener, 1), 0);
    while (queued_count < 64 && !RT_FAILED(rt_unix_connect(path, &queued[queued_count], 0))) {
        queued_count++;
    }
    CHECK(queued_count < 64);
    CHECK_STATUS(rt_unix_connect(path, &fd, 0), RT_ERR_WOULDBLOCK);
    uint64_t before_ns = io_world_now_ns();
    CHECK_STATUS(rt_unix_connect(path, &fd, 4), RT_ERR_TIMEOUT);
    CHECK(io_world_now_ns() - before_ns >= 4 * RTI_NS_PER_MS);
    CHECK_EQ(fd, -7);
    io_world_go(accept_later, NULL);
    CHECK_OK(rt_unix_connect(path, &fd, -1));
    CHECK_OK(rt_net_close(fd));
    CHECK_OK(rt_net_close(late_fd));
    for (size_t i = 0; i < queued_count; i++) {
        CHECK_OK(rt_net_close(queued[i]));
    }
    CHECK_OK(rt_net_close(listener));
}

TEST(unix_connect_to_a_full_backlog_waits_as_long_as_it_may)
{
    run_alone(full_backlog);
}
