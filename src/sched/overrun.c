/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "overrun"
#include "sched/overrun.h"

#include "sched/backtrace.h"
#include "sched/crew.h"

void rti_overrun_suspect(struct rti_warden *warden, struct rti_member *member,
                         const struct rti_warden_view *view, bool is_new)
{
    struct rti_overrun *overrun = &member->overrun;
    rti_u64_store_relaxed(&overrun->since_ns, view->first_ns);
    rti_u64_store_relaxed(&overrun->turns, view->turns);
    if (is_new && !overrun->is_suspect && warden->overrun_ns != RTI_TIME_NEVER) {
        overrun->is_suspect = true;
        overrun->next = warden->suspects;
        warden->suspects = member;
    }
}

void rti_overrun_ask(struct rti_warden *warden, uint64_t now_ns)
{
    struct rti_port *port = warden->crew->sched->port;
    struct rti_member **link = &warden->suspects;
    while (*link != NULL) {
        struct rti_member *member = *link;
        struct rti_overrun *overrun = &member->overrun;
        if (now_ns - rti_u64_load_relaxed(&overrun->since_ns) < warden->overrun_ns) {
            link = &overrun->next;
            continue;
        }
        *link = overrun->next;
        overrun->is_suspect = false;
        /* Release pairs with the exchange in the handler. */
        rti_u32_store_release(&overrun->asked, 1);
        uintptr_t os_thread = rti_size_load_relaxed(&member->os_thread);
        if (os_thread != 0) {
            port->ops->interrupt(port, os_thread);
        }
    }
}

uint64_t rti_overrun_next(const struct rti_warden *warden)
{
    uint64_t next_ns = RTI_TIME_NEVER;
    for (const struct rti_member *member = warden->suspects; member != NULL;
         member = member->overrun.next) {
        uint64_t due_ns = rti_u64_load_relaxed(&member->overrun.since_ns) + warden->overrun_ns;
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

void rti_overrun_forget(struct rti_warden *warden)
{
    while (warden->suspects != NULL) {
        struct rti_overrun *overrun = &warden->suspects->overrun;
        warden->suspects = overrun->next;
        overrun->is_suspect = false;
        rti_u32_store_relaxed(&overrun->asked, 0);
    }
}

bool rti_overrun_is_meant(const struct rti_worker *worker)
{
    const struct rti_overrun *overrun = &worker->member->overrun;
    return worker->station != NULL ? rti_u64_load_relaxed(&worker->station->turns) ==
                                         rti_u64_load_relaxed(&overrun->turns)
                                   : worker->lent != NULL && worker->fiber != NULL;
}

static void overrun_tell(struct rti_worker *worker, const struct rti_overrun *overrun,
                         const struct rti_frame *frame)
{
    struct rti_sched *sched = worker->sched;
    struct rti_backtrace trace;
    rti_u64_add_relaxed(&worker->member->crew->warden.overruns, 1);
    if (sched->on_overrun == NULL) {
        return;
    }
    rti_backtrace_take_frame(&trace, frame, worker->fiber);
    const struct rti_overrun_report report = {
        .fiber = worker->fiber,
        .trace = &trace,
        .span_ns =
            sched->port->ops->clock_ns(sched->port) - rti_u64_load_relaxed(&overrun->since_ns),
    };
    sched->on_overrun(sched, &report);
}

bool rti_overrun_interrupted(struct rti_worker *worker, const struct rti_frame *frame)
{
    struct rti_overrun *overrun = &worker->member->overrun;
    const struct rti_fiber *fiber = worker->fiber;
    bool is_meant = rti_overrun_is_meant(worker);
    bool is_excused = fiber != NULL && fiber->blocking_depth > 0;
    /* Acquire pairs with the release in rti_overrun_ask. */
    bool is_asked = rti_u32_load_relaxed(&overrun->asked) != 0 &&
                    rti_u32_exchange_acqrel(&overrun->asked, 0) != 0;
    if (is_asked && is_meant && !is_excused) {
        overrun_tell(worker, overrun, frame);
    }
    return is_meant;
}
