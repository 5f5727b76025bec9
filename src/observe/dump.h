/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_DUMP_H
#define RTI_DUMP_H

/* A runtime in words: one line for each task and actor that lives, and one with its backtrace.
 *
 * Reads the tables as they are, without a lock, so that a signal handler, or another thread when
 * everything hangs, can do it. Nothing is followed that could have been given back to the system: a
 * task's strings are static, and a wait is looked at only if it lies on the stack of its fiber or
 * in the fiber. A backtrace is believed if the fiber has not moved meanwhile. */

#include "sched/scheduler.h"

/* Writes to a descriptor. Any thread, signal handler. */
rt_status rti_dump_write(const struct rti_sched *sched, int fd);

/* Says in one line of diagnosis who keeps a worker for too long, and where. Signal handler, on the
 * thread of who does. */
void rti_dump_overrun(struct rti_sched *sched, const struct rti_overrun_report *report);

/* Says in lines of diagnosis who waits for what: nobody can ever go on. */
void rti_dump_stuck(const struct rti_sched *sched);

#endif
