/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_OP_H
#define RTI_OP_H

/* An op: the one currency of everything asked of the outside.
 *
 * It belongs to who started it, memory included, until `done` is called; between submit and done
 * only the port touches it. A port that does not know a code answers RT_ERR_UNSUPPORTED.
 *
 *     rti_op_init        the initiator: a code and who hears the answer; then the fields of the
 * code rti_op_to_in_flight   the port, in submit: the old answer is wiped rti_op_answer      the
 * port: decides status, result and error rti_op_to_idle     the port, just before done: the op is
 * the initiator's again
 *
 * Ops on one descriptor wait in two queues, one for what reads (READ, ACCEPT, RECVFROM, POLL_IN)
 * and one for what writes (WRITE, CONNECT, SENDTO, POLL_OUT); each is FIFO.
 *
 * What the answer says: RT_OK with `result`; READ at the end of the stream is RT_OK with result 0.
 * RT_ERR_CLOSED: the peer is gone (ECONNRESET, EPIPE) or the descriptor was closed under the op
 * (`error` 0). RT_ERR_CANCELLED: cancelled before anything happened. RT_ERR_INVALID: no such
 * descriptor. RT_ERR_RESOURCE_EXHAUSTED: a limit of the port. RT_ERR_IO: anything else, `error`
 * says what. A READ or WRITE moves what it can, at least one byte, at most `length`: who wants all
 * of it submits again for the rest.
 *
 * I1  An op is answered exactly once per submit.            (RT_ASSERT on `state` in the port)
 * I2  No byte of `buffer` is written after `done`.          (test: buffers poisoned at done) */

#include "base/list.h"
#include "port/port.h"

enum rti_op_code {
    RTI_OP_NOP,      /* completes at the next wait */
    RTI_OP_READ,     /* read(2) or recv: fd, buffer, length; result = bytes */
    RTI_OP_WRITE,    /* write(2) or send: fd, buffer, length; result = bytes */
    RTI_OP_ACCEPT,   /* fd = listener; result = new fd; address is filled if given */
    RTI_OP_CONNECT,  /* fd, buffer = sockaddr, length; result = 0 */
    RTI_OP_WORK,     /* call work(op) on the blocking pool; result is what it sets */
    RTI_OP_WORK_DNS, /* the same on the lane of name resolution, which files never hold up */
    RTI_OP_RECVFROM, /* one datagram: fd, buffer, length; address is filled if given */
    RTI_OP_SENDTO,   /* one datagram: fd, buffer, length, address; result = bytes */
    RTI_OP_POLL_IN,  /* fd can be read, or its peer is gone; result = poll(2)'s revents */
    RTI_OP_POLL_OUT, /* fd can be written, or its peer is gone; result = poll(2)'s revents */
    RTI_OP_CODE_COUNT
};

enum rti_op_state {
    RTI_OP_IDLE,      /* the initiator's */
    RTI_OP_IN_FLIGHT, /* the port's */
};

/* What every op on a socket uses comes first: with many connections a line of memory that is not
 * touched is time that is not spent. */
struct rti_op {
    struct rti_link link;  /* the port's while in flight */
    enum rti_op_code code; /* initiator */
    uint8_t state;         /* port: enum rti_op_state */
    uint8_t stage;         /* port: its own bookkeeping while in flight */
    bool is_cancelled;     /* port: cancel was asked for while in flight */
    bool is_truncated;     /* port: RECVFROM's datagram was longer than the buffer */
    bool is_patient; /* initiator: submit follows if it would wait; attempt may skip the try */
    int fd;          /* initiator */
    void *buffer;    /* initiator; untouched by the port after done */
    size_t length;   /* initiator: bytes of buffer */
    rt_status_code status;           /* port: RT_OK, or why not */
    int error;                       /* port: the system's errno, 0 if none */
    int64_t result;                  /* port: meaning depends on code */
    void (*done)(struct rti_op *op); /* scheduler thread; the op is the initiator's again */
    void (*work)(struct rti_op *op); /* RTI_OP_WORK only; runs on a pool thread */
    uint64_t offset;                 /* initiator: for positioned file work */
    void *address;                   /* initiator: sockaddr or NULL; as `buffer` */
    size_t address_length;           /* initiator: bytes of address; port: bytes filled in */
};

static inline void rti_op_answer(struct rti_op *op, rt_status_code status, int64_t result,
                                 int error)
{
    op->status = status;
    op->result = result;
    op->error = error;
}

/* Makes an op of `code`, answered to `done`. What the code needs beyond is set by hand. */
static inline void rti_op_init(struct rti_op *op, enum rti_op_code code,
                               void (*done)(struct rti_op *op))
{
    RT_ASSERT(code < RTI_OP_CODE_COUNT);
    /* One by one: a compiler makes a slow loop of one large assignment, and this is hot. */
    rti_link_init(&op->link);
    op->code = code;
    op->state = RTI_OP_IDLE;
    op->is_cancelled = false;
    op->is_truncated = false;
    op->is_patient = false;
    op->stage = 0;
    op->fd = -1;
    op->buffer = NULL;
    op->length = 0;
    op->offset = 0;
    op->address = NULL;
    op->address_length = 0;
    op->work = NULL;
    op->done = done;
    rti_op_answer(op, RT_OK, 0, 0);
}

static inline bool rti_op_is_idle(const struct rti_op *op)
{
    return op->state == RTI_OP_IDLE;
}

/* Work of either lane of the blocking pool. */
static inline bool rti_op_is_work(const struct rti_op *op)
{
    return op->code == RTI_OP_WORK || op->code == RTI_OP_WORK_DNS;
}

/* The op is one on a descriptor: known, and neither work nor nothing at all. */
static inline bool rti_op_has_descriptor(const struct rti_op *op)
{
    /* One comparison and one look into a word. */
    const unsigned none = 1U << RTI_OP_NOP | 1U << RTI_OP_WORK | 1U << RTI_OP_WORK_DNS;
    return (unsigned)op->code < RTI_OP_CODE_COUNT && (none >> (unsigned)op->code & 1U) == 0;
}

/* The op waits for its descriptor to be readable; else, if it has one, to be writable. */
static inline bool rti_op_is_inward(const struct rti_op *op)
{
    return op->code == RTI_OP_READ || op->code == RTI_OP_ACCEPT || op->code == RTI_OP_RECVFROM ||
           op->code == RTI_OP_POLL_IN;
}

/* The port takes the op: it was the initiator's, and the answer of an earlier use is wiped. */
static inline void rti_op_to_in_flight(struct rti_op *op)
{
    RT_ASSERT(op->state == RTI_OP_IDLE);
    RT_ASSERT(op->done != NULL);
    RT_DCHECK(!rti_link_is_linked(&op->link));
    op->state = RTI_OP_IN_FLIGHT;
    op->is_cancelled = false;
    op->is_truncated = false;
    op->stage = 0;
    rti_op_answer(op, RT_OK, 0, 0);
}

/* The port gives the op back; it calls `done` next and never looks at the op again. */
static inline void rti_op_to_idle(struct rti_op *op)
{
    RT_ASSERT(op->state == RTI_OP_IN_FLIGHT);
    RT_DCHECK(!rti_link_is_linked(&op->link));
    op->state = RTI_OP_IDLE;
}

#endif
