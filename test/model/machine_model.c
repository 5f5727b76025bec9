/* SPDX-License-Identifier: Apache-2.0 */

/* What machines on two threads rely on, with the library's own words and queues: a cancel and an
 * answer that cross, a doorbell that rings while it is heard, an inbox whose loop goes to sleep
 * while something is put in, and the post of a loop that is hosted by an engine. */

#include "machine/inbox.h"
#include "machine/posted.h"

#include "port/explore/explore.h"
#include "port/linux/wake_word.h"

/* ---- the crossing ---- */

/* The initiator's loop and the target's, each with an inbox; the op is with the target. */
static rt_op op;
static struct rti_inbox to_target;
static struct rti_inbox to_initiator;
static unsigned answers; /* the initiator's */

static void setup(void)
{
    rti_travel_init(rti_travel_of(&op));
    rti_travel_begin(rti_travel_of(&op));
    rti_inbox_init(&to_target);
    rti_inbox_init(&to_initiator);
    explore_name(&rti_travel_of(&op)->crossing, "crossing");
    explore_name(&rti_travel_of(&op)->bell, "bell");
    explore_name(&to_target.queue.tail, "to_target");
    explore_name(&to_initiator.queue.tail, "to_initiator");
    answers = 0;
}

/* Takes the next leg. A visit that ends at its marker is no reason to spin: the next one may find
 * something that was there all the time. */
static struct rti_leg *await_leg(struct rti_inbox *inbox)
{
    for (;;) {
        bool had_marker = inbox->has_marker;
        struct rti_leg *leg = rti_inbox_next(inbox);
        if (leg != NULL) {
            return leg;
        }
        if (had_marker == inbox->has_marker) {
            rti_spin_hint();
        }
    }
}

/* Takes the answer; the op is freed then, which the race detector must not mind. */
static void receive_answer(void)
{
    struct rti_leg *leg = await_leg(&to_initiator);
    EXPLORE_ASSERT(leg == rti_leg_of(&op, RTI_LEG_OP));
    EXPLORE_ASSERT(leg->queue == RT_QUEUE_COMPLETIONS);
    answers++;
    RTI_PLAIN_WRITE(&op.result, sizeof op.result);
    RTI_PLAIN_WRITE(&op.target_data, sizeof op.target_data);
}

static void initiator_cancels(void)
{
    struct rti_travel *travel = rti_travel_of(&op);
    if (rti_crossing_ask(&travel->crossing)) {
        (void)rti_inbox_push(&to_target, &travel->legs[RTI_LEG_CANCEL]);
    }
    receive_answer();
}

static void send_answer(void)
{
    struct rti_leg *leg = rti_leg_of(&op, RTI_LEG_OP);
    leg->queue = RT_QUEUE_COMPLETIONS;
    (void)rti_inbox_push(&to_initiator, leg);
}

/* Answers on its own account, and then looks for what came: as rt_op_complete and
 * rti_machine_cancel_arrived do. */
static void target_answers(void)
{
    struct rti_travel *travel = rti_travel_of(&op);
    RTI_PLAIN_WRITE(&op.result, sizeof op.result);
    op.result = 7;
    bool has_arrived = rti_inbox_next(&to_target) != NULL;
    bool may_go = rti_crossing_answer(&travel->crossing) || has_arrived;
    if (may_go) {
        send_answer();
        return;
    }
    /* The wish is on its way: the answer waits for it. The op's memory is touched until then. */
    (void)await_leg(&to_target);
    RTI_PLAIN_WRITE(&op.target_data, sizeof op.target_data);
    send_answer();
}

static void check_crossing(void)
{
    EXPLORE_ASSERT(answers == 1);
    EXPLORE_ASSERT(rti_inbox_audit(&to_initiator) == 0);
    EXPLORE_ASSERT(rti_inbox_audit(&to_target) == 0);
    uint32_t word = rti_u32_load_relaxed(&rti_travel_of(&op)->crossing);
    EXPLORE_ASSERT(word == (RTI_CROSSING_ASKED | RTI_CROSSING_ANSWERED));
}

MODEL(machine_cancel_and_answer_that_cross_give_one_answer){
    .about = "one answer, and no leg is on its way when it is received",
    .setup = setup,
    .threads = {initiator_cancels, target_answers},
    .check = check_crossing,
};

/* ---- the doorbell ---- */

enum { RINGS = 3 };

static rti_atomic_u32 level; /* the shared memory: written by the target, relaxed */

static void setup_bell(void)
{
    setup();
    rti_u32_init(&level, 0);
    explore_name(&level, "level");
}

static void target_rings(void)
{
    struct rti_travel *travel = rti_travel_of(&op);
    for (uint32_t i = 1; i <= RINGS; i++) {
        rti_u32_store_relaxed(&level, i);
        if (rti_bell_ring(&travel->bell)) {
            (void)rti_inbox_push(&to_initiator, &travel->legs[RTI_LEG_BELL]);
        }
    }
}

/* Waits for a ring before each look; a ring that is lost leaves it waiting for ever. */
static void initiator_hears(void)
{
    struct rti_travel *travel = rti_travel_of(&op);
    uint32_t seen = 0;
    while (seen < RINGS) {
        struct rti_leg *leg = await_leg(&to_initiator);
        EXPLORE_ASSERT(leg == &travel->legs[RTI_LEG_BELL]);
        rti_bell_hear(&travel->bell);
        seen = rti_u32_load_relaxed(&level);
    }
}

MODEL(machine_doorbell_loses_no_ring){
    .about = "the target rings while the initiator hears; what was written last is seen",
    .setup = setup_bell,
    .threads = {target_rings, initiator_hears},
};

/* A ring and the end: the completion finds the ring already there. */
static void target_rings_and_answers(void)
{
    struct rti_travel *travel = rti_travel_of(&op);
    target_rings();
    EXPLORE_ASSERT(rti_crossing_answer(&travel->crossing));
    send_answer();
}

static void initiator_takes_all(void)
{
    struct rti_travel *travel = rti_travel_of(&op);
    bool has_leg = false;
    for (;;) {
        struct rti_leg *leg = await_leg(&to_initiator);
        if (leg == &travel->legs[RTI_LEG_OP]) {
            break;
        }
        EXPLORE_ASSERT(!has_leg);
        has_leg = true;
        if (explore_choose(2) == 1) {
            has_leg = false;
            rti_bell_hear(&travel->bell);
        }
    }
    /* As deliver_completion: rung means that the leg has come and was not heard. */
    EXPLORE_ASSERT((rti_u32_load_relaxed(&travel->bell) == 1) == has_leg);
    answers++;
}

static void check_bell_and_answer(void)
{
    EXPLORE_ASSERT(answers == 1);
    EXPLORE_ASSERT(rti_inbox_audit(&to_initiator) == 0);
}

MODEL(machine_completion_comes_after_the_rings){
    .about = "no ring is on its way when the completion is received",
    .setup = setup_bell,
    .threads = {target_rings_and_answers, initiator_takes_all},
    .check = check_bell_and_answer,
};

/* ---- the inbox of a loop that sleeps ---- */

enum { SENDERS = 2, SENDS = 2 };

static rt_op sent[SENDERS][SENDS];
static struct rti_wake_word wake;
static rti_atomic_u32 called;
static unsigned taken;

static void setup_inbox(void)
{
    rti_inbox_init(&to_target);
    rti_wake_word_init(&wake);
    rti_u32_init(&called, 0);
    explore_name(&to_target.queue.tail, "tail");
    explore_name(&wake.word, "wake");
    explore_name(&called, "called");
    taken = 0;
    for (unsigned i = 0; i < SENDERS * SENDS; i++) {
        rti_travel_init(rti_travel_of(&sent[i / SENDS][i % SENDS]));
    }
}

/* As route_remote and the port's wake. */
static void send(unsigned number)
{
    rt_op *one = &sent[explore_self()][number];
    RTI_PLAIN_WRITE(&one->result, sizeof one->result);
    one->result = 1;
    if (rti_inbox_push(&to_target, rti_leg_of(one, RTI_LEG_OP)) && rti_wake_word_call(&wake)) {
        (void)rti_u32_add_acqrel(&called, 1);
        explore_futex_wake(&called, 1, EXPLORE_SITE);
    }
}

static void send_one(void)
{
    send(0);
}

static void send_two(void)
{
    send(0);
    send(1);
}

/* As the port's wait: blocks if it may and nobody has called. */
static void port_wait(bool may_block)
{
    if (!may_block || !rti_wake_word_announce(&wake)) {
        (void)rti_wake_word_answer(&wake);
        return;
    }
    while (rti_u32_load_acquire(&called) == 0) {
        (void)explore_futex_wait(&called, 0, false, EXPLORE_SITE);
    }
    (void)rti_u32_exchange_acqrel(&called, 0);
    (void)rti_wake_word_answer(&wake);
}

static void loop_turns(unsigned count)
{
    while (taken < count) {
        bool is_idle = rti_inbox_try_idle(&to_target);
        port_wait(is_idle);
        struct rti_leg *leg;
        unsigned before = taken;
        bool had_marker = to_target.has_marker;
        while ((leg = rti_inbox_next(&to_target)) != NULL) {
            rt_op *one = rti_leg_op(leg);
            RTI_PLAIN_READ(&one->result, sizeof one->result);
            EXPLORE_ASSERT(one->result == 1);
            taken++;
        }
        if (!is_idle && taken == before && had_marker == to_target.has_marker) {
            rti_spin_hint();
        }
    }
}

static void take_two(void)
{
    loop_turns(2);
}

static void take_three(void)
{
    loop_turns(3);
}

static void check_inbox(void)
{
    EXPLORE_ASSERT(rti_inbox_audit(&to_target) == 0);
}

MODEL(machine_inbox_wakes_its_loop_for_two_of_one_sender){
    .about = "one sender, a loop that blocks whenever it may",
    .setup = setup_inbox,
    .threads = {send_two, take_two},
    .check = check_inbox,
    .spurious_wakes_max = 1,
};

MODEL(machine_inbox_wakes_its_loop_for_two_senders){
    .about = "two senders, one of them between the steps of its push",
    .setup = setup_inbox,
    .threads = {send_one, send_one, take_two},
    .check = check_inbox,
};

MODEL(machine_inbox_wakes_its_loop_for_three_of_two_senders){
    .about = "three ops of two senders",
    .setup = setup_inbox,
    .threads = {send_two, send_one, take_three},
    .check = check_inbox,
};

/* ---- the post of a hosted loop ---- */

static rti_atomic_u32 is_posted;
static rti_atomic_u32 is_close_asked;
static struct rti_mpsc posts;
static struct rti_mpsc_node post;
static bool is_post_queued; /* plain: who asks and is told true, and the worker, in turns */
static bool has_closed;

static void setup_posted(void)
{
    setup_inbox();
    rti_u32_init(&is_posted, 0);
    rti_u32_init(&is_close_asked, 0);
    rti_mpsc_init(&posts);
    explore_name(&is_posted, "is_posted");
    explore_name(&is_close_asked, "is_close_asked");
    explore_name(&posts.tail, "posts");
    is_post_queued = false;
    has_closed = false;
}

/* As host_rouse_remote. */
static void rouse(void)
{
    if (rti_posted_ask(&is_posted)) {
        RTI_PLAIN_WRITE(&is_post_queued, sizeof is_post_queued);
        EXPLORE_ASSERT(!is_post_queued);
        is_post_queued = true;
        (void)rti_mpsc_push(&posts, &post);
        (void)rti_u32_add_acqrel(&called, 1);
        explore_futex_wake(&called, 1, EXPLORE_SITE);
    }
}

static void send_to_hosted(void)
{
    rt_op *one = &sent[0][0];
    RTI_PLAIN_WRITE(&one->result, sizeof one->result);
    one->result = 1;
    if (rti_inbox_push(&to_target, rti_leg_of(one, RTI_LEG_OP))) {
        rouse();
    }
}

/* As rt_loop_close. */
static void close_hosted(void)
{
    rti_u32_store_release(&is_close_asked, 1);
    rouse();
}

/* Waits for a post and takes it, as a worker does; then as host_posted. */
static void await_post(void)
{
    struct rti_mpsc_node *node;
    while (rti_u32_load_acquire(&called) == 0) {
        (void)explore_futex_wait(&called, 0, false, EXPLORE_SITE);
    }
    (void)rti_u32_sub_acqrel(&called, 1);
    while (rti_mpsc_pop(&posts, &node) != RTI_MPSC_ITEM) {
        rti_spin_hint();
    }
    RTI_PLAIN_WRITE(&is_post_queued, sizeof is_post_queued);
    is_post_queued = false;
    rti_posted_hear(&is_posted);
}

/* What a step does; true if anything changed. */
static bool hosted_step(void)
{
    bool had_marker = to_target.has_marker;
    unsigned before = taken;
    while (rti_inbox_next(&to_target) != NULL) {
        taken++;
    }
    has_closed = has_closed || rti_u32_load_acquire(&is_close_asked) != 0;
    return taken != before || had_marker != to_target.has_marker;
}

/* As host_step: works until it is idle, and is then parked until a post comes. */
static void hosted_loop(void)
{
    while (taken < 1 || !has_closed) {
        await_post();
        bool has_changed = hosted_step();
        while (!rti_inbox_try_idle(&to_target)) {
            if (!has_changed) {
                rti_spin_hint();
            }
            has_changed = hosted_step();
        }
    }
}

MODEL(machine_hosted_loop_hears_what_is_posted){
    .about = "one sends, one closes; the post is queued once at a time and nothing is missed",
    .setup = setup_posted,
    .threads = {send_to_hosted, close_hosted, hosted_loop},
};
