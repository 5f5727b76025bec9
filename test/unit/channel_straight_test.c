/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of tasks and actors at a few channels, on the fixed engine as a program has it:
 * no journal, so that sends and receives go straight, meet the lone one and shut the gates. In the
 * simulator, where everything is recorded, they go the long way.
 *
 * Whatever is killed, cancelled, closed or too late: each value that was sent is received or
 * destroyed once, one that was refused never. */
#define _GNU_SOURCE
#define RTI_MODULE "channel_straight_test"
#include <orrery/rt.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "support/test.h"

/* A world costs the threads of a runtime, which are dear under the thread sanitizer. */
#define WORLDS_PER_SEED (RTI_TSAN ? 10 : 100)
#define CHANNELS        4
#define PARTIES         10
#define STEPS           40
#define VALUES_MAX      (PARTIES * STEPS + 1)

/* What a value may be: the largest of the channels' sizes. */
struct value {
    uint32_t id;
    uint32_t rest[5];
};

static struct {
    struct rti_rng rng;
    rt_channel_sender *tx[CHANNELS];
    rt_channel_receiver *rx[CHANNELS];
    actor_id actors[PARTIES];
    rt_task *tasks[PARTIES];
    uint32_t values;
    struct {
        uint8_t sent;    /* the sender was told so */
        uint8_t refused; /* or that it was not */
        uint8_t received;
        uint8_t destroyed;
    } fate[VALUES_MAX];
} play;

static uint64_t draw(uint64_t n)
{
    return rti_rng_below(&play.rng, n);
}

static void destroy(void *value, void *arg)
{
    (void)arg;
    play.fate[((struct value *)value)->id].destroyed++;
}

static struct value new_value(void)
{
    struct value value = {.id = ++play.values};
    CHECK(value.id < VALUES_MAX);
    return value;
}

/* Nothing more can be done with the handles, or by the caller. */
static bool is_final(rt_status status)
{
    return status.code == RT_ERR_INVALID || status.code == RT_ERR_CLOSED ||
           status.code == RT_ERR_DISCONNECTED || status.code == RT_ERR_CANCELLED;
}

static bool note_sent(const struct value *value, rt_status status)
{
    if (RT_FAILED(status)) {
        play.fate[value->id].refused = 1;
    } else {
        play.fate[value->id].sent = 1;
    }
    return !is_final(status);
}

static bool note_received(const struct value *value, rt_status status)
{
    if (!RT_FAILED(status)) {
        play.fate[value->id].received++;
    }
    return !is_final(status);
}

/* One way to send. */
static bool step_send(void)
{
    rt_channel_sender *tx = play.tx[draw(CHANNELS)];
    struct value value = new_value();
    switch (draw(8)) {
    case 0:
        return note_sent(&value, rt_channel_try_send(tx, &value));
    case 1:
        return note_sent(&value, rt_channel_send_timeout(tx, NULL, &value, draw(20000)));
    case 2:
        return note_sent(&value, rt_channel_send(tx, rt_cx_current(), &value));
    default:
        return note_sent(&value, rt_channel_send(tx, NULL, &value));
    }
}

static bool step_receive(void)
{
    rt_channel_receiver *rx = play.rx[draw(CHANNELS)];
    struct value value = {.id = 0};
    switch (draw(8)) {
    case 0:
        return note_received(&value, rt_channel_try_recv(rx, &value));
    case 1:
        return note_received(&value, rt_channel_recv_timeout(rx, NULL, &value, draw(20000)));
    case 2:
        return note_received(&value, rt_channel_recv(rx, rt_cx_current(), &value));
    default:
        return note_received(&value, rt_channel_recv(rx, NULL, &value));
    }
}

static bool step_permit(void)
{
    rt_send_permit permit;
    struct value value = new_value();
    rt_status status = rt_channel_reserve(play.tx[draw(CHANNELS)], NULL, &permit);
    if (RT_FAILED(status)) {
        return note_sent(&value, status);
    }
    for (uint64_t i = draw(3); i > 0; i--) {
        rt_yield();
    }
    if (draw(2) == 0) {
        play.fate[value.id].refused = 1;
        (void)rt_send_permit_abort(&permit);
        return true;
    }
    return note_sent(&value, rt_send_permit_send(&permit, &value));
}

static bool step_select(void)
{
    rt_select_arm arms[3] = {0};
    rt_selected chosen;
    struct value received = {.id = 0};
    struct value sent = new_value();
    rt_arm_recv(&arms[0], play.rx[draw(CHANNELS)], &received);
    rt_arm_send(&arms[1], play.tx[draw(CHANNELS)], &sent);
    if (draw(2) == 0) {
        rt_arm_default(&arms[2]);
    }
    rt_status status = rt_select(arms, 3, NULL, &chosen);
    bool is_chosen = !RT_FAILED(status);
    if (!is_chosen || chosen.index != 1) {
        play.fate[sent.id].refused = 1;
    } else {
        (void)note_sent(&sent, chosen.status);
    }
    if (is_chosen && chosen.index == 0) {
        (void)note_received(&received, chosen.status);
    }
    return is_chosen && !is_final(chosen.status);
}

/* Another handle, used once, and closed by who has it. */
static bool step_clone(void)
{
    rt_channel_receiver *rx = NULL;
    struct value value = {.id = 0};
    if (RT_FAILED(rt_channel_clone_receiver(play.rx[draw(CHANNELS)], &rx))) {
        return false;
    }
    bool goes_on = note_received(&value, rt_channel_recv_timeout(rx, NULL, &value, draw(20000)));
    CHECK_OK(rt_channel_close_receiver(rx));
    return goes_on;
}

/* Ends or disturbs another one, wherever it is. */
static bool step_disturb(void)
{
    uint64_t other = draw(PARTIES);
    if (play.actors[other] != ACTOR_ID_INVALID && play.actors[other] != rt_self()) {
        (void)rt_actor_kill(play.actors[other]);
    } else if (play.tasks[other] != NULL) {
        (void)rt_task_ask_cancel(play.tasks[other]);
    }
    return true;
}

static bool step(void)
{
    switch (draw(24)) {
    case 0:
        return step_permit();
    case 1:
    case 2:
        return step_select();
    case 3:
        return step_clone();
    case 4:
        rt_yield();
        return true;
    case 5:
        return draw(6) != 0 || step_disturb();
    default:
        return draw(2) == 0 ? step_send() : step_receive();
    }
}

static void *task_party(void *arg)
{
    for (int i = 0; i < STEPS && step(); i++) {
    }
    return arg;
}

static void actor_party(void *arg)
{
    (void)task_party(arg);
    rt_exit();
}

static void open_channels(void)
{
    static const size_t sizes[] = {8, 4, sizeof(struct value)};
    for (int i = 0; i < CHANNELS; i++) {
        rt_channel_config config = {.elem_size = sizes[draw(RTI_COUNT_OF(sizes))],
                                    .capacity = draw(3) + 1,
                                    .destroy = destroy};
        CHECK_OK(i == 0 || draw(3) == 0
                     ? rt_channel_create_rendezvous(&config, &play.tx[i], &play.rx[i])
                     : rt_channel_create(&config, &play.tx[i], &play.rx[i]));
    }
}

static void close_channels(void)
{
    for (int i = 0; i < CHANNELS; i++) {
        bool is_sender_first = draw(2) == 0;
        if (is_sender_first) {
            CHECK_OK(rt_channel_close_sender(play.tx[i]));
            rt_yield();
        }
        CHECK_OK(rt_channel_close_receiver(play.rx[i]));
        if (!is_sender_first) {
            rt_yield();
            CHECK_OK(rt_channel_close_sender(play.tx[i]));
        }
    }
}

static void *world(void *arg)
{
    open_channels();
    for (int i = 0; i < PARTIES; i++) {
        if (i % 2 == 0) {
            play.actors[i] = rt_spawn(actor_party, NULL);
            CHECK(play.actors[i] != ACTOR_ID_INVALID);
        } else {
            play.tasks[i] = rt_go(task_party, NULL);
            CHECK(play.tasks[i] != NULL);
        }
    }
    /* Long enough for all of them to have ended or to wait for each other. */
    for (int i = 0; i < 2 * PARTIES * STEPS; i++) {
        rt_yield();
    }
    close_channels();
    for (int i = 0; i < PARTIES; i++) {
        if (play.tasks[i] != NULL) {
            (void)rt_join(play.tasks[i], NULL);
        }
    }
    return arg;
}

static void check_fates(void)
{
    for (uint32_t id = 1; id <= play.values; id++) {
        int ends = play.fate[id].received + play.fate[id].destroyed;
        CHECK(ends <= 1);
        CHECK(play.fate[id].sent == 0 || ends == 1);
        CHECK(play.fate[id].refused == 0 || ends == 0);
    }
    CHECK_EQ(play.fate[0].received + play.fate[0].destroyed, 0);
}

TEST_SEEDED(channel_straight_paths_keep_each_value_once_whatever_happens)
{
    for (uint64_t i = 0; i < WORLDS_PER_SEED; i++) {
        memset(&play, 0, sizeof(play));
        rti_rng_init(&play.rng, test_seed() * WORLDS_PER_SEED + i);
        CHECK_OK(rt_run_main(NULL, world, NULL));
        check_fates();
    }
}
