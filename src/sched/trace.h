/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TRACE_H
#define RTI_TRACE_H

/* The trace context (<orrery/rt/trace.h>) of what runs on a worker, whoever keeps it: a task and an
 * actor have one each, and a behaviour has one while it handles a message, which is the worker's.
 *
 * Contexts travel in messages, and nearly no program has any. So nothing is copied and nothing
 * looked at until the first one is set; from then on, and for good, RTI_TOLD_TRACES sends every
 * message the longer way, on which a sender's context goes along and becomes the receiver's.
 *
 * I1  Without RTI_TOLD_TRACES every context is empty, and no message carries one.
 *                                                                      (rti_trace_mark) */

#include <orrery/rt/trace.h>

#include "sched/scheduler.h"

/* Does any task, actor or message of this runtime have a context, or had one? The one test that a
 * program without contexts pays. */
static RTI_ALWAYSINLINE bool rti_traces_are_used(const struct rti_sched *sched)
{
    /* Relaxed: a context goes from hand to hand by messages and spawns, which order it. */
#if RTI_TRACES_TRAVEL
    return RTI_UNLIKELY((rti_u32_load_relaxed(&sched->told) & RTI_TOLD_TRACES) != 0);
#else
    (void)sched;
    return false;
#endif
}

/* Where the context of the caller is kept; NULL if it can have none. */
struct rt_trace *rti_trace_here(struct rti_worker *worker);

/* Says that a context is about to be set. */
void rti_trace_mark(struct rti_sched *sched);

static inline bool rti_trace_is_set(const struct rt_trace *trace)
{
    uint8_t all = 0;
    for (size_t i = 0; trace != NULL && i < sizeof(trace->trace_id); i++) {
        all |= trace->trace_id[i];
    }
    return all != 0;
}

/* Copies the caller's context; an empty one if it has none. */
void rti_trace_copy(struct rti_worker *worker, struct rt_trace *to);

#endif
