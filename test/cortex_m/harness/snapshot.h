/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

/* What a process is on Linux, a snapshot is here: all variables, the heap and the stack of main are
 * copied away, a function runs, and however it ended everything is put back. So each case of a
 * firmware begins with the memory of a fresh boot, and what must panic can panic in the middle of a
 * case, as in a forked child.
 *
 * Two levels: a case, and in it one that is expected to panic. The copies lie in a memory of their
 * own (rti_test_snapshot, set by the linker). Interrupts are off and SysTick is stopped when a
 * level is left. */

#include <stdbool.h>
#include <stddef.h>

#define SNAPSHOT_LEVELS   2
#define SNAPSHOT_RETURNED (-1)
#define SNAPSHOT_ABORTED  (-2)

/* Variables that are not put back. */
struct snapshot_kept {
    struct test_case *test; /* the case that runs */
    unsigned passed;
    unsigned failed;
    unsigned skipped;
    char said[512]; /* what was written to the log and by a panic */
    size_t said_length;
};

struct snapshot_kept *snapshot_kept(void);

/* Forgets what an earlier life of the memory left. Once, before all else. */
void snapshot_start(void);

/* Runs body(arg), puts the memory back and says how it ended: SNAPSHOT_RETURNED, or what was given
 * to snapshot_leave. */
int snapshot_run(void (*body)(void *arg), void *arg);

/* Ends the innermost body that runs; false if there is none. */
bool snapshot_leave(int status);

#endif
