/* SPDX-License-Identifier: Apache-2.0 */

/* A switch saves the six registers that a called function must keep, and the stack pointer. On
 * other processors than x86-64 ucontext does the same, slower by two system calls. */

#include "port/explore/fiber.h"

#include <stdint.h>

#if defined(__x86_64__)

void explore_fiber_swap(void **save, void *load);

__asm__(".text\n"
        ".type explore_fiber_swap, @function\n"
        "explore_fiber_swap:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size explore_fiber_swap, . - explore_fiber_swap\n");

void fiber_prepare(struct fiber *fiber, void (*main)(void))
{
    enum { KEPT_REGISTERS = 6 };
    uintptr_t *top = (uintptr_t *)(void *)(fiber->stack + FIBER_STACK_SIZE);
    top[-1] = 0; /* where main would return to; it also aligns the stack as a call does */
    top[-2] = (uintptr_t)main;
    for (int i = 1; i <= KEPT_REGISTERS; i++) {
        top[-2 - i] = 0;
    }
    fiber->main = main;
    fiber->stack_pointer = top - 2 - KEPT_REGISTERS;
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    explore_fiber_swap(&from->stack_pointer, to->stack_pointer);
}

#else

#include <ucontext.h>

_Static_assert(sizeof(ucontext_t) + 64 <= FIBER_STORAGE_SIZE - 8 * 1024, "the stack is too small");

static ucontext_t *fiber_context(struct fiber *fiber)
{
    return (ucontext_t *)(void *)fiber->stack;
}

void fiber_prepare(struct fiber *fiber, void (*main)(void))
{
    ucontext_t *context = fiber_context(fiber);
    size_t skip = (sizeof *context + 63) & ~(size_t)63;
    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack + skip;
    context->uc_stack.ss_size = FIBER_STORAGE_SIZE - skip;
    context->uc_link = NULL;
    fiber->main = main;
    makecontext(context, main, 0);
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    swapcontext(fiber_context(from), fiber_context(to));
}

#endif
