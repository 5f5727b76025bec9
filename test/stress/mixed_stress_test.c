/* SPDX-License-Identifier: Apache-2.0 */
/* Everything at once on real threads: tasks, actors, channels, select, timers, sockets, blocking
 * calls, pins, kills, cancels, panics, loops that must be interrupted and threads from outside, on
 * 8 workers, for ORRERY_STRESS_SECONDS (2 if nobody says). What must hold: nothing crashes, races
 * or leaks, everybody comes to an end, and the accounts of channels, locks and tasks agree.
 *
 *     test/stress/run 600        ten minutes under each of the two sanitizers */
#define _GNU_SOURCE
#define RTI_MODULE "mixed_stress_test"
#include <orrery/rt.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "support/test.h"

TEST_TIMEOUT(60);

#define WORKERS   8
#define CHANNELS  4
#define OUTSIDERS 2

static struct {
    rt_time until;
    rt_channel_sender *tx[CHANNELS];
    rt_channel_receiver *rx[CHANNELS];
    rt_mutex mutex;
    uint64_t guarded;
    rti_atomic_u64 locked;
    rti_atomic_u64 sent;
    rti_atomic_u64 received;
    rti_atomic_u64 started;
    rti_atomic_u64 ended;
    rti_atomic_u64 echoes;
    rti_atomic_u64 kills;
    rti_atomic_u32 drivers; /* that run still */
    uint16_t port;
} play;

/* Where a driver's dice are. */
struct dice {
    uint64_t state;
};

static uint64_t draw(struct dice *dice, uint64_t n)
{
    dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (dice->state >> 33) % n;
}

static bool is_over(void)
{
    return rt_clock() >= play.until;
}

static void spin(uint64_t rounds)
{
    for (volatile uint64_t i = 0; i < rounds; i++) {
    }
}

static void *child_idle(void *arg)
{
    (void)arg;
    (void)rt_sleep(RT_NS_PER_S * 3600);
    rti_u64_add_relaxed(&play.ended, 1);
    return NULL;
}

static void *child_short(void *arg)
{
    spin((uintptr_t)arg);
    if ((uintptr_t)arg % 2 == 0) {
        rt_yield();
    }
    rti_u64_add_relaxed(&play.ended, 1);
    return (void *)((uintptr_t)arg + 1);
}

static void *child_panics(void *arg)
{
    (void)arg;
    rti_u64_add_relaxed(&play.ended, 1);
    rt_panic_task("planned");
    return NULL;
}

/* Starts a task; NULL if there are as many as there can be. */
static rt_task *child_go(rt_task_fn fn, uintptr_t arg)
{
    rt_task *task = rt_go(fn, (void *)arg);
    rti_u64_add_relaxed(&play.started, task != NULL);
    return task;
}

static void drive_tasks(struct dice *dice)
{
    uintptr_t arg = draw(dice, 2000);
    uint64_t kind = draw(dice, 8);
    rt_task *task = child_go(kind == 0 ? child_panics : kind < 3 ? child_idle : child_short, arg);
    void *value = NULL;
    if (task == NULL) {
        rt_yield();
    } else if (kind == 0) {
        CHECK_STATUS(rt_join(task, NULL), RT_ERR_PANICKED);
    } else if (kind < 3) {
        if (kind == 1) {
            (void)rt_sleep(draw(dice, 100000));
        }
        CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    } else if (kind < 5) {
        CHECK_OK(rt_detach(task));
    } else {
        CHECK_OK(rt_join(task, &value));
        CHECK((uintptr_t)value == arg + 1);
    }
}

static void drive_channel(struct dice *dice)
{
    uint64_t value = 42;
    rt_time patience = draw(dice, 200000);
    size_t which = draw(dice, CHANNELS);
    if (draw(dice, 2) == 0) {
        rt_status status = rt_channel_send_timeout(play.tx[which], NULL, &value, patience);
        CHECK(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
        rti_u64_add_relaxed(&play.sent, status.code == RT_OK);
    } else {
        value = 0;
        rt_status status = rt_channel_recv_timeout(play.rx[which], NULL, &value, patience);
        CHECK(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
        CHECK(status.code != RT_OK || value == 42);
        rti_u64_add_relaxed(&play.received, status.code == RT_OK);
    }
}

static void drive_select(struct dice *dice)
{
    rt_select_arm arms[3] = {0};
    rt_selected chosen;
    uint64_t in[2] = {0};
    uint64_t out = 42;
    rt_arm_recv(&arms[0], play.rx[0], &in[0]);
    rt_arm_recv(&arms[1], play.rx[1 + draw(dice, CHANNELS - 1)], &in[1]);
    rt_arm_send(&arms[2], play.tx[draw(dice, CHANNELS)], &out);
    rt_status status = rt_select_until(arms, 3, NULL, rt_clock() + draw(dice, 200000), &chosen);
    CHECK(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
    if (status.code == RT_OK && chosen.status.code == RT_OK) {
        CHECK(chosen.index == 2 || in[chosen.index] == 42);
        rti_u64_add_relaxed(chosen.index == 2 ? &play.sent : &play.received, 1);
    }
}

static void drive_mutex(struct dice *dice)
{
    rt_status status = rt_mutex_lock_until(&play.mutex, NULL, rt_clock() + draw(dice, 100000));
    CHECK(status.code == RT_OK || status.code == RT_ERR_TIMEOUT);
    if (status.code == RT_OK) {
        uint64_t before = play.guarded;
        spin(draw(dice, 300));
        if (draw(dice, 4) == 0) {
            rt_yield();
        }
        CHECK(play.guarded == before);
        play.guarded = before + 1;
        rti_u64_add_relaxed(&play.locked, 1);
        CHECK_OK(rt_mutex_unlock(&play.mutex, NULL));
    }
}

static void drive_time(struct dice *dice)
{
    rt_time duration = draw(dice, 3 * RT_NS_PER_MS);
    rt_time deadline = rt_clock() + duration;
    CHECK_OK(rt_sleep(duration));
    CHECK(rt_clock() >= deadline);
    rt_status status = rt_timeout(1 + draw(dice, 100000), child_idle, NULL, NULL);
    CHECK(status.code == RT_ERR_TIMEOUT || status.code == RT_ERR_NOMEM ||
          status.code == RT_ERR_RESOURCE_EXHAUSTED);
    rti_u64_add_relaxed(&play.started, status.code == RT_ERR_TIMEOUT);
}

static void pool_work(void *arg)
{
    usleep(100);
    *(int *)arg = 7;
}

static void drive_blocking(struct dice *dice)
{
    int result = 0;
    CHECK_OK(rt_blocking_enter());
    usleep((useconds_t)draw(dice, 1500));
    CHECK_OK(rt_blocking_exit());
    CHECK_OK(rt_blocking(pool_work, &result));
    CHECK_EQ(result, 7);
}

/* Computes for longer than it may without being interrupted. */
static void drive_hog(struct dice *dice)
{
    rt_time until = rt_clock() + draw(dice, 15 * RT_NS_PER_MS);
    while (rt_clock() < until) {
        spin(20000);
    }
    (void)rt_sleep(5 * RT_NS_PER_MS);
}

static void drive_pin(struct dice *dice)
{
    rt_status status = rt_pin();
    if (status.code == RT_OK) {
        pthread_t thread = pthread_self();
        rt_yield();
        (void)rt_sleep(draw(dice, 100000));
        CHECK(pthread_equal(thread, pthread_self()));
        CHECK_OK(rt_unpin());
    }
    (void)rt_sleep(RT_NS_PER_MS);
}

static void drive_socket(struct dice *dice)
{
    int fd = -1;
    char out[64] = "ping";
    char in[64];
    rt_status status = rt_net_connect("127.0.0.1", play.port, &fd, 1000);
    if (status.code != RT_OK) {
        return;
    }
    for (uint64_t i = draw(dice, 5); i > 0; i--) {
        size_t sent = 0;
        size_t received = 0;
        status = rt_net_send(fd, out, sizeof(out), &sent, 1000);
        while (status.code == RT_OK && received < sent) {
            size_t got = 0;
            status = rt_net_recv(fd, in + received, sent - received, &got, 1000);
            received += got;
        }
        CHECK(status.code != RT_OK || memcmp(in, out, sent) == 0);
        rti_u64_add_relaxed(&play.echoes, status.code == RT_OK);
    }
    (void)rt_net_close(fd);
}

struct driver {
    void (*drive)(struct dice *dice);
    uint64_t seed;
};

static const struct driver drivers[] = {
    {drive_tasks, 1},   {drive_tasks, 2},     {drive_tasks, 3},     {drive_tasks, 4},
    {drive_channel, 5}, {drive_channel, 6},   {drive_channel, 7},   {drive_channel, 8},
    {drive_channel, 9}, {drive_channel, 10},  {drive_select, 11},   {drive_select, 12},
    {drive_mutex, 13},  {drive_mutex, 14},    {drive_mutex, 15},    {drive_time, 16},
    {drive_time, 17},   {drive_blocking, 18}, {drive_blocking, 19}, {drive_hog, 20},
    {drive_pin, 21},    {drive_socket, 22},   {drive_socket, 23},
};

static void *driver_main(void *arg)
{
    const struct driver *driver = arg;
    struct dice dice = {driver->seed * UINT64_C(0x9e3779b97f4a7c15)};
    while (!is_over()) {
        driver->drive(&dice);
    }
    rti_u32_sub_acqrel(&play.drivers, 1);
    return NULL;
}

/* Serves one connection until it is closed. */
static void *serve(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char buffer[64];
    size_t got = 0;
    while (rt_net_recv(fd, buffer, sizeof(buffer), &got, 1000).code == RT_OK && got > 0) {
        size_t sent = 0;
        if (rt_net_send(fd, buffer, got, &sent, 1000).code != RT_OK) {
            break;
        }
    }
    (void)rt_net_close(fd);
    return NULL;
}

static void *server_main(void *arg)
{
    int listener = (int)(intptr_t)arg;
    while (rti_u32_load_relaxed(&play.drivers) > 0) {
        int fd = -1;
        if (rt_net_accept(listener, &fd, 50).code == RT_OK) {
            rt_task *task = rt_go(serve, (void *)(intptr_t)fd);
            if (task == NULL) {
                (void)rt_net_close(fd);
            } else {
                CHECK_OK(rt_detach(task));
            }
        }
    }
    CHECK_OK(rt_net_close(listener));
    return NULL;
}

/* Actors that talk until they are killed or have had enough. */
static void chatter_main(void *arg)
{
    struct dice dice = {(uintptr_t)arg};
    uint64_t word = 1;
    actor_id keeper = rt_whereis("keeper");
    for (uint64_t i = 0; i < 20; i++) {
        rt_message message;
        if (keeper != ACTOR_ID_INVALID && draw(&dice, 3) == 0) {
            (void)rt_ipc_send(keeper, &word, sizeof(word), IPC_ASYNC);
        }
        (void)rt_ipc_recv(&message, (int32_t)draw(&dice, 3));
    }
    if (draw(&dice, 4) == 0) {
        for (;;) {
            rt_message message;
            (void)rt_ipc_recv(&message, -1);
        }
    }
    rt_exit();
}

#define CHATTERS 8

static void keeper_main(void *arg)
{
    actor_id chatters[CHATTERS] = {0};
    struct dice dice = {(uintptr_t)arg};
    CHECK_OK(rt_register("keeper", rt_self()));
    while (rti_u32_load_relaxed(&play.drivers) > 0) {
        rt_message message;
        size_t which = draw(&dice, CHATTERS);
        if (chatters[which] != ACTOR_ID_INVALID && rt_actor_alive(chatters[which])) {
            if (draw(&dice, 3) == 0) {
                rt_status status = rt_actor_kill(chatters[which]);
                rti_u64_add_relaxed(&play.kills, status.code == RT_OK);
            } else {
                (void)rt_ipc_send(chatters[which], "x", 1, IPC_ASYNC);
            }
        } else {
            uint32_t reference;
            chatters[which] = rt_spawn(chatter_main, (void *)(uintptr_t)draw(&dice, 1000000));
            if (chatters[which] != ACTOR_ID_INVALID && draw(&dice, 2) == 0) {
                (void)rt_monitor(chatters[which], &reference);
            }
        }
        (void)rt_ipc_recv(&message, (int32_t)draw(&dice, 2));
    }
    for (size_t i = 0; i < CHATTERS; i++) {
        (void)rt_actor_kill(chatters[i]);
    }
    rt_exit();
}

/* A thread that is no worker. */
static void *outsider_main(void *arg)
{
    struct dice dice = {(uintptr_t)arg};
    while (rti_u32_load_relaxed(&play.drivers) > 0) {
        drive_channel(&dice);
        usleep((useconds_t)draw(&dice, 300));
    }
    return NULL;
}

static void play_open(void)
{
    const char *text = getenv("ORRERY_STRESS_SECONDS");
    uint64_t seconds = text == NULL ? 2 : strtoull(text, NULL, 10);
    rt_config config = {.workers = WORKERS};
    int listener = -1;
    CHECK_OK(rt_init_ex(&config));
    play.until = rt_clock() + seconds * RT_NS_PER_S;
    for (size_t i = 0; i < CHANNELS; i++) {
        rt_channel_config channel = {.elem_size = sizeof(uint64_t), .capacity = 1 + 3 * i};
        CHECK_OK(rt_channel_create(&channel, &play.tx[i], &play.rx[i]));
    }
    CHECK_OK(rt_mutex_init(&play.mutex));
    CHECK_OK(rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1"}, &listener));
    CHECK_OK(rt_net_local_port(listener, &play.port));
    rt_task *server = rt_go(server_main, (void *)(intptr_t)listener);
    CHECK(server != NULL);
    CHECK_OK(rt_detach(server));
    rti_u32_store_relaxed(&play.drivers, RTI_COUNT_OF(drivers));
    for (size_t i = 0; i < RTI_COUNT_OF(drivers); i++) {
        rt_task *task = rt_go(driver_main, (void *)(uintptr_t)&drivers[i]);
        CHECK(task != NULL);
        CHECK_OK(rt_detach(task));
    }
    CHECK(rt_spawn(keeper_main, (void *)(uintptr_t)99) != ACTOR_ID_INVALID);
}

static void play_close(void)
{
    uint64_t queued = 0;
    for (size_t i = 0; i < CHANNELS; i++) {
        rt_channel_info info;
        CHECK_OK(rt_channel_receiver_info(play.rx[i], &info));
        queued += info.queued;
        CHECK(info.waiting_senders == 0 && info.waiting_receivers == 0 && info.reserved == 0);
        CHECK_OK(rt_channel_close_sender(play.tx[i]));
        CHECK_OK(rt_channel_close_receiver(play.rx[i]));
    }
    CHECK_EQ(rti_u64_load_relaxed(&play.sent), rti_u64_load_relaxed(&play.received) + queued);
    CHECK_EQ(rti_u64_load_relaxed(&play.locked), play.guarded);
    CHECK_EQ(rti_u64_load_relaxed(&play.started), rti_u64_load_relaxed(&play.ended));
    CHECK_OK(rt_mutex_deinit(&play.mutex));
    rt_cleanup();
    printf("tasks %" PRIu64 ", sent %" PRIu64 ", locked %" PRIu64 ", echoes %" PRIu64
           ", kills %" PRIu64 "\n",
           rti_u64_load_relaxed(&play.started), rti_u64_load_relaxed(&play.sent),
           rti_u64_load_relaxed(&play.locked), rti_u64_load_relaxed(&play.echoes),
           rti_u64_load_relaxed(&play.kills));
}

TEST(stress_of_everything_at_once_keeps_its_accounts)
{
    pthread_t outsiders[OUTSIDERS];
    play_open();
    for (uintptr_t i = 0; i < OUTSIDERS; i++) {
        CHECK(pthread_create(&outsiders[i], NULL, outsider_main, (void *)(i + 1)) == 0);
    }
    rt_run();
    for (size_t i = 0; i < OUTSIDERS; i++) {
        CHECK(pthread_join(outsiders[i], NULL) == 0);
    }
    play_close();
}
