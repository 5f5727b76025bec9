/* SPDX-License-Identifier: Apache-2.0 */
/* The number of processors: the mask and the quota.
 *
 * A container's quota is a limit on time, not on processors: with two processors' worth of time, 64
 * workers would be stopped together for most of every period. So the quota bounds the workers. A
 * group lies in groups, and each may have a limit: the smallest counts. Version 1 keeps quota and
 * period in two files under the controller's own root, version 2 in one file per group. */
#define _GNU_SOURCE
#define RTI_MODULE "cpus"
#include "port/linux/cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"

#define GROUP_PATH_MAX  512
#define FILE_TEXT_MAX   4096
#define CPUS_SYSTEM_MAX 8192 /* that Linux can be built for */
#define ROOT_2          "/sys/fs/cgroup"
#define ROOT_1          "/sys/fs/cgroup/cpu"

/* Reads a small file whole; false if there is none. */
static bool file_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* Reads a decimal number and moves `*text` behind it. */
static bool number_read(const char **text, uint64_t *number)
{
    const char *at = *text;
    uint64_t value = 0;
    while (*at >= '0' && *at <= '9' && value <= (UINT64_MAX - 9) / 10) {
        value = value * 10 + (uint64_t)(*at - '0');
        at++;
    }
    bool is_number = at != *text;
    *text = at;
    *number = value;
    return is_number;
}

bool rti_linux_cpus_parse_max(const char *text, uint64_t *quota, uint64_t *period)
{
    *quota = 0;
    *period = 0;
    if (strncmp(text, "max", 3) == 0) {
        text += 3;
    } else if (!number_read(&text, quota)) {
        return false;
    }
    if (*text != ' ') {
        return false;
    }
    text++;
    return number_read(&text, period);
}

uint32_t rti_linux_cpus_of_quota(uint64_t quota, uint64_t period)
{
    if (quota == 0 || period == 0) {
        return UINT32_MAX;
    }
    uint64_t cpus = quota / period + (quota % period != 0 ? 1 : 0);
    return cpus > UINT32_MAX ? UINT32_MAX : (uint32_t)cpus;
}

static uint32_t group_limit_2(const char *group)
{
    char path[GROUP_PATH_MAX + 64];
    char text[FILE_TEXT_MAX];
    uint64_t quota;
    uint64_t period;
    snprintf(path, sizeof(path), ROOT_2 "%s/cpu.max", group);
    if (!file_read(path, text, sizeof(text)) || !rti_linux_cpus_parse_max(text, &quota, &period)) {
        return UINT32_MAX;
    }
    return rti_linux_cpus_of_quota(quota, period);
}

static uint64_t group_number_1(const char *group, const char *file)
{
    char path[GROUP_PATH_MAX + 64];
    char text[FILE_TEXT_MAX];
    uint64_t number = 0;
    snprintf(path, sizeof(path), ROOT_1 "%s/%s", group, file);
    const char *at = text;
    /* No limit is a quota of -1, which is no number here. */
    return file_read(path, text, sizeof(text)) && number_read(&at, &number) ? number : 0;
}

static uint32_t group_limit_1(const char *group)
{
    return rti_linux_cpus_of_quota(group_number_1(group, "cpu.cfs_quota_us"),
                                   group_number_1(group, "cpu.cfs_period_us"));
}

/* The smallest limit of a group and of those it lies in. */
static uint32_t group_limit(char *group, uint32_t (*limit_of)(const char *group))
{
    uint32_t least = UINT32_MAX;
    for (;;) {
        uint32_t limit = limit_of(strcmp(group, "/") == 0 ? "" : group);
        least = limit < least ? limit : least;
        char *slash = strrchr(group, '/');
        if (slash == NULL || group[0] == '\0') {
            return least;
        }
        *slash = '\0';
    }
}

/* Does a line "ID:CONTROLLERS:GROUP" name the controller of processors? Version 2 names none. */
static bool line_is_of_cpu(const char *controllers, size_t length, bool *is_2)
{
    *is_2 = length == 0;
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end < length && controllers[end] != ',') {
            end++;
        }
        if (end - at == 3 && memcmp(controllers + at, "cpu", 3) == 0) {
            return true;
        }
        at = end + 1;
    }
    return *is_2;
}

static uint32_t quota_limit(void)
{
    char text[FILE_TEXT_MAX];
    uint32_t least = UINT32_MAX;
    if (!file_read("/proc/self/cgroup", text, sizeof(text))) {
        return least;
    }
    char *rest = text;
    char *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        bool is_2;
        if (group == NULL || strlen(group + 1) >= GROUP_PATH_MAX ||
            !line_is_of_cpu(controllers + 1, (size_t)(group - controllers - 1), &is_2)) {
            continue;
        }
        uint32_t limit = group_limit(group + 1, is_2 ? group_limit_2 : group_limit_1);
        least = limit < least ? limit : least;
    }
    return least;
}

/* Those that the affinity allows. The system refuses to tell if there is no room for all that it
 * could have, which may be more than a set has. */
static uint32_t affinity_limit(void)
{
    cpu_set_t sets[CPUS_SYSTEM_MAX / CPU_SETSIZE];
    memset(sets, 0, sizeof(sets));
    int count = sched_getaffinity(0, sizeof(sets), sets) == 0 ? CPU_COUNT_S(sizeof(sets), sets) : 0;
    return count > 0 ? (uint32_t)count : 1;
}

uint32_t rti_linux_cpus(void)
{
    uint32_t allowed = affinity_limit();
    uint32_t quota = quota_limit();
    quota = quota == 0 ? 1 : quota;
    return quota < allowed ? quota : allowed;
}
