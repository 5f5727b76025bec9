/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_MACHINE_H
#define RTI_MACHINE_H

/* The inside of a machine: its two ports, its place in the tree, what it has asked and what it was
 * asked.
 *
 * A port is four lists of legs (machine/travel.h). The loop writes what comes in, the machine
 * writes what goes out; both on one thread. An op that the machine has taken is on its list `held`
 * until it is answered; an answer that waits for a wish to cancel is on `waiting`; an op that the
 * machine has submitted is on `submitted`, wherever it travels. So a machine that ends knows whom
 * to cancel and whom to answer, and no program has to keep such lists.
 *
 * Ready lists. A machine with input is on the loop's list `with_input`, once, in the order in which
 * it became ready. A root with output is on the loop's list `with_output`. A child with output is
 * on its parent's list `talking` and the parent is on `with_input`: it is the parent's tick that
 * deals with the child's words, and a parent that was only marked as having output would never get
 * one.
 *
 *     LIVE ---> CLOSING ---> CLOSED        rti_machine_to_closing, rti_machine_try_finish
 *
 * I1  A machine has input, or was woken, or a child of it talks, iff it is on `with_input`; but for
 *     what its last tick left lying.                                        (rti_machine_audit)
 * I2  A parent is closed after its children. (rti_machine_try_finish) I3  A CLOSED machine has
 * submitted nothing, holds nothing, says nothing.  (rti_machine_try_finish)
 *
 * Everything here belongs to the loop's thread. */

#include "machine/travel.h"

struct rti_loop;

enum rti_machine_state {
    RTI_MACHINE_LIVE,
    RTI_MACHINE_CLOSING,
    RTI_MACHINE_CLOSED,
};

/* What every turn touches comes first, the rest is for those who have children and at the end. */
struct rti_machine {
    struct rti_loop *loop;
    struct rti_list in[RT_QUEUE_COUNT];  /* port_in: written by the loop */
    struct rti_list out[RT_QUEUE_COUNT]; /* port_out: written by the machine */
    struct rti_list submitted;           /* ops by `own` */
    struct rti_link input_link;
    struct rti_link output_link;
    uint8_t state; /* enum rti_machine_state */
    bool answers_on_close;
    struct rti_list talking;  /* children with output, by `output_link`, FIFO */
    struct rti_list shown;    /* children that the running tick was shown; same */
    struct rti_list held;     /* ops by their OP leg */
    struct rti_list waiting;  /* the same; answered, but a cancel is on its way */
    struct rti_list children; /* by `sibling` */
    struct rti_link sibling;
};

_Static_assert(sizeof(struct rti_machine) <= sizeof(((rt_machine *)0)->opaque),
               "it fits its storage");
_Static_assert(_Alignof(struct rti_machine) <= _Alignof(uintptr_t), "it is aligned");

static inline struct rti_machine *rti_machine_of(rt_machine *machine)
{
    return (struct rti_machine *)machine->opaque;
}

static inline const struct rti_machine *rti_machine_of_const(const rt_machine *machine)
{
    return (const struct rti_machine *)machine->opaque;
}

/* The machine whose inside `self` is. */
static inline rt_machine *rti_machine_outside(struct rti_machine *self)
{
    return RTI_CONTAINER_OF((uintptr_t *)self, rt_machine, opaque);
}

/* Is the config one to make a machine of? */
rt_status rti_machine_check(const rt_machine_config *config);

/* Makes a machine without a name; `parent` NULL makes a root. */
void rti_machine_init(rt_machine *machine, struct rti_loop *loop, rt_machine *parent,
                      const rt_machine_config *config);

/* After a tick: what children said and nobody took is passed on. */
void rti_machine_pass_rest(rt_machine *machine);

/* A wish to cancel has come to where the op is. */
void rti_machine_cancel_arrived(struct rti_loop *loop, rt_op *op);

/* Drops what is left of a closing machine and forgets it if that was all. True: it is closed, and
 * its memory is no longer ours. Outside of its tick. */
bool rti_machine_try_finish(rt_machine *machine);

/* Checks the lists, the stages of the ops in them and I1; returns how many ops it has submitted. */
size_t rti_machine_audit(rt_machine *machine);

#endif
