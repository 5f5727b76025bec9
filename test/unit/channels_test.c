/* SPDX-License-Identifier: Apache-2.0 */
/* Handles, memory, making and ending. */
#define RTI_MODULE "channels_test"
#include "sync/channels.h"

#include <pthread.h>

#include "support/kernel.h"

static const rt_channel_config small = {.elem_size = 4, .capacity = 2};

TEST(channels_create_checks_its_arguments_and_writes_nothing)
{
    rt_channel_sender *tx = (void *)1;
    rt_channel_receiver *rx = (void *)1;
    static _Alignas(max_align_t) unsigned char memory[64];
    kernel_start();
    CHECK_STATUS(rt_channel_create(NULL, &tx, &rx), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_create(&small, NULL, &rx), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_create(&small, &tx, NULL), RT_ERR_INVALID);
    rt_channel_config config = small;
    config.capacity = 0;
    CHECK_STATUS(rt_channel_create(&config, &tx, &rx), RT_ERR_INVALID);
    config.capacity = SIZE_MAX;
    CHECK_STATUS(rt_channel_create(&config, &tx, &rx), RT_ERR_INVALID);
    config.capacity = 1000000;
    config.elem_size = SIZE_MAX / 1000;
    CHECK_STATUS(rt_channel_create(&config, &tx, &rx), RT_ERR_INVALID);
    config = small;
    config.memory = memory;
    config.memory_size = RT_CHANNEL_BYTES(4, 2) - 1;
    CHECK_STATUS(rt_channel_create(&config, &tx, &rx), RT_ERR_INVALID);
    config.memory = memory + 1;
    config.memory_size = RT_CHANNEL_BYTES(4, 2);
    CHECK_STATUS(rt_channel_create(&config, &tx, &rx), RT_ERR_INVALID);
    CHECK(tx == (void *)1 && rx == (void *)1);
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

TEST(channels_use_the_callers_memory_when_given)
{
    static _Alignas(max_align_t) unsigned char memory[RT_CHANNEL_BYTES(4, 2)];
    rt_channel_config config = small;
    int value = 0x01020304;
    kernel_start();
    config.memory = memory;
    config.memory_size = sizeof(memory);
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    CHECK_EQ(rti_arena_audit(&kernel.channels.arena), 0);
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK(memcmp(memory, &value, 4) == 0);
    kernel_stop();
}

TEST(channels_memory_is_a_limit_and_comes_back)
{
    rt_channel_config large = {.elem_size = RT_CHANNEL_MEMORY_SIZE / 2, .capacity = 1};
    rt_channel_sender *tx = NULL;
    rt_channel_receiver *rx = NULL;
    kernel_start();
    CHECK_OK(rt_channel_create(&large, &kernel.tx, &kernel.rx));
    CHECK_STATUS(rt_channel_create(&large, &tx, &rx), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_EQ(rti_channels_audit(&kernel.channels), 1);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_STATUS(rt_channel_create(&large, &tx, &rx), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_OK(rt_channel_create(&large, &kernel.tx, &kernel.rx));
    kernel_stop();
}

TEST(channels_handles_are_a_limit_and_come_back)
{
    static rt_channel_sender *clones[RT_MAX_CHANNEL_HANDLES];
    rt_channel_receiver *rx = NULL;
    rt_channel_sender *tx = NULL;
    kernel_start();
    kernel_channel(1);
    for (size_t i = 0; i < RT_MAX_CHANNEL_HANDLES - 1; i++) {
        CHECK_OK(rt_channel_clone_sender(kernel.tx, &clones[i]));
    }
    CHECK_STATUS(rt_channel_clone_sender(kernel.tx, &tx), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_STATUS(rt_channel_create(&small, &tx, &rx), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK(tx == NULL && rx == NULL);
    CHECK_EQ(kernel_info().senders, RT_MAX_CHANNEL_HANDLES);
    CHECK_OK(rt_channel_clone_receiver(kernel.rx, &rx));
    CHECK_OK(rt_channel_close_receiver(rx));
    CHECK_OK(rt_channel_close_sender(clones[0]));
    CHECK_OK(rt_channel_create(&small, &tx, &rx));
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    for (size_t i = 1; i < RT_MAX_CHANNEL_HANDLES - 1; i++) {
        CHECK_OK(rt_channel_close_sender(clones[i]));
    }
    kernel_stop();
}

TEST(channels_stale_handle_names_nothing_however_often_its_place_is_used)
{
    int value = 1;
    kernel_start();
    kernel_channel(1);
    rt_channel_sender *old_tx = kernel.tx;
    rt_channel_receiver *old_rx = kernel.rx;
    CHECK_OK(rt_channel_close_sender(old_tx));
    CHECK_OK(rt_channel_close_receiver(old_rx));
    for (int i = 0; i < 3 * RT_MAX_CHANNEL_HANDLES; i++) {
        kernel_channel(1);
        CHECK(kernel.tx != old_tx && kernel.rx != old_rx);
        CHECK_STATUS(rt_channel_try_send(old_tx, &value), RT_ERR_INVALID);
        CHECK_STATUS(rt_channel_try_recv(old_rx, &value), RT_ERR_INVALID);
        CHECK_OK(rt_channel_close_sender(kernel.tx));
        CHECK_OK(rt_channel_close_receiver(kernel.rx));
    }
    CHECK_STATUS(rt_channel_close_sender(old_tx), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_clone_sender(old_tx, &old_tx), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_close_receiver(old_rx), RT_ERR_INVALID);
    kernel_stop();
}

TEST(channels_random_numbers_are_no_handles)
{
    struct rti_rng rng;
    int value = 1;
    kernel_start();
    kernel_channel(1);
    rti_rng_init(&rng, 5);
    for (int i = 0; i < 100000; i++) {
        uintptr_t number = (uintptr_t)(rti_rng_next(&rng) >> rti_rng_below(&rng, 64));
        if (number != (uintptr_t)kernel.tx) {
            CHECK(rti_channels_sender(&kernel.channels, (void *)number) == NULL);
        }
        if (number != (uintptr_t)kernel.rx) {
            CHECK(rti_channels_receiver(&kernel.channels, (void *)number) == NULL);
        }
    }
    CHECK_STATUS(rt_channel_try_send((rt_channel_sender *)(uintptr_t)kernel.rx, &value),
                 RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_try_recv((rt_channel_receiver *)(uintptr_t)kernel.tx, &value),
                 RT_ERR_INVALID);
    kernel_stop();
}

TEST(channels_place_without_a_further_generation_is_retired)
{
    kernel_start();
    struct rti_channel_end *first = &kernel.channels.senders.table[0];
    uintptr_t late = ~(uintptr_t)0 << (RTI_CHANNEL_INDEX_BITS + RTI_CHANNEL_KIND_BITS + 1);
    rti_size_store_relaxed(&first->id, rti_channel_end_id(first) | late);
    kernel_channel(1);
    CHECK(rti_channel_end_id(first) == (uintptr_t)kernel.tx);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    for (int i = 0; i < 2 * RT_MAX_CHANNEL_HANDLES; i++) {
        kernel_channel(1);
        CHECK(rti_channel_end_channel(first) == &kernel.channels.nothing);
        CHECK_OK(rt_channel_close_sender(kernel.tx));
        CHECK_OK(rt_channel_close_receiver(kernel.rx));
    }
    kernel_stop();
}

TEST(channels_number_made_up_to_match_a_closed_place_is_refused)
{
    int value = 1;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    rt_channel_sender *made_up = (void *)rti_channel_end_id(&kernel.channels.senders.table[0]);
    CHECK(rti_channel_ends_find(&kernel.channels.senders, made_up) != NULL);
    CHECK_STATUS(rt_channel_send(made_up, NULL, &value), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_try_send(made_up, &value), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_close_sender(made_up), RT_ERR_INVALID);
    kernel_stop();
}

TEST(channels_are_counted_by_their_open_handles)
{
    rt_channel_receiver *rx2 = NULL;
    kernel_start();
    kernel_channel(1);
    CHECK_OK(rt_channel_clone_receiver(kernel.rx, &rx2));
    CHECK_EQ(kernel_info().receivers, 2);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(kernel_info().state, RT_CHANNEL_OPEN);
    int value = 3;
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK_OK(rt_channel_try_recv(rx2, &value));
    CHECK_OK(rt_channel_close_receiver(rx2));
    CHECK_EQ(kernel_info().state, RT_CHANNEL_RECEIVER_CLOSED);
    kernel_stop();
}

static void *use_from_another_thread(void *arg)
{
    int value = 0;
    rt_channel_sender *tx = NULL;
    rt_channel_receiver *rx = NULL;
    rt_send_permit permit = {{0, 0}};
    rt_channel_info info;
    (void)arg;
    CHECK_STATUS(rt_channel_create(&small, &tx, &rx), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_send(kernel.tx, NULL, &value), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_send_timeout(kernel.tx, NULL, &value, 1), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_recv(kernel.rx, NULL, &value), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, &value), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_reserve(kernel.tx, NULL, &permit), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_try_reserve(kernel.tx, NULL, &permit), RT_ERR_THREAD);
    CHECK_STATUS(rt_send_permit_send(&permit, &value), RT_ERR_THREAD);
    CHECK_STATUS(rt_send_permit_abort(&permit), RT_ERR_THREAD);
    CHECK(rt_send_permit_slot(&permit) == NULL);
    CHECK_STATUS(rt_channel_clone_sender(kernel.tx, &tx), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_close_sender(kernel.tx), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_close_receiver(kernel.rx), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_sender_info(kernel.tx, &info), RT_ERR_THREAD);
    CHECK_STATUS(rt_channel_receiver_info(kernel.rx, &info), RT_ERR_THREAD);
    return NULL;
}

TEST(channels_refuse_every_call_from_a_thread_that_is_not_the_runtimes)
{
    pthread_t thread;
    kernel_start();
    kernel_channel(1);
    CHECK_EQ(pthread_create(&thread, NULL, use_from_another_thread, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(kernel_info().sent, 0);
    kernel_stop();
}

static int closed_inside;

static void close_the_sender_inside(void *value, void *arg)
{
    (void)value;
    (void)arg;
    if (closed_inside++ == 0) {
        CHECK_OK(rt_channel_close_sender(kernel.tx));
    }
}

TEST(channels_destroy_may_end_the_very_channel_it_is_called_for)
{
    rt_channel_config config = small;
    int value = 1;
    kernel_start();
    config.destroy = close_the_sender_inside;
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_EQ(closed_inside, 2);
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

static int ended;

static void count_ended(void *value, void *arg)
{
    (void)value;
    (void)arg;
    ended++;
}

TEST(channels_that_are_left_when_the_runtime_ends_destroy_their_values)
{
    rt_channel_config config = small;
    int value = 1;
    kernel_start();
    config.destroy = count_ended;
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    rti_channels_deinit(&kernel.channels);
    CHECK_EQ(ended, 2);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_STATE);
    CHECK_OK(rti_channels_init(&kernel.channels, &kernel.fibers.sched));
    CHECK_STATUS(rti_channels_init(&kernel.channels, &kernel.fibers.sched), RT_ERR_STATE);
    kernel_stop();
}

TEST(channels_events_are_in_the_journal)
{
    static struct rti_journal_record ring[16];
    int value = 1;
    rt_send_permit permit;
    kernel_start();
    rti_journal_init(&kernel.fibers.journal, ring, 16);
    kernel_channel(2);
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &value));
    CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    CHECK_OK(rt_send_permit_abort(&permit));
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    static const char *const wanted[] = {"send", "recv", "reserve", "abort", "close"};
    CHECK_EQ(rti_journal_count(&kernel.fibers.journal), RTI_COUNT_OF(wanted));
    for (size_t i = 0; i < RTI_COUNT_OF(wanted); i++) {
        const struct rti_journal_record *record = rti_journal_at(&kernel.fibers.journal, i);
        CHECK_STR(rti_journal_kind_name(record->kind), wanted[i]);
        CHECK_EQ(record->channel, 1);
        CHECK_EQ(record->seq, i + 1);
    }
    kernel_stop();
}
