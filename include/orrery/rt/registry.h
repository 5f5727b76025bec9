/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_REGISTRY_H
#define ORRERY_RT_REGISTRY_H

/* Names for actors of either kind, so that one finds another without having been handed its id. A
 * name belongs to one actor; an actor may have several. Names go with the actor's end. */

#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

/* Bytes of a registered name, without the terminator. */
#define RT_NAME_MAX 31

/* Gives an actor a name.
 * Callable from an actor, and from main on the runtime's thread.
 * Never suspends.
 * `name` is copied and stays the caller's.
 * Returns RT_OK, also if the actor has this name already; RT_ERR_EXISTS if another has it;
 * RT_ERR_INVALID if `name` is NULL, empty or longer than RT_NAME_MAX, or no living actor has this
 * id; RT_ERR_NOMEM if RT_NAME_POOL_SIZE names are in use; RT_ERR_THREAD on a foreign thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_register(const char *name, actor_id id);

/* Takes a name away from whoever has it.
 * Callable from an actor, and from main on the runtime's thread.
 * Never suspends.
 * `name` stays the caller's.
 * Returns RT_OK; RT_ERR_NOT_FOUND if nobody has it; RT_ERR_INVALID if it is NULL; RT_ERR_THREAD on
 * a foreign thread. Nothing is lost on cancel. */
RT_API rt_status rt_unregister(const char *name);

/* Finds the actor that has a name.
 * Callable from an actor, and from main on the runtime's thread.
 * Never suspends.
 * `name` stays the caller's.
 * Returns the id; ACTOR_ID_INVALID if nobody has the name, it is NULL, or the thread is foreign.
 * Nothing is lost on cancel. */
RT_API actor_id rt_whereis(const char *name);

RT_EXTERN_C_END

#endif
