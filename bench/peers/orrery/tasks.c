/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: switches between them, their start and end, and a tree of them. A trivial task is a poll
 * task, as it is in Tokio; the variant `fiber` gives each a stack, as Go does, and the variant
 * `actor` an actor's id, mailbox and death as well. */
#define _GNU_SOURCE
#include "peer.h"

static void *yields(void *arg)
{
    for (long i = 0; i < peer_count; i++) {
        rt_yield();
    }
    return arg;
}

void tasks_switch(void)
{
    peer_init();
    peer_go(yields, NULL);
    peer_go(yields, NULL);
    peer_report_ns(peer_run(), 2.0 * (double)peer_count);
}

static rt_status ends(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

static void *join_polls(void *arg)
{
    static rt_async_task *tasks[PEER_BATCH];
    for (long i = 0; i < peer_count; i += PEER_BATCH) {
        for (int j = 0; j < PEER_BATCH; j++) {
            tasks[j] = rt_async(ends, NULL);
            peer_expect(tasks[j] != NULL, "no more tasks");
        }
        for (int j = 0; j < PEER_BATCH; j++) {
            peer_must(rt_async_join(&tasks[j], NULL, NULL));
        }
    }
    return arg;
}

static double rounded_count(void)
{
    return (double)((peer_count + PEER_BATCH - 1) / PEER_BATCH * PEER_BATCH);
}

void tasks_spawn_join(void)
{
    peer_init();
    peer_must(rt_async_reserve(&(rt_async_config){.tasks = PEER_BATCH, .contexts = 16}));
    peer_go(join_polls, NULL);
    peer_report_ns(peer_run(), rounded_count());
}

static void *returns(void *arg)
{
    return arg;
}

static void *join_fibers(void *arg)
{
    static rt_task *tasks[PEER_BATCH];
    for (long i = 0; i < peer_count; i += PEER_BATCH) {
        for (int j = 0; j < PEER_BATCH; j++) {
            tasks[j] = rt_go(returns, NULL);
            peer_expect(tasks[j] != NULL, "no more tasks");
        }
        for (int j = 0; j < PEER_BATCH; j++) {
            peer_must(rt_join(tasks[j], NULL));
        }
    }
    return arg;
}

void tasks_spawn_join_fiber(void)
{
    peer_init();
    peer_must(rt_task_reserve(&(rt_task_room){.tasks = PEER_BATCH}));
    peer_go(join_fibers, NULL);
    peer_report_ns(peer_run(), rounded_count());
}

/* Not many more have a stack of the usual size in an arena of the usual size. */
#define ACTOR_BATCH 10

static long actors_ended;

static void exits(void *arg)
{
    (void)arg;
    actors_ended++;
    rt_exit();
}

static void *spawn_actors(void *arg)
{
    for (long i = 0; i < peer_count; i += ACTOR_BATCH) {
        for (int j = 0; j < ACTOR_BATCH; j++) {
            peer_expect(rt_spawn(exits, NULL) != ACTOR_ID_INVALID, "no more actors");
        }
        while (actors_ended < i + ACTOR_BATCH) {
            rt_yield();
        }
    }
    return arg;
}

void tasks_spawn_exit(void)
{
    peer_init();
    peer_go(spawn_actors, NULL);
    double elapsed = peer_run();
    peer_report_ns(elapsed, (double)actors_ended);
}

/* ---- skynet: each node starts ten below it and adds up what they say ---- */

#define BELOW 10

struct node {
    rt_async_frame frame;
    uint32_t i;
    long first;  /* the number of its first leaf */
    long leaves; /* below it; 1: it is one */
    long sum;
    struct child *below;
};

/* The handles are with the nodes below, so that a leaf has no room for any. */
struct child {
    struct node node;
    rt_async_task *task;
};

static rt_status leaf_poll(void *state, rt_cx *cx)
{
    struct node *self = state;
    (void)cx;
    self->sum = self->first;
    return RT_SUCCESS;
}

static rt_status node_poll(void *state, rt_cx *cx)
{
    struct node *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    self->below = malloc(BELOW * sizeof(*self->below));
    peer_expect(self->below != NULL, "no memory");
    for (self->i = 0; self->i < BELOW; self->i++) {
        long each = self->leaves / BELOW;
        struct child *below = &self->below[self->i];
        below->node.frame.at = 0;
        below->node.first = self->first + (long)self->i * each;
        below->node.leaves = each;
        below->task = rt_async(each == 1 ? leaf_poll : node_poll, &below->node);
        peer_expect(below->task != NULL, "no more tasks");
    }
    self->sum = 0;
    for (self->i = 0; self->i < BELOW; self->i++) {
        RT_AWAIT(rt_async_join(&self->below[self->i].task, cx, NULL));
        self->sum += self->below[self->i].node.sum;
    }
    free(self->below);
    RT_ASYNC_END(RT_SUCCESS);
}

static void *skynet_root(void *arg)
{
    struct node root = {.leaves = peer_count};
    rt_async_task *task = rt_async(node_poll, &root);
    peer_must(rt_async_join(&task, NULL, NULL));
    peer_expect(root.sum == peer_count * (peer_count - 1) / 2, "the sum is wrong");
    return arg;
}

void tasks_skynet(void)
{
    peer_init();
    peer_must(rt_async_reserve(&(rt_async_config){.tasks = (size_t)peer_count * 10 / 9 + 2,
                                                  .contexts = (size_t)peer_count / 9 + 2,
                                                  .is_last_first = true}));
    peer_go(skynet_root, NULL);
    peer_report("ms", peer_run() / 1e6);
}
