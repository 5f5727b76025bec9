/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "journal"
#include "base/journal.h"

#include "base/assert.h"
#include "base/hash.h"

#define JOURNAL_DIGEST_SEED UINT64_C(0x6a6f75726e616c31)

_Static_assert(sizeof(struct rti_journal_record) == 48, "records are read by other programs");

void rti_journal_init(struct rti_journal *journal, struct rti_journal_record *ring, size_t capacity)
{
    RT_ASSERT((ring == NULL) == (capacity == 0));
    journal->written = 0;
    journal->digest = rti_digest_init(JOURNAL_DIGEST_SEED);
    journal->ring = ring;
    journal->capacity = capacity;
}

void rti_journal_write(struct rti_journal *journal, uint64_t time_ns,
                       const struct rti_journal_event *event)
{
    RT_DCHECK((unsigned)event->kind < RTI_JOURNAL_KIND_COUNT);
    uint64_t digest = journal->digest;
    digest = rti_digest_mix(digest, ((uint64_t)event->kind << 32) | event->task);
    digest = rti_digest_mix(digest, time_ns);
    digest = rti_digest_mix(digest, event->channel);
    digest = rti_digest_mix(digest, event->timer);
    digest = rti_digest_mix(digest, event->value);
    journal->digest = digest;
    journal->written++;
    if (journal->capacity != 0) {
        journal->ring[(journal->written - 1) % journal->capacity] = (struct rti_journal_record){
            .seq = journal->written,
            .time_ns = time_ns,
            .timer = event->timer,
            .value = event->value,
            .task = event->task,
            .channel = event->channel,
            .kind = (uint32_t)event->kind,
            .worker = event->worker,
        };
    }
}

uint64_t rti_journal_digest(const struct rti_journal *journal)
{
    return rti_digest_final(journal->digest);
}

size_t rti_journal_count(const struct rti_journal *journal)
{
    return journal->written < journal->capacity ? (size_t)journal->written : journal->capacity;
}

const struct rti_journal_record *rti_journal_at(const struct rti_journal *journal, size_t i)
{
    size_t count = rti_journal_count(journal);
    RT_ASSERT(i < count);
    uint64_t first = journal->written - count;
    return &journal->ring[(first + i) % journal->capacity];
}

const char *rti_journal_kind_name(uint32_t kind)
{
#define JOURNAL_NAME(kind, name) name,
    static const char *const names[] = {RTI_JOURNAL_KINDS(JOURNAL_NAME)};
#undef JOURNAL_NAME
    return kind < RTI_COUNT_OF(names) ? names[kind] : "unknown";
}

void rti_journal_audit(const struct rti_journal *journal)
{
    size_t count = rti_journal_count(journal);
    for (size_t i = 0; i < count; i++) {
        const struct rti_journal_record *record = rti_journal_at(journal, i);
        RT_ASSERT(record->seq == journal->written - count + i + 1);
        RT_ASSERT(record->kind < RTI_JOURNAL_KIND_COUNT);
    }
}
