/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ACTOR_CYCLE_H
#define RTI_ACTOR_CYCLE_H

/* Who waits for whom. An actor in a SYNC send or a call waits for exactly one other, so the waits
 * form chains, and a chain that comes back to its start can never end: nobody in it can receive.
 *
 * The wait that closes a cycle is the only moment at which it can be found cheaply, and every cycle
 * has one. It is told in one line with all names; the send then blocks, as the specification says:
 * a kill, a call's deadline or a death among them may still free it.
 *
 * Costs: one load when the receiver waits for nobody; else a step per actor of the chain. */

#include "actor/actor.h"

/* Notes that `waiter` is about to wait for `target`, and tells if that closes a cycle. Under the
 * lock of the actors; telling is rare, and may hold them up. */
void rti_actor_wait_for(struct rti_actor *waiter, struct rti_actor *target);

/* Notes that it waits no more. Takes the lock. */
void rti_actor_wait_ended(struct rti_actor *waiter);

#endif
