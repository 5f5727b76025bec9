/* SPDX-License-Identifier: Apache-2.0 */
/* Files of Linux: the works that run on the pool's threads.
 *
 * A read at the position of the file is a pread there; the position is moved on the scheduler's
 * thread, by who takes the bytes. So a read whose caller has given up has not happened. Two reads
 * of one file at its position are never under way together: the layer above sees to that.
 *
 * What has a position is told by lseek, which asks nothing of the device. Character devices without
 * one (terminals), pipes and sockets have none; /dev/null and its kin do, and never block. */
#define _GNU_SOURCE
#define RTI_MODULE "file_work"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "port/linux/fd_op.h"
#include "port/linux/port_linux.h"

_Static_assert(sizeof(off_t) == sizeof(int64_t), "offsets have 64 bits");

static rt_status_code file_status(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return RT_ERR_NOT_FOUND;
    case EEXIST:
        return RT_ERR_EXISTS;
    default:
        return rti_fd_op_status(error);
    }
}

static void file_answer(struct rti_op *op, int64_t result)
{
    if (result >= 0) {
        rti_op_answer(op, RT_OK, result, 0);
    } else {
        rti_op_answer(op, file_status(errno), 0, errno);
    }
}

static void file_open(struct rti_op *op)
{
    int flags = (int)(uint32_t)(op->offset >> 32);
    mode_t mode = (mode_t)(uint32_t)op->offset;
    int fd;
    do {
        fd = open(op->buffer, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    file_answer(op, fd);
}

static void file_close(struct rti_op *op)
{
    /* Linux frees the number even if close is interrupted. */
    int rc = close(op->fd);
    file_answer(op, rc != 0 && errno == EINTR ? 0 : rc);
}

static void file_sync(struct rti_op *op)
{
    int rc;
    do {
        rc = fsync(op->fd);
    } while (rc != 0 && errno == EINTR);
    file_answer(op, rc);
}

static void file_read(struct rti_op *op)
{
    bool is_positioned = true;
    if (op->offset == RTI_FILE_POSITION) {
        off_t position = lseek(op->fd, 0, SEEK_CUR);
        is_positioned = position >= 0;
        op->offset = is_positioned ? (uint64_t)position : RTI_FILE_POSITION;
    }
    ssize_t got;
    do {
        got = is_positioned ? pread(op->fd, op->buffer, op->length, (off_t)op->offset)
                            : read(op->fd, op->buffer, op->length);
    } while (got < 0 && errno == EINTR);
    file_answer(op, got);
}

static void file_write(struct rti_op *op)
{
    ssize_t put;
    do {
        put = op->offset == RTI_FILE_POSITION
                  ? write(op->fd, op->buffer, op->length)
                  : pwrite(op->fd, op->buffer, op->length, (off_t)op->offset);
    } while (put < 0 && errno == EINTR);
    file_answer(op, put);
}

static void file_move(int fd, uint64_t position)
{
    RT_ASSERT(position <= RTI_FILE_OFFSET_MAX);
    (void)lseek(fd, (off_t)position, SEEK_SET);
}

static enum rti_file_kind file_kind(int fd)
{
    if (lseek(fd, 0, SEEK_CUR) >= 0) {
        return RTI_FILE_SEEKED;
    }
    return errno == EBADF ? RTI_FILE_NONE : RTI_FILE_STREAM;
}

const struct rti_port_file rti_linux_file = {
    .open = file_open,
    .close = file_close,
    .sync = file_sync,
    .read = file_read,
    .write = file_write,
    .move = file_move,
    .kind = file_kind,
};
