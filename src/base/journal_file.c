/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "journal_file"
#include "base/journal_file.h"

#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

#define FILE_SUM_SEED UINT64_C(0x6a6f75726e616c66)

/* Names are padded to this, so that what follows is aligned. */
#define FILE_ALIGN 8U

/* More kinds than any version will have: bounds what a damaged head makes us look at. */
#define FILE_KINDS_MAX 4096U

_Static_assert(sizeof(rt_journal_head) == 64, "heads are read by other programs");
_Static_assert(sizeof(rt_journal_record) % FILE_ALIGN == 0, "records follow each other aligned");

static const char file_zeros[FILE_ALIGN];

/* Mixes whole words into a sum. The bytes may come from anywhere. */
static uint64_t file_sum(uint64_t sum, const void *bytes, size_t size)
{
    RT_ASSERT(size % FILE_ALIGN == 0);
    for (size_t at = 0; at < size; at += FILE_ALIGN) {
        uint64_t word;
        memcpy(&word, (const unsigned char *)bytes + at, sizeof(word));
        sum = rti_digest_mix(sum, word);
    }
    return sum;
}

/* The sum of what a head says before it tells the sum. */
static uint64_t file_sum_head(const rt_journal_head *head)
{
    return file_sum(rti_digest_init(FILE_SUM_SEED), head, offsetof(rt_journal_head, sum));
}

/* The names, each with its zero: how many bytes, without the padding. */
static size_t file_names_length(void)
{
    size_t length = 0;
    for (uint32_t kind = 0; kind < RTI_JOURNAL_KIND_COUNT; kind++) {
        length += strlen(rti_journal_kind_name(kind)) + 1;
    }
    return length;
}

static uint32_t file_padding(size_t length)
{
    return (uint32_t)((FILE_ALIGN - length % FILE_ALIGN) % FILE_ALIGN);
}

/* The sum of names and padding as if they stood in one block. */
static uint64_t file_sum_names(uint64_t sum)
{
    unsigned char word[FILE_ALIGN] = {0};
    size_t filled = 0;
    for (uint32_t kind = 0; kind < RTI_JOURNAL_KIND_COUNT; kind++) {
        const char *name = rti_journal_kind_name(kind);
        size_t length = strlen(name) + 1;
        for (size_t i = 0; i < length; i++) {
            word[filled++] = (unsigned char)name[i];
            if (filled == FILE_ALIGN) {
                sum = file_sum(sum, word, FILE_ALIGN);
                memset(word, 0, sizeof(word));
                filled = 0;
            }
        }
    }
    return filled == 0 ? sum : file_sum(sum, word, FILE_ALIGN);
}

static rt_journal_head file_head(const struct rti_journal *journal)
{
    size_t count = rti_journal_count(journal);
    size_t names_length = file_names_length();
    rt_journal_head head = {
        .byte_order = RT_JOURNAL_BYTE_ORDER,
        .version = RT_JOURNAL_VERSION,
        .head_size = sizeof(rt_journal_head),
        .record_size = sizeof(rt_journal_record),
        .written = journal->written,
        .count = count,
        .digest = rti_journal_digest(journal),
        .kind_count = RTI_JOURNAL_KIND_COUNT,
        .names_size = (uint32_t)names_length + file_padding(names_length),
    };
    memcpy(head.magic, RT_JOURNAL_MAGIC, sizeof(head.magic));
    uint64_t sum = file_sum_names(file_sum_head(&head));
    for (size_t i = 0; i < count; i++) {
        sum = file_sum(sum, rti_journal_at(journal, i), sizeof(rt_journal_record));
    }
    head.sum = rti_digest_final(sum);
    return head;
}

static bool file_write_names(rt_journal_sink sink, void *arg)
{
    size_t length = 0;
    for (uint32_t kind = 0; kind < RTI_JOURNAL_KIND_COUNT; kind++) {
        const char *name = rti_journal_kind_name(kind);
        size_t size = strlen(name) + 1;
        length += size;
        if (!sink(arg, name, size)) {
            return false;
        }
    }
    uint32_t padding = file_padding(length);
    return padding == 0 || sink(arg, file_zeros, padding);
}

/* The ring in at most two pieces: from the oldest to the end of the memory, and from its begin. */
static bool file_write_records(const struct rti_journal *journal, rt_journal_sink sink, void *arg)
{
    size_t count = rti_journal_count(journal);
    if (count == 0) {
        return true;
    }
    size_t first = (size_t)(rti_journal_at(journal, 0) - journal->ring);
    size_t until_end = journal->capacity - first;
    size_t straight = count < until_end ? count : until_end;
    return sink(arg, &journal->ring[first], straight * sizeof(rt_journal_record)) &&
           (straight == count ||
            sink(arg, journal->ring, (count - straight) * sizeof(rt_journal_record)));
}

rt_status rti_journal_file_write(const struct rti_journal *journal, rt_journal_sink sink, void *arg)
{
    RT_ASSERT(journal != NULL && sink != NULL);
    rt_journal_head head = file_head(journal);
    if (!sink(arg, &head, sizeof(head)) || !file_write_names(sink, arg) ||
        !file_write_records(journal, sink, arg)) {
        return (rt_status){RT_ERR_IO, RTI_SENTENCE("the journal could not be written to its end")};
    }
    return RT_SUCCESS;
}

static rt_status file_refuse(const char *sentence)
{
    (void)sentence;
    return (rt_status){RT_ERR_INVALID, RTI_SENTENCE(sentence)};
}

/* The head alone: is it one, and could its numbers be true for a file of `size` bytes? */
static rt_status file_check_head(const rt_journal_head *head, size_t size)
{
    if (memcmp(head->magic, RT_JOURNAL_MAGIC, sizeof(head->magic)) != 0) {
        return file_refuse("this is no journal: the first bytes are others");
    }
    if (head->byte_order != RT_JOURNAL_BYTE_ORDER) {
        return file_refuse("the journal was written by a machine with another byte order");
    }
    if (head->version != RT_JOURNAL_VERSION) {
        return file_refuse("the journal has a version that this library does not know");
    }
    if (head->head_size < sizeof(rt_journal_head) || head->head_size % FILE_ALIGN != 0 ||
        head->record_size < sizeof(rt_journal_record) || head->record_size % FILE_ALIGN != 0 ||
        head->names_size % FILE_ALIGN != 0 || head->kind_count > FILE_KINDS_MAX) {
        return file_refuse("the head of the journal is damaged: a size cannot be true");
    }
    if (head->head_size > size || head->names_size > size - head->head_size ||
        head->count > (size - head->head_size - head->names_size) / head->record_size) {
        return file_refuse("the journal is cut: bytes are missing at its end");
    }
    if ((uint64_t)head->head_size + head->names_size + head->count * head->record_size != size) {
        return file_refuse("there is something behind the end of the journal");
    }
    return head->count > head->written ? file_refuse("the journal has more records than events")
                                       : RT_SUCCESS;
}

/* Are there as many names as the head says, each ended by a zero? */
static bool file_has_names(const rt_journal_view *view)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < view->head.names_size && found < view->head.kind_count; i++) {
        found += view->names[i] == '\0';
    }
    return found == view->head.kind_count;
}

static bool file_has_no_gap(const rt_journal_view *view)
{
    uint64_t first = view->head.written - view->head.count;
    for (uint64_t i = 0; i < view->head.count; i++) {
        uint64_t seq;
        memcpy(&seq, (const unsigned char *)view->records + i * view->head.record_size,
               sizeof(seq));
        if (seq != first + i + 1) {
            return false;
        }
    }
    return true;
}

rt_status rti_journal_file_parse(const void *bytes, size_t size, rt_journal_view *out_view)
{
    RT_ASSERT(bytes != NULL && out_view != NULL);
    rt_journal_view view;
    if (size < sizeof(view.head)) {
        return file_refuse("this is no journal: it is shorter than a head");
    }
    memcpy(&view.head, bytes, sizeof(view.head));
    rt_status status = file_check_head(&view.head, size);
    if (RT_FAILED(status)) {
        return status;
    }
    view.names = (const char *)bytes + view.head.head_size;
    view.records = view.names + view.head.names_size;
    uint64_t sum = file_sum(file_sum_head(&view.head), view.names, view.head.names_size);
    sum = file_sum(sum, view.records, (size_t)(view.head.count * view.head.record_size));
    if (rti_digest_final(sum) != view.head.sum) {
        return file_refuse("the journal is damaged: its sum is another");
    }
    if (!file_has_names(&view)) {
        return file_refuse("the journal has fewer names than kinds");
    }
    if (!file_has_no_gap(&view)) {
        return file_refuse("the journal has a gap: the sequence numbers do not follow each other");
    }
    *out_view = view;
    return RT_SUCCESS;
}
