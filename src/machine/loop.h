/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LOOP_H
#define RTI_LOOP_H

/* The loop: routes ops between machines and ticks them; the one place that knows threads.
 *
 * A turn, on the loop's thread:
 *
 *     wait     port->wait, blocking only if nothing is to be routed or ticked and the inbox is
 *              marked idle; completions of the world come in here
 *     timers   those that are due are completed
 *     inbox    what was there when the visit began
 *     route    all outputs, in the order in which the roots became ready
 *     tick     all machines that had input, in the order in which they became ready
 *
 * Route and tick are repeated, a bounded number of times, before the next wait: a wait is a system
 * call, and a word from the app to the platform and back would cost three. What a tick makes ready
 * is ticked in the next round, so a machine that feeds itself starves nobody.
 *
 * What is said to the platform by its own loop is begun by the router, not by a tick: nobody would
 * look at it in between. Only what is to be cancelled already lies in its queue until the tick.
 *
 * What the platform answers and rings goes to its initiator at once, not by the output of the
 * platform: nobody is above a root who could look at it, and the platform never submits, so none of
 * it comes back within its own tick. Who gets it is ticked in the next round, or in this one if its
 * tick is still to come.
 *
 * A loop runs in a thread of its own, in the simulator, or as a runnable of an engine
 * (loop_runnable.h). The last does not wait by itself: `is_hosted`, and `rouse` is called whenever
 * something came for it.
 *
 * Names. A slot per machine: index and generation make the machine_id, so the name of a closed
 * machine is found to be nobody's. What is sent to nobody is answered with RT_ERR_NOT_FOUND, to a
 * closing machine with RT_ERR_CLOSED.
 *
 * I1  The loop blocks only if with_input and with_output are empty and the inbox is idle.
 *                                                                          (RT_ASSERT in loop_wait)
 * I2  A slot is in use iff its machine is LIVE or CLOSING and has its name.    (rti_loop_audit)
 * I3  Only the loop's thread touches anything here but the inbox, is_close_asked and the port's
 *     wake.                                                           (tested under TSan)
 * I4  The platform closes after the app.                              (RT_ASSERT in
 * loop_close_next)
 *
 * Costs: one hop between machines of a loop is four list operations, from the platform two; to
 * another loop one exchange more, and a wake if that loop sleeps.
 *
 * Rejected: ready lists as stacks (the latest speaker would always come first); delivering inside
 * rt_op_submit (the stack would grow with every answer, and a parent could not look at it). */

#include <orrery/rt/loop.h>
#include <orrery/rt/machine_op.h>

#include "base/journal.h"
#include "machine/inbox.h"
#include "machine/machine.h"
#include "port/port.h"
#include "time/wheel.h"

/* Rounds of route and tick between two waits. */
#define RTI_LOOP_ROUNDS_MAX 16

/* Ids of ops: the thread and one above, then a count that wraps. No two loops of a group give the
 * same one. */
#define RTI_LOOPS_MAX     UINT16_MAX
#define RTI_OP_COUNT_BITS 48

/* Room for what makes a loop a runnable. */
#define RTI_LOOP_HOST_WORDS 36

/* Bytes that a receive uses that has no room of its own. */
#define RTI_LOOP_SCRATCH_SIZE 2048

struct rti_slot {
    rt_machine *machine; /* NULL: free */
    uint16_t generation; /* of its name, never 0 */
    uint16_t next_free;  /* index + 1; 0: none */
};

_Static_assert(sizeof(struct rti_slot) <= sizeof(rt_machine_slot), "a slot fits its storage");

struct rti_loop {
    uint32_t thread_id;
    bool is_hosted;  /* somebody else waits for the world */
    bool is_closed;  /* both roots are gone and the group knows it */
    bool is_ticking; /* inside a turn */
    rti_atomic_u32 is_close_asked;
    rt_loop_group *group;
    rt_loop_group alone; /* the group of a loop that has none */
    rt_loop *alone_loops[1];
    struct rti_port *port;
    struct rti_wheel *wheel;     /* its own, or the engine's */
    struct rti_journal *journal; /* NULL: nothing is recorded */
    /* Writes an event where others write too. NULL: straight into the journal. */
    void (*write)(struct rti_loop *loop, const struct rti_journal_event *event);
    void (*rouse)(struct rti_loop *loop);        /* loop's thread: there is something to do */
    void (*rouse_remote)(struct rti_loop *loop); /* any thread: the same */
    /* Any thread: the port has answered an op of the platform's, which the loop is to hear of in
     * its turn. NULL: the port answers on the loop's thread. */
    void (*bring)(struct rti_loop *loop, struct rti_op *op);
    void *host; /* theirs */
    struct rti_inbox inbox;
    struct rti_list with_input;
    struct rti_list with_output;
    rt_machine *app; /* NULL once it is closed, as is the next */
    rt_machine *platform;
    uint64_t now_ns;   /* the clock at the last wait */
    uint64_t op_count; /* ids given so far */
    struct rti_slot *slots;
    size_t slots_count;
    uint16_t first_free; /* index + 1; 0: none */
    rt_loop_stats stats;
    rt_machine platform_machine;
    uintptr_t host_storage[RTI_LOOP_HOST_WORDS]; /* a struct rti_loop_runnable, for rt_loop_host */
    struct rti_wheel own_wheel;
    unsigned char scratch[RTI_LOOP_SCRATCH_SIZE];
};

_Static_assert(sizeof(struct rti_loop) <= sizeof(rt_loop), "the loop fits its storage");
_Static_assert(_Alignof(struct rti_loop) <= _Alignof(rt_loop), "the loop is aligned");
_Static_assert(sizeof(rti_atomic_u32) == sizeof(uint32_t), "the group's count is a word");

static inline struct rti_loop *rti_loop_of(rt_loop *loop)
{
    return (struct rti_loop *)loop->opaque;
}

static inline const struct rti_loop *rti_loop_of_const(const rt_loop *loop)
{
    return (const struct rti_loop *)loop->opaque;
}

static inline rt_loop *rti_loop_outside(struct rti_loop *loop)
{
    return (rt_loop *)loop;
}

/* ---- names: slots.c ---- */

void rti_slots_init(struct rti_loop *loop, rt_machine_slot *slots, size_t count);
/* Gives the machine a name. RT_ERR_RESOURCE_EXHAUSTED if there is no slot. */
rt_status rti_slots_take(struct rti_loop *loop, rt_machine *machine);
void rti_slots_give(struct rti_loop *loop, rt_machine *machine);
/* Checks I2 and returns how many slots are in use. */
size_t rti_slots_audit(const struct rti_loop *loop);

/* ---- ready lists: small, and on the way of every op. Where flash is scarce they are there once,
 * in machine.c. ---- */

#if RTI_ONE_WORKER
#define RTI_LOOP_STEP
#else
#define RTI_LOOP_STEP static inline
#endif

/* Has the machine ticked. */
RTI_LOOP_STEP void rti_machine_want_tick(rt_machine *machine);

/* Says that a leg was put into `out`: a root tells the loop, a child its parent, which gets a tick.
 */
RTI_LOOP_STEP void rti_machine_signal(rt_machine *machine);

/* Puts a leg into an outgoing queue and says so. */
RTI_LOOP_STEP void rti_machine_say(rt_machine *machine, struct rti_leg *leg);

/* Puts a leg into an incoming queue and has the machine ticked. */
RTI_LOOP_STEP void rti_machine_hear(rt_machine *machine, struct rti_leg *leg);

/* The machine of a name; NULL if it is nobody's. */
RTI_LOOP_STEP rt_machine *rti_slots_find(const struct rti_loop *loop, uint32_t machine_id);

#if !RTI_ONE_WORKER || defined(RTI_LOOP_HERE)

/* Something is ready: a hosted loop is told. */
static inline void rti_loop_rouse(struct rti_loop *loop)
{
    if (loop->rouse != NULL) {
        loop->rouse(loop);
    }
}

RTI_LOOP_STEP void rti_machine_want_tick(rt_machine *machine)
{
    struct rti_machine *self = rti_machine_of(machine);
    RT_ASSERT(self->state != RTI_MACHINE_CLOSED);
    if (!rti_link_is_linked(&self->input_link)) {
        rti_list_push_tail(&self->loop->with_input, &self->input_link);
    }
    rti_loop_rouse(self->loop);
}

RTI_LOOP_STEP void rti_machine_signal(rt_machine *machine)
{
    struct rti_machine *self = rti_machine_of(machine);
    bool is_said = rti_link_is_linked(&self->output_link);
    if (machine->parent != NULL) {
        if (!is_said) {
            rti_list_push_tail(&rti_machine_of(machine->parent)->talking, &self->output_link);
        }
        rti_machine_want_tick(machine->parent);
        return;
    }
    if (!is_said) {
        rti_list_push_tail(&self->loop->with_output, &self->output_link);
    }
    rti_loop_rouse(self->loop);
}

RTI_LOOP_STEP void rti_machine_say(rt_machine *machine, struct rti_leg *leg)
{
    rti_list_push_tail(&rti_machine_of(machine)->out[leg->queue], &leg->link);
    rti_machine_signal(machine);
}

RTI_LOOP_STEP void rti_machine_hear(rt_machine *machine, struct rti_leg *leg)
{
    rti_list_push_tail(&rti_machine_of(machine)->in[leg->queue], &leg->link);
    rti_machine_want_tick(machine);
}

RTI_LOOP_STEP rt_machine *rti_slots_find(const struct rti_loop *loop, uint32_t machine_id)
{
    size_t place = machine_id & UINT16_MAX;
    if (RTI_UNLIKELY(place == 0 || place > loop->slots_count)) {
        return NULL;
    }
    const struct rti_slot *slot = &loop->slots[place - 1];
    return slot->generation == machine_id >> 16 ? slot->machine : NULL;
}
#endif

/* ---- routing: route.c ---- */

/* Routes everything that a root has said. */
void rti_route_output(struct rti_loop *loop, rt_machine *root);

/* Takes in a leg that another loop has sent. */
void rti_route_arrival(struct rti_loop *loop, struct rti_leg *leg);

/* Answers an op that no machine has taken. */
void rti_route_answer(struct rti_loop *loop, rt_op *op, rt_status_code status, int64_t result);

/* Rings for an op at its initiator's. */
void rti_route_ring(struct rti_loop *loop, rt_op *op);

/* Sends an answered op to its initiator. */
void rti_route_answer_home(struct rti_loop *loop, rt_op *op);

/* Completes a timer op that is due: the `fire` of its timer. */
void rti_route_timer_fired(struct rti_timer *timer);

/* Takes a timer op that is cancelled out of the wheel. */
void rti_route_timer_disarm(struct rti_loop *loop, rt_op *op);

/* Does the result of a completed op of this code own a descriptor? */
static inline bool rti_op_code_gives_fd(uint32_t code)
{
    return code == RT_OP_LISTEN || code == RT_OP_UDP_OPEN || code == RT_OP_CONNECT ||
           code == RT_OP_ACCEPT || code == RT_OP_FILE_OPEN;
}

/* ---- the turn: loop.c ---- */

/* rt_loop_init without the last word, which is rti_loop_made: from then on the others of the group
 * may send to it. */
rt_status rti_loop_make(rt_loop *loop, const rt_loop_config *config);
void rti_loop_made(struct rti_loop *loop);

/* Are all loops of the group made? */
bool rti_loop_is_group_made(const struct rti_loop *loop);

/* Is there nothing to do but to wait? Marks the inbox idle if so. */
bool rti_loop_is_idle(struct rti_loop *loop);

/* Timers, inbox, route and tick; no wait. For those who wait themselves. */
void rti_loop_work(struct rti_loop *loop);

/* Is everything over, here and in the group? */
bool rti_loop_is_over(struct rti_loop *loop);

/* Called when a machine of the tree is closed. */
void rti_loop_machine_closed(struct rti_loop *loop, rt_machine *machine);

/* Writes what happened to an op into the journal; rti_loop_record does so if there is one. */
void rti_loop_record_write(struct rti_loop *loop, enum rti_journal_kind kind, const rt_op *op,
                           uint32_t machine_id);

static inline void rti_loop_record(struct rti_loop *loop, enum rti_journal_kind kind,
                                   const rt_op *op, uint32_t machine_id)
{
    if (RTI_UNLIKELY(loop->journal != NULL)) {
        rti_loop_record_write(loop, kind, op, machine_id);
    }
}

/* The same for an event that tells the op's parent and is followed by its trace: a submission, or a
 * hop; `detail` is its code or its queue. */
void rti_loop_record_parent(struct rti_loop *loop, enum rti_journal_kind kind, const rt_op *op,
                            uint32_t machine_id, uint32_t detail);

/* Walks everything and checks I2 and the machines. Between turns. */
void rti_loop_audit(struct rti_loop *loop);

#endif
