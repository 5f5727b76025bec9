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
 * A body that is most of a public function goes without that call. Its definition is marked
 * RTI_JUMPS_BACK (its declaration is not: to a function that is, the compiler would not jump), so
 * that it comes back by an indirect jump itself, and is entered by
 *
 *     return rti_jump_parking(a, b, c, body);
 *
 * Every taken jump between two returns to the user counts: a processor tells one fiber's return
 * from another's by the jumps that came before, and of those it remembers a few dozen.
 *
 * In both cases the body may say, as the last thing before it returns, who it returns to
 * (rti_parking_tell): a number that differs from fiber to fiber helps the processor to guess. It is
 * a hint that may be lost.
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

/* Says whom the calling body returns to. */
static RTI_ALWAYSINLINE void rti_parking_tell(uint32_t fiber_id)
{
#if defined(__x86_64__)
    __asm__ volatile("movl %0, %%r11d" ::"rm"(fiber_id) : "r11");
#else
    (void)fiber_id;
#endif
}

/* Where the compiler can make a function's returns jumps: through the thunk in parking.S. */
#if defined(__has_attribute)
#if __has_attribute(function_return) && defined(__x86_64__) && !RTI_ASAN && !RTI_TSAN
#define RTI_CAN_JUMP_BACK 1
#endif
#endif

#if defined(RTI_CAN_JUMP_BACK)
#define RTI_JUMPS_BACK __attribute__((noinline, function_return("thunk-extern")))
/* The compiler names the place that they jump to; here the name means ours, and no other library's.
 */
__asm__(".set __x86_return_thunk, rti_arch_jump_back");
#define rti_jump_parking(a, b, c, body) (body)((a), (b), (c))
#else
#define RTI_JUMPS_BACK                  RTI_NOINLINE
#define rti_jump_parking(a, b, c, body) rti_call_parking((a), (b), (c), (body))
#endif

#endif
