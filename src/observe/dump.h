/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_DUMP_H
#define RTI_DUMP_H

/* A runtime in words: one line for each task and actor that lives.
 *
 * Reads the tables as they are, without a lock, so that a signal handler, or another thread when
 * everything hangs, can do it. Nothing is followed that could have been given back to the system: a
 * task's strings are static, and a wait is looked at only if it lies on the stack of its fiber. */

#include "sched/scheduler.h"

/* Writes to a descriptor. Any thread, signal handler. */
rt_status rti_dump_write(const struct rti_sched *sched, int fd);

/* Says in lines of diagnosis who waits for what: nobody can ever go on. */
void rti_dump_stuck(const struct rti_sched *sched);

#endif
