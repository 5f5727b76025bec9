/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "ghost"
#include "sync/ghost.h"

#include "sched/scheduler.h"

static const char *const ghost_lines[] = {
    [RTI_GHOST_PERMIT_REUSED] = "ghost: a permit was used after it was resolved",
    [RTI_GHOST_HANDLE_REUSED] = "ghost: a channel handle was used after it was closed",
    [RTI_GHOST_TIMER_CANCELLED_TWICE] = "ghost: a timer was cancelled twice",
};

_Static_assert(RTI_COUNT_OF(ghost_lines) == RTI_GHOST_KIND_COUNT, "each kind has its line");

void rti_ghost_flag(struct rti_ghost *ghost, enum rti_ghost_kind kind)
{
    RT_ASSERT((unsigned)kind < RTI_GHOST_KIND_COUNT);
    rti_u32_add_relaxed(&ghost->counts[kind], 1);
    rti_port_log(ghost_lines[kind]);
}
