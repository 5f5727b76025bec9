/* SPDX-License-Identifier: Apache-2.0 */
/* Where a leg goes. Submissions and cancellations go to the destination, completions and rings to
 * the source; a thread in between is an inbox. Timer ops stay with the loop of their source.
 *
 * An op whose destination does not exist is answered here. So is one whose wish to cancel has come
 * before its target took it: no machine is asked to cancel what it has not seen. */
#define RTI_MODULE "route"
#include "base/marks.h"
#include "machine/loop.h"
#include "machine/platform.h"

_Static_assert(sizeof(struct rti_timer) <= sizeof(((rt_timer_op *)0)->opaque), "a timer fits");

static struct rti_timer *timer_of(rt_op *op)
{
    return (struct rti_timer *)((rt_timer_op *)op)->opaque;
}

static rt_op *timer_op_of(struct rti_timer *timer)
{
    return &RTI_CONTAINER_OF((uint64_t *)timer, rt_timer_op, opaque)->base;
}

/* Hands a leg to the loop of another thread, and wakes it if it sleeps. */
static void route_remote(struct rti_loop *loop, uint32_t thread_id, struct rti_leg *leg)
{
    struct rti_loop *peer = rti_loop_of(loop->group->loops[thread_id]);
    RT_ASSERT(peer->thread_id == thread_id);
    if (rti_inbox_push(&peer->inbox, leg)) {
        peer->rouse_remote(peer);
    }
}

static void deliver_completion(struct rti_loop *loop, rt_op *op)
{
    struct rti_travel *travel = rti_travel_of(op);
    rt_machine *source = rti_slots_find(loop, op->source.machine_id);
    RT_ASSERT(source != NULL);
    RT_ASSERT(travel->stage == RTI_TRAVEL_HOME);
    /* The completion takes the place of a ring that was not heard: it has come before, and lies
     * among the notifications. */
    struct rti_leg *bell = &travel->legs[RTI_LEG_BELL];
    bool is_rung = rti_u32_load_relaxed(&travel->bell) != 0;
    RT_ASSERT(is_rung == rti_link_is_linked(&bell->link));
    RT_SOMETIMES(is_rung, "machine_completion_takes_the_place_of_a_ring");
    rti_leg_unlink(bell);
    loop->stats.completed++;
    rti_loop_record(loop, RTI_JOURNAL_OP_DONE, op, source->id.machine_id);
    rti_machine_hear(source, &travel->legs[RTI_LEG_OP]);
}

void rti_route_answer_home(struct rti_loop *loop, rt_op *op)
{
    struct rti_travel *travel = rti_travel_of(op);
    RT_ASSERT(travel->stage == RTI_TRAVEL_HOME);
    travel->legs[RTI_LEG_OP].queue = RT_QUEUE_COMPLETIONS;
    if (op->source.thread_id == loop->thread_id) {
        deliver_completion(loop, op);
    } else {
        route_remote(loop, op->source.thread_id, &travel->legs[RTI_LEG_OP]);
    }
}

void rti_route_answer(struct rti_loop *loop, rt_op *op, rt_status_code status, int64_t result)
{
    struct rti_travel *travel = rti_travel_of(op);
    RT_ASSERT(!rti_link_is_linked(&travel->legs[RTI_LEG_OP].link));
    op->status = status;
    op->result = result;
    travel->holder = NULL;
    rti_loop_record(loop, RTI_JOURNAL_OP_ANSWER, op, 0);
    if (!rti_crossing_answer(&travel->crossing) && !travel->has_cancel_arrived) {
        RT_SOMETIMES(true, "route_answer_waits_for_the_cancel");
        travel->stage = RTI_TRAVEL_WAITS;
        return;
    }
    travel->stage = RTI_TRAVEL_HOME;
    rti_route_answer_home(loop, op);
}

void rti_route_timer_fired(struct rti_timer *timer)
{
    rt_op *op = timer_op_of(timer);
    struct rti_loop *loop = ((rt_timer_op *)op)->loop;
    RT_ASSERT(rti_travel_of(op)->stage == RTI_TRAVEL_HELD);
    rti_route_answer(loop, op, RT_OK, 0);
}

void rti_route_timer_disarm(struct rti_loop *loop, rt_op *op)
{
    bool was_armed = rti_wheel_disarm(loop->wheel, timer_of(op));
    RT_ASSERT(was_armed);
}

static void route_timer(struct rti_loop *loop, rt_op *op)
{
    rt_timer_op *timer_op = (rt_timer_op *)op;
    rti_travel_of(op)->stage = RTI_TRAVEL_HELD;
    rti_travel_of(op)->holder = NULL;
    timer_op->loop = loop;
    rti_timer_init(timer_of(op), rti_route_timer_fired);
    rti_wheel_arm(loop->wheel, timer_of(op), timer_op->deadline);
}

/* Gives a submission to the machine that its destination names. The platform begins what comes from
 * its own loop at once, without a tick: nobody is there to look at what it was asked. What is to be
 * cancelled already waits for its tick, as with every other machine, and is answered before it. */
static void deliver_submission(struct rti_loop *loop, rt_op *op, uint32_t machine_id)
{
    struct rti_travel *travel = rti_travel_of(op);
    rt_machine *target = rti_slots_find(loop, machine_id);
    RT_ASSERT(travel->stage == RTI_TRAVEL_OUT);
    if (target == NULL) {
        RT_SOMETIMES(true, "machine_op_for_nobody");
        rti_route_answer(loop, op, RT_ERR_NOT_FOUND, 0);
        return;
    }
    if (rti_machine_of(target)->state != RTI_MACHINE_LIVE) {
        rti_route_answer(loop, op, RT_ERR_CLOSED, 0);
        return;
    }
    travel->holder = target;
    rti_loop_record(loop, RTI_JOURNAL_OP_TAKE, op, machine_id);
    if (RTI_LIKELY(target == loop->platform) && op->source.thread_id == loop->thread_id &&
        RTI_LIKELY(!travel->is_cancel_sent)) {
        travel->stage = RTI_TRAVEL_HELD;
        rti_list_push_tail(&rti_machine_of(target)->held, &travel->legs[RTI_LEG_OP].link);
        rti_platform_begin(target, op);
        return;
    }
    travel->stage = RTI_TRAVEL_QUEUED;
    rti_machine_hear(target, &travel->legs[RTI_LEG_OP]);
}

static void route_submission(struct rti_loop *loop, rt_machine *root, rt_op *op)
{
    struct rti_travel *travel = rti_travel_of(op);
    rt_machine_ref to = op->destination;
    if (to.machine_id == 0) {
        /* By the root that says it, whichever of its descendants asked. */
        const rt_machine *other = root == loop->app ? loop->platform : loop->app;
        to = (rt_machine_ref){.thread_id = loop->thread_id,
                              .machine_id = other == NULL ? 0 : other->id.machine_id};
    }
    if (op->code == RT_OP_TIMER) {
        travel->target_thread = loop->thread_id;
        route_timer(loop, op);
    } else if (to.thread_id == loop->thread_id) {
        travel->target_thread = loop->thread_id;
        deliver_submission(loop, op, to.machine_id);
    } else if (to.thread_id < loop->group->count) {
        travel->target_thread = to.thread_id;
        route_remote(loop, to.thread_id, &travel->legs[RTI_LEG_OP]);
    } else {
        travel->target_thread = loop->thread_id;
        rti_route_answer(loop, op, RT_ERR_NOT_FOUND, 0);
    }
}

static void route_cancellation(struct rti_loop *loop, rt_op *op)
{
    uint32_t thread_id = rti_travel_of(op)->target_thread;
    if (thread_id == loop->thread_id) {
        rti_machine_cancel_arrived(loop, op);
    } else {
        route_remote(loop, thread_id, rti_leg_of(op, RTI_LEG_CANCEL));
    }
}

static void deliver_ring(struct rti_loop *loop, rt_op *op)
{
    rt_machine *source = rti_slots_find(loop, op->source.machine_id);
    RT_ASSERT(source != NULL);
    loop->stats.rings++;
    rti_machine_hear(source, rti_leg_of(op, RTI_LEG_BELL));
}

void rti_route_ring(struct rti_loop *loop, rt_op *op)
{
    if (op->source.thread_id == loop->thread_id) {
        deliver_ring(loop, op);
    } else {
        route_remote(loop, op->source.thread_id, rti_leg_of(op, RTI_LEG_BELL));
    }
}

static rt_op *route_pop(struct rti_loop *loop, rt_machine *root, rt_queue queue)
{
    struct rti_link *link = rti_list_pop(&rti_machine_of(root)->out[queue]);
    if (link == NULL) {
        return NULL;
    }
    loop->stats.routed++;
    return rti_leg_op(rti_leg_of_link(link));
}

/* Submissions before cancellations, so that an op is there before the wish to cancel it; rings
 * before completions, so that no ring comes after the end. */
void rti_route_output(struct rti_loop *loop, rt_machine *root)
{
    rt_op *op;
    RT_ASSERT(root->parent == NULL);
    while ((op = route_pop(loop, root, RT_QUEUE_SUBMISSIONS)) != NULL) {
        route_submission(loop, root, op);
    }
    while ((op = route_pop(loop, root, RT_QUEUE_CANCELLATIONS)) != NULL) {
        route_cancellation(loop, op);
    }
    while ((op = route_pop(loop, root, RT_QUEUE_NOTIFICATIONS)) != NULL) {
        rti_route_ring(loop, op);
    }
    while ((op = route_pop(loop, root, RT_QUEUE_COMPLETIONS)) != NULL) {
        rti_route_answer_home(loop, op);
    }
}

void rti_route_arrival(struct rti_loop *loop, struct rti_leg *leg)
{
    rt_op *op = rti_leg_op(leg);
    loop->stats.received++;
    bool is_outward = leg->queue == RT_QUEUE_SUBMISSIONS || leg->queue == RT_QUEUE_CANCELLATIONS;
    rti_loop_record_parent(loop, RTI_JOURNAL_OP_HOP, op,
                           is_outward ? op->destination.machine_id : op->source.machine_id,
                           leg->queue);
    switch (leg->queue) {
    case RT_QUEUE_SUBMISSIONS:
        deliver_submission(loop, op, op->destination.machine_id);
        break;
    case RT_QUEUE_CANCELLATIONS:
        rti_machine_cancel_arrived(loop, op);
        break;
    case RT_QUEUE_NOTIFICATIONS:
        deliver_ring(loop, op);
        break;
    default:
        deliver_completion(loop, op);
        break;
    }
}
