/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_BACKTRACE_H
#define RTI_BACKTRACE_H

/* The backtrace of a fiber: where it stands and who called it there, from the youngest frame on.
 *
 * The walk itself is the port's (port/backtrace.h). Here is where it begins: a fiber that does not
 * run stands where its context was saved; one that runs on the calling thread stands in the caller;
 * of one that runs elsewhere nothing can be told from here, its thread must be interrupted
 * (sched/preempt.h).
 *
 * A fiber that may go on meanwhile gives a wrong walk, never a fault. Whether it has stood still is
 * for the caller to see.
 *
 * What is told is the program's part: the frames of this library are the way into a wait, which the
 * line says in words already. They are left out where base/text.h knows them, unless nothing else
 * would be left; and so are the two at the beginning of every fiber. */

#include "base/remark.h"
#include "port/backtrace.h"
#include "sched/fiber.h"

struct rti_backtrace {
    size_t count;
    bool is_whole; /* down to the function that the fiber was started with */
    uintptr_t places[RTI_BACKTRACE_MAX];
};

/* Of a fiber that does not run; empty if it has not begun. Any thread, signal handler. */
void rti_backtrace_take(struct rti_backtrace *trace, const struct rti_fiber *fiber);

/* Why it waits, an enum rti_wait_reason; UNKNOWN if that cannot be seen. Any thread, signal
 * handler.
 */
uint8_t rti_backtrace_reason(const struct rti_fiber *fiber);

/* Of the caller. */
void rti_backtrace_take_here(struct rti_backtrace *trace);

/* Of a fiber that was interrupted in this frame, on its own thread. */
void rti_backtrace_take_frame(struct rti_backtrace *trace, const struct rti_frame *frame,
                              const struct rti_fiber *fiber);

/* Adds "server+0x1a2b", or the bare address where modules have no names. Any thread, signal
 * handler. */
void rti_backtrace_remark_place(struct rti_remark *line, uintptr_t place);

/* Adds " server+0x1a2b < server+0x1c00", as many whole places as the line has room for. */
void rti_backtrace_remark(struct rti_remark *line, const struct rti_backtrace *trace);

#endif
