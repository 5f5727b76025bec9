/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_FAULT_H
#define ORRERY_RT_FAULT_H

/* Faults: what happens to an actor that touches memory it may not touch, divides by zero, or runs
 * into what is no instruction.
 *
 * A stack overflow is always contained where the machine has page protection: the actor ends with
 * RT_EXIT_CRASH_STACK and the others go on. Other faults end the process, after one line that names
 * the actor, unless the program asks for more here.
 *
 * To this end rt_init takes over SIGSEGV, SIGBUS, SIGFPE and SIGILL and the alternate signal stack
 * of its thread; rt_cleanup puts back what was there. A fault that is no actor's goes to the
 * handler that was there before, or to the default action. A handler that the program installs in
 * between replaces the library's, and with it what is said here. */

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>
#include <stdbool.h>

RT_EXTERN_C_BEGIN

/* Chooses whether a fault inside an actor ends only that actor. With `is_contained` an actor that
 * causes SIGSEGV, SIGBUS, SIGFPE or SIGILL ends with the reason RT_EXIT_CRASH, its links and
 * monitors are told, and the others go on. Off after each rt_init. What it cannot promise: who
 * writes through a wild pointer may have damaged anything before it faults; a lock that the actor
 * held, those of the C library included (malloc, stdio), stays held; what the actor had opened or
 * allocated stays so. A fault inside a call of this library, such as a bad pointer handed to
 * rt_ipc_send, is a panic and ends the process. CAVEATS.md has all of it. Callable from an actor,
 * and from main on the runtime's thread. Never suspends. There is no pointer to own. Returns RT_OK;
 * RT_ERR_THREAD on a thread without a runtime; RT_ERR_UNSUPPORTED if faults cannot be caught here
 * (the simulator without a machine below it), or the library's code cannot be told from the
 * program's (built with a section per function). Nothing is lost on cancel. */
RT_API rt_status rt_contain_faults(bool is_contained);

RT_EXTERN_C_END

#endif
