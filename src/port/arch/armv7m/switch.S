/* SPDX-License-Identifier: Apache-2.0 */
/* The switch of switch.h and where a new context begins. The switch is 10 instructions on a
 * processor without floating point, 7 without the mark, the two that put the guard in force
 * included. */

#ifndef RT_SWITCH_MARK
#define RT_SWITCH_MARK 1
#endif

    .syntax unified
    .thumb
    .text

#if !defined(__ARM_ARCH_8M_MAIN__)
    .equ MPU_RBAR, 0xE000ED9C
#endif

/* void *rti_arch_switch_called(void *transfer r0, from r1, to r2) */
    .globl rti_arch_switch_called
    .hidden rti_arch_switch_called
    .type rti_arch_switch_called, %function
    .thumb_func
    .p2align 2
rti_arch_switch_called:
    .cfi_startproc
    push {r4-r11, lr}
    .cfi_def_cfa_offset 36
    .cfi_offset r4, -36
    .cfi_offset r5, -32
    .cfi_offset r6, -28
    .cfi_offset r7, -24
    .cfi_offset r8, -20
    .cfi_offset r9, -16
    .cfi_offset r10, -12
    .cfi_offset r11, -8
    .cfi_offset lr, -4
#if defined(__ARM_FP)
    vmrs r3, fpscr
    vpush {s16-s31}
    push {r3}
    .cfi_def_cfa_offset 104
#endif
#if RT_SWITCH_MARK
    mov r3, sp
    strd r3, lr, [r1]
.Lcontinue:
    ldm r2, {r3, r4, r5}        /* sp, pc, guard */
    movs r4, #0
    str r4, [r2, #4]            /* it runs */
#else
    str sp, [r1]
.Lcontinue:
    ldrd r3, r5, [r2]           /* sp, guard */
#endif
#if defined(__ARM_ARCH_8M_MAIN__)
    /* Without a limit for the moment: neither stack may be measured by the other's. */
    movs r4, #0
    msr psplim, r4
    mov sp, r3
    msr psplim, r5
#else
    ldr r6, =MPU_RBAR
    str r5, [r6]
    mov sp, r3
#endif
#if defined(__ARM_FP)
    pop {r3}
    vpop {s16-s31}
    vmsr fpscr, r3
#endif
    pop {r4-r11, pc}
    .cfi_endproc
    .size rti_arch_switch_called, . - rti_arch_switch_called

/* void rti_arch_leave_called(void *transfer r0, to r1) */
    .globl rti_arch_leave_called
    .hidden rti_arch_leave_called
    .type rti_arch_leave_called, %function
    .thumb_func
rti_arch_leave_called:
    .cfi_startproc
    mov r2, r1
    b .Lcontinue
    .cfi_endproc
    .size rti_arch_leave_called, . - rti_arch_leave_called

    .globl rti_arch_entry
    .hidden rti_arch_entry
    .type rti_arch_entry, %function
    .thumb_func
rti_arch_entry:
    .cfi_startproc
    .cfi_undefined lr           /* the end of a stack */
    mov r1, r5
    blx r4
    udf #0
    .cfi_endproc
    .size rti_arch_entry, . - rti_arch_entry

    .ltorg
