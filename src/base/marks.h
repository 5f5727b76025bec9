/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_MARKS_H
#define RTI_MARKS_H

/* Two marks in the code that keep the tests honest (rules R8 and R9). Both exist only in builds
 * with RT_CHECKS=1 and are nothing at all elsewhere.
 *
 * RT_SOMETIMES(condition, "name") says: some test makes this true here. The test command gathers
 * the marks that were hit by all processes of a run, compares them with those it finds in the
 * source, and fails for one that was never hit. Use it for the rare path that a test is meant to
 * reach: the queue was full, the wake came while parking, the thief lost the race.
 *
 * RT_BUGGIFY("name") is a condition: true when this run shall be unkind here (a short write, a
 * spurious wake, the slow path). It is false until rti_buggify_enable. Then the seed decides which
 * sites are live, one in four, and a live site fires in one of four passes. A site that fires hits
 * the mark of its name.
 *
 * A name is a string literal, unique in the tree, because the test command finds it in the text of
 * the source. What a site does depends on the seed, its name and the count of its passes, never on
 * an address: the same seed and the same sequence of passes give the same faults in every build.
 *
 * I1  A mark is in the list of hit marks iff its word is set, and once only.    (rti_marks_audit)
 * I2  A site counts its passes from zero in every run that rti_buggify_enable begins.
 *
 * The words below are plain integers, for which marks.c uses real atomics in every build: to the
 * explorer a mark is no step of the program it explores.
 *
 * Costs, with checks: a hit is a call and a load; a pass through a site is a call and a load while
 * nothing is enabled, about 40 ns when it is.
 *
 * Rejected: a linker section of marks (a static library drops it, and each target's linker script
 * would have to know it); names by file and line (an edit above would change what a seed does). */

#include <stdbool.h>

#include "base/assert.h"

struct rti_mark {
    const char *name;      /* a literal */
    struct rti_mark *next; /* the mark that was hit before this one; written by who sets is_hit */
    uint32_t is_hit;       /* 0, then 1 for ever */
};

struct rti_buggify_site {
    struct rti_mark mark; /* hit when the site fires */
    uint32_t run;         /* the run that `passes` counts in */
    uint32_t passes;      /* so many times this site was asked in that run */
};

#if RT_CHECKS
#define RT_SOMETIMES(condition, name)                                                              \
    do {                                                                                           \
        if (condition) {                                                                           \
            static struct rti_mark rti_mark_here = {"" name, NULL, 0};                             \
            rti_mark_hit(&rti_mark_here);                                                          \
        }                                                                                          \
    } while (0)
#define RT_BUGGIFY(name)                                                                           \
    __extension__({                                                                                \
        static struct rti_buggify_site rti_site_here = {{"" name, NULL, 0}, 0, 0};                 \
        rti_buggify_fires(&rti_site_here);                                                         \
    })
#else
#define RT_SOMETIMES(condition, name) ((void)sizeof(!!(condition)))
#define RT_BUGGIFY(name)              false
#endif

/* Records that a mark was hit; a mark lives as long as the process. Any thread, signal handlers
 * included. */
void rti_mark_hit(struct rti_mark *mark);

/* Whether a mark of this name was hit in this process. */
bool rti_mark_was_hit(const char *name);

/* Appends the names of all hit marks to the file that the environment names in ORRERY_MARKS_FILE,
 * if it does. Runs by itself when the process exits. */
void rti_marks_write(void);

/* Checks I1; returns the count of hit marks. */
size_t rti_marks_audit(void);

/* Begins a run in which sites fire as `seed` says; every pass is counted anew. One run at a time in
 * a process. The faults repeat exactly if one thread makes all passes, as in the simulator. */
void rti_buggify_enable(uint64_t seed);

/* Ends the run: no site fires. */
void rti_buggify_disable(void);

/* Counts a pass through `site`; true if it fires. */
bool rti_buggify_fires(struct rti_buggify_site *site);

#endif
