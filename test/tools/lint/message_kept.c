/* SPDX-License-Identifier: Apache-2.0 */
/* What `orrery lint` must find, marked with the word hit, and what it must leave alone. */
#include <stdio.h>
#include <string.h>

#include <orrery/rt.h>

static void kept(void *arg)
{
    rt_message msg;
    (void)arg;
    if (RT_FAILED(rt_ipc_recv(&msg, -1))) {
        return;
    }
    const char *name = msg.data;
    puts(name);
    if (RT_FAILED(rt_ipc_recv(&msg, -1))) {
        return;
    }
    puts(name); /* hit: message-kept */
}

static void set_anew(void *arg)
{
    rt_message msg;
    const char *name = arg;
    for (;;) {
        if (RT_FAILED(rt_ipc_recv(&msg, -1))) {
            return;
        }
        name = msg.data;
        puts(name);
    }
}

static void copied(void *arg)
{
    rt_message msg;
    char name[32];
    (void)arg;
    if (RT_FAILED(rt_ipc_recv(&msg, -1))) {
        return;
    }
    memcpy(name, msg.data, sizeof(name));
    if (RT_FAILED(rt_ipc_recv(&msg, -1))) {
        return;
    }
    puts(name);
}

static void kept_for_the_next_turn(void *arg)
{
    rt_message msg;
    const char *last = arg;
    for (;;) {
        if (RT_FAILED(rt_ipc_recv(&msg, -1))) {
            return;
        }
        puts(last); /* hit: message-kept */
        last = msg.data;
    }
}

static void two_messages(void *arg)
{
    rt_message first;
    rt_message second;
    (void)arg;
    if (RT_FAILED(rt_ipc_recv(&first, -1))) {
        return;
    }
    puts(first.data);
    if (RT_FAILED(rt_ipc_recv(&second, -1))) {
        return;
    }
    puts(second.data);
    puts(first.data); /* hit: message-kept */
}

int main(void)
{
    (void)rt_spawn(kept_for_the_next_turn, "");
    (void)rt_spawn(two_messages, NULL);
    (void)rt_spawn(kept, NULL);
    (void)rt_spawn(set_anew, "");
    (void)rt_spawn(copied, NULL);
    return 0;
}
