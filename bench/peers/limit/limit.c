/* SPDX-License-Identifier: Apache-2.0 */
/* The physical limits: what the machine does when nothing but the least is asked of it.
 *
 *     switch             two stacks, exchanged by hand (support/minimal_switch.h)
 *     chan_stream_1p1c   a ring between two threads: padded, each side keeps what it last saw of
 *                        the other's index, nobody ever sleeps
 *     chan_pingpong      a word handed to and fro between two spinning threads; as the variant
 *                        `futex`, between two that sleep
 *     tcp_echo           a server written by hand over epoll: one thread, level-triggered
 *
 * Usage: limit BENCH[:VARIANT] CORES COUNT */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common.h"
#include "support/minimal_switch.h"

static long count;

static void run_switch(void)
{
    static char stack[65536] __attribute__((aligned(64)));
    minimal_prepare(stack, sizeof(stack));
    minimal_round(count / 10);
    common_report("switch", "ns", minimal_round(count));
}

/* ---- a ring ---- */

#define PLACES 1024

static struct {
    _Alignas(64) atomic_ulong head; /* written by the sender */
    _Alignas(64) atomic_ulong tail; /* written by the receiver */
    _Alignas(64) uint64_t values[PLACES];
} ring;

static void *ring_send(void *arg)
{
    unsigned long head = 0;
    unsigned long tail = 0;
    while (head < (unsigned long)count) {
        while (head - tail == PLACES) {
            tail = atomic_load_explicit(&ring.tail, memory_order_acquire);
        }
        ring.values[head % PLACES] = head;
        atomic_store_explicit(&ring.head, ++head, memory_order_release);
    }
    return arg;
}

static void run_stream(void)
{
    pthread_t sender;
    unsigned long head = 0;
    unsigned long sum = 0;
    double start = common_now_ns();
    pthread_create(&sender, NULL, ring_send, NULL);
    for (unsigned long tail = 0; tail < (unsigned long)count; tail++) {
        while (tail == head) {
            head = atomic_load_explicit(&ring.head, memory_order_acquire);
        }
        sum += ring.values[tail % PLACES];
        atomic_store_explicit(&ring.tail, tail + 1, memory_order_release);
    }
    pthread_join(sender, NULL);
    common_report("chan_stream_1p1c", "ns", (common_now_ns() - start) / (double)count);
    common_expect(sum == (unsigned long)count * (unsigned long)(count - 1) / 2, "lost a value");
}

/* ---- a hand-off ---- */

static _Alignas(64) atomic_uint turn;
static int is_futex;

static void hand_over(unsigned to)
{
    atomic_store_explicit(&turn, to, memory_order_release);
    if (is_futex) {
        syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void await_turn(unsigned of)
{
    while (atomic_load_explicit(&turn, memory_order_acquire) != of) {
        if (is_futex) {
            syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 1 - of, NULL, NULL, 0);
        } else {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    }
}

static void *partner(void *arg)
{
    for (long i = 0; i < count; i++) {
        await_turn(1);
        hand_over(0);
    }
    return arg;
}

static void run_pingpong(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, partner, NULL);
    double start = common_now_ns();
    for (long i = 0; i < count; i++) {
        hand_over(1);
        await_turn(0);
    }
    common_report("chan_pingpong", "ns", (common_now_ns() - start) / (double)count);
    pthread_join(thread, NULL);
}

/* ---- an echo server ---- */

static void serve_one(int fd)
{
    char buf[1024];
    ssize_t got = recv(fd, buf, sizeof(buf), 0);
    if (got > 0) {
        common_expect(send(fd, buf, (size_t)got, MSG_NOSIGNAL) == got, "cannot send");
    } else if (got == 0 || errno != EAGAIN) {
        close(fd);
    }
}

static void run_echo(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    common_expect(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                      listen(listener, 1024) == 0 &&
                      getsockname(listener, (struct sockaddr *)&address, &length) == 0 &&
                      epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0,
                  "cannot listen");
    printf("port\t%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event events[256];
        int ready = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd != listener) {
                serve_one(events[i].data.fd);
                continue;
            }
            int on = 1;
            int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
            if (fd >= 0) {
                event.data.fd = fd;
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
                epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
            }
        }
    }
}

int main(int argc, char **argv)
{
    count = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: limit BENCH CORES COUNT\n");
        return 2;
    }
    is_futex = strcmp(argv[1], "chan_pingpong:futex") == 0;
    if (strcmp(argv[1], "switch") == 0) {
        run_switch();
    } else if (strcmp(argv[1], "chan_stream_1p1c") == 0) {
        run_stream();
    } else if (is_futex || strcmp(argv[1], "chan_pingpong") == 0) {
        run_pingpong();
    } else if (strcmp(argv[1], "tcp_echo") == 0) {
        run_echo();
    } else {
        fprintf(stderr, "limit: no bench is called %s\n", argv[1]);
        return 3;
    }
    return 0;
}
