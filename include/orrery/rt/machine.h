/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_MACHINE_H
#define ORRERY_RT_MACHINE_H

/* Machines: state machines that speak in async ops, many to a loop, one loop to a thread.
 *
 * A machine has a function, `tick`, that the loop calls when something came for it. It never waits:
 * it takes what came from its queues, changes its state, and says what it wants by submitting ops.
 * An op is memory of who submits it, its initiator, and goes to a machine, its target:
 *
 *     one-shot:  rt_op_submit ... the target takes it ... rt_op_complete ... rt_machine_next
 *     standing:  rt_op_submit ... rt_op_ring, any number of times ... rt_op_complete
 *
 * What the library promises of every op that was submitted: it is completed exactly once; until
 * then its memory must stay; after that nobody but the initiator touches it. A cancel changes
 * nothing about that: it asks the target to hurry, and whatever crosses on the way, one completion
 * comes, with RT_ERR_CANCELLED or with the op's own result.
 *
 * Four queues lead to a machine and four lead away from it: submissions, cancellations, completions
 * and notifications. Each is FIFO per initiator and target. The queues are links inside the ops:
 * they have no capacity, nothing overflows and nothing is allocated.
 *
 * A machine may have children. What a child says goes to its parent, which is ticked for it and may
 * pass it on, take it for itself, or say something else instead. What comes for a child is given to
 * it directly. A parent closes after its children.
 *
 * A derived op begins with an rt_op:   struct query { rt_op base; const char *text; };
 * Ops that the platform knows are in <orrery/rt/machine_op.h>, the loop in <orrery/rt/loop.h>.
 *
 * Who may call: every function here is called on the thread of the machine's loop, by convention
 * from the tick of the machine that it names. None of them suspends or blocks.
 *
 * A machine, an op, a gather or a ring that is named is never NULL, unless it is said that it may
 * be. These functions are called for every op, and look at nothing that a program that works never
 * gives them: a NULL there is a fault of memory, as in a call of memcpy. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* Names a machine anywhere in the process. A machine_id of 0 names none: as the destination of an
 * op it stands for the other root, the platform if the app speaks and the app if the platform does.
 * The name of a closed machine is not used again before 65,535 others had its place. */
typedef struct {
    uint32_t thread_id;
    uint32_t machine_id;
} rt_machine_ref;

/* The four queues of a port. */
typedef enum {
    RT_QUEUE_SUBMISSIONS,   /* in: ops for this machine; out: ops that it submitted */
    RT_QUEUE_CANCELLATIONS, /* in: ops it took and should end early; out: its wishes to cancel */
    RT_QUEUE_NOTIFICATIONS, /* in: standing ops of its own whose doorbell rang; out: its rings */
    RT_QUEUE_COMPLETIONS,   /* in: its own ops, answered; out: its answers */
    RT_QUEUE_COUNT
} rt_queue;

/* The first code that is free for a program's own ops. Smaller ones are in machine_op.h. */
#define RT_OP_USER 0x10000u

#define RT_OP_WORDS      22
#define RT_MACHINE_WORDS 48

/* An async op. The first eight fields are described by who writes them; the rest is the library's.
 * Not to be moved or copied while it is submitted. */
typedef struct rt_op {
    uint64_t id;                /* rt_op_submit: unique among all loops of a group */
    uint64_t trace_id;          /* the initiator or rt_op_derive; 0: rt_op_submit sets the id */
    uint64_t parent_id;         /* rt_op_derive: the op on whose behalf this is; 0: none */
    int64_t result;             /* the target, with its completion */
    uint32_t code;              /* rt_op_init: what is asked */
    rt_status_code status;      /* the target, with its completion */
    rt_machine_ref destination; /* the initiator before submitting; machine_id 0: the default */
    rt_machine_ref source;      /* rt_op_submit */
    void *target_data;          /* the target's, while it has the op */
    uintptr_t opaque[RT_OP_WORDS];
} rt_op;

typedef struct rt_machine rt_machine;

/* A machine. Filled by the functions that make one; the first fields may be read, `state` changed.
 * Not to be moved or copied between its making and its `on_closed`. */
struct rt_machine {
    void *state; /* the machine's own */
    void (*tick)(rt_machine *machine, rt_time now);
    void (*on_closed)(rt_machine *machine);
    rt_machine_ref id;
    rt_machine *parent; /* NULL for the two roots of a loop */
    uintptr_t opaque[RT_MACHINE_WORDS];
};

/* How a machine is made. */
typedef struct {
    void *state;         /* kept; its memory is the caller's */
    size_t state_size;   /* bytes, for tools; may be 0 */
    uint8_t state_align; /* log2 of the alignment that `state` must have; 0: any */
    /* Called on the loop's thread whenever something came: takes it with rt_machine_next. What it
     * leaves in a queue stays there for a later tick. */
    void (*tick)(rt_machine *machine, rt_time now);
    /* Called once, after everything of the machine is answered and its name is gone: the memory of
     * the machine and its state is the caller's again. May be NULL. */
    void (*on_closed)(rt_machine *machine);
    /* The machine answers the ops it holds itself after rt_machine_close; without this they are
     * answered with RT_ERR_CLOSED at once. */
    bool answers_on_close;
} rt_machine_config;

/* ---- Ops ---- */

/* Makes an op of a code, with no destination and no trace.
 * Callable from any thread, for an op that is not submitted.
 * Never suspends.
 * `op` is the caller's. The fields of a derived op are not touched.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_op_init(rt_op *op, uint32_t code);

/* Says that `op` is asked on behalf of `parent`: it joins its trace and names it as its parent.
 * Callable on the loop's thread by who has `parent`, before `op` is submitted.
 * Never suspends.
 * Owns nothing; `parent` is only read during the call.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_op_derive(rt_op *op, const rt_op *parent);

/* Submits an op: to its destination, or to the other root if it has none.
 * Callable from the machine's tick, and on its loop's thread before the loop runs.
 * Never suspends.
 * The op and what it points to is the library's and the target's until rt_machine_next gives it
 * back from the completions.
 * Returns RT_OK; RT_ERR_CLOSED if the machine is closing, and then the op stays the caller's.
 * Submitting an op that is submitted already is a bug and panics.
 * Nothing is lost on cancel: rt_op_cancel still gets a completion. */
RT_API RT_MUST_CHECK rt_status rt_op_submit(rt_machine *machine, rt_op *op);

/* Asks that an op the machine has submitted ends early. The op is completed in any case, once: with
 * RT_ERR_CANCELLED, or with its own result if that comes first or the target cannot stop it.
 * Callable from the machine's tick, any number of times.
 * Never suspends.
 * The op stays submitted until its completion is received.
 * Returns true if the wish is on its way or was made before; false if the op's answer is on its
 * way, the op is not submitted, or it closes a descriptor. Nothing is lost on cancel. */
RT_API bool rt_op_cancel(rt_machine *machine, rt_op *op);

/* Answers an op that the machine has taken from its submissions. It ends a standing op too.
 * Callable from the machine's tick.
 * Never suspends.
 * The op and what it points to is no longer the machine's to touch, also if it lies in the queue of
 * cancellations: it is taken out of there.
 * Returns nothing. Answering an op that the machine does not hold is a bug and panics.
 * Nothing is lost on cancel. */
RT_API void rt_op_complete(rt_machine *machine, rt_op *op, rt_status_code status, int64_t result);

/* Rings the doorbell of a standing op that the machine holds: its initiator finds it among its
 * notifications and looks at the memory they share. Rings coalesce until the initiator has taken
 * the notification; none is lost, because it is taken before the memory is looked at.
 * Callable from the machine's tick.
 * Never suspends.
 * The op stays held.
 * Returns nothing. Ringing for an op that the machine does not hold is a bug and panics.
 * Nothing is lost on cancel: a completion takes the place of a ring not yet taken. */
RT_API void rt_op_ring(rt_machine *machine, rt_op *op);

/* Has the op been submitted and its completion not yet been received? For the initiator.
 * Callable on the thread of the initiator's loop.
 * Never suspends.
 * Owns nothing.
 * Returns the answer.
 * Nothing is lost on cancel. */
RT_API bool rt_op_is_submitted(const rt_op *op);

/* ---- Machines ---- */

/* Takes the oldest entry of one of the machine's incoming queues. An op from the submissions is
 * held by the machine until it completes it. An op from the cancellations is one that it holds and
 * should complete soon. An op from the completions is its own again, for any use. A standing op
 * from the notifications stays submitted: look at the shared memory now.
 * Callable from the machine's tick.
 * Never suspends.
 * Ownership as said.
 * Returns the op, or NULL if the queue is empty.
 * Nothing is lost on cancel. */
RT_API rt_op *rt_machine_next(rt_machine *machine, rt_queue queue);

/* The ops that the machine holds, in the order in which it took them: the first if `after` is NULL,
 * else the one behind it.
 * Callable from the machine's tick.
 * Never suspends.
 * Owns nothing.
 * Returns the op, or NULL at the end.
 * Nothing is lost on cancel. */
RT_API rt_op *rt_machine_held(rt_machine *machine, const rt_op *after);

/* Has the machine ticked once more, in the next round of its loop.
 * Callable on the loop's thread.
 * Never suspends.
 * Owns nothing.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_machine_wake(rt_machine *machine);

/* Is the machine closing? Its tick then only takes completions and gives back what they carry.
 * Callable on the loop's thread, until on_closed.
 * Never suspends.
 * Owns nothing.
 * Returns the answer.
 * Nothing is lost on cancel. */
RT_API bool rt_machine_is_closing(const rt_machine *machine);

/* Begins the end of a machine: its children are closed, its submitted ops cancelled, those it holds
 * and those that still come for it answered with RT_ERR_CLOSED. It is ticked for the completions;
 * when the last one is in and the last child gone, its name is forgotten and on_closed is called.
 * Callable on the loop's thread, from its own tick too. Closing twice does nothing.
 * Never suspends: on_closed says when.
 * The machine's memory stays the library's until on_closed.
 * Returns nothing.
 * Nothing is lost on cancel; completions that the closing machine does not take are dropped, their
 * ops are free and descriptors in them are closed. */
RT_API void rt_machine_close(rt_machine *machine);

/* ---- Hierarchy ---- */

/* Makes a child of a machine, on the same loop. What it says goes to the parent only.
 * Callable on the loop's thread.
 * Never suspends.
 * `child` and what `config` points to stay in place until on_closed; `config` is copied.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL, there is no tick, or the state is not aligned
 * as it says; RT_ERR_CLOSED if the parent is closing; RT_ERR_RESOURCE_EXHAUSTED if the loop has no
 * free slot.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_machine_init_child(rt_machine *parent, rt_machine *child,
                                                     const rt_machine_config *config);

/* The next child that has said something, in the order in which they did. What the parent has not
 * dealt with when its tick ends is passed on.
 * Callable from the parent's tick.
 * Never suspends.
 * Owns nothing.
 * Returns the child, or NULL if there is none.
 * Nothing is lost on cancel. */
RT_API rt_machine *rt_machine_next_child(rt_machine *parent);

/* Takes the oldest op that the child has submitted: the parent holds it now, as if it were the
 * destination, and answers it with rt_op_complete or sends it on with rt_machine_forward. A wish to
 * cancel it comes to the parent's cancellations.
 * Callable from the parent's tick.
 * Never suspends.
 * The parent holds the op.
 * Returns the op, or NULL if there is none.
 * Nothing is lost on cancel. */
RT_API rt_op *rt_machine_intercept(rt_machine *parent, rt_machine *child);

/* Sends an intercepted op on, to where it was meant to go. If its initiator has asked to cancel it
 * meanwhile, it is answered with RT_ERR_CANCELLED instead.
 * Callable from the parent's tick.
 * Never suspends.
 * The parent no longer holds the op.
 * Returns nothing. Forwarding an op that the parent has not intercepted is a bug and panics.
 * Nothing is lost on cancel. */
RT_API void rt_machine_forward(rt_machine *parent, rt_op *op);

/* Passes on everything the child has said, as the parent's own output; the default at the end of
 * the parent's tick. Wishes to cancel what the parent has intercepted go to the parent.
 * Callable from the parent's tick.
 * Never suspends.
 * Owns nothing.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_machine_pass(rt_machine *parent, rt_machine *child);

/* Submits `own` to do what the held op `held` asks, in another form: `own` joins its trace, and the
 * two are tied together. When `own` comes back, the machine looks at it, may change its status and
 * result, and calls rt_op_answer_origin.
 * Callable from the machine's tick.
 * Never suspends.
 * As rt_op_submit for `own`; `held` stays held; its target_data is used for the tie.
 * Returns what rt_op_submit returns.
 * Nothing is lost on cancel: that of `held` is passed on by cancelling held->target_data. */
RT_API RT_MUST_CHECK rt_status rt_op_translate(rt_machine *machine, rt_op *held, rt_op *own);

/* Completes the op for which `own`, now back, was submitted, with the status and result of `own`.
 * Callable from the machine's tick, once for each rt_op_translate.
 * Never suspends.
 * `own` is the machine's.
 * Returns the op that was completed, only to compare it: it is its initiator's now. NULL if it has
 * been completed before, as rt_machine_close does.
 * Nothing is lost on cancel. */
RT_API const rt_op *rt_op_answer_origin(rt_machine *machine, rt_op *own);

/* Several ops for one: the held op is answered when all parts are back. */
typedef struct {
    rt_op *whole;          /* the held op */
    uint32_t left;         /* parts that are not back, and one while it is open */
    rt_status_code status; /* RT_OK, or that of the first part that failed */
    int64_t total;         /* sum of the results of parts that succeeded */
} rt_gather;

/* Begins to collect parts for an op that the machine holds.
 * Callable from the machine's tick.
 * Never suspends.
 * `gather` is the caller's and stays until the whole is answered.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_gather_begin(rt_gather *gather, rt_op *whole);

/* Submits a part, in the trace of the whole.
 * Callable from the machine's tick, between rt_gather_begin and rt_gather_end.
 * Never suspends.
 * As rt_op_submit for `part`, whose target_data the machine may not use.
 * Returns what rt_op_submit returns; after an error the part is not counted.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_gather_add(rt_machine *machine, rt_gather *gather, rt_op *part);

/* Says that there are no more parts. If all are back the whole is answered at once.
 * Callable from the machine's tick, once.
 * Never suspends.
 * Owns nothing.
 * Returns true if the whole was answered.
 * Nothing is lost on cancel. */
RT_API bool rt_gather_end(rt_machine *machine, rt_gather *gather);

/* Counts a part that rt_machine_next gave back. With the last one the whole is answered: with RT_OK
 * and the sum of the results, or with the first failure and the sum of those that succeeded.
 * Callable from the machine's tick.
 * Never suspends.
 * The part is the machine's.
 * Returns true if the whole was answered; rt_machine_close may have done so before.
 * Nothing is lost on cancel. */
RT_API bool rt_gather_part(rt_machine *machine, rt_gather *gather, const rt_op *part);

RT_EXTERN_C_END

#endif
