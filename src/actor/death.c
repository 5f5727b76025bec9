/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "death"
#include "actor/death.h"

#include "actor/actor_timer.h"
#include "actor/actors.h"
#include "actor/attachment.h"
#include "actor/behaviour.h"
#include "actor/call.h"
#include "base/remark.h"
#include "sched/fault.h"

#if RTI_HAS_DEATH_HOOKS
void rti_death_hook_add(struct rti_actors *actors, enum rti_death_step step,
                        struct rti_death_hook *hook)
{
    RT_ASSERT(step < RTI_DEATH_STEP_COUNT && hook->died != NULL);
    rti_link_init(&hook->link);
    rti_list_push_tail(&actors->death_hooks[step], &hook->link);
    actors->has_hooks_for_all = actors->has_hooks_for_all || !hook->is_of_owners;
}
#endif

/* Must every actor be taken apart, also one that owns nothing? */
static inline bool death_concerns_all(const struct rti_actors *actors)
{
#if RTI_HAS_DEATH_HOOKS
    return actors->has_hooks_for_all;
#else
    (void)actors;
    return false;
#endif
}

static rt_exit_reason death_reason(const struct rti_actor *actor)
{
    switch ((enum rti_fiber_end)actor->fiber.end) {
    case RTI_FIBER_EXITED:
        return RT_EXIT_NORMAL;
    case RTI_FIBER_KILLED:
        return RT_EXIT_KILLED;
    case RTI_FIBER_OVERFLOWED:
        return RT_EXIT_CRASH_STACK;
    case RTI_FIBER_RETURNED:
    case RTI_FIBER_FAULTED:
        break;
    }
    return RT_EXIT_CRASH;
}

/* One line for an end that its author did not write. */
static RTI_COLD void death_log(const struct rti_actor *actor)
{
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "Actor ");
    rti_remark_add_number(&line, actor->id);
    if (actor->fiber.end == RTI_FIBER_OVERFLOWED) {
        rti_remark_add(&line, " stack overflow detected");
    } else {
        rti_remark_add(&line, " ended by ");
        rti_remark_add(&line, rti_fault_name((enum rti_fault_kind)actor->fiber.fault));
    }
    if (actor->name[0] != '\0') {
        rti_remark_add(&line, " (");
        rti_remark_add(&line, actor->name);
        rti_remark_add(&line, ")");
    }
    rti_port_log(line.text);
}

/* Step 1. */
static void death_clear_mailbox(struct rti_actor *actor)
{
    struct rti_ipc_pools *pools = &actor->actors->ipc;
    rti_actor_drop_held(actor, RT_ERR_CLOSED);
    rti_actor_drop_reply(actor);
    struct rti_entry *entry;
    while ((entry = rti_mailbox_peek(&actor->mailbox)) != NULL) {
        rti_mailbox_remove(&actor->mailbox, entry);
        rti_ipc_pools_end(pools, entry, RT_ERR_CLOSED);
    }
#if RT_HAS_CALLS
    rti_calls_close(actor);
#endif
}

static void death_run_hooks(struct rti_actor *actor, enum rti_death_step step)
{
#if RTI_HAS_DEATH_HOOKS
    struct rti_list *hooks = &actor->actors->death_hooks[step];
    for (struct rti_link *at = rti_list_peek(hooks); at != NULL; at = rti_list_next(hooks, at)) {
        struct rti_death_hook *hook = RTI_CONTAINER_OF(at, struct rti_death_hook, link);
        if (hook->is_of_owners && rti_list_is_empty(&actor->owned[hook->list])) {
            continue;
        }
        RT_ASSERT(rti_mailbox_is_empty(&actor->mailbox));
        hook->died(hook, actor);
    }
#else
    (void)actor, (void)step;
#endif
}

#if RT_HAS_BEHAVIOURS
/* Those who are muted on it go on; its slot has no limit any more, and has counted nothing. */
static void death_lift_limit(struct rti_actor *actor)
{
    struct rti_behaviours *module = rti_behaviours_at(actor->actors->sched);
    if (module != NULL && rti_actor_limit(actor) != NULL) {
        rti_pressure_release(module, &actor->pressure);
    }
    rti_pressure_init(&actor->pressure, ACTOR_ID_INVALID, NULL);
}
#endif

/* Steps 1 to 5, and of step 6 what is not the actor's own. */
static RTI_NOINLINE void death_detach(struct rti_actor *actor, rt_exit_reason reason)
{
    death_clear_mailbox(actor);
    rti_links_notify(actor, reason);
#if RT_HAS_MONITORS
    rti_monitors_notify(actor, reason);
#endif
    death_run_hooks(actor, RTI_DEATH_BUS);
    if (!rti_list_is_empty(&actor->owned[RTI_OWNED_TIMERS])) {
        rti_actor_timers_end(actor);
    }
    death_run_hooks(actor, RTI_DEATH_TIMERS);
#if RT_HAS_NAMES
    rti_registry_forget(&actor->actors->registry, actor);
#endif
#if RTI_HAS_ATTACHMENTS
    rti_attachments_end(&actor->owned[RTI_OWNED_ATTACHMENTS]);
#endif
#if RT_HAS_BEHAVIOURS
    death_lift_limit(actor);
#endif
    death_run_hooks(actor, RTI_DEATH_RESOURCES);
    RT_ASSERT(rti_actor_is_bare(actor));
    rti_u8_store_relaxed(&actor->is_attached, 0);
}

/* Its id names nobody any more, or is kept for its next life. */
static inline void death_end_id(struct rti_actors *actors, struct rti_actor *actor)
{
    if (RTI_UNLIKELY(actor->is_id_kept)) {
        actor->is_id_kept = false;
        actors->kept_count++;
    } else {
        rti_handle_free(&actors->ids, actor->id);
    }
    actor->id = ACTOR_ID_INVALID;
}

/* The six steps, under the lock if there are several workers, but for the stack. */
static RTI_ALWAYSINLINE void death_take_apart(struct rti_actors *actors, struct rti_actor *actor)
{
    actor->reachable_id = ACTOR_ID_INVALID;
    actor->waits_for = ACTOR_ID_INVALID;
    /* Its end may have come inside a filter, or in the receive that waits for ever. */
    rti_mailbox_abandon(&actor->mailbox);
    if (RTI_UNLIKELY(!rti_actor_ends_bare(actor) || death_concerns_all(actors))) {
        death_detach(actor, death_reason(actor));
    }
}

/* With several workers. Who is told of the end may start another at once, for which the stack must
 * be there: only that of one whom nobody watches, or one of the heap, is given without the lock. */
static RTI_NOINLINE void death_process_shared(struct rti_actors *actors, struct rti_actor *actor)
{
    rti_actors_lock(actors);
    struct rti_stack_block memory = actor->stack;
    struct rti_stack stack = actor->fiber.stack;
    bool is_awaited = !rti_actor_ends_bare(actor) && !rti_stack_block_is_heap(&memory);
    death_take_apart(actors, actor);
    death_end_id(actors, actor);
    if (is_awaited) {
        rti_stacks_give(actors->stacks, &memory, &stack);
    }
    RT_AUDIT(rti_actors_audit(actors));
    rti_actors_unlock(actors);
    if (!is_awaited) {
        /* The slot may be another actor's already. */
        rti_stacks_give(actors->stacks, &memory, &stack);
    }
}

void rti_death_process(struct rti_actor *actor)
{
    RT_DCHECK(rti_worker_here()->fiber == NULL);
    RT_ASSERT(actor->id != ACTOR_ID_INVALID);
    struct rti_actors *actors = actor->actors;
    if (RT_SENTENCES && RTI_UNLIKELY(actor->fiber.end >= RTI_FIBER_OVERFLOWED)) {
        death_log(actor);
    }
    if (RTI_UNLIKELY(!rti_sched_is_local(actors->sched))) {
        death_process_shared(actors, actor);
        return;
    }
    death_take_apart(actors, actor);
    rti_stacks_give_as(actors->stacks, &actor->stack, &actor->fiber.stack, true);
    death_end_id(actors, actor);
    RT_AUDIT(rti_actors_audit(actors));
}

void rti_actor_on_done(struct rti_fiber *fiber)
{
    rti_death_process(RTI_CONTAINER_OF(fiber, struct rti_actor, fiber));
}
