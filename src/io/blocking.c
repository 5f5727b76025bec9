/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that block; the manual is <orrery/rt/blocking.h>.
 *
 * A function on the pool is a request like every other (request.h): its record outlives a caller
 * that is killed. A call on the worker's own thread lets go of the station for the time; how deep
 * such calls are nested is the fiber's, since it may come back on another thread only if it was
 * suspended in between. */
#define RTI_MODULE "blocking"
#include <orrery/rt/blocking.h>

#include "io/io.h"
#include "sched/crew.h"
#include "sched/crew_search.h"

static rt_status blocking_refusal(void)
{
    return (rt_status){RT_ERR_THREAD, "only an actor or a task can say that"};
}

/* On a thread of the pool. The program's function is in `address`, its argument in `buffer`. */
static void blocking_work(struct rti_op *op)
{
    void (*fn)(void *arg);
    *(void **)&fn = op->address;
    fn(op->buffer);
    rti_op_answer(op, RT_OK, 0, 0);
}

rt_status rt_blocking(void (*fn)(void *arg), void *arg)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, -1);
    if (RT_FAILED(status)) {
        return status;
    }
    if (fn == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no function"};
    }
    if (rti_io_blocks(&call)) {
        fn(arg);
        return RT_SUCCESS;
    }
    struct rti_request *request = rti_net_request_new(call.io, RTI_OP_WORK, -1);
    if (request == NULL) {
        return RTI_IO_FULL;
    }
    request->op.work = blocking_work;
    request->op.buffer = arg;
    *(void (**)(void *)) & request->op.address = fn;
    uint64_t deadline_ns = rti_io_deadline(&call);
    rti_request_begin(request);
    if (!rti_request_await(request, deadline_ns)) {
        return rti_io_unanswered(&call);
    }
    status = request->op.status == RT_OK ? RT_SUCCESS : rti_io_failure(&request->op);
    rti_request_end(request, true);
    return status;
}

rt_status rt_blocking_enter(void)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_fiber *fiber = worker == NULL ? NULL : worker->fiber;
    if (fiber == NULL) {
        return blocking_refusal();
    }
    fiber->blocking_depth++;
    if (fiber->blocking_depth == 1 && rti_worker_station(worker) != NULL) {
        rti_worker_let_go(worker);
    }
    return RT_SUCCESS;
}

rt_status rt_blocking_exit(void)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_fiber *fiber = worker == NULL ? NULL : worker->fiber;
    if (fiber == NULL) {
        return blocking_refusal();
    }
    if (fiber->blocking_depth == 0) {
        return (rt_status){RT_ERR_STATE, "rt_blocking_enter comes first"};
    }
    fiber->blocking_depth--;
    if (fiber->blocking_depth == 0 && !rti_sched_is_local(worker->sched) &&
        !rti_worker_come_back(worker)) {
        rti_fiber_yield(worker);
    }
    return RT_SUCCESS;
}
