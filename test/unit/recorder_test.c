/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder of one worker: what it keeps, overwrites and tells of time. */
#include "sched/recorder.h"

#include <stdlib.h>

#include "support/test.h"

static rti_atomic_u64 ring[RTI_RECORDER_WORDS];
static uint64_t words[RTI_RECORDER_WORDS];
static struct rti_recorder recorder;
static struct rti_recording recording = {.rings_count = 1, .rings = ring};

static void begin(void)
{
    rti_recording_begin(&recording);
    rti_recorder_follow(&recorder, &recording, 0);
}

static uint64_t copy(size_t *count)
{
    uint64_t lost = 0;
    *count = rti_recorder_copy(&recorder, &recording, words, &lost);
    return lost;
}

static enum rti_note kind_at(size_t i)
{
    return (enum rti_note)(words[i] >> 56);
}

TEST(recorder_keeps_nothing_before_it_is_asked_to)
{
    size_t count;
    rti_recorder_note(&recorder, RTI_NOTE_RUN, 0, 1);
    CHECK_EQ(copy(&count), 0);
    CHECK_EQ(count, 0);
}

TEST(recorder_keeps_words_in_order_with_a_reading_first)
{
    size_t count;
    begin();
    rti_recorder_note(&recorder, RTI_NOTE_START, 3, 7);
    rti_recorder_note_name(&recorder, "name_of_9");
    rti_recorder_note(&recorder, RTI_NOTE_RUN, 0, 7);
    CHECK_EQ(copy(&count), 0);
    CHECK(count >= 5);
    CHECK_EQ(kind_at(0), RTI_NOTE_TIME);
    uint64_t seen[4];
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kind_at(i) != RTI_NOTE_TIME) {
            CHECK(kept < 4);
            seen[kept++] = words[i];
        }
    }
    CHECK_EQ(kept, 4);
    CHECK_EQ(seen[0], (uint64_t)RTI_NOTE_START << 56 | UINT64_C(3) << 32 | 7);
    CHECK_EQ(seen[1] >> 56, RTI_NOTE_NAME);
    CHECK_EQ(seen[1] & 0xff, 'n');
    CHECK_EQ(seen[2] & 0xffff, '_' | '9' << 8);
    CHECK_EQ(seen[3], 7);
}

TEST(recorder_overwrites_the_oldest_and_says_how_many)
{
    size_t count;
    uint32_t total = 3 * RTI_RECORDER_WORDS + 100;
    begin();
    for (uint32_t i = 1; i <= total; i++) {
        rti_recorder_note(&recorder, RTI_NOTE_WAKE, 0, i);
    }
    uint64_t lost = copy(&count);
    CHECK(lost > 2 * RTI_RECORDER_WORDS);
    CHECK(count > RTI_RECORDER_WORDS - 2 * RTI_RECORDER_STRETCH);
    CHECK(count <= RTI_RECORDER_WORDS);
    uint32_t expected = 0;
    for (size_t i = 0; i < count; i++) {
        if (kind_at(i) == RTI_NOTE_WAKE) {
            CHECK(expected == 0 || (uint32_t)words[i] == expected);
            expected = (uint32_t)words[i] + 1;
        }
    }
    CHECK_EQ(expected, total + 1);
}

TEST(recorder_tells_time_that_never_goes_back)
{
    size_t count;
    uint64_t before = 0;
    begin();
    for (uint32_t i = 1; i <= 100000; i++) {
        rti_recorder_note(&recorder, RTI_NOTE_RUN, 0, i);
        if (i % 1000 == 0) {
            rti_recorder_tick(&recorder);
        }
    }
    (void)copy(&count);
    size_t distance = 0;
    for (size_t i = 0; i < count; i++) {
        distance++;
        if (kind_at(i) == RTI_NOTE_TIME) {
            CHECK((words[i] & (UINT64_MAX >> 8)) >= before);
            before = words[i] & (UINT64_MAX >> 8);
            distance = 0;
        }
        CHECK(distance <= RTI_RECORDER_STRETCH);
    }
}

TEST(recorder_reads_the_time_before_the_word_that_follows_a_tick_or_a_pause)
{
    size_t count;
    begin();
    for (uint32_t i = 1; i <= 1000; i++) {
        rti_recorder_note(&recorder, RTI_NOTE_RUN, 0, i);
    }
    rti_recorder_tick(&recorder);
    rti_recorder_note(&recorder, RTI_NOTE_RUN, 0, 5000);
    rti_recorder_note_pause(&recorder, RTI_NOTE_IDLE);
    rti_recorder_note(&recorder, RTI_NOTE_RUN, 0, 5001);
    (void)copy(&count);
    for (size_t i = 2; i < count; i++) {
        if (words[i] == 5000) {
            CHECK_EQ(kind_at(i - 1), RTI_NOTE_TIME);
            CHECK_EQ(kind_at(i - 2), RTI_NOTE_TIME);
        }
        if (kind_at(i) == RTI_NOTE_IDLE || words[i] == 5001) {
            CHECK_EQ(kind_at(i - 1), RTI_NOTE_TIME);
        }
    }
    CHECK_EQ(words[count - 1], 5001);
}

TEST(recorder_keeps_what_it_has_when_the_recording_ends_and_begins_anew)
{
    size_t count;
    begin();
    rti_recorder_note(&recorder, RTI_NOTE_RUN, 0, 1);
    rti_recording_end(&recording);
    rti_recorder_follow(&recorder, &recording, 0);
    rti_recorder_note(&recorder, RTI_NOTE_RUN, 0, 2);
    CHECK_EQ(copy(&count), 0);
    CHECK_EQ(count, 2);
    CHECK_EQ(words[1], 1);
    /* A new one that the worker has not followed yet has nothing of the old one. */
    rti_recording_begin(&recording);
    (void)copy(&count);
    CHECK_EQ(count, 0);
    rti_recorder_follow(&recorder, &recording, 0);
    rti_recorder_note(&recorder, RTI_NOTE_RUN, 0, 3);
    (void)copy(&count);
    CHECK_EQ(count, 2);
    CHECK_EQ(words[1], 3);
}
