/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "preempt"
#include "sched/preempt.h"

#include "base/marks.h"
#include "base/memcheck.h"
#include "base/text.h"
#include "sched/overrun.h"
#include "sched/station.h"

/* Where the frames of a fiber end. Above them lies the berth, in which addresses of the runtime's
 * functions are no calls. */
static RTI_UNSANITIZED const uintptr_t *preempt_end(const struct rti_fiber *fiber)
{
    return rti_stack_top(&fiber->stack);
}

/* A word without the signature that a return address may have: in the bits that no address has. */
static inline uintptr_t preempt_unsigned(uintptr_t word)
{
#if defined(__aarch64__)
    return word & (((uintptr_t)1 << 48) - 1);
#else
    return word;
#endif
}

RTI_UNSANITIZED bool rti_preempt_is_outside(const struct rti_fiber *fiber,
                                            const struct rti_frame *frame)
{
    uintptr_t sp = frame->sp;
    if (!rti_stack_holds(&fiber->stack, sp) || rti_text_holds(frame->pc) ||
        (frame->link != 0 && rti_text_holds(preempt_unsigned(frame->link)))) {
        return false;
    }
    uintptr_t low;
    uintptr_t high;
    rti_text_bounds(&low, &high);
    const uintptr_t *word = (const uintptr_t *)((sp + sizeof(*word) - 1) & ~(sizeof(*word) - 1));
    const uintptr_t *end = preempt_end(fiber);
    for (; word < end; word++) {
        uintptr_t value = *(const volatile uintptr_t *)word;
        RTI_MEMCHECK_DEFINED(value); /* not every word of a frame is written */
        value = preempt_unsigned(value);
        if (value >= low && value < high && rti_text_holds(value)) {
            return false;
        }
    }
    return true;
}

/* On the interrupted thread, in a signal handler. */
static void preempt_interrupted(const struct rti_frame *frame)
{
    struct rti_worker *worker = rti_worker_current();
    if (worker == NULL || worker->member == NULL || !rti_overrun_interrupted(worker, frame) ||
        worker->fiber == NULL || worker->station == NULL) {
        return;
    }
    if (rti_preempt_is_outside(worker->fiber, frame)) {
        rti_worker_let_go(worker);
    } else {
        rti_stack_summon(&worker->fiber->stack);
    }
}

void rti_preempt_at_limit(uintptr_t frame_end, uintptr_t link)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_fiber *fiber = worker->fiber;
    const struct rti_frame caller = {.sp = frame_end, .link = link};
    rti_stack_unsummon(&fiber->stack);
    /* Else it is another turn than the one that was too long, or a call by who is called by the
     * runtime: then the warden interrupts it again. */
    if (worker->member != NULL && worker->station != NULL && rti_overrun_is_meant(worker) &&
        rti_preempt_is_outside(fiber, &caller)) {
        RT_DCHECK(worker->locks_held == 0);
        RT_SOMETIMES(true, "preempt: a call of the runtime lets go of the station");
        rti_worker_let_go(worker);
    }
}

bool rti_preempt_open(struct rti_sched *sched)
{
    const struct rti_port_ops *ops = sched->port->ops;
    if (!sched->catches_faults || !rti_text_is_known() || ops->interrupts_open == NULL) {
        return false;
    }
    return !RT_FAILED(ops->interrupts_open(sched->port, preempt_interrupted));
}

void rti_preempt_close(struct rti_sched *sched)
{
    sched->port->ops->interrupts_close(sched->port);
}
