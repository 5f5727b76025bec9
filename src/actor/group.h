/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_GROUP_H
#define RTI_GROUP_H

/* Groups: names with several actors behind them. The manual is <orrery/rt/group.h>.
 *
 * A membership is a record in two lists: of its group, in the order of joining, and of the records
 * that hang at the actor, so that the actor's end ends it. To send to one, the first of the group
 * is taken and goes to the end.
 *
 * I1  A group in the list of groups has at least one member.                 (rti_groups_audit)
 * I2  No two groups have the same name, and no actor is in a group twice.    (rti_groups_audit)
 *
 * Who writes: everything under the module's lock; a membership is made and ended by its own actor,
 * or by the actor's end. A send looks at one member at a time and holds no lock while it sends, so
 * who joins or leaves meanwhile may or may not be reached. */

#include <orrery/rt/group.h>
#include <orrery/rt_static_config.h>

#include "actor/actors.h"
#include "actor/attachment.h"
#include "base/pool.h"
#include "sched/lock.h"

struct rti_group {
    struct rti_link link;
    struct rti_list members;
    char name[RT_NAME_MAX + 1];
};

struct rti_member_of_group {
    struct rti_attachment attachment;
    struct rti_link at_group;
    struct rti_group *group;
    struct rti_groups *module;
    actor_id actor;
    uint64_t serial; /* grows with each joining */
};

struct rti_groups {
    struct rti_actors *actors;
    struct rti_lock lock;
    struct rti_list all;
    uint64_t next_serial;
    struct rti_pool groups;
    struct rti_pool members;
    RTI_POOL_STORAGE(group_memory, struct rti_group, RT_MAX_GROUPS);
    RTI_POOL_STORAGE(member_memory, struct rti_member_of_group, RT_GROUP_MEMBER_POOL_SIZE);
};

void rti_groups_init(struct rti_groups *module, struct rti_actors *actors);
/* No actor lives. */
void rti_groups_deinit(struct rti_groups *module);
void rti_groups_audit(const struct rti_groups *module);

#endif
