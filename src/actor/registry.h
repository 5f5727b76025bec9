/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REGISTRY_H
#define RTI_REGISTRY_H

/* The registry: names of living actors. A name is a record in two lists: of its actor's names, for
 * the actor's end, and of the bucket that its hash falls to, for the search.
 *
 * I1  No two records have the same text.                                   (rti_registry_audit)
 * I2  Each record is in its hash's bucket and in its actor's list.         (rti_registry_audit)
 *
 * Costs: a search hashes the name and compares with those in its bucket, on average a quarter of a
 * record with the default limit. */

#include <orrery/rt/registry.h>
#include <orrery/rt_static_config.h>

#include "base/list.h"
#include "base/pool.h"

struct rti_actor;

#define RTI_REGISTRY_BUCKETS (RT_NAME_POOL_SIZE < 16 ? 4 : 256)

struct rti_name {
    struct rti_link at_actor;
    struct rti_link at_bucket;
    struct rti_actor *actor;
    uint32_t hash;
    char text[RT_NAME_MAX + 1];
};

struct rti_registry {
    struct rti_pool pool;
    struct rti_list buckets[RTI_REGISTRY_BUCKETS];
    RTI_POOL_STORAGE(memory, struct rti_name, RT_NAME_POOL_SIZE);
};

void rti_registry_init(struct rti_registry *registry);
void rti_registry_deinit(struct rti_registry *registry);

/* Takes all names from an actor that has ended. */
void rti_registry_forget(struct rti_registry *registry, struct rti_actor *dead);

/* Checks I1 and I2; returns the number of names. */
size_t rti_registry_audit(const struct rti_registry *registry);

#endif
