/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REGION_MEMBER_H
#define RTI_REGION_MEMBER_H

/* What a region owns: a link and what the region may ask of it.
 *
 * There are two sorts. A runnable (a context, a child region, later a task) ends by itself: a
 * region that closes waits until it has left. A resource (a channel, a timer) is ended by the
 * region, when no runnable is left that could use it. */

#include "base/list.h"

struct rti_region_member;
struct rti_region;
struct rti_sched;

struct rti_region_member_ops {
    bool is_runnable;
    /* Runnables: asks it to stop; idempotent. The lock of contexts is held; waits that this ends
     * are claimed and gathered in `claimed`. */
    void (*cancel)(struct rti_region_member *member, struct rti_list *claimed);
    /* Resources: keeps it where it is until it is finalized. The lock of contexts is held. False if
     * another worker is ending it, which will make it leave. */
    bool (*hold)(struct rti_region_member *member, struct rti_sched *sched);
    /* Resources: ends it; it is held and has left already. */
    void (*finalize)(struct rti_region_member *member, struct rti_sched *sched);
};

struct rti_region_member {
    struct rti_link link; /* the region's; unlinked while it belongs to none */
    struct rti_region *region;
    const struct rti_region_member_ops *ops;
};

static inline void rti_region_member_init(struct rti_region_member *member,
                                          const struct rti_region_member_ops *ops)
{
    rti_link_init(&member->link);
    member->region = NULL;
    member->ops = ops;
}

#endif
