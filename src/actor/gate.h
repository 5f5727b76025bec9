/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_GATE_H
#define RTI_GATE_H

/* A gate counts the messages that wait for an actor, says whether that are too many, and whether
 * somebody who is muted waits for room.
 *
 *     entered    twice the messages that came, and 1 more while somebody is announced
 *     ceiling    twice what `entered` counts when the gate is full: what left, and the limit
 *
 * So the difference of the two is the room there is, one subtraction says whether the gate is full,
 * and a sender asks for nothing else. Senders write the one word and the receiver the other: who
 * takes a message needs no locked instruction. Both wrap; the room has a sign. A gate without a
 * limit has one that no number of messages comes to.
 *
 * This is the gate of an engine with one worker: nothing comes between two steps, and the words are
 * plain. With several workers `entered` is part of the mailbox's own word (actor/letterbox.h, where
 * it is also said why nobody who is muted sleeps for ever).
 *
 * Who writes: `entered` any sender; `ceiling` the receiver, and who begins its life before anybody
 * can reach it.
 *
 * Rejected: one word for the count, which sender and receiver both change (with several workers, by
 * a locked instruction each); looking for those who wait only where the count comes to the mark
 * exactly (a sender may see it above the mark still, and the receiver has passed there). */

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

/* The room there is: twice what may come, less 1 while somebody is announced. */
static RTI_ALWAYSINLINE int32_t rti_gate_room(uint32_t ceiling, uint32_t entered)
{
    return (int32_t)(ceiling - entered);
}

/* How many wait, by the words of a gate with this limit. */
static inline uint32_t rti_gate_waiting(uint32_t ceiling, uint32_t entered, uint32_t limit)
{
    int32_t waiting = (int32_t)(entered - (ceiling - 2 * limit));
    return waiting < 0 ? 0 : (uint32_t)waiting / 2;
}

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

/* Messages that wait, of a gate with this limit. With several workers, while others are at work, it
 * is those of them that have not left meanwhile: too few perhaps, never too many. */
static inline uint32_t rti_gate_depth(const struct rti_gate *gate, uint32_t limit)
{
    return rti_gate_waiting(rti_u32_load_relaxed(&gate->ceiling),
                            rti_u32_load_relaxed(&gate->entered), limit);
}

/* What a sender reads first. */
static RTI_ALWAYSINLINE uint32_t rti_gate_look(const struct rti_gate *gate)
{
    return rti_u32_load_relaxed(&gate->entered);
}

/* Is there no room for one more, when so many have come? */
static RTI_ALWAYSINLINE bool rti_gate_is_full_at(const struct rti_gate *gate, uint32_t entered)
{
    return rti_gate_room(rti_u32_load_relaxed(&gate->ceiling), entered) <= 0;
}

static inline bool rti_gate_is_full(const struct rti_gate *gate)
{
    return rti_gate_is_full_at(gate, rti_gate_look(gate));
}

/* One message more, for who has looked. */
static RTI_ALWAYSINLINE void rti_gate_enter(struct rti_gate *gate, uint32_t entered)
{
    rti_u32_store_relaxed(&gate->entered, entered + 2);
}

/* One message less. True if the caller has to release those who wait. Receiver. */
static RTI_ALWAYSINLINE bool rti_gate_leave(struct rti_gate *gate, int32_t mark)
{
    uint32_t ceiling = rti_u32_load_relaxed(&gate->ceiling) + 2;
    rti_u32_store_relaxed(&gate->ceiling, ceiling);
    uint32_t entered = rti_u32_load_relaxed(&gate->entered);
    return RTI_UNLIKELY(rti_gate_room(ceiling, entered) >= mark) && (entered & 1) != 0;
}

/* Says that somebody is about to wait. True if there is reason to. */
static inline bool rti_gate_announce(struct rti_gate *gate, int32_t mark)
{
    uint32_t entered = rti_gate_look(gate) | 1;
    rti_u32_store_relaxed(&gate->entered, entered);
    return rti_gate_room(rti_u32_load_relaxed(&gate->ceiling), entered) < mark;
}

/* Nobody waits any more. */
static inline void rti_gate_withdraw(struct rti_gate *gate)
{
    rti_u32_store_relaxed(&gate->entered, rti_gate_look(gate) & ~UINT32_C(1));
}

#endif
