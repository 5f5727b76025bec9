/* SPDX-License-Identifier: Apache-2.0 */
/* Random lives of actors in the simulated world, one per seed.
 *
 * A keeper starts workers and watches them. Each worker does a random number of random things: it
 * writes to other workers and to the keeper, ASYNC and SYNC, sets timers, waits, yields, kills
 * another, and ends in one of three ways. The keeper starts new ones until a number has lived.
 *
 * Checked in every run:
 *   - the keeper gets exactly one notice per worker, with the reason of its end    (promises 30,
 * 31)
 *   - what a worker sent the keeper before its end came before the notice, all of it    (promise
 * 29)
 *   - every mailbox is FIFO per sender                                                  (promise
 * 29)
 *   - a SYNC send returns RT_OK only after the receiver has seen the message
 *   - when all is over no pool holds anything, which the end of the run asserts          (promise
 * 33) */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include "support/test.h"

#define WORKERS_AT_ONCE 6
#define LIVES           40
#define STEPS_MAX       30

/* What is said: who says it and the how-manieth of its messages to this receiver it is. */
struct note {
    uint32_t from; /* index of the life; LIVES is the keeper */
    uint32_t number;
};

struct life {
    actor_id id;
    bool is_started;
    bool is_over;
    bool is_killed;        /* somebody's rt_actor_kill said RT_OK */
    rt_exit_reason intent; /* how it is about to end by itself */
    uint32_t sent_to_keeper;
    uint32_t seen_by_keeper;
    uint32_t sent[LIVES]; /* to each other life */
    uint32_t last[LIVES]; /* number of the last message received from each */
};

static struct life lives[LIVES];
static size_t started_count;
static actor_id keeper;

static uint64_t draw(uint64_t n)
{
    return rt_random() % n;
}

/* A life that has been started, perhaps over already: its id is then stale. */
static struct life *draw_life(void)
{
    return &lives[draw(started_count)];
}

static void take_note(struct life *self, const rt_message *message)
{
    struct note note;
    if (rt_timer_is_tick(message) || rt_is_exit_msg(message)) {
        return;
    }
    CHECK_EQ(message->len, sizeof(note));
    memcpy(&note, message->data, sizeof(note));
    CHECK(note.from < LIVES);
    CHECK_EQ(message->sender, lives[note.from].id);
    CHECK(note.number > self->last[note.from]);
    self->last[note.from] = note.number;
}

static void write_to_another(struct life *self)
{
    struct life *other = draw_life();
    size_t index = (size_t)(other - lives);
    struct note note = {.from = (uint32_t)(self - lives), .number = self->sent[index] + 1};
    rt_status status = rt_ipc_send(other->id, &note, sizeof(note), IPC_ASYNC);
    if (!RT_FAILED(status)) {
        self->sent[index]++;
    } else {
        CHECK(status.code == RT_ERR_INVALID || status.code == RT_ERR_NOMEM);
        CHECK(status.code == RT_ERR_NOMEM || !rt_actor_alive(other->id));
    }
}

static void write_to_keeper(struct life *self, rt_ipc_mode mode)
{
    struct note note = {.from = (uint32_t)(self - lives), .number = self->sent_to_keeper + 1};
    /* Counted before it is sent: a kill may come while the SYNC sender waits. */
    self->sent_to_keeper++;
    rt_status status = rt_ipc_send(keeper, &note, sizeof(note), mode);
    if (RT_FAILED(status)) {
        CHECK_EQ(status.code, RT_ERR_NOMEM);
        self->sent_to_keeper--;
    } else if (mode == IPC_SYNC) {
        CHECK_EQ(self->seen_by_keeper, note.number);
    }
}

static void receive(struct life *self, int32_t timeout_ms)
{
    rt_message message;
    rt_status status = rt_ipc_recv(&message, timeout_ms);
    if (!RT_FAILED(status)) {
        take_note(self, &message);
    } else {
        CHECK_EQ(status.code, timeout_ms == 0 ? RT_ERR_WOULDBLOCK : RT_ERR_TIMEOUT);
    }
}

static void kill_another(struct life *self)
{
    struct life *other = draw_life();
    if (draw(8) != 0 || other == self) {
        return;
    }
    rt_status status = rt_actor_kill(other->id);
    if (!RT_FAILED(status)) {
        CHECK(!other->is_over);
        other->is_killed = true;
    }
}

static void do_one_thing(struct life *self)
{
    timer_id timer;
    switch (draw(8)) {
    case 0:
        write_to_another(self);
        break;
    case 1:
        write_to_keeper(self, IPC_ASYNC);
        break;
    case 2:
        write_to_keeper(self, IPC_SYNC);
        break;
    case 3:
        receive(self, (int32_t)draw(20));
        break;
    case 4:
        (void)rt_timer_after((uint32_t)draw(20000), &timer);
        break;
    case 5:
        (void)rt_link(draw_life()->id);
        break;
    case 6:
        kill_another(self);
        break;
    default:
        rt_yield();
        break;
    }
}

static void live(void *arg)
{
    struct life *self = arg;
    size_t steps = (size_t)draw(STEPS_MAX);
    for (size_t i = 0; i < steps; i++) {
        do_one_thing(self);
    }
    if (draw(3) == 0) {
        self->intent = RT_EXIT_CRASH;
        return;
    }
    self->intent = RT_EXIT_NORMAL;
    rt_exit();
}

static void start_one(void)
{
    static const rt_priority priorities[] = {RT_PRIO_CRITICAL, RT_PRIO_HIGH, RT_PRIO_NORMAL,
                                             RT_PRIO_LOW};
    struct life *life = &lives[started_count];
    const actor_config config = {.stack_size = 16384, .priority = priorities[draw(4)]};
    uint32_t ref;
    started_count++;
    life->is_started = true;
    life->id = rt_spawn_ex(live, life, &config);
    CHECK(life->id != ACTOR_ID_INVALID);
    CHECK_OK(rt_monitor(life->id, &ref));
}

static void keeper_sees_the_end(const rt_message *message)
{
    rt_exit_msg notice;
    struct life *life = lives;
    CHECK_OK(rt_decode_exit(message, &notice));
    while (life->id != notice.actor) {
        life++;
        CHECK(life < lives + LIVES);
    }
    CHECK(!life->is_over);
    life->is_over = true;
    CHECK(!rt_actor_alive(life->id));
    CHECK_EQ(notice.reason, life->is_killed ? RT_EXIT_KILLED : life->intent);
    CHECK_EQ(life->seen_by_keeper, life->sent_to_keeper);
}

static void keep(void *arg)
{
    size_t over = 0;
    (void)arg;
    keeper = rt_self();
    for (size_t i = 0; i < WORKERS_AT_ONCE; i++) {
        start_one();
    }
    while (over < LIVES) {
        rt_message message;
        CHECK_OK(rt_ipc_recv(&message, -1));
        if (rt_is_exit_msg(&message)) {
            keeper_sees_the_end(&message);
            over++;
            if (started_count < LIVES) {
                start_one();
            }
            continue;
        }
        struct note note;
        CHECK_EQ(message.len, sizeof(note));
        memcpy(&note, message.data, sizeof(note));
        CHECK_EQ(note.number, lives[note.from].seen_by_keeper + 1);
        lives[note.from].seen_by_keeper++;
        if (draw(2) == 0) {
            rt_ipc_release(&message);
        }
        if (draw(4) == 0) {
            rt_yield();
        }
    }
    rt_exit();
}

TEST_SEEDED(actors_live_and_die_in_good_order)
{
    memset(lives, 0, sizeof(lives));
    started_count = 0;
    rt_sim_report first;
    rt_sim_config config = {.seed = test_seed(), .report = &first};
    CHECK_OK(rt_sim_run(&config, keep, NULL));
    CHECK_EQ(first.actors_left, 0);

    memset(lives, 0, sizeof(lives));
    started_count = 0;
    rt_sim_report second;
    config.report = &second;
    CHECK_OK(rt_sim_run(&config, keep, NULL));
    CHECK(first.trace_hash == second.trace_hash);
    CHECK_EQ(first.steps, second.steps);
}
