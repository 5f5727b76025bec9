/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_BUS_H
#define RTI_BUS_H

/* Buses and who subscribes to them; what a bus keeps is in bus_entries.h, the manual in
 * <orrery/rt/bus.h>. All memory is in one struct, sized by rt_static_config.h; the runtime places
 * it and hangs it at sched->modules[RTI_MODULE_BUS].
 *
 * A subscription is a record of the bus at the number of its cursor, and hangs in its actor's list.
 * It ends by the actor's word or in the fourth step of its death. A bus with subscriptions cannot
 * be destroyed, so no record outlives its bus and nobody waits at a bus that is gone.
 *
 * A read that waits is one wait with three events: a publication (the bus's wait list), mail (the
 * mailbox's reader) and the deadline. A publication claims all who wait, longest first, and leaves
 * the entry where it is: each looks for itself when it runs. By then others may have used the entry
 * up, or it may be too old; then the reader waits on, until its first deadline, without its caller
 * noticing. Whatever ended the wait, an entry that is there is delivered: data wins over mail and
 * over the deadline.
 *
 * While an actor waits its mailbox only grows, for it alone takes out of it. So a count that has
 * grown says that mail came, also when it came between the end of one wait and the begin of the
 * next.
 *
 * I1  A subscription record is in its owner's list iff its cursor is in use.   (rti_buses_audit)
 * I2  An actor has at most one subscription at a bus.                          (rti_buses_audit)
 * I3  Who waits at a bus subscribes to it.                                     (rt_bus_destroy)
 *
 * Costs: a call looks through the subscriptions of its actor; a publication wakes who waits; the
 * clock is read only on a bus with max_age_ms, and for a wait with a deadline.
 *
 * Rejected: handing the entry to who waits in the publication (a reader that is killed before it
 * runs would have to put it back); waking only max_readers of those who wait (one of them may be
 * killed, and the entry would wait beside sleeping readers). */

#include "actor/actors.h"
#include "actor/bus_entries.h"
#include "base/handle.h"
#include "sched/wait.h"

struct rti_bus;

struct rti_subscription {
    struct rti_link at_owner; /* in owner->owned[RTI_OWNED_SUBSCRIPTIONS] */
    struct rti_bus *bus;
    struct rti_actor *owner;
};

struct rti_bus {
    bus_id id; /* valid while its slot of the table is in use */
    struct rti_bus_entries entries;
    struct rti_waitlist waiting;                                   /* subscribers, longest first */
    struct rti_subscription subscriptions[RT_MAX_BUS_SUBSCRIBERS]; /* by number of the cursor */
};

struct rti_buses {
    struct rti_actors *actors;
    struct rti_death_hook on_death;
    struct rti_handle_table ids;
    struct rti_handle_slot id_slots[RT_MAX_BUSES];
    struct rti_bus table[RT_MAX_BUSES];
};

/* Hangs the module at the scheduler of `actors`. */
void rti_buses_init(struct rti_buses *buses, struct rti_actors *actors);

/* Ends every bus that is left and takes the module away. No actor lives. */
void rti_buses_deinit(struct rti_buses *buses);

/* Checks I1 and I2 and every bus; returns how many blocks of the message pool the buses hold. */
size_t rti_buses_audit(const struct rti_buses *buses);

#endif
