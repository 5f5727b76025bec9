/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_IPC_POOLS_H
#define RTI_IPC_POOLS_H

/* The memory of messages: three pools that all actors share.
 *
 *     entries   RT_MAILBOX_ENTRY_POOL_SIZE   one per message of any mode
 *     data      RT_MESSAGE_DATA_POOL_SIZE    payloads of ASYNC messages and of bus entries
 *     sync      RT_SYNC_BUFFER_POOL_SIZE     payloads of SYNC messages
 *
 * A message is made whole or not at all: rti_ipc_pools_make takes both blocks or none. A message of
 * length 0 takes a payload block too, as the specification has it.
 *
 * Where a SYNC payload starts in its buffer moves with each use of the buffer, in SYNC_TURNS steps.
 * A SYNC message is released by identity, and its data pointer is that identity. With a fixed start
 * a release that comes late, for a message already released by the next receive, would name the
 * next message if that one got the same buffer, and end it under its reader's eyes.
 *
 * I1  An ASYNC or CALL entry owns one data block, a SYNC entry one sync buffer.   (the ledger of
 *     rti_actors_audit)
 *
 * Costs: two pool operations each way; the copy. */

#include <string.h>

#include <orrery/rt_static_config.h>

#include "actor/mailbox.h"
#include "base/pool.h"

#define RTI_MESSAGE_ALIGNMENT _Alignof(max_align_t)
#define RTI_SYNC_TURNS        4

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
    uint8_t sync_turns[RT_SYNC_BUFFER_POOL_SIZE]; /* where the buffer's next payload starts */
    RTI_POOL_STORAGE(entry_memory, struct rti_entry, RT_MAILBOX_ENTRY_POOL_SIZE);
    RTI_POOL_STORAGE(data_memory, struct rti_message_block, RT_MESSAGE_DATA_POOL_SIZE);
    RTI_POOL_STORAGE(sync_memory, struct rti_sync_buffer, RT_SYNC_BUFFER_POOL_SIZE);
};

void rti_ipc_pools_init(struct rti_ipc_pools *pools);

/* All blocks are free. */
void rti_ipc_pools_deinit(struct rti_ipc_pools *pools);

/* Makes an unlinked ASYNC entry with a copy of the payload; NULL, with nothing taken, if a pool is
 * used up. The caller has checked `len` and gives the entry its sender. */
static inline struct rti_entry *rti_ipc_pools_make(struct rti_ipc_pools *pools, const void *data,
                                                   size_t len)
{
    RT_DCHECK(len <= RT_MAX_MESSAGE_SIZE);
    void *block = rti_pool_alloc(&pools->data);
    if (RTI_UNLIKELY(block == NULL)) {
        return NULL;
    }
    struct rti_entry *entry = rti_pool_alloc(&pools->entries);
    if (RTI_UNLIKELY(entry == NULL)) {
        rti_pool_free(&pools->data, block);
        return NULL;
    }
    if (len > 0) {
        memcpy(block, data, len);
    }
    rti_link_init(&entry->link);
    entry->data = block;
    entry->waiting = NULL;
    entry->len = (uint32_t)len;
    entry->call_serial = 0;
    entry->kind = RTI_ENTRY_ASYNC;
    return entry;
}

/* Makes an unlinked SYNC entry with a copy of the payload; NULL, with nothing taken, if a pool is
 * used up. The caller has checked `len`. */
struct rti_entry *rti_ipc_pools_make_sync(struct rti_ipc_pools *pools, const void *data,
                                          size_t len);

/* Ends an entry of any kind: a SYNC sender goes on with `result`, a notice is given back to its
 * maker, pool memory is freed. */
void rti_ipc_pools_end(struct rti_ipc_pools *pools, struct rti_entry *entry, rt_status_code result);

/* The same for an ASYNC or CALL entry. */
static inline void rti_ipc_pools_free(struct rti_ipc_pools *pools, struct rti_entry *entry)
{
    RT_DCHECK(entry->kind == RTI_ENTRY_ASYNC || entry->kind == RTI_ENTRY_CALL);
    rti_pool_free(&pools->data, (void *)(uintptr_t)entry->data);
    rti_pool_free(&pools->entries, entry);
}

#endif
