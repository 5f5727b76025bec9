/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REQUEST_H
#define RTI_REQUEST_H

/* A request: an op, and the fiber that waits for its answer, if it still does.
 *
 * An op is the port's until its `done`, but a fiber that started one may be gone sooner: killed, or
 * out of time while a thread of the pool still works. So ops that are submitted never lie on a
 * fiber's stack, as one may that is only attempted. They lie in records of fixed pools, and a
 * record lives until both have let go of it:
 *
 *     NEW --begin--> IN_FLIGHT --done--> ANSWERED --end--> released: back in its pool
 *      |                 |  \
 *      |                 |   detach: the fiber lets go; `done` releases
 *      +--drop-----------+--> released
 *
 * Two kinds of op differ in what a time limit or a cancellation does. An op on a descriptor can be
 * taken back at once, so the fiber cancels it, waits for the word of the port, which comes with the
 * next look, and knows whether anything happened: if so it takes that, the completion has won. Work
 * that runs on a thread cannot be taken back: the fiber lets go and the record, with the buffer the
 * thread works in, stays out of the pool until the thread is done.
 *
 * A kill reaches the record through the `unlink` of the wait (sched/wait.h), the same way as every
 * other waiter. What an answer brings that needs an owner, a descriptor, is given back by `release`
 * if nobody took it.
 *
 * I1  A record is released exactly once, and not while the port has it.     (request_release)
 * I2  Between two turns a record is awaited or detached, unless it is being kept for later by its
 *     owner.                                                                (rti_io_audit)
 * I3  What `release` finds not taken never reached the program.             (is_taken)
 *
 * With one worker everything belongs to the scheduler's thread. With several, one lock of the
 * module guards states, waiters, pools and the line of files: an answer comes on the thread that is
 * in the poller, also before the fiber has come to wait for it. `release` runs with the lock held.
 *
 * Costs: one pool alloc and free per request; a transfer that need not wait has none.
 *
 * Rejected: ops on the fiber's stack with a kill that waits for the port (a kill that takes as long
 * as a disk); a generation counter to tell late answers apart (the record's own life says it). */

#include "base/pool.h"
#include "port/op.h"
#include "sched/fiber.h"
#include "sched/lock.h"

enum rti_request_state {
    RTI_REQUEST_NEW,       /* ours, not begun */
    RTI_REQUEST_IN_FLIGHT, /* the port's */
    RTI_REQUEST_ANSWERED,  /* ours, `op` holds the answer */
};

/* What guards the requests of a module. */
struct rti_request_guard {
    struct rti_lock lock;
    struct rti_sched *sched;
};

static inline void rti_request_guard_acquire(struct rti_request_guard *guard)
{
    if (guard != NULL) {
        rti_lock_acquire(&guard->lock, guard->sched);
    }
}

static inline void rti_request_guard_release(struct rti_request_guard *guard)
{
    if (guard != NULL) {
        rti_lock_release(&guard->lock);
    }
}

struct rti_request {
    struct rti_op op;
    struct rti_port *port;
    struct rti_request_guard *guard; /* NULL: one thread */
    struct rti_waiter *waiter;       /* who waits; NULL: nobody now */
    uint8_t state;                   /* enum rti_request_state */
    bool is_detached;                /* the fiber has let go: `done` releases */
    bool is_kept;                    /* goes on though nobody waits: a close */
    bool is_taken;                   /* the answer's result has an owner */
    /* Gives back what nobody took, then the record to its pool. */
    void (*release)(struct rti_request *request);
};

/* Makes a request of a fresh record. What the op needs beyond is set by hand. */
void rti_request_init(struct rti_request *request, struct rti_port *port, enum rti_op_code code,
                      void (*release)(struct rti_request *));

/* Does it now if that needs no waiting: true, and it is ANSWERED. False: still NEW. */
bool rti_request_attempt(struct rti_request *request);

/* Gives it to the port. With the guard held or before anybody else knows the request. */
static inline void rti_request_begin(struct rti_request *request)
{
    RT_ASSERT(request->state == RTI_REQUEST_NEW);
    request->state = RTI_REQUEST_IN_FLIGHT;
    request->port->ops->submit(request->port, &request->op);
}

/* Parks the current fiber until the answer, the deadline or the fiber's cancellation, which does
 * not count for a request that is kept. True: ANSWERED, the caller looks at the op and calls
 * rti_request_end. False: the time is over or the fiber is cancelled, nothing of the request
 * reached the program and the record is not the caller's any more. */
bool rti_request_await(struct rti_request *request, uint64_t deadline_ns);

/* Does a NEW request on the calling thread, which blocks; the port has `perform`. True: ANSWERED.
 * False: the deadline came first, and the record is not the caller's any more. */
bool rti_request_perform(struct rti_request *request, uint64_t deadline_ns);

/* Whoever waited lets go, `waiter` is NULL: the record is released, now or when the port is done
 * with it. */
void rti_request_detach(struct rti_request *request);

/* Ends a request that is NEW or ANSWERED; `is_taken`: its result is the program's now. */
void rti_request_end(struct rti_request *request, bool is_taken);

/* Is this the waiter of a fiber that awaits the answer to a request? For tools. */
bool rti_waiter_is_of_request(const struct rti_waiter *waiter);

#endif
