/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_POLLER_H
#define RTI_POLLER_H

/* The poller: ops that wait for descriptors, and the one place where the scheduler thread blocks.
 * The essay is in poller.c. */

#include <orrery/rt_static_config.h>

#include "port/linux/sentry.h"
#include "port/linux/spin.h"
#include "port/linux/stage.h"
#include "port/linux/wake_word.h"

/* How many events one system call collects, and how many such calls one wait makes at most. */
#ifndef RTI_POLLER_BATCH
#define RTI_POLLER_BATCH 64
#endif
#ifndef RTI_POLLER_ROUNDS_MAX
#define RTI_POLLER_ROUNDS_MAX 16
#endif

/* How long an accept that found no free descriptor waits before it looks again by itself. */
#ifndef RTI_POLLER_STARVED_RETRY_NS
#define RTI_POLLER_STARVED_RETRY_NS 100000000U
#endif

enum rti_direction {
    RTI_INWARD,
    RTI_OUTWARD,
    RTI_DIRECTION_COUNT,
};

enum rti_fd_kind {
    RTI_FD_UNKNOWN, /* nothing was asked of this number since it was last closed */
    RTI_FD_SOCKET,  /* recv and send, which never raise SIGPIPE */
    RTI_FD_STREAM,  /* pipe, terminal, anything else that can be polled: read and write */
};

/* What the poller knows of one descriptor number. All zero is a valid RTI_FD_UNKNOWN. As long as a
 * line of the cache, and in the poller's own table at the beginning of one. */
struct rti_fd {
    struct rti_list queue[RTI_DIRECTION_COUNT]; /* waiting ops, FIFO; valid unless UNKNOWN */
    struct rti_spin lock;                       /* over all fields, if workers share the port */
    uint32_t generation;                        /* of what is watched: grows with each close */
    uint8_t kind;                               /* enum rti_fd_kind */
    uint8_t armed;   /* directions that are watched, as bits 1 << direction; 0: none */
    uint8_t dry;     /* directions of `armed` that had nothing at the last try, no event since */
    bool is_starved; /* the accept at the head of the inward queue lacks a free descriptor */
    bool is_tcp;     /* a read that leaves room has taken all there was */
    bool is_ending;  /* an event told of an end, an error or urgent data: no such trust any more */
    uint64_t spare[2];
};

struct rti_poller {
    struct rti_sentry sentry;  /* tells what is ready; its bell is never read */
    struct rti_wake_word wake; /* any thread */
    struct rti_fd *fds;        /* indexed by descriptor */
    size_t fds_count;          /* entries of fds */
    size_t fds_top;            /* no entry at or above it was ever used */
    size_t waiting_count;      /* ops in all queues */
    size_t starved_count;      /* an upper bound of the entries with is_starved */
    uint64_t starved_retry_ns; /* when to look at them again */
    struct rti_list *answered; /* the port's list: where answered ops go */
    struct rti_spin *ledger;   /* the port's: over fds_top, the counts and `answered` */
    bool is_shared;            /* several workers: entries and ledger are locked */
    rti_atomic_u32 is_dead; /* the sentry has failed: ops are refused, only calls are waited for */
    rti_atomic_u64 bells;   /* any thread: how often wake rang the bell */
    uint64_t blocks;        /* how often the thread may have blocked */
    uint64_t events;        /* how many reached what they were for, wake-ups included */
    uint64_t events_unwanted;                      /* events that no op waited for */
    struct rti_fd fds_own[RT_MAX_DESCRIPTORS + 1]; /* one to spare: they begin at a line */
};

struct rti_port_linux_config;

rt_status rti_poller_init(struct rti_poller *poller, const struct rti_port_linux_config *config,
                          struct rti_list *answered, struct rti_spin *ledger);
void rti_poller_deinit(struct rti_poller *poller);

/* Takes an op in flight: answers it, which is true, or queues it. */
bool rti_poller_submit(struct rti_poller *poller, struct rti_op *op);

/* The codes of ops on descriptors are odd if they read: rti_op_is_inward without its comparisons.
 */
static inline enum rti_direction rti_op_direction(const struct rti_op *op)
{
    _Static_assert(RTI_OP_READ % 2 == 1 && RTI_OP_ACCEPT % 2 == 1 && RTI_OP_RECVFROM % 2 == 1 &&
                       RTI_OP_POLL_IN % 2 == 1 && RTI_INWARD == 0,
                   "what reads has an odd code");
    _Static_assert(RTI_OP_WRITE % 2 == 0 && RTI_OP_CONNECT % 2 == 0 && RTI_OP_SENDTO % 2 == 0 &&
                       RTI_OP_POLL_OUT % 2 == 0 && RTI_OUTWARD == 1,
                   "what writes has an even code");
    RT_DCHECK(rti_op_is_inward(op) == (op->code % 2 == 1));
    return op->code % 2 == 1 ? RTI_INWARD : RTI_OUTWARD;
}

/* Takes an op in flight whose direction is dry: it waits, and that is all; true. Most of what is
 * submitted is such a one. False: nothing was done. Only if one thread has the port. */
static inline bool rti_poller_submit_dry(struct rti_poller *poller, struct rti_op *op)
{
    enum rti_direction direction = rti_op_direction(op);
    if (RTI_UNLIKELY((unsigned)op->fd >= poller->fds_count)) {
        return false;
    }
    struct rti_fd *entry = &poller->fds[op->fd];
    if ((entry->dry & 1U << direction) == 0 || rti_u32_load_relaxed(&poller->is_dead) != 0) {
        return false;
    }
    rti_stage_to_waiting(op, &entry->queue[direction]);
    poller->waiting_count++;
    return true;
}

/* Does the op if nothing waits before it and it need not wait itself; else false. */
bool rti_poller_attempt(struct rti_poller *poller, struct rti_op *op);

/* Takes a waiting op out of its queue; the caller answers it. With the entry and the ledger locked.
 */
void rti_poller_withdraw(struct rti_poller *poller, struct rti_op *op);

/* The next two, if workers share the port. */
void rti_poller_lock_shared(struct rti_poller *poller, int fd);
void rti_poller_unlock_shared(struct rti_poller *poller, int fd);

/* Locks the entry of a descriptor, if it has one, and gives it back. Before the ledger. */
static inline void rti_poller_lock_entry(struct rti_poller *poller, int fd)
{
    if (RTI_UNLIKELY(poller->is_shared)) {
        rti_poller_lock_shared(poller, fd);
    }
}

static inline void rti_poller_unlock_entry(struct rti_poller *poller, int fd)
{
    if (RTI_UNLIKELY(poller->is_shared)) {
        rti_poller_unlock_shared(poller, fd);
    }
}

/* Answers all that waits on `fd` with RT_ERR_CLOSED and closes it. */
rt_status rti_poller_close(struct rti_poller *poller, int fd);

/* Answers all that waits on any descriptor with `status`; closes none. */
void rti_poller_answer_all(struct rti_poller *poller, rt_status_code status);

/* Blocks until an event, a call or the deadline, and serves what is ready; with `may_block` false
 * only serves. True if somebody called wake. */
bool rti_poller_wait(struct rti_poller *poller, bool may_block, uint64_t deadline_ns);

void rti_poller_wake(struct rti_poller *poller);

/* When there is something to do for an accept without a free descriptor: if workers share the port
 * one may be blocked in wait, with a deadline that knows nothing of it. */
static inline void rti_poller_call_starved(struct rti_poller *poller)
{
    if (poller->is_shared) {
        rti_poller_wake(poller);
    }
}

/* Walks the table and panics if an invariant is broken; returns the number of waiting ops. */
size_t rti_poller_audit(const struct rti_poller *poller);

#endif
