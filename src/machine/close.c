/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a machine: cancel all, drain completions, forget. The memory of the ops is given back
 * by the completions, so a machine ends when the last one is in, and not before. */
#define RTI_MODULE "close"
#include "base/marks.h"
#include "machine/loop.h"

bool rt_machine_is_closing(const rt_machine *machine)
{
    return rti_machine_of_const(machine)->state != RTI_MACHINE_LIVE;
}

static void close_children(struct rti_machine *self)
{
    /* Closing only begins here: no child leaves the list before its own tick. */
    for (struct rti_link *at = rti_list_peek(&self->children); at != NULL;
         at = rti_list_next(&self->children, at)) {
        rt_machine_close(rti_machine_outside(RTI_CONTAINER_OF(at, struct rti_machine, sibling)));
    }
}

static void close_cancel_submitted(rt_machine *machine)
{
    struct rti_machine *self = rti_machine_of(machine);
    for (struct rti_link *at = rti_list_peek(&self->submitted); at != NULL;
         at = rti_list_next(&self->submitted, at)) {
        struct rti_travel *travel = RTI_CONTAINER_OF(at, struct rti_travel, own);
        (void)rt_op_cancel(machine, RTI_CONTAINER_OF((uintptr_t *)travel, rt_op, opaque));
    }
}

static void close_answer_all(rt_machine *machine)
{
    struct rti_machine *self = rti_machine_of(machine);
    struct rti_link *link;
    while ((link = rti_list_pop(&self->in[RT_QUEUE_SUBMISSIONS])) != NULL) {
        rti_route_answer(self->loop, rti_leg_op(rti_leg_of_link(link)), RT_ERR_CLOSED, 0);
    }
    rt_op *op;
    while (!self->answers_on_close && (op = rt_machine_held(machine, NULL)) != NULL) {
        rt_op_complete(machine, op, RT_ERR_CLOSED, 0);
    }
}

void rt_machine_close(rt_machine *machine)
{
    struct rti_machine *self = rti_machine_of(machine);
    RT_ASSERT(self->state != RTI_MACHINE_CLOSED);
    if (self->state == RTI_MACHINE_CLOSING) {
        return;
    }
    self->state = RTI_MACHINE_CLOSING;
    close_children(self);
    close_cancel_submitted(machine);
    close_answer_all(machine);
    rti_machine_want_tick(machine);
}

/* A completion that nobody takes: what it carries is given back. */
static void close_drop(struct rti_loop *loop, rt_op *op)
{
    if (op->status == RT_OK && rti_op_code_gives_fd(op->code)) {
        RT_SOMETIMES(true, "machine_closes_a_descriptor_nobody_takes");
        (void)loop->port->ops->close_fd(loop->port, (int)op->result);
    }
}

static void close_drop_inputs(rt_machine *machine)
{
    struct rti_machine *self = rti_machine_of(machine);
    rt_op *op;
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        close_drop(self->loop, op);
    }
    while (rt_machine_next(machine, RT_QUEUE_NOTIFICATIONS) != NULL) {
    }
    /* Ops that an ancestor's tick intercepted for it, or that it took while closing. */
    close_answer_all(machine);
}

static bool close_is_done(const struct rti_machine *self)
{
    bool is_silent = true;
    for (size_t i = 0; i < RT_QUEUE_COUNT; i++) {
        is_silent = is_silent && rti_list_is_empty(&self->out[i]);
    }
    return is_silent && rti_list_is_empty(&self->submitted) && rti_list_is_empty(&self->held) &&
           rti_list_is_empty(&self->waiting) && rti_list_is_empty(&self->children);
}

bool rti_machine_try_finish(rt_machine *machine)
{
    struct rti_machine *self = rti_machine_of(machine);
    RT_ASSERT(self->state == RTI_MACHINE_CLOSING);
    close_drop_inputs(machine);
    if (!close_is_done(self)) {
        return false;
    }
    for (size_t i = 0; i < RT_QUEUE_COUNT; i++) {
        RT_ASSERT(rti_list_is_empty(&self->in[i]));
    }
    RT_ASSERT(rti_list_is_empty(&self->talking));
    if (rti_link_is_linked(&self->input_link)) {
        rti_list_remove(&self->input_link);
    }
    if (rti_link_is_linked(&self->output_link)) {
        rti_list_remove(&self->output_link);
    }
    self->state = RTI_MACHINE_CLOSED;
    rti_slots_give(self->loop, machine);
    if (machine->parent != NULL) {
        rti_list_remove(&self->sibling);
        rti_machine_want_tick(machine->parent);
    }
    struct rti_loop *loop = self->loop;
    rti_loop_machine_closed(loop, machine);
    if (machine->on_closed != NULL) {
        machine->on_closed(machine);
    }
    return true;
}
