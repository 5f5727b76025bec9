/* SPDX-License-Identifier: Apache-2.0 */
/* What a context needs beside the switch itself, and the switch as annotated builds make it.
 *
 * The address sanitizer wants to know, before the switch, the bounds of the stack to come, and
 * after it, that the switch is done; it gives back the bounds of the stack that was left, which is
 * how an adopted context learns its own. The fake stack that it keeps per stack is parked in the
 * context. The thread sanitizer wants one call before the switch. Both builds switch in a function
 * of their own, which has no local variable that a sanitizer could move or guard. */
#define RTI_MODULE "context"
#include "sched/context.h"

#include "base/memcheck.h"

#if RTI_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if RTI_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if RTI_CONTEXT_ANNOTATED

/* Tells the tools, on the stack that is left. */
static RTI_ALWAYSINLINE void context_announce(struct rti_context *from, struct rti_context *to,
                                              void **fake_stack)
{
    to->came_from = from;
#if RTI_ASAN
    __sanitizer_start_switch_fiber(fake_stack, to->stack_low, to->stack_size);
#else
    (void)fake_stack;
#endif
#if RTI_TSAN
    __tsan_switch_to_fiber(to->tsan_fiber, to->tsan_switch_flags);
#endif
}

/* Tells the tools, on the stack that continues. */
static RTI_ALWAYSINLINE void context_arrive(struct rti_context *self)
{
#if RTI_ASAN
    struct rti_context *left = self->came_from;
    __sanitizer_finish_switch_fiber(self->asan_fake_stack, &left->asan_low, &left->asan_size);
    if (left->stack_low == NULL) {
        left->stack_low = (char *)(uintptr_t)left->asan_low;
        left->stack_size = left->asan_size;
    }
#else
    (void)self;
#endif
}

RTI_UNSANITIZED void *rti_context_switch_annotated(struct rti_context *from, struct rti_context *to,
                                                   void *transfer)
{
    rti_arch_fp_control_switch(&from->saved, &to->saved);
    context_announce(from, to, &from->asan_fake_stack);
    transfer = rti_arch_switch(&from->saved, &to->saved, transfer);
    context_arrive(from);
    return transfer;
}

_Noreturn RTI_UNSANITIZED void rti_context_leave_annotated(struct rti_context *from,
                                                           struct rti_context *to, void *transfer)
{
    rti_arch_fp_control_switch(&from->saved, &to->saved);
    context_announce(from, to, NULL);
    rti_arch_leave(&to->saved, transfer);
}

static RTI_UNSANITIZED RTI_OUTSIDE void context_begin(void *transfer, void *argument)
{
    struct rti_context *self = argument;
    context_arrive(self);
    self->entry(transfer);
}

#endif /* RTI_CONTEXT_ANNOTATED */

/* Below the stack pointer lies up to this much that a compiler may still be using. */
#define CONTEXT_RED_ZONE 256

/* What valgrind is told of the room: it did not see the stack pointer come here. */
#define CONTEXT_ROOM 8192

uintptr_t rti_context_room_below(const struct rti_context *context)
{
    RT_ASSERT(rti_context_is_marked(context));
    uintptr_t room = (uintptr_t)rti_context_sp(context) - CONTEXT_RED_ZONE;
#if RTI_MEMCHECK
    (void)VALGRIND_MAKE_MEM_UNDEFINED(room - CONTEXT_ROOM, CONTEXT_ROOM);
#endif
    return room;
}

RTI_UNSANITIZED void rti_context_abandon(struct rti_context *from, struct rti_context *to,
                                         void *transfer)
{
    rti_context_check(to);
    rti_arch_fp_control_switch(&from->saved, &to->saved);
#if RTI_CONTEXT_ANNOTATED
    context_announce(from, to, NULL);
#endif
    rti_arch_leave(&to->saved, transfer);
}

/* All of init but what valgrind is told. */
static void context_init(struct rti_context *context, void *stack_low, size_t stack_size,
                         void (*entry)(void *transfer))
{
    RT_ASSERT(entry != NULL);
    RT_ASSERT(stack_low != NULL && stack_size >= RTI_CONTEXT_STACK_MIN);
    RT_ASSERT(stack_size <= UINTPTR_MAX - (uintptr_t)stack_low);
    *context = (struct rti_context){.saved = {0}};
    rti_context_set_bounds(context, stack_low, stack_size);
    char *high = rti_context_top_of(stack_low, stack_size);
#if RTI_ASAN
    __asan_unpoison_memory_region(stack_low, stack_size);
#endif
#if RTI_CONTEXT_ANNOTATED
    context->entry = entry;
    rti_arch_prepare(&context->saved, high, (void (*)(void))context_begin, context);
#else
    rti_arch_prepare(&context->saved, high, (void (*)(void))entry, context);
#endif
    rti_arch_fp_control_save(&context->saved);
    rti_arch_set_guard(&context->saved, stack_low);
#if RTI_TSAN
    context->tsan_fiber = __tsan_create_fiber(0);
    context->tsan_fiber_is_ours = true;
#endif
    RT_AUDIT(rti_context_audit(context));
}

void rti_context_init(struct rti_context *context, void *stack_low, size_t stack_size,
                      void (*entry)(void *transfer))
{
    context_init(context, stack_low, stack_size, entry);
#if RTI_MEMCHECK && RTI_CONTEXT_REGISTERS
    context->valgrind_stack_id = VALGRIND_STACK_REGISTER(stack_low, (char *)stack_low + stack_size);
#endif
}

#if RTI_CONTEXT_ANNOTATED
void rti_context_place_annotated(struct rti_context *context, void *stack_low, size_t stack_size,
                                 void (*entry)(void *transfer))
{
    struct rti_arch_context inherited = context->saved;
    context_init(context, stack_low, stack_size, entry);
    rti_arch_fp_control_copy(&context->saved, &inherited);
}
#endif

void rti_context_adopt(struct rti_context *context)
{
    *context = (struct rti_context){.saved = {0}};
    rti_arch_fp_control_save(&context->saved);
    rti_arch_set_guard(&context->saved, NULL);
#if RTI_TSAN
    context->tsan_fiber = __tsan_get_current_fiber();
#endif
}

void rti_context_forget(struct rti_context *context, void *stack_low, size_t stack_size)
{
    (void)stack_low, (void)stack_size;
#if RTI_ASAN
    if (context->entry != NULL) {
        __asan_unpoison_memory_region(stack_low, stack_size);
    }
#endif
#if RTI_TSAN
    if (context->tsan_fiber_is_ours) {
        __tsan_destroy_fiber(context->tsan_fiber);
    }
#endif
#if RTI_MEMCHECK && RTI_CONTEXT_REGISTERS
    if (context->valgrind_stack_id != 0) {
        VALGRIND_STACK_DEREGISTER(context->valgrind_stack_id);
        /* What lay below the last stack pointer is memory like any other again. */
        (void)VALGRIND_MAKE_MEM_UNDEFINED(stack_low, stack_size);
    }
#endif
    *context = (struct rti_context){.saved = {0}};
}

void rti_context_keep_fp_control(struct rti_context *context)
{
    rti_arch_fp_control_keep(&context->saved);
}

void rti_context_set_unordered(struct rti_context *context, bool is_unordered)
{
#if RTI_TSAN
    context->tsan_switch_flags = is_unordered ? __tsan_switch_to_fiber_no_sync : 0;
#else
    (void)context;
    (void)is_unordered;
#endif
}

void rti_context_audit(const struct rti_context *context)
{
    RT_ASSERT(rti_context_is_marked(context));
    RT_ASSERT(rti_context_sp(context) != NULL);
#if RTI_CONTEXT_BOUNDED
    if (context->stack_low != NULL) {
        const char *sp = rti_context_sp(context);
        RT_ASSERT(sp > context->stack_low);
        RT_ASSERT(sp < context->stack_low + context->stack_size);
    }
#endif
}

bool rti_context_shadow_stack_is_on(void)
{
    return rti_arch_shadow_stack_is_on() != 0;
}
