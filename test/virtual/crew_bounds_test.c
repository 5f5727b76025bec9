/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds that the parallel engine promises, each with a program that would never end, or end
 * late, if it were broken: on virtual threads, as crew_sim_test.c, where the essay is.
 *
 * Seeds: 20 */
#define RTI_MODULE "crew_bounds_test"
#include <orrery/rt/actor.h>
#include <orrery/rt/behaviour.h>
#include <orrery/rt/blocking.h>
#include <orrery/rt/channel.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/pin.h>
#include <orrery/rt/runtime.h>
#include <orrery/rt/sim.h>
#include <orrery/rt/task.h>

#include "runtime/runtime.h"
#include "sched/crew.h"
#include "sched/fiber.h"
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

static void play_open_with(uint64_t seed, rt_config config)
{
    memset(&play, 0, sizeof(play));
    play.seed = seed;
    CHECK_OK(rt_init_ex(&config));
    for (size_t i = 0; i < RTI_COUNT_OF(play.tx); i++) {
        rt_channel_config channel = {.elem_size = sizeof(uint32_t), .capacity = 1};
        CHECK_OK(rt_channel_create(&channel, &play.tx[i], &play.rx[i]));
    }
}

static void play_open(uint64_t seed, uint32_t workers)
{
    play_open_with(seed, (rt_config){.workers = workers});
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

/* Yields until another has run. */
static void *yield_until_flag(void *arg)
{
    (void)arg;
    while (!is_flagged()) {
        rt_yield();
    }
    return end();
}

/* One station for two threads, one of which may run nobody but the pinned: each turn of the others
 * needs the station to change hands, and who takes it finds the pinned one there too. */
static void *yield_pinned(void *arg)
{
    CHECK_OK(rt_pin());
    return yield_until_flag(arg);
}

static void *sleep_then_raise(void *arg)
{
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rt_yield();
    return raise_flag(arg);
}

static void pinned_play(uint64_t seed)
{
    play_open_with(seed, (rt_config){.workers = 1, .threads_max = 2});
    go(yield_pinned, NULL);
    go(sleep_then_raise, NULL);
    rt_run();
    play_close(2);
}

TEST_SEEDED(crew_sim_one_that_is_pinned_and_yields_starves_nobody)
{
    worlds_play(pinned_play);
}

/* One that yields and finds nobody ready goes on at once, and yet looks at what is outside. */
static void alone_play(uint64_t seed)
{
    play_open(seed, 1 + (uint32_t)(seed % 3));
    go(yield_until_flag, NULL);
    go(sleep_then_raise, NULL);
    rt_run();
    play_close(2);
}

TEST_SEEDED(crew_sim_one_that_yields_alone_starves_nobody)
{
    worlds_play(alone_play);
}

/* One whose turn does not end, but whose station seems to be quick: who looks for work leaves it
 * what it has for a while, and not for ever. */
static void seem_quick(void)
{
    struct rti_station *station = rti_worker_current()->station;
    if (station != NULL) {
        rti_station_count(&station->turns, 100);
    }
    rti_virtual_compute();
}

/* The one that waits is of a less urgent level: the witness bounds the turns, which are made up, of
 * the most urgent one. */
static void *be_quick_until_flag(void *arg)
{
    (void)arg;
    rt_task_config config = {.priority = RT_PRIO_LOW};
    rt_task *task = rt_go_ex(raise_flag, NULL, &config);
    WITNESS(task != NULL);
    CHECK_OK(rt_detach(task));
    while (!is_flagged()) {
        seem_quick();
    }
    return end();
}

static void quick_play(uint64_t seed)
{
    play_open(seed, 2 + (uint32_t)(seed % 3));
    go(be_quick_until_flag, NULL);
    rt_run();
    play_close(2);
}

TEST_SEEDED(crew_sim_work_of_a_quick_holder_is_taken_in_the_end)
{
    worlds_play_prompt(quick_play);
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

/* One that is killed does not come back from its next yield, whoever else is ready. */
static void yielding_victim_main(void *arg)
{
    (void)arg;
    (void)end();
    for (;;) {
        bool is_killed = rti_fiber_is_killed(rti_fiber_current());
        rt_yield();
        WITNESS(!is_killed);
        rti_virtual_compute();
    }
}

static void kill_yielding_play(uint64_t seed)
{
    play_open(seed, 1 + (uint32_t)(seed % 5));
    for (size_t i = 0; i < 1 + seed % RTI_COUNT_OF(play.victims); i++) {
        play.victims[i] = rt_spawn(yielding_victim_main, NULL);
        WITNESS(rt_spawn(killer_main, (void *)i) != ACTOR_ID_INVALID);
    }
    rt_run();
    WITNESS(rti_u32_load_relaxed(&play.ended) <= RTI_COUNT_OF(play.victims));
    play_close(rti_u32_load_relaxed(&play.ended));
}

TEST_SEEDED(crew_sim_kill_reaches_one_that_yields)
{
    worlds_play(kill_yielding_play);
}

TEST_SEEDED(crew_sim_kill_reaches_one_on_its_way_to_sleep)
{
    worlds_play(kill_play);
}

/* Turns that take too long: each is told once, and nothing else is. */
#define OVERRUN_NS (30 * RT_NS_PER_MS)

/* Computes for so many times 10 ms. */
static void compute_for(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        rti_virtual_sleep(10 * RT_NS_PER_MS);
        rti_virtual_compute();
    }
}

static void *turn_too_long(void *arg)
{
    (void)arg;
    compute_for(12);
    rt_yield();
    compute_for(1);
    return end();
}

static void *turns_long_enough(void *arg)
{
    (void)arg;
    for (int i = 0; i < 12; i++) {
        compute_for(1);
        rt_yield();
    }
    return end();
}

/* Long enough to be suspected, then in a call that is known to be long. */
static void *turn_that_blocks(void *arg)
{
    (void)arg;
    compute_for(2);
    CHECK_OK(rt_blocking_enter());
    compute_for(12);
    CHECK_OK(rt_blocking_exit());
    return end();
}

static void overrun_play(uint64_t seed)
{
    uint32_t too_long = (uint32_t)(seed % 4);
    rt_config config = {.workers = 1 + (uint32_t)(seed / 4 % 3), .overrun_after = OVERRUN_NS};
    memset(&play, 0, sizeof(play));
    play.seed = seed;
    CHECK_OK(rt_init_ex(&config));
    /* Counted only: a backtrace is the machine's business, which has one errno for all of us. */
    rti_runtime.sched.on_overrun = NULL;
    for (uint32_t i = 0; i < too_long; i++) {
        go(turn_too_long, NULL);
    }
    /* With nobody else every station is idle while they compute. */
    bool is_alone = seed / 12 % 2 == 1;
    if (!is_alone) {
        go(turns_long_enough, NULL);
        go(turn_that_blocks, NULL);
    }
    rt_run();
    WITNESS(rti_u32_load_relaxed(&play.ended) == too_long + (is_alone ? 0 : 2));
    WITNESS(rti_u64_load_relaxed(&rti_runtime.sched.crew->warden.overruns) == too_long);
}

TEST_SEEDED(crew_sim_turns_that_take_too_long_are_told_once_each)
{
    worlds_play_prompt(overrun_play);
}

/* Who asks the port, and how often. One worker, so that nobody else can. */
static uint64_t unasked_ns(void)
{
    const struct rti_crew *crew = rti_runtime.sched.crew;
    uint64_t polled_ns = rti_u64_load_relaxed(&crew->polled_ns);
    uint64_t now_ns = rt_clock();
    bool is_polled = rti_u32_load_relaxed(&crew->is_polled) != 0;
    return is_polled || polled_ns > now_ns ? 0 : now_ns - polled_ns;
}

/* Never dry, and never long in one turn: long before the warden would, the worker asks itself. */
static void *take_many_turns(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        rti_virtual_sleep(RT_NS_PER_MS / 4);
        rt_yield();
        WITNESS(i < 8 || unasked_ns() < 2 * RT_NS_PER_MS);
    }
    return end();
}

/* One turn in which no interrupt is heard: only the warden is left. */
static void *take_one_turn(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++) {
        rti_virtual_sleep(10 * RT_NS_PER_MS);
        WITNESS(i < 4 || unasked_ns() < 25 * RT_NS_PER_MS);
    }
    return end();
}

static void ticks_play(uint64_t seed)
{
    play_open(seed, 1);
    go(take_many_turns, NULL);
    go(take_many_turns, NULL);
    rt_run();
    play_close(2);
}

static void unheard_play(uint64_t seed)
{
    play_open(seed, 1);
    go(take_one_turn, NULL);
    rt_run();
    play_close(1);
}

TEST_SEEDED(crew_sim_worker_that_is_never_dry_asks_the_port_every_so_many_turns)
{
    worlds_play_prompt(ticks_play);
}

TEST_SEEDED(crew_sim_warden_asks_the_port_that_nobody_asked_for_long)
{
    worlds_play_prompt(unheard_play);
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

/* Behaviours that live in one place after another, while others send to them and kill them: each
 * dies once, and what comes late hits nobody. */
#define LIVES 30

static void victim_handles(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    WITNESS(msg->id == 0);
}

static const rt_behaviour_fn victim_handlers[] = {victim_handles};
static const rt_behaviour_type victim_type = {
    .handlers = victim_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void tormentor_handles(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    actor_id id = rti_u32_load_relaxed(&play.flag);
    rt_behaviour_stats stats;
    CHECK_OK(rt_behaviour_stats_get(&stats));
    /* What was sent to the dead waits until their worker takes them apart: leave room for more. */
    for (int i = 0; i < 3 && stats.messages < RT_BEHAVIOUR_MESSAGE_POOL_SIZE / 2; i++) {
        (void)rt_behaviour_send(id, 0, "x", 1);
    }
    /* The dead keep their places until their worker takes them apart: so many, and no more. */
    if (rti_u32_load_relaxed(&play.ended) < LIVES && !RT_FAILED(rt_actor_kill(id))) {
        actor_id next = rt_behaviour_spawn(&victim_type, NULL);
        WITNESS(next != ACTOR_ID_INVALID && next != id);
        rti_u32_store_relaxed(&play.flag, next);
        if (rti_u32_add_relaxed(&play.ended, 1) + 1 == LIVES) {
            rt_shutdown();
        }
    }
    CHECK_OK(rt_behaviour_send(rt_self(), 0, NULL, 0));
}

static const rt_behaviour_fn tormentor_handlers[] = {tormentor_handles};
static const rt_behaviour_type tormentor_type = {
    .handlers = tormentor_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void lives_play(uint64_t seed)
{
    play_open(seed, 2 + (uint32_t)(seed % 4));
    rti_u32_store_relaxed(&play.flag, rt_behaviour_spawn(&victim_type, NULL));
    for (int i = 0; i < 4; i++) {
        CHECK_OK(rt_behaviour_send(rt_behaviour_spawn(&tormentor_type, NULL), 0, NULL, 0));
    }
    rt_run();
    WITNESS(rti_u32_load_relaxed(&play.ended) >= LIVES);
    play_close(rti_u32_load_relaxed(&play.ended));
}

TEST_SEEDED(crew_sim_behaviours_die_once_and_late_orders_hit_nobody)
{
    worlds_play(lives_play);
}

/* The memory of messages, used up by all workers at once, twice: each sends itself as much as it
 * gets. When nobody gets any more, as many messages wait as there is room for, whoever holds free
 * cells back. Each is handled once, and what has come home by then is enough for the second time.
 */
#define HOARDERS    4
#define HOARD_ROOM  64
#define HOARD_TURNS 2

static struct {
    rti_atomic_u32 sent[HOARD_TURNS]; /* and about to be */
    rti_atomic_u32 handled[HOARD_TURNS];
    rti_atomic_u32 full[HOARD_TURNS]; /* hoarders that get nothing more */
    actor_id ids[HOARDERS];
} hoard;

static void hoard_begin(uint32_t turn)
{
    for (size_t i = 0; i < HOARDERS; i++) {
        CHECK_OK(rt_behaviour_send(hoard.ids[i], 0, &turn, sizeof(turn)));
    }
}

static void hoarder_fills(void *state, const rt_behaviour_message *msg)
{
    uint32_t turn;
    rt_status status = RT_SUCCESS;
    (void)state;
    memcpy(&turn, msg->data, sizeof(turn));
    while (!RT_FAILED(status)) {
        (void)rti_u32_add_relaxed(&hoard.sent[turn], 1);
        status = rt_behaviour_send(rt_self(), 1, &turn, sizeof(turn));
    }
    WITNESS(status.code == RT_ERR_NOMEM);
    /* The last one was not sent; beside them there are the messages that began the turn. */
    uint32_t sent = rti_u32_add_relaxed(&hoard.sent[turn], UINT32_MAX) - 1;
    WITNESS(sent + HOARDERS >= HOARD_ROOM);
    (void)rti_u32_add_relaxed(&hoard.full[turn], 1);
}

static void hoarder_handles(void *state, const rt_behaviour_message *msg)
{
    uint32_t turn;
    (void)state;
    memcpy(&turn, msg->data, sizeof(turn));
    if (rti_u32_load_relaxed(&hoard.full[turn]) < HOARDERS) {
        /* Somebody still looks for room: this message keeps its cell. */
        CHECK_OK(rt_behaviour_forward(rt_self(), 1));
        return;
    }
    uint32_t sent = rti_u32_load_relaxed(&hoard.sent[turn]);
    WITNESS(sent + HOARDERS >= HOARD_ROOM);
    if (rti_u32_add_relaxed(&hoard.handled[turn], 1) + 1 < sent) {
        return;
    }
    if (turn + 1 < HOARD_TURNS) {
        hoard_begin(turn + 1);
    } else {
        rt_shutdown();
    }
}

static const rt_behaviour_fn hoarder_handlers[] = {hoarder_fills, hoarder_handles};
static const rt_behaviour_type hoarder_type = {
    .handlers = hoarder_handlers, .handler_count = 2, .priority = RT_PRIO_NORMAL};

static void hoard_play(uint64_t seed)
{
    play_open(seed, 2 + (uint32_t)(seed % 3));
    memset(&hoard, 0, sizeof(hoard));
    CHECK_OK(
        rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = HOARDERS, .messages = HOARD_ROOM}));
    for (size_t i = 0; i < HOARDERS; i++) {
        hoard.ids[i] = rt_behaviour_spawn(&hoarder_type, NULL);
    }
    hoard_begin(0);
    rt_run();
    for (uint32_t turn = 0; turn < HOARD_TURNS; turn++) {
        WITNESS(rti_u32_load_relaxed(&hoard.handled[turn]) ==
                rti_u32_load_relaxed(&hoard.sent[turn]));
    }
    play_close(0);
}

TEST_SEEDED(crew_sim_messages_are_used_up_only_when_as_many_wait)
{
    worlds_play_prompt(hoard_play);
}
