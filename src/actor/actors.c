/* SPDX-License-Identifier: Apache-2.0 */
/* The assembly of the actor module, and the audit that looks at all of it. */
#define RTI_MODULE "actors"
#include "actor/actors.h"

#if RT_HAS_TASKS
static struct rt_trace *actors_trace_of(struct rti_fiber *fiber)
{
    return !fiber->run.is_actor ? NULL
                                : rti_actor_trace(RTI_CONTAINER_OF(fiber, struct rti_actor, fiber));
}
#endif

rt_status rti_actors_init(struct rti_actors *actors, struct rti_sched *sched)
{
    RT_ASSERT(actors != NULL && sched != NULL);
    if (sched->modules[RTI_MODULE_ACTOR] != NULL) {
        return (rt_status){RT_ERR_STATE, RTI_SENTENCE("this runtime has its actors already")};
    }
    actors->sched = sched;
#if RT_HAS_TASKS
    sched->tracers[RTI_TRACER_ACTOR] = actors_trace_of;
#endif
    rti_lock_init(&actors->lock, sched, RTI_LOCK_ACTOR);
    actors->stacks = rti_stacks_of(sched);
    RT_ASSERT(actors->stacks != NULL);
    rti_ipc_pools_init(&actors->ipc);
    rti_links_init(&actors->links);
#if RT_HAS_MONITORS
    rti_monitors_init(&actors->monitors);
#endif
#if RT_HAS_NAMES
    rti_registry_init(&actors->registry);
#endif
#if RTI_HAS_DEATH_HOOKS
    for (size_t step = 0; step < RTI_DEATH_STEP_COUNT; step++) {
        rti_list_init(&actors->death_hooks[step]);
    }
    actors->has_hooks_for_all = false;
#endif
    actors->spawn_refusal = RTI_SPAWN_OK;
    rti_handle_init(&actors->ids, actors->id_slots, RT_MAX_ACTORS, RTI_ACTOR_INDEX_BITS);
    rti_handle_let_end(&actors->ids, RTI_ACTOR_ID_MAX);
    actors->kept_count = 0;
    for (size_t i = 0; i < RT_MAX_ACTORS; i++) {
        rti_actor_init_slot(&actors->table[i], actors);
    }
    sched->modules[RTI_MODULE_ACTOR] = actors;
    return RT_SUCCESS;
}

void rti_actors_deinit(struct rti_actors *actors)
{
    RT_ASSERT(actors->sched->modules[RTI_MODULE_ACTOR] == actors);
    RT_ASSERT(rti_actors_count(actors) == 0);
    RT_AUDIT(rti_actors_audit(actors));
    actors->sched->modules[RTI_MODULE_ACTOR] = NULL;
#if RT_HAS_NAMES
    rti_registry_deinit(&actors->registry);
#endif
#if RT_HAS_MONITORS
    rti_monitors_deinit(&actors->monitors);
#endif
    rti_links_deinit(&actors->links);
    rti_ipc_pools_deinit(&actors->ipc);
}

void rti_actors_kill_all(struct rti_actors *actors)
{
    RT_ASSERT(rti_worker_current()->fiber == NULL);
    for (size_t i = 0; i < RT_MAX_ACTORS; i++) {
        struct rti_actor *actor = &actors->table[i];
        rti_actors_lock(actors);
        if (actor->reachable_id != ACTOR_ID_INVALID) {
            rti_actor_kill(actor);
        }
        rti_actors_unlock(actors);
    }
}

void rti_actors_unwatch(struct rti_waiter *waiter)
{
    struct rti_actors *actors = rti_actors_of_waiter(waiter);
    rti_actors_lock(actors);
    rti_mailbox_unwatch(waiter);
    rti_actors_unlock(actors);
}

void rti_actors_unlink_sync(struct rti_waiter *waiter)
{
    struct rti_actors *actors = rti_actors_of_waiter(waiter);
    rti_actors_lock(actors);
    rti_sync_wait_unlink(waiter);
    rti_actors_unlock(actors);
}

void rti_actors_unlink_line(struct rti_waiter *waiter)
{
    struct rti_actors *actors = rti_actors_of_waiter(waiter);
    rti_actors_lock(actors);
    rti_waitlist_unlink(waiter);
    rti_actors_unlock(actors);
}

/* What the living actors account for of the pools. */
struct ledger {
    size_t actors;
    size_t arena_stacks;
    size_t entries;
    size_t link_ends;
    size_t monitors;
};

static void actors_audit_one(const struct rti_actor *actor, struct ledger *ledger)
{
    RT_ASSERT(actor->reachable_id == actor->id || actor->reachable_id == ACTOR_ID_INVALID);
    RT_ASSERT(actor->held == NULL || !rti_link_is_linked(&actor->held->link));
    const struct rti_entry *reply = rti_actor_reply(actor);
    RT_ASSERT(reply == NULL || !rti_link_is_linked(&reply->link));
    RT_ASSERT(!rti_sched_is_local(actor->actors->sched) || actor->waits_for == ACTOR_ID_INVALID ||
              actor->fiber.wait != NULL ||
              rti_runnable_state(&actor->fiber.run) == RTI_RUNNABLE_RUNNING);
#if RT_HAS_CALLS
    RT_ASSERT(actor->call == NULL || actor->waits_for != ACTOR_ID_INVALID);
#endif
    ledger->actors++;
    ledger->arena_stacks += !rti_stack_block_is_heap(&actor->stack);
    ledger->entries += rti_mailbox_audit(&actor->mailbox);
    ledger->entries += actor->held != NULL && !rti_entry_is_notice(actor->held);
    ledger->entries += reply != NULL;
    ledger->link_ends += rti_links_audit(actor);
#if RT_HAS_MONITORS
    ledger->monitors += rti_monitors_audit(actor);
#endif
}

void rti_actors_audit(const struct rti_actors *actors)
{
    struct ledger ledger = {.actors = 0};
    for (size_t i = 0; i < RT_MAX_ACTORS; i++) {
        const struct rti_actor *actor = &actors->table[i];
        if (actor->id == ACTOR_ID_INVALID) {
            RT_ASSERT(actor->reachable_id == ACTOR_ID_INVALID && rti_actor_is_bare(actor));
            continue;
        }
        RT_ASSERT(rti_handle_lookup(&actors->ids, actor->id) == (int32_t)i);
        actors_audit_one(actor, &ledger);
    }
    RT_ASSERT(ledger.actors + actors->kept_count == rti_handle_audit(&actors->ids));
    /* With several workers somebody may be taking or giving one right now. */
    RT_ASSERT(!rti_sched_is_local(actors->sched) ||
              ledger.arena_stacks <= rti_stacks_audit(actors->stacks));
    RT_ASSERT(ledger.entries == rti_pool_in_use(&actors->ipc.entries));
    RT_ASSERT(ledger.entries <=
              rti_ipc_pools_data_in_use(&actors->ipc) + rti_pool_in_use(&actors->ipc.sync));
    RT_ASSERT(ledger.link_ends == rti_pool_in_use(&actors->links.pool));
#if RT_HAS_MONITORS
    RT_ASSERT(ledger.monitors == rti_handle_audit(&actors->monitors.refs));
#endif
    rti_ipc_pools_audit(&actors->ipc);
#if RT_HAS_NAMES
    rti_registry_audit(&actors->registry);
#endif
}
