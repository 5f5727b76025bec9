/* SPDX-License-Identifier: Apache-2.0 */
/* The errors in the pseudocode of the machine specification. Each is written here as it stands
 * there, in miniature, and shown to fail; beside it the library does what the text means. */
#define RTI_MODULE "machine_errors_test"
#include "support/machines.h"

#define APP(i) (&world.apps[i])

enum { ASK = RT_OP_USER };

/* ---- the specification's own words ---- */

struct spec_op {
    struct spec_op *next;
    struct spec_op *prev;
    unsigned answers;
};

struct spec_queue {
    struct spec_op *head;
    struct spec_op *tail;
};

static void spec_enqueue(struct spec_queue *queue, struct spec_op *op)
{
    op->next = NULL;
    op->prev = queue->tail;
    *(queue->tail == NULL ? &queue->head : &queue->tail->next) = op;
    queue->tail = op;
}

static struct spec_op *spec_dequeue(struct spec_queue *queue)
{
    struct spec_op *op = queue->head;
    if (op != NULL) {
        queue->head = op->next;
        *(op->next == NULL ? &queue->tail : &op->next->prev) = NULL;
        op->next = NULL;
        op->prev = NULL;
    }
    return op;
}

/* As the specification: "already enqueued" is read off `next`. */
static void spec_ring_doorbell(struct spec_queue *notifications, struct spec_op *op)
{
    if (op->next == NULL) {
        spec_enqueue(notifications, op);
    }
}

struct spec_machine {
    struct spec_queue submissions_in;
    struct spec_queue submissions_out;
    struct spec_queue cancellations_out;
    struct spec_queue completions_out;
    struct spec_machine *parent;
    struct spec_machine *next_with_input;
    struct spec_machine *next_with_output;
    bool has_input;
    bool has_output;
    unsigned ticks;
};

struct spec_loop {
    struct spec_machine *machines_with_input;
    struct spec_machine *machines_with_output;
    struct spec_machine *target; /* of every submission */
    struct spec_queue inbox;
    unsigned waits_with_work; /* how often it blocked although something was to be done */
    struct spec_machine *ticked[8];
    unsigned ticked_count;
};

static void spec_mark_input(struct spec_loop *loop, struct spec_machine *machine)
{
    if (!machine->has_input) {
        machine->has_input = true;
        machine->next_with_input = loop->machines_with_input;
        loop->machines_with_input = machine;
    }
}

static void spec_signal_output(struct spec_loop *loop, struct spec_machine *machine)
{
    struct spec_machine *at = machine->parent == NULL ? machine : machine->parent;
    if (!at->has_output) {
        at->has_output = true;
        at->next_with_output = loop->machines_with_output;
        loop->machines_with_output = at;
    }
}

static void spec_drain_and_route(struct spec_loop *loop, struct spec_machine *machine)
{
    struct spec_op *op;
    while ((op = spec_dequeue(&machine->submissions_out)) != NULL) {
        spec_enqueue(&loop->target->submissions_in, op);
        spec_mark_input(loop, loop->target);
    }
    while ((op = spec_dequeue(&machine->cancellations_out)) != NULL) {
        op->answers += 10; /* as far as this goes it is known what it was */
    }
}

static void spec_event_loop_tick(struct spec_loop *loop)
{
    /* Phase 1 blocks until the next timer, whatever there is to do. */
    loop->waits_with_work += loop->machines_with_output != NULL;
    struct spec_op *op;
    while ((op = spec_dequeue(&loop->inbox)) != NULL) {
        spec_enqueue(&loop->target->submissions_in, op); /* nothing says what else it could be */
        spec_mark_input(loop, loop->target);
    }
    struct spec_machine *machine = loop->machines_with_output;
    loop->machines_with_output = NULL;
    while (machine != NULL) {
        struct spec_machine *next = machine->next_with_output;
        machine->has_output = false;
        spec_drain_and_route(loop, machine);
        machine = next;
    }
    machine = loop->machines_with_input;
    loop->machines_with_input = NULL;
    while (machine != NULL) {
        struct spec_machine *next = machine->next_with_input;
        machine->has_input = false;
        machine->ticks++;
        loop->ticked[loop->ticked_count++] = machine;
        machine = next;
    }
}

/* ---- the errors ---- */

static void ask(rt_op *op, struct puppet *from, struct puppet *to)
{
    rt_op_init(op, ASK);
    op->destination = to->machine.id;
    CHECK_OK(rt_op_submit(&from->machine, op));
}

TEST(machine_error_doorbell_that_tests_next_enqueues_the_last_op_twice)
{
    struct spec_queue queue = {NULL, NULL};
    struct spec_op spec_one = {NULL, NULL, 0};
    spec_ring_doorbell(&queue, &spec_one);
    spec_ring_doorbell(&queue, &spec_one);
    CHECK(spec_one.prev == &spec_one); /* it stands behind itself */
    /* With a flag two rings are one notification, for the last op of the queue too. */
    rt_op op;
    world_start(1);
    ask(&op, APP(0), APP(0));
    world_settle();
    rt_op_ring(&APP(0)->machine, &op);
    rt_op_ring(&APP(0)->machine, &op);
    world_settle();
    CHECK_EQ(APP(0)->count[RT_QUEUE_NOTIFICATIONS], 1);
    world_finish();
}

TEST(machine_error_loop_that_blocks_with_outputs_to_route)
{
    struct spec_machine sender = {.ticks = 0};
    struct spec_machine target = {.ticks = 0};
    struct spec_loop spec = {.target = &target};
    struct spec_op spec_one = {NULL, NULL, 0};
    spec_enqueue(&sender.submissions_out, &spec_one);
    spec_signal_output(&spec, &sender); /* said in the tick, the last phase of a turn */
    spec_event_loop_tick(&spec);
    CHECK_EQ(spec.waits_with_work, 1);
    rt_op op;
    world_start(1);
    world_settle();
    ask(&op, APP(0), APP(0));
    uint64_t before = world.sim.now_ns;
    (void)rt_loop_turn(&world.loops[0], before + 1000000);
    CHECK_EQ(world.sim.now_ns, before); /* it did not wait */
    (void)rt_loop_turn(&world.loops[0], before + 1000000);
    CHECK_EQ(world.sim.now_ns, before + 1000000); /* now it may */
    world_finish();
}

TEST(machine_error_child_whose_parent_is_never_ticked)
{
    struct spec_machine parent = {.ticks = 0};
    struct spec_machine spec_child = {.parent = &parent};
    struct spec_machine target = {.ticks = 0};
    struct spec_loop spec = {.target = &target};
    struct spec_op spec_one = {NULL, NULL, 0};
    spec_enqueue(&spec_child.submissions_out, &spec_one);
    spec_signal_output(&spec, &spec_child);
    for (unsigned i = 0; i < 5; i++) {
        spec_event_loop_tick(&spec);
    }
    CHECK_EQ(parent.ticks, 0);
    CHECK(spec_child.submissions_out.head == &spec_one); /* there it stays */
    static struct puppet child;
    rt_op op;
    world_start(1);
    puppet_child(APP(0), &child);
    world_settle();
    unsigned ticks = APP(0)->ticks;
    rt_op_init(&op, ASK);
    CHECK_OK(rt_op_submit(&child.machine, &op));
    world_settle();
    CHECK(APP(0)->ticks > ticks);
    CHECK_EQ(child.count[RT_QUEUE_COMPLETIONS], 1);
    world_finish();
}

TEST(machine_error_inbox_entry_that_does_not_say_its_queue)
{
    struct spec_machine target = {.ticks = 0};
    struct spec_loop spec = {.target = &target};
    struct spec_op cancelled = {NULL, NULL, 0};
    spec_enqueue(&spec.inbox, &cancelled); /* sent as a wish to cancel */
    spec_event_loop_tick(&spec);
    CHECK(target.submissions_in.head == &cancelled); /* taken for a new op */
    rt_op op;
    world_start(2);
    ask(&op, APP(0), APP(1));
    world_settle();
    CHECK(rt_op_cancel(&APP(0)->machine, &op));
    world_settle();
    CHECK_EQ(APP(1)->count[RT_QUEUE_SUBMISSIONS], 1);
    CHECK_EQ(APP(1)->count[RT_QUEUE_CANCELLATIONS], 1);
    rt_op_complete(&APP(1)->machine, &op, RT_ERR_CANCELLED, 0);
    world_finish();
}

TEST(machine_error_inbox_that_wakes_nobody)
{
    /* The specification's enqueue into an outbox only changes links. */
    struct spec_queue outbox = {NULL, NULL};
    struct spec_op spec_one = {NULL, NULL, 0};
    world_start(2);
    world_settle();
    rti_u32_store_relaxed(&world.sim.is_woken, 0);
    spec_enqueue(&outbox, &spec_one);
    CHECK_EQ(rti_u32_load_relaxed(&world.sim.is_woken), 0);
    /* Here who puts something into an idle inbox wakes its loop, once. */
    rt_op op;
    CHECK(rti_loop_is_idle(world_loop(1)));
    ask(&op, APP(0), APP(1));
    (void)rt_loop_turn(&world.loops[0], 0);
    CHECK_EQ(rti_u32_load_relaxed(&world.sim.is_woken), 1);
    world_settle();
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 0);
    world_finish();
}

TEST(machine_error_op_with_one_pair_of_links_in_two_queues)
{
    struct spec_queue submissions = {NULL, NULL};
    struct spec_queue cancellations = {NULL, NULL};
    struct spec_op ops[2] = {{NULL, NULL, 0}, {NULL, NULL, 0}};
    spec_enqueue(&submissions, &ops[0]);
    spec_enqueue(&submissions, &ops[1]);
    spec_enqueue(&cancellations, &ops[0]); /* cancelled before it was routed */
    CHECK(spec_dequeue(&submissions) == &ops[0]);
    CHECK(spec_dequeue(&submissions) == NULL); /* the second one is lost */
    rt_op real[2];
    world_start(2);
    ask(&real[0], APP(0), APP(1));
    ask(&real[1], APP(0), APP(1));
    CHECK(rt_op_cancel(&APP(0)->machine, &real[0]));
    world_settle();
    CHECK_EQ(real[0].status, RT_ERR_CANCELLED);
    CHECK_EQ(APP(1)->count[RT_QUEUE_SUBMISSIONS], 1);
    CHECK(puppet_last(APP(1), RT_QUEUE_SUBMISSIONS) == &real[1]);
    rt_op_complete(&APP(1)->machine, &real[1], RT_OK, 0);
    world_finish();
}

TEST(machine_error_ready_lists_that_are_stacks)
{
    struct spec_machine machines[3] = {{.ticks = 0}, {.ticks = 0}, {.ticks = 0}};
    struct spec_loop spec = {.target = &machines[0]};
    for (unsigned i = 0; i < 3; i++) {
        spec_mark_input(&spec, &machines[i]);
    }
    spec_event_loop_tick(&spec);
    CHECK(spec.ticked[0] == &machines[2]); /* who came last is served first */
    static struct puppet children[3];
    world_start(1);
    for (unsigned i = 0; i < 3; i++) {
        puppet_child(APP(0), &children[i]);
    }
    world_settle();
    for (unsigned i = 3; i-- > 0;) {
        rt_machine_wake(&children[i].machine);
    }
    struct rti_link *at = rti_list_peek(&world_loop(0)->with_input);
    for (unsigned i = 3; i-- > 0; at = rti_list_next(&world_loop(0)->with_input, at)) {
        CHECK(at == &rti_machine_of(&children[i].machine)->input_link);
    }
    world_finish();
}

TEST(machine_error_cancel_and_completion_that_cross)
{
    /* The initiator frees an op on its completion; its cancellation is still under way. */
    struct spec_queue in_transit = {NULL, NULL};
    struct spec_op spec_one = {NULL, NULL, 0};
    spec_enqueue(&in_transit, &spec_one);      /* route_cancellation, into an outbox */
    spec_one.answers++;                        /* the target completes meanwhile */
    memset(&spec_one, 0xA5, sizeof(spec_one)); /* and the initiator frees */
    CHECK(in_transit.head == &spec_one);       /* freed memory in a queue */
    CHECK(in_transit.head->next != NULL);
    /* Here the answer is held until the wish has arrived, and is the only one. */
    rt_op op;
    world_start(2);
    ask(&op, APP(0), APP(1));
    world_settle();
    CHECK(rt_op_cancel(&APP(0)->machine, &op));
    (void)rt_loop_turn(&world.loops[0], 0);
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 3);
    world_settle();
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 1);
    CHECK_EQ(op.result, 3);
    memset(&op, 0xA5, sizeof(op));
    world_settle();
    world_finish();
}

TEST(machine_error_completions_that_nobody_routes)
{
    struct spec_machine target = {.ticks = 0};
    struct spec_loop spec = {.target = &target};
    struct spec_op spec_one = {NULL, NULL, 0};
    spec_enqueue(&target.completions_out, &spec_one);
    spec_signal_output(&spec, &target);
    spec_event_loop_tick(&spec);
    CHECK(target.completions_out.head == &spec_one); /* drained are two of four queues */
    rt_op op;
    world_start(1);
    ask(&op, APP(0), APP(0));
    world_settle();
    rt_op_complete(&APP(0)->machine, &op, RT_OK, 1);
    world_settle();
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 1);
    world_finish();
}

/* Where route_submission and route_cancellation of the specification put an op without a
 * destination: only the first of them looks at what is asked. */
static struct spec_queue *spec_submission_goes_to(bool is_timer, struct spec_queue *heap,
                                                  struct spec_queue *platform)
{
    return is_timer ? heap : platform;
}

static struct spec_queue *spec_cancellation_goes_to(struct spec_queue *platform)
{
    return platform;
}

TEST(machine_error_cancel_of_a_timer_that_goes_to_the_platform)
{
    /* route_submission keeps a timer in the loop; route_cancellation looks for it elsewhere: the
     * platform is asked to cancel what it never had. Here it never hears of it. */
    struct spec_queue heap = {NULL, NULL};
    struct spec_queue platform = {NULL, NULL};
    struct spec_op spec_one = {NULL, NULL, 0};
    spec_enqueue(spec_submission_goes_to(true, &heap, &platform), &spec_one);
    CHECK(heap.head == &spec_one);
    CHECK(spec_cancellation_goes_to(&platform)->head != &spec_one); /* not where the wish goes */
    rt_timer_op timer;
    world_start(1);
    rt_op_init(&timer.base, RT_OP_TIMER);
    timer.deadline = world.sim.now_ns + RT_NS_PER_S;
    CHECK_OK(rt_op_submit(&APP(0)->machine, &timer.base));
    world_settle();
    rt_loop_stats before;
    rt_loop_get_stats(&world.loops[0], &before);
    CHECK(rt_machine_held(world_loop(0)->platform, NULL) == NULL);
    CHECK(rt_op_cancel(&APP(0)->machine, &timer.base));
    world_settle();
    CHECK_EQ(timer.base.status, RT_ERR_CANCELLED);
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 1);
    CHECK_EQ(rti_wheel_count(world_loop(0)->wheel), 0);
    world_finish();
}

/* get_default_destination; NULL where it panics. */
static struct spec_machine *spec_default_destination(struct spec_machine *source,
                                                     struct spec_machine *app,
                                                     struct spec_machine *platform)
{
    if (source == app) {
        return platform;
    }
    return source == platform ? app : NULL;
}

TEST(machine_error_default_destination_of_an_op_that_was_passed_through)
{
    /* get_default_destination panics for a source that is a child, although passing its ops on
     * unchanged is one of the four things a parent may do. Here the root that says it decides. */
    struct spec_machine spec_app = {.ticks = 0};
    struct spec_machine spec_platform = {.ticks = 0};
    struct spec_machine spec_child = {.parent = &spec_app};
    CHECK(spec_default_destination(&spec_app, &spec_app, &spec_platform) == &spec_platform);
    CHECK(spec_default_destination(&spec_child, &spec_app, &spec_platform) == NULL);
    static struct puppet child;
    rt_op op;
    world_start(1);
    puppet_child(APP(0), &child);
    rt_op_init(&op, RT_OP_KNOWN_COUNT);
    CHECK_OK(rt_op_submit(&child.machine, &op));
    world_settle();
    CHECK_EQ(op.status, RT_ERR_UNSUPPORTED); /* the platform's word */
    world_finish();
}

TEST(machine_error_doorbell_that_rings_at_the_destination)
{
    /* ring_doorbell puts the op into its destination's notifications: the destination is who rings.
     * Who wants to hear it is the source. */
    struct spec_queue notifications[2] = {{NULL, NULL}, {NULL, NULL}}; /* source, destination */
    struct spec_op spec_one = {NULL, NULL, 0};
    spec_ring_doorbell(&notifications[1], &spec_one);
    CHECK(notifications[0].head == NULL);
    rt_op op;
    world_start(2);
    ask(&op, APP(0), APP(1));
    world_settle();
    rt_op_ring(&APP(1)->machine, &op);
    world_settle();
    CHECK_EQ(APP(0)->count[RT_QUEUE_NOTIFICATIONS], 1);
    CHECK_EQ(APP(1)->count[RT_QUEUE_NOTIFICATIONS], 0);
    rt_op_complete(&APP(1)->machine, &op, RT_OK, 0);
    world_finish();
}

TEST(machine_error_cancellation_that_signals_nobody)
{
    /* submit_cancellation enqueues and says nothing: its machine has output that no loop knows of.
     */
    struct spec_machine source = {.ticks = 0};
    struct spec_machine target = {.ticks = 0};
    struct spec_loop spec = {.target = &target};
    struct spec_op spec_one = {NULL, NULL, 0};
    spec_enqueue(&source.cancellations_out, &spec_one);
    spec_event_loop_tick(&spec);
    CHECK_EQ(spec_one.answers, 0);
    CHECK(source.cancellations_out.head == &spec_one); /* there it stays */
    rt_op op;
    world_start(1);
    ask(&op, APP(0), APP(0));
    world_settle();
    CHECK(rti_loop_is_idle(world_loop(0)));
    CHECK(rt_op_cancel(&APP(0)->machine, &op));
    CHECK(!rti_loop_is_idle(world_loop(0)));
    world_settle();
    CHECK_EQ(APP(0)->count[RT_QUEUE_CANCELLATIONS], 1);
    rt_op_complete(&APP(0)->machine, &op, RT_ERR_CANCELLED, 0);
    world_finish();
}

/* find_local_machine of the specification, which says nothing of a name that nobody has. */
static struct spec_machine *spec_find(struct spec_machine **machines, size_t count, size_t id)
{
    return id < count ? machines[id] : NULL;
}

TEST(machine_error_submission_to_a_machine_that_is_gone)
{
    struct spec_machine *machines[] = {NULL}; /* it was destroyed */
    CHECK(spec_find(machines, 1, 0) == NULL); /* and route_submission enqueues into it */
    static struct puppet child;
    rt_op op;
    world_start(1);
    puppet_child(APP(0), &child);
    rt_machine_ref gone = child.machine.id;
    rt_machine_close(&child.machine);
    world_settle();
    rt_op_init(&op, ASK);
    op.destination = gone;
    CHECK_OK(rt_op_submit(&APP(0)->machine, &op));
    world_settle();
    CHECK_EQ(op.status, RT_ERR_NOT_FOUND);
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 1);
    world_finish();
}

static struct puppet siblings[2];

static void close_sibling(struct puppet *puppet, rt_time now)
{
    (void)now;
    if (puppet == &siblings[0] && puppet->ticks == 2) {
        rt_machine_close(&siblings[1].machine);
    }
}

TEST(machine_error_tick_that_ends_the_next_machine_of_the_list)
{
    /* The loop keeps `next` over a tick, which may free it. */
    struct spec_machine machines[2] = {{.ticks = 0}, {.ticks = 0}};
    struct spec_loop spec = {.target = &machines[0]};
    spec_mark_input(&spec, &machines[1]);
    spec_mark_input(&spec, &machines[0]);
    struct spec_machine *next = spec.machines_with_input->next_with_input;
    memset(&machines[1], 0xA5, sizeof(machines[1])); /* as the tick of the first does */
    CHECK(next == &machines[1]);                     /* freed, and ticked next */
    /* Here a machine ends in a tick of its own, and in no other's. */
    world_start(1);
    for (unsigned i = 0; i < 2; i++) {
        puppet_child(APP(0), &siblings[i]);
        siblings[i].script = close_sibling;
    }
    world_settle();
    CHECK_EQ(siblings[0].ticks, 1);
    rt_machine_wake(&siblings[0].machine);
    rt_machine_wake(&siblings[1].machine);
    (void)rt_loop_turn(&world.loops[0], 0);
    CHECK(siblings[1].is_closed);
    CHECK_EQ(siblings[1].ticks, 2); /* it was ticked, alive, and then it was gone */
    world_finish();
}
