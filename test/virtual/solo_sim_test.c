/* SPDX-License-Identifier: Apache-2.0 */
/* Two behaviours that send to each other for ever keep one worker busy, which so works alone
 * (sched/solo.h). Actors with a stack come between: woken by timers, on other workers, or on a
 * thread that an interrupt took the station from while they computed. What they send arrives
 * complete and in order, and when they kill the two both end.
 *
 * Seeds: 20 */
#define _GNU_SOURCE
#define RTI_MODULE "solo_sim_test"
#include <orrery/rt.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "runtime/runtime.h"
#include "sched/crew.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define OUTSIDERS 2
#define EACH      6 /* letters of each of them */

enum { ASK_TOKEN, ASK_LETTER };

struct letter {
    uint32_t from;
    uint32_t number;
};

static struct {
    uint64_t seed;
    actor_id pair[2];
    rti_atomic_u32 heard[2][OUTSIDERS];
    uint64_t solo_turns;        /* of the two, which take them one after the other */
    rti_atomic_u32 sent;        /* letters */
    rti_atomic_u32 sent_astray; /* those by who had no station */
} play;

/* Of all worlds together. */
static uint64_t solo_turns;
static uint64_t sent_astray;

static size_t index_here(void)
{
    return rt_self() == play.pair[0] ? 0 : 1;
}

static void take_token(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    play.solo_turns += rti_u32_load_relaxed(&rti_worker_current()->is_solo);
    rti_virtual_sleep(100000);
    /* The other one may have been killed. */
    (void)rt_behaviour_send(play.pair[1 - index_here()], ASK_TOKEN, NULL, 0);
}

static void take_letter(void *state, const rt_behaviour_message *msg)
{
    const struct letter *letter = msg->data;
    rti_atomic_u32 *heard = &play.heard[index_here()][letter->from];
    (void)state;
    WITNESS(letter->number == rti_u32_load_relaxed(heard));
    rti_u32_store_relaxed(heard, letter->number + 1);
}

static const rt_behaviour_fn pair_handlers[] = {take_token, take_letter};
static const rt_behaviour_type pair_type = {.handlers = pair_handlers, .handler_count = 2};

/* Computes until an interrupt has taken the station, in every other round. */
static void compute(uint32_t round)
{
    if ((play.seed + round) % 2 == 0) {
        for (int i = 0; i < 3; i++) {
            rti_virtual_sleep(11 * RT_NS_PER_MS);
            rti_virtual_compute();
        }
    }
}

static bool is_all_heard(void)
{
    for (size_t i = 0; i < OUTSIDERS; i++) {
        if (rti_u32_load_relaxed(&play.heard[0][i]) < EACH ||
            rti_u32_load_relaxed(&play.heard[1][i]) < EACH) {
            return false;
        }
    }
    return true;
}

static void outsider(void *arg)
{
    struct letter letter = {.from = (uint32_t)(uintptr_t)arg};
    for (letter.number = 0; letter.number < EACH; letter.number++) {
        CHECK_OK(rt_sleep((2 + (play.seed + letter.number) % 3) * RT_NS_PER_MS));
        compute(letter.number);
        for (size_t i = 0; i < 2; i++) {
            bool is_astray = rti_worker_current()->station == NULL;
            (void)rti_u32_add_relaxed(&play.sent_astray, is_astray);
            CHECK_OK(rt_behaviour_send(play.pair[i], ASK_LETTER, &letter, sizeof(letter)));
        }
    }
    if (rti_u32_add_acqrel(&play.sent, 1) + 1 == OUTSIDERS) {
        while (!is_all_heard()) {
            CHECK_OK(rt_sleep(RT_NS_PER_MS));
        }
        compute(0);
        CHECK_OK(rt_actor_kill(play.pair[0]));
        CHECK_OK(rt_actor_kill(play.pair[1]));
    }
    rt_exit();
}

static void program(uint64_t seed)
{
    rt_config config = {.workers = 1 + (uint32_t)(seed % 3)};
    memset(&play, 0, sizeof(play));
    play.seed = seed;
    CHECK_OK(rt_init_ex(&config));
    for (size_t i = 0; i < 2; i++) {
        play.pair[i] = rt_behaviour_spawn(&pair_type, NULL);
    }
    CHECK_OK(rt_behaviour_send(play.pair[0], ASK_TOKEN, NULL, 0));
    for (uintptr_t i = 0; i < OUTSIDERS; i++) {
        WITNESS(rt_spawn(outsider, (void *)i) != ACTOR_ID_INVALID);
    }
    rt_run();
    WITNESS(is_all_heard() && rti_sched_live(&rti_runtime.sched) == 0);
    solo_turns += play.solo_turns;
    sent_astray += rti_u32_load_relaxed(&play.sent_astray);
}

TEST_SEEDED(solo_sim_letters_from_outside_come_complete_and_in_order)
{
    worlds_play(program);
    /* One world alone, which a failure names, may have none. */
    CHECK(getenv("ORRERY_SEED") != NULL || (solo_turns > 0 && sent_astray > 0));
}
