/* SPDX-License-Identifier: Apache-2.0 */
/* The line that repeats a failing run: an environment variable and the command of this process.
 *
 * It is put together when the run starts, so that a panic only has to write it. The buffer belongs
 * to the process, as its command line does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port/port.h"

#define REPEAT_BYTES_MAX 480

static char repeat_line[REPEAT_BYTES_MAX];

bool rti_port_environment_number(const char *name, uint64_t *number)
{
    const char *text = getenv(name);
    if (text == NULL || *text < '0' || *text > '9') {
        return false;
    }
    char *end = NULL;
    int saved_errno = errno;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    bool is_number = errno == 0 && *end == '\0';
    errno = saved_errno;
    if (is_number) {
        *number = value;
    }
    return is_number;
}

/* The arguments of the command line end in zeros; a line for a person has blanks there. */
static size_t repeat_read_command(char *text, size_t room)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t length = read(fd, text, room - 1);
    close(fd);
    if (length <= 0) {
        return 0;
    }
    for (ssize_t i = 0; i < length - 1; i++) {
        if (text[i] == '\0') {
            text[i] = ' ';
        }
    }
    text[length] = '\0';
    return (size_t)length;
}

void rti_port_repeat_set(const char *name, uint64_t number)
{
    int length =
        snprintf(repeat_line, sizeof(repeat_line), "repeat with: %s=%" PRIu64 " ", name, number);
    if (length < 0 || (size_t)length >= sizeof(repeat_line) - 1) {
        repeat_line[0] = '\0';
        return;
    }
    repeat_read_command(repeat_line + length, sizeof(repeat_line) - (size_t)length);
}

void rti_port_repeat_clear(void)
{
    repeat_line[0] = '\0';
}

void rti_port_repeat_log(void)
{
    if (repeat_line[0] != '\0') {
        rti_port_log(repeat_line);
    }
}
