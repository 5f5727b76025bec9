/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_GATE_H
#define RTI_GATE_H

/* A gate counts the messages that wait for an actor and lets nobody who is muted sleep for ever.
 *
 * A sender that finds too many waiting announces itself, looks at the count once more, and only
 * then waits. The receiver that takes a message counts down, and if that brings the count to `low`
 * looks whether anybody has announced himself. Each side writes its own word and then reads the
 * other's, with a fence between, so at least one of the two sees the other: either the sender finds
 * the count low and does not wait, or the receiver finds the announcement and releases.
 *
 * The count moves by one, so on its way down from above `low` it comes to `low` exactly; looking
 * only there is enough.
 *
 * The list of those who wait has a lock: an announcement and its withdrawal are made under it.
 *
 * I1  Who waits was announced before, and the count was above `low` after that.  (explored)
 *
 * Pairs: the two fences with each other. On an engine with one worker (`is_local`) nothing comes
 * between two steps, and the words are plain. */

#include <stdbool.h>

#include "base/assert.h"
#include "base/atomic.h"

struct rti_gate {
    rti_atomic_u32 depth; /* messages that wait; added to by senders, taken by the receiver */
    rti_atomic_u32 is_announced; /* somebody may wait for the count to fall */
};

static inline void rti_gate_init(struct rti_gate *gate)
{
    rti_u32_init(&gate->depth, 0);
    rti_u32_init(&gate->is_announced, 0);
}

static inline uint32_t rti_gate_depth(const struct rti_gate *gate)
{
    return rti_u32_load_relaxed(&gate->depth);
}

/* One message more. Returns how many there are now. */
static inline uint32_t rti_gate_enter(struct rti_gate *gate, bool is_local)
{
    if (is_local) {
        uint32_t depth = rti_u32_load_relaxed(&gate->depth) + 1;
        rti_u32_store_relaxed(&gate->depth, depth);
        return depth;
    }
    return rti_u32_add_relaxed(&gate->depth, 1) + 1;
}

/* One message less. True if the caller has to release those who wait. */
static inline bool rti_gate_leave(struct rti_gate *gate, uint32_t low, bool is_local)
{
    uint32_t before;
    if (is_local) {
        before = rti_u32_load_relaxed(&gate->depth);
        rti_u32_store_relaxed(&gate->depth, before - 1);
    } else {
        before = rti_u32_add_relaxed(&gate->depth, UINT32_MAX);
    }
    RT_DCHECK(before > 0);
    if (before - 1 != low) {
        return false;
    }
    if (!is_local) {
        /* Between our count and our look; pairs with the fence in rti_gate_announce. */
        rti_fence_seqcst();
    }
    return rti_u32_load_relaxed(&gate->is_announced) != 0;
}

/* Says that somebody is about to wait, under the lock of the list. True if there is reason to. */
static inline bool rti_gate_announce(struct rti_gate *gate, uint32_t low, bool is_local)
{
    rti_u32_store_relaxed(&gate->is_announced, 1);
    if (!is_local) {
        /* Between our word and our look; pairs with the fence in rti_gate_leave. */
        rti_fence_seqcst();
    }
    return rti_u32_load_relaxed(&gate->depth) > low;
}

/* Nobody waits any more, under the lock of the list. */
static inline void rti_gate_withdraw(struct rti_gate *gate)
{
    rti_u32_store_relaxed(&gate->is_announced, 0);
}

#endif
