/* SPDX-License-Identifier: Apache-2.0 */
/* State Threads' side of the comparison: threads of its own on one core, condition variables as
 * the way to talk, an echo server with a thread per connection over epoll.
 * Usage: peer BENCH CORES COUNT */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <st.h>
#include <string.h>
#include <sys/socket.h>

#include "common.h"

#define BATCH       1000
#define STACK_BYTES 16384

static long count;

static st_thread_t go(void *(*fn)(void *), void *arg)
{
    st_thread_t thread = st_thread_create(fn, arg, 1, STACK_BYTES);
    common_expect(thread != NULL, "no more threads");
    return thread;
}

/* The library has no yield: a sleep of nothing is one. */
static void *yields(void *arg)
{
    for (long i = 0; i < count; i++) {
        st_usleep(0);
    }
    return arg;
}

static void run_switch(void)
{
    double start = common_now_ns();
    st_thread_t both[2] = {go(yields, NULL), go(yields, NULL)};
    st_thread_join(both[0], NULL);
    st_thread_join(both[1], NULL);
    common_report("switch", "ns", (common_now_ns() - start) / (2.0 * (double)count));
}

static void *returns(void *arg)
{
    return arg;
}

static void spawn_join(void)
{
    static st_thread_t threads[BATCH];
    long done = 0;
    double start = common_now_ns();
    for (; done < count; done += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            threads[i] = go(returns, NULL);
        }
        for (int i = 0; i < BATCH; i++) {
            st_thread_join(threads[i], NULL);
        }
    }
    common_report("spawn_join", "ns", (common_now_ns() - start) / (double)done);
}

/* A rendezvous by hand: one number that is there or not, and two conditions. */
struct line {
    st_cond_t is_full;
    st_cond_t is_empty;
    int has_number;
    long number;
};

static struct line lines[2];

static void line_send(struct line *line, long number)
{
    while (line->has_number) {
        st_cond_wait(line->is_empty);
    }
    line->number = number;
    line->has_number = 1;
    st_cond_signal(line->is_full);
}

static long line_recv(struct line *line)
{
    while (!line->has_number) {
        st_cond_wait(line->is_full);
    }
    line->has_number = 0;
    st_cond_signal(line->is_empty);
    return line->number;
}

static void *back(void *arg)
{
    for (long i = 0; i < count; i++) {
        line_send(&lines[1], line_recv(&lines[0]));
    }
    return arg;
}

static void chan_pingpong(void)
{
    for (int i = 0; i < 2; i++) {
        lines[i].is_full = st_cond_new();
        lines[i].is_empty = st_cond_new();
    }
    st_thread_t thread = go(back, NULL);
    double start = common_now_ns();
    for (long i = 0; i < count; i++) {
        line_send(&lines[0], i);
        line_recv(&lines[1]);
    }
    common_report("chan_pingpong", "ns", (common_now_ns() - start) / (double)count);
    st_thread_join(thread, NULL);
}

static void *serve_one(void *arg)
{
    st_netfd_t fd = arg;
    char buf[1024];
    ssize_t got;
    while ((got = st_read(fd, buf, sizeof(buf), ST_UTIME_NO_TIMEOUT)) > 0 &&
           st_write(fd, buf, (size_t)got, ST_UTIME_NO_TIMEOUT) == got) {
    }
    st_netfd_close(fd);
    return NULL;
}

static void tcp_echo(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    common_expect(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                      listen(fd, 1024) == 0 &&
                      getsockname(fd, (struct sockaddr *)&address, &length) == 0,
                  "cannot listen");
    st_netfd_t listener = st_netfd_open_socket(fd);
    printf("port\t%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        st_netfd_t connection = st_accept(listener, NULL, NULL, ST_UTIME_NO_TIMEOUT);
        if (connection != NULL) {
            int on = 1;
            setsockopt(st_netfd_fileno(connection), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
            common_expect(st_thread_create(serve_one, connection, 0, STACK_BYTES) != NULL,
                          "no more threads");
        }
    }
}

int main(int argc, char **argv)
{
    count = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: peer BENCH CORES COUNT\n");
        return 2;
    }
    st_set_eventsys(ST_EVENTSYS_ALT);
    common_expect(st_init() == 0, "st_init");
    if (strcmp(argv[1], "switch") == 0) {
        run_switch();
    } else if (strcmp(argv[1], "spawn_join") == 0) {
        spawn_join();
    } else if (strcmp(argv[1], "chan_pingpong") == 0) {
        chan_pingpong();
    } else if (strcmp(argv[1], "tcp_echo") == 0) {
        tcp_echo();
    } else {
        fprintf(stderr, "libst: no bench is called %s\n", argv[1]);
        return 3;
    }
    return 0;
}
