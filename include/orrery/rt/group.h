/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_GROUP_H
#define ORRERY_RT_GROUP_H

/* Groups: actors of either kind under a common name. A message goes to all of them or to one, each
 * in turn. A member that ends leaves by itself; a group without members does not exist. */

#include <orrery/rt/registry.h>
#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

/* Makes the caller a member of a group, which begins with its first member. Who is one already
 * stays one.
 * Callable from an actor of either kind.
 * Never suspends.
 * `group` is a name of 1 to RT_NAME_MAX bytes, read during the call.
 * Returns RT_OK; RT_ERR_INVALID if the name is none; RT_ERR_NOMEM if RT_MAX_GROUPS groups exist or
 * RT_GROUP_MEMBER_POOL_SIZE memberships do; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_group_join(const char *group);

/* Ends the caller's membership.
 * Callable from an actor of either kind.
 * Never suspends.
 * `group` is read during the call.
 * Returns RT_OK; RT_ERR_NOT_FOUND if the caller is no member; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API rt_status rt_group_leave(const char *group);

/* Sends a message to every member but the caller, in the order in which they joined, as
 * rt_behaviour_send does.
 * Callable from an actor of either kind, and from main on the runtime's thread.
 * Suspends only an actor with a stack, and only if a member mutes its senders.
 * `data` is copied and stays the caller's. `sent`, which may be NULL, receives how many accepted.
 * Returns RT_OK if all accepted; the first failure otherwise, and the others got it all the same;
 * RT_ERR_NOT_FOUND if there is no such group; RT_ERR_THREAD on a foreign thread.
 * Those who have accepted keep the message on cancel; nothing else is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_group_send(const char *group, uint32_t id, const void *data,
                                           size_t len, size_t *sent);

/* Sends a message to one member: each in turn, and the next one if it does not accept.
 * Callable from an actor of either kind, and from main on the runtime's thread.
 * Suspends only an actor with a stack, and only if the member mutes its senders.
 * `data` is copied and stays the caller's. `to`, which may be NULL, receives who got it.
 * Returns RT_OK; what the last one's send returned if none accepts; RT_ERR_NOT_FOUND if there is no
 * such group; RT_ERR_THREAD on a foreign thread.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_group_send_one(const char *group, uint32_t id, const void *data,
                                               size_t len, actor_id *to);

/* Tells who is in a group.
 * Callable from an actor of either kind, and from main on the runtime's thread.
 * Never suspends.
 * `out` has room for `out_max` and may be NULL if that is 0.
 * Returns how many members there are, also if that is more; 0 if there is no such group.
 * Nothing is lost on cancel. */
RT_API size_t rt_group_members(const char *group, actor_id *out, size_t out_max);

RT_EXTERN_C_END

#endif
