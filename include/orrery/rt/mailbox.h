/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_MAILBOX_H
#define ORRERY_RT_MAILBOX_H

/* Backpressure: how many messages may wait for an actor, and what happens to the next one.
 *
 * Without a configuration a mailbox has no limit but the pools. System notices (exits, ticks, the
 * requests of supervisors) are outside of every limit and are not counted.
 *
 * Muting. With RT_OVERFLOW_MUTE, who sends to an actor that has `high` messages waiting is muted:
 * the message is accepted, and its sender does not run again until no more than `low` wait. An
 * actor with a stack waits inside its send; a behaviour finishes the message it handles and gets no
 * further turn. Those muted go on in the order in which they were muted. If muted actors would wait
 * for each other in a ring, the one that would close it is not muted. A receiver that waits for
 * mail that has not come mutes nobody. Actors marked as system actors are never muted, and neither
 * is main. */

#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

/* What happens to a message that finds a full mailbox. */
typedef enum {
    RT_OVERFLOW_REJECT,   /* the send fails with RT_ERR_FULL */
    RT_OVERFLOW_MUTE,     /* accepted; the sender is muted */
    RT_OVERFLOW_DROP_NEW, /* the message is dropped; the send succeeds */
    RT_OVERFLOW_DROP_OLD, /* accepted; the message that has waited longest is dropped */
    RT_OVERFLOW_KILL,     /* the receiver is killed; the send fails with RT_ERR_INVALID */
} rt_overflow;

typedef struct {
    uint32_t high; /* messages that may wait; 0: no limit */
    uint32_t low;  /* RT_OVERFLOW_MUTE: where muted senders go on; 0, or not below `high`: half */
    rt_overflow overflow;
    bool is_system; /* the actor is never muted itself */
} rt_mailbox_config;

/* What backpressure has done at one mailbox, since the actor began. */
typedef struct {
    uint32_t depth;    /* messages that wait now, notices not counted */
    uint64_t rejected; /* sends that failed with RT_ERR_FULL */
    uint64_t dropped;  /* messages dropped, new and old */
    uint64_t mutes;    /* senders muted */
    uint64_t releases; /* senders not muted, or let go early, because they would wait in a ring */
    bool is_muted;     /* the actor itself waits to go on */
} rt_mailbox_stats;

/* Sets the limit of an actor with a stack; a behaviour's is part of its type.
 * Callable from an actor, and from main on the runtime's thread.
 * Never suspends.
 * `config` is copied; NULL takes the limit away. Those who are muted and would not be by the new
 * limit go on.
 * Returns RT_OK; RT_ERR_INVALID if no living actor with a stack has this id or the policy is none;
 * RT_ERR_THREAD on a foreign thread; RT_ERR_UNSUPPORTED in a build with RT_HAS_BEHAVIOURS 0.
 * Nothing is lost on cancel. */
RT_API rt_status rt_mailbox_limit(actor_id actor, const rt_mailbox_config *config);

/* Tells what backpressure has done at an actor of either kind.
 * Callable from an actor, and from main on the runtime's thread.
 * Never suspends.
 * `out` stays the caller's and is unchanged on failure.
 * Returns RT_OK; RT_ERR_INVALID if no living actor has this id or `out` is NULL; RT_ERR_THREAD on a
 * foreign thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_mailbox_stats_get(actor_id actor, rt_mailbox_stats *out);

RT_EXTERN_C_END

#endif
