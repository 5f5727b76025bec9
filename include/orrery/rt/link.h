/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_LINK_H
#define ORRERY_RT_LINK_H

/* Links and monitors: how an actor learns that another one has ended.
 *
 * A link binds two actors: whichever ends first, the other receives an exit message. A monitor
 * looks one way. An exit message is an ordinary message with the sender RT_SENDER_SYSTEM; it comes
 * behind everything that was sent before the death. Its memory is taken when the link or monitor is
 * made, so that no full pool can lose it. Nobody dies of another's death. */

#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

typedef enum {
    RT_EXIT_NORMAL,      /* the actor called rt_exit() */
    RT_EXIT_CRASH,       /* its function returned without calling rt_exit(), or a contained fault */
    RT_EXIT_CRASH_STACK, /* stack overflow detected */
    RT_EXIT_KILLED,      /* the actor was killed from outside */
} rt_exit_reason;

typedef struct {
    actor_id actor; /* who died */
    rt_exit_reason reason;
} rt_exit_msg;

/* Binds the caller and `target`: if either ends, the other receives one exit message. A link that
 * is there already stays the one link.
 * Callable from an actor.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_INVALID if `target` is the caller or no living actor; RT_ERR_NOMEM if fewer
 * than two link entries are left; RT_ERR_THREAD outside of an actor. Failure changes nothing.
 * Nothing is lost on cancel. */
RT_API rt_status rt_link(actor_id target);

/* Dissolves the link with `target`. From then on neither side hears of the other's end, also if the
 * exit message waits in the caller's mailbox already: it is taken out.
 * Callable from an actor.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_INVALID if there is no such link, or its exit message was received;
 * RT_ERR_THREAD outside of an actor.
 * An exit message that waits is lost, which is what was asked for; nothing is lost on cancel. */
RT_API rt_status rt_unlink(actor_id target);

/* Watches `target`: when it ends the caller receives one exit message. Each call makes a monitor of
 * its own, with its own message.
 * Callable from an actor.
 * Never suspends.
 * `monitor_ref` stays the caller's; it receives a number that names this monitor, never 0.
 * Returns RT_OK; RT_ERR_INVALID if `monitor_ref` is NULL, or `target` is the caller or no living
 * actor; RT_ERR_NOMEM if no monitor entry is left; RT_ERR_THREAD outside of an actor. Failure
 * changes nothing.
 * Nothing is lost on cancel. */
RT_API rt_status rt_monitor(actor_id target, uint32_t *monitor_ref);

/* Ends a monitor of the caller. From then on no exit message of it comes, also if one waits in the
 * mailbox already: it is taken out.
 * Callable from the actor that made the monitor.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_INVALID if the number names no monitor of the caller, or its exit message
 * was received; RT_ERR_THREAD outside of an actor.
 * An exit message that waits is lost, which is what was asked for; nothing is lost on cancel. */
RT_API rt_status rt_demonitor(uint32_t monitor_ref);

/* Says whether a message is an exit message.
 * Callable from anywhere.
 * Never suspends.
 * `msg` stays the caller's; NULL is no message.
 * Returns true if the sender is RT_SENDER_SYSTEM.
 * Nothing is lost on cancel. */
RT_API bool rt_is_exit_msg(const rt_message *msg);

/* Reads an exit message.
 * Callable from anywhere, as long as the message's data is valid.
 * Never suspends.
 * Both pointers stay the caller's; `out` is unchanged on failure.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL or `msg` is no exit message.
 * Nothing is lost on cancel. */
RT_API rt_status rt_decode_exit(const rt_message *msg, rt_exit_msg *out);

RT_EXTERN_C_END

#endif
