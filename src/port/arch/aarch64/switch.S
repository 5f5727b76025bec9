/* SPDX-License-Identifier: Apache-2.0 */
/* void *rti_arch_switch_called(void *transfer, from, to): the switch as a function.
 *
 * It keeps what a function must keep on its own stack, with unwind tables, and parks in the same
 * form as the inline switch, so that either side may use either. Coming back, it branches to its
 * return address: a ret would be predicted to go where the other side was called from. (Where
 * branch targets must be marked a ret it is, for return addresses carry no mark.) */

    .text
    .globl rti_arch_switch_called
    .hidden rti_arch_switch_called
    .type rti_arch_switch_called, %function
    .p2align 6
rti_arch_switch_called:
    .cfi_startproc
    hint #34                    /* bti c */
    sub sp, sp, #160
    .cfi_def_cfa_offset 160
    stp x29, x30, [sp]
    str x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    .cfi_offset x29, -160
    .cfi_offset x30, -152
    .cfi_offset x20, -144
    .cfi_offset x21, -128
    .cfi_offset x22, -120
    .cfi_offset x23, -112
    .cfi_offset x24, -104
    .cfi_offset x25, -96
    .cfi_offset x26, -88
    .cfi_offset x27, -80
    .cfi_offset x28, -72
    .cfi_offset d8, -64
    .cfi_offset d9, -56
    .cfi_offset d10, -48
    .cfi_offset d11, -40
    .cfi_offset d12, -32
    .cfi_offset d13, -24
    .cfi_offset d14, -16
    .cfi_offset d15, -8
    mov x29, sp
    adr x9, 1f
    mov x10, sp
    stp x10, x29, [x1]
    stp x9, x19, [x1, #16]
    ldp x16, x19, [x2, #16]
    str xzr, [x2, #16]
    ldp x10, x29, [x2]
    mov sp, x10
    br x16
1:
    hint #36                    /* bti j */
    ldp x29, x30, [sp]
    ldr x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    .cfi_restore x20
    .cfi_restore x21
    .cfi_restore x22
    .cfi_restore x23
    .cfi_restore x24
    .cfi_restore x25
    .cfi_restore x26
    .cfi_restore x27
    .cfi_restore x28
    .cfi_restore d8
    .cfi_restore d9
    .cfi_restore d10
    .cfi_restore d11
    .cfi_restore d12
    .cfi_restore d13
    .cfi_restore d14
    .cfi_restore d15
#if defined(__ARM_FEATURE_BTI_DEFAULT)
    ret
#else
    br x30
#endif
    .cfi_endproc
    .size rti_arch_switch_called, . - rti_arch_switch_called

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
