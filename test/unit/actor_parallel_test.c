/* SPDX-License-Identifier: Apache-2.0 */
/* Actors on several workers: what the one lock of the module must hold together. Every case is a
 * program on real threads that ends by itself, and cleans up, which demands that nothing leaked. */
#define RTI_MODULE "actor_parallel_test"
#include <orrery/rt.h>

#include "support/test.h"

#define WORKERS 4
#define PAIRS   8
#define ROUNDS  400
#define BATCH   12
#define CLIENTS 6
#define CALLS   100

static void start(void)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = WORKERS}));
}

static void finish(void)
{
    rt_run();
    rt_cleanup();
}

static actor_id spawn(actor_fn fn, void *arg)
{
    const actor_config config = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    actor_id id = rt_spawn_ex(fn, arg, &config);
    CHECK(id != ACTOR_ID_INVALID);
    return id;
}

static actor_id echoes[PAIRS];

static void echo(void *arg)
{
    rt_message msg;
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_OK(rt_ipc_send(msg.sender, msg.data, msg.len, IPC_ASYNC));
    }
    rt_exit();
}

static void ask(void *arg)
{
    rt_message msg;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(rt_ipc_send(*(actor_id *)arg, &i, sizeof(i), IPC_ASYNC));
        CHECK_OK(rt_ipc_recv(&msg, i % 3 == 0 ? 60000 : -1));
        CHECK_EQ(*(const int *)msg.data, i);
    }
    rt_exit();
}

TEST(actor_parallel_round_trips_lose_and_reorder_nothing)
{
    start();
    for (int i = 0; i < PAIRS; i++) {
        echoes[i] = spawn(echo, NULL);
        spawn(ask, &echoes[i]);
    }
    finish();
}

static void leaf(void *arg)
{
    if (arg != NULL) {
        rt_yield();
    }
    rt_exit();
}

static void waits_for_its_end(void *arg)
{
    rt_message msg;
    (void)arg;
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
    }
}

static void bear_and_bury(void *arg)
{
    rt_message msg;
    rt_exit_msg last;
    uint32_t ref;
    (void)arg;
    for (int round = 0; round < 40; round++) {
        actor_id doomed = spawn(waits_for_its_end, NULL);
        CHECK_OK(rt_monitor(doomed, &ref));
        int watched = 1;
        for (int i = 0; i < BATCH; i++) {
            actor_id id = spawn(leaf, i % 2 == 0 ? NULL : &ref);
            /* It may have ended already. */
            rt_status status = i % 3 == 0 ? rt_link(id) : rt_monitor(id, &ref);
            watched += !RT_FAILED(status);
        }
        CHECK_OK(rt_actor_kill(doomed));
        for (int i = 0; i < watched; i++) {
            CHECK_OK(rt_ipc_recv(&msg, 60000));
            CHECK(rt_is_exit_msg(&msg));
            CHECK_OK(rt_decode_exit(&msg, &last));
            CHECK_EQ(last.reason, last.actor == doomed ? RT_EXIT_KILLED : RT_EXIT_NORMAL);
        }
    }
    CHECK_EQ(rt_ipc_count(), 0);
    rt_exit();
}

TEST(actor_parallel_every_end_is_told_once)
{
    start();
    for (int i = 0; i < 4; i++) {
        spawn(bear_and_bury, NULL);
    }
    finish();
}

static actor_id server;

static void serve(void *arg)
{
    rt_message msg;
    (void)arg;
    for (int i = 0; i < CLIENTS * CALLS * 2; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        if (rt_call_ref(&msg) != 0) {
            rt_status status = rt_reply(&msg, msg.data, msg.len);
            CHECK(!RT_FAILED(status) || status.code == RT_ERR_NOT_FOUND);
        } else {
            rt_ipc_release(&msg);
        }
    }
    rt_exit();
}

static void call_and_sync(void *arg)
{
    rt_message reply;
    (void)arg;
    for (int i = 0; i < CALLS; i++) {
        rt_status status = rt_call(server, &i, sizeof(i), &reply, i % 10 == 0 ? 1 : 60000);
        if (!RT_FAILED(status)) {
            CHECK_EQ(*(const int *)reply.data, i);
        } else {
            CHECK_EQ(status.code, RT_ERR_TIMEOUT);
        }
        CHECK_OK(rt_ipc_send(server, &i, sizeof(i), IPC_SYNC));
    }
    rt_exit();
}

TEST(actor_parallel_calls_deadlines_and_sync_sends_agree)
{
    start();
    server = spawn(serve, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        spawn(call_and_sync, NULL);
    }
    finish();
}

static bus_id bus;

static void publish(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        CHECK_OK(rt_bus_publish(bus, &i, sizeof(i)));
        rt_yield();
    }
    rt_exit();
}

static void read_some(void *arg)
{
    int value;
    int last = -1;
    size_t len;
    (void)arg;
    CHECK_OK(rt_bus_subscribe(bus));
    while (!RT_FAILED(rt_bus_read_wait(bus, &value, sizeof(value), &len, 50))) {
        CHECK(value > last || last == 199);
        last = value;
    }
    rt_exit();
}

TEST(actor_parallel_subscribers_read_in_order)
{
    const rt_bus_config config = {
        .max_subscribers = 8, .max_entries = 16, .max_entry_size = sizeof(int)};
    start();
    CHECK_OK(rt_bus_create(&config, &bus));
    for (int i = 0; i < 6; i++) {
        spawn(read_some, NULL);
    }
    spawn(publish, NULL);
    finish();
}

static void tick_and_cancel(void *arg)
{
    timer_id once;
    timer_id every;
    rt_message msg;
    (void)arg;
    for (int i = 0; i < 30; i++) {
        CHECK_OK(rt_timer_after(0, &once));
        CHECK_OK(rt_timer_every(300, &every));
        CHECK_OK(rt_ipc_recv(&msg, 60000));
        CHECK(rt_timer_is_tick(&msg));
        (void)rt_timer_cancel(once);
        CHECK_OK(rt_timer_cancel(every));
        while (!RT_FAILED(rt_ipc_recv(&msg, 0))) {
            CHECK(rt_timer_is_tick(&msg));
        }
    }
    /* Ends with a timer that runs. */
    CHECK_OK(rt_timer_every(1, &every));
    rt_exit();
}

TEST(actor_parallel_timers_tick_and_end)
{
    start();
    for (int i = 0; i < 6; i++) {
        spawn(tick_and_cancel, NULL);
    }
    finish();
}

static void claim_names(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        rt_status status = rt_register("the one", rt_self());
        if (!RT_FAILED(status)) {
            CHECK_EQ(rt_whereis("the one"), rt_self());
            CHECK_OK(rt_unregister("the one"));
        } else {
            CHECK_EQ(status.code, RT_ERR_EXISTS);
        }
    }
    rt_exit();
}

TEST(actor_parallel_a_name_has_one_owner)
{
    start();
    for (int i = 0; i < 6; i++) {
        spawn(claim_names, NULL);
    }
    finish();
}
