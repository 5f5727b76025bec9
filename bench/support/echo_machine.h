/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ECHO_MACHINE_H
#define ECHO_MACHINE_H

/* The echo server as machines: an app machine that accepts, and a child for each connection. One
 * loop, one thread; the children's ops pass through the app, as all ops of children do. There are
 * two ways to write the child:
 *
 *     one-shot   it receives, sends what it got, and receives again, with one op
 *     standing   one receive stands as long as the connection, fills a ring and rings a doorbell;
 *                what is in the ring is sent
 *
 * Include it in one file of a program. */

#include <orrery/rt.h>

#include "support/bench.h"

#ifndef ECHO_MACHINE_CONNECTIONS
#define ECHO_MACHINE_CONNECTIONS 64
#endif

struct echo_connection {
    rt_machine machine; /* first */
    rt_io_op op;        /* a receive, a send, a receive, ..., the close; standing: no receive */
    rt_io_op standing;
    rt_recv_ring ring;
    char bytes[1024];
    char ring_bytes[1024];
};

static struct {
    rt_machine machine; /* first */
    rt_io_op accepting;
    int listener;
    unsigned accepted;
    unsigned ended;
    bool has_begun;
    bool is_standing;
    rt_loop loop;
    rt_loop_port port;
    rt_machine_slot slots[ECHO_MACHINE_CONNECTIONS + 2];
    struct echo_connection connections[ECHO_MACHINE_CONNECTIONS];
} echo_app;

static void echo_machine_must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "echo_bench: machine: %s\n", rt_status_text(status.code));
        exit(1);
    }
}

static void echo_receive(struct echo_connection *self)
{
    rt_op_init(&self->op.base, RT_OP_RECV);
    self->op.length = sizeof(self->bytes);
    echo_machine_must(rt_op_submit(&self->machine, &self->op.base));
}

static void echo_send(struct echo_connection *self, size_t length)
{
    rt_op_init(&self->op.base, RT_OP_SEND);
    self->op.length = length;
    echo_machine_must(rt_op_submit(&self->machine, &self->op.base));
}

static void echo_close(struct echo_connection *self)
{
    rt_machine_close(&self->machine);
    rt_op_init(&self->op.base, RT_OP_FD_CLOSE);
    echo_machine_must(rt_op_submit(&self->machine, &self->op.base));
}

static void echo_tick(rt_machine *machine, rt_time now)
{
    struct echo_connection *self = (struct echo_connection *)machine;
    rt_op *op;
    (void)now;
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (op->code == RT_OP_FD_CLOSE) {
            continue;
        }
        if (op->status != RT_OK || op->result == 0) {
            echo_close(self);
        } else if (op->code == RT_OP_RECV) {
            echo_send(self, (size_t)op->result);
        } else {
            echo_receive(self);
        }
    }
}

/* Sends what is in the ring, if nothing is being sent. */
static void echo_send_ring(struct echo_connection *self)
{
    size_t size;
    if (!rt_op_is_submitted(&self->op.base) &&
        (size = rt_recv_ring_read(&self->ring, self->bytes, sizeof(self->bytes))) > 0) {
        echo_send(self, size);
    }
}

static void echo_standing_tick(rt_machine *machine, rt_time now)
{
    struct echo_connection *self = (struct echo_connection *)machine;
    rt_op *op;
    (void)now;
    while (rt_machine_next(machine, RT_QUEUE_NOTIFICATIONS) != NULL) {
        echo_send_ring(self);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (op == &self->standing.base) {
            echo_close(self); /* the client has closed, after its last answer */
        } else if (op->code == RT_OP_SEND) {
            echo_send_ring(self);
        }
    }
}

static void echo_stand(struct echo_connection *self)
{
    echo_machine_must(rt_recv_ring_init(&self->ring, self->ring_bytes, sizeof(self->ring_bytes),
                                        RT_RECV_DROP_NEWEST));
    rt_op_init(&self->standing.base, RT_OP_RECV_RING);
    self->standing.fd = self->op.fd;
    self->standing.ring = &self->ring;
    echo_machine_must(rt_op_submit(&self->machine, &self->standing.base));
}

static void echo_closed(rt_machine *machine)
{
    (void)machine;
    if (++echo_app.ended == ECHO_MACHINE_CONNECTIONS) {
        rt_loop_close(&echo_app.loop);
    }
}

static void echo_open(int fd)
{
    struct echo_connection *self = &echo_app.connections[echo_app.accepted++];
    const rt_machine_config config = {.tick = echo_app.is_standing ? echo_standing_tick : echo_tick,
                                      .on_closed = echo_closed};
    echo_machine_must(rt_machine_init_child(&echo_app.machine, &self->machine, &config));
    self->op.fd = fd;
    self->op.buffer = self->bytes;
    if (echo_app.is_standing) {
        rt_op_init(&self->op.base, RT_OP_SEND);
        echo_stand(self);
    } else {
        echo_receive(self);
    }
}

static void echo_accept(void)
{
    rt_op_init(&echo_app.accepting.base, RT_OP_ACCEPT);
    echo_app.accepting.fd = echo_app.listener;
    echo_machine_must(rt_op_submit(&echo_app.machine, &echo_app.accepting.base));
}

static void echo_app_tick(rt_machine *machine, rt_time now)
{
    rt_op *op;
    (void)now;
    if (!echo_app.has_begun) {
        echo_app.has_begun = true;
        echo_accept();
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        echo_machine_must((rt_status){op->status, NULL});
        echo_open((int)op->result);
        if (echo_app.accepted < ECHO_MACHINE_CONNECTIONS) {
            echo_accept();
        }
    }
}

/* Serves ECHO_MACHINE_CONNECTIONS connections of a listening socket, until all have ended. */
static void echo_machine_serve(int listener_fd, bool is_standing)
{
    echo_app.listener = listener_fd;
    echo_app.is_standing = is_standing;
    echo_app.accepted = 0;
    echo_app.ended = 0;
    echo_app.has_begun = false;
    echo_machine_must(rt_loop_port_init(&echo_app.port, NULL));
    const rt_loop_config config = {.port = rt_loop_port_of(&echo_app.port),
                                   .app = &echo_app.machine,
                                   .app_config = {.tick = echo_app_tick},
                                   .slots = echo_app.slots,
                                   .slots_count = ECHO_MACHINE_CONNECTIONS + 2};
    echo_machine_must(rt_loop_init(&echo_app.loop, &config));
    echo_machine_must(rt_loop_run(&echo_app.loop));
    rt_loop_deinit(&echo_app.loop);
    rt_loop_port_deinit(&echo_app.port);
}

#endif
