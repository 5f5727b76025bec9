/* SPDX-License-Identifier: Apache-2.0 */
/* How cost grows: the same operation among COUNT objects, which is 10^3 to 10^6. What should be
 * flat is flat up to where the objects no longer fit into the processor's caches.
 *
 *     growth_spawn      COUNT poll tasks are started, then all are joined: one task
 *     growth_message    a token goes around COUNT behaviours: one hop
 *     growth_channel    COUNT values are sent into one channel, then all are received: one value
 *     growth_waiters    COUNT poll tasks wait in the line of one channel, and as many values are
 *                       sent: one value, from the send to the task that got it
 *     growth_timer      COUNT timers; one at random is cancelled and set anew
 *     growth_poll       COUNT poll tasks pause; one at random is woken and called: one wake */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "peer.h"

#define OPERATIONS 1000000L

static void *allocate(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    peer_expect(memory != MAP_FAILED, "no memory");
    return memory;
}

static rt_async_task *start(rt_poll_fn poll, void *state)
{
    rt_async_task *task = rt_async(poll, state);
    peer_expect(task != NULL, "no more tasks");
    return task;
}

/* Operations rounded up to whole rounds over all objects. */
static long rounds(void)
{
    return (OPERATIONS + peer_count - 1) / peer_count;
}

/* ---- spawn ---- */

static rt_status ends(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

static void *spawn_main(void *arg)
{
    rt_async_task **tasks = arg;
    for (long round = 0; round < rounds(); round++) {
        for (long i = 0; i < peer_count; i++) {
            tasks[i] = start(ends, NULL);
        }
        for (long i = 0; i < peer_count; i++) {
            peer_must(rt_async_join(&tasks[i], NULL, NULL));
        }
    }
    return NULL;
}

void growth_spawn(void)
{
    peer_init();
    peer_must(rt_async_reserve(&(rt_async_config){.tasks = (size_t)peer_count, .contexts = 16}));
    peer_go(spawn_main, allocate((size_t)peer_count * sizeof(rt_async_task *)));
    peer_report_ns(peer_run(), (double)(rounds() * peer_count));
}

/* ---- messages ---- */

static long hops_left;
static double began;

static void hop(void *state, const rt_behaviour_message *msg)
{
    const actor_id *next = state;
    if (hops_left-- == 0) {
        peer_report_ns(bench_now_ns() - began, (double)(rounds() * peer_count));
        rt_shutdown();
        return;
    }
    peer_must(rt_behaviour_send(*next, 0, msg->data, msg->len));
}

static const rt_behaviour_fn hop_handlers[] = {hop};
static const rt_behaviour_type hopper = {
    .handlers = hop_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

/* After every behaviour has had its first turn. */
static void *message_main(void *arg)
{
    const actor_id *first = arg;
    long number = 0;
    rt_yield();
    began = bench_now_ns();
    peer_must(rt_behaviour_send(*first, 0, &number, sizeof(number)));
    return NULL;
}

void growth_message(void)
{
    actor_id *ids = allocate((size_t)peer_count * sizeof(*ids));
    peer_init();
    peer_must(rt_behaviour_reserve(
        &(rt_behaviour_room){.behaviours = (size_t)peer_count, .messages = 1024}));
    for (long i = 0; i < peer_count; i++) {
        ids[i] = rt_behaviour_spawn(&hopper, &ids[(i + 1) % peer_count]);
        peer_expect(ids[i] != ACTOR_ID_INVALID, "no more behaviours");
    }
    hops_left = rounds() * peer_count;
    peer_go(message_main, ids);
    peer_run();
}

/* ---- channels ---- */

static rt_channel_sender *tx;
static rt_channel_receiver *rx;

static void open_channel(size_t capacity)
{
    size_t bytes = RT_CHANNEL_BYTES(sizeof(long), capacity);
    rt_channel_config config = {.elem_size = sizeof(long),
                                .capacity = capacity,
                                .memory = allocate(bytes),
                                .memory_size = bytes};
    peer_must(rt_channel_create(&config, &tx, &rx));
}

static void *channel_main(void *arg)
{
    for (long round = 0; round < rounds(); round++) {
        long number;
        for (long i = 0; i < peer_count; i++) {
            peer_must(rt_channel_send(tx, NULL, &i));
        }
        for (long i = 0; i < peer_count; i++) {
            peer_must(rt_channel_recv(rx, NULL, &number));
        }
    }
    return arg;
}

void growth_channel(void)
{
    peer_init();
    open_channel((size_t)peer_count);
    peer_go(channel_main, NULL);
    peer_report_ns(peer_run(), (double)(rounds() * peer_count));
}

struct waiter {
    rt_async_frame frame;
    long number;
};

static long received;

static rt_status waits(void *state, rt_cx *cx)
{
    struct waiter *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    RT_AWAIT(rt_channel_recv(rx, cx, &self->number));
    peer_must(rt_awaited);
    if (++received == peer_count) {
        peer_report_ns(bench_now_ns() - began, (double)peer_count);
    }
    RT_ASYNC_END(RT_SUCCESS);
}

static void *waiters_main(void *arg)
{
    struct waiter *waiters = arg;
    for (long i = 0; i < peer_count; i++) {
        peer_must(rt_async_detach(start(waits, &waiters[i])));
    }
    rt_yield();
    began = bench_now_ns();
    for (long i = 0; i < peer_count; i++) {
        peer_must(rt_channel_send(tx, NULL, &i));
    }
    return NULL;
}

void growth_waiters(void)
{
    peer_init();
    peer_must(rt_async_reserve(&(rt_async_config){.tasks = (size_t)peer_count}));
    open_channel(1024);
    peer_go(waiters_main, allocate((size_t)peer_count * sizeof(struct waiter)));
    peer_run();
}

/* ---- timers ---- */

static void on_fire(void *arg)
{
    (void)arg;
}

void growth_timer(void)
{
    static rt_wheel wheel;
    const rt_waker waker = {.fn = on_fire};
    size_t count = (size_t)peer_count;
    rt_wheel_handle *handles = allocate(count * sizeof(*handles));
    rt_wheel_config config = {.nodes = allocate(count * sizeof(rt_wheel_node)),
                              .max_timer_nodes = count};
    uint64_t far = 42;
    uint64_t victims = 7;
    peer_must(rt_wheel_init(&wheel, &config, 0));
    for (size_t i = 0; i < count; i++) {
        rt_time deadline = (60000 + peer_random(&far) % 60000) * RT_NS_PER_MS;
        peer_must(rt_wheel_register(&wheel, deadline, waker, &handles[i]));
    }
    double start_ns = bench_now_ns();
    for (long i = 0; i < OPERATIONS; i++) {
        rt_wheel_handle *victim = &handles[peer_random(&victims) % count];
        rt_time deadline = (60000 + peer_random(&far) % 60000) * RT_NS_PER_MS;
        peer_expect(rt_wheel_cancel(&wheel, victim), "a timer is lost");
        peer_must(rt_wheel_register(&wheel, deadline, waker, victim));
    }
    peer_report_ns(bench_now_ns() - start_ns, (double)OPERATIONS);
}

/* ---- poll tasks ---- */

static rt_status pauses(void *state, rt_cx *cx)
{
    rt_async_frame *frame = state;
    RT_ASYNC_BEGIN(frame);
    for (;;) {
        RT_AWAIT(rt_async_pause(cx));
        if (RT_FAILED(rt_awaited)) {
            break;
        }
    }
    RT_ASYNC_END(RT_SUCCESS);
}

static void *poll_main(void *arg)
{
    size_t count = (size_t)peer_count;
    rt_async_frame *frames = allocate(count * sizeof(*frames));
    rt_async_task **tasks = allocate(count * sizeof(*tasks));
    uint64_t random = 7;
    for (size_t i = 0; i < count; i++) {
        tasks[i] = start(pauses, &frames[i]);
    }
    rt_yield();
    began = bench_now_ns();
    for (long i = 0; i < OPERATIONS; i++) {
        peer_must(rt_async_wake(tasks[peer_random(&random) % count]));
        rt_yield();
    }
    peer_report_ns(bench_now_ns() - began, (double)OPERATIONS);
    for (size_t i = 0; i < count; i++) {
        peer_must(rt_async_detach(tasks[i]));
    }
    rt_shutdown();
    return arg;
}

void growth_poll(void)
{
    peer_init();
    peer_must(rt_async_reserve(&(rt_async_config){.tasks = (size_t)peer_count, .contexts = 16}));
    peer_go(poll_main, NULL);
    peer_run();
}
