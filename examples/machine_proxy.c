/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP proxy whose connections are machines, with the clients and the server that try it.
 *
 *     machine_proxy [N]        100 connections unless N says otherwise
 *
 * One loop, one thread, no stack per connection and no allocation. The app machine accepts; each
 * connection through the proxy is a child with two directions, each of them one receive or one send
 * at a time. An echo server and N clients are children too: every client sends a text and demands
 * it back. When the last one has, the app closes everything, and the loop ends by itself.
 *
 *     client --> [proxy: two pumps] --> echo
 *
 * Tested: machine_proxy 1000 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <orrery/rt.h>

#define CONNECTIONS_MAX 1000
#define TEXT_SIZE       64
#define FDS_MAX         (8 * CONNECTIONS_MAX)

/* Bytes from one socket to another, until the first one ends. */
struct pump {
    rt_io_op op; /* a receive, then a send, then a receive */
    int from;
    int to;
    char bytes[TEXT_SIZE];
};

/* A connection that answers itself (echo), or leads on to the server (proxy). */
struct pipe {
    rt_machine machine; /* first */
    rt_io_op connecting;
    rt_io_op closing[2];
    struct pump pumps[2];
    int fds[2];
    bool is_used;
};

struct client {
    rt_machine machine; /* first */
    rt_io_op op;
    int fd;
    char sent[TEXT_SIZE];
    char got[TEXT_SIZE];
    size_t got_size;
};

struct door {
    rt_io_op op; /* listen, then accepts */
    int fd;
    bool leads_on; /* to the echo server; else what comes is echoed */
    struct pipe *pipes;
};

static struct {
    rt_machine machine; /* first */
    struct door proxy;
    struct door echo;
    rt_io_op local[2];
    rt_net_address address[2]; /* of proxy and echo */
    unsigned clients_count;
    unsigned clients_done;
} app;

static struct pipe proxy_pipes[CONNECTIONS_MAX];
static struct pipe echo_pipes[CONNECTIONS_MAX];
static struct client clients[CONNECTIONS_MAX];
static rt_loop loop;
static rt_loop_port port;
static rt_loop_fd fds[FDS_MAX];
static rt_machine_slot slots[3 * CONNECTIONS_MAX + 2];

static void must(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "machine_proxy: %s: %s\n", what,
                status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

static void ask(rt_machine *machine, rt_io_op *op, uint32_t code)
{
    rt_op_init(&op->base, code);
    must(rt_op_submit(machine, &op->base), "submit");
}

/* ---- a connection ---- */

static void pump_receive(rt_machine *machine, struct pump *pump)
{
    pump->op.fd = pump->from;
    pump->op.buffer = pump->bytes;
    pump->op.length = sizeof(pump->bytes);
    ask(machine, &pump->op, RT_OP_RECV);
}

/* What one direction does with the answer to its last op. True: it goes on. */
static bool pump_turn(rt_machine *machine, struct pump *pump)
{
    const rt_op *op = &pump->op.base;
    if (op->status != RT_OK || op->result == 0) {
        return false;
    }
    if (op->code == RT_OP_SEND) {
        pump_receive(machine, pump);
        return true;
    }
    pump->op.fd = pump->to;
    pump->op.length = (size_t)op->result;
    ask(machine, &pump->op, RT_OP_SEND);
    return true;
}

static void pipe_close(struct pipe *pipe)
{
    if (rt_machine_is_closing(&pipe->machine)) {
        return;
    }
    rt_machine_close(&pipe->machine);
    for (unsigned i = 0; i < 2; i++) {
        if (pipe->fds[i] >= 0) {
            pipe->closing[i].fd = pipe->fds[i];
            ask(&pipe->machine, &pipe->closing[i], RT_OP_FD_CLOSE);
            pipe->fds[i] = -1;
        }
    }
}

static void pipe_join(struct pipe *pipe, int first, int second)
{
    pipe->pumps[0].from = first;
    pipe->pumps[0].to = second;
    pump_receive(&pipe->machine, &pipe->pumps[0]);
    if (first != second) {
        pipe->pumps[1].from = second;
        pipe->pumps[1].to = first;
        pump_receive(&pipe->machine, &pipe->pumps[1]);
    }
}

static void pipe_answer(struct pipe *pipe, rt_op *op)
{
    if (op == &pipe->connecting.base) {
        if (op->status == RT_OK) {
            pipe->fds[1] = (int)op->result;
        }
        if (op->status != RT_OK || rt_machine_is_closing(&pipe->machine)) {
            pipe_close(pipe);
            return;
        }
        pipe_join(pipe, pipe->fds[0], pipe->fds[1]);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (op == &pipe->pumps[i].op.base && !rt_machine_is_closing(&pipe->machine) &&
            !pump_turn(&pipe->machine, &pipe->pumps[i])) {
            pipe_close(pipe);
        }
    }
}

static void pipe_tick(rt_machine *machine, rt_time now)
{
    rt_op *op;
    (void)now;
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        pipe_answer((struct pipe *)machine, op);
    }
}

static void pipe_closed(rt_machine *machine)
{
    ((struct pipe *)machine)->is_used = false;
}

static void pipe_open(struct door *door, int fd)
{
    struct pipe *pipe = door->pipes;
    while (pipe->is_used) {
        pipe++; /* as many as there are clients: one is free */
    }
    const rt_machine_config config = {.tick = pipe_tick, .on_closed = pipe_closed};
    must(rt_machine_init_child(&app.machine, &pipe->machine, &config), "a connection");
    pipe->is_used = true;
    pipe->fds[0] = fd;
    pipe->fds[1] = -1;
    if (door->leads_on) {
        pipe->connecting.address = app.address[1];
        ask(&pipe->machine, &pipe->connecting, RT_OP_CONNECT);
    } else {
        pipe_join(pipe, fd, fd);
    }
}

/* ---- a client ---- */

static void client_answer(struct client *client, rt_op *op)
{
    if (op->code == RT_OP_FD_CLOSE || rt_machine_is_closing(&client->machine)) {
        return;
    }
    must((rt_status){op->status, NULL}, "a client");
    switch (op->code) {
    case RT_OP_CONNECT:
        client->fd = (int)op->result;
        client->op.fd = client->fd;
        client->op.buffer = client->sent;
        client->op.length = strlen(client->sent);
        ask(&client->machine, &client->op, RT_OP_SEND);
        return;
    case RT_OP_RECV:
        client->got_size += (size_t)op->result;
        break;
    default:
        break;
    }
    if (client->got_size < strlen(client->sent)) {
        client->op.buffer = client->got + client->got_size;
        client->op.length = sizeof(client->got) - client->got_size;
        ask(&client->machine, &client->op, RT_OP_RECV);
        return;
    }
    if (memcmp(client->got, client->sent, client->got_size) != 0) {
        fprintf(stderr, "machine_proxy: another text came back: %s\n", client->got);
        exit(EXIT_FAILURE);
    }
    app.clients_done++;
    rt_machine_close(&client->machine);
    ask(&client->machine, &client->op, RT_OP_FD_CLOSE);
}

static void client_tick(rt_machine *machine, rt_time now)
{
    rt_op *op;
    (void)now;
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        client_answer((struct client *)machine, op);
    }
}

static void client_open(unsigned number)
{
    struct client *client = &clients[number];
    const rt_machine_config config = {.tick = client_tick};
    must(rt_machine_init_child(&app.machine, &client->machine, &config), "a client");
    snprintf(client->sent, sizeof(client->sent), "the text of client %u", number);
    client->op.address = app.address[0];
    ask(&client->machine, &client->op, RT_OP_CONNECT);
}

/* ---- the app ---- */

static void door_listen(struct door *door)
{
    door->op.address = (rt_net_address){.ip = {127, 0, 0, 1}};
    ask(&app.machine, &door->op, RT_OP_LISTEN);
}

static void door_answer(struct door *door, rt_io_op *local)
{
    const rt_op *op = &door->op.base;
    if (op->status == RT_ERR_CANCELLED) {
        return;
    }
    must((rt_status){op->status, NULL}, "listen or accept");
    if (op->code == RT_OP_LISTEN) {
        door->fd = (int)op->result;
        door->op.fd = door->fd;
        local->fd = door->fd;
        ask(&app.machine, local, RT_OP_LOCAL_ADDRESS);
    } else {
        pipe_open(door, (int)op->result);
    }
    ask(&app.machine, &door->op, RT_OP_ACCEPT);
}

static void app_answer(rt_op *op)
{
    for (unsigned i = 0; i < 2; i++) {
        if (op == &app.local[i].base && op->code == RT_OP_LOCAL_ADDRESS) {
            app.address[i] = app.local[i].address;
        }
    }
    if (op == &app.proxy.op.base) {
        door_answer(&app.proxy, &app.local[0]);
    } else if (op == &app.echo.op.base) {
        door_answer(&app.echo, &app.local[1]);
    } else if (op->code == RT_OP_LOCAL_ADDRESS && app.address[0].port != 0 &&
               app.address[1].port != 0) {
        for (unsigned i = 0; i < app.clients_count; i++) {
            client_open(i);
        }
    }
}

static void app_end(void)
{
    rt_loop_close(&loop);
    rt_machine_close(&app.machine);
    app.local[0].fd = app.proxy.fd;
    app.local[1].fd = app.echo.fd;
    ask(&app.machine, &app.local[0], RT_OP_FD_CLOSE);
    ask(&app.machine, &app.local[1], RT_OP_FD_CLOSE);
}

static void app_tick(rt_machine *machine, rt_time now)
{
    rt_op *op;
    (void)now;
    if (app.proxy.pipes == NULL) {
        app.proxy = (struct door){.pipes = proxy_pipes, .leads_on = true};
        app.echo = (struct door){.pipes = echo_pipes};
        door_listen(&app.proxy);
        door_listen(&app.echo);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (!rt_machine_is_closing(machine)) {
            app_answer(op);
        }
    }
    if (app.clients_done == app.clients_count && !rt_machine_is_closing(machine)) {
        app_end();
    }
}

/* Four descriptors a connection are more than most shells allow a program by default. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max < FDS_MAX ? limit.rlim_max : FDS_MAX;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    app.clients_count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100;
    if (app.clients_count == 0 || app.clients_count > CONNECTIONS_MAX) {
        fprintf(stderr, "machine_proxy: 1 to %d connections\n", CONNECTIONS_MAX);
        return EXIT_FAILURE;
    }
    allow_descriptors();
    const rt_loop_port_config port_config = {.fds = fds, .fds_count = FDS_MAX};
    must(rt_loop_port_init(&port, &port_config), "the port");
    const rt_loop_config config = {.port = rt_loop_port_of(&port),
                                   .app = &app.machine,
                                   .app_config = {.tick = app_tick},
                                   .slots = slots,
                                   .slots_count = 3 * CONNECTIONS_MAX + 2};
    must(rt_loop_init(&loop, &config), "the loop");
    must(rt_loop_run(&loop), "the run");
    rt_loop_stats stats;
    rt_loop_get_stats(&loop, &stats);
    printf("%u texts through the proxy: %" PRIu64 " ops, %" PRIu64 " turns, %" PRIu64 " ticks\n",
           app.clients_done, stats.submitted, stats.turns, stats.ticks);
    rt_loop_deinit(&loop);
    rt_loop_port_deinit(&port);
    return app.clients_done == app.clients_count ? EXIT_SUCCESS : EXIT_FAILURE;
}
