/* SPDX-License-Identifier: Apache-2.0 */
/* The process-wide services of port.h: the last words of a panic, the log line, a plain write.
 *
 * Everything here is async-signal-safe: a panic may come from a fault handler. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "port/port.h"

#define LINE_BYTES_MAX 512

struct line {
    char text[LINE_BYTES_MAX];
    size_t length;
};

static void line_append(struct line *line, const char *text)
{
    size_t room = sizeof(line->text) - 1 - line->length;
    size_t length = strnlen(text, room);
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

static void line_append_number(struct line *line, int number)
{
    char digits[12];
    size_t at = sizeof(digits);
    unsigned rest = number < 0 ? 0U - (unsigned)number : (unsigned)number;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (number < 0) {
        digits[--at] = '-';
    }
    line_append(line, digits + at);
}

static void line_write(struct line *line)
{
    line->text[line->length++] = '\n';
    /* A short or failed write of the last words cannot be helped. */
    ssize_t written = write(STDERR_FILENO, line->text, line->length);
    (void)written;
}

void rti_port_panic_write(const char *module, int id, const char *sentence)
{
    struct line line = {.length = 0};
    line_append(&line, "orrery: panic: ");
    line_append(&line, module);
    line_append(&line, ":");
    line_append_number(&line, id);
    line_append(&line, ": ");
    line_append(&line, sentence != NULL ? sentence : "assertion failed");
    line_write(&line);
    rti_port_repeat_log();
}

_Noreturn void rti_port_abort(void)
{
    abort();
}

void rti_port_log(const char *text)
{
    struct line line = {.length = 0};
    line_append(&line, "orrery: ");
    line_append(&line, text);
    line_write(&line);
}

void rti_port_sleep(uint64_t duration_ns)
{
    struct timespec left = {.tv_sec = (time_t)(duration_ns / RTI_NS_PER_S),
                            .tv_nsec = (long)(duration_ns % RTI_NS_PER_S)};
    int saved_errno = errno;
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    errno = saved_errno;
}

rt_status rti_port_descriptor_write(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    int saved_errno = errno;
    rt_status status = RT_SUCCESS;
    while (size > 0) {
        ssize_t written = write(fd, at, size);
        if (written >= 0) {
            at += written;
            size -= (size_t)written;
        } else if (errno != EINTR) {
            status = (rt_status){RT_ERR_IO, rti_port_error_text(errno)};
            break;
        }
    }
    errno = saved_errno;
    return status;
}
