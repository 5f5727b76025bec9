/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest program that does something: one actor, one message.
 *
 * Tested: hello */
#include <stdio.h>

#include <orrery/rt.h>

static void greeter(void *arg)
{
    (void)arg;
    rt_message msg;
    if (RT_FAILED(rt_ipc_recv(&msg, -1))) { /* -1: wait for ever */
        return; /* returning is a crash, and a supervisor would see it */
    }
    printf("hello, %.*s\n", (int)msg.len, (const char *)msg.data);
    rt_exit();
}

int main(void)
{
    if (RT_FAILED(rt_init())) {
        return 1;
    }
    actor_id id = rt_spawn(greeter, NULL); /* it runs when its turn comes */
    if (RT_FAILED(rt_ipc_send(id, "planets", 7, IPC_ASYNC))) {
        return 1;
    }
    rt_run(); /* until no actor is left */
    rt_cleanup();
    return 0;
}
