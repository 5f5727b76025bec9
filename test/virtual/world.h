/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_WORLD_VIRTUAL_H
#define TEST_WORLD_VIRTUAL_H

/* Plays programs in worlds of virtual threads, watched by the witness. */

#include "virtual/witness.h"

/* Worlds that one seed of a case plays. */
#define WORLDS        100
#define WORLDS_PROMPT 20 /* those are long */

struct world_report {
    uint64_t points;
    uint64_t digest;
    uint64_t time_ns;
    struct witness_counts counts;
};

/* Plays `program` in the world of a number: it opens the runtime, runs it, and leaves it to be
 * cleaned up. Two worlds of the same number and program are the same. */
struct world_report world_play(uint64_t seed, void (*program)(uint64_t seed));

/* The same with a chooser that is fair and a clock that is never late: for bounds on time. */
struct world_report world_play_prompt(uint64_t seed, void (*program)(uint64_t seed));

/* Plays the worlds of the test's seed, or only the one that ORRERY_SEED names, whose figures it
 * prints. */
void worlds_play(void (*program)(uint64_t seed));
void worlds_play_prompt(void (*program)(uint64_t seed));

/* Checks that the world of the test's seed comes to the same number when it is played again, each
 * time in a process that has played no other, and that the next world comes to another. */
void world_check_repeats(void (*program)(uint64_t seed),
                         uint64_t (*digest)(const struct world_report *report));

#endif
