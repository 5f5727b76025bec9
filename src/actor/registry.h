/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REGISTRY_H
#define RTI_REGISTRY_H

/* The registry: names of living actors of either kind. A name is a record in two lists: of its
 * actor's names, for the actor's end, and of the bucket that its hash falls to, for the search. A
 * behaviour has no room for a list: the names of all behaviours are in one, and a behaviour knows
 * whether it ever had a name.
 *
 * I1  No two records have the same text.                                   (rti_registry_audit)
 * I2  Each record is in its hash's bucket and in its actor's list.         (rti_registry_audit)
 * I3  The life that a record names has not ended; it may be doomed.        (rti_registry_forget*)
 *
 * Costs: a search hashes the name and compares with those in its bucket, on average a quarter of a
 * record with the default limit. The end of a behaviour with a name looks at the names of all
 * behaviours. */

#include <orrery/rt/registry.h>
#include <orrery/rt_static_config.h>

#include "base/list.h"
#include "base/pool.h"

struct rti_actor;
struct rti_actors;
struct rti_behaviour;

#define RTI_REGISTRY_BUCKETS (RT_NAME_POOL_SIZE < 16 ? 4 : 256)

struct rti_name {
    struct rti_link at_actor;
    struct rti_link at_bucket;
    actor_id id; /* of the life that has it */
    uint32_t hash;
    char text[RT_NAME_MAX + 1];
};

struct rti_registry {
    struct rti_pool pool;
    struct rti_list buckets[RTI_REGISTRY_BUCKETS];
#if RT_HAS_BEHAVIOURS
    struct rti_list of_behaviours;
#endif
    RTI_POOL_STORAGE(memory, struct rti_name, RT_NAME_POOL_SIZE);
};

void rti_registry_init(struct rti_registry *registry);
void rti_registry_deinit(struct rti_registry *registry);

/* Gives a name to an actor that is about to begin, so that it has it in its first turn. The name is
 * one. Under the lock of the actors, which for a behaviour is kept until it can be reached. Returns
 * what rt_register returns. */
rt_status rti_registry_give(struct rti_actors *actors, const char *name, struct rti_actor *actor);
rt_status rti_registry_give_behaviour(struct rti_actors *actors, const char *name,
                                      struct rti_behaviour *behaviour);

/* Takes all names from an actor with a stack that has ended, and from a behaviour. Under the lock
 * of the actors. */
void rti_registry_forget(struct rti_registry *registry, struct rti_actor *dead);
void rti_registry_forget_behaviour(struct rti_registry *registry, actor_id dead);

/* Checks I1 and I2; returns the number of names. */
size_t rti_registry_audit(const struct rti_registry *registry);

#endif
