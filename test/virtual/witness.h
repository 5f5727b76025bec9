/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_WITNESS_H
#define TEST_WITNESS_H

/* A witness watches a runtime on virtual threads from outside, and ends the process when a promise
 * is broken:
 *
 *     no worker idles while work is queued       looked at whenever nobody can run
 *     a timer is fired soon after it is due      likewise
 *     no wake-up is lost                         the world's own: everybody sleeps, no deadline
 *     one that is ready is run within a bound    at each start: how many turns its station made
 *
 * Its code is not instrumented and makes no points: it is no part of any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "port/virtual/virtual.h"

/* What a world came to. */
struct witness_counts {
    uint64_t starts;     /* dispatches */
    uint64_t quiets;     /* looks while nobody could run */
    uint64_t waited_max; /* turns of its station that one waited, at most */
    uint64_t steals;     /* by the stations' own counts, as are those below */
    uint64_t spills;
    uint64_t capped;
    uint64_t retakes;
    uint64_t preempts;
};

/* Begins to watch the runtime that is opened next. `late_max_ns`: how long nobody need look at a
 * timer that is due. */
void witness_begin(void);

/* For the world's config. */
void witness_quiet(void);
void witness_probe(const char *name, uint64_t a, uint64_t b);

/* Before rt_cleanup takes the stations away. */
void witness_end(struct witness_counts *counts);

/* Ends the process with a sentence and the line that repeats the world. */
#define WITNESS(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            rti_virtual_fail("broken: " #condition);                                               \
        }                                                                                          \
    } while (0)

#endif
