/* SPDX-License-Identifier: Apache-2.0 */
/* The medium beside a reference: arrays of bytes, now and as of the last sync. */
#define RTI_MODULE "sim_medium_test"
#include "port/sim/sim_medium.h"

#include "support/test.h"

#define SECTORS 40
#define MOST    6000

static _Alignas(8) unsigned char memory[sizeof(struct rti_sim_medium) +
                                        SECTORS * sizeof(struct rti_sim_sector)];
static struct rti_sim_medium *medium;
static struct rti_rng rng;

static void start(uint64_t seed)
{
    medium = rti_sim_medium_format(memory, sizeof(memory));
    CHECK(medium != NULL);
    CHECK_EQ(medium->sectors_count, SECTORS);
    rti_rng_init(&rng, seed);
}

static void write_text(int file, uint64_t offset, const char *text)
{
    CHECK_EQ(rti_sim_medium_write(medium, file, offset, text, strlen(text)), strlen(text));
}

static const char *read_text(int file, uint64_t offset, size_t length)
{
    static char text[64];
    size_t count = rti_sim_medium_read(medium, file, offset, text, length);
    text[count] = '\0';
    return text;
}

TEST(sim_medium_keeps_files_apart_and_reads_holes_as_zeros)
{
    start(1);
    CHECK_EQ(rti_sim_medium_find(medium, "a"), -1);
    int a = rti_sim_medium_create(medium, "a");
    int b = rti_sim_medium_create(medium, "b");
    CHECK(a >= 0 && b >= 0 && a != b);
    CHECK_EQ(rti_sim_medium_find(medium, "b"), b);
    write_text(a, 510, "across");
    write_text(b, 0, "other");
    CHECK_EQ(medium->files[a].size, 516);
    CHECK_STR(read_text(a, 510, 20), "across");
    CHECK_STR(read_text(b, 0, 20), "other");
    char zeros[10];
    CHECK_EQ(rti_sim_medium_read(medium, a, 500, zeros, 10), 10);
    for (size_t i = 0; i < 10; i++) {
        CHECK_EQ(zeros[i], 0);
    }
    CHECK_EQ(rti_sim_medium_read(medium, a, 516, zeros, 10), 0);
    rti_sim_medium_truncate(medium, a);
    CHECK_EQ(medium->files[a].size, 0);
    write_text(a, 511, "x");
    CHECK_EQ(rti_sim_medium_read(medium, a, 510, zeros, 10), 2);
    CHECK(zeros[0] == 0 && zeros[1] == 'x');
    rti_sim_medium_audit(medium);
}

TEST(sim_medium_that_is_full_takes_what_it_has_room_for)
{
    static char much[(SECTORS + 2) * RTI_SIM_SECTOR_SIZE];
    start(1);
    CHECK(rti_sim_medium_format(memory, sizeof(struct rti_sim_medium)) == NULL);
    start(1);
    int a = rti_sim_medium_create(medium, "a");
    CHECK_EQ(rti_sim_medium_write(medium, a, 0, much, sizeof(much)), SECTORS * 512);
    CHECK_EQ(rti_sim_medium_write(medium, a, sizeof(much), much, 1), 0);
    CHECK_EQ(rti_sim_medium_write(medium, a, 5, much, 9), 9);
    rti_sim_medium_truncate(medium, a);
    CHECK_EQ(rti_sim_medium_write(medium, a, 0, much, sizeof(much)), SECTORS * 512);
    char name[2] = "A";
    while (rti_sim_medium_create(medium, name) >= 0) {
        name[0]++;
    }
    CHECK_EQ(name[0], 'A' + RTI_SIM_FILES - 1);
    rti_sim_medium_audit(medium);
}

/* ---- crashes ---- */

static unsigned char now[MOST];
static unsigned char kept[MOST];
static bool is_open[MOST]; /* written since the last sync: either content, or zero, may be there */

static void check_after_crash(size_t size_now, size_t size_kept)
{
    unsigned char there[MOST];
    int file = rti_sim_medium_find(medium, "log");
    CHECK(file >= 0);
    size_t size = medium->files[file].size;
    CHECK(size >= size_kept && size <= size_now);
    CHECK_EQ(rti_sim_medium_read(medium, file, 0, there, MOST), size);
    for (size_t i = 0; i < size; i++) {
        if (!is_open[i]) {
            CHECK_EQ(there[i], kept[i]);
        } else {
            CHECK(there[i] == now[i] || there[i] == kept[i]);
        }
    }
}

TEST(sim_medium_crash_leaves_what_was_synced_and_old_or_new_of_the_rest)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        size_t size_now = 0;
        size_t size_kept = 0;
        start(seed);
        memset(now, 0, sizeof(now));
        memset(kept, 0, sizeof(kept));
        memset(is_open, 0, sizeof(is_open));
        int file = rti_sim_medium_create(medium, "log");
        rti_sim_medium_sync(medium, file);
        for (uint64_t step = 1 + rti_rng_below(&rng, 30); step > 0; step--) {
            size_t length = 1 + (size_t)rti_rng_below(&rng, 900);
            size_t at = (size_t)rti_rng_below(&rng, MOST - length);
            memset(now + at, (int)(1 + step), length);
            memset(is_open + at, true, length);
            CHECK_EQ(rti_sim_medium_write(medium, file, at, now + at, length), length);
            size_now = at + length > size_now ? at + length : size_now;
            if (rti_rng_chance(&rng, 1, 4)) {
                rti_sim_medium_sync(medium, file);
                memcpy(kept, now, sizeof(kept));
                memset(is_open, 0, sizeof(is_open));
                size_kept = size_now;
            }
        }
        rti_sim_medium_crash(medium, &rng);
        check_after_crash(size_now, size_kept);
    }
}

TEST(sim_medium_crash_may_lose_a_file_that_was_never_synced_and_frees_it)
{
    unsigned gone = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        start(seed);
        int synced = rti_sim_medium_create(medium, "synced");
        write_text(synced, 0, "there");
        rti_sim_medium_sync(medium, synced);
        write_text(rti_sim_medium_create(medium, "new"), 0, "perhaps");
        rti_sim_medium_crash(medium, &rng);
        CHECK_STR(read_text(synced, 0, 20), "there");
        gone += rti_sim_medium_find(medium, "new") < 0;
        rti_sim_medium_audit(medium);
        /* A second crash finds nothing to lose. */
        rti_sim_medium_crash(medium, &rng);
        CHECK_STR(read_text(synced, 0, 20), "there");
    }
    CHECK(gone > 5 && gone < 35);
}
