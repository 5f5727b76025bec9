/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_PICTURE_H
#define ORRERY_TOOL_PICTURE_H

/* A report with names: the stacks of all tasks unwound, and every address looked up.
 *
 * A program may have a million tasks, and they stand in a few places. So an address is looked up
 * once: a spot is one address and all that is known about it, and frames point to spots. */

#include "image.h"
#include "report.h"

struct spot {
    uint64_t pc; /* inside of the call; 0: a call that has left no frame */
    const char *function;
    bool is_library;     /* it lies in the code of the runtime */
    struct place *place; /* NULL: not known */
};

/* The stack of one task, innermost first. */
struct frames {
    struct spot **items;
    size_t count;
};

struct picture {
    uint64_t pid;
    bool is_verbose; /* with the frames of the runtime */
    bool has_backtraces;
    struct report report;
    struct images images;
    struct spot **spots;
    size_t spot_count;
    struct map by_key;     /* their addresses, or those of their names, to spots */
    struct frames *frames; /* one for each task */
    struct frames *sites;  /* where each actor was spawned, and its ancestors, youngest first */
    bool is_deadlock;      /* everything waits for another, for good */
};

/* Asks the program and looks everything up; `pid` and the two options are set. False after a
 * complaint. */
bool picture_take(struct picture *picture);
void picture_free(struct picture *picture);

/* The first of a spot's places that is shown: what the compiler inlined there is, if it is the
 * program's. */
const struct place *picture_place(const struct picture *picture, const struct spot *spot);

#endif
