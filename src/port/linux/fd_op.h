/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_FD_OP_H
#define RTI_FD_OP_H

/* One try of one op on a descriptor: the system calls, and what their errors mean. */

#include <sys/socket.h>

#include "port/linux/poller.h"
#include "port/linux/transfer.h"

enum rti_try {
    RTI_TRY_ANSWERED, /* status, result and error are set */
    RTI_TRY_BLOCKED,  /* wait for the descriptor */
    RTI_TRY_STARVED,  /* accept: a connection is there, a free descriptor is not */
};

/* Never blocks, never raises SIGPIPE. A connect that was begun (stage RTI_STAGE_WAITING) is asked
 * for its outcome. */
enum rti_try rti_fd_op_try(const struct rti_fd *entry, struct rti_op *op);

/* What follows a read or write of a socket that has just failed and left errno: it is tried again,
 * if an interruption was all that was wrong. */
enum rti_try rti_fd_op_try_failed(const struct rti_fd *entry, struct rti_op *op);

/* rti_fd_op_try in line: what a socket takes or gives at the first call. */
static inline enum rti_try rti_fd_op_try_here(const struct rti_fd *entry, struct rti_op *op)
{
    ssize_t count;
    RT_ASSERT(entry->kind != RTI_FD_UNKNOWN);
    if (RTI_UNLIKELY(entry->kind != RTI_FD_SOCKET)) {
        return rti_fd_op_try(entry, op);
    }
    if (op->code == RTI_OP_READ) {
        /* The kernel comes to it after some hundred instructions. */
        RTI_PREFETCH(op->buffer);
        count = rti_linux_recv(op->fd, op->buffer, op->length, MSG_DONTWAIT);
    } else if (op->code == RTI_OP_WRITE) {
        count = rti_linux_send(op->fd, op->buffer, op->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        return rti_fd_op_try(entry, op);
    }
    if (RTI_UNLIKELY(count < 0)) {
        return rti_fd_op_try_failed(entry, op);
    }
    rti_op_answer(op, RT_OK, count, 0);
    return RTI_TRY_ANSWERED;
}

/* What an error of the system is to an initiator. */
rt_status_code rti_fd_op_status(int error);

/* Answers with the status of `error`. */
void rti_fd_op_fail(struct rti_op *op, int error);

#endif
