/* SPDX-License-Identifier: Apache-2.0 */
/* The line of file requests; the essay is in file_line.h. */
#define RTI_MODULE "file_line"
#include "io/file_line.h"

#include <errno.h>

#include "base/marks.h"

static struct rti_file_request *line_at(struct rti_link *link)
{
    return link == NULL ? NULL : RTI_CONTAINER_OF(link, struct rti_file_request, link);
}

static bool verbs_conflict(const struct rti_file_request *earlier,
                           const struct rti_file_request *later)
{
    if (earlier->fd != later->fd || earlier->fd < 0) {
        return false;
    }
    return later->verb == RTI_FILE_CLOSE ||
           (rti_file_verb_is_positional(earlier->verb) && rti_file_verb_is_positional(later->verb));
}

/* Has the record an earlier one that it must wait for? */
static bool line_holds(const struct rti_io *io, const struct rti_file_request *record)
{
    struct rti_link *link = rti_list_peek(&io->line);
    while (link != &record->link) {
        RT_ASSERT(link != NULL);
        if (verbs_conflict(line_at(link), record)) {
            return true;
        }
        link = rti_list_next(&io->line, link);
    }
    return false;
}

/* A record has left: begins what it held back. */
static void line_advance(struct rti_io *io)
{
    struct rti_link *link = rti_list_peek(&io->line);
    while (link != NULL) {
        struct rti_file_request *record = line_at(link);
        link = rti_list_next(&io->line, link);
        if (record->request.state == RTI_REQUEST_NEW && !line_holds(io, record)) {
            rti_request_begin(&record->request);
        }
    }
}

/* The system has lost data and says so once. */
static bool op_lost_data(const struct rti_op *op)
{
    return op->status == RT_ERR_IO &&
           (op->error == EIO || op->error == ENOSPC || op->error == EDQUOT);
}

static void line_set_unsafe(struct rti_io *io, int fd, bool is_unsafe)
{
    if (fd >= RTI_IO_UNSAFE_FDS) {
        io->is_unsafe_beyond = io->is_unsafe_beyond || is_unsafe;
    } else if (is_unsafe) {
        rti_bitmap_set(io->unsafe, RTI_IO_UNSAFE_FDS, (size_t)fd);
    } else {
        rti_bitmap_clear(io->unsafe, RTI_IO_UNSAFE_FDS, (size_t)fd);
    }
}

static bool line_is_unsafe(const struct rti_io *io, int fd)
{
    RT_ASSERT(fd >= 0);
    return fd >= RTI_IO_UNSAFE_FDS ? io->is_unsafe_beyond
                                   : rti_bitmap_test(io->unsafe, RTI_IO_UNSAFE_FDS, (size_t)fd);
}

bool rti_file_line_is_unsafe(struct rti_io *io, int fd)
{
    rti_request_guard_acquire(&io->guard);
    bool answer = line_is_unsafe(io, fd);
    rti_request_guard_release(&io->guard);
    return answer;
}

static void line_reuse(struct rti_io *io, int fd);

static void file_release(struct rti_request *request)
{
    struct rti_file_request *record = RTI_CONTAINER_OF(request, struct rti_file_request, request);
    struct rti_io *io = record->io;
    bool is_answered = request->state == RTI_REQUEST_ANSWERED;
    if (record->verb == RTI_FILE_OPEN && is_answered && request->op.status == RT_OK &&
        !request->is_taken) {
        RT_SOMETIMES(true, "file: an open nobody took is closed");
        int fd = (int)request->op.result;
        line_reuse(io, fd);
        rti_file_request_to_close(record, fd);
        request->is_detached = true;
        rti_request_begin(request);
        return;
    }
    if (record->verb == RTI_FILE_SYNC && is_answered && op_lost_data(&request->op)) {
        line_set_unsafe(io, record->fd, true);
    } else if (record->verb == RTI_FILE_CLOSE && record->fd >= 0) {
        line_set_unsafe(io, record->fd, false);
    }
    rti_list_remove(&record->link);
    rti_pool_free(&io->files, record);
    line_advance(io);
}

struct rti_file_request *rti_file_request_new(struct rti_io *io, enum rti_file_verb verb, int fd)
{
    rti_request_guard_acquire(&io->guard);
    struct rti_file_request *record = rti_pool_alloc(&io->files);
    rti_request_guard_release(&io->guard);
    if (record == NULL) {
        return NULL;
    }
    rti_request_init(&record->request, io->sched->port, RTI_OP_WORK, file_release);
    record->request.guard = &io->guard;
    record->request.op.fd = fd;
    record->request.op.buffer = record->chunk;
    record->request.op.length = sizeof(record->chunk);
    record->io = io;
    record->fd = fd;
    record->verb = (uint8_t)verb;
    rti_link_init(&record->link);
    return record;
}

void rti_file_request_to_close(struct rti_file_request *record, int fd)
{
    struct rti_request *request = &record->request;
    RT_ASSERT(fd >= 0 && request->state != RTI_REQUEST_IN_FLIGHT);
    rti_request_init(request, record->io->sched->port, RTI_OP_WORK, file_release);
    request->guard = &record->io->guard;
    request->is_kept = true;
    request->op.fd = fd;
    request->op.work = record->io->sched->port->file->close;
    record->fd = fd;
    record->verb = RTI_FILE_CLOSE;
}

void rti_file_line_join(struct rti_file_request *record)
{
    struct rti_io *io = record->io;
    rti_request_guard_acquire(&io->guard);
    rti_list_push_tail(&io->line, &record->link);
    bool is_held = line_holds(io, record);
    RT_SOMETIMES(is_held, "file: a request is held back in the line");
    if (!is_held) {
        rti_request_begin(&record->request);
    }
    rti_request_guard_release(&io->guard);
}

static bool line_is_closing(const struct rti_io *io, int fd)
{
    for (struct rti_link *link = rti_list_peek(&io->line); link != NULL;
         link = rti_list_next(&io->line, link)) {
        const struct rti_file_request *record = line_at(link);
        if (record->verb == RTI_FILE_CLOSE && record->fd == fd) {
            return true;
        }
    }
    return false;
}

bool rti_file_line_is_closing(struct rti_io *io, int fd)
{
    rti_request_guard_acquire(&io->guard);
    bool answer = line_is_closing(io, fd);
    rti_request_guard_release(&io->guard);
    return answer;
}

static bool line_is_busy(const struct rti_io *io, int fd)
{
    for (struct rti_link *link = rti_list_peek(&io->line); link != NULL;
         link = rti_list_next(&io->line, link)) {
        const struct rti_file_request *record = line_at(link);
        if (record->fd == fd && fd >= 0 && record->verb != RTI_FILE_CLOSE) {
            return true;
        }
    }
    return false;
}

bool rti_file_line_is_busy(struct rti_io *io, int fd)
{
    rti_request_guard_acquire(&io->guard);
    bool answer = line_is_busy(io, fd);
    rti_request_guard_release(&io->guard);
    return answer;
}

static void line_reuse(struct rti_io *io, int fd)
{
    for (struct rti_link *link = rti_list_peek(&io->line); link != NULL;
         link = rti_list_next(&io->line, link)) {
        struct rti_file_request *record = line_at(link);
        if (record->verb == RTI_FILE_CLOSE && record->fd == fd) {
            RT_ASSERT(record->request.state != RTI_REQUEST_NEW);
            record->fd = -1;
        }
    }
    line_set_unsafe(io, fd, false);
}

void rti_file_line_reuse(struct rti_io *io, int fd)
{
    rti_request_guard_acquire(&io->guard);
    line_reuse(io, fd);
    rti_request_guard_release(&io->guard);
}

size_t rti_file_line_audit(const struct rti_io *io)
{
    for (struct rti_link *link = rti_list_peek(&io->line); link != NULL;
         link = rti_list_next(&io->line, link)) {
        const struct rti_file_request *record = line_at(link);
        RT_ASSERT(record->request.state != RTI_REQUEST_NEW || line_holds(io, record));
    }
    return rti_list_audit(&io->line);
}
