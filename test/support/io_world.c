/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "io_world"
#include "support/io_world.h"

#include <sys/socket.h>

#include <orrery/rt/net.h>

#include "support/census.h"
#include "support/test.h"

struct io_world io_world;

void io_world_start(uint32_t pool_threads)
{
    memset(&io_world, 0, sizeof(io_world));
    io_world.fds_before = count_fds();
    const struct rti_port_linux_config config = {.pool_threads = pool_threads,
                                                 .is_pool_eager = true,
                                                 .fds = io_world.fds,
                                                 .fds_count = IO_WORLD_FDS_MAX};
    CHECK_OK(rti_port_linux_init(&io_world.port, &config));
    struct rti_port *port = &io_world.port.port;
    rti_clockwork_init(&io_world.clockwork, port->ops->clock_ns(port));
    struct rti_timer_source timers = rti_clockwork_source(&io_world.clockwork);
    CHECK_OK(rti_sched_init(&io_world.sched, port, &timers));
    CHECK_OK(rti_io_init(&io_world.io, &io_world.sched));
}

static void io_world_done(struct rti_fiber *fiber)
{
    io_world.ends[fiber->run.id - 1] = (enum rti_fiber_end)fiber->end;
    io_world.done_count++;
}

struct rti_fiber *io_world_go(void (*main)(void *arg), void *arg)
{
    CHECK(io_world.count < IO_WORLD_FIBERS_MAX);
    size_t index = io_world.count++;
    static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = io_world_done};
    struct rti_fiber_options options = {
        .id = (uint32_t)index + 1,
        .priority = 2,
        .fn = main,
        .arg = arg,
        .kind = &kind,
    };
    rti_stack_init(&options.stack, io_world.stacks[index], sizeof(io_world.stacks[index]));
    rti_fiber_init(&io_world.fibers[index], &options);
    rti_fiber_start(&io_world.sched, &io_world.fibers[index]);
    return &io_world.fibers[index];
}

void io_world_run(void)
{
    CHECK_OK(rti_sched_run(&io_world.sched));
    CHECK_EQ(io_world.done_count, io_world.count);
    rti_io_audit(&io_world.io);
    rti_port_linux_audit(&io_world.port);
}

void io_world_check_ledger(size_t extra)
{
    struct rti_port *port = &io_world.port.port;
    while (rti_io_in_use(&io_world.io) > 0) {
        port->ops->wait(port, RTI_TIME_NEVER);
    }
    CHECK_EQ(io_world.port.in_flight_count, 0);
    CHECK_EQ(rti_wheel_next_deadline(&io_world.clockwork.wheel) == RTI_TIME_NEVER, true);
    /* The poller has two descriptors of its own. */
    CHECK_EQ(count_fds(), io_world.fds_before + 2 + extra);
}

void io_world_finish(void)
{
    io_world_run();
    io_world_check_ledger(0);
    rti_io_deinit(&io_world.io);
    rti_sched_deinit(&io_world.sched);
    rti_port_linux_deinit(&io_world.port);
    CHECK_EQ(count_fds(), io_world.fds_before);
}

void io_world_kill(struct rti_fiber *fiber)
{
    CHECK(rti_fiber_kill(&io_world.sched, fiber));
}

void io_world_sleep_ms(uint64_t ms)
{
    rti_fiber_sleep_until(rti_worker_current(),
                          rti_deadline_after(&io_world.sched, ms * RTI_NS_PER_MS));
}

void io_world_yield(void)
{
    rti_fiber_yield(rti_worker_current());
}

uint64_t io_world_now_ns(void)
{
    return rti_sched_clock(&io_world.sched);
}

void io_world_await_requests(size_t count)
{
    while (rti_io_in_use(&io_world.io) != count) {
        io_world_yield();
    }
}

int io_world_listen(uint16_t *port)
{
    int fd = -1;
    const rt_net_listen_config config = {.address = "127.0.0.1"};
    CHECK_OK(rt_net_listen_ex(&config, &fd));
    CHECK_OK(rt_net_local_port(fd, port));
    CHECK(*port != 0);
    return fd;
}

void io_world_tcp_pair(int fds[2])
{
    uint16_t port = 0;
    int listener = io_world_listen(&port);
    CHECK_OK(rt_net_connect("127.0.0.1", port, &fds[1], -1));
    CHECK_OK(rt_net_accept(listener, &fds[0], -1));
    CHECK_OK(rt_net_close(listener));
}

void io_world_shrink(int fd)
{
    int size = 4096;
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
}
