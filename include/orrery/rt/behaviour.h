/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_BEHAVIOUR_H
#define ORRERY_RT_BEHAVIOUR_H

/* Behaviours: actors without a stack. A behaviour is a state and a table of handlers; it handles
 * one message at a time, each to its end, on whatever worker it runs. While it has nothing to do it
 * takes at most RT_BEHAVIOUR_SIZE bytes, its small state included, so that a process can have a
 * million of them.
 *
 * Behaviours and actors with a stack share ids, names, kills, monitors and one send,
 * rt_behaviour_send. A handler never waits: calls that would suspend are refused there with
 * RT_ERR_THREAD. */

#include <orrery/rt/link.h>
#include <orrery/rt/mailbox.h>
#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

/* Bytes of state that a behaviour can have in itself. */
#define RT_BEHAVIOUR_STATE_MAX 48

/* Bytes that a behaviour takes, its state included. */
#define RT_BEHAVIOUR_SIZE 256

/* The id of a message that came by rt_ipc_send. */
#define RT_BEHAVIOUR_PLAIN UINT32_MAX

/* A message as a handler sees it; it and its data are valid until the handler returns. */
typedef struct {
    actor_id sender; /* ACTOR_ID_INVALID: main */
    uint32_t id;     /* which behaviour is asked for */
    uint32_t len;
    const void *data; /* aligned for any object up to 8 bytes; NULL if len is 0 */
} rt_behaviour_message;

typedef void (*rt_behaviour_fn)(void *state, const rt_behaviour_message *msg);

/* What a kind of behaviour does. It lives as long as any behaviour of the kind. */
typedef struct {
    const char *name;
    const rt_behaviour_fn *handlers; /* by message id; an entry may be NULL */
    uint32_t handler_count;
    rt_behaviour_fn otherwise; /* every other id; NULL: the message is dropped and counted */
    /* In its first turn, before any message; may be NULL. `arg` is that of the spawn. */
    void (*start)(void *state, void *arg);
    /* Its supervisor asks it to end; NULL: it ends. Else it ends itself, now or later. */
    void (*stop)(void *state);
    /* It has ended; may be NULL. It may send, and is nobody any more. */
    void (*end)(void *state, rt_exit_reason reason);
    size_t state_size; /* bytes of its own state, zeroed; 0: the state is `arg` itself */
    rt_priority priority;
    rt_mailbox_config mailbox; /* all zero: no limit */
} rt_behaviour_type;

/* What rt_behaviour_reserve makes room for. */
typedef struct {
    size_t behaviours; /* at most 2^20 */
    size_t messages;   /* that wait, whatever their lengths; with several workers, at least */
} rt_behaviour_room;

/* What the behaviours of a runtime have come to. */
typedef struct {
    size_t live;
    size_t live_max;       /* the most that ever lived at once */
    size_t messages;       /* that wait now, or are handled */
    uint64_t dead_letters; /* messages whose receiver had ended, or had no handler */
} rt_behaviour_stats;

/* Makes room for more behaviours and messages than the static limits, with memory of the system.
 * Pages that are never used cost no memory.
 * Callable from main between rt_init and rt_run, and from an actor, before the first behaviour.
 * Never suspends.
 * `room` is read during the call.
 * Returns RT_OK; RT_ERR_STATE if there was a behaviour already, or room was made already;
 * RT_ERR_NOMEM if the system has no memory; RT_ERR_INVALID if `room` is NULL or a number is 0 or
 * too large: with several workers messages have at most 16 GiB; RT_ERR_UNSUPPORTED where the
 * machine has no memory to give; RT_ERR_THREAD on a foreign thread. Failure changes nothing.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_behaviour_reserve(const rt_behaviour_room *room);

/* Starts a behaviour. Its first turn, with `start`, comes later, not inside this call.
 * Callable from an actor of either kind, and from main between rt_init and rt_run.
 * Never suspends.
 * `type` stays the caller's and lives as long as the behaviour; so does what `arg` points to.
 * Returns its id. Returns ACTOR_ID_INVALID, and nothing has changed, if all places are taken, the
 * type is not valid (no handler at all, a state above RT_BEHAVIOUR_STATE_MAX, a priority or policy
 * that is none), or the caller may not call.
 * Nothing is lost on cancel. */
RT_API actor_id rt_behaviour_spawn(const rt_behaviour_type *type, void *arg);

/* Sends a message to an actor of either kind. A behaviour handles it with handlers[id]; an actor
 * with a stack receives it as any message, and rt_behaviour_id tells it the id. Messages of one
 * sender to one receiver arrive in the order in which they were sent.
 * Callable from an actor of either kind, and from main on the runtime's thread.
 * Suspends only an actor with a stack, and only if the receiver mutes its senders.
 * `data` is copied and stays the caller's; it may be NULL if `len` is 0.
 * Returns RT_OK; RT_ERR_INVALID if `to` is no living actor, `data` is NULL and `len` is not 0, or
 * `len` exceeds RT_MAX_MESSAGE_SIZE; RT_ERR_NOMEM if the messages are used up; RT_ERR_FULL if the
 * receiver rejects; RT_ERR_THREAD on a foreign thread. On failure nothing was sent.
 * Nothing is lost on cancel: a message that was accepted stays accepted. */
RT_API RT_SUSPENDS rt_status rt_behaviour_send(actor_id to, uint32_t id, const void *data,
                                               size_t len);

/* Hands the message that the calling behaviour handles on to another actor, under an id, with its
 * first sender. To a behaviour nothing is copied. The data is the new receiver's from here on.
 * Callable from a handler, once per message.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_STATE if there is no message to hand on any more; RT_ERR_INVALID,
 * RT_ERR_NOMEM and RT_ERR_FULL as rt_behaviour_send, and the message stays; RT_ERR_THREAD outside
 * of a behaviour.
 * Nothing is lost on cancel. */
RT_API rt_status rt_behaviour_forward(actor_id to, uint32_t id);

/* Lets the calling behaviour answer to other handlers from the next message on. Its state, start
 * and limit stay; handlers, otherwise, stop and end are the new type's.
 * Callable from a behaviour.
 * Never suspends.
 * `type` stays the caller's and lives as long as the behaviour.
 * Returns RT_OK; RT_ERR_INVALID if the type is not valid; RT_ERR_THREAD outside of a behaviour.
 * Nothing is lost on cancel. */
RT_API rt_status rt_behaviour_become(const rt_behaviour_type *type);

/* Ends the calling behaviour when its handler returns, with a reason of its choice. Messages that
 * wait for it are lost. Once it has ended, in its `end`, this changes nothing.
 * Callable from a behaviour.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_INVALID if the reason is none; RT_ERR_THREAD outside of a behaviour.
 * Nothing is lost on cancel. */
RT_API rt_status rt_behaviour_end(rt_exit_reason reason);

/* Tells under which id a received message was sent.
 * Callable from the actor with a stack that received it last.
 * Never suspends.
 * `msg` stays the caller's.
 * Returns the id; RT_BEHAVIOUR_PLAIN if it was not sent by rt_behaviour_send, or is not the message
 * received last.
 * Nothing is lost on cancel. */
RT_API uint32_t rt_behaviour_id(const rt_message *msg);

/* Counts work of the program's own: an actor's turn ends when its messages, its calls of the
 * runtime and what is counted here come to RT_REDUCTIONS.
 * Callable from an actor of either kind; elsewhere it does nothing.
 * May suspend an actor with a stack; it is then ready and takes its next turn behind its equals.
 * There is no pointer to own.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS void rt_reductions_add(uint32_t count);

/* Tells what the behaviours of this runtime have come to.
 * Callable from an actor of either kind, and from main on the runtime's thread.
 * Never suspends.
 * `out` stays the caller's.
 * Returns RT_OK; RT_ERR_INVALID if `out` is NULL; RT_ERR_THREAD on a foreign thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_behaviour_stats_get(rt_behaviour_stats *out);

RT_EXTERN_C_END

#endif
