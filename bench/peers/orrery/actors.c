/* SPDX-License-Identifier: Apache-2.0 */
/* Actors: two that talk, a ring, and many to one. They are behaviours; the variant `fiber` of the
 * first is actors with a stack. */
#define _GNU_SOURCE
#include "peer.h"

#define RING        1000
#define SOURCES     100
#define FLOOD_BATCH 100 /* messages that a source sends in one turn */

static actor_id members[RING];
static long hops_left;

static void hop(void *state, const rt_behaviour_message *msg)
{
    const actor_id *next = state;
    if (hops_left-- == 0) {
        rt_shutdown();
        return;
    }
    peer_must(rt_behaviour_send(*next, 0, msg->data, msg->len));
}

static const rt_behaviour_fn hop_handlers[] = {hop};
static const rt_behaviour_type hopper = {
    .handlers = hop_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void ring(size_t size, long hops)
{
    peer_init();
    peer_must(rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = RING, .messages = 4096}));
    for (size_t i = 0; i < size; i++) {
        members[i] = rt_behaviour_spawn(&hopper, &members[(i + 1) % size]);
    }
    hops_left = hops;
    peer_must(rt_behaviour_send(members[0], 0, &hops, sizeof(hops)));
    peer_report_ns(peer_run(), (double)peer_count);
}

void actors_pingpong(void)
{
    ring(2, 2 * peer_count);
}

void actors_ring(void)
{
    ring(RING, peer_count);
}

static actor_id ponger;

static void ping(void *arg)
{
    long number = 0;
    rt_message message;
    (void)arg;
    for (long i = 0; i < peer_count; i++) {
        peer_must(rt_ipc_send(ponger, &number, sizeof(number), IPC_ASYNC));
        peer_must(rt_ipc_recv(&message, -1));
    }
    peer_must(rt_actor_kill(ponger));
    rt_exit();
}

static void pong(void *arg)
{
    rt_message message;
    (void)arg;
    for (;;) {
        peer_must(rt_ipc_recv(&message, -1));
        peer_must(rt_ipc_send(message.sender, message.data, message.len, IPC_ASYNC));
    }
}

void actors_pingpong_fiber(void)
{
    peer_init();
    rt_spawn(ping, NULL);
    ponger = rt_spawn(pong, NULL);
    peer_report_ns(peer_run(), (double)peer_count);
}

static long taken;

struct source {
    long left;
};

/* Sends a batch and asks itself to go on; the taker's limit makes it wait. */
static void flood(void *state, const rt_behaviour_message *msg)
{
    struct source *self = state;
    (void)msg;
    for (long i = 0; i < FLOOD_BATCH; i++) {
        peer_must(rt_behaviour_send(members[0], 0, &i, sizeof(i)));
    }
    self->left -= FLOOD_BATCH;
    if (self->left > 0) {
        peer_must(rt_behaviour_send(rt_self(), 0, NULL, 0));
    }
}

static void take(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    if (++taken == peer_count) {
        rt_shutdown();
    }
}

static const rt_behaviour_fn flood_handlers[] = {flood};
static const rt_behaviour_fn take_handlers[] = {take};
static const rt_behaviour_type flooder = {
    .handlers = flood_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
static const rt_behaviour_type taker = {
    .handlers = take_handlers,
    .handler_count = 1,
    .priority = RT_PRIO_NORMAL,
    .mailbox = {.high = 1024, .low = 512, .overflow = RT_OVERFLOW_MUTE}};

void actors_fanin(void)
{
    static struct source sources[SOURCES];
    long each = peer_count / SOURCES / FLOOD_BATCH * FLOOD_BATCH;
    each = each < FLOOD_BATCH ? FLOOD_BATCH : each;
    peer_count = each * SOURCES;
    peer_init();
    peer_must(
        rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = SOURCES + 1, .messages = 1 << 16}));
    members[0] = rt_behaviour_spawn(&taker, NULL);
    for (size_t i = 0; i < SOURCES; i++) {
        sources[i].left = each;
        actor_id source = rt_behaviour_spawn(&flooder, &sources[i]);
        peer_must(rt_behaviour_send(source, 0, NULL, 0));
    }
    peer_report_ns(peer_run(), (double)peer_count);
}
