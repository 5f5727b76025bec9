/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINUX_SPIN_H
#define RTI_LINUX_SPIN_H

/* The port's own lock, for a port that several workers use; nothing on one that a single thread
 * does. Held for a few instructions or one system call that does not block. Who finds it taken
 * spins and then naps; the holder knows of no sleepers, so giving it back is a plain store.
 *
 * Order: a descriptor's entry before the port's ledger; a listener's entry before that of the
 * connection it has just accepted, which nobody else knows yet.
 *
 * The scheduler's lock (sched/lock.h) is the same idea one layer up, with ranks. */

#include <stdbool.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"

struct rti_spin {
    rti_atomic_u32 is_taken; /* zero: free */
};

/* Spins and naps until the lock is the caller's. */
RTI_COLD void rti_spin_contend(struct rti_spin *spin);

static inline void rti_spin_acquire(struct rti_spin *spin, bool is_shared)
{
    /* Acquire pairs with the release of the last holder. */
    if (is_shared && RTI_UNLIKELY(rti_u32_exchange_acqrel(&spin->is_taken, 1) != 0)) {
        rti_spin_contend(spin);
    }
}

static inline void rti_spin_release(struct rti_spin *spin, bool is_shared)
{
    if (is_shared) {
        RT_DCHECK(rti_u32_load_relaxed(&spin->is_taken) != 0);
        /* Release pairs with the next holder's acquire. */
        rti_u32_store_release(&spin->is_taken, 0);
    }
}

#endif
