/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_H
#define SERVER_H

/* The server that the client is tried with: for each path a text, good or bad, and a way to send
 * it. It is a machine too, with a child for each connection, on the same loop. */

#include <orrery/rt.h>

#define SERVER_CONNECTIONS_MAX 8
#define SERVER_REQUEST_MAX     1024

struct server;

struct server_connection {
    rt_machine machine; /* first */
    struct server *server;
    rt_io_op op; /* a receive, a send, or the close */
    int fd;
    bool is_used;
    char request[SERVER_REQUEST_MAX];
    size_t request_size;
    const struct server_page *page; /* what is being sent; NULL: a request is awaited */
    const char *text;               /* of it, as it is sent this time */
    size_t sent;
};

struct server {
    rt_machine machine; /* first */
    rt_io_op door;      /* listen, local address, then accepts */
    rt_io_op closing;
    int fd;
    rt_net_address address;
    void (*ready)(struct server *server); /* it listens on `address` */
    unsigned requests_count;
    unsigned connections_count;
    struct server_connection connections[SERVER_CONNECTIONS_MAX];
};

/* Makes a server on a free port of the loopback, as a child of `parent`. */
rt_status server_init(rt_machine *parent, struct server *server, void (*ready)(struct server *));

#endif
