/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REPORT_H
#define RTI_REPORT_H

/* What a runtime tells of itself to the command line tool, as lines of text
 * (observe/report_text.h).
 *
 *     process  port  workers  now_ns  live
 *     open     only if somebody outside may bring a value: the system by a signal, or a thread
 *     worker   index  turns  id of what runs there, or 0
 *     task     id  kind  name  state  priority  parked_ns  parent  mail  sent  received  sites
 *     wait     id  what  detail...                  one line for each event that would end the wait
 *     stack    id  pc  sp  fp  base  bytes          a parked stack from sp on
 *     stat     name  value
 *     code     id  address                        the function of something without a stack
 *     slice    how many nanoseconds this part of the report took the scheduler; 0: none
 *
 * Sites, youngest first, are addresses for an actor, and pairs of file and line for a task.
 *
 * Numbers are decimal. Addresses are the process's own; the reader makes names of them, with the
 * files that the process has mapped, so that nothing here needs symbols.
 *
 * What is told of a task that waits lies on its stack, which changes as soon as it goes on. On the
 * scheduler's thread of an engine with one worker nothing goes on meanwhile. Any other thread gives
 * `peek`, which copies memory and fails where there is none instead of faulting; what was read is
 * dropped again if the task has not stood still. Such a report may be made while everything runs,
 * and also if the scheduler does not get its turn.
 *
 * A report is made in slices, each of so many places of the tables, whether somebody lives there or
 * not. Whoever has all others stand still for one lets them go on before the next: how long nothing
 * happens does not depend on how many tasks there are. Several slices show no single moment then.
 *
 * Costs: about a microsecond for each task, and as long for each KiB of its stack. */

#include "base/peek.h"
#include "observe/report_text.h"
#include "sched/scheduler.h"

struct rti_report_options {
    bool has_stacks;        /* with the bytes of parked stacks */
    size_t stack_bytes_max; /* of one stack; at most RTI_REPORT_STACK_MAX */
    rti_peek peek;          /* NULL: everything stands still */
    uint32_t places_max;    /* of one slice; more than 0 */
};

#define RTI_REPORT_STACK_MAX 8192

/* Where a report goes on; all zero at its beginning. */
struct rti_report_cursor {
    bool is_begun;
    uint32_t table;
    uint32_t index;
};

/* Writes the next part: first workers, then everything that lives and what it waits for. True:
 * there is more. */
bool rti_report_slice(struct rti_text *text, struct rti_sched *sched,
                      const struct rti_report_options *options, struct rti_report_cursor *cursor);

/* Writes the line about the process. */
void rti_report_process(struct rti_text *text, struct rti_sched *sched);

/* Writes the counters. Any thread. */
void rti_report_stats(struct rti_text *text, struct rti_sched *sched);

#endif
