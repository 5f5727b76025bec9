/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_GUARD_H
#define RTI_GUARD_H

/* Faults: a stack that overflows ends its fiber, everything else ends the program with a sentence.
 *
 * The switch puts a guard under the stack that runs (port/arch/armv7m/switch.h); start turns the
 * guards on. Whoever touches one faults. The stack is of no use then, not even to the handler's own
 * return, so the handler forges a frame of eight words on the worker's stack, below where that is
 * parked, and returns there: the landing goes on in thread mode as if the fiber had suspended, and
 * the scheduler takes the fiber apart like any that overflowed. No line of the fiber runs again.
 *
 * On ARMv7-M a second region makes the first 32 bytes of memory unreachable, so that following a
 * null pointer faults. ARMv8-M cannot forbid reading to privileged code: there only writing faults.
 *
 * What was masked is unmasked, and what the floating-point unit still owed to the lost stack is
 * forgiven.
 *
 * I1  After an overflow no memory outside of the stack has changed.        (guard_test)
 *
 * A call of the runtime is never cut short by this: it begins only with RTI_STACK_RESERVE bytes
 * left (sched/stack.h), and ends the fiber itself if there are fewer. */

/* Turns on the guards that this processor has. */
void rti_guard_start(void);
void rti_guard_stop(void);

#endif
