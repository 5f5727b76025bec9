/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_MONITOR_H
#define RTI_MONITOR_H

/* A monitor is one record in two lists: of those that its maker has made, and of those that watch
 * the target. It carries the exit message that its maker will receive. It is named by a number with
 * a generation, so that the number of a monitor that is over names no later one.
 *
 *     watching   in both lists
 *     queued     the target is dead: only in the maker's list; the notice waits in its mailbox
 *     received   the same, and the maker reads it; it is freed with the next receive
 *
 * I1  A monitor is in its target's list iff it is watching.               (rti_monitors_audit)
 * I2  One that is not watching is queued or held by its maker.            (rti_monitors_audit)
 * I3  The number resolves iff the record lives.                           (rti_monitors_audit)
 *
 * Costs: constant time but for a death, one step per monitor. */

#include <orrery/rt/link.h>
#include <orrery/rt_static_config.h>

#include "actor/mailbox.h"
#include "base/handle.h"

struct rti_actor;
struct rti_actors;

struct rti_monitor {
    struct rti_link at_owner;  /* the maker's list of monitors */
    struct rti_link at_target; /* the target's list of watchers; unlinked when it is dead */
    struct rti_actor *owner;
    uint32_t ref;
    actor_id target;
    rt_exit_msg exit;
    struct rti_notice notice; /* what the maker receives */
};

struct rti_monitors {
    struct rti_handle_table refs;
    struct rti_handle_slot ref_slots[RT_MONITOR_ENTRY_POOL_SIZE];
    struct rti_monitor table[RT_MONITOR_ENTRY_POOL_SIZE];
};

void rti_monitors_init(struct rti_monitors *monitors);
void rti_monitors_deinit(struct rti_monitors *monitors);

/* Makes a monitor of memory that is part of something else: it has no number, is in no list of its
 * maker, and is the business of who embeds it, also when its maker ends. `watchers` is the list of
 * the target. `release` is called when the maker is done with the exit message. */
void rti_monitor_embed(struct rti_monitor *monitor, struct rti_actor *owner,
                       struct rti_list *watchers, actor_id target,
                       void (*release)(struct rti_notice *notice));

/* Tells those in a list of watchers, in the order in which they began, and empties it. */
void rti_monitors_tell(struct rti_list *watchers, actor_id dead, rt_exit_reason reason);

/* Step 3 of death: tells those who watch the dead one, in the order in which they began, and
 * forgets what the dead one watched. */
void rti_monitors_notify(struct rti_actor *dead, rt_exit_reason reason);

/* Checks I1 to I3 for one actor; returns how many monitors it has made. */
size_t rti_monitors_audit(const struct rti_actor *actor);

#endif
