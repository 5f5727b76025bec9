/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.1 client that is a state machine, in a parent that tries again, and the server that
 * tries them: all of it on one loop and one thread, without an allocation.
 *
 *     app --- retry --- client          app asks retry for a page, with an op
 *      |                   |            retry has its child do it, as often as it takes
 *      |--- server --- connections      client connects, sends, receives and reads
 *
 *     machine_http          gets the pages below and says what came of each
 *     machine_http FILE     and writes its journal there: orrery journal --tree FILE
 *
 * response.[ch] reads responses, client.[ch] is the state machine of a connection, retry.[ch] its
 * parent, server.[ch] the other side. What this shows of machines: a child's ops pass through its
 * parent; an op is answered by asking others (rt_op_translate), as often as needed; a wish to
 * cancel finds its way down to the socket; when the app is closed everything ends in order.
 *
 * Tested: machine_http */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "retry.h"
#include "server.h"

#define BODY_MAX 4096
#define LONG     (20 * RT_NS_PER_S)

/* What is asked, and what must come of it. */
static const struct wish {
    const char *path;
    rt_status_code status;
    int http_status;
    const char *body;
    enum response_error error;
    unsigned tries;
    rt_time timeout;    /* 0: LONG */
    rt_time cancel;     /* after that time; 0: never */
    bool is_at_nobodys; /* asked where no server is */
    bool is_last;       /* the end comes while it is under way */
} wishes[] = {
    {.path = "/hello", .http_status = 200, .body = "hello", .tries = 1},
    {.path = "/chunked", .http_status = 200, .body = "hello chunks", .tries = 1},
    {.path = "/split", .http_status = 200, .body = "slowly", .tries = 1},
    {.path = "/empty", .http_status = 204, .body = "", .tries = 1},
    {.path = "/missing", .http_status = 404, .body = "gone", .tries = 1},
    {.path = "/interim", .http_status = 200, .body = "after", .tries = 1},
    {.path = "/close", .http_status = 200, .body = "bye", .tries = 1},
    {.path = "/to-the-end", .http_status = 200, .body = "as much as there is", .tries = 1},
    {.path = "/goes", .http_status = 200, .body = "gone", .tries = 1},
    {.path = "/hello", .http_status = 200, .body = "hello", .tries = 1},
    {.path = "/flaky", .http_status = 200, .body = "at last", .tries = 3},
    {.path = "/breaks", .http_status = 200, .body = "whole", .tries = 2},
    {.path = "/busy", .http_status = 503, .body = "busy", .tries = 4},
    {.path = "/talkative", .http_status = 200, .body = "hi", .tries = 1},
    {.path = "/garbage", .status = RT_ERR_INVALID, .error = RESPONSE_BAD_STATUS_LINE, .tries = 1},
    {.path = "/two-lengths", .status = RT_ERR_INVALID, .error = RESPONSE_BAD_LENGTH, .tries = 1},
    {.path = "/bad-chunk", .status = RT_ERR_INVALID, .error = RESPONSE_BAD_CHUNK, .tries = 1},
    {.path = "/too-long",
     .status = RT_ERR_RESOURCE_EXHAUSTED,
     .error = RESPONSE_BODY_TOO_LONG,
     .tries = 1},
    {.path = "/too-long-chunk",
     .status = RT_ERR_RESOURCE_EXHAUSTED,
     .error = RESPONSE_BODY_TOO_LONG,
     .tries = 1},
    {.path = "/endless-head",
     .status = RT_ERR_RESOURCE_EXHAUSTED,
     .error = RESPONSE_HEAD_TOO_LONG,
     .tries = 1},
    {.path = "no path", .status = RT_ERR_INVALID, .tries = 1},
    {.path = "/split\r\nX: y", .status = RT_ERR_INVALID, .tries = 1},
    {.path = "/silent", .status = RT_ERR_TIMEOUT, .tries = 4, .timeout = 20 * RT_NS_PER_MS},
    {.path = "/silent", .status = RT_ERR_CANCELLED, .tries = 1, .cancel = 20 * RT_NS_PER_MS},
    {.path = "/hello", .status = RT_ERR_IO, .tries = 4, .is_at_nobodys = true},
    {.path = "/hello", .http_status = 200, .body = "hello", .tries = 1},
    {.path = "/silent", .cancel = 20 * RT_NS_PER_MS, .is_last = true},
};

static struct {
    rt_machine machine; /* first */
    struct server server;
    struct http_retry retry;
    struct http_retry nobodys; /* asks a port where nobody listens */
    struct http_get get;
    rt_timer_op patience;
    rt_io_op nobody; /* a listener that is closed at once: its port is free */
    int nobody_fd;
    size_t next; /* of wishes */
    unsigned wrong_count;
    bool has_begun;
    bool has_ended;
    char body[BODY_MAX];
} app;

static rt_loop loop;
static rt_loop_port port;
static rt_machine_slot slots[32];
static rt_journal journal;
static uint64_t journal_ring[RT_JOURNAL_BYTES(8192) / sizeof(uint64_t)];

static void must(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "machine_http: %s: %s\n", what, rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

static void ask_next(rt_time now)
{
    const struct wish *wish = &wishes[app.next];
    rt_op_init(&app.get.base, HTTP_GET);
    app.get.base.destination = wish->is_at_nobodys ? app.nobodys.machine.id : app.retry.machine.id;
    app.get.path = wish->path;
    app.get.timeout = wish->timeout == 0 ? LONG : wish->timeout;
    app.get.body = app.body;
    app.get.body_capacity = sizeof(app.body);
    must(rt_op_submit(&app.machine, &app.get.base), "get");
    if (wish->cancel != 0) {
        rt_op_init(&app.patience.base, RT_OP_TIMER);
        app.patience.deadline = now + wish->cancel;
        must(rt_op_submit(&app.machine, &app.patience.base), "patience");
    }
}

static bool answer_is_right(const struct wish *wish)
{
    size_t size = (size_t)app.get.base.result;
    if (app.get.base.status != wish->status || app.get.http_status != wish->http_status ||
        app.get.error != wish->error || app.get.tries != wish->tries) {
        return false;
    }
    return wish->body == NULL ||
           (strlen(wish->body) == size && memcmp(wish->body, app.body, size) == 0);
}

static void show_answer(const struct wish *wish)
{
    const struct http_get *get = &app.get;
    printf("%-16.*s %u %s, ", (int)strcspn(wish->path, "\r"), wish->path, get->tries,
           get->tries == 1 ? "try" : "tries");
    if (get->base.status == RT_OK) {
        printf("%d, %d bytes\n", get->http_status, (int)get->base.result);
    } else if (get->error != RESPONSE_NO_ERROR) {
        printf("%s\n", response_error_text(get->error));
    } else {
        printf("%s\n", rt_status_text(get->base.status));
    }
    if (!answer_is_right(wish)) {
        app.wrong_count++;
        fprintf(stderr, "machine_http: %s: not what it should be: status %d, HTTP %d, error %d\n",
                wish->path, (int)get->base.status, get->http_status, (int)get->error);
    }
}

/* The server listens: the two that ask are made, and the first wish is made. */
static void server_ready(struct server *server)
{
    struct http_retry_config config = {.server = server->address,
                                       .tries_max = 4,
                                       .pause_first = 2 * RT_NS_PER_MS,
                                       .pause_max = 10 * RT_NS_PER_MS,
                                       .seed = 1};
    must(http_retry_init(&app.machine, &app.retry, &config), "retry");
    config.server = app.nobody.address;
    config.seed = 2;
    must(http_retry_init(&app.machine, &app.nobodys, &config), "retry");
    ask_next(0);
}

/* Finds a port where nobody listens: opens a listener and closes it again. */
static void nobody_step(void)
{
    must((rt_status){app.nobody.base.status, NULL}, "a free port");
    uint32_t next = RT_OP_LISTEN;
    switch (app.nobody.base.code) {
    case RT_OP_LISTEN:
        app.nobody_fd = (int)app.nobody.base.result;
        next = RT_OP_LOCAL_ADDRESS;
        break;
    case RT_OP_LOCAL_ADDRESS:
        next = RT_OP_FD_CLOSE;
        break;
    case RT_OP_FD_CLOSE:
        must(server_init(&app.machine, &app.server, server_ready), "server");
        return;
    default:
        app.nobody.address = (rt_net_address){.ip = {127, 0, 0, 1}};
        break;
    }
    rt_op_init(&app.nobody.base, next);
    app.nobody.fd = app.nobody_fd;
    must(rt_op_submit(&app.machine, &app.nobody.base), "a free port");
}

static void app_answer(const rt_op *op, rt_time now)
{
    if (op == &app.nobody.base) {
        nobody_step();
    } else if (op == &app.patience.base && wishes[app.next].is_last) {
        rt_loop_close(&loop); /* which calls everything back, down to the receive */
    } else if (op == &app.patience.base) {
        (void)rt_op_cancel(&app.machine, &app.get.base);
    } else if (op == &app.get.base) {
        show_answer(&wishes[app.next]);
        app.next++;
        ask_next(now);
    }
}

static void app_tick(rt_machine *machine, rt_time now)
{
    rt_op *op;
    if (!app.has_begun) {
        app.has_begun = true;
        rt_op_init(&app.nobody.base, RT_OP_NOP);
        nobody_step();
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (!rt_machine_is_closing(machine)) {
            app_answer(op, now);
        } else {
            /* Also the last one is answered, before anything is gone. */
            app.has_ended = app.has_ended || op == &app.get.base;
        }
    }
}

static void save_journal(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    must(rt_journal_save(&journal, fd), path);
    close(fd);
}

int main(int argc, char **argv)
{
    must(rt_loop_port_init(&port, NULL), "the port");
    const rt_loop_config config = {.port = rt_loop_port_of(&port),
                                   .app = &app.machine,
                                   .app_config = {.tick = app_tick},
                                   .slots = slots,
                                   .slots_count = sizeof(slots) / sizeof(slots[0])};
    must(rt_loop_init(&loop, &config), "the loop");
    must(rt_journal_init(&journal, journal_ring, sizeof(journal_ring)), "the journal");
    must(rt_loop_journal(&loop, &journal), "the journal");
    must(rt_loop_run(&loop), "the run");
    printf("%u gets, %u tries again, %u requests over %u connections\n", (unsigned)app.next,
           app.retry.retries_total, app.server.requests_count, app.server.connections_count);
    rt_loop_deinit(&loop);
    rt_loop_port_deinit(&port);
    if (argc > 1) {
        save_journal(argv[1]);
    }
    return app.wrong_count == 0 && app.has_ended ? EXIT_SUCCESS : EXIT_FAILURE;
}
