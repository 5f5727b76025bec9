/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CENSUS_H
#define TEST_CENSUS_H

/* How many descriptors and threads this process has.
 *
 * The system lists a thread that has been joined for a while longer, for as long as the machine is
 * busy with other things. So who wants to know how many there are without a runtime asks before the
 * first one is made, and who wants the others gone waits for it, without a limit but the case's. */

#include <dirent.h>
#include <stddef.h>
#include <unistd.h>

#include "base/compiler.h"
#include "support/test.h"

/* Entries of a directory of /proc, without "." and "..". */
static inline size_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    size_t count = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    closedir(dir);
    return count;
}

static inline size_t count_fds(void)
{
    return count_entries("/proc/self/fd");
}

/* How many threads there are without those that the case starts: its own, and those of tools and of
 * an emulator. Asked first before it starts any: the thread sanitizer adds one of its own with the
 * first of the program. */
static inline size_t threads_outside(void)
{
    static size_t count;
    if (count == 0) {
        count = count_entries("/proc/self/task") + RTI_TSAN;
    }
    return count;
}

static inline void threads_await(size_t count)
{
    while (count_entries("/proc/self/task") != count) {
        usleep(100);
    }
}

#endif
