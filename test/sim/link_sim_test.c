/* SPDX-License-Identifier: Apache-2.0 */
/* Links and monitors beside a reference of who is to hear of whom, one world per seed.
 *
 * Actors link, unlink, watch and forget each other at random, and behaviours; they end, crash and
 * kill, some while every entry for messages is in use and every monitor made. An actor's exit
 * messages must be those that the reference says, each once and none else (promises 30 and 31):
 *   - one for each link and each monitor of who ends, however it ends, also of cycles of links
 *   - none of who was unlinked or forgotten, also if the message waited already
 *   - no new link to the dead, and no exit message of another that has its place
 *   - all of them, though the messages of others find no room
 *
 * Seeds: 100000 */
#define _GNU_SOURCE
#include <orrery/rt.h>
#include <string.h>

#include "actor/actors.h"
#include "support/test.h"

#define LIVES   24
#define AT_ONCE 6
#define STEPS   16
#define WATCHES 400

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};

/* An actor or a behaviour, and what it is to hear. */
struct life {
    actor_id id;
    bool is_alive;
    bool has_stack;
    rt_exit_reason reason;
    bool is_linked[LIVES]; /* with others that live */
    bool owes_link[LIVES]; /* an exit message by a link has not been received */
};

/* A monitor, in the order in which they were made. */
struct watch {
    size_t from;
    size_t to;
    uint32_t ref;
    bool is_over; /* its message was received, or it was forgotten, or its maker is dead */
};

static struct life lives[LIVES];
static size_t lives_count;
static struct watch watches[WATCHES];
static size_t watches_count;
static size_t heard;

static uint64_t draw(uint64_t n)
{
    return rt_random() % n;
}

/* The reference: `who` is dead from here on. */
static void note_death(size_t who, rt_exit_reason reason)
{
    struct life *life = &lives[who];
    CHECK(life->is_alive);
    life->is_alive = false;
    life->reason = reason;
    for (size_t i = 0; i < lives_count; i++) {
        lives[i].owes_link[who] |= lives[i].is_linked[who];
        lives[i].is_linked[who] = life->is_linked[i] = life->owes_link[i] = false;
    }
    for (size_t i = 0; i < watches_count; i++) {
        watches[i].is_over |= watches[i].from == who;
    }
}

/* An exit message has come; those by links come before those by monitors. */
static void hear(size_t me, const rt_message *msg)
{
    rt_exit_msg notice;
    size_t who = 0;
    CHECK_OK(rt_decode_exit(msg, &notice));
    while (who < lives_count && lives[who].id != notice.actor) {
        who++;
    }
    CHECK(who < lives_count);
    CHECK(!lives[who].is_alive);
    CHECK_EQ(notice.reason, lives[who].reason);
    heard++;
    if (lives[me].owes_link[who]) {
        lives[me].owes_link[who] = false;
        return;
    }
    for (size_t i = 0; i < watches_count; i++) {
        if (watches[i].from == me && watches[i].to == who && !watches[i].is_over) {
            watches[i].is_over = true;
            return;
        }
    }
    test_fail(__FILE__, __LINE__, "an exit message that nobody asked for");
}

static void receive(size_t me, int32_t timeout_ms)
{
    rt_message msg;
    while (!RT_FAILED(rt_ipc_recv(&msg, timeout_ms))) {
        if (rt_is_exit_msg(&msg)) {
            hear(me, &msg);
        }
    }
}

static bool is_owed(const struct watch *at, size_t me)
{
    return at->from == me && !at->is_over && !lives[at->to].is_alive;
}

/* Of all who are dead by now it has been told a millisecond later. */
static void check_heard(size_t me)
{
    bool is_due[LIVES];
    bool is_watch_due[WATCHES];
    size_t count = watches_count;
    memcpy(is_due, lives[me].owes_link, sizeof(is_due));
    for (size_t i = 0; i < count; i++) {
        is_watch_due[i] = is_owed(&watches[i], me);
    }
    receive(me, 1);
    for (size_t i = 0; i < LIVES; i++) {
        CHECK(!is_due[i] || !lives[me].owes_link[i]);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK(!is_watch_due[i] || !is_owed(&watches[i], me));
    }
}

static void link_with(size_t me, size_t to)
{
    rt_status status = rt_link(lives[to].id);
    bool is_possible = to != me && lives[to].is_alive && lives[to].has_stack;
    CHECK(status.code == (is_possible ? RT_OK : RT_ERR_INVALID) ||
          (is_possible && status.code == RT_ERR_NOMEM));
    if (!RT_FAILED(status)) {
        lives[me].is_linked[to] = lives[to].is_linked[me] = true;
    }
}

static void unlink_from(size_t me, size_t to)
{
    bool is_there = lives[me].is_linked[to] || lives[me].owes_link[to];
    CHECK_EQ(rt_unlink(lives[to].id).code, is_there ? RT_OK : RT_ERR_INVALID);
    lives[me].is_linked[to] = lives[to].is_linked[me] = lives[me].owes_link[to] = false;
}

/* False if there is no monitor left. */
static bool watch(size_t me, size_t to)
{
    if (watches_count == WATCHES) {
        return false;
    }
    struct watch *made = &watches[watches_count];
    *made = (struct watch){.from = me, .to = to};
    rt_status status = rt_monitor(lives[to].id, &made->ref);
    bool is_possible = to != me && lives[to].is_alive;
    CHECK(status.code == (is_possible ? RT_OK : RT_ERR_INVALID) ||
          (is_possible && status.code == RT_ERR_NOMEM));
    watches_count += !RT_FAILED(status);
    return !RT_FAILED(status);
}

static void forget(size_t me)
{
    struct watch *at = watches_count == 0 ? NULL : &watches[draw(watches_count)];
    if (at != NULL && at->from == me) {
        CHECK_EQ(rt_demonitor(at->ref).code, at->is_over ? RT_ERR_INVALID : RT_OK);
        at->is_over = true;
    }
}

/* Uses up all room for messages. */
static void flood(size_t to)
{
    while (lives[to].is_alive && !RT_FAILED(rt_ipc_send(lives[to].id, "x", 1, IPC_ASYNC))) {
    }
}

static void kill_one(size_t me, size_t victim)
{
    if (victim != me && lives[victim].is_alive && draw(4) == 0) {
        CHECK_OK(rt_actor_kill(lives[victim].id));
        note_death(victim, RT_EXIT_KILLED);
    }
}

static void act(size_t me)
{
    size_t to = draw(lives_count);
    switch (draw(10)) {
    case 0:
    case 1:
    case 2:
        link_with(me, to);
        break;
    case 3:
        unlink_from(me, to);
        break;
    case 4:
        (void)watch(me, to);
        break;
    case 5:
        if (draw(16) == 0) {
            while (watch(me, to)) {
            }
        }
        break;
    case 6:
        forget(me);
        break;
    case 7:
        if (draw(4) == 0) {
            flood(to);
        }
        kill_one(me, draw(lives_count));
        break;
    case 8:
        check_heard(me);
        break;
    default:
        rt_yield();
        break;
    }
}

static void live(void *arg)
{
    size_t me = (size_t)((struct life *)arg - lives);
    uint64_t steps = 1 + draw(STEPS);
    for (uint64_t i = 0; i < steps; i++) {
        act(me);
    }
    if (draw(2) == 0) {
        check_heard(me);
    }
    if (draw(2) == 0) {
        note_death(me, RT_EXIT_CRASH);
        return;
    }
    note_death(me, RT_EXIT_NORMAL);
    rt_exit();
}

static void drop(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
}

static const rt_behaviour_type idle = {.otherwise = drop, .priority = RT_PRIO_NORMAL};

static void give_birth(void)
{
    struct life *life = &lives[lives_count];
    *life = (struct life){.is_alive = true, .has_stack = draw(5) != 0};
    life->id = life->has_stack ? rt_spawn_ex(live, life, &small) : rt_behaviour_spawn(&idle, NULL);
    CHECK(life->id != ACTOR_ID_INVALID);
    lives_count++;
}

static size_t count_alive(bool has_stack)
{
    size_t count = 0;
    for (size_t i = 0; i < lives_count; i++) {
        count += lives[i].is_alive && lives[i].has_stack == has_stack;
    }
    return count;
}

/* Starts new ones as long as there are lives, and ends the behaviours. */
static void keep(void *arg)
{
    (void)arg;
    lives_count = watches_count = heard = 0;
    memset(lives, 0, sizeof(lives));
    while (lives_count < LIVES || count_alive(true) > 0) {
        while (lives_count < LIVES && count_alive(true) + count_alive(false) < AT_ONCE) {
            give_birth();
        }
        for (size_t i = 0; i < lives_count; i++) {
            if (lives[i].is_alive && !lives[i].has_stack && draw(4) == 0) {
                CHECK_OK(rt_actor_kill(lives[i].id));
                note_death(i, RT_EXIT_KILLED);
            }
        }
        CHECK_OK(rt_sleep(draw(3) * RT_NS_PER_MS));
        rt_yield();
    }
    for (size_t i = 0; i < lives_count; i++) {
        (void)rt_actor_kill(lives[i].id);
    }
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_EQ(rti_pool_in_use(&rti_actors_of(rti_worker_current())->links.pool), 0);
    CHECK_EQ(rti_actors_of(rti_worker_current())->monitors.refs.used_count, 0);
    rt_exit();
}

TEST_SEEDED(sim_links_and_monitors_tell_what_their_reference_says)
{
    rt_sim_config config = {.seed = test_seed()};
    CHECK_OK(rt_sim_run(&config, keep, NULL));
}
