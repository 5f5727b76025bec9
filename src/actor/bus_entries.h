/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_BUS_ENTRIES_H
#define RTI_BUS_ENTRIES_H

/* What a bus keeps: its entries in the order of publication, and a cursor for each subscriber. No
 * scheduler, no actors, no clock: the time is an argument.
 *
 * The entries of a bus are an array; those in use hang in one list, oldest first, the others in
 * another. An entry leaves the list from anywhere: by age and by eviction at the front, used up by
 * its readers in the middle as well, because a cursor that began later may be ahead of an older
 * one. Therefore it is not a ring of indices: a hole in a ring counts against its capacity although
 * nothing is there.
 *
 * A cursor points to the first entry that its subscriber has not read, and to nothing if it has
 * read all. What is published meets the cursors that point to nothing; what leaves pushes those
 * that point to it on to the entry behind. So a cursor only moves forward and shows an entry once,
 * a subscriber that takes over the number of another begins behind everything, and a read finds its
 * entry without a search.
 *
 * Each entry has the mask of those who have read it. Its population is the count of readers:
 * different subscribers, because no bit is set twice.
 *
 * I1  `count` is the number of entries in `live`, all others of the first max_entries are in
 *     `free`.                                                             (rti_bus_entries_audit)
 * I2  `seq` and `published_ms` do not fall along `live`.                  (rti_bus_entries_audit)
 * I3  A cursor in use is NULL or points to a live entry; the bits of its number are clear from
 *     there on.                                                           (rti_bus_entries_audit)
 * I4  No live entry has max_readers readers.                              (rti_bus_entries_audit)
 * I5  Each live entry owns one block of the pool.        (rti_pool_free panics on every other one)
 *
 * Costs: a read is constant; a publication and a removal look at each cursor in use. */

#include <orrery/rt/bus.h>
#include <orrery/rt_static_config.h>

#include "actor/ipc_pools.h"
#include "base/list.h"

struct rti_bus_entry {
    struct rti_link link;  /* `live` or `free` */
    void *block;           /* the payload, from the message pool */
    uint64_t seq;          /* publications before it on this bus */
    uint64_t published_ms; /* the clock then */
    uint32_t len;          /* bytes at `block` */
    uint32_t readers_mask; /* bit i: the subscriber with number i has read it */
};

struct rti_bus_cursor {
    struct rti_bus_entry *next; /* first one not read; NULL: all are */
    uint64_t dropped;           /* went by age or eviction before they were read */
};

struct rti_bus_entries {
    rt_bus_config config;
    struct rti_ipc_pools *pools; /* whose data blocks IPC uses too */
    struct rti_list live;        /* oldest first */
    struct rti_list free;
    size_t count;          /* of `live` */
    uint64_t published;    /* so far; the seq of the next one */
    uint32_t cursors_mask; /* bit i: cursors[i] is in use */
    struct rti_bus_cursor cursors[RT_MAX_BUS_SUBSCRIBERS];
    struct rti_bus_entry table[RT_MAX_BUS_ENTRIES];
};

/* True if every field is in its range. */
bool rti_bus_config_is_valid(const rt_bus_config *config);

/* Makes it empty; the configuration is valid. */
void rti_bus_entries_init(struct rti_bus_entries *entries, const rt_bus_config *config,
                          struct rti_ipc_pools *pools);

/* Gives all blocks back. */
void rti_bus_entries_deinit(struct rti_bus_entries *entries);

/* Removes what is too old. */
void rti_bus_entries_expire(struct rti_bus_entries *entries, uint64_t now_ms);

/* Appends a copy of the payload, whose length the caller has checked; the oldest entry goes if all
 * places are taken. RT_ERR_NOMEM, with nothing changed, if they are not and no block is left. */
rt_status rti_bus_entries_publish(struct rti_bus_entries *entries, const void *data, size_t len,
                                  uint64_t now_ms);

/* Begins a cursor behind everything that is there. Returns its number, the lowest that is free, or
 * -1 if max_subscribers are in use. */
int rti_bus_cursor_open(struct rti_bus_entries *entries);
void rti_bus_cursor_close(struct rti_bus_entries *entries, unsigned number);

/* The entry that the cursor would read; NULL if it has read all. */
static inline struct rti_bus_entry *rti_bus_cursor_peek(const struct rti_bus_entries *entries,
                                                        unsigned number)
{
    RT_DCHECK(number < RT_MAX_BUS_SUBSCRIBERS && (entries->cursors_mask >> number & 1) != 0);
    return entries->cursors[number].next;
}

/* Counts the read of what rti_bus_cursor_peek gave, moves the cursor on, and removes the entry if
 * that was the last of its readers: its payload has been copied before. */
void rti_bus_cursor_pass(struct rti_bus_entries *entries, unsigned number);

/* Checks I1 to I4. */
void rti_bus_entries_audit(const struct rti_bus_entries *entries);

#endif
