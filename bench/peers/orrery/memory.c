/* SPDX-License-Identifier: Apache-2.0 */
/* What those take that wait: a poll task, a behaviour and a task with a stack. What the process has
 * more of when they wait than before the first was started, the program's own state included. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "peer.h"

static double before;

static rt_status pauses(void *state, rt_cx *cx)
{
    rt_async_frame *frame = state;
    RT_ASYNC_BEGIN(frame);
    RT_AWAIT(rt_async_pause(cx));
    RT_ASYNC_END(RT_SUCCESS);
}

static void settle_and_report(void)
{
    peer_must(rt_sleep(10 * RT_NS_PER_MS));
    peer_report("bytes", (peer_resident_bytes() - before) / (double)peer_count);
    rt_shutdown();
}

static void *park_polls(void *arg)
{
    rt_async_frame *frames = mmap(NULL, (size_t)peer_count * sizeof(*frames),
                                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    peer_expect(frames != MAP_FAILED, "no memory");
    for (long i = 0; i < peer_count; i++) {
        peer_must(rt_async_detach(rt_async(pauses, &frames[i])));
    }
    settle_and_report();
    return arg;
}

void memory_poll(void)
{
    peer_init();
    before = peer_resident_bytes();
    peer_must(rt_async_reserve(&(rt_async_config){.tasks = (size_t)peer_count, .contexts = 16}));
    peer_go(park_polls, NULL);
    peer_run();
}

struct small {
    uint64_t number;
};

static void add(void *state, const rt_behaviour_message *msg)
{
    struct small *self = state;
    self->number += msg->len;
}

static const rt_behaviour_fn add_handlers[] = {add};
static const rt_behaviour_type adder = {.handlers = add_handlers,
                                        .handler_count = 1,
                                        .state_size = sizeof(struct small),
                                        .priority = RT_PRIO_NORMAL};

static void *park_actors(void *arg)
{
    for (long i = 0; i < peer_count; i++) {
        peer_expect(rt_behaviour_spawn(&adder, NULL) != ACTOR_ID_INVALID, "no more behaviours");
    }
    settle_and_report();
    return arg;
}

void memory_actor(void)
{
    peer_init();
    before = peer_resident_bytes();
    peer_must(rt_behaviour_reserve(
        &(rt_behaviour_room){.behaviours = (size_t)peer_count, .messages = 1024}));
    peer_go(park_actors, NULL);
    peer_run();
}

static rt_channel_sender *tx;
static rt_channel_receiver *rx;

static void *waits(void *arg)
{
    long number;
    while (!RT_FAILED(rt_channel_recv(rx, NULL, &number))) {
    }
    return arg;
}

static void *park_fibers(void *arg)
{
    for (long i = 0; i < peer_count; i++) {
        rt_task *task = rt_go(waits, NULL);
        peer_expect(task != NULL, "no more tasks");
        peer_must(rt_detach(task));
    }
    settle_and_report();
    return arg;
}

void memory_fiber(void)
{
    rt_channel_config config = {.elem_size = sizeof(long), .capacity = 1};
    peer_init();
    before = peer_resident_bytes();
    peer_must(rt_channel_create(&config, &tx, &rx));
    peer_must(rt_task_reserve(&(rt_task_room){.tasks = (size_t)peer_count, .stack_size = 4096}));
    peer_go(park_fibers, NULL);
    peer_run();
}
