/* SPDX-License-Identifier: Apache-2.0 */
/* The module, and what its calls share; the essay is in io.h. */
#define RTI_MODULE "io"
#include "io/io.h"

#include <string.h>

#include "io/file_line.h"
#include "sched/visitor.h"
#include "time/deadline.h"

rt_status rti_io_init(struct rti_io *io, struct rti_sched *sched)
{
    if (sched->modules[RTI_MODULE_IO] != NULL) {
        return (rt_status){RT_ERR_STATE, "this runtime has its network and files already"};
    }
    io->sched = sched;
    rti_lock_init(&io->guard.lock, sched, RTI_LOCK_IO);
    io->guard.sched = sched;
    rti_pool_init(&io->net, io->net_memory, sizeof(struct rti_net_request),
                  RT_COMPLETION_QUEUE_SIZE);
    rti_pool_init(&io->names, io->names_memory, sizeof(struct rti_name_request),
                  RT_COMPLETION_QUEUE_SIZE);
    rti_pool_init(&io->files, io->files_memory, sizeof(struct rti_file_request),
                  RT_COMPLETION_QUEUE_SIZE);
    rti_list_init(&io->line);
    rti_bitmap_clear_all(io->unsafe, RTI_IO_UNSAFE_FDS);
    io->is_unsafe_beyond = false;
    sched->modules[RTI_MODULE_IO] = io;
    return RT_SUCCESS;
}

size_t rti_io_in_use(const struct rti_io *io)
{
    return rti_pool_in_use(&io->net) + rti_pool_in_use(&io->names) + rti_pool_in_use(&io->files);
}

void rti_io_deinit(struct rti_io *io)
{
    struct rti_port *port = io->sched->port;
    RT_ASSERT(io->sched->modules[RTI_MODULE_IO] == io && rti_fiber_current() == NULL);
    rti_io_audit(io);
    while (rti_io_in_use(io) > 0) {
        port->ops->wait(port, RTI_TIME_NEVER);
    }
    rti_pool_deinit(&io->net);
    rti_pool_deinit(&io->names);
    rti_pool_deinit(&io->files);
    io->sched->modules[RTI_MODULE_IO] = NULL;
}

/* Checks the records of a pool; every kind of record begins with its request. */
static void io_audit_pool(const struct rti_pool *pool)
{
    size_t free_count = rti_pool_audit(pool);
    RT_ASSERT(free_count + rti_pool_in_use(pool) == pool->count);
    for (size_t i = 0; i < pool->fresh; i++) {
        const struct rti_request *request = rti_pool_block(pool, i);
        if (!rti_pool_is_in_use(pool, request)) {
            continue;
        }
        RT_ASSERT(request->is_detached == (request->waiter == NULL));
        RT_ASSERT(request->waiter == NULL || request->waiter->slot == request);
        RT_ASSERT(request->state != RTI_REQUEST_ANSWERED || request->waiter != NULL);
    }
}

void rti_io_audit(const struct rti_io *io)
{
    io_audit_pool(&io->net);
    io_audit_pool(&io->names);
    io_audit_pool(&io->files);
    RT_ASSERT(rti_file_line_audit(io) == rti_pool_in_use(&io->files));
}

/* Field by field: the call's own request is left as it is. */
static void io_call_init(struct rti_io_call *call, struct rti_io *io, struct rti_port *port,
                         int32_t timeout_ms)
{
    call->io = io;
    call->port = port;
    call->timeout_ms = timeout_ms;
    call->deadline_ns = RTI_IO_DEADLINE_LATER;
}

/* The caller is a plain thread, `worker` NULL, or the worker's own stack. */
static RTI_COLD rt_status io_enter_blocking(struct rti_io_call *call,
                                            const struct rti_worker *worker, int32_t timeout_ms)
{
    /* A world without the machine's network is not the machine's: there nobody blocks. */
    const struct rti_port_net *net = worker == NULL ? NULL : worker->sched->port->net;
    if (worker != NULL && (worker->sched->is_running || net == NULL || net->is_simulated)) {
        return (rt_status){RT_ERR_THREAD, "only an actor or a task can wait"};
    }
    struct rti_port *port = rti_visitor_port();
    if (port == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    io_call_init(call, NULL, port, timeout_ms);
    return RT_SUCCESS;
}

rt_status rti_io_enter_as(struct rti_worker *worker, struct rti_io_call *call, int32_t timeout_ms)
{
    if (RTI_UNLIKELY(worker == NULL || (timeout_ms != 0 && worker->fiber == NULL))) {
        return io_enter_blocking(call, worker, timeout_ms);
    }
    struct rti_io *io = worker->sched->modules[RTI_MODULE_IO];
    if (RTI_UNLIKELY(io == NULL)) {
        return (rt_status){RT_ERR_THREAD, "this runtime has no network and no files"};
    }
    struct rti_cancel *cancel = worker->fiber == NULL ? NULL : worker->fiber->cancel;
    if (RTI_UNLIKELY(cancel != NULL && rti_cancel_is_requested(cancel) && timeout_ms != 0 &&
                     timeout_ms != RTI_IO_GIVING_BACK)) {
        cancel->is_seen = true;
        return RTI_IO_CANCELLED;
    }
    io_call_init(call, io, worker->sched->port, timeout_ms);
    return RT_SUCCESS;
}

static uint64_t io_limit(const struct rti_io_call *call)
{
    uint64_t now_ns = call->port->ops->clock_ns(call->port);
    uint64_t span_ns = (uint64_t)call->timeout_ms * RTI_NS_PER_MS;
    return span_ns > RTI_TIME_NEVER - now_ns ? RTI_TIME_NEVER : now_ns + span_ns;
}

uint64_t rti_io_deadline(struct rti_io_call *call)
{
    RT_ASSERT(call->timeout_ms != 0);
    if (call->deadline_ns == RTI_IO_DEADLINE_LATER) {
        uint64_t limit = call->timeout_ms < 0 ? RTI_TIME_NEVER : io_limit(call);
        uint64_t budget = rti_io_blocks(call) || call->timeout_ms == RTI_IO_GIVING_BACK
                              ? RTI_TIME_NEVER
                              : rti_fiber_deadline(rti_worker_current()->fiber);
        call->deadline_ns = budget < limit ? budget : limit;
    }
    return call->deadline_ns;
}

rt_status rti_io_unanswered(const struct rti_io_call *call)
{
    if (rti_io_blocks(call)) {
        return RTI_IO_TIMEOUT;
    }
    struct rti_worker *worker = rti_worker_current();
    struct rti_cancel *cancel = worker->fiber->cancel;
    if (cancel != NULL && rti_cancel_is_requested(cancel)) {
        cancel->is_seen = true;
        return RTI_IO_CANCELLED;
    }
    bool is_budget = cancel != NULL && call->deadline_ns == rti_fiber_deadline(worker->fiber);
    if (is_budget) {
        cancel->is_seen = true;
        return (rt_status){RT_ERR_BUDGET_EXHAUSTED, "the budget of the context is used up"};
    }
    return RTI_IO_TIMEOUT;
}

size_t rti_io_text_length(const char *text, size_t max)
{
    const char *end = memchr(text, '\0', max);
    return end == NULL ? max : (size_t)(end - text);
}

rt_status rti_io_failure(const struct rti_op *op)
{
    RT_ASSERT(op->status != RT_OK);
    if (op->status == RT_ERR_CLOSED) {
        return op->error == 0 ? (rt_status){RT_ERR_CLOSED, "it was closed here meanwhile"}
                              : (rt_status){RT_ERR_CLOSED, rti_port_error_text(op->error)};
    }
    if (op->status == RT_ERR_UNSUPPORTED && op->error != 0) {
        return (rt_status){RT_ERR_INVALID, "the descriptor is no socket and no stream"};
    }
    if (op->status == RT_ERR_RESOURCE_EXHAUSTED && op->error == 0) {
        return (rt_status){op->status, "the descriptor is above what the runtime was made for"};
    }
    if (op->status == RT_ERR_IO && op->error == 0) {
        return (rt_status){RT_ERR_IO, "the poller has failed: sockets are of no use any more"};
    }
    const char *text = rti_port_error_text(op->error);
    return (rt_status){op->status, text != NULL ? text : rt_status_text(op->status)};
}

/* The descriptor that only the request knows of: a connection it accepted, or the socket it was to
 * connect, unless somebody has closed that under it. -1: none. */
static int net_orphan(const struct rti_request *request)
{
    const struct rti_op *op = &request->op;
    bool is_answered = request->state == RTI_REQUEST_ANSWERED;
    if (op->code == RTI_OP_ACCEPT && is_answered && op->status == RT_OK) {
        return (int)op->result;
    }
    bool is_closed_here = is_answered && op->status == RT_ERR_CLOSED && op->error == 0;
    return op->code == RTI_OP_CONNECT && !is_closed_here ? op->fd : -1;
}

static inline bool net_may_orphan(const struct rti_request *request)
{
    return request->op.code == RTI_OP_ACCEPT || request->op.code == RTI_OP_CONNECT;
}

static void net_close_orphan(struct rti_request *request)
{
    int orphan = request->is_taken ? -1 : net_orphan(request);
    if (orphan >= 0) {
        (void)request->port->ops->close_fd(request->port, orphan);
    }
}

static void net_release(struct rti_request *request)
{
    struct rti_net_request *record = RTI_CONTAINER_OF(request, struct rti_net_request, request);
    if (RTI_UNLIKELY(net_may_orphan(request))) {
        net_close_orphan(request);
    }
    rti_pool_free(&record->io->net, record);
}

struct rti_request *rti_net_request_new(struct rti_io *io, enum rti_op_code code, int fd)
{
    rti_request_guard_acquire(&io->guard);
    struct rti_net_request *record = rti_pool_alloc(&io->net);
    rti_request_guard_release(&io->guard);
    if (record == NULL) {
        return NULL;
    }
    rti_request_init(&record->request, io->sched->port, code, net_release);
    record->request.guard = rti_lock_is_shared(&io->guard.lock) ? &io->guard : NULL;
    record->request.op.fd = fd;
    record->io = io;
    return &record->request;
}

struct rti_request *rti_net_request_for(struct rti_io_call *call, enum rti_op_code code, int fd)
{
    if (RTI_LIKELY(!rti_io_blocks(call))) {
        return rti_net_request_new(call->io, code, fd);
    }
    rti_request_init(&call->own, call->port, code, net_close_orphan);
    call->own.op.fd = fd;
    return &call->own;
}

rt_status rti_net_request_wait(struct rti_request *request, struct rti_io_call *call)
{
    uint64_t deadline_ns = rti_io_deadline(call);
    if (RTI_UNLIKELY(rti_io_blocks(call))) {
        return rti_request_perform(request, deadline_ns) ? RT_SUCCESS : RTI_IO_TIMEOUT;
    }
    rti_request_begin(request);
    return rti_request_await(request, deadline_ns) ? RT_SUCCESS : rti_io_unanswered(call);
}

rt_status rti_net_request_do(struct rti_request *request, struct rti_io_call *call)
{
    request->op.is_patient = call->timeout_ms != 0;
    if (rti_request_attempt(request)) {
        return RT_SUCCESS;
    }
    if (call->timeout_ms == 0) {
        rti_request_end(request, false);
        return RTI_IO_WOULDBLOCK;
    }
    return rti_net_request_wait(request, call);
}

void rti_io_work(const struct rti_io_call *call, struct rti_op *op)
{
    bool is_done = call->port->ops->perform(call->port, op, RTI_TIME_NEVER);
    RT_ASSERT(is_done);
}

rt_status rti_io_close_fd(const struct rti_io_call *call, int fd)
{
    struct rti_sched *sched = rti_sched_current();
    if (RTI_LIKELY(sched != NULL)) {
        return sched->port->ops->close_fd(sched->port, fd);
    }
    sched = rti_visitor_enter();
    if (sched == NULL) {
        return call->port->ops->close_fd(call->port, fd);
    }
    rt_status status = sched->port->ops->close_fd(sched->port, fd);
    rti_visitor_leave();
    return status;
}
