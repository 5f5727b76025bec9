/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PERMIT_H
#define RTI_PERMIT_H

/* The record behind an rt_send_permit.
 *
 * Records lie in a pool of the runtime, not in the caller's frame: the frame may be left without
 * the permit being resolved, and the cleanup stack must still find it. The caller holds a record's
 * place in the pool and its serial number; serial numbers are never used twice, so a permit that is
 * resolved, or a copy of one, is refused for ever.
 *
 * A record is free, or lent to a sender that waits (`waiter` is set, perhaps armed already: the
 * grant), or armed and held by the user. It is armed iff `channel` is not NULL; then it owns a slot
 * of that channel and is in its list.
 *
 * Several workers. `channel` and `waiter` of an armed record change under the lock of its channel,
 * the free records
 * and the serial numbers under that of the module; so an armed record keeps its number. A cleanup
 * stack is its holder's alone: so a permit that a region revokes stays on it, not armed, until the
 * holder resolves it in vain or ends.
 *
 * I1  serial is 0 iff the record is free.                                      (rti_permits_audit)
 * I2  An armed record held by the user of a context or fiber is on its cleanup stack.
 *                                                                              (permit_hold)
 *
 * Rejected: the record inside rt_send_permit (a dead frame corrupts the cleanup stack); one record
 * per slot of each channel (40 bytes for values of 8). */

#include <orrery/rt/channel.h>
#include <orrery/rt_static_config.h>

#include "base/atomic.h"
#include "base/list.h"
#include "sched/cleanup.h"

struct rti_channel;
struct rti_channel_waiter;
struct rti_channels;

struct rti_permit {
    struct rti_cleanup cleanup;        /* on the holder's stack */
    struct rti_link link;              /* in channel->permits while armed */
    rti_atomic_ptr channel;            /* NULL: not armed */
    struct rti_channel_waiter *waiter; /* a sender in line that it is lent to */
    uint64_t serial;                   /* 0: free */
    uint32_t offset;                   /* of its slot, while armed */
    uint32_t next_free;
};

struct rti_permits {
    uint64_t last_serial;
    uint32_t free_head; /* RT_MAX_SEND_PERMITS if none */
    uint32_t used_count;
    struct rti_permit records[RT_MAX_SEND_PERMITS];
};

static inline struct rti_channel *rti_permit_channel(const struct rti_permit *permit)
{
    return rti_ptr_load_relaxed(&permit->channel);
}

void rti_permits_init(struct rti_permits *permits);

/* A record that is not armed, or NULL if all are in use. No channel is entered. */
struct rti_permit *rti_permit_alloc(struct rti_channels *channels);

/* Ends a record that is not armed. No channel is entered. */
void rti_permit_free(struct rti_channels *channels, struct rti_permit *permit);

/* Takes an armed permit away from whoever holds it, for a region that is finalized; the channel is
 * entered. True if the record is the caller's to free. */
bool rti_permit_revoke(struct rti_channels *channels, struct rti_permit *permit,
                       struct rti_list *wakes);

/* Checks I1 and returns how many records are armed. */
size_t rti_permits_audit(const struct rti_permits *permits);

#endif
