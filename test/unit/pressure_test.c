/* SPDX-License-Identifier: Apache-2.0 */
/* Muting: who is stopped, when it goes on, in which order, and that nobody waits in a ring. */
#define RTI_MODULE "pressure_test"
#include "actor/pressure.h"

#include <orrery/rt.h>

#include "actor/behaviour.h"
#include "support/test.h"
#include "support/world.h"

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
static actor_id sink_id;
static char said[64];
static size_t said_count;

static void say(char c)
{
    CHECK(said_count + 1 < sizeof(said));
    said[said_count++] = c;
    said[said_count] = '\0';
}

static void settle(int32_t ms)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, ms), RT_ERR_TIMEOUT);
}

/* A receiver with a stack that takes one message whenever it is told to. */
static unsigned permits;
static unsigned taken;

static void sink(void *arg)
{
    rt_mailbox_config config = {.high = 4, .low = 2, .overflow = RT_OVERFLOW_MUTE};
    rt_message msg;
    (void)arg;
    CHECK_OK(rt_mailbox_limit(rt_self(), &config));
    for (;;) {
        while (permits == 0) {
            rt_yield();
        }
        permits--;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        taken++;
    }
}

static void sender(void *arg)
{
    char letter = *(char *)arg;
    for (unsigned i = 0; i < 2; i++) {
        CHECK_OK(rt_ipc_send(sink_id, &letter, 1, IPC_ASYNC));
        say(letter);
    }
    rt_exit();
}

static char letters[5] = "abcde";

static void run_yields(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        rt_yield();
    }
}

static void mutes(void *arg)
{
    rt_mailbox_stats stats;
    (void)arg;
    said_count = permits = taken = 0;
    sink_id = rt_spawn_ex(sink, NULL, &small);
    rt_yield();
    for (size_t i = 0; i < 5; i++) {
        CHECK(rt_spawn_ex(sender, &letters[i], &small) != ACTOR_ID_INVALID);
    }
    run_yields(5);
    /* a and b send two each; c, d and e each send one and are muted in that send. */
    CHECK_STR(said, "aabb");
    CHECK_OK(rt_mailbox_stats_get(sink_id, &stats));
    CHECK_EQ(stats.depth, 7);
    CHECK_EQ(stats.mutes, 3);
    permits = 4;
    run_yields(10);
    CHECK_STR(said, "aabb"); /* three wait: not low enough */
    permits = 1;
    run_yields(10);
    /* All go on, in the order of their muting; the next of each is accepted, the last two are
     * muted again. */
    CHECK_EQ(said[4], 'c');
    CHECK_EQ(said[5], 'c');
    CHECK_EQ(said[6], 'd');
    permits = 100;
    settle(5);
    CHECK_EQ(said_count, 10);
    CHECK_EQ(taken, 10);
    CHECK_OK(rt_actor_kill(sink_id));
    rt_exit();
}

TEST(pressure_mutes_who_floods_and_lets_go_in_order)
{
    world_needs_simulator("the order of the turns");
    world_run(mutes, NULL);
}

/* The muted go on when the receiver dies, and a muted one can be killed. */
static void dies_at_second(void *arg)
{
    char letter = *(char *)arg;
    CHECK_OK(rt_ipc_send(sink_id, &letter, 1, IPC_ASYNC));
    say(letter);
    if (rt_actor_alive(sink_id)) {
        CHECK_OK(rt_ipc_send(sink_id, &letter, 1, IPC_ASYNC));
        say(letter);
    }
    rt_exit();
}

static void sink_dies(void *arg)
{
    (void)arg;
    said_count = permits = taken = 0;
    sink_id = rt_spawn_ex(sink, NULL, &small);
    rt_yield();
    actor_id ids[5];
    for (size_t i = 0; i < 5; i++) {
        ids[i] = rt_spawn_ex(dies_at_second, &letters[i], &small);
    }
    run_yields(5);
    CHECK_OK(rt_actor_kill(ids[3]));
    run_yields(3);
    CHECK_STR(said, "aabb");
    CHECK_OK(rt_actor_kill(sink_id));
    settle(1);
    CHECK_STR(said, "aabbce");
    rt_exit();
}

TEST(pressure_releases_the_muted_when_the_receiver_dies_and_forgets_the_killed)
{
    world_needs_simulator("the order of the turns");
    world_run(sink_dies, NULL);
}

/* The limit changes, or goes, while senders are muted by the old one: nobody waits for a mark that
 * is none any more, or that the mailbox may never come to. */
static void limit_changes(void *arg)
{
    static const rt_mailbox_config changed[] = {
        {.high = 0},
        {.high = 100, .low = 50, .overflow = RT_OVERFLOW_MUTE},
        {.high = 2, .overflow = RT_OVERFLOW_DROP_NEW},
    };
    static const rt_mailbox_config tighter = {.high = 3, .low = 1, .overflow = RT_OVERFLOW_MUTE};
    (void)arg;
    for (size_t i = 0; i <= 3; i++) {
        said_count = permits = taken = 0;
        sink_id = rt_spawn_ex(sink, NULL, &small);
        rt_yield();
        for (size_t j = 0; j < 5; j++) {
            CHECK(rt_spawn_ex(sender, &letters[j], &small) != ACTOR_ID_INVALID);
        }
        run_yields(8);
        CHECK_OK(rt_mailbox_limit(sink_id, &tighter));
        run_yields(8);
        CHECK_STR(said, "aabb");
        CHECK_OK(rt_mailbox_limit(sink_id, i < 3 ? &changed[i] : NULL));
        run_yields(8);
        CHECK_STR(said, "aabbccddee");
        CHECK_OK(rt_actor_kill(sink_id));
        run_yields(2);
    }
    rt_exit();
}

TEST(pressure_lets_go_of_the_muted_when_the_limit_changes)
{
    world_needs_simulator("the order of the turns");
    world_run(limit_changes, NULL);
}

/* Behaviours: a source sends to a drain with a limit until it is muted. */
static actor_id source_id;
static actor_id drain_id;
static unsigned drained;
static unsigned sourced;

static void source_go(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    sourced++;
    CHECK_OK(rt_behaviour_send(drain_id, 0, NULL, 0));
    CHECK_OK(rt_behaviour_send(rt_self(), 0, NULL, 0));
}

static void drain_take(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    drained++;
    rt_reductions_add(RT_REDUCTIONS); /* one message a turn */
}

static const rt_behaviour_fn source_handlers[] = {source_go};
static const rt_behaviour_fn drain_handlers[] = {drain_take};
static const rt_behaviour_type source = {
    .handlers = source_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
static const rt_behaviour_type drain = {
    .handlers = drain_handlers,
    .handler_count = 1,
    .priority = RT_PRIO_NORMAL,
    .mailbox = {.high = 10, .low = 3, .overflow = RT_OVERFLOW_MUTE}};

static void behaviours(void *arg)
{
    rt_mailbox_stats stats;
    (void)arg;
    drained = sourced = 0;
    drain_id = rt_behaviour_spawn(&drain, NULL);
    source_id = rt_behaviour_spawn(&source, NULL);
    CHECK_OK(rt_behaviour_send(source_id, 0, NULL, 0));
    for (unsigned i = 0; i < 500; i++) {
        rt_yield();
        CHECK_OK(rt_mailbox_stats_get(drain_id, &stats));
        CHECK(stats.depth <= 11); /* the limit, and the message that mutes */
        rti_behaviours_audit(rti_behaviours_of(rti_worker_current()));
    }
    CHECK(stats.mutes > 10);
    CHECK(drained > 300);
    CHECK(sourced - drained <= 11);
    /* Killed while it is muted. */
    for (bool is_muted = false; !is_muted;) {
        rt_yield();
        CHECK_OK(rt_mailbox_stats_get(source_id, &stats));
        is_muted = stats.is_muted;
    }
    CHECK_OK(rt_actor_kill(source_id));
    settle(1);
    CHECK_OK(rt_actor_kill(drain_id));
    settle(1);
    rt_behaviour_stats all;
    CHECK_OK(rt_behaviour_stats_get(&all));
    CHECK_EQ(all.live, 0);
    CHECK_EQ(all.messages, 0);
    rt_exit();
}

TEST(pressure_bounds_the_mailbox_of_a_behaviour)
{
    world_run(behaviours, NULL);
}

/* A behaviour ends while senders of both kinds are muted on it: they go on, in order. One ends in
 * the turn in which it was muted. */
static unsigned muted_ends;

static void sends_once(void *state, const rt_behaviour_message *msg)
{
    CHECK_OK(rt_behaviour_send(drain_id, 0, NULL, 0));
    if (msg->id == 1) {
        CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
    } else if (msg->id == 0) {
        CHECK_OK(rt_behaviour_send(rt_self(), 2, NULL, 0)); /* says when it goes on */
    }
    (void)state;
}

static void says_letter(void *state, const rt_behaviour_message *msg)
{
    (void)msg;
    say(*(char *)state);
}

static void counts_end(void *state, rt_exit_reason reason)
{
    (void)state;
    (void)reason;
    muted_ends++;
}

static const rt_behaviour_fn once_handlers[] = {sends_once, sends_once, says_letter};
static const rt_behaviour_type once = {
    .handlers = once_handlers, .handler_count = 3, .end = counts_end, .priority = RT_PRIO_NORMAL};

static void sends_to_drain(void *arg)
{
    CHECK_OK(rt_behaviour_send(drain_id, 0, NULL, 0));
    say(*(char *)arg);
    rt_exit();
}

static void drain_ends(void *arg)
{
    rt_mailbox_stats stats;
    actor_id senders[5];
    (void)arg;
    said_count = 0;
    muted_ends = 0;
    drain_id = rt_behaviour_spawn(&drain, NULL);
    rt_yield();
    for (unsigned i = 0; i < 10; i++) {
        rt_status status = rt_behaviour_send(drain_id, 0, NULL, 0);
        CHECK_OK(status);
    }
    for (size_t i = 0; i < 5; i++) {
        if (i % 2 == 0) {
            senders[i] = rt_spawn_ex(sends_to_drain, &letters[i], &small);
        } else {
            senders[i] = rt_behaviour_spawn(&once, &letters[i]);
            CHECK_OK(rt_behaviour_send(senders[i], i == 1 ? 0 : 1, NULL, 0));
        }
    }
    for (size_t i = 0; i < 5; i++) {
        CHECK(rt_actor_alive(senders[i]));
    }
    run_yields(1);
    CHECK_OK(rt_mailbox_stats_get(drain_id, &stats));
    CHECK_EQ(stats.mutes, 4); /* the drain has taken one: there was room for the first */
    CHECK_EQ(muted_ends, 1);  /* it was muted, and ended in that turn */
    CHECK_STR(said, "a");
    CHECK_OK(rt_actor_kill(drain_id));
    settle(1);
    CHECK_STR(said, "abce");
    rt_behaviour_stats all;
    CHECK_OK(rt_actor_kill(senders[1]));
    settle(1);
    CHECK_OK(rt_behaviour_stats_get(&all));
    CHECK_EQ(all.live, 0);
    CHECK_EQ(all.messages, 0);
    rt_exit();
}

TEST(pressure_lets_go_of_the_muted_when_a_behaviour_ends)
{
    world_needs_simulator("the order of the turns");
    world_run(drain_ends, NULL);
}

/* A ring: each floods the next. Without the rule all would be muted for ever. */
#define RING 3
static actor_id ring[RING];
static unsigned ring_count[RING];

static void ring_go(void *state, const rt_behaviour_message *msg)
{
    size_t index = (size_t)((char *)state - letters);
    (void)msg;
    ring_count[index]++;
    if (ring_count[index] < 400) {
        CHECK_OK(rt_behaviour_send(ring[(index + 1) % RING], 0, NULL, 0));
    }
}

static const rt_behaviour_fn ring_handlers[] = {ring_go};
static const rt_behaviour_type ring_type = {
    .handlers = ring_handlers,
    .handler_count = 1,
    .priority = RT_PRIO_NORMAL,
    .mailbox = {.high = 2, .low = 1, .overflow = RT_OVERFLOW_MUTE}};

static void circle(void *arg)
{
    rt_mailbox_stats stats;
    uint64_t releases = 0;
    (void)arg;
    for (size_t i = 0; i < RING; i++) {
        ring[i] = rt_behaviour_spawn(&ring_type, &letters[i]);
        ring_count[i] = 0;
    }
    for (size_t i = 0; i < 24; i++) {
        CHECK_OK(rt_behaviour_send(ring[i % RING], 0, NULL, 0));
    }
    settle(100);
    for (size_t i = 0; i < RING; i++) {
        CHECK_OK(rt_mailbox_stats_get(ring[i], &stats));
        CHECK(!stats.is_muted);
        CHECK_EQ(stats.depth, 0);
        CHECK(ring_count[i] >= 400);
        releases += stats.releases;
        CHECK_OK(rt_actor_kill(ring[i]));
    }
    CHECK(releases > 0);
    rt_exit();
}

TEST(pressure_never_closes_a_ring_of_muted_actors)
{
    world_run(circle, NULL);
}

/* A receiver that asks one who is muted on it: the muted one goes on, else both wait for ever. */
static actor_id asker_id;

static void answerer(void *arg)
{
    rt_message msg;
    (void)arg;
    for (unsigned i = 0; i < 5; i++) {
        CHECK_OK(rt_ipc_send(asker_id, "x", 1, IPC_ASYNC)); /* the last one mutes */
    }
    say('u');
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_reply(&msg, "r", 1));
    rt_exit();
}

static void asks(void *arg)
{
    rt_mailbox_config config = {.high = 4, .low = 1, .overflow = RT_OVERFLOW_MUTE};
    rt_message reply;
    (void)arg;
    said_count = 0;
    asker_id = rt_self();
    CHECK_OK(rt_mailbox_limit(asker_id, &config));
    actor_id id = rt_spawn_ex(answerer, NULL, &small);
    rt_yield();
    CHECK_EQ(said_count, 0);
    CHECK_OK(rt_call(id, "q", 1, &reply, -1));
    CHECK_STR(said, "u");
    /* It is counted where it was muted. */
    rt_mailbox_stats stats;
    CHECK_OK(rt_mailbox_stats_get(asker_id, &stats));
    CHECK_EQ(stats.mutes, 1);
    CHECK_EQ(stats.releases, 1);
    rt_exit();
}

TEST(pressure_lets_go_of_who_is_waited_for)
{
    world_run(asks, NULL);
}

/* A receiver that waits for a message that is not there mutes nobody. */
static bool wants_y(const rt_message *msg, void *arg)
{
    (void)arg;
    return *(const char *)msg->data == 'y';
}

static void sends_y_last(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 10; i++) {
        CHECK_OK(rt_ipc_send(asker_id, i == 9 ? "y" : "x", 1, IPC_ASYNC));
        say('s');
    }
    rt_exit();
}

static void waits_for_y(void *arg)
{
    rt_mailbox_config config = {.high = 2, .low = 1, .overflow = RT_OVERFLOW_MUTE};
    rt_ipc_filter filter = {.match = wants_y};
    rt_message msg;
    (void)arg;
    said_count = 0;
    asker_id = rt_self();
    CHECK_OK(rt_mailbox_limit(asker_id, &config));
    CHECK(rt_spawn_ex(sends_y_last, NULL, &small) != ACTOR_ID_INVALID);
    CHECK_OK(rt_ipc_recv_match(&filter, &msg, -1));
    CHECK_EQ(*(const char *)msg.data, 'y');
    rt_exit();
}

TEST(pressure_mutes_nobody_for_a_receiver_that_waits)
{
    world_run(waits_for_y, NULL);
}

/* System actors are never muted. */
static const rt_behaviour_type system_source = {.handlers = source_handlers,
                                                .handler_count = 1,
                                                .priority = RT_PRIO_NORMAL,
                                                .mailbox = {.is_system = true}};

static void exempt(void *arg)
{
    rt_mailbox_stats stats;
    (void)arg;
    drained = sourced = 0;
    drain_id = rt_behaviour_spawn(&drain, NULL);
    source_id = rt_behaviour_spawn(&system_source, NULL);
    CHECK_OK(rt_behaviour_send(source_id, 0, NULL, 0));
    rt_yield();
    CHECK_EQ(sourced, RT_BEHAVIOUR_BATCH);
    CHECK_OK(rt_mailbox_stats_get(drain_id, &stats));
    CHECK_EQ(stats.mutes, 0);
    CHECK_OK(rt_actor_kill(source_id));
    CHECK_OK(rt_actor_kill(drain_id));
    rt_exit();
}

TEST(pressure_exempts_system_actors)
{
    world_needs_simulator("the order of the turns");
    world_run(exempt, NULL);
}

/* The other policies, for a behaviour. */
static void policies(void *arg)
{
    rt_mailbox_stats stats;
    (void)arg;
    static rt_behaviour_type type;
    type = drain;
    for (rt_overflow policy = RT_OVERFLOW_REJECT; policy <= RT_OVERFLOW_KILL; policy++) {
        drained = 0;
        type.mailbox.overflow = policy;
        actor_id id = rt_behaviour_spawn(&type, NULL);
        rt_status last = RT_SUCCESS;
        for (unsigned i = 0; i < 12; i++) {
            if (policy != RT_OVERFLOW_MUTE) {
                last = rt_behaviour_send(id, 0, NULL, 0);
            }
            if (i < 10) {
                CHECK_OK(last);
            }
        }
        bool is_alive = rt_actor_alive(id);
        CHECK_EQ(is_alive, policy != RT_OVERFLOW_KILL);
        if (is_alive) {
            CHECK_OK(rt_mailbox_stats_get(id, &stats));
            CHECK_EQ(stats.rejected, policy == RT_OVERFLOW_REJECT ? 2 : 0);
            bool is_dropping = policy == RT_OVERFLOW_DROP_NEW || policy == RT_OVERFLOW_DROP_OLD;
            CHECK_EQ(stats.dropped, is_dropping ? 2 : 0);
            CHECK_EQ(stats.depth, policy == RT_OVERFLOW_MUTE ? 0 : 10);
            CHECK_EQ(last.code, policy == RT_OVERFLOW_REJECT ? RT_ERR_FULL : RT_OK);
            settle(1);
            CHECK_EQ(drained, policy == RT_OVERFLOW_MUTE ? 0 : 10);
            CHECK_OK(rt_actor_kill(id));
        } else {
            CHECK_EQ(last.code, RT_ERR_INVALID);
        }
        settle(1);
    }
    rt_exit();
}

TEST(pressure_does_what_the_policy_of_a_behaviour_says)
{
    world_run(policies, NULL);
}

TEST(pressure_low_mark_is_half_of_the_high_one_unless_it_is_below)
{
    rt_mailbox_config config = {.high = 10};
    CHECK_EQ(rti_pressure_low(&config), 5);
    config.low = 3;
    CHECK_EQ(rti_pressure_low(&config), 3);
    config.low = 10;
    CHECK_EQ(rti_pressure_low(&config), 5);
    config.high = 1;
    CHECK_EQ(rti_pressure_low(&config), 0);
}

/* What backpressure has done at an actor is not what it has done at who had its slot before, though
 * that one had no limit any more when it ended. */
static void rejects(void *arg)
{
    static const rt_mailbox_config narrow = {.high = 1, .overflow = RT_OVERFLOW_REJECT};
    (void)arg;
    CHECK_OK(rt_mailbox_limit(rt_self(), &narrow));
    CHECK_OK(rt_ipc_send(rt_self(), "x", 1, IPC_ASYNC));
    CHECK_STATUS(rt_ipc_send(rt_self(), "x", 1, IPC_ASYNC), RT_ERR_FULL);
    CHECK_OK(rt_mailbox_limit(rt_self(), NULL));
    rt_exit();
}

static void is_new(void *arg)
{
    rt_mailbox_stats stats;
    (void)arg;
    CHECK_OK(rt_mailbox_stats_get(rt_self(), &stats));
    CHECK_EQ(stats.rejected + stats.dropped + stats.mutes + stats.releases, 0);
    taken++;
    rt_exit();
}

static void one_after_the_other(void *arg)
{
    (void)arg;
    taken = 0;
    for (unsigned i = 0; i < 2 * RT_MAX_ACTORS; i++) {
        actor_fn fn = i < RT_MAX_ACTORS ? rejects : is_new;
        CHECK(rt_spawn_ex(fn, NULL, &small) != ACTOR_ID_INVALID);
        rt_yield();
    }
    CHECK_EQ(taken, RT_MAX_ACTORS);
    rt_exit();
}

TEST(pressure_counts_of_an_actor_begin_with_it)
{
    world_run(one_after_the_other, NULL);
}
