/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of <orrery/rt/pin.h>; how a pin works is in pin.h. */
#define RTI_MODULE "pin_api"
#include <orrery/rt/pin.h>

#include "sched/fiber.h"
#include "sched/pin.h"

static rt_status pin_refusal(void)
{
    return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("only an actor or a task with a stack can be "
                                                   "pinned")};
}

rt_status rt_pin(void)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_fiber *fiber = worker == NULL ? NULL : worker->fiber;
    if (fiber == NULL) {
        return pin_refusal();
    }
    if (fiber->pin_depth == UINT8_MAX) {
        return (rt_status){RT_ERR_LIMIT, RTI_SENTENCE("rt_pin is nested too deep")};
    }
    if (fiber->pin_depth == 0 && !rti_sched_is_local(worker->sched) &&
        !rti_pin_take(rti_worker_member(worker), &fiber->run)) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED,
                           RTI_SENTENCE("no thread is left to take the place of a pinned one")};
    }
    fiber->pin_depth++;
    return RT_SUCCESS;
}

rt_status rt_unpin(void)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_fiber *fiber = worker == NULL ? NULL : worker->fiber;
    if (fiber == NULL) {
        return pin_refusal();
    }
    if (fiber->pin_depth == 0) {
        return (rt_status){RT_ERR_STATE, RTI_SENTENCE("the caller is not pinned")};
    }
    fiber->pin_depth--;
#if !RTI_ONE_WORKER
    if (fiber->pin_depth == 0 && fiber->run.pin != 0) {
        rti_pin_release(worker->member, &fiber->run);
    }
#endif
    return RT_SUCCESS;
}
