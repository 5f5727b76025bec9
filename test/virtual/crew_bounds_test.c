/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds that the parallel engine promises, each with a program that would never end, or end
 * late, if it were broken: on virtual threads, as crew_sim_test.c, where the essay is.
 *
 * Seeds: 20 */
#define RTI_MODULE "crew_bounds_test"
#include <orrery/rt/actor.h>
#include <orrery/rt/blocking.h>
#include <orrery/rt/channel.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/runtime.h>
#include <orrery/rt/sim.h>
#include <orrery/rt/task.h>

#include "runtime/runtime.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

static struct {
    uint64_t seed;
    rt_channel_sender *tx[3];
    rt_channel_receiver *rx[3];
    rti_atomic_u32 flag;
    rti_atomic_u32 ended;
    actor_id victims[4];
    struct rti_port_thread outsider;
} play;

static void play_open(uint64_t seed, uint32_t workers)
{
    rt_config config = {.workers = workers};
    memset(&play, 0, sizeof(play));
    play.seed = seed;
    CHECK_OK(rt_init_ex(&config));
    for (size_t i = 0; i < RTI_COUNT_OF(play.tx); i++) {
        rt_channel_config channel = {.elem_size = sizeof(uint32_t), .capacity = 1};
        CHECK_OK(rt_channel_create(&channel, &play.tx[i], &play.rx[i]));
    }
}

static void play_close(uint32_t ended)
{
    WITNESS(rti_u32_load_relaxed(&play.ended) == ended);
    for (size_t i = 0; i < RTI_COUNT_OF(play.tx); i++) {
        CHECK_OK(rt_channel_close_sender(play.tx[i]));
        CHECK_OK(rt_channel_close_receiver(play.rx[i]));
    }
}

static void go(rt_task_fn fn, void *arg)
{
    rt_task *task = rt_go(fn, arg);
    WITNESS(task != NULL);
    CHECK_OK(rt_detach(task));
}

static void *end(void)
{
    rti_u32_add_relaxed(&play.ended, 1);
    return NULL;
}

static bool is_flagged(void)
{
    return rti_u32_load_relaxed(&play.flag) != 0;
}

static void *raise_flag(void *arg)
{
    (void)arg;
    rti_u32_store_relaxed(&play.flag, 1);
    return end();
}

/* Two that wake each other in turns, each run next because it was woken last. */
static void *hand_on(void *arg)
{
    size_t me = (uintptr_t)arg;
    uint32_t token = 0;
    if (me == 0) {
        go(raise_flag, NULL);
        CHECK_OK(rt_channel_send(play.tx[1], NULL, &token));
    }
    do {
        CHECK_OK(rt_channel_recv(play.rx[me], NULL, &token));
        token += is_flagged();
        if (token < 2) {
            CHECK_OK(rt_channel_send(play.tx[1 - me], NULL, &token));
        }
    } while (token == 0);
    return end();
}

static void chain_play(uint64_t seed)
{
    play_open(seed, 1);
    go(hand_on, (void *)0);
    go(hand_on, (void *)1);
    rt_run();
    play_close(3);
}

TEST_SEEDED(crew_sim_chain_of_hand_offs_starves_nobody)
{
    worlds_play(chain_play);
}

/* Yields until one has run that only the injector has. */
static void *yield_until_flag(void *arg)
{
    (void)arg;
    while (!is_flagged()) {
        rt_yield();
    }
    return end();
}

static void *wait_for_outsider(void *arg)
{
    (void)arg;
    uint32_t value;
    CHECK_OK(rt_channel_recv(play.rx[0], NULL, &value));
    return raise_flag(NULL);
}

static void outsider_sends(void *arg)
{
    (void)arg;
    uint32_t value = 1;
    rti_virtual_sleep(2000);
    CHECK_OK(rt_channel_send(play.tx[0], NULL, &value));
}

static void injected_play(uint64_t seed)
{
    play_open(seed, 1 + (uint32_t)(seed % 2));
    struct rti_port *port = rti_runtime.sched.port;
    CHECK_OK(port->ops->thread_start(port, &play.outsider, outsider_sends, NULL));
    go(wait_for_outsider, NULL);
    for (int i = 0; i < 4; i++) {
        go(yield_until_flag, NULL);
    }
    rt_run();
    port->ops->thread_join(port, &play.outsider);
    play_close(5);
}

TEST_SEEDED(crew_sim_one_from_outside_runs_however_busy_the_stations_are)
{
    worlds_play(injected_play);
}

/* Actors that wait for ever are killed, wherever they are on their way to sleep. */
static void victim_main(void *arg)
{
    (void)arg;
    rt_message message;
    (void)end();
    for (;;) {
        (void)rt_ipc_recv(&message, -1);
        rti_virtual_compute();
    }
}

static void killer_main(void *arg)
{
    actor_id victim = play.victims[(uintptr_t)arg];
    uint32_t word = 0;
    if (play.seed % 2 == 0) {
        (void)rt_ipc_send(victim, &word, sizeof(word), IPC_ASYNC);
    }
    for (uint64_t i = 0; i < play.seed % 50; i++) {
        rti_virtual_compute();
    }
    CHECK_OK(rt_actor_kill(victim));
    rt_exit();
}

static void kill_play(uint64_t seed)
{
    play_open(seed, 2 + (uint32_t)(seed % 5));
    for (size_t i = 0; i < RTI_COUNT_OF(play.victims); i++) {
        play.victims[i] = rt_spawn(victim_main, NULL);
        WITNESS(rt_spawn(killer_main, (void *)i) != ACTOR_ID_INVALID);
    }
    rt_run();
    WITNESS(rti_u32_load_relaxed(&play.ended) <= RTI_COUNT_OF(play.victims));
    play_close(rti_u32_load_relaxed(&play.ended));
}

TEST_SEEDED(crew_sim_kill_reaches_one_on_its_way_to_sleep)
{
    worlds_play(kill_play);
}

#define BLOCK_NS (10 * RT_NS_PER_S)

static void *block_for_long(void *arg)
{
    (void)arg;
    if (play.seed % 2 == 0) {
        CHECK_OK(rt_sleep(1 + play.seed % 50000));
    }
    CHECK_OK(rt_blocking_enter());
    rti_virtual_sleep(BLOCK_NS);
    CHECK_OK(rt_blocking_exit());
    return end();
}

static void *work_beside(void *arg)
{
    (void)arg;
    rt_time begin = rt_clock();
    for (int i = 0; i < 5; i++) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
        rt_yield();
    }
    WITNESS(rt_clock() - begin < BLOCK_NS / 4);
    return end();
}

static void blocked_play(uint64_t seed)
{
    uint32_t workers = 1 + (uint32_t)(seed % 4);
    play_open(seed, workers);
    for (uint32_t i = 0; i < workers; i++) {
        go(block_for_long, NULL);
    }
    go(work_beside, NULL);
    rt_run();
    play_close(workers + 1);
}

TEST_SEEDED(crew_sim_blocking_calls_hold_nobody_up)
{
    worlds_play(blocked_play);
}

/* Wakes two, who lie in `next` and in its ring, and goes into a call at once. */
static void *await_token(void *arg)
{
    uint32_t value;
    CHECK_OK(rt_channel_recv(play.rx[(uintptr_t)arg], NULL, &value));
    return end();
}

static void *wake_and_block(void *arg)
{
    (void)arg;
    uint32_t value = 1;
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    for (size_t i = 0; i < RTI_COUNT_OF(play.tx); i++) {
        CHECK_OK(rt_channel_send(play.tx[i], NULL, &value));
    }
    CHECK_OK(rt_blocking_enter());
    rti_virtual_sleep(10000);
    CHECK_OK(rt_blocking_exit());
    return end();
}

static void waker_play(uint64_t seed)
{
    play_open(seed, 2 + (uint32_t)(seed % 4));
    for (size_t i = 0; i < RTI_COUNT_OF(play.rx); i++) {
        go(await_token, (void *)i);
    }
    go(wake_and_block, NULL);
    rt_run();
    play_close(4);
}

TEST_SEEDED(crew_sim_woken_beside_a_blocking_call_are_run_by_others)
{
    worlds_play(waker_play);
}

/* Sleeps beside one that computes: somebody is in the poller, and no timer is late. */
#define LATE_MAX_NS (2 * RT_NS_PER_MS)

static void *sleep_often(void *arg)
{
    for (int i = 0; i < 5; i++) {
        rt_time deadline = rt_clock() + RT_NS_PER_MS / 16 * (1 + ((uintptr_t)arg + play.seed) % 5);
        CHECK_OK(rt_sleep(deadline - rt_clock()));
        rt_time now = rt_clock();
        WITNESS(now >= deadline && now - deadline < LATE_MAX_NS);
    }
    rti_u32_add_relaxed(&play.flag, 1);
    return end();
}

/* Computes, and yields now and then in two worlds of three, so that its worker looks at the port.
 */
static void *compute_long(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&play.flag) < 3) {
        for (uint64_t i = 0; i < 1 + 30 * (play.seed % 3); i++) {
            rti_virtual_compute();
        }
        if (play.seed % 4 != 0) {
            rt_yield();
        }
    }
    return end();
}

static void nothing(void *arg)
{
    (void)arg;
}

/* Keeps the port busy with answers. */
static void *ask_often(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&play.flag) < 3) {
        CHECK_OK(rt_blocking(nothing, NULL));
    }
    return end();
}

static void prompt_play(uint64_t seed)
{
    play_open(seed, 2 + (uint32_t)(seed % 3));
    go(compute_long, NULL);
    for (uintptr_t i = 0; i < 3; i++) {
        go(sleep_often, (void *)i);
    }
    if (seed % 2 == 0) {
        go(ask_often, NULL);
    }
    rt_run();
    play_close(seed % 2 == 0 ? 5 : 4);
}

TEST_SEEDED(crew_sim_timers_are_prompt_beside_one_that_computes)
{
    worlds_play_prompt(prompt_play);
}
