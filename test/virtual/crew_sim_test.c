/* SPDX-License-Identifier: Apache-2.0 */
/* The parallel engine in the simulator: its own code, with 2 to 8 workers, warden, pool and threads
 * from outside, on one thread (src/port/virtual/). Each world is drawn from a number: how many
 * workers, what the program does, and who goes on at each access to a shared word.
 *
 * A seed plays WORLDS worlds. One world again, with its digest:
 *
 *     ORRERY_SEED=N build/plain/test/crew_sim_test NAME_OF_THE_CASE
 *
 * Seeds: 100 */
#define _GNU_SOURCE
#define RTI_MODULE "crew_sim_test"
#include <orrery/rt/actor.h>
#include <orrery/rt/blocking.h>
#include <orrery/rt/channel.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/mutex.h>
#include <orrery/rt/pin.h>
#include <orrery/rt/runtime.h>
#include <orrery/rt/select.h>
#include <orrery/rt/semaphore.h>
#include <orrery/rt/sim.h>
#include <orrery/rt/task.h>

#include "runtime/runtime.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define BODIES_MAX   16
#define CHANNELS     3
#define ACTORS       5
#define FOREVER_NS   (RT_NS_PER_S * 3600)
#define ACTION_KINDS 16

/* What a program draws, apart from what the chooser draws, so that it does not depend on it. */
struct dice {
    uint64_t state;
};

static uint64_t draw(struct dice *dice, uint64_t n)
{
    dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (dice->state >> 33) % n;
}

struct body {
    struct dice dice;
    uint32_t actions;
    uint32_t inside; /* plain: a body that runs on two workers is a race, and seen here too */
};

static struct {
    uint64_t seed;
    uint32_t workers;
    uint32_t bodies_count;
    struct body bodies[BODIES_MAX];
    rt_channel_sender *tx[CHANNELS];
    rt_channel_receiver *rx[CHANNELS];
    rt_mutex mutex;
    uint64_t guarded; /* by the mutex */
    rt_semaphore semaphore;
    rti_atomic_u32 sent;
    rti_atomic_u32 received;
    rti_atomic_u32 locked;
    rti_atomic_u32 started; /* tasks, and those that came to their end, one way or the other */
    rti_atomic_u32 ended;
    rti_atomic_ptr handle; /* of the task that was started last */
    actor_id actors[ACTORS];
    rti_atomic_u32 actor_messages;
    struct rti_port_thread outsider;
} play;

/* Computes: points in the program's own code, during which nobody else may be in this body. */
static void compute(struct body *body, uint64_t points)
{
    WITNESS(body->inside == 0);
    body->inside = 1;
    for (uint64_t i = 0; i < points; i++) {
        rti_virtual_compute();
    }
    WITNESS(body->inside == 1);
    body->inside = 0;
}

static void *child_idle(void *arg)
{
    (void)arg;
    (void)rt_sleep(FOREVER_NS);
    rti_u32_add_relaxed(&play.ended, 1);
    return NULL;
}

static void *child_adds(void *arg)
{
    struct body own = {.dice = {(uintptr_t)arg}};
    compute(&own, draw(&own.dice, 20));
    if (draw(&own.dice, 2) == 0) {
        rt_yield();
    }
    compute(&own, draw(&own.dice, 5));
    rti_u32_add_relaxed(&play.ended, 1);
    return (void *)((uintptr_t)arg + 1);
}

static void *child_panics(void *arg)
{
    (void)arg;
    rti_u32_add_relaxed(&play.ended, 1);
    rt_panic_task("planned");
    return NULL;
}

static void act_sleep(struct body *body)
{
    rt_time duration = draw(&body->dice, 4) == 0 ? 0 : draw(&body->dice, 3 * RT_NS_PER_MS);
    rt_time deadline = rt_clock() + duration;
    CHECK_OK(rt_sleep(duration));
    WITNESS(rt_clock() >= deadline);
}

static void act_send(struct body *body)
{
    uint32_t value = 1;
    rt_status status = rt_channel_send_timeout(play.tx[draw(&body->dice, CHANNELS)], NULL, &value,
                                               1 + draw(&body->dice, RT_NS_PER_MS));
    WITNESS(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
    rti_u32_add_relaxed(&play.sent, status.code == RT_OK);
}

static void act_recv(struct body *body)
{
    uint32_t value = 0;
    rt_status status = rt_channel_recv_timeout(play.rx[draw(&body->dice, CHANNELS)], NULL, &value,
                                               1 + draw(&body->dice, RT_NS_PER_MS));
    WITNESS(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
    WITNESS(status.code != RT_OK || value == 1);
    rti_u32_add_relaxed(&play.received, status.code == RT_OK);
}

static void act_select(struct body *body)
{
    rt_select_arm arms[3] = {0};
    rt_selected chosen;
    uint32_t in[2] = {0};
    uint32_t out = 1;
    rt_arm_recv(&arms[0], play.rx[0], &in[0]);
    rt_arm_recv(&arms[1], play.rx[1 + draw(&body->dice, 2)], &in[1]);
    rt_arm_send(&arms[2], play.tx[draw(&body->dice, CHANNELS)], &out);
    rt_status status =
        rt_select_until(arms, 3, NULL, rt_clock() + 1 + draw(&body->dice, RT_NS_PER_MS), &chosen);
    WITNESS(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
    if (status.code == RT_OK && chosen.status.code == RT_OK) {
        rti_u32_add_relaxed(chosen.index == 2 ? &play.sent : &play.received, 1);
        WITNESS(chosen.index == 2 || in[chosen.index] == 1);
    }
}

static void act_lock(struct body *body)
{
    rt_status status =
        rt_mutex_lock_until(&play.mutex, NULL, rt_clock() + draw(&body->dice, RT_NS_PER_MS));
    WITNESS(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
    if (status.code == RT_OK) {
        uint64_t before = play.guarded;
        compute(body, draw(&body->dice, 10));
        if (draw(&body->dice, 3) == 0) {
            rt_yield();
        }
        WITNESS(play.guarded == before);
        play.guarded = before + 1;
        rti_u32_add_relaxed(&play.locked, 1);
        CHECK_OK(rt_mutex_unlock(&play.mutex, NULL));
    }
}

static void act_semaphore(struct body *body)
{
    uint32_t units = 1 + (uint32_t)draw(&body->dice, 2);
    rt_status status = rt_semaphore_acquire_until(&play.semaphore, units, NULL,
                                                  rt_clock() + draw(&body->dice, RT_NS_PER_MS));
    WITNESS(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
    if (status.code == RT_OK) {
        compute(body, draw(&body->dice, 10));
        CHECK_OK(rt_semaphore_release(&play.semaphore, units));
    }
}

/* Starts a task; NULL if there are as many as there can be. */
static rt_task *child_go(struct body *body, rt_task_fn fn, void *arg)
{
    rt_task_config config = {.priority = (rt_priority)draw(&body->dice, 4),
                             .is_priority_set = draw(&body->dice, 4) == 0};
    rt_task *task = rt_go_ex(fn, arg, &config);
    rti_u32_add_relaxed(&play.started, task != NULL);
    rti_ptr_store_relaxed(&play.handle, task);
    return task;
}

static void act_join(struct body *body)
{
    /* A handle that somebody else has: consumed or not, asking about it is allowed. */
    rt_task *other = rti_ptr_load_relaxed(&play.handle);
    if (other != NULL) {
        (void)rt_task_has_ended(other);
    }
    void *value = NULL;
    void *arg = (void *)(uintptr_t)(1 + draw(&body->dice, 1000));
    rt_task *first = child_go(body, child_adds, arg);
    rt_task *second = child_go(body, child_adds, NULL);
    if (first != NULL) {
        CHECK_OK(rt_join(first, &value));
        WITNESS((uintptr_t)value == (uintptr_t)arg + 1);
    }
    if (second == NULL) {
        return;
    }
    if (draw(&body->dice, 2) == 0) {
        CHECK_OK(rt_join(second, &value));
        WITNESS((uintptr_t)value == 1);
    } else {
        CHECK_OK(rt_detach(second));
    }
}

static void act_burst(struct body *body)
{
    /* More than a ring holds. */
    uint32_t count = 4 + (uint32_t)draw(&body->dice, 10);
    for (uint32_t i = 0; i < count; i++) {
        rt_task *task = child_go(body, child_adds, NULL);
        if (task != NULL) {
            CHECK_OK(rt_detach(task));
        }
    }
}

static void act_cancel(struct body *body)
{
    rt_task *task = child_go(body, child_idle, NULL);
    if (task == NULL) {
        return;
    }
    if (draw(&body->dice, 2) == 0) {
        (void)rt_sleep(draw(&body->dice, 1000));
    }
    rt_status status = rt_cancel(task, NULL);
    WITNESS(status.code == RT_ERR_CANCELLED);
}

static void act_timeout(struct body *body)
{
    rt_status status = rt_timeout(1 + draw(&body->dice, RT_NS_PER_MS), child_idle, NULL, NULL);
    WITNESS(status.code == RT_ERR_TIMEOUT || status.code == RT_ERR_NOMEM ||
            status.code == RT_ERR_RESOURCE_EXHAUSTED);
    rti_u32_add_relaxed(&play.started, status.code == RT_ERR_TIMEOUT);
}

static void act_panic(struct body *body)
{
    rt_task *task = child_go(body, child_panics, NULL);
    if (task == NULL) {
        return;
    }
    rt_status status = rt_join(task, NULL);
    WITNESS(status.code == RT_ERR_PANICKED);
}

/* A call that blocks the thread: the station goes to another, or is there when it comes back. */
static void act_block(struct body *body)
{
    CHECK_OK(rt_blocking_enter());
    rti_virtual_sleep(draw(&body->dice, 2) == 0 ? draw(&body->dice, 30000)
                                                : draw(&body->dice, 5 * RT_NS_PER_MS));
    CHECK_OK(rt_blocking_exit());
}

static void pool_work(void *arg)
{
    rti_virtual_sleep(1000);
    *(uint32_t *)arg = 7;
}

static void act_pool(struct body *body)
{
    (void)body;
    uint32_t result = 0;
    CHECK_OK(rt_blocking(pool_work, &result));
    WITNESS(result == 7);
}

/* Computes for longer than a fiber may without being interrupted. */
static void act_hog(struct body *body)
{
    rt_time until = rt_clock() + draw(&body->dice, 25 * RT_NS_PER_MS);
    for (int i = 0; i < 40 && rt_clock() < until; i++) {
        compute(body, 20);
    }
}

/* Keeps its thread across whatever it does there. */
static void act_pin(struct body *body)
{
    rt_status status = rt_pin();
    if (status.code == RT_OK) {
        uintptr_t thread = rti_virtual_self();
        rt_yield();
        WITNESS(rti_virtual_self() == thread);
        act_sleep(body);
        WITNESS(rti_virtual_self() == thread);
        act_recv(body);
        WITNESS(rti_virtual_self() == thread);
        CHECK_OK(rt_unpin());
    }
    WITNESS(status.code == RT_OK || status.code == RT_ERR_RESOURCE_EXHAUSTED);
}

static void body_act(struct body *body)
{
    switch (draw(&body->dice, ACTION_KINDS)) {
    case 0:
        rt_yield();
        break;
    case 1:
        act_sleep(body);
        break;
    case 2:
        act_send(body);
        break;
    case 3:
        act_recv(body);
        break;
    case 4:
        act_select(body);
        break;
    case 5:
        act_lock(body);
        break;
    case 6:
        act_semaphore(body);
        break;
    case 7:
        act_join(body);
        break;
    case 8:
        act_cancel(body);
        break;
    case 9:
        act_timeout(body);
        break;
    case 10:
        act_panic(body);
        break;
    case 11:
        act_block(body);
        break;
    case 12:
        act_pool(body);
        break;
    case 13:
        act_burst(body);
        break;
    case 14:
        act_pin(body);
        break;
    default:
        act_hog(body);
        break;
    }
}

static void *body_main(void *arg)
{
    struct body *body = arg;
    for (uint32_t i = 0; i < body->actions; i++) {
        body_act(body);
        compute(body, draw(&body->dice, 6));
    }
    rti_u32_add_relaxed(&play.ended, 1);
    return NULL;
}

/* Actors: messages to and fro, with kills, until nobody has anything to say. */
static void actor_main(void *arg)
{
    struct dice dice = {play.seed ^ ((uintptr_t)arg << 20)};
    for (uint32_t i = 0; i < 6; i++) {
        rt_message message;
        uint64_t number = draw(&dice, ACTORS);
        actor_id peer = play.actors[number];
        uint32_t word = i;
        if (peer != rt_self()) {
            /* Who waits, waits for one of a lower number: there is no circle. */
            bool is_sync = number < (uintptr_t)arg && draw(&dice, 2) == 0;
            rt_status status =
                rt_ipc_send(peer, &word, sizeof(word), is_sync ? IPC_SYNC : IPC_ASYNC);
            rti_u32_add_relaxed(&play.actor_messages, status.code == RT_OK);
        }
        if (rt_ipc_recv(&message, (int32_t)draw(&dice, 3)).code == RT_OK) {
            rti_virtual_compute();
            rt_ipc_release(&message);
        }
        if (draw(&dice, 12) == 0) {
            (void)rt_actor_kill(peer);
        }
    }
    rt_exit();
}

/* A thread from outside: it sends, which may block it, and wakes whoever waits for the flag. */
static void outsider_main(void *arg)
{
    (void)arg;
    uint32_t value = 1;
    for (uint32_t i = 0; i < 3; i++) {
        rti_virtual_sleep(rti_virtual_draw(20000));
        rt_status status = rt_channel_send_timeout(play.tx[0], NULL, &value, 100000);
        WITNESS(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
        rti_u32_add_relaxed(&play.sent, status.code == RT_OK);
    }
}

static void *root_main(void *arg)
{
    (void)arg;
    struct rti_port *port = rti_runtime.sched.port;
    rt_task *tasks[BODIES_MAX];
    bool has_outsider = play.seed % 3 == 0;
    if (has_outsider) {
        CHECK_OK(port->ops->thread_start(port, &play.outsider, outsider_main, NULL));
    }
    for (uint32_t i = 0; i < play.bodies_count; i++) {
        tasks[i] = child_go(&play.bodies[i], body_main, &play.bodies[i]);
    }
    for (uint32_t i = 0; i < play.bodies_count; i++) {
        if (tasks[i] != NULL) {
            CHECK_OK(rt_join(tasks[i], NULL));
        }
    }
    if (has_outsider) {
        CHECK_OK(rt_blocking_enter());
        port->ops->thread_join(port, &play.outsider);
        CHECK_OK(rt_blocking_exit());
    }
    return NULL;
}

static void play_prepare(uint64_t seed)
{
    struct dice dice = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    memset(&play, 0, sizeof(play));
    play.seed = seed;
    play.workers = 2 + (uint32_t)draw(&dice, 7);
    play.bodies_count = 1 + (uint32_t)draw(&dice, BODIES_MAX);
    for (uint32_t i = 0; i < play.bodies_count; i++) {
        play.bodies[i] = (struct body){.dice = {seed ^ ((uint64_t)i << 40)},
                                       .actions = 1 + (uint32_t)draw(&dice, 8)};
        (void)draw(&play.bodies[i].dice, 2);
    }
}

static void play_open(uint32_t threads_max)
{
    rt_config config = {.workers = play.workers, .threads_max = threads_max};
    CHECK_OK(rt_init_ex(&config));
    for (uint32_t i = 0; i < CHANNELS; i++) {
        rt_channel_config channel = {.elem_size = sizeof(uint32_t), .capacity = 1 + i};
        CHECK_OK(rt_channel_create(&channel, &play.tx[i], &play.rx[i]));
    }
    CHECK_OK(rt_mutex_init(&play.mutex));
    CHECK_OK(rt_semaphore_init(&play.semaphore, 2));
}

/* What was started has ended, what was sent is received or still there, nothing is left. */
static void play_check(void)
{
    uint32_t queued = 0;
    for (uint32_t i = 0; i < CHANNELS; i++) {
        rt_channel_info info;
        CHECK_OK(rt_channel_receiver_info(play.rx[i], &info));
        queued += (uint32_t)info.queued;
        WITNESS(info.waiting_senders == 0 && info.waiting_receivers == 0 && info.reserved == 0);
        WITNESS(info.sent == info.received + info.queued + info.destroyed);
        CHECK_OK(rt_channel_close_sender(play.tx[i]));
        CHECK_OK(rt_channel_close_receiver(play.rx[i]));
    }
    WITNESS(rti_u32_load_relaxed(&play.sent) == rti_u32_load_relaxed(&play.received) + queued);
    WITNESS(rti_u32_load_relaxed(&play.locked) == play.guarded);
    WITNESS(rti_u32_load_relaxed(&play.started) == rti_u32_load_relaxed(&play.ended));
    WITNESS(rt_semaphore_count(&play.semaphore) == 2);
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
    CHECK_OK(rt_mutex_deinit(&play.mutex));
    CHECK_OK(rt_semaphore_deinit(&play.semaphore));
}

/* A program of everything, with as many threads as the crew may have at most; 0: plenty. */
static void storm_run(uint64_t seed, bool is_crowded)
{
    play_prepare(seed);
    play_open(is_crowded ? play.workers + 1 : 0);
    rt_task *root = rt_go(root_main, NULL);
    WITNESS(root != NULL);
    if (play.seed % 2 == 0) {
        for (uint32_t i = 0; i < ACTORS; i++) {
            play.actors[i] = rt_spawn(actor_main, (void *)(uintptr_t)i);
            WITNESS(play.actors[i] != ACTOR_ID_INVALID);
        }
    }
    rt_run();
    CHECK_OK(rt_join(root, NULL));
    play_check();
}

static void storm_play(uint64_t seed)
{
    storm_run(seed, false);
}

static void crowded_play(uint64_t seed)
{
    storm_run(seed, true);
}

TEST_SEEDED(crew_sim_storm_keeps_its_promises)
{
    worlds_play(storm_play);
}

TEST_SEEDED(crew_sim_storm_with_one_spare_thread_keeps_its_promises)
{
    worlds_play(crowded_play);
}

static uint64_t digest_of_world(const struct world_report *report)
{
    return report->digest;
}

TEST_SEEDED(crew_sim_repeats_itself_from_its_seed)
{
    world_check_repeats(storm_play, digest_of_world);
}
