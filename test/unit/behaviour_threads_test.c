/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours on several workers, on the machine itself: order, one at a time, muting, kills and
 * lives that follow each other while others send. */
#define RTI_MODULE "behaviour_threads_test"
#include <orrery/rt.h>

#include "actor/behaviour.h"
#include "support/test.h"

#define WORKERS 2
#define SOURCES 6
#define EACH    3000

TEST_TIMEOUT(60);

static actor_id ids[SOURCES + 1];
static rti_atomic_u32 inside; /* handlers of the sink that run now */
static uint32_t last[SOURCES];
static uint32_t taken;

struct letter {
    uint32_t from;
    uint32_t number;
};

static void start(void)
{
    const rt_config config = {.workers = WORKERS};
    rt_status status = rt_init_ex(&config);
    if (status.code == RT_ERR_UNSUPPORTED) {
        test_skip("no parallel engine here");
    }
    CHECK_OK(status);
    CHECK_OK(
        rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = 1 << 14, .messages = 1 << 16}));
}

static void sink(void *state, const rt_behaviour_message *msg)
{
    struct letter letter;
    (void)state;
    CHECK_EQ(rti_u32_add_relaxed(&inside, 1), 0);
    memcpy(&letter, msg->data, sizeof(letter));
    CHECK_EQ(letter.number, last[letter.from] + 1);
    last[letter.from] = letter.number;
    taken++;
    (void)rti_u32_add_relaxed(&inside, UINT32_MAX);
    if (taken == SOURCES * EACH) {
        rt_shutdown();
    }
}

/* Sends ten and asks itself for more. */
static void source(void *state, const rt_behaviour_message *msg)
{
    struct letter *next = state;
    (void)msg;
    for (unsigned i = 0; i < 10 && next->number < EACH; i++) {
        next->number++;
        CHECK_OK(rt_behaviour_send(ids[SOURCES], 0, next, sizeof(*next)));
    }
    if (next->number < EACH) {
        CHECK_OK(rt_behaviour_send(rt_self(), 0, NULL, 0));
    }
}

static const rt_behaviour_fn sink_handlers[] = {sink};
static const rt_behaviour_fn source_handlers[] = {source};
static const rt_behaviour_type source_type = {
    .handlers = source_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void run_fan_in(const rt_behaviour_type *type)
{
    static struct letter next[SOURCES];
    start();
    taken = 0;
    memset(last, 0, sizeof(last));
    ids[SOURCES] = rt_behaviour_spawn(type, NULL);
    for (uint32_t i = 0; i < SOURCES; i++) {
        next[i] = (struct letter){.from = i};
        ids[i] = rt_behaviour_spawn(&source_type, &next[i]);
        CHECK_OK(rt_behaviour_send(ids[i], 0, NULL, 0));
    }
    rt_run();
    CHECK_EQ(taken, SOURCES * EACH);
    rt_cleanup();
}

TEST(behaviours_on_several_workers_keep_order_and_run_one_at_a_time)
{
    static const rt_behaviour_type type = {
        .handlers = sink_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
    run_fan_in(&type);
}

TEST(behaviours_on_several_workers_are_muted_and_go_on)
{
    static const rt_behaviour_type type = {
        .handlers = sink_handlers,
        .handler_count = 1,
        .priority = RT_PRIO_NORMAL,
        .mailbox = {.high = 16, .low = 4, .overflow = RT_OVERFLOW_MUTE}};
    run_fan_in(&type);
}

/* Lives that follow each other in one place while others kill them and send to them. */
static rti_atomic_u32 target; /* the present life */
static rti_atomic_u32 rounds;

static void victim(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    CHECK_EQ(msg->id, 0);
}

static const rt_behaviour_fn victim_handlers[] = {victim};
static const rt_behaviour_type victim_type = {
    .handlers = victim_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void tormentor(void *state, const rt_behaviour_message *msg)
{
    actor_id id = rti_u32_load_relaxed(&target);
    (void)state;
    (void)msg;
    rt_behaviour_stats stats;
    CHECK_OK(rt_behaviour_stats_get(&stats));
    /* What was sent to the dead waits until their worker takes them apart: leave room for more. */
    for (unsigned i = 0; i < 5 && stats.messages < RT_BEHAVIOUR_MESSAGE_POOL_SIZE / 2; i++) {
        (void)rt_behaviour_send(id, 0, "x", 1);
    }
    if (rti_u32_load_relaxed(&rounds) <= 2000 && !RT_FAILED(rt_actor_kill(id))) {
        /* Exactly one kill succeeds, and makes the next life. */
        actor_id next = rt_behaviour_spawn(&victim_type, NULL);
        CHECK(next != ACTOR_ID_INVALID && next != id);
        rti_u32_store_relaxed(&target, next);
        if (rti_u32_add_relaxed(&rounds, 1) == 2000) {
            rt_shutdown();
        }
    }
    CHECK_OK(rt_behaviour_send(rt_self(), 0, NULL, 0));
}

static const rt_behaviour_fn tormentor_handlers[] = {tormentor};
static const rt_behaviour_type tormentor_type = {
    .handlers = tormentor_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

TEST(behaviours_on_several_workers_die_once_and_late_orders_hit_nobody)
{
    start();
    rti_u32_init(&rounds, 0);
    rti_u32_init(&target, rt_behaviour_spawn(&victim_type, NULL));
    for (unsigned i = 0; i < 4; i++) {
        CHECK_OK(rt_behaviour_send(rt_behaviour_spawn(&tormentor_type, NULL), 0, NULL, 0));
    }
    rt_run();
    CHECK(rti_u32_load_relaxed(&rounds) >= 2000);
    rt_cleanup(); /* demands that nobody is left */
}

/* A tree on several workers: children of both kinds crash, are killed and restarted. */
static rti_atomic_u32 begun;

static void crash_now(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    CHECK_OK(rt_behaviour_end(RT_EXIT_CRASH));
}

static void count_start(void *state, void *arg)
{
    (void)state;
    (void)arg;
    (void)rti_u32_add_relaxed(&begun, 1);
}

static const rt_behaviour_fn crash_handlers[] = {crash_now};
static const rt_behaviour_type crasher = {.handlers = crash_handlers,
                                          .handler_count = 1,
                                          .start = count_start,
                                          .priority = RT_PRIO_NORMAL};

static void crashing_actor(void *arg)
{
    rt_message msg;
    (void)arg;
    (void)rti_u32_add_relaxed(&begun, 1);
    CHECK_OK(rt_ipc_recv(&msg, -1));
    if (rt_is_stop_msg(&msg)) {
        rt_exit();
    }
}

static void tree_gremlin(void *arg)
{
    const actor_config small = {.stack_size = 32768, .priority = RT_PRIO_NORMAL};
    rt_child_spec specs[4] = {
        {.id = "a", .behaviour = &crasher, .keeps_address = true},
        {.id = "b", .fn = crashing_actor, .actor = small, .keeps_address = true},
        {.id = "c", .behaviour = &crasher},
        {.id = "d", .fn = crashing_actor, .actor = small, .name = "dora"},
    };
    rt_supervisor_config config = {.strategy = RT_ONE_FOR_ALL,
                                   .intensity = RT_INTENSITY_MAX,
                                   .period_ms = 1,
                                   .children = specs,
                                   .child_count = 4,
                                   .actor = small};
    actor_id supervisor;
    rt_child_info info[4];
    size_t count;
    rt_message msg;
    (void)arg;
    for (unsigned life = 0; life < 3; life++) {
        CHECK_OK(rt_supervisor_start(&config, &supervisor));
        for (unsigned i = 0; i < 200 && rt_actor_alive(supervisor); i++) {
            if (RT_FAILED(rt_supervisor_which_children(supervisor, info, 4, &count))) {
                break;
            }
            actor_id victim = info[i % 4].actor;
            if (i % 3 == 0) {
                (void)rt_actor_kill(victim);
            } else {
                (void)rt_behaviour_send(victim, 0, "x", 1);
            }
            (void)rt_ipc_recv(&msg, i % 8 == 0 ? 2 : 0);
        }
        if (life == 1) {
            (void)rt_actor_kill(supervisor);
        } else {
            rt_status status = rt_supervisor_stop(supervisor, -1);
            CHECK(!RT_FAILED(status) || status.code == RT_ERR_INVALID);
        }
    }
    rt_shutdown();
    rt_exit();
}

TEST(supervisors_on_several_workers_restart_both_kinds)
{
    start();
    rti_u32_init(&begun, 0);
    CHECK(rt_spawn(tree_gremlin, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK(rti_u32_load_relaxed(&begun) > 12);
    rt_cleanup();
}

/* ---- The memory of messages that can have names ---- */

TEST(behaviour_messages_between_workers_have_room_for_so_many_names)
{
    const rt_config config = {.workers = WORKERS};
    rt_status status = rt_init_ex(&config);
    if (status.code == RT_ERR_UNSUPPORTED) {
        test_skip("no parallel engine here");
    }
    CHECK_OK(status);
    size_t most = RTI_LETTERS_SPAN_MAX / (RTI_CELL_SMALL_SIZE + RTI_CELL_LARGE_SIZE) * 8;
    rt_behaviour_room room = {.behaviours = 1, .messages = most + 1};
    CHECK_STATUS(rt_behaviour_reserve(&room), RT_ERR_INVALID);
    room.messages = 16;
    CHECK_OK(rt_behaviour_reserve(&room));
    rt_cleanup();
}

/* ---- Messages that go round while others come ---- */

#define HANDS 4 /* behaviours that hand on */
#define ROUND 400

static rti_atomic_u32 hands_left;

static void hand_round(void *state, const rt_behaviour_message *msg)
{
    const actor_id *next = state;
    (void)msg;
    if (rti_u32_add_relaxed(&hands_left, UINT32_MAX) == 1) {
        rt_shutdown();
    }
    CHECK_OK(rt_behaviour_forward(*next, 0));
}

static const rt_behaviour_fn hand_handlers[] = {hand_round};
static const rt_behaviour_type hand_type = {.handlers = hand_handlers, .handler_count = 1};

TEST(behaviour_hands_messages_on_between_workers)
{
    start();
    rti_u32_init(&hands_left, HANDS * HANDS * ROUND);
    for (unsigned i = 0; i < HANDS; i++) {
        ids[i] = rt_behaviour_spawn(&hand_type, &ids[(i + 1) % HANDS]);
    }
    for (unsigned i = 0; i < HANDS * HANDS; i++) {
        CHECK_OK(rt_behaviour_send(ids[i % HANDS], 0, &i, sizeof(i)));
    }
    rt_run();
    rt_behaviour_stats stats;
    CHECK_OK(rt_behaviour_stats_get(&stats));
    CHECK((int32_t)rti_u32_load_relaxed(&hands_left) <= 0);
    CHECK_EQ(stats.messages, HANDS * HANDS); /* they wait still, each once */
    rt_cleanup();
}

/* ---- Messages that are counted while their cells go home ---- */

#define ASKS 100000

static void take_and_idle(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    for (volatile int i = 0; i < 200; i = i + 1) {
    }
}

static void flood_for_ever(void *state, const rt_behaviour_message *msg)
{
    const actor_id *to = state;
    for (unsigned i = 0; i < 30; i++) {
        /* All may be out: then everybody searches what has come home to others. */
        (void)rt_behaviour_send(*to, 0, &i, sizeof(i));
        take_and_idle(NULL, msg);
    }
    CHECK_OK(rt_behaviour_forward(rt_self(), 0));
}

static void ask_how_many(void *state, const rt_behaviour_message *msg)
{
    uint32_t *asked = state;
    rt_behaviour_stats stats;
    (void)msg;
    for (unsigned i = 0; i < 50; i++) {
        CHECK_OK(rt_behaviour_stats_get(&stats));
        CHECK(stats.live == stats.live_max);
    }
    *asked += 50;
    if (*asked >= ASKS) {
        rt_shutdown();
    } else {
        CHECK_OK(rt_behaviour_forward(rt_self(), 0));
    }
}

TEST(behaviour_messages_are_counted_while_others_give_them_back)
{
    static const rt_behaviour_fn take_handlers[] = {take_and_idle};
    static const rt_behaviour_fn flood_handlers[] = {flood_for_ever};
    static const rt_behaviour_fn ask_handlers[] = {ask_how_many};
    static const rt_behaviour_type take_type = {
        .handlers = take_handlers,
        .handler_count = 1,
        .mailbox = {.high = 64, .low = 16, .overflow = RT_OVERFLOW_MUTE}};
    static const rt_behaviour_type flood_type = {.handlers = flood_handlers, .handler_count = 1};
    static const rt_behaviour_type ask_type = {
        .handlers = ask_handlers, .handler_count = 1, .state_size = sizeof(uint32_t)};
    rt_status status = rt_init_ex(&(rt_config){.workers = 2 * WORKERS});
    if (status.code == RT_ERR_UNSUPPORTED) {
        test_skip("no parallel engine here");
    }
    CHECK_OK(status);
    /* Little room: batches are small, and cells go home often. */
    CHECK_OK(rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = 32, .messages = 256}));
    for (unsigned i = 0; i < SOURCES; i++) {
        ids[i] = rt_behaviour_spawn(&take_type, NULL);
        CHECK_OK(rt_behaviour_send(rt_behaviour_spawn(&flood_type, &ids[i]), 0, NULL, 0));
    }
    CHECK_OK(rt_behaviour_send(rt_behaviour_spawn(&ask_type, NULL), 0, NULL, 0));
    rt_run();
    rt_cleanup();
}

/* ---- What the width of a crew is weighed by ---- */

#define FLOOD    100
#define COMPUTED 1000

static uint64_t letters_seen;

static uint64_t letters_done(void)
{
    struct rti_worker *worker = rti_worker_current();
    return rti_u64_load_relaxed(&worker->station->messages);
}

static void see_the_flood(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    /* The turn of who sent all of it is over: it was muted in the midst of it. */
    if (taken == 0) {
        letters_seen = letters_done();
    }
    if (++taken == FLOOD) {
        rt_shutdown();
    }
}

static void flood_once(void *state, const rt_behaviour_message *msg)
{
    const actor_id *to = state;
    (void)msg;
    for (unsigned i = 0; i < FLOOD; i++) {
        CHECK_OK(rt_behaviour_send(*to, 0, &i, sizeof(i)));
    }
}

static void flood_and_compute(void *state, const rt_behaviour_message *msg)
{
    rt_reductions_add(COMPUTED);
    flood_once(state, msg);
}

static void flood_with_a_blob(void *state, const rt_behaviour_message *msg)
{
    const actor_id *to = state;
    rt_blob *blob;
    (void)msg;
    CHECK_OK(rt_blob_create(FLOOD, &blob));
    for (unsigned i = 0; i < FLOOD; i++) {
        CHECK_OK(rt_blob_send(*to, 0, blob));
    }
    rt_blob_release(blob);
}

/* What a station has counted when the turn of such a one is over. */
static uint64_t letters_of_a_turn(rt_behaviour_fn flood)
{
    static const rt_behaviour_fn see_handlers[] = {see_the_flood};
    const rt_behaviour_fn flood_handlers[] = {flood};
    const rt_behaviour_type flood_type = {.handlers = flood_handlers, .handler_count = 1};
    static const rt_behaviour_type see_type = {
        .handlers = see_handlers,
        .handler_count = 1,
        .mailbox = {.high = 16, .low = 4, .overflow = RT_OVERFLOW_MUTE}};
    rt_status status = rt_init_ex(&(rt_config){.workers = 1});
    if (status.code == RT_ERR_UNSUPPORTED) {
        test_skip("no parallel engine here");
    }
    CHECK_OK(status);
    CHECK_OK(rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = 8, .messages = 1024}));
    taken = 0;
    ids[0] = rt_behaviour_spawn(&see_type, NULL);
    CHECK_OK(rt_behaviour_send(rt_behaviour_spawn(&flood_type, &ids[0]), 0, NULL, 0));
    rt_run();
    CHECK_EQ(taken, FLOOD);
    rt_cleanup();
    return letters_seen;
}

TEST(behaviour_that_is_muted_is_counted_with_all_that_it_sent)
{
    CHECK(letters_of_a_turn(flood_once) >= FLOOD);
}

TEST(behaviour_is_counted_with_the_blobs_that_it_sent)
{
    CHECK(letters_of_a_turn(flood_with_a_blob) >= FLOOD);
}

TEST(behaviour_is_not_counted_with_what_it_computes)
{
    CHECK(letters_of_a_turn(flood_and_compute) < COMPUTED);
}
