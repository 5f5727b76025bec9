/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_BLOB_H
#define RTI_BLOB_H

/* Blobs: counted bytes in an arena, and the holds of actors on them. The manual is
 * <orrery/rt/blob.h>.
 *
 * A hold is a record that hangs at its actor (attachment.h); that is how a killed actor gives back
 * what it held. A token is a hold that hangs nowhere: in a message its owner is the message, which
 * gives it back if nobody takes it (rti_blob_discard in the end of entries and cells).
 *
 * I1  The count of a blob is the number of its holds and tokens.       (rti_blobs_audit: at least)
 * I2  A blob is in the arena and in the table of names as long as its count is above 0.   (audit)
 * I3  Nobody writes a blob whose `is_shared` is set.                   (rt_blob_bytes)
 *
 * Who writes: `count` every holder (count.h); `is_shared` the one who made it, before there is
 * another holder; the tables under the module's lock; the list of an actor's holds the actor
 * itself, and its end. */

#include <orrery/rt/blob.h>
#include <orrery/rt_static_config.h>

#include "actor/actors.h"
#include "actor/attachment.h"
#include "actor/count.h"
#include "base/arena.h"
#include "base/handle.h"
#include "base/pool.h"
#include "sched/lock.h"

struct rti_blob {
    rti_atomic_u32 count;
    uint32_t name;
    uint32_t size;
    bool is_shared;
    unsigned char *bytes;
};

struct rt_blob {
    struct rti_attachment attachment; /* at its actor; unlinked for main */
    struct rti_blob *blob;
    uint32_t offset;
    uint32_t len;
};

struct rti_blobs {
    struct rti_actors *actors;
    struct rti_lock lock;
    struct rti_handle_table names;
    struct rti_handle_slot name_slots[RT_MAX_BLOBS];
    struct rti_blob table[RT_MAX_BLOBS];
    struct rti_pool holds;
    RTI_POOL_STORAGE(hold_memory, struct rt_blob, RT_MAX_BLOB_HOLDS);
    struct rti_arena arena;
    _Alignas(RTI_ARENA_GRANULE) unsigned char memory[RTI_ARENA_BYTES(RT_BLOB_MEMORY_SIZE)];
};

void rti_blobs_init(struct rti_blobs *module, struct rti_actors *actors);
/* Nothing lives; blobs that main has forgotten are forgotten. */
void rti_blobs_deinit(struct rti_blobs *module);
void rti_blobs_audit(const struct rti_blobs *module);

static inline struct rti_blobs *rti_blobs_at(const struct rti_sched *sched)
{
    return RT_HAS_BEHAVIOURS ? sched->modules[RTI_MODULE_BLOB] : NULL;
}

/* Gives back the hold that a message carries, unless it was taken. */
void rti_blob_discard(struct rti_sched *sched, const void *token);

/* The list that the records of the actor of either kind that runs here hang in; NULL: main. */
struct rti_list *rti_attachments_of(struct rti_worker *worker);

#endif
