/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of both kinds flood a taker that mutes them, through a relay that hands on what it gets
 * and is muted too. Nobody is killed: each comes to its end by itself, which it does only if all
 * that were muted go on, and what one source sends arrives in order and complete.
 *
 * Seeds: 20 */
#define _GNU_SOURCE
#define RTI_MODULE "mute_sim_test"
#include <orrery/rt.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "runtime/runtime.h"
#include "sched/crew.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define SOURCES 4  /* behaviours; every other one sends through the relay */
#define FIBERS  2  /* actors with a stack */
#define EACH    24 /* messages of each of them */
#define BATCH   6  /* that a behaviour sends in one turn: above the limit */

enum { ASK_TAKE, ASK_HAND_ON };

struct letter {
    uint32_t from;
    uint32_t number;
};

static struct {
    actor_id taker;
    actor_id relay;
    uint32_t taken;                   /* the taker's */
    uint32_t heard[SOURCES + FIBERS]; /* the taker's: of each, how many */
    uint32_t relayed;                 /* the relay's */
    rti_atomic_u32 mutes;             /* of both, at their ends */
    uint32_t through_relay;           /* that come there */
} play;

/* One that takes counts how often it had others wait, at its end. */
static void count_mutes(void)
{
    rt_mailbox_stats stats;
    CHECK_OK(rt_mailbox_stats_get(rt_self(), &stats));
    WITNESS(stats.rejected == 0 && stats.dropped == 0 && stats.depth == 0);
    rti_u32_add_relaxed(&play.mutes, (uint32_t)stats.mutes);
}

static void take(void *state, const rt_behaviour_message *msg)
{
    const struct letter *letter = msg->data;
    (void)state;
    WITNESS(msg->len == sizeof(*letter) && letter->from < SOURCES + FIBERS);
    WITNESS(letter->number == play.heard[letter->from]);
    play.heard[letter->from]++;
    play.taken++;
    rti_virtual_compute();
    if (play.taken == (SOURCES + FIBERS) * EACH) {
        count_mutes();
        CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
    }
}

static void hand_on(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    CHECK_OK(rt_behaviour_forward(play.taker, ASK_TAKE));
    play.relayed++;
    if (play.relayed == play.through_relay) {
        count_mutes();
        CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
    }
}

struct source {
    uint32_t from;
    uint32_t number;
};

static void send_next(struct source *self, bool is_relayed)
{
    struct letter letter = {.from = self->from, .number = self->number};
    if (is_relayed) {
        CHECK_OK(rt_behaviour_send(play.relay, ASK_HAND_ON, &letter, sizeof(letter)));
    } else {
        CHECK_OK(rt_behaviour_send(play.taker, ASK_TAKE, &letter, sizeof(letter)));
    }
    self->number++;
}

static void flood(void *state, const rt_behaviour_message *msg)
{
    struct source *self = state;
    (void)msg;
    for (uint32_t i = 0; i < BATCH && self->number < EACH; i++) {
        send_next(self, self->from % 2 == 0);
    }
    if (self->number < EACH) {
        CHECK_OK(rt_behaviour_send(rt_self(), 0, NULL, 0));
    } else {
        CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
    }
}

static void source_start(void *state, void *arg)
{
    struct source *self = state;
    self->from = (uint32_t)(uintptr_t)arg;
}

static void fiber_main(void *arg)
{
    struct source self = {.from = (uint32_t)(uintptr_t)arg};
    while (self.number < EACH) {
        send_next(&self, self.from % 2 == 0);
        if (self.number % 5 == 0) {
            rt_yield();
        }
    }
    rt_exit();
}

static const rt_behaviour_fn taker_handlers[] = {take};
static const rt_behaviour_fn relay_handlers[] = {NULL, hand_on};
static const rt_behaviour_fn source_handlers[] = {flood};
static const rt_behaviour_type taker_type = {
    .handlers = taker_handlers,
    .handler_count = 1,
    .mailbox = {.high = 3, .low = 1, .overflow = RT_OVERFLOW_MUTE}};
static const rt_behaviour_type relay_type = {
    .handlers = relay_handlers,
    .handler_count = 2,
    .mailbox = {.high = 2, .low = 1, .overflow = RT_OVERFLOW_MUTE}};
static const rt_behaviour_type source_type = {.handlers = source_handlers,
                                              .handler_count = 1,
                                              .start = source_start,
                                              .state_size = sizeof(struct source)};

static void program(uint64_t seed)
{
    rt_config config = {.workers = 2 + (uint32_t)(seed % 3)};
    memset(&play, 0, sizeof(play));
    play.through_relay = (SOURCES + FIBERS) / 2 * EACH;
    CHECK_OK(rt_init_ex(&config));
    play.taker = rt_behaviour_spawn(&taker_type, NULL);
    play.relay = rt_behaviour_spawn(&relay_type, NULL);
    for (uintptr_t i = 0; i < SOURCES; i++) {
        actor_id source = rt_behaviour_spawn(&source_type, (void *)i);
        CHECK_OK(rt_behaviour_send(source, 0, NULL, 0));
    }
    for (uintptr_t i = 0; i < FIBERS; i++) {
        WITNESS(rt_spawn(fiber_main, (void *)(SOURCES + i)) != ACTOR_ID_INVALID);
    }
    rt_run();
    WITNESS(play.taken == (SOURCES + FIBERS) * EACH && play.relayed == play.through_relay);
    WITNESS(rti_u32_load_relaxed(&play.mutes) > 0);
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
}

TEST_SEEDED(mute_sim_all_come_to_their_end)
{
    worlds_play(program);
}

/* A taker with a stack whose limit others change all the time: each message comes, and each source
 * to its end, though it was muted by a limit that is another's now, or none. */
#define LIMITS 40 /* changes */

static const rt_mailbox_config limits[] = {
    {.high = 2, .low = 1, .overflow = RT_OVERFLOW_MUTE},
    {.high = 0},
    {.high = 6, .low = 4, .overflow = RT_OVERFLOW_MUTE},
    {.high = 1, .overflow = RT_OVERFLOW_MUTE, .is_system = true},
    {.high = 1000, .overflow = RT_OVERFLOW_REJECT},
};

static void limited_main(void *arg)
{
    rt_message msg;
    (void)arg;
    for (uint32_t i = 0; i < (SOURCES + FIBERS) * EACH; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        const struct letter *letter = msg.data;
        WITNESS(msg.len == sizeof(*letter) && letter->number == play.heard[letter->from]);
        play.heard[letter->from]++;
        if (i % 7 == 0) {
            CHECK_OK(rt_sleep(1000));
        }
    }
    play.taken = (SOURCES + FIBERS) * EACH;
    rt_exit();
}

static void changer_main(void *arg)
{
    uint32_t at = (uint32_t)(uintptr_t)arg;
    rt_mailbox_stats stats;
    for (uint32_t i = 0; i < LIMITS; i++) {
        at = at * 5 + 3;
        const rt_mailbox_config *limit = &limits[at / 8 % (sizeof(limits) / sizeof(limits[0]))];
        if (RT_FAILED(rt_mailbox_limit(play.taker, at / 64 % 4 == 0 ? NULL : limit))) {
            break; /* it has ended */
        }
        if (!RT_FAILED(rt_mailbox_stats_get(play.taker, &stats))) {
            rti_u32_store_relaxed(&play.mutes, (uint32_t)stats.mutes);
        }
        CHECK_OK(rt_sleep(at / 16 % 3000));
    }
    rt_exit();
}

static void program_of_limits(uint64_t seed)
{
    rt_config config = {.workers = 2 + (uint32_t)(seed % 3)};
    memset(&play, 0, sizeof(play));
    CHECK_OK(rt_init_ex(&config));
    play.taker = rt_spawn(limited_main, NULL);
    play.relay = play.taker; /* all send to the taker */
    CHECK_OK(rt_mailbox_limit(play.taker, &limits[0]));
    for (uintptr_t i = 0; i < SOURCES; i++) {
        actor_id source = rt_behaviour_spawn(&source_type, (void *)i);
        CHECK_OK(rt_behaviour_send(source, 0, NULL, 0));
    }
    for (uintptr_t i = 0; i < FIBERS; i++) {
        WITNESS(rt_spawn(fiber_main, (void *)(SOURCES + i)) != ACTOR_ID_INVALID);
    }
    for (uintptr_t i = 0; i < 2; i++) {
        WITNESS(rt_spawn(changer_main, (void *)(uintptr_t)(seed * 2 + i)) != ACTOR_ID_INVALID);
    }
    rt_run();
    WITNESS(play.taken == (SOURCES + FIBERS) * EACH);
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
}

TEST_SEEDED(mute_sim_all_go_on_when_limits_change)
{
    worlds_play(program_of_limits);
}

/* One is muted by what it sends in its `end`, and another has its turn right behind it: what it
 * sends to the same taker mutes it as well. */
enum { ASK_NOTHING, ASK_FILL, ASK_FLOOD };

static struct {
    actor_id taker;
    actor_id next;
    uint32_t alone; /* sends of the second one that found it alone */
    uint64_t mutes; /* of the taker, when it has taken all */
    uint32_t taken;
} pair;

static uint32_t alone; /* of all worlds together */

#define PAIR_HIGH 2

static void pair_take(void *state, const rt_behaviour_message *msg)
{
    rt_mailbox_stats stats;
    (void)state;
    if (msg->id == ASK_NOTHING) {
        return;
    }
    pair.taken++;
    if (pair.taken == PAIR_HIGH + 2) {
        CHECK_OK(rt_mailbox_stats_get(rt_self(), &stats));
        pair.mutes = stats.mutes;
        CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
    }
}

static void pair_nothing(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
}

static void pair_fill(void *state, const rt_behaviour_message *msg)
{
    uint64_t word = 0;
    (void)state;
    (void)msg;
    for (uint32_t i = 0; i < PAIR_HIGH; i++) {
        CHECK_OK(rt_behaviour_send(pair.taker, ASK_FILL, &word, sizeof(word)));
    }
    CHECK_OK(rt_behaviour_send(pair.next, ASK_FLOOD, &word, sizeof(word)));
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static void pair_end(void *state, rt_exit_reason reason)
{
    uint64_t word = 0;
    (void)state;
    (void)reason;
    CHECK_OK(rt_behaviour_send(pair.taker, ASK_FILL, &word, sizeof(word)));
}

static void pair_flood(void *state, const rt_behaviour_message *msg)
{
    uint64_t word = 0;
    (void)state;
    (void)msg;
    pair.alone += rti_u32_load_relaxed(&rti_worker_current()->is_solo);
    CHECK_OK(rt_behaviour_send(pair.taker, ASK_FILL, &word, sizeof(word)));
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static const rt_behaviour_fn pair_taker_handlers[] = {pair_take, pair_take};
static const rt_behaviour_fn pair_handlers[] = {pair_nothing, pair_fill, pair_flood};
static const rt_behaviour_type pair_taker = {
    .handlers = pair_taker_handlers,
    .handler_count = 2,
    .mailbox = {.high = PAIR_HIGH, .low = 1, .overflow = RT_OVERFLOW_MUTE}};
static const rt_behaviour_type pair_first = {
    .handlers = pair_handlers, .handler_count = 3, .end = pair_end};
static const rt_behaviour_type pair_second = {.handlers = pair_handlers, .handler_count = 3};

/* All have begun before the first one is asked: none is new to its station. */
static void pair_main(void *arg)
{
    actor_id first = (actor_id)(uintptr_t)arg;
    uint64_t word = 0;
    CHECK_OK(rt_sleep(1000));
    CHECK_OK(rt_behaviour_send(first, ASK_FILL, &word, sizeof(word)));
    rt_exit();
}

static void program_of_a_pair(uint64_t seed)
{
    rt_config config = {.workers = 1};
    (void)seed;
    memset(&pair, 0, sizeof(pair));
    CHECK_OK(rt_init_ex(&config));
    pair.taker = rt_behaviour_spawn(&pair_taker, NULL);
    pair.next = rt_behaviour_spawn(&pair_second, NULL);
    actor_id first = rt_behaviour_spawn(&pair_first, NULL);
    WITNESS(rt_spawn(pair_main, (void *)(uintptr_t)first) != ACTOR_ID_INVALID);
    rt_run();
    WITNESS(pair.taken == PAIR_HIGH + 2 && pair.mutes == 2);
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
    alone += pair.alone;
}

TEST_SEEDED(mute_sim_who_comes_behind_a_muted_end_is_muted_too)
{
    worlds_play(program_of_a_pair);
    CHECK(getenv("ORRERY_SEED") != NULL || alone > 0);
}
