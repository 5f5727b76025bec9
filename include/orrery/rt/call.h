/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_CALL_H
#define ORRERY_RT_CALL_H

/* Question and answer. rt_call sends a request and waits for the one answer to it, a deadline, or
 * the end of the actor that was asked. The request comes into the mailbox like any message; whoever
 * received it answers with rt_reply while it holds the message, or takes its rt_call_ref and
 * answers later, or lets another actor answer. The answer goes straight to the one that waits and
 * never through its mailbox. */

#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

/* Names one call that waits for its answer. 0 names none. */
typedef uint64_t rt_call_id;

/* Sends a request and waits for the answer.
 * Callable from an actor.
 * Suspends: for ever if `timeout_ms` is negative, else for so many milliseconds; not with 0.
 * `data` is copied and stays the caller's. `reply` stays the caller's and is unchanged on failure;
 * its data is the runtime's, valid until the caller's next rt_call or receive. The message that the
 * caller received last stays valid meanwhile.
 * Returns RT_OK; RT_ERR_WOULDBLOCK if `timeout_ms` is 0, because no answer is there at once, and
 * nothing was sent; RT_ERR_TIMEOUT if no answer came in time, and an answer that comes later is
 * refused; RT_ERR_CLOSED if the actor asked has ended; RT_ERR_NOMEM, RT_ERR_INVALID and
 * RT_ERR_THREAD as rt_ipc_send with IPC_ASYNC, RT_ERR_INVALID also for the caller's own id and a
 * NULL `reply`.
 * The answer is lost on cancel; the request stays where it is. */
RT_API RT_SUSPENDS RT_MUST_CHECK rt_status rt_call(actor_id to, const void *data, size_t len,
                                                   rt_message *reply, int32_t timeout_ms);

/* Gives the name of the call that a message asks, for an answer after the next receive.
 * Callable from the actor that received the message, before its next receive.
 * Never suspends.
 * `msg` stays the caller's.
 * Returns the name; 0 if `msg` is NULL, no call, or not the message received last.
 * Nothing is lost on cancel. */
RT_API rt_call_id rt_call_ref(const rt_message *msg);

/* Answers the call that a message asks.
 * Callable from the actor that received the message, before its next receive.
 * Never suspends.
 * Both pointers stay the caller's; `data` is copied and may be NULL if `len` is 0.
 * Returns RT_OK if the one who asked has the answer; RT_ERR_NOT_FOUND if it no longer waits:
 * answered already, timed out or ended; RT_ERR_NOMEM if the pools are used up, and the call still
 * waits; RT_ERR_INVALID if `msg` is no call received last, `data` is NULL and `len` is not 0, or
 * `len` exceeds RT_MAX_MESSAGE_SIZE; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_reply(const rt_message *msg, const void *data, size_t len);

/* Answers a call by its name.
 * Callable from any actor, and from main on the runtime's thread.
 * Never suspends.
 * `data` is copied and stays the caller's; it may be NULL if `len` is 0.
 * Returns what rt_reply returns, RT_ERR_NOT_FOUND also for a name that was never given, and
 * RT_ERR_THREAD only on a foreign thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_reply_to(rt_call_id call, const void *data, size_t len);

RT_EXTERN_C_END

#endif
