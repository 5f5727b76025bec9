/* SPDX-License-Identifier: Apache-2.0 */
/* Who may call: every function of the actor runtime, asked where it may not be asked. One table has
 * them all; caller_table_test.sh sees to it that none is left out. Each is asked with arguments
 * that are right on the scheduler's thread, in four places: before rt_init, after rt_cleanup, on a
 * foreign thread beside a runtime that runs, and on a foreign thread while nothing runs. Sockets
 * and files are refused beside a runtime only. */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/actors.h"
#include "support/test.h"

#define UNTOUCHED 77

/* What is there to be spoilt. */
static actor_id resident;
static bus_id bus;
static timer_id timer = 1;
static uint32_t monitor_ref = 1;
static int pipe_fds[2];
static int file_fd;
static int listen_fd;
static bool is_runtime_there;

static void never_runs(void *arg)
{
    (void)arg;
    test_fail(__FILE__, __LINE__, "an actor that was refused runs");
}

#define ASK(name) static void ask_##name(void)

/* A call that returns a status and leaves what `out` points to alone. */
#define REFUSED(call) CHECK_STATUS(call, RT_ERR_THREAD)

/* Input and output without a runtime is no business of one: it blocks the thread, as
 * no_colours_test.c shows. */
#define REFUSED_IO(call)                                                                           \
    do {                                                                                           \
        if (is_runtime_there) {                                                                    \
            REFUSED(call);                                                                         \
        }                                                                                          \
    } while (0)

ASK(rt_spawn)
{
    CHECK_EQ(rt_spawn(never_runs, NULL), ACTOR_ID_INVALID);
}
ASK(rt_spawn_ex)
{
    CHECK_EQ(rt_spawn_ex(never_runs, NULL, &(actor_config){.name = "no"}), ACTOR_ID_INVALID);
}
ASK(rt_spawn_status)
{
    REFUSED(rt_spawn_status());
}
static void exits(void *arg)
{
    (void)arg;
    rt_exit();
}
ASK(rt_exit)
{
    CHECK_PANICS("actor", exits, NULL);
}
ASK(rt_self)
{
    CHECK_EQ(rt_self(), ACTOR_ID_INVALID);
}
ASK(rt_yield)
{
    rt_yield();
}
ASK(rt_actor_alive)
{
    CHECK(!rt_actor_alive(resident));
}
ASK(rt_actor_kill)
{
    REFUSED(rt_actor_kill(resident));
}
ASK(rt_actor_stats)
{
    struct rt_actor_stats stats = {.messages_sent = UNTOUCHED};
    REFUSED(rt_actor_stats(resident, &stats));
    CHECK_EQ(stats.messages_sent, UNTOUCHED);
}
ASK(rt_link)
{
    REFUSED(rt_link(resident));
}
ASK(rt_unlink)
{
    REFUSED(rt_unlink(resident));
}
ASK(rt_monitor)
{
    uint32_t ref = UNTOUCHED;
    REFUSED(rt_monitor(resident, &ref));
    CHECK_EQ(ref, UNTOUCHED);
}
ASK(rt_demonitor)
{
    REFUSED(rt_demonitor(monitor_ref));
}
ASK(rt_is_exit_msg)
{
    CHECK(rt_is_exit_msg(&(rt_message){.sender = RT_SENDER_SYSTEM}));
}
ASK(rt_decode_exit)
{
    rt_exit_msg sent = {.actor = 3, .reason = RT_EXIT_KILLED};
    rt_message msg = {.sender = RT_SENDER_SYSTEM, .data = &sent, .len = sizeof(sent)};
    rt_exit_msg got = {.actor = 0};
    CHECK_OK(rt_decode_exit(&msg, &got));
    CHECK_EQ(got.reason, RT_EXIT_KILLED);
}
ASK(rt_ipc_send)
{
    REFUSED(rt_ipc_send(resident, "t", 1, IPC_ASYNC));
    REFUSED(rt_ipc_send(resident, "t", 1, IPC_SYNC));
}
ASK(rt_ipc_recv)
{
    rt_message msg = {.len = UNTOUCHED};
    REFUSED(rt_ipc_recv(&msg, 0));
    REFUSED(rt_ipc_recv(&msg, -1));
    CHECK_EQ(msg.len, UNTOUCHED);
}
ASK(rt_ipc_recv_match)
{
    rt_message msg = {.len = UNTOUCHED};
    REFUSED(rt_ipc_recv_match(NULL, &msg, -1));
    CHECK_EQ(msg.len, UNTOUCHED);
}
ASK(rt_ipc_release)
{
    rt_ipc_release(&(rt_message){.sender = resident});
}
ASK(rt_ipc_pending)
{
    CHECK(!rt_ipc_pending());
}
ASK(rt_ipc_count)
{
    CHECK_EQ(rt_ipc_count(), 0);
}
ASK(rt_register)
{
    REFUSED(rt_register("foreign", resident));
}
ASK(rt_unregister)
{
    REFUSED(rt_unregister("resident"));
}
ASK(rt_whereis)
{
    CHECK_EQ(rt_whereis("resident"), ACTOR_ID_INVALID);
}
ASK(rt_call)
{
    rt_message reply = {.len = UNTOUCHED};
    REFUSED(rt_call(resident, "c", 1, &reply, -1));
    CHECK_EQ(reply.len, UNTOUCHED);
}
ASK(rt_call_ref)
{
    CHECK(rt_call_ref(&(rt_message){.sender = resident}) == 0);
}
ASK(rt_reply)
{
    REFUSED(rt_reply(&(rt_message){.sender = resident}, "a", 1));
}
ASK(rt_reply_to)
{
    REFUSED(rt_reply_to((rt_call_id)resident << 32 | 1, "a", 1));
}
ASK(rt_timer_after)
{
    timer_id out = UNTOUCHED;
    REFUSED(rt_timer_after(1, &out));
    CHECK_EQ(out, UNTOUCHED);
}
ASK(rt_timer_every)
{
    timer_id out = UNTOUCHED;
    REFUSED(rt_timer_every(1, &out));
    CHECK_EQ(out, UNTOUCHED);
}
ASK(rt_timer_cancel)
{
    REFUSED(rt_timer_cancel(timer));
}
ASK(rt_timer_is_tick)
{
    CHECK(rt_timer_is_tick(&(rt_message){.sender = RT_SENDER_TIMER}));
}
ASK(rt_timer_overruns)
{
    uint64_t out = UNTOUCHED;
    REFUSED(rt_timer_overruns(timer, &out));
    CHECK_EQ(out, UNTOUCHED);
}
static const rt_bus_config bus_config = {
    .max_subscribers = 2, .max_entries = 2, .max_entry_size = 8};
ASK(rt_bus_create)
{
    bus_id out = UNTOUCHED;
    REFUSED(rt_bus_create(&bus_config, &out));
    CHECK_EQ(out, UNTOUCHED);
}
ASK(rt_bus_destroy)
{
    REFUSED(rt_bus_destroy(bus));
}
ASK(rt_bus_publish)
{
    REFUSED(rt_bus_publish(bus, "p", 1));
}
ASK(rt_bus_subscribe)
{
    REFUSED(rt_bus_subscribe(bus));
}
ASK(rt_bus_unsubscribe)
{
    REFUSED(rt_bus_unsubscribe(bus));
}
ASK(rt_bus_read)
{
    char byte;
    size_t len = UNTOUCHED;
    REFUSED(rt_bus_read(bus, &byte, 1, &len));
    CHECK_EQ(len, UNTOUCHED);
}
ASK(rt_bus_read_wait)
{
    char byte;
    size_t len = UNTOUCHED;
    REFUSED(rt_bus_read_wait(bus, &byte, 1, &len, -1));
    CHECK_EQ(len, UNTOUCHED);
}
ASK(rt_bus_entry_count)
{
    CHECK_EQ(rt_bus_entry_count(bus), 0);
}
ASK(rt_bus_dropped)
{
    uint64_t out = UNTOUCHED;
    REFUSED(rt_bus_dropped(bus, &out));
    CHECK_EQ(out, UNTOUCHED);
}
ASK(rt_net_listen)
{
    int fd = -UNTOUCHED;
    REFUSED_IO(rt_net_listen(0, &fd));
    CHECK_EQ(fd, -UNTOUCHED);
}
ASK(rt_net_listen_ex)
{
    int fd = -UNTOUCHED;
    REFUSED_IO(rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1"}, &fd));
    CHECK_EQ(fd, -UNTOUCHED);
}
ASK(rt_net_local_port)
{
    uint16_t port = UNTOUCHED;
    REFUSED_IO(rt_net_local_port(listen_fd, &port));
    CHECK_EQ(port, UNTOUCHED);
}
ASK(rt_net_accept)
{
    int fd = -UNTOUCHED;
    REFUSED_IO(rt_net_accept(listen_fd, &fd, 0));
    REFUSED_IO(rt_net_accept(listen_fd, &fd, -1));
    CHECK_EQ(fd, -UNTOUCHED);
}
ASK(rt_net_connect)
{
    int fd = -UNTOUCHED;
    REFUSED_IO(rt_net_connect("127.0.0.1", 1, &fd, -1));
    CHECK_EQ(fd, -UNTOUCHED);
}
ASK(rt_net_close)
{
    REFUSED_IO(rt_net_close(listen_fd));
}
ASK(rt_net_recv)
{
    char byte;
    size_t count = UNTOUCHED;
    REFUSED_IO(rt_net_recv(pipe_fds[0], &byte, 1, &count, 0));
    CHECK_EQ(count, UNTOUCHED);
}
ASK(rt_net_send)
{
    size_t count = UNTOUCHED;
    REFUSED_IO(rt_net_send(pipe_fds[1], "n", 1, &count, 0));
    CHECK_EQ(count, UNTOUCHED);
}
ASK(rt_net_resolve)
{
    rt_net_address address = {.port = UNTOUCHED};
    REFUSED_IO(rt_net_resolve("127.0.0.1", 1, &address, -1));
    CHECK_EQ(address.port, UNTOUCHED);
}
ASK(rt_net_address_format)
{
    char text[RT_NET_ADDRESS_TEXT_SIZE] = "untouched";
    REFUSED_IO(rt_net_address_format(&(rt_net_address){.port = 1}, text, sizeof(text)));
    CHECK_STR(text, "untouched");
}
ASK(rt_udp_open)
{
    int fd = -UNTOUCHED;
    REFUSED_IO(rt_udp_open("127.0.0.1", 0, &fd));
    CHECK_EQ(fd, -UNTOUCHED);
}
ASK(rt_udp_send)
{
    REFUSED_IO(rt_udp_send(listen_fd, "u", 1, &(rt_net_address){.port = 9}, 0));
}
ASK(rt_udp_recv)
{
    char byte;
    size_t count = UNTOUCHED;
    REFUSED_IO(rt_udp_recv(listen_fd, &byte, 1, &count, NULL, 0));
    CHECK_EQ(count, UNTOUCHED);
}
ASK(rt_unix_listen)
{
    int fd = -UNTOUCHED;
    REFUSED_IO(rt_unix_listen("@orrery caller", &fd));
    CHECK_EQ(fd, -UNTOUCHED);
}
ASK(rt_unix_connect)
{
    int fd = -UNTOUCHED;
    REFUSED_IO(rt_unix_connect("@orrery caller", &fd, 0));
    CHECK_EQ(fd, -UNTOUCHED);
}
ASK(rt_file_open)
{
    int fd = -UNTOUCHED;
    REFUSED_IO(rt_file_open("/dev/null", O_RDONLY, 0, &fd));
    CHECK_EQ(fd, -UNTOUCHED);
}
ASK(rt_file_close)
{
    REFUSED_IO(rt_file_close(file_fd));
}
ASK(rt_file_read)
{
    char byte;
    size_t count = UNTOUCHED;
    REFUSED_IO(rt_file_read(file_fd, &byte, 1, &count, -1));
    CHECK_EQ(count, UNTOUCHED);
}
ASK(rt_file_pread)
{
    char byte;
    size_t count = UNTOUCHED;
    REFUSED_IO(rt_file_pread(file_fd, &byte, 1, 0, &count, -1));
    CHECK_EQ(count, UNTOUCHED);
}
ASK(rt_file_write)
{
    size_t count = UNTOUCHED;
    REFUSED_IO(rt_file_write(file_fd, "f", 1, &count, -1));
    CHECK_EQ(count, UNTOUCHED);
}
ASK(rt_file_pwrite)
{
    size_t count = UNTOUCHED;
    REFUSED_IO(rt_file_pwrite(file_fd, "f", 1, 0, &count, -1));
    CHECK_EQ(count, UNTOUCHED);
}
ASK(rt_file_sync)
{
    REFUSED_IO(rt_file_sync(file_fd, -1));
}
ASK(rt_init)
{
    if (is_runtime_there) {
        CHECK_STATUS(rt_init(), RT_ERR_STATE);
    }
}
ASK(rt_init_ex)
{
    if (is_runtime_there) {
        CHECK_STATUS(rt_init_ex(&(rt_config){.workers = 1}), RT_ERR_STATE);
    }
}
ASK(rt_watch_deadlocks)
{
    REFUSED(rt_watch_deadlocks(1));
}
ASK(rt_run)
{
    rt_run();
}
ASK(rt_shutdown)
{
    if (!is_runtime_there) {
        rt_shutdown(); /* of a runtime that is there any thread may ask it */
    }
}
ASK(rt_cleanup)
{
    rt_cleanup();
}
ASK(rt_sim_run)
{
    if (is_runtime_there) {
        CHECK_STATUS(rt_sim_run(NULL, never_runs, NULL), RT_ERR_STATE);
    }
}
ASK(rt_sim_mark)
{
    rt_sim_mark(1);
}
ASK(rt_sim_net_partition)
{
    REFUSED(rt_sim_net_partition(true));
}
/* A disk is memory of the caller's: any thread may make one and let it crash. */
ASK(rt_sim_disk_init)
{
    rt_sim_disk disk;
    CHECK_STATUS(rt_sim_disk_init(&disk, NULL, 0), RT_ERR_INVALID);
}
ASK(rt_sim_disk_crash)
{
    CHECK_STATUS(rt_sim_disk_crash(NULL, 1), RT_ERR_INVALID);
}
ASK(rt_random)
{
    CHECK(rt_random() == 0);
}
ASK(rt_clock)
{
    CHECK(rt_clock() == 0);
}
ASK(rt_contain_faults)
{
    REFUSED(rt_contain_faults(true));
}

static void (*const asks[])(void) = {
    ask_rt_spawn,
    ask_rt_spawn_ex,
    ask_rt_spawn_status,
    ask_rt_exit,
    ask_rt_self,
    ask_rt_yield,
    ask_rt_actor_alive,
    ask_rt_actor_kill,
    ask_rt_actor_stats,
    ask_rt_link,
    ask_rt_unlink,
    ask_rt_monitor,
    ask_rt_demonitor,
    ask_rt_is_exit_msg,
    ask_rt_decode_exit,
    ask_rt_ipc_send,
    ask_rt_ipc_recv,
    ask_rt_ipc_recv_match,
    ask_rt_ipc_release,
    ask_rt_ipc_pending,
    ask_rt_ipc_count,
    ask_rt_register,
    ask_rt_unregister,
    ask_rt_whereis,
    ask_rt_call,
    ask_rt_call_ref,
    ask_rt_reply,
    ask_rt_reply_to,
    ask_rt_timer_after,
    ask_rt_timer_every,
    ask_rt_timer_cancel,
    ask_rt_timer_is_tick,
    ask_rt_timer_overruns,
    ask_rt_bus_create,
    ask_rt_bus_destroy,
    ask_rt_bus_publish,
    ask_rt_bus_subscribe,
    ask_rt_bus_unsubscribe,
    ask_rt_bus_read,
    ask_rt_bus_read_wait,
    ask_rt_bus_entry_count,
    ask_rt_bus_dropped,
    ask_rt_net_listen,
    ask_rt_net_listen_ex,
    ask_rt_net_local_port,
    ask_rt_net_accept,
    ask_rt_net_connect,
    ask_rt_net_close,
    ask_rt_net_recv,
    ask_rt_net_send,
    ask_rt_net_resolve,
    ask_rt_net_address_format,
    ask_rt_udp_open,
    ask_rt_udp_send,
    ask_rt_udp_recv,
    ask_rt_unix_listen,
    ask_rt_unix_connect,
    ask_rt_file_open,
    ask_rt_file_close,
    ask_rt_file_read,
    ask_rt_file_pread,
    ask_rt_file_write,
    ask_rt_file_pwrite,
    ask_rt_file_sync,
    ask_rt_init,
    ask_rt_init_ex,
    ask_rt_watch_deadlocks,
    ask_rt_run,
    ask_rt_shutdown,
    ask_rt_cleanup,
    ask_rt_sim_run,
    ask_rt_sim_mark,
    ask_rt_sim_net_partition,
    ask_rt_sim_disk_init,
    ask_rt_sim_disk_crash,
    ask_rt_random,
    ask_rt_clock,
    ask_rt_contain_faults,
};

static void *ask_all(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        asks[i]();
    }
    return NULL;
}

static void ask_all_here(void)
{
    (void)ask_all(NULL);
}

static void ask_all_on_a_thread(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, ask_all, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Real descriptors, so that a call that is not refused would do something. */
static void open_all(void)
{
    CHECK(pipe(pipe_fds) == 0);
    char name[] = "/tmp/orrery_caller_XXXXXX";
    file_fd = mkstemp(name);
    CHECK(file_fd >= 0 && unlink(name) == 0);
    listen_fd = dup(pipe_fds[0]);
    CHECK(listen_fd >= 0);
}

static void close_all(void)
{
    CHECK(close(pipe_fds[0]) == 0 && close(pipe_fds[1]) == 0 && close(file_fd) == 0);
    CHECK(close(listen_fd) == 0);
}

TEST(caller_before_init_and_after_cleanup_is_refused_by_every_function_but_io)
{
    open_all();
    is_runtime_there = false;
    resident = bus = 1;
    (void)actors_capture(ask_all_here);
    CHECK_OK(rt_init());
    rt_cleanup();
    (void)actors_capture(ask_all_here);
    (void)actors_capture(ask_all_on_a_thread);
    close_all();
}

static void resides(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_OK(rt_timer_after(UINT32_MAX, &timer));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    /* The first message is the one that was meant. */
    CHECK_EQ(msg.len, 1);
    CHECK_EQ(*(const char *)msg.data, 'm');
    CHECK_EQ(rt_ipc_count(), 0);
    CHECK_OK(rt_timer_cancel(timer));
    CHECK_OK(rt_bus_unsubscribe(bus));
    rt_exit();
}

static void has_a_thread_ask(void *arg)
{
    (void)arg;
    char byte;
    CHECK_OK(rt_bus_create(&bus_config, &bus));
    resident = rt_spawn(resides, NULL);
    CHECK_OK(rt_register("resident", resident));
    CHECK_OK(rt_monitor(resident, &monitor_ref));
    rt_yield();
    (void)actors_capture(ask_all_on_a_thread);
    CHECK(rt_actor_alive(resident));
    CHECK_EQ(rt_whereis("resident"), resident);
    CHECK_EQ(rt_whereis("foreign"), ACTOR_ID_INVALID);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    CHECK_EQ(rt_ipc_count(), 0);
    CHECK_EQ(lseek(file_fd, 0, SEEK_END), 0);
    CHECK_EQ(fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK), 0);
    CHECK_EQ(read(pipe_fds[0], &byte, 1), -1);
    CHECK(fcntl(listen_fd, F_GETFD) >= 0);
    CHECK_OK(rt_demonitor(monitor_ref));
    CHECK_OK(rt_ipc_send(resident, "m", 1, IPC_ASYNC));
    while (rt_actor_alive(resident)) {
        rt_yield();
    }
    CHECK_OK(rt_bus_destroy(bus));
    rt_exit();
}

TEST(caller_on_a_foreign_thread_is_refused_by_every_function_and_changes_nothing)
{
    open_all();
    is_runtime_there = true;
    CHECK_OK(rt_init());
    resident = bus = 1;
    (void)actors_capture(ask_all_on_a_thread);
    CHECK(rt_spawn(has_a_thread_ask, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    close_all();
}
