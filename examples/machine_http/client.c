/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <stdio.h>
#include <string.h>

/* Submits an op of its own; on a machine that closes there is nobody to do it for. */
static bool client_submit(struct http_client *self, rt_op *op)
{
    return !RT_FAILED(rt_op_submit(&self->machine, op));
}

/* A try is over, with `outcome`: what is under way is called back, and when it is, client_settle
 * answers. */
static void client_end(struct http_client *self, rt_status_code outcome, bool is_kept)
{
    if (self->state == CLIENT_ENDING) {
        return; /* the first reason counts */
    }
    self->state = CLIENT_ENDING;
    self->outcome = outcome;
    self->is_kept = is_kept;
    (void)rt_op_cancel(&self->machine, &self->io.base);
    (void)rt_op_cancel(&self->machine, &self->timer.base);
}

static void client_ask(struct http_client *self, uint32_t code, void *buffer, size_t length)
{
    rt_op_init(&self->io.base, code);
    rt_op_derive(&self->io.base, &self->get->base);
    self->io.fd = self->fd;
    self->io.buffer = buffer;
    self->io.length = length;
    if (!client_submit(self, &self->io.base)) {
        client_end(self, RT_ERR_CLOSED, false);
    }
}

static void client_connect(struct http_client *self)
{
    self->state = CLIENT_CONNECTING;
    self->is_reused = false;
    self->connections_count++;
    self->io.address = self->server;
    client_ask(self, RT_OP_CONNECT, NULL, 0);
}

static void client_send(struct http_client *self)
{
    self->state = CLIENT_SENDING;
    response_begin(&self->response, self->get->body, self->get->body_capacity);
    client_ask(self, RT_OP_SEND, self->request, strlen(self->request));
}

static void client_receive(struct http_client *self)
{
    self->state = CLIENT_RECEIVING;
    client_ask(self, RT_OP_RECV, self->bytes, sizeof(self->bytes));
}

/* ---- a try begins ---- */

/* A path goes into a line as it is: only what cannot end the line or the word. */
static bool path_is_sound(const char *path)
{
    size_t length = strlen(path);
    if (path[0] != '/' || length > HTTP_PATH_MAX) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (path[i] <= ' ' || path[i] >= 0x7f) {
            return false;
        }
    }
    return true;
}

static void client_start_timer(struct http_client *self, rt_time now)
{
    rt_op_init(&self->timer.base, RT_OP_TIMER);
    rt_op_derive(&self->timer.base, &self->get->base);
    self->timer.deadline = now + self->get->timeout;
    if (!client_submit(self, &self->timer.base)) {
        client_end(self, RT_ERR_CLOSED, false);
    }
}

static void client_begin(struct http_client *self, struct http_get *get, rt_time now)
{
    self->get = get;
    get->http_status = 0;
    get->error = RESPONSE_NO_ERROR;
    response_begin(&self->response, get->body, get->body_capacity);
    if (get->path == NULL || !path_is_sound(get->path)) {
        client_end(self, RT_ERR_INVALID, true);
        return;
    }
    snprintf(self->request, sizeof(self->request),
             "GET %s HTTP/1.1\r\nHost: localhost:%u\r\nAccept: */*\r\n\r\n", get->path,
             (unsigned)self->server.port);
    client_start_timer(self, now);
    if (self->fd < 0) {
        client_connect(self);
    } else {
        self->is_reused = true;
        client_send(self);
    }
}

/* ---- a try goes on ---- */

/* What a response that failed is called as a status. */
static rt_status_code response_status(const struct response *response)
{
    switch (response->error) {
    case RESPONSE_HEAD_TOO_LONG:
    case RESPONSE_BODY_TOO_LONG:
    case RESPONSE_TOO_MANY_INTERIMS:
        return RT_ERR_RESOURCE_EXHAUSTED;
    case RESPONSE_CUT_SHORT:
        return RT_ERR_CLOSED;
    default:
        return RT_ERR_INVALID;
    }
}

static void client_close_fd(struct http_client *self)
{
    rt_op_init(&self->closing.base, RT_OP_FD_CLOSE);
    self->closing.fd = self->fd;
    if (client_submit(self, &self->closing.base)) {
        self->fd = -1;
    }
}

/* The connection ended before the first byte. */
static bool client_is_stale(const struct http_client *self)
{
    return self->is_reused && self->response.received_count == 0;
}

static void client_lost(struct http_client *self, rt_status_code status)
{
    if (client_is_stale(self) && !rt_op_is_submitted(&self->closing.base)) {
        client_close_fd(self);
        client_connect(self);
    } else {
        client_end(self, status, false);
    }
}

static void client_received(struct http_client *self, size_t count)
{
    size_t used = count;
    if (count == 0) {
        response_end(&self->response);
    } else {
        used = response_feed(&self->response, self->bytes, count);
    }
    if (self->response.progress == RESPONSE_MORE) {
        client_receive(self);
    } else if (self->response.progress == RESPONSE_FAILED) {
        rt_status_code status = response_status(&self->response);
        if (status == RT_ERR_CLOSED) {
            client_lost(self, status);
        } else {
            client_end(self, status, false);
        }
    } else {
        /* Bytes that nobody asked for: who knows what comes next. */
        client_end(self, RT_OK, self->response.can_be_followed && used == count);
    }
}

static void client_io_done(struct http_client *self)
{
    const rt_op *op = &self->io.base;
    if (op->code == RT_OP_CONNECT && op->status == RT_OK) {
        self->fd = (int)op->result;
    }
    if (self->get == NULL || self->state == CLIENT_ENDING) {
        return;
    }
    if (op->status != RT_OK) {
        if (self->state == CLIENT_CONNECTING) {
            client_end(self, op->status, false);
        } else {
            client_lost(self, op->status);
        }
        return;
    }
    switch (self->state) {
    case CLIENT_CONNECTING:
        client_send(self);
        break;
    case CLIENT_SENDING:
        client_receive(self);
        break;
    default:
        client_received(self, (size_t)op->result);
        break;
    }
}

/* ---- a try ends ---- */

/* Everything of its own is back: the connection is kept or not, the GET is answered. */
static void client_settle(struct http_client *self)
{
    if (rt_op_is_submitted(&self->io.base) || rt_op_is_submitted(&self->timer.base) ||
        rt_op_is_submitted(&self->closing.base)) {
        return;
    }
    bool is_closing = rt_machine_is_closing(&self->machine);
    if (self->fd >= 0 && (is_closing || (self->state == CLIENT_ENDING && !self->is_kept))) {
        client_close_fd(self);
    }
    if (self->state == CLIENT_ENDING && self->get != NULL && !is_closing) {
        struct http_get *get = self->get;
        get->error = self->response.error;
        get->http_status = self->outcome == RT_OK ? self->response.status : 0;
        self->get = NULL;
        self->state = CLIENT_IDLE;
        rt_op_complete(&self->machine, &get->base, self->outcome,
                       (int64_t)self->response.body_size);
    }
}

static void client_tick(rt_machine *machine, rt_time now)
{
    struct http_client *self = (struct http_client *)machine;
    rt_op *op;
    if (rt_machine_is_closing(machine)) {
        self->get = NULL; /* it is answered by the library */
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_CANCELLATIONS)) != NULL) {
        client_end(self, RT_ERR_CANCELLED, false);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (op == &self->io.base) {
            client_io_done(self);
        } else if (op == &self->timer.base && op->status == RT_OK && self->get != NULL) {
            client_end(self, RT_ERR_TIMEOUT, false);
        }
    }
    client_settle(self);
    if (self->state == CLIENT_IDLE && !rt_op_is_submitted(&self->closing.base) &&
        (op = rt_machine_next(machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        if (op->code == HTTP_GET) {
            client_begin(self, (struct http_get *)op, now);
        } else {
            rt_op_complete(machine, op, RT_ERR_UNSUPPORTED, 0);
        }
        rt_machine_wake(machine); /* it may have ended at once, and others may wait */
    }
}

rt_status http_client_init(rt_machine *parent, struct http_client *self, rt_net_address server)
{
    const rt_machine_config config = {.tick = client_tick};
    *self = (struct http_client){.server = server, .fd = -1, .state = CLIENT_IDLE};
    rt_op_init(&self->io.base, RT_OP_NOP);
    rt_op_init(&self->timer.base, RT_OP_TIMER);
    rt_op_init(&self->closing.base, RT_OP_FD_CLOSE);
    return rt_machine_init_child(parent, &self->machine, &config);
}
