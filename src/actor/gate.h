/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_GATE_H
#define RTI_GATE_H

/* A gate counts the messages that wait for an actor, says whether that are too many, and lets
 * nobody who is muted sleep for ever.
 *
 *     entered    twice the messages that came, and 1 more while somebody is announced
 *     ceiling    twice what `entered` counts when the gate is full: what left, and the limit
 *
 * So the difference of the two is the room there is, one subtraction says whether the gate is full,
 * and a sender asks for nothing else. Senders write the one word and the receiver the other: who
 * takes a message needs no locked instruction. Both wrap; the room has a sign. A gate without a
 * limit has one that no number of messages comes to.
 *
 * A sender that finds too many waiting announces itself, looks at the room once more, and only
 * then waits. The receiver that takes a message makes room, and as long as that is enough for those
 * who wait (its `mark`) looks whether anybody has announced himself. Each side writes its own word
 * and then reads the other's, with a fence between, so at least one of the two sees the other:
 * either the sender finds room and does not wait, or the receiver finds the announcement and
 * releases. The receiver reads how many came before its fence, and may see fewer than there are,
 * but never fewer than it has taken: the last that is taken finds all the room there is, and looks.
 *
 * The list of those who wait has a lock: an announcement and its withdrawal are made under it.
 *
 * I1  Who waits was announced before, and the room was below the mark after that.  (explored)
 *
 * Who writes: `entered` any sender; `ceiling` the receiver, and who begins its life before anybody
 * can reach it. Pairs: the two fences with each other. On an engine with one worker (`is_local`)
 * nothing comes between two steps, and the words are plain.
 *
 * Rejected: one word for the count, which sender and receiver both change by a locked instruction;
 * looking only where the count comes to the mark exactly (a sender may see it above the mark still,
 * and the receiver has passed there). */

#include <stdbool.h>

#include "base/assert.h"
#include "base/atomic.h"

/* The limit of a gate that has none. The room of an open gate is half of what an int32_t can say:
 * a sender reads the two words one after the other, and what leaves between them comes to it. */
#define RTI_GATE_OPEN UINT32_C(0x1fffffff)

/* A mark that no room comes to. */
#define RTI_GATE_NEVER INT32_MAX

struct rti_gate {
    rti_atomic_u32 entered;
    rti_atomic_u32 ceiling;
};

/* A gate without a limit, that nobody has come through. */
static inline void rti_gate_init(struct rti_gate *gate)
{
    rti_u32_init(&gate->entered, 0);
    rti_u32_init(&gate->ceiling, 2 * RTI_GATE_OPEN);
}

/* The limit becomes another. Receiver. */
static inline void rti_gate_set_limit(struct rti_gate *gate, uint32_t before, uint32_t now)
{
    RT_DCHECK(before <= RTI_GATE_OPEN && now <= RTI_GATE_OPEN);
    rti_u32_store_relaxed(&gate->ceiling,
                          rti_u32_load_relaxed(&gate->ceiling) + 2 * now - 2 * before);
}

/* The mark from which on those who wait may go: `low` of at most `high` messages are left. */
static inline int32_t rti_gate_mark(uint32_t high, uint32_t low)
{
    RT_DCHECK(low < high && high <= RTI_GATE_OPEN);
    return (int32_t)(2 * (high - low)) - 1;
}

/* Messages that wait, of a gate with this limit. While others are at work it is those of them that
 * have not left meanwhile: too few perhaps, never too many. */
static inline uint32_t rti_gate_depth(const struct rti_gate *gate, uint32_t limit)
{
    /* Acquire so that what left is read after what came; there is no pair. */
    uint32_t entered = rti_u32_load_acquire(&gate->entered);
    uint32_t left = rti_u32_load_relaxed(&gate->ceiling) - 2 * limit;
    int32_t waiting = (int32_t)(entered - left);
    return waiting < 0 ? 0 : (uint32_t)waiting / 2;
}

/* What a sender that is alone reads first. */
static RTI_ALWAYSINLINE uint32_t rti_gate_look(const struct rti_gate *gate)
{
    return rti_u32_load_relaxed(&gate->entered);
}

/* Is there no room for one more, when so many have come? */
static RTI_ALWAYSINLINE bool rti_gate_is_full_at(const struct rti_gate *gate, uint32_t entered)
{
    return (int32_t)(rti_u32_load_relaxed(&gate->ceiling) - entered) <= 0;
}

static inline bool rti_gate_is_full(const struct rti_gate *gate)
{
    return rti_gate_is_full_at(gate, rti_gate_look(gate));
}

/* One message more, with one worker, for who has looked. */
static RTI_ALWAYSINLINE void rti_gate_enter_alone(struct rti_gate *gate, uint32_t entered)
{
    rti_u32_store_relaxed(&gate->entered, entered + 2);
}

/* One message more. */
static inline void rti_gate_enter(struct rti_gate *gate, bool is_local)
{
    if (is_local) {
        rti_gate_enter_alone(gate, rti_gate_look(gate));
    } else {
        (void)rti_u32_add_relaxed(&gate->entered, 2);
    }
}

/* One message less. True if the caller has to release those who wait. Receiver. */
static RTI_ALWAYSINLINE bool rti_gate_leave(struct rti_gate *gate, int32_t mark, bool is_local)
{
    uint32_t ceiling = rti_u32_load_relaxed(&gate->ceiling) + 2;
    rti_u32_store_relaxed(&gate->ceiling, ceiling);
    uint32_t entered = rti_u32_load_relaxed(&gate->entered);
    if (RTI_LIKELY((int32_t)(ceiling - entered) < mark)) {
        return false;
    }
    if (!is_local) {
        /* Between our word and our look; pairs with the fence in rti_gate_announce. */
        rti_fence_seqcst();
        entered = rti_u32_load_relaxed(&gate->entered);
    }
    return (entered & 1) != 0;
}

/* Says that somebody is about to wait, under the lock of the list. True if there is reason to. */
static inline bool rti_gate_announce(struct rti_gate *gate, int32_t mark, bool is_local)
{
    /* Acquire-release because there is no weaker one; the fence is what pairs. */
    (void)rti_u32_or_acqrel(&gate->entered, 1);
    if (!is_local) {
        /* Between our word and our look; pairs with the fence in rti_gate_leave. */
        rti_fence_seqcst();
    }
    uint32_t ceiling = rti_u32_load_relaxed(&gate->ceiling);
    return (int32_t)(ceiling - rti_u32_load_relaxed(&gate->entered)) < mark;
}

/* Nobody waits any more, under the lock of the list. */
static inline void rti_gate_withdraw(struct rti_gate *gate)
{
    /* Acquire-release because there is no weaker one; the lock is what pairs. */
    (void)rti_u32_and_acqrel(&gate->entered, ~UINT32_C(1));
}

#endif
