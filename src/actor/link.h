/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINK_END_H
#define RTI_LINK_END_H

/* A link is two ends, one in the list of each of its actors. Each end carries the exit message that
 * its owner will receive, so the message needs no memory when the other one dies.
 *
 *     whole      both ends listed, each the other's peer
 *     queued     the other actor is dead: no peer; the notice waits in the owner's mailbox
 *     received   the same, and the owner reads it; it is freed with the next receive
 *
 * I1  peer->peer is the end itself, and peer's owner is `target`.            (rti_links_audit)
 * I2  An end without a peer is queued or held by its owner.                  (rti_links_audit)
 * I3  An actor has at most one whole end for each target.                    (rti_links_audit)
 *
 * Costs: link and unlink walk the caller's ends; a death is one step per end. */

#include <orrery/rt/link.h>
#include <orrery/rt_static_config.h>

#include "actor/mailbox.h"
#include "base/pool.h"

struct rti_actor;
struct rti_actors;

struct rti_link_end {
    struct rti_link link;      /* the owner's list of ends */
    struct rti_link_end *peer; /* NULL once the other actor is dead */
    struct rti_actor *owner;
    actor_id target; /* the other actor */
    rt_exit_msg exit;
    struct rti_notice notice; /* what the owner receives */
};

struct rti_links {
    struct rti_pool pool;
    RTI_POOL_STORAGE(memory, struct rti_link_end, RT_LINK_ENTRY_POOL_SIZE);
};

void rti_links_init(struct rti_links *links);
void rti_links_deinit(struct rti_links *links);

/* Step 2 of death: tells the other end of each link, in the order of linking, and frees the dead
 * one's ends. */
void rti_links_notify(struct rti_actor *dead, rt_exit_reason reason);

/* Checks I1 to I3 for one actor; returns how many ends it has. */
size_t rti_links_audit(const struct rti_actor *actor);

#endif
