/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "mailbox_test"
#include "actor/mailbox.h"

#include "support/test.h"

static struct rti_mailbox mailbox;
static struct rti_entry entries[3];
static uint32_t woken_count;

static void count_wake(struct rti_wait *wait)
{
    (void)wait;
    woken_count++;
}

static void start(void)
{
    rti_mailbox_init(&mailbox, count_wake, NULL, true);
    memset(entries, 0, sizeof(entries));
    woken_count = 0;
}

TEST(mailbox_gives_entries_in_the_order_they_came)
{
    start();
    CHECK(rti_mailbox_is_empty(&mailbox) && rti_mailbox_peek(&mailbox) == NULL);
    for (size_t i = 0; i < 3; i++) {
        rti_mailbox_push(&mailbox, &entries[i]);
    }
    CHECK_EQ(rti_mailbox_audit(&mailbox), 3);
    for (size_t i = 0; i < 3; i++) {
        struct rti_entry *entry = rti_mailbox_peek(&mailbox);
        CHECK(entry == &entries[i]);
        rti_mailbox_remove(&mailbox, entry);
    }
    CHECK(rti_mailbox_is_empty(&mailbox));
    CHECK_EQ(mailbox.count_max, 3);
}

TEST(mailbox_walk_visits_each_entry_once)
{
    start();
    CHECK(rti_mailbox_next(&mailbox, NULL) == NULL);
    rti_mailbox_push(&mailbox, &entries[0]);
    rti_mailbox_push(&mailbox, &entries[1]);
    struct rti_entry *at = rti_mailbox_next(&mailbox, NULL);
    CHECK(at == &entries[0]);
    at = rti_mailbox_next(&mailbox, at);
    CHECK(at == &entries[1]);
    CHECK(rti_mailbox_next(&mailbox, at) == NULL);
    rti_mailbox_push(&mailbox, &entries[2]);
    CHECK(rti_mailbox_next(&mailbox, at) == &entries[2]);
}

TEST(mailbox_loses_an_entry_from_its_middle_only)
{
    start();
    for (size_t i = 0; i < 3; i++) {
        rti_mailbox_push(&mailbox, &entries[i]);
    }
    rti_mailbox_remove(&mailbox, &entries[1]);
    CHECK_EQ(rti_mailbox_audit(&mailbox), 2);
    CHECK(rti_mailbox_next(&mailbox, &entries[0]) == &entries[2]);
}

TEST(mailbox_push_wakes_its_reader_once)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    start();
    rti_wait_begin(&wait, count_wake, NULL, true);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_mailbox_unwatch);
    rti_mailbox_watch(&mailbox, &waiter);
    rti_mailbox_push(&mailbox, &entries[0]);
    rti_mailbox_push(&mailbox, &entries[1]);
    CHECK_EQ(woken_count, 1);
    CHECK_EQ(rti_wait_event(&wait), RTI_EVENT_SOURCE);
    rti_wait_finish(&wait);
    CHECK(mailbox.reader == NULL);
    CHECK_EQ(mailbox.count, 2);
}

TEST(mailbox_push_passes_over_a_reader_that_another_event_claimed)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    start();
    rti_wait_begin(&wait, count_wake, NULL, true);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_mailbox_unwatch);
    rti_mailbox_watch(&mailbox, &waiter);
    CHECK(rti_wait_claim(&wait, RTI_EVENT_TIMEOUT));
    rti_mailbox_push(&mailbox, &entries[0]);
    CHECK_EQ(woken_count, 0);
    CHECK_EQ(rti_wait_event(&wait), RTI_EVENT_TIMEOUT);
    CHECK_EQ(mailbox.count, 1);
}

TEST(mailbox_forgets_a_reader_whose_wait_ends)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    start();
    rti_wait_begin(&wait, count_wake, NULL, true);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_mailbox_unwatch);
    rti_mailbox_watch(&mailbox, &waiter);
    rti_wait_finish(&wait);
    rti_mailbox_push(&mailbox, &entries[0]);
    CHECK_EQ(woken_count, 0);
}

static void remove_while_shown(void *arg)
{
    (void)arg;
    rti_mailbox_push(&mailbox, &entries[0]);
    mailbox.is_shown = true;
    rti_mailbox_remove(&mailbox, &entries[0]);
}

TEST(mailbox_loses_nothing_while_a_filter_looks_at_it)
{
    start();
    CHECK_PANICS("mailbox_test", remove_while_shown, NULL);
}

TEST(mailbox_audit_counts_what_came_from_pools)
{
    struct {
        int data;
        struct rti_notice notice;
    } record = {.data = 0};
    struct rti_notice *notice = &record.notice;
    start();
    rti_notice_init(notice, RT_SENDER_SYSTEM, &record.data, sizeof(record.data));
    CHECK(!rti_notice_is_queued(notice));
    rti_mailbox_push(&mailbox, &notice->entry);
    CHECK(rti_notice_is_queued(notice) && rti_notice_of(&notice->entry) == notice);
    rti_mailbox_push(&mailbox, &entries[0]);
    CHECK_EQ(rti_mailbox_audit(&mailbox), 1);
}

TEST(mailbox_sync_sender_that_dies_leaves_its_message)
{
    struct rti_wait wait;
    struct rti_sync_wait sync = {.entry = &entries[0], .result = RT_OK};
    start();
    entries[0].kind = RTI_ENTRY_SYNC;
    entries[0].waiting = &sync;
    rti_wait_begin(&wait, count_wake, NULL, true);
    rti_wait_add(&wait, &sync.waiter, RTI_EVENT_SOURCE, rti_sync_wait_unlink);
    rti_mailbox_push(&mailbox, &entries[0]);
    rti_wait_finish(&wait);
    CHECK(entries[0].waiting == NULL);
    CHECK_EQ(rti_mailbox_audit(&mailbox), 1);
    rti_entry_end_sync(&entries[0], RT_OK);
    CHECK_EQ(woken_count, 0);
}

TEST(mailbox_sync_sender_is_told_how_its_message_ended)
{
    struct rti_wait wait;
    struct rti_sync_wait sync = {.entry = &entries[0], .result = RT_OK};
    start();
    entries[0].kind = RTI_ENTRY_SYNC;
    entries[0].waiting = &sync;
    rti_wait_begin(&wait, count_wake, NULL, true);
    rti_wait_add(&wait, &sync.waiter, RTI_EVENT_SOURCE, rti_sync_wait_unlink);
    rti_entry_end_sync(&entries[0], RT_ERR_CLOSED);
    rti_entry_end_sync(&entries[0], RT_OK);
    CHECK_EQ(woken_count, 1);
    CHECK_EQ(sync.result, RT_ERR_CLOSED);
    rti_wait_finish(&wait);
}

/* A small payload is known by where it lies, and a notice must not look like one. */
static struct {
    struct rti_notice notice;
    _Alignas(max_align_t) uint32_t data;
} confusing;

static void make_confusing_notice(void *arg)
{
    (void)arg;
    rti_notice_init(&confusing.notice, 1, &confusing.data, sizeof(confusing.data));
}

TEST(mailbox_notice_with_its_data_right_behind_it_panics)
{
    static struct {
        uint32_t data;
        struct rti_notice notice;
    } plain;
    rti_notice_init(&plain.notice, 1, &plain.data, sizeof(plain.data));
    rti_notice_init(&plain.notice, 1, NULL, 0);
    CHECK_PANICS("mailbox", make_confusing_notice, NULL);
}
