/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "registry"
#include "actor/registry.h"

#include <string.h>

#include "actor/actors.h"
#include "actor/behaviour.h"

#if RT_HAS_NAMES

void rti_registry_init(struct rti_registry *registry)
{
    rti_pool_init(&registry->pool, registry->memory, sizeof(struct rti_name), RT_NAME_POOL_SIZE);
    for (size_t i = 0; i < RTI_REGISTRY_BUCKETS; i++) {
        rti_list_init(&registry->buckets[i]);
    }
#if RT_HAS_BEHAVIOURS
    rti_list_init(&registry->of_behaviours);
#endif
}

void rti_registry_deinit(struct rti_registry *registry)
{
    rti_pool_deinit(&registry->pool);
}

/* A name is 1 to RT_NAME_MAX bytes. Gives its length, 0 for what is none. */
static size_t registry_length(const char *name)
{
    size_t length = 0;
    while (name != NULL && name[length] != '\0') {
        if (++length > RT_NAME_MAX) {
            return 0;
        }
    }
    return length;
}

/* FNV-1a: the names are short and nobody gains by making them collide. */
static uint32_t registry_hash(const char *name)
{
    uint32_t hash = UINT32_C(2166136261);
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT32_C(16777619);
    }
    return hash;
}

static struct rti_list *registry_bucket(struct rti_registry *registry, uint32_t hash)
{
    return &registry->buckets[(hash ^ (hash >> 16)) % RTI_REGISTRY_BUCKETS];
}

static struct rti_name *registry_find(struct rti_registry *registry, const char *name)
{
    uint32_t hash = registry_hash(name);
    struct rti_list *bucket = registry_bucket(registry, hash);
    for (struct rti_link *at = rti_list_peek(bucket); at != NULL; at = rti_list_next(bucket, at)) {
        struct rti_name *record = RTI_CONTAINER_OF(at, struct rti_name, at_bucket);
        if (record->hash == hash && strcmp(record->text, name) == 0) {
            return record;
        }
    }
    return NULL;
}

static void registry_free(struct rti_registry *registry, struct rti_name *record)
{
    rti_list_remove(&record->at_actor);
    rti_list_remove(&record->at_bucket);
    rti_pool_free(&registry->pool, record);
}

/* Can the life with this id be reached? One that was killed and only waits for its end cannot. */
static bool registry_is_alive(struct rti_actors *actors, actor_id id)
{
#if RT_HAS_BEHAVIOURS
    struct rti_behaviours *behaviours = rti_behaviours_at(actors->sched);
    if (rti_is_behaviour_id(id)) {
        return behaviours != NULL && rti_behaviour_lookup(behaviours, id) != NULL;
    }
#endif
    return rti_actors_lookup(actors, id) != NULL;
}

/* The list that the names of a living actor belong into, which its end empties; NULL if no living
 * actor has this id. An end that has begun waits for the lock before it looks there. */
static struct rti_list *registry_names_of(struct rti_actors *actors, actor_id id)
{
#if RT_HAS_BEHAVIOURS
    struct rti_behaviours *behaviours = rti_behaviours_at(actors->sched);
    if (rti_is_behaviour_id(id)) {
        struct rti_behaviour *behaviour =
            behaviours == NULL ? NULL : rti_behaviour_lookup(behaviours, id);
        if (behaviour == NULL) {
            return NULL;
        }
        behaviour->is_named = true;
        return &actors->registry.of_behaviours;
    }
#endif
    struct rti_actor *actor = rti_actors_lookup(actors, id);
    if (actor == NULL) {
        return NULL;
    }
    rti_actor_note_attached(actor);
    return &actor->names;
}

static rt_status registry_add(struct rti_registry *registry, const char *name, actor_id id,
                              struct rti_list *names)
{
    struct rti_name *record = rti_pool_alloc(&registry->pool);
    if (record == NULL) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no entry for a name is left")};
    }
    record->id = id;
    record->hash = registry_hash(name);
    memcpy(record->text, name, strlen(name) + 1);
    rti_link_init(&record->at_actor);
    rti_link_init(&record->at_bucket);
    rti_list_push_tail(names, &record->at_actor);
    rti_list_push_tail(registry_bucket(registry, record->hash), &record->at_bucket);
    return RT_SUCCESS;
}

/* Gives a name to a living actor whose names are in this list. */
static rt_status registry_give(struct rti_actors *actors, const char *name, actor_id id,
                               struct rti_list *names)
{
    struct rti_registry *registry = &actors->registry;
    struct rti_name *record = registry_find(registry, name);
    if (record != NULL && record->id == id) {
        return RT_SUCCESS;
    }
    if (record != NULL && registry_is_alive(actors, record->id)) {
        return (rt_status){RT_ERR_EXISTS, RTI_SENTENCE("another actor has this name")};
    }
    if (record != NULL) {
        /* Its owner was killed and only waits for its end: the name is free. */
        registry_free(registry, record);
    }
    return registry_add(registry, name, id, names);
}

rt_status rti_registry_give(struct rti_actors *actors, const char *name, struct rti_actor *actor)
{
    RT_ASSERT(registry_length(name) > 0);
    rti_actor_note_attached(actor);
    return registry_give(actors, name, actor->id, &actor->names);
}

#if RT_HAS_BEHAVIOURS
rt_status rti_registry_give_behaviour(struct rti_actors *actors, const char *name,
                                      struct rti_behaviour *behaviour)
{
    RT_ASSERT(registry_length(name) > 0);
    behaviour->is_named = true;
    return registry_give(actors, name, behaviour->life_id, &actors->registry.of_behaviours);
}
#endif

static rt_status registry_enter(struct rti_actors *actors, const char *name, actor_id id)
{
    struct rti_list *names = registry_length(name) == 0 ? NULL : registry_names_of(actors, id);
    if (names == NULL) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("no name, one that is too long, or no living actor")};
    }
    return registry_give(actors, name, id, names);
}

rt_status rt_register(const char *name, actor_id id)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actors *actors = rti_actors_of(worker);
    if (actors == NULL) {
        return rti_actor_refusal(worker);
    }
    rti_actors_lock(actors);
    rt_status status = registry_enter(actors, name, id);
    rti_actors_unlock(actors);
    return status;
}

static rt_status registry_remove(struct rti_actors *actors, const char *name)
{
    struct rti_name *record = registry_find(&actors->registry, name);
    if (record == NULL || !registry_is_alive(actors, record->id)) {
        return (rt_status){RT_ERR_NOT_FOUND, RTI_SENTENCE("no actor has this name")};
    }
    registry_free(&actors->registry, record);
    return RT_SUCCESS;
}

rt_status rt_unregister(const char *name)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actors *actors = rti_actors_of(worker);
    if (actors == NULL) {
        return rti_actor_refusal(worker);
    }
    if (name == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the name is NULL")};
    }
    rti_actors_lock(actors);
    rt_status status = registry_remove(actors, name);
    rti_actors_unlock(actors);
    return status;
}

actor_id rt_whereis(const char *name)
{
    struct rti_actors *actors = rti_actors_of(rti_worker_enter());
    if (actors == NULL || name == NULL) {
        return ACTOR_ID_INVALID;
    }
    rti_actors_lock(actors);
    struct rti_name *record = registry_find(&actors->registry, name);
    bool is_found = record != NULL && registry_is_alive(actors, record->id);
    actor_id id = is_found ? record->id : ACTOR_ID_INVALID;
    rti_actors_unlock(actors);
    return id;
}

void rti_registry_forget(struct rti_registry *registry, struct rti_actor *dead)
{
    struct rti_link *at;
    while ((at = rti_list_peek(&dead->names)) != NULL) {
        registry_free(registry, RTI_CONTAINER_OF(at, struct rti_name, at_actor));
    }
}

#if RT_HAS_BEHAVIOURS
void rti_registry_forget_behaviour(struct rti_registry *registry, actor_id dead)
{
    struct rti_link *at = rti_list_peek(&registry->of_behaviours);
    while (at != NULL) {
        struct rti_name *record = RTI_CONTAINER_OF(at, struct rti_name, at_actor);
        at = rti_list_next(&registry->of_behaviours, at);
        if (record->id == dead) {
            registry_free(registry, record);
        }
    }
}
#endif

size_t rti_registry_audit(const struct rti_registry *registry)
{
    size_t count = 0;
    for (size_t i = 0; i < RTI_REGISTRY_BUCKETS; i++) {
        const struct rti_list *bucket = &registry->buckets[i];
        for (struct rti_link *at = rti_list_peek(bucket); at != NULL;
             at = rti_list_next(bucket, at)) {
            const struct rti_name *record = RTI_CONTAINER_OF(at, struct rti_name, at_bucket);
            RT_ASSERT(record->hash == registry_hash(record->text));
            RT_ASSERT((record->hash ^ (record->hash >> 16)) % RTI_REGISTRY_BUCKETS == i);
            RT_ASSERT(rti_link_is_linked(&record->at_actor));
            RT_ASSERT(record->id != ACTOR_ID_INVALID);
            struct rti_link *later = rti_list_next(bucket, at);
            for (; later != NULL; later = rti_list_next(bucket, later)) {
                struct rti_name *other = RTI_CONTAINER_OF(later, struct rti_name, at_bucket);
                RT_ASSERT(strcmp(other->text, record->text) != 0);
            }
            count++;
        }
    }
    RT_ASSERT(count == rti_pool_in_use(&registry->pool));
    return count;
}

#endif
