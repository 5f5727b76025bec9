/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JOURNAL_WALK_H
#define JOURNAL_WALK_H

/* Looks at every record of a journal and demands what holds on every engine: numbers without a gap,
 * times that do not run backwards, and of each runnable a start, then turns, then an end. */

#include <orrery/rt/journal.h>

#define JOURNAL_WALK_TASKS 64

struct journal_walk {
    uint64_t starts;
    uint64_t dispatches;
    uint64_t ends;
    uint64_t sends;
    uint64_t recvs;
    uint32_t worker_max;
    uint32_t worker_min;
};

/* The journal stands still, and its ring has lost nothing. */
void journal_walk(const rt_journal *journal, struct journal_walk *walk);

#endif
