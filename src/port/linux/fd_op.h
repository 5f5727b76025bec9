/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_FD_OP_H
#define RTI_FD_OP_H

/* One try of one op on a descriptor: the system calls, and what their errors mean. */

#include "port/linux/poller.h"

enum rti_try {
    RTI_TRY_ANSWERED, /* status, result and error are set */
    RTI_TRY_BLOCKED,  /* wait for the descriptor */
    RTI_TRY_STARVED,  /* accept: a connection is there, a free descriptor is not */
};

/* Never blocks, never raises SIGPIPE. A connect that was begun (stage RTI_STAGE_WAITING) is asked
 * for its outcome. */
enum rti_try rti_fd_op_try(const struct rti_fd *entry, struct rti_op *op);

/* What an error of the system is to an initiator. */
rt_status_code rti_fd_op_status(int error);

/* Answers with the status of `error`. */
void rti_fd_op_fail(struct rti_op *op, int error);

#endif
