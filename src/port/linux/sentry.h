/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SENTRY_H
#define RTI_SENTRY_H

/* The sentry: tells the poller which descriptors have become ready. There are two kinds of it, and
 * the poller does not see which it has: epoll, and io_uring.
 *
 * What both promise. A direction of a descriptor is watched from rti_sentry_watch on; it is told
 * once for each time that it becomes ready, and at once if it is; told too often is legal, too
 * rarely is not. An event carries the tag that the descriptor was watched with. The bell, an
 * eventfd, is watched for ever. Any thread may change what is watched, one collects.
 *
 *     epoll       one registration per descriptor, edge-triggered; a system call per change
 *     io_uring    one poll that stays per descriptor and direction; changes are handed over with
 *                 the next wait if there is one worker, else at once; a look without blocking is no
 *                 system call
 *
 * io_uring ends a poll by itself when the thread that began it ends, or when its completions find
 * no room; the event says so (`ended`), and the poller watches anew if somebody waits. Refusals,
 * which epoll tells at once, come as events with an error. The poll of the bell belongs to the
 * thread that blocks: whoever blocks next begins one of its own, or a ring would first wake a
 * thread that only passes it on. What is not watched any more is ended before the descriptor is
 * closed; if another worker began the poll, the kernel lets go of the open file when that worker
 * next comes by.
 *
 * Which one. RT_POLLER_AUTO is epoll: measured with bench/echo_bench, readiness by io_uring is no
 * faster here. The environment variable ORRERY_POLLER, epoll or io_uring, decides where the program
 * does not; what was asked for and is not there is an error, never replaced. */

#include <orrery/rt/runtime.h>

#include "port/linux/uring.h"

/* The tag of the bell, and bits of others: a number of a descriptor has 30 bits. */
#define RTI_SENTRY_BELL 0xffffffffU

struct rti_sentry {
    int fd; /* epoll's or the ring's */
    int bell_fd;
    bool is_uring;
    bool is_shared;
    bool has_pwait2;      /* nanosecond timeouts of epoll */
    uint32_t bell_number; /* io_uring: grows with each poll of the bell */
    uintptr_t bell_owner; /* io_uring: the thread that it belongs to; 0: nobody */
    struct rti_uring uring;
};

struct rti_sentry_event {
    uint64_t tag;
    uint32_t events; /* EPOLLIN ... */
    uint8_t ended;   /* directions that are not watched any more, as bits */
    int error;       /* why; 0: for no fault of the descriptor */
};

/* Prepares a sentry that watches the bell. RT_ERR_UNSUPPORTED if the kind is not to be had. */
rt_status rti_sentry_open(struct rti_sentry *sentry, rt_poller_kind kind, bool is_shared,
                          bool is_coarse);
void rti_sentry_close(struct rti_sentry *sentry);

/* What changes at a descriptor: directions are bits, 1 << RTI_INWARD and 1 << RTI_OUTWARD. */
struct rti_sentry_change {
    int fd;
    uint64_t tag;     /* number << 32 | fd; io_uring: see rti_sentry_renames */
    uint64_t old_tag; /* with which `from` was watched */
    uint8_t from;
    uint8_t to;
};

/* Makes it watch exactly the directions `to`. 0, EBADF or another errno, and then nothing changed;
 * ENOENT: the descriptor was another one before, and is watched now. */
int rti_sentry_watch(struct rti_sentry *sentry, const struct rti_sentry_change *change);

/* Must the tag change when a direction is not watched any more? Late events of io_uring cannot be
 * told from those of the next watch otherwise. */
static inline bool rti_sentry_renames(const struct rti_sentry *sentry)
{
    return sentry->is_uring;
}

/* Takes events that are there; with `may_block` waits for some until the deadline. Returns how
 * many, or -1 with errno; a signal is EINTR. */
int rti_sentry_collect(struct rti_sentry *sentry, struct rti_sentry_event *events, int max,
                       bool may_block, uint64_t deadline_ns);

#endif
