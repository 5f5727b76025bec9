/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours on virtual workers: lives that follow each other in a few places, with and without a
 * limit, flood each other, hand messages on, end and are killed, muted ones too, while actors with
 * a stack flood them. Each life begins and ends once and runs on one worker at a time, what one
 * life sends another comes in order, and nothing is left.
 *
 * Seeds: 20 */
#define _GNU_SOURCE
#define RTI_MODULE "behaviour_sim_test"
#include <orrery/rt.h>

#include "base/atomic.h"
#include "runtime/runtime.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define PLACES    4 /* few, so that a life soon follows another */
#define LIVES_MAX 48
#define MESSAGES  256
#define FLOOD     6 /* messages of a flood, above every limit */
#define FLOODERS  2

enum { ASK_COUNT, ASK_FLOOD, ASK_HAND_ON, ASK_END, ASK_KINDS };

struct ask {
    uint32_t from;   /* the sender's number; LIVES_MAX: no behaviour */
    uint32_t serial; /* the sender's own */
};

struct life {
    uint64_t dice;
    uint32_t number;
    uint32_t serial; /* of what it sent last */
    bool is_inside;  /* plain: who runs on two workers is seen */
};

static struct {
    rti_atomic_u32 ids[PLACES]; /* who lives there, or did */
    rti_atomic_u32 begun;
    rti_atomic_u32 started;
    rti_atomic_u32 ended;
    rti_atomic_u32 muted;                 /* seen by who looked */
    uint32_t heard[LIVES_MAX][LIVES_MAX]; /* by the receiver: the last serial of each sender */
} play;

static uint64_t draw(uint64_t *dice, uint64_t n)
{
    *dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*dice >> 33) % n;
}

static actor_id anybody(uint64_t *dice)
{
    return rti_u32_load_relaxed(&play.ids[draw(dice, PLACES)]);
}

static void say(struct life *self, actor_id to, uint32_t what)
{
    struct ask ask = {.from = self->number, .serial = ++self->serial};
    rt_status status = rt_behaviour_send(to, what, &ask, sizeof(ask));
    WITNESS(status.code == RT_OK || status.code == RT_ERR_INVALID || status.code == RT_ERR_FULL ||
            status.code == RT_ERR_NOMEM);
}

/* The beginning of each handler. */
static void enter(struct life *self, const rt_behaviour_message *msg, bool is_direct)
{
    const struct ask *ask = msg->data;
    WITNESS(!self->is_inside && msg->len == sizeof(*ask));
    self->is_inside = true;
    if (is_direct && ask->from < LIVES_MAX) {
        uint32_t *heard = &play.heard[self->number][ask->from];
        WITNESS(ask->serial > *heard);
        *heard = ask->serial;
    }
    rti_virtual_compute();
}

static void leave(struct life *self)
{
    WITNESS(self->is_inside);
    self->is_inside = false;
}

static void life_count(void *state, const rt_behaviour_message *msg)
{
    enter(state, msg, true);
    leave(state);
}

static void life_flood(void *state, const rt_behaviour_message *msg)
{
    struct life *self = state;
    enter(self, msg, true);
    actor_id to = anybody(&self->dice);
    for (uint32_t i = 0; i < FLOOD; i++) {
        say(self, to, ASK_COUNT);
    }
    if (draw(&self->dice, 2) == 0) {
        say(self, anybody(&self->dice), ASK_HAND_ON);
    }
    leave(self);
}

static void life_counts_what_was_handed_on(void *state, const rt_behaviour_message *msg)
{
    enter(state, msg, false);
    leave(state);
}

static void life_hand_on(void *state, const rt_behaviour_message *msg)
{
    struct life *self = state;
    enter(self, msg, true);
    (void)rt_behaviour_forward(anybody(&self->dice), ASK_KINDS);
    leave(self);
}

static void life_end_itself(void *state, const rt_behaviour_message *msg)
{
    struct life *self = state;
    enter(self, msg, true);
    say(self, anybody(&self->dice), ASK_COUNT);
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
    leave(self);
}

static const rt_behaviour_fn handlers[] = {
    [ASK_COUNT] = life_count,
    [ASK_FLOOD] = life_flood,
    [ASK_HAND_ON] = life_hand_on,
    [ASK_END] = life_end_itself,
    [ASK_KINDS] = life_counts_what_was_handed_on,
};

static void life_start(void *state, void *arg)
{
    struct life *self = state;
    self->number = (uint32_t)(uintptr_t)arg;
    self->dice = self->number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    rti_u32_add_relaxed(&play.started, 1);
}

static void life_ended(void *state, rt_exit_reason reason)
{
    struct life *self = state;
    (void)reason;
    WITNESS(!self->is_inside);
    say(self, anybody(&self->dice), ASK_COUNT);
    rti_u32_add_relaxed(&play.ended, 1);
}

#define LIFE(limit)                                                                                \
    {                                                                                              \
        .handlers = handlers, .handler_count = ASK_KINDS + 1, .start = life_start,                 \
        .end = life_ended, .state_size = sizeof(struct life), .mailbox = limit                     \
    }
#define LIMIT(policy)                                                                              \
    {                                                                                              \
        .high = 2, .low = 1, .overflow = policy                                                    \
    }

/* Lives with a limit alternate with lives without one. */
static const rt_behaviour_type types[] = {
    LIFE({0}),
    LIFE(LIMIT(RT_OVERFLOW_MUTE)),
    LIFE({0}),
    LIFE(LIMIT(RT_OVERFLOW_REJECT)),
    LIFE({0}),
    LIFE(LIMIT(RT_OVERFLOW_DROP_OLD)),
    LIFE(LIMIT(RT_OVERFLOW_MUTE)),
    LIFE(LIMIT(RT_OVERFLOW_KILL)),
};

/* Begins a life where there is room for one. */
static void begin(uint32_t place)
{
    uint32_t number = rti_u32_load_relaxed(&play.begun);
    actor_id id = rt_behaviour_spawn(&types[number % (sizeof(types) / sizeof(types[0]))],
                                     (void *)(uintptr_t)number);
    if (id != ACTOR_ID_INVALID) {
        rti_u32_store_relaxed(&play.begun, number + 1);
        rti_u32_store_relaxed(&play.ids[place], id);
    }
}

/* Kills and begins, one after the other, and looks at who is muted. */
static void *keeper_main(void *arg)
{
    uint64_t dice = (uintptr_t)arg;
    while (rti_u32_load_relaxed(&play.begun) < LIVES_MAX) {
        uint32_t place = (uint32_t)draw(&dice, PLACES);
        actor_id id = rti_u32_load_relaxed(&play.ids[place]);
        rt_mailbox_stats stats;
        bool is_alive = rt_mailbox_stats_get(id, &stats).code == RT_OK;
        if (is_alive && (stats.is_muted || draw(&dice, 2) == 0)) {
            rti_u32_add_relaxed(&play.muted, stats.is_muted);
            (void)rt_actor_kill(id);
            is_alive = false;
        }
        if (!is_alive) {
            begin(place);
        }
        struct ask ask = {.from = LIVES_MAX};
        (void)rt_behaviour_send(anybody(&dice), draw(&dice, 8) == 0 ? ASK_END : ASK_FLOOD, &ask,
                                sizeof(ask));
        if (draw(&dice, 4) == 0) {
            CHECK_OK(rt_sleep(draw(&dice, 1000)));
        } else {
            rt_yield();
        }
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        (void)rt_actor_kill(rti_u32_load_relaxed(&play.ids[i]));
    }
    return NULL;
}

/* An actor with a stack: it waits where it is muted. */
static void flooder_main(void *arg)
{
    uint64_t dice = (uintptr_t)arg;
    while (rti_u32_load_relaxed(&play.begun) < LIVES_MAX) {
        struct ask ask = {.from = LIVES_MAX};
        (void)rt_behaviour_send(anybody(&dice), ASK_COUNT, &ask, sizeof(ask));
        if (draw(&dice, 3) == 0) {
            rt_yield();
        }
    }
    rt_exit();
}

static void program(uint64_t seed)
{
    rt_config config = {.workers = 2 + (uint32_t)(seed % 3)};
    memset(&play, 0, sizeof(play));
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(
        rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = PLACES, .messages = MESSAGES}));
    for (uint32_t i = 0; i < PLACES; i++) {
        begin(i);
    }
    rt_task *keeper = rt_go(keeper_main, (void *)(uintptr_t)(seed + 1));
    WITNESS(keeper != NULL);
    for (uintptr_t i = 0; i < FLOODERS; i++) {
        WITNESS(rt_spawn(flooder_main, (void *)(seed + i + 7)) != ACTOR_ID_INVALID);
    }
    rt_run();
    CHECK_OK(rt_join(keeper, NULL));
    WITNESS(rti_u32_load_relaxed(&play.started) <= LIVES_MAX);
    WITNESS(rti_u32_load_relaxed(&play.started) == rti_u32_load_relaxed(&play.ended));
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
}

TEST_SEEDED(behaviour_sim_lives_follow_each_other_under_pressure)
{
    worlds_play(program);
}
