/* SPDX-License-Identifier: Apache-2.0 */
/* libuv's side of the comparison: timers of its loop, which count milliseconds, and an echo server
 * with a stream per connection that first tries to write at once. Timers in processor time.
 * Usage: peer BENCH CORES COUNT */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <string.h>
#include <uv.h>

#include "common.h"

#define OUTSTANDING 100000

static uv_loop_t *loop;
static long count;
static long fired;

static void on_fire(uv_timer_t *timer)
{
    (void)timer;
    fired++;
}

static uv_timer_t *make_timers(long number)
{
    uv_timer_t *timers = calloc((size_t)number, sizeof(*timers));
    common_expect(timers != NULL, "no memory");
    for (long i = 0; i < number; i++) {
        uv_timer_init(loop, &timers[i]);
    }
    return timers;
}

static void timer_cancel(void)
{
    uv_timer_t *timers = make_timers(OUTSTANDING);
    uint64_t far = 42;
    uint64_t victims = 7;
    for (long i = 0; i < OUTSTANDING; i++) {
        uv_timer_start(&timers[i], on_fire, 60000 + common_random(&far) % 60000, 0);
    }
    double began = common_cpu_ns();
    for (long i = 0; i < count; i++) {
        uv_timer_t *victim = &timers[common_random(&victims) % OUTSTANDING];
        uv_timer_stop(victim);
        uv_timer_start(victim, on_fire, 60000 + common_random(&far) % 60000, 0);
    }
    common_report("timer_cancel", "ns", (common_cpu_ns() - began) / (double)count);
}

static void timer_fire(void)
{
    uv_timer_t *timers = make_timers(count);
    uint64_t near = 42;
    double began = common_cpu_ns();
    uv_update_time(loop);
    for (long i = 0; i < count; i++) {
        uv_timer_start(&timers[i], on_fire, common_random(&near) % 100000000 / 1000000, 0);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    common_expect(fired == count, "not all timers fired");
    common_report("timer_fire", "ns", (common_cpu_ns() - began) / (double)count);
}

struct connection {
    uv_tcp_t tcp; /* first */
    uv_write_t write;
    char bytes[1024];
};

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct connection *self = (struct connection *)handle;
    (void)size;
    *buf = uv_buf_init(self->bytes, sizeof(self->bytes));
}

static void on_data(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct connection *self = (struct connection *)stream;
    if (got < 0) {
        uv_close((uv_handle_t *)stream, on_closed);
    } else if (got > 0) {
        uv_buf_t out = uv_buf_init(buf->base, (unsigned)got);
        if (uv_try_write(stream, &out, 1) != got) {
            uv_write(&self->write, stream, &out, 1, NULL);
        }
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct connection *self = malloc(sizeof(*self));
    common_expect(status == 0 && self != NULL, "cannot accept");
    uv_tcp_init(loop, &self->tcp);
    common_expect(uv_accept(listener, (uv_stream_t *)&self->tcp) == 0, "cannot accept");
    uv_tcp_nodelay(&self->tcp, 1);
    uv_read_start((uv_stream_t *)&self->tcp, on_alloc, on_data);
}

static void tcp_echo(void)
{
    struct sockaddr_in address;
    int length = sizeof(address);
    uv_tcp_t listener;
    uv_tcp_init(loop, &listener);
    uv_ip4_addr("127.0.0.1", 0, &address);
    common_expect(uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) == 0 &&
                      uv_listen((uv_stream_t *)&listener, 1024, on_connection) == 0 &&
                      uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &length) == 0,
                  "cannot listen");
    printf("port\t%d\n", ntohs(address.sin_port));
    fflush(stdout);
    uv_run(loop, UV_RUN_DEFAULT);
}

int main(int argc, char **argv)
{
    count = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: peer BENCH CORES COUNT\n");
        return 2;
    }
    loop = uv_default_loop();
    if (strcmp(argv[1], "timer_cancel") == 0) {
        timer_cancel();
    } else if (strcmp(argv[1], "timer_fire") == 0) {
        timer_fire();
    } else if (strcmp(argv[1], "tcp_echo") == 0) {
        tcp_echo();
    } else {
        fprintf(stderr, "libuv: no bench is called %s\n", argv[1]);
        return 3;
    }
    return 0;
}
