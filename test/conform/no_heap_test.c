/* SPDX-License-Identifier: Apache-2.0 */
/* "Heap Usage Policy" of actor-runtime.md on the real engine: between rt_init and rt_cleanup nobody
 * in the process calls the heap, neither the scheduler's thread nor those that wait for files.
 *
 * Each case is one actor that goes over the functions of one part, with their failures, twice: what
 * allocates only the first time is seen as well. The look-up of names is not here: the C library
 * allocates for it, on a thread of its own. */
#define _GNU_SOURCE
#define RTI_MODULE "no_heap_test"
#include <fcntl.h>
#include <unistd.h>

#include <orrery/rt.h>

#include "support/heap_watch.h"
#include "support/test.h"

static int rounds_done;

/* Runs an actor on the real engine and counts from the end of rt_init to the begin of rt_cleanup.
 */
static void run_watched(actor_fn fn, void *arg)
{
    rounds_done = 0;
    heap_watch(); /* skips here, before threads are there */
    CHECK_OK(rt_init());
    heap_watch();
    CHECK(rt_spawn(fn, arg) != ACTOR_ID_INVALID);
    rt_run();
    size_t calls = heap_calls();
    rt_cleanup();
    CHECK_EQ(rounds_done, 2);
    CHECK_EQ(calls, 0);
}

static void exits(void *arg)
{
    (void)arg;
    rt_exit();
}

static void returns(void *arg)
{
    (void)arg;
}

static void waits_for_ever(void *arg)
{
    rt_message msg;
    (void)arg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
}

static void life(void *arg)
{
    (void)arg;
    for (; rounds_done < 2; rounds_done++) {
        struct rt_actor_stats stats;
        actor_config config = {.stack_size = 8192, .priority = RT_PRIO_HIGH, .name = "child"};
        CHECK(rt_spawn(exits, NULL) != ACTOR_ID_INVALID);
        CHECK(rt_spawn_ex(returns, NULL, &config) != ACTOR_ID_INVALID);
        actor_id doomed = rt_spawn_ex(waits_for_ever, NULL, &config);
        rt_yield();
        CHECK_OK(rt_actor_stats(doomed, &stats));
        CHECK_OK(rt_actor_kill(doomed));
        rt_yield();
        CHECK(!rt_actor_alive(doomed));
        /* Until the table or the arena is full. */
        actor_id id;
        while ((id = rt_spawn(exits, NULL)) != ACTOR_ID_INVALID) {
        }
        rt_yield();
        CHECK(rt_self() != ACTOR_ID_INVALID);
    }
    rt_exit();
}

TEST(no_heap_for_spawn_yield_exit_and_kill)
{
    run_watched(life, NULL);
}

static void answers(void *arg)
{
    rt_message msg;
    (void)arg;
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        if (rt_call_ref(&msg) != 0) {
            CHECK_OK(rt_reply(&msg, "a", 1));
        }
        rt_ipc_release(&msg);
    }
}

static void mail(void *arg)
{
    (void)arg;
    for (; rounds_done < 2; rounds_done++) {
        rt_message msg;
        char large[RT_MAX_MESSAGE_SIZE] = {0};
        actor_id peer = rt_spawn(answers, NULL);
        CHECK_OK(rt_register("peer", peer));
        CHECK_EQ(rt_whereis("peer"), peer);
        CHECK_OK(rt_ipc_send(peer, large, 1, IPC_ASYNC));
        CHECK_OK(rt_ipc_send(peer, large, sizeof(large), IPC_ASYNC));
        CHECK_OK(rt_ipc_send(peer, large, sizeof(large), IPC_SYNC));
        CHECK_OK(rt_call(peer, large, sizeof(large), &msg, 1000));
        CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
        CHECK_STATUS(rt_ipc_recv_match(NULL, &msg, 1), RT_ERR_TIMEOUT);
        CHECK_OK(rt_unregister("peer"));
        CHECK_OK(rt_actor_kill(peer));
        /* Until the pools are used up, and empty again. */
        while (!RT_FAILED(rt_ipc_send(rt_self(), large, sizeof(large), IPC_ASYNC))) {
        }
        while (!RT_FAILED(rt_ipc_recv(&msg, 0))) {
        }
    }
    rt_exit();
}

TEST(no_heap_for_messages_calls_and_names)
{
    run_watched(mail, NULL);
}

static void bonds(void *arg)
{
    (void)arg;
    for (; rounds_done < 2; rounds_done++) {
        rt_message msg;
        rt_exit_msg exit_msg;
        uint32_t ref;
        actor_id peer = rt_spawn(waits_for_ever, NULL);
        CHECK_OK(rt_link(peer));
        CHECK_OK(rt_unlink(peer));
        CHECK_OK(rt_link(peer));
        CHECK_OK(rt_monitor(peer, &ref));
        CHECK_OK(rt_demonitor(ref));
        int notices = 1;
        while (!RT_FAILED(rt_monitor(peer, &ref))) {
            notices++;
        }
        CHECK_OK(rt_actor_kill(peer));
        for (int i = 0; i < notices; i++) {
            CHECK_OK(rt_ipc_recv(&msg, -1));
            CHECK_OK(rt_decode_exit(&msg, &exit_msg));
        }
    }
    rt_exit();
}

TEST(no_heap_for_links_monitors_and_death)
{
    run_watched(bonds, NULL);
}

static void timers(void *arg)
{
    (void)arg;
    for (; rounds_done < 2; rounds_done++) {
        rt_message msg;
        timer_id once;
        timer_id often;
        timer_id far;
        CHECK_OK(rt_timer_after(0, &once));
        CHECK_OK(rt_timer_every(200, &often));
        for (int i = 0; i < 10; i++) {
            CHECK_OK(rt_ipc_recv(&msg, -1));
            CHECK(rt_timer_is_tick(&msg));
        }
        CHECK_OK(rt_timer_cancel(often));
        /* Until the pool is used up; the rest goes with the actor or by hand. */
        timer_id first = TIMER_ID_INVALID;
        size_t count = 0;
        timer_id all[RT_TIMER_ENTRY_POOL_SIZE];
        while (!RT_FAILED(rt_timer_after(UINT32_MAX, &far))) {
            all[count++] = far;
            first = first == TIMER_ID_INVALID ? far : first;
        }
        CHECK(count > 0 && first == all[0]);
        while (count > 0) {
            CHECK_OK(rt_timer_cancel(all[--count]));
        }
    }
    rt_exit();
}

TEST(no_heap_for_timers_and_their_ticks)
{
    run_watched(timers, NULL);
}

static bus_id watched_bus;

static void reads_bus(void *arg)
{
    char byte;
    size_t len;
    (void)arg;
    CHECK_OK(rt_bus_subscribe(watched_bus));
    CHECK_OK(rt_bus_read_wait(watched_bus, &byte, 1, &len, -1));
    CHECK_STATUS(rt_bus_read_wait(watched_bus, &byte, 1, &len, 1), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_bus_read(watched_bus, &byte, 1, &len), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_bus_unsubscribe(watched_bus));
    CHECK_OK(rt_bus_subscribe(watched_bus));
    rt_exit();
}

static void bus(void *arg)
{
    (void)arg;
    rt_bus_config config = {.max_subscribers = 4,
                            .max_readers = 4,
                            .max_age_ms = 1000,
                            .max_entries = 8,
                            .max_entry_size = RT_MAX_MESSAGE_SIZE};
    for (; rounds_done < 2; rounds_done++) {
        uint32_t ref;
        rt_message msg;
        CHECK_OK(rt_bus_create(&config, &watched_bus));
        actor_id reader = rt_spawn(reads_bus, NULL);
        CHECK_OK(rt_monitor(reader, &ref));
        rt_yield();
        CHECK_OK(rt_bus_publish(watched_bus, "x", 1));
        CHECK_OK(rt_ipc_recv(&msg, -1));
        for (int i = 0; i < 20; i++) {
            CHECK_OK(rt_bus_publish(watched_bus, "yz", 2));
        }
        CHECK_EQ(rt_bus_entry_count(watched_bus), 8);
        CHECK_OK(rt_bus_destroy(watched_bus));
    }
    rt_exit();
}

TEST(no_heap_for_the_bus)
{
    run_watched(bus, NULL);
}

static uint16_t server_port;

static void serves(void *arg)
{
    int connection;
    char bytes[64];
    size_t count;
    size_t sent;
    CHECK_OK(rt_net_accept(*(int *)arg, &connection, -1));
    while (!RT_FAILED(rt_net_recv(connection, bytes, sizeof(bytes), &count, -1))) {
        CHECK_OK(rt_net_send(connection, bytes, count, &sent, -1));
    }
    CHECK_OK(rt_net_close(connection));
    rt_exit();
}

static void net(void *arg)
{
    (void)arg;
    for (; rounds_done < 2; rounds_done++) {
        int listener;
        int connection;
        int none;
        char bytes[64] = "hello";
        size_t count;
        rt_net_listen_config config = {.address = "127.0.0.1"};
        CHECK_OK(rt_net_listen_ex(&config, &listener));
        CHECK_OK(rt_net_local_port(listener, &server_port));
        CHECK_STATUS(rt_net_accept(listener, &none, 0), RT_ERR_WOULDBLOCK);
        CHECK_STATUS(rt_net_accept(listener, &none, 1), RT_ERR_TIMEOUT);
        CHECK(rt_spawn(serves, &listener) != ACTOR_ID_INVALID);
        CHECK_OK(rt_net_connect("127.0.0.1", server_port, &connection, -1));
        CHECK_OK(rt_net_send(connection, bytes, 5, &count, -1));
        CHECK_OK(rt_net_recv(connection, bytes, sizeof(bytes), &count, -1));
        CHECK_EQ(count, 5);
        CHECK_STATUS(rt_net_recv(connection, bytes, sizeof(bytes), &count, 1), RT_ERR_TIMEOUT);
        CHECK_OK(rt_net_close(connection));
        CHECK_OK(rt_net_close(listener));
        rt_yield();
    }
    rt_exit();
}

TEST(no_heap_for_the_network)
{
    run_watched(net, NULL);
}

static void files(void *arg)
{
    const char *path = arg;
    for (; rounds_done < 2; rounds_done++) {
        int fd;
        char bytes[32];
        size_t count;
        CHECK_OK(rt_file_open(path, O_RDWR | O_CREAT | O_TRUNC, 0600, &fd));
        CHECK_OK(rt_file_write(fd, "0123456789", 10, &count, -1));
        CHECK_OK(rt_file_pwrite(fd, "ab", 2, 4, &count, -1));
        CHECK_OK(rt_file_sync(fd, -1));
        CHECK_OK(rt_file_pread(fd, bytes, sizeof(bytes), 2, &count, -1));
        CHECK_EQ(count, 8);
        CHECK_OK(rt_file_read(fd, bytes, sizeof(bytes), &count, -1));
        CHECK_EQ(count, 0);
        CHECK_OK(rt_file_close(fd));
        CHECK(RT_FAILED(rt_file_open("/nowhere/to/be/found", O_RDONLY, 0, &fd)));
    }
    rt_exit();
}

TEST(no_heap_for_files)
{
    char path[] = "/tmp/orrery_no_heap_XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    run_watched(files, path);
    CHECK_EQ(unlink(path), 0);
}

static void runs_once(void *arg)
{
    ++*(int *)arg;
    rt_exit();
}

TEST(heap_is_used_for_a_stack_that_asks_for_it_and_for_nothing_else)
{
    int ran = 0;
    actor_config config = {.stack_size = 20000, .malloc_stack = true};
    heap_watch();
    CHECK_OK(rt_init());
    heap_watch();
    CHECK(rt_spawn_ex(runs_once, &ran, &config) != ACTOR_ID_INVALID);
    CHECK_EQ(heap_calls(), 1);
    rt_run();
    CHECK_EQ(ran, 1);
    CHECK_EQ(heap_calls(), 2);
    rt_cleanup();
}

/* What rt_init starts threads with is the C library's; with the fixed engine in the simulator there
 * are no threads, and init and cleanup call nothing. */
static void nothing_to_do(void *arg)
{
    rounds_done++;
    exits(arg);
}

TEST(no_heap_for_init_and_cleanup_without_threads)
{
    rounds_done = 0;
    heap_watch();
    CHECK_OK(rt_sim_run(NULL, nothing_to_do, NULL));
    CHECK_OK(rt_sim_run(NULL, nothing_to_do, NULL));
    CHECK_EQ(rounds_done, 2);
    CHECK_EQ(heap_calls(), 0);
}
