/* SPDX-License-Identifier: Apache-2.0 */
/* What was recorded, as bytes for the tool. */
#define _GNU_SOURCE
#include "observe/recording.h"

#include <string.h>

#include "support/test.h"

static rti_atomic_u64 ring[RTI_RECORDER_WORDS];
static uint64_t room[RTI_RECORDER_WORDS];
static struct rti_recording recording = {.rings_count = 1, .rings = ring};
static struct rti_sched sched;
static char taken[1024];
static size_t length;

static uint64_t clock_ns(struct rti_port *port)
{
    (void)port;
    return 7000;
}

static const struct rti_port_ops ops = {.clock_ns = clock_ns};
static struct rti_port port = {.ops = &ops};

static bool take(void *arg, const void *bytes, size_t size)
{
    size_t limit = *(const size_t *)arg;
    if (length + size > limit) {
        return false;
    }
    memcpy(taken + length, bytes, size);
    length += size;
    return true;
}

static bool write_within(size_t limit)
{
    struct rti_recording_output output = {
        .sink = take, .arg = &limit, .room = room, .begin_ns = 5000};
    length = 0;
    sched.port = &port;
    sched.worker.sched = &sched;
    return rti_recording_write(&sched, &recording, &output);
}

TEST(recording_has_a_head_and_no_worker_before_one_has_recorded)
{
    rti_recording_begin(&recording);
    CHECK(write_within(sizeof(taken)));
    taken[length] = '\0';
    CHECK(strncmp(taken, "orrery-recording\t1\nkinds\trun\thand\ttime\t", 39) == 0);
    CHECK(strstr(taken, "\nclock\t") != NULL);
    CHECK(strstr(taken, "\t5000\t") != NULL);
    CHECK(strstr(taken, "\t7000\nend\n") != NULL);
    CHECK(strstr(taken, "worker\t") == NULL);
}

TEST(recording_has_the_words_of_a_worker_behind_its_line)
{
    rti_recording_begin(&recording);
    rti_ptr_store_release(&sched.recording, &recording);
    sched.worker.sched = &sched;
    rti_worker_follow(&sched.worker);
    rti_recording_tick(&sched);
    rti_worker_note(&sched.worker, RTI_NOTE_RUN, 0, 42);
    CHECK_EQ(rti_recording_workers(&sched), 1);
    CHECK(write_within(sizeof(taken)));
    /* The tick, the reading and the word. */
    static const char line[] = "worker\t0\t0\t3\n";
    const char *at = memmem(taken, length, line, strlen(line));
    CHECK(at != NULL);
    uint64_t word;
    memcpy(&word, at + strlen(line) + 2 * sizeof(word), sizeof(word));
    CHECK_EQ(word, 42);
    CHECK(memcmp(taken + length - 4, "end\n", 4) == 0);
}

TEST(recording_says_if_it_was_not_taken)
{
    rti_recording_begin(&recording);
    CHECK(!write_within(10));
    CHECK(!write_within(130));
}
