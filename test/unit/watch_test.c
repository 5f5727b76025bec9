/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "port/linux/watch.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/test.h"

static struct rti_port_linux port;
static struct rti_watch watch;
static char folder[] = "/tmp/orrery_watch_XXXXXX";

static void echo(struct rti_watch *asked, const char *request)
{
    (void)rti_watch_write(asked, request, strlen(request));
}

static void open_watch(void (*answer)(struct rti_watch *, const char *))
{
    CHECK(mkdtemp(folder) != NULL);
    CHECK_EQ(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
    rti_port_linux_init_bare(&port);
    port.stack_size = RTI_PORT_STACK_SIZE;
    CHECK_OK(rti_watch_open(&watch, &port.port, answer));
}

static void close_watch(void)
{
    char inner[64];
    rti_watch_close(&watch);
    CHECK(access(watch.path, F_OK) != 0);
    snprintf(inner, sizeof(inner), "%s/orrery", folder);
    CHECK_EQ(rmdir(inner), 0);
    CHECK_EQ(rmdir(folder), 0);
}

static int ask(const char *line)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, watch.path, sizeof(address.sun_path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    CHECK_EQ(send(fd, line, strlen(line), 0), (ssize_t)strlen(line));
    return fd;
}

static void check_answer(int fd, const char *wanted)
{
    char bytes[256] = "";
    size_t length = 0;
    ssize_t count;
    while ((count = recv(fd, bytes + length, sizeof(bytes) - 1 - length, 0)) > 0) {
        length += (size_t)count;
    }
    CHECK_STR(bytes, wanted);
    close(fd);
}

TEST(watch_answers_one_line_after_the_other)
{
    open_watch(echo);
    check_answer(ask("one\n"), "one");
    check_answer(ask("two\n"), "two");
    close_watch();
}

TEST(watch_socket_and_folder_are_the_users_own)
{
    struct stat info;
    open_watch(echo);
    CHECK_EQ(stat(watch.path, &info), 0);
    CHECK_EQ(info.st_mode & 0777, 0600);
    char inner[64];
    snprintf(inner, sizeof(inner), "%s/orrery", folder);
    CHECK_EQ(stat(inner, &info), 0);
    CHECK_EQ(info.st_mode & 0777, 0700);
    close_watch();
}

TEST(watch_passes_over_a_folder_that_others_can_enter)
{
    char inner[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(inner, sizeof(inner), "%s/orrery", folder);
    CHECK_EQ(mkdir(inner, 0700), 0);
    CHECK_EQ(chmod(inner, 0755), 0);
    CHECK_EQ(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
    rti_port_linux_init_bare(&port);
    port.stack_size = RTI_PORT_STACK_SIZE;
    CHECK_OK(rti_watch_open(&watch, &port.port, echo));
    CHECK(strncmp(watch.path, "/tmp/orrery-", 12) == 0);
    rti_watch_close(&watch);
    CHECK_EQ(rmdir(inner), 0);
    CHECK_EQ(rmdir(folder), 0);
}

TEST(watch_refuses_a_request_that_does_not_end)
{
    char line[RTI_WATCH_REQUEST_MAX + 10];
    open_watch(echo);
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    int fd = ask(line);
    char byte;
    CHECK(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    check_answer(ask("next\n"), "next");
    close_watch();
}

static rti_atomic_u32 never;
static rti_atomic_u32 is_asked;

static void wait_long(struct rti_watch *asked, const char *request)
{
    (void)request;
    rti_u32_store_release(&is_asked, 1);
    rti_linux_futex_wake(&port.port, &is_asked, 1);
    bool has_changed = rti_watch_await(asked, &never, 0, UINT64_C(3600000000000));
    (void)rti_watch_write(asked, has_changed ? "y" : "n", 1);
}

TEST(watch_close_ends_a_wait_of_the_answer)
{
    open_watch(wait_long);
    int fd = ask("x\n");
    while (rti_u32_load_acquire(&is_asked) == 0) {
        (void)rti_linux_futex_wait(&port.port, &is_asked, 0, RTI_TIME_NEVER);
    }
    close_watch();
    check_answer(fd, "n");
}
