/* SPDX-License-Identifier: Apache-2.0 */
/* void *rti_arch_switch_called(void *transfer, from, sp): the switch as a function.
 *
 * It keeps what a function must keep on its own stack, with unwind tables, and parks in the same
 * form as the inline switch, so that either side may use either. Coming back, it jumps to its
 * return address: a ret would be predicted to go where the other side was called from. */

#if defined(__CET__)
#define JUMP_BACK notrack jmpq *%rcx /* a return address carries no endbr64 */
#else
#define JUMP_BACK jmpq *%rcx
#endif

    .text
    .globl rti_arch_switch_called
    .hidden rti_arch_switch_called
    .type rti_arch_switch_called, @function
    .p2align 6
rti_arch_switch_called:
    .cfi_startproc
    endbr64
    movq -16(%rdx), %rcx        /* before anything is stored: loads wait for stores */
    movq -8(%rdx), %r9
    pushq %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r12, 0
    pushq %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r13, 0
    pushq %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r14, 0
    pushq %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r15, 0
    leaq 1f(%rip), %rax
    movq %rsp, 0(%rsi)
    movq %rbp, -24(%rsp)
    movq %rax, -16(%rsp)
    movq %rbx, -8(%rsp)
    movq %rdx, %rsp
    movq -24(%rdx), %rbp
    movq %r9, %rbx
    jmpq *%rcx
1:
    endbr64
    movq %rdi, %rax
    popq %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore r15
    popq %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore r14
    popq %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore r13
    popq %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore r12
    popq %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register rip, rcx
    JUMP_BACK
    .cfi_endproc
    .size rti_arch_switch_called, . - rti_arch_switch_called

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
