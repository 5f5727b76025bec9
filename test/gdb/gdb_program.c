/* SPDX-License-Identifier: Apache-2.0 */
/* The program that the tests of the debugger look at: actors and tasks that wait in several ways,
 * more tasks than there are slots without a room, things without a stack; and then one of them
 * comes to where the tests have a breakpoint. */
#include <orrery/rt.h>

static rt_channel_sender *orders_tx;
static rt_channel_receiver *orders_rx;
static volatile int sink;
static actor_id bystander_id;

static __attribute__((noinline)) int wait_for_mail(int guests)
{
    rt_message msg;
    rt_status status = rt_ipc_recv(&msg, -1);
    sink = guests;
    return (int)status.code + guests;
}

static void waiter(void *arg)
{
    (void)arg;
    sink = wait_for_mail(7);
    rt_exit();
}

static __attribute__((noinline)) int wait_for_order(int table_number)
{
    uint64_t order = 0;
    rt_status status = rt_channel_recv(orders_rx, NULL, &order);
    sink = table_number;
    return (int)status.code + table_number;
}

static void cook(void *arg)
{
    (void)arg;
    sink = wait_for_order(12);
    rt_exit();
}

static void sleeper(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, 3600000);
    rt_exit();
}

/* Has mail that it does not read. */
static void bystander(void *arg)
{
    (void)arg;
    uint64_t order = 0;
    rt_status status = rt_channel_recv(orders_rx, NULL, &order);
    sink = (int)status.code;
    rt_exit();
}

static void *washer(void *arg)
{
    uint64_t plates = 0;
    rt_status status = rt_channel_recv(orders_rx, NULL, &plates);
    sink = (int)status.code;
    return arg;
}

static void *helper(void *arg)
{
    rt_task *child = rt_go_ex(washer, NULL, &(rt_task_config){.name = "washer"});
    rt_status status = rt_join(child, NULL);
    sink = (int)status.code;
    return arg;
}

static void *guest(void *arg)
{
    uint64_t dish = 0;
    rt_status status = rt_channel_recv(orders_rx, NULL, &dish);
    sink = (int)status.code;
    return arg;
}

static void ignore(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    sink = (int)msg->id;
}

static rt_status poll_for_order(void *state, rt_cx *cx)
{
    uint64_t order = 0;
    (void)state;
    return rt_channel_recv(orders_rx, cx, &order);
}

static rt_status poll_for_time(void *state, rt_cx *cx)
{
    return rt_async_sleep(state, cx, 3600 * RT_NS_PER_S);
}

__attribute__((noinline)) void everybody_waits(void)
{
    sink = 1;
}

/* Long enough for all of them to come to their waits, also on other workers. */
static void let_them_come(void)
{
    rt_message msg;
    sink = (int)rt_ipc_recv(&msg, 200).code;
}

static rt_task *first_guest;

static void chef(void *arg)
{
    static const rt_behaviour_type porter = {.name = "porter", .otherwise = ignore};
    static rt_nap nap;
    (void)arg;
    actor_config config = {.priority = RT_PRIO_NORMAL, .name = "cook"};
    (void)rt_spawn_ex(cook, NULL, &config);
    (void)rt_detach(rt_go_ex(helper, NULL, &(rt_task_config){.name = "helper"}));
    (void)rt_behaviour_spawn(&porter, NULL);
    (void)rt_async_detach(rt_async(poll_for_order, NULL));
    (void)rt_async_detach(rt_async(poll_for_time, &nap));
    let_them_come();
    if (RT_FAILED(rt_task_reserve(&(rt_task_room){.tasks = 100}))) {
        return;
    }
    first_guest = rt_go_ex(guest, NULL, &(rt_task_config){.name = "first_guest"});
    for (int i = 0; i < 64; i++) {
        (void)rt_detach(rt_go_ex(guest, NULL, &(rt_task_config){.name = "guest"}));
    }
    let_them_come();
    (void)rt_ipc_send(bystander_id, "mail", 4, IPC_ASYNC);
    everybody_waits();
    (void)rt_detach(first_guest);
    rt_shutdown();
    rt_exit();
}

int main(int argc, char **argv)
{
    (void)argv;
    rt_config several = {.workers = 2};
    if (RT_FAILED(argc > 1 ? rt_init_ex(&several) : rt_init())) {
        return 1;
    }
    rt_channel_config orders = {.elem_size = sizeof(uint64_t), .capacity = 4};
    if (RT_FAILED(rt_channel_create(&orders, &orders_tx, &orders_rx))) {
        return 1;
    }
    actor_config config = {.priority = RT_PRIO_NORMAL, .name = "waiter"};
    (void)rt_spawn_ex(waiter, NULL, &config);
    config.name = "sleeper";
    (void)rt_spawn_ex(sleeper, NULL, &config);
    config.name = "bystander";
    bystander_id = rt_spawn_ex(bystander, NULL, &config);
    config.name = "chef";
    (void)rt_spawn_ex(chef, NULL, &config);
    rt_run();
    rt_cleanup();
    return 0;
}
