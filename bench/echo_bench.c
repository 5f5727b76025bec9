/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does the same echo server cost as actors, as tasks, as machines, and written by
 * hand over epoll?
 *
 * Method: 64 TCP connections of the loopback, each with one message of 64 bytes under way at a
 * time. A child process makes them and keeps all of them busy; the server in the parent is one of
 *
 *     actor     an actor per connection: rt_net_recv and rt_net_send on a stack of its own
 *     task      a task per connection: the same calls, and a handle that is given up
 *     machine   a machine per connection, child of the one that accepts: an op that is a receive,
 *               then a send; no stack (support/echo_machine.h)
 *     standing  the same with a receive that stands, a ring and a doorbell
 *     epoll     by hand: one thread, epoll, level-triggered, as such a server is usually written
 *
 * Rounds alternate between them. Client and server share one processor, so that a round takes the
 * sum of what both cost and no other processor's load counts; the median of the rounds' ratios is
 * reported, and the processor time of the server alone.
 *
 * Non-goals: several cores, large messages, latency under light load.
 *
 * Prints for each server echo_NAME in messages a second and echo_NAME_cpu_ns, the processor time of
 * the server alone per message. For ours also echo_NAME_ratio (to epoll; the goals are 0.95 for
 * actors and tasks, 0.97 for machines) and echo_NAME_cpu_ratio, the same from the processor time of
 * server and client together, which is what one processor could do and does not depend on who else
 * uses it. Usage: echo_bench [MESSAGES PER ROUND [SERVER]]; with a SERVER one round of that one,
 * for tools that count system calls or instructions. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <orrery/rt.h>

#include "support/bench.h"
#include "support/echo_machine.h"

#define CONNECTIONS   ECHO_MACHINE_CONNECTIONS
#define MESSAGE_BYTES 64
#define ROUNDS        7

static long messages; /* per round, all connections together */
static int listener;
static uint16_t port;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* The cheapest client that keeps all connections busy: every connection gets a message, then every
 * answer is fetched, the one asked for last first: when that is there, the others mostly are, and
 * the client sleeps once and not for each of them. */
static _Noreturn void client_main(void)
{
    int fds[CONNECTIONS];
    char buf[MESSAGE_BYTES] = {0};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < CONNECTIONS; i++) {
        int on = 1;
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fds[i], (struct sockaddr *)&address, sizeof(address)) != 0) {
            die("connect");
        }
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    for (long sent = 0; sent < messages; sent += CONNECTIONS) {
        for (int i = 0; i < CONNECTIONS; i++) {
            if (write(fds[i], buf, sizeof(buf)) != sizeof(buf)) {
                die("client write");
            }
        }
        for (int i = CONNECTIONS - 1; i >= 0; i--) {
            if (recv(fds[i], buf, sizeof(buf), MSG_WAITALL) != sizeof(buf)) {
                die("client read");
            }
        }
    }
    _exit(0);
}

static pid_t client_start(void)
{
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    if (getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        die("getsockname");
    }
    port = ntohs(address.sin_port);
    pid_t pid = fork();
    if (pid < 0) {
        die("fork");
    }
    if (pid == 0) {
        client_main();
    }
    return pid;
}

static void client_join(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "echo_bench: the client failed\n");
        exit(1);
    }
}

/* ---- the hand-written server ---- */

static void listener_open(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, CONNECTIONS) != 0) {
        die("listen");
    }
}

static void epoll_serve(void)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int open_count = 0;
    for (int i = 0; i < CONNECTIONS; i++) {
        int on = 1;
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
            die("epoll_ctl");
        }
        open_count++;
    }
    while (open_count > 0) {
        struct epoll_event events[CONNECTIONS];
        int count = epoll_wait(epoll, events, CONNECTIONS, -1);
        for (int i = 0; i < count; i++) {
            char buf[1024];
            int fd = events[i].data.fd;
            ssize_t got = recv(fd, buf, sizeof(buf), 0);
            if (got > 0 && send(fd, buf, (size_t)got, MSG_NOSIGNAL) == got) {
                continue;
            }
            if (got < 0 && errno == EAGAIN) {
                continue;
            }
            close(fd);
            open_count--;
        }
    }
    close(epoll);
}

static void epoll_round(void)
{
    listener_open();
    pid_t pid = client_start();
    epoll_serve();
    client_join(pid);
    close(listener);
}

/* ---- machines ---- */

static void machines_round(bool is_standing)
{
    listener_open();
    pid_t pid = client_start();
    echo_machine_serve(listener, is_standing);
    client_join(pid);
    close(listener);
}

static void machine_round(void)
{
    machines_round(false);
}

static void standing_round(void)
{
    machines_round(true);
}

/* ---- actors ---- */

static void check(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "echo_bench: %s: %s\n", what, status.msg);
        exit(1);
    }
}

static void echo(int fd)
{
    char buf[1024];
    size_t count;
    while (!RT_FAILED(rt_net_recv(fd, buf, sizeof(buf), &count, -1))) {
        check(rt_net_send(fd, buf, count, &count, -1), "send");
    }
    check(rt_net_close(fd), "close");
}

static void connection_main(void *arg)
{
    echo((int)(intptr_t)arg);
    rt_exit();
}

/* Accepts all connections and serves the last one itself: one actor per connection. */
static void acceptor_main(void *arg)
{
    const actor_config config = {.stack_size = 8192, .priority = RT_PRIO_NORMAL};
    int fd = -1;
    (void)arg;
    for (int i = 0; i < CONNECTIONS; i++) {
        check(rt_net_accept(listener, &fd, -1), "accept");
        if (i < CONNECTIONS - 1 &&
            rt_spawn_ex(connection_main, (void *)(intptr_t)fd, &config) == ACTOR_ID_INVALID) {
            fprintf(stderr, "echo_bench: no room for an actor\n");
            exit(1);
        }
    }
    echo(fd);
    rt_exit();
}

static void actor_round(void)
{
    const rt_net_listen_config config = {.address = "127.0.0.1", .backlog = CONNECTIONS};
    check(rt_init(), "rt_init");
    check(rt_net_listen_ex(&config, &listener), "listen");
    pid_t pid = client_start();
    if (rt_spawn(acceptor_main, NULL) == ACTOR_ID_INVALID) {
        fprintf(stderr, "echo_bench: no room for an actor\n");
        exit(1);
    }
    rt_run();
    client_join(pid);
    check(rt_net_close(listener), "close");
    rt_cleanup();
}

/* ---- tasks ---- */

static void *task_main(void *arg)
{
    echo((int)(intptr_t)arg);
    return NULL;
}

/* Accepts all connections and serves the last one itself; rt_run returns when all have ended. */
static void *task_acceptor_main(void *arg)
{
    const rt_task_config config = {.stack_size = 8192};
    int fd = -1;
    (void)arg;
    for (int i = 0; i < CONNECTIONS; i++) {
        check(rt_net_accept(listener, &fd, -1), "accept");
        if (i < CONNECTIONS - 1) {
            check(rt_detach(rt_go_ex(task_main, (void *)(intptr_t)fd, &config)), "a task");
        }
    }
    echo(fd);
    return NULL;
}

static void task_round(void)
{
    const rt_net_listen_config config = {.address = "127.0.0.1", .backlog = CONNECTIONS};
    check(rt_init(), "rt_init");
    check(rt_net_listen_ex(&config, &listener), "listen");
    pid_t pid = client_start();
    check(rt_detach(rt_go(task_acceptor_main, NULL)), "a task");
    rt_run();
    client_join(pid);
    check(rt_net_close(listener), "close");
    rt_cleanup();
}

/* ---- measuring ---- */

/* Processor time so far, of this process or of the clients that have ended. */
static double cpu_ns(int whose)
{
    struct rusage usage;
    getrusage(whose, &usage);
    return ((double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec) * 1e9 +
           ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) * 1e3;
}

struct figures {
    double wall[ROUNDS]; /* ns per message */
    double cpu[ROUNDS];  /* of the server */
    double both[ROUNDS]; /* of server and client */
};

static void measure(void (*round)(void), struct figures *figures, int i)
{
    double server = cpu_ns(RUSAGE_SELF);
    double client = cpu_ns(RUSAGE_CHILDREN);
    double wall = bench_now_ns();
    round();
    figures->wall[i] = (bench_now_ns() - wall) / (double)messages;
    figures->cpu[i] = (cpu_ns(RUSAGE_SELF) - server) / (double)messages;
    figures->both[i] = figures->cpu[i] + (cpu_ns(RUSAGE_CHILDREN) - client) / (double)messages;
}

static void stay_on_one_processor(void)
{
    cpu_set_t allowed;
    cpu_set_t one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return;
    }
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &allowed)) {
            CPU_SET(i, &one);
            break;
        }
    }
    (void)sched_setaffinity(0, sizeof(one), &one);
}

/* Ours first, the one they are compared with last. */
static const struct {
    const char *name;
    void (*round)(void);
} servers[] = {{"actor", actor_round},
               {"task", task_round},
               {"machine", machine_round},
               {"standing", standing_round},
               {"epoll", epoll_round}};

#define SERVERS (sizeof(servers) / sizeof(servers[0]))
#define EPOLL   (SERVERS - 1)

static void report(struct figures *figures)
{
    for (size_t k = 0; k < EPOLL; k++) {
        double ratios[ROUNDS];
        double cpu_ratios[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            ratios[i] = figures[EPOLL].wall[i] / figures[k].wall[i];
            cpu_ratios[i] =
                figures[k].both[i] > 0 ? figures[EPOLL].both[i] / figures[k].both[i] : 0;
        }
        printf("echo_%s_ratio\t%.3f\n", servers[k].name, bench_median(ratios, ROUNDS));
        printf("echo_%s_cpu_ratio\t%.3f\n", servers[k].name, bench_median(cpu_ratios, ROUNDS));
    }
    for (size_t k = 0; k < SERVERS; k++) {
        printf("echo_%s\t%.0f\n", servers[k].name, 1e9 / bench_median(figures[k].wall, ROUNDS));
        printf("echo_%s_cpu_ns\t%.0f\n", servers[k].name, bench_median(figures[k].cpu, ROUNDS));
    }
}

static int run_one(const char *name)
{
    for (size_t k = 0; k < SERVERS; k++) {
        if (strcmp(servers[k].name, name) == 0) {
            servers[k].round();
            return 0;
        }
    }
    fprintf(stderr, "echo_bench: no server is called %s\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    static struct figures figures[SERVERS];
    messages = argc > 1 ? atol(argv[1]) : 50000;
    if (messages < 1) {
        fprintf(stderr, "usage: echo_bench [MESSAGES PER ROUND [SERVER]]\n");
        return 2;
    }
    messages = (messages + CONNECTIONS - 1) / CONNECTIONS * CONNECTIONS;
    stay_on_one_processor();
    if (argc > 2) {
        return run_one(argv[2]);
    }
    for (int i = 0; i < ROUNDS; i++) {
        for (size_t k = 0; k < SERVERS; k++) {
            measure(servers[k].round, &figures[k], i);
        }
    }
    report(figures);
    return 0;
}
