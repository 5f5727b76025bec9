/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TRAVEL_H
#define RTI_TRAVEL_H

/* How an op travels: the part of an rt_op that is the library's.
 *
 * Up to three things of one op are on their way at the same time: the op itself, a wish to cancel
 * it, and a ring of its doorbell. Each is a leg with links of its own, so that none has to wait for
 * another and a queue never holds one link twice. A leg knows the queue it is for, in whatever
 * inbox it lies.
 *
 *     leg 0  OP      submission on the way out, completion on the way back; with the target it
 *                    links the op into the list of what the target holds
 *     leg 1  CANCEL  initiator to target
 *     leg 2  BELL    target to initiator
 *
 * The crossing. A completion that starts home while a wish to cancel is on its way out would let
 * the initiator free the op under the wish. One word decides who came first, once per submission:
 *
 *     the initiator, to cancel:    or ASKED.     ANSWERED was there: the answer is coming, nothing
 *                                                is sent. Else the wish is sent.
 *     the target, to answer:       or ANSWERED.  ASKED was not there: the answer is sent. Else the
 *                                                wish is on its way to us, and the answer waits
 *                                                here until it has arrived.
 *
 * So a leg never outlives its op, and whichever comes first one answer is sent.
 *
 * The bell. Rung is a flag, not a test of links: the last op of a queue has no successor either.
 * The target sets it after it wrote the shared memory, and sends the leg only if it was not set;
 * the initiator clears it before it looks at the memory. Both are exchanges of one word, so either
 * the initiator sees what was written or the target sees the flag down and sends again.
 *
 * The stage says who has the op and is changed only by who has it.
 *
 * I1  The op is IDLE iff it is not in the initiator's list of submitted ops.   (rti_machine_audit)
 * I2  The CANCEL leg is on its way or in a queue only while the op is not answered or its answer
 *     waits for it.                                       (machine_model.c; RT_ASSERT at the end)
 * I3  The BELL leg is in an inbox or a queue only while the flag is up.        (RT_ASSERT)
 *
 * Who writes: stage, holder, translation, has_cancel_arrived who has the op, given on with the op
 * itself through an inbox (release and acquire of base/mpsc.h); is_submitted, is_cancel_sent,
 * target_thread, origin, interceptor and `own` the initiator's thread; the two words both, by
 * read-modify-write unless they are one thread. */

#include <orrery/rt/machine.h>

#include "base/list.h"
#include "base/mpsc.h"

enum { RTI_LEG_OP, RTI_LEG_CANCEL, RTI_LEG_BELL, RTI_LEG_COUNT };

struct rti_leg {
    struct rti_mpsc_node node; /* in the inbox of a loop */
    struct rti_link link;      /* in a queue of a port */
    uint8_t queue;             /* enum rt_queue that it is for */
    uint8_t index;             /* which leg of its op it is */
};

enum rti_travel_stage {
    RTI_TRAVEL_IDLE,   /* the initiator's */
    RTI_TRAVEL_OUT,    /* on its way to the target */
    RTI_TRAVEL_QUEUED, /* in the target's submissions */
    RTI_TRAVEL_HELD,   /* the target has taken it; or the loop, as a timer */
    RTI_TRAVEL_WAITS,  /* answered, and the answer waits for the wish to cancel */
    RTI_TRAVEL_HOME,   /* answered and on its way back */
};

struct rti_travel {
    struct rti_leg legs[RTI_LEG_COUNT];
    struct rti_link own;     /* in the initiator's list of submitted ops */
    rt_machine *interceptor; /* the ancestor of the initiator that took it; NULL: its destination */
    rt_machine *holder;      /* in whose queue or hands it is; NULL: the loop's, as a timer */
    rt_op *origin;           /* the initiator's: the held op that it translates; NULL: none */
    rt_op *translation;      /* the holder's: the op that translates it; NULL: none */
    uint32_t target_thread;  /* where a wish to cancel goes; written before the op is given on */
    rti_atomic_u32 crossing; /* RTI_CROSSING_* */
    rti_atomic_u32 bell;     /* 1: rung and not yet heard */
    uint8_t stage;           /* enum rti_travel_stage */
    bool is_submitted;
    bool is_cancel_sent;
    bool has_cancel_arrived;
};

#define RTI_CROSSING_ASKED    1u
#define RTI_CROSSING_ANSWERED 2u

_Static_assert(sizeof(struct rti_travel) <= sizeof(((rt_op *)0)->opaque), "it fits its storage");
_Static_assert(_Alignof(struct rti_travel) <= _Alignof(uintptr_t), "it is aligned in its storage");

static inline struct rti_travel *rti_travel_of(rt_op *op)
{
    return (struct rti_travel *)op->opaque;
}

static inline const struct rti_travel *rti_travel_of_const(const rt_op *op)
{
    return (const struct rti_travel *)op->opaque;
}

static inline struct rti_leg *rti_leg_of(rt_op *op, unsigned index)
{
    return &rti_travel_of(op)->legs[index];
}

static inline rt_op *rti_leg_op(struct rti_leg *leg)
{
    struct rti_leg *first = leg - leg->index;
    return (rt_op *)((char *)first - offsetof(rt_op, opaque) - offsetof(struct rti_travel, legs));
}

static inline struct rti_leg *rti_leg_of_link(struct rti_link *link)
{
    return RTI_CONTAINER_OF(link, struct rti_leg, link);
}

static inline struct rti_leg *rti_leg_of_node(struct rti_mpsc_node *node)
{
    return RTI_CONTAINER_OF(node, struct rti_leg, node);
}

/* Takes a leg out of the queue it is in, if it is in one. */
static inline void rti_leg_unlink(struct rti_leg *leg)
{
    if (rti_link_is_linked(&leg->link)) {
        rti_list_remove(&leg->link);
    }
}

static inline void rti_travel_init(struct rti_travel *travel)
{
    /* One by one: a compiler makes a slow loop of one large assignment, and a machine makes an op
     * for each transfer. What rti_travel_begin sets is left to it. */
    for (uint8_t i = 0; i < RTI_LEG_COUNT; i++) {
        rti_link_init(&travel->legs[i].link);
        travel->legs[i].index = i;
    }
    rti_link_init(&travel->own);
    travel->origin = NULL;
    travel->translation = NULL;
    travel->stage = RTI_TRAVEL_IDLE;
    travel->is_submitted = false;
    travel->is_cancel_sent = false;
    travel->has_cancel_arrived = false;
    travel->legs[RTI_LEG_OP].queue = RT_QUEUE_SUBMISSIONS;
    travel->legs[RTI_LEG_CANCEL].queue = RT_QUEUE_CANCELLATIONS;
    travel->legs[RTI_LEG_BELL].queue = RT_QUEUE_NOTIFICATIONS;
}

/* Begins a journey: both words are down. Before the op is given on. */
static inline void rti_travel_begin(struct rti_travel *travel)
{
    RT_ASSERT(travel->stage == RTI_TRAVEL_IDLE && !travel->is_submitted);
    travel->stage = RTI_TRAVEL_OUT;
    travel->is_submitted = true;
    travel->is_cancel_sent = false;
    travel->has_cancel_arrived = false;
    travel->interceptor = NULL;
    travel->holder = NULL;
    travel->target_thread = 0;
    travel->origin = NULL;
    travel->translation = NULL;
    travel->legs[RTI_LEG_OP].queue = RT_QUEUE_SUBMISSIONS;
    rti_u32_init(&travel->crossing, 0);
    rti_u32_init(&travel->bell, 0);
}

/* The initiator asks to cancel. True: the wish must be sent. False: the answer is on its way. */
static inline bool rti_crossing_ask(rti_atomic_u32 *crossing)
{
    /* Pairs with the same in rti_crossing_answer: one of the two comes first. */
    uint32_t before = rti_u32_or_acqrel(crossing, RTI_CROSSING_ASKED);
    RT_DCHECK((before & RTI_CROSSING_ASKED) == 0);
    return (before & RTI_CROSSING_ANSWERED) == 0;
}

/* The target answers. True: the answer may go. False: a wish to cancel is or was on its way here,
 * and the answer goes when it has arrived. */
static inline bool rti_crossing_answer(rti_atomic_u32 *crossing)
{
    /* Pairs with the same in rti_crossing_ask. */
    uint32_t before = rti_u32_or_acqrel(crossing, RTI_CROSSING_ANSWERED);
    RT_ASSERT((before & RTI_CROSSING_ANSWERED) == 0);
    return (before & RTI_CROSSING_ASKED) == 0;
}

/* The target rings, after it wrote what the ring is about. True: the leg must be sent. */
static inline bool rti_bell_ring(rti_atomic_u32 *bell)
{
    /* Releases the shared memory to the exchange in rti_bell_hear. Acquires from it that the leg is
     * free for use again. */
    return rti_u32_exchange_acqrel(bell, 1) == 0;
}

/* The initiator has the leg and will look at the shared memory after this. */
static inline void rti_bell_hear(rti_atomic_u32 *bell)
{
    /* Pairs with the exchange in rti_bell_ring: what was written before any ring so far is seen,
     * and a later ring finds the bell down. */
    uint32_t before = rti_u32_exchange_acqrel(bell, 0);
    RT_ASSERT(before == 1);
}

/* The same three where initiator and target are machines of one loop: one thread does all of it, or
 * turns of a hosted loop that follow each other, and needs no read-modify-write. */
static inline bool rti_crossing_answer_here(rti_atomic_u32 *crossing)
{
    bool is_asked = rti_u32_load_relaxed(crossing) == RTI_CROSSING_ASKED;
    RT_ASSERT(is_asked || rti_u32_load_relaxed(crossing) == 0);
    rti_u32_store_relaxed(crossing, RTI_CROSSING_ANSWERED | (is_asked ? RTI_CROSSING_ASKED : 0));
    return !is_asked;
}

static inline bool rti_bell_ring_here(rti_atomic_u32 *bell)
{
    bool is_down = rti_u32_load_relaxed(bell) == 0;
    rti_u32_store_relaxed(bell, 1);
    return is_down;
}

static inline void rti_bell_hear_here(rti_atomic_u32 *bell)
{
    RT_ASSERT(rti_u32_load_relaxed(bell) == 1);
    rti_u32_store_relaxed(bell, 0);
}

#endif
