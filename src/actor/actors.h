/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ACTORS_H
#define RTI_ACTORS_H

/* All the memory of the actor module: the table and the pools. One struct, sized by
 * rt_static_config.h, without a pointer to the heap; the runtime places it and hangs it at
 * sched->modules[RTI_MODULE_ACTOR].
 *
 * I1  Slot i of `table` is in use iff slot i of `ids` is, and has the same id, but for the
 *     `kept_count` ids that wait for the next life of a supervised actor.     (rti_actors_audit)
 * I2  Every block of every pool is reachable from exactly one living actor: as queued, held or
 *     answer, as link end, monitor or name. The data pool is shared with the bus, so there it is
 *     "at least".                                                                (rti_actors_audit)
 * I3  The stacks of living actors are in use at the scheduler's stacks. (rti_actors_audit)
 *
 * One lock for all of it. With several workers every public function of the module takes it after
 * it has entered, and gives it back before it parks, calls a filter of the program or returns; a
 * death runs under it from its first step to its last. What a waiter's `unlink` touches is the
 * module's, so the unlinks take it too. Deadlines claim waits without it, so a claim may fail under
 * it. Ids are looked up, and slots given and taken, only under it: who holds it may use the actor
 * it has found. Waking under it is right, because the locks of the queues are of higher rank.
 *
 * Costs: see `make size`; with one worker the lock is a flag that is tested. */

#include <orrery/rt_static_config.h>

#include "actor/actor.h"
#include "actor/death.h"
#include "actor/ipc_pools.h"
#include "actor/link.h"
#include "actor/monitor.h"
#include "actor/registry.h"
#include "base/handle.h"
#include "sched/lock.h"

/* Bits that hold an index below `count`. */
#define RTI_INDEX_BITS(count) ((count) <= 2 ? 1 : 32 - __builtin_clz((unsigned)(count)-1))

#define RTI_ACTOR_INDEX_BITS RTI_INDEX_BITS(RT_MAX_ACTORS)
/* Ids above are those of behaviours. */
#define RTI_ACTOR_ID_MAX     UINT32_C(0x7fffffff)
#define RTI_ACTOR_INDEX_MASK ((UINT32_C(1) << RTI_ACTOR_INDEX_BITS) - 1)

struct rti_actors {
    struct rti_actor table[RT_MAX_ACTORS]; /* first: a send finds its receiver here */
    struct rti_sched *sched;
    struct rti_lock lock; /* RTI_LOCK_ACTOR, over all that follows and what hangs at the actors */
    struct rti_stacks *stacks; /* of the scheduler */
    struct rti_ipc_pools ipc;
    struct rti_links links;
#if RT_HAS_MONITORS
    struct rti_monitors monitors;
#endif
#if RT_HAS_NAMES
    struct rti_registry registry;
#endif
#if RTI_HAS_DEATH_HOOKS
    struct rti_list death_hooks[RTI_DEATH_STEP_COUNT];
    bool has_hooks_for_all; /* some are called for actors that own nothing too */
#endif
    uint8_t spawn_refusal; /* enum rti_spawn_refusal, of callers that are no actors */
    struct rti_handle_table ids;
    uint32_t kept_count; /* ids that are taken although nobody lives under them */
    struct rti_handle_slot id_slots[RT_MAX_ACTORS];
};

/* Makes an empty module and hangs it at the scheduler. RT_OK; RT_ERR_STATE if there is one. */
rt_status rti_actors_init(struct rti_actors *actors, struct rti_sched *sched);

/* Takes the module away. No actor lives: kill them all and run the scheduler first. */
void rti_actors_deinit(struct rti_actors *actors);

/* Dooms every living actor. The next turns of the scheduler take them apart. Called on the worker's
 * own stack. */
void rti_actors_kill_all(struct rti_actors *actors);

/* How many actors live, those doomed included. */
static inline size_t rti_actors_count(const struct rti_actors *actors)
{
    return actors->ids.used_count - actors->kept_count;
}

/* Checks the invariants of the module and of everything in it. */
void rti_actors_audit(const struct rti_actors *actors);

/* The module of a worker's runtime; NULL if the worker is, or if it has no actors. */
static inline struct rti_actors *rti_actors_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : worker->sched->modules[RTI_MODULE_ACTOR];
}

/* Takes and gives back the module's lock; nothing with one worker. */
static RTI_ALWAYSINLINE void rti_actors_lock(struct rti_actors *actors)
{
    rti_lock_acquire(&actors->lock, actors->sched);
}

static RTI_ALWAYSINLINE void rti_actors_unlock(struct rti_actors *actors)
{
    rti_lock_release(&actors->lock);
}

/* The module of the actor that waits in this waiter's wait: for its `unlink`. */
static inline struct rti_actors *rti_actors_of_waiter(const struct rti_waiter *waiter)
{
    struct rti_fiber *fiber = waiter->wait->target;
    return RTI_CONTAINER_OF(fiber, struct rti_actor, fiber)->actors;
}

/* The `unlink` of waiters of actors, under the lock: of one that watches a mailbox, of a SYNC
 * sender's, of one in a plain line. */
void rti_actors_unwatch(struct rti_waiter *waiter);
void rti_actors_unlink_sync(struct rti_waiter *waiter);
void rti_actors_unlink_line(struct rti_waiter *waiter);

/* Is this the id of a living actor? Then `actor` is that one. Under the lock. */
static RTI_ALWAYSINLINE bool rti_actors_find(struct rti_actors *actors, actor_id id,
                                             struct rti_actor **actor)
{
    uint32_t index = id & RTI_ACTOR_INDEX_MASK;
    if (RTI_UNLIKELY(index >= RT_MAX_ACTORS || id == ACTOR_ID_INVALID)) {
        return false;
    }
    *actor = &actors->table[index];
    return RTI_LIKELY((*actor)->reachable_id == id);
}

/* The living actor with this id; NULL for every other number. Under the lock. */
static inline struct rti_actor *rti_actors_lookup(struct rti_actors *actors, actor_id id)
{
    struct rti_actor *actor;
    return rti_actors_find(actors, id, &actor) ? actor : NULL;
}

#endif
