/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CALL_H
#define RTI_CALL_H

/* A call: a request in the mailbox of one actor, and the wait of another for the one answer.
 *
 * The wait lies on the caller's stack; the caller points to it (`call`), the actor asked has it in
 * its list of callers. An answer finds it by the caller's id and the serial number of the call, 64
 * bits that are never given twice; so an answer that comes too late, or twice, finds nothing. The
 * answer is an ASYNC entry that hangs at the caller as `reply` and never enters a mailbox.
 *
 * I1  actor->call is not NULL iff the actor waits in rt_call, and nothing has claimed that wait.
 *                                                                          (call_unlink)
 * I2  A delivered answer is reachable from its actor at once, so that a caller that is killed
 *     before it runs again loses no block.                                 (rti_actors_audit)
 *
 * Rejected: the answer through the mailbox (the caller would have to search for it, and mail that
 * came before would be in its way); the answer written into the caller's buffer (its stack is the
 * one memory that nobody else should touch). */

#include <orrery/rt/call.h>

#include "actor/actor.h"

struct rti_call_wait {
    struct rti_waiter waiter; /* in the list of callers of the actor asked */
    struct rti_actor *caller;
    rt_status_code result; /* written by who claims the wait */
};

/* Part of step 1 of death: every call that waits for the dead actor goes on with RT_ERR_CLOSED. */
void rti_calls_close(struct rti_actor *dead);

/* Is this the waiter of an actor that awaits an answer? For tools. */
bool rti_waiter_is_of_call(const struct rti_waiter *waiter);

#endif
