/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SELECT_H
#define RTI_SELECT_H

/* A select is one wait with a waiter per arm. This file knows arms only by what they can do; each
 * kind of arm lies with the thing it is for: channels in select_channel.c, intervals in interval.c,
 * tasks and sockets in task/.
 *
 * A call has two rounds.
 *
 *     attempt   asks the arms one by one, in an order drawn for this call, to do their operation if
 *               that needs no waiting. The first that does is chosen: of those that are ready each
 *               has the same chance. The select is linked nowhere, so nobody else can choose.
 *     join      links a waiter per arm. From the first link on another worker may choose: so each
 *               arm that looks again and finds itself ready must first claim the select's own wait,
 *               and who links next looks whether the wait is still open.
 *
 * With one worker nothing comes between the rounds, and join only links. With several, join looks
 * once more under the lock of the source, because the arm may have become ready since. What it
 * finds there is of two sorts:
 *
 *   - Something that lies there: a value, a free place, a task that has ended. The lock is held, so
 *     it stays there: the own wait is claimed, then it is taken. If the claim fails, another arm
 * was chosen meanwhile and nothing is taken. A channel does it by linking first and settling the
 *     line then, which serves whoever can be served: perhaps the one who has just joined.
 *   - Somebody who waits there, at a rendezvous. Both waits must be claimed, or none: if the own
 * one were claimed alone and the partner turned out to be taken, this select would have to begin
 *     anew, without its places in line, and two selects that offer each other the same could do so
 *     for ever. rti_wait_claim_pair (sched/wait.h) claims both; while it is at it, the lower of the
 *     two is marked and others wait for a few instructions. Only one lock is held at a time: the
 *     partner cannot leave the line without it.
 *
 * A chosen arm is `collected`: by the one who waited, after the wake and before the waiters are
 * unlinked. What an arm was given and nobody collects, because its fiber is killed or its poll
 * context gives up, its `unlink` gives back.
 *
 * Memory: the waiters lie in the arms, which are the caller's, so a select of any size takes 200
 * bytes of stack. For a poll context they stay linked between two polls: the arms stay in place.
 *
 * I1  A call does at most one operation, and exactly one if it returns RT_OK.    (explored, sim)
 * I2  After a call no source has a link to an arm, unless a poll context waits.  (rti_wait_finish)
 * I3  `is_collected` is true for at most one arm, from the end of the wait on.   (RT_ASSERT)
 *
 * Costs: with the first arm asked ready, one draw and the operation itself; see bench/select_bench.
 * Each arm that waits costs a link and an unlink.
 *
 * Rejected: all locks at once, in the order of their ids (four locked instructions for a select
 * that takes the first of four values; and the ranks of sched/lock.h allow one lock of a kind); a
 * random place to begin and then round (an arm behind arms that are never ready would get their
 * chances too); asking all arms before choosing (as many looks as arms for each call). */

#include <orrery/rt/select.h>

#include "sync/channel_waiter.h"
#include "sync/cx.h"
#include "time/deadline.h"

struct rti_arm;

/* One call of rt_select. */
struct rti_select {
    struct rti_arm *arms;
    size_t count;
    struct rti_sched *sched;
    struct rti_wait *wait; /* from the join on; of the fiber or of the poll context */
    bool is_attempted;     /* the check point is made, the first round was in vain */
};

enum rti_arm_join {
    RTI_ARM_LINKED,  /* in line; or another event has ended the wait meanwhile */
    RTI_ARM_CHOSEN,  /* ready after all: the own wait is claimed for it, the operation is done */
    RTI_ARM_REFUSED, /* it has nothing to wait with: no record is free */
};

struct rti_arm_ops {
    /* Does the operation if that needs no waiting and gives its status; RT_ERR_WOULDBLOCK: it
     * would. By value: a status in memory would be read again, wider than it was written. */
    rt_status (*attempt)(struct rti_arm *arm, struct rti_sched *sched);

    /* Adds the arm to the wait and links it at its source, looking once more if there are several
     * workers. */
    enum rti_arm_join (*join)(struct rti_arm *arm, struct rti_select *select);

    /* The arm's event has ended the wait: says what the operation came to. False if the event was
     * only that it may be tried again, and trying failed: the select begins anew. */
    bool (*collect)(struct rti_arm *arm, struct rti_sched *sched, rt_status *status);

    /* What no other arm that waits in the same select may have; NULL: it may share everything. May
     * be NULL. */
    const void *(*own)(const struct rti_arm *arm, struct rti_sched *sched);
};

struct rti_arm {
    const struct rti_arm_ops *ops; /* NULL: never ready */
    union {
        void *on; /* the handle */
        int fd;
    };
    void *value;       /* where the operation takes or puts its value */
    uint32_t number;   /* channel: in the journal, which may outlive it */
    uint8_t kind;      /* the arm's own: which of the operations of its noun */
    bool is_collected; /* it was chosen and its select knows */
    union {
        struct rti_waiter waiter;
        struct rti_channel_waiter channel;
        struct rti_deadline tick;
    };
};

/* The arm of rt_arm_default: chosen if no other is ready. */
extern const struct rti_arm_ops rti_arm_default_ops;

static inline struct rti_arm *rti_arm_of(rt_select_arm *arm)
{
    return (struct rti_arm *)(void *)arm;
}

/* Makes an arm; `ops` NULL: never ready. */
static inline void rti_arm_init(struct rti_arm *arm, const struct rti_arm_ops *ops, void *on,
                                void *value)
{
    arm->ops = ops;
    arm->on = on;
    arm->value = value;
    arm->number = 0;
    arm->kind = 0;
    arm->is_collected = false;
}

/* The event that ends the select's wait for this arm. */
static inline uint32_t rti_arm_event(const struct rti_arm *arm, const struct rti_select *select)
{
    return RTI_EVENT_SOURCE + (uint32_t)(arm - select->arms);
}

/* Is this the waiter of an arm on a channel? Then it lies in a struct rti_channel_waiter. For
 * tools.
 */
bool rti_waiter_is_of_channel_arm(const struct rti_waiter *waiter);

#endif
