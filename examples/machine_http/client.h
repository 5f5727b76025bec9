/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_H
#define CLIENT_H

/* An HTTP/1.1 client as a machine: one server, one connection that is kept if the server lets it,
 * one GET at a time; others wait in the queue of its port. What it is asked is an op, http_get;
 * what it asks are the ops of the platform.
 *
 *     IDLE --> CONNECTING --> SENDING --> RECEIVING --> ENDING --> IDLE
 *       |                       ^ |            |           ^
 *       +-- a kept connection --+ +-- failure, time, a wish to cancel: from anywhere
 *
 * It is ENDING as long as one of its own ops is under way: only then is the connection closed, the
 * GET answered and the memory used again. A kept connection that ends before a byte of the response
 * came was given up by the server meanwhile: the GET is sent once more, on a new one. */

#include <orrery/rt.h>

#include "response.h"

#define HTTP_REQUEST_MAX 512
#define HTTP_PATH_MAX    256

enum { HTTP_GET = RT_OP_USER };

/* Asks for a resource.
 *
 * Statuses: RT_OK, whatever the server said: `http_status`; RT_ERR_INVALID: what came is no
 * response, or the path is none, `error` says more; RT_ERR_RESOURCE_EXHAUSTED: a limit, `error`;
 * RT_ERR_CLOSED: the connection ended in the middle; RT_ERR_TIMEOUT; RT_ERR_CANCELLED; RT_ERR_IO
 * and others: what connecting, sending or receiving gave. */
struct http_get {
    rt_op base;       /* first; its result: bytes of the body */
    const char *path; /* the initiator's, until the answer, as is the body */
    rt_time timeout;  /* for one try, from its start */
    void *body;
    size_t body_capacity;
    int http_status;           /* answer */
    enum response_error error; /* answer */
    unsigned tries;            /* answer of http_retry: how often it was asked */
};

enum http_client_state {
    CLIENT_IDLE,
    CLIENT_CONNECTING,
    CLIENT_SENDING,
    CLIENT_RECEIVING,
    CLIENT_ENDING,
};

struct http_client {
    rt_machine machine; /* first */
    rt_net_address server;
    enum http_client_state state;
    struct http_get *get; /* the one at work; NULL: IDLE, or closing */
    rt_io_op io;          /* connect, send or receive: one at a time */
    rt_io_op closing;     /* of the connection that is given up */
    rt_timer_op timer;    /* the end of a try */
    int fd;               /* -1: no connection */
    bool is_reused;       /* the connection has served a GET before */
    bool is_kept;         /* ENDING: the connection stays */
    rt_status_code outcome;
    unsigned connections_count; /* made so far */
    struct response response;
    char request[HTTP_REQUEST_MAX];
    char bytes[1024];
};

/* Makes a client of a server as a child of `parent`. */
rt_status http_client_init(rt_machine *parent, struct http_client *client, rt_net_address server);

#endif
