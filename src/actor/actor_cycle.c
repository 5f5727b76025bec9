/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "actor_cycle"
#include "actor/actor_cycle.h"

#include "actor/actors.h"
#include "actor/behaviour.h"
#include "base/remark.h"

static void cycle_add_actor(struct rti_remark *line, const struct rti_actor *actor)
{
    rti_remark_add(line, actor->name[0] != '\0' ? actor->name : "actor");
    rti_remark_add(line, " (");
    rti_remark_add_number(line, actor->id);
    rti_remark_add(line, ")");
}

/* The actor that `actor` waits for; NULL if it waits for nobody or for one that is ending. */
static struct rti_actor *cycle_next(const struct rti_actor *actor)
{
    return rti_actors_lookup(actor->actors, actor->waits_for);
}

static RTI_COLD void cycle_tell(const struct rti_actor *start)
{
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "actors wait for each other for ever: ");
    const struct rti_actor *at = start;
    do {
        cycle_add_actor(&line, at);
        rti_remark_add(&line, " -> ");
        at = cycle_next(at);
    } while (at != start);
    cycle_add_actor(&line, start);
    rti_port_log(line.text);
}

void rti_actor_wait_for(struct rti_actor *waiter, struct rti_actor *target)
{
    RT_ASSERT(waiter != target && waiter->waits_for == ACTOR_ID_INVALID);
    waiter->waits_for = target->id;
    struct rti_behaviours *behaviours = rti_behaviours_at(waiter->actors->sched);
    if (behaviours != NULL) {
        rti_pressure_untie(behaviours, waiter->id, target->id);
    }
    const struct rti_actor *at = target;
    /* Any other cycle was told when it closed, and is no part of this chain's way back: the count
     * ends the walk in one. */
    for (size_t steps = 0; RT_SENTENCES && at != NULL && steps < RT_MAX_ACTORS; steps++) {
        at = cycle_next(at);
        if (at == waiter) {
            cycle_tell(waiter);
            return;
        }
    }
}

void rti_actor_wait_ended(struct rti_actor *waiter)
{
    rti_actors_lock(waiter->actors);
    waiter->waits_for = ACTOR_ID_INVALID;
    rti_actors_unlock(waiter->actors);
}
