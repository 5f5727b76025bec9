/* SPDX-License-Identifier: Apache-2.0 */
/* Files; the manual is <orrery/rt/file.h>.
 *
 * A request on a file is work of the pool in a buffer of its own, so that whatever the thread does
 * after its caller has gone lands nowhere else. Longer transfers take one request after another.
 *
 * What may run beside what is decided by the line (file_line.h): reads and writes at the position
 * of a file one after another, a close after everything.
 *
 * A read that nobody takes has not moved the position (port/file.h). A sync that fails is
 * remembered until the descriptor is closed: the system reports a lost page once and calls the next
 * sync a success.
 *
 * Descriptors without a position are waited for by the poller (net.c): a thread of the pool that
 * reads a terminal is a thread less for as long as nobody types. */
#define RTI_MODULE "file"
#include <orrery/rt/file.h>

#include <string.h>

#include "io/file_line.h"

_Static_assert(RT_FILE_CHUNK_SIZE >= 256, "a chunk holds a path");

/* What a transfer moves, and where. */
struct file_transfer {
    enum rti_file_verb verb;
    int fd;
    size_t len;
    unsigned char *to;         /* of a read */
    const unsigned char *from; /* of a write */
    uint64_t offset;           /* of those that have one */
};

static bool verb_is_read(enum rti_file_verb verb)
{
    return verb == RTI_FILE_READ || verb == RTI_FILE_PREAD;
}

/* The common start of everything but open: the caller, the descriptor, a close that waits. */
static rt_status file_enter(struct rti_io_call *call, int fd, int32_t timeout_ms,
                            enum rti_file_kind *kind)
{
    if (timeout_ms == 0) {
        return (rt_status){RT_ERR_INVALID, "a file cannot be asked not to wait"};
    }
    rt_status status = rti_io_enter(call, timeout_ms);
    if (RT_FAILED(status)) {
        return status;
    }
    if (call->port->file == NULL) {
        return RTI_IO_NO_FILES;
    }
    *kind = call->port->file->kind(fd);
    if (*kind == RTI_FILE_NONE) {
        return (rt_status){RT_ERR_INVALID, "no such open descriptor"};
    }
    if (!rti_io_blocks(call) && rti_file_line_is_closing(call->io, fd)) {
        return (rt_status){RT_ERR_CLOSED, "the file is being closed"};
    }
    return RT_SUCCESS;
}

/* What an answered step means to the caller, who takes it. */
static rt_status transfer_take(const struct file_transfer *transfer,
                               const struct rti_port_file *file, const struct rti_op *op,
                               size_t *count)
{
    if (op->status != RT_OK) {
        return rti_io_failure(op);
    }
    RT_ASSERT(op->result >= 0 && (uint64_t)op->result <= op->length);
    *count = (size_t)op->result;
    if (transfer->verb == RTI_FILE_READ && op->offset != RTI_FILE_POSITION && *count > 0) {
        file->move(transfer->fd, op->offset + *count);
    }
    return RT_SUCCESS;
}

/* What a step asks of the system; its buffer is set by hand. */
static void transfer_ask(const struct file_transfer *transfer, const struct rti_port_file *file,
                         size_t done, struct rti_op *op)
{
    bool is_positional = rti_file_verb_is_positional(transfer->verb);
    op->offset = is_positional ? RTI_FILE_POSITION : transfer->offset + done;
    op->work = verb_is_read(transfer->verb) ? file->read : file->write;
}

/* A step of a caller that blocks: straight from or into its memory, as much as is left. */
static rt_status transfer_step_here(const struct file_transfer *transfer, struct rti_io_call *call,
                                    size_t done, size_t *count)
{
    struct rti_op *op = &rti_net_request_for(call, RTI_OP_WORK, transfer->fd)->op;
    transfer_ask(transfer, call->port->file, done, op);
    /* The system only reads what a write points to. */
    op->buffer = verb_is_read(transfer->verb) ? transfer->to + done
                                              : (void *)(uintptr_t)(transfer->from + done);
    op->length = transfer->len - done;
    rti_io_work(call, op);
    return transfer_take(transfer, call->port->file, op, count);
}

/* One request of at most a chunk; `done` bytes came before. */
static rt_status transfer_step(const struct file_transfer *transfer, struct rti_io_call *call,
                               size_t done, size_t *count)
{
    const struct rti_port_file *file = call->port->file;
    bool is_read = verb_is_read(transfer->verb);
    if (rti_io_blocks(call)) {
        return transfer_step_here(transfer, call, done, count);
    }
    struct rti_file_request *record = rti_file_request_new(call->io, transfer->verb, transfer->fd);
    if (record == NULL) {
        return RTI_IO_FULL;
    }
    struct rti_op *op = &record->request.op;
    size_t left = transfer->len - done;
    op->length = left < sizeof(record->chunk) ? left : sizeof(record->chunk);
    transfer_ask(transfer, file, done, op);
    if (!is_read) {
        memcpy(record->chunk, transfer->from + done, op->length);
    }
    uint64_t deadline_ns = rti_io_deadline(call);
    rti_file_line_join(record);
    if (!rti_request_await(&record->request, deadline_ns)) {
        return rti_io_unanswered(call);
    }
    rt_status status = transfer_take(transfer, file, op, count);
    if (is_read && !RT_FAILED(status)) {
        memcpy(transfer->to + done, record->chunk, *count);
    }
    rti_request_end(&record->request, op->status == RT_OK);
    return status;
}

/* Step after step until all is moved, the file ends, or something comes in between. */
static rt_status transfer_run(const struct file_transfer *transfer, struct rti_io_call *call,
                              size_t *actual)
{
    size_t total = 0;
    rt_status status = RT_SUCCESS;
    while (total < transfer->len && !RT_FAILED(status)) {
        size_t left = transfer->len - total;
        size_t wanted = left < RT_FILE_CHUNK_SIZE ? left : RT_FILE_CHUNK_SIZE;
        size_t count = 0;
        status = transfer_step(transfer, call, total, &count);
        total += count;
        if (count == 0 || (count < wanted && verb_is_read(transfer->verb))) {
            break;
        }
    }
    if (RT_FAILED(status) && total == 0) {
        return status;
    }
    *actual = total;
    return RT_SUCCESS;
}

/* A transfer on a descriptor without a position: the poller's. */
static rt_status transfer_stream(const struct file_transfer *transfer, struct rti_io_call *call,
                                 size_t *actual)
{
    switch (transfer->verb) {
    case RTI_FILE_READ:
        return rti_net_transfer(call, RTI_OP_READ, transfer->fd, transfer->to, transfer->len,
                                actual);
    case RTI_FILE_WRITE:
        return rti_net_transfer_all(call, transfer->fd, transfer->from, transfer->len, actual);
    default:
        return (rt_status){RT_ERR_INVALID, "the descriptor has no position"};
    }
}

/* What all four transfers do. */
static rt_status file_transfer(const struct file_transfer *transfer, size_t *actual,
                               int32_t timeout_ms)
{
    struct rti_io_call call;
    enum rti_file_kind kind;
    const void *buf = verb_is_read(transfer->verb) ? transfer->to : transfer->from;
    rt_status status = file_enter(&call, transfer->fd, timeout_ms, &kind);
    if (RT_FAILED(status)) {
        return status;
    }
    if (actual == NULL || (buf == NULL && transfer->len != 0)) {
        return RTI_IO_NULL;
    }
    if (transfer->offset > RTI_FILE_OFFSET_MAX ||
        transfer->len > RTI_FILE_OFFSET_MAX - transfer->offset) {
        return (rt_status){RT_ERR_INVALID, "the offset is beyond what the system can express"};
    }
    if (kind == RTI_FILE_STREAM && transfer->len > 0) {
        return transfer_stream(transfer, &call, actual);
    }
    return transfer_run(transfer, &call, actual);
}

rt_status rt_file_read(int fd, void *buf, size_t len, size_t *actual, int32_t timeout_ms)
{
    return file_transfer(
        &(struct file_transfer){.verb = RTI_FILE_READ, .fd = fd, .len = len, .to = buf}, actual,
        timeout_ms);
}

rt_status rt_file_pread(int fd, void *buf, size_t len, size_t offset, size_t *actual,
                        int32_t timeout_ms)
{
    return file_transfer(
        &(struct file_transfer){
            .verb = RTI_FILE_PREAD, .fd = fd, .len = len, .to = buf, .offset = offset},
        actual, timeout_ms);
}

rt_status rt_file_write(int fd, const void *buf, size_t len, size_t *actual, int32_t timeout_ms)
{
    return file_transfer(
        &(struct file_transfer){.verb = RTI_FILE_WRITE, .fd = fd, .len = len, .from = buf}, actual,
        timeout_ms);
}

rt_status rt_file_pwrite(int fd, const void *buf, size_t len, size_t offset, size_t *actual,
                         int32_t timeout_ms)
{
    return file_transfer(
        &(struct file_transfer){
            .verb = RTI_FILE_PWRITE, .fd = fd, .len = len, .from = buf, .offset = offset},
        actual, timeout_ms);
}

/* Does work without bytes for a caller that blocks. */
static rt_status work_here(struct rti_io_call *call, void (*work)(struct rti_op *), int fd)
{
    struct rti_op *op = &rti_net_request_for(call, RTI_OP_WORK, fd)->op;
    op->work = work;
    rti_io_work(call, op);
    return op->status == RT_OK ? RT_SUCCESS : rti_io_failure(op);
}

/* Does a request without bytes, and says what became of it. */
static rt_status request_simple(struct rti_file_request *record, struct rti_io_call *call)
{
    uint64_t deadline_ns = rti_io_deadline(call);
    rti_file_line_join(record);
    if (!rti_request_await(&record->request, deadline_ns)) {
        return rti_io_unanswered(call);
    }
    const struct rti_op *op = &record->request.op;
    rt_status status = op->status == RT_OK ? RT_SUCCESS : rti_io_failure(op);
    rti_request_end(&record->request, true);
    return status;
}

rt_status rt_file_sync(int fd, int32_t timeout_ms)
{
    struct rti_io_call call;
    enum rti_file_kind kind;
    rt_status status = file_enter(&call, fd, timeout_ms, &kind);
    if (RT_FAILED(status)) {
        return status;
    }
    if (rti_io_blocks(&call)) {
        return work_here(&call, call.port->file->sync, fd);
    }
    if (rti_file_line_is_unsafe(call.io, fd)) {
        return (rt_status){RT_ERR_IO, "an earlier sync of this file failed: data is lost"};
    }
    struct rti_file_request *record = rti_file_request_new(call.io, RTI_FILE_SYNC, fd);
    if (record == NULL) {
        return RTI_IO_FULL;
    }
    record->request.op.work = call.port->file->sync;
    return request_simple(record, &call);
}

rt_status rt_file_close(int fd)
{
    struct rti_io_call call;
    enum rti_file_kind kind;
    rt_status status = file_enter(&call, fd, RTI_IO_GIVING_BACK, &kind);
    if (RT_FAILED(status)) {
        return status;
    }
    if (kind == RTI_FILE_STREAM) {
        return rti_io_close_fd(&call, fd);
    }
    if (rti_io_blocks(&call)) {
        return work_here(&call, call.port->file->close, fd);
    }
    struct rti_file_request *record = rti_file_request_new(call.io, RTI_FILE_CLOSE, fd);
    if (record == NULL) {
        return RTI_IO_FULL;
    }
    rti_file_request_to_close(record, fd);
    return request_simple(record, &call);
}

/* An open of a caller that blocks. */
static rt_status open_here(struct rti_io_call *call, const char *path, uint64_t word, int *fd_out)
{
    struct rti_op *op = &rti_net_request_for(call, RTI_OP_WORK, -1)->op;
    op->work = call->port->file->open;
    op->buffer = (void *)(uintptr_t)path; /* only read */
    op->offset = word;
    rti_io_work(call, op);
    if (op->status != RT_OK) {
        return rti_io_failure(op);
    }
    *fd_out = (int)op->result;
    return RT_SUCCESS;
}

rt_status rt_file_open(const char *path, int flags, int mode, int *fd_out)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, -1);
    if (RT_FAILED(status)) {
        return status;
    }
    if (path == NULL || fd_out == NULL) {
        return RTI_IO_NULL;
    }
    size_t length = rti_io_text_length(path, RT_FILE_CHUNK_SIZE);
    if (length == 0 || length == RT_FILE_CHUNK_SIZE) {
        return (rt_status){RT_ERR_INVALID, "the path is empty or too long"};
    }
    if (call.port->file == NULL) {
        return RTI_IO_NO_FILES;
    }
    if (rti_io_blocks(&call)) {
        return open_here(&call, path, rti_file_open_word(flags, mode), fd_out);
    }
    struct rti_file_request *record = rti_file_request_new(call.io, RTI_FILE_OPEN, -1);
    if (record == NULL) {
        return RTI_IO_FULL;
    }
    memcpy(record->chunk, path, length + 1);
    record->request.op.work = call.port->file->open;
    record->request.op.offset = rti_file_open_word(flags, mode);
    rti_file_line_join(record);
    uint64_t deadline_ns = rti_io_deadline(&call);
    if (!rti_request_await(&record->request, deadline_ns)) {
        return rti_io_unanswered(&call);
    }
    bool is_open = record->request.op.status == RT_OK;
    if (is_open) {
        *fd_out = (int)record->request.op.result;
        rti_file_line_reuse(call.io, *fd_out);
    } else {
        status = rti_io_failure(&record->request.op);
    }
    rti_request_end(&record->request, is_open);
    return status;
}
