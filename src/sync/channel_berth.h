/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHANNEL_BERTH_H
#define RTI_CHANNEL_BERTH_H

/* What a fiber waits with when it is the lone one of a channel.
 *
 * A wait on the stack is written anew each time: some twenty stores, most of them the same as last
 * time, and a rendezvous is little else than stores. So the wait of a lone one lies at the
 * top of its stack, and what never changes is written when the fiber first needs it. A lone one
 * that was served by hand has left everything as it was but the fields below. Any other end of the
 * wait unlinks and chains, and the berth is prepared again.
 *
 * Where a fiber has no such room the berth is in the frame of the call, and never ready.
 *
 * Who writes what: the fiber `wait.claimed`, and of the waiter `slot`, `channel`, `end`, `result`
 * and `kind` with the flags beside it, before it parks; who serves it `claimed` and `is_handed`.
 * With several workers both have the channel's lock then, and a berth is looked at by others only
 * if they find it in a channel whose lock they have. A fiber that has ended has left its stack to
 * another, whose berth may lie in the same place; so it is looked for only if `alone_at` of the
 * fiber is that channel's. */

#include "sched/fiber.h"
#include "sync/channel_waiter.h"

struct rti_channel_berth {
    struct rti_wait wait;
    struct rti_channel_waiter waiter;
    struct rti_waiter cancel;
#if !RTI_ONE_WORKER
    uint64_t serial; /* several workers: of the channel, see struct rti_channel_lock */
#endif
};

/* The berth that a lone waiter lies in. */
static inline struct rti_channel_berth *rti_channel_berth_around(struct rti_channel_waiter *waiter)
{
    return RTI_CONTAINER_OF(waiter, struct rti_channel_berth, waiter);
}

/* Whose it is, once it is prepared. */
static inline struct rti_fiber *rti_channel_berth_fiber(const struct rti_channel_berth *berth)
{
    return berth->wait.target;
}

#if RTI_HAS_BERTH

_Static_assert(sizeof(struct rti_channel_berth) <= RTI_STACK_TOP_ROOM, "a fiber has room for it");

/* The berth of a fiber, given what it has room for on its stack. Another worker's only if it is
 * settled at a channel whose lock the caller has (rti_fiber_is_settled_at). */
static inline struct rti_channel_berth *rti_channel_berth_of(struct rti_fiber *fiber,
                                                             struct rti_channel_berth *on_stack)
{
    (void)on_stack;
    RTI_PLAIN_READ(&fiber->stack.high_guard, sizeof(fiber->stack.high_guard));
    void *top = rti_stack_top(&fiber->stack);
    RT_DCHECK((uintptr_t)top % RTI_STACK_GUARD_ROOM == 0);
    return __builtin_assume_aligned(top, RTI_STACK_GUARD_ROOM); /* so that stores are one */
}

static inline bool rti_channel_berth_is_ready(const struct rti_fiber *fiber)
{
    return fiber->is_berth_ready;
}

static inline void rti_channel_berth_set_ready(struct rti_fiber *fiber, bool is_ready)
{
    fiber->is_berth_ready = is_ready;
}

#else

static inline struct rti_channel_berth *rti_channel_berth_of(struct rti_fiber *fiber,
                                                             struct rti_channel_berth *on_stack)
{
    (void)fiber;
    return on_stack;
}

static inline bool rti_channel_berth_is_ready(const struct rti_fiber *fiber)
{
    (void)fiber;
    return false;
}

static inline void rti_channel_berth_set_ready(struct rti_fiber *fiber, bool is_ready)
{
    (void)fiber;
    (void)is_ready;
}

#endif

#endif
