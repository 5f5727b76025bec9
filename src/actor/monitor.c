/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "monitor"
#include "actor/monitor.h"

#include "actor/actors.h"
#include "actor/behaviour.h"
#include "base/marks.h"

void rti_monitors_init(struct rti_monitors *monitors)
{
    rti_handle_init(&monitors->refs, monitors->ref_slots, RT_MONITOR_ENTRY_POOL_SIZE,
                    RTI_INDEX_BITS(RT_MONITOR_ENTRY_POOL_SIZE));
}

void rti_monitors_deinit(struct rti_monitors *monitors)
{
    RT_ASSERT(monitors->refs.used_count == 0);
}

static bool monitor_is_watching(const struct rti_monitor *monitor)
{
    return rti_link_is_linked(&monitor->at_target);
}

static void monitor_free(struct rti_monitor *monitor)
{
    struct rti_monitors *monitors = &monitor->owner->actors->monitors;
    if (monitor_is_watching(monitor)) {
        rti_list_remove(&monitor->at_target);
    }
    rti_list_remove(&monitor->at_owner);
    rti_handle_free(&monitors->refs, monitor->ref);
}

static void monitor_release(struct rti_notice *notice)
{
    struct rti_monitor *monitor = RTI_CONTAINER_OF(notice, struct rti_monitor, notice);
    RT_ASSERT(!monitor_is_watching(monitor));
    monitor_free(monitor);
}

static void monitor_init(struct rti_monitor *monitor, uint32_t ref, struct rti_actor *owner,
                         actor_id target, struct rti_list *watchers)
{
    monitor->ref = ref;
    monitor->owner = owner;
    monitor->target = target;
    rti_notice_init(&monitor->notice, RT_SENDER_SYSTEM, &monitor->exit, sizeof(monitor->exit));
    monitor->notice.entry.release = monitor_release;
    rti_link_init(&monitor->at_owner);
    rti_link_init(&monitor->at_target);
    rti_actor_note_attached(owner);
    rti_list_push_tail(&owner->monitors, &monitor->at_owner);
    rti_list_push_tail(watchers, &monitor->at_target);
}

/* Those who watch another living actor of either kind; NULL if there is none. */
static struct rti_list *monitor_watchers(struct rti_actor *self, actor_id target)
{
    if (rti_is_behaviour_id(target)) {
        return rti_behaviour_watchers(self->actors, target);
    }
    struct rti_actor *other = rti_actors_lookup(self->actors, target);
    if (other == NULL || other == self) {
        return NULL;
    }
    rti_actor_note_attached(other);
    return &other->watchers;
}

static rt_status monitor_make(struct rti_actor *self, actor_id target, uint32_t *monitor_ref)
{
    struct rti_list *watchers = monitor_watchers(self, target);
    if (watchers == NULL || monitor_ref == NULL) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("a monitor needs another actor that lives")};
    }
    struct rti_monitors *monitors = &self->actors->monitors;
    uint32_t ref = rti_handle_alloc(&monitors->refs);
    if (ref == RTI_HANDLE_NONE) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no monitor entry is left")};
    }
    monitor_init(&monitors->table[rti_handle_index(&monitors->refs, ref)], ref, self, target,
                 watchers);
    *monitor_ref = ref;
    return RT_SUCCESS;
}

rt_status rt_monitor(actor_id target, uint32_t *monitor_ref)
{
    struct rti_actor *self = rti_actor_current();
    if (self == NULL) {
        return rti_actor_refusal(rti_worker_current());
    }
    rti_actors_lock(self->actors);
    rt_status status = monitor_make(self, target, monitor_ref);
    rti_actors_unlock(self->actors);
    return status;
}

static rt_status monitor_end(struct rti_actor *self, uint32_t monitor_ref)
{
    struct rti_monitors *monitors = &self->actors->monitors;
    int32_t index = rti_handle_lookup(&monitors->refs, monitor_ref);
    struct rti_monitor *monitor = index < 0 ? NULL : &monitors->table[index];
    if (monitor == NULL || monitor->owner != self || self->held == &monitor->notice.entry) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the caller has no such monitor")};
    }
    RT_SOMETIMES(rti_notice_is_queued(&monitor->notice), "monitor: a message that waits goes back");
    if (rti_notice_is_queued(&monitor->notice)) {
        rti_mailbox_remove_notice(self, &monitor->notice);
    }
    monitor_free(monitor);
    return RT_SUCCESS;
}

rt_status rt_demonitor(uint32_t monitor_ref)
{
    struct rti_actor *self = rti_actor_current();
    if (self == NULL) {
        return rti_actor_refusal(rti_worker_current());
    }
    rti_actors_lock(self->actors);
    rt_status status = monitor_end(self, monitor_ref);
    rti_actors_unlock(self->actors);
    return status;
}

void rti_monitor_embed(struct rti_monitor *monitor, struct rti_actor *owner,
                       struct rti_list *watchers, actor_id target,
                       void (*release)(struct rti_notice *notice))
{
    monitor->ref = RTI_HANDLE_NONE;
    monitor->owner = owner;
    monitor->target = target;
    rti_notice_init(&monitor->notice, RT_SENDER_SYSTEM, &monitor->exit, sizeof(monitor->exit));
    monitor->notice.entry.release = release;
    rti_link_init(&monitor->at_owner);
    rti_link_init(&monitor->at_target);
    rti_list_push_tail(watchers, &monitor->at_target);
}

void rti_monitors_tell(struct rti_list *watchers, actor_id dead, rt_exit_reason reason)
{
    struct rti_link *at;
    while ((at = rti_list_pop(watchers)) != NULL) {
        struct rti_monitor *monitor = RTI_CONTAINER_OF(at, struct rti_monitor, at_target);
        RT_ASSERT(monitor->target == dead);
        monitor->exit = (rt_exit_msg){.actor = dead, .reason = reason};
        rti_mailbox_push_notice(monitor->owner, &monitor->notice);
    }
}

void rti_monitors_notify(struct rti_actor *dead, rt_exit_reason reason)
{
    struct rti_link *at;
    rti_monitors_tell(&dead->watchers, dead->id, reason);
    while ((at = rti_list_peek(&dead->monitors)) != NULL) {
        struct rti_monitor *monitor = RTI_CONTAINER_OF(at, struct rti_monitor, at_owner);
        /* The dead one's mailbox is clear, so all that are left still watch. */
        RT_ASSERT(monitor_is_watching(monitor));
        monitor_free(monitor);
    }
}

size_t rti_monitors_audit(const struct rti_actor *actor)
{
    size_t count = 0;
    const struct rti_monitors *monitors = &actor->actors->monitors;
    for (struct rti_link *at = rti_list_peek(&actor->monitors); at != NULL;
         at = rti_list_next(&actor->monitors, at)) {
        const struct rti_monitor *monitor = RTI_CONTAINER_OF(at, struct rti_monitor, at_owner);
        RT_ASSERT(monitor->owner == actor);
        RT_ASSERT(rti_handle_lookup(&monitors->refs, monitor->ref) == monitor - monitors->table);
        bool is_notice =
            rti_notice_is_queued(&monitor->notice) || actor->held == &monitor->notice.entry;
        RT_ASSERT(monitor_is_watching(monitor) != is_notice);
        count++;
    }
    /* Its supervisor's comes to those of the pool. */
    RT_ASSERT(rti_list_audit(&actor->watchers) <= RT_MONITOR_ENTRY_POOL_SIZE + 1);
    return count;
}
