/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "ipc_test"
#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static void pong(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 1000; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(*(const int *)msg.data, i);
        CHECK_OK(rt_ipc_send(msg.sender, &i, sizeof(i), IPC_ASYNC));
    }
    rt_exit();
}

static void ping(void *arg)
{
    actor_id other = *(const actor_id *)arg;
    rt_message msg;
    for (int i = 0; i < 1000; i++) {
        CHECK_OK(rt_ipc_send(other, &i, sizeof(i), IPC_ASYNC));
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(*(const int *)msg.data, i);
        CHECK_EQ(msg.sender, other);
    }
    rt_exit();
}

TEST(ipc_two_actors_exchange_a_thousand_messages)
{
    struct actors_world *world = actors_start();
    actor_id other = actors_spawn(pong, NULL, RT_PRIO_NORMAL, "pong");
    actors_spawn(ping, &other, RT_PRIO_NORMAL, "ping");
    actors_finish(world);
}
