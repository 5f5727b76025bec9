/* SPDX-License-Identifier: Apache-2.0 */
/* Crash storms, kills at any await and floods over supervised actors of both kinds, one world per
 * seed.
 *
 * A tree is grown: a root, under it a supervisor of a drawn strategy with workers of both kinds,
 * and a supervisor of one kind with a crowd. A gremlin then does random things to random actors:
 * kills them, lets them crash or end, floods them, asks the supervisors to add, stop, restart and
 * remove, kills a supervisor. Workers send to each other, some with limits of every policy, share
 * blobs, use their heaps and join groups.
 *
 * Checked in every run:
 *   - at most one life of a child at a time, and after a quiet while each permanent one lives that
 *     nobody asked to stop, unless its supervisor gave up                 (promise 32)
 *   - messages of one sender arrive in order                              (promise 29)
 *   - the exit of each watched actor is told exactly once                 (promise 30)
 *   - a limit holds, but for messages that mute, and its policy is what happens to the message that
 *     finds it reached, and what is counted                               (promise 34)
 *   - when all is over nothing is held: places, messages, blobs, heaps, memberships, kept ids
 *                                                                          (promise 33)
 *
 * Seeds: 100000 */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include "actor/behaviour.h"
#include "actor/blob.h"
#include "actor/group.h"
#include "actor/private_heap.h"
#include "actor/supervisor.h"
#include "support/test.h"

#define SLOTS      6 /* workers under the mixed supervisor */
#define CROWD_MAX  6
#define STEPS      24
#define LIMIT_HIGH 4

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};

/* One worker, over all its lives. */
struct slot {
    unsigned index;
    int lives;     /* now: 0 or 1 */
    actor_id id;   /* of the present life */
    uint32_t sent; /* to each other, in order */
    uint32_t last[SLOTS + 1];
    rt_mailbox_config limit; /* of the present life */
    bool was_asked;          /* somebody wanted it to be stopped */
};

static struct slot slots[SLOTS];
static rt_behaviour_type types[SLOTS];
static bool keeps_address[SLOTS];
static actor_id root_id;
static actor_id crowd_id;
static unsigned crowd_lives;
static bool is_calm; /* the gremlin has stopped */
static unsigned watches_made;
static unsigned watches_told;

static uint64_t draw(uint64_t n)
{
    return rt_random() % n;
}

struct letter {
    uint32_t from;
    uint32_t number;
    uint32_t order; /* what the receiver is to do */
    uint32_t rest;  /* so that it is no token of a blob */
};

enum { ORDER_NOTHING, ORDER_END, ORDER_CRASH, ORDER_SPREAD, ORDER_COUNT };

/* A message arrives in order: numbers of one sender only grow, over its lives. */
static uint32_t take_letter(struct slot *self, const void *data, size_t len)
{
    struct letter letter;
    if (len != sizeof(letter)) {
        return ORDER_NOTHING; /* a blob, or the crowd's */
    }
    memcpy(&letter, data, sizeof(letter));
    CHECK(letter.from <= SLOTS);
    CHECK(letter.number > self->last[letter.from]);
    self->last[letter.from] = letter.number;
    return letter.order;
}

static uint32_t letter_numbers; /* one count for all: order per sender follows */

/* A send that changed the receiver's mailbox from `before` to `after` did what the policy says. */
static void check_limit(rt_overflow policy, const rt_mailbox_stats *before,
                        const rt_mailbox_stats *after, rt_status_code code)
{
    bool is_sent = code == RT_OK;
    bool is_dropped = is_sent && before->depth >= LIMIT_HIGH &&
                      (policy == RT_OVERFLOW_DROP_NEW || policy == RT_OVERFLOW_DROP_OLD);
    CHECK_EQ(after->depth, before->depth + (is_sent && !is_dropped));
    CHECK_EQ(after->dropped, before->dropped + is_dropped);
    CHECK_EQ(after->rejected, before->rejected + (code == RT_ERR_FULL));
    CHECK(after->depth <= LIMIT_HIGH);
    CHECK(code != RT_ERR_FULL || (policy == RT_OVERFLOW_REJECT && after->depth == LIMIT_HIGH));
    CHECK_EQ(after->mutes + after->releases, 0);
}

/* The limit of who lives in a slot, if it has one that lets the sender go on. Who has a stack sets
 * it in its first turn: an address that is kept does not tell whether it had that. */
static const rt_mailbox_config *limit_of(const struct slot *slot)
{
    bool is_set = slot->limit.high != 0 && slot->limit.overflow != RT_OVERFLOW_MUTE;
    bool is_known = slot->index % 2 == 0 || !keeps_address[slot->index];
    return is_set && is_known && rt_actor_alive(slot->id) ? &slot->limit : NULL;
}

static void write_letter(uint32_t from, uint32_t order)
{
    struct slot *to = &slots[draw(SLOTS)];
    struct letter letter = {.from = from, .number = ++letter_numbers, .order = order};
    const rt_mailbox_config *limit = limit_of(to);
    rt_mailbox_stats before = {0};
    rt_mailbox_stats after;
    if (limit != NULL) {
        CHECK_OK(rt_mailbox_stats_get(to->id, &before));
    }
    rt_status status = rt_behaviour_send(to->id, 0, &letter, sizeof(letter));
    CHECK(!RT_FAILED(status) || status.code == RT_ERR_INVALID || status.code == RT_ERR_NOMEM ||
          status.code == RT_ERR_FULL);
    if (limit == NULL || status.code == RT_ERR_NOMEM) {
        return;
    }
    if (limit->overflow == RT_OVERFLOW_KILL && before.depth == LIMIT_HIGH) {
        CHECK(status.code == RT_ERR_INVALID && !rt_actor_alive(to->id));
        return;
    }
    CHECK_OK(rt_mailbox_stats_get(to->id, &after));
    check_limit(limit->overflow, &before, &after, status.code);
}

/* What a worker does with what it has, beside its mail. */
static void live_a_little(struct slot *self)
{
    rt_blob *blob;
    switch (draw(6)) {
    case 0:
        if (!RT_FAILED(rt_blob_create(100 + draw(400), &blob))) {
            (void)rt_blob_send(slots[draw(SLOTS)].id, 1, blob);
            if (draw(2) == 0) {
                rt_blob_release(blob);
            }
        }
        break;
    case 1:
        (void)rt_heap_alloc(1 + draw(600));
        break;
    case 2:
        (void)rt_heap_release((rt_heap_mark){.chunk = 0});
        break;
    case 3: {
        rt_status status = rt_group_join(draw(2) == 0 ? "odd" : "even");
        CHECK(!RT_FAILED(status) || status.code == RT_ERR_NOMEM);
        break;
    }
    case 4:
        (void)rt_group_send("odd", 2, "group", 5, NULL);
        break;
    default:
        write_letter(self->index, ORDER_NOTHING);
        break;
    }
}

static void slot_begins(struct slot *self)
{
    /* A life that was killed said nothing, but it is over, or this one has its address. */
    CHECK(self->lives == 0 || self->id == rt_self() || !rt_actor_alive(self->id));
    self->lives = 1;
    self->id = rt_self();
    self->limit = (rt_mailbox_config){0};
}

/* With a stack. */
static void slot_main(void *arg)
{
    struct slot *self = arg;
    rt_message msg;
    rt_blob *blob;
    slot_begins(self);
    if (self->index % 3 == 1) {
        self->limit = (rt_mailbox_config){.high = LIMIT_HIGH,
                                          .overflow = (rt_overflow)draw(RT_OVERFLOW_KILL + 1)};
        CHECK_OK(rt_mailbox_limit(rt_self(), &self->limit));
    }
    for (;;) {
        rt_status status = rt_ipc_recv(&msg, (int32_t)draw(30));
        if (RT_FAILED(status)) {
            CHECK(status.code == RT_ERR_TIMEOUT || status.code == RT_ERR_WOULDBLOCK);
            live_a_little(self);
            if (is_calm) {
                CHECK_OK(rt_ipc_recv(&msg, -1));
            } else {
                continue;
            }
        }
        if (rt_is_stop_msg(&msg)) {
            if (draw(4) == 0) {
                continue; /* deaf: it will be killed */
            }
            self->lives = 0;
            rt_exit();
        }
        if (rt_is_exit_msg(&msg)) {
            watches_told++;
            continue;
        }
        if (rt_behaviour_id(&msg) == 1 && draw(2) == 0) {
            status = rt_blob_take(&msg, &blob);
            CHECK(!RT_FAILED(status) || status.code == RT_ERR_NOMEM);
            continue;
        }
        switch (take_letter(self, msg.data, msg.len)) {
        case ORDER_END:
            self->lives = 0;
            rt_exit();
        case ORDER_CRASH:
            self->lives = 0;
            return;
        case ORDER_SPREAD:
            for (unsigned i = 0; i < 5; i++) {
                write_letter(self->index, ORDER_NOTHING);
            }
            break;
        default:
            live_a_little(self);
            break;
        }
    }
}

/* Without. */
static void slot_letter(void *state, const rt_behaviour_message *msg)
{
    struct slot *self = state;
    switch (take_letter(self, msg->data, msg->len)) {
    case ORDER_END:
        CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
        break;
    case ORDER_CRASH:
        CHECK_OK(rt_behaviour_end(RT_EXIT_CRASH));
        break;
    case ORDER_SPREAD:
        for (unsigned i = 0; i < 5; i++) {
            write_letter(self->index, ORDER_NOTHING);
        }
        break;
    default:
        live_a_little(self);
        break;
    }
}

static void slot_blob(void *state, const rt_behaviour_message *msg)
{
    rt_blob *blob;
    (void)state;
    if (draw(2) == 0) {
        rt_status status = rt_blob_take_from(msg, &blob);
        CHECK(!RT_FAILED(status) || status.code == RT_ERR_NOMEM);
    }
}

static void slot_start(void *state, void *arg)
{
    struct slot *self = state;
    (void)arg;
    slot_begins(self);
    self->limit = types[self->index].mailbox;
}

static void slot_end(void *state, rt_exit_reason reason)
{
    struct slot *self = state;
    (void)reason;
    /* Its supervisor may have been killed and started anew before this one's last turn. */
    if (self->id == rt_self()) {
        self->lives = 0;
    }
}

static const rt_behaviour_fn slot_handlers[] = {slot_letter, slot_blob};

/* The crowd: behaviours that pass everything on to the workers. */
static void crowd_any(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)rt_behaviour_forward(slots[draw(SLOTS)].id, msg->id);
    if (draw(16) == 0) {
        CHECK_OK(rt_behaviour_end(RT_EXIT_CRASH));
    }
}

static void crowd_start(void *state, void *arg)
{
    (void)state;
    (void)arg;
    crowd_lives++;
    CHECK_OK(rt_group_join("crowd"));
}

static void crowd_end(void *state, rt_exit_reason reason)
{
    (void)state;
    (void)reason;
    crowd_lives--;
}

static const rt_behaviour_type crowd_type = {.otherwise = crowd_any,
                                             .start = crowd_start,
                                             .end = crowd_end,
                                             .priority = RT_PRIO_NORMAL,
                                             .mailbox = {LIMIT_HIGH, 1, RT_OVERFLOW_MUTE, false}};

static rt_child_spec slot_specs[SLOTS];
static rt_child_spec crowd_kind;
static rt_supervisor_config mixed;
static rt_supervisor_config crowd;

static void plan_slots(void)
{
    static const char *const ids[SLOTS] = {"s0", "s1", "s2", "s3", "s4", "s5"};
    for (unsigned i = 0; i < SLOTS; i++) {
        slots[i] = (struct slot){.index = i};
        bool has_stack = i % 2 == 1;
        types[i] = (rt_behaviour_type){.handlers = slot_handlers,
                                       .handler_count = 2,
                                       .start = slot_start,
                                       .end = slot_end,
                                       .priority = RT_PRIO_NORMAL};
        if (draw(2) == 0) {
            types[i].mailbox = (rt_mailbox_config){
                .high = LIMIT_HIGH, .overflow = (rt_overflow)draw(RT_OVERFLOW_KILL + 1)};
        }
        keeps_address[i] = draw(2) == 0;
        slot_specs[i] = (rt_child_spec){.id = ids[i],
                                        .fn = has_stack ? slot_main : NULL,
                                        .behaviour = has_stack ? NULL : &types[i],
                                        .arg = &slots[i],
                                        .actor = small,
                                        .restart = draw(3) == 0 ? RT_TRANSIENT : RT_PERMANENT,
                                        .shutdown_ms = draw(2) == 0 ? 20 : RT_SHUTDOWN_KILL,
                                        .keeps_address = keeps_address[i]};
    }
}

/* A life that was killed said nothing: the supervisor knows, so ask the runtime. */
static void note_deaths(void)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        if (slots[i].lives == 1 && !rt_actor_alive(slots[i].id)) {
            slots[i].lives = 0;
        }
    }
}

/* Runs in the start of each life of a stack, too: the death came before. */
static void grow(void)
{
    plan_slots();
    mixed = (rt_supervisor_config){.strategy = (rt_strategy)draw(3),
                                   .intensity = 20,
                                   .period_ms = 1000,
                                   .backoff_ms = draw(2) == 0 ? 0 : 3,
                                   .children = slot_specs,
                                   .child_count = SLOTS,
                                   .actor = small,
                                   .name = "mixed"};
    crowd_kind = (rt_child_spec){.behaviour = &crowd_type, .restart = RT_TEMPORARY};
    crowd = (rt_supervisor_config){.strategy = RT_SIMPLE,
                                   .children = &crowd_kind,
                                   .child_count = 1,
                                   .actor = small,
                                   .name = "crowd"};
    rt_child_spec top[2] = {{.id = "mixed", .supervisor = &mixed},
                            {.id = "crowd", .supervisor = &crowd}};
    rt_supervisor_config config = {
        .intensity = 3, .children = top, .child_count = 2, .actor = small, .name = "root"};
    CHECK_OK(rt_supervisor_start(&config, &root_id));
}

static void ask_supervisor(void)
{
    actor_id mixed_id = rt_whereis("mixed");
    unsigned which = (unsigned)draw(SLOTS);
    const char *id = slot_specs[which].id;
    rt_child_info info[SLOTS];
    size_t count;
    crowd_id = rt_whereis("crowd");
    switch (draw(5)) {
    case 0:
        (void)rt_supervisor_spawn(crowd_id, NULL, NULL);
        break;
    case 1:
        slots[which].was_asked = true;
        (void)rt_supervisor_stop_child(mixed_id, id);
        break;
    case 2:
        (void)rt_supervisor_restart_child(mixed_id, id, NULL);
        break;
    case 3:
        (void)rt_group_send("crowd", 0, "crowd", 5, NULL);
        break;
    default:
        if (!RT_FAILED(rt_supervisor_which_children(mixed_id, info, SLOTS, &count))) {
            CHECK_EQ(count, SLOTS);
        }
        break;
    }
    note_deaths();
}

static void do_harm(void)
{
    rt_message msg;
    uint32_t ref;
    actor_id victim = slots[draw(SLOTS)].id;
    note_deaths();
    switch (draw(7)) {
    case 0:
        (void)rt_actor_kill(victim);
        break;
    case 1:
        write_letter(SLOTS, ORDER_CRASH);
        break;
    case 2:
        write_letter(SLOTS, ORDER_END);
        break;
    case 3:
        for (unsigned i = 0; i < 12; i++) {
            write_letter(SLOTS, ORDER_SPREAD);
        }
        break;
    case 4:
        if (!RT_FAILED(rt_monitor(victim, &ref))) {
            watches_made++;
        }
        break;
    case 5:
        if (draw(12) == 0) {
            (void)rt_actor_kill(rt_whereis(draw(2) == 0 ? "mixed" : "crowd"));
        }
        break;
    default:
        ask_supervisor();
        break;
    }
    while (!RT_FAILED(rt_ipc_recv(&msg, (int32_t)draw(4)))) {
        watches_told += rt_is_exit_msg(&msg);
    }
    note_deaths();
}

/* After a quiet while everybody is where the tree says. */
static void check_calm(void)
{
    rt_message msg;
    rt_child_info info[SLOTS];
    size_t count;
    while (!RT_FAILED(rt_ipc_recv(&msg, 500))) {
        watches_told += rt_is_exit_msg(&msg);
    }
    note_deaths();
    if (!rt_actor_alive(root_id)) {
        return; /* it gave up, and nobody lives */
    }
    actor_id mixed_id = rt_whereis("mixed");
    CHECK(mixed_id != ACTOR_ID_INVALID);
    CHECK_OK(rt_supervisor_which_children(mixed_id, info, SLOTS, &count));
    CHECK_EQ(count, SLOTS);
    for (size_t i = 0; i < SLOTS; i++) {
        bool may_rest = slots[i].was_asked || slot_specs[i].restart == RT_TRANSIENT;
        CHECK(info[i].state == RT_CHILD_RUNNING || (may_rest && info[i].state == RT_CHILD_STOPPED));
        CHECK_EQ(slots[i].lives, info[i].state == RT_CHILD_RUNNING);
        if (info[i].state == RT_CHILD_RUNNING) {
            CHECK_EQ(info[i].actor, slots[i].id);
        }
    }
}

static void check_ledger(void)
{
    struct rti_sched *sched = rti_worker_current()->sched;
    struct rti_behaviours *behaviours = rti_behaviours_at(sched);
    struct rti_supervisors *supervisors = sched->modules[RTI_MODULE_SUPERVISOR];
    struct rti_groups *groups = sched->modules[RTI_MODULE_GROUP];
    struct rti_heaps *heaps = sched->modules[RTI_MODULE_HEAP];
    struct rti_blobs *blobs = rti_blobs_at(sched);
    rti_behaviours_audit(behaviours);
    rti_blobs_audit(blobs);
    CHECK_EQ(behaviours->live, 0);
    CHECK_EQ(behaviours->kept_count, 0);
    CHECK_EQ(rti_cells_in_use(&behaviours->cells), 0);
    CHECK_EQ(rti_pool_in_use(&supervisors->pool), 0);
    CHECK_EQ(rti_pool_in_use(&supervisors->children), 0);
    CHECK_EQ(rti_pool_in_use(&groups->members), 0);
    CHECK_EQ(rti_arena_stats(&heaps->arena).used_count, 0);
    CHECK_EQ(blobs->names.used_count, 0);
    CHECK_EQ(rti_actors_of(rti_worker_current())->kept_count, 0);
    CHECK_EQ(rti_actors_count(rti_actors_of(rti_worker_current())), 1);
}

static void storm(void *arg)
{
    rt_message msg;
    (void)arg;
    is_calm = false;
    letter_numbers = watches_made = watches_told = crowd_lives = 0;
    grow();
    for (unsigned i = 0; i < STEPS && rt_actor_alive(root_id); i++) {
        do_harm();
    }
    is_calm = true;
    check_calm();
    if (draw(2) == 0) {
        rt_status status = rt_supervisor_stop(root_id, -1);
        CHECK(!RT_FAILED(status) || status.code == RT_ERR_INVALID);
    } else {
        (void)rt_actor_kill(root_id);
    }
    while (!RT_FAILED(rt_ipc_recv(&msg, 500))) {
        watches_told += rt_is_exit_msg(&msg);
    }
    CHECK_EQ(watches_told, watches_made);
    CHECK_EQ(crowd_lives, 0);
    check_ledger();
    rt_exit();
}

TEST_SEEDED(sim_supervised_actors_of_both_kinds_survive_storms)
{
    rt_sim_config config = {.seed = test_seed()};
    CHECK_OK(rt_sim_run(&config, storm, NULL));
}
