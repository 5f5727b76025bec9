/* SPDX-License-Identifier: Apache-2.0 */
/* actor-runtime.md on the runtime as a whole, what of it the unit tests do not show: the
 * declarations of "Runtime API" and "Completion Queue", the scheduler's wake-ups, and the way from
 * an external thread to an actor. */
#define _GNU_SOURCE
#define RTI_MODULE "runtime_conform_test"
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <orrery/rt.h>

#include "sched/scheduler.h"
#include "support/test.h"
#include "support/world.h"

/* The declarations as the specification has them: a second one that differs does not compile. */

// clang-format off
// Initialize runtime (call once from main)
rt_status rt_init(void);

// Run scheduler (blocks until all actors exit or rt_shutdown called)
void rt_run(void);

// Request graceful shutdown
void rt_shutdown(void);

// Cleanup runtime resources (call after rt_run completes)
void rt_cleanup(void);

rt_status rt_spsc_init(rt_spsc_queue *q, void *buffer, size_t entry_size, size_t capacity);

// Destroy SPSC queue (does NOT free buffer - caller owns it)
void      rt_spsc_destroy(rt_spsc_queue *q);

// Producer (I/O thread)
bool rt_spsc_push(rt_spsc_queue *q, const void *entry);

// Consumer (scheduler)
bool rt_spsc_pop(rt_spsc_queue *q, void *entry_out);
bool rt_spsc_peek(rt_spsc_queue *q, void *entry_out);
// clang-format on

struct spec_spsc_queue {
    void *buffer;
    size_t entry_size;
    size_t capacity;
    atomic_size_t head;
    atomic_size_t tail;
};

#define SAME_FIELD(field)                                                                          \
    _Static_assert(offsetof(rt_spsc_queue, field) == offsetof(struct spec_spsc_queue, field),      \
                   "rt_spsc_queue is the specification's")

SAME_FIELD(buffer);
SAME_FIELD(entry_size);
SAME_FIELD(capacity);
SAME_FIELD(head);
SAME_FIELD(tail);
_Static_assert(sizeof(rt_spsc_queue) == sizeof(struct spec_spsc_queue), "and has no other field");

TEST(spsc_queue_shows_its_fields_and_who_moves_them)
{
    int memory[4] = {0};
    int entry = 7;
    rt_spsc_queue queue;
    CHECK_OK(rt_spsc_init(&queue, memory, sizeof(int), 4));
    CHECK(queue.buffer == memory);
    CHECK_EQ(queue.entry_size, sizeof(int));
    CHECK_EQ(queue.capacity, 4);
    CHECK(rt_spsc_push(&queue, &entry));
    CHECK_EQ(atomic_load(&queue.head), 1); /* the producer's */
    CHECK_EQ(atomic_load(&queue.tail), 0); /* the consumer's */
    CHECK_EQ(memory[0], 7);                /* in the caller's memory and nowhere else */
    CHECK(rt_spsc_pop(&queue, &entry));
    CHECK_EQ(atomic_load(&queue.head), 1);
    CHECK_EQ(atomic_load(&queue.tail), 1);
    rt_spsc_destroy(&queue);
    CHECK_EQ(memory[0], 7); /* left as it is */
}

static void sets_a_far_timer(void *arg)
{
    timer_id id;
    (void)arg;
    CHECK_OK(rt_timer_every(UINT32_MAX, &id));
    CHECK_OK(rt_timer_after(UINT32_MAX, &id));
    rt_exit();
}

TEST(runtime_ends_with_the_last_actor_though_it_had_set_timers)
{
    rt_sim_report report;
    rt_sim_config config = {.report = &report};
    CHECK_OK(rt_sim_run(&config, sets_a_far_timer, NULL));
    CHECK_EQ(report.time, 0);
}

/* Wakes the scheduler again and again, for nothing. */
static void *wake_for_nothing(void *arg)
{
    struct rti_port *port = arg;
    for (int i = 0; i < 200; i++) {
        port->ops->wake(port);
        usleep(100);
    }
    return NULL;
}

static int wakes;

static void sleeps_through(void *arg)
{
    pthread_t thread;
    rt_message msg;
    (void)arg;
    rt_time start = rt_clock();
    CHECK_EQ(pthread_create(&thread, NULL, wake_for_nothing, rti_sched_current()->port), 0);
    CHECK_STATUS(rt_ipc_recv(&msg, 30), RT_ERR_TIMEOUT);
    CHECK(rt_clock() - start >= 30 * RT_NS_PER_MS);
    wakes++;
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_exit();
}

TEST(scheduler_woken_for_nothing_goes_back_to_sleep_and_wakes_no_actor)
{
    wakes = 0;
    CHECK_OK(rt_init());
    CHECK(rt_spawn(sleeps_through, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_EQ(wakes, 1);
}

/* Actors of different priority whose timers are due at the same instant. */
#define INSTANT_ACTORS 12

static int ticks_seen_by_first;
static actor_id instant_ids[INSTANT_ACTORS];

static void ticks_with_all(void *arg)
{
    (void)arg;
    rt_message msg;
    timer_id id;
    CHECK_OK(rt_timer_after(1000, &id));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    if (ticks_seen_by_first == 0) {
        /* The first to run: the ticks of all others have been delivered, so that none waits. */
        ticks_seen_by_first = 1;
        for (size_t i = 0; i < INSTANT_ACTORS; i++) {
            struct rt_actor_stats stats;
            if (instant_ids[i] != rt_self()) {
                CHECK_OK(rt_actor_stats(instant_ids[i], &stats));
                CHECK_EQ(stats.mailbox_depth, 1);
                CHECK_EQ(stats.state, ACTOR_STATE_READY);
                ticks_seen_by_first++;
            }
        }
    }
    rt_exit();
}

static void starts_all(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < INSTANT_ACTORS; i++) {
        actor_config config = {.stack_size = 16384, .priority = (rt_priority)(i % 4)};
        instant_ids[i] = rt_spawn_ex(ticks_with_all, NULL, &config);
        CHECK(instant_ids[i] != ACTOR_ID_INVALID);
    }
    rt_exit();
}

TEST(scheduler_drains_everything_that_is_due_before_an_actor_runs)
{
    world_needs_virtual_clock();
    ticks_seen_by_first = 0;
    world_run(starts_all, NULL);
    CHECK_EQ(ticks_seen_by_first, INSTANT_ACTORS);
}

/* The way for external threads: a socket and an actor that reads it. */
#define WORDS 100

struct bridge {
    uint16_t port;
    int listener;
    actor_id worker;
    uint32_t sum;
};

static void *external_producer(void *arg)
{
    const struct bridge *bridge = arg;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(bridge->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(sock >= 0);
    CHECK_EQ(connect(sock, (struct sockaddr *)&address, sizeof(address)), 0);
    for (uint32_t word = 1; word <= WORDS; word++) {
        CHECK_EQ(write(sock, &word, sizeof(word)), sizeof(word));
    }
    close(sock);
    return NULL;
}

static void bridge_worker(void *arg)
{
    struct bridge *bridge = arg;
    for (int i = 0; i < WORDS; i++) {
        rt_message msg;
        uint32_t word;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(msg.len, sizeof(word));
        memcpy(&word, msg.data, sizeof(word));
        bridge->sum += word;
    }
    rt_exit();
}

static void socket_reader_actor(void *arg)
{
    struct bridge *bridge = arg;
    int sock;
    uint32_t word;
    size_t received;
    CHECK_OK(rt_net_accept(bridge->listener, &sock, -1));
    for (int i = 0; i < WORDS; i++) {
        size_t have = 0;
        while (have < sizeof(word)) {
            CHECK_OK(rt_net_recv(sock, (char *)&word + have, sizeof(word) - have, &received, -1));
            have += received;
        }
        CHECK_OK(rt_ipc_send(bridge->worker, &word, sizeof(word), IPC_ASYNC));
        rt_yield();
    }
    CHECK_OK(rt_net_close(sock));
    rt_exit();
}

TEST(external_thread_reaches_an_actor_through_a_socket_and_a_reader_actor)
{
    struct bridge bridge = {.sum = 0};
    pthread_t thread;
    rt_net_listen_config config = {.address = "127.0.0.1"};
    CHECK_OK(rt_init());
    CHECK_OK(rt_net_listen_ex(&config, &bridge.listener));
    CHECK_OK(rt_net_local_port(bridge.listener, &bridge.port));
    bridge.worker = rt_spawn(bridge_worker, &bridge);
    CHECK(rt_spawn(socket_reader_actor, &bridge) != ACTOR_ID_INVALID);
    CHECK_EQ(pthread_create(&thread, NULL, external_producer, &bridge), 0);
    rt_run();
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_OK(rt_net_close(bridge.listener));
    rt_cleanup();
    CHECK_EQ(bridge.sum, WORDS * (WORDS + 1) / 2);
}

/* A program of every kind of event; what it decides is in its trace. */
static bus_id trace_bus;

static void trace_reader(void *arg)
{
    uint64_t value;
    size_t len;
    CHECK_OK(rt_bus_subscribe(trace_bus));
    while (!RT_FAILED(rt_bus_read_wait(trace_bus, &value, sizeof(value), &len, 50))) {
        rt_sim_mark(value + *(const uint64_t *)arg);
    }
    rt_exit();
}

static void trace_program(void *arg)
{
    static const uint64_t names[] = {100, 200, 300};
    rt_bus_config config = {.max_subscribers = 3,
                            .max_readers = 2,
                            .max_age_ms = 20,
                            .max_entries = 4,
                            .max_entry_size = sizeof(uint64_t)};
    timer_id id;
    rt_message msg;
    (void)arg;
    CHECK_OK(rt_bus_create(&config, &trace_bus));
    for (size_t i = 0; i < 3; i++) {
        CHECK(rt_spawn(trace_reader, (void *)(uintptr_t)&names[i]) != ACTOR_ID_INVALID);
    }
    CHECK_OK(rt_timer_every(3000, &id));
    for (uint64_t i = 0; i < 20; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_OK(rt_bus_publish(trace_bus, &i, sizeof(i)));
        if (i % 3 == 0) {
            CHECK_OK(rt_bus_publish(trace_bus, &i, sizeof(i)));
        }
    }
    rt_exit();
}

static uint64_t trace_of(uint64_t seed)
{
    rt_sim_report report;
    rt_sim_config config = {.seed = seed, .report = &report};
    CHECK_OK(rt_sim_run(&config, trace_program, NULL));
    return report.trace_hash;
}

TEST(runtime_takes_the_same_decisions_for_the_same_events_of_timers_and_buses)
{
    uint64_t first = trace_of(1);
    CHECK(trace_of(1) == first);
    CHECK(trace_of(2) != first);
    CHECK(trace_of(1) == first);
}
