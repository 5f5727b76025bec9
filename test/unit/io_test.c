/* SPDX-License-Identifier: Apache-2.0 */
/* The module: its start and end, its audit, and that nothing in it allocates. */
#define _GNU_SOURCE
#define RTI_MODULE "io_test"
#include "io/io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <orrery/rt/file.h>

#include "support/heap_watch.h"
#include "support/io_world.h"
#include "support/test.h"

static char path[] = "/tmp/orrery-io-test-XXXXXX";

static void use_tcp(void)
{
    int fds[2];
    char buf[64];
    size_t count;
    io_world_tcp_pair(fds);
    CHECK_OK(rt_net_send(fds[0], "hello", 5, &count, -1));
    CHECK_OK(rt_net_recv(fds[1], buf, sizeof(buf), &count, -1));
    CHECK_STATUS(rt_net_recv(fds[1], buf, sizeof(buf), &count, 2), RT_ERR_TIMEOUT);
    CHECK_OK(rt_net_close(fds[0]));
    CHECK_STATUS(rt_net_recv(fds[1], buf, sizeof(buf), &count, -1), RT_ERR_CLOSED);
    CHECK_OK(rt_net_close(fds[1]));
}

static void use_others(void)
{
    int fd = -1;
    int client = -1;
    uint16_t port;
    char byte;
    size_t count;
    rt_net_address address;
    char text[RT_NET_ADDRESS_TEXT_SIZE];
    CHECK_OK(rt_udp_open("127.0.0.1", 0, &fd));
    CHECK_OK(rt_net_local_port(fd, &port));
    CHECK_OK(rt_net_resolve("127.0.0.1", port, &address, 0));
    CHECK_OK(rt_net_address_format(&address, text, sizeof(text)));
    CHECK_OK(rt_udp_send(fd, "u", 1, &address, -1));
    CHECK_OK(rt_udp_recv(fd, &byte, 1, &count, &address, -1));
    CHECK_OK(rt_net_close(fd));
    CHECK_OK(rt_unix_listen("@orrery-io-test", &fd));
    CHECK_OK(rt_unix_connect("@orrery-io-test", &client, -1));
    CHECK_OK(rt_net_close(client));
    CHECK_OK(rt_net_close(fd));
}

static void use_files(void)
{
    int fd = -1;
    char buf[64];
    size_t count;
    CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT, 0600, &fd));
    CHECK_OK(rt_file_write(fd, "hello", 5, &count, -1));
    CHECK_OK(rt_file_pwrite(fd, "hello", 5, 5, &count, -1));
    CHECK_OK(rt_file_sync(fd, -1));
    CHECK_OK(rt_file_pread(fd, buf, 10, 0, &count, -1));
    CHECK_OK(rt_file_read(fd, buf, 10, &count, 3600000));
    CHECK_OK(rt_file_close(fd));
}

static void use_everything(void *arg)
{
    (void)arg;
    use_tcp();
    use_others();
    use_files();
}

TEST(io_allocates_nothing_over_a_run_of_every_call)
{
    heap_watch();
    close(mkstemp(path));
    io_world_start(2);
    io_world_go(use_everything, NULL);
    io_world_go(use_everything, NULL);
    heap_watch();
    io_world_run();
    CHECK_EQ(heap_calls(), 0);
    io_world_finish();
    unlink(path);
}

TEST(io_starts_once_per_scheduler_and_again_after_its_end)
{
    static struct rti_io second;
    for (int i = 0; i < 3; i++) {
        io_world_start(1);
        CHECK_STATUS(rti_io_init(&second, &io_world.sched), RT_ERR_STATE);
        CHECK(io_world.sched.modules[RTI_MODULE_IO] == &io_world.io);
        io_world_finish();
        CHECK(io_world.sched.modules[RTI_MODULE_IO] == NULL);
    }
}

static void read_forever(void *arg)
{
    char byte;
    size_t count;
    int *fd = arg;
    (void)rt_net_recv(*fd, &byte, 1, &count, -1);
    CHECK(false);
}

static void kill_reader(void *arg)
{
    io_world_await_requests(1);
    io_world_kill(arg);
}

TEST(io_end_waits_for_what_the_port_still_has)
{
    io_world_start(0);
    int fd = -1;
    CHECK_OK(rt_udp_open("127.0.0.1", 0, &fd));
    struct rti_fiber *reader = io_world_go(read_forever, &fd);
    io_world_go(kill_reader, reader);
    /* The last fiber ends by the kill; the word of the port comes with a wait nobody makes. */
    io_world_run();
    CHECK_EQ(rti_io_in_use(&io_world.io), 1);
    CHECK_OK(rt_net_close(fd));
    rti_io_deinit(&io_world.io);
    CHECK_EQ(rti_io_in_use(&io_world.io), 0);
    rti_sched_deinit(&io_world.sched);
    rti_port_linux_deinit(&io_world.port);
}

static void audit_broken(void *arg)
{
    (void)arg;
    struct rti_request *request = rti_net_request_new(&io_world.io, RTI_OP_READ, 0);
    CHECK(request != NULL);
    rti_io_audit(&io_world.io); /* nobody waits for it and nobody let go of it */
}

TEST(io_audit_finds_a_request_that_nobody_has)
{
    io_world_start(0);
    CHECK_PANICS("io", audit_broken, NULL);
    io_world_finish();
}
