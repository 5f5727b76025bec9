/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "journal_test"
#include "base/journal.h"

#include "support/test.h"

#define CAPACITY 8

static struct rti_journal_record ring[CAPACITY];
static struct rti_journal journal;

static void write_numbers(uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        rti_journal_write(
            &journal, 10 * (first + i),
            &(struct rti_journal_event){.kind = RTI_JOURNAL_MARK, .value = first + i});
    }
}

TEST(journal_numbers_records_from_one_and_keeps_their_fields)
{
    rti_journal_init(&journal, ring, CAPACITY);
    rti_journal_write(
        &journal, 77,
        &(struct rti_journal_event){
            .kind = RTI_JOURNAL_SEND, .task = 3, .channel = 4, .timer = 5, .value = 6});
    CHECK_EQ(rti_journal_count(&journal), 1);
    const struct rti_journal_record *record = rti_journal_at(&journal, 0);
    CHECK_EQ(record->seq, 1);
    CHECK_EQ(record->time_ns, 77);
    CHECK_EQ(record->task, 3);
    CHECK_EQ(record->channel, 4);
    CHECK_EQ(record->timer, 5);
    CHECK_EQ(record->value, 6);
    CHECK_STR(rti_journal_kind_name(record->kind), "send");
    CHECK_STR(rti_journal_kind_name(RTI_JOURNAL_KIND_COUNT), "unknown");
}

TEST(journal_ring_keeps_the_latest_records_in_order)
{
    rti_journal_init(&journal, ring, CAPACITY);
    for (uint64_t written = 0; written < 3 * CAPACITY; written++) {
        write_numbers(written, 1);
        rti_journal_audit(&journal);
        size_t count = rti_journal_count(&journal);
        CHECK_EQ(count, written + 1 < CAPACITY ? written + 1 : CAPACITY);
        CHECK_EQ(rti_journal_at(&journal, count - 1)->value, written);
        CHECK_EQ(rti_journal_at(&journal, 0)->value, written + 1 - count);
    }
}

TEST(journal_digest_covers_what_the_ring_has_lost)
{
    rti_journal_init(&journal, ring, CAPACITY);
    write_numbers(0, 100);
    uint64_t with_ring = rti_journal_digest(&journal);
    rti_journal_init(&journal, NULL, 0);
    write_numbers(0, 100);
    CHECK(rti_journal_digest(&journal) == with_ring);
    CHECK_EQ(rti_journal_count(&journal), 0);
    rti_journal_init(&journal, NULL, 0);
    write_numbers(1, 100);
    CHECK(rti_journal_digest(&journal) != with_ring);
}

static uint64_t digest_of(const struct rti_journal_event *event, uint64_t time_ns)
{
    rti_journal_init(&journal, NULL, 0);
    rti_journal_write(&journal, time_ns, event);
    return rti_journal_digest(&journal);
}

TEST(journal_digest_changes_with_every_field)
{
    struct rti_journal_event event = {
        .kind = RTI_JOURNAL_SEND, .task = 1, .channel = 1, .timer = 1, .value = 1};
    uint64_t base = digest_of(&event, 1);
    CHECK(digest_of(&event, 1) == base);
    CHECK(digest_of(&event, 2) != base);
    struct rti_journal_event other = event;
    other.kind = RTI_JOURNAL_RECV;
    CHECK(digest_of(&other, 1) != base);
    other = event;
    other.task = 2;
    CHECK(digest_of(&other, 1) != base);
    other = event;
    other.channel = 2;
    CHECK(digest_of(&other, 1) != base);
    other = event;
    other.timer = 2;
    CHECK(digest_of(&other, 1) != base);
    other = event;
    other.value = 2;
    CHECK(digest_of(&other, 1) != base);
}

static void read_beyond(void *arg)
{
    (void)arg;
    rti_journal_init(&journal, ring, CAPACITY);
    write_numbers(0, 3);
    rti_journal_at(&journal, 3);
}

TEST(journal_read_beyond_its_end_panics)
{
    CHECK_PANICS("journal", read_beyond, NULL);
}
