/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "backtrace"
#include "sched/backtrace.h"

#include "base/peek.h"
#include "base/text.h"
#include "sched/fiber_life.h"
#include "sched/parking.h"

#if !RTI_ONE_WORKER
/* No place is longer: a name of 31 characters, an address and what stands between two places. */
#define PLACE_CHARACTERS_MAX 56

static struct rti_frame frame_of(const struct rti_arch_kept *saved, const void *sp)
{
    return (struct rti_frame)
    {
        .pc = (uintptr_t)saved->pc, .sp = (uintptr_t)sp, .fp = (uintptr_t)saved->fp,
#if defined(__x86_64__) || defined(__aarch64__)
        .base = (uintptr_t)saved->base,
#endif
    };
}

/* The machine's own pieces, in assembly, which no table knows, are this short. */
#define PIECE_BYTES 32

static bool is_in_piece(uintptr_t place, uintptr_t piece, size_t bytes)
{
    return place - piece < bytes;
}

static void trace_walk(struct rti_backtrace *trace, const struct rti_frame *frame, uintptr_t high)
{
    size_t count = rti_port_backtrace(frame, high, trace->places, RTI_BACKTRACE_MAX);
    trace->is_whole = count > 2 && is_in_piece(trace->places[count - 1], (uintptr_t)rti_arch_entry,
                                               RTI_ARCH_ENTRY_BYTES);
    if (trace->is_whole) {
        /* It calls rti_fiber_entry; in between a sanitizer may be told. */
        bool is_told = RTI_CONTEXT_ANNOTATED && count > 3 &&
                       is_in_piece(trace->places[count - 3], (uintptr_t)rti_fiber_entry, 512);
        count -= is_told ? 3 : 2;
        /* That calls the function of who is no task in another, which is most often gone by then.
         */
        if (count > 1 && is_in_piece(trace->places[count - 1], (uintptr_t)rti_fiber_call, 64)) {
            count--;
        }
    }
    trace->count = count;
}

void rti_backtrace_take(struct rti_backtrace *trace, const struct rti_fiber *fiber)
{
    /* Copies: who goes on meanwhile changes them. */
    struct rti_context context;
    struct rti_stack stack;
    (void)rti_peek_copy(NULL, &context, &fiber->context, sizeof(context));
    (void)rti_peek_copy(NULL, &stack, &fiber->stack, sizeof(stack));
    struct rti_arch_kept kept = {.pc = NULL};
    const struct rti_arch_kept *at = rti_arch_kept_of(&context.saved);
    /* They lie on a stack that may be gone by now. */
    if (at == NULL || !rti_port_peek(&kept, at, sizeof(kept))) {
        kept.pc = NULL;
    }
    struct rti_frame frame = frame_of(&kept, context.saved.sp);
    uintptr_t low = (uintptr_t)rti_stack_low(&stack);
    uintptr_t high = (uintptr_t)stack.high_guard;
    trace->count = 0;
    trace->is_whole = false;
    if (frame.pc != 0 && frame.pc != (uintptr_t)rti_arch_entry && frame.sp >= low &&
        frame.sp < high) {
        trace_walk(trace, &frame, high);
    }
}

uint8_t rti_backtrace_reason(const struct rti_fiber *fiber)
{
    const struct rti_wait *wait = NULL;
    uint8_t reason = RTI_REASON_UNKNOWN;
    (void)rti_peek_copy(NULL, (void *)&wait, &fiber->wait, sizeof(wait));
    /* It lies on a stack that may be gone by now. */
    return wait != NULL && rti_port_peek(&reason, &wait->reason, sizeof(reason))
               ? reason
               : (uint8_t)RTI_REASON_UNKNOWN;
}

RTI_NOINLINE void rti_backtrace_take_here(struct rti_backtrace *trace)
{
    struct rti_arch_kept here;
    const void *sp = rti_arch_look(&here);
    struct rti_frame frame = frame_of(&here, sp);
    trace_walk(trace, &frame, UINTPTR_MAX);
}

void rti_backtrace_take_frame(struct rti_backtrace *trace, const struct rti_frame *frame,
                              const struct rti_fiber *fiber)
{
    uintptr_t high = fiber == NULL ? UINTPTR_MAX : (uintptr_t)fiber->stack.high_guard;
    trace_walk(trace, frame, high);
}

void rti_backtrace_remark_place(struct rti_remark *line, uintptr_t place)
{
    rti_port_remark_place(line, place);
}

static bool is_of_library(uintptr_t place)
{
#if RTI_CONTEXT_ANNOTATED
    return rti_text_holds(place);
#else
    return rti_text_holds(place) ||
           is_in_piece(place, (uintptr_t)rti_arch_call_parking, PIECE_BYTES);
#endif
}

void rti_backtrace_remark(struct rti_remark *line, const struct rti_backtrace *trace)
{
    size_t own = 0;
    for (size_t i = 0; i < trace->count; i++) {
        own += is_of_library(trace->places[i]) ? 0 : 1;
    }
    const char *between = " ";
    for (size_t i = 0; i < trace->count; i++) {
        if (own > 0 && is_of_library(trace->places[i])) {
            continue;
        }
        if (line->length + PLACE_CHARACTERS_MAX > RTI_REMARK_MAX) {
            break;
        }
        rti_remark_add(line, between);
        rti_backtrace_remark_place(line, trace->places[i]);
        between = " < ";
    }
}
#else /* a small machine has no tables to walk by */

void rti_backtrace_take(struct rti_backtrace *trace, const struct rti_fiber *fiber)
{
    (void)fiber;
    *trace = (struct rti_backtrace){.count = 0};
}

uint8_t rti_backtrace_reason(const struct rti_fiber *fiber)
{
    return fiber->wait != NULL ? fiber->wait->reason : (uint8_t)RTI_REASON_UNKNOWN;
}

void rti_backtrace_take_here(struct rti_backtrace *trace)
{
    *trace = (struct rti_backtrace){.count = 0};
}

void rti_backtrace_remark_place(struct rti_remark *line, uintptr_t place)
{
    rti_remark_add_address(line, place);
}

void rti_backtrace_remark(struct rti_remark *line, const struct rti_backtrace *trace)
{
    (void)line;
    (void)trace;
}
#endif
