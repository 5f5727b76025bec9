/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that waits, waited in at the same time on the real runtime, and then ended from
 * outside: each actor by a kill, all together by rt_cleanup. The pools have 64 places and the
 * rounds are more, so that one record lost per round shows; threads and descriptors are counted;
 * rt_cleanup panics if a module has anything in use. */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/census.h"
#include "support/test.h"

TEST_TIMEOUT(60);

#define ROUNDS_KILL    100
#define ROUNDS_CLEANUP 20

/* What they wait for. */
static actor_id deaf; /* receives nothing: its senders and callers wait */
static bus_id bus;
static int pair[2]; /* [0] has been filled: who sends there waits */
static int quiet[2];
static int pipe_fds[2];
static int file_fd;
static int listen_fd;
static int udp_fd;
static char big[1 << 20];

static void is_deaf(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_ipc_filter nobody = {.sender = 1}; /* no id: the generations begin at 1 */
    (void)rt_ipc_recv_match(&nobody, &msg, -1);
    rt_exit();
}

static void in_recv(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, -1);
    rt_exit();
}

static void in_timed_recv(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, INT32_MAX);
    rt_exit();
}

static void in_sync_send(void *arg)
{
    (void)arg;
    (void)rt_ipc_send(deaf, big, RT_MAX_MESSAGE_SIZE, IPC_SYNC);
    rt_exit();
}

static void in_call(void *arg)
{
    (void)arg;
    rt_message reply;
    rt_status status = rt_call(deaf, big, RT_MAX_MESSAGE_SIZE, &reply, INT32_MAX);
    (void)status;
    rt_exit();
}

static void in_bus_wait(void *arg)
{
    (void)arg;
    char byte;
    size_t len;
    CHECK_OK(rt_bus_subscribe(bus));
    (void)rt_bus_read_wait(bus, &byte, 1, &len, INT32_MAX);
    rt_exit();
}

/* Ticks come and are not taken; links, monitors and a name hang on. */
static void with_everything_attached(void *arg)
{
    (void)arg;
    timer_id every;
    timer_id after;
    uint32_t ref;
    rt_message msg;
    CHECK_OK(rt_timer_every(50, &every));
    CHECK_OK(rt_timer_after(UINT32_MAX, &after));
    CHECK_OK(rt_link(deaf));
    CHECK_OK(rt_monitor(deaf, &ref));
    CHECK_OK(rt_register("attached", rt_self()));
    rt_ipc_filter nobody = {.sender = 1}; /* no id: the generations begin at 1 */
    (void)rt_ipc_recv_match(&nobody, &msg, -1);
    rt_exit();
}

static void in_accept(void *arg)
{
    (void)arg;
    int fd;
    (void)rt_net_accept(listen_fd, &fd, INT32_MAX);
    rt_exit();
}

static void in_net_recv(void *arg)
{
    (void)arg;
    char byte;
    size_t count;
    (void)rt_net_recv(quiet[0], &byte, 1, &count, -1);
    rt_exit();
}

static void in_net_send(void *arg)
{
    (void)arg;
    size_t count;
    (void)rt_net_send(pair[0], big, sizeof(big), &count, -1);
    rt_exit();
}

static void in_udp_recv(void *arg)
{
    (void)arg;
    char byte;
    size_t count;
    (void)rt_udp_recv(udp_fd, &byte, 1, &count, NULL, INT32_MAX);
    rt_exit();
}

static void in_pipe_read(void *arg)
{
    (void)arg;
    char byte;
    size_t count;
    (void)rt_file_read(pipe_fds[0], &byte, 1, &count, -1);
    rt_exit();
}

static void in_file_work(void *arg)
{
    (void)arg;
    for (;;) {
        size_t count;
        (void)rt_file_pwrite(file_fd, big, sizeof(big), 0, &count, INT32_MAX);
        (void)rt_file_pread(file_fd, big, sizeof(big), 0, &count, -1);
        (void)rt_file_sync(file_fd, 1);
        rt_yield();
    }
}

static void in_lookup(void *arg)
{
    (void)arg;
    for (;;) {
        rt_net_address address;
        (void)rt_net_resolve("localhost", 1, &address, -1);
        rt_yield();
    }
}

static void in_yield(void *arg)
{
    (void)arg;
    for (;;) {
        rt_yield();
    }
}

static const actor_fn waiting[] = {
    in_recv,   in_timed_recv, in_sync_send, in_call,      in_bus_wait,  with_everything_attached,
    in_accept, in_net_recv,   in_net_send,  in_udp_recv,  in_pipe_read, in_file_work,
    in_lookup, in_yield,      in_sync_send, in_file_work, in_net_recv,
};
#define WAITING_COUNT (sizeof(waiting) / sizeof(waiting[0]))

static actor_id ids[WAITING_COUNT];

static void open_all(void)
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, quiet) == 0);
    while (send(pair[0], big, sizeof(big), MSG_DONTWAIT) > 0) {
    }
    CHECK(pipe(pipe_fds) == 0);
    char name[] = "/tmp/orrery_all_at_once_XXXXXX";
    file_fd = mkstemp(name);
    CHECK(file_fd >= 0 && unlink(name) == 0);
    CHECK_OK(rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1"}, &listen_fd));
    CHECK_OK(rt_udp_open("127.0.0.1", 0, &udp_fd));
}

static void close_all(void)
{
    const int fds[] = {pair[0],     pair[1], quiet[0],  quiet[1], pipe_fds[0],
                       pipe_fds[1], file_fd, listen_fd, udp_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        CHECK(close(fds[i]) == 0);
    }
}

static void spawn_all(void)
{
    actor_config config = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    deaf = rt_spawn_ex(is_deaf, NULL, &config);
    CHECK(deaf != ACTOR_ID_INVALID);
    for (size_t i = 0; i < WAITING_COUNT; i++) {
        ids[i] = rt_spawn_ex(waiting[i], NULL, &config);
        CHECK(ids[i] != ACTOR_ID_INVALID);
    }
}

/* Kills them in an order of its own in each round, some before their first turn, some after many.
 */
static void kills_all(void *arg)
{
    (void)arg;
    for (unsigned round = 0; round < ROUNDS_KILL; round++) {
        rt_bus_config config = {.max_subscribers = 2, .max_entries = 1, .max_entry_size = 1};
        CHECK_OK(rt_bus_create(&config, &bus));
        spawn_all();
        for (unsigned i = 0; i < round % 7; i++) {
            rt_yield();
        }
        if (round % 5 == 0) {
            rt_message msg;
            CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
        }
        for (size_t i = 0; i < WAITING_COUNT; i++) {
            actor_id victim = ids[(i * 5 + round) % WAITING_COUNT];
            CHECK_OK(rt_actor_kill(victim));
            CHECK(!rt_actor_alive(victim));
            if ((round + i) % 3 == 0) {
                rt_yield();
            }
        }
        CHECK_OK(rt_actor_kill(deaf));
        rt_yield();
        CHECK_EQ(rt_whereis("attached"), ACTOR_ID_INVALID);
        CHECK_OK(rt_bus_destroy(bus));
        CHECK_EQ(rt_ipc_count(), 0);
    }
    rt_exit();
}

TEST(all_waiting_calls_killed_a_hundred_times_lose_nothing)
{
    size_t fds = count_fds();
    CHECK_OK(rt_init());
    open_all();
    CHECK(rt_spawn(kills_all, NULL) != ACTOR_ID_INVALID);
    rt_run();
    /* Waits for what threads of the pool still open for those who are gone, and closes it. */
    rt_cleanup();
    close_all();
    CHECK_EQ(count_fds(), fds);
}

static void ends_the_run(void *arg)
{
    for (unsigned i = 0; i < *(unsigned *)arg; i++) {
        rt_yield();
    }
    rt_shutdown();
    rt_exit();
}

TEST(cleanup_with_everything_in_flight_leaves_no_thread_and_no_descriptor)
{
    size_t threads = threads_outside();
    CHECK_OK(rt_init());
    rt_cleanup();
    size_t fds = count_fds();
    for (unsigned round = 0; round < ROUNDS_CLEANUP; round++) {
        CHECK_OK(rt_init());
        open_all();
        rt_bus_config config = {.max_subscribers = 2, .max_entries = 1, .max_entry_size = 1};
        CHECK_OK(rt_bus_create(&config, &bus));
        spawn_all();
        if (round > 0) {
            CHECK(rt_spawn(ends_the_run, &round) != ACTOR_ID_INVALID);
            rt_run();
        }
        rt_cleanup();
        close_all();
        CHECK_EQ(count_fds(), fds);
        threads_await(threads);
    }
}
