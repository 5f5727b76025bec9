/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_URING_H
#define RTI_URING_H

/* An io_uring that polls descriptors: two rings of memory shared with the kernel, and one system
 * call.
 *
 * Requests go into the one, completions come out of the other. A request is a poll that stays
 * (multishot): it completes once for each time that its descriptor becomes ready, like an edge of
 * epoll, until it is removed, its thread ends or the kernel gives it up; the last completion says
 * so. What is looked at without blocking costs no system call: completions appear in memory.
 *
 * A request belongs to the thread that submitted it: the kernel completes it there, whatever that
 * thread does just then, and cancels it when the thread ends.
 *
 * Requests may come from any thread (`lock`, if shared); completions are taken by one at a time.
 * After fork the child does not have the rings (MADV_DONTFORK).
 *
 * Memory order: the tails and heads of the rings are stored with release by who wrote or read the
 * entries and loaded with acquire by the other side, which may be the kernel. */

#include "base/atomic.h"
#include "port/linux/spin.h"
#include "port/port.h"

struct io_uring_cqe;
struct io_uring_sqe;

struct rti_uring {
    int fd;
    bool is_shared;
    struct rti_spin lock;    /* over the requests that are being written */
    uint32_t unsubmitted;    /* written, not yet told to the kernel; lock */
    uint32_t requests_count; /* of the ring */
    rti_atomic_u32 *request_head;
    rti_atomic_u32 *request_tail;
    rti_atomic_u32 *request_flags;
    uint32_t *request_index;
    struct io_uring_sqe *requests;
    rti_atomic_u32 *done_head;
    rti_atomic_u32 *done_tail;
    uint32_t done_mask;
    struct io_uring_cqe *done;
    void *ring;
    size_t ring_size;
    size_t requests_size;
};

/* A completion. */
struct rti_uring_done {
    uint64_t tag;
    int32_t result; /* events of poll(2), or an errno, negative */
    bool is_last;   /* the request is no more */
};

/* RT_OK; RT_ERR_UNSUPPORTED if the kernel has none, or too old a one, or forbids it; else as the
 * system says. Nothing is left behind then. */
rt_status rti_uring_open(struct rti_uring *uring, bool is_shared);
/* Cancels every request first, so that no descriptor stays open because of one. */
void rti_uring_close(struct rti_uring *uring);

/* Begins to poll `fd` for `events`; completions carry `tag`, which no other request has. */
void rti_uring_poll(struct rti_uring *uring, int fd, uint32_t events, uint64_t tag);
/* Ends the poll with this tag, if there is one. Its last completion still comes. */
void rti_uring_unpoll(struct rti_uring *uring, uint64_t tag);

/* Tells the kernel what was written. Returns 0 or an errno. */
int rti_uring_submit(struct rti_uring *uring);

/* Takes up to `max` completions. */
int rti_uring_take(struct rti_uring *uring, struct rti_uring_done *done, int max);

/* Submits and blocks until there is a completion, for `timeout_ns` at most; RTI_TIME_NEVER: for
 * ever. Returns 0 or an errno; EINTR and ETIME are 0. */
int rti_uring_wait(struct rti_uring *uring, uint64_t timeout_ns);

#endif
