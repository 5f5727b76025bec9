/* SPDX-License-Identifier: Apache-2.0 */
/* Promise 14 for actors: a kill at any await point leaks nothing.
 *
 * Each scenario is run to its end once to count its turns. Then, for every turn and every actor of
 * the scenario, it is run again up to that turn, the actor is killed, and the run goes on. Whoever
 * is left waiting is killed too; the ledger of slots, stacks, blocks, names and timers must be
 * empty. An actor that is ready, parked, or woken and not yet run is thus hit in each state, at
 * each of its waits. */
#define RTI_MODULE "actor_kill_test"
#include <orrery/rt/call.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/registry.h>

#include "support/actors.h"
#include "support/test.h"

TEST_TIMEOUT(60);

#define ACTORS_MAX 4

struct scenario {
    actor_fn fns[ACTORS_MAX];
    uint64_t turns_min; /* it is no scenario unless it takes so many turns */
};

static actor_id ids[ACTORS_MAX];

/* Nothing here demands success: the others are killed at any time. */
static void whatever(rt_status status)
{
    (void)status;
}

static void ping(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 5; i++) {
        (void)rt_ipc_send(ids[1], "0123456789012345678901234567890", 20 + (size_t)i, IPC_ASYNC);
        (void)rt_ipc_recv(&msg, 20);
    }
    rt_exit();
}

static void pong(void *arg)
{
    (void)arg;
    rt_message msg;
    while (!RT_FAILED(rt_ipc_recv(&msg, 30))) {
        (void)rt_ipc_send(msg.sender, msg.data, msg.len, IPC_ASYNC);
    }
    rt_exit();
}

static void sync_sender(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        (void)rt_ipc_send(ids[0], &i, sizeof(i), IPC_SYNC);
    }
    rt_exit();
}

static void sync_holder(void *arg)
{
    (void)arg;
    rt_message msg;
    while (!RT_FAILED(rt_ipc_recv(&msg, 30))) {
        rt_yield();
        actors_sleep_ms(1);
        if (msg.len % 2 == 0) {
            rt_ipc_release(&msg);
        }
        rt_yield();
    }
    rt_exit();
}

static void linker(void *arg)
{
    (void)arg;
    rt_message msg;
    for (size_t i = 0; i < ACTORS_MAX; i++) {
        (void)rt_link(ids[i]);
    }
    while (!RT_FAILED(rt_ipc_recv(&msg, 15))) {
        rt_yield();
    }
    for (size_t i = 0; i < ACTORS_MAX; i += 2) {
        (void)rt_unlink(ids[i]);
    }
    rt_exit();
}

static void watcher(void *arg)
{
    (void)arg;
    rt_message msg;
    uint32_t refs[ACTORS_MAX] = {0};
    for (size_t i = 0; i < ACTORS_MAX; i++) {
        (void)rt_monitor(ids[i], &refs[i]);
        rt_yield();
    }
    while (!RT_FAILED(rt_ipc_recv(&msg, 15))) {
        (void)rt_demonitor(refs[1]);
        rt_yield();
    }
    rt_exit();
}

static void mortal(void *arg)
{
    (void)arg;
    actors_sleep_ms(5);
    rt_yield();
}

static void caller(void *arg)
{
    (void)arg;
    rt_message reply;
    for (int i = 0; i < 3; i++) {
        whatever(rt_call(ids[0], &i, sizeof(i), &reply, 10));
        rt_yield();
    }
    rt_exit();
}

static void answerer(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_call_id later = 0;
    while (!RT_FAILED(rt_ipc_recv(&msg, 25))) {
        rt_yield();
        if (later != 0) {
            whatever(rt_reply_to(later, "later", 6));
        }
        later = rt_call_ref(&msg);
        if (msg.len > 0 && *(const int *)msg.data % 2 == 0) {
            whatever(rt_reply(&msg, "now", 4));
            rt_yield();
        }
    }
    rt_exit();
}

static void never_answers(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 2; i++) {
        (void)rt_ipc_recv(&msg, 15);
        rt_yield();
    }
    rt_exit();
}

static bool is_odd(const rt_message *msg, void *arg)
{
    (void)arg;
    return msg->len == sizeof(int) && *(const int *)msg->data % 2 == 1;
}

static void chooser(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_ipc_filter odd = {.match = is_odd};
    for (int i = 0; i < 4; i++) {
        (void)rt_ipc_recv_match(&odd, &msg, 5);
    }
    while (!RT_FAILED(rt_ipc_recv(&msg, 5))) {
    }
    rt_exit();
}

static void counter(void *arg)
{
    (void)arg;
    for (int i = 0; i < 6; i++) {
        (void)rt_ipc_send(ids[0], &i, sizeof(i), i % 3 == 2 ? IPC_SYNC : IPC_ASYNC);
        actors_sleep_ms(1);
    }
    rt_exit();
}

static void namer(void *arg)
{
    (void)arg;
    whatever(rt_register("one", rt_self()));
    rt_yield();
    whatever(rt_register("two", ids[1]));
    rt_yield();
    (void)rt_unregister("one");
    rt_yield();
    (void)rt_whereis("two");
    rt_exit();
}

static void parent(void *arg)
{
    (void)arg;
    rt_message msg;
    actor_config config = {.stack_size = 16384, .priority = RT_PRIO_HIGH, .malloc_stack = true};
    for (int i = 0; i < 3; i++) {
        actor_id child = rt_spawn_ex(mortal, NULL, &config);
        (void)rt_link(child);
        config.malloc_stack = !config.malloc_stack;
        rt_yield();
    }
    while (!RT_FAILED(rt_ipc_recv(&msg, 10))) {
    }
    rt_exit();
}

static void flooder(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        while (!RT_FAILED(rt_ipc_send(ids[1], "flood", 6, IPC_ASYNC))) {
        }
        actors_sleep_ms(1);
    }
    rt_exit();
}

static void ring_member(void *arg)
{
    (void)arg;
    size_t me = 0;
    while (ids[me] != rt_self()) {
        me++;
    }
    rt_yield();
    (void)rt_ipc_send(ids[(me + 1) % 3], "round", 6, IPC_SYNC);
    rt_exit();
}

static void killer(void *arg)
{
    (void)arg;
    rt_yield();
    (void)rt_actor_kill(ids[0]);
    rt_yield();
    (void)rt_actor_kill(ids[1]);
    actors_sleep_ms(1);
    (void)rt_actor_kill(rt_self());
}

static const struct scenario scenarios[] = {
    {{ping, pong}, 10},
    {{sync_holder, sync_sender, sync_sender}, 10},
    {{linker, linker, mortal, linker}, 8},
    {{watcher, mortal, watcher, mortal}, 8},
    {{answerer, caller, caller}, 10},
    {{never_answers, caller, caller}, 8},
    {{chooser, counter, counter}, 10},
    {{namer, mortal, namer}, 6},
    {{parent, parent}, 10},
    {{flooder, pong, ping}, 10},
    {{ring_member, ring_member, ring_member}, 6},
    {{sync_holder, sync_sender, killer}, 6},
    {{answerer, caller, killer, watcher}, 8},
};

static struct actors_world *world;

static void start(const struct scenario *scenario)
{
    world = actors_start();
    actors_stepwise(world);
    memset(ids, 0, sizeof(ids));
    for (size_t i = 0; i < ACTORS_MAX && scenario->fns[i] != NULL; i++) {
        ids[i] = actors_spawn(scenario->fns[i], NULL, RT_PRIO_NORMAL, "subject");
    }
}

static void run_once(const struct scenario *scenario, uint64_t turns, size_t victim)
{
    start(scenario);
    world->sched.steps_max = turns;
    if (turns > 0) {
        (void)actors_run(world);
    }
    if (rt_actor_alive(ids[victim])) {
        CHECK_OK(rt_actor_kill(ids[victim]));
        CHECK(!rt_actor_alive(ids[victim]));
    }
    world->sched.steps_max = 0;
    (void)actors_run(world);
    actors_abandon(world);
}

static size_t current;

static void try_scenario(void)
{
    const struct scenario *scenario = &scenarios[current];
    start(scenario);
    (void)actors_run(world);
    uint64_t turns = world->sched.worker.turns;
    actors_abandon(world);
    CHECK(turns >= scenario->turns_min);
    for (size_t victim = 0; victim < ACTORS_MAX && scenario->fns[victim] != NULL; victim++) {
        for (uint64_t at = 0; at <= turns; at++) {
            run_once(scenario, at, victim);
        }
    }
}

/* The rings tell of their cycles; that is kept from the output. */
static void try_number(size_t number)
{
    CHECK(number < RTI_COUNT_OF(scenarios));
    current = number;
    (void)actors_capture(try_scenario);
}

#define KILL_TEST(number, name)                                                                    \
    TEST(actor_killed_at_every_turn_of_##name##_leaks_nothing)                                     \
    {                                                                                              \
        try_number(number);                                                                        \
    }

KILL_TEST(0, ping_pong)
KILL_TEST(1, sync_sends)
KILL_TEST(2, links)
KILL_TEST(3, monitors)
KILL_TEST(4, calls)
KILL_TEST(5, unanswered_calls)
KILL_TEST(6, selective_receives)
KILL_TEST(7, names)
KILL_TEST(8, spawning)
KILL_TEST(9, full_pools)
KILL_TEST(10, a_sync_ring)
KILL_TEST(11, killing_of_sync_peers)
KILL_TEST(12, killing_of_callers)
