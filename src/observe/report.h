/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REPORT_H
#define RTI_REPORT_H

/* What a runtime tells of itself to the command line tool, as lines of text
 * (observe/report_text.h).
 *
 *     process  port  workers  now_ns  live
 *     worker   index  turns  id of what runs there, or 0
 *     task     id  kind  name  state  priority  parked_ns  parent  mail  sent  received  sites
 *     wait     id  what  detail...                  one line for each event that would end the wait
 *     stack    id  pc  sp  fp  base  bytes          a parked stack from sp on
 *     stat     name  value
 *     pause    how many nanoseconds the report took the scheduler
 *
 * Sites, youngest first, are addresses for an actor, and pairs of file and line for a task.
 *
 * Numbers are decimal. Addresses are the process's own; the reader makes names of them, with the
 * files that the process has mapped, so that nothing here needs symbols.
 *
 * A full report follows pointers from waits into stacks and must be made on the scheduler's thread,
 * between two turns. A careful one touches only words of the tables, which are there as long as the
 * runtime is: it may be made by any thread, and a number may be a moment old. It is for a runtime
 * whose scheduler does not get its turn.
 *
 * Costs: about a microsecond for each task, and as long for each KiB of its stack. */

#include "observe/report_text.h"
#include "sched/scheduler.h"

struct rti_report_options {
    bool has_stacks;        /* with the bytes of parked stacks */
    bool is_careful;        /* any thread; no waits, no stacks */
    size_t stack_bytes_max; /* of one stack */
};

/* Writes workers, tasks and what they wait for. */
void rti_report_tasks(struct rti_text *text, struct rti_sched *sched,
                      const struct rti_report_options *options);

/* Writes the counters. Any thread. */
void rti_report_stats(struct rti_text *text, struct rti_sched *sched);

#endif
