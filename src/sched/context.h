/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CONTEXT_H
#define RTI_CONTEXT_H

/* A context is a computation that is not running: where its stack is and where it continues.
 *
 * The switch stores the present one and continues another, on the same thread, without the
 * operating system. It moves one pointer across, the transfer. What the machine needs is in
 * port/arch/<cpu>/switch.h; this file adds what the tools must be told: address and thread
 * sanitizer in their builds, valgrind wherever its header is found.
 *
 * A context is NEW after init, RUNNING while a thread is on it, PARKED after a switch away, and
 * over after leave. Only a NEW or PARKED one may be switched to, by any thread, by one at a time:
 * whoever hands a context to another thread publishes it with release and acquire after the switch
 * away from it is complete, that is, from the other side of the switch.
 *
 * I1  A NEW or PARKED context's stack pointer lies in its stack.        (rti_context_audit)
 * I2  A context's saved pc is NULL unless it is NEW or PARKED, so that switching twice to one
 *     context, or to oneself, is caught.                                (rti_context_check)
 * I3  All registers that a C function may rely on across a call survive a switch, and so do the
 *     floating-point controls if they were changed through <fenv.h> or the context keeps its own
 *     (rti_context_keep_fp_control); the sticky exception flags do not.          (context_test)
 *
 * Costs: run bench/switch_bench. A context is one cache line and belongs at the start of one. */

#include <stdbool.h>

#include "base/assert.h"

#if defined(__x86_64__)
#include "port/arch/x86_64/switch.h"
#elif defined(__aarch64__)
#include "port/arch/aarch64/switch.h"
#elif defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__) || defined(__ARM_ARCH_8M_MAIN__)
#include "port/arch/armv7m/switch.h"
#else
#error "no context switch for this processor: see src/port/arch/"
#endif

#if RTI_ASAN || RTI_TSAN
#define RTI_CONTEXT_ANNOTATED 1
#else
#define RTI_CONTEXT_ANNOTATED 0
#endif

/* Whether I2 holds: a small product may do without. */
#if defined(__arm__)
#define RTI_CONTEXT_MARKED RT_SWITCH_MARK
#else
#define RTI_CONTEXT_MARKED 1
#endif

/* May valgrind be told of stacks? */
#define RTI_VALGRIND_KNOWS (!RTI_ONE_WORKER)

/* Does a context know where its stack lies? For I1, and for the sanitizers. */
#define RTI_CONTEXT_BOUNDED (RT_CHECKS || RTI_CONTEXT_ANNOTATED)

/* Does init tell valgrind of the stack? Else who knows the stack does (fiber_life.c). */
#define RTI_CONTEXT_REGISTERS (RTI_VALGRIND_KNOWS && RTI_CONTEXT_BOUNDED)

struct rti_context {
    struct rti_arch_context saved; /* written by the switch away; meaningful while NEW or PARKED */
#if RTI_CONTEXT_BOUNDED
    char *stack_low; /* NULL in an adopted context until a sanitizer reports it */
    size_t stack_size;
#endif
#if RTI_CONTEXT_REGISTERS
    unsigned valgrind_stack_id;
#endif
#if RTI_CONTEXT_ANNOTATED
    void (*entry)(void *transfer);
    struct rti_context *came_from; /* who switched here last */
    void *asan_fake_stack;         /* while PARKED */
    const void *asan_low;          /* the stack's bounds as the address sanitizer sees them */
    size_t asan_size;
    void *tsan_fiber;
    unsigned tsan_switch_flags;
    bool tsan_fiber_is_ours; /* made by init, not by the thread */
#endif
};

#if !RTI_CONTEXT_ANNOTATED
_Static_assert(sizeof(struct rti_context) <= RTI_CACHE_LINE, "a context is one cache line");
#endif

/* Makes `context` start in entry(transfer) on the given stack at the first switch to it, with the
 * floating-point controls of the caller. The stack may have any alignment and at least
 * RTI_CONTEXT_STACK_MIN bytes. entry never returns. */
void rti_context_init(struct rti_context *context, void *stack_low, size_t stack_size,
                      void (*entry)(void *transfer));

/* Describes the stack that this thread already runs on: the scheduler's own. On that thread, before
 * it switches away. */
void rti_context_adopt(struct rti_context *context);

/* What deinit does if a tool was told of the context and of its stack; NULL: it has none. */
void rti_context_forget(struct rti_context *context, void *stack_low, size_t stack_size);

/* From now on every switch to or from `context` exchanges all floating-point controls. Without it
 * only those changed through <fenv.h> are sure to be exchanged; see port/arch/<cpu>/switch.h. By
 * the context itself while it runs, or by another while it does not. */
void rti_context_keep_fp_control(struct rti_context *context);

/* From now on a switch to `context` tells the thread sanitizer of no order between the two sides:
 * for the simulator, whose switches stand for different threads. No effect in other builds. */
void rti_context_set_unordered(struct rti_context *context, bool is_unordered);

/* Panics unless `context`, NEW or PARKED, is whole. */
void rti_context_audit(const struct rti_context *context);

/* Does the processor keep a second, protected stack of return addresses for this thread? Then no
 * switch can work and the runtime refuses to start. */
bool rti_context_shadow_stack_is_on(void);

/* Enough to switch away at once, checks included; nothing else is promised. */
#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 4
#define RTI_CONTEXT_STACK_MIN 384
#else
#define RTI_CONTEXT_STACK_MIN 1024
#endif

/* The address below which the stack of a PARKED context is free for a call that never comes back.
 * Safe in a signal handler. */
uintptr_t rti_context_room_below(const struct rti_context *context);

/* Leaves `from` for ever, like rti_context_leave, but is called on the stack of `to`, below its
 * frames: `from` has come to its end by a fault. Does not return; it does not say so, because the
 * address sanitizer would look for the frames of the caller on the stack of `from`. */
void rti_context_abandon(struct rti_context *from, struct rti_context *to, void *transfer);

#if RTI_CONTEXT_ANNOTATED
void *rti_context_switch_annotated(struct rti_context *from, struct rti_context *to,
                                   void *transfer);
_Noreturn void rti_context_leave_annotated(struct rti_context *from, struct rti_context *to,
                                           void *transfer);
void rti_context_place_annotated(struct rti_context *context, void *stack_low, size_t stack_size,
                                 void (*entry)(void *transfer));
#endif

/* The top of a stack, as a context may use it. */
static inline char *rti_context_top_of(char *stack_low, size_t stack_size)
{
    char *high = stack_low + stack_size;
    return high - (uintptr_t)high % 16;
}

/* Notes where the stack lies. */
static inline void rti_context_set_bounds(struct rti_context *context, char *stack_low,
                                          size_t stack_size)
{
#if RTI_CONTEXT_BOUNDED
    context->stack_low = stack_low;
    context->stack_size = stack_size;
#else
    (void)context, (void)stack_low, (void)stack_size;
#endif
}

/* It has no stack any more, or not yet. */
static inline void rti_context_forget_bounds(struct rti_context *context)
{
#if RTI_CONTEXT_BOUNDED
    context->stack_low = NULL;
#else
    (void)context;
#endif
}

/* Is it NEW or PARKED, as far as is known? */
static RTI_ALWAYSINLINE bool rti_context_is_marked(const struct rti_context *context)
{
#if RTI_CONTEXT_MARKED
    return rti_arch_is_marked(&context->saved);
#else
    (void)context;
    return true;
#endif
}

/* The stack pointer of one that is NEW or PARKED. */
static inline char *rti_context_sp(const struct rti_context *context)
{
    return context->saved.sp;
}

/* It is neither, or not yet. */
static inline void rti_context_unmark(struct rti_context *context)
{
#if RTI_CONTEXT_MARKED
    rti_arch_unmark(&context->saved);
#else
    (void)context;
#endif
}

/* A context that has no stack yet. */
static inline void rti_context_clear(struct rti_context *context)
{
    rti_context_unmark(context);
    rti_context_forget_bounds(context);
#if RTI_CONTEXT_REGISTERS
    context->valgrind_stack_id = 0;
#endif
}

/* Init in two steps, for who starts many. First the controls: those of `starter`, which runs on
 * this thread, or of the thread as it is, if that is NULL. */
static inline void rti_context_inherit(struct rti_context *context,
                                       const struct rti_context *starter)
{
    if (RTI_LIKELY(starter != NULL)) {
        rti_arch_fp_control_inherit(&context->saved, &starter->saved);
    } else {
        rti_arch_fp_control_save(&context->saved);
    }
}

/* Then the stack, at any time before the first switch. Valgrind knows it already: its owner has
 * said so. */
static inline void rti_context_place(struct rti_context *context, void *stack_low,
                                     size_t stack_size, void (*entry)(void *transfer))
{
#if RTI_CONTEXT_ANNOTATED
    rti_context_place_annotated(context, stack_low, stack_size, entry);
#else
    RT_DCHECK(stack_low != NULL && stack_size >= RTI_CONTEXT_STACK_MIN);
    rti_context_set_bounds(context, stack_low, stack_size);
#if RTI_CONTEXT_REGISTERS
    context->valgrind_stack_id = 0;
#endif
    rti_arch_prepare(&context->saved, rti_context_top_of(stack_low, stack_size),
                     (void (*)(void))entry, context);
    rti_arch_set_guard(&context->saved, stack_low);
    RT_AUDIT(rti_context_audit(context));
#endif
}

/* Frees what sanitizers and valgrind hold for it. Not while a thread is on it, unless no tool was
 * told of it: then the thread may be about to leave (rti_context_pass). */
static inline void rti_context_deinit(struct rti_context *context)
{
#if RTI_CONTEXT_REGISTERS
    if (RTI_CONTEXT_ANNOTATED || context->valgrind_stack_id != 0) {
        rti_context_forget(context, context->stack_low, context->stack_size);
        return;
    }
#endif
    rti_context_unmark(context);
    rti_context_forget_bounds(context);
}

/* A context that runs has no pc, so this one look also refuses a switch to oneself. */
static RTI_ALWAYSINLINE void rti_context_check(const struct rti_context *to)
{
    RT_ASSERT(rti_context_is_marked(to));
    RT_AUDIT(rti_context_audit(to));
}

/* Saves here, continues there. `transfer` is what the other side sees: returned by its pending
 * switch, or the argument of its entry. Returns the transfer of whoever switches back, perhaps on
 * another thread: no address of a thread-local object may be kept across this call. */
static RTI_ALWAYSINLINE void *rti_context_switch(struct rti_context *from, struct rti_context *to,
                                                 void *transfer)
{
    rti_context_check(to);
#if RTI_CONTEXT_ANNOTATED
    return rti_context_switch_annotated(from, to, transfer);
#else
    rti_arch_fp_control_switch(&from->saved, &to->saved);
    return rti_arch_switch(&from->saved, &to->saved, transfer);
#endif
}

/* Would a switch have to call anything? Else rti_context_switch_plainly will do, at once. Where the
 * registers that a function keeps are many, or few, that is no gain, and the answer is yes. */
static RTI_ALWAYSINLINE bool rti_context_is_dear(struct rti_context *from,
                                                 const struct rti_context *to)
{
#if RTI_CONTEXT_ANNOTATED || !defined(__x86_64__)
    (void)from, (void)to;
    return true;
#else
    return RT_CHECKS || rti_arch_fp_control_differs(&from->saved, &to->saved);
#endif
}

/* The switch for a function that calls nothing else and therefore keeps no registers for it. */
static RTI_ALWAYSINLINE void *rti_context_switch_plainly(struct rti_context *from,
                                                         struct rti_context *to, void *transfer)
{
    rti_context_check(to);
    return rti_arch_switch(&from->saved, &to->saved, transfer);
}

/* The same, for a function whose last act it is: `return rti_context_switch_tail(...)` compiles to
 * a jump, and the way back is a jump from the switch straight to the caller of that function. Where
 * the inline switch would be followed by a ret, this one is quicker: the processor expects that ret
 * to go to whoever called on the other side. Both kinds resume each other. */
static RTI_ALWAYSINLINE void *rti_context_switch_tail(struct rti_context *from,
                                                      struct rti_context *to, void *transfer)
{
    rti_context_check(to);
#if RTI_CONTEXT_ANNOTATED
    return rti_context_switch_annotated(from, to, transfer);
#else
    return rti_arch_switch_tail(&from->saved, &to->saved, transfer);
#endif
}

/* The same, but `from` is never resumed. */
_Noreturn static RTI_ALWAYSINLINE void rti_context_leave(struct rti_context *from,
                                                         struct rti_context *to, void *transfer)
{
    rti_context_check(to);
#if RTI_CONTEXT_ANNOTATED
    rti_context_leave_annotated(from, to, transfer);
#else
    rti_arch_fp_control_switch(&from->saved, &to->saved);
    rti_arch_leave(&to->saved, transfer);
#endif
}

#if !RTI_CONTEXT_ANNOTATED

/* Forgets all frames of `self`, which runs, and calls entry(transfer) at `top`, that of its stack.
 */
_Noreturn static RTI_ALWAYSINLINE void rti_context_restart(struct rti_context *self, char *top,
                                                           void (*entry)(void *transfer),
                                                           void *transfer)
{
    rti_arch_prepare(&self->saved, top, (void (*)(void))entry, self);
    rti_arch_leave(&self->saved, transfer);
}

/* Like leave, from a context whose memory is another's by now; `gone` is a copy of what it had
 * saved, which still says what its controls were. */
_Noreturn static RTI_ALWAYSINLINE void rti_context_pass(struct rti_arch_context *gone,
                                                        struct rti_context *to, void *transfer)
{
    rti_context_check(to);
    rti_arch_fp_control_switch(gone, &to->saved);
    rti_arch_leave(&to->saved, transfer);
}
#endif

#endif
