/* SPDX-License-Identifier: Apache-2.0 */
/* The works of files, called directly. */
#define _GNU_SOURCE
#define RTI_MODULE "file_work_test"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "port/linux/port_linux.h"
#include "support/test.h"

static const struct rti_port_file *const file = &rti_linux_file;

static void ignore(struct rti_op *op)
{
    (void)op;
}

static struct rti_op work(void (*run)(struct rti_op *), int fd, void *buffer, size_t length,
                          uint64_t offset)
{
    struct rti_op op;
    rti_op_init(&op, RTI_OP_WORK, ignore);
    op.fd = fd;
    op.buffer = buffer;
    op.length = length;
    op.offset = offset;
    run(&op);
    return op;
}

static int temporary(char *path)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "0123456789", 10), 10);
    CHECK_EQ(lseek(fd, 2, SEEK_SET), 2);
    return fd;
}

TEST(file_work_read_at_the_position_tells_it_and_leaves_it)
{
    char path[] = "/tmp/orrery-file-work-XXXXXX";
    char buf[8] = "";
    int fd = temporary(path);
    struct rti_op op = work(file->read, fd, buf, 3, RTI_FILE_POSITION);
    CHECK(op.status == RT_OK && op.result == 3 && memcmp(buf, "234", 3) == 0);
    CHECK_EQ(op.offset, 2);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 2);
    file->move(fd, op.offset + 3);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 5);
    op = work(file->read, fd, buf, 3, 7);
    CHECK(op.result == 3 && memcmp(buf, "789", 3) == 0);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 5);
    op = work(file->write, fd, buf, 1, RTI_FILE_POSITION);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 6);
    op = work(file->write, fd, buf, 1, 0);
    CHECK(op.status == RT_OK && op.result == 1);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 6);
    close(fd);
    unlink(path);
}

TEST(file_work_open_word_carries_flags_and_mode)
{
    char path[] = "/tmp/orrery-file-work-XXXXXX";
    close(temporary(path));
    struct rti_op op = work(file->open, -1, path, 0, rti_file_open_word(O_WRONLY | O_TRUNC, 0));
    CHECK_EQ(op.status, RT_OK);
    int fd = (int)op.result;
    CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_WRONLY);
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CHECK_EQ(lseek(fd, 0, SEEK_END), 0);
    op = work(file->sync, fd, NULL, 0, 0);
    CHECK_EQ(op.status, RT_OK);
    op = work(file->close, fd, NULL, 0, 0);
    CHECK_EQ(op.status, RT_OK);
    op = work(file->close, fd, NULL, 0, 0);
    CHECK(op.status == RT_ERR_INVALID && op.error == EBADF);
    unlink(path);
}

TEST(file_work_errors_have_their_status)
{
    char byte = 0;
    struct rti_op op = work(file->open, -1, "/no/such/file", 0, 0);
    CHECK(op.status == RT_ERR_NOT_FOUND && op.error == ENOENT);
    op = work(file->open, -1, "/", 0, rti_file_open_word(O_WRONLY, 0));
    CHECK(op.status == RT_ERR_IO && op.error == EISDIR);
    op = work(file->read, -1, &byte, 1, 0);
    CHECK(op.status == RT_ERR_INVALID && op.error == EBADF);
    op = work(file->sync, -1, NULL, 0, 0);
    CHECK_EQ(op.status, RT_ERR_INVALID);
}

TEST(file_work_kinds_are_told_by_the_position)
{
    char path[] = "/tmp/orrery-file-work-XXXXXX";
    int fd = temporary(path);
    int ends[2];
    int zero = open("/dev/zero", O_RDONLY);
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(file->kind(fd), RTI_FILE_SEEKED);
    CHECK_EQ(file->kind(zero), RTI_FILE_SEEKED);
    CHECK_EQ(file->kind(ends[0]), RTI_FILE_STREAM);
    CHECK_EQ(file->kind(-1), RTI_FILE_NONE);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 2);
    close(fd);
    close(zero);
    close(ends[0]);
    close(ends[1]);
    CHECK_EQ(file->kind(ends[0]), RTI_FILE_NONE);
    unlink(path);
}

TEST(file_work_reads_what_has_no_position_as_it_comes)
{
    char byte = 0;
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(write(ends[1], "p", 1), 1);
    struct rti_op op = work(file->read, ends[0], &byte, 1, RTI_FILE_POSITION);
    CHECK(op.status == RT_OK && op.result == 1 && byte == 'p');
    CHECK(op.offset == RTI_FILE_POSITION);
    close(ends[0]);
    close(ends[1]);
}
