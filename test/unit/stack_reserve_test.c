/* SPDX-License-Identifier: Apache-2.0 */
/* Every call fits into the reserve of a protected stack: an actor that has just so much left makes
 * them all. */
#define _GNU_SOURCE
#define RTI_MODULE "stack_reserve_test"
#include <orrery/rt.h>
#include <unistd.h>

#include "sched/fiber.h"
#include "support/test.h"

static rt_exit_reason reason;

static actor_id echo_id;

static void echoes(void *arg)
{
    (void)arg;
    rt_message msg;
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        if (rt_call_ref(&msg) != 0) {
            CHECK_OK(rt_reply(&msg, msg.data, msg.len));
        } else if (msg.len == 0) {
            rt_exit();
        }
    }
}

static void just_ends(void *arg)
{
    (void)arg;
    rt_exit();
}

static __attribute__((noinline)) void call_actors(void)
{
    rt_message msg;
    uint32_t ref;
    timer_id timer;
    struct rt_actor_stats stats;
    actor_config config = {.stack_size = 8192, .name = "child"};
    actor_id child = rt_spawn_ex(just_ends, NULL, &config);
    CHECK_OK(rt_link(child));
    CHECK_OK(rt_monitor(child, &ref));
    CHECK_OK(rt_demonitor(ref));
    CHECK_OK(rt_unlink(child));
    CHECK_OK(rt_register("child", child));
    CHECK_EQ(rt_whereis("child"), child);
    CHECK_OK(rt_unregister("child"));
    CHECK_OK(rt_actor_kill(child));
    CHECK_OK(rt_ipc_send(rt_self(), "123456789012345678901234567890", 30, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv_match(NULL, &msg, 1));
    CHECK_OK(rt_ipc_send(echo_id, "1", 1, IPC_SYNC));
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_call(echo_id, "1", 1, &msg, 1000));
    CHECK_OK(rt_timer_after(1, &timer));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_timer_every(1000000, &timer));
    CHECK_OK(rt_timer_cancel(timer));
    CHECK_OK(rt_actor_stats(rt_self(), &stats));
    CHECK(rt_ipc_count() == 0 && !rt_ipc_pending());
    rt_yield();
}

static __attribute__((noinline)) void call_bus(void)
{
    bus_id bus;
    char data[8];
    size_t length;
    rt_bus_config config = {
        .max_subscribers = 2, .max_readers = 1, .max_entries = 4, .max_entry_size = 8};
    CHECK_OK(rt_bus_create(&config, &bus));
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_OK(rt_bus_publish(bus, "1", 1));
    CHECK_OK(rt_bus_read(bus, data, sizeof(data), &length));
    CHECK_STATUS(rt_bus_read_wait(bus, data, sizeof(data), &length, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_bus_unsubscribe(bus));
    CHECK_OK(rt_bus_destroy(bus));
}

/* A wait with a limit, which does not end at it. */
#define LIMIT_MS 3600000

static __attribute__((noinline)) void call_io(void)
{
    int fd;
    int listener;
    int connection;
    int file;
    size_t moved;
    uint16_t port;
    char data[8];
    CHECK_OK(rt_net_listen(0, &listener));
    CHECK_OK(rt_net_local_port(listener, &port));
    CHECK_STATUS(rt_net_accept(listener, &fd, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_net_connect("127.0.0.1", port, &fd, LIMIT_MS));
    CHECK_OK(rt_net_accept(listener, &connection, LIMIT_MS));
    CHECK_OK(rt_net_send(fd, "1", 1, &moved, LIMIT_MS));
    CHECK_OK(rt_net_recv(connection, data, sizeof(data), &moved, LIMIT_MS));
    CHECK_STATUS(rt_net_recv(connection, data, sizeof(data), &moved, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_net_close(fd));
    CHECK_OK(rt_net_close(connection));
    CHECK_OK(rt_net_close(listener));
    CHECK_OK(rt_udp_open("127.0.0.1", 0, &fd));
    CHECK_STATUS(rt_udp_recv(fd, data, sizeof(data), &moved, NULL, 1), RT_ERR_TIMEOUT);
    CHECK_OK(rt_net_close(fd));
    CHECK_OK(rt_file_open("/dev/null", 2, 0, &file));
    CHECK_OK(rt_file_write(file, "1", 1, &moved, -1));
    CHECK_OK(rt_file_read(file, data, sizeof(data), &moved, -1));
    CHECK_OK(rt_file_close(file));
}

static __attribute__((noinline)) void call_channels(void)
{
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    static uint64_t memory[8];
    rt_channel_config config = {
        .memory = memory, .memory_size = sizeof(memory), .capacity = 2, .elem_size = sizeof(int)};
    int value = 1;
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    CHECK_STATUS(rt_channel_recv_timeout(rx, NULL, &value, 1000), RT_ERR_TIMEOUT);
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
}

static size_t deepest;

/* Of the actor's stack is left what the calls below have on it themselves, and the frame of a
 * public function, which looks at the limit when it has one: instrumented frames are larger. */
#if defined(__OPTIMIZE__) && !RTI_ASAN && !RTI_TSAN
#define LEFT 1024
#else
#define LEFT 4096
#endif

static __attribute__((noinline)) void call_all_with_the_reserve(void)
{
    struct rti_fiber *self = rti_fiber_current();
    char *here = rti_arch_stack_pointer();
    volatile char *fill = __builtin_alloca((size_t)(here - self->stack.limit) - LEFT);
    fill[0] = 1;
    call_actors();
    call_bus();
    call_channels();
    call_io();
    deepest = rti_stack_high_water(&self->stack);
}

static void calls_all(void *arg)
{
    (void)arg;
    call_all_with_the_reserve();
    rt_exit();
}

static void watches_calls_all(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_exit_msg end;
    CHECK_OK(rt_link(rt_spawn(calls_all, NULL)));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_decode_exit(&msg, &end));
    reason = end.reason;
    CHECK_OK(rt_ipc_send(echo_id, NULL, 0, IPC_ASYNC));
    rt_exit();
}

TEST(stack_reserve_is_enough_for_every_call)
{
    CHECK_OK(rt_init());
    echo_id = rt_spawn(echoes, NULL);
    CHECK(rt_spawn(watches_calls_all, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(reason, RT_EXIT_NORMAL);
    if (RT_CHECKS) {
        size_t own = RT_DEFAULT_STACK_SIZE - 2 * 16;
        size_t used = deepest > own ? deepest - own : 0;
        printf("%zu bytes of the reserve of %d are used\n", used, RTI_STACK_RESERVE);
        CHECK(used < RTI_STACK_RESERVE * 3 / 4);
    }
    rt_cleanup();
}
