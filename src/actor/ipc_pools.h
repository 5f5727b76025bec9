/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_IPC_POOLS_H
#define RTI_IPC_POOLS_H

/* The memory of messages: three pools that all actors share.
 *
 *     entries   RT_MAILBOX_ENTRY_POOL_SIZE   one per message of any mode
 *     data      RT_MESSAGE_DATA_POOL_SIZE    payloads of ASYNC messages and of bus entries
 *     sync      RT_SYNC_BUFFER_POOL_SIZE     payloads of SYNC messages
 *
 * A message is made whole or not at all: both blocks or none. A message of length 0 takes a payload
 * block too, as the specification has it.
 *
 * A payload of up to RTI_SMALL_MAX bytes lies in the entry itself and costs no second block. It
 * counts as one all the same: the data pool is used up when blocks and small payloads together
 * reach its size, so what a program can send does not depend on the lengths it sends. Everyone who
 * takes data blocks asks rti_ipc_pools_data_alloc. Where only messages take blocks, and there are
 * no fewer blocks than entries, entries run out first: nobody need count.
 *
 * Where a SYNC payload starts in its buffer moves with each use of the buffer, in SYNC_TURNS steps.
 * A SYNC message is released by identity, and its data pointer is that identity. With a fixed start
 * a release that comes late, for a message already released by the next receive, would name the
 * next message if that one got the same buffer, and end it under its reader's eyes.
 *
 * I1  An ASYNC or CALL entry owns one data block or is counted in `small_count`, a SYNC entry owns
 *     one sync buffer.                                                     (rti_actors_audit)
 * I2  data in use + small_count <= RT_MESSAGE_DATA_POOL_SIZE.              (rti_ipc_pools_audit)
 *
 * Costs: two pool operations each way; the copy. */

#include <string.h>

#include <orrery/rt_static_config.h>

#include "actor/mailbox.h"
#include "base/pool.h"
#include "sched/trace.h"

#define RTI_MESSAGE_ALIGNMENT _Alignof(max_align_t)
#define RTI_SYNC_TURNS        4
#define RTI_SMALL_MAX         16

/* Can the data pool be used up before the entries are? */
#define RTI_PAYLOADS_COUNT                                                                         \
    (RT_HAS_BUS || RT_CHECKS || RT_MESSAGE_DATA_POOL_SIZE < RT_MAILBOX_ENTRY_POOL_SIZE)

/* An entry as it lies in the pool. */
struct rti_pooled_entry {
    struct rti_entry entry;
    _Alignas(max_align_t) unsigned char small[RTI_SMALL_MAX];
};
_Static_assert(offsetof(struct rti_pooled_entry, entry) == 0, "the entry is where the block is");
_Static_assert(offsetof(struct rti_pooled_entry, small) - sizeof(struct rti_notice) <
                   _Alignof(max_align_t),
               "what lies right behind a notice is refused by rti_notice_init");

struct rti_message_block {
    _Alignas(max_align_t) unsigned char bytes[RT_MAX_MESSAGE_SIZE];
};

struct rti_sync_buffer {
    _Alignas(max_align_t) unsigned char bytes[RT_MAX_MESSAGE_SIZE +
                                              (RTI_SYNC_TURNS - 1) * RTI_MESSAGE_ALIGNMENT];
};

struct rti_ipc_pools {
    struct rti_pool entries;
    struct rti_pool data;
    struct rti_pool sync;
#if RTI_PAYLOADS_COUNT
    uint32_t small_count; /* payloads that lie in their entries */
#endif
#if RTI_TRACES_TRAVEL
    struct rt_trace traces[RT_MAILBOX_ENTRY_POOL_SIZE]; /* by entry, of those with has_trace */
#endif
    uint8_t sync_turns[RT_SYNC_BUFFER_POOL_SIZE]; /* where the buffer's next payload starts */
    RTI_POOL_STORAGE(entry_memory, struct rti_pooled_entry, RT_MAILBOX_ENTRY_POOL_SIZE);
    RTI_POOL_STORAGE(data_memory, struct rti_message_block, RT_MESSAGE_DATA_POOL_SIZE);
    RTI_POOL_STORAGE(sync_memory, struct rti_sync_buffer, RT_SYNC_BUFFER_POOL_SIZE);
};

void rti_ipc_pools_init(struct rti_ipc_pools *pools);

/* All blocks are free. */
void rti_ipc_pools_deinit(struct rti_ipc_pools *pools);

/* Payloads of ASYNC messages and bus entries that are there now. */
static inline size_t rti_ipc_pools_data_in_use(const struct rti_ipc_pools *pools)
{
#if RTI_PAYLOADS_COUNT
    return rti_pool_in_use(&pools->data) + pools->small_count;
#else
    return rti_pool_in_use(&pools->entries) - rti_pool_in_use(&pools->sync);
#endif
}

/* Is there room for one more? */
static inline bool rti_ipc_pools_has_data(const struct rti_ipc_pools *pools)
{
    return !RTI_PAYLOADS_COUNT || rti_ipc_pools_data_in_use(pools) < RT_MESSAGE_DATA_POOL_SIZE;
}

/* One more or one less payload lies in its entry. */
static inline void rti_ipc_pools_count_small(struct rti_ipc_pools *pools, int step)
{
#if RTI_PAYLOADS_COUNT
    pools->small_count += (uint32_t)step;
#else
    (void)pools;
    (void)step;
#endif
}

/* A block for a payload of any length; NULL when the data pool is used up. rti_pool_free gives it
 * back. */
static inline void *rti_ipc_pools_data_alloc(struct rti_ipc_pools *pools)
{
    return rti_ipc_pools_has_data(pools) ? rti_pool_alloc(&pools->data) : NULL;
}

/* Copies up to RTI_SMALL_MAX bytes in at most two moves; a call to memcpy takes longer. */
static inline void rti_ipc_copy_small(unsigned char *to, const unsigned char *from, size_t len)
{
#if RTI_ONE_WORKER
    if (RTI_LIKELY(len == sizeof(uint32_t))) {
        memcpy(to, from, sizeof(uint32_t)); /* a word, on a machine of words */
    } else {
        memcpy(to, from, len);
    }
#else
    if (len >= 8) {
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len >= 4) {
        memcpy(to, from, 4);
        memcpy(to + len - 4, from + len - 4, 4);
    } else {
        for (size_t i = 0; i < len; i++) {
            to[i] = from[i];
        }
    }
#endif
}

/* Fills a taken block as an unlinked ASYNC entry with a small payload. */
static inline struct rti_entry *rti_ipc_pools_fill_small(struct rti_ipc_pools *pools,
                                                         struct rti_pooled_entry *pooled,
                                                         const void *data, size_t len)
{
    struct rti_entry *entry = &pooled->entry;
    RT_DCHECK(len <= RTI_SMALL_MAX);
    rti_ipc_copy_small(pooled->small, data, len);
    entry->data = pooled->small;
    rti_ipc_pools_count_small(pools, 1);
    rti_link_init(&entry->link);
    entry->len = (rti_entry_len)len;
    entry->kind = RTI_ENTRY_ASYNC;
    entry->has_trace = false;
    return entry;
}

/* The same as rti_ipc_pools_make for a small payload, without a call; NULL, with nothing taken,
 * also if the entry would be a fresh one. */
static inline struct rti_entry *rti_ipc_pools_make_quick(struct rti_ipc_pools *pools,
                                                         const void *data, size_t len)
{
    if (RTI_UNLIKELY(!rti_ipc_pools_has_data(pools))) {
        return NULL;
    }
    struct rti_pooled_entry *pooled =
        rti_pool_reuse(&pools->entries, sizeof(struct rti_pooled_entry));
    return RTI_LIKELY(pooled != NULL) ? rti_ipc_pools_fill_small(pools, pooled, data, len) : NULL;
}

/* Makes an unlinked ASYNC entry with a copy of the payload; NULL, with nothing taken, if a pool is
 * used up. The caller has checked `len` and gives the entry its sender. */
struct rti_entry *rti_ipc_pools_make(struct rti_ipc_pools *pools, const void *data, size_t len);

/* Makes an unlinked SYNC entry with a copy of the payload; NULL, with nothing taken, if a pool is
 * used up. The caller has checked `len`. */
struct rti_entry *rti_ipc_pools_make_sync(struct rti_ipc_pools *pools, const void *data,
                                          size_t len);

/* Ends an entry of any kind: a SYNC sender goes on with `result`, a notice is given back to its
 * maker, pool memory is freed. */
void rti_ipc_pools_end(struct rti_ipc_pools *pools, struct rti_entry *entry, rt_status_code result);

/* Does the payload of this ASYNC or CALL entry lie in the entry? */
static inline bool rti_ipc_pools_is_small(const struct rti_entry *entry)
{
    /* By the address alone: a notice is asked too, and lies in no such block. */
    return entry->data == (const char *)entry + offsetof(struct rti_pooled_entry, small);
}

/* Is any entry an ASYNC or CALL one whose payload lies in it? Of the others only the token of a
 * blob lies there. */
static inline bool rti_ipc_pools_is_plain(const struct rti_entry *entry)
{
    return rti_ipc_pools_is_small(entry) &&
           (!RT_HAS_BEHAVIOURS || RTI_LIKELY(entry->kind <= RTI_ENTRY_CALL));
}

/* Ends an ASYNC or CALL entry whose payload lies in it. */
static inline void rti_ipc_pools_free_small(struct rti_ipc_pools *pools, struct rti_entry *entry)
{
    RT_DCHECK(entry->kind <= RTI_ENTRY_CALL && rti_ipc_pools_is_small(entry));
    rti_ipc_pools_count_small(pools, -1);
    rti_pool_free_sized(&pools->entries, entry, sizeof(struct rti_pooled_entry));
}

/* The same for an ASYNC or CALL entry. */
static inline void rti_ipc_pools_free(struct rti_ipc_pools *pools, struct rti_entry *entry)
{
    RT_DCHECK(entry->kind <= RTI_ENTRY_BLOB);
    struct rti_pooled_entry *pooled = RTI_CONTAINER_OF(entry, struct rti_pooled_entry, entry);
    if (entry->data == pooled->small) {
        rti_ipc_pools_count_small(pools, -1);
    } else {
        rti_pool_free(&pools->data, (void *)(uintptr_t)entry->data);
    }
    rti_pool_free(&pools->entries, pooled);
}

/* Where the context of an entry is kept that came out of these pools. */
static inline struct rt_trace *rti_ipc_pools_trace(struct rti_ipc_pools *pools,
                                                   const struct rti_entry *entry)
{
#if RTI_TRACES_TRAVEL
    return &pools->traces[rti_pool_index(&pools->entries, entry)];
#else
    (void)pools;
    (void)entry;
    return NULL;
#endif
}

/* Checks I2 and the pools. */
void rti_ipc_pools_audit(const struct rti_ipc_pools *pools);

#endif
