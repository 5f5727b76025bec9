/* SPDX-License-Identifier: Apache-2.0 */
/* What is said on standard error, caught; apart, because it needs descriptors. */
#define _GNU_SOURCE
#include <unistd.h>

#include "support/actors.h"
#include "support/test.h"

const char *actors_capture(void (*body)(void))
{
    static char text[4096];
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    int kept = dup(STDERR_FILENO);
    CHECK(kept >= 0 && dup2(pipes[1], STDERR_FILENO) == STDERR_FILENO);
    close(pipes[1]);
    body();
    CHECK(dup2(kept, STDERR_FILENO) == STDERR_FILENO);
    close(kept);
    size_t length = 0;
    ssize_t got;
    while (length < sizeof(text) - 1 &&
           (got = read(pipes[0], text + length, sizeof(text) - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(pipes[0]);
    return text;
}
