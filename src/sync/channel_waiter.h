/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHANNEL_WAITER_H
#define RTI_CHANNEL_WAITER_H

/* One who waits in a line of a channel, or has just been served there.
 *
 * It lies on the stack of a fiber or in a poll context, so the two ways to wait differ in what the
 * channel may do for them. A fiber's memory stays put until the fiber runs: a value is copied
 * straight out of it or into it. A poll context comes back with a new pointer: for it a place is
 * reserved (its permit is armed) or a value is kept in the queue (it is promised), and it takes
 * them when it polls again. If it never does, they pass on.
 *
 * Who may touch what: the channel while the waiter is in a line, in `promises` or owned by an armed
 * permit; its owner after the wake. */

#include <orrery/rt/status.h>

#include "sched/wait.h"

struct rti_channel;
struct rti_channel_end;
struct rti_permit;

enum rti_channel_waiter_kind {
    RTI_CHANNEL_SEND,    /* a fiber with a value: waiter.slot points to it */
    RTI_CHANNEL_RESERVE, /* wants a place: `permit` is its record */
    RTI_CHANNEL_RECV,    /* a fiber with a buffer: waiter.slot points to it */
    RTI_CHANNEL_POLL,    /* a poll context that receives */
};

/* A waiter's `result` until the channel serves it. */
#define RTI_CHANNEL_NOT_SERVED RT_ERR_WOULDBLOCK

struct rti_channel_waiter {
    struct rti_waiter waiter;          /* its link: in a line, then in `promises` if promised */
    struct rti_permit *permit;         /* RESERVE: armed once a place is granted; else NULL */
    struct rti_link wake_link;         /* among those to wake when the channel is left */
    struct rti_channel *channel;       /* NULL: its handle was closed before it could join */
    const struct rti_channel_end *end; /* the handle it came with */
    rt_status_code result;             /* how it was served, once claimed by the channel */
    uint8_t kind;                      /* enum rti_channel_waiter_kind */
    bool is_promised;                  /* POLL: a queued value is kept for it */
    bool is_collected; /* its fiber goes on with what it was given; else that passes on */
    bool is_handed;    /* it was the lone one, and served: all is done, whatever `result` says */
};

#endif
