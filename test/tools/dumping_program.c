/* SPDX-License-Identifier: Apache-2.0 */
/* A program that tells of itself by rt_dump, for docs/tools.md: a task waits for a value, and the
 * actor beside it asks. */
#include <stdio.h>

#include <orrery/rt.h>

static rt_channel_sender *tx;
static rt_channel_receiver *rx;
static volatile int sink;

static void *fetch(void *arg)
{
    uint64_t value = 0;
    sink = (int)rt_channel_recv(rx, NULL, &value).code;
    return arg;
}

static void watcher(void *arg)
{
    (void)arg;
    (void)rt_detach(rt_go(fetch, NULL));
    rt_yield();
    sink = (int)rt_dump(1).code;
    rt_shutdown();
    rt_exit();
}

int main(void)
{
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 4};
    if (RT_FAILED(rt_init()) || RT_FAILED(rt_channel_create(&config, &tx, &rx))) {
        return 1;
    }
    (void)rt_spawn_ex(watcher, NULL,
                      &(actor_config){.priority = RT_PRIO_NORMAL, .name = "watcher"});
    rt_run();
    rt_cleanup();
    return 0;
}
