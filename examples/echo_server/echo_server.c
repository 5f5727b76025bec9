/* SPDX-License-Identifier: Apache-2.0 */
/* An echo server with an actor per connection, and a thousand clients to try it.
 *
 *     echo_server PORT         serves until it is interrupted; try: nc localhost PORT
 *     echo_server --test N     serves N clients of its own, all connected at the same time
 *
 * An actor per connection makes the code of a server what it would be for one client: receive,
 * send, until the peer is gone. What it costs is a stack per connection, here 8 KB, and limits that
 * allow so many actors and waiting calls: build.cmake in this folder sets them.
 *
 * Tested: echo_server --test 1000 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <orrery/rt.h>

#define STACK_SIZE  8192
#define BUFFER_SIZE 1024
#define ROUNDS      5
#define CONNECT_MS  20000
#define RECEIVE_MS  20000

static const actor_config small = {.stack_size = STACK_SIZE, .priority = RT_PRIO_NORMAL};

static void must(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "echo_server: %s: %s\n", what,
                status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

/* Sends everything. Returns false if the peer is gone. */
static bool send_all(int socket, const char *bytes, size_t len)
{
    size_t sent;
    return !RT_FAILED(rt_net_send(socket, bytes, len, &sent, -1)) && sent == len;
}

/* ---- The server ---- */

/* Serves one connection, then closes it. The socket is the argument itself: it must not lie on a
 * stack that others go on to use. */
static void connection(void *arg)
{
    int socket = (int)(intptr_t)arg;
    char buffer[BUFFER_SIZE];
    size_t received;
    while (!RT_FAILED(rt_net_recv(socket, buffer, sizeof(buffer), &received, -1)) &&
           send_all(socket, buffer, received)) {
    }
    (void)rt_net_close(socket);
    rt_exit();
}

/* Accepts connections for ever. */
static void server(void *arg)
{
    int listener = (int)(intptr_t)arg;
    for (;;) {
        int socket;
        rt_status status = rt_net_accept(listener, &socket, -1);
        if (status.code == RT_ERR_CLOSED) {
            rt_exit(); /* somebody closed the listening socket: no more connections */
        }
        must(status, "accept");
        if (rt_spawn_ex(connection, (void *)(intptr_t)socket, &small) == ACTOR_ID_INVALID) {
            (void)rt_net_close(socket); /* full: better refused than kept waiting */
        }
    }
}

static int server_start(uint16_t port)
{
    int listener;
    must(rt_net_listen(port, &listener), "listen");
    if (rt_spawn_ex(server, (void *)(intptr_t)listener, &small) == ACTOR_ID_INVALID) {
        must((rt_status){RT_ERR_NOMEM, NULL}, "the server");
    }
    return listener;
}

/* ---- The clients ---- */

/* What a client is told, and where it counts. The trial owns it. */
struct client {
    actor_id trial;
    uint16_t port;
    unsigned number;
    unsigned rounds; /* echoes that were right */
};

/* Receives exactly `len` bytes. */
static bool receive_all(int socket, char *bytes, size_t len)
{
    for (size_t have = 0; have < len;) {
        size_t received;
        if (RT_FAILED(rt_net_recv(socket, bytes + have, len - have, &received, RECEIVE_MS))) {
            return false;
        }
        have += received;
    }
    return true;
}

/* Connects, says so, waits for the start signal, then demands its own words back. */
static void client(void *arg)
{
    struct client *self = arg;
    int socket;
    if (RT_FAILED(rt_net_connect("127.0.0.1", self->port, &socket, CONNECT_MS)) ||
        RT_FAILED(rt_ipc_send(self->trial, NULL, 0, IPC_ASYNC))) {
        return;
    }
    rt_message go;
    if (RT_FAILED(rt_ipc_recv(&go, -1))) {
        return;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        char words[64], echo[64];
        int len = snprintf(words, sizeof(words), "client %u, round %u", self->number, round);
        if (!send_all(socket, words, (size_t)len) || !receive_all(socket, echo, (size_t)len) ||
            memcmp(words, echo, (size_t)len) != 0) {
            return;
        }
        self->rounds++;
    }
    (void)rt_net_close(socket);
    rt_exit();
}

/* Starts the server and the clients; lets them talk once all are connected. */
struct trial {
    unsigned count;
    struct client *clients;
    actor_id *ids;
    unsigned ended_well;
};

static void trial(void *arg)
{
    struct trial *self = arg;
    int listener = server_start(0);
    uint16_t port;
    must(rt_net_local_port(listener, &port), "the port");
    for (unsigned i = 0; i < self->count; i++) {
        uint32_t ref;
        self->clients[i] = (struct client){.trial = rt_self(), .port = port, .number = i};
        self->ids[i] = rt_spawn_ex(client, &self->clients[i], &small);
        must(rt_monitor(self->ids[i], &ref), "a client");
    }
    rt_message msg;
    for (unsigned i = 0; i < self->count; i++) {
        must(rt_ipc_recv(&msg, -1), "waiting for connections");
        if (rt_is_exit_msg(&msg)) {
            must((rt_status){RT_ERR_CLOSED, "a client could not connect"}, "the trial");
        }
    }
    printf("%u connections are open\n", self->count);
    for (unsigned i = 0; i < self->count; i++) {
        must(rt_ipc_send(self->ids[i], NULL, 0, IPC_ASYNC), "the start signal");
    }
    for (unsigned i = 0; i < self->count; i++) {
        rt_exit_msg end;
        must(rt_ipc_recv(&msg, -1), "waiting for the clients");
        must(rt_decode_exit(&msg, &end), "the end of a client");
        self->ended_well += end.reason == RT_EXIT_NORMAL ? 1 : 0;
    }
    must(rt_net_close(listener), "closing"); /* ends the server */
    rt_exit();
}

/* Both ends of each connection are descriptors of this process. */
static void raise_descriptor_limit(unsigned wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool try_with(unsigned count)
{
    struct trial self = {.count = count,
                         .clients = calloc(count, sizeof(struct client)),
                         .ids = calloc(count, sizeof(actor_id))};
    raise_descriptor_limit(2 * count + 64);
    must(rt_init(), "rt_init");
    if (rt_spawn(trial, &self) == ACTOR_ID_INVALID) {
        return false;
    }
    rt_run();
    rt_cleanup();
    unsigned rounds = 0;
    for (unsigned i = 0; i < count; i++) {
        rounds += self.clients[i].rounds;
    }
    printf("%u of %u clients had all their words back, %u echoes in all\n", self.ended_well, count,
           rounds);
    free(self.clients);
    free(self.ids);
    return self.ended_well == count && rounds == count * ROUNDS;
}

static void interrupted(int number)
{
    (void)number;
    rt_shutdown(); /* one of the few calls that a signal handler may make */
}

static void serve(uint16_t port)
{
    must(rt_init(), "rt_init");
    (void)server_start(port);
    signal(SIGINT, interrupted);
    rt_run();
    rt_cleanup();
    printf("\nno more echoes\n");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--test") == 0) {
        return try_with((unsigned)strtoul(argv[2], NULL, 10)) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: echo_server PORT | --test N\n");
        return EXIT_FAILURE;
    }
    serve((uint16_t)strtoul(argv[1], NULL, 10));
    return EXIT_SUCCESS;
}
