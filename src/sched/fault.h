/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_FAULT_H
#define RTI_FAULT_H

/* What becomes of a fault: the policy behind port/fault.h.
 *
 * A fault is looked at on the thread that made it. If that thread is a worker, a fiber runs on it
 * and the stack pointer is on that fiber's stack, the fault is the fiber's:
 *
 *     the address is in its guard page     overflow: the fiber ends, always
 *     any other, containment is on         the fiber ends as faulted
 *     any other, containment is off        passed on; one line names the fiber if that ends the
 *                                          process
 *
 * and everything else is passed on. A fiber that ends does so like one that called exit: the thread
 * continues on the worker's stack, below the worker's frames, and takes the ordinary way out from
 * there (rti_fiber_abandon). None of the fiber's frames runs again; what they had linked into the
 * runtime was linked by a call that has returned, and goes with the fiber.
 *
 * That is why any other fault inside the runtime is a panic: a change may be half done. Whether it
 * is inside is decided by where the machine stood:
 *
 *     the instruction is the library's     inside
 *     its return address is the library's  inside: memcpy and the like, called with a bad pointer
 *     else                                 outside
 *
 * The return address of a function without a frame is at the stack pointer or in a register; that
 * is how the C library's functions on memory and strings are made, and the runtime hands the
 * program's pointers to no others. A word that only looks like such an address makes a panic of
 * what could have been contained; the other error would need a C function that the runtime calls,
 * that keeps a frame, and that is handed a bad pointer. A filter of rt_ipc_recv_match is outside,
 * though the runtime calls it: it does so only where an actor could end as well, and from a place
 * that is not in the table (RTI_OUTSIDE).
 *
 * An overflow is never in the middle of a change: a call of the runtime that has begun has its
 * reserve (sched/stack.h), and one that has not begun, standing in its first instructions, has
 * changed nothing.
 *
 * I1  The policy changes nothing but the fiber's end and its kind of fault.        (by inspection)
 * I2  A fiber that lands is RUNNING and has no wait.                                (fiber_finish)
 *
 * Costs: none until a fault.
 *
 * Rejected: a flag set at the entry of every public function and cleared at its exits (two stores
 * per call, and functions that come back by a jump have no exit); a walk over the stack by unwind
 * tables (not safe in a handler, and lost at the first call through a NULL pointer); a look through
 * the stack for addresses of the library (dead frames are full of them). */

#include "port/fault.h"
#include "sched/fiber.h"

/* Has the port show the faults of this process to the policy, as long as the scheduler lives.
 * RT_OK, or what faults_open says. */
RT_MUST_CHECK rt_status rti_faults_open(struct rti_sched *sched);
/* The end of it; nothing if there was no beginning. */
void rti_faults_close(struct rti_sched *sched);

/* Has the faults of the calling thread, another worker of the same scheduler, shown too. Returns
 * what rti_faults_unattend is given before the thread ends; NULL if there is nothing to do or no
 * memory: then an overflow of a fiber that runs here ends the process. */
void *rti_faults_attend(struct rti_sched *sched);
void rti_faults_unattend(struct rti_sched *sched, void *stack);

/* What the system calls it: "SIGSEGV". */
const char *rti_fault_name(enum rti_fault_kind kind);

#endif
