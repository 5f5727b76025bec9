/* SPDX-License-Identifier: Apache-2.0 */
/* Where a new context begins. sp is a multiple of 16 and points to {entry, argument}; x0 holds the
 * first switch's transfer. The entry function never returns. What others have left in the registers
 * that functions save is not to lie in its frames: there it might be taken for a call
 * (sched/preempt.h).
 *
 * The return address of this frame is undefined: that is how an unwinder knows the end of a
 * stack. */

    .text
    .globl rti_arch_entry
    .hidden rti_arch_entry
    .type rti_arch_entry, %function
    .p2align 6
rti_arch_entry:
    .cfi_startproc
    .cfi_def_cfa sp, 16
    .cfi_undefined x30
    hint #38                    /* bti jc */
    mov x29, xzr
    mov x30, xzr
    mov x20, xzr
    mov x21, xzr
    mov x22, xzr
    mov x23, xzr
    mov x24, xzr
    mov x25, xzr
    mov x26, xzr
    mov x27, xzr
    mov x28, xzr
    ldp x16, x1, [sp]
    blr x16
    brk #0
    .cfi_endproc
    .size rti_arch_entry, . - rti_arch_entry
    .p2align 6

#if defined(__ARM_FEATURE_BTI_DEFAULT)
    .section .note.gnu.property, "a"
    .p2align 3
    .long 4
    .long 16
    .long 5
    .asciz "GNU"
    .long 0xc0000000            /* these features: */
    .long 4
    .long 1                     /* branch targets are marked */
    .long 0
#endif

    .section .note.GNU-stack, "", %progbits
