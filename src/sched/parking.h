/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PARKING_H
#define RTI_PARKING_H

/* How a public function that may park returns to the user without a mispredicted return.
 *
 * A processor predicts a return by the latest call, and after a switch that call was another
 * fiber's. Returns from one function of the library to another guess right by luck: every fiber
 * parks along the same few calls. The return to the user's code guesses wrong each time, and that
 * one miss costs about as much as two switches. So a public function does what needs no waiting
 * itself and leaves the rest, as its very last act, to
 *
 *     return rti_call_parking(a, b, c, body);
 *
 * which calls body(a, b, c) and comes back to the function's own caller by an indirect jump. Where
 * the tools watch calls and returns (sanitizers), or no return is predicted (Cortex-M), it is a
 * plain call.
 *
 * Only for the path that parks: a jump leaves the processor's stack of calls one too deep, which
 * costs nothing when the next thing there was another fiber's anyway. */

#include <orrery/rt/status.h>

#include "base/compiler.h"

typedef rt_status (*rti_parking_body)(void *a, void *b, uintptr_t c);

#if RTI_ASAN || RTI_TSAN || defined(__arm__)

static inline rt_status rti_call_parking(void *a, void *b, uintptr_t c, rti_parking_body body)
{
    return body(a, b, c);
}

#else

rt_status rti_arch_call_parking(void *a, void *b, uintptr_t c, rti_parking_body body);

static RTI_ALWAYSINLINE rt_status rti_call_parking(void *a, void *b, uintptr_t c,
                                                   rti_parking_body body)
{
    return rti_arch_call_parking(a, b, c, body);
}

#endif

#endif
