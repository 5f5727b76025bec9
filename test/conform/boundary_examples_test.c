/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "Consequences and Usage Patterns": the valid patterns, as they stand.
 * The lines of the specification are between the markers; what it leaves open is around them. */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-result"
#pragma GCC diagnostic ignored "-Wunused-variable"

static actor_id other_actor;
static bus_id bus;
static int data = 7;
static int event = 8;
static unsigned workers_run;

static void worker(void *arg)
{
    (void)arg;
    workers_run++;
    rt_exit();
}

/* clang-format off */
/* spec begin */
// ✓ VALID: Actor calling runtime APIs (BOUNDARY 1: scheduler thread)
void my_actor(void *arg) {
    rt_ipc_send(other_actor, &data, sizeof(data), IPC_ASYNC);  // ✓ OK
    actor_id new_actor = rt_spawn(worker, NULL);               // ✓ OK
    rt_bus_publish(bus, &event, sizeof(event));               // ✓ OK
}
/* spec end */
/* clang-format on */

static void receives_from_my_actor(void *arg)
{
    (void)arg;
    rt_message msg;
    int read = 0;
    size_t len = 0;
    CHECK_OK(rt_bus_subscribe(bus));
    other_actor = rt_self();
    CHECK(rt_spawn(my_actor, NULL) != ACTOR_ID_INVALID);
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK(msg.len == sizeof(data) && memcmp(msg.data, &data, sizeof(data)) == 0);
    CHECK_OK(rt_bus_read(bus, &read, sizeof(read), &len));
    CHECK_EQ(read, event);
    rt_exit();
}

TEST(boundary_example_an_actor_calls_the_runtime)
{
    CHECK_OK(rt_init());
    rt_bus_config config = {.max_subscribers = 1, .max_entries = 1, .max_entry_size = sizeof(int)};
    CHECK_OK(rt_bus_create(&config, &bus));
    CHECK(rt_spawn(receives_from_my_actor, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_EQ(workers_run, 1);
}

/* An I/O thread: `timer_completion comp = {...};` is the specification's sketch of an entry. */
typedef struct {
    timer_id id;
} timer_completion;

static struct {
    rt_spsc_queue completion_queue;
} g_timer;
static timer_completion g_timer_buffer[4];
static unsigned signals;
static timer_completion comp = {.id = 5};

static void rt_scheduler_wakeup_signal(void)
{
    signals++;
}

/* clang-format off */
/* spec begin */
// ✓ VALID: I/O thread posting completion (BOUNDARY 2: completion-only)
void timer_worker_thread(void) {
    // Wait for timer expiry...
    rt_spsc_push(&g_timer.completion_queue, &comp);  // ✓ OK (BOUNDARY 2 allows)
    rt_scheduler_wakeup_signal();                    // ✓ OK (BOUNDARY 2 allows)
}
/* spec end */
/* clang-format on */

static void *timer_thread(void *arg)
{
    timer_worker_thread();
    return arg;
}

TEST(boundary_example_an_io_thread_posts_a_completion)
{
    pthread_t thread;
    timer_completion got = {.id = 0};
    CHECK_OK(rt_spsc_init(&g_timer.completion_queue, g_timer_buffer, sizeof(g_timer_buffer[0]), 4));
    CHECK(pthread_create(&thread, NULL, timer_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(rt_spsc_pop(&g_timer.completion_queue, &got));
    CHECK_EQ(got.id, 5);
    CHECK_EQ(signals, 1);
    rt_spsc_destroy(&g_timer.completion_queue);
}

/* An external thread, a socket and a reader actor. */

static uint16_t reader_port;
static actor_id forwarded_to;
static int producer_sock = -1;

static int connect_to_actor_socket(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(reader_port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    producer_sock = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(producer_sock >= 0);
    CHECK(connect(producer_sock, (struct sockaddr *)&to, sizeof(to)) == 0);
    return producer_sock;
}

static void *run_producer(void *arg);
static pthread_t producer;
static int listener = -1;
static int accepted = -1;

static int listen_and_accept(void)
{
    CHECK_OK(rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1"}, &listener));
    CHECK_OK(rt_net_local_port(listener, &reader_port));
    CHECK(pthread_create(&producer, NULL, run_producer, NULL) == 0);
    CHECK_OK(rt_net_accept(listener, &accepted, -1));
    return accepted;
}

static char buf[RT_MAX_MESSAGE_SIZE];
static size_t received;

/* In the specification the same names are a text and an actor elsewhere. */
#define FORWARDED "forward me"
#define data      FORWARDED
#define len       sizeof(FORWARDED)
#define worker    forwarded_to

/* clang-format off */
/* spec begin */
// ✓ VALID: External thread → socket → reader actor (BOUNDARY 3 workaround)
// External thread:
void external_producer(void) {
    int sock = connect_to_actor_socket();
    write(sock, data, len);  // ✓ OK (platform-specific IPC)
}

// Reader actor:
void socket_reader_actor(void *arg) {
    int sock = listen_and_accept();
    while (1) {
        rt_net_recv(sock, buf, len, &received, -1);  // ✓ OK (scheduler thread)
        rt_ipc_send(worker, buf, received, IPC_ASYNC); // ✓ OK (scheduler thread)
    }
}
/* spec end */
/* clang-format on */

#undef data
#undef len
#undef worker

static void *run_producer(void *arg)
{
    external_producer();
    return arg;
}

static void gets_what_the_thread_wrote(void *arg)
{
    (void)arg;
    char text[sizeof(FORWARDED)] = "";
    size_t got = 0;
    while (got < sizeof(FORWARDED)) {
        rt_message msg;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK(msg.len >= 1 && msg.len <= sizeof(FORWARDED) - got);
        memcpy(text + got, msg.data, msg.len);
        got += msg.len;
    }
    CHECK_STR(text, FORWARDED);
    rt_shutdown();
    rt_exit();
}

TEST(boundary_example_a_thread_reaches_actors_through_a_reader)
{
    CHECK_OK(rt_init());
    forwarded_to = rt_spawn(gets_what_the_thread_wrote, NULL);
    CHECK(rt_spawn(socket_reader_actor, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK(pthread_join(producer, NULL) == 0);
    CHECK(close(producer_sock) == 0 && close(accepted) == 0 && close(listener) == 0);
}
