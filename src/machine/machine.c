/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine does with ops; the essay is in machine.h. */
#define RTI_MODULE "machine"
#define RTI_LOOP_HERE
#include "machine/machine.h"

#include "base/marks.h"
#include "machine/loop.h"

rt_status rti_machine_check(const rt_machine_config *config)
{
    if (config == NULL || config->tick == NULL) {
        return (rt_status){RT_ERR_INVALID, "a machine needs a tick"};
    }
    if (config->state_align >= 8 * sizeof(uintptr_t) ||
        ((uintptr_t)config->state & (((uintptr_t)1 << config->state_align) - 1)) != 0) {
        return (rt_status){RT_ERR_INVALID, "the state is not aligned as it should be"};
    }
    return RT_SUCCESS;
}

void rti_machine_init(rt_machine *machine, struct rti_loop *loop, rt_machine *parent,
                      const rt_machine_config *config)
{
    *machine = (rt_machine){.state = config->state,
                            .tick = config->tick,
                            .on_closed = config->on_closed,
                            .parent = parent};
    struct rti_machine *self = rti_machine_of(machine);
    self->loop = loop;
    self->answers_on_close = config->answers_on_close;
    self->state = RTI_MACHINE_LIVE;
    for (size_t i = 0; i < RT_QUEUE_COUNT; i++) {
        rti_list_init(&self->in[i]);
        rti_list_init(&self->out[i]);
    }
    rti_list_init(&self->submitted);
    rti_list_init(&self->held);
    rti_list_init(&self->waiting);
    rti_list_init(&self->children);
    rti_list_init(&self->talking);
    rti_list_init(&self->shown);
}

void rt_machine_wake(rt_machine *machine)
{
    rti_machine_want_tick(machine);
}

void rt_op_init(rt_op *op, uint32_t code)
{
    /* One by one, as in rti_travel_init. */
    op->id = 0;
    op->trace_id = 0;
    op->parent_id = 0;
    op->result = 0;
    op->code = code;
    op->status = RT_OK;
    op->destination = (rt_machine_ref){0, 0};
    op->source = (rt_machine_ref){0, 0};
    op->target_data = NULL;
    rti_travel_init(rti_travel_of(op));
}

void rt_op_derive(rt_op *op, const rt_op *parent)
{
    RT_ASSERT(!rt_op_is_submitted(op));
    op->parent_id = parent->id;
    op->trace_id = parent->trace_id;
}

bool rt_op_is_submitted(const rt_op *op)
{
    return rti_travel_of_const(op)->is_submitted;
}

/* Ops that give back what another one has got: they are done, whatever happens to who asks. */
static bool op_is_a_close(const rt_op *op)
{
    return op->code == RT_OP_FD_CLOSE || op->code == RT_OP_FILE_CLOSE;
}

/* Is who submitted the op a machine of the same loop as who holds it? Where flash is scarce nobody
 * asks: what is right between loops is right within one. */
static inline bool op_is_from_here(const struct rti_loop *loop, const rt_op *op)
{
    return !RTI_ONE_WORKER && op->source.thread_id == loop->thread_id;
}

static uint64_t op_next_id(struct rti_loop *loop)
{
    loop->op_count = (loop->op_count + 1) & ((UINT64_C(1) << RTI_OP_COUNT_BITS) - 1);
    return (uint64_t)(loop->thread_id + 1) << RTI_OP_COUNT_BITS | loop->op_count;
}

rt_status rt_op_submit(rt_machine *machine, rt_op *op)
{
    struct rti_machine *self = rti_machine_of(machine);
    struct rti_loop *loop = self->loop;
    RT_ASSERT(self->state != RTI_MACHINE_CLOSED);
    if (self->state == RTI_MACHINE_CLOSING && !op_is_a_close(op)) {
        return (rt_status){RT_ERR_CLOSED, "the machine is closing"};
    }
    rti_travel_begin(rti_travel_of(op));
    op->id = op_next_id(loop);
    op->trace_id = op->trace_id == 0 ? op->id : op->trace_id;
    op->source = machine->id;
    op->status = RT_OK;
    op->result = 0;
    loop->stats.submitted++;
    rti_list_push_tail(&self->submitted, &rti_travel_of(op)->own);
    if (RTI_UNLIKELY(loop->journal != NULL)) {
        rti_loop_record_parent(loop, RTI_JOURNAL_OP_SUBMIT, op, machine->id.machine_id, op->code);
    }
    rti_machine_say(machine, rti_leg_of(op, RTI_LEG_OP));
    return RT_SUCCESS;
}

bool rt_op_cancel(rt_machine *machine, rt_op *op)
{
    struct rti_travel *travel = rti_travel_of(op);
    struct rti_machine *self = rti_machine_of(machine);
    if (!travel->is_submitted || op_is_a_close(op)) {
        return false;
    }
    RT_ASSERT(op->source.machine_id == machine->id.machine_id);
    if (travel->is_cancel_sent) {
        return true;
    }
    if (!rti_crossing_ask(&travel->crossing)) {
        RT_SOMETIMES(true, "machine_cancel_comes_after_the_answer");
        /* The word is set, so that asking again would ask twice. */
        travel->is_cancel_sent = true;
        return false;
    }
    travel->is_cancel_sent = true;
    self->loop->stats.cancels++;
    rti_loop_record(self->loop, RTI_JOURNAL_OP_CANCEL, op, machine->id.machine_id);
    rti_machine_say(machine, &travel->legs[RTI_LEG_CANCEL]);
    return true;
}

void rt_op_complete(rt_machine *machine, rt_op *op, rt_status_code status, int64_t result)
{
    struct rti_travel *travel = rti_travel_of(op);
    struct rti_leg *leg = &travel->legs[RTI_LEG_OP];
    struct rti_loop *loop = rti_machine_of(machine)->loop;
    RT_ASSERT(travel->stage == RTI_TRAVEL_HELD && travel->holder == machine);
    rti_list_remove(&leg->link);
    op->status = status;
    op->result = result;
    op->target_data = NULL;
    if (travel->translation != NULL) {
        rti_travel_of(travel->translation)->origin = NULL;
        travel->translation = NULL;
    }
    leg->queue = RT_QUEUE_COMPLETIONS;
    rti_loop_record(loop, RTI_JOURNAL_OP_ANSWER, op, machine->id.machine_id);
    bool may_go = op_is_from_here(loop, op) ? rti_crossing_answer_here(&travel->crossing)
                                            : rti_crossing_answer(&travel->crossing);
    if (RTI_UNLIKELY(!may_go && !travel->has_cancel_arrived)) {
        RT_SOMETIMES(true, "machine_answer_waits_for_the_cancel");
        travel->stage = RTI_TRAVEL_WAITS;
        rti_list_push_tail(&rti_machine_of(machine)->waiting, &leg->link);
        return;
    }
    if (travel->has_cancel_arrived) {
        rti_leg_unlink(&travel->legs[RTI_LEG_CANCEL]);
    }
    travel->stage = RTI_TRAVEL_HOME;
    if (RTI_LIKELY(machine == loop->platform)) {
        loop->stats.routed++;
        rti_route_answer_home(loop, op);
        if (RTI_UNLIKELY(rti_machine_of(machine)->state == RTI_MACHINE_CLOSING)) {
            /* It may have had nothing left but this answer, and no router sees to it. */
            rti_machine_want_tick(machine);
        }
    } else {
        rti_machine_say(machine, leg);
    }
}

void rt_op_ring(rt_machine *machine, rt_op *op)
{
    struct rti_travel *travel = rti_travel_of(op);
    RT_ASSERT(travel->stage == RTI_TRAVEL_HELD && travel->holder == machine);
    struct rti_loop *loop = rti_machine_of(machine)->loop;
    if (op_is_from_here(loop, op) ? rti_bell_ring_here(&travel->bell)
                                  : rti_bell_ring(&travel->bell)) {
        rti_loop_record(loop, RTI_JOURNAL_OP_RING, op, machine->id.machine_id);
        if (RTI_LIKELY(machine == loop->platform)) {
            loop->stats.routed++;
            rti_route_ring(loop, op);
        } else {
            rti_machine_say(machine, &travel->legs[RTI_LEG_BELL]);
        }
    }
}

void rti_machine_cancel_arrived(struct rti_loop *loop, rt_op *op)
{
    struct rti_travel *travel = rti_travel_of(op);
    struct rti_leg *leg = &travel->legs[RTI_LEG_OP];
    RT_ASSERT(!travel->has_cancel_arrived);
    travel->has_cancel_arrived = true;
    switch (travel->stage) {
    case RTI_TRAVEL_WAITS:
        /* The answer was first; now that nothing of the op is on its way, it goes. By way of its
         * holder, behind the rings that the holder has sent. */
        travel->stage = RTI_TRAVEL_HOME;
        rti_leg_unlink(leg);
        if (travel->holder != NULL) {
            rti_machine_say(travel->holder, leg);
        } else {
            rti_route_answer_home(loop, op);
        }
        break;
    case RTI_TRAVEL_QUEUED:
        RT_SOMETIMES(true, "machine_cancel_of_an_op_nobody_has_taken");
        rti_list_remove(&leg->link);
        rti_route_answer(loop, op, RT_ERR_CANCELLED, 0);
        break;
    case RTI_TRAVEL_HELD:
        if (travel->holder == NULL) {
            rti_route_timer_disarm(loop, op);
            rti_route_answer(loop, op, RT_ERR_CANCELLED, 0);
        } else {
            rti_machine_hear(travel->holder, &travel->legs[RTI_LEG_CANCEL]);
        }
        break;
    default:
        rti_panic(RTI_MODULE, __LINE__, "a cancel came to where its op is not");
    }
}

/* The initiator has its op back. */
static void machine_received(rt_op *op)
{
    struct rti_travel *travel = rti_travel_of(op);
    RT_ASSERT(travel->stage == RTI_TRAVEL_HOME && travel->is_submitted);
    RT_ASSERT(!rti_link_is_linked(&travel->legs[RTI_LEG_CANCEL].link));
    RT_ASSERT(!rti_link_is_linked(&travel->legs[RTI_LEG_BELL].link));
    rti_list_remove(&travel->own);
    travel->is_submitted = false;
    travel->stage = RTI_TRAVEL_IDLE;
}

rt_op *rt_machine_next(rt_machine *machine, rt_queue queue)
{
    struct rti_machine *self = rti_machine_of(machine);
    RT_ASSERT((unsigned)queue < RT_QUEUE_COUNT);
    struct rti_list *list = &self->in[queue];
    if (rti_list_is_empty(list)) {
        return NULL;
    }
    struct rti_link *link = list->head.next;
    rti_list_remove(link);
    rt_op *op = rti_leg_op(rti_leg_of_link(link));
    struct rti_travel *travel = rti_travel_of(op);
    switch (queue) {
    case RT_QUEUE_SUBMISSIONS:
        RT_ASSERT(travel->stage == RTI_TRAVEL_QUEUED && travel->holder == machine);
        travel->stage = RTI_TRAVEL_HELD;
        rti_list_push_tail(&self->held, link);
        break;
    case RT_QUEUE_CANCELLATIONS:
        RT_ASSERT(travel->stage == RTI_TRAVEL_HELD && travel->holder == machine);
        break;
    case RT_QUEUE_COMPLETIONS:
        machine_received(op);
        break;
    default:
        if (!RTI_ONE_WORKER && travel->target_thread == self->loop->thread_id) {
            rti_bell_hear_here(&travel->bell);
        } else {
            rti_bell_hear(&travel->bell);
        }
        break;
    }
    return op;
}

rt_op *rt_machine_held(rt_machine *machine, const rt_op *after)
{
    struct rti_machine *self = rti_machine_of(machine);
    struct rti_link *link = rti_list_peek(&self->held);
    if (after != NULL) {
        const struct rti_travel *travel = rti_travel_of_const(after);
        RT_ASSERT(travel->stage == RTI_TRAVEL_HELD && travel->holder == machine);
        link = rti_list_next(&self->held, &travel->legs[RTI_LEG_OP].link);
    }
    return link == NULL ? NULL : rti_leg_op(rti_leg_of_link(link));
}

static size_t machine_audit_ops(rt_machine *machine, struct rti_list *list, uint8_t stage)
{
    for (struct rti_link *at = rti_list_peek(list); at != NULL; at = rti_list_next(list, at)) {
        const struct rti_travel *travel = rti_travel_of(rti_leg_op(rti_leg_of_link(at)));
        RT_ASSERT(travel->stage == stage && travel->holder == machine);
    }
    return rti_list_audit(list);
}

size_t rti_machine_audit(rt_machine *machine)
{
    struct rti_machine *self = rti_machine_of(machine);
    RT_ASSERT(self->state != RTI_MACHINE_CLOSED);
    for (size_t i = 0; i < RT_QUEUE_COUNT; i++) {
        rti_list_audit(&self->out[i]);
        rti_list_audit(&self->in[i]);
    }
    machine_audit_ops(machine, &self->in[RT_QUEUE_SUBMISSIONS], RTI_TRAVEL_QUEUED);
    machine_audit_ops(machine, &self->held, RTI_TRAVEL_HELD);
    machine_audit_ops(machine, &self->waiting, RTI_TRAVEL_WAITS);
    RT_ASSERT(rti_list_audit(&self->talking) <= rti_list_audit(&self->children));
    RT_ASSERT(rti_list_is_empty(&self->shown));
    RT_ASSERT(rti_list_is_empty(&self->talking) || rti_link_is_linked(&self->input_link));
    for (struct rti_link *at = rti_list_peek(&self->submitted); at != NULL;
         at = rti_list_next(&self->submitted, at)) {
        RT_ASSERT(RTI_CONTAINER_OF(at, struct rti_travel, own)->is_submitted);
    }
    return rti_list_audit(&self->submitted);
}
