/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "ipc_pools"
#include "actor/ipc_pools.h"

#include "actor/blob.h"

_Static_assert(RT_MAX_MESSAGE_SIZE > 0 && RT_MAX_MESSAGE_SIZE <= UINT32_MAX / 2,
               "the length of a message is 32 bits");

void rti_ipc_pools_init(struct rti_ipc_pools *pools)
{
    rti_pool_init(&pools->entries, pools->entry_memory, sizeof(struct rti_pooled_entry),
                  RT_MAILBOX_ENTRY_POOL_SIZE);
    rti_pool_init(&pools->data, pools->data_memory, sizeof(struct rti_message_block),
                  RT_MESSAGE_DATA_POOL_SIZE);
    rti_pool_init(&pools->sync, pools->sync_memory, sizeof(struct rti_sync_buffer),
                  RT_SYNC_BUFFER_POOL_SIZE);
#if RTI_PAYLOADS_COUNT
    pools->small_count = 0;
#endif
    memset(pools->sync_turns, 0, sizeof(pools->sync_turns));
}

void rti_ipc_pools_deinit(struct rti_ipc_pools *pools)
{
#if RTI_PAYLOADS_COUNT
    RT_ASSERT(pools->small_count == 0);
#endif
    rti_pool_deinit(&pools->entries);
    rti_pool_deinit(&pools->data);
    rti_pool_deinit(&pools->sync);
}

struct rti_entry *rti_ipc_pools_make(struct rti_ipc_pools *pools, const void *data, size_t len)
{
    RT_DCHECK(len <= RT_MAX_MESSAGE_SIZE);
    if (!rti_ipc_pools_has_data(pools)) {
        return NULL;
    }
    struct rti_pooled_entry *pooled = rti_pool_alloc(&pools->entries);
    if (pooled == NULL) {
        return NULL;
    }
    if (len <= RTI_SMALL_MAX) {
        return rti_ipc_pools_fill_small(pools, pooled, data, len);
    }
    void *block = rti_pool_alloc(&pools->data);
    RT_ASSERT(block != NULL);
    memcpy(block, data, len);
    struct rti_entry *entry = &pooled->entry;
    rti_link_init(&entry->link);
    entry->data = block;
    entry->len = (rti_entry_len)len;
    entry->kind = RTI_ENTRY_ASYNC;
    entry->has_trace = false;
    return entry;
}

struct rti_entry *rti_ipc_pools_make_sync(struct rti_ipc_pools *pools, const void *data, size_t len)
{
    RT_DCHECK(len <= RT_MAX_MESSAGE_SIZE);
    struct rti_sync_buffer *buffer = rti_pool_alloc(&pools->sync);
    if (buffer == NULL) {
        return NULL;
    }
    struct rti_pooled_entry *pooled = rti_pool_alloc(&pools->entries);
    if (pooled == NULL) {
        rti_pool_free(&pools->sync, buffer);
        return NULL;
    }
    struct rti_entry *entry = &pooled->entry;
    uint8_t *turn = &pools->sync_turns[rti_pool_index(&pools->sync, buffer)];
    unsigned char *start = buffer->bytes + *turn * RTI_MESSAGE_ALIGNMENT;
    *turn = (uint8_t)((*turn + 1) % RTI_SYNC_TURNS);
    if (len > 0) {
        memcpy(start, data, len);
    }
    *entry = (struct rti_entry){.data = start, .len = (rti_entry_len)len, .kind = RTI_ENTRY_SYNC};
    return entry;
}

static void ipc_pools_end_sync(struct rti_ipc_pools *pools, struct rti_entry *entry,
                               rt_status_code result)
{
    rti_entry_end_sync(entry, result);
    size_t offset = (size_t)((const unsigned char *)entry->data - pools->sync.blocks);
    size_t index = offset / sizeof(struct rti_sync_buffer);
    rti_pool_free(&pools->sync, rti_pool_block(&pools->sync, index));
    rti_pool_free(&pools->entries, entry);
}

void rti_ipc_pools_end(struct rti_ipc_pools *pools, struct rti_entry *entry, rt_status_code result)
{
    RT_DCHECK(!rti_link_is_linked(&entry->link));
    if (entry->kind == RTI_ENTRY_SYNC) {
        ipc_pools_end_sync(pools, entry, result);
    } else if (rti_entry_is_notice(entry)) {
        struct rti_notice *notice = rti_notice_of(entry);
        if (entry->release != NULL) {
            entry->release(notice);
        }
    } else {
        if (RT_HAS_BEHAVIOURS && RTI_UNLIKELY(entry->kind == RTI_ENTRY_BLOB)) {
            rti_blob_discard(rti_worker_current()->sched, entry->data);
        }
        rti_ipc_pools_free(pools, entry);
    }
}

void rti_ipc_pools_audit(const struct rti_ipc_pools *pools)
{
    RT_ASSERT(rti_ipc_pools_data_in_use(pools) <= RT_MESSAGE_DATA_POOL_SIZE);
    rti_pool_audit(&pools->entries);
    rti_pool_audit(&pools->data);
    rti_pool_audit(&pools->sync);
}
