/* SPDX-License-Identifier: Apache-2.0 */
/* What `orrery lint` must find, marked with the word hit, and what it must leave alone. */
#include <signal.h>

#include <orrery/rt.h>

static actor_id watcher;

static void tell(int number)
{
    (void)rt_ipc_send(watcher, &number, sizeof(number), IPC_ASYNC); /* hit: signal-handler */
}

static void on_signal(int number)
{
    tell(number);
    rt_shutdown();
}

static void on_other(int number)
{
    (void)number;
    (void)rt_spawn(NULL, NULL); /* hit: signal-handler */
}

static void on_quiet(int number)
{
    (void)number;
    rt_shutdown();
}

static void not_a_handler(int number)
{
    (void)rt_ipc_send(watcher, &number, sizeof(number), IPC_ASYNC);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_other};
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGINT, on_quiet);
    (void)sigaction(SIGHUP, &action, NULL);
    not_a_handler(1);
    return 0;
}
