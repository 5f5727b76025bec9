/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_BUS_H
#define ORRERY_RT_BUS_H

/* Buses: what one actor publishes, every subscriber can read, each at its own pace.
 *
 * A bus keeps its entries in the order of publication. Each subscriber has a cursor: it begins at
 * the next publication, never shows what was published before the subscription, and shows every
 * later entry at most once. Who publishes and subscribes reads its own entries too.
 *
 * An entry goes as soon as one of three things happens: `max_readers` different subscribers have
 * read it, it is `max_age_ms` old, or a publication finds the bus full and this entry is the
 * oldest. A subscriber that was too slow is not told: its next read gives the oldest entry that is
 * left. rt_bus_dropped counts what it missed.
 *
 * The age is looked at in every read and publication, in whole milliseconds of the clock: an entry
 * lives up to one millisecond less than max_age_ms, never longer than the next look after it.
 *
 * Payloads lie in the pool that IPC_ASYNC messages use: one block per entry, however short. A bus
 * that keeps much can starve the messages of all actors, and the other way round. A full bus
 * publishes even if that pool is used up, because the entry that goes makes room.
 *
 * A bus belongs to nobody. It outlives the actor that made it and lives until rt_bus_destroy or
 * rt_cleanup. Subscriptions belong to actors and end with them.
 *
 * What is wrong with the caller's use of a bus, such as a second subscription or the destruction of
 * a bus that has subscribers, is RT_ERR_INVALID with a sentence that says what. */

#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

typedef struct {
    uint8_t max_subscribers; /* concurrent subscribers, 1 to RT_MAX_BUS_SUBSCRIBERS */
    uint8_t max_readers;     /* an entry goes after so many reads, 0: never; to max_subscribers */
    uint32_t max_age_ms;     /* an entry goes when it is so old, 0: never */
    size_t max_entries;      /* entries kept, 1 to RT_MAX_BUS_ENTRIES */
    size_t max_entry_size;   /* bytes of one payload, 1 to RT_MAX_MESSAGE_SIZE */
} rt_bus_config;

/* Makes an empty bus.
 * Callable from actors, and from main on the runtime's thread.
 * Never suspends.
 * `cfg` is read during the call only; `out` stays the caller's and is untouched on failure.
 * Returns RT_OK and writes the id; RT_ERR_INVALID if a pointer is NULL or a field is out of its
 * range; RT_ERR_NOMEM if RT_MAX_BUSES buses exist; RT_ERR_THREAD on a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API rt_status rt_bus_create(const rt_bus_config *cfg, bus_id *out);

/* Ends a bus that nobody subscribes to, with all its entries. Anybody may, not only its maker.
 * Callable from actors, and from main on the runtime's thread.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK, and the id names nothing from then on; RT_ERR_INVALID if there is no such bus or
 * it has subscribers; RT_ERR_THREAD on a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API rt_status rt_bus_destroy(bus_id bus);

/* Publishes an entry and wakes the subscribers that wait for one, who has waited longest first. If
 * the bus is full its oldest entry goes, read or not.
 * Callable from actors, and from main on the runtime's thread.
 * Never suspends.
 * `data` is copied and stays the caller's; it may be NULL if `len` is 0.
 * Returns RT_OK; RT_ERR_INVALID if there is no such bus, `data` is NULL and `len` is not 0, or
 * `len` exceeds the bus's max_entry_size; RT_ERR_NOMEM if the bus is not full and the message pool
 * is used up, and then no entry was dropped for it; RT_ERR_THREAD on a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API rt_status rt_bus_publish(bus_id bus, const void *data, size_t len);

/* Subscribes the calling actor: it can read what is published from now on.
 * Callable from an actor.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_INVALID if there is no such bus or the caller subscribes to it already;
 * RT_ERR_NOMEM if the bus has max_subscribers subscribers; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API rt_status rt_bus_subscribe(bus_id bus);

/* Ends the calling actor's subscription. Its reads still count for the entries it has read.
 * Callable from an actor.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_INVALID if there is no such bus or the caller does not subscribe to it;
 * RT_ERR_THREAD outside of an actor.
 * What was not read is lost to the caller, which is what was asked for; nothing is lost on cancel.
 */
RT_API rt_status rt_bus_unsubscribe(bus_id bus);

/* Reads the oldest entry that the caller has not read. If it is longer than the buffer, what fits
 * is copied, that length is reported, and the rest cannot be read any more. Callable from an actor
 * that subscribes to the bus. Never suspends. `buf` and `actual_len` stay the caller's and are
 * untouched on failure; `buf` may be NULL if `max_len` is 0. `*actual_len` never exceeds `max_len`.
 * Returns RT_OK; RT_ERR_WOULDBLOCK if there is nothing to read; RT_ERR_INVALID if there is no such
 * bus, the caller does not subscribe to it, `actual_len` is NULL, or `buf` is NULL and `max_len` is
 * not 0; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API rt_status rt_bus_read(bus_id bus, void *buf, size_t max_len, size_t *actual_len);

/* Reads as rt_bus_read does, and waits if there is nothing to read: for ever if `timeout_ms` is
 * negative, else for so many milliseconds. A message that comes into the caller's mailbox meanwhile
 * ends the wait; the message stays there for rt_ipc_recv. Mail that was there before does not: who
 * waits for both receives what there is, with a timeout of 0, before it waits here.
 * Callable from an actor that subscribes to the bus.
 * Suspends if there is nothing to read and `timeout_ms` is not 0.
 * `buf` and `actual_len` are as for rt_bus_read.
 * Returns RT_OK; RT_ERR_WOULDBLOCK if there is nothing to read and `timeout_ms` is 0, or mail came;
 * RT_ERR_TIMEOUT if nothing came in time; RT_ERR_INVALID and RT_ERR_THREAD as rt_bus_read does.
 * Nothing is lost on cancel, timeout or mail: nothing has been consumed then. */
RT_API RT_SUSPENDS rt_status rt_bus_read_wait(bus_id bus, void *buf, size_t max_len,
                                              size_t *actual_len, int32_t timeout_ms);

/* Counts the entries that a bus keeps, each of which holds a block of the message pool. Those that
 * are too old count until a read or a publication finds that out.
 * Callable from actors, and from main on the runtime's thread.
 * Never suspends.
 * There is no pointer to own.
 * Returns the number; 0 if there is no such bus, or no runtime on this thread.
 * Nothing is lost on cancel. */
RT_API size_t rt_bus_entry_count(bus_id bus);

/* Tells how many entries the calling subscriber has missed since it subscribed: those that went
 * because the bus was full or because of their age before it read them. Entries that other
 * subscribers used up (max_readers) are not missed.
 * Callable from an actor that subscribes to the bus.
 * Never suspends.
 * `out` stays the caller's and is untouched on failure.
 * Returns RT_OK and writes the count; RT_ERR_INVALID if there is no such bus, the caller does not
 * subscribe to it, or `out` is NULL; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_bus_dropped(bus_id bus, uint64_t *out);

RT_EXTERN_C_END

#endif
