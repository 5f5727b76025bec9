/* SPDX-License-Identifier: Apache-2.0 */
/* Three loops of machines that do everything to each other at random, from one seed: submit, to the
 * living, the dead and the platform; answer at once or later; ring; push into channels; cancel;
 * start timers; intercept, forward, pass, translate and gather; make children and close them. The
 * loops are turned in any order, so a leg may lie in an inbox for long. What must hold whatever
 * happens:
 *
 *   - every op is answered exactly once, and nobody touches its memory afterwards: it is poisoned,
 *     and the poison is still whole when the memory is used again or its machine ends
 *   - ops of one machine to another arrive in the order submitted, and their answers in the order
 *     given, but for those that were asked to be cancelled
 *   - a ring is of an op that is submitted, and what was written before it is there; a channel
 *     loses nothing and keeps its order, to the last entry before its end
 *   - children close before their parents, and at the end everything is closed
 *
 * A process plays WORLDS worlds, each from a seed of its own, one after the other; 2,000 processes
 * make 100,000 worlds.
 *
 * Seeds: 2000 */
#define RTI_MODULE "machine_sim_test"
#include "base/rng.h"
#include "machine/loop.h"
#include "port/sim/port_sim.h"
#include "support/test.h"

#define LOOPS        3
#define WORLDS       50
#define MACHINES_MAX 40 /* ever made, the roots included */
#define OPS          6  /* of each machine */
#define PARTS        3  /* of them may be parts of one gathering */
#define STEPS_MAX    300
#define ENTRIES      4 /* in a channel */
#define POISON       0xA5

enum { ASK = RT_OP_USER, STAND, DETOUR, CODES_END };

/* What an op is, whatever it asks. */
union any_op {
    rt_op base;
    rt_timer_op timer;
    rt_io_op io;
    rt_channel_op channel;
};

struct errand {
    union any_op op; /* first */
    uint32_t from;   /* serials */
    uint32_t to;
    uint64_t number;   /* of those from `from` to `to` */
    uint64_t answered; /* of the answers from `to` to `from`; 0: `to` did not answer it */
    uint32_t written;  /* by the target, before it rings */
    uint32_t rung;     /* the same, as told by the ring */
    uint32_t submits;
    uint32_t answers;
    bool is_part; /* of its machine's gathering */
    rt_spsc_queue queue;
    uint32_t entries[ENTRIES];
};

struct body {
    rt_machine machine; /* first */
    uint32_t serial;
    uint32_t children;
    bool is_closed;
    rt_gather gather;
    bool is_gathering;
    struct errand errands[OPS];
};

static struct rti_port_sim sim;
static struct rti_rng rng;
static unsigned char poison[sizeof(union any_op)];
static rt_loop loops[LOOPS];
static rt_loop *pointers[LOOPS];
static rt_loop_group group;
static rt_machine_slot slots[LOOPS][16];
static struct body bodies[MACHINES_MAX];
static uint32_t body_count;
static uint64_t sent[MACHINES_MAX][MACHINES_MAX];
static uint64_t heard[MACHINES_MAX][MACHINES_MAX];
static uint64_t answered[MACHINES_MAX][MACHINES_MAX];
static uint64_t told[MACHINES_MAX][MACHINES_MAX];
static bool is_quiet;
/* What happened, to show that it does. */
#define DEEDS(X)                                                                                   \
    X(ANSWER)                                                                                      \
    X(CANCEL)                                                                                      \
    X(RING)                                                                                        \
    X(DETOUR)                                                                                      \
    X(CLOSE)                                                                                       \
    X(TIMER)                                                                                       \
    X(DEAD)                                                                                        \
    X(LATE)                                                                                        \
    X(WORK)                                                                                        \
    X(UNKNOWN)                                                                                     \
    X(ENTRY)                                                                                       \
    X(TRANSLATION)                                                                                 \
    X(GATHERING)                                                                                   \
    X(FAREWELL)

#define DEED_ENUM(name) DID_##name,
#define DEED_NAME(name) #name,
enum { DEEDS(DEED_ENUM) DEEDS_COUNT };
static const char *const deed_names[] = {DEEDS(DEED_NAME)};
static uint64_t counts[DEEDS_COUNT];

static uint32_t draw(uint32_t below)
{
    return (uint32_t)rti_rng_below(&rng, below);
}

static void body_tick(rt_machine *machine, rt_time now);

/* Nobody has written into the memory of an op that was answered. */
static void check_poison(const struct errand *errand)
{
    CHECK(errand->answers == 0 || memcmp(&errand->op, poison, sizeof(poison)) == 0);
}

static void body_closed(rt_machine *machine)
{
    struct body *body = (struct body *)machine;
    CHECK(!body->is_closed);
    CHECK_EQ(body->children, 0);
    body->is_closed = true;
    if (machine->parent != NULL) {
        ((struct body *)machine->parent)->children--;
    }
    for (unsigned i = 0; i < OPS; i++) {
        CHECK_EQ(body->errands[i].submits, body->errands[i].answers);
        check_poison(&body->errands[i]);
    }
}

static rt_machine_config body_config(void)
{
    return (rt_machine_config){
        .tick = body_tick, .on_closed = body_closed, .answers_on_close = draw(4) == 0};
}

static struct body *body_new(void)
{
    struct body *body = &bodies[body_count];
    memset(body, 0, sizeof(*body));
    body->serial = body_count++;
    return body;
}

/* ---- asking ---- */

/* An errand that is not under way; NULL if the one drawn is. */
static struct errand *errand_draw(struct body *me)
{
    struct errand *errand = &me->errands[draw(OPS)];
    if (errand->submits != errand->answers || rt_machine_is_closing(&me->machine)) {
        return NULL;
    }
    check_poison(errand);
    return errand;
}

/* Makes it an op of `code` for the machine `to`, which is only a number if the code is not ours. */
static rt_op *errand_make(struct body *me, struct errand *errand, uint32_t code, uint32_t to)
{
    rt_op_init(&errand->op.base, code);
    errand->from = me->serial;
    errand->to = to;
    errand->number = ++sent[me->serial][to];
    errand->answered = 0;
    errand->written = 0;
    errand->rung = 0;
    errand->is_part = false;
    errand->submits++;
    return &errand->op.base;
}

static rt_op *errand_for_machine(struct body *me, struct errand *errand, uint32_t code)
{
    uint32_t to = draw(body_count);
    rt_op *op = errand_make(me, errand, code, to);
    op->destination = bodies[to].machine.id;
    counts[DID_DEAD] += bodies[to].is_closed;
    if (code == RT_OP_CHANNEL) {
        CHECK_OK(
            rt_spsc_init(&errand->queue, errand->entries, sizeof(errand->entries[0]), ENTRIES));
        errand->op.channel.queue = &errand->queue;
    }
    return op;
}

static int64_t add_one(void *arg)
{
    ++*(uint64_t *)arg;
    return 1;
}

/* An op for the platform or for the loop. */
static rt_op *errand_for_platform(struct body *me, struct errand *errand)
{
    static const uint32_t codes[] = {RT_OP_TIMER, RT_OP_NOP, RT_OP_WORK, RT_OP_KNOWN_COUNT};
    uint32_t code = codes[draw(4)];
    rt_op *op = errand_make(me, errand, code, me->serial);
    if (code == RT_OP_TIMER) {
        errand->op.timer.deadline = sim.now_ns + draw(2000);
    } else if (code == RT_OP_WORK) {
        errand->op.io.work = add_one;
        errand->op.io.arg = &counts[DID_WORK];
    }
    if (code != RT_OP_TIMER && draw(2) == 0) {
        op->destination = rt_loop_platform(&loops[draw(LOOPS)]);
    }
    return op;
}

static uint32_t draw_code(void)
{
    static const uint32_t codes[] = {ASK, STAND, DETOUR, RT_OP_CHANNEL};
    return codes[draw(4)];
}

static void submit_one(struct body *me)
{
    struct errand *errand = errand_draw(me);
    if (errand == NULL) {
        return;
    }
    bool is_ours = draw(4) != 0;
    rt_op *op =
        is_ours ? errand_for_machine(me, errand, draw_code()) : errand_for_platform(me, errand);
    CHECK_OK(rt_op_submit(&me->machine, op));
}

static void cancel_one(struct body *me)
{
    struct errand *errand = &me->errands[draw(OPS)];
    if (errand->submits != errand->answers) {
        (void)rt_op_cancel(&me->machine, &errand->op.base);
    }
}

/* ---- being answered ---- */

static void take_entries(struct errand *errand)
{
    uint32_t entry;
    while (rt_spsc_pop(&errand->queue, &entry)) {
        CHECK_EQ(entry, ++errand->rung);
        counts[DID_ENTRY]++;
    }
}

static void check_answer(struct errand *errand)
{
    rt_op *op = &errand->op.base;
    counts[DID_CANCEL] += op->status == RT_ERR_CANCELLED;
    counts[DID_UNKNOWN] += op->code == RT_OP_KNOWN_COUNT && op->status == RT_ERR_UNSUPPORTED;
    if (op->code == RT_OP_TIMER && op->status == RT_OK) {
        CHECK(errand->op.timer.deadline <= sim.now_ns);
        counts[DID_TIMER]++;
    }
    if (op->code == RT_OP_CHANNEL) {
        take_entries(errand);
        CHECK_EQ(errand->rung, errand->written);
    }
    /* An answer that crossed a wish to cancel has waited for it; a machine that closes wishes so of
     * all its ops. Every other answer keeps its place. */
    if (errand->answered != 0 && !rti_travel_of(op)->is_cancel_sent) {
        CHECK(errand->answered > told[errand->to][errand->from]);
        told[errand->to][errand->from] = errand->answered;
    }
}

static void take_completions(struct body *me)
{
    rt_op *op;
    while ((op = rt_machine_next(&me->machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        struct errand *errand = (struct errand *)op;
        CHECK(errand >= me->errands && errand < me->errands + OPS);
        errand->answers++;
        CHECK_EQ(errand->submits, errand->answers);
        check_answer(errand);
        if (errand->is_part) {
            me->is_gathering = !rt_gather_part(&me->machine, &me->gather, op);
        } else {
            (void)rt_op_answer_origin(&me->machine, op);
        }
        memcpy(&errand->op, poison, sizeof(poison));
    }
    while ((op = rt_machine_next(&me->machine, RT_QUEUE_NOTIFICATIONS)) != NULL) {
        struct errand *errand = (struct errand *)op;
        CHECK_EQ(errand->submits, errand->answers + 1);
        counts[DID_RING]++;
        if (op->code == RT_OP_CHANNEL) {
            take_entries(errand);
        } else {
            CHECK(errand->written > errand->rung);
            errand->rung = errand->written;
        }
    }
}

/* ---- answering ---- */

static bool is_gathered(struct body *me, const rt_op *op)
{
    return me->is_gathering && me->gather.whole == op;
}

/* Answers an op that it holds and does not gather parts for. */
static void answer(struct body *me, rt_op *op, rt_status_code status)
{
    struct errand *errand = (struct errand *)op;
    CHECK(!is_gathered(me, op));
    if (rti_travel_of(op)->interceptor == NULL) {
        errand->answered = ++answered[me->serial][errand->from];
    }
    rt_op_complete(&me->machine, op, status, 1);
}

static void take_submissions(struct body *me)
{
    rt_op *op;
    while ((op = rt_machine_next(&me->machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        struct errand *errand = (struct errand *)op;
        CHECK_EQ(errand->to, me->serial);
        if (op->code != DETOUR) {
            /* A parent may keep those for itself and send them later. */
            CHECK(errand->number > heard[errand->from][errand->to]);
            heard[errand->from][errand->to] = errand->number;
        }
        if (draw(3) == 0) {
            counts[DID_ANSWER]++;
            answer(me, op, RT_OK);
        }
    }
    while ((op = rt_machine_next(&me->machine, RT_QUEUE_CANCELLATIONS)) != NULL) {
        if (is_gathered(me, op)) {
            continue;
        }
        if (draw(2) == 0) {
            answer(me, op, RT_ERR_CANCELLED);
        } else if (op->target_data != NULL) {
            (void)rt_op_cancel(&me->machine, op->target_data);
        }
    }
}

/* Does what the held op asks by asking somebody else. */
static void translate_one(struct body *me, rt_op *held)
{
    struct errand *errand = errand_draw(me);
    if (errand != NULL) {
        counts[DID_TRANSLATION]++;
        CHECK_OK(rt_op_translate(&me->machine, held, errand_for_machine(me, errand, draw_code())));
    }
}

static void gather_some(struct body *me, rt_op *held)
{
    if (me->is_gathering || rt_machine_is_closing(&me->machine)) {
        return;
    }
    counts[DID_GATHERING]++;
    me->is_gathering = true;
    rt_gather_begin(&me->gather, held);
    for (uint32_t i = draw(PARTS + 1); i > 0; i--) {
        struct errand *errand = errand_draw(me);
        if (errand != NULL) {
            rt_op *part = errand_for_machine(me, errand, ASK);
            errand->is_part = true;
            CHECK_OK(rt_gather_add(&me->machine, &me->gather, part));
        }
    }
    me->is_gathering = !rt_gather_end(&me->machine, &me->gather);
}

static void ring_one(struct body *me, rt_op *op)
{
    struct errand *errand = (struct errand *)op;
    uint32_t next = errand->written + 1;
    if (op->code == STAND) {
        errand->written = next;
        rt_op_ring(&me->machine, op);
    } else if (rt_channel_op_push(&me->machine, &errand->op.channel, &next)) {
        errand->written = next;
    }
}

/* Does something to one of the ops that it holds. */
static void work_one(struct body *me)
{
    uint32_t skip = draw(4);
    rt_op *op = rt_machine_held(&me->machine, NULL);
    while (op != NULL && skip-- > 0) {
        op = rt_machine_held(&me->machine, op);
    }
    if (op == NULL || is_gathered(me, op)) {
        return;
    }
    bool is_standing = op->code == STAND || op->code == RT_OP_CHANNEL;
    bool is_intercepted = rti_travel_of(op)->interceptor == &me->machine;
    uint32_t what = draw(8);
    if (is_standing && !is_intercepted && what < 5) {
        ring_one(me, op);
    } else if (is_intercepted && op->target_data == NULL && what < 4) {
        rt_machine_forward(&me->machine, op);
    } else if (op->target_data == NULL && what == 5) {
        translate_one(me, op);
    } else if (op->target_data == NULL && what == 6) {
        gather_some(me, op);
    } else {
        counts[DID_LATE]++;
        answer(me, op, draw(2) == 0 ? RT_OK : RT_ERR_IO);
    }
}

/* A machine that answers what it holds when it closes has to do so some time. */
static void say_farewell(struct body *me)
{
    rt_op *op = rt_machine_held(&me->machine, NULL);
    while (op != NULL && is_gathered(me, op)) {
        op = rt_machine_held(&me->machine, op);
    }
    if (op != NULL) {
        counts[DID_FAREWELL]++;
        answer(me, op, RT_ERR_CLOSED);
        rt_machine_wake(&me->machine);
    }
}

/* ---- families ---- */

static void make_child(struct body *me)
{
    if (body_count == MACHINES_MAX || rt_machine_is_closing(&me->machine)) {
        return;
    }
    struct body *child = body_new();
    rt_machine_config config = body_config();
    rt_status status = rt_machine_init_child(&me->machine, &child->machine, &config);
    if (RT_FAILED(status)) {
        CHECK_EQ(status.code, RT_ERR_RESOURCE_EXHAUSTED);
        body_count--;
        return;
    }
    me->children++;
}

static void close_one(void)
{
    struct body *body = &bodies[draw(body_count)];
    if (body->machine.parent != NULL && !body->is_closed) {
        counts[DID_CLOSE]++;
        rt_machine_close(&body->machine);
    }
}

static void hear_children(struct body *me)
{
    rt_machine *child;
    while ((child = rt_machine_next_child(&me->machine)) != NULL) {
        rt_op *op;
        while (draw(2) == 0 && (op = rt_machine_intercept(&me->machine, child)) != NULL) {
            if (op->code == DETOUR) {
                counts[DID_DETOUR]++;
            } else {
                rt_machine_forward(&me->machine, op);
            }
        }
        if (draw(2) == 0) {
            rt_machine_pass(&me->machine, child);
        }
    }
}

static void act(struct body *me)
{
    switch (draw(12)) {
    case 0:
        make_child(me);
        break;
    case 1:
    case 2:
        cancel_one(me);
        break;
    case 3:
    case 4:
    case 5:
        work_one(me);
        break;
    default:
        submit_one(me);
        break;
    }
}

static void body_tick(rt_machine *machine, rt_time now)
{
    struct body *me = (struct body *)machine;
    CHECK(!me->is_closed);
    CHECK_EQ(now, sim.now_ns);
    take_submissions(me);
    take_completions(me);
    hear_children(me);
    for (uint32_t i = draw(4); i > 0 && !is_quiet; i--) {
        act(me);
    }
    if (rt_machine_is_closing(machine)) {
        say_farewell(me);
    }
}

static void start(uint64_t seed)
{
    memset(poison, POISON, sizeof(poison));
    rti_rng_init(&rng, seed);
    rti_port_sim_init(&sim, seed, 1, NULL);
    body_count = 0;
    is_quiet = false;
    memset(sent, 0, sizeof(sent));
    memset(heard, 0, sizeof(heard));
    memset(answered, 0, sizeof(answered));
    memset(told, 0, sizeof(told));
    for (uint32_t i = 0; i < LOOPS; i++) {
        pointers[i] = &loops[i];
    }
    rt_loop_group_init(&group, pointers, LOOPS);
    for (uint32_t i = 0; i < LOOPS; i++) {
        const rt_loop_config config = {.port = &sim.port,
                                       .group = &group,
                                       .thread_id = i,
                                       .app = &body_new()->machine,
                                       .app_config = body_config(),
                                       .slots = slots[i],
                                       .slots_count = 16};
        CHECK_OK(rt_loop_init(&loops[i], &config));
    }
}

static void turn_one(void)
{
    struct body *body = &bodies[draw(body_count)];
    if (!body->is_closed && draw(2) == 0) {
        rt_machine_wake(&body->machine);
    }
    if (draw(8) == 0) {
        sim.now_ns += draw(1000);
    }
    if (draw(20) == 0) {
        close_one();
    }
    (void)rt_loop_turn(&loops[draw(LOOPS)], 0);
}

/* Sums up what all loops have done: nothing is lost on the way. */
static void check_ledger(void)
{
    uint64_t submitted = 0;
    uint64_t completed = 0;
    for (uint32_t i = 0; i < LOOPS; i++) {
        rt_loop_stats stats;
        rt_loop_get_stats(&loops[i], &stats);
        submitted += stats.submitted;
        completed += stats.completed;
        CHECK_EQ(stats.machines, 0);
        CHECK_EQ(rti_inbox_audit(&rti_loop_of(&loops[i])->inbox), 0);
    }
    CHECK_EQ(submitted, completed);
    for (uint32_t i = 0; i < body_count; i++) {
        CHECK(bodies[i].is_closed);
    }
}

static void play(uint64_t seed)
{
    start(seed);
    for (uint32_t i = 1 + draw(STEPS_MAX); i > 0; i--) {
        turn_one();
    }
    is_quiet = draw(2) == 0; /* or they go on while they are closed */
    for (uint32_t i = 0; i < LOOPS; i++) {
        rt_loop_close(&loops[i]);
        for (uint32_t k = draw(20); k > 0; k--) {
            (void)rt_loop_turn(&loops[draw(LOOPS)], 0);
        }
    }
    for (uint32_t i = 0; !rti_loop_is_over(rti_loop_of(&loops[0])); i++) {
        CHECK(i < 10000);
        (void)rt_loop_turn(&loops[draw(LOOPS)], 0);
    }
    check_ledger();
    for (uint32_t i = 0; i < LOOPS; i++) {
        CHECK(rti_loop_is_over(rti_loop_of(&loops[i])));
        rt_loop_deinit(&loops[i]);
    }
}

TEST_SEEDED(machines_answer_every_op_once_keep_the_order_and_leak_nothing)
{
    for (uint64_t i = 0; i < WORLDS; i++) {
        play(test_seed() * WORLDS + i);
    }
    for (unsigned i = 0; i < DEEDS_COUNT; i++) {
        if (counts[i] == 0) {
            test_fail(__FILE__, __LINE__, "in %d worlds nothing did this: %s", WORLDS,
                      deed_names[i]);
        }
    }
}
