/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "trace"
#include "sched/trace.h"

struct rt_trace *rti_trace_here(struct rti_worker *worker)
{
    struct rt_trace *trace = NULL;
    if (worker == NULL) {
        return NULL;
    }
    if (worker->fiber == NULL) {
#if RTI_TRACES_TRAVEL
        trace = worker->turn == NULL ? NULL : &worker->turn_trace;
#endif
        return trace;
    }
    for (size_t i = 0; i < RTI_TRACERS && trace == NULL; i++) {
        if (worker->sched->tracers[i] != NULL) {
            trace = worker->sched->tracers[i](worker->fiber);
        }
    }
    return trace;
}

void rti_trace_mark(struct rti_sched *sched)
{
    rti_u32_store_relaxed(&sched->has_traces, 1);
    if (rti_sched_is_local(sched)) {
        sched->is_told = true;
        rti_sched_straighten(sched);
    }
}

void rti_trace_copy(struct rti_worker *worker, struct rt_trace *to)
{
    const struct rt_trace *trace = rti_trace_here(worker);
    *to = trace == NULL ? (struct rt_trace){.flags = 0} : *trace;
}
