/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_OP_H
#define RTI_OP_H

/* An op: the one currency of everything asked of the outside.
 *
 * It belongs to who started it, memory included, until `done` is called; between submit and done
 * only the port touches it. A port that does not know a code answers RT_ERR_UNSUPPORTED.
 *
 * I1  An op is answered exactly once per submit.            (RT_ASSERT on `state` in the port)
 * I2  No byte of `buffer` is written after `done`. */

#include "base/list.h"
#include "port/port.h"

enum rti_op_code {
    RTI_OP_NOP,     /* completes at the next wait */
    RTI_OP_READ,    /* read(2) or recv: fd, buffer, length; result = bytes */
    RTI_OP_WRITE,   /* write(2) or send: fd, buffer, length; result = bytes */
    RTI_OP_ACCEPT,  /* fd = listener; result = new fd */
    RTI_OP_CONNECT, /* fd, buffer = sockaddr, length; result = 0 */
    RTI_OP_WORK,    /* call work(op) on the blocking pool; result is what it sets */
};

enum rti_op_state {
    RTI_OP_IDLE,      /* the initiator's */
    RTI_OP_IN_FLIGHT, /* the port's */
};

struct rti_op {
    struct rti_link link;            /* the port's while in flight */
    enum rti_op_code code;           /* initiator */
    enum rti_op_state state;         /* port */
    bool is_cancelled;               /* port: cancel was asked for while in flight */
    int fd;                          /* initiator */
    void *buffer;                    /* initiator; untouched by the port after done */
    size_t length;                   /* initiator: bytes of buffer */
    uint64_t offset;                 /* initiator: for positioned file work */
    rt_status_code status;           /* port: RT_OK, or why not */
    int64_t result;                  /* port: meaning depends on code */
    int error;                       /* port: the system's errno, 0 if none */
    void (*work)(struct rti_op *op); /* RTI_OP_WORK only; runs on a pool thread */
    void (*done)(struct rti_op *op); /* scheduler thread; the op is the initiator's again */
};

#endif
