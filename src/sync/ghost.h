/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_GHOST_H
#define RTI_GHOST_H

/* The ghost monitor: in checked builds it watches the protocols of handles and counts, and says in
 * a line, each use that was refused because the program made an error. The status that the program
 * got says the same; the monitor is for the status that nobody looked at.
 *
 * Other builds keep the counts at zero and contain no code of it. The wheel of the user counts its
 * own double cancels (rt_wheel_double_cancels). */

#include "base/assert.h"
#include "base/atomic.h"

enum rti_ghost_kind {
    RTI_GHOST_PERMIT_REUSED,         /* a permit was used after send or abort */
    RTI_GHOST_HANDLE_REUSED,         /* a channel was used through a handle that is closed */
    RTI_GHOST_TIMER_CANCELLED_TWICE, /* a timer was cancelled that had been cancelled */
    RTI_GHOST_KIND_COUNT,
};

struct rti_ghost {
    rti_atomic_u32 counts[RTI_GHOST_KIND_COUNT]; /* any worker adds */
};

#if RT_CHECKS
#define RTI_GHOST(ghost, kind) rti_ghost_flag(ghost, kind)
#else
#define RTI_GHOST(ghost, kind) ((void)sizeof((ghost)->counts[kind]))
#endif

static inline void rti_ghost_init(struct rti_ghost *ghost)
{
    for (int kind = 0; kind < RTI_GHOST_KIND_COUNT; kind++) {
        rti_u32_init(&ghost->counts[kind], 0);
    }
}

/* Counts a violation and writes one line of diagnosis. */
RTI_COLD void rti_ghost_flag(struct rti_ghost *ghost, enum rti_ghost_kind kind);

#endif
