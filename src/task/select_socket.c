/* SPDX-License-Identifier: Apache-2.0 */
/* The arms of a select that wait for a descriptor; the manual is <orrery/rt/arm.h>.
 *
 * Readiness is an op like every other (port/op.h), in a record of the network's pool: it outlives
 * the select if the port still has it when another arm is chosen. Nothing is read or written, so
 * an answer that nobody collects loses nothing. */
#define RTI_MODULE "select_socket"
#include <orrery/rt/arm.h>

#include "io/io.h"
#include "sync/select.h"

static struct rti_request *socket_request(const struct rti_arm *arm, struct rti_sched *sched)
{
    struct rti_io *io = sched->modules[RTI_MODULE_IO];
    return io == NULL ? NULL : rti_net_request_new(io, (enum rti_op_code)arm->kind, arm->fd);
}

static rt_status socket_status(const struct rti_request *request)
{
    return request->op.status == RT_OK ? RT_SUCCESS : rti_io_failure(&request->op);
}

/* Without a record it cannot be told: then the second round is refused. */
static rt_status socket_attempt(struct rti_arm *arm, struct rti_sched *sched)
{
    rt_status status = {RT_ERR_WOULDBLOCK, NULL};
    struct rti_request *request = socket_request(arm, sched);
    if (request == NULL) {
        return status;
    }
    if (rti_request_attempt(request)) {
        status = socket_status(request);
    }
    rti_request_end(request, false);
    return status;
}

static void socket_unlink(struct rti_waiter *waiter)
{
    struct rti_request *request = waiter->slot;
    RT_ASSERT(request->waiter == waiter);
    request->waiter = NULL;
    rti_request_detach(request);
}

static enum rti_arm_join socket_join(struct rti_arm *arm, struct rti_select *select)
{
    struct rti_request *request = socket_request(arm, select->sched);
    if (request == NULL) {
        return RTI_ARM_REFUSED;
    }
    rti_wait_add(select->wait, &arm->waiter, rti_arm_event(arm, select), socket_unlink);
    arm->waiter.slot = request;
    request->waiter = &arm->waiter;
    rti_request_begin(request);
    return RTI_ARM_LINKED;
}

static bool socket_collect(struct rti_arm *arm, struct rti_sched *sched, rt_status *status)
{
    const struct rti_request *request = arm->waiter.slot;
    (void)sched;
    RT_ASSERT(request->state == RTI_REQUEST_ANSWERED);
    *status = socket_status(request);
    return true;
}

static const struct rti_arm_ops socket_ops = {
    .attempt = socket_attempt, .join = socket_join, .collect = socket_collect};

static void socket_arm(struct rti_arm *arm, int fd, enum rti_op_code code)
{
    rti_arm_init(arm, fd < 0 ? NULL : &socket_ops, NULL, NULL);
    arm->fd = fd;
    arm->kind = (uint8_t)code;
}

void rt_arm_readable(rt_select_arm *arm, int fd)
{
    socket_arm(rti_arm_of(arm), fd, RTI_OP_POLL_IN);
}

void rt_arm_writable(rt_select_arm *arm, int fd)
{
    socket_arm(rti_arm_of(arm), fd, RTI_OP_POLL_OUT);
}
