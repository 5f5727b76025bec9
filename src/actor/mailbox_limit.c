/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of an actor's mailbox, as the program sets it and asks what came of it. What it does to
 * those who send is in behaviour_send.c; the essay is in pressure.h. */
#define RTI_MODULE "mailbox_limit"
#include <orrery/rt/mailbox.h>

#include "actor/behaviour.h"
#include "actor/ipc.h"

#if RT_HAS_BEHAVIOURS

/* Under its new limit: does an actor with a stack still mute those who are muted on it? */
static bool limit_still_mutes(const struct rti_actor *receiver)
{
    const rt_mailbox_config *limit = rti_actor_limit(receiver);
    return limit != NULL && limit->high > 0 && limit->overflow == RT_OVERFLOW_MUTE &&
           rti_mailbox_mail_count(&receiver->mailbox) > rti_pressure_low(limit);
}

#endif

rt_status rt_mailbox_limit(actor_id id, const rt_mailbox_config *config)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actors *actors = rti_actors_of(worker);
    if (actors == NULL) {
        return rti_actor_refusal(worker);
    }
#if RT_HAS_BEHAVIOURS
    rti_actors_lock(actors);
    struct rti_actor *actor = rti_actors_lookup(actors, id);
    bool is_set = actor != NULL && (config == NULL || rti_mailbox_config_is_valid(config));
    if (is_set && config != NULL) {
        actor->limit = *config;
        rti_actor_note_attached(actor);
        rti_pressure_set_limit(&actor->pressure, &actor->limit);
    } else if (is_set) {
        rti_pressure_set_limit(&actor->pressure, NULL);
    }
    if (is_set && !limit_still_mutes(actor) && rti_behaviours_of(worker) != NULL) {
        rti_pressure_release(rti_behaviours_of(worker), &actor->pressure);
    }
    rti_actors_unlock(actors);
    return is_set ? RT_SUCCESS
                  : (rt_status){RT_ERR_INVALID,
                                RTI_SENTENCE("no living actor with a stack, or no such policy")};
#else
    (void)id;
    (void)config;
    return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("this build has no limits")};
#endif
}

rt_status rt_mailbox_stats_get(actor_id id, rt_mailbox_stats *out)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actors *actors = rti_actors_of(worker);
    if (actors == NULL) {
        return rti_actor_refusal(worker);
    }
    struct rti_behaviours *module = rti_behaviours_of(worker);
    const struct rti_behaviour *behaviour =
        module == NULL ? NULL : rti_behaviour_lookup(module, id);
    rti_actors_lock(actors);
    const struct rti_actor *actor = rti_actors_lookup(actors, id);
    if (out == NULL || (behaviour == NULL && actor == NULL)) {
        rti_actors_unlock(actors);
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no living actor has this id, or no room")};
    }
#if RT_HAS_BEHAVIOURS
    rti_pressure_stats(module, behaviour != NULL ? &behaviour->pressure : &actor->pressure, out);
    if (behaviour == NULL) {
        out->depth = rti_mailbox_mail_count(&actor->mailbox);
    }
#else
    *out = (rt_mailbox_stats){.depth = rti_mailbox_mail_count(&actor->mailbox)};
#endif
    rti_actors_unlock(actors);
    return RT_SUCCESS;
}
