/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PREEMPT_H
#define RTI_PREEMPT_H

/* Fibers that hold a worker for too long, and how it is taken from them.
 *
 * A fiber is never stopped in the middle of something. What is taken from it is its station: the
 * thread goes on computing, another one serves whoever waits, and when the fiber comes to suspend
 * the next time it queues like everybody else. So a program with more endless loops than workers
 * still runs; the system shares the processors among the threads.
 *
 * The warden interrupts the thread. In the handler, on that thread, the question is whether the
 * interrupted code is the program's own: the runtime may have the station in a register. It is the
 * program's if neither the instruction nor any word on the live part of the fiber's stack, below
 * its berth, is an address of the library's code: a call of the runtime that has not returned has
 * left one there. Where a call leaves its return address in a register, a small function of another
 * library that the runtime calls, an atomic operation for one, has it nowhere else, so that
 * register is looked at, too. A word that only looks like one, left over from an earlier call in a
 * frame that did not clear it, makes the answer no; then the next interrupt asks again.
 *
 * A fiber that is interrupted inside of the runtime is asked again at its next call: the handler
 * summons it (sched/stack.h), and the call, which has done nothing yet, asks whether it comes from
 * the program and lets go of the station. So a loop that calls the runtime again and again and
 * never waits, and is inside nearly all of the time, does not stop the others either. The question
 * is the same, asked of who called the public function and of the stack above its frame, which may
 * have words of earlier calls in it: so a call by a function of the program that the runtime calls,
 * or by the runtime itself, is told.
 *
 * The third way is reductions, for code compiled with -fsanitize-coverage=trace-pc: the compiler
 * calls a function in every block, which counts down and yields at zero. That is a real preemption,
 * works on every engine, and in the simulator it happens at the same block in every run. It asks
 * the same question first: a filter that the runtime calls must not yield.
 *
 * I1  A station is let go of only on the thread that holds it, outside of the runtime.
 *                                             (preempt_interrupted, rti_preempt_at_limit)
 *
 * Rejected: switching fibers in the handler (the fiber may be inside malloc, whose lock it would
 * keep); a flag set by each public function (two stores per call, and functions that come back by a
 * jump have no end). */

#include "port/backtrace.h"
#include "sched/fiber.h"

/* Blocks that a fiber may run between two suspensions, if its code counts them. */
#define RTI_REDUCTIONS_MAX 4000

/* Does the code of this frame, by its pc, sp and link, belong to the program, with no call of the
 * runtime below it? Safe in a signal handler, on the fiber's own thread. */
bool rti_preempt_is_outside(const struct rti_fiber *fiber, const struct rti_frame *frame);

/* What a call of the runtime does that finds its fiber summoned. `frame_end` is where the frame of
 * the public function ends, and `link` where that returns to. By rti_arch_at_limit. */
RTI_ASM_NAMED void rti_preempt_at_limit(uintptr_t frame_end, uintptr_t link);

/* Has interrupted threads let go of their stations from now on. False where that cannot be. */
bool rti_preempt_open(struct rti_sched *sched);
void rti_preempt_close(struct rti_sched *sched);

#endif
