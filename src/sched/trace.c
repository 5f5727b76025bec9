/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "trace"
#include "sched/trace.h"

#include "sched/solo.h"

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
#if RT_TRACE
    if ((rti_u32_load_relaxed(&sched->told) & RTI_TOLD_TRACES) == 0) {
        /* Acquire-release because there is no weaker one: what carries a context orders it. */
        (void)rti_u32_or_acqrel(&sched->told, RTI_TOLD_TRACES);
    }
#endif
    if (rti_sched_is_local(sched)) {
        rti_sched_straighten(sched);
        return;
    }
#if !RTI_ONE_WORKER && RT_HAS_BEHAVIOURS
    /* A behaviour's turn that goes on alone does not ask. What others send ends that by itself. */
    struct rti_worker *worker = rti_worker_current();
    if (worker != NULL && worker->shared_turn != NULL) {
        rti_solo_quit(worker);
    }
#endif
}

void rti_trace_copy(struct rti_worker *worker, struct rt_trace *to)
{
    const struct rt_trace *trace = rti_trace_here(worker);
    *to = trace == NULL ? (struct rt_trace){.flags = 0} : *trace;
}
