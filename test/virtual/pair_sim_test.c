/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs that talk over channels on simulated workers, while one after the other is cancelled or
 * killed: those who wait alone (src/sync/channel_short.h), at every point of their way to sleep and
 * back. Nobody is left asleep, and no value is lost or doubled.
 *
 * Seeds: 100 */
#define _GNU_SOURCE
#define RTI_MODULE "pair_sim_test"
#include <orrery/rt/actor.h>
#include <orrery/rt/channel.h>
#include <orrery/rt/runtime.h>
#include <orrery/rt/sim.h>
#include <orrery/rt/task.h>

#include "runtime/runtime.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define PAIRS_MAX 3

struct dice {
    uint64_t state;
};

static uint64_t draw(struct dice *dice, uint64_t n)
{
    dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (dice->state >> 33) % n;
}

struct pair {
    rt_channel_sender *tx[2];
    rt_channel_receiver *rx[2];
    rt_task *asker;
    rt_task *answerer; /* NULL: an actor answers */
    actor_id actor;
    uint32_t rounds;
    rti_atomic_u32 asked; /* values of the asker that were accepted, and received by it */
    rti_atomic_u32 answered;
    bool is_robbed; /* a stranger took an answer */
};

static struct {
    struct dice dice;
    uint32_t workers;
    uint32_t pairs_count;
    struct pair pairs[PAIRS_MAX];
} play;

static void *ask(void *arg)
{
    struct pair *pair = arg;
    for (uint32_t i = 0; i < pair->rounds; i++) {
        uint64_t number = i;
        if (RT_FAILED(rt_channel_send(pair->tx[0], NULL, &number))) {
            break;
        }
        rti_u32_add_relaxed(&pair->asked, 1);
        if (RT_FAILED(rt_channel_recv(pair->rx[1], NULL, &number))) {
            break;
        }
        WITNESS(number == i || pair->is_robbed);
        rti_u32_add_relaxed(&pair->answered, 1);
    }
    return NULL;
}

static void answer(struct pair *pair)
{
    uint64_t number;
    while (!RT_FAILED(rt_channel_recv(pair->rx[0], NULL, &number)) &&
           !RT_FAILED(rt_channel_send(pair->tx[1], NULL, &number))) {
        rti_virtual_compute();
    }
}

static void *answer_as_task(void *arg)
{
    answer(arg);
    return NULL;
}

static void answer_as_actor(void *arg)
{
    answer(arg);
    rt_exit();
}

/* One who comes in between: a lone one is put into the line. */
static void disturb(struct pair *pair)
{
    rt_channel_info info;
    CHECK_OK(rt_channel_receiver_info(pair->rx[0], &info));
    if (draw(&play.dice, 4) == 0) {
        rt_channel_sender *clone;
        CHECK_OK(rt_channel_clone_sender(pair->tx[0], &clone));
        CHECK_OK(rt_channel_close_sender(clone));
    }
    uint64_t number;
    rt_time deadline = rt_clock();
    if (!RT_FAILED(rt_channel_recv_until(pair->rx[1], NULL, &number, deadline))) {
        pair->is_robbed = true;
    }
}

static void end_answerer(struct pair *pair)
{
    if (pair->answerer != NULL) {
        CHECK_OK(rt_task_ask_cancel(pair->answerer));
    } else {
        (void)rt_actor_kill(pair->actor);
    }
}

static void *root_main(void *arg)
{
    for (uint32_t i = 0; i < play.pairs_count; i++) {
        struct pair *pair = &play.pairs[i];
        pair->asker = rt_go(ask, pair);
        WITNESS(pair->asker != NULL);
        if (draw(&play.dice, 2) == 0) {
            pair->answerer = rt_go(answer_as_task, pair);
            WITNESS(pair->answerer != NULL);
        } else {
            pair->actor = rt_spawn(answer_as_actor, pair);
            WITNESS(pair->actor != ACTOR_ID_INVALID);
        }
    }
    for (uint64_t points = draw(&play.dice, 60); points > 0; points--) {
        rti_virtual_compute();
        if (draw(&play.dice, 8) == 0) {
            rt_yield();
        }
    }
    for (uint32_t i = 0; i < play.pairs_count; i++) {
        struct pair *pair = &play.pairs[i];
        bool is_asker_first = draw(&play.dice, 2) == 0;
        if (draw(&play.dice, 3) == 0) {
            disturb(pair);
        }
        if (is_asker_first) {
            CHECK_OK(rt_task_ask_cancel(pair->asker));
        }
        end_answerer(pair);
        if (!is_asker_first) {
            CHECK_OK(rt_task_ask_cancel(pair->asker));
        }
    }
    for (uint32_t i = 0; i < play.pairs_count; i++) {
        struct pair *pair = &play.pairs[i];
        (void)rt_join(pair->asker, NULL);
        if (pair->answerer != NULL) {
            (void)rt_join(pair->answerer, NULL);
        }
    }
    return arg;
}

static void pair_open(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 1};
        bool is_rendezvous = draw(&play.dice, 3) != 0;
        CHECK_OK(is_rendezvous ? rt_channel_create_rendezvous(&config, &pair->tx[i], &pair->rx[i])
                               : rt_channel_create(&config, &pair->tx[i], &pair->rx[i]));
    }
    pair->rounds =
        (uint32_t)draw(&play.dice, 2) == 0 ? UINT32_MAX : 1 + (uint32_t)draw(&play.dice, 9);
}

static void pair_check(struct pair *pair)
{
    uint64_t sent = 0;
    for (int i = 0; i < 2; i++) {
        rt_channel_info info;
        CHECK_OK(rt_channel_receiver_info(pair->rx[i], &info));
        WITNESS(info.waiting_senders == 0 && info.waiting_receivers == 0 && info.reserved == 0);
        WITNESS(info.sent == info.received + info.queued + info.destroyed);
        sent = i == 0 ? info.sent : sent;
        WITNESS(i == 0 || info.received <= sent);
        CHECK_OK(rt_channel_close_sender(pair->tx[i]));
        CHECK_OK(rt_channel_close_receiver(pair->rx[i]));
    }
    uint32_t asked = rti_u32_load_relaxed(&pair->asked);
    /* A killed or cancelled one may have been served and not have come to count it. */
    WITNESS(asked == sent);
    WITNESS(rti_u32_load_relaxed(&pair->answered) <= asked);
}

static void pairs_play(uint64_t seed)
{
    memset(&play, 0, sizeof(play));
    play.dice = (struct dice){seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    play.workers = 1 + (uint32_t)draw(&play.dice, 4);
    play.pairs_count = 1 + (uint32_t)draw(&play.dice, PAIRS_MAX);
    rt_config config = {.workers = play.workers};
    CHECK_OK(rt_init_ex(&config));
    for (uint32_t i = 0; i < play.pairs_count; i++) {
        pair_open(&play.pairs[i]);
    }
    rt_task *root = rt_go(root_main, NULL);
    WITNESS(root != NULL);
    rt_run();
    CHECK_OK(rt_join(root, NULL));
    for (uint32_t i = 0; i < play.pairs_count; i++) {
        pair_check(&play.pairs[i]);
    }
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
}

TEST_SEEDED(pair_sim_of_talkers_that_are_cancelled_and_killed_loses_nobody)
{
    worlds_play(pairs_play);
}
