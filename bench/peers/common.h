/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEERS_COMMON_H
#define PEERS_COMMON_H

/* What the programs in C and C++ share, on both sides: clocks, memory, numbers and the line that
 * each prints. Define _GNU_SOURCE before the first include. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static inline double common_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Processor time of this process so far. */
static inline double common_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return ((double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec) * 1e9 +
           ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) * 1e3;
}

static inline void common_expect(int is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "peer: %s\n", what);
        exit(1);
    }
}

static inline double common_resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    common_expect(file != NULL && fscanf(file, "%*s %ld", &pages) == 1, "no /proc/self/statm");
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* The same numbers in every program: a 64-bit xorshift, seeded with anything but 0. */
static inline uint64_t common_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* One line: bench, metric, value. */
static inline void common_report(const char *bench, const char *metric, double value)
{
    printf("%s\t%s\t%.2f\n", bench, metric, value);
    fflush(stdout);
}

#endif
