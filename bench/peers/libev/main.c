/* SPDX-License-Identifier: Apache-2.0 */
/* libev's side of the comparison: timers of its loop, and an echo server with a watcher per
 * connection. Timers in processor time. Usage: peer BENCH CORES COUNT */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "common.h"

#define OUTSTANDING 100000

static struct ev_loop *loop;
static long count;
static long fired;

static void on_fire(struct ev_loop *its, ev_timer *timer, int events)
{
    (void)its;
    (void)timer;
    (void)events;
    fired++;
}

static void start(ev_timer *timer, double seconds)
{
    ev_timer_set(timer, seconds, 0.);
    ev_timer_start(loop, timer);
}

static ev_timer *make_timers(long number)
{
    ev_timer *timers = calloc((size_t)number, sizeof(*timers));
    common_expect(timers != NULL, "no memory");
    for (long i = 0; i < number; i++) {
        ev_init(&timers[i], on_fire);
    }
    return timers;
}

static void timer_cancel(void)
{
    ev_timer *timers = make_timers(OUTSTANDING);
    uint64_t far = 42;
    uint64_t victims = 7;
    for (long i = 0; i < OUTSTANDING; i++) {
        start(&timers[i], (double)(60000 + common_random(&far) % 60000) * 1e-3);
    }
    double began = common_cpu_ns();
    for (long i = 0; i < count; i++) {
        ev_timer *victim = &timers[common_random(&victims) % OUTSTANDING];
        ev_timer_stop(loop, victim);
        start(victim, (double)(60000 + common_random(&far) % 60000) * 1e-3);
    }
    common_report("timer_cancel", "ns", (common_cpu_ns() - began) / (double)count);
}

static void timer_fire(void)
{
    ev_timer *timers = make_timers(count);
    uint64_t near = 42;
    double began = common_cpu_ns();
    ev_now_update(loop);
    for (long i = 0; i < count; i++) {
        start(&timers[i], (double)(common_random(&near) % 100000000) * 1e-9);
    }
    ev_run(loop, 0);
    common_expect(fired == count, "not all timers fired");
    common_report("timer_fire", "ns", (common_cpu_ns() - began) / (double)count);
}

static void on_data(struct ev_loop *its, ev_io *watcher, int events)
{
    char buf[1024];
    ssize_t got = recv(watcher->fd, buf, sizeof(buf), 0);
    (void)events;
    if (got > 0) {
        common_expect(send(watcher->fd, buf, (size_t)got, MSG_NOSIGNAL) == got, "cannot send");
    } else if (got == 0 || errno != EAGAIN) {
        ev_io_stop(its, watcher);
        close(watcher->fd);
        free(watcher);
    }
}

static void on_connection(struct ev_loop *its, ev_io *watcher, int events)
{
    int on = 1;
    int fd = accept4(watcher->fd, NULL, NULL, SOCK_NONBLOCK);
    (void)events;
    if (fd >= 0) {
        ev_io *connection = malloc(sizeof(*connection));
        common_expect(connection != NULL, "no memory");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        ev_io_init(connection, on_data, fd, EV_READ);
        ev_io_start(its, connection);
    }
}

static void tcp_echo(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ev_io listener;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    common_expect(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                      listen(fd, 1024) == 0 &&
                      getsockname(fd, (struct sockaddr *)&address, &length) == 0,
                  "cannot listen");
    printf("port\t%d\n", ntohs(address.sin_port));
    fflush(stdout);
    ev_io_init(&listener, on_connection, fd, EV_READ);
    ev_io_start(loop, &listener);
    ev_run(loop, 0);
}

int main(int argc, char **argv)
{
    count = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: peer BENCH CORES COUNT\n");
        return 2;
    }
    loop = ev_default_loop(EVBACKEND_EPOLL);
    common_expect(loop != NULL, "no loop");
    if (strcmp(argv[1], "timer_cancel") == 0) {
        timer_cancel();
    } else if (strcmp(argv[1], "timer_fire") == 0) {
        timer_fire();
    } else if (strcmp(argv[1], "tcp_echo") == 0) {
        tcp_echo();
    } else {
        fprintf(stderr, "libev: no bench is called %s\n", argv[1]);
        return 3;
    }
    return 0;
}
