/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "bus"
#include "actor/bus.h"

#include <string.h>

#include "time/deadline.h"

#if RT_HAS_BUS

_Static_assert(RT_MAX_BUSES > 0 && RT_MAX_BUSES <= 1 << 16, "the id has room for generations");

/* What ends the wait of a reader, beside its deadline. */
enum {
    BUS_EVENT_DATA = RTI_EVENT_SOURCE,
    BUS_EVENT_MAIL,
};

/* Where a read goes. */
struct bus_target {
    void *buf;
    size_t max_len;
    size_t *actual_len;
};

static struct rti_buses *buses_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : worker->sched->modules[RTI_MODULE_BUS];
}

static struct rti_bus *bus_lookup(struct rti_buses *buses, bus_id id)
{
    int32_t index = rti_handle_lookup(&buses->ids, id);
    return index < 0 ? NULL : &buses->table[index];
}

static rt_status bus_unknown(void)
{
    return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is no such bus")};
}

static rt_status bus_unread(void)
{
    return (rt_status){RT_ERR_WOULDBLOCK,
                       RTI_SENTENCE("the bus has nothing that the caller has not read")};
}

static struct rti_subscription *subscription_of(struct rti_link *link)
{
    return RTI_CONTAINER_OF(link, struct rti_subscription, at_owner);
}

/* The number of the subscription's cursor. */
static unsigned subscription_number(const struct rti_subscription *subscription)
{
    return (unsigned)(subscription - subscription->bus->subscriptions);
}

/* The subscription of an actor at a bus; NULL if there is none. */
static struct rti_subscription *subscription_find(const struct rti_actor *actor,
                                                  const struct rti_bus *bus)
{
    const struct rti_list *list = &actor->owned[RTI_OWNED_SUBSCRIPTIONS];
    for (struct rti_link *at = rti_list_peek(list); at != NULL; at = rti_list_next(list, at)) {
        if (subscription_of(at)->bus == bus) {
            return subscription_of(at);
        }
    }
    return NULL;
}

static void subscription_end(struct rti_subscription *subscription)
{
    rti_list_remove(&subscription->at_owner);
    rti_bus_cursor_close(&subscription->bus->entries, subscription_number(subscription));
}

/* The subscription of the calling actor at the bus with this id. RT_OK: the lock is taken. */
static rt_status subscription_lock(struct rti_worker *worker, bus_id id,
                                   struct rti_subscription **out)
{
    struct rti_actor *self = worker == NULL ? NULL : rti_actor_of(worker);
    if (RTI_UNLIKELY(self == NULL)) {
        return rti_actor_refusal(worker);
    }
    rti_actors_lock(self->actors);
    struct rti_bus *bus = bus_lookup(buses_of(worker), id);
    struct rti_subscription *subscription = bus == NULL ? NULL : subscription_find(self, bus);
    if (RTI_UNLIKELY(subscription == NULL)) {
        rti_actors_unlock(self->actors);
        return bus == NULL ? bus_unknown()
                           : (rt_status){RT_ERR_INVALID,
                                         RTI_SENTENCE("the caller does not subscribe to this bus")};
    }
    *out = subscription;
    return RT_SUCCESS;
}

static void subscription_unlock(const struct rti_subscription *subscription)
{
    rti_actors_unlock(subscription->owner->actors);
}

rt_status rt_bus_create(const rt_bus_config *cfg, bus_id *out)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_buses *buses = buses_of(worker);
    if (buses == NULL) {
        return rti_actor_refusal(worker);
    }
    if (cfg == NULL || out == NULL || !rti_bus_config_is_valid(cfg)) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("a bus needs a configuration within the limits")};
    }
    rti_actors_lock(buses->actors);
    bus_id id = rti_handle_alloc(&buses->ids);
    if (id != RTI_HANDLE_NONE) {
        struct rti_bus *bus = &buses->table[rti_handle_index(&buses->ids, id)];
        bus->id = id;
        rti_bus_entries_init(&bus->entries, cfg, &buses->actors->ipc);
        rti_waitlist_init(&bus->waiting);
        *out = id;
    }
    rti_actors_unlock(buses->actors);
    return id != RTI_HANDLE_NONE
               ? RT_SUCCESS
               : (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no place for another bus is left")};
}

static void bus_end(struct rti_buses *buses, struct rti_bus *bus)
{
    RT_ASSERT(rti_waitlist_is_empty(&bus->waiting));
    rti_bus_entries_deinit(&bus->entries);
    rti_handle_free(&buses->ids, bus->id);
}

static rt_status bus_destroy(struct rti_buses *buses, bus_id id)
{
    struct rti_bus *bus = bus_lookup(buses, id);
    if (bus == NULL) {
        return bus_unknown();
    }
    if (bus->entries.cursors_mask != 0) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the bus has subscribers")};
    }
    bus_end(buses, bus);
    return RT_SUCCESS;
}

rt_status rt_bus_destroy(bus_id id)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_buses *buses = buses_of(worker);
    if (buses == NULL) {
        return rti_actor_refusal(worker);
    }
    rti_actors_lock(buses->actors);
    rt_status status = bus_destroy(buses, id);
    rti_actors_unlock(buses->actors);
    return status;
}

/* Removes what is too old and tells the time; 0 on a bus without an age, where nobody asks. */
static uint64_t bus_expire(struct rti_sched *sched, struct rti_bus *bus)
{
    if (bus->entries.config.max_age_ms == 0) {
        return 0;
    }
    uint64_t now_ms = rti_sched_clock(sched) / RTI_NS_PER_MS;
    rti_bus_entries_expire(&bus->entries, now_ms);
    return now_ms;
}

static void bus_record(struct rti_worker *worker, enum rti_journal_kind kind,
                       const struct rti_bus *bus, uint64_t seq)
{
    if (RTI_UNLIKELY(rti_sched_journal(worker->sched) != NULL)) {
        rti_sched_record(
            worker->sched,
            &(struct rti_journal_event){.kind = kind,
                                        .task = worker->fiber == NULL ? 0 : worker->fiber->run.id,
                                        .channel = bus->id,
                                        .value = seq});
    }
}

/* Ends the wait of everybody who waits for an entry. */
static void bus_wake_all(struct rti_bus *bus)
{
    struct rti_waiter *waiter;
    while ((waiter = rti_waitlist_claim(&bus->waiting)) != NULL) {
        rti_waiter_wake(waiter);
    }
}

static inline rt_status bus_publish(struct rti_worker *worker, struct rti_buses *buses, bus_id id,
                                    const void *data, size_t len)
{
    struct rti_bus *bus = bus_lookup(buses, id);
    if (RTI_UNLIKELY(bus == NULL)) {
        return bus_unknown();
    }
    if (RTI_UNLIKELY(len > bus->entries.config.max_entry_size || (data == NULL && len > 0))) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("the payload is NULL, or longer than max_entry_size")};
    }
    uint64_t now_ms = bus_expire(worker->sched, bus);
    rt_status status = rti_bus_entries_publish(&bus->entries, data, len, now_ms);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_actor *self = rti_actor_of(worker);
    if (self != NULL) {
        self->bus_published++;
    }
    bus_record(worker, RTI_JOURNAL_SEND, bus, bus->entries.published - 1);
    bus_wake_all(bus);
    return RT_SUCCESS;
}

rt_status rt_bus_publish(bus_id id, const void *data, size_t len)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_buses *buses = buses_of(worker);
    if (RTI_UNLIKELY(buses == NULL)) {
        return rti_actor_refusal(worker);
    }
    rti_actors_lock(buses->actors);
    rt_status status = bus_publish(worker, buses, id, data, len);
    rti_actors_unlock(buses->actors);
    return status;
}

static rt_status bus_subscribe(struct rti_actor *self, struct rti_buses *buses, bus_id id)
{
    struct rti_bus *bus = bus_lookup(buses, id);
    if (bus == NULL) {
        return bus_unknown();
    }
    if (subscription_find(self, bus) != NULL) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("the caller subscribes to this bus already")};
    }
    int number = rti_bus_cursor_open(&bus->entries);
    if (number < 0) {
        return (rt_status){RT_ERR_NOMEM,
                           RTI_SENTENCE("the bus has all the subscribers it may have")};
    }
    struct rti_subscription *subscription = &bus->subscriptions[number];
    *subscription = (struct rti_subscription){.bus = bus, .owner = self};
    rti_actor_note_attached(self);
    rti_list_push_tail(&self->owned[RTI_OWNED_SUBSCRIPTIONS], &subscription->at_owner);
    return RT_SUCCESS;
}

rt_status rt_bus_subscribe(bus_id id)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actor *self = worker == NULL ? NULL : rti_actor_of(worker);
    if (self == NULL) {
        return rti_actor_refusal(worker);
    }
    rti_actors_lock(self->actors);
    rt_status status = bus_subscribe(self, buses_of(worker), id);
    rti_actors_unlock(self->actors);
    return status;
}

rt_status rt_bus_unsubscribe(bus_id id)
{
    struct rti_subscription *subscription = NULL;
    rt_status status = subscription_lock(rti_worker_enter(), id, &subscription);
    if (!RT_FAILED(status)) {
        struct rti_actors *actors = subscription->owner->actors;
        subscription_end(subscription);
        rti_actors_unlock(actors);
    }
    return status;
}

/* Copies the next entry out and passes it; false if there is none. */
static bool bus_take(struct rti_worker *worker, const struct rti_subscription *subscription,
                     const struct bus_target *target)
{
    struct rti_bus *bus = subscription->bus;
    unsigned number = subscription_number(subscription);
    (void)bus_expire(worker->sched, bus);
    const struct rti_bus_entry *entry = rti_bus_cursor_peek(&bus->entries, number);
    if (entry == NULL) {
        return false;
    }
    size_t len = entry->len < target->max_len ? entry->len : target->max_len;
    if (len > 0) {
        memcpy(target->buf, entry->block, len);
    }
    *target->actual_len = len;
    subscription->owner->bus_read++;
    bus_record(worker, RTI_JOURNAL_RECV, bus, entry->seq);
    rti_bus_cursor_pass(&bus->entries, number);
    return true;
}

static bool target_is_valid(const struct bus_target *target)
{
    return target->actual_len != NULL && (target->buf != NULL || target->max_len == 0);
}

static rt_status bus_no_target(void)
{
    return (rt_status){RT_ERR_INVALID,
                       RTI_SENTENCE("there is no place for the entry or for its length")};
}

rt_status rt_bus_read(bus_id id, void *buf, size_t max_len, size_t *actual_len)
{
    struct bus_target target = {.buf = buf, .max_len = max_len, .actual_len = actual_len};
    struct rti_worker *worker = rti_worker_enter();
    struct rti_subscription *subscription = NULL;
    rt_status status = subscription_lock(worker, id, &subscription);
    if (RT_FAILED(status)) {
        return status;
    }
    if (!target_is_valid(&target)) {
        status = bus_no_target();
    } else if (!bus_take(worker, subscription, &target)) {
        status = bus_unread();
    }
    subscription_unlock(subscription);
    return status;
}

/* Parks the reader until an entry is published, mail comes or the deadline passes. Under the lock,
 * which it gives back for as long. */
static uint32_t bus_await(struct rti_worker *worker, struct rti_subscription *subscription,
                          uint64_t deadline_ns)
{
    struct rti_wait wait;
    struct rti_waiter data;
    struct rti_waiter mail;
    struct rti_deadline deadline;
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_BUS;
    rti_wait_add(&wait, &data, BUS_EVENT_DATA, rti_actors_unlink_line);
    rti_waitlist_add(&subscription->bus->waiting, &data);
    rti_wait_add(&wait, &mail, BUS_EVENT_MAIL, rti_actors_unwatch);
    rti_mailbox_watch(&subscription->owner->mailbox, &mail);
    subscription_unlock(subscription);
    rti_deadline_add(&deadline, worker->sched, &wait, deadline_ns);
    uint32_t event = rti_fiber_park(worker, &wait);
    rti_actors_lock(subscription->owner->actors);
    return event;
}

/* Waits until there is something to read, mail came or the time is over. */
static rt_status bus_read_waiting(struct rti_worker *worker, struct rti_subscription *subscription,
                                  const struct bus_target *target, int32_t timeout_ms)
{
    const struct rti_mailbox *mailbox = &subscription->owner->mailbox;
    uint32_t mail_before = mailbox->count;
    uint64_t deadline_ns =
        timeout_ms < 0 ? RTI_TIME_NEVER
                       : rti_deadline_after(worker->sched, (uint64_t)timeout_ms * RTI_NS_PER_MS);
    for (;;) {
        uint32_t event = bus_await(rti_worker_current(), subscription, deadline_ns);
        if (bus_take(rti_worker_current(), subscription, target)) {
            return RT_SUCCESS;
        }
        if (mailbox->count != mail_before) {
            return (rt_status){RT_ERR_WOULDBLOCK, RTI_SENTENCE("mail came before an entry did")};
        }
        if (event == RTI_EVENT_TIMEOUT) {
            return (rt_status){RT_ERR_TIMEOUT, RTI_SENTENCE("no entry came in time")};
        }
        RT_ASSERT(event == BUS_EVENT_DATA);
    }
}

rt_status rt_bus_read_wait(bus_id id, void *buf, size_t max_len, size_t *actual_len,
                           int32_t timeout_ms)
{
    struct bus_target target = {.buf = buf, .max_len = max_len, .actual_len = actual_len};
    struct rti_worker *worker = rti_worker_enter();
    struct rti_subscription *subscription = NULL;
    rt_status status = subscription_lock(worker, id, &subscription);
    if (RT_FAILED(status)) {
        return status;
    }
    if (!target_is_valid(&target)) {
        status = bus_no_target();
    } else if (!bus_take(worker, subscription, &target)) {
        status = timeout_ms == 0 ? bus_unread()
                                 : bus_read_waiting(worker, subscription, &target, timeout_ms);
    }
    subscription_unlock(subscription);
    return status;
}

size_t rt_bus_entry_count(bus_id id)
{
    struct rti_buses *buses = buses_of(rti_worker_enter());
    if (buses == NULL) {
        return 0;
    }
    rti_actors_lock(buses->actors);
    const struct rti_bus *bus = bus_lookup(buses, id);
    size_t count = bus == NULL ? 0 : bus->entries.count;
    rti_actors_unlock(buses->actors);
    return count;
}

rt_status rt_bus_dropped(bus_id id, uint64_t *out)
{
    struct rti_subscription *subscription = NULL;
    rt_status status = subscription_lock(rti_worker_enter(), id, &subscription);
    if (RT_FAILED(status)) {
        return status;
    }
    if (out == NULL) {
        status = (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is no place for the count")};
    } else {
        *out = subscription->bus->entries.cursors[subscription_number(subscription)].dropped;
    }
    subscription_unlock(subscription);
    return status;
}

/* Step four of a death. */
static void buses_subscriber_died(struct rti_death_hook *hook, struct rti_actor *actor)
{
    (void)hook;
    struct rti_link *at;
    while ((at = rti_list_peek(&actor->owned[RTI_OWNED_SUBSCRIPTIONS])) != NULL) {
        subscription_end(subscription_of(at));
    }
}

void rti_buses_init(struct rti_buses *buses, struct rti_actors *actors)
{
    RT_ASSERT(actors->sched->modules[RTI_MODULE_BUS] == NULL);
    buses->actors = actors;
    buses->on_death = (struct rti_death_hook){
        .is_of_owners = true, .list = RTI_OWNED_SUBSCRIPTIONS, .died = buses_subscriber_died};
    rti_handle_init(&buses->ids, buses->id_slots, RT_MAX_BUSES, RTI_INDEX_BITS(RT_MAX_BUSES));
    rti_death_hook_add(actors, RTI_DEATH_BUS, &buses->on_death);
    actors->sched->modules[RTI_MODULE_BUS] = buses;
}

void rti_buses_deinit(struct rti_buses *buses)
{
    RT_ASSERT(rti_actors_count(buses->actors) == 0);
    for (size_t i = 0; i < RT_MAX_BUSES; i++) {
        if (buses->id_slots[i].next == RTI_HANDLE_IN_USE) {
            bus_end(buses, &buses->table[i]);
        }
    }
    buses->actors->sched->modules[RTI_MODULE_BUS] = NULL;
}

static void bus_audit(const struct rti_bus *bus)
{
    rti_bus_entries_audit(&bus->entries);
    for (unsigned number = 0; number < RT_MAX_BUS_SUBSCRIBERS; number++) {
        if ((bus->entries.cursors_mask >> number & 1) != 0) {
            const struct rti_subscription *subscription = &bus->subscriptions[number];
            RT_ASSERT(subscription->bus == bus && rti_link_is_linked(&subscription->at_owner));
            RT_ASSERT(subscription_find(subscription->owner, bus) == subscription);
        }
    }
}

size_t rti_buses_audit(const struct rti_buses *buses)
{
    size_t blocks = 0;
    for (size_t i = 0; i < RT_MAX_BUSES; i++) {
        if (buses->id_slots[i].next == RTI_HANDLE_IN_USE) {
            bus_audit(&buses->table[i]);
            blocks += buses->table[i].entries.count;
        }
    }
    return blocks;
}

#endif
