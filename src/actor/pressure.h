/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PRESSURE_H
#define RTI_PRESSURE_H

/* Backpressure of one actor, of either kind: its limit, those who are muted on it, and whom it is
 * muted on itself. The manual is <orrery/rt/mailbox.h>.
 *
 * A muted actor waits for exactly one other. So those who wait form trees, and the one thing that
 * must not happen is a ring: before an actor is muted its chain is followed (whom does the receiver
 * wait for? muted on somebody, or waiting for an answer or a release), and if it leads back to the
 * actor it is not muted. The same walk is made when an actor begins to wait for an answer; then the
 * muted one in the ring is let go.
 *
 * I1  `on` is ACTOR_ID_INVALID iff `link` is unlinked.                     (rti_pressure_audit)
 * I2  Who is in `muted` names this actor as its `on`.                      (rti_pressure_audit)
 * I3  No chain of `on` and `waits_for` is a ring that contains a muted actor.
 * (pressure_closes_ring)
 *
 * Who writes: everything here but the counters of a receiver under the lock of backpressure
 * (rti_behaviours.mute_lock); `limit` by its owner before anybody sends to this life. A sender that
 * comes late finds the limit of the next one, or none, so it reads it once.
 *
 * Who is taken out of a list is woken under the same lock. A life that has looked there itself
 * (rti_pressure_unmute) may end, and another be in its place: no wake is under way to it.
 *
 * Rejected: muting an actor on several receivers at once, with a count (a handler that floods two
 * receivers is stopped by the first; when it goes on the second stops it); muting nobody who is
 * overloaded himself (two actors that flood each other then never slow down). */

#include <orrery/rt/mailbox.h>
#include <orrery/rt_static_config.h>

#include "actor/gate.h"
#include "base/list.h"

struct rti_actor;
struct rti_actors;
struct rti_behaviours;
struct rti_worker;

struct rti_pressure {
    rti_atomic_ptr limit;  /* const rt_mailbox_config; NULL: none */
    struct rti_list muted; /* those who wait for this one, muted first goes first */
    struct rti_link link;  /* its own place in another's `muted` */
    actor_id self;
    actor_id on;             /* whom it is muted on; ACTOR_ID_INVALID: it is not */
    rti_atomic_u32 rejected; /* counted by senders */
    rti_atomic_u32 dropped;
    uint32_t mutes;
    uint32_t releases;
};

void rti_pressure_init(struct rti_pressure *pressure, actor_id self,
                       const rt_mailbox_config *limit);

/* Is this a limit that can be kept? */
bool rti_mailbox_config_is_valid(const rt_mailbox_config *config);

/* The limit; NULL: none. Read by senders too, late ones of a former life among them. */
static inline const rt_mailbox_config *rti_pressure_limit(const struct rti_pressure *pressure)
{
    return RT_HAS_BEHAVIOURS ? rti_ptr_load_relaxed(&pressure->limit) : NULL;
}

static inline void rti_pressure_set_limit(struct rti_pressure *pressure,
                                          const rt_mailbox_config *limit)
{
    rti_ptr_store_relaxed(&pressure->limit, (void *)(uintptr_t)limit);
}

/* Where muted senders go on. */
static inline uint32_t rti_pressure_low(const rt_mailbox_config *limit)
{
    return limit->low != 0 && limit->low < limit->high ? limit->low : limit->high / 2;
}

/* How many may wait; RTI_GATE_OPEN: any number. */
static inline uint32_t rti_pressure_high(const rt_mailbox_config *limit)
{
    bool is_open = limit == NULL || limit->high == 0 || limit->high > RTI_GATE_OPEN;
    return is_open ? RTI_GATE_OPEN : limit->high;
}

/* The same as the mark of a gate. */
static inline int32_t rti_pressure_mark(const rt_mailbox_config *limit)
{
    uint32_t high = rti_pressure_high(limit);
    return high == RTI_GATE_OPEN ? RTI_GATE_NEVER : rti_gate_mark(high, rti_pressure_low(limit));
}

/* What a send does before it delivers to a receiver with a limit. */
enum rti_admission {
    RTI_ADMIT,         /* deliver */
    RTI_ADMIT_MUTED,   /* deliver, then mute the sender */
    RTI_ADMIT_FOR_OLD, /* drop the oldest, deliver */
    RTI_ADMIT_DROPPED, /* do not deliver, say RT_OK */
    RTI_ADMIT_REFUSED, /* do not deliver, say RT_ERR_FULL */
    RTI_ADMIT_KILLED,  /* kill the receiver, say RT_ERR_INVALID */
};

enum rti_admission rti_pressure_admit(struct rti_pressure *receiver, const rt_mailbox_config *limit,
                                      bool is_full);

/* Mutes `sender` on `receiver` if that is right: there is still a reason, it closes no ring, and
 * neither is a system actor nor about to end. True if it is muted now. */
bool rti_pressure_mute(struct rti_behaviours *module, struct rti_pressure *sender,
                       struct rti_pressure *receiver);

/* Lets everybody go on who is muted on this one, in order. */
void rti_pressure_release(struct rti_behaviours *module, struct rti_pressure *receiver);

/* Takes the caller, which goes on by itself, out of the list that it waits in, if it is in one.
 * Nobody wakes it from there on. */
void rti_pressure_unmute(struct rti_behaviours *module, struct rti_pressure *sender);

/* Lets one go on that is muted. False if it is not. */
bool rti_pressure_let_go(struct rti_behaviours *module, struct rti_pressure *sender);

/* An actor with a stack begins to wait for another: if the chain leads back through somebody who is
 * muted, that one goes on. */
void rti_pressure_untie(struct rti_behaviours *module, actor_id waiter, actor_id target);

/* What the pressure of an actor has come to, but for the depth of one with a stack. `module` may be
 * NULL. */
void rti_pressure_stats(struct rti_behaviours *module, const struct rti_pressure *pressure,
                        rt_mailbox_stats *out);

/* Checks I1 and I2. */
void rti_pressure_audit(const struct rti_pressure *pressure);

#endif
