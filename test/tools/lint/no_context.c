/* SPDX-License-Identifier: Apache-2.0 */
/* What `orrery lint` must find, marked with the word hit, and what it must leave alone. */
#include <orrery/rt.h>

static void worker(void *arg)
{
    rt_message msg;
    (void)arg;
    (void)RT_FAILED(rt_ipc_recv(&msg, -1));
    rt_exit();
}

int main(void)
{
    rt_message msg;
    actor_id id = rt_spawn(worker, NULL);
    (void)rt_ipc_send(id, NULL, 0, IPC_ASYNC);
    return RT_FAILED(rt_ipc_recv(&msg, -1)); /* hit: no-context */
}
