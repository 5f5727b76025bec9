/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hosts: a look-up is work on the lane of names, which files never hold up and which never
 * holds up files. Question and answer lie in the record, so a look-up that takes longer than its
 * caller waits ends in peace. */
#define RTI_MODULE "name"
#include <string.h>

#include "io/io.h"

static void name_release(struct rti_request *request)
{
    struct rti_name_request *record = RTI_CONTAINER_OF(request, struct rti_name_request, request);
    rti_pool_free(&record->io->names, record);
}

static struct rti_name_request *name_new(struct rti_io *io, const char *name)
{
    rti_request_guard_acquire(&io->guard);
    struct rti_name_request *record = rti_pool_alloc(&io->names);
    rti_request_guard_release(&io->guard);
    if (record == NULL) {
        return NULL;
    }
    size_t length = strlen(name);
    RT_ASSERT(length <= RT_NET_HOST_MAX);
    rti_request_init(&record->request, io->sched->port, RTI_OP_WORK_DNS, name_release);
    record->request.guard = &io->guard;
    record->io = io;
    memcpy(record->resolution.name, name, length + 1);
    record->resolution.count = 0;
    record->request.op.work = io->sched->port->net->resolve;
    record->request.op.buffer = &record->resolution;
    record->request.op.length = sizeof(record->resolution);
    return record;
}

/* The answer, whoever looked it up. */
static rt_status name_answer(const struct rti_op *op, const struct rti_resolution *resolution,
                             rt_net_address found[RTI_RESOLVED_MAX], uint32_t *count)
{
    if (op->status == RT_OK) {
        RT_ASSERT(resolution->count >= 1 && resolution->count <= RTI_RESOLVED_MAX);
        *count = resolution->count;
        memcpy(found, resolution->found, sizeof(resolution->found[0]) * *count);
        return RT_SUCCESS;
    }
    return op->status == RT_ERR_NOT_FOUND
               ? (rt_status){RT_ERR_NOT_FOUND, "the name of the host is not known"}
               : rti_io_failure(op);
}

/* A thread that blocks asks the system itself. Apart, because fibers' stacks are small. */
static RTI_NOINLINE rt_status name_resolve_here(struct rti_io_call *call, const char *name,
                                                rt_net_address found[RTI_RESOLVED_MAX],
                                                uint32_t *count)
{
    struct rti_resolution resolution = {.count = 0};
    struct rti_op *op = &rti_net_request_for(call, RTI_OP_WORK_DNS, -1)->op;
    memcpy(resolution.name, name, strlen(name) + 1);
    op->work = call->port->net->resolve;
    op->buffer = &resolution;
    op->length = sizeof(resolution);
    rti_io_work(call, op);
    return name_answer(op, &resolution, found, count);
}

rt_status rti_name_resolve(struct rti_io_call *call, const char *name,
                           rt_net_address found[RTI_RESOLVED_MAX], uint32_t *count)
{
    if (call->timeout_ms == 0) {
        return RTI_IO_WOULDBLOCK;
    }
    if (rti_io_blocks(call)) {
        return name_resolve_here(call, name, found, count);
    }
    struct rti_name_request *record = name_new(call->io, name);
    if (record == NULL) {
        return RTI_IO_FULL;
    }
    uint64_t deadline_ns = rti_io_deadline(call);
    rti_request_begin(&record->request);
    if (!rti_request_await(&record->request, deadline_ns)) {
        return rti_io_unanswered(call);
    }
    rt_status status = name_answer(&record->request.op, &record->resolution, found, count);
    rti_request_end(&record->request, false);
    return status;
}
