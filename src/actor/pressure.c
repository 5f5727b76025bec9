/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "pressure"
#include "actor/pressure.h"

#include "actor/behaviour.h"
#include "base/marks.h"
#include "sched/solo.h"

#if RT_HAS_BEHAVIOURS

void rti_pressure_init(struct rti_pressure *pressure, actor_id self, const rt_mailbox_config *limit)
{
    rti_list_init(&pressure->muted);
    rti_link_init(&pressure->link);
    rti_pressure_set_limit(pressure, limit);
    pressure->self = self;
    pressure->on = ACTOR_ID_INVALID;
    rti_u32_init(&pressure->rejected, 0);
    rti_u32_init(&pressure->dropped, 0);
    pressure->mutes = 0;
    pressure->releases = 0;
}

bool rti_mailbox_config_is_valid(const rt_mailbox_config *config)
{
    return (unsigned)config->overflow <= RT_OVERFLOW_KILL;
}

static struct rti_behaviour *pressure_behaviour(const struct rti_pressure *pressure)
{
    return RTI_CONTAINER_OF(pressure, struct rti_behaviour, pressure);
}

static struct rti_actor *pressure_actor(const struct rti_pressure *pressure)
{
    return RTI_CONTAINER_OF(pressure, struct rti_actor, pressure);
}

enum rti_admission rti_pressure_admit(struct rti_pressure *receiver, const rt_mailbox_config *limit,
                                      bool is_full)
{
    if (RTI_LIKELY(limit->high == 0 || !is_full)) {
        return RTI_ADMIT;
    }
    switch (limit->overflow) {
    case RT_OVERFLOW_MUTE:
        return RTI_ADMIT_MUTED;
    case RT_OVERFLOW_DROP_NEW:
        (void)rti_u32_add_relaxed(&receiver->dropped, 1);
        return RTI_ADMIT_DROPPED;
    case RT_OVERFLOW_DROP_OLD:
        return RTI_ADMIT_FOR_OLD;
    case RT_OVERFLOW_KILL:
        return RTI_ADMIT_KILLED;
    case RT_OVERFLOW_REJECT:
        break;
    }
    (void)rti_u32_add_relaxed(&receiver->rejected, 1);
    return RTI_ADMIT_REFUSED;
}

/* Whom an actor waits for: muted on it, or for its answer or release. */
static actor_id pressure_waits_for(struct rti_behaviours *module, actor_id id)
{
    struct rti_behaviour *behaviour = rti_behaviour_lookup(module, id);
    if (behaviour != NULL) {
        return behaviour->pressure.on;
    }
    const struct rti_actor *actor = rti_actors_lookup(module->actors, id);
    if (actor == NULL) {
        return ACTOR_ID_INVALID;
    }
    return actor->pressure.on != ACTOR_ID_INVALID ? actor->pressure.on : actor->waits_for;
}

/* Does the chain that begins at `from` lead to `to`? Every chain ends or is a ring without `to`,
 * which somebody has told of already; the count ends the walk there. */
static bool pressure_leads(struct rti_behaviours *module, actor_id from, actor_id to)
{
    size_t steps_max = module->capacity + RT_MAX_ACTORS + 1;
    for (size_t steps = 0; from != ACTOR_ID_INVALID && steps <= steps_max; steps++) {
        if (from == to) {
            return true;
        }
        from = pressure_waits_for(module, from);
    }
    return false;
}

/* Is there still a reason to wait for this one? Announces the wait if so. Under the lock. */
static bool pressure_is_high(struct rti_behaviours *module, struct rti_pressure *receiver)
{
    const rt_mailbox_config *limit = rti_pressure_limit(receiver);
    if (rti_pressure_high(limit) == RTI_GATE_OPEN) {
        RT_SOMETIMES(true, "pressure: a life without a limit has come");
        return false;
    }
    if (rti_is_behaviour_id(receiver->self)) {
        struct rti_behaviour *behaviour = pressure_behaviour(receiver);
        if (rti_u32_load_relaxed(&behaviour->reachable_id) != receiver->self) {
            return false;
        }
        bool is_visiting = !rti_sched_is_local(module->sched) && rti_solo_knock(module->sched);
        bool is_high = rti_behaviour_announce(module, behaviour, rti_pressure_mark(limit));
        rti_solo_go(module->sched, is_visiting);
        return is_high;
    }
    const struct rti_actor *actor = pressure_actor(receiver);
    return actor->reachable_id == receiver->self &&
           rti_mailbox_mail_count(&actor->mailbox) > rti_pressure_low(limit);
}

bool rti_pressure_mute(struct rti_behaviours *module, struct rti_pressure *sender,
                       struct rti_pressure *receiver)
{
    if (sender == receiver ||
        (rti_pressure_limit(sender) != NULL && rti_pressure_limit(sender)->is_system)) {
        return false;
    }
    rti_lock_acquire(&module->mute_lock, module->sched);
    bool is_ordered = rti_is_behaviour_id(sender->self) &&
                      (rti_u32_load_relaxed(&pressure_behaviour(sender)->orders) & RTI_ORDERS) != 0;
    bool is_muted =
        !is_ordered && sender->on == ACTOR_ID_INVALID && pressure_is_high(module, receiver);
    if (is_muted && pressure_leads(module, receiver->self, sender->self)) {
        RT_SOMETIMES(true, "pressure: a ring of muted actors is not closed");
        receiver->releases++;
        is_muted = false;
    }
    if (is_muted) {
        receiver->mutes++;
        sender->on = receiver->self;
        rti_list_push_tail(&receiver->muted, &sender->link);
    }
    rti_lock_release(&module->mute_lock);
    return is_muted;
}

/* Takes one out of the list it waits in, under the lock. */
static void pressure_unlink(struct rti_pressure *sender)
{
    RT_ASSERT(sender->on != ACTOR_ID_INVALID);
    rti_list_remove(&sender->link);
    sender->on = ACTOR_ID_INVALID;
}

/* Takes one out of its list and lets it go on, under the lock. */
static void pressure_let_go(struct rti_behaviours *module, struct rti_pressure *sender)
{
    pressure_unlink(sender);
    if (rti_is_behaviour_id(sender->self)) {
        rti_sched_wake(module->sched, &pressure_behaviour(sender)->run);
        return;
    }
    struct rti_waiter *waiter = pressure_actor(sender)->mute_waiter;
    RT_ASSERT(waiter != NULL);
    pressure_actor(sender)->mute_waiter = NULL;
    if (rti_wait_claim(waiter->wait, waiter->event)) {
        rti_waiter_wake(waiter);
    }
}

void rti_pressure_release(struct rti_behaviours *module, struct rti_pressure *receiver)
{
    struct rti_link *at;
    rti_lock_acquire(&module->mute_lock, module->sched);
    if (rti_is_behaviour_id(receiver->self)) {
        bool is_visiting = !rti_sched_is_local(module->sched) && rti_solo_knock(module->sched);
        rti_behaviour_withdraw(module, pressure_behaviour(receiver));
        rti_solo_go(module->sched, is_visiting);
    }
    while ((at = rti_list_peek(&receiver->muted)) != NULL) {
        pressure_let_go(module, RTI_CONTAINER_OF(at, struct rti_pressure, link));
    }
    rti_lock_release(&module->mute_lock);
}

void rti_pressure_unmute(struct rti_behaviours *module, struct rti_pressure *sender)
{
    rti_lock_acquire(&module->mute_lock, module->sched);
    if (sender->on != ACTOR_ID_INVALID) {
        pressure_unlink(sender);
    }
    rti_lock_release(&module->mute_lock);
}

bool rti_pressure_let_go(struct rti_behaviours *module, struct rti_pressure *sender)
{
    rti_lock_acquire(&module->mute_lock, module->sched);
    bool was_muted = sender->on != ACTOR_ID_INVALID;
    if (was_muted) {
        pressure_let_go(module, sender);
    }
    rti_lock_release(&module->mute_lock);
    return was_muted;
}

/* That of a living actor of either kind; NULL if there is none. Under the lock. */
static struct rti_pressure *pressure_of(struct rti_behaviours *module, actor_id id)
{
    struct rti_behaviour *behaviour = rti_behaviour_lookup(module, id);
    if (behaviour != NULL) {
        return &behaviour->pressure;
    }
    struct rti_actor *actor = rti_actors_lookup(module->actors, id);
    return actor != NULL ? &actor->pressure : NULL;
}

/* The first in a chain that is muted; NULL if nobody is before `to`. Under the lock. */
static struct rti_pressure *pressure_first_muted(struct rti_behaviours *module, actor_id from,
                                                 actor_id to)
{
    for (actor_id at = from; at != to; at = pressure_waits_for(module, at)) {
        struct rti_pressure *pressure = pressure_of(module, at);
        if (pressure == NULL || pressure->on != ACTOR_ID_INVALID) {
            return pressure;
        }
    }
    return NULL;
}

void rti_pressure_untie(struct rti_behaviours *module, actor_id waiter, actor_id target)
{
    rti_lock_acquire(&module->mute_lock, module->sched);
    struct rti_pressure *muted = pressure_leads(module, target, waiter)
                                     ? pressure_first_muted(module, target, waiter)
                                     : NULL;
    if (muted != NULL) {
        RT_SOMETIMES(true, "pressure: a muted actor goes on because it is waited for");
        struct rti_pressure *receiver = pressure_of(module, muted->on);
        if (receiver != NULL) {
            receiver->releases++;
        }
        pressure_let_go(module, muted);
    }
    rti_lock_release(&module->mute_lock);
}

/* Messages that wait for a behaviour. Under the lock, under which its limit and that of its gate
 * become another's. */
static uint32_t pressure_depth(const struct rti_behaviours *module,
                               const struct rti_pressure *pressure)
{
    const rt_mailbox_config *limit = rti_pressure_limit(pressure);
    return rti_behaviour_depth(module, pressure_behaviour(pressure), rti_pressure_high(limit));
}

void rti_pressure_stats(struct rti_behaviours *module, const struct rti_pressure *pressure,
                        rt_mailbox_stats *out)
{
    if (module != NULL) {
        rti_lock_acquire(&module->mute_lock, module->sched);
    }
    *out = (rt_mailbox_stats){
        .depth = rti_is_behaviour_id(pressure->self) ? pressure_depth(module, pressure) : 0,
        .rejected = rti_u32_load_relaxed(&pressure->rejected),
        .dropped = rti_u32_load_relaxed(&pressure->dropped),
        .mutes = pressure->mutes,
        .releases = pressure->releases,
        .is_muted = pressure->on != ACTOR_ID_INVALID,
    };
    if (module != NULL) {
        rti_lock_release(&module->mute_lock);
    }
}

void rti_pressure_audit(const struct rti_pressure *pressure)
{
    RT_ASSERT((pressure->on != ACTOR_ID_INVALID) == rti_link_is_linked(&pressure->link));
    for (struct rti_link *at = rti_list_peek(&pressure->muted); at != NULL;
         at = rti_list_next(&pressure->muted, at)) {
        RT_ASSERT(RTI_CONTAINER_OF(at, struct rti_pressure, link)->on == pressure->self);
    }
}

#endif
