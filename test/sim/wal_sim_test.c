/* SPDX-License-Identifier: Apache-2.0 */
/* A write-ahead log on a bad disk whose machine crashes, one per seed.
 *
 * A writer opens the log, reads what is valid of it, goes on behind that with numbered records, and
 * acknowledges what a sync has kept. Its run is cut short after some steps, the disk crashes, and
 * the next writer begins: some lives long. Latency, failing and short writes and failing syncs are
 * drawn from the seed.
 *
 * Checked in every life:
 *   - every record that was acknowledged is there, in order, byte for byte
 *   - what is not a whole record, a torn tail, is seen as none
 * And of the check itself: a log that acknowledges what it has only written is caught.
 *
 * Seeds: 60 */
#define _GNU_SOURCE
#include <fcntl.h>

#include <orrery/rt.h>

#include "support/test.h"

#define LIVES       6
#define PAYLOAD_MAX 700

struct record {
    uint32_t length; /* of the payload */
    uint32_t check;  /* over number and payload */
    uint64_t number; /* from 1 on */
    unsigned char payload[PAYLOAD_MAX];
};

#define HEAD offsetof(struct record, payload)

static _Alignas(8) unsigned char memory[2 * 1024 * 1024];
static rt_sim_disk disk;
static uint64_t acknowledged; /* over all lives: the last number */
static uint64_t recovered;    /* by the last life */
static unsigned torn_tails;   /* seen */
static bool is_hasty;         /* the log has a bug */

static uint64_t draw(uint64_t n)
{
    return rt_random() % n;
}

static uint32_t check_of(const struct record *record)
{
    uint32_t check = 2166136261u ^ (uint32_t)record->number ^ record->length * 31;
    for (uint32_t i = 0; i < record->length; i++) {
        check = (check ^ record->payload[i]) * 16777619u;
    }
    return check;
}

/* What a record of this number says, which is all that the test needs to know of it. */
static void record_make(struct record *record, uint64_t number)
{
    record->number = number;
    record->length = (uint32_t)(1 + number * 37 % PAYLOAD_MAX);
    for (uint32_t i = 0; i < record->length; i++) {
        record->payload[i] = (unsigned char)(number * 7 + i * 13);
    }
    record->check = check_of(record);
}

static rt_status read_patiently(int fd, void *bytes, size_t length, uint64_t offset, size_t *actual)
{
    rt_status status;
    do {
        status = rt_file_pread(fd, bytes, length, offset, actual, -1);
    } while (status.code == RT_ERR_IO);
    return status;
}

/* Reads the record at `offset`; false: there is none that is whole. */
static bool record_read(int fd, uint64_t offset, struct record *record)
{
    size_t actual = 0;
    CHECK_OK(read_patiently(fd, record, sizeof(*record), offset, &actual));
    bool is_whole = actual > HEAD && record->length <= PAYLOAD_MAX &&
                    actual >= HEAD + record->length && record->check == check_of(record);
    torn_tails += actual > 0 && !is_whole;
    return is_whole;
}

/* The offset behind the last valid record. */
static uint64_t recover(int fd)
{
    static struct record there;
    static struct record wanted;
    uint64_t offset = 0;
    recovered = 0;
    while (record_read(fd, offset, &there) && there.number == recovered + 1) {
        recovered++;
        record_make(&wanted, recovered);
        CHECK_EQ(there.length, wanted.length);
        CHECK_EQ(memcmp(there.payload, wanted.payload, wanted.length), 0);
        offset += HEAD + there.length;
    }
    return offset;
}

/* All of it, however often the disk refuses. */
static void write_patiently(int fd, const void *bytes, size_t length, uint64_t offset)
{
    size_t done = 0;
    while (done < length) {
        size_t actual = 0;
        const unsigned char *from = bytes;
        rt_status status =
            rt_file_pwrite(fd, from + done, length - done, offset + done, &actual, -1);
        CHECK(!RT_FAILED(status) || status.code == RT_ERR_IO);
        done += actual;
    }
}

static void write_log(void *arg)
{
    static struct record record;
    int fd;
    (void)arg;
    CHECK_OK(rt_file_open("log", O_RDWR | O_CREAT, 0600, &fd));
    uint64_t offset = recover(fd);
    uint64_t number = recovered;
    CHECK(is_hasty || recovered >= acknowledged);
    for (int i = 0; i < 200; i++) {
        record_make(&record, ++number);
        write_patiently(fd, &record, HEAD + record.length, offset);
        offset += HEAD + record.length;
        if (draw(4) == 0) {
            /* A sync that failed keeps nothing, and no later one can be believed. */
            if (RT_FAILED(rt_file_sync(fd, -1))) {
                break;
            }
            acknowledged = number;
        }
        acknowledged = is_hasty ? number : acknowledged;
    }
    rt_exit();
}

static void read_log(void *arg)
{
    int fd;
    (void)arg;
    CHECK_OK(rt_file_open("log", O_RDWR | O_CREAT, 0600, &fd));
    (void)recover(fd);
    CHECK_OK(rt_file_close(fd));
    rt_exit();
}

/* Lives and dies; true if nothing that was acknowledged was lost. */
static bool live(uint64_t seed)
{
    acknowledged = 0;
    CHECK_OK(rt_sim_disk_init(&disk, memory, sizeof(memory)));
    for (uint64_t life = 0; life < LIVES; life++) {
        const rt_sim_config config = {
            .seed = seed * LIVES + life,
            .steps_max = 5 + (seed * 7919 + life * 104729) % 300,
            .storage = {.disk = &disk,
                        .latency_max = 3 * RT_NS_PER_MS,
                        .write_error = (uint16_t)(seed % 3 * 20),
                        .read_error = (uint16_t)(seed % 2 * 20),
                        .sync_error = (uint16_t)(seed % 5 * 5),
                        .short_write = (uint16_t)(seed % 4 * 100)},
        };
        rt_status status = rt_sim_run(&config, write_log, NULL);
        CHECK(status.code == RT_OK || status.code == RT_ERR_LIMIT);
        CHECK_OK(rt_sim_disk_crash(&disk, config.seed));
    }
    CHECK_OK(rt_sim_run(&(rt_sim_config){.storage = {.disk = &disk}}, read_log, NULL));
    return recovered >= acknowledged;
}

TEST_SEEDED(wal_sim_keeps_what_it_acknowledged_over_crashes)
{
    is_hasty = false;
    torn_tails = 0;
    CHECK(live(test_seed()));
}

TEST(wal_sim_catches_a_log_that_acknowledges_too_early)
{
    unsigned lost = 0;
    is_hasty = true;
    torn_tails = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        lost += !live(seed);
    }
    CHECK(lost > 0);
    CHECK(torn_tails > 0);
}
