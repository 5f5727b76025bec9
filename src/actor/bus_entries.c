/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "bus_entries"
#include "actor/bus_entries.h"

#include <string.h>

#if RT_HAS_BUS

_Static_assert(RT_MAX_BUS_SUBSCRIBERS == 32, "the readers of an entry are a mask of 32 bits");
_Static_assert(RT_MAX_BUS_ENTRIES > 0, "a bus without a place for an entry");

static struct rti_bus_entry *entry_of(struct rti_link *link)
{
    return link == NULL ? NULL : RTI_CONTAINER_OF(link, struct rti_bus_entry, link);
}

static struct rti_bus_entry *entries_oldest(const struct rti_bus_entries *entries)
{
    return entry_of(rti_list_peek(&entries->live));
}

static struct rti_bus_entry *entries_after(const struct rti_bus_entries *entries,
                                           const struct rti_bus_entry *entry)
{
    return entry_of(rti_list_next(&entries->live, &entry->link));
}

static uint32_t cursor_bit(unsigned number)
{
    RT_DCHECK(number < RT_MAX_BUS_SUBSCRIBERS);
    return UINT32_C(1) << number;
}

bool rti_bus_config_is_valid(const rt_bus_config *config)
{
    return config->max_subscribers >= 1 && config->max_subscribers <= RT_MAX_BUS_SUBSCRIBERS &&
           config->max_readers <= config->max_subscribers && config->max_entries >= 1 &&
           config->max_entries <= RT_MAX_BUS_ENTRIES && config->max_entry_size >= 1 &&
           config->max_entry_size <= RT_MAX_MESSAGE_SIZE;
}

void rti_bus_entries_init(struct rti_bus_entries *entries, const rt_bus_config *config,
                          struct rti_ipc_pools *pools)
{
    RT_ASSERT(rti_bus_config_is_valid(config));
    entries->config = *config;
    entries->pools = pools;
    rti_list_init(&entries->live);
    rti_list_init(&entries->free);
    for (size_t i = 0; i < config->max_entries; i++) {
        rti_link_init(&entries->table[i].link);
        rti_list_push_tail(&entries->free, &entries->table[i].link);
    }
    entries->count = 0;
    entries->published = 0;
    entries->cursors_mask = 0;
}

/* Takes an entry out. Cursors that point to it go on to the next one; with `is_dropped` they have
 * missed it. */
static void entries_remove(struct rti_bus_entries *entries, struct rti_bus_entry *entry,
                           bool is_dropped)
{
    RT_ASSERT(entries->count > 0);
    struct rti_bus_entry *after = entries_after(entries, entry);
    for (uint32_t left = entries->cursors_mask; left != 0; left &= left - 1) {
        struct rti_bus_cursor *cursor = &entries->cursors[__builtin_ctz(left)];
        if (cursor->next == entry) {
            cursor->next = after;
            cursor->dropped += is_dropped;
        }
    }
    rti_list_remove(&entry->link);
    rti_list_push_head(&entries->free, &entry->link);
    rti_pool_free(&entries->pools->data, entry->block);
    entries->count--;
}

void rti_bus_entries_deinit(struct rti_bus_entries *entries)
{
    RT_ASSERT(entries->cursors_mask == 0);
    struct rti_bus_entry *entry;
    while ((entry = entries_oldest(entries)) != NULL) {
        entries_remove(entries, entry, false);
    }
}

void rti_bus_entries_expire(struct rti_bus_entries *entries, uint64_t now_ms)
{
    uint32_t age_ms_max = entries->config.max_age_ms;
    struct rti_bus_entry *oldest;
    while (age_ms_max != 0 && (oldest = entries_oldest(entries)) != NULL &&
           now_ms - oldest->published_ms >= age_ms_max) {
        RT_DCHECK(now_ms >= oldest->published_ms);
        entries_remove(entries, oldest, true);
    }
}

/* Shows a new entry to those who had read everything. */
static void entries_append(struct rti_bus_entries *entries, struct rti_bus_entry *entry)
{
    rti_list_push_tail(&entries->live, &entry->link);
    entries->count++;
    for (uint32_t left = entries->cursors_mask; left != 0; left &= left - 1) {
        struct rti_bus_cursor *cursor = &entries->cursors[__builtin_ctz(left)];
        if (cursor->next == NULL) {
            cursor->next = entry;
        }
    }
}

rt_status rti_bus_entries_publish(struct rti_bus_entries *entries, const void *data, size_t len,
                                  uint64_t now_ms)
{
    RT_DCHECK(len <= entries->config.max_entry_size && (data != NULL || len == 0));
    if (entries->count >= entries->config.max_entries) {
        entries_remove(entries, entries_oldest(entries), true);
    }
    void *block = rti_ipc_pools_data_alloc(entries->pools);
    if (RTI_UNLIKELY(block == NULL)) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no message block is left")};
    }
    struct rti_bus_entry *entry = entry_of(rti_list_pop(&entries->free));
    RT_ASSERT(entry != NULL);
    if (len > 0) {
        memcpy(block, data, len);
    }
    entry->block = block;
    entry->seq = entries->published++;
    entry->published_ms = now_ms;
    entry->len = (uint32_t)len;
    entry->readers_mask = 0;
    entries_append(entries, entry);
    return RT_SUCCESS;
}

int rti_bus_cursor_open(struct rti_bus_entries *entries)
{
    uint32_t free_mask = ~entries->cursors_mask;
    int number = free_mask == 0 ? RT_MAX_BUS_SUBSCRIBERS : __builtin_ctz(free_mask);
    if (number >= entries->config.max_subscribers) {
        return -1;
    }
    entries->cursors_mask |= cursor_bit((unsigned)number);
    entries->cursors[number] = (struct rti_bus_cursor){.next = NULL, .dropped = 0};
    return number;
}

void rti_bus_cursor_close(struct rti_bus_entries *entries, unsigned number)
{
    RT_ASSERT((entries->cursors_mask & cursor_bit(number)) != 0);
    entries->cursors_mask &= ~cursor_bit(number);
}

void rti_bus_cursor_pass(struct rti_bus_entries *entries, unsigned number)
{
    struct rti_bus_entry *entry = rti_bus_cursor_peek(entries, number);
    RT_ASSERT(entry != NULL && (entry->readers_mask & cursor_bit(number)) == 0);
    entry->readers_mask |= cursor_bit(number);
    entries->cursors[number].next = entries_after(entries, entry);
    uint8_t max_readers = entries->config.max_readers;
    if (max_readers != 0 && __builtin_popcount(entry->readers_mask) >= max_readers) {
        entries_remove(entries, entry, false);
    }
}

/* The cursor of `number` points into the list, and what it points to and all behind is unread. */
static void entries_audit_cursor(const struct rti_bus_entries *entries, unsigned number)
{
    const struct rti_bus_entry *next = entries->cursors[number].next;
    bool is_ahead = false;
    for (const struct rti_bus_entry *at = entries_oldest(entries); at != NULL;
         at = entries_after(entries, at)) {
        is_ahead = is_ahead || at == next;
        RT_ASSERT(!is_ahead || (at->readers_mask & cursor_bit(number)) == 0);
    }
    RT_ASSERT(is_ahead == (next != NULL));
}

void rti_bus_entries_audit(const struct rti_bus_entries *entries)
{
    const rt_bus_config *config = &entries->config;
    RT_ASSERT(rti_list_audit(&entries->live) == entries->count);
    RT_ASSERT(rti_list_audit(&entries->free) == config->max_entries - entries->count);
    const struct rti_bus_entry *before = NULL;
    for (const struct rti_bus_entry *at = entries_oldest(entries); at != NULL;
         at = entries_after(entries, at)) {
        RT_ASSERT(at->seq < entries->published && at->len <= config->max_entry_size);
        RT_ASSERT(before == NULL ||
                  (before->seq < at->seq && before->published_ms <= at->published_ms));
        RT_ASSERT(config->max_readers == 0 ||
                  __builtin_popcount(at->readers_mask) < config->max_readers);
        RT_ASSERT(rti_pool_is_in_use(&entries->pools->data, at->block));
        before = at;
    }
    for (uint32_t left = entries->cursors_mask; left != 0; left &= left - 1) {
        RT_ASSERT(__builtin_ctz(left) < config->max_subscribers);
        entries_audit_cursor(entries, (unsigned)__builtin_ctz(left));
    }
}

#endif
