/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours with every kind of limit send each other letters of every length, hand them on, share
 * blobs, set trace contexts, begin and stop a journal, end themselves and each other, and compute,
 * while actors with a stack do the same from outside and start who is missing. What one life sends
 * to another comes in its order, complete where nothing may be dropped, with the bytes and the
 * context that it was sent with. When all have calmed down nobody is muted and no letter waits; at
 * the end nothing is held.
 *
 * Seeds: 20 */
#define _GNU_SOURCE
#define RTI_MODULE "letters_sim_test"
#include <orrery/rt.h>
#include <stdlib.h>

#include "actor/behaviour.h"
#include "actor/blob.h"
#include "base/atomic.h"
#include "runtime/runtime.h"
#include "sched/crew.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define PLACES    9
#define OUTSIDERS 2
#define LIVES     256
#define BUDGET    1500 /* sends of a world */
#define EVENTS    4096

/* The id of a letter: what it is, and its number from this life to that. */
enum kind { KIND_LETTER, KIND_HAND_ON, KIND_HANDED_ON, KIND_BLOB };
#define ID_OF(kind, number) ((uint32_t)(number) << 3 | (uint32_t)(kind))

struct life {
    uint32_t place;
    bool is_outside; /* it has a stack */
    bool is_over;    /* it has ended itself, and takes no letter any more */
    rti_atomic_u32 id;
    uint64_t dice;
    uint16_t sent[LIVES]; /* to each other life: the number of the last letter */
    uint16_t come[LIVES]; /* from each other life: the same */
};

static struct {
    struct life lives[LIVES];
    rti_atomic_u32 count;         /* of lives */
    rti_atomic_u32 place[PLACES]; /* who lives there: its number, LIVES for nobody */
    rti_atomic_u32 budget;        /* sends that are left */
    rti_atomic_u32 taken;
    rti_atomic_u32 solo; /* letters that were taken alone */
    rti_atomic_u32 left; /* outsiders that have not ended */
    bool is_traced;
    bool is_written;
    bool is_cut; /* the run ends in the middle */
} play;

static uint64_t solo; /* of all worlds together */
static rt_journal journal;
static uint64_t journal_ring[RT_JOURNAL_BYTES(EVENTS) / 8];

static uint64_t draw(struct life *self, uint64_t n)
{
    self->dice = self->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (self->dice >> 33) % n;
}

static uint32_t number_of(const struct life *life)
{
    return (uint32_t)(life - play.lives);
}

static actor_id id_of(const struct life *life)
{
    return rti_u32_load_relaxed(&life->id);
}

/* Whose id this is; NULL: nobody's. */
static struct life *life_of(actor_id id)
{
    uint32_t count = rti_u32_load_acquire(&play.count);
    for (uint32_t i = 0; i < count && i < LIVES; i++) {
        if (id_of(&play.lives[i]) == id) {
            return &play.lives[i];
        }
    }
    return NULL;
}

static unsigned char mark_here(void)
{
    return rt_trace_get().trace_id[0];
}

static const rt_behaviour_type *type_of(uint32_t place);

static bool is_lossless(uint32_t place)
{
    uint32_t high = type_of(place)->mailbox.high;
    return high == 0 || type_of(place)->mailbox.overflow == RT_OVERFLOW_MUTE ||
           type_of(place)->mailbox.overflow == RT_OVERFLOW_REJECT ||
           type_of(place)->mailbox.overflow == RT_OVERFLOW_KILL;
}

static struct life *anybody(struct life *self)
{
    uint32_t number = rti_u32_load_acquire(&play.place[draw(self, PLACES)]);
    return number >= LIVES ? NULL : &play.lives[number];
}

static bool may_send(void)
{
    uint32_t left = rti_u32_load_relaxed(&play.budget);
    do {
        if (left == 0) {
            return false;
        }
    } while (!rti_u32_cas_acqrel(&play.budget, &left, left - 1));
    return true;
}

static void expect(rt_status status)
{
    WITNESS(status.code == RT_OK || status.code == RT_ERR_INVALID || status.code == RT_ERR_FULL ||
            status.code == RT_ERR_NOMEM);
}

static void send_letter(struct life *self, struct life *to, enum kind kind)
{
    static const size_t lens[] = {0, 1, 8, 8, 8, 16, 16, 17, 24, 40, 41, RT_MAX_MESSAGE_SIZE};
    size_t len = lens[draw(self, sizeof(lens) / sizeof(lens[0]))];
    unsigned char bytes[RT_MAX_MESSAGE_SIZE];
    uint16_t number = (uint16_t)(self->sent[number_of(to)] + 1);
    memset(bytes, mark_here(), sizeof(bytes));
    for (size_t i = 1; i < len; i++) {
        bytes[i] = (unsigned char)(number + i);
    }
    uint16_t of_kind = kind == KIND_LETTER ? number : 0;
    if (kind == KIND_LETTER) {
        self->sent[number_of(to)] = number; /* it may be taken before the send returns */
    }
    rt_status status =
        rt_behaviour_send(id_of(to), ID_OF(kind, of_kind), len == 0 ? NULL : bytes, len);
    expect(status);
    if (RT_FAILED(status) && kind == KIND_LETTER) {
        self->sent[number_of(to)] = (uint16_t)(number - 1);
    }
}

static void send_blob(struct life *self, const struct life *to)
{
    rt_blob *blob;
    if (RT_FAILED(rt_blob_create(1 + draw(self, 200), &blob))) {
        return;
    }
    memset(rt_blob_bytes(blob), 'b', rt_blob_size(blob));
    expect(rt_blob_send(id_of(to), ID_OF(KIND_BLOB, 0), blob));
    if (draw(self, 4) != 0) {
        rt_blob_release(blob); /* else its end does */
    }
}

static void send_something(struct life *self)
{
    struct life *to = anybody(self);
    if (to == NULL || !may_send()) {
        return;
    }
    switch (draw(self, 40)) {
    case 0:
        for (uint64_t i = draw(self, 40); i > 0 && may_send(); i--) {
            send_letter(self, to, KIND_LETTER);
        }
        break;
    case 3:
    case 4:
        send_blob(self, to);
        break;
    case 1:
    case 2:
    case 5:
    case 6:
        send_letter(self, to, KIND_HAND_ON);
        break;
    default:
        send_letter(self, to, KIND_LETTER);
        break;
    }
}

static void set_context(struct life *self)
{
    struct rt_trace trace = {.trace_id = {(unsigned char)(1 + draw(self, 200))}, .span_id = {1}};
    CHECK_OK(rt_trace_set(draw(self, 2) == 0 ? NULL : &trace));
}

static void write_down(struct life *self)
{
    rt_status status = draw(self, 2) == 0 ? rt_journal_start(&journal) : rt_journal_stop(&journal);
    WITNESS(status.code == RT_OK || status.code == RT_ERR_STATE);
}

/* What is not a letter. */
static void do_something(struct life *self)
{
    struct life *other = anybody(self);
    switch (draw(self, 120)) {
    case 0:
        if (other != NULL) {
            (void)rt_actor_kill(id_of(other));
        }
        break;
    case 1:
        if (other != NULL) {
            rti_behaviour_ask_to_stop(rti_actors_of(rti_worker_current()), id_of(other));
        }
        break;
    case 2:
        if (!self->is_outside) {
            (void)rt_actor_kill(rt_self()); /* it may have been already */
            self->is_over = true;
        }
        break;
    case 3:
    case 4:
        if (play.is_traced) {
            set_context(self);
        }
        break;
    case 5:
        if (play.is_written) {
            write_down(self);
        }
        break;
    case 6:
        rt_reductions_add((uint32_t)draw(self, 2 * RT_REDUCTIONS));
        break;
    case 7:
        rti_virtual_sleep(draw(self, 200000));
        break;
    default:
        rti_virtual_compute();
        break;
    }
}

static void check_letter(struct life *self, const rt_behaviour_message *msg)
{
    const unsigned char *bytes = msg->data;
    const struct life *from = life_of(msg->sender);
    uint16_t number = (uint16_t)(msg->id >> 3);
    WITNESS(msg->len == 0 || bytes[0] == mark_here());
    if (number == 0) {
        return;
    }
    for (uint32_t i = 1; i < msg->len; i++) {
        WITNESS(bytes[i] == (unsigned char)(number + i));
    }
    WITNESS(from != NULL);
    uint16_t *come = &self->come[number_of(from)];
    WITNESS(is_lossless(self->place) ? number == *come + 1 : number > *come);
    *come = number;
}

static void take_blob(struct life *self, const rt_behaviour_message *msg)
{
    rt_blob *blob;
    if (draw(self, 3) == 0 || RT_FAILED(rt_blob_take_from(msg, &blob))) {
        return;
    }
    const char *bytes = rt_blob_data(blob);
    for (size_t i = 0; i < rt_blob_size(blob); i++) {
        WITNESS(bytes[i] == 'b');
    }
    if (draw(self, 2) == 0) {
        rt_blob_release(blob);
    }
}

static void take(void *state, const rt_behaviour_message *msg)
{
    struct life *self = *(struct life **)state;
    struct life *next = anybody(self);
    WITNESS(rt_self() == id_of(self) && !self->is_over);
    rti_u32_add_relaxed(&play.taken, 1);
    rti_u32_add_relaxed(&play.solo, rti_u32_load_relaxed(&rti_worker_current()->is_solo));
    if (msg->id % 8 == KIND_BLOB) {
        take_blob(self, msg);
    } else {
        check_letter(self, msg);
    }
    for (uint64_t i = draw(self, 3); i > 0; i--) {
        send_something(self);
    }
    if ((msg->id % 8 == KIND_HAND_ON || draw(self, 30) == 0) && next != NULL) {
        expect(rt_behaviour_forward(id_of(next), msg->id % 8 == KIND_BLOB
                                                     ? ID_OF(KIND_BLOB, 0)
                                                     : ID_OF(KIND_HANDED_ON, 0)));
    }
    do_something(self);
    for (uint64_t i = draw(self, 3); i > 0; i--) {
        send_something(self);
    }
    if (draw(self, 200) == 0) {
        CHECK_OK(rt_behaviour_end(RT_EXIT_CRASH));
        self->is_over = true;
    }
}

static void begin(void *state, void *arg)
{
    struct life *self = arg;
    *(struct life **)state = self;
    rti_u32_store_relaxed(&self->id, rt_self());
    send_something(self);
}

static void stop(void *state)
{
    struct life *self = *(struct life **)state;
    send_something(self);
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static void end(void *state, rt_exit_reason reason)
{
    struct life *self = *(struct life **)state;
    (void)reason;
    send_something(self);
}

#define TYPE(...)                                                                                  \
    {                                                                                              \
        .otherwise = take, .start = begin, .stop = stop, .end = end, .state_size = sizeof(void *), \
        .mailbox = {                                                                               \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
static const rt_behaviour_type types[PLACES] = {
    TYPE(.high = 0),
    TYPE(.high = 3, .low = 1, .overflow = RT_OVERFLOW_MUTE),
    TYPE(.high = 1, .overflow = RT_OVERFLOW_MUTE, .is_system = true),
    TYPE(.high = 1, .overflow = RT_OVERFLOW_MUTE),
    TYPE(.high = 5, .low = 4, .overflow = RT_OVERFLOW_MUTE),
    TYPE(.high = 4, .overflow = RT_OVERFLOW_REJECT),
    TYPE(.high = 2, .overflow = RT_OVERFLOW_DROP_NEW),
    TYPE(.high = 2, .overflow = RT_OVERFLOW_DROP_OLD),
    TYPE(.high = 6, .overflow = RT_OVERFLOW_KILL),
};

static const rt_behaviour_type *type_of(uint32_t place)
{
    return &types[place];
}

/* A new life; NULL if there were too many. */
static struct life *make_life(uint32_t place, uint64_t dice)
{
    uint32_t number = rti_u32_add_relaxed(&play.count, 1);
    if (number >= LIVES) {
        rti_u32_store_relaxed(&play.count, LIVES);
        return NULL;
    }
    struct life *life = &play.lives[number];
    life->place = place;
    life->dice = dice + number;
    return life;
}

/* Somebody lives in each place, if there were not too many already. */
static void fill_places(uint64_t dice)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        uint32_t number = rti_u32_load_acquire(&play.place[i]);
        if (number < LIVES && rt_actor_alive(id_of(&play.lives[number]))) {
            continue;
        }
        struct life *life = make_life(i, dice);
        if (life != NULL) {
            actor_id id = rt_behaviour_spawn(&types[i], life);
            WITNESS(id != ACTOR_ID_INVALID);
            rti_u32_store_relaxed(&life->id, id);
            rti_u32_store_release(&play.place[i], number_of(life));
        }
    }
}

/* Waits until nothing is taken any more: then nobody is muted, and no letter waits. */
static void await_calm(void)
{
    rt_mailbox_stats stats;
    uint32_t before = UINT32_MAX;
    while (before != rti_u32_load_relaxed(&play.taken)) {
        before = rti_u32_load_relaxed(&play.taken);
        CHECK_OK(rt_sleep(100 * RT_NS_PER_MS));
    }
    for (uint32_t i = 0; i < rti_u32_load_relaxed(&play.count); i++) {
        if (!RT_FAILED(rt_mailbox_stats_get(id_of(&play.lives[i]), &stats))) {
            WITNESS(!stats.is_muted && stats.depth == 0);
        }
    }
}

static void kill_all(void)
{
    for (uint32_t i = OUTSIDERS; i < rti_u32_load_relaxed(&play.count); i++) {
        (void)rt_actor_kill(id_of(&play.lives[i]));
    }
}

static void outsider(void *arg)
{
    struct life *self = arg;
    rti_u32_store_relaxed(&self->id, rt_self());
    while (rti_u32_load_relaxed(&play.budget) > 0) {
        if (self->place == 0) {
            fill_places(self->dice);
        }
        if (draw(self, 4) == 0) {
            rti_virtual_sleep(draw(self, 400000)); /* it may lose its station */
        }
        for (uint64_t i = draw(self, 6); i > 0; i--) {
            send_something(self);
        }
        if (draw(self, 2) == 0) {
            CHECK_OK(rt_sleep(draw(self, 5 * RT_NS_PER_MS)));
        }
        if (draw(self, 20) == 0) {
            do_something(self);
        }
    }
    if (rti_u32_sub_acqrel(&play.left, 1) == 1) {
        if (play.is_cut) {
            rt_shutdown();
        }
        await_calm();
        rt_status status = rt_journal_stop(&journal);
        WITNESS(status.code == RT_OK || status.code == RT_ERR_STATE);
        kill_all();
    }
    rt_exit();
}

static void program(uint64_t seed)
{
    rt_config config = {.workers = 1 + (uint32_t)(seed % 3)};
    memset(&play, 0, sizeof(play));
    play.is_traced = seed / 3 % 4 == 0;
    play.is_written = seed / 12 % 4 == 0;
    play.is_cut = seed / 48 % 3 == 0;
    rti_u32_store_relaxed(&play.budget, BUDGET);
    rti_u32_store_relaxed(&play.left, OUTSIDERS);
    CHECK_OK(rt_journal_init(&journal, journal_ring, sizeof(journal_ring)));
    CHECK_OK(rt_init_ex(&config));
    for (uint32_t i = 0; i < PLACES; i++) {
        rti_u32_store_relaxed(&play.place[i], LIVES);
    }
    for (uint32_t i = 0; i < OUTSIDERS; i++) {
        struct life *life = make_life(i, seed);
        life->is_outside = true;
        actor_id id = rt_spawn(outsider, life);
        WITNESS(id != ACTOR_ID_INVALID);
        rti_u32_store_relaxed(&life->id, id);
    }
    rt_run();
    WITNESS(rti_u32_load_relaxed(&play.left) == 0);
    if (!play.is_cut) { /* else the cleanup sees to it */
        WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
        WITNESS(rti_pool_in_use(&rti_blobs_at(&rti_runtime.sched)->holds) == 0);
    }
    rti_blobs_audit(rti_blobs_at(&rti_runtime.sched));
    solo += rti_u32_load_relaxed(&play.solo);
}

TEST_SEEDED(letters_sim_come_in_order_and_complete)
{
    worlds_play(program);
    CHECK(getenv("ORRERY_SEED") != NULL || solo > 0);
}
