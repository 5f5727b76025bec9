/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_IPC_H
#define ORRERY_RT_IPC_H

/* Messages between actors. Each actor has one mailbox; messages wait in it in the order in which
 * they were sent, notices of timers and deaths among them.
 *
 * A payload is copied once, into a pool that all actors share, and the receiver reads it there. The
 * data of a received message is valid until the next receive of that actor; what is needed for
 * longer is copied by the receiver. */

#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

typedef enum {
    IPC_ASYNC, /* copy to the message pool, the sender continues immediately */
    IPC_SYNC,  /* copy to the sync buffer pool, the sender waits until the receiver releases */
} rt_ipc_mode;

/* Decides whether a waiting message is wanted. It runs in the receiver and calls nothing of the
 * runtime. */
typedef bool (*rt_ipc_match_fn)(const rt_message *msg, void *arg);

/* Which message rt_ipc_recv_match takes. */
typedef struct {
    actor_id sender;       /* only from this sender; ACTOR_ID_INVALID: from any */
    rt_ipc_match_fn match; /* only if this says true; NULL: all */
    void *arg;             /* given to `match` */
} rt_ipc_filter;

/* Sends a message. With IPC_ASYNC the call returns at once. With IPC_SYNC it waits until the
 * receiver releases the message, by rt_ipc_release or by its next receive, or ends. A message is
 * either in the mailbox completely or nothing has happened; a full pool is reported at once.
 * Callable from an actor; IPC_ASYNC also from main on the runtime's thread, and then the sender is
 * ACTOR_ID_INVALID.
 * IPC_ASYNC never suspends, IPC_SYNC does.
 * `data` is copied and stays the caller's; it may be NULL if `len` is 0.
 * Returns RT_OK; RT_ERR_NOMEM if the mailbox entries, or the mode's payload buffers, are used up;
 * RT_ERR_INVALID if `to` is no living actor, `data` is NULL and `len` is not 0, `len` exceeds
 * RT_MAX_MESSAGE_SIZE, `mode` is neither, or an actor sends to itself with IPC_SYNC; RT_ERR_CLOSED
 * if the receiver of an IPC_SYNC message ended before it released it; RT_ERR_THREAD from a context
 * that may not call.
 * If the sender is killed while it waits, the message stays and nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_ipc_send(actor_id to, const void *data, size_t len,
                                         rt_ipc_mode mode);

/* Receives the message that has waited longest. First it ends the life of the message received
 * before: that one's data is invalid from here on, and if it was IPC_SYNC its sender goes on.
 * Callable from an actor.
 * Suspends if the mailbox is empty and `timeout_ms` is not 0: for ever if it is negative, else for
 * so many milliseconds.
 * `msg` stays the caller's and is unchanged on failure; the data it then points to is the
 * runtime's, valid until the caller's next receive, or until rt_ipc_release if it was IPC_SYNC.
 * Returns RT_OK; RT_ERR_WOULDBLOCK if `timeout_ms` is 0 and nothing waits; RT_ERR_TIMEOUT if
 * nothing came in time; RT_ERR_INVALID if `msg` is NULL, and then nothing was released;
 * RT_ERR_THREAD outside of an actor.
 * No message is lost on cancel or timeout. */
RT_API RT_SUSPENDS rt_status rt_ipc_recv(rt_message *msg, int32_t timeout_ms);

/* Receives the message that has waited longest among those that pass the filter; the others keep
 * their places. In all else it is rt_ipc_recv. Each message is shown to the filter once per call.
 * Callable from an actor.
 * Suspends if nothing passes and `timeout_ms` is not 0.
 * `filter` is read during the call only; NULL lets everything pass. `msg` is as for rt_ipc_recv.
 * Returns what rt_ipc_recv returns.
 * No message is lost on cancel or timeout. */
RT_API RT_SUSPENDS rt_status rt_ipc_recv_match(const rt_ipc_filter *filter, rt_message *msg,
                                               int32_t timeout_ms);

/* Ends the life of an IPC_SYNC message that the caller received last: its sender goes on with RT_OK
 * and the data is invalid. It does nothing for any other message, so that it may be called for
 * every message, and twice: an IPC_ASYNC message stays valid, a message that was released already
 * or that another actor received is left alone.
 * Callable from the actor that received the message; elsewhere it does nothing.
 * Never suspends.
 * `msg` stays the caller's; NULL does nothing.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_ipc_release(const rt_message *msg);

/* Says whether a message waits in the caller's mailbox.
 * Callable from an actor; elsewhere there is no mailbox.
 * Never suspends.
 * There is no pointer to own.
 * Returns true if the next receive will not wait.
 * Nothing is lost on cancel. */
RT_API bool rt_ipc_pending(void);

/* Counts the messages that wait in the caller's mailbox, without the one received last.
 * Callable from an actor; elsewhere there is no mailbox.
 * Never suspends.
 * There is no pointer to own.
 * Returns the number, 0 outside of an actor.
 * Nothing is lost on cancel. */
RT_API size_t rt_ipc_count(void);

RT_EXTERN_C_END

#endif
