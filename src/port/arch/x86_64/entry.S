/* SPDX-License-Identifier: Apache-2.0 */
/* Where a new context begins. rsp is a multiple of 16 and points to {entry, argument}; rdi holds
 * the first switch's transfer. The entry function is called, not jumped to, so that it sees the
 * alignment and the return address of any function; it never returns.
 *
 * The return address of this frame is undefined: that is how an unwinder knows the end of a stack.
 *
 * The object says that it lands indirect jumps on endbr64, and deliberately does not say that it
 * works with shadow stacks: a program linked with it is not started with one. */

    .text
    .globl rti_arch_entry
    .hidden rti_arch_entry
    .type rti_arch_entry, @function
    .p2align 4
rti_arch_entry:
    .cfi_startproc
    .cfi_def_cfa rsp, 16
    .cfi_undefined rip
    endbr64
    movq 8(%rsp), %rsi
    callq *(%rsp)
    ud2
    .cfi_endproc
    .size rti_arch_entry, . - rti_arch_entry

    .section .note.gnu.property, "a"
    .p2align 3
    .long 4
    .long 16
    .long 5
    .asciz "GNU"
    .long 0xc0000002            /* these features: */
    .long 4
    .long 1                     /* indirect jumps land on endbr64 */
    .long 0

    .section .note.GNU-stack, "", @progbits
