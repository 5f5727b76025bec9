/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ASSERT_H
#define RTI_ASSERT_H

/* Three tiers of assertion, and the one way to give up.
 *
 * RT_ASSERT  always on, constant time: a bug, ours or the caller's, that must not go on.
 * RT_DCHECK  in builds with RT_CHECKS=1 (debug, sim, fuzz, tests): too dear for a hot path.
 * RT_AUDIT   in the same builds: calls a `noun_audit()` that walks a whole structure.
 *
 * A source file names itself once, `#define RTI_MODULE "wheel"`, before it includes this header; on
 * a microcontroller (RT_ASSERT_NUMBERED) the text is left out of flash and module and line remain.
 * With RT_ASSERT_TRAP, on a Cortex-M, giving up is one undefined instruction that holds the low
 * byte of the line: the handler of faults tells it with its address, which names the function.
 *
 * RTI_ASSERT_MADE  RT_ASSERT of how a structure is made, which is the same in every run of a
 * program: where flash is scarce it is RT_DCHECK.
 *
 * An operating condition (full, closed, timed out) is never an assertion: it is an rt_status. */

#include "base/compiler.h"

#ifndef RTI_MODULE
#define RTI_MODULE "orrery"
#endif

#ifndef RT_CHECKS
#define RT_CHECKS 0
#endif

/* Ends the process: writes one line "orrery: panic: <module>:<id>: <sentence>" through the port
 * and aborts. `id` is the source line. Callable from anywhere, a signal handler included. */
_Noreturn RTI_COLD void rti_panic(const char *module, int id, const char *sentence);

#if defined(RT_ASSERT_TRAP)
#define rti_panic(module, id, sentence)                                                            \
    do {                                                                                           \
        __asm__ volatile("udf %0" ::"i"((id)&255));                                                \
        __builtin_unreachable();                                                                   \
    } while (0)
#endif

#if defined(RT_ASSERT_NUMBERED)
#define RTI_PANIC_TEXT(c) NULL
#else
#define RTI_PANIC_TEXT(c) "assertion failed: " #c
#endif

#define RT_ASSERT(c)                                                                               \
    do {                                                                                           \
        if (RTI_UNLIKELY(!(c))) {                                                                  \
            rti_panic(RTI_MODULE, __LINE__, RTI_PANIC_TEXT(c));                                    \
        }                                                                                          \
    } while (0)

#if RT_CHECKS
#define RT_DCHECK(c)   RT_ASSERT(c)
#define RT_AUDIT(call) (call)
#else
#define RT_DCHECK(c)   ((void)sizeof(!!(c)))
#define RT_AUDIT(call) ((void)sizeof((call), 0))
#endif

#if RTI_ONE_WORKER
#define RTI_ASSERT_MADE(c) RT_DCHECK(c)
#else
#define RTI_ASSERT_MADE(c) RT_ASSERT(c)
#endif

#endif
