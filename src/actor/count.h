/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_COUNT_H
#define RTI_COUNT_H

/* A count of holds on something shared: it goes when the last hold does, exactly once.
 *
 * Who has a hold may make another: the count is above 0 as long as that takes. Who has only a name
 * must try, and fails if the last hold is gone, even if the memory is not yet.
 *
 * I1  From the moment the count is 0 it stays 0.                       (explored)
 * I2  Exactly one release answers true.                                (explored)
 *
 * Pairs: the release part of every decrement with the acquire part of the last one, so that all
 * reads of all holders come before the memory is used again. On an engine with one worker the word
 * is plain. */

#include <stdbool.h>

#include "base/assert.h"
#include "base/atomic.h"

/* One more, by who has one. */
static inline void rti_count_retain(rti_atomic_u32 *count, bool is_local)
{
    if (is_local) {
        rti_u32_store_relaxed(count, rti_u32_load_relaxed(count) + 1);
        return;
    }
    uint32_t before = rti_u32_add_relaxed(count, 1);
    RT_ASSERT(before > 0);
}

/* One more, by who has none; false if there is none left. */
static inline bool rti_count_try_retain(rti_atomic_u32 *count, bool is_local)
{
    uint32_t seen = rti_u32_load_relaxed(count);
    if (is_local) {
        rti_u32_store_relaxed(count, seen + (seen > 0));
        return seen > 0;
    }
    while (seen > 0) {
        if (rti_u32_cas_relaxed(count, &seen, seen + 1)) {
            return true;
        }
    }
    return false;
}

/* One less. True if it was the last: the caller ends what is counted. */
static inline bool rti_count_release(rti_atomic_u32 *count, bool is_local)
{
    if (is_local) {
        uint32_t left = rti_u32_load_relaxed(count) - 1;
        rti_u32_store_relaxed(count, left);
        return left == 0;
    }
    /* Pairs with itself: see above. */
    uint32_t before = rti_u32_sub_acqrel(count, 1);
    RT_ASSERT(before > 0);
    return before == 1;
}

#endif
