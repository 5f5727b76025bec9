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
 * Requests of the runtime's own, to supervisors, have an answer of one word, which is written into
 * the wait: it needs no entry, so no such request stays without its answer because messages are
 * used up.
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
    bool is_for_word;      /* the answer is a word, not a message */
    uint64_t word;         /* it, by who claims the wait */
};

/* rt_call for an answer of one word. With a `timeout_ms` of 0 it asks and does not wait:
 * RT_ERR_TIMEOUT. */
rt_status rti_call_for_word(actor_id to, const void *data, size_t len, uint64_t *word,
                            int32_t timeout_ms);

/* Answers such a call, if its caller still waits. False if it is one for a message. */
bool rti_call_answer_word(rt_call_id call, uint64_t word);

/* Part of step 1 of death: every call that waits for the dead actor goes on with RT_ERR_CLOSED. */
void rti_calls_close(struct rti_actor *dead);

/* Is this the waiter of an actor that awaits an answer? For tools. */
bool rti_waiter_is_of_call(const struct rti_waiter *waiter);

#endif
