/* SPDX-License-Identifier: Apache-2.0 */
/* A deadlock to be found. A kitchen and a cashier talk over two channels: the kitchen cooks when an
 * order is paid, and the cashier takes the money when the dish is ready. So each waits for the
 * other, for ever, and the program stands still.
 *
 *     ORRERY_OBSERVE=1 build/release/examples/deadlock &
 *     build/release/bin/orrery dump $!
 *
 * docs/tools.md shows what the second command says, and what is wrong here. */
#include <stdio.h>

#include <orrery/rt.h>

static rt_channel_sender *payments_tx;
static rt_channel_receiver *payments_rx;
static rt_channel_sender *dishes_tx;
static rt_channel_receiver *dishes_rx;

static void cook_for(uint64_t table)
{
    uint64_t payment = 0;
    /* Waits for the money first. */
    rt_status status = rt_channel_recv(payments_rx, NULL, &payment);
    if (!RT_FAILED(status)) {
        status = rt_channel_send(dishes_tx, NULL, &table);
    }
    if (RT_FAILED(status)) {
        printf("kitchen: %s\n", rt_status_name(status.code));
    }
}

static void kitchen(void *arg)
{
    (void)arg;
    for (uint64_t table = 1; table <= 3; table++) {
        cook_for(table);
    }
    rt_exit();
}

static void serve(uint64_t table)
{
    uint64_t dish = 0;
    /* Waits for the dish first. */
    rt_status status = rt_channel_recv(dishes_rx, NULL, &dish);
    if (!RT_FAILED(status)) {
        status = rt_channel_send(payments_tx, NULL, &table);
    }
    if (RT_FAILED(status)) {
        printf("cashier: %s\n", rt_status_name(status.code));
    }
}

static void cashier(void *arg)
{
    (void)arg;
    for (uint64_t table = 1; table <= 3; table++) {
        serve(table);
    }
    rt_exit();
}

int main(void)
{
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 4};
    if (RT_FAILED(rt_init()) || RT_FAILED(rt_channel_create(&config, &payments_tx, &payments_rx)) ||
        RT_FAILED(rt_channel_create(&config, &dishes_tx, &dishes_rx))) {
        return 1;
    }
    (void)rt_spawn_ex(kitchen, NULL,
                      &(actor_config){.priority = RT_PRIO_NORMAL, .name = "kitchen"});
    (void)rt_spawn_ex(cashier, NULL,
                      &(actor_config){.priority = RT_PRIO_NORMAL, .name = "cashier"});
    rt_run();
    rt_cleanup();
    return 0;
}
