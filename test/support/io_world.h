/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_WORLD_H
#define IO_WORLD_H

/* Network and files on the fixed engine in the real world, with a few fibers: what the tests of io/
 * start from.
 *
 *     io_world_start(0);
 *     io_world_go(fn, arg);
 *     io_world_finish();    runs to the end and demands that no request and no fd is left
 *
 * The world is one static object; a case starts it once or several times, one after the other. */

#include "io/io.h"
#include "port/linux/port_linux.h"
#include "sched/fiber.h"
#include "time/deadline.h"

#define IO_WORLD_FIBERS_MAX 80
#define IO_WORLD_FDS_MAX    8192

struct io_world {
    struct rti_port_linux port;
    struct rti_clockwork clockwork;
    struct rti_sched sched;
    struct rti_io io;
    struct rti_fiber fibers[IO_WORLD_FIBERS_MAX];
    enum rti_fiber_end ends[IO_WORLD_FIBERS_MAX];
    size_t count;
    size_t done_count;
    size_t fds_before; /* open descriptors when the world was started */
    struct rti_fd fds[IO_WORLD_FDS_MAX];
    char stacks[IO_WORLD_FIBERS_MAX][32768] RTI_ALIGNED(16);
};

extern struct io_world io_world;

/* A fresh world; `pool_threads` 0 is the default. */
void io_world_start(uint32_t pool_threads);

struct rti_fiber *io_world_go(void (*main)(void *arg), void *arg);

/* Turns until every fiber has ended. */
void io_world_run(void);

/* io_world_run, then demands that nothing is left, and takes the world apart. */
void io_world_finish(void);

/* Demands that no request is in use and as many descriptors are open as at the start, `extra` more
 * than that. */
void io_world_check_ledger(size_t extra);

/* Kills a fiber; it ends when it would run next. */
void io_world_kill(struct rti_fiber *fiber);

void io_world_sleep_ms(uint64_t ms);
void io_world_yield(void);
uint64_t io_world_now_ns(void);

/* Turns, yielding, until `count` requests of all kinds are with the port or in the line. */
void io_world_await_requests(size_t count);

/* A connected pair of TCP sockets on the loopback: [0] is the server's. Call from a fiber. */
void io_world_tcp_pair(int fds[2]);

/* A listener on a free port of 127.0.0.1. */
int io_world_listen(uint16_t *port);

/* Makes the system take little at once from who sends on this socket. */
void io_world_shrink(int fd);

#endif
