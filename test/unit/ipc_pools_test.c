/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "ipc_pools_test"
#include "actor/ipc_pools.h"

#include "support/test.h"

static struct rti_ipc_pools pools;
static struct rti_entry *made[RT_MAILBOX_ENTRY_POOL_SIZE + RT_MESSAGE_DATA_POOL_SIZE];

TEST(ipc_pools_copy_the_payload_and_give_it_back)
{
    rti_ipc_pools_init(&pools);
    char text[] = "hello";
    struct rti_entry *entry = rti_ipc_pools_make(&pools, text, sizeof(text));
    memset(text, 'x', sizeof(text));
    CHECK(entry != NULL && entry->data != text);
    CHECK_EQ(entry->len, sizeof(text));
    CHECK_STR(entry->data, "hello");
    CHECK_EQ((uintptr_t)entry->data % _Alignof(max_align_t), 0);
    rti_ipc_pools_free(&pools, entry);
    rti_ipc_pools_deinit(&pools);
}

TEST(ipc_pools_take_a_block_for_an_empty_payload_too)
{
    rti_ipc_pools_init(&pools);
    struct rti_entry *async = rti_ipc_pools_make(&pools, NULL, 0);
    struct rti_entry *sync = rti_ipc_pools_make_sync(&pools, NULL, 0);
    CHECK(async->data != NULL && sync->data != NULL);
    CHECK_EQ(async->len, 0);
    CHECK_EQ(rti_ipc_pools_data_in_use(&pools), 1);
    CHECK_EQ(rti_pool_in_use(&pools.sync), 1);
    rti_ipc_pools_end(&pools, async, RT_OK);
    rti_ipc_pools_end(&pools, sync, RT_OK);
    rti_ipc_pools_deinit(&pools);
}

/* Makes until nothing can be made, demands that the failure took nothing, and ends all. */
static void exhaust(struct rti_entry *(*make)(struct rti_ipc_pools *, const void *, size_t))
{
    size_t count = 0;
    while ((made[count] = make(&pools, "m", 1)) != NULL) {
        count++;
    }
    CHECK(count > 0);
    size_t entries = rti_pool_in_use(&pools.entries);
    size_t blocks = rti_ipc_pools_data_in_use(&pools) + rti_pool_in_use(&pools.sync);
    CHECK(make(&pools, "m", 1) == NULL);
    CHECK_EQ(rti_pool_in_use(&pools.entries), entries);
    CHECK_EQ(rti_ipc_pools_data_in_use(&pools) + rti_pool_in_use(&pools.sync), blocks);
    for (size_t i = 0; i < count; i++) {
        rti_ipc_pools_end(&pools, made[i], RT_OK);
    }
}

static struct rti_entry *make_async(struct rti_ipc_pools *of, const void *data, size_t len)
{
    return rti_ipc_pools_make(of, data, len);
}

TEST(ipc_pools_make_nothing_half_when_either_pool_is_used_up)
{
    rti_ipc_pools_init(&pools);
    exhaust(make_async);
    exhaust(rti_ipc_pools_make_sync);
    /* One entry is left and no data block, then the reverse. */
    void *blocks[RT_MESSAGE_DATA_POOL_SIZE];
    for (size_t i = 0; i < RT_MESSAGE_DATA_POOL_SIZE; i++) {
        blocks[i] = rti_pool_alloc(&pools.data);
    }
    CHECK(rti_ipc_pools_make(&pools, "m", 1) == NULL);
    CHECK_EQ(rti_pool_in_use(&pools.entries), 0);
    for (size_t i = 0; i < RT_MESSAGE_DATA_POOL_SIZE; i++) {
        rti_pool_free(&pools.data, blocks[i]);
    }
    for (size_t i = 0; i < RT_MAILBOX_ENTRY_POOL_SIZE; i++) {
        made[i] = rti_pool_alloc(&pools.entries);
    }
    CHECK(rti_ipc_pools_make(&pools, "m", 1) == NULL);
    CHECK(rti_ipc_pools_make_sync(&pools, "m", 1) == NULL);
    CHECK_EQ(rti_ipc_pools_data_in_use(&pools), 0);
    CHECK_EQ(rti_pool_in_use(&pools.sync), 0);
}

TEST(ipc_pools_start_each_payload_of_a_sync_buffer_elsewhere)
{
    rti_ipc_pools_init(&pools);
    char payload[RT_MAX_MESSAGE_SIZE];
    memset(payload, 7, sizeof(payload));
    const void *starts[RTI_SYNC_TURNS];
    for (size_t i = 0; i < RTI_SYNC_TURNS; i++) {
        struct rti_entry *entry = rti_ipc_pools_make_sync(&pools, payload, sizeof(payload));
        starts[i] = entry->data;
        CHECK(memcmp(entry->data, payload, sizeof(payload)) == 0);
        CHECK_EQ((uintptr_t)entry->data % _Alignof(max_align_t), 0);
        rti_ipc_pools_end(&pools, entry, RT_OK);
        for (size_t j = 0; j < i; j++) {
            CHECK(starts[j] != starts[i]);
        }
    }
    rti_ipc_pools_deinit(&pools);
}

static size_t released_count;

static void count_release(struct rti_notice *notice)
{
    CHECK(!rti_notice_is_queued(notice));
    released_count++;
}

TEST(ipc_pools_give_a_notice_back_to_its_maker)
{
    struct rti_notice notice;
    rti_ipc_pools_init(&pools);
    rti_notice_init(&notice, RT_SENDER_TIMER, NULL, 0);
    rti_ipc_pools_end(&pools, &notice.entry, RT_OK);
    notice.entry.release = count_release;
    rti_ipc_pools_end(&pools, &notice.entry, RT_OK);
    CHECK_EQ(released_count, 1);
    CHECK_EQ(rti_pool_in_use(&pools.entries), 0);
}
