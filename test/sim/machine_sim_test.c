/* SPDX-License-Identifier: Apache-2.0 */
/* Three loops of machines that do everything to each other at random, from one seed: submit, to the
 * living, the dead and the platform; answer at once or later; ring; cancel; start timers;
 * intercept, forward and pass; make children and close them. The loops are turned in any order, so
 * a leg may lie in an inbox for long. What must hold whatever happens:
 *
 *   - every op is answered exactly once, and nobody touches its memory afterwards (it is poisoned)
 *   - ops of one machine to another arrive in the order submitted
 *   - a ring is of an op that is submitted, and what was written before it is there
 *   - children close before their parents, and at the end everything is closed */
#define RTI_MODULE "machine_sim_test"
#include "base/rng.h"
#include "machine/loop.h"
#include "port/sim/port_sim.h"
#include "support/test.h"

#define LOOPS        3
#define MACHINES_MAX 40 /* ever made, the roots included */
#define OPS          6  /* of each machine */
#define STEPS        500

enum { ASK = RT_OP_USER, STAND, DETOUR, CODES_END };

struct errand {
    rt_timer_op timer; /* first; ops of other codes use its base only */
    uint32_t from;     /* serials */
    uint32_t to;
    uint64_t number;  /* of those from `from` to `to` */
    uint32_t written; /* by the target, before it rings */
    uint32_t rung;    /* the same, as told by the ring */
    uint32_t submits;
    uint32_t answers;
};

struct body {
    rt_machine machine; /* first */
    uint32_t serial;
    uint32_t children;
    bool is_closed;
    struct errand errands[OPS];
};

static struct rti_port_sim sim;
static struct rti_rng rng;
static rt_loop loops[LOOPS];
static rt_loop *pointers[LOOPS];
static rt_loop_group group;
static rt_machine_slot slots[LOOPS][16];
static struct body bodies[MACHINES_MAX];
static uint32_t body_count;
static uint64_t sent[MACHINES_MAX][MACHINES_MAX];
static uint64_t heard[MACHINES_MAX][MACHINES_MAX];
static bool is_quiet;
static uint64_t counts[8]; /* what happened, to show that it does */

enum { DID_ANSWER, DID_CANCEL, DID_RING, DID_DETOUR, DID_CLOSE, DID_TIMER, DID_DEAD, DID_LATE };

static uint32_t draw(uint32_t below)
{
    return (uint32_t)rti_rng_below(&rng, below);
}

static void body_tick(rt_machine *machine, rt_time now);

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
    }
}

static const rt_machine_config body_config = {.tick = body_tick, .on_closed = body_closed};

static struct body *body_new(void)
{
    struct body *body = &bodies[body_count];
    *body = (struct body){.serial = body_count++};
    return body;
}

static void submit_one(struct body *me)
{
    struct errand *errand = &me->errands[draw(OPS)];
    if (errand->submits != errand->answers || rt_machine_is_closing(&me->machine)) {
        return;
    }
    uint32_t to = draw(body_count);
    rt_op *op = &errand->timer.base;
    uint32_t kind = draw(8);
    rt_op_init(op, kind == 0 ? (uint32_t)RT_OP_TIMER : ASK + draw(CODES_END - ASK));
    if (kind == 1) {
        errand->timer.base.code = RT_OP_KNOWN_COUNT; /* the platform does not know it */
    } else if (kind > 1) {
        op->destination = bodies[to].machine.id;
        counts[DID_DEAD] += bodies[to].is_closed;
    }
    errand->timer.deadline = sim.now_ns + draw(2000);
    errand->from = me->serial;
    errand->to = to;
    errand->number = ++sent[me->serial][to];
    errand->written = 0;
    errand->rung = 0;
    errand->submits++;
    CHECK_OK(rt_op_submit(&me->machine, op));
}

static void take_completions(struct body *me)
{
    rt_op *op;
    while ((op = rt_machine_next(&me->machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        struct errand *errand = (struct errand *)op;
        CHECK(errand >= me->errands && errand < me->errands + OPS);
        errand->answers++;
        CHECK_EQ(errand->submits, errand->answers);
        counts[DID_CANCEL] += op->status == RT_ERR_CANCELLED;
        counts[DID_TIMER] += op->code == RT_OP_TIMER && op->status == RT_OK;
        CHECK(op->code != RT_OP_TIMER || op->status != RT_OK ||
              errand->timer.deadline <= sim.now_ns);
        memset(&errand->timer, 0xA5, sizeof(errand->timer));
    }
    while ((op = rt_machine_next(&me->machine, RT_QUEUE_NOTIFICATIONS)) != NULL) {
        struct errand *errand = (struct errand *)op;
        CHECK_EQ(errand->submits, errand->answers + 1);
        CHECK(errand->written > errand->rung);
        errand->rung = errand->written;
        counts[DID_RING]++;
    }
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
            rt_op_complete(&me->machine, op, RT_OK, 1);
        }
    }
    while ((op = rt_machine_next(&me->machine, RT_QUEUE_CANCELLATIONS)) != NULL) {
        if (draw(2) == 0) {
            rt_op_complete(&me->machine, op, RT_ERR_CANCELLED, 0);
        }
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
    if (op == NULL) {
        return;
    }
    struct errand *errand = (struct errand *)op;
    if (op->code == STAND && draw(3) != 0) {
        errand->written++;
        rt_op_ring(&me->machine, op);
    } else if (rti_travel_of(op)->interceptor == &me->machine && draw(2) == 0) {
        rt_machine_forward(&me->machine, op);
    } else {
        counts[DID_LATE]++;
        rt_op_complete(&me->machine, op, draw(2) == 0 ? RT_OK : RT_ERR_IO, 2);
    }
}

static void cancel_one(struct body *me)
{
    struct errand *errand = &me->errands[draw(OPS)];
    if (errand->submits != errand->answers) {
        (void)rt_op_cancel(&me->machine, &errand->timer.base);
    }
}

static void make_child(struct body *me)
{
    if (body_count == MACHINES_MAX || rt_machine_is_closing(&me->machine)) {
        return;
    }
    struct body *child = body_new();
    rt_status status = rt_machine_init_child(&me->machine, &child->machine, &body_config);
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
}

static void start(void)
{
    rti_rng_init(&rng, test_seed());
    rti_port_sim_init(&sim, test_seed(), 1, NULL);
    for (uint32_t i = 0; i < LOOPS; i++) {
        pointers[i] = &loops[i];
    }
    rt_loop_group_init(&group, pointers, LOOPS);
    for (uint32_t i = 0; i < LOOPS; i++) {
        const rt_loop_config config = {.port = &sim.port,
                                       .group = &group,
                                       .thread_id = i,
                                       .app = &body_new()->machine,
                                       .app_config = body_config,
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
    CHECK(submitted > 0);
    for (uint32_t i = 0; i < body_count; i++) {
        CHECK(bodies[i].is_closed);
    }
}

TEST_SEEDED(machines_answer_every_op_once_keep_the_order_and_leak_nothing)
{
    start();
    for (uint32_t i = 0; i < STEPS; i++) {
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
    for (unsigned i = 0; i < 8; i++) {
        printf("%" PRIu64 " ", counts[i]);
    }
    printf("\n");
}
