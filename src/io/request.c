/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a request; the essay is in request.h. */
#define RTI_MODULE "request"
#include "io/request.h"

#include "base/marks.h"
#include "time/deadline.h"

/* Gives the record back; what it brought and nobody took goes with it. */
static void request_release(struct rti_request *request)
{
    RT_ASSERT(request->state != RTI_REQUEST_IN_FLIGHT && request->waiter == NULL);
    RT_DCHECK(rti_op_is_idle(&request->op));
    request->release(request);
}

static void request_done(struct rti_op *op)
{
    struct rti_request *request = RTI_CONTAINER_OF(op, struct rti_request, op);
    struct rti_request_guard *guard = request->guard; /* the record may be gone at the end */
    rti_request_guard_acquire(guard);
    struct rti_waiter *waiter = request->waiter;
    RT_ASSERT(request->state == RTI_REQUEST_IN_FLIGHT);
    request->state = RTI_REQUEST_ANSWERED;
    if (request->is_detached) {
        request_release(request);
        waiter = NULL;
    } else if (waiter != NULL && !rti_wait_claim(waiter->wait, waiter->event)) {
        /* The limit or a kill came first: the fiber finds the state when it runs. With several
         * workers it may also not have come to wait yet. */
        RT_SOMETIMES(true, "request: answer after the limit and before the fiber ran");
        waiter = NULL;
    }
    rti_request_guard_release(guard);
    if (waiter != NULL) {
        rti_waiter_wake(waiter);
    }
}

/* The fiber lets go. With the guard held. */
static void request_detach(struct rti_request *request)
{
    RT_ASSERT(!request->is_detached && request->waiter == NULL);
    request->is_detached = true;
    if (request->is_kept && request->state != RTI_REQUEST_ANSWERED) {
        return;
    }
    if (request->state == RTI_REQUEST_IN_FLIGHT) {
        request->port->ops->cancel(request->port, &request->op);
    } else {
        request_release(request);
    }
}

/* Does this wait end because its fiber does? A kill and an overflow mark the fiber, whatever event
 * had claimed the wait before. */
static bool wait_is_of_dying(const struct rti_wait *wait)
{
    const struct rti_fiber *fiber = wait->target;
    return rti_fiber_is_killed(fiber);
}

/* With one worker its waiter lies beside the flag, or in the line and in the wait if that was
 * raised. */
static inline void request_leave_cancel(const struct rti_wait *wait)
{
    struct rti_cancel *cancel = rti_fiber_cancel(wait->target);
    if (cancel != NULL && wait->is_local) {
        (void)rti_cancel_remove_lone(cancel);
    }
}

static void request_unlink(struct rti_waiter *waiter)
{
    struct rti_request *request = waiter->slot;
    struct rti_request_guard *guard = request->guard;
    request_leave_cancel(waiter->wait);
    rti_request_guard_acquire(guard);
    RT_ASSERT(request->waiter == waiter);
    request->waiter = NULL;
    if (wait_is_of_dying(waiter->wait)) {
        RT_SOMETIMES(request->state == RTI_REQUEST_ANSWERED, "request: killed with its answer");
        request_detach(request);
    }
    rti_request_guard_release(guard);
}

void rti_request_detach(struct rti_request *request)
{
    struct rti_request_guard *guard = request->guard;
    rti_request_guard_acquire(guard);
    request_detach(request);
    rti_request_guard_release(guard);
}

static bool request_is_answered(struct rti_request *request)
{
    rti_request_guard_acquire(request->guard);
    bool is_answered = request->state == RTI_REQUEST_ANSWERED;
    rti_request_guard_release(request->guard);
    return is_answered;
}

/* One park; true if the answer is there at its end. */
static bool request_park(struct rti_request *request, struct rti_worker *worker,
                         uint64_t deadline_ns, struct rti_cancel *cancel)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_waiter cancel_waiter;
    struct rti_deadline deadline;
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_IO;
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, request_unlink);
    waiter.slot = request;
    rti_request_guard_acquire(request->guard);
    RT_ASSERT(request->waiter == NULL && !request->is_detached);
    bool is_answered = request->state == RTI_REQUEST_ANSWERED;
    request->waiter = is_answered ? NULL : &waiter;
    rti_request_guard_release(request->guard);
    if (is_answered) {
        return true;
    }
    if (cancel != NULL && rti_sched_is_local(worker->sched)) {
        rti_cancel_add_lone(cancel, &wait, &cancel_waiter);
    } else if (cancel != NULL) {
        rti_cancel_add(cancel, &wait, &cancel_waiter);
    }
    rti_deadline_add(&deadline, worker->sched, &wait, deadline_ns);
    uint32_t event = rti_fiber_park(worker, &wait);
    return RTI_LIKELY(event == RTI_EVENT_SOURCE) || request_is_answered(request);
}

void rti_request_init(struct rti_request *request, struct rti_port *port, enum rti_op_code code,
                      void (*release)(struct rti_request *))
{
    RT_ASSERT(release != NULL);
    rti_op_init(&request->op, code, request_done);
    request->port = port;
    request->guard = NULL;
    request->waiter = NULL;
    request->state = RTI_REQUEST_NEW;
    request->is_detached = false;
    request->is_kept = false;
    request->is_taken = false;
    request->release = release;
}

bool rti_request_attempt(struct rti_request *request)
{
    RT_ASSERT(request->state == RTI_REQUEST_NEW);
    if (!request->port->ops->attempt(request->port, &request->op)) {
        return false;
    }
    request->state = RTI_REQUEST_ANSWERED;
    return true;
}

bool rti_request_await(struct rti_request *request, uint64_t deadline_ns)
{
    /* Asked here: the call that this belongs to may have waited before, and moved. */
    struct rti_worker *worker = rti_worker_here();
    struct rti_request_guard *guard = request->guard;
    struct rti_cancel *cancel = request->is_kept ? NULL : worker->fiber->cancel;
    bool is_cancelled = cancel != NULL && rti_cancel_is_requested(cancel);
    if (!is_cancelled && request_park(request, worker, deadline_ns, cancel)) {
        return true;
    }
    if (rti_op_is_work(&request->op)) {
        rti_request_detach(request);
        return false;
    }
    /* The port decides now and says so at its next wait; a kill may still come in between. */
    request->port->ops->cancel(request->port, &request->op);
    bool is_answered = request_park(request, rti_worker_current(), RTI_TIME_NEVER, NULL);
    RT_ASSERT(is_answered);
    if (request->op.status != RT_ERR_CANCELLED) {
        RT_SOMETIMES(true, "request: completion won against the limit");
        return true;
    }
    rti_request_guard_acquire(guard);
    request_release(request);
    rti_request_guard_release(guard);
    return false;
}

bool rti_request_perform(struct rti_request *request, uint64_t deadline_ns)
{
    RT_ASSERT(request->state == RTI_REQUEST_NEW);
    if (request->port->ops->perform(request->port, &request->op, deadline_ns)) {
        request->state = RTI_REQUEST_ANSWERED;
        return true;
    }
    request_release(request);
    return false;
}

void rti_request_end(struct rti_request *request, bool is_taken)
{
    RT_ASSERT(!request->is_detached);
    RT_ASSERT(request->state == RTI_REQUEST_ANSWERED || !is_taken);
    request->is_taken = is_taken;
    struct rti_request_guard *guard = request->guard;
    rti_request_guard_acquire(guard);
    request_release(request);
    rti_request_guard_release(guard);
}

bool rti_waiter_is_of_request(const struct rti_waiter *waiter)
{
    return waiter->unlink == request_unlink;
}
