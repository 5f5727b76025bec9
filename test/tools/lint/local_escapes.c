/* SPDX-License-Identifier: Apache-2.0 */
/* What `orrery lint` must find, marked with the word hit, and what it must leave alone. */
#include <orrery/rt.h>

struct job {
    int number;
    struct job *next;
};

static void actor(void *arg)
{
    (void)arg;
    rt_exit();
}

static void *task(void *arg)
{
    return arg;
}

static void start_and_leave(struct job *given)
{
    struct job job = {1, NULL};
    static struct job kept = {2, NULL};
    char buffer[8];
    (void)rt_spawn(actor, &job);   /* hit: local-escapes */
    (void)rt_spawn(actor, buffer); /* hit: local-escapes */
    (void)rt_spawn(actor, &kept);
    (void)rt_spawn(actor, given);
    (void)rt_spawn(actor, &given->next);
    (void)rt_detach(rt_go(task, &job)); /* hit: local-escapes */
}

static rt_status poll(void *state, rt_cx *cx)
{
    (void)state;
    return rt_async_pause(cx);
}

static void start_others(rt_region *region)
{
    struct job job = {1, NULL};
    (void)rt_detach(rt_region_go(region, task, &job)); /* hit: local-escapes */
    (void)rt_async_detach(rt_async(poll, &job));       /* hit: local-escapes */
}

static rt_status start_and_wait(void)
{
    struct job job = {1, NULL};
    rt_task *handle = rt_go(task, &job);
    return rt_join(handle, NULL);
}

int main(void)
{
    struct job job = {1, NULL};
    start_and_leave(&job);
    (void)start_and_wait();
    start_others(NULL);
    (void)rt_spawn(actor, &job);
    rt_run();
    return 0;
}
