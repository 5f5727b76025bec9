/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "journal_file_test"
#include "base/journal_file.h"

#include "support/test.h"

#define CAPACITY 5

static rt_journal_record ring[CAPACITY];
static struct rti_journal journal;

/* A file in memory, aligned as the parser wants it. */
static union {
    uint64_t words[1024];
    unsigned char bytes[8192];
} file;
static size_t file_size;
static size_t pieces_left; /* the sink refuses the one after these */

static bool keep(void *arg, const void *bytes, size_t size)
{
    CHECK(arg == &file);
    CHECK(size <= sizeof(file) - file_size);
    if (pieces_left == 0) {
        return false;
    }
    pieces_left--;
    memcpy(file.bytes + file_size, bytes, size);
    file_size += size;
    return true;
}

static void fill(size_t capacity, uint64_t events)
{
    rti_journal_init(&journal, capacity == 0 ? NULL : ring, capacity);
    for (uint64_t i = 0; i < events; i++) {
        rti_journal_write(
            &journal, 100 + i,
            &(struct rti_journal_event){
                .kind = RTI_JOURNAL_SEND, .task = 1, .channel = 2, .timer = 3, .value = i});
    }
    file_size = 0;
    pieces_left = SIZE_MAX;
    CHECK_OK(rti_journal_file_write(&journal, keep, &file));
}

static rt_journal_view parsed(void)
{
    rt_journal_view view;
    CHECK_OK(rti_journal_file_parse(file.bytes, file_size, &view));
    return view;
}

TEST(journal_file_holds_head_names_and_the_latest_records)
{
    for (uint64_t events = 0; events < 3 * CAPACITY; events++) {
        fill(CAPACITY, events);
        rt_journal_view view = parsed();
        uint64_t count = events < CAPACITY ? events : CAPACITY;
        CHECK_EQ(view.head.written, events);
        CHECK_EQ(view.head.count, count);
        CHECK(view.head.digest == rti_journal_digest(&journal));
        CHECK_EQ(view.head.kind_count, RTI_JOURNAL_KIND_COUNT);
        CHECK_STR(view.names, "start");
        CHECK_EQ(file_size,
                 view.head.head_size + view.head.names_size + count * view.head.record_size);
        for (uint64_t i = 0; i < count; i++) {
            CHECK_EQ(memcmp((const rt_journal_record *)view.records + i,
                            rti_journal_at(&journal, (size_t)i), sizeof(rt_journal_record)),
                     0);
        }
    }
}

TEST(journal_file_of_a_journal_without_a_ring_has_the_digest)
{
    fill(0, 1000);
    rt_journal_view view = parsed();
    CHECK_EQ(view.head.count, 0);
    CHECK_EQ(view.head.written, 1000);
    CHECK(view.head.digest == rti_journal_digest(&journal));
}

TEST(journal_file_write_stops_at_the_first_piece_that_is_refused)
{
    fill(CAPACITY, CAPACITY + 2);
    for (size_t pieces = 0; pieces < RTI_JOURNAL_KIND_COUNT + 3; pieces++) {
        file_size = 0;
        pieces_left = pieces;
        rt_status status = rti_journal_file_write(&journal, keep, &file);
        CHECK_EQ(status.code, RT_ERR_IO);
        CHECK_EQ(pieces_left, 0);
    }
}

TEST(journal_file_that_is_cut_anywhere_is_refused)
{
    fill(CAPACITY, CAPACITY + 2);
    rt_journal_view view = {.names = "untouched"};
    for (size_t size = 0; size < file_size; size++) {
        CHECK_EQ(rti_journal_file_parse(file.bytes, size, &view).code, RT_ERR_INVALID);
    }
    CHECK_EQ(rti_journal_file_parse(file.bytes, file_size + 8, &view).code, RT_ERR_INVALID);
    CHECK_STR(view.names, "untouched");
}

TEST(journal_file_with_any_byte_changed_is_refused)
{
    fill(CAPACITY, CAPACITY + 2);
    for (size_t at = 0; at < file_size; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            rt_journal_view view;
            file.bytes[at] ^= (unsigned char)(1U << bit);
            rt_status status = rti_journal_file_parse(file.bytes, file_size, &view);
            file.bytes[at] ^= (unsigned char)(1U << bit);
            if (status.code != RT_ERR_INVALID || status.msg == NULL) {
                test_fail(__FILE__, __LINE__, "byte %zu, bit %u was taken", at, bit);
            }
        }
    }
    (void)parsed();
}
