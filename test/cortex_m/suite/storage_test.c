/* SPDX-License-Identifier: Apache-2.0 */
/* The works of files over a file system on the RAM disk; and the RAM disk itself. */
#define RTI_MODULE "storage_test"
#include <errno.h>
#include <fcntl.h>

#include "port/storage/ram_disk.h"
#include "port/storage/storage.h"
#include "support/flat_files.h"
#include "support/test.h"

#define BLOCKS 13

static uint8_t memory[BLOCKS * FLAT_BLOCK_SIZE];
static struct rti_ram_disk disk;
static struct flat_files flat;
static struct rti_op op;
static char bytes[2000];

static void prepare(void)
{
    rti_ram_disk_init(&disk, memory, FLAT_BLOCK_SIZE, BLOCKS);
    CHECK(flat_files_format(&flat, &disk.device));
    rti_storage_mount(&flat.system);
}

static int open_file(const char *path, int flags)
{
    op = (struct rti_op){.buffer = (void *)(uintptr_t)path,
                         .offset = rti_file_open_word(flags, 0644)};
    rti_storage_file.open(&op);
    return op.status == RT_OK ? (int)op.result : -1;
}

/* Does one work; the result, or -1 if it failed. */
static int64_t work(void (*function)(struct rti_op *), int fd, uint64_t offset, size_t length)
{
    op = (struct rti_op){.fd = fd, .buffer = bytes, .length = length, .offset = offset};
    function(&op);
    return op.status == RT_OK ? op.result : -1;
}

static int64_t read_on(int fd, size_t length)
{
    int64_t got = work(rti_storage_file.read, fd, RTI_FILE_POSITION, length);
    if (got > 0) {
        rti_storage_file.move(fd, op.offset + (uint64_t)got);
    }
    return got;
}

TEST(storage_reads_what_was_written_across_blocks_and_mounts)
{
    prepare();
    int fd = open_file("log", O_RDWR | O_CREAT);
    CHECK(fd >= RTI_STORAGE_FD_FIRST);
    CHECK_EQ(rti_storage_file.kind(fd), RTI_FILE_SEEKED);
    for (size_t i = 0; i < 600; i++) {
        bytes[i] = (char)(i * 7);
    }
    CHECK_EQ(work(rti_storage_file.write, fd, RTI_FILE_POSITION, 600), 600);
    CHECK_EQ(work(rti_storage_file.sync, fd, 0, 0), 0);
    CHECK_EQ(work(rti_storage_file.close, fd, 0, 0), 0);
    CHECK_EQ(rti_storage_file.kind(fd), RTI_FILE_NONE);

    CHECK(flat_files_mount(&flat, &disk.device));
    rti_storage_mount(&flat.system);
    fd = open_file("log", O_RDONLY);
    memset(bytes, 0, sizeof(bytes));
    CHECK_EQ(read_on(fd, 250), 250);
    CHECK_EQ(bytes[249], (char)(249 * 7));
    CHECK_EQ(read_on(fd, 1000), 350);
    CHECK_EQ(bytes[0], (char)(250 * 7));
    CHECK_EQ(bytes[349], (char)(599 * 7));
    CHECK_EQ(read_on(fd, 1000), 0);
    /* A read that nobody takes reads nothing: the position has not moved. */
    CHECK_EQ(work(rti_storage_file.read, fd, 10, 5), 5);
    CHECK_EQ(bytes[0], (char)(10 * 7));
    CHECK_EQ(read_on(fd, 1000), 0);
    CHECK_EQ(work(rti_storage_file.write, fd, 0, 1), -1);
    CHECK_EQ(op.status, RT_ERR_INVALID);
    CHECK_EQ(work(rti_storage_file.close, fd, 0, 0), 0);
}

TEST(storage_appends_truncates_and_says_what_is_wrong)
{
    prepare();
    CHECK_EQ(open_file("none", O_RDONLY), -1);
    CHECK_EQ(op.status, RT_ERR_NOT_FOUND);
    int fd = open_file("a", O_WRONLY | O_CREAT | O_APPEND);
    CHECK_EQ(work(rti_storage_file.write, fd, RTI_FILE_POSITION, 10), 10);
    rti_storage_file.move(fd, 0);
    CHECK_EQ(work(rti_storage_file.write, fd, RTI_FILE_POSITION, 10), 10);
    CHECK_EQ(flat.entries[0].size, 20);
    CHECK_EQ(open_file("a", O_RDWR | O_CREAT | O_EXCL), -1);
    CHECK_EQ(op.status, RT_ERR_EXISTS);
    CHECK_EQ(work(rti_storage_file.close, fd, 0, 0), 0);
    fd = open_file("a", O_RDWR | O_TRUNC);
    CHECK_EQ(read_on(fd, 10), 0);
    CHECK_EQ(work(rti_storage_file.close, fd, 0, 0), 0);
    CHECK_EQ(work(rti_storage_file.close, fd, 0, 0), -1);
    CHECK_EQ(work(rti_storage_file.read, RTI_STORAGE_FD_FIRST - 1, 0, 1), -1);
    CHECK_EQ(work(rti_storage_file.read, RTI_STORAGE_FD_FIRST + RT_STORAGE_FILES, 0, 1), -1);
}

TEST(storage_is_full_and_has_room_again)
{
    prepare();
    int fds[RT_STORAGE_FILES];
    for (size_t i = 0; i < RT_STORAGE_FILES; i++) {
        fds[i] = open_file("a", O_RDWR | O_CREAT);
        CHECK(fds[i] >= 0);
    }
    CHECK_EQ(open_file("a", O_RDWR), -1);
    CHECK_EQ(op.status, RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_EQ(work(rti_storage_file.close, fds[1], 0, 0), 0);
    fds[1] = open_file("a", O_RDWR);
    CHECK(fds[1] >= 0);
    /* Four blocks for each file: the last write is cut short, the next finds none. */
    CHECK_EQ(work(rti_storage_file.write, fds[0], RTI_FILE_POSITION, 1000), 1000);
    CHECK_EQ(work(rti_storage_file.write, fds[0], RTI_FILE_POSITION, 1000), 24);
    CHECK_EQ(work(rti_storage_file.write, fds[0], RTI_FILE_POSITION, 1), -1);
    CHECK_EQ(op.status, RT_ERR_RESOURCE_EXHAUSTED);
    for (size_t i = 0; i < RT_STORAGE_FILES; i++) {
        CHECK_EQ(work(rti_storage_file.close, fds[i], 0, 0), 0);
    }
}

TEST(storage_tells_a_device_that_fails)
{
    prepare();
    int fd = open_file("a", O_RDWR | O_CREAT);
    CHECK_EQ(work(rti_storage_file.write, fd, RTI_FILE_POSITION, 10), 10);
    disk.failing_after = 1;
    CHECK_EQ(work(rti_storage_file.write, fd, RTI_FILE_POSITION, 10), -1);
    CHECK_EQ(op.status, RT_ERR_IO);
    CHECK_EQ(op.error, EIO);
    CHECK_EQ(work(rti_storage_file.sync, fd, 0, 0), -1);
    disk.failing_after = UINT32_MAX;
    CHECK_EQ(work(rti_storage_file.sync, fd, 0, 0), 0);
    CHECK_EQ(work(rti_storage_file.close, fd, 0, 0), 0);
}

TEST(storage_without_a_file_system_has_no_files)
{
    rti_storage_mount(NULL);
    CHECK_EQ(open_file("a", O_RDWR | O_CREAT), -1);
    CHECK_EQ(op.status, RT_ERR_NOT_FOUND);
}
