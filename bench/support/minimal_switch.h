/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MINIMAL_SWITCH_H
#define MINIMAL_SWITCH_H

/* The floor: the least that a switch of stacks can be, written by hand. It pushes the callee-saved
 * registers, exchanges the stack pointer and leaves by a jump; it keeps no floating-point controls
 * and checks nothing. Include it in one file of a program. */

#include <stdint.h>

#include "base/compiler.h"
#include "support/bench.h"

/* minimal_switch(&save_sp, load_sp): the rest of the frame is on the stack. */
void minimal_switch(void **save, void *load);
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".globl minimal_switch\n"
        ".type minimal_switch, @function\n"
        ".p2align 6\n"
        "minimal_switch:\n\t"
        "endbr64\n\t"
        "pushq %rbp\n\t"
        "pushq %rbx\n\t"
        "pushq %r12\n\t"
        "pushq %r13\n\t"
        "pushq %r14\n\t"
        "pushq %r15\n\t"
        "movq %rsp, (%rdi)\n\t"
        "movq %rsi, %rsp\n\t"
        "popq %r15\n\t"
        "popq %r14\n\t"
        "popq %r13\n\t"
        "popq %r12\n\t"
        "popq %rbx\n\t"
        "popq %rbp\n\t"
        "popq %rcx\n\t"
        "jmpq *%rcx\n\t"
        ".size minimal_switch, . - minimal_switch\n"
        ".popsection");
#define MINIMAL_FRAME_WORDS 8 /* six registers, the address to go to, one to align */
#define MINIMAL_FRAME_PC    6
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".globl minimal_switch\n"
        ".type minimal_switch, %function\n"
        ".p2align 6\n"
        "minimal_switch:\n\t"
        "sub sp, sp, #160\n\t"
        "stp x19, x20, [sp]\n\t"
        "stp x21, x22, [sp, #16]\n\t"
        "stp x23, x24, [sp, #32]\n\t"
        "stp x25, x26, [sp, #48]\n\t"
        "stp x27, x28, [sp, #64]\n\t"
        "stp x29, x30, [sp, #80]\n\t"
        "stp d8, d9, [sp, #96]\n\t"
        "stp d10, d11, [sp, #112]\n\t"
        "stp d12, d13, [sp, #128]\n\t"
        "stp d14, d15, [sp, #144]\n\t"
        "mov x9, sp\n\t"
        "str x9, [x0]\n\t"
        "mov sp, x1\n\t"
        "ldp x19, x20, [sp]\n\t"
        "ldp x21, x22, [sp, #16]\n\t"
        "ldp x23, x24, [sp, #32]\n\t"
        "ldp x25, x26, [sp, #48]\n\t"
        "ldp x27, x28, [sp, #64]\n\t"
        "ldp x29, x30, [sp, #80]\n\t"
        "ldp d8, d9, [sp, #96]\n\t"
        "ldp d10, d11, [sp, #112]\n\t"
        "ldp d12, d13, [sp, #128]\n\t"
        "ldp d14, d15, [sp, #144]\n\t"
        "add sp, sp, #160\n\t"
        "br x30\n\t"
        ".size minimal_switch, . - minimal_switch\n"
        ".popsection");
#define MINIMAL_FRAME_WORDS 20
#define MINIMAL_FRAME_PC    11
#endif

static void *minimal_home;
static void *minimal_fiber;

static void minimal_entry(void)
{
    for (;;) {
        minimal_switch(&minimal_fiber, minimal_home);
    }
}

/* Makes the fiber that minimal_round plays ping-pong with. */
static inline void minimal_prepare(char *stack, size_t size)
{
    void **frame = (void **)(void *)(stack + size) - MINIMAL_FRAME_WORDS;
    frame[MINIMAL_FRAME_PC] = (void *)(uintptr_t)minimal_entry;
    minimal_fiber = frame;
}

/* Nanoseconds per switch. */
static RTI_NOINLINE double minimal_round(long switches)
{
    double start = bench_now_ns();
    for (long i = 0; i < switches; i += 2) {
        minimal_switch(&minimal_home, minimal_fiber);
    }
    return (bench_now_ns() - start) / (double)switches;
}

#endif
