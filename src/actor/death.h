/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_DEATH_H
#define RTI_DEATH_H

/* The end of an actor, in the six steps of the specification:
 *
 *     1 mailbox     queued and held messages are ended; SYNC senders and callers go on with
 *                   RT_ERR_CLOSED
 *     2 links       the other ends are told
 *     3 monitors    those who watch are told; what the dead one watched is forgotten
 *     4 bus         hooks
 *     5 timers      its timers end; hooks
 *     6 resources   names, hooks, stack, slot
 *
 * It runs on the scheduler's own stack after the fiber has left its stack for good, in one piece:
 * no actor runs between two steps. Nothing in it can fail: the notices were reserved when the links
 * and monitors were made.
 *
 * A module above registers a hook for its step. The hook finds its records of the actor in
 * actor->owned and ends them; it may push notices to others and wake others, it may not fail and
 * not suspend. A hook that says which list of `owned` is its own is not called for an actor that
 * has nothing in that list.
 *
 * I1  While the hooks run the actor is unreachable and its mailbox is empty.   (RT_ASSERT)
 * I2  After the last step nothing is attached to the actor.                    (RT_ASSERT)
 *
 * Costs: an actor without links, monitors, names, subscriptions and timers has nobody to tell, and
 * its death is one look at each of those lists. */

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct rti_actor;
struct rti_actors;

/* Are there modules above that want to know? */
#define RTI_HAS_DEATH_HOOKS RT_HAS_BUS

/* The steps that have hooks. */
enum rti_death_step {
    RTI_DEATH_BUS,
    RTI_DEATH_TIMERS,
    RTI_DEATH_RESOURCES,
    RTI_DEATH_STEP_COUNT,
};

struct rti_death_hook {
    struct rti_link link;
    bool is_of_owners; /* only for actors that have something in owned[list] */
    uint8_t list;      /* enum rti_owned */
    void (*died)(struct rti_death_hook *hook, struct rti_actor *actor);
};

/* Has `hook->died` called in its step of every death from here on, after the hooks added before.
 * The hook's memory is the caller's and outlives the actors. */
void rti_death_hook_add(struct rti_actors *actors, enum rti_death_step step,
                        struct rti_death_hook *hook);

/* The six steps. Called by the fiber's end. */
void rti_death_process(struct rti_actor *actor);

#endif
