/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct server_page {
    const char *path;
    const char *text;
    const char *text_at_first; /* for the first `bad_count` requests */
    unsigned bad_count;
    bool is_bytewise; /* a byte at a time */
    bool closes;      /* the connection, when the text is out */
    bool is_silent;   /* and answers nothing at all */
};

#define OK   "HTTP/1.1 200 OK\r\n"
#define TE   "Transfer-Encoding: chunked\r\n"
#define BUSY "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"

static char endless_head[16 * 1024]; /* filled at the start */

static const struct server_page pages[] = {
    {.path = "/hello", .text = OK "Content-Length: 5\r\n\r\nhello"},
    {.path = "/chunked", .text = OK TE "\r\n6\r\nhello \r\n6;x=y\r\nchunks\r\n0\r\nX: y\r\n\r\n"},
    {.path = "/split",
     .text = OK "X-Long: a header that comes byte by byte\r\n" TE
                "\r\n5\r\nslowl\r\n1\r\ny\r\n0\r\n\r\n",
     .is_bytewise = true},
    {.path = "/empty", .text = "HTTP/1.1 204 No Content\r\n\r\n"},
    {.path = "/missing", .text = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"},
    {.path = "/interim",
     .text = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK "Content-Length: 5\r\n\r\nafter"},
    {.path = "/close",
     .text = OK "Connection: close\r\nContent-Length: 3\r\n\r\nbye",
     .closes = true},
    {.path = "/to-the-end", .text = OK "\r\nas much as there is", .closes = true},
    /* Says that it stays, and goes: the next GET finds a connection that has ended. */
    {.path = "/goes", .text = OK "Content-Length: 4\r\n\r\ngone", .closes = true},
    {.path = "/flaky",
     .text = OK "Content-Length: 7\r\n\r\nat last",
     .text_at_first = BUSY,
     .bad_count = 2},
    {.path = "/breaks",
     .text = OK "Content-Length: 5\r\n\r\nwhole",
     .text_at_first = OK "Content-Length: 5\r\n\r\nwh",
     .bad_count = 1,
     .closes = true},
    {.path = "/busy", .text = BUSY},
    {.path = "/garbage", .text = "this is no HTTP at all\r\n\r\n"},
    {.path = "/two-lengths", .text = OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy"},
    {.path = "/bad-chunk", .text = OK TE "\r\n5\r\nhello!\r\n0\r\n\r\n"},
    {.path = "/too-long", .text = OK "Content-Length: 1000000\r\n\r\nxxxx"},
    {.path = "/too-long-chunk", .text = OK TE "\r\n5\r\nhello\r\nfffffff\r\nxxxx"},
    {.path = "/endless-head", .text = endless_head},
    {.path = "/talkative", .text = OK "Content-Length: 2\r\n\r\nhi and more that nobody asked for"},
    {.path = "/silent", .text = "", .is_silent = true},
};

#define PAGES (sizeof(pages) / sizeof(pages[0]))

static unsigned asked_count[PAGES];

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "machine_http: server: %s\n", rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

static void ask(rt_machine *machine, rt_io_op *op, uint32_t code, int fd)
{
    rt_op_init(&op->base, code);
    op->fd = fd;
    must(rt_op_submit(machine, &op->base));
}

/* ---- a connection ---- */

static void connection_receive(struct server_connection *self)
{
    self->op.buffer = self->request + self->request_size;
    self->op.length = sizeof(self->request) - self->request_size;
    ask(&self->machine, &self->op, RT_OP_RECV, self->fd);
}

static void connection_close(struct server_connection *self)
{
    rt_machine_close(&self->machine);
    ask(&self->machine, &self->op, RT_OP_FD_CLOSE, self->fd);
}

static void connection_send(struct server_connection *self)
{
    size_t left = strlen(self->text) - self->sent;
    if (left == 0 && self->page->closes) {
        connection_close(self);
    } else if (left == 0) {
        self->page = NULL;
        connection_receive(self);
    } else {
        self->op.buffer = (char *)(uintptr_t)(self->text + self->sent);
        self->op.length = self->page->is_bytewise ? 1 : left;
        ask(&self->machine, &self->op, RT_OP_SEND, self->fd);
    }
}

static void connection_answer(struct server_connection *self, const char *path)
{
    self->server->requests_count++;
    self->request_size = 0;
    self->sent = 0;
    for (size_t i = 0; i < PAGES; i++) {
        if (strcmp(pages[i].path, path) == 0) {
            bool is_bad = asked_count[i]++ < pages[i].bad_count;
            self->page = &pages[i];
            self->text = is_bad ? pages[i].text_at_first : pages[i].text;
            if (pages[i].is_silent) {
                self->page = NULL;
                connection_receive(self); /* until the client has enough of it */
            } else {
                connection_send(self);
            }
            return;
        }
    }
    connection_close(self);
}

static void connection_received(struct server_connection *self, size_t count)
{
    self->request_size += count;
    if (count == 0 || self->request_size == sizeof(self->request)) {
        connection_close(self);
        return;
    }
    self->request[self->request_size] = '\0';
    if (strstr(self->request, "\r\n\r\n") == NULL) {
        connection_receive(self);
        return;
    }
    char path[64];
    if (sscanf(self->request, "GET %63s HTTP/1.1\r\n", path) != 1) {
        connection_close(self);
        return;
    }
    connection_answer(self, path);
}

static void connection_tick(rt_machine *machine, rt_time now)
{
    struct server_connection *self = (struct server_connection *)machine;
    rt_op *op;
    (void)now;
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (op->code == RT_OP_FD_CLOSE) {
            continue;
        }
        if (rt_machine_is_closing(machine)) {
            ask(machine, &self->op, RT_OP_FD_CLOSE, self->fd);
        } else if (op->status != RT_OK) {
            connection_close(self);
        } else if (op->code == RT_OP_RECV) {
            connection_received(self, (size_t)op->result);
        } else {
            self->sent += (size_t)op->result;
            connection_send(self);
        }
    }
}

static void connection_closed(rt_machine *machine)
{
    ((struct server_connection *)machine)->is_used = false;
}

/* ---- the server ---- */

static void server_accepted(struct server *self, int fd)
{
    const rt_machine_config config = {.tick = connection_tick, .on_closed = connection_closed};
    for (unsigned i = 0; i < SERVER_CONNECTIONS_MAX; i++) {
        struct server_connection *connection = &self->connections[i];
        if (!connection->is_used) {
            *connection = (struct server_connection){.server = self, .fd = fd, .is_used = true};
            must(rt_machine_init_child(&self->machine, &connection->machine, &config));
            self->connections_count++;
            connection_receive(connection);
            return;
        }
    }
    fprintf(stderr, "machine_http: server: too many connections\n");
    exit(EXIT_FAILURE);
}

static void server_answer(struct server *self, const rt_op *op)
{
    must((rt_status){op->status, NULL});
    switch (op->code) {
    case RT_OP_LISTEN:
        self->fd = (int)op->result;
        ask(&self->machine, &self->door, RT_OP_LOCAL_ADDRESS, self->fd);
        return;
    case RT_OP_LOCAL_ADDRESS:
        self->address = self->door.address;
        self->ready(self);
        break;
    default:
        server_accepted(self, (int)op->result);
        break;
    }
    ask(&self->machine, &self->door, RT_OP_ACCEPT, self->fd);
}

static void server_tick(rt_machine *machine, rt_time now)
{
    struct server *self = (struct server *)machine;
    rt_op *op;
    (void)now;
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (!rt_machine_is_closing(machine)) {
            server_answer(self, op);
        }
    }
    if (rt_machine_is_closing(machine) && self->fd >= 0) {
        ask(machine, &self->closing, RT_OP_FD_CLOSE, self->fd);
        self->fd = -1;
    }
}

static void fill_endless_head(void)
{
    int used = snprintf(endless_head, sizeof(endless_head), OK);
    while ((size_t)used < sizeof(endless_head) - 64) {
        used += snprintf(endless_head + used, sizeof(endless_head) - (size_t)used,
                         "X-Fill: and on and on\r\n");
    }
}

rt_status server_init(rt_machine *parent, struct server *self, void (*ready)(struct server *))
{
    const rt_machine_config config = {.tick = server_tick};
    fill_endless_head();
    *self = (struct server){.fd = -1, .ready = ready};
    rt_status status = rt_machine_init_child(parent, &self->machine, &config);
    if (!RT_FAILED(status)) {
        self->door.address = (rt_net_address){.ip = {127, 0, 0, 1}};
        ask(&self->machine, &self->door, RT_OP_LISTEN, -1);
    }
    return status;
}
