/* SPDX-License-Identifier: Apache-2.0 */
/* An echo server: a machine per connection, or, as the variant `fiber`, a task with a stack. It
 * prints its port and serves until it is killed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>

#include "peer.h"

#define ECHO_MACHINE_CONNECTIONS 1024
#include "support/echo_machine.h"

static int listener;

static void *serve_one(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char buf[1024];
    size_t count;
    while (!RT_FAILED(rt_net_recv(fd, buf, sizeof(buf), &count, -1)) &&
           !RT_FAILED(rt_net_send(fd, buf, count, &count, -1))) {
    }
    (void)rt_net_close(fd);
    return NULL;
}

static void *accept_all(void *arg)
{
    for (;;) {
        int fd;
        peer_must(rt_net_accept(listener, &fd, -1));
        peer_must(rt_detach(rt_go(serve_one, (void *)(intptr_t)fd)));
    }
    return arg;
}

static void tell_port(void)
{
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    peer_expect(getsockname(listener, (struct sockaddr *)&address, &length) == 0, "getsockname");
    printf("port\t%d\n", ntohs(address.sin_port));
    fflush(stdout);
}

void echo_tasks(void)
{
    const rt_net_listen_config config = {.address = "127.0.0.1", .backlog = 1024};
    peer_init();
    peer_must(rt_net_listen_ex(&config, &listener));
    peer_must(
        rt_task_reserve(&(rt_task_room){.tasks = ECHO_MACHINE_CONNECTIONS, .stack_size = 8192}));
    tell_port();
    peer_go(accept_all, NULL);
    peer_run();
}

void echo_machines(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    peer_expect(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                    listen(listener, 1024) == 0,
                "listen");
    tell_port();
    echo_machine_serve(listener, true);
}
