/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REGION_H
#define RTI_REGION_H

/* The region behind an rt_region: two lists of members and a state that only goes forward.
 *
 * Runnables leave by themselves, and the close waits for them. Resources are ended by the region in
 * FINALIZING, when no runnable of it is left. So quiescence is not looked for but made: at the step
 * to CLOSED no channel of the region exists, hence no live permit, and no timer of it is armed.
 *
 * With several workers the lock of contexts guards all of it but the budget, which never changes.
 * The state and the outcome are also read without it, by who asks how things are at this moment.
 * Finalizing is one worker's: who closes the same region meanwhile waits until it is over.
 *
 * I1  `live` is the length of `runnables`, but for the time of a walk.     (rti_region_audit)
 * I2  Members join only while OPEN; a runnable that a member brings, until the region is cancelled
 *     or FINALIZING, which it cannot be while that member lives.   (rti_region_join, _join_by)
 * I3  In CLOSED both lists are empty.                                      (region_to_closed) */

#include <orrery/rt/region.h>

#include "sync/cx.h"
#include "sync/region_member.h"

#define RTI_REGION_MAGIC UINT32_C(0x7267694f)

struct rti_region {
    uint32_t magic;         /* RTI_REGION_MAGIC from open on */
    rti_atomic_u32 state;   /* rt_region_state; written under the lock */
    rti_atomic_u32 outcome; /* rt_outcome: the worst so far; written under the lock */
    bool is_cancelled;
    size_t live;
    struct rti_list runnables;
    struct rti_list resources;
    rt_budget budget;
    struct rti_waitlist closers;     /* who waits for the last runnable */
    struct rti_region_member member; /* of the parent, if there is one */
    struct rti_sched *sched;
};

/* The region behind the storage; NULL if it is none or closed. */
struct rti_region *rti_region_of(rt_region *region);

/* Does it take members? With several workers, at this moment. */
bool rti_region_is_open(struct rti_region *region);

/* Takes a member in: RT_OK, or RT_ERR_STATE if the region is not open. */
rt_status rti_region_join(struct rti_region *region, struct rti_region_member *member);

/* The same for who holds the lock of contexts. */
rt_status rti_region_join_locked(struct rti_region *region, struct rti_region_member *member);

/* Takes in a runnable that one of the runnable members brings: also while the region closes, unless
 * it is cancelled. */
rt_status rti_region_join_by(struct rti_region *region, struct rti_region_member *member);

/* Lets a member go, with the outcome of a runnable; nothing if it belongs to no region. */
void rti_region_leave(struct rti_region_member *member, struct rti_sched *sched,
                      rt_outcome outcome);

/* Lets a resource go. The lock of contexts is held. */
void rti_region_drop(struct rti_region_member *member);

void rti_region_audit(const struct rti_region *region);

#endif
