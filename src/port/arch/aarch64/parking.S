/* SPDX-License-Identifier: Apache-2.0 */
/* rt_status rti_arch_call_parking(a, b, c, body): calls body(a, b, c) and branches back.
 *
 * A body that parks returns long after other fibers have made calls of their own, and a ret is
 * predicted to go where the latest call came from. Inside the library that guess is right,
 * because all fibers park in the same few places; the last ret, to the user's own code, is the
 * one that goes wrong. Here it is an indirect branch, which has a memory of its own. (Where
 * branch targets must be marked a ret it is, for return addresses carry no mark.) Both registers
 * of the result pass through. */

    .text
    .globl rti_arch_call_parking
    .hidden rti_arch_call_parking
    .type rti_arch_call_parking, %function
    .p2align 5
rti_arch_call_parking:
    .cfi_startproc
    hint #34                    /* bti c */
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    blr x3
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
#if defined(__ARM_FEATURE_BTI_DEFAULT)
    ret
#else
    br x30
#endif
    .cfi_endproc
    .size rti_arch_call_parking, . - rti_arch_call_parking

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
