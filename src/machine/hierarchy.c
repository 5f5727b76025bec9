/* SPDX-License-Identifier: Apache-2.0 */
/* Parents and children: making a child, and the four things a parent does with what a child says:
 * pass it on, take it for itself, say something else instead, make several things of it.
 *
 * Each stage of the way moves rings before completions and submissions before cancellations. That
 * is what keeps a ring from coming after the completion of its op, and a wish to cancel from coming
 * before the op. */
#define RTI_MODULE "hierarchy"
#include "machine/loop.h"

rt_status rt_machine_init_child(rt_machine *parent, rt_machine *child,
                                const rt_machine_config *config)
{
    if (parent == NULL || child == NULL) {
        return (rt_status){RT_ERR_INVALID, "parent and child must be given"};
    }
    rt_status status = rti_machine_check(config);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_machine *above = rti_machine_of(parent);
    if (above->state != RTI_MACHINE_LIVE) {
        return (rt_status){RT_ERR_CLOSED, "the parent is closing"};
    }
    if (above->loop->first_free == 0) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "the loop has no free slot for a machine"};
    }
    rti_machine_init(child, above->loop, parent, config);
    status = rti_slots_take(above->loop, child);
    RT_ASSERT(!RT_FAILED(status));
    rti_list_push_tail(&above->children, &rti_machine_of(child)->sibling);
    rti_machine_want_tick(child);
    return RT_SUCCESS;
}

static rt_machine *machine_of_output(struct rti_link *link)
{
    return rti_machine_outside(RTI_CONTAINER_OF(link, struct rti_machine, output_link));
}

rt_machine *rt_machine_next_child(rt_machine *parent)
{
    struct rti_machine *self = rti_machine_of(parent);
    struct rti_link *link = rti_list_pop(&self->talking);
    if (link == NULL) {
        return NULL;
    }
    rti_list_push_tail(&self->shown, link);
    return machine_of_output(link);
}

rt_op *rt_machine_intercept(rt_machine *parent, rt_machine *child)
{
    RT_ASSERT(child->parent == parent);
    struct rti_link *link = rti_list_pop(&rti_machine_of(child)->out[RT_QUEUE_SUBMISSIONS]);
    if (link == NULL) {
        return NULL;
    }
    rt_op *op = rti_leg_op(rti_leg_of_link(link));
    struct rti_travel *travel = rti_travel_of(op);
    RT_ASSERT(travel->stage == RTI_TRAVEL_OUT);
    travel->interceptor = parent;
    travel->holder = parent;
    travel->stage = RTI_TRAVEL_HELD;
    rti_list_push_tail(&rti_machine_of(parent)->held, link);
    rti_loop_record(rti_machine_of(parent)->loop, RTI_JOURNAL_OP_TAKE, op, parent->id.machine_id);
    return op;
}

void rt_machine_forward(rt_machine *parent, rt_op *op)
{
    struct rti_travel *travel = rti_travel_of(op);
    RT_ASSERT(travel->stage == RTI_TRAVEL_HELD && travel->interceptor == parent);
    RT_ASSERT(travel->holder == parent);
    if (travel->has_cancel_arrived) {
        /* The wish has been here and will not come by again. */
        rt_op_complete(parent, op, RT_ERR_CANCELLED, 0);
        return;
    }
    op->target_data = NULL;
    travel->interceptor = NULL;
    travel->holder = NULL;
    travel->stage = RTI_TRAVEL_OUT;
    rti_list_remove(&travel->legs[RTI_LEG_OP].link);
    rti_loop_record(rti_machine_of(parent)->loop, RTI_JOURNAL_OP_FORWARD, op,
                    parent->id.machine_id);
    rti_machine_say(parent, &travel->legs[RTI_LEG_OP]);
}

static RTI_NOINLINE void pass_cancels(rt_machine *parent, rt_machine *child)
{
    struct rti_machine *below = rti_machine_of(child);
    struct rti_link *link;
    while ((link = rti_list_pop(&below->out[RT_QUEUE_CANCELLATIONS])) != NULL) {
        struct rti_leg *leg = rti_leg_of_link(link);
        rt_op *op = rti_leg_op(leg);
        if (rti_travel_of(op)->interceptor == parent) {
            rti_machine_cancel_arrived(below->loop, op);
        } else {
            rti_machine_say(parent, leg);
        }
    }
}

/* True: there was something. */
static inline bool pass_queue(struct rti_machine *above, struct rti_machine *below, rt_queue queue)
{
    struct rti_list *said = &below->out[queue];
    if (rti_list_is_empty(said)) {
        return false;
    }
    rti_list_splice_tail(&above->out[queue], said);
    return true;
}

void rt_machine_pass(rt_machine *parent, rt_machine *child)
{
    struct rti_machine *above = rti_machine_of(parent);
    struct rti_machine *below = rti_machine_of(child);
    RT_ASSERT(child->parent == parent);
    if (pass_queue(above, below, RT_QUEUE_SUBMISSIONS)) {
        rti_machine_signal(parent);
    }
    if (RTI_UNLIKELY(!rti_list_is_empty(&below->out[RT_QUEUE_CANCELLATIONS]))) {
        pass_cancels(parent, child);
    }
    bool is_told = pass_queue(above, below, RT_QUEUE_NOTIFICATIONS);
    if (pass_queue(above, below, RT_QUEUE_COMPLETIONS) || is_told) {
        rti_machine_signal(parent);
    }
    if (RTI_UNLIKELY(below->state == RTI_MACHINE_CLOSING)) {
        /* It may have had nothing left but what it had to say. */
        rti_machine_want_tick(child);
    }
}

void rti_machine_pass_rest(rt_machine *machine)
{
    struct rti_machine *self = rti_machine_of(machine);
    struct rti_link *link;
    rti_list_splice_tail(&self->shown, &self->talking);
    while ((link = rti_list_pop(&self->shown)) != NULL) {
        rt_machine_pass(machine, machine_of_output(link));
    }
}

rt_status rt_op_translate(rt_machine *machine, rt_op *held, rt_op *own)
{
    RT_ASSERT(rti_travel_of(held)->stage == RTI_TRAVEL_HELD);
    RT_ASSERT(rti_travel_of(held)->holder == machine);
    rt_op_derive(own, held);
    rt_status status = rt_op_submit(machine, own);
    if (!RT_FAILED(status)) {
        held->target_data = own;
        rti_travel_of(held)->translation = own;
        rti_travel_of(own)->origin = held;
    }
    return status;
}

const rt_op *rt_op_answer_origin(rt_machine *machine, rt_op *own)
{
    rt_op *held = rti_travel_of(own)->origin;
    RT_ASSERT(!rt_op_is_submitted(own));
    if (held != NULL) {
        rt_op_complete(machine, held, own->status, own->result);
        RT_ASSERT(rti_travel_of(own)->origin == NULL);
    }
    return held;
}

void rt_gather_begin(rt_gather *gather, rt_op *whole)
{
    RT_ASSERT(rti_travel_of(whole)->stage == RTI_TRAVEL_HELD);
    *gather = (rt_gather){.whole = whole, .left = 1, .status = RT_OK, .total = 0};
}

rt_status rt_gather_add(rt_machine *machine, rt_gather *gather, rt_op *part)
{
    RT_ASSERT(gather->left > 0 && gather->left < UINT32_MAX);
    rt_op_derive(part, gather->whole);
    rt_status status = rt_op_submit(machine, part);
    if (!RT_FAILED(status)) {
        gather->left++;
    }
    return status;
}

static bool gather_count(rt_machine *machine, rt_gather *gather)
{
    RT_ASSERT(gather->left > 0);
    if (--gather->left > 0) {
        return false;
    }
    const struct rti_machine *self = rti_machine_of(machine);
    if (self->state == RTI_MACHINE_LIVE || self->answers_on_close) {
        rt_op_complete(machine, gather->whole, gather->status, gather->total);
    }
    return true;
}

bool rt_gather_end(rt_machine *machine, rt_gather *gather)
{
    return gather_count(machine, gather);
}

bool rt_gather_part(rt_machine *machine, rt_gather *gather, const rt_op *part)
{
    RT_ASSERT(!rt_op_is_submitted(part));
    if (part->status == RT_OK) {
        gather->total += part->result;
    } else if (gather->status == RT_OK) {
        gather->status = part->status;
    }
    return gather_count(machine, gather);
}
