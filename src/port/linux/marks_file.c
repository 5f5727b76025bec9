/* SPDX-License-Identifier: Apache-2.0 */
/* Where the marks of base/marks.h go when a process exits: a file that many processes append to.
 * Each call is one write to a descriptor opened for appending, so no line is torn. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "port/port.h"

void rti_port_marks_append(const char *text, size_t length)
{
    const char *path = getenv("ORRERY_MARKS_FILE");
    if (path == NULL || path[0] == '\0') {
        return;
    }
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        rti_port_log("cannot open the file that ORRERY_MARKS_FILE names");
        return;
    }
    if (write(fd, text, length) != (ssize_t)length) {
        rti_port_log("cannot append to the file that ORRERY_MARKS_FILE names");
    }
    close(fd);
}
