/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_H
#define BENCH_H

/* What the benchmarks share: a clock and a median. A benchmark prints one line per result, name,
 * tab, value, and takes the size of a round as its first argument, so that the tests can run it
 * tiny. Define _GNU_SOURCE before the first include. */

#include <stdlib.h>
#include <time.h>

static inline double bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle one of `count` values, which are sorted by this. */
static inline double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof(values[0]), bench_compare);
    return values[count / 2];
}

#endif
